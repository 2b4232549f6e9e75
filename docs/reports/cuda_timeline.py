#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints cuda_timeline.svg: the streams of examples/cuda_blob.

A picture of the order alone. How long the boxes are is made up: no GPU was measured.
"""

UNIT, LEFT, TOP, LANE, HEIGHT = 46, 150, 34, 74, 34

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
    width, height = LEFT + UNIT * last + 20, TOP + LANE * len(LANES) + 10

    def x(time):
        return LEFT + UNIT * time

    def y(lane):
        return TOP + LANE * lane

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
           f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">',
           "<title>The streams of examples/cuda_blob</title>",
           '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" '
           'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#222222"/></marker></defs>',
           f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
           f'<text x="{LEFT}" y="18" fill="#555555">time; an arrow is an event that is waited '
           "for</text>"]
    for lane, name in enumerate(LANES):
        middle = y(lane) + HEIGHT / 2
        out += [f'<text x="{LEFT - 12}" y="{middle + 5}" text-anchor="end">{name}</text>',
                f'<line x1="{LEFT}" y1="{middle}" x2="{x(last)}" y2="{middle}" stroke="#cccccc"/>']

    def box(lane, begin, units, text):
        colour = COLOURS[LANES[lane]]
        out.append(f'<rect x="{x(begin) + 1}" y="{y(lane)}" width="{UNIT * units - 2}" '
                   f'height="{HEIGHT}" rx="3" fill="{colour}"/>')
        out.append(f'<text x="{x(begin + units / 2)}" y="{y(lane) + HEIGHT / 2 + 5}" '
                   f'text-anchor="middle" fill="#ffffff">{text}</text>')

    box(0, 0, 2, "enqueues all")
    box(0, 2, last - 2, "waits for the fetched bytes")
    for lane, begin, units, text, after in boxes:
        box(lane, begin, units, text)
        for name in after:
            from_lane, end = ends[name]
            down = from_lane < lane
            out.append(f'<line x1="{x(end) - (14 if down else 4)}" y1="{y(from_lane) + (HEIGHT if down else 0)}" '
                       f'x2="{x(begin) + 4}" y2="{y(lane) + (0 if down else HEIGHT)}" '
                       'stroke="#222222" stroke-width="1.5" marker-end="url(#tip)"/>')
    print("\n".join([*out, "</svg>"]))


if __name__ == "__main__":
    main()
