# SPDX-License-Identifier: MIT
"""interop/pybind11.h."""

import unittest

import binder_tests
import numpy  # binder_tests.py wants it
import tenon_test_pybind11


class Pybind11Test(binder_tests.BinderTests):
    module = tenon_test_pybind11

    def test_what_cannot_be_taken_says_why_in_lists_and_casts_too(self):
        wrong = binder_tests.swapped()
        for call in (lambda: self.module.count([numpy.zeros(2), wrong]),
                     lambda: self.module.cast(wrong)):
            self.assertRaisesRegex(BufferError, "byte order", call)
        self.assertRaisesRegex(RuntimeError, "cast", self.module.cast, "text")


if __name__ == "__main__":
    unittest.main()
