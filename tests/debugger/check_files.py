#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that debug/tenon_gdb.py knows every ScalarType and DeviceType, by the right name.

usage: check_files.py REPOSITORY
Prints one line for each fault and exits with 1 if there is one.
"""

import ast
import pathlib
import re
import sys

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def read_headers(repository):
    """All headers' code in one text."""
    return "\n".join(COMMENT.sub("", path.read_text(encoding="utf-8"))
                     for path in sorted(pathlib.Path(repository, "include").rglob("*.h")))


def table(script, name):
    """A literal of a Python file."""
    for node in ast.parse(script).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == name:
            return ast.literal_eval(node.value)
    raise LookupError(name)


def check_tables(script, headers):
    """Yields faults in the tables of tenon_gdb.py."""
    rows = re.search(r"#define TENON_FORALL_SCALAR_TYPES\(_\)(.*?)\n\n", headers, re.DOTALL)
    dtypes = set(re.findall(r"_\(.*, (\w+)\)", rows.group(1)))
    known = set(table(script, "C_TYPES")) | set(table(script, "COMPLEX"))
    for name in sorted(dtypes ^ known):
        yield f"the dtype {name} is in only one of scalar_type.h and tenon_gdb.py"
    numbers = dict(re.findall(r"^  (\w+) = (\d+),", re.search(
        r"enum class DeviceType\b.*?\};", headers, re.DOTALL).group(), re.MULTILINE))
    names = dict(re.findall(r'case DeviceType::(\w+): return "(\w+)";', headers))
    devices = {int(number): names.get(name) for name, number in numbers.items()}
    if devices != table(script, "DEVICES"):
        yield f"the devices are not those of device.h, {devices}"


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    file = pathlib.Path(arguments[0], "debug", "tenon_gdb.py")
    faults = list(check_tables(file.read_text(encoding="utf-8"), read_headers(arguments[0])))
    for fault in faults:
        print(f"{file.name}: {fault}")
    print(f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
