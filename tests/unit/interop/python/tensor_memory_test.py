# SPDX-License-Identifier: MIT
"""interop/python/tensor_memory.h: buffers and array interfaces of tenon.Tensor. Its __dlpack__ is in
capsule_test.py."""

import array
import sys
import unittest

import tenon_test_module as m

from support import FORMATS, NAMES, Case


class Interfaces(Case):
    def test_an_array_interface_is_there_where_numpy_has_the_type(self):
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


class OwnBuffer(Case):
    """tenon.Tensor's buffer protocol."""

    SIMPLE, WRITABLE, FORMAT, ND = 0, 1, 4, 8
    STRIDES = 0x10 | ND
    C, F, ANY = 0x20 | STRIDES, 0x40 | STRIDES, 0x80 | STRIDES
    FULL = 0x100 | STRIDES | WRITABLE | FORMAT
    FULL_RO = 0x100 | STRIDES | FORMAT

    def test_formats(self):
        for name, size in NAMES.items():
            tensor = m.make((2,), dtype=name)
            if name not in FORMATS:
                self.assertRaisesRegex(BufferError, name, memoryview, tensor)
                continue
            view = memoryview(tensor)
            self.assertEqual((view.format, view.itemsize, view.nbytes),
                             (FORMATS[name], size, 2 * size))
            self.assertEqual(m.take(view).dtype, name)

    def test_what_is_not_asked_for_is_left_out(self):
        tensor = m.make((2, 3))
        full = (2, (2, 3), (12, 4), "f", 24, 4, 0)
        simple = (1, None, None, None, 24, 4, 0)
        for flags, expected in ((self.FULL, full), (self.FULL_RO, full),
                                (self.C, (2, (2, 3), (12, 4), None, 24, 4, 0)),
                                (self.ND, (2, (2, 3), None, None, 24, 4, 0)),
                                (self.ND | self.FORMAT, (2, (2, 3), None, "f", 24, 4, 0)),
                                (self.SIMPLE, simple), (self.WRITABLE, simple)):
            self.assertEqual(m.get_buffer(tensor, flags), expected, flags)
        self.assertRaises(BufferError, m.get_buffer, tensor, self.FORMAT)

    def test_order_is_as_asked_or_an_error(self):
        rows = m.make((2, 3))
        columns = m.as_strided(rows, (3, 2), (1, 3))
        gaps = m.as_strided(rows, (2, 2), (3, 1))
        every = {self.SIMPLE, self.ND, self.STRIDES, self.C, self.F, self.ANY}
        for tensor, allowed in ((rows, every - {self.F}),
                                (columns, {self.STRIDES, self.F, self.ANY}),
                                (gaps, {self.STRIDES}), (m.make((3,)), every)):
            for flags in every:
                if flags in allowed:
                    m.get_buffer(tensor, flags)
                else:
                    self.assertRaises(BufferError, m.get_buffer, tensor, flags)

    def test_a_read_only_tensor_is_not_lent_for_writing(self):
        tensor = m.make((3,), readonly=True)
        self.assertTrue(memoryview(tensor).readonly)
        self.assertRaisesRegex(BufferError, "read-only", m.get_buffer, tensor, self.FULL)

    def test_shapes_and_strides(self):
        tensor = m.take(array.array("i", [1, 2, 3, 4]))
        for view, shape, values in ((m.make((0, 3)), (0, 3), []), (m.make((), value=3), (), 3.0),
                                    (m.as_strided(tensor, (4,), (-1,), 3), (4,), [4, 3, 2, 1]),
                                    (m.as_strided(tensor, (2, 2), (0, 1)), (2, 2), [[1, 2]] * 2)):
            self.assertEqual((memoryview(view).shape, memoryview(view).tolist()), (shape, values))
        self.assertEqual(memoryview(m.make((1,) * 7)).ndim, 7)

    def test_a_placeholder_has_no_memory(self):
        for use in (memoryview, m.api_describe, m.api_round_trip):
            self.assertRaisesRegex(BufferError, "^tenon: .*placeholder", use, m.placeholder((2,)))


if __name__ == "__main__":
    unittest.main()
