#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests links.py."""

import pathlib
import tempfile
import unittest

import links


class Links(unittest.TestCase):
    def check(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            pages = {root / name: text for name, text in files.items()}
            index = root / "docs" / "README.md"
            wrong = [*links.faults(pages), *links.unlisted(index, files["docs/README.md"], pages)]
            return [line.replace(f"{root}/", "") for line in wrong]

    def test_files_and_headings_are_found(self):
        self.assertEqual(self.check({"docs/README.md": "[a](a.md) [b](a.md#the-way-of-a-copy_) [c](#here)\n## Here\n",
                                     "docs/a.md": "# The way of a `copy_`\n[up](../README.md) [w](https://w.org)\n",
                                     "README.md": "[d](docs)"}), [])

    def test_what_is_not_there_is_named(self):
        self.assertEqual(self.check({"docs/README.md": "[a](a.md#no) [b](b.md)\n", "docs/a.md": "# Yes\n"}),
                         ["docs/README.md: a.md#no is not a heading there", "docs/README.md: b.md does not exist"])

    def test_a_page_that_the_index_leaves_out_is_named(self):
        self.assertEqual(self.check({"docs/README.md": "", "docs/reports/a.md": ""}),
                         ["docs/README.md: does not name reports/a.md"])


if __name__ == "__main__":
    unittest.main()
