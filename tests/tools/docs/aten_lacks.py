#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that docs/aten.md says how much of the tests ATen mode leaves out.

usage: aten_lacks.py REPOSITORY

Both modes compile the test files that tests/unit/aten/CMakeLists.txt lists. Left out are test cases,
with the tag [plain] or in an `#if !TENON_ATEN_MODE`, and places in other test cases: ATEN_LACKS(…),
`#if !TENON_ATEN_MODE` and other conditions on the mode. Prints one line for each fault and exits
with 1 if there is one.
"""

import pathlib
import re
import sys

PAGE = "docs/aten.md"
LIST = "tests/unit/aten/CMakeLists.txt"
FILES = ("tensor/*_test.cpp", "exchange/*_test.cpp", "module/*_test.cpp", "interop/npy_test.cpp",
         "compiled_test.cpp", "fwd_test.cpp")
SENTENCE = re.compile(r"leave out\s+(\d+)\s+test\s+cases\s+and\s+(\d+)\s+places\s+in\s+others")
CASE = re.compile(r"TEST_CASE\((?:[^()]|\([^()]*\))*?\)\s*{")
REGION = re.compile(r"^#if !TENON_ATEN_MODE\b.*?^#(?:else|endif)", re.MULTILINE | re.DOTALL)
PLACE = re.compile(r"ATEN_LACKS\(|^(?!#).*\bTENON_ATEN_MODE\b", re.MULTILINE)


def left_out(text):
    """The numbers of test cases and of places that a test file leaves out."""
    cases = places = 0
    for region in REGION.findall(text):
        inside = len(CASE.findall(region))
        cases += inside
        places += inside == 0
    rest = REGION.sub("", text)
    cases += sum("[plain]" in case for case in CASE.findall(rest))
    return cases, places + len(PLACE.findall(rest))


def faults(page, cmake, tests):
    """Yields the faults of a page, the list of test files, and their texts."""
    if "EXCLUDE" in cmake:
        yield f"{LIST}: leaves out whole files"
    counts = [left_out(text) for text in tests]
    cases, places = (sum(column) for column in zip(*counts))
    said = SENTENCE.search(page)
    if not said or (int(said.group(1)), int(said.group(2))) != (cases, places):
        yield (f"{PAGE}: says {said.group(0) if said else 'nothing of this'!r}; the tests leave out "
               f"{cases} test cases and {places} places in others")


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    repository = pathlib.Path(arguments[0])
    tests = [path.read_text(encoding="utf-8")
             for pattern in FILES for path in sorted((repository / "tests/unit").glob(pattern))]
    found = list(faults((repository / PAGE).read_text(encoding="utf-8"),
                        (repository / LIST).read_text(encoding="utf-8"), tests))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
