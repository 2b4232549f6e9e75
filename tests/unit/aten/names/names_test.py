#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What tenon's names mean beside libtorch's in ATen mode, compared with the list of docs/aten.md.

usage: names_test.py REPOSITORY COMPILER [FLAG]...   (the flags find tenon's and libtorch's headers)
Each name of src/tenon.cppm that namespace at has too is used without its namespace, after `using namespace tenon`
alone, and after `using namespace at` as well: a function with a TensorPtr and with an at::Tensor. The compiler says
what is ambiguous, the assembly which function is called. Prints the table and exits with 1 if the page has another.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

# A call of each function that both have; T is a tensor.
CALLS = """
allclose(T, T)  arange(3)  as_strided(T, {2}, {1})  canCast(type, type)  cat({T, T})  cat_out(T, {T, T})  chunk(T, 2)
clone(T)  device(T)  diagonal(T)  elementSize(type)  empty({2, 3})  empty_like(T)  empty_strided({2}, {1})
equal(T, T)  eye(3)  fill_(T, 1)  flatten(T)  flip(T, {0})  for_blob(data, {2})  from_blob(data, {2})  full({2, 3}, 1)
full_like(T, 1)  isComplexType(type)  isFloatingType(type)  isIntegralType(type, true)  manual_seed(1)
index_select(T, 0, T)  index_select_out(T, T, 0, T)
movedim(T, 0, 1)  narrow(T, 0, 0, 1)  nonzero(T)  normal(0., 1., {2})  ones({2, 3})  ones_like(T)  permute(T, {1, 0})
promoteTypes(type, type)  rand({2, 3})  rand_like(T)  randint(0, 2, {2})  randint_like(T, 0, 2)  randn({2, 3})
randn_like(T)  reshape(T, {6})  scalar_tensor(1)  select(T, 0, 0)  slice(T, 0, 0, 1)  split(T, 1)  squeeze(T)
stack({T, T})  stack_out(T, {T, T})  t(T)  to_string(type)  to_vector<float>(T)  toString(type)  transpose(T, 0, 1)
unbind(T)  uniform(0, 1, {2})  unsqueeze(T, 0)  zero_(T)  zeros({2, 3})  zeros_like(T)
"""
HEADERS = "".join(f"#include <{header}>\n" for header in (
    "ATen/ATen.h", "tenon/module/function_module.h", "tenon/ostream.h", "tenon/tenon.h", "tenon/tensor/values.h"))
TYPES = {"ArrayRef": "ArrayRef<int>", "CppTypeToScalarType": "CppTypeToScalarType<int>", "complex": "complex<float>",
         "TensorAccessor": "TensorAccessor<float, 2>"}  # the templates
# What the page says. Two meanings are those with a TensorPtr and with an at::Tensor.
WORDS = {("one",): "the same type or function in both namespaces", ("tenon",): "tenon's", ("at",): "ATen's", ("ambiguous",): "ambiguous",
         ("tenon", "tenon"): "tenon's", ("ambiguous", "ambiguous"): "ambiguous",
         ("tenon", "at"): "tenon's for a `TensorPtr`, ATen's for an `at::Tensor`",
         ("tenon", "ambiguous"): "tenon's for a `TensorPtr`, ambiguous for an `at::Tensor`"}
SCOPES = {"tenon": "using namespace tenon;", "both": "using namespace tenon; using namespace at;"}


class Compiler:
    def __init__(self, command, folder):
        self.command, self.folder = command, folder

    def __call__(self, lines, *flags):
        """Compiles lines of code behind the headers. Returns the lines with errors, and the assembly."""
        source, assembly = self.folder / "names.cpp", self.folder / "names.s"
        source.write_text(HEADERS + "#line 1\n" + "\n".join(lines) + "\n")
        run = subprocess.run([*self.command, *flags, str(source), "-o", str(assembly)], capture_output=True, text=True,
                             env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}, check=False)
        faults = {int(line) for line in re.findall(rf"^{source}:(\d+):\d+: error: ", run.stderr, re.MULTILINE)}
        if run.returncode != 0 and not faults:
            sys.exit(run.stderr)
        return faults, assembly.read_text() if "-S" in flags and not faults else ""


def shared_names(repository, compiler):
    names = sorted(set(re.findall(r"tenon::([a-zA-Z]\w+)", (repository / "src/tenon.cppm").read_text().split(
        "export namespace tenon {")[1])) - {"operator"})
    faults, _ = compiler([f"namespace c_{name} {{ using at::{name}; }}" for name in names], "-fsyntax-only")
    return [name for line, name in enumerate(names, 1) if line not in faults]


