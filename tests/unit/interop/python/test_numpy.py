# SPDX-License-Identifier: MIT
"""Tensors and NumPy's arrays over the same memory."""

import unittest

import numpy as np
import tenon_test_module as m

from support import FORMATS, Case, address


class Array(np.ndarray):
    pass


class FromNumpy(Case):
    def test_the_memory_is_shared_both_ways(self):
        array = np.arange(6, dtype=np.float32).reshape(2, 3)
        for source in (array, array.view(Array), array.__dlpack__(),
                       array.__dlpack__(max_version=(1, 0))):
            tensor = m.take(source)
            self.assertEqual(m.data_pointer(tensor), address(array))
            m.fill(tensor, 7)
            self.assertTrue((array == 7).all())
            array[1, 2] = -1
            self.assertEqual(memoryview(tensor)[1, 2], -1)

    def test_every_type_has_its_own(self):
        for name in FORMATS:
            array = np.array([[1, 0], [1, 1]]).astype(name)
            tensor = m.take(array)
            self.assertEqual((tensor.dtype, tensor.shape, tensor.itemsize),
                             (name, (2, 2), array.itemsize))
            for back in (np.asarray(tensor), np.from_dlpack(tensor),
                         np.from_dlpack(tensor, copy=False, device="cpu")):
                self.assertEqual((back.dtype, address(back)), (array.dtype, address(array)))
            self.assertNotEqual(address(np.from_dlpack(tensor, copy=True)), address(array))
        for code in "bhilqBHILQ":  # some are of the same size
            array = np.array([1, 2], dtype=code)
            self.assertEqual(m.take(array).dtype, array.dtype.name)

    def test_shapes_and_strides_are_kept(self):
        base = np.arange(60, dtype=np.int32).reshape(3, 4, 5)
        many = np.arange(64, dtype=np.int32).reshape((2,) * 6 + (1,) * 58)
        for view in (base, base.T, base[::-1], base[:, ::-2], base[1:, :, 2], base[:, :, ::-1],
                     np.asfortranarray(base), base[:, None], np.broadcast_to(base[0], (2, 4, 5)),
                     many, many[::-1], base[0, 0, 0:1].reshape(()), base[:0], base[:, :0],
                     np.empty((0,), np.int32), np.empty((0, 0), np.int32)):
            tensor = m.take(view)
            self.assertEqual((tensor.shape, tensor.size), (view.shape, view.size))
            if view.size > 0:
                self.assertEqual(m.data_pointer(tensor), address(view))
            for d, size in enumerate(view.shape):
                if size > 1 and view.size > 0:
                    self.assertEqual(tensor.strides[d], view.strides[d] // 4)
            np.testing.assert_array_equal(np.asarray(tensor), view)
            np.testing.assert_array_equal(np.from_dlpack(tensor), view)

    def test_a_read_only_array_is_a_read_only_tensor(self):
        array = np.arange(3.0)
        array.flags.writeable = False
        tensor = m.take(array)
        self.assertTrue(tensor.readonly)
        self.assertRaisesRegex(BufferError, "read-only", m.fill, array, 1)
        self.assertFalse(np.asarray(tensor).flags.writeable)
        self.assertFalse(np.from_dlpack(tensor).flags.writeable)
        self.assertFalse(m.take(array, copy=True).readonly)
        self.assertTrue(m.take(array.__dlpack__(max_version=(1, 0))).readonly)

    def test_what_tenon_has_no_type_for_is_numpys_error(self):
        for array in (np.zeros(2, "M8[s]"), np.zeros(2, object), np.zeros(2, "S3"),
                      np.zeros(2, "U1"), np.zeros(2, [("a", "i4")]), np.zeros(2, np.longdouble),
                      np.zeros(2, np.int32).astype(np.dtype("i4").newbyteorder())):
            with self.subTest(array.dtype):
                self.assertRaises(BufferError, m.take, array)


@unittest.skipIf(np.lib.NumpyVersion(np.__version__) < "2.3.0", "prints Half and Float in another way")
class Printing(Case):
    def test_random_arrays_print_as_numpy_prints_them(self):
        rng = np.random.default_rng(1)

        def real(kind, count):
            dtype = np.dtype(kind)
            values = rng.choice([
                rng.standard_normal(count) * 10.0 ** rng.integers(-6, 9),
                10.0 ** rng.uniform(-6, 10, count),
                2.0 ** rng.integers(-20, 30, count),
                rng.integers(-10 ** 7, 10 ** 7, count) / 10.0 ** rng.integers(0, 9),
            ]).astype(dtype)
            bits = np.frombuffer(rng.bytes(count * dtype.itemsize), dtype)
            special = rng.choice([0.0, -0.0, np.nan, np.inf, -np.inf], count).astype(dtype)
            values = rng.choice([values, values, values, bits])
            return np.where(rng.integers(0, 50, count) == 0, special, values)

        for _ in range(2000):
            shape = tuple(rng.integers(1, 6, rng.integers(0, 4)))
            count = int(np.prod(shape))
            kind = str(rng.choice(["f2", "f4", "f8", "c8", "c16"]))
            with np.errstate(over="ignore", invalid="ignore"):
                array = np.empty(count, kind)
                if kind[0] == "c":
                    part = "f4" if kind == "c8" else "f8"
                    array.real, array.imag = real(part, count), real(part, count)
                else:
                    array[:] = real(kind, count)
            array = array.reshape(shape)
            expected = np.array2string(array, precision=4, max_line_width=80)
            self.assertEqual(repr(m.take(array)).rpartition("\n")[0], expected)


if __name__ == "__main__":
    unittest.main()
