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


class AtenMode(unittest.TestCase):
    """Rows of which one program has both figures."""

    row = Row("m/c", "c", aten=1.1, more_allocs=1, table="ATen mode")

    def judged(self, ours, theirs):
        measured = {"m/c": {"aten_mode": ours}, "m/c@aten": {"aten_mode": theirs}}
        return compare.judge(self.row, compare.figures(self.row, measured))

    def test_both_figures_are_of_that_program(self):
        self.assertEqual(self.row.cases_in("aten_mode"), {"m/c", "m/c@aten"})
        self.assertEqual(self.row.cases_in("tenon"), set())
        self.assertEqual(self.row.cases_in("aten"), set())

    def test_a_handle_more_is_allowed(self):
        self.assertEqual(self.judged(Cell(110, 3), Cell(100, 2)), "met")

    def test_what_is_beyond_is_named(self):
        self.assertEqual(
            self.judged(Cell(120, 4), Cell(100, 2)), "missed (1.200 x ATen, 4 allocs for 2)"
        )

    def test_the_target_is_written_out(self):
        self.assertEqual(compare.format_target(self.row), "≤ 1.1 x ATen, ≤ 1 alloc more")


class Variants(unittest.TestCase):
    """Rows that compare a case of tenon's with one of another name."""

    row = Row("r/fast", "r, fast", peer_case="r", executorch=0.5)

    def test_the_peers_figures_are_those_of_their_case(self):
        measured = {"r/fast": cells(Cell(40)), "r": cells(None, Cell(80), Cell(100))}
        by_program = compare.figures(self.row, measured)
        self.assertEqual(
            {program: cell.ns for program, cell in by_program.items()},
            {"tenon": 40, "executorch": 80, "aten": 100},
        )
        self.assertEqual(compare.judge(self.row, by_program), "met")

    def test_a_case_of_tenons_under_the_peers_name_is_not_the_rows(self):
        measured = {"r": cells(Cell(40), Cell(80))}
        self.assertNotIn("tenon", compare.figures(self.row, measured))

    def test_a_variant_that_tenon_lacks_is_not_shown(self):
        self.assertFalse(compare.is_shown(self.row, {"r": cells(None, Cell(80))}))
        self.assertTrue(compare.is_shown(self.row, {"r/fast": cells(Cell(40))}))
        self.assertTrue(compare.is_shown(Row("r", "r"), {"r": cells(None, Cell(80))}))


class Rows(unittest.TestCase):
    """The rows that are there."""

    def test_each_has_columns_for_the_peers_that_it_has_a_target_for(self):
        for row in compare.ROWS:
            for peer in compare.PEERS:
                if row.limit(peer) is not None:
                    self.assertIn(peer, compare.TABLES[row.table], row.case)

    def test_no_case_has_two(self):
        names = [row.case for row in compare.ROWS]
        self.assertEqual(len(names), len(set(names)))


