#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lists the unit tests' cases that reach nothing in the headers that other cases do not reach.

usage: cases.py [--build FOLDER] [--jobs N] [--alone]
  --build   where the instrumented tests are built (build/cases)
  --jobs    compilers at once (all processors)
  --alone   instead, for each case the blocks that it alone reaches

A block is a place of a header where the compiler begins a piece of code without branches; instantiations
of a template share theirs. All listed cases could go at once, and each block would still be reached.
Cases that hold a promise of docs/guarantees.md are never listed. It is a hint: a case may be the only one
that checks a value. Read it first.

It needs clang++ and llvm-symbolizer of its version. Only the two programs without partners are built.
"""

import argparse
import collections
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = ("tenon_tests", "tenon_kernel_tests")
HEADER = re.compile(r".*?/((?:testing/)?include/tenon/.*):(\d+):(\d+)$")
PROMISE = "// A promise of docs/guarantees.md."


def run(*command, **keywords):
    return subprocess.run([str(word) for word in command], check=True, text=True, **keywords)


def build(folder, jobs):
    # At fixed addresses, which llvm-symbolizer then takes as they are.
    run("cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_CXX_COMPILER=clang++",
        "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG -g1", "-DTENON_BUILD_TESTS=ON",
        "-DCMAKE_CXX_FLAGS=-fsanitize-coverage=inline-8bit-counters,pc-table -fno-pie -DTENON_REACHED",
        "-DCMAKE_EXE_LINKER_FLAGS=-no-pie", "-DTENON_TESTS=unit")
    run("cmake", "--build", folder, "--parallel", jobs, "--target", *PROGRAMS)


def run_cases(program):
    """What each case reached: {(file, line, name): {block}}."""
    output = program.with_suffix(".cases")
    run(program, "~[large]", cwd=program.parent, env={**os.environ, "TENON_REACHED_FILE": str(output)},
        stdout=subprocess.DEVNULL)
    reached, addresses = {}, set()
    for line in output.read_text(encoding="utf-8").splitlines():
        if line.startswith("case "):
            _, place, name = line.split(" ", 2)
            file, number = place.rsplit(":", 1)
            here = reached[pathlib.Path(file), int(number), name] = set()
        else:
            here.add(line)
            addresses.add(line)
    addresses = sorted(addresses)
    version = run("clang++", "-dumpversion", stdout=subprocess.PIPE).stdout.split(".")[0]
    symbols = run(f"llvm-symbolizer-{version}", "-e", program, "-f=none", "--no-inlines", stdout=subprocess.PIPE,
                  input="".join(f"0x{address}\n" for address in addresses)).stdout
    places = [HEADER.match(line) for line in symbols.split("\n") if line]
    block = {address: match.groups() for address, match in zip(addresses, places, strict=True) if match}
    return {case: {block[address] for address in found if address in block} for case, found in reached.items()}


def lines_and_promise(case):
    """How many lines a case has, and whether it holds a promise."""
    file, number, _ = case
    lines = file.read_text(encoding="utf-8").splitlines()
    end = lines.index("}", number - 1)
    return end - number + 2, lines[number - 2] == PROMISE


def removable(reached):
    """The largest first: cases whose blocks all are reached by others that stay."""
    count = collections.Counter(block for found in reached.values() for block in found)
    facts = {case: lines_and_promise(case) for case in reached}
    for case in sorted(reached, key=lambda case: -facts[case][0]):
        if not facts[case][1] and all(count[block] > 1 for block in reached[case]):
            count.subtract(reached[case])
            yield case, facts[case][0]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "cases")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--alone", action="store_true")
    options = parser.parse_args()
    build(options.build, options.jobs)
    reached = {}
    for program in PROGRAMS:
        reached.update(run_cases(options.build / "tests/unit" / program))
    if options.alone:
        count = collections.Counter(block for found in reached.values() for block in found)
        for (file, number, name), found in sorted(reached.items()):
            alone = sorted(f"{header}:{line}" for header, line, column in found if count[header, line, column] == 1)
            print(f"{file.relative_to(ROOT)}:{number}: {name}: {len(alone)} blocks {' '.join(alone)}")
        return
    total = 0
    for (file, number, name), lines in sorted(removable(reached)):
        print(f"{file.relative_to(ROOT)}:{number}: {name}: {lines} lines")
        total += lines
    print(f"{total} lines in all; {len(reached)} cases ran")


if __name__ == "__main__":
    main()
