#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints cuda_timeline.svg: the streams of examples/cuda_blob.

A picture of the order alone. How long the boxes are is made up: no GPU was measured.
"""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "pictures"))

import dark  # noqa: E402

UNIT, LEFT, TOP, LANE, BOX = 30, 8, 72, 100, 76

# Stream, text, units of time, what it comes after besides what its stream was given before.
WORK = [
    ("tenon's stream", "zeros", 1, []),
    ("decoder's stream", "picture 0", 3, []),
    ("tenon's stream", "copy 0", 2, ["picture 0"]),
    ("decoder's stream", "picture 1", 3, []),
    ("tenon's stream", "copy 1", 2, ["picture 1"]),
    ("decoder's stream", "picture 2", 3, ["copy 0"]),
    ("tenon's stream", "copy 2", 2, ["picture 2"]),
    ("decoder's stream", "picture 3", 3, ["copy 1"]),
    ("tenon's stream", "copy 3", 2, ["picture 3"]),
    ("consumer's stream", "fetch", 2, ["copy 3"]),
]
LANES = ["the host", "decoder's stream", "tenon's stream", "consumer's stream"]
COLOURS = dict(zip(LANES, ["#555555", "#b3541e", "#1f5fa8", "#3d7a37"]))


def main():
    ends, busy, boxes = {}, dict.fromkeys(LANES, 0), []
    for stream, text, units, after in WORK:
        begin = max([busy[stream], *(ends[name][1] for name in after)])
        busy[stream] = begin + units
        ends[text] = (LANES.index(stream), begin + units)
        boxes.append((LANES.index(stream), begin, units, text, after))
    last = max(busy.values())
    width, height = 2 * LEFT + LANE * len(LANES), TOP + UNIT * last + 12

    def x(lane):
        return LEFT + LANE * lane + (LANE - BOX) / 2

    def y(time):
        return TOP + UNIT * time

    def words(middle, top, lines, style):
        return (f'<text x="{middle}" y="{top}" text-anchor="middle" {style}>' +
                "".join(f'<tspan x="{middle}" dy="{0 if n == 0 else 15}">{line}</tspan>'
                        for n, line in enumerate(lines)) + "</text>")

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
           f'viewBox="0 0 {width} {height}" fill="#222222" font-family="sans-serif" font-size="12">',
           "<title>The streams of examples/cuda_blob</title>",
           '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" '
           'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#222222"/></marker></defs>',
           f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
           f'<text x="{LEFT}" y="20" fill="#555555">Time goes down. An arrow is an event that is waited '
           "for.</text>"]
    for lane, name in enumerate(LANES):
        middle = x(lane) + BOX / 2
        out += [words(middle, 46, name.split(), ""),
                f'<line x1="{middle}" y1="{TOP}" x2="{middle}" y2="{y(last)}" stroke="#cccccc"/>']

    def box(lane, begin, units, *lines):
        middle = y(begin + units / 2) + 4 - 7.5 * (len(lines) - 1)
        out.append(f'<rect x="{x(lane)}" y="{y(begin) + 1}" width="{BOX}" height="{UNIT * units - 2}" rx="3" '
                   f'fill="{COLOURS[LANES[lane]]}"/>')
        out.append(words(x(lane) + BOX / 2, middle, lines, 'fill="#ffffff"'))

    box(0, 0, 2, "enqueues", "all")
    box(0, 2, last - 2, "waits for", "the fetched", "bytes")
    for lane, begin, units, text, after in boxes:
        box(lane, begin, units, text)
        for name in after:
            from_lane, end = ends[name]
            right = from_lane < lane
            out.append(f'<line x1="{x(from_lane) + (BOX if right else 0)}" y1="{y(end) - (8 if right else 4)}" '
                       f'x2="{x(lane) + (0 if right else BOX)}" y2="{y(begin) + 8}" '
                       'stroke="#222222" stroke-width="1.5" marker-end="url(#tip)"/>')
    print(dark.add_dark_form("\n".join([*out, "</svg>"])))


if __name__ == "__main__":
    main()
