# SPDX-License-Identifier: MIT
"""interop/python/tensor_type.h: the type tenon.Tensor and its C exchange API."""

import unittest

import tenon_test_module as m

from support import Case


class Objects(Case):
    def test_attributes(self):
        tensor = m.as_strided(m.make((4, 6), dtype="int16"), (2, 3), (6, 2))
        self.assertEqual((tensor.shape, tensor.strides, tensor.dtype, tensor.device),
                         ((2, 3), (6, 2), "int16", "cpu"))
        self.assertEqual((tensor.ndim, tensor.size, tensor.nbytes, tensor.itemsize),
                         (2, 6, 12, 2))
        self.assertIs(tensor.readonly, False)
        self.assertIs(m.make((1,), readonly=True).readonly, True)
        self.assertEqual((len(tensor), len(m.make((0, 3)))), (2, 0))
        self.assertRaises(TypeError, len, m.make(()))
        self.assertEqual((type(tensor).__module__, type(tensor).__name__), ("tenon", "Tensor"))
        self.assertEqual(repr(m.make((2,), value=1.5)), "[1.5 1.5]\nFloat {2}")
        for name in ("shape", "dtype", "anything"):
            self.assertRaises(AttributeError, setattr, tensor, name, 1)

    def test_the_stride_of_one_element_may_be_any(self):
        stride = (1 << 63) - 1
        tensor = m.as_strided(m.make((6,), "float32"), (1, 6), (stride, 1), 0)
        self.assertEqual(tensor.strides, (stride, 1))
        self.assertEqual(memoryview(tensor).shape, (1, 6))

    def test_the_type_makes_none_and_has_no_subclasses(self):
        kind = type(m.make((2,)))
        self.assertRaises(TypeError, kind)
        self.assertRaises(TypeError, type, "Sub", (kind,), {})

    def test_is_python_tensor_knows_its_own(self):
        self.assertTrue(m.is_ours(m.make((2,))))
        for other in (b"abc", [1], type(m.make((2,)))):
            self.assertFalse(m.is_ours(other))

    def test_an_undefined_tensor_is_a_buffer_error(self):
        self.assertRaisesRegex(BufferError, "^tenon: .* undefined", m.undefined)


class ExchangeApi(Case):
    def test_a_round_trip_shares_the_memory(self):
        tensor = m.make((2, 3), value=1)
        self.assertEqual(m.api_version(tensor), (1, 3))
        other = m.api_round_trip(tensor)
        self.assertIsNot(other, tensor)
        m.fill(other, 7)
        self.assertEqual(memoryview(tensor).tolist(), [[7] * 3] * 2)
        self.assertTrue(m.api_round_trip(m.make((2,), readonly=True)).readonly)

    # A DLTensor has no flag that says so.
    def test_a_read_only_tensor_is_lent_by_the_managed_form_alone(self):
        tensor = m.make((3,), readonly=True)
        self.assertRaisesRegex(BufferError, "read-only", m.api_describe, tensor)
        self.assertTrue(m.api_round_trip(tensor).readonly)
        self.assertTrue(m.take(m.capsule(tensor)).readonly)

    def test_it_allocates(self):
        like = m.make((1,))
        tensor = m.api_allocate(like, (3, 4), 2, 64)
        self.assertEqual((tensor.shape, tensor.dtype, tensor.readonly), ((3, 4), "float64", False))
        self.assertEqual(m.api_allocate(like, (), 6, 8).dtype, "bool")
        for shape, bits, text in (((3,), 17, "not an element type"), ((-3,), 32, "negative")):
            with self.assertRaisesRegex(RuntimeError, "BufferError: .*" + text):
                m.api_allocate(like, shape, 2, bits)
        for device in ((2, -2), (2, -1), (99, 0), (-1, 0)):
            with self.assertRaisesRegex(RuntimeError, "BufferError: .*device"):
                m.api_allocate(like, (3,), 2, 32, device)

    def test_what_it_imports_is_released_once_and_what_it_cannot_stays_the_callers(self):
        tensor = m.make((1,))
        for what, shape in (("", (2, 3)), ("misaligned", (2, 2)),
                            *((what, None) for what in ("version", "dtype", "lanes", "device",
                                                        "ndim", "shape", "size", "data"))):
            with self.subTest(what):
                deleted = m.deleted()
                if shape is None:
                    with self.assertRaisesRegex((BufferError, ValueError), "^tenon: "):
                        m.api_from_hostile(tensor, what)
                else:
                    made = m.api_from_hostile(tensor, what)
                    self.assertEqual((made.shape, m.deleted() - deleted),
                                     (shape, what == "misaligned"))
                    del made
                self.assertEqual(m.deleted(), deleted + 1)


if __name__ == "__main__":
    unittest.main()
