#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that debug/tenon_stacks.py finds the line of the call that allocated.

usage: check_stacks.py LEAKER SCRIPT
Exits with 77 where the program has no backtrace(), or there is no addr2line.
"""

import re
import shutil
import subprocess
import sys

leaker, script = sys.argv[1:]


def report(depth):
    program = subprocess.run([leaker, str(depth)], stdout=subprocess.PIPE, check=False)
    if program.returncode == 77 or shutil.which("addr2line") is None:
        print("skipped: needs backtrace() and addr2line")
        sys.exit(77)
    text = subprocess.run([sys.executable, "-B", script], input=program.stdout, check=True,
                          stdout=subprocess.PIPE).stdout.decode()
    print(program.stdout.decode(), text, sep="\n")
    return text


leaks = re.findall(r'in "(\d+)" .*\n    (.*)', report(32))
faults = [f"line {line} is given as {place}" for line, place in leaks
          if not place.endswith(f"leaker.cpp:{line}")]
if len(leaks) != 4:
    faults.append("there are to be four leaks")
if report(1).count("only tenon's own calls: raise \"stack_depth\", 1 here") != 4:
    faults.append("a stack that is too short is to say so")
print(*faults, sep="\n")
sys.exit(bool(faults))
