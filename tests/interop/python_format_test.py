# SPDX-License-Identifier: MIT
"""interop/python_format.h: how Python names the types."""

import array
import ctypes
import sys
import unittest

import tenon_test_module as m

from support import NAMES, Case


class Formats(Case):
    def test_arrays_of_every_code_have_their_type(self):
        expected = {"b": "int8", "B": "uint8", "h": "int16", "H": "uint16", "i": "int32",
                    "I": "uint32", "q": "int64", "Q": "uint64", "f": "float32", "d": "float64",
                    "l": f"int{8 * array.array('l').itemsize}",
                    "L": f"uint{8 * array.array('L').itemsize}"}
        for code, name in expected.items():
            values = array.array(code, [1, 2, 3])
            tensor = m.take(values)
            self.assertEqual((tensor.dtype, tensor.shape), (name, (3,)))
            self.assertEqual(memoryview(tensor).tolist(), [1, 2, 3])
            m.fill(tensor, 5)
            self.assertEqual(list(values), [5, 5, 5])

    def test_a_type_that_tenon_lacks_is_a_buffer_error_that_names_its_format(self):
        with self.assertRaisesRegex(BufferError, 'format "u|format "w'):
            m.take(array.array("u", "abc"))
        swapped = ctypes.c_int32.__ctype_be__ if sys.byteorder == "little" else \
            ctypes.c_int32.__ctype_le__
        with self.assertRaisesRegex(BufferError, "format"):
            m.take((swapped * 3)())

    def test_formats(self):
        long = "l" if ctypes.sizeof(ctypes.c_long) == 8 else "q"
        expected = {"float32": "f", "uint8": "B", "int8": "b", "int16": "h", "int32": "i",
                    "int64": long, "float16": "e", "float64": "d", "complex64": "Zf",
                    "complex128": "Zd", "bool": "?", "uint16": "H", "uint32": "I",
                    "uint64": long.upper()}
        for name, size in NAMES.items():
            tensor = m.make((2,), dtype=name)
            if name in expected:
                view = memoryview(tensor)
                self.assertEqual((view.format, view.itemsize, view.nbytes),
                                 (expected[name], size, 2 * size))
                self.assertEqual(m.take(view).dtype, name)
            else:
                with self.assertRaisesRegex(BufferError, name):
                    memoryview(tensor)

    def test_types_are_named_as_numpy_and_torch_name_them(self):
        for name, size in NAMES.items():
            tensor = m.make((3,), dtype=name)
            self.assertEqual((tensor.dtype, tensor.itemsize), (name, size))


if __name__ == "__main__":
    unittest.main()
