# SPDX-License-Identifier: MIT
"""interop/pybind11.h."""

import unittest

import numpy  # binder_tests.py wants it
import tenon_test_pybind11

from binder_tests import BinderTests, swapped


class Pybind11Test(BinderTests, unittest.TestCase):
    module = tenon_test_pybind11

    def test_an_array_in_a_list_that_cannot_be_taken_says_why(self):
        with self.assertRaisesRegex(BufferError, "byte order"):
            self.module.count([numpy.zeros(2), swapped()])

    def test_a_cast_that_fails_says_why(self):
        with self.assertRaisesRegex(BufferError, "byte order"):
            self.module.cast(swapped())
        with self.assertRaisesRegex(RuntimeError, "cast"):
            self.module.cast("text")


if __name__ == "__main__":
    unittest.main()
