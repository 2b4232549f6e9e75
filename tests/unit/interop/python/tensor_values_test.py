# SPDX-License-Identifier: MIT
"""interop/python/tensor_values.h: elements as Python's numbers."""

import array
import math
import operator
import struct
import unittest

import tenon_test_module as m

from support import FORMATS, NAMES, Case, Devices

INTEGERS = {name for name in NAMES if name.startswith(("int", "uint"))}
COMPLEX = {"complex32", "complex64", "complex128"}
EXTREMES = {"b": (-128, 127), "B": (0, 255), "h": (-2**15, 2**15 - 1), "H": (0, 2**16 - 1),
            "i": (-2**31, 2**31 - 1), "I": (0, 2**32 - 1), "q": (-2**63, 2**63 - 1),
            "Q": (0, 2**64 - 1), "d": (-1.5, math.inf)}


class OneElement(Case):
    def test_item_is_the_number(self):
        for name in NAMES:
            for shape in ((), (1,), (1, 1, 1)):
                value = m.make(shape, dtype=name, value=1).item()
                self.assertEqual(value, 1)
                self.assertIs(type(value), bool if name == "bool" else int if name in INTEGERS
                              else complex if name in COMPLEX else float)

    def test_conversions_are_those_of_the_number(self):
        for name in NAMES:
            one = m.make((1, 1), dtype=name, value=1)
            self.assertIs(bool(one), True)
            self.assertIs(bool(m.make((1,), dtype=name)), False)
            self.assertEqual(complex(one), 1 + 0j)
            if name in COMPLEX:
                self.assertRaises(TypeError, int, one)
                self.assertRaises(TypeError, float, one)
            else:
                self.assertEqual((int(one), float(one)), (1, 1.0))
        self.assertEqual(int(m.make((), value=-3.75)), -3)
        self.assertEqual(float(m.make((), value=-3.75)), -3.75)
        for value, error in ((math.nan, ValueError), (math.inf, OverflowError)):
            special = m.take(array.array("d", [value]))
            self.assertRaises(error, int, special)
            self.assertTrue(bool(special))

    def test_bytes_are_not_read_as_text(self):
        digits = m.take(b"42")
        for convert in (int, float, complex):
            self.assertRaisesRegex(TypeError, "^expected one element, but the tensor has 2$", convert,
                                   digits)
        self.assertEqual(float(digits[0]), 52.0)

    def test_more_or_fewer_elements_are_a_type_error(self):
        for shape in ((2,), (0,), (1, 3), (0, 4)):
            for convert in (bool, int, float, complex, operator.index):
                self.assertRaises(TypeError, convert, m.make(shape, dtype="int64"))
            self.assertRaisesRegex(ValueError, "expected one element", m.make(shape).item)
        self.assertRaises(TypeError, m.make((1,)).item, 0)

    def test_an_index_is_an_integer_without_dimensions(self):
        for name in NAMES:
            scalar = m.make((), dtype=name, value=1)
            if name in INTEGERS:
                self.assertEqual((operator.index(scalar), "abc"[scalar]), (1, "b"))
            else:
                self.assertRaisesRegex(TypeError, f"^a tensor of {name} with 0 dimensions is not an "
                                       "index; expected an integer without dimensions$",
                                       operator.index, scalar)
        # Else these would be zeros, as many as the number says.
        for make in (bytes, bytearray):
            self.assertEqual(make(m.take(b"\5")), b"\5")

    def test_formats_and_arithmetic_are_refused(self):
        one = m.make((1,), value=1)
        for use in (lambda: f"{one:.2f}", lambda: one + one, lambda: -one, lambda: one @ one,
                    lambda: abs(one), lambda: round(one), lambda: one << 1):
            self.assertRaises(TypeError, use)
        with self.assertRaises(TypeError):
            one[0] = 1
        with self.assertRaises(TypeError):
            del one[0]


class Lists(Case):
    def test_values_are_exact(self):
        for code, values in EXTREMES.items():
            self.assertEqual(m.take(array.array(code, values)).tolist(), list(values))
        for name in NAMES:
            self.assertEqual(m.make((2, 1), dtype=name, value=1).tolist(), [[1], [1]])

    def test_views_are_read_as_they_lie(self):
        tensor = m.take(array.array("h", range(24)))
        view = m.as_strided(tensor, (2, 3, 2), (-12, 1, 4), 13)
        self.assertEqual(view.tolist(), [[[13 + 12 * -i + j + 4 * k for k in range(2)]
                                          for j in range(3)] for i in range(2)])
        self.assertEqual(m.as_strided(tensor, (2, 2), (0, 1)).tolist(), [[0, 1]] * 2)

    def test_shapes_without_dimensions_or_elements(self):
        self.assertEqual(m.make((), value=2).tolist(), 2.0)
        self.assertEqual(m.make((0,)).tolist(), [])
        self.assertEqual(m.make((2, 0, 3)).tolist(), [[], []])
        deep = m.make((1,) * 64, value=2).tolist()
        for _ in range(64):
            (deep,) = deep
        self.assertEqual(deep, 2)

    def test_every_half_is_the_number_that_python_reads(self):
        codes = array.array("H", range(1 << 16))
        read = struct.unpack(f"{1 << 16}e", codes.tobytes())
        taken = m.take(HalfInterface(codes)).tolist()
        self.assertTrue(all(a == b or (math.isnan(a) and math.isnan(b))
                            for a, b in zip(taken, read)))


class HalfInterface:
    """An array's bits as halves."""

    def __init__(self, codes):
        self.codes = codes
        self.__array_interface__ = {"shape": (len(codes),), "typestr": "<f2", "version": 3,
                                    "data": (codes.buffer_info()[0], False)}


class NoNumbers(Devices):
    def test_what_the_host_cannot_read_says_how_to_get_it(self):
        m.device_begin("cuda:0")
        tensor = m.device_make("cuda:0", [1])
        for use in (bool, int, float, complex, tensor.__class__.item, tensor.__class__.tolist):
            self.assertRaisesRegex(BufferError, "^tenon: .*on cuda:0.*numpy.from_dlpack", use,
                                   tensor)
        self.assertEqual(tensor[0].shape, ())

    def test_a_placeholder_has_none(self):
        for use in (bool, int, float, lambda t: t.item(), lambda t: t.tolist()):
            self.assertRaisesRegex(BufferError, "^tenon: .*placeholder", use, m.placeholder((1,)))


if __name__ == "__main__":
    unittest.main()
