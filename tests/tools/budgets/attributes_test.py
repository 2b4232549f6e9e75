#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests scripts/attributes.py without a compiler."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "scripts"))

import attributes  # noqa: E402

TEXT = """#define TENON_COLD __attribute__((cold))
// TENON_COLD in words
TENON_COLD inline Error fail(int a) {
  const char* b = "TENON_COLD";
  if (TENON_UNLIKELY(a < 0)) return 1;
}
struct A {
  TENON_ALWAYS_INLINE int operator[](int i) const {}
  TENON_NOINLINE A(int i);
};
"""


class Attributes(unittest.TestCase):
    def test_uses_are_found_in_code_alone(self):
        self.assertEqual([(use.macro, use.line, use.function) for use in attributes.uses_of("core/a.h", TEXT)],
                         [("COLD", 3, "fail"), ("UNLIKELY", 5, "(a < 0)) return 1;"), ("ALWAYS_INLINE", 8, "operator[]"),
                          ("NOINLINE", 9, "A")])

    def test_a_use_is_taken_out_alone_and_all_together(self):
        uses = list(attributes.uses_of("core/a.h", TEXT))
        self.assertEqual(attributes.without(TEXT, uses[1:2]), TEXT.replace("TENON_UNLIKELY(", "("))
        self.assertEqual(attributes.without(TEXT, uses), TEXT.replace("TENON_COLD inline", " inline").replace(
            "TENON_UNLIKELY(", "(").replace("TENON_ALWAYS_INLINE", "inline").replace("TENON_NOINLINE", ""))

    def test_instructions_are_those_that_main_calls(self):
        self.assertEqual(attributes.instructions(
            "fn=main\n3 10\ncfn=call_a\ncalls=100 5\n4 12345\ncfn=malloc\ncalls=1 2\n4 7\n\n"
            "fn=call_a\n5 20\ncfn=call_b\ncalls=1 2\n5 999\n"), {"a": 123})

    def test_a_use_pays_where_leaving_it_out_costs(self):
        for costs, words in [([0, 0], "nothing changes"), ([0, 3], "pays"), ([0, -3], "does not pay"), ([1, -1], "mixed")]:
            self.assertEqual(attributes.verdict(costs), words)


if __name__ == "__main__":
    unittest.main()
