#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What each use of an attribute macro is worth: takes it out of the headers, alone, and measures small programs without it.

usage: attributes.py [--macros NAMES] [--only REGEX] [--all] [--jobs N]
  --macros  NOINLINE,COLD,ALWAYS_INLINE,UNLIKELY by default
  --only    uses whose "path: function" matches, such as tensor/ or "core/error.h: fail"
  --all     also those of BUT_FOR, and TENON_UNLIKELY outside of kernels/
  --jobs    how many at once (as many as there are processors)

Of a header that the programs include, each use is a row; each macro is one too, of all its uses at once, and so are all uses
that do not pay. What leaving it out costs, so that a use pays where the number is positive:
  text       bytes of text of a program with from_blob, and of PROGRAM, g++ -O2
  the calls  instructions of one call in PROGRAM, with what it returns destroyed (callgrind)
  M4         bytes of text of the same programs on a Cortex-M4, -Os, without error texts
The verdict: "pays" (it costs somewhere and gains nowhere to leave it out), "does not pay" (the reverse), "mixed", "nothing
changes" (the compiler does it by itself, or the programs do not have that function).

Needs g++, arm-none-eabi-g++ and valgrind. Two to ten minutes.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import typing

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "include"
sys.path[:0] = [str(ROOT / "tests" / "platforms" / "embedded" / "size"), str(ROOT / "tests" / "tools" / "budgets")]

import budgets  # noqa: E402  (what a comment is)
import sizes  # noqa: E402  (how a program for a Cortex-M4 is built)

# What to write instead.
MACROS = {"NOINLINE": "", "COLD": "", "ALWAYS_INLINE": "inline", "UNLIKELY": ""}
# Uses that other figures decide: the benchmarks' loops over elements, and what is compiled for a GPU.
BUT_FOR = re.compile(r"^(kernels/|backend/cuda|core/(float_bits|numbers)\.h)")

SMALL = """#include <tenon/tenon.h>
static float floats[6];
volatile int64_t sink;
int main() { auto t = tenon::from_blob(floats, {2, 3}); sink = t->numel(); }
"""

CALLS = {
    "from_blob": "auto t = from_blob(floats, {2, 3}); sink = t->numel();",
    "list": "auto t = make_tensor_ptr({1, 2, 3, 4}); sink = t->numel();",
    "zeros": "auto t = zeros({2, 3}); sink = t->numel();",
    "clone": "auto t = clone_tensor_ptr(*source); sink = t->numel();",
    "view": "auto t = transpose(*source, 0, 1); sink = t.numel();",
    "resize": "sink = int(resize_tensor_ptr(source, {3, 2})); sink = int(resize_tensor_ptr(source, {2, 3}));",
    "copy": "sink = int(copy_(*wide, transpose(*source, 0, 1)));",
    "dlpack": "auto t = from_dlpack(to_dlpack(*source)); sink = t->numel();",
}

PROGRAM = """#include <tenon/tenon.h>
using namespace tenon;
static float floats[6];
volatile int64_t sink;
static TensorPtr source, wide;
%s
int main() {
  source = zeros({2, 3});
  wide = zeros({3, 2}, ScalarType::Double);
  for (int i = 0; i < 100; ++i) {
%s
  }
}
""" % ("\n".join(f'extern "C" __attribute__((noinline)) void call_{name}() {{ {body} }}' for name, body in CALLS.items()),
       "\n".join(f"    call_{name}();" for name in CALLS))

FAST = ["-std=c++17", "-O2", "-DNDEBUG", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"]
FIGURES = ["text from_blob", "text all", *CALLS, "M4 from_blob", "M4 all"]


class Use(typing.NamedTuple):
    """One use of a macro: where it is in the text of a header, given by its path in include/tenon."""
    header: str
    begin: int
    end: int
    macro: str
    line: int
    function: str


def uses_of(header, text):
    """The uses of MACROS in a header, without comments, texts and macros' definitions."""
    code = budgets.LITERAL_OR_COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda match: re.sub(r"[^\n]", " ", match.group()), code,
                  flags=re.MULTILINE)
    for match in re.finditer(rf"\bTENON_({'|'.join(MACROS)})\b", code):
        if match.group(1) == "UNLIKELY":
            function = code[match.end():].split("\n")[0].strip()
        else:  # the name before the parameters
            found = re.search(r"(operator\s*\S+?|[\w~]+)\s*\(", code[match.end():])
            function = found.group(1) if found else ""
        yield Use(header, *match.span(), match.group(1), code.count("\n", 0, match.start()) + 1, function)


