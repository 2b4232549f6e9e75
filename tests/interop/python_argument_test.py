# SPDX-License-Identifier: MIT
"""interop/python_argument.h: what pybind11 and nanobind take for a tensor."""

import unittest

import numpy as np
import tenon_test_nanobind
import tenon_test_pybind11

from binder_tests import swapped


def misaligned():
    """Doubles that start between the bytes of doubles."""
    array = np.zeros(25, np.uint8)[1:].view(np.float64)
    array[:] = [1, 2, 3]
    return array


class Interrupting:
    def __dlpack__(self, **_):
        raise KeyboardInterrupt


class ArgumentTests:
    """A mixin for unittest.TestCase, with `module`."""

    def test_what_is_no_array_is_no_argument(self):
        for other in (None, 3, [1.0, 2.0], "text", np.ndarray, object()):
            with self.assertRaisesRegex(TypeError, "incompatible function arguments"):
                self.module.share(other)
        self.assertIsNone(self.module.maybe())
        self.assertIsNone(self.module.maybe(None))

    def test_overloads_are_chosen_by_what_the_argument_is(self):
        which = self.module.which
        self.assertEqual(which(np.zeros(2)), "tensor")
        self.assertEqual(which(self.module.counted()), "tensor")
        self.assertEqual(which("text"), "text")
        for other in (None, 3, [1.0], np.ndarray):
            self.assertEqual(which(other), "object")
        self.assertEqual(self.module.number_or_tensor(5), "number")
        self.assertEqual(self.module.number_or_tensor(np.zeros((2, 2))), "tensor")

    def test_only_a_conversion_copies(self):
        array = misaligned()
        copy = np.asarray(self.module.share(array))
        self.assertEqual(copy.tolist(), [1, 2, 3])
        copy[:] = 0
        self.assertEqual(array.tolist(), [1, 2, 3])
        with self.assertRaisesRegex(TypeError, "incompatible function arguments"):
            self.module.strict(array)
        self.assertEqual(self.module.which_strict(np.zeros(3)), "tensor")
        self.assertEqual(self.module.which_strict(array), "object")
        # An overload that needs no copy goes first.
        self.assertEqual(self.module.which(array), "object")

    def test_an_array_that_cannot_be_taken_says_why(self):
        for taker in (self.module.share, self.module.share_handle, self.module.number_or_tensor):
            with self.assertRaisesRegex(BufferError, "byte order"):
                taker(swapped())
        with self.assertRaisesRegex(TypeError, "incompatible function arguments"):
            self.module.strict(swapped())
        self.assertEqual(self.module.which(swapped()), "object")

    def test_an_interrupt_is_not_taken_for_an_answer(self):
        for taker in (self.module.share, self.module.strict, self.module.which):
            with self.assertRaises(KeyboardInterrupt):
                taker(Interrupting())


class Pybind11Test(ArgumentTests, unittest.TestCase):
    module = tenon_test_pybind11


class NanobindTest(ArgumentTests, unittest.TestCase):
    module = tenon_test_nanobind


if __name__ == "__main__":
    unittest.main()
