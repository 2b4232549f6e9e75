#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turns the return addresses in a TrackingBackend's leak_report() into lines of the program.

usage: PROGRAM | tenon_stacks.py, or tenon_stacks.py REPORT

The program is built with -g, optimised or not, and its files are where they were. Of each stack the
functions outside of tenon, PyTorch and the standard library are shown, innermost first: the first
line is that of the call that allocated. A stack that ends before it says so. What has no lines is
passed on as it is, as all other text is. Needs addr2line and nm.
"""

import fileinput
import functools
import itertools
import re
import subprocess

# backtrace_symbols(): "module(+0x12) [0x5512]", "module() [0x5512]", "module(function+0x12) [...]".
FRAME = re.compile(r"    (?P<module>.+)\((?P<symbol>[^()+]*)\+?(?P<offset>0x[0-9a-f]+)?\) "
                   r"\[(?P<address>0x[0-9a-f]+)\]$")
# Mangled names in namespaces tenon, at, c10, torch and std, and what calls main().
LIBRARY = re.compile(r"_Z[ZNK]*(5tenon|2at|3c10|5torch|S[tabsiod])|__libc_start|_start$")


def output_of(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False,
                          encoding="utf-8", errors="replace").stdout


@functools.lru_cache(maxsize=None)
def symbols_of(module):
    """The addresses of the functions that a module exports."""
    rows = (line.split() for line in output_of("nm", "-D", "--defined-only", module).splitlines())
    return {row[2].split("@")[0]: int(row[0], 16) for row in rows if len(row) == 3}


@functools.lru_cache(maxsize=None)
def lines_of(module, address):
    """The program's lines at an address, the innermost inlined function first; or None."""
    # The call is before the address that it returns to.
    rows = output_of("addr2line", "-f", "-i", "-e", module, hex(address - 1)).splitlines()
    shown = [place.split(" (")[0] for name, place in zip(rows[::2], rows[1::2])
             if not LIBRARY.match(name)]
    return None if not rows or "??:0" in shown or "??:?" in shown else shown


def resolve(line):
    """The lines to show for one of the report."""
    frame = FRAME.match(line)
    if frame is None:
        return [line]
    address = int(frame["offset"] or frame["address"], 16)
    if frame["symbol"]:
        address += symbols_of(frame["module"]).get(frame["symbol"], 0)
    places = lines_of(frame["module"], address)
    return [line] if places is None else [f"    {place}" for place in places]


def too_short(count):
    """What is shown for a stack of `count` addresses none of which is the program's."""
    return (f"    only tenon's own calls: raise \"stack_depth\", {count} here, to 32 "
            "in a program without optimisation")


def main():
    addresses = shown = 0  # of the stack that is being read
    for text in itertools.chain(fileinput.input(), [None]):  # at the end of which the last stack ends, too
        line = None if text is None else text.rstrip("\n")
        if line is None or FRAME.match(line) is None:
            if addresses != 0 and shown == 0:
                print(too_short(addresses), flush=True)
            addresses = shown = 0
        else:
            addresses += 1
        for resolved in [] if line is None else resolve(line):
            shown += addresses != 0
            print(resolved, flush=True)


if __name__ == "__main__":
    main()
