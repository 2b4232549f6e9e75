# SPDX-License-Identifier: MIT
"""interop/python_object.h: tenon.Tensor's attributes."""

import sys
import unittest

import tenon_test_module as m

from support import NAMES, Case


class Objects(Case):
    def test_attributes(self):
        tensor = m.as_strided(m.make((4, 6), dtype="int16"), (2, 3), (6, 2))
        self.assertEqual((tensor.shape, tensor.strides, tensor.dtype, tensor.device),
                         ((2, 3), (6, 2), "int16", "cpu"))
        self.assertEqual((tensor.ndim, tensor.size, tensor.nbytes, tensor.itemsize),
                         (2, 6, 12, 2))
        self.assertIs(tensor.readonly, False)
        self.assertIs(m.make((1,), readonly=True).readonly, True)
        self.assertEqual(len(tensor), 2)
        self.assertEqual(type(tensor).__name__, "Tensor")
        self.assertEqual(type(tensor).__module__, "tenon")

    def test_the_stride_of_one_element_may_be_any(self):
        stride = (1 << 63) - 1
        tensor = m.as_strided(m.make((6,), "float32"), (1, 6), (stride, 1), 0)
        self.assertEqual(tensor.strides, (stride, 1))
        self.assertEqual(memoryview(tensor).shape, (1, 6))

    def test_a_tensor_without_dimensions_has_no_length(self):
        with self.assertRaises(TypeError):
            len(m.make(()))
        self.assertEqual(len(m.make((0, 3))), 0)

    def test_repr_shows_the_elements(self):
        self.assertEqual(repr(m.make((2,), value=1.5)), "[1.5 1.5]\nFloat {2}")


class ArrayInterface(Case):
    def test_a_tensor_has_one_where_numpy_has_the_type(self):
        kinds = {"float32": "f4", "uint8": "u1", "int8": "i1", "int16": "i2", "int32": "i4",
                 "int64": "i8", "float16": "f2", "float64": "f8", "complex64": "c8",
                 "complex128": "c16", "bool": "b1", "uint16": "u2", "uint32": "u4", "uint64": "u8"}
        order = "<" if sys.byteorder == "little" else ">"
        for name, size in NAMES.items():
            tensor = m.make((2, 3), dtype=name)
            if name not in kinds:
                with self.assertRaisesRegex(AttributeError, name):
                    tensor.__array_interface__
                continue
            self.assertEqual(tensor.__array_interface__,
                             {"shape": (2, 3),
                              "typestr": (order if size > 1 else "|") + kinds[name],
                              "data": (m.data_pointer(tensor), False), "strides": None,
                              "version": 3})
        view = m.as_strided(m.make((2, 3), readonly=True), (3, 2), (1, 3))
        self.assertEqual(view.__array_interface__["strides"], (4, 12))
        self.assertTrue(view.__array_interface__["data"][1])
        self.assertFalse(hasattr(m.placeholder((2,)), "__array_interface__"))


if __name__ == "__main__":
    unittest.main()
