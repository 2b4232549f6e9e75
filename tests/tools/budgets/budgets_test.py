#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plants growth in figures, files and ways and expects budgets.py to name it."""

import argparse
import contextlib
import io
import pathlib
import tempfile
import unittest
import unittest.mock

import budgets
from budgets import Call, Figure, Limit


class Lines(unittest.TestCase):
    def test_blank_lines_and_comments_do_not_count(self):
        self.assertEqual(budgets.code_lines("\n// a\n  /* b\n c */\nint d;  // e\n\n#if F\n/* g */ int h;\n", ".h"), 3)
        self.assertEqual(budgets.code_lines("\n# a\n  # b\nc()  # d\n", ".py"), 1)

    def test_what_looks_like_a_comment_in_a_literal_counts(self):
        self.assertEqual(budgets.code_lines('f("/*",\n  a,\n  "*/");\n', ".h"), 3)
        self.assertEqual(budgets.code_lines("int a = 1'000; /*\n'*/ int b;\n", ".h"), 2)
        self.assertEqual(budgets.code_lines('f(R"(\n// a\n)");\n', ".h"), 3)

    def measured(self, files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            options = argparse.Namespace(include=pathlib.Path(folder, "include"))
            return {figure.name: figure.value
                    for figure in [*budgets.measure_lines(options), *budgets.measure_headers(options)]}

    def test_a_folder_has_the_lines_of_those_below_it(self):
        found = self.measured({
            "include/tenon/tenon.h": "a\n", "include/tenon/core/a.h": "a\nb\n", "include/tenon/core/b/c.h": "a\n",
            "include/tenon/backend/cuda/a.cuh": "a\n", "include/tenon/backend/cuda.h": "a\n",
            "include/tenon/backend/cpu.h": "a\n", "include/tenon/interop/x/x.pyi": "a\n",
            "tests/a_test.cpp": "a\n", "tests/b/CMakeLists.txt": "a\n", "tests/b/data.txt": "a\n", "tests/b/c.py": "a\n"})
        self.assertEqual(found, {
            "lines/.": 1, "lines/core": 3, "lines/backend/cuda": 2, "lines/backend": 1, "lines/together": 4, "lines/all": 7,
            "lines/tests": 3, "headers/.": 1, "headers/core": 2, "headers/backend/cuda": 2, "headers/backend": 1,
            "headers/all": 6})

    def test_the_folders_exist(self):
        for folder in budgets.APART + budgets.TOGETHER:
            self.assertTrue((budgets.ROOT / "include" / "tenon" / folder).is_dir(), folder)


class Ways(unittest.TestCase):
    # main's lambda (0x1) calls a, which calls std's function (0x9), which calls b; then c.
    OUTPUT = "way\n0x1\n0xa\n0x9\n0xb\n-\n-\n0xb\n-\n-\n0xc\n-\n-\nother\n0xc\n-\n"
    PLACES = {"0xa": ("a", "core/a.h", 1), "0xb": ("b", "core/b.h", 2), "0xc": ("c", "core/a.h", 3)}
    CALLS = [Call(0, "a", "core/a.h", 1), Call(1, "b", "core/b.h", 2), Call(1, "b", "core/b.h", 2), Call(0, "c", "core/a.h", 3)]

    def test_functions_of_others_are_passed_through(self):
        self.assertEqual(budgets.read_ways(self.OUTPUT, self.PLACES), {"way": self.CALLS, "other": [Call(0, *self.PLACES["0xc"])]})

    def test_a_way_that_was_cut_off_is_an_error(self):
        with self.assertRaises(ValueError):
            budgets.read_ways("way\n0xa\n-\ntoo long\n", self.PLACES)

    def test_calls_depth_files_and_crossings_are_counted(self):
        with unittest.mock.patch.object(budgets, "find_ways", lambda options: {"way": self.CALLS}):
            figures = list(budgets.measure_ways(None))
        self.assertEqual({figure.name: figure.value for figure in figures},
                         {"ways/way/calls": 4, "ways/way/depth": 2, "ways/way/files": 2, "ways/way/crossings": 2})
        self.assertEqual(figures[0].details, ("  a  core/a.h:1", ">   b  core/b.h:2", "    b  core/b.h:2", "> c  core/a.h:3"))

    def test_names_are_short(self):
        for function, name in [
                ("tenon::v0_1_plain::Dims::Dims(tenon::v0_1_plain::Dims const&)", "Dims::Dims"),
                ("tenon::v0_1_plain::Dims::~Dims()", "Dims::~Dims"),
                ("int tenon::v0_1_plain::detail::visit<void (*)(int)>(tenon::v0_1_plain::ScalarType)", "visit"),
                ("tenon::v0_1_plain::Span<long const>::operator[](unsigned long) const", "Span::operator[]"),
                ("bool tenon::v0_1_plain::operator< <int>(int, int)", "operator<"),
                ("tenon::v0_1_plain::Result<int>::operator bool() const", "Result::operator bool"),
                ("tenon::v0_1_plain::Tensor::operator new(unsigned long)", "Tensor::operator new"),
                ("auto tenon::v0_1_plain::run<int>(int)::{lambda(auto:1)#1}::operator()<float>(float) const",
                 "run::lambda::operator()")]:
            self.assertEqual(budgets.short_name(function), name)


class Table(unittest.TestCase):
    LIMITS = {"lines/core": Limit(100, "lines"), "ways/view/depth": Limit(7, "depth"), "include/std": Limit(1.0, "time"),
              "stages/a": Limit(100, "seconds")}

    def faults(self, name, value, wanted=()):
        """(whether it is a failure, what is said) of one figure, with the table above."""
        found = list(budgets.judge([Figure(name, value, "")], self.LIMITS, wanted))
        return [(is_failure, sentence.split(":")[0]) for is_failure, sentence in found]

    def test_within_the_limit_nothing_is_said(self):
        for name, value in [("lines/core", 100), ("lines/core", 97), ("ways/view/depth", 7), ("include/std", 0.8),
                            ("stages/a", 100)]:
            self.assertEqual(self.faults(name, value), [])

    def test_a_figure_above_its_limit_is_a_failure(self):
        for name, value in [("lines/core", 101), ("ways/view/depth", 8), ("include/std", 1.01)]:
            self.assertEqual(self.faults(name, value), [(True, f"{name} is {value}, above its limit of {self.LIMITS[name].value}")])

    def test_a_stage_that_grew_is_a_warning(self):
        self.assertEqual(self.faults("stages/a", 101), [(False, "stages/a is 101, above its limit of 100")])

    def test_a_limit_that_was_not_lowered_is_a_failure_but_for_times(self):
        self.assertEqual(self.faults("lines/core", 96), [(True, "lines/core is 96, well below its limit of 100")])
        self.assertEqual(self.faults("ways/view/depth", 6), [(True, "ways/view/depth is 6, well below its limit of 7")])
        self.assertEqual(self.faults("include/std", 0.7), [(False, "include/std is 0.7, well below its limit of 1.0")])

    def test_a_figure_without_a_limit_and_a_limit_without_a_figure_are_failures(self):
        self.assertEqual(self.faults("ways/view/depth", 7), [])
        self.assertEqual([is_failure for is_failure, _ in self.faults("lines/new", 1)], [True, True])
        self.assertEqual(len(self.faults("lines/new", 1, ["lines/new"])), 1)

    def test_what_cannot_be_measured_here_is_left_alone(self):
        self.assertEqual(self.faults("include/std", None), [])
        figures = [Figure("include/std", None, "")]
        self.assertEqual(budgets.update(figures, self.LIMITS, []), self.LIMITS)

    def test_an_update_lowers_adds_and_removes_but_does_not_raise(self):
        figures = [Figure("lines/new", 200, "new"), Figure("ways/view/depth", 8, "depth"), Figure("include/std", 0.9, "time")]
        self.assertEqual(budgets.update(figures, self.LIMITS, []), {
            "lines/new": Limit(202, "new"), "ways/view/depth": Limit(7, "depth"), "include/std": Limit(1.0, "time"),
            "stages/a": Limit(100, "seconds")})
        self.assertEqual(budgets.update([Figure("lines/core", 50, "less")], self.LIMITS, [])["lines/core"], Limit(50, "less"))
        self.assertEqual(budgets.update([Figure("lines/new", 9, "new")], self.LIMITS, ["lines/new"]),
                         {**self.LIMITS, "lines/new": Limit(9, "new")})

    def test_a_fresh_limit_is_not_loose(self):
        for name in ("lines/a", "ways/a/b", "include/a", "weight/a/compile", "stages/a"):
            for value in (1, 7, 99, 100, 101, 30000):
                limit = budgets.with_room(name, value)
                self.assertGreaterEqual(limit, value)
                self.assertFalse(budgets.is_loose(name, value, limit), (name, value))

    def test_the_table_is_read_as_it_was_written(self):
        text = budgets.write_table(self.LIMITS, ["# words"])
        self.assertEqual(budgets.read_table(text), (self.LIMITS, ["# words"]))
        with self.assertRaises(ValueError):
            budgets.read_table("a/b 1 c\na/b 2 c\n")

    def test_the_table_is_as_update_writes_it(self):
        text = budgets.TABLE.read_text(encoding="utf-8")
        self.assertEqual(budgets.write_table(*budgets.read_table(text)), text)


class Program(unittest.TestCase):
    def run_with(self, *arguments, limit=10):
        """(the exit status, what is printed) with a table of one stage, which takes 10 seconds, and folder core, of one
        line."""
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as printed:
            work = pathlib.Path(folder)
            (work / "include/tenon/core").mkdir(parents=True)
            (work / "include/tenon/core/a.h").write_text("a\n", encoding="utf-8")
            (work / "stages").write_text("built_a 10\n", encoding="utf-8")
            self.table = work / "budgets.txt"
            self.table.write_text(f"stages/built_a {limit} seconds\nlines/core {limit} lines\n", encoding="utf-8")
            with unittest.mock.patch.object(budgets, "TABLE", self.table):
                status = budgets.main([*arguments, "--include", str(work / "include"), "--stages", str(work / "stages")])
            self.updated = self.table.read_text(encoding="utf-8")
        return status, printed.getvalue()

    def test_a_stage_warns(self):
        self.assertEqual(self.run_with("check", "stages")[0], 0)
        status, printed = self.run_with("check", "stages", limit=9)
        self.assertEqual(status, 0)
        self.assertIn("warning: stages/built_a is 10, above its limit of 9", printed)

    def test_lines_fail(self):
        self.assertEqual(self.run_with("check", "lines/core", limit=1)[0], 0)
        self.assertEqual(self.run_with("check", "lines/core", limit=0)[0], 1)
        self.assertEqual(self.run_with("check", "lines/core")[0], 1)
        self.assertEqual(self.run_with("report", "lines/core", limit=0)[0], 0)

    def test_an_update_writes_the_table(self):
        self.run_with("update", "lines/core")
        self.assertEqual({name: limit.value for name, limit in budgets.read_table(self.updated)[0].items()},
                         {"lines/core": 1, "stages/built_a": 10})

    def test_another_compiler_is_skipped(self):
        with unittest.mock.patch.object(budgets.weigh, "is_the_compiler", lambda compiler: False):
            self.assertEqual(self.run_with("check", "ways")[0], 77)
            self.assertEqual(self.run_with("check", "lines/core", "ways", limit=1)[0], 0)


if __name__ == "__main__":
    unittest.main()
