# SPDX-License-Identifier: MIT
"""interop/nanobind.h."""

import unittest

import numpy  # binder_tests.py wants it
import tenon_test_nanobind

from binder_tests import BinderTests, swapped


class NanobindTest(BinderTests, unittest.TestCase):
    module = tenon_test_nanobind

    def test_an_array_in_a_list_that_cannot_be_taken_makes_the_list_no_argument(self):
        with self.assertRaisesRegex(TypeError, "incompatible function arguments"):
            self.module.count([numpy.zeros(2), swapped()])

    def test_a_cast_that_fails_is_nanobinds_error(self):
        for other in (swapped(), "text"):
            with self.assertRaisesRegex(RuntimeError, "cast"):
                self.module.cast(other)


if __name__ == "__main__":
    unittest.main()
