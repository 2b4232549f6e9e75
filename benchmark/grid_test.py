#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests grid.py on made-up lines, and bench_grid, whose path is the argument, with its smallest size."""

import contextlib
import io
import pathlib
import re
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import grid  # noqa: E402

PROGRAM = sys.argv.pop(1)
LINES = """\
layouts\trows\t1000\tByte\tByte\t1000\t0.2\t0.1\t-\t1.0\t-
layouts\trows\t1000\tFloat\tFloat\t1000\t2.0\t0.8\t0.5\t1.0\t4.0
layouts\trows\t1000\tByte\tFloat\t1000\t1.2\t-\t-\t1.0\t-
layouts\tturned\t1000\tFloat\tFloat\t1000\t1.0\t4.0\t-\t1.5\t1.0
integers\tByte\tLong\tByte\tLong\t1000\t0.9\t0.6\t0.4\t-\t-
integers\tByte\tShort\tByte\tShort\t1000\t0.5\t0.6\t0.4\t-\t-
plans\ttwo of them\t16\tByte\tByte\t16\t0.5\t0.1\t-\t-\t-
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

    def test_each_slow_kind_is_named_with_the_best_other(self):
        out = self.report(LINES)
        self.assertIn("Of 5 cases of more than 250 ns 3 take more than 1.2 of the best other's time, 2 more than twice.",
                      out)
        self.assertIn("Of 1 shorter ones 1 do. The slow ones:", out)
        self.assertIn("| rows, copies | 4.0 | Float 4.0 (native loop) |", out)
        self.assertIn("| Byte to others | 2.2 | Long 2.2 (native loop), Short 1.2 (native loop) |", out)
        self.assertNotIn("| rows, casts |", out)

    def test_a_table_has_the_mean_of_the_types(self):
        out = self.report(LINES)
        self.assertIn("| | 1,000 |", out)
        self.assertIn("| rows | 2.83 |", out)
        self.assertIn("| rows | 1.20 |", out)
        self.assertIn("| turned | 1.00 |", out)
        self.assertIn("| | Long | Short |\n|---|---:|---:|\n| Byte | 2.25 | 1.25 |", out)

    def test_plans_have_the_time_of_a_call(self):
        self.assertIn("| two of them | 8 |", self.report(LINES))

    def test_without_loops_only_libraries_count(self):
        out = self.report(LINES, "--without-loops")
        self.assertIn("| rows, copies | 2.0 | Float 2.0 (ATen) |", out)
        self.assertIn("Of 3 cases of more than 250 ns 1 take", out)

    def test_another_programs_lines_are_refused(self):
        with self.assertRaisesRegex(ValueError, "not a line of bench_grid"):
            grid.read_case("layouts\trows\t1000\tByte\tByte\t1000\t0.5")

    def test_a_page_gets_the_tables_between_its_marks(self):
        page = f"before\n{grid.MARKS[0]}old\n{grid.MARKS[1]}after\n"
        self.assertEqual(grid.insert(page, "new\n"), f"before\n{grid.MARKS[0]}\nnew\n\n{grid.MARKS[1]}after\n")
        with self.assertRaisesRegex(ValueError, "lacks the marks"):
            grid.insert("before\n", "new\n")

    def test_the_program_measures_every_layout_and_type(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.md"
            page.write_text("".join(grid.MARKS), encoding="utf-8")
            code, _ = run(PROGRAM, "--rounds=1", "--largest=64", f"--page={page}")
            out = page.read_text(encoding="utf-8")
        self.assertEqual(code, 0)
        counts = re.search(r"Of ([\d,]+) cases of more than .* Of ([\d,]+) shorter ones", out)
        cases = 22 * 12 + 120 + 112 + 56 + 33 + 7 * 17 + 20 + 10 + 15
        self.assertEqual(sum(int(count.replace(",", "")) for count in counts.groups()), cases)
        for row in ("contiguous", "crop of CHW to HWC", "reversed order", "UInt16", "them mirrored", "index_copy_",
                    "min_max", "transposed, run"):
            self.assertIn(f"| {row} | ", out)


if __name__ == "__main__":
    unittest.main()
