#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds the documentation's site and checks it: every link leads to a page and an anchor that exist, nothing
is loaded from another host, the first page is small, its search knows each public class, function and macro,
each entry of its reference says something, and pages have titles, not file names.

usage: site.py REPOSITORY FOLDER
"""

import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

import reference_entries

FIRST_PAGE = 90 * 1000  # bytes, without images
OMITTED = ("tenon/aten/", "tenon/compat/",  # not in the reference
           *(f"tenon/testing/{name}.h" for name in ("copy_cases", "creator_cases", "memory_cases", "trial")))
NOT_SHOWN = {
    "ArrowArray": "Arrow's own C struct", "ArrowArrayStream": "Arrow's own C struct",
    "ArrowSchema": "Arrow's own C struct",
    "append": "a friend that writes error texts, for detail::Message",
    "cuda_kernels": "in a .cuh, which docs/cuda.md describes",
    "default_delete": "of std, for TensorPtr",
    "TENON_COMPILING": "of the one file of tenon::compiled", "TENON_IS_SINGLE_HEADER": "scripts/single_header.py defines it",
    "TENON_CUDA_SIMULATED": "of the tests' CUDA runtime", "TENON_MDSPAN_NAMESPACE": "found",
    "TENON_HAS_POSIX_FILES": "found", "TENON_HAS_SINGLE_THREADED": "found",
}
# A macro that a header asks for, so that a program may define it.
SWITCH = re.compile(r"^ *# *(?:if|elif).*", re.MULTILINE)
ASKED = re.compile(r"(?:defined ?\(?|ifn?def )(TENON_\w+|USE_ATEN_LIB)\b")


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loaded = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.anchors.update(attrs[name] for name in ("id", "name") if attrs.get(name))
        if tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])
        elif tag == "link" and attrs.get("href"):
            (self.loaded if attrs.get("rel") in ("stylesheet", "icon") else self.links).append(attrs["href"])
        elif attrs.get("src"):
            self.loaded.append(attrs["src"])


def link_faults(pages):
    """`pages` maps each HTML file to its Page."""
    for path, page in pages.items():
        for target in page.loaded:
            if re.match(r"(?!data:)[a-z]+:|//", target):
                yield f"{path}: loads {target}"
        for link in page.links + page.loaded:
            if re.match(r"[a-z]+:|//", link):
                continue
            name, _, anchor = urllib.parse.unquote(link).partition("#")
            name = name.partition("?")[0]
            file = pathlib.Path(os.path.normpath(path.parent / name)) if name else path
            if not file.is_file():
                yield f"{path}: {link} does not exist"
            elif anchor and file in pages and anchor not in pages[file].anchors:
                yield f"{path}: {link} is not an anchor there"


def searchable(index):
    """The names of which the search's index knows."""
    return {re.split(r"::|\s", entry[4])[-1] for entries in index["objects"].values() for entry in entries}


def public_names(repository):
    sys.path.insert(0, str(repository / "tests/tools/structure"))
    import check_failures
    import check_headers
    import check_threads
    headers = {name: text for name, text in check_headers.read_headers(repository).items()
               if not name.startswith(OMITTED) and name.count("/") > 1}
    names = dict.fromkeys(check_threads.public_classes(headers), "class")
    names.update(check_failures.public_functions(headers))
    lines = [line for header in (repository / "include").rglob("*.*h") for line in
             SWITCH.findall(header.read_text(encoding="utf-8").replace("\\\n", " "))]
    names.update(dict.fromkeys((name for line in lines for name in ASKED.findall(line)
                                if not name.startswith("TENON_DETAIL")), "macro"))
    names.update(dict.fromkeys(("TENON_VERSION_MAJOR", "TENON_TRY", "TENON_FORALL_SCALAR_TYPES"), "macro"))
    return {name.rpartition("::")[2] for name in names if "operator" not in name and "~" not in name} - set(NOT_SHOWN)


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    if not shutil.which("doxygen"):
        print("tenon: skipped: doxygen was not found")
        return 77
    repository, site = (pathlib.Path(argument).resolve() for argument in arguments)
    shutil.rmtree(site, ignore_errors=True)
    subprocess.run([repository / "scripts/site.sh", site], check=True)
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    faults = list(link_faults(pages))
    for style in site.rglob("*.css"):
        faults += [f"{style}: loads {url}" for url in re.findall(r"(?:url\(|@import )[\"']?((?:https?:)?//[^\"')]*)",
                                                                 style.read_text(encoding="utf-8"))]
    first = [site / name.partition("?")[0] for name in ("index.html", *pages[site / "index.html"].loaded)
             if re.search(r"\.(?:html|css|js)(?:\?|$)", name)]
    size = sum(file.stat().st_size for file in set(first))
    if size > FIRST_PAGE:
        faults.append(f"the first page loads {size} bytes, more than {FIRST_PAGE}, in {', '.join(f.name for f in first)}")
    names = public_names(repository)
    index = json.loads(re.search(r"Search\.setIndex\((.*)\)", (site / "searchindex.js").read_text(encoding="utf-8"), re.DOTALL)[1])
    faults += [f"the search does not find {name}" for name in sorted(names - searchable(index))]
    faults += [f"the navigation shows a file's name: {title}" for title in index["titles"] if re.search(r"\.(?:h|md)$", title)]
    faults += reference_entries.faults(site)
    print("\n".join(faults))
    print(f"{len(pages)} pages, {len(names)} names, the first page loads {size} bytes, {len(faults)} faults")
    return 1 if faults or len(names) < 300 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
