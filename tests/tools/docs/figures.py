#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares docs/performance.md with docs/reports/layouts.md, which benchmark/grid.py writes: each slow
kind of the report is on the page, with the largest figure, and so is the count of slow cases. Compares the
README's figures with docs/reports/benchmarks.md."""

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


def readme_faults(page, report):
    """page is README.md, whose table has a case, tenon's figure, and a library's: "6.45 ms, OpenCV"."""
    measured, columns = {}, []
    for line in report.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] == "case":
            columns = cells
        elif line.startswith("|"):
            measured.setdefault(cells[0], dict(zip(columns, cells)))
    rows = table(page, "case")
    if not rows:
        yield "there is no table of cases"
    for case, tenon, other in rows:
        figure, _, library = other.replace("**", "").partition(", ")
        in_report = [measured.get(case, {}).get(name) for name in ("tenon", library)]
        if in_report != [tenon, figure]:
            yield f"{case}: {tenon} and {other}, in the report {in_report[0]} and {in_report[1]}"


def main():
    root = pathlib.Path(sys.argv[1])
    found = []
    for page, report, check in (("docs/performance.md", "layouts.md", faults),
                                ("README.md", "benchmarks.md", readme_faults)):
        texts = [(root / path).read_text(encoding="utf-8") for path in (page, f"docs/reports/{report}")]
        found += [f"{page}: {fault}" for fault in check(*texts)]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
