#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs bench_grid, prints tenon's time beside the best other's for each layout and size, and names
each case that takes more than 1.2 times as long.

A case whose whole call takes at most 250 ns more than the other's is listed apart: planning a copy
takes that long, and a loop has nothing to plan."""

import argparse
import collections
import dataclasses
import math
import statistics
import subprocess
import sys
from typing import Dict, List

PEERS = ("loop", "ATen", "OpenCV")
LIMIT = 1.2
CALL = 250  # nanoseconds


@dataclasses.dataclass(frozen=True)
class Case:
    layout: str
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
        """Whether it is the call that takes longer, not the elements."""
        return self.count * (self.tenon - self.others[self.best]) <= CALL


def read_case(line) -> Case:
    layout, from_type, to_type, count, tenon, *others = line.rstrip("\n").split("\t")
    if len(others) != len(PEERS):
        raise ValueError(f"not a line of bench_grid: {line!r}")
    types = from_type if from_type == to_type else f"{from_type} to {to_type}"
    found = {peer: float(ns) for peer, ns in zip(PEERS, others) if ns != "-"}
    return Case(layout, types, int(count), float(tenon), found)


def table(cases: List[Case]):
    """The geometric mean of the types' ratios: a line for each layout, a column for each size."""
    cells = collections.defaultdict(list)
    for case in cases:
        cells[case.layout, case.count].append(math.log(case.ratio))
    counts = sorted({count for _, count in cells})
    lines = ["| layout | " + " | ".join(f"{count:,}" for count in counts) + " |",
             "|---|" + "---:|" * len(counts)]
    for layout in dict.fromkeys(case.layout for case in cases):
        means = [f"{math.exp(statistics.mean(cells[layout, count])):.2f}" for count in counts]
        lines.append(f"| {layout} | " + " | ".join(means) + " |")
    return "\n".join(lines)


def slow_lines(cases: List[Case]):
    """A line for each layout and size: the types with their ratios and the best other."""
    found = collections.defaultdict(list)
    for case in cases:
        found[case.layout, case.count].append(f"{case.types} {case.ratio:.2f} ({case.best})")
    return "\n".join(f"- {layout}, {count:,}: {', '.join(texts)}"
                     for (layout, count), texts in found.items())


def report(cases: List[Case]):
    kinds = {"Copies": [c for c in cases if not c.is_cast], "Casts": [c for c in cases if c.is_cast]}
    parts = [f"{title}, time beside the best other's:\n\n{table(chosen)}"
             for title, chosen in kinds.items() if chosen]
    slow = [c for c in cases if c.is_slow]
    by_call = [c for c in slow if c.is_call]
    parts.append(f"{len(cases)} cases; {len(slow)} take more than {LIMIT} of the best other's time, "
                 f"{len(by_call)} of them by at most {CALL} ns a call. The rest:")
    parts.append(slow_lines([c for c in slow if not c.is_call]) or "none")
    if by_call:
        parts.append(f"By at most {CALL} ns a call:\n\n{slow_lines(by_call)}")
    return "\n\n".join(parts)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("program", help="bench_grid, or a file with what it printed")
    parser.add_argument("--without-loops", action="store_true", help="beside the libraries only")
    parser.add_argument("--rounds", type=int, default=7, help="at least so many (default 7)")
    parser.add_argument("--largest", type=int, default=4 << 20, help="elements (default 4 Mi)")
    options = parser.parse_args(arguments)
    sys.stdout.reconfigure(encoding="utf-8")
    if options.program.endswith(".txt"):
        with open(options.program, encoding="utf-8") as file:
            lines = file.readlines()
    else:
        command = [options.program, str(options.rounds), str(options.largest)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            print(f"grid.py: {options.program} ended with {done.returncode}", file=sys.stderr)
            return 2
        lines = done.stdout.splitlines()
    cases = [read_case(line) for line in lines]
    if options.without_loops:
        for case in cases:
            case.others.pop("loop", None)
        cases = [case for case in cases if case.others]
    print(report(cases))
    return 0


if __name__ == "__main__":
    sys.exit(main())
