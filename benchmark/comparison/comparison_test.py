#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests comparison.py: what it writes of made-up figures, that the programs have its rows, and that tenon's smallest
program works."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import comparison  # noqa: E402
from comparison import compare  # noqa: E402

EVERYTHING = comparison.libraries(pathlib.Path("/nowhere"))
TENON, EXECUTORCH, ATEN = EVERYTHING[:3]


def cell(ns, allocs=0):
    return compare.Cell([ns], allocs)


class Tables(unittest.TestCase):
    CELLS = {("tenon", "borrow"): cell(30, 2), ("executorch", "borrow"): cell(60, 4), ("aten", "borrow"): cell(29, 2),
             ("tenon", "dense"): cell(4e5, 2), ("aten", "dense"): cell(3e5, 6)}

    def test_the_quickest_and_what_is_as_quick_are_bold(self):
        times, allocations = comparison.case_tables([TENON, EXECUTORCH, ATEN], self.CELLS)
        self.assertEqual(times.splitlines()[2:], ["| borrow 2x3 | **30 ns** | 60 ns | **29 ns** |",
                                                  "| dense copy of transposed 1024² | 400 µs | – | **300 µs** |"])
        self.assertEqual(allocations.splitlines()[2], "| borrow 2x3 | 2 | 4 | 2 |")

    def test_where_others_are_quicker(self):
        with mock.patch.object(comparison, "ROWS", {"borrow": "borrow", "dense": "dense copy"}):
            self.assertEqual(comparison.slower_lines([TENON, EXECUTORCH, ATEN], self.CELLS), "- dense copy: ATen 1.3")

    def test_a_case_without_a_row_is_refused(self):
        programs = {(TENON.name, kind): pathlib.Path("program") for kind in ("comparison", "checked")}
        for found, words in (({("tenon", "misspelt"): cell(1)}, "'misspelt' of tenon.cpp has no row"), ({}, None),
                             ({("tenon/checked", "read"): cell(1)}, None)):
            with mock.patch.object(compare, "measure_cases", return_value=found) as measured:
                if words:
                    with self.assertRaisesRegex(compare.Failure, words):
                        comparison.measure([TENON], programs, "counter", None)
                else:
                    names = [case for _, case in comparison.measure([TENON], programs, "counter", None)]
                    self.assertEqual(names, ["read/checked"] if found else [])
                self.assertEqual(list(measured.call_args[0][0]["programs"]), ["tenon", "tenon/checked"])

    def test_what_became_of_a_wrong_shape(self):
        self.assertEqual(comparison.outcome(0, "exception: no\nmore\n", ""), ("exception", "no"))
        self.assertEqual(comparison.outcome(0, "accepted: 8 elements\n", ""), ("not checked", "8 elements"))
        self.assertEqual(comparison.outcome(-6, "", "first\nF 00:00:00.002530 file.h:1] no\n"),
                         ("ends the program, SIGABRT", "file.h:1] no"))

    def test_libraries_that_a_program_needs(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("libown.so.1", "libc.so.6", "libstdc++.so.6"):
                (pathlib.Path(folder) / name).write_bytes(bytes(100))
            listed = "".join(f"\t{name} => {folder}/{name} (0x1)\n" for name in ("libown.so.1", "libc.so.6", "libstdc++.so.6"))
            self.assertEqual(comparison.needed_libraries(listed + "\tlinux-vdso.so.1 (0x2)\n"), {"libown.so.1": 100})

    def test_the_page_keeps_what_is_around_the_marks(self):
        begin, end = comparison.MARKS
        self.assertEqual(comparison.insert(f"a\n{begin}\nold\n{end}\nb\n", "new"), f"a\n{begin}\n\nnew\n\n{end}\nb\n")
        page = (comparison.ROOT / "docs/comparison.md").read_text(encoding="utf-8")
        self.assertIn("new", comparison.insert(page, "new"))
        with self.assertRaises(compare.Failure):
            comparison.insert("no marks", "new")


class Programs(unittest.TestCase):
    def test_each_has_cases_that_have_a_row_and_tenon_has_all(self):
        for library in EVERYTHING:
            if library.has_cases:
                text = (comparison.HERE / f"{library.name}.cpp").read_text(encoding="utf-8")
                cases = re.findall(r'suite\.add\("([^"]+)"', text)
                self.assertEqual(len(cases), len(set(cases)))
                self.assertLessEqual(set(cases), set(comparison.ROWS), library.name)
                if library is TENON:
                    self.assertEqual({*cases, "read/checked"}, set(comparison.ROWS))

    def test_what_is_not_there_is_left_out(self):
        self.assertTrue(TENON.is_there)
        self.assertFalse(ATEN.is_there)
        options = mock.Mock(rounds=3)
        self.assertIn("\nATen is left out: not there (scripts/partners.sh libtorch).",
                      comparison.about([TENON], [ATEN], options))

    def test_the_smallest_program_works(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "minimal"
            source = program.with_suffix(".cpp")
            source.write_text(TENON.minimal, encoding="utf-8")
            subprocess.run(TENON.compile(["-O0"], str(source), "-o", str(program)), check=True)
            self.assertEqual(subprocess.run([program], check=False).returncode, 0)


if __name__ == "__main__":
    unittest.main()
