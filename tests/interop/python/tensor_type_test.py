# SPDX-License-Identifier: MIT
"""interop/python/tensor_type.h: the type tenon.Tensor, its buffers and its C exchange API."""

import array
import gc
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


class Type(Case):
    def test_attributes_cannot_be_set_and_the_type_makes_none(self):
        tensor = m.make((2,))
        for name in ("shape", "dtype", "anything"):
            with self.assertRaises(AttributeError):
                setattr(tensor, name, 1)
        with self.assertRaises(TypeError):
            type(tensor)()
        with self.assertRaises(TypeError):
            type("Sub", (type(tensor),), {})

    def test_is_python_tensor_knows_its_own(self):
        self.assertTrue(m.is_ours(m.make((2,))))
        for other in (b"abc", [1], type(m.make((2,)))):
            self.assertFalse(m.is_ours(other))

    def test_an_undefined_tensor_is_a_buffer_error(self):
        with self.assertRaisesRegex(BufferError, "^tenon: .* undefined"):
            m.undefined()


class ExchangeApi(Case):
    def test_it_is_on_the_type_in_its_own_version(self):
        self.assertEqual(m.api_version(m.make((1,))), (1, 3))

    def test_a_round_trip_shares_the_memory(self):
        tensor = m.make((2, 3), value=1)
        other = m.api_round_trip(tensor)
        self.assertIsNot(other, tensor)
        m.fill(other, 7)
        self.assertEqual(memoryview(tensor).tolist(), [[7] * 3] * 2)
        self.assertTrue(m.api_round_trip(m.make((2,), readonly=True)).readonly)

    def test_a_description_borrows(self):
        tensor = m.make((2, 3), dtype="int16")
        self.assertEqual(m.api_describe(tensor), (m.data_pointer(tensor), (1, 0), (0, 16, 1),
                                                  (2, 3), (3, 1), True))

    def test_it_allocates(self):
        tensor = m.api_allocate(m.make((1,)), (3, 4), 2, 64)
        self.assertEqual((tensor.shape, tensor.dtype, tensor.readonly), ((3, 4), "float64", False))
        self.assertEqual(m.api_allocate(m.make((1,)), (), 6, 8).dtype, "bool")
        with self.assertRaisesRegex(RuntimeError, "BufferError: .*not an element type"):
            m.api_allocate(m.make((1,)), (3,), 2, 17)
        with self.assertRaisesRegex(RuntimeError, "BufferError: .*negative"):
            m.api_allocate(m.make((1,)), (-3,), 2, 32)

    def test_what_it_cannot_import_stays_the_callers(self):
        tensor = m.make((1,))
        for what in ("version", "dtype", "lanes", "device", "ndim", "shape", "size", "data"):
            with self.subTest(what):
                deleted = m.deleted()
                with self.assertRaisesRegex((BufferError, ValueError), "^tenon: "):
                    m.api_from_hostile(tensor, what)
                self.assertEqual(m.deleted(), deleted + 1)

    def test_what_it_imports_is_released_once(self):
        tensor = m.make((1,))
        deleted = m.deleted()
        shared = m.api_from_hostile(tensor, "")
        self.assertEqual((shared.shape, m.deleted()), ((2, 3), deleted))
        del shared
        self.assertEqual(m.deleted(), deleted + 1)
        copied = m.api_from_hostile(tensor, "misaligned")
        self.assertEqual((copied.shape, m.deleted()), ((2, 2), deleted + 2))
        del copied
        self.assertEqual(m.deleted(), deleted + 2)

    def test_placeholders_are_buffer_errors(self):
        with self.assertRaisesRegex(BufferError, "placeholder"):
            m.api_describe(m.placeholder((2,)))
        with self.assertRaisesRegex(BufferError, "placeholder"):
            m.api_round_trip(m.placeholder((2,)))


