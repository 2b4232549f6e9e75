#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints halo.svg: who owns the cells of examples/mpi_halo's plate, here of 7 x 7 cells on 2 x 2
ranks, and which views are sent where."""

import dark

CELLS = 7
CUTS = [(0, 4), (4, 3)]  # begin and size, as part() gives them
COLOURS = ["#2f6db3", "#c9752b", "#4c9447", "#8a5fa8"]  # of the ranks' own cells
LIGHT = ["#c3d8ee", "#f6dcc2", "#cfe6cc", "#e2d5ec"]  # of copies of them
EDGE, INK, GREY = "#dddddd", "#222222", "#555555"
SMALL, BIG = 18, 24
LEFT, TOP, LEGEND_LEFT = 12, 40, 200
GRID_TOP, GAP_X, GAP_Y = 290, 140, 84


def owner(row, column):
    """The rank that owns a cell of the plate; None at its edge, rows and columns -1 and CELLS."""
    if not (0 <= row < CELLS and 0 <= column < CELLS):
        return None
    return 2 * (row >= CUTS[1][0]) + (column >= CUTS[1][0])


def rectangle(x, y, width, height, **style):
    words = " ".join(f'{name.replace("_", "-")}="{value}"' for name, value in style.items())
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" {words}/>'


def text(x, y, words, anchor="start", colour=INK, size=12.5, weight="normal"):
    return (f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{colour}" font-size="{size}" '
            f'font-weight="{weight}">{words}</text>')


def arrow(x1, y1, x2, y2):
    """From a dot to a tip, light around it so that it shows on the cells too."""
    line = f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"'
    return [f'{line} stroke="#ffffff" stroke-width="4"/>',
            f'{line} stroke="{INK}" stroke-width="1.6" marker-end="url(#tip)"/>',
            f'<circle cx="{x1}" cy="{y1}" r="3.2" fill="{INK}" stroke="#ffffff"/>']


class Local:
    """One rank's tensor where it is drawn: its cells, and one more on each side."""

    def __init__(self, rank):
        self.rank = rank
        self.begin = [CUTS[rank // 2][0], CUTS[rank % 2][0]]
        self.rows, self.columns = CUTS[rank // 2][1], CUTS[rank % 2][1]
        first = (CUTS[0][1] + 2) * BIG  # as large as the first
        self.x = LEFT + (rank % 2) * (first + GAP_X)
        self.y = GRID_TOP + (rank // 2) * (first + GAP_Y)

    def box(self, row, column, rows=1, columns=1):
        return self.x + column * BIG, self.y + row * BIG, columns * BIG, rows * BIG

    def draw(self):
        name = f"rank {self.rank}: {self.rows + 2} × {self.columns + 2}"
        below = self.y + (self.rows + 2) * BIG + 18
        out = [text(self.x, self.y - 8 if self.rank < 2 else below, name, weight="bold")]
        for i in range(self.rows + 2):
            for j in range(self.columns + 2):
                whose = owner(self.begin[0] + i - 1, self.begin[1] + j - 1)
                inside = 1 <= i <= self.rows and 1 <= j <= self.columns
                corner = i in (0, self.rows + 1) and j in (0, self.columns + 1)
                if corner and whose is not None:  # which no cell needs
                    fill = "#ffffff"
                else:
                    fill = EDGE if whose is None else COLOURS[whose] if inside else LIGHT[whose]
                out.append(rectangle(*self.box(i, j), fill=fill, stroke="#ffffff"))
        return out

    def sent(self, *box):
        x, y, width, height = self.box(*box)
        return rectangle(x + 1, y + 1, width - 2, height - 2, fill="none", stroke=INK, stroke_width=2.2)

    def received(self, *box):
        x, y, width, height = self.box(*box)
        return rectangle(x + 1, y + 1, width - 2, height - 2, fill="none", stroke=INK, stroke_width=1.8,
                         stroke_dasharray="4 3")


def exchange(a, b, down):
    """The views that `a` and the rank below it, or to the right of it, send each other."""
    if down:
        views = [(a.sent, (a.rows, 1, 1, a.columns)), (b.received, (0, 1, 1, b.columns)),
                 (b.sent, (1, 1, 1, b.columns)), (a.received, (a.rows + 1, 1, 1, a.columns))]
        x1, x2 = a.x + 1.5 * BIG, a.x + (a.columns + 0.5) * BIG
        arrows = [arrow(x1, a.y + (a.rows + 0.5) * BIG, x1, b.y + 3),
                  arrow(x2, b.y + 1.5 * BIG, x2, a.y + (a.rows + 2) * BIG - 3)]
    else:
        views = [(a.sent, (1, a.columns, a.rows, 1)), (b.received, (1, 0, b.rows, 1)),
                 (b.sent, (1, 1, b.rows, 1)), (a.received, (1, a.columns + 1, a.rows, 1))]
        y1, y2 = a.y + 1.5 * BIG, a.y + (a.rows + 0.5) * BIG
        arrows = [arrow(a.x + (a.columns + 0.5) * BIG, y1, b.x + 3, y1),
                  arrow(b.x + 1.5 * BIG, y2, a.x + (a.columns + 2) * BIG - 3, y2)]
    return [draw(*box) for draw, box in views] + [part for both in arrows for part in both]


def main():
    ranks = [Local(rank) for rank in range(4)]
    width = ranks[3].x + (ranks[1].columns + 2) * BIG + LEFT
    bottom = ranks[3].y + (ranks[2].rows + 2) * BIG
    height = bottom + 32
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
           f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12.5">',
           "<title>The halo exchange of examples/mpi_halo</title>",
           '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" '
           f'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{INK}"/></marker></defs>',
           rectangle(0, 0, width, height, fill="#ffffff"),
           text(LEFT, 24, "Who owns which cells", size=15, weight="bold"),
           text(LEFT, GRID_TOP - 32, "Each rank's tensor, and the views that are sent", size=15, weight="bold")]

    for i in range(-1, CELLS + 1):
        for j in range(-1, CELLS + 1):
            whose = owner(i, j)
            out.append(rectangle(LEFT + (j + 1) * SMALL, TOP + (i + 1) * SMALL, SMALL, SMALL, stroke="#ffffff",
                                 fill=EDGE if whose is None else COLOURS[whose]))
    for rank in range(4):
        (top, rows), (left, columns) = CUTS[rank // 2], CUTS[rank % 2]
        x, y = LEFT + (left + 1 + columns / 2) * SMALL, TOP + (top + 1 + rows / 2) * SMALL
        out += [rectangle(x - 9, y - 10, 18, 20, fill=COLOURS[rank]),
                text(x, y + 6, rank, "middle", "#ffffff", 17, "bold")]
    out.append(text(LEFT, TOP + (CELLS + 2) * SMALL + 22, "7 rows and 7 columns, cut as part() says: 4 and 3",
                    colour=GREY))

    y = TOP + 34
    for style, words in ((dict(fill=COLOURS[0]), "the rank's own cells"),
                         (dict(fill=LIGHT[0]), "halo: a copy of another's"),
                         (dict(fill=EDGE), "the plate's edge"),
                         (dict(fill="none", stroke=INK, stroke_width=2.2), "a view that is sent"),
                         (dict(fill="none", stroke=INK, stroke_width=1.8, stroke_dasharray="4 3"),
                          "a view that receives it")):
        out += [rectangle(LEGEND_LEFT, y - 13, 18, 18, **style), text(LEGEND_LEFT + 28, y + 1, words)]
        y += 28

    for rank in ranks:
        out += rank.draw()
    for a, b, down in ((0, 1, False), (2, 3, False), (0, 2, True), (1, 3, True)):
        out += exchange(ranks[a], ranks[b], down)
    a = ranks[0]
    middle = a.x + (a.columns + 2) * BIG + GAP_X / 2
    for line, words in enumerate(("a column: 4 floats,", "6 apart")):
        out.append(text(middle, a.y + 3 * BIG - 2 + 18 * line, words, "middle", GREY))
    out.append(text(a.x + (a.columns + 1) * BIG, a.y + (a.rows + 2) * BIG + GAP_Y / 2 + 5, "a row: 4 floats side by side",
                    colour=GREY))
    print(dark.add_dark_form("\n".join([*out, "</svg>"])))


if __name__ == "__main__":
    main()
