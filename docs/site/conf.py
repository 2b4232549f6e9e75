# SPDX-License-Identifier: MIT
# Sphinx's configuration of the documentation's site: scripts/site.sh.
# pylint: disable=invalid-name

import pathlib
import re
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here))
import styles  # pylint: disable=wrong-import-position
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
myst_enable_extensions = []

# Code without a language is text, as on GitHub.
highlight_language = "text"
primary_domain = "cpp"
add_function_parentheses = False
cpp_maximum_signature_line_length = 80
toc_object_entries_show_parents = "hide"
smartquotes = False

html_theme = "furo"
html_title = f"tenon {version}"
html_static_path = [str(here / "static")]
html_css_files = ["site.css"]
html_search_scorer = str(here / "scorer.js")
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
html_use_index = True
html_domain_indices = False
pygments_style = "a11y-light"
pygments_dark_style = "a11y-dark"
html_theme_options = {"navigation_with_keys": False}


class NamesDomain(CPPDomain):
    """The search does not list the names of parameters."""

    def get_objects(self):
        return (found for found in super().get_objects() if found[2] not in ("functionParam", "templateParam"))


def make_lighter(app, pagename, templatename, context, doctree):
    """Of the navigation only the folder that the page is in is open: furo would write all of it into each page."""
    toctree = context["toctree"]
    context["toctree"] = lambda **options: toctree(**{**options, "collapse": True})


def drop_unused(app, pagename, templatename, context, doctree):
    """Styles of extensions that are not used here, and scripts that only the search needs."""
    context["css_files"] = [file for file in context["css_files"] if "furo-extensions" not in str(file.filename)]
    if pagename != "search":
        context["script_files"] = [file for file in context["script_files"] if "furo.js" in str(file.filename)]


def finish(app, exception):
    if exception is None:
        styles.lighten(pathlib.Path(app.outdir))


def setup(app):
    app.add_domain(NamesDomain, override=True)
    app.connect("html-page-context", make_lighter, priority=400)  # before furo's
    app.connect("html-page-context", drop_unused, priority=600)
    app.connect("build-finished", finish, priority=600)  # after furo, which writes pygments.css then
    return {"parallel_read_safe": True, "parallel_write_safe": True}
