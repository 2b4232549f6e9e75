# SPDX-License-Identifier: MIT
# Sphinx's configuration of the documentation's site: scripts/site.sh.
# pylint: disable=invalid-name

import json
import pathlib
import re
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here))
import styles  # pylint: disable=wrong-import-position
from docutils import nodes  # pylint: disable=wrong-import-position
from sphinx import addnodes  # pylint: disable=wrong-import-position
from sphinx.domains.cpp import CPPDomain  # pylint: disable=wrong-import-position
config = (here.parents[1] / "include/tenon/config.h").read_text(encoding="utf-8")
numbers = [re.search(rf"#define TENON_VERSION_{part} +(\d+)", config)[1] for part in ("MAJOR", "MINOR", "PATCH")]

project = "tenon"
author = "tenon's authors"
release = version = ".".join(numbers)
language = "en"
root_doc = "index"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
suppress_warnings = [
    "myst.header",   # a heading that skips a level
    "toc.not_included",  # a page that only other pages link to
    "misc.highlighting_failure",
]

# GitHub's anchors.
myst_heading_anchors = 6

# Code without a language is text, as on GitHub.
highlight_language = "text"
primary_domain = "cpp"
add_function_parentheses = False
cpp_index_common_prefix = ["tenon::"]
cpp_maximum_signature_line_length = 80
toc_object_entries_show_parents = "hide"
smartquotes = False

html_theme = "furo"
html_title = f"tenon {version}"
html_static_path = [str(here / "static")]
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": ""})]
html_search_scorer = str(here / "scorer.js")
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
html_domain_indices = False
pygments_style = "a11y-light"
pygments_dark_style = "a11y-dark"
html_theme_options = {"navigation_with_keys": False}


class NamesDomain(CPPDomain):
    """The search lists the first overload of a function, and no names of parameters."""

    def get_objects(self):
        seen = set()
        for found in super().get_objects():
            name, _, kind, page, *_ = found
            if kind not in ("functionParam", "templateParam") and (name, page) not in seen:
                seen.add((name, page))
                yield found


def make_lighter(app, pagename, templatename, context, doctree):
    """Of the navigation only the folder that the page is in is open: furo would write all of it into each page."""
    toctree = context["toctree"]
    context["toctree"] = lambda **options: toctree(**{**options, "collapse": True})


def drop_unused(app, pagename, templatename, context, doctree):
    """Styles of extensions that are not used here, and scripts that only the search needs."""
    context["css_files"] = [file for file in context["css_files"] if "furo-extensions" not in str(file.filename)]
    if pagename != "search":
        context["script_files"] = [file for file in context["script_files"] if re.search(r"furo\.js|site\.js", str(file.filename))]


def declarations(env):
    """Maps an entry's anchor to its parameters and the first sentence of its comment, in the order of the pages."""
    found = {}
    for page in sorted(env.all_docs):
        if page.startswith("reference/"):
            for entry in env.get_doctree(page).findall(addnodes.desc):
                paragraph = next((child for child in entry[-1] if isinstance(child, nodes.paragraph)), None)
                text = "" if paragraph is None else re.split(r"(?<=\w\w[.)])\s", paragraph.astext())[0]
                for line in entry.findall(addnodes.desc_signature):
                    if line.parent is entry:
                        parameters = "".join(part.astext() for part in line.findall(addnodes.desc_parameterlist))
                        found.update((anchor, (parameters, text.replace("\n", " "))) for anchor in line["ids"])
    return found


def in_order(env):
    """The pages as the navigation has them, those that it shows always first."""
    pages = [env.config.root_doc]
    for page in pages:
        pages += [other for other in env.toctree_includes.get(page, []) if other not in pages]
    return pages


def improve_search(app):
    """Writes into the search's index what scorer.js reads: each entry's parameters and summary, each page's place in the
    navigation. Takes out the general index, which has the entries once more.
    """
    declared = declarations(app.env)
    anchors = list(declared)
    pages = in_order(app.env)
    path = pathlib.Path(app.outdir) / "searchindex.js"
    index = json.loads(re.search(r"Search\.setIndex\((.*)\)", path.read_text(encoding="utf-8"), re.DOTALL)[1])
    index["indexentries"] = {}
    index["places"] = [pages.index(name) if name in pages else len(pages) for name in index["docnames"]]
    entries = {entry[3]: entry for found in index["objects"].values() for entry in found}
    index["objects"] = {"": [[page, kind, priority, anchor, name.removeprefix("tenon::"), *declared[anchor]]
                             for anchor, (page, kind, priority, _, name) in
                             sorted(entries.items(), key=lambda item: anchors.index(item[0]))]}
    path.write_text(f"Search.setIndex({json.dumps(index, separators=(',', ':'))})", encoding="utf-8")


def finish(app, exception):
    if exception is None:
        styles.lighten(pathlib.Path(app.outdir))
        improve_search(app)


def setup(app):
    app.add_domain(NamesDomain, override=True)
    app.connect("html-page-context", make_lighter, priority=400)  # before furo's
    app.connect("html-page-context", drop_unused, priority=600)
    app.connect("build-finished", finish, priority=600)  # after furo, which writes pygments.css then
    return {"parallel_read_safe": True, "parallel_write_safe": True}
