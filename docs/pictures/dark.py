#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Gives pictures a dark form, which a viewer that prefers dark shows: dark.py FILE.svg..."""

import pathlib
import re
import sys

# Lines, letters, arrowheads.
INK = {"#1b1f24": "#e6e9ee", "#222222": "#e6e9ee", "#555555": "#9aa5b1", "#555d66": "#9aa5b1",
       "#8899aa": "#6b7684", "#999999": "#6b7684", "#b8bec6": "#59636e", "#cccccc": "#39424c",
       "#d0d5db": "#39424c", "#dddddd": "#39424c", "#1f5fa8": "#79b0ee", "#a8501a": "#f0a35e",
       "#b3541e": "#f0a35e", "#c4661f": "#f0a35e", "#2f7031": "#86c97f", "#3d7a37": "#86c97f",
       "#7a3d78": "#d79bd4"}
# Boxes and bars. Those that keep their colour stand out on both, and carry white letters.
BOXES = {"#ffffff": "#14181d", "#f3f5f7": "#1c2229", "#f4f6f8": "#1c2229", "#e9edf1": "#28313b",
         "#dddddd": "#39424c", "#b8bfc8": "#59636e", "#b9b9b9": "#6b7684", "#e8f0fa": "#1b3350",
         "#faeee2": "#4a3018", "#fbeee2": "#4a3018", "#c3d8ee": "#24415f", "#f6dcc2": "#573a1e",
         "#cfe6cc": "#2a4a28", "#e2d5ec": "#443552", "#1f5fa8": "#2f78c8",
         **{colour: colour for colour in ("#555555", "#b3541e", "#3d7a37", "#2f6db3", "#c9752b",
                                          "#4c9447", "#8a5fa8", "#2f7d4f", "#7fb77e", "#e3c75f",
                                          "#dd8a3e", "#b8322a")}}
STYLE = re.compile(r"<style>@media \(prefers-color-scheme: dark\) .*?</style>\n?", re.DOTALL)


def add_dark_form(svg):
    """The picture with a style for its colours. Raises KeyError for one that is in no table."""
    svg = STYLE.sub("", svg)
    if "fill=" not in svg[:svg.index(">")]:
        svg = svg.replace("<svg ", '<svg fill="#222222" ', 1)
    rules = set()
    for tag, attributes in re.findall(r"<(\w+)([^>]*)>", svg):
        for name, colour in re.findall(r'\b(fill|stroke)="(#\w+)"', attributes):
            is_box = name == "fill" and tag in ("rect", "g")
            if is_box:
                rules.add(f'{tag}[fill="{colour}"]{{fill:{BOXES[colour]}}}')
            elif name == "stroke" or colour != "#ffffff":  # white letters stay
                dark = BOXES[colour] if colour == "#ffffff" else INK[colour]
                rules.add(f'{tag}[{name}="{colour}"]{{{name}:{dark}}}')
    style = "<style>@media (prefers-color-scheme: dark) {" + " ".join(sorted(rules)) + "}</style>\n"
    end = svg.index(">") + 1
    return svg[:end] + "\n" + style + svg[end:].lstrip("\n")


def main():
    for name in sys.argv[1:]:
        path = pathlib.Path(name)
        path.write_text(add_dark_form(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
