#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs bench_grid, prints tenon's time beside the best other's for each layout and size, and names
each case that takes more than 1.2 times as long.

Calls that take tenon at most 250 ns are counted apart: planning a copy takes that long, and a loop
has nothing to plan."""

import argparse
import collections
import dataclasses
import math
import pathlib
import statistics
import subprocess
import sys
from typing import Dict, List

PEERS = ("loop", "native loop", "ATen", "OpenCV")
LIMIT = 1.2
CALL = 250  # nanoseconds
MARKS = ("<!-- tables of grid.py -->\n", "<!-- end of the tables -->\n")

SECTIONS = {
    "layouts": "by elements",
    "crops": "Crops of 300 rows of an image of 480 × 640, by width:",
    "ranks": "Tensors of some 20,000 elements, by rank:",
    "integers": "65,536 numbers of one type (rows) to another (columns):",
    "units": "Elements of several Bytes, by their size:",
    "programs": "What programs do to images and to attention's tensors, by type:",
    "in place": "Moves within one memory and fills, by type:",
    "index": "1,024 rows of a table of 4,096, by the bytes of a row:",
    "values": "65,536 values, by type:",
    "plans": "Nanoseconds of a small copy, Float to Float and Byte to Float, by elements:",
}


@dataclasses.dataclass(frozen=True)
class Case:
    section: str
    row: str
    column: str
    types: str
    count: int
    tenon: float  # nanoseconds an element
    others: Dict[str, float]

    @property
    def best(self):
        return min(self.others, key=self.others.get)

    @property
    def ratio(self):
        return self.tenon / self.others[self.best]

    @property
    def is_cast(self):
        return " to " in self.types

    @property
    def is_slow(self):
        return self.ratio > LIMIT

    @property
    def is_call(self):
        """Whether the call is short, whatever its elements take."""
        return self.count * self.tenon <= CALL

    @property
    def kind(self):
        """What a page says of it: the row, and whether types are converted."""
        if self.section == "integers":
            return f"{self.row} to others"
        if self.section in ("layouts", "crops", "ranks", "programs"):
            return f"{self.row}, {'casts' if self.is_cast else 'copies'}"
        return self.row

    @property
    def name(self):
        return {"integers": self.column, "index": f"{self.column} bytes"}.get(self.section, self.types)


def read_case(line) -> Case:
    section, row, column, from_type, to_type, count, tenon, *others = line.rstrip("\n").split("\t")
    if len(others) != len(PEERS):
        raise ValueError(f"not a line of bench_grid: {line!r}")
    types = from_type if from_type == to_type else f"{from_type} to {to_type}"
    found = {peer: float(ns) for peer, ns in zip(PEERS, others) if ns != "-"}
    return Case(section, row, column, types, int(count), float(tenon), found)


def table(cases: List[Case]):
    """The geometric mean of the types' ratios: a line for each row, a cell for each column. Of kept
    plans the mean time of a call."""
    cells = collections.defaultdict(list)
    for case in cases:
        figure = case.count * case.tenon if case.section == "plans" else case.ratio
        cells[case.row, case.column].append(math.log(figure))
    columns = list(dict.fromkeys(case.column for case in cases))
    if all(column.isdigit() for column in columns):
        columns.sort(key=int)
    rows = list(dict.fromkeys(case.row for case in cases))
    if set(rows) == set(columns):
        columns = rows
    titles = [f"{int(column):,}" if column.isdigit() else column for column in columns]
    lines = ["| | " + " | ".join(titles) + " |", "|---|" + "---:|" * len(columns)]
    digits = 0 if cases[0].section == "plans" else 2
    for row in rows:
        means = [f"{math.exp(statistics.mean(cells[row, column])):.{digits}f}" if cells[row, column] else ""
                 for column in columns]
        lines.append(f"| {row} | " + " | ".join(means) + " |")
    return "\n".join(lines)


def slow_table(cases: List[Case]):
    """A line for each kind: of each type the largest ratio above the limit, and the best other."""
    found = collections.defaultdict(dict)
    for case in cases:
        worst = found[case.kind].get(case.name)
        if worst is None or worst.ratio < case.ratio:
            found[case.kind][case.name] = case
    lines = ["| kind | largest | each type's largest |", "|---|---:|---|"]
    for kind, types in found.items():
        texts = ", ".join(f"{name} {case.ratio:.1f} ({case.best})" for name, case in types.items())
        lines.append(f"| {kind} | {max(case.ratio for case in types.values()):.1f} | {texts} |")
    return "\n".join(lines)


def summary(cases: List[Case]):
    """Counts of the cases, but for kept plans, whose times stand for themselves."""
    calls = [case for case in cases if case.is_call]
    long = [case for case in cases if not case.is_call]
    slow = [case for case in long if case.is_slow]
    twice = sum(case.ratio > 2 for case in slow)
    return (f"Of {len(long):,} cases of more than {CALL} ns {len(slow):,} take more than {LIMIT} of the best other's "
            f"time, {twice:,} more than twice. Of {len(calls):,} shorter ones "
            f"{sum(case.is_slow for case in calls):,} do.")


def report(cases: List[Case]):
    parts = []
    for section, title in SECTIONS.items():
        chosen = [case for case in cases if case.section == section]
        if section == "layouts":
            for name, part in (("Copies", [c for c in chosen if not c.is_cast]),
                               ("Casts", [c for c in chosen if c.is_cast])):
                if part:
                    types = list(dict.fromkeys(case.types for case in part))
                    parts.append(f"{name} of {', '.join(types)}, {title}:\n\n{table(part)}")
        elif chosen:
            parts.append(f"{title}\n\n{table(chosen)}")
    counted = [case for case in cases if case.section != "plans"]
    slow = [case for case in counted if case.is_slow and not case.is_call]
    parts.append(summary(counted) + (" The slow ones:" if slow else ""))
    if slow:
        parts.append(slow_table(slow))
    return "\n\n".join(parts) + "\n"


def insert(page, text):
    """The page with the text between the marks."""
    before, begin, rest = page.partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not begin or not end:
        raise ValueError("the page lacks the marks between which the tables go")
    return before + begin + "\n" + text + "\n" + end + after


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("program", help="bench_grid, or a file with what it printed")
    parser.add_argument("--without-loops", action="store_true", help="beside the libraries only")
    parser.add_argument("--rounds", type=int, default=7, help="at least so many (default 7)")
    parser.add_argument("--largest", type=int, default=4 << 20, help="elements (default 4 Mi)")
    parser.add_argument("--section", default="", choices=["", *SECTIONS], help="one table alone")
    parser.add_argument("--page", type=pathlib.Path, help="a page with marks: the tables go between them")
    options = parser.parse_args(arguments)
    sys.stdout.reconfigure(encoding="utf-8")
    if options.program.endswith(".txt"):
        with open(options.program, encoding="utf-8") as file:
            lines = file.readlines()
    else:
        command = [options.program, str(options.rounds), str(options.largest), options.section]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            print(f"grid.py: {options.program} ended with {done.returncode}", file=sys.stderr)
            return 2
        lines = done.stdout.splitlines()
    cases = [read_case(line) for line in lines]
    if options.without_loops:
        for case in cases:
            for peer in ("loop", "native loop"):
                case.others.pop(peer, None)
    cases = [case for case in cases if case.others]
    text = report(cases)
    if options.page:
        page = options.page.read_text(encoding="utf-8")
        options.page.write_text(insert(page, text), encoding="utf-8")
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
