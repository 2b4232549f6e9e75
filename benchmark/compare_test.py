#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests compare.py on made-up programs: what it prints, what it refuses."""

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


class Format(unittest.TestCase):
    def test_times_have_three_digits_and_a_unit(self):
        texts = [compare.format_time(ns) for ns in (5.784, 69.4, 999.4, 999.7, 42794, 0.57e9, 6.8e9)]
        self.assertEqual(
            texts, ["5.78 ns", "69.4 ns", "999 ns", "1 µs", "42.8 µs", "570 ms", "6.80 s"]
        )

    def test_no_case_of_tenons_has_two_rows(self):
        cases = [row.sources["tenon"] for rows in compare.TABLES.values() for row in rows]
        self.assertEqual(len(cases), len(set(cases)))


class Main(unittest.TestCase):
    """The whole script over shell scripts that print what a benchmark program would."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        tables = {
            "One": [
                compare.row("a", "case a", "executorch aten"),
                compare.row("b", "case b"),
                compare.pair("models", "d", "case d", "executorch"),
            ],
            "Two": compare.variants("c", "case c"),
            "Three": [compare.Row("include", {"tenon": ("include", "tenon")})],
        }
        self.enterContext(mock.patch.object(compare, "TABLES", tables))
        self.enterContext(mock.patch.object(compare, "HEADERS", {"tenon": "cstddef"}))
        self.program("tenon", {"a": (10.0, 1), "b": (5.0, 0), "c/sse2": (20.0, 3)})
        self.program("executorch", {"a": (40.0, 4), "c": (80.0, 7)})
        self.program("models", {"models/d": (30.0, 1), "models/d@executorch": (20.0, 0.5)})

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
            for name in ("tenon", "executorch", "models")
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

    def test_tables_with_ratios_and_the_reason_of_what_was_skipped(self):
        code, out, _ = self.compare()
        self.assertEqual(code, 0)
        lines = [line.split() for line in out.splitlines()]
        self.assertEqual(lines[0], ["One"])
        self.assertEqual(lines[1], "case tenon allocs ExecuTorch allocs ratio".split())
        self.assertEqual(lines[3], "case a 10 ns 1 40 ns 4 0.25".split())
        self.assertEqual(lines[4], "case b 5 ns 0 –".split())
        self.assertEqual(lines[5], "case d 30 ns 1 20 ns 0.5 1.50".split())
        self.assertEqual(lines[7], ["Two"])
        self.assertEqual(lines[10], "case c, SSE2 only 20 ns 3 80 ns 7 0.25".split())
        self.assertNotIn("AVX2", out)
        self.assertNotIn("Three", out)
        self.assertIn("ATen was skipped: not fetched", out)
        self.assertIn("tenon 1.0, ExecuTorch 1.0; CPU time, median of 3 interleaved rounds", out)

    def test_headers_are_compiled(self):
        code, out, _ = self.compare("--compile-runs=1")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"Three\n.*\n.*\ninclude +[1-9]")

    def test_what_does_not_fit_together_is_refused(self):
        tenon = {"a": (10.0, 1), "b": (5.0, 0)}
        peer = {"a": (40.0, 4), "c": (80.0, 7)}
        for program, cases, exit_code, words in (
            ("executorch", peer, 3, "ended with 3:\ntold"),
            ("executorch", {**peer, "misspelt": (1.0, 0)}, 0,
             "'misspelt' of bench_executorch has no row"),
            ("executorch", {}, 0, "'a' of compare.py is not in bench_executorch"),
            ("executorch", {"a": (40.0, 4)}, 0, "'c' of compare.py is not in bench_executorch"),
            ("tenon", tenon, 0, "no variant of case 'c' is in bench_tenon"),
            ("tenon", {**tenon, "c": (20.0, 3)}, 0, "'c' of bench_tenon has no row"),
        ):
            with self.subTest(words):
                self.setUp()
                self.program(program, cases, exit_code)
                code, _, err = self.compare()
                self.assertEqual(code, 2)
                self.assertIn(words, err)
        self.setUp()
        self.assertIn("no case matches 'nothing'", self.compare("--filter=nothing")[2])
        self.enterContext(mock.patch.object(compare, "HEADERS", {"tenon": "no/such.h"}))
        self.assertIn("<no/such.h> does not compile", self.compare("--compile-runs=1")[2])

    def test_a_filter_chooses_rows_and_gives_each_program_its_cases(self):
        self.program("tenon", {"c/sse2": (20.0, 3)})
        self.program("executorch", {"c": (80.0, 7)})
        code, out, _ = self.compare("--filter=^c/s")
        self.assertEqual(code, 0)
        self.assertIn("0.25", out)
        for program, case in (("tenon", "c/sse2"), ("executorch", "c")):
            calls = (self.folder / f"{program}.calls").read_text().splitlines()
            self.assertEqual(len(calls), 4)
            for call in calls:
                self.assertIn(f"--benchmark_filter=^({case})$", call.split())

    def test_markdown_has_as_many_cells_in_every_line(self):
        _, out, _ = self.compare("--markdown")
        lines = [line for line in out.splitlines() if line.startswith("|")]
        self.assertEqual([line.count("|") for line in lines], 5 * [7] + 3 * [7])

    def test_json_holds_every_round(self):
        file = self.folder / "figures.json"
        self.compare(f"--json={file}")
        row = json.loads(file.read_text())["rows"][0]
        self.assertEqual(row["title"], "case a")
        self.assertEqual(row["figures"]["tenon"], {"ns": 10.0, "rounds": [10.0] * 3, "allocs": 1})

    def test_a_program_may_be_a_command_of_several_words(self):
        program = self.folder / "bench_tenon"
        records = compare.run_program(["sh", str(program)], ["--an-argument"])
        self.assertEqual((records[0]["name"], records[0]["cpu_time"]), ("a", 10.0))
        self.assertEqual(
            (self.folder / "tenon.calls").read_text(), "--benchmark_format=json --an-argument\n"
        )


if __name__ == "__main__":
    unittest.main()
