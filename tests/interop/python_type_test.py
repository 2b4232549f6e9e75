# SPDX-License-Identifier: MIT
"""interop/python_type.h: the type tenon.Tensor and its C exchange API."""

import unittest

import tenon_test_module as m

from support import Case


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
        with self.assertRaisesRegex(RuntimeError, "BufferError: .*17 bits"):
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


if __name__ == "__main__":
    unittest.main()