class OwnBuffer(Case):
    """tenon.Tensor's buffer protocol."""

    SIMPLE, WRITABLE, FORMAT, ND = 0, 1, 4, 8
    STRIDES = 0x10 | ND
    C, F, ANY = 0x20 | STRIDES, 0x40 | STRIDES, 0x80 | STRIDES
    FULL = 0x100 | STRIDES | WRITABLE | FORMAT
    FULL_RO = 0x100 | STRIDES | FORMAT

    def test_what_is_not_asked_for_is_left_out(self):
        tensor = m.make((2, 3))
        full = (2, (2, 3), (12, 4), "f", 24, 4, 0)
        self.assertEqual(m.get_buffer(tensor, self.FULL), full)
        self.assertEqual(m.get_buffer(tensor, self.FULL_RO), full)
        self.assertEqual(m.get_buffer(tensor, self.C), (2, (2, 3), (12, 4), None, 24, 4, 0))
        self.assertEqual(m.get_buffer(tensor, self.ND), (2, (2, 3), None, None, 24, 4, 0))
        self.assertEqual(m.get_buffer(tensor, self.ND | self.FORMAT),
                         (2, (2, 3), None, "f", 24, 4, 0))
        self.assertEqual(m.get_buffer(tensor, self.SIMPLE), (1, None, None, None, 24, 4, 0))
        self.assertEqual(m.get_buffer(tensor, self.WRITABLE), (1, None, None, None, 24, 4, 0))
        with self.assertRaises(BufferError):
            m.get_buffer(tensor, self.FORMAT)

    def test_order_is_as_asked_or_an_error(self):
        rows = m.make((2, 3))
        columns = m.as_strided(rows, (3, 2), (1, 3))
        gaps = m.as_strided(rows, (2, 2), (3, 1))
        allowed = {rows: {self.SIMPLE, self.ND, self.STRIDES, self.C, self.ANY},
                   columns: {self.STRIDES, self.F, self.ANY}, gaps: {self.STRIDES}}
        for tensor, flags in allowed.items():
            for flag in (self.SIMPLE, self.ND, self.STRIDES, self.C, self.F, self.ANY):
                if flag in flags:
                    m.get_buffer(tensor, flag)
                else:
                    with self.assertRaises(BufferError):
                        m.get_buffer(tensor, flag)
        row = m.make((3,))
        for flag in (self.SIMPLE, self.ND, self.STRIDES, self.C, self.F, self.ANY):
            m.get_buffer(row, flag)

    def test_a_read_only_tensor_is_not_lent_for_writing(self):
        tensor = m.make((3,), readonly=True)
        self.assertTrue(memoryview(tensor).readonly)
        with self.assertRaisesRegex(BufferError, "read-only"):
            m.get_buffer(tensor, self.FULL)
        with self.assertRaises(TypeError):
            memoryview(tensor)[0] = 1.0

    def test_shapes_without_elements_and_without_dimensions(self):
        self.assertEqual(memoryview(m.make((0, 3))).shape, (0, 3))
        self.assertEqual(memoryview(m.make((0, 3))).tobytes(), b"")
        scalar = memoryview(m.make((), value=3))
        self.assertEqual((scalar.shape, scalar.tolist()), ((), 3.0))
        many = memoryview(m.make((1,) * 7))
        self.assertEqual(many.ndim, 7)

    def test_negative_and_zero_strides(self):
        tensor = m.take(array.array("i", [1, 2, 3, 4]))
        self.assertEqual(memoryview(m.as_strided(tensor, (4,), (-1,), 3)).tolist(), [4, 3, 2, 1])
        self.assertEqual(memoryview(m.as_strided(tensor, (2, 2), (0, 1))).tolist(),
                         [[1, 2], [1, 2]])

    def test_the_memory_lives_as_long_as_the_view(self):
        view = memoryview(m.make((2,), value=6))
        gc.collect()
        self.assertEqual(m.live(), self.live_before + 1)
        self.assertEqual(view.tolist(), [6, 6])
        view.release()
        self.assertEqual(m.live(), self.live_before)

    def test_a_placeholder_has_no_buffer(self):
        with self.assertRaisesRegex(BufferError, "placeholder"):
            memoryview(m.placeholder((2,)))


if __name__ == "__main__":
    unittest.main()
