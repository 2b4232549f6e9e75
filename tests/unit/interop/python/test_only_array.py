# SPDX-License-Identifier: MIT
"""What has nothing but __array__."""

import unittest

import numpy as np
import tenon_test_module as m

from support import Case


class Converting:
    """Nothing but __array__."""

    def __init__(self, array):
        self.array = array

    def __array__(self):
        return self.array


class OnlyArray(Case):
    def test_an_object_with_nothing_but_array_is_taken(self):
        array = np.arange(6.0).reshape(2, 3)
        tensor = m.take(Converting(array))
        self.assertEqual((tensor.shape, m.data_pointer(tensor)), ((2, 3), array.ctypes.data))
        self.assertNotEqual(m.data_pointer(m.take(Converting(array), True)), array.ctypes.data)

    def test_without_a_copy_it_is_asked_for_none(self):
        class Asked(Converting):
            def __array__(self, copy=None):
                self.copy = copy
                return self.array

        asked = Asked(np.arange(3.0))
        for copied, expected in ((None, None), (False, False), (True, None)):
            m.take(asked, copied)
            self.assertEqual(asked.copy, expected)
        self.assertRaisesRegex(TypeError, "copy", m.take, Converting(asked.array), False)

    def test_what_it_makes_has_to_be_an_array(self):
        itself = Converting(None)
        itself.array = itself
        for made in (itself, Converting(3), Converting(None), Converting(Converting(np.ones(2)))):
            self.assertRaises(TypeError, m.take, made)
        self.assertRaises(BufferError, m.take, Converting(np.zeros(2, "U3")))
        # Not "'list' object has neither ...", which the caller did not pass.
        self.assertRaisesRegex(TypeError, r"^tenon: __array__\(\) returned a 'list' object, which is "
                               "not an array$", m.take, Converting([1, 2]))

    def test_what_it_raises_is_passed_on(self):
        class Raises:
            def __array__(self):
                raise ZeroDivisionError("not today")

        self.assertRaisesRegex(ZeroDivisionError, "not today", m.take, Raises())


if __name__ == "__main__":
    unittest.main()
