#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes ownership_*.svg beside itself: who keeps a tensor's memory. Small pictures, so that a phone shows them whole."""

import pathlib

import dark

WIDTH, HEIGHT = 352, 196
INK, GREY, BLUE, ORANGE = "#1b1f24", "#555d66", "#1f5fa8", "#a8501a"
FILL = {"handle": ("#ffffff", INK), "impl": ("#e8f0fa", BLUE), "memory": ("#e9edf1", GREY), "yours": ("#faeee2", ORANGE),
        "gone": ("#ffffff", "#b8bec6")}

# Boxes: name: (kind, x, y, width, height, text). Arrows: (from, to, whether it keeps it alive).
TENSOR = {"a": ("handle", 12, 56, 76, 34, "TensorPtr"), "impl": ("impl", 120, 50, 92, 46, "impl\n{2, 3} Float")}
PICTURES = {
    "owned": ("Owned", "zeros({2, 3})", {**TENSOR, "memory": ("memory", 244, 50, 96, 46, "memory\nof tenon")},
              [("a", "impl", True), ("impl", "memory", True)],
              "tenon frees the memory after the last\ntensor, view and export of it."),
    "adopted": ("Adopted", "for_blob(p, {2, 3}).deleter(f)",
                {**TENSOR, "memory": ("yours", 244, 50, 96, 46, "memory\nof yours"),
                 "deleter": ("yours", 120, 112, 92, 34, "deleter")},
                [("a", "impl", True), ("impl", "memory", True), ("impl", "deleter", True), ("deleter", "memory", None)],
                "The deleter runs once, after the last tensor,\nview and export. A moved vector is destroyed then."),
    "borrowed": ("Borrowed", "from_blob(p, {2, 3})",
                 {**TENSOR, "memory": ("yours", 244, 50, 96, 46, "memory\nof yours"),
                  "you": ("yours", 244, 112, 96, 34, "your program")},
                 [("a", "impl", True), ("impl", "memory", False), ("you", "memory", True)],
                 "tenon does not keep the memory:\nyour program does, longer than the tensor."),
    "view": ("View", "row = select(a, 0, 1); a.reset()",
             {"a": ("gone", 12, 50, 76, 34, "a, gone"), "impl": ("impl", 120, 44, 92, 46, "impl of a\n{2, 3} Float"),
              "row": ("handle", 12, 108, 76, 34, "row"), "own": ("impl", 120, 102, 92, 46, "impl of row\n{3} Float"),
              "memory": ("memory", 244, 44, 96, 46, "memory")},
             [("row", "own", True), ("own", "impl", True), ("own", "memory", False), ("impl", "memory", True)],
             "A view has its own shape. What owns the\nmemory stays while a view is there."),
    "sharing": ("Views and clones", "b = view(a); c = clone(a)",
                {"a": ("handle", 12, 44, 76, 28, "a"), "b": ("handle", 12, 83, 76, 28, "b, a view"),
                 "c": ("handle", 12, 122, 76, 28, "c, a clone"),
                 "impl": ("impl", 120, 44, 92, 28, "impl of a"), "of_b": ("impl", 120, 83, 92, 28, "impl of b"),
                 "of_c": ("impl", 120, 122, 92, 28, "impl of c"),
                 "memory": ("memory", 244, 44, 96, 28, "memory"), "copy": ("memory", 244, 122, 96, 28, "a copy")},
                [("a", "impl", True), ("b", "of_b", True), ("c", "of_c", True), ("impl", "memory", True),
                 ("of_b", "impl", True), ("of_b", "memory", False), ("of_c", "copy", True)],
                "A view writes to the same elements,\na clone to its own."),
    "export": ("Exports", "to_blob(a), to_dlpack(a), to_python(a)",
               {"a": ("gone", 12, 50, 76, 34, "a, gone"), "impl": ("impl", 120, 44, 92, 46, "impl\n{2, 3} Float"),
                "memory": ("memory", 244, 44, 96, 46, "memory"),
                "export": ("yours", 12, 108, 200, 38, "Blob, DLPack struct, array")},
               [("export", "impl", True), ("export", "memory", False), ("impl", "memory", True)],
               "An export keeps the memory. While it is there,\na tensor cannot grow: Error::InUse."),
}


def text(x, y, words, size=12, colour=INK, anchor="start", more=""):
    lines = "".join(f'<tspan x="{x}" dy="{0 if n == 0 else size + 3}">{line}</tspan>' for n, line in enumerate(words.split("\n")))
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="{colour}" text-anchor="{anchor}"{more}>{lines}</text>'


def box(kind, x, y, width, height, words):
    fill, stroke = FILL[kind]
    dashes = ' stroke-dasharray="4 3"' if kind == "gone" else ""
    top = y + height / 2 + 4 - 7.5 * words.count("\n")
    return [f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="4" fill="{fill}" stroke="{stroke}"{dashes}/>',
            text(x + width / 2, top, words, 12, GREY if kind == "gone" else INK, "middle")]


def arrow(start, end, keeps):
    """From a box to another: to the right between rows at one height, else up or down."""
    _, x, y, width, height, _ = start
    _, to_x, to_y, to_width, to_height, _ = end
    if to_x >= x + width:
        x1, x2 = x + width, to_x - 7
        y1, y2 = y + height / 2, to_y + to_height / 2
        if y1 != y2:  # leaves from the right, arrives from below
            x2, y2 = to_x + to_width / 3, to_y + to_height + 7
    else:
        x1 = x2 = max(x, to_x) + min(width, to_width) / 2
        down = to_y > y
        y1, y2 = (y + height, to_y - 7) if down else (y, to_y + to_height + 7)
    colour, dashes = (BLUE, "") if keeps else (GREY, ' stroke-dasharray="4 3"')
    if keeps is None:  # releases it
        colour, dashes = ORANGE, ""
    return (f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}" stroke-width="1.5"{dashes} '
            f'marker-end="url(#{colour[1:]})"/>')


def draw(title, call, boxes, arrows, words):
    markers = "".join(f'<marker id="{colour[1:]}" viewBox="0 0 6 6" refX="1" refY="3" markerWidth="5" markerHeight="5" '
                      f'orient="auto"><path d="M0 0 6 3 0 6z" fill="{colour}"/></marker>' for colour in (BLUE, GREY, ORANGE))
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
           f'font-family="Helvetica, Arial, sans-serif">', f"<title>{title}</title><defs>{markers}</defs>",
           f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="6" fill="#ffffff" stroke="#d0d5db"/>',
           text(12, 20, title, 14, INK, more=' font-weight="bold"'),
           text(12, 37, call, 11, GREY, more=' font-family="monospace"')]
    for name in boxes:
        out += box(*boxes[name])
    out += [arrow(boxes[start], boxes[end], keeps) for start, end, keeps in arrows]
    return "\n".join([*out, text(12, 170, words), "</svg>", ""])


def main():
    for name, picture in PICTURES.items():
        path = pathlib.Path(__file__).with_name(f"ownership_{name}.svg")
        path.write_text(dark.add_dark_form(draw(*picture)), encoding="utf-8")


if __name__ == "__main__":
    main()
