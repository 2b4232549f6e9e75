#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Gives reference_entries.py pages with and without sentences."""

import pathlib
import tempfile
import unittest

import reference_entries

ENTRY = '<dl class="cpp function"><dt class="sig">int <span>f</span>()<a>¶</a></dt><dd>{}</dd></dl>'
FIELDS = '<dl class="field-list"><dt>Errors:</dt><dd><p>none</p></dd></dl>'


class ReferenceEntries(unittest.TestCase):
    def found(self, content):
        return reference_entries.Entries(ENTRY.format(content)).found

    def test_a_paragraph_a_list_or_code_is_a_sentence(self):
        for content in ("<p>One.</p>", "<ul><li>One.</li></ul>", "<div><pre>f();</pre></div>"):
            self.assertEqual(self.found(content), [("int f()", True)])

    def test_an_entry_without_any_is_found(self):
        self.assertEqual(self.found(""), [("int f()", False)])

    def test_fields_alone_are_no_sentence(self):
        self.assertEqual(self.found(FIELDS), [("int f()", False)])
        self.assertEqual(self.found("<p>One.</p>" + FIELDS), [("int f()", True)])

    def test_a_members_sentence_is_its_own(self):
        self.assertEqual(self.found(ENTRY.format("<p>One.</p>")), [("int f()", True), ("int f()", False)])

    def test_a_list_of_definitions_is_not_an_entry(self):
        self.assertEqual(reference_entries.Entries("<dl><dt>word</dt><dd></dd></dl>").found, [])

    def test_a_macro_is_an_entry(self):
        self.assertEqual(reference_entries.Entries('<dl class="c macro"><dt>M</dt><dd></dd></dl>').found, [("M", False)])

    def test_a_site_is_searched_for_empty_entries(self):
        with tempfile.TemporaryDirectory() as folder:
            site = pathlib.Path(folder)
            page = site / "reference/core/error.html"
            page.parent.mkdir(parents=True)
            page.write_text(ENTRY.format("<p>One.</p>") * reference_entries.FEWEST, encoding="utf-8")
            self.assertEqual(list(reference_entries.faults(site)), [])
            page.write_text(ENTRY.format("<p>One.</p>") + ENTRY.format(""), encoding="utf-8")
            self.assertEqual(list(reference_entries.faults(site)),
                             ["reference/core/error.html: nothing says what this is: int f()",
                              "the reference has 2 entries, expected 1000 or more"])


if __name__ == "__main__":
    unittest.main()
