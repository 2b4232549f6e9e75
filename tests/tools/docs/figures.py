#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares docs/performance.md with docs/reports/layouts.md, which benchmark/grid.py writes: each slow
kind of the report is on the page, with the largest figure, and so is the count of slow cases."""

import pathlib
import re
import sys

NAMED = 2.0  # kinds from this ratio on are explained on the page
SUMMARY = re.compile(r"Of [\d,]+ cases of more than 250 ns [\d,]+ take more than 1\.2")


def table(page, first):
    """The rows of the table whose first column has that title, as lists of cells."""
    head = re.search(rf"^\| {re.escape(first)} \|.*\n\|[-:|]+\n((?:\|.*\n)*)", page, re.MULTILINE)
    if not head:
        return []
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in head[1].splitlines()]


def faults(page, report):
    """page is performance.md, whose table's first column has kinds, separated by semicolons."""
    largest = {row[0]: float(row[1]) for row in table(report, "kind")}
    named = set()
    for kinds, figure, *_ in table(page, "slow kinds"):
        kinds = kinds.split("; ")
        for kind in kinds:
            if kind not in largest:
                yield f"{kind}: not a slow kind of the report"
            if kind in named:
                yield f"{kind}: named twice"
            named.add(kind)
        expected = max((largest.get(kind, 0) for kind in kinds), default=0)
        if float(figure) != expected:
            yield f"{'; '.join(kinds)}: {figure}, in the report {expected}"
    for kind, ratio in largest.items():
        if ratio >= NAMED and kind not in named:
            yield f"{kind}: {ratio} in the report, not on the page"
    summary = SUMMARY.search(report)
    if not summary:
        yield "the report has no count of slow cases"
    elif summary[0] not in " ".join(page.split()):
        yield f"the page does not say: {summary[0]}"


def main():
    docs = pathlib.Path(sys.argv[1]) / "docs"
    found = list(faults((docs / "performance.md").read_text(encoding="utf-8"),
                        (docs / "reports" / "layouts.md").read_text(encoding="utf-8")))
    for fault in found:
        print(f"docs/performance.md: {fault}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
