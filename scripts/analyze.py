#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What two static analyzers find in the headers: Clang's, and cppcheck.

usage: analyze.py SOURCE

SOURCE includes the headers. Fails with each finding that analyze_answers.txt does not answer, and with each answer to
what is no longer found.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

ANALYZERS = {
    # Without error texts it sees that a function which fails does not return Error::Ok.
    "clang": ["clang++-19", "--analyze", "-Xclang", "-analyzer-opt-analyze-headers", "--analyzer-output", "text",
              "-std=c++17", "-DTENON_ERROR_TEXT=0"],
    # It knows no compiler's own macros, and none of the standard library's headers.
    "cppcheck": ["cppcheck", "--std=c++17", "--language=c++", "--quiet", "--enable=warning,performance,portability",
                 "--template={file}:{line}:{column}: warning: {message} [{id}]", "--error-exitcode=0",
                 "-D__GNUC__=12", "-D__x86_64__", "-D__linux__", "-D__cplusplus=201703L", "-D__cpp_exceptions=199711",
                 "-D__SIZEOF_INT128__=16"],
}

FINDING = re.compile(r"^([^:\n]+):\d+:\d+: (?:warning|error): (.*\[[\w.,-]+\])$", re.MULTILINE)


def copy_headers(folder):
    for source in ("include", "testing/include"):
        shutil.copytree(ROOT / source, folder, dirs_exist_ok=True)


def change_for_cppcheck(folder):
    """Sets parentheses where cppcheck 2.10 takes the > of `x_v<T> ? a : b` for greater, or ::new for
    a name, and gives up."""
    for path in folder.rglob("*.h"):
        text = re.sub(r"(?<![\w:(])((?:std::)?\w+_v<[^;(){}<>]*>) *\?", r"(\1) ?", path.read_text())
        path.write_text(re.sub(r"= ::new \(", "= new (", text))
    # It does not see what the standard library has, without which this one refuses to be compiled.
    (folder / "tenon/backend/pmr.h").write_text("")


def findings_in(name, output, include):
    """The findings in an analyzer's output, without line numbers: a set of texts."""
    found = set()
    for path, words in FINDING.findall(output):
        path = pathlib.Path(path).resolve()
        found.add(f"{name}: {path.relative_to(include) if include in path.parents else path}: {words}")
    return found


def answers_in(text):
    """Regular expressions, for the findings that the lines of a file of answers are for. Each has to give a reason."""
    answers = []
    for line in text.splitlines():
        if line and not line.startswith("#"):
            finding, _, reason = line.partition("  # ")
            if not reason.strip():
                raise SystemExit(f"analyze_answers.txt: an answer without a reason: {line}")
            answers.append(re.compile(re.escape(finding).replace(r"\*", ".*")))
    return answers


def analyze(source):
    """The findings of all analyzers."""
    found = set()
    with tempfile.TemporaryDirectory() as scratch:
        for name, command in ANALYZERS.items():
            include = pathlib.Path(scratch).resolve() / name
            copy_headers(include)
            if name == "cppcheck":
                change_for_cppcheck(include)
            done = subprocess.run([*command, f"-I{include}", source], capture_output=True, text=True, check=False,
                                  env={**os.environ, "LC_ALL": "C"})
            output = done.stdout + done.stderr
            if done.returncode != 0:
                raise SystemExit(f"{name} ended with {done.returncode}:\n{output}")
            found |= findings_in(name, output, include)
    return found


def main():
    found = analyze(str(pathlib.Path(sys.argv[1]).resolve()))
    answers = answers_in((ROOT / "scripts/analyze_answers.txt").read_text())
    open_ones = [text for text in sorted(found) if not any(answer.fullmatch(text) for answer in answers)]
    unused = [answer.pattern for answer in answers if not any(answer.fullmatch(text) for text in found)]
    for text in open_ones:
        print(f"no answer to: {text}")
    for pattern in unused:
        print(f"an answer to nothing: {pattern}")
    print(f"{len(found)} findings, {len(open_ones)} without an answer, {len(unused)} answers to nothing")
    return int(bool(open_ones or unused))


if __name__ == "__main__":
    sys.exit(main())
