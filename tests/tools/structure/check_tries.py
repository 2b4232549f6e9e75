#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that what can raise an error has a try_ form, or that docs/errors.md says why it has none.

usage: check_tries.py REPOSITORY

Read from the headers are the public functions of namespace tenon and of its classes, by name, that are neither noexcept
nor constexpr and return no Error or Result. Left out are constructors, which cannot return a Result, and OMITTED.
docs/errors.md has a list under HEADING, whose entries begin with names of functions, or of a class for all its members,
in backticks before a colon.
  - each function has a try_ form or is in the list
  - each name in the list is that of such a function, or of a class that has some
A try_ form is one of the same name: try_accessor counts for each accessor(). EValue has ExecuTorch's, tryToInt.
Prints one line for each fault and exits with 1 if there is one.
"""

import pathlib
import re
import sys

import check_headers
from parse_headers import declarations, declarator, function_name, tokens_of, without_brackets

HEADING = "## What has no try_ form"

# Headers whose functions are not looked at: ATen mode's have the names of tensor/'s, ExecuTorch's names follow
# ExecuTorch, and the conformance suite reports failures.
OMITTED = ("tenon/aten/", "tenon/compat/", "tenon/testing/")


def raising_functions(headers):
    """(a map of each function that can raise to its header, the names of all functions and function objects)"""
    raising, names = {}, set()
    for header, text in headers.items():
        if header.startswith(OMITTED):
            continue
        for scopes, head in declarations(tokens_of(text)):
            if any(scope.startswith("detail") or access != "public" for scope, access in scopes):
                continue
            name = function_name(head)
            plain = without_brackets(declarator(head))
            if name is None and plain[:2] == ["inline", "constexpr"] and "{" in head:
                names.add(head[head.index("{") - 1])
            if not name:
                continue
            classes = [scope for scope, _ in scopes if scope]
            names.add("::".join(classes + [name]))
            returned = [token for token in plain if token not in ("static", "inline", "virtual")][:1]
            if (name.startswith(("try_", "~")) or name in classes or returned[0] in ("Error", "Result", "explicit", "friend")
                    or "noexcept" in head or "constexpr" in plain or "TENON_MISTAKE" in head
                    or head[-2:] in (["=", "0"], ["=", "delete"], ["=", "default"])):
                continue
            raising["::".join(classes + [name])] = header
    return raising, names


def named_in(document):
    """The names in the list, None if there is no list."""
    if f"{HEADING}\n" not in document:
        return None
    section = document[document.index(HEADING):].split("\n## ")[0]
    entries = re.findall(r"^- (.*?): ", section, re.MULTILINE | re.DOTALL)
    return [name for names in entries for name in re.findall(r"`([^`]+)`", names)]


def try_names(name):
    """What a function's try_ form may be called: in EValue as in ExecuTorch, tryToInt."""
    scope, _, last = name.rpartition("::")
    return {scope + "::" * bool(scope) + form for form in ("try_" + last, "try" + last[:1].upper() + last[1:])}


def without_try(raising, names):
    return {name: header for name, header in raising.items() if not try_names(name) & names}


def check(headers, document):
    """Yields faults."""
    raising, names = raising_functions(headers)
    listed = named_in(document)
    if listed is None:
        yield f'docs/errors.md has no list under "{HEADING}"'
        return
    for name, header in sorted(without_try(raising, names).items(), key=lambda item: item[::-1]):
        if not any(name == known or name.startswith(known + "::") for known in listed):
            yield f"{header}: {name} can raise, and has neither a try_ form nor an entry in docs/errors.md"
    for known in listed:
        if not any(name == known or name.startswith(known + "::") for name in raising):
            yield f"docs/errors.md: {known} is not the name of what can raise"
        elif try_names(known) & names:
            yield f"docs/errors.md: {known} has a try_ form"


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    headers = check_headers.read_headers(arguments[0])
    raising, names = raising_functions(headers)
    faults = list(check(headers, pathlib.Path(arguments[0], "docs", "errors.md").read_text(encoding="utf-8")))
    for fault in faults:
        print(fault)
    print(f"{len(raising)} functions can raise, {len(without_try(raising, names))} have no try_ form; {len(faults)} faults")
    return 1 if faults or not raising else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
