#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests scripts/mutate.py and scripts/coverage.py without a compiler, and the lists that they read."""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))

import coverage  # noqa: E402
import mutate  # noqa: E402


def changes(text):
    """{(old, new)} of the lines that a header's mutants change."""
    return {mutate.lines_of(text, mutant)[1:] for mutant in mutate.mutants_of(text)}


class Mutants(unittest.TestCase):
    def test_operators_are_swapped(self):
        self.assertEqual(changes("x = a < b;\n"), {("x = a < b;", "x = a <= b;")})
        self.assertEqual(changes("x = a == b;\n"), {("x = a == b;", "x = a != b;")})
        self.assertEqual(changes("x = a + b;\n"), {("x = a + b;", "x = a - b;")})
        self.assertEqual(changes("x = a && b;\n"), {("x = a && b;", "x = a || b;")})
        self.assertEqual(changes("++x;\n"), {("++x;", "--x;")})

    def test_a_mutant_survives_unless_it_was_judged(self):
        judged = mutate.read_judged("# words\n\ncore/a.h\n- x < y\n+ x <= y\nEquivalent: the same\nfor all x\n"
                                    "\ncore/a.h\n- a < b\n+ a <= b\nA leak.\n")
        found = {"header": "tenon/core/a.h", "old": "x < y", "new": "x <= y", "state": "survived"}
        self.assertEqual(mutate.judge(found, judged)["state"], "equivalent")
        self.assertEqual(mutate.judge(found, judged)["why"], "Equivalent: the same for all x")
        leak = mutate.judge({**found, "old": "a < b", "new": "a <= b"}, judged)
        self.assertEqual((leak["state"], leak["why"]), ("survived", "A leak."))
        self.assertEqual(mutate.judge({**found, "new": "x > y"}, judged)["state"], "survived")
        self.assertEqual(mutate.judge({**found, "state": "caught"}, judged)["state"], "caught")
        with self.assertRaises(ValueError):
            mutate.read_judged("core/a.h\n- x\n+ y\n")  # without a reason

    def test_every_judged_mutant_is_one_of_its_header(self):
        for header, old, new in mutate.read_judged(mutate.JUDGED.read_text(encoding="utf-8")):
            text = mutate.check_headers.header_path(ROOT, f"tenon/{header}").read_text(encoding="utf-8")
            self.assertTrue((old, new) in changes(text),
                            f"{mutate.JUDGED.name}: {header} has no such mutant anymore, judge it again: {old}")

    def test_the_further_tests_exist(self):
        for header, tests in mutate.MORE_TESTS.items():
            self.assertTrue(mutate.check_headers.header_path(ROOT, f"tenon/{header}").exists(), header)
            for test in tests:
                self.assertTrue((mutate.UNIT / test).exists(), test)


class Coverage(unittest.TestCase):
    def test_every_reviewed_line_is_in_a_header(self):
        for why, header, pattern in coverage.read_reviewed(coverage.REVIEWED.read_text(encoding="utf-8")):
            self.assertTrue(why, pattern.pattern)
            lines = [line.strip() for folder in coverage.INCLUDES for path in folder.rglob("*.*h")
                     if re.fullmatch(header.replace(".", r"\.").replace("*", ".*").replace("?", "."),
                                     path.relative_to(folder).as_posix())
                     for line in path.read_text(encoding="utf-8").splitlines()]
            self.assertTrue(any(map(pattern.search, lines)), f"{header}: {pattern.pattern}")


if __name__ == "__main__":
    unittest.main()
