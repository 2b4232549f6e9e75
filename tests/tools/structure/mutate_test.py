#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests scripts/mutate.py and scripts/coverage.py without a compiler, and the lists that they read."""

import pathlib
import re
import sys
import tempfile
import unittest
import unittest.mock

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

    def test_template_arguments_pointers_and_references_are_no_operators(self):
        self.assertEqual(changes("template <class T> Pair<T> f(T* a, T&& b, const T& c);\n"), set())

    def test_numbers_truths_and_errors_are_changed(self):
        self.assertEqual(changes("f(a.x1, 7);\n"), {("f(a.x1, 7);", "f(a.x1, 8);")})
        self.assertEqual(changes("return true;\n"), {("return true;", "return false;")})
        self.assertEqual(changes("return Error::Ok;\n"), {("return Error::Ok;", "return Error::Internal;")})
        self.assertEqual(changes("return Error::Internal;\n"), {("return Error::Internal;", "return Error::InvalidState;")})

    def test_conditions_are_negated_but_not_their_initialisers(self):
        self.assertEqual(changes("if (a(b)) {}\n"), {("if (a(b)) {}", "if (!(a(b))) {}")})
        self.assertEqual(changes("if (T a = f(); a.b()) {}\n"), {("if (T a = f(); a.b()) {}", "if (T a = f(); !(a.b())) {}")})
        self.assertEqual(changes("if constexpr (a) {}\n"), set())

    def test_calls_and_assignments_are_deleted(self):
        self.assertEqual(changes("{\n  state->drop(a,\n              b);\n}\n"), {("state->drop(a, b);", ";")})
        self.assertEqual(changes("{\n  a.b = c;\n}\n"), {("a.b = c;", ";")})
        self.assertEqual(changes("{\n  if (a)\n    drop();\n}\n"), {("if (a)", "if (!(a))"), ("drop();", ";")})

    def test_declarations_and_parts_of_statements_are_not_deleted(self):
        self.assertEqual(changes("{\n  const int a = b;\n  int c(d);\n  return e(\n      f(g));\n}\n"), set())

    def test_comments_texts_directives_and_static_asserts_stay(self):
        text = ('#define F(a) \\\n  (a + 1)\n// a < b\n/* 1 */\nput("a < 1", R"(2 "+ 3)", \'4\');\n'
                "static_assert(sizeof(T) == 4 && f(1),\n              \"5\");\n")
        self.assertEqual(changes(text), set())
        self.assertEqual(len(mutate.mask(text)), len(text))

    def test_a_change_elsewhere_moves_no_mutant(self):
        def order(text):
            return [mutate.lines_of(text, mutant)[1:] for mutant in mutate.draw_order("tenon/a.h", text, "1")]
        one = "x = a < b;\ny = c + d;\nz = 1;\n"
        kept = [change for change in order("v = e - f;\n" + one) if "e" not in change[0]]
        self.assertEqual(kept, order(one))
        self.assertNotEqual(order(one), [])

    def test_the_headers_get_their_parts_of_the_count(self):
        self.assertEqual(mutate.quotas({"a": 60, "b": 30, "c": 10}, 10), {"a": 6, "b": 3, "c": 1})
        self.assertEqual(sum(mutate.quotas({"a": 1, "b": 1, "c": 1}, 10).values()), 10)

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

    def test_tests_named_after_a_longer_header_are_not_those_of_a_shorter(self):
        names = [test.name for test in mutate.matching_tests("tenon/tensor/tensor.h")]
        self.assertIn("tensor_test.cpp", names)
        self.assertNotIn("tensor_ptr_values_test.cpp", names)
        self.assertIn("tensor_ptr_values_test.cpp",
                      [test.name for test in mutate.matching_tests("tenon/tensor/tensor_ptr.h")])