class Main(unittest.TestCase):
    """The whole script over shell scripts that print what a benchmark program would."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        rows = [
            Row("a", "case a", executorch=0.5, allocs=1),
            Row("b", "case b"),
            Row("c/slow", "case c, slow", executorch=0.5, peer_case="c", table="Random numbers"),
            Row("c/fast", "case c, fast", executorch=0.2, peer_case="c", table="Random numbers"),
        ]
        self.enterContext(mock.patch.object(compare, "ROWS", rows))
        self.program("tenon", {"a": (10.0, 1), "b": (5.0, 0), "c/slow": (20.0, 3)})
        self.program("executorch", {"a": (40.0, 4), "c": (80.0, 7)})

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
        lines = [
            "#!/bin/sh",
            f'echo "$*" >>{self.folder}/{name}.calls',
            f"cat <<'END'\n{text}\nEND",
            "echo told >&2",
            f"exit {exit_code}\n",
        ]
        path.write_text("\n".join(lines))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def compare(self, *arguments):
        described = {
            name: {"command": [str(self.folder / f"bench_{name}")], "version": "1.0", "flags": []}
            for name in ("tenon", "executorch")
        }
        described["aten"] = {"skipped": "not fetched"}
        described["numpy"] = {"skipped": "not fetched"}
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
        self.program("tenon", {"a": (30.0, 1), "b": (5.0, 0), "c/slow": (20.0, 3)})
        self.assertEqual(self.compare()[0], 0)
        code, out, _ = self.compare("--strict")
        self.assertEqual(code, 1)
        self.assertIn("missed (0.750 x ExecuTorch)", out)

    def test_a_failing_program_fails_with_its_own_words(self):
        self.program("executorch", {"a": (40.0, 4), "c": (80.0, 7)}, exit_code=3)
        code, _, err = self.compare()
        self.assertEqual(code, 2)
        self.assertIn("ended with 3:\ntold", err)

    def test_a_case_without_a_row_is_refused(self):
        self.program("executorch", {"a": (40.0, 4), "c": (80.0, 7), "misspelt": (1.0, 0)})
        code, _, err = self.compare()
        self.assertEqual(code, 2)
        self.assertIn("'misspelt' of bench_executorch has no row", err)

    def test_a_row_whose_case_is_gone_is_refused(self):
        self.program("executorch", {})
        code, _, err = self.compare()
        self.assertEqual(code, 2)
        self.assertIn("'a' of compare.py is not in bench_executorch", err)

    def test_a_peers_case_of_a_variant_must_be_there(self):
        self.program("executorch", {"a": (40.0, 4)})
        code, _, err = self.compare()
        self.assertEqual(code, 2)
        self.assertIn("'c' of compare.py is not in bench_executorch", err)

    def test_tenon_without_any_variant_of_a_case_is_refused(self):
        self.program("tenon", {"a": (10.0, 1), "b": (5.0, 0)})
        code, _, err = self.compare()
        self.assertEqual(code, 2)
        self.assertIn("no variant of case 'c' is in bench_tenon", err)

    def test_the_peers_name_of_a_variant_is_not_one_of_tenons(self):
        self.program("tenon", {"a": (10.0, 1), "b": (5.0, 0), "c": (20.0, 3)})
        code, _, err = self.compare()
        self.assertEqual(code, 2)
        self.assertIn("'c' of bench_tenon has no row", err)

    def test_a_variant_stands_beside_the_peers_case_in_a_table_with_numpy(self):
        code, out, _ = self.compare()
        self.assertEqual(code, 0)
        first, second = out.split("Random numbers\n")
        self.assertNotIn("NumPy", first)
        header, _, line = second.splitlines()[:3]
        self.assertEqual(
            header.split(),
            "case tenon allocs ExecuTorch allocs ratio ATen allocs ratio NumPy allocs ratio target "
            "verdict".split(),
        )
        self.assertEqual(
            line.split(),
            "case c, slow 20 ns 3 80 ns 7 0.25 skipped skipped ≤ 0.5 x ExecuTorch met".split(),
        )
        self.assertNotIn("case c, fast", out)

    def test_a_filter_chooses_rows_and_gives_each_program_its_cases(self):
        self.program("tenon", {"c/slow": (20.0, 3)})
        self.program("executorch", {"c": (80.0, 7)})
        code, out, _ = self.compare("--filter=^c/s")
        self.assertEqual(code, 0)
        self.assertIn("0.25", out)
        for program, case in (("tenon", "c/slow"), ("executorch", "c")):
            calls = (self.folder / f"{program}.calls").read_text().splitlines()
            self.assertEqual(len(calls), 4)
            for call in calls:
                self.assertIn(f"--benchmark_filter=^({case})$", call.split())

    def test_a_filter_that_matches_nothing_is_refused(self):
        code, _, err = self.compare("--filter=nothing")
        self.assertEqual(code, 2)
        self.assertIn("no case matches 'nothing'", err)

    def test_markdown_has_as_many_cells_in_every_line(self):
        _, out, _ = self.compare("--markdown")
        lines = [line for line in out.splitlines() if line.startswith("|")]
        self.assertEqual([line.count("|") for line in lines], 4 * [12] + 3 * [15])

    def test_json_holds_every_round(self):
        file = self.folder / "figures.json"
        self.compare(f"--json={file}")
        row = json.loads(file.read_text())["rows"][0]
        self.assertEqual(row["figures"]["tenon"]["rounds"], [10.0, 10.0, 10.0])
        self.assertEqual(row["ratios"], {"executorch": 0.25})

    def test_a_program_may_be_a_command_of_several_words(self):
        program = self.folder / "bench_tenon"
        records = compare.run_program(["sh", str(program)], ["--an-argument"])
        self.assertEqual(records["a"]["cpu_time"], 10.0)
        self.assertEqual(
            (self.folder / "tenon.calls").read_text(), "--benchmark_format=json --an-argument\n"
        )


if __name__ == "__main__":
    unittest.main()
