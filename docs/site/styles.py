# SPDX-License-Identifier: MIT
"""Leaves out of the theme's and Pygments' style sheets what no page uses: two fifths of them, which each first visit
would load.
"""

import re

TOKENS = re.compile(r"""/\*.*?\*/|"[^"]*"|'[^']*'|[{};]|[^"'{};/]+|/""", re.DOTALL)


def parse(css):
    """A list of what the style sheet has: (text before the braces, such a list or None for a declaration)."""
    stack, text = [[]], ""
    for token in TOKENS.findall(css):
        if token == "{":
            stack.append([])
            stack[-2].append((text.strip(), stack[-1]))
        elif token in ";}":
            if text.strip():
                stack[-1].append((text.strip(), None))
            if token == "}":
                stack.pop()
        elif not token.startswith("/*"):
            text += token
            continue
        else:
            continue
        text = ""
    return stack[0]


def unparse(items):
    return "".join(f"{head};" if body is None else f"{head}{{{unparse(body)}}}" for head, body in items)


def used(items, words):
    """The items without selectors of classes and ids that are not among the words."""
    kept = []
    for head, body in items:
        if body is not None and head.startswith("@"):
            body = used(body, words)
        elif body is not None:
            selectors = [s for s in re.split(r",(?![^(]*\))", head)
                         if words.issuperset(re.findall(r"[.#]([\w-]+)", re.sub(r":not\([^)]*\)", "", s)))]
            head, body = ",".join(selectors), body if selectors else []
        if body is None or body:
            kept.append((head, body))
    return kept


def without_unused_variables(css, others):
    names = set(re.findall(r"var\((--[\w-]+)", css + others))

    def kept(items):
        pairs = ((head, None if body is None else kept(body)) for head, body in items
                 if not (body is None and head.startswith("--") and head.partition(":")[0] not in names))
        return [(head, body) for head, body in pairs if body is None or body]

    shorter = unparse(kept(parse(css)))
    return shorter if shorter == css else without_unused_variables(shorter, others)


def lighten(site):
    """Rewrites the style sheets of the built site."""
    pages = [path.read_text(encoding="utf-8") for path in site.rglob("*.html")]
    words = {word for page in pages for value in re.findall(r'(?:class|id)="([^"]*)"', page) for word in value.split()}
    for script in site.glob("_static/**/*.js"):  # they set classes
        words.update(re.findall(r"[\w-]+", script.read_text(encoding="utf-8")))
    inline = "".join(style for page in pages for style in re.findall(r"<style>.*?</style>", page, re.DOTALL))
    for name in ("styles/furo.css", "pygments.css"):
        sheet = site / "_static" / name
        css = unparse(used(parse(sheet.read_text(encoding="utf-8")), words))
        sheet.write_text(without_unused_variables(css, inline), encoding="utf-8")
