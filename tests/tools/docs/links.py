#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the relative links of all Markdown files, with their anchors, and that docs/README.md names each page.

usage: links.py REPOSITORY
Prints one line for each fault and exits with 1 if there is one.
"""

import pathlib
import re
import sys

FENCED = re.compile(r"^( *)(```|~~~).*?^ *\2", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*?) *$", re.MULTILINE)


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them."""
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in HEADING.findall(FENCED.sub("", text)))
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


def faults(pages):
    """`pages` maps each Markdown file's path to its text. Yields what is wrong with their links."""
    for page, text in pages.items():
        for target in LINK.findall(CODE.sub("", FENCED.sub("", text))):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            file = page.parent / path if path else page
            if not file.exists():
                yield f"{page}: {target} does not exist"
            elif anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
                yield f"{page}: {target} is not a heading there"


def unlisted(index, listed, pages):
    """Yields the pages below the index's folder that it does not link to."""
    targets = {(index.parent / target.partition("#")[0]).resolve() for target in LINK.findall(listed)}
    for page in pages:
        if index.parent in page.parents and page != index and page.resolve() not in targets:
            yield f"{index}: does not name {page.relative_to(index.parent)}"


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    root = pathlib.Path(arguments[0])
    found = [path for path in root.rglob("*.md") if "build" not in path.relative_to(root).parts[:1]]
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(found)}
    index = root / "docs" / "README.md"
    wrong = [*faults(pages), *unlisted(index, pages[index], pages)]
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