def without(text, uses):
    """A header's text without these uses."""
    for use in sorted(uses, key=lambda use: -use.begin):
        text = text[:use.begin] + MACROS[use.macro] + text[use.end:]
    return text


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, **options).stdout


def instructions(output):
    """{call: instructions of one call} of what callgrind wrote, in which main() calls each a hundred times."""
    counts, function, called = {}, "", None
    for line in output.splitlines():
        if line.startswith("fn="):
            function = line[3:]
        elif line.startswith("cfn="):
            called = line[4:]
        elif line.startswith("calls="):
            continue
        elif called is not None:
            if function == "main" and called.startswith("call_"):
                counts[called[5:]] = round(int(line.split()[1]) / 100)
            called = None
    return counts


def measure(texts):
    """The FIGURES with these texts of headers in place of theirs; None if that does not compile."""
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        for header, text in texts.items():
            path = work / "include" / "tenon" / header
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        includes = [f"-I{work / 'include'}", f"-I{INCLUDE}"]
        text, arm_text = [], []
        for name, source in (("small", SMALL), ("all", PROGRAM)):
            file, program = work / f"{name}.cpp", work / name
            file.write_text(source, encoding="utf-8")
            try:
                run("g++", *FAST, *includes, file, "-o", program)
            except subprocess.CalledProcessError as error:
                if not texts:
                    sys.exit(error.stderr)
                return None
            text.append(int(run("size", program).splitlines()[1].split()[0]))
            arm_text.append(sizes.build(work, f"{name}_m4", [file], "-DTENON_ERROR_TEXT=0", *includes, warnings=["-w"],
                                        runs=False).text)
        run("valgrind", "--tool=callgrind", "--compress-strings=no", "--compress-pos=no",
            f"--callgrind-out-file={work / 'calls'}", work / "all")
        counts = instructions((work / "calls").read_text(encoding="utf-8"))
        return [*text, *(counts[name] for name in CALLS), *arm_text]


def verdict(costs):
    """In words, of what leaving a use out costs."""
    if not any(costs):
        return "nothing changes"
    return "pays" if min(costs) >= 0 else "does not pay" if max(costs) <= 0 else "mixed"


def print_row(title, costs):
    words = "does not compile" if costs is None else verdict(costs)
    cells = "".join(f" {cost or '.'} |" for cost in costs or ["?"] * len(FIGURES))
    print(f"| {title} |{cells} {words} |", flush=True)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--macros", default=",".join(MACROS))
    parser.add_argument("--only", type=re.compile, default=re.compile(""))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args(arguments)

    included = run("g++", "-std=c++17", f"-I{INCLUDE}", "-M", "-x", "c++", "-", input=PROGRAM).replace("\\\n", " ").split()
    texts = {path.relative_to(INCLUDE / "tenon").as_posix(): path.read_text(encoding="utf-8")
             for path in map(pathlib.Path, included) if path.is_relative_to(INCLUDE)}
    uses = [use for header, text in texts.items() for use in uses_of(header, text)
            if use.macro in options.macros.split(",") and options.only.search(f"{use.header}: {use.function}")
            and (options.all or use.header.startswith("kernels/") == (use.macro == "UNLIKELY")
                 and (use.macro == "UNLIKELY" or not BUT_FOR.search(use.header)))]

    def costs_without(taken):
        """What the figures are more without these uses; None if that does not compile."""
        figures = measure({header: without(texts[header], [use for use in taken if use.header == header])
                           for header in {use.header for use in taken}})
        return figures and [now - before for now, before in zip(figures, base)]

    base = measure({})
    print(f"{len(uses)} uses\n\n| left out | {' | '.join(FIGURES)} | |\n|---|{'---:|' * len(FIGURES)}---|")
    print(f"| nothing | {' | '.join(map(str, base))} | |", flush=True)
    whole = {macro: taken for macro in MACROS if (taken := [use for use in uses if use.macro == macro])}
    idle = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for macro, costs in zip(whole, pool.map(costs_without, whole.values())):
            print_row(f"all {len(whole[macro])} {macro}", costs)
        for use, costs in zip(uses, pool.map(lambda use: costs_without([use]), uses)):
            print_row(f"{use.macro} {use.header}:{use.line} {use.function}", costs)
            if costs and any(costs) and max(costs) <= 0:
                idle.append(use)
    if idle:
        print_row(f"the {len(idle)} that do not pay", costs_without(idle))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