def meanings(calls, types, compiler):
    """Maps a name to what it means in each scope: tenon, at, ambiguous, or for functions two of these: with a TensorPtr
    and with a Tensor."""
    uses = []
    for scope, directives in SCOPES.items():
        uses.extend((name, scope, "type", f"namespace {scope}_{name} {{ {directives} "
                     f"{'auto x' if name[0] == 'k' else 'using X'} = {TYPES.get(name, name)}; }}")
                    for name in types)
        for name, call in calls.items():
            for tensor in ("TensorPtr", "Tensor") if re.search(r"\bT\b", call) else ("Tensor",):
                uses.append((name, scope, tensor,
                             f"namespace {scope}_{name} {{ {directives} void call_{tensor}(tenon::{tensor}& T, "
                             f"void* data, tenon::ScalarType type) {{ (void){call}; (void)T, (void)data, (void)type; "
                             "} }"))
    faults, _ = compiler([use[3] for use in uses], "-fsyntax-only")
    faults |= compiler(["" if line in faults else use[3] for line, use in enumerate(uses, 1)], "-fsyntax-only")[0]
    _, assembly = compiler(["" if line in faults else use[3] for line, use in enumerate(uses, 1)], "-S")
    found = {}
    for line, (name, scope, tensor, _) in enumerate(uses, 1):
        if line in faults:
            meaning = "ambiguous"
        elif tensor == "type":
            meaning = "one"
        else:
            start = assembly.index(f"{scope}_{name}{len('call_' + tensor)}call_{tensor}E")
            body = assembly[assembly.index(":\n", start):assembly.index(".cfi_endproc", start)]
            called = re.findall(rf"\b_ZNK?(?:2at|3c10|5tenon)\w*?{len(name)}{name}\w*", body)
            objects = re.findall(rf"\b_ZN(?:K?)5tenon\w+clE\w*", body)
            own = any("5tenon" in symbol[:12] for symbol in called) or objects
            meaning = "tenon" if own else "at"
            if not own and scope == "tenon" and tensor == "Tensor" and not re.search(r"\bT\b", calls[name]):
                meaning = "one"  # tenon's name for c10's function
        found.setdefault(name, {}).setdefault(scope, []).append(meaning)
    return found


def main(arguments):
    repository = pathlib.Path(arguments[0]).resolve()
    calls = {re.match(r"\w+", call)[0]: call for call in re.findall(r"\w+(?:<\w+>)?\([^()]*\)", CALLS)}
    with tempfile.TemporaryDirectory() as folder:
        command = [*arguments[1:], "-std=c++17", "-O0", "-w", "-fno-inline"]
        command.append("-ferror-limit=0" if "clang" in pathlib.Path(arguments[1]).name else "-fmax-errors=0")
        compiler = Compiler(command, pathlib.Path(folder))
        shared = shared_names(repository, compiler)
        found = meanings({name: call for name, call in calls.items() if name in shared},
                         [name for name in shared if re.match("k?[A-Z]", name) or name in TYPES], compiler)
    faults = [f"both have {name}: write a call" for name in shared if name not in found]
    rows = {}
    for name, by_scope in found.items():
        if by_scope["tenon"] == ["one"] and by_scope["both"] in (["one"], ["at"]):
            by_scope["both"] = ["one"]
        elif by_scope["tenon"] == ["one"]:
            by_scope["tenon"] = ["tenon"]
        if name[0] == "k" and by_scope["both"] == ["one"]:
            continue  # kFloat and its like are ATen's
        rows.setdefault(tuple(WORDS[tuple(meaning)] for meaning in by_scope.values()), []).append(name)
    page = (repository / "docs/aten.md").read_text(encoding="utf-8")
    entries = ["\n".join(textwrap.wrap(f"- {'; with `using namespace at` too, '.join(dict.fromkeys(words))}: `{'`, `'.join(sorted(names))}`.", 100, subsequent_indent="  ",
                                       break_long_words=False)) for words, names in sorted(rows.items())]
    if "\n" + "\n".join(entries) + "\n" not in page:
        faults.append("docs/aten.md has another list than:\n" + "\n".join(entries))
    print("\n".join(faults))
    print(f"{len(found)} names that both have, {len(faults)} faults")
    return 1 if faults or len(found) < 60 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
