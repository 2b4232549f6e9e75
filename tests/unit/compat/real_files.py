#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles the sources of ExecuTorch's programs, unchanged, with tenon's forwarding headers, and prints a table.

usage: real_files.py [-h] [--compiler CXX] [--least N] [--all] [--match EXPRESSION] CHECKOUT...

A CHECKOUT is a source tree of ExecuTorch or of react-native-executorch. Its .cpp files that use TensorPtr,
make_tensor_ptr, from_blob or Module are compiled with -fsyntax-only. What is the runtime's comes from
include/tenon/compat/executorch_headers alone; the checkout's other headers are used as they are. Libraries are those
that are installed (Debian has libgflags-dev, libstb-dev, nlohmann-json3-dev, libgmock-dev) or that the checkout has;
real_files_stubs/ declares of others what the files use: tokenizers, React Native, phonemis.

Rows: a file, whether it compiles, or whose the first error is: "ours", "library" (one is missing), or "theirs" (KNOWN).
Files that compat/ does not serve are counted by reason (OUT), and listed with --all.
Exits with 1 if a file fails that is ours, or with --least N if fewer than N compile.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parents[2] / "include"
FORWARDS = INCLUDE / "tenon/compat/executorch_headers"
STUBS = HERE / "real_files_stubs"

# Some programs want one of the delegates to be chosen.
DEFINED = ("-DEXECUTORCH_BUILD_CUDA",)

SYSTEM = ("/usr/include/stb", "/usr/local/cuda/include")

USES = re.compile(r"\b(?:TensorPtr|make_tensor_ptr|from_blob|for_blob)\b|extension/module/module\.h|extension::(?:\w+::)?Module\b")

# Not compat's to serve: (reason, of which paths, of which texts).
OUT = [
    ("the runtime itself", r"^(runtime/|extension/(module/module|tensor/tensor_ptr\w*)\.cpp)", None),
    ("training", r"^extension/training/|_training\.cpp$", r"extension/training/"),
    ("bundled programs", None, r"bundled_(program|module)"),
    ("ATen mode", r"^extension/aten_util/", r"#include <(ATen|torch|c10/core)/"),
    ("a kernel", r"^(kernels|backends/cadence)/", r"KernelRuntimeContext"),
    ("a delegate", r"^backends/(aoti|apple|(cuda|qualcomm|vulkan)/runtime)/", r"BackendInterface|mock_cuda_allocator"),
    ("Apple's frameworks", None, r"#include <(Core\w+|Accelerate)/"),
    ("Java or JavaScript around the runtime", r"/jni/|/wasm/", None),
]

# Of the checkout: what the forwarding headers stand for. Neither it nor its other headers may be found.
HIDDEN = re.compile(r"(runtime|extension/(module|tensor|data_loader|memory_allocator|threadpool|aten_util))/")

# Errors that are the file's own, and why.
KNOWN = [(re.compile(r"no matching function for call to 'construct_at'"),
          "emplace_back() of an aggregate: C++20 that Clang has since 16")]

STANDARD = {"executorch": "c++17", "react-native-executorch": "c++20"}


def reason_to_leave_out(path, text):
    return next((reason for reason, paths, texts in OUT
                 if (paths and re.search(paths, path)) or (texts and re.search(texts, text))), None)


def link_headers(top, folder):
    """Makes a folder of the headers of ExecuTorch's checkout that stay its own: <executorch/...>, <c10/...>."""
    c10 = top / "runtime/core/portable_type/c10"  # for functions on integers, not for its Half
    links = [(source, source.relative_to(c10)) for source in c10.rglob("*.h") if not re.search("Half|BFloat16|complex", source.name)]
    for source in top.rglob("*"):
        path = source.relative_to(top)
        if (source.suffix in (".h", ".hpp", ".inc") and not HIDDEN.match(path.as_posix()) and
                not (FORWARDS / "executorch" / path).exists()):
            links.append((source, "executorch" / path))
    for source, path in links:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).symlink_to(source)


