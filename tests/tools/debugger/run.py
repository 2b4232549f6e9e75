#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints objects of a program in gdb and compares what gdb shows with what it should show.

usage: run.py live|core GDB FOLDER PROGRAM SESSION...
  live  in the running program, stopped at stop_here()
  core  in a core dump of it, where nothing can be called
A SESSION is any text file. After these words at the beginning of a line come commands; the lines
below, up to an empty one, a ``` or the next command, are what they should show:
  (gdb) print, set print, frame, bt ...  as in gdb; other commands are left out
  (children) EXPRESSION [/ CHILD]        what a variable window lists when it opens that, or a child
  (lldb) COMMAND                         for run_lldb.py
FOLDER has tenon_gdb.py. Addresses, the numbers of results and the ABI namespace are not compared.
Exits with 77 and says so where gdb lacks Python or may not run programs.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

COMMAND = re.compile(r"\s*\((gdb|children|lldb)\) (.*\S)")
CHILD = re.compile(r'exp="([^"]*)",numchild="(\d+)",value="((?:[^"\\]|\\.)*)"')
START = ["set disable-randomization off", "break shown::stop_here", "run"]


class Case:
    """A command, what it should show, and where that is written."""

    def __init__(self, where, kind, command):
        self.where, self.kind, self.command, self.expected = where, kind, command, []

    def gdb_commands(self, name):
        if self.kind == "gdb":
            return [self.command]
        # A variable's children exist once they were listed.
        expression, *opened = self.command.split(" / ")
        commands = [f'interpreter-exec mi "-var-create {name} @ {expression}"']
        for variable in [name] + [f"{name}.{child}" for child in opened]:
            commands += ["echo \\n",
                         f'interpreter-exec mi "-var-list-children --all-values {variable}"']
        return commands

    def shown(self, output):
        if self.kind == "gdb":
            return [line.strip() for line in output.strip().splitlines()]
        return [f"{name} = {value if count == '0' else 'array of ' + count}"
                for name, count, value in CHILD.findall(output.split("children=")[-1])]


def read_session(path):
    """Returns the cases in a text."""
    cases = []
    current = None
    for number, line in enumerate(pathlib.Path(path).read_text(encoding="utf-8").splitlines(), 1):
        match = COMMAND.match(line)
        if match:
            kind, command = match.groups()
            current = None
            if kind != "gdb" or re.match("(set )?print|frame|bt", command):
                current = Case(f"{path}:{number}", kind, command)
                cases.append(current)
        elif not line.strip() or line.strip().startswith("```"):
            current = None
        elif current:
            current.expected.append(line.strip())
    return cases


def normal(lines):
    """Without what differs from run to run. Short addresses, such as 0x10, are no accident."""
    text = "\n".join(lines)
    text = re.sub(r"\b0x[0-9a-f]{6,}\b", "0x...", text)
    text = re.sub(r"\btenon::v\d\w*::", "tenon::", text)
    return re.sub(r"^\$\d* = ", "$ = ", text, flags=re.MULTILINE)


def run_gdb(gdb, files, commands):
    """Returns standard output and standard error."""
    settings = ["set confirm off", "set width 0", "set height 0"]
    arguments = [argument for command in settings + commands for argument in ("-ex", command)]
    environment = {**os.environ, "LC_ALL": "C", "DEBUGINFOD_URLS": ""}  # nothing from the network
    result = subprocess.run([gdb, "-batch", "-nx", *arguments, *files], stdin=subprocess.DEVNULL,
                            capture_output=True, env=environment, timeout=60, encoding="utf-8",
                            errors="replace", check=False)
    return result.stdout, result.stderr


def explain(gdb, program, fault, *texts):
    """After gdb did not do what it was to: skips the test if it cannot, else returns a failure."""
    for needed, files, commands, found in [
            ("has no Python", [], ["python print(6 * 7)"], "42"),
            ("may not run programs here", [program], [START[0], "starti"], "Program stopped")]:
        out, error = run_gdb(gdb, files, commands)
        if found not in out:
            print(f"tenon: skipped: {gdb} {needed}: {error.strip().splitlines()[-1:]}")
            return 77
    print(fault, *texts, sep="\n")
    return 1


def main(arguments):
    if len(arguments) < 5 or arguments[0] not in ("live", "core"):
        print(__doc__, file=sys.stderr)
        return 2
    mode, gdb, folder, program, *sessions = arguments
    cases = [case for session in sessions for case in read_session(session)
             if case.kind != "lldb"]
    if not cases or not all(case.expected or case.command.startswith("set") for case in cases):
        print("a session without a case, or a case without what it should show")
        return 1

    commands = [f"source {folder}/tenon_gdb.py"] + (START if mode == "live" else [])
    commands.append('interpreter-exec mi "-enable-pretty-printing"')
    for number, case in enumerate(cases):
        commands += [f"echo \\ncase {number}:\\n", *case.gdb_commands(f"case{number}")]
    commands += ["echo \\nend of cases\\n", "print stop_here()"]
    with tempfile.TemporaryDirectory() as scratch:
        files = [program]
        if mode == "core":
            files.append(os.path.join(scratch, "core"))
            out, error = run_gdb(gdb, [program], [*START, f"generate-core-file {files[1]}"])
            if "Saved corefile" not in out:
                return explain(gdb, program, "gdb made no core dump", out, error)
        out, error = run_gdb(gdb, files, commands)
    if mode == "live" and "Breakpoint 1, " not in out:
        return explain(gdb, program, "the program did not get to stop_here()", out, error)

    faults = 0
    shown = dict(re.findall(r"^case (\d+):\n(.*?)(?=^case \d+:$|^end of cases$)", out,
                            re.DOTALL | re.MULTILINE))
    for number, case in enumerate(cases):
        actual = case.shown(shown.get(str(number), "nothing: gdb ended"))
        if normal(actual) != normal(case.expected):
            faults += 1
            print(f"{case.where}: {case.command}", "  expected:", *case.expected, "  shown:",
                  *actual, sep="\n")
    # That nothing is called is proved by where nothing can be.
    can_call = "without a process" not in error
    if can_call != (mode == "live"):
        faults += 1
        print(f"gdb {'can' if can_call else 'cannot'} call functions, unexpectedly")
    if re.search("Python Exception|Error occurred in Python|RTTI symbol", error):
        faults += 1
        print("gdb complained")
    print(f"{len(cases)} cases, {faults} faults")
    if faults:
        print(error)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