class Coverage(unittest.TestCase):
    HEADER = str(coverage.INCLUDES[0] / "core" / "a.h")

    def test_a_macro_s_condition_counts_where_it_is_used(self):
        # Line 5 uses a macro, which has a condition at 2:4; line 6 has a condition itself.
        function = {"filenames": [self.HEADER, self.HEADER],
                    "regions": [[4, 1, 9, 1, 3, 0, 0, coverage.CODE], [5, 3, 5, 9, 3, 0, 1, coverage.EXPANSION],
                                [2, 1, 2, 9, 3, 1, 0, coverage.CODE]],
                    "branches": [[2, 4, 2, 8, 1, 2, 1, 0, 4], [6, 7, 6, 8, 3, 0, 0, 0, 4]]}
        found = {"core/a.h": {}}
        coverage.add_branches(found, function)
        self.assertEqual(found["core/a.h"], {(5, 3, 2, 4): [1, 2, True], (6, 7): [3, 0, True]})

    def lines(self, *functions):
        """The counts of the lines of these functions of a header."""
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(coverage, "INCLUDES", [pathlib.Path(folder)]):
            coverage.code_of.cache_clear()
            header = pathlib.Path(folder, "a.h")
            header.write_text("void f() {\n  a();\n  // words\n#if B\n  c();\n#endif\n  [] {\n    d();\n  }();\n}\n",
                              encoding="utf-8")
            found = {"a.h": {}}
            for regions in functions:
                coverage.add_lines(found, {"filenames": [str(header)], "regions": regions})
            return coverage.lines_of(found["a.h"])

    def test_a_line_has_the_most_of_all_instantiations(self):
        whole, skipped = [1, 10, 10, 2, 0, 0, 0, coverage.CODE], [4, 1, 6, 7, 0, 0, 0, coverage.SKIPPED]
        one, other = whole[:4] + [3, 0, 0, 0], whole[:4] + [4, 0, 0, 0]
        rest = [2, 7, 10, 2, 1, 0, 0, coverage.CODE]  # what follows a return
        self.assertEqual(self.lines([one, rest, skipped]), {1: 3, 2: 3, 7: 1, 8: 1, 9: 1, 10: 1})
        self.assertEqual(self.lines([one, rest, skipped], [other, skipped]), {1: 4, 2: 4, 7: 4, 8: 4, 9: 4, 10: 4})

    def test_a_function_that_a_file_does_not_use_counts_unless_another_does(self):
        unused = [1, 10, 10, 2, 0, 0, 0, coverage.CODE]
        used = [[*unused[:4], 5, 0, 0, coverage.CODE], [4, 1, 6, 7, 0, 0, 0, coverage.SKIPPED]]
        self.assertEqual(self.lines([unused]), {1: 0, 2: 0, 5: 0, 7: 0, 8: 0, 9: 0, 10: 0})
        self.assertEqual(self.lines([unused], used), {1: 5, 2: 5, 7: 5, 8: 5, 9: 5, 10: 5})

    def test_a_lambda_s_lines_are_its_own(self):
        around = [[1, 10, 10, 2, 5, 0, 0, coverage.CODE], [4, 1, 6, 7, 0, 0, 0, coverage.SKIPPED]]
        inside = [[7, 6, 9, 4, 0, 0, 0, coverage.CODE]]
        self.assertEqual(self.lines(around, inside), {1: 5, 2: 5, 7: 5, 8: 0, 9: 5, 10: 5})

    def test_what_is_missing_has_a_reason_or_none(self):
        text = (coverage.INCLUDES[0] / "config.h").read_text(encoding="utf-8").splitlines()
        at = next(number for number, line in enumerate(text, 1) if "pragma once" in line)
        measured = {"config.h": {at: [0, {}], at + 1: [3, {((at + 1, 1), True): 3, ((at + 1, 1), False): 0}]}}
        rules = coverage.read_reviewed("# words\nWhy not.\n  conf*.h  pragma (once|twice)\n")
        found = [(number, missing, rule and rule[0]) for _, number, _, missing, rule in coverage.judge(measured, rules)]
        self.assertEqual(found, [(at, "the line", "Why not."), (at + 1, "false", None)])
        self.assertEqual(coverage.totals(measured.values()), (1, 2, 1, 2))

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