class Checkout:
    def __init__(self, top, folder):
        self.top = pathlib.Path(top).resolve()
        react_native = self.top / "packages/react-native-executorch"
        self.name = "react-native-executorch" if react_native.exists() else "executorch"
        if self.name == "executorch":
            link_headers(self.top, folder)
            self.includes = [folder]
        else:
            libraries = folder / "libraries"
            libraries.mkdir()
            for library in ("absl", "nlohmann", "opencv2", "re2"):  # but not its copy of ExecuTorch
                (libraries / library).symlink_to(react_native / "third-party/include" / library)
            common = react_native / "common"
            tokenizers = react_native / "third-party/include/executorch/extension/llm/tokenizers/include"
            self.includes = [common, common / "rnexecutorch", libraries, tokenizers]

    def files(self):
        """Yields (path, reason to leave it out or None)."""
        for source in sorted(self.top.rglob("*.cpp")):
            text = source.read_text(encoding="utf-8", errors="replace")
            if USES.search(text):
                path = source.relative_to(self.top).as_posix()
                yield path, reason_to_leave_out(path, text)

    def compile(self, compiler, path):
        """The compiler's output, empty if it succeeds."""
        command = [*compiler, "-fsyntax-only", "-w", f"-std={STANDARD[self.name]}", *DEFINED, f"-I{FORWARDS}", f"-I{INCLUDE}",
                   *(f"-I{include}" for include in self.includes), *(f"-isystem{folder}" for folder in SYSTEM), f"-I{STUBS}", str(self.top / path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return "" if done.returncode == 0 else done.stdout + done.stderr


def judge(checkout, output):
    """(whose fault, the first error) of a compiler's output."""
    error = next((line for line in output.splitlines() if re.search(r"\berror: ", line)), output[:200])
    for top in (checkout.top, INCLUDE, *checkout.includes):
        error = error.replace(f"{top}/", "")
    known = next((reason for pattern, reason in KNOWN if pattern.search(error)), None)
    if known:
        return "theirs", known
    missing = re.search(r"error: '?([\w./+-]+)'?(?: file not found|: No such file)", error)
    if missing and (not missing[1].startswith("executorch/") or missing[1].endswith("_generated.h")):
        return "library", missing[1]
    return "ours", error


def lacks_source_location(compiler):
    program = "#include <source_location>\nstd::source_location place;"
    return subprocess.run([*compiler, "-std=c++20", "-fsyntax-only", "-xc++", "-"], input=program, text=True,
                          stderr=subprocess.DEVNULL, check=False).returncode != 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", nargs="+", metavar="CHECKOUT")
    parser.add_argument("--compiler", default=os.environ.get("CXX", "c++"), help="and its options")
    parser.add_argument("--least", type=int, metavar="N", help="fail if fewer compile")
    parser.add_argument("--all", action="store_true", help="list the files that are left out too")
    parser.add_argument("--match", default="", help="only paths with this regular expression")
    options = parser.parse_args()
    compiler = options.compiler.split()
    if lacks_source_location(compiler):
        compiler.append(f"-I{STUBS / 'clang_14'}")

    faults, left_out, compiled = collections.Counter(), collections.Counter(), 0
    with tempfile.TemporaryDirectory() as temporary, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = []
        for number, top in enumerate(options.checkouts):
            folder = pathlib.Path(temporary, str(number))
            folder.mkdir()
            checkout = Checkout(top, folder)
            for path, reason in checkout.files():
                if not re.search(options.match, path):
                    continue
                if reason:
                    left_out[reason] += 1
                    if options.all:
                        rows.append((checkout, path, reason, None))
                else:
                    rows.append((checkout, path, None, pool.submit(checkout.compile, compiler, path)))
        for checkout, path, reason, output in rows:
            if reason:
                print(f"{path} | left out | {reason}")
            elif not output.result():
                compiled += 1
                print(f"{path} | compiles |")
            else:
                whose, error = judge(checkout, output.result())
                faults[whose] += 1
                print(f"{path} | {whose} | {error}", flush=True)
    print(f"\n{compiled} compile; {faults['ours']} do not and are ours to serve; "
          f"{faults['library']} lack a library; {faults['theirs']} fail by their own")
    print("left out: " + ", ".join(f"{count} {reason}" for reason, count in left_out.most_common()))
    return compiled < options.least if options.least is not None else faults["ours"] > 0


if __name__ == "__main__":
    sys.exit(main())
