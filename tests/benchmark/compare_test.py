#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests compare.py on made-up programs: what it judges, what it refuses, what it prints."""

import contextlib
import io
import json
import pathlib
import stat
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import compare  # noqa: E402
from compare import Cell, Row  # noqa: E402


def cells(tenon=None, executorch=None, aten=None):
    given = {"tenon": tenon, "executorch": executorch, "aten": aten}
    return {program: cell for program, cell in given.items() if cell is not None}


class Judge(unittest.TestCase):
    row = Row("c", "c", executorch=0.5, aten=0.4, allocs=2)

    def test_figures_at_their_limits_are_met(self):
        by_program = cells(Cell(40, 2), Cell(80, 4), Cell(100, 3))
        self.assertEqual(compare.judge(self.row, by_program), "met")

    def test_each_figure_above_its_limit_is_named(self):
        by_program = cells(Cell(41, 3), Cell(80, 4), Cell(100, 3))
        self.assertEqual(
            compare.judge(self.row, by_program),
            "missed (0.512 x ExecuTorch, 0.410 x ATen, 3 allocs)",
        )

    def test_a_skipped_peer_leaves_its_target_unchecked(self):
        by_program = cells(Cell(40, 2), Cell(80, 4))
        self.assertEqual(compare.judge(self.row, by_program), "met, ATen unchecked")

    def test_without_tenon_nothing_is_checked(self):
        by_program = cells(None, Cell(80, 4), Cell(100, 3))
        self.assertEqual(compare.judge(self.row, by_program), "unchecked")

    def test_a_row_without_targets_has_no_verdict(self):
        self.assertEqual(compare.judge(Row("c", "c"), cells(Cell(1, 1))), "")

    def test_an_allocation_in_some_calls_misses_a_target_of_none(self):
        row = Row("c", "c", allocs=0)
        self.assertEqual(compare.judge(row, cells(Cell(1, 0.01))), "missed (0.01 allocs)")


class Format(unittest.TestCase):
    def test_times_have_three_digits_and_a_unit(self):
        texts = [compare.format_time(ns) for ns in (5.784, 69.4, 999.4, 999.7, 42794, 0.57e9, 6.8e9)]
        self.assertEqual(
            texts, ["5.78 ns", "69.4 ns", "999 ns", "1 µs", "42.8 µs", "570 ms", "6.80 s"]
        )

    def test_targets_read_as_the_issue_writes_them(self):
        row = Row("c", "c", executorch=0.7, aten=1.0, allocs=0)
        self.assertEqual(compare.format_target(row), "≤ 0.7 x ExecuTorch, ≤ 1 x ATen, 0 allocs")


class Main(unittest.TestCase):
    """The whole script over shell scripts that print what a benchmark program would."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        rows = [Row("a", "case a", executorch=0.5, allocs=1), Row("b", "case b")]
        self.enterContext(mock.patch.object(compare, "ROWS", rows))
        self.program("tenon", {"a": (10.0, 1), "b": (5.0, 0)})
        self.program("executorch", {"a": (40.0, 4)})

    # unittest has these from Python 3.11 on.
    def enterContext(self, manager):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        return stack.enter_context(manager)

    def program(self, name, cases, exit_code=0):
        records = [
            {"name": case, "cpu_time": ns, "allocs": allocs}
            for case, (ns, allocs) in cases.items()
        ]
        text = json.dumps({"benchmarks": records})
        path = self.folder / f"bench_{name}"
        path.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\necho told >&2\nexit {exit_code}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def compare(self, *arguments):
        described = {
            name: {"program": str(self.folder / f"bench_{name}"), "version": "1.0", "flags": []}
            for name in ("tenon", "executorch")
        }
        described["aten"] = {"skipped": "not fetched"}
        config = {
            "compiler": "c++",
            "build_type": "Release",
            "flags": "-O3",
            "malloc_counter": "",
            "programs": described,
        }
        (self.folder / "benchmarks.json").write_text(json.dumps(config))
        out, err = io.TextIOWrapper(io.BytesIO()), io.TextIOWrapper(io.BytesIO())
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = compare.main([str(self.folder), "--compile-runs=0", "--rounds=3", *arguments])
            out.flush()
            err.flush()
        return code, out.buffer.getvalue().decode(), err.buffer.getvalue().decode()

    def test_one_table_with_ratio_verdict_and_the_reason_of_what_was_skipped(self):
        code, out, _ = self.compare("--strict")
        self.assertEqual(code, 0)
        line = next(line for line in out.splitlines() if line.startswith("case a"))
        self.assertEqual(
            line.split(),
            "case a 10 ns 1 40 ns 4 0.25 skipped ≤ 0.5 x ExecuTorch, ≤ 1 allocs met".split(),
        )
        self.assertIn("ATen: skipped: not fetched", out)

    def test_a_missed_figure_fails_only_when_strict(self):
        self.program("tenon", {"a": (30.0, 1), "b": (5.0, 0)})
        self.assertEqual(self.compare()[0], 0)
        code, out, _ = self.compare("--strict")
        self.assertEqual(code, 1)
        self.assertIn("missed (0.750 x ExecuTorch)", out)

    def test_a_failing_program_fails_with_its_own_words(self):
        self.program("executorch", {"a": (40.0, 4)}, exit_code=3)
        code, _, err = self.compare()
        self.assertEqual(code, 2)
        self.assertIn("ended with 3:\ntold", err)

    def test_a_case_without_a_row_is_refused(self):
        self.program("executorch", {"a": (40.0, 4), "misspelt": (1.0, 0)})
        code, _, err = self.compare()
        self.assertEqual(code, 2)
        self.assertIn("'misspelt' of bench_executorch has no row", err)

    def test_a_row_whose_case_is_gone_is_refused(self):
        self.program("executorch", {})
        code, _, err = self.compare()
        self.assertEqual(code, 2)
        self.assertIn("'a' of compare.py is not in bench_executorch", err)

    def test_markdown_has_as_many_cells_in_every_line(self):
        _, out, _ = self.compare("--markdown")
        lines = [line for line in out.splitlines() if line.startswith("|")]
        self.assertEqual(len(lines), 4)
        self.assertEqual({line.count("|") for line in lines}, {12})

    def test_json_holds_every_round(self):
        file = self.folder / "figures.json"
        self.compare(f"--json={file}")
        row = json.loads(file.read_text())["rows"][0]
        self.assertEqual(row["figures"]["tenon"]["rounds"], [10.0, 10.0, 10.0])
        self.assertEqual(row["ratios"], {"executorch": 0.25})


if __name__ == "__main__":
    unittest.main()
