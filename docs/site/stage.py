#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lays out the site's sources: the Markdown pages as they are, and the reference from the headers.

usage: stage.py REPOSITORY FOLDER
README.md becomes the first page, with the navigation behind it. A link to a header leads to its page of
the reference, a link to another file to a page that shows it. A page that NAVIGATION does not name is
under the last heading.
"""

import os
import pathlib
import re
import shutil
import sys

import reference

NAVIGATION = {  # what is needed first; a name that does not exist is skipped
    "Start": "docs/README docs/start docs/tutorial docs/tutorial_exchange docs/building docs/packages docs/raw_vectors "
             "docs/coming_from docs/numpy docs/errors docs/faq docs/debugging examples/README",
    "Ownership": "docs/ownership docs/backends docs/threads",
    "Recipes": "docs/recipes docs/recipes_libraries docs/python docs/dlpack docs/aten docs/executorch docs/distributed "
               "docs/elixir",
    "Files": "docs/files docs/torch_file docs/gguf docs/packed docs/inspect",
    "Models": "docs/module docs/after_model docs/aoti docs/aoti_details docs/extensions",
    "Devices and systems": "docs/embedded docs/cuda docs/platforms",
    "Reference": "",  # and the headers' folders
    "Performance": "docs/performance docs/comparison docs/reports/benchmarks docs/reports/layouts",
    "About tenon": "docs/guarantees docs/versions docs/names docs/random docs/architecture docs/reports/coverage "
                   "docs/reports/mutation CHANGELOG CONTRIBUTING SECURITY",
}
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md", "docs/reports/*.md",
         "examples/README.md", "examples/*/README.md", "examples/*/*/README.md", "tests/**/README.md")
PICTURES = ("*.svg", "*.png", "*.jpg")
LANGUAGES = {".h": "cpp", ".cpp": "cpp", ".py": "python", ".sh": "bash", ".json": "json", ".svg": "xml"}

# Fenced code and code in a line as they stand; then a link's text if that is a file's name, and its target.
LINK = re.compile(r"(^ *(?:```|~~~).*?^ *(?:```|~~~) *$|`(?:[^`\n]|\n(?!\n))*`)|(\[[\w/.]+\.md)?\]\(([^)\s]+)\)",
                  re.MULTILINE | re.DOTALL)


class Site:
    def __init__(self, repository, folder):
        self.repository = repository
        self.folder = folder
        self.pages = [path.relative_to(repository) for pattern in PAGES for path in sorted(repository.glob(pattern))]
        self.headers = {}  # {"include/tenon/a.h": its page}
        self.shown = set()

    def target(self, page, link):
        """What a link in a page is in the site."""
        path, mark, anchor = link.partition("#")
        if not path or re.match(r"[a-z]+:", link):
            return link
        file = pathlib.Path(os.path.normpath(page.parent / path))
        if str(file) == "README.md":
            file = pathlib.Path("index.md")
        elif str(file) in self.headers:
            file = self.headers[str(file)].relative_to(self.folder)
        elif file not in self.pages and file.suffix not in (".svg", ".png") and (self.repository / file).is_file():
            self.shown.add(file)
            file = pathlib.Path("files") / f"{file}.rst"
        elif (self.repository / file).is_dir() and file / "README.md" in self.pages:
            file = file / "README.md"
        return os.path.relpath(file, page.parent) + mark + anchor

    def name(self, page, link):
        """The first words of the title of the page that a link leads to."""
        text = (self.repository / page.parent / link.partition("#")[0]).read_text(encoding="utf-8")
        return re.match(r"# ([^:\n]+)", text)[1]

    def stage_page(self, page):
        text = (self.repository / page).read_text(encoding="utf-8")
        text = LINK.sub(lambda m: m[1] or (f"[{self.name(page, m[3])}" if m[2] else "") + f"]({self.target(page, m[3])})", text)
        if str(page) == "README.md":
            page = pathlib.Path("index.md")
            text += self.navigation()
        elif str(page) == "examples/README.md":
            text += toctree("", [p.with_suffix("").relative_to("examples").as_posix() for p in self.pages
                                 if p.parts[0] == "examples" and len(p.parts) == 3])
        (self.folder / page).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / page).write_text(text, encoding="utf-8")

    def navigation(self):
        known = {page.with_suffix("").as_posix() for page in self.pages}
        groups = {caption: [name for name in names.split() if name in known] for caption, names in NAVIGATION.items()}
        groups["Reference"] = [*self.folders, "All names <genindex>"]
        named = {name for names in groups.values() for name in names}
        groups["About tenon"] += sorted(name for name in known - named if name.startswith("docs/"))
        return "".join(toctree(caption, names) for caption, names in groups.items())

    def stage_file(self, file):
        page = self.folder / "files" / f"{file}.rst"
        page.parent.mkdir(parents=True, exist_ok=True)
        language = "cmake" if file.name == "CMakeLists.txt" else LANGUAGES.get(file.suffix, "text")
        copy = page.with_suffix(".txt")
        shutil.copy(self.repository / file, copy)
        page.write_text(f":orphan:\n:nosearch:\n\n{file}\n{'=' * len(str(file))}\n\n.. literalinclude:: {copy.name}\n   :language: {language}\n",
                        encoding="utf-8")

    def stage(self):
        self.headers, self.folders = reference.write_pages(self.repository, self.folder, self.folder.parent / "site-doxygen")
        for pattern in PICTURES:
            for picture in [*self.repository.glob(f"docs/**/{pattern}"), *self.repository.glob(f"examples/**/{pattern}")]:
                copy = self.folder / picture.relative_to(self.repository)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(picture, copy)
        for page in self.pages:
            self.stage_page(page)
        for file in sorted(self.shown):
            self.stage_file(file)


def toctree(caption, names):
    lines = ["", "```{toctree}", ":hidden:"] + ([f":caption: {caption}"] if caption else []) + ["", *names, "```", ""]
    return "\n".join(lines)


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(arguments[1]).resolve()
    for old in (folder, folder.parent / "site-doxygen"):
        shutil.rmtree(old, ignore_errors=True)
        old.mkdir(parents=True)
    Site(pathlib.Path(arguments[0]).resolve(), folder).stage()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
