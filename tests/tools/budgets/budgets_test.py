#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plants growth in figures, files and ways and expects budgets.py to name it."""

import unittest
import unittest.mock

import budgets
from budgets import Call, Figure, Limit


class Lines(unittest.TestCase):
    def test_blank_lines_and_comments_do_not_count(self):
        self.assertEqual(budgets.code_lines("\n// a\n  /* b\n c */\nint d;  // e\n\n#if F\n/* g */ int h;\n", ".h"), 3)
        self.assertEqual(budgets.code_lines("\n# a\n  # b\nc()  # d\n", ".py"), 1)

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

    def test_calls_depth_files_and_crossings_are_counted(self):
        with unittest.mock.patch.object(budgets, "find_ways", lambda options: {"way": self.CALLS}):
            figures = list(budgets.measure_ways(None))
        self.assertEqual({figure.name: figure.value for figure in figures},
                         {"ways/way/calls": 4, "ways/way/depth": 2, "ways/way/files": 2, "ways/way/crossings": 2})
        self.assertEqual(figures[0].details, ("  a  core/a.h:1", ">   b  core/b.h:2", "    b  core/b.h:2", "> c  core/a.h:3"))


class Table(unittest.TestCase):
    LIMITS = {"lines/core": Limit(100, "lines"), "ways/view/depth": Limit(7, "depth"), "include/std": Limit(1.0, "time"),
              "stages/a": Limit(100, "seconds")}

    def faults(self, name, value, wanted=()):
        """(whether it is a failure, what is said) of one figure, with the table above."""
        found = list(budgets.judge([Figure(name, value, "")], self.LIMITS, wanted))
        return [(is_failure, sentence.split(":")[0]) for is_failure, sentence in found]

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

    def test_an_update_lowers_adds_and_removes_but_does_not_raise(self):
        figures = [Figure("lines/new", 200, "new"), Figure("ways/view/depth", 8, "depth"), Figure("include/std", 0.9, "time")]
        self.assertEqual(budgets.update(figures, self.LIMITS, []), {
            "lines/new": Limit(202, "new"), "ways/view/depth": Limit(7, "depth"), "include/std": Limit(1.0, "time"),
            "stages/a": Limit(100, "seconds")})
        self.assertEqual(budgets.update([Figure("lines/core", 50, "less")], self.LIMITS, [])["lines/core"], Limit(50, "less"))
        self.assertEqual(budgets.update([Figure("lines/new", 9, "new")], self.LIMITS, ["lines/new"]),
                         {**self.LIMITS, "lines/new": Limit(9, "new")})

    def test_the_table_is_as_update_writes_it(self):
        text = budgets.TABLE.read_text(encoding="utf-8")
        self.assertEqual(budgets.write_table(*budgets.read_table(text)), text)


if __name__ == "__main__":
    unittest.main()
