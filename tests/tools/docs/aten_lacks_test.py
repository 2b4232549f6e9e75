#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What aten_lacks.py counts, and that it compares the page with that."""

import unittest

import aten_lacks

TEST = '''
TEST_CASE("a: both (modes)") {
  ATEN_LACKS(CHECK(1);)
  if (!TENON_ATEN_MODE) CHECK(2);
#if !TENON_ATEN_MODE  // a reason
  CHECK(3);
#endif
#if TENON_ATEN_MODE
  CHECK(4);
#endif
}
TEST_CASE("a: plain", "[plain]") { ATEN_LACKS(CHECK(5);) }
#if !TENON_ATEN_MODE
TEST_CASE("a: one") {}
TEST_CASE(
    "a: two") {}
#endif
'''
PAGE = "They leave out 3 test\ncases and 4 places in others."


class AtenLacksTest(unittest.TestCase):
    def test_counts(self):
        self.assertEqual(aten_lacks.left_out(TEST), (3, 4))
        self.assertEqual(aten_lacks.left_out('TEST_CASE("a") { CHECK(1); }'), (0, 0))

    def test_a_page_that_agrees_has_no_fault(self):
        self.assertEqual(list(aten_lacks.faults(PAGE, "", [TEST])), [])

    def test_another_count_and_none_are_faults(self):
        for page in (PAGE.replace("3", "2"), PAGE.replace("4", "5"), ""):
            self.assertEqual(len(list(aten_lacks.faults(page, "", [TEST]))), 1)

    def test_a_whole_file_is_a_fault(self):
        self.assertEqual(len(list(aten_lacks.faults(PAGE, "list(FILTER files EXCLUDE", [TEST]))), 1)


if __name__ == "__main__":
    unittest.main()
