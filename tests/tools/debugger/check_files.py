#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that debug/tenon_gdb.py knows every ScalarType, DeviceType and ValueKind, by the right
name.

usage: check_files.py REPOSITORY
"""

import ast
import pathlib
import re
import sys


def table(script, name):
    """A literal of a Python file."""
    for node in ast.parse(script).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == name:
            return ast.literal_eval(node.value)
    raise LookupError(name)


def main(repository):
    core = pathlib.Path(repository, "include", "tenon", "core")
    types = core.joinpath("scalar_type.h").read_text(encoding="utf-8")
    devices = core.joinpath("device.h").read_text(encoding="utf-8")
    script = pathlib.Path(repository, "debug", "tenon_gdb.py").read_text(encoding="utf-8")

    dtypes = set(re.findall(r"^  _\(.*, (\w+)\)", types, re.MULTILINE))
    known = set(table(script, "C_TYPES")) | set(table(script, "COMPLEX"))
    faults = [f"the dtype {name} is in only one of scalar_type.h and tenon_gdb.py"
              for name in sorted(dtypes ^ known)]
    text = re.search(r"kDeviceNames\[\] =(.*?);", devices, re.DOTALL).group(1)
    names = "".join(re.findall(r'"(.*)"', text)).split("\\0")  # by number, but for the last two
    numbers = re.findall(r"^  (\w+) = (\d+),", devices, re.MULTILINE)
    named = {number if number < 126 else number - 126 + len(names) - 2
             for number in table(script, "DEVICES")}
    known = {number: names[number if number < 126 else number - 126 + len(names) - 2]
             for number in (int(number) for _, number in numbers)}
    if known != table(script, "DEVICES") or {i for i, name in enumerate(names) if name} != named:
        faults.append("the devices are not those of device.h")
    evalue = pathlib.Path(repository, "include", "tenon", "module", "value_kind.h")
    kinds = re.search(r"enum class ValueKind\b.*?\{(.*?)\}", evalue.read_text(encoding="utf-8"),
                      re.DOTALL).group(1)
    if re.findall(r"^  (\w+)", kinds, re.MULTILINE) != table(script, "VALUE_KINDS"):
        faults.append("the kinds of EValues are not those of evalue.h")
    print("\n".join([*faults, f"{len(dtypes)} dtypes, {len(numbers)} devices, {len(faults)} faults"]))
    return 1 if faults or not dtypes or not numbers else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
