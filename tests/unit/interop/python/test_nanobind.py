# SPDX-License-Identifier: MIT
"""interop/nanobind.h."""

import unittest

import binder_tests
import numpy  # binder_tests.py wants it
import tenon_test_nanobind


class NanobindTest(binder_tests.BinderTests):
    module = tenon_test_nanobind

    def test_in_lists_and_casts_what_cannot_be_taken_is_nanobinds_error(self):
        wrong = binder_tests.swapped()
        self.is_no_argument(self.module.count, [numpy.zeros(2), wrong])
        for other in (wrong, "text"):
            self.assertRaisesRegex(RuntimeError, "cast", self.module.cast, other)


if __name__ == "__main__":
    unittest.main()
