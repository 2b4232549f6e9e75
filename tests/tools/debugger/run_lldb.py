#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints objects of a program in lldb, which should show them as gdb does.

usage: run_lldb.py LLDB FOLDER PROGRAM SESSION...
Of a SESSION, as run.py describes it, these are taken:
  (gdb) print NAME, print *NAME   the variable's text
  (gdb) set print elements N      as lldb's target.max-children-count
  (children) NAME                 what it opens to
  (lldb) COMMAND                  as it is, and what lldb prints
FOLDER has tenon_lldb.py. Exits with 77 and says so where lldb lacks Python or may not run programs.
"""

import re
import subprocess
import sys

import run

# What lldb itself shows in other words: its null pointers and the standard library's containers,
# a class that is not tenon's, a reference, which it dereferences.
OWN_WORDS = {"no_tensor", "optional", "no_optional", "tensors", "opaque", "*reference"}


def print_children(name):
    """In lldb: what the variable opens to, in gdb's words."""
    import lldb
    opened = lldb.debugger.GetSelectedTarget().FindFirstGlobalVariable("shown::" + name)
    for child in opened.GetSyntheticValue():
        text = child.GetValue() or child.GetSummary()
        if child.GetType().IsArrayType():
            text = "array of %d" % child.GetNumChildren()
        elif child.GetType().GetBasicType() == lldb.eBasicTypeDouble:
            text = "%.17g" % float(text)
        print(child.GetName(), "=", text)


def commands_of(case):
    if case.kind == "lldb":
        return case.command
    if case.kind == "children" and " / " not in case.command:
        return "script run_lldb.print_children(%r)" % case.command
    printed = re.fullmatch(r"print (\*?)(\w+)", case.command)
    if printed and not {printed.group(2), "".join(printed.groups())} & OWN_WORDS:
        return "target variable %s%s" % printed.groups()
    limit = re.fullmatch(r"set print elements (\w+)", case.command)
    if limit:
        return "settings set target.max-children-count " + limit.group(1).replace("unlimited", "0")
    return None


def shown(case, output):
    # lldb 17 to 21 complain of GCC's debug information.
    lines = [line.strip() for line in output.splitlines()
             if line.strip() and not line.startswith(("(lldb) ", "error: debuggee", "warning: "))]
    if case.kind == "gdb" and lines:
        # Libraries' variables of the same name follow.
        lines = ["$ = " + lines[0].partition(" = ")[2]]
    return lines


def run_lldb(lldb, program, commands):
    arguments = [argument for command in commands for argument in ("-o", command)]
    result = subprocess.run(
        [lldb, "--batch", "--no-lldbinit", *arguments, program],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
        encoding="utf-8", errors="replace", check=False)
    return result.stdout


def main(arguments):
    if len(arguments) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    lldb, folder, program, *sessions = arguments
    cases = [case for session in sessions for case in run.read_session(session)
             if commands_of(case)]
    commands = [f"command script import {folder}/tenon_lldb.py",
                f"command script import {__file__}",
                "settings set target.disable-aslr false",
                "breakpoint set --name shown::stop_here", "run"]
    for number, case in enumerate(cases):
        # So that an error does not end the session.
        commands += [f"script print('\\ncase {number}:')",
                     f"script lldb.debugger.HandleCommand({commands_of(case)!r})"]
    out = run_lldb(lldb, program, [*commands, "script print('\\nend of cases')"])
    for needed, command, found in [("has no Python", "script print(6 * 7)", "\n42\n"),
                                   ("may not run programs here", commands[2] + "\nrun", "exited")]:
        if "stop reason = breakpoint" in out:
            break
        tried = run_lldb(lldb, program, command.split("\n"))
        if found not in tried:
            print(f"tenon: skipped: {lldb} {needed}: {tried.strip().splitlines()[-1:]}")
            return 77

    faults = 0
    texts = dict(re.findall(r"^case (\d+):\n(.*?)(?=^case \d+:$|^end of cases$)", out,
                            re.DOTALL | re.MULTILINE))
    for number, case in enumerate(cases):
        case.expected = [re.sub(r"tenon::ScalarType::|(?<=nan)\(0x...\)$", "", line)
                         for line in case.expected]
        actual = shown(case, texts.get(str(number), "nothing: lldb ended"))
        if run.normal(actual) != run.normal(case.expected):
            faults += 1
            print(f"{case.where}: {case.command}", "  expected:", *case.expected, "  shown:",
                  *actual, sep="\n")
    if "Traceback" in out:
        faults += 1
        print(out)
    print(f"{len(cases)} cases, {faults} faults")
    return 1 if faults or len(cases) < 2 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
