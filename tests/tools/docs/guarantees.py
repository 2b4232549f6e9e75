#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that docs/guarantees.md and the tests name each other.

usage: guarantees.py REPOSITORY

The page lists promises, `- A sentence.`, and below each the tests that hold it,
`  - `tests/FILE`: "NAME"`. In that file the comment "A promise of docs/guarantees.md." stands on the
line above the test: a TEST_CASE, a function, a Python test, add_test(NAME …), a CMake function
tenon_add_…(NAME …), or a `#if defined(NAME)` of tests/builds/compile/cases.cpp. It is not in a comment or under
`#if 0`, Catch2 or unittest does not leave it out, and a CMakeLists.txt of its folder or of one above
names the file, or the pattern that it meets; or that of a folder with the name that the file's begins with, beside
it. Prints one line for each fault and exits with 1 if
there is one.
"""

import pathlib
import re
import sys

PAGE = "docs/guarantees.md"
MARK = re.compile(r"^\s*(?://|#) A promise of docs/guarantees\.md\.\s*$")
PROMISE = re.compile(r"^- (.*)$")
HOLDER = re.compile(r'^  - `([^`]+)`: "([^"]+)"$')
TESTS = [re.compile(r'(?:TEMPLATE_(?:LIST_)?)?TEST_CASE\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)'),
         re.compile(r"\s*def (test_\w+)\("),
         re.compile(r"(?:static |inline |extern \"C\" )*(?:void|int|bool) (\w+)\("),
         re.compile(r"\s*add_test\(\s*NAME (\S+)"),
         re.compile(r"\s*tenon_add_\w+\((\w+)"),
         re.compile(r"#if defined\((\w+)\)")]
UNSEEN = [re.compile(r"^[ \t]*#[ \t]*if 0\b.*?^[ \t]*#[ \t]*(?:else|elif|endif)\b", re.MULTILINE | re.DOTALL),
          re.compile(r"^[ \t]*/\*.*?\*/", re.MULTILINE | re.DOTALL)]
LEFT_OUT = re.compile(r'"[^"\n]*\[[.!][^"\n]*"|\s*@unittest\.(?:skip|expectedFailure)')
SUFFIXES = {".cpp", ".cu", ".h", ".py", ".txt"}


def test_at(text):
    """The name of the test that a text begins with; None where it begins with something else."""
    for form in TESTS:
        if match := form.match(text):
            pieces = re.findall(r'"((?:[^"\\]|\\.)*)"', match.group(1))
            return "".join(pieces) if pieces else match.group(1)
    return None


def marked(name, text):
    """Yields (line number, name of the marked test, or None) for each mark in a file."""
    for form in UNSEEN if not name.endswith((".py", ".txt")) else ():
        text = form.sub(lambda match: re.sub(r"[^\n]", "", match.group()), text)
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if MARK.match(line):
            yield number + 1, test_at("\n".join(lines[number + 1:number + 5]))


def is_left_out(text, number):
    """Whether the test whose mark is in that line is one that does not run by itself."""
    before, *after = text.splitlines()[max(number - 2, 0):number + 5]
    head = re.split(r"[{}]", "\n".join(after), maxsplit=1)[0]
    return bool(LEFT_OUT.search(head) or LEFT_OUT.match(before))


def is_built(path, tests):
    """Whether a CMakeLists.txt that counts names a file, by its name or a pattern, and its folder."""
    path = pathlib.PurePosixPath(path)
    if path.as_posix() == "tests/CMakeLists.txt":
        return True
    is_list = path.name == "CMakeLists.txt"
    pattern = re.sub(r"^.*(?=_[a-z]+\.)", "*", path.name)
    for folder in list(path.parents)[is_list:]:
        outer = (folder / "CMakeLists.txt").as_posix()
        inner = path.parent.relative_to(folder).as_posix()
        words = [] if is_list else [rf"\b{path.stem}\b|{re.escape(pattern)}"]
        words += [rf"(?<![\w/]){inner}(?![\w/])"] * (inner != ".")
        if outer in tests and is_built(outer, tests) and all(
                re.search(word, tests[outer]) for word in words):
            return True
    words = path.stem.split("_")
    for count in range(1, 0 if is_list else len(words)):
        name = "_".join(words[:count])
        beside = (path.parent / name / "CMakeLists.txt").as_posix()
        if beside in tests and is_built(beside, tests) and re.search(
                rf"\.\./(?:{path.stem}|{name}_\*_test)\.", tests[beside]):
            return True
    return False


def faults(page, tests):
    """Yields the faults of a page's text and of the texts of tests by their path."""
    listed, promise, is_held = {}, None, True
    for number, line in enumerate(page.splitlines(), 1):
        if match := HOLDER.match(line):
            if promise is None:
                yield f"{PAGE}:{number}: a test without a promise"
            if match.groups() in listed.get(promise, ()):
                yield f"{PAGE}:{number}: listed twice"
            listed.setdefault(promise, []).append(match.groups())
            is_held = True
        elif line.startswith("  - "):
            yield f'{PAGE}:{number}: not `tests/FILE`: "NAME"'
        elif line.startswith(("- ", "#")):
            if not is_held:
                yield f"{PAGE}: nothing holds \"{promise}\""
            match = PROMISE.match(line)
            promise, is_held = (match.group(1), False) if match else (None, True)
            if promise in listed:
                yield f'{PAGE}:{number}: "{promise}" is promised twice'
    if not is_held:
        yield f"{PAGE}: nothing holds \"{promise}\""
    if not listed:
        yield f"{PAGE}: promises nothing"

    wanted = {holder for holders in listed.values() for holder in holders}
    found = set()
    for path, text in sorted(tests.items()):
        for number, name in marked(path, text):
            if name is None:
                yield f"{path}:{number}: no test follows the mark"
            elif (path, name) not in wanted:
                yield f'{path}:{number}: {PAGE} does not list "{name}"'
            elif is_left_out(text, number):
                yield f'{path}:{number}: "{name}" is left out of what runs'
            elif not is_built(path, tests):
                yield f"{path}:{number}: no CMakeLists.txt builds this file"
            found.add((path, name))
    for path, name in sorted(wanted - found):
        where = "there is no such file" if path not in tests else "no marked test of that name"
        yield f'{PAGE}: `{path}`: "{name}": {where}'


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1])
    tests = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
             for path in (root / "tests").rglob("*")
             if path.suffix in SUFFIXES and not path.name.startswith("guarantees")}
    found = list(faults((root / PAGE).read_text(encoding="utf-8"), tests))
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
