#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the pictures of the documentation.

usage: pictures.py REPOSITORY
Each has a dark form for all its colours, and letters of 9 pixels at least on a page 360 pixels wide,
but for WIDE. Those that a script draws from what it knows alone are as it draws them.
"""

import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

PAGE = 360 - 32  # pixels for a picture, beside margins
LEAST = 9
WIDE = {"architecture.svg"}  # three paths through nine layers
DRAWN = {"pictures/architecture.py": "pictures/architecture.svg", "pictures/halo.py": "pictures/halo.svg",
         "reports/cuda_timeline.py": "reports/cuda_timeline.svg"}


def main(repository):
    docs = pathlib.Path(repository, "docs")
    sys.path.insert(0, str(docs / "pictures"))
    import dark
    faults = []
    pictures = sorted(docs.rglob("*.svg"))
    for path in pictures:
        text = path.read_text(encoding="utf-8")
        xml.etree.ElementTree.fromstring(text)
        try:
            if dark.add_dark_form(text) != text:
                faults.append(f"{path.name} lacks its dark form: docs/pictures/dark.py {path.name}")
        except KeyError as colour:
            faults.append(f"{path.name}: docs/pictures/dark.py has no dark form of {colour}")
        width = float(re.search(r'viewBox="0 0 ([\d.]+)', text).group(1))
        sizes = [float(size) for size in re.findall(r'font-size="([\d.]+)"', text)]
        pixels = min(sizes) * min(1, PAGE / width)
        if (pixels < LEAST) != (path.name in WIDE):
            faults.append(f"{path.name}: letters of {pixels:.1f} pixels on a narrow page")
    for script, picture in DRAWN.items():
        drawn = subprocess.run([sys.executable, "-B", docs / script], stdout=subprocess.PIPE, check=True,
                               encoding="utf-8").stdout
        if drawn != docs.joinpath(picture).read_text(encoding="utf-8"):
            faults.append(f"{picture} is not what {script} prints")
    print("\n".join([*faults, f"{len(pictures)} pictures, {len(faults)} faults"]))
    return 1 if faults or len(pictures) < 10 else 0


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main(sys.argv[1]))
