# SPDX-License-Identifier: MIT
"""Exchange of bfloat16 and float8 with ml_dtypes' types for NumPy, which come with JAX."""

import math
import unittest

import jax  # whose folder has ml_dtypes
import ml_dtypes
import numpy as np
import tenon_test_module as m

from support import NAMES, SMALL, Case


def every(name):
    """All bit patterns, as an array of ml_dtypes'."""
    bits = np.uint16 if NAMES[name] == 2 else np.uint8
    return np.arange(1 << 8 * NAMES[name]).astype(bits).view(getattr(ml_dtypes, name))


def same(a, b):
    return a == b or (math.isnan(a) and math.isnan(b))


class MlDtypesTest(Case):
    def test_arrays_come_in_by_their_bits(self):
        for name in SMALL:
            array = every(name)
            for copied in (None, False):
                tensor = m.take(array, copied)
                self.assertEqual((tensor.dtype, tensor.shape, tensor.readonly),
                                 (array.dtype, array.shape, False))
                self.assertEqual(m.data_pointer(tensor), array.ctypes.data)
            self.assertNotEqual(m.data_pointer(m.take(array, True)), array.ctypes.data)
            self.assertEqual(np.asarray(m.take(array[::-3])).tobytes(), array[::-3].tobytes())
            array.flags.writeable = False
            self.assertTrue(m.take(array).readonly)
            with self.assertRaisesRegex(BufferError, "read-only"):
                m.fill(array, 1)

    def test_every_bit_pattern_is_the_number_that_ml_dtypes_reads(self):
        for name in SMALL:
            array = every(name)
            taken = m.take(array).tolist()
            with np.errstate(invalid="ignore"):  # of signalling NaNs
                expected = array.astype(np.float64).tolist()
            self.assertTrue(all(map(same, taken, expected)), name)

    def test_packed_numbers_are_those_that_ml_dtypes_reads(self):
        # Its arrays have a byte for each number.
        for name, bits in (("float4_e2m1fn", 4), ("float6_e2m3fn", 6), ("float6_e3m2fn", 6),
                           ("float8_e8m0fnu", 8), ("int4", 4), ("uint4", 4), ("int2", 2),
                           ("uint2", 2), ("int1", 1), ("uint1", 1)):
            codes = np.arange(1 << bits).astype(np.uint8)
            codes = np.concatenate([codes, codes[::-1], np.zeros(12, np.uint8)])
            numbers = codes.view(getattr(ml_dtypes, name)).astype(np.float32)
            flags = np.unpackbits(codes[:, None], axis=1, count=bits, bitorder="little")
            packed = np.packbits(flags, bitorder="little")
            own = name.replace("uint", "UInt") if "uint" in name else name.capitalize()
            found = np.asarray(m.unpack(packed, own))
            self.assertEqual(found.shape, numbers.shape)
            np.testing.assert_array_equal(found, numbers)
            np.testing.assert_array_equal(np.signbit(found), np.signbit(numbers))

    def test_types_that_tenon_lacks_are_refused(self):
        for name in ("float8_e8m0fnu", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "int4",
                     "uint4", "float4_e2m1fn"):
            self.assertRaises(BufferError, m.take, np.zeros(2, getattr(ml_dtypes, name)))
        for other in (np.zeros(2, "V2"), np.zeros(2, [("bfloat16", "<u2")])):
            self.assertRaises(BufferError, m.take, other)

    def test_what_is_raised_while_the_type_is_asked_for_is_passed_on(self):
        class Raises:
            __array_interface__ = {"shape": (2,), "typestr": "<V2", "version": 3, "data": (8, True)}

            @property
            def dtype(self):
                raise error

        for error in (KeyboardInterrupt, SystemExit, MemoryError):
            self.assertRaises(error, m.take, Raises())
        error = ValueError
        self.assertRaisesRegex(BufferError, "<V2", m.take, Raises())

    def test_a_name_alone_makes_no_type(self):
        class Named:
            """Says bfloat16 of elements of another length."""
            dtype = np.dtype(ml_dtypes.bfloat16)

            def __init__(self, typestr):
                self.memory = np.zeros(8, np.uint8)
                self.__array_interface__ = {"shape": (2,), "typestr": typestr, "version": 3,
                                            "data": (self.memory.ctypes.data, False)}

        self.assertEqual(m.take(Named("<V2")).itemsize, 2)
        for typestr in ("<V4", "|V1", ">V2", "V", "<V"):
            self.assertRaises((BufferError, TypeError), m.take, Named(typestr))


if __name__ == "__main__":
    unittest.main()
