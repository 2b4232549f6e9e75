#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints docs/reports/soak.svg: what tenon_soak wrote to a CSV file, over the time.

    docs/reports/soak.py soak.csv > docs/reports/soak.svg
"""

import csv
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "pictures"))

import dark  # noqa: E402

WIDTH, HEIGHT, LEFT, RIGHT, TOP, GAP = 420, 140, 44, 18, 50, 92  # narrow, for phones

# Of each picture: its title, and its lines: column, divisor, text, colour.
PICTURES = [
    ("MiB", [("resident", 1 << 20, "resident (RSS)", "#1f5fa8"),
             ("heap", 1 << 20, "heap in use", "#b3541e")]),
    ("blocks in use", [("blocks", 1, "of backends", "#3d7a37"),
                       ("outstanding", 1, "with a deleter", "#7a3d78")]),
    ("operations, millions", [("operations", 1e6, "operations", "#1f5fa8"),
                              ("released", 1e6, "deleters run", "#7a3d78")]),
]


def step_of(most, steps):
    """The smallest of 1, 2 and 5 times a power of ten that divides `most` into `steps` at most."""
    unit = 1e-6
    while True:
        for factor in (1, 2, 5):
            if most / (unit * factor) <= steps:
                return unit * factor
        unit *= 10


def draw(rows):
    last = rows[-1]["second"]
    inner = WIDTH - LEFT - RIGHT
    total = len(PICTURES) * (HEIGHT + GAP)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{total}" '
           f'viewBox="0 0 {WIDTH} {total}" font-family="sans-serif" font-size="12">',
           "<title>Memory of a soak run</title>",
           f'<rect width="{WIDTH}" height="{total}" fill="#ffffff"/>']
    for number, (title, lines) in enumerate(PICTURES):
        top = TOP + number * (HEIGHT + GAP)
        bottom = top + HEIGHT
        most = max(row[column] / divisor for row in rows for column, divisor, _, _ in lines)
        step = step_of(most, 5) if most > 0 else 1
        ceiling = step * -(-most // step) if most > 0 else 1

        def x(second):
            return LEFT + inner * second / last

        def y(value, bottom=bottom, ceiling=ceiling):
            return bottom - HEIGHT * value / ceiling

        out.append(f'<text x="{LEFT}" y="{top - 30}" font-weight="bold">{title}</text>')
        value = 0
        while value <= ceiling * 1.0001:
            out += [f'<line x1="{LEFT}" y1="{y(value):.1f}" x2="{LEFT + inner}" y2="{y(value):.1f}" '
                    'stroke="#dddddd"/>',
                    f'<text x="{LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value:g}</text>']
            value += step
        second, second_step = 0, step_of(last, 6)
        while second <= last * 1.0001:
            out += [f'<line x1="{x(second):.1f}" y1="{bottom}" x2="{x(second):.1f}" y2="{bottom + 5}" '
                    'stroke="#555555"/>',
                    f'<text x="{x(second):.1f}" y="{bottom + 19}" text-anchor="middle">{second:g}</text>']
            second += second_step
        out.append(f'<text x="{LEFT + inner / 2}" y="{bottom + 35}" text-anchor="middle" '
                   'fill="#555555">seconds</text>')
        at = LEFT
        for column, divisor, text, colour in lines:
            points = " ".join(f"{x(row['second']):.1f},{y(row[column] / divisor):.1f}" for row in rows)
            out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
            out.append(f'<text x="{at}" y="{top - 12}" fill="{colour}">{text}</text>')
            at += 130
    return "\n".join([*out, "</svg>"])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], newline="", encoding="utf-8") as file:
        rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    if not rows:
        sys.exit(f"{sys.argv[1]}: no samples")
    for row in rows:
        row["outstanding"] = row["lent"] - row["released"]
    print(dark.add_dark_form(draw(rows)))


if __name__ == "__main__":
    main()
