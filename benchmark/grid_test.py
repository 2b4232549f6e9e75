#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests grid.py on made-up lines, and bench_grid, whose path is the argument, with its smallest size."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import grid  # noqa: E402

PROGRAM = sys.argv.pop(1)
LINES = """\
rows\tByte\tByte\t1000\t0.5\t0.25\t1.0\t-
rows\tFloat\tFloat\t1000\t2.0\t0.5\t1.0\t4.0
rows\tByte\tFloat\t1000\t1.2\t-\t1.0\t-
turned\tFloat\tFloat\t1000\t1.0\t4.0\t1.5\t1.0
"""


def run(*arguments):
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(out):
        code = grid.main(list(arguments))
        out.flush()
    return code, out.buffer.getvalue().decode("utf-8")


class Grid(unittest.TestCase):
    def report(self, text, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "lines.txt"
            file.write_text(text, encoding="utf-8")
            return run(str(file), *arguments)[1]

    def test_each_slow_case_is_named_with_the_best_other(self):
        out = self.report(LINES)
        self.assertIn("4 cases; 2 take more than 1.2 of the best other's time, 1 of them by at most", out)
        rest, by_call = out.split("By at most 250 ns a call:")
        self.assertIn("- rows, 1,000: Float 4.00 (loop)", rest)
        self.assertIn("- rows, 1,000: Byte 2.00 (loop)", by_call)

    def test_a_table_has_the_mean_of_the_types(self):
        out = self.report(LINES)
        self.assertIn("| layout | 1,000 |", out)
        self.assertIn("| rows | 2.83 |", out)
        self.assertIn("| rows | 1.20 |", out)
        self.assertIn("| turned | 1.00 |", out)

    def test_without_loops_only_libraries_count(self):
        out = self.report(LINES, "--without-loops")
        self.assertIn("- rows, 1,000: Float 2.00 (ATen)", out)
        self.assertIn("4 cases; 1 take more", out)

    def test_another_programs_lines_are_refused(self):
        with self.assertRaisesRegex(ValueError, "not a line of bench_grid"):
            grid.read_case("rows\tByte\tByte\t1000\t0.5")

    def test_the_program_measures_every_layout_and_type(self):
        code, out = run(PROGRAM, "--rounds=1", "--largest=64")
        self.assertEqual(code, 0)
        self.assertIn(f"{22 * 12} cases; ", out)
        self.assertIn("| contiguous | ", out)


if __name__ == "__main__":
    unittest.main()
