# SPDX-License-Identifier: MIT
"""The entries of the site's reference that say nothing: a declaration without a sentence of its own."""

import html.parser

FEWEST = 1000  # entries of the reference; with fewer, the site has changed and this does not find them


class Entries(html.parser.HTMLParser):
    """Collects a page's entries in `found`: pairs of a declaration and whether a sentence follows it.

    A sentence is a paragraph, a list or code of the entry's own. Its members' do not count, nor does its table of
    parameters, results and errors, of which the generator writes a part.
    """

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.open = []  # for each <dl> that is open: [is an entry, its declaration, has a sentence, <dt> or <dd>]
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "dl":
            classes = (dict(attrs).get("class") or "").split()
            self.open.append(["cpp" in classes or "c" in classes, "", False, ""])
        elif self.open and tag in ("dt", "dd"):
            self.open[-1][3] = tag
        elif self.open and tag in ("p", "li", "pre") and self.open[-1][3] == "dd":
            self.open[-1][2] = True

    def handle_endtag(self, tag):
        if self.open and tag == "dl":
            is_entry, declaration, is_described, _ = self.open.pop()
            if is_entry:
                self.found.append((" ".join(declaration.replace("¶", " ").split()), is_described))

    def handle_data(self, data):
        if self.open and self.open[-1][3] == "dt":
            self.open[-1][1] += data


def faults(site):
    count = 0
    for path in sorted((site / "reference").rglob("*.html")):
        for declaration, is_described in Entries(path.read_text(encoding="utf-8")).found:
            count += 1
            if not is_described:
                yield f"{path.relative_to(site)}: nothing says what this is: {declaration}"
    if count < FEWEST:
        yield f"the reference has {count} entries, expected {FEWEST} or more"
