# SPDX-License-Identifier: MIT
"""interop/python/tensor_values.h: indexing as NumPy's arrays are indexed, by views."""

import ctypes
import gc
import itertools
import unittest

import numpy as np
import tenon_test_module as m

from support import Case, Devices

SLICES = [slice(*bounds) for bounds in itertools.product((None, -9, -2, 0, 1, 7), (None, -8, 0, 2, 9),
                                                         (None, 1, 2, 5, -1, -2, -7))]


class Index:
    """An integer by __index__ alone."""

    def __index__(self):
        return 1


class Views(Case):
    def agrees(self, array, tensor, key):
        expected = array[key]
        view = tensor[key]
        self.assertEqual(view.shape, expected.shape, key)
        if isinstance(expected, np.ndarray) and expected.size:  # no scalar, which is a copy
            self.assertEqual(m.data_pointer(view), expected.__array_interface__["data"][0], key)
        np.testing.assert_array_equal(np.asarray(view), expected, str(key))

    def test_every_slice_of_one_dimension(self):
        for size in (0, 1, 2, 5):
            array = np.arange(size, dtype=np.int16)
            tensor = m.take(array)
            for key in SLICES:
                self.agrees(array, tensor, key)

    def test_every_pair_of_entries(self):
        array = np.arange(24.0).reshape(2, 3, 4)[:, ::-1]
        tensor = m.take(array)
        entries = [0, 1, -1, -2, Index(), np.int8(1), m.make((), dtype="uint8", value=1), None, ...,
                   slice(None), slice(None, None, -1), slice(1, None), slice(2, 0, -1),
                   slice(1, 1), slice(-1, None, 3)]
        for key in itertools.product(entries, repeat=2):
            if sum(entry is ... for entry in key) > 1:
                continue
            plain = tuple(int(k) if hasattr(k, "__index__") else k for k in key)
            self.assertEqual(tensor[key].tolist(), array[plain].tolist())
            self.assertEqual(tensor[key[0]].tolist(), array[plain[0]].tolist())
            self.agrees(array, tensor, plain)
        for key in ((), (0, 1, 2), (0, 1, 2, None), (..., 0, 1, 2), (0, ..., 2), (None, 0, None, ..., 1, None),
                    (None,) * 61, (slice(None), 1, slice(None, None, -3))):
            self.agrees(array, tensor, key)

    def test_a_view_shares_and_keeps_the_memory(self):
        tensor = m.make((3, 4), value=1)
        row = tensor[1, ::2]
        m.fill(row, 7)
        self.assertEqual(tensor.tolist(), [[1] * 4, [7, 1, 7, 1], [1] * 4])
        del tensor
        gc.collect()
        self.assertEqual(m.live(), self.live_before + 1)
        self.assertEqual(row[::-1].tolist(), [7, 7])
        self.assertTrue(m.make((2,), readonly=True)[:1].readonly)

    def test_len_and_iteration_go_along_the_first_dimension(self):
        tensor = m.take(np.arange(6).reshape(3, 2))
        self.assertEqual(len(tensor), 3)
        self.assertEqual([row.tolist() for row in tensor], [[0, 1], [2, 3], [4, 5]])
        self.assertEqual([row.tolist() for row in reversed(tensor)], [[4, 5], [2, 3], [0, 1]])
        self.assertEqual([float(x) for x in tensor[0]], [0.0, 1.0])
        self.assertEqual(list(m.make((0, 2))), [])
        a, (b, c) = m.take(np.arange(4).reshape(2, 2))
        self.assertEqual((a.tolist(), b.item(), c.item()), ([0, 1], 2, 3))
        self.assertEqual(np.array([tensor, tensor]).shape, (2, 3, 2))

    def test_integers_make_room_for_new_dimensions(self):
        array = np.arange(24).reshape((1,) * 60 + (2, 2, 3, 2))
        tensor = m.take(array)
        for key in ((0,) * 10 + (None,) * 10, (None,) * 10 + (...,) + (0,) * 8 + (1, 0),
                    (None, 0) * 30 + (..., 1, slice(None, None, -1), None, 1)):
            self.agrees(array, tensor, key)

    def test_a_tensor_without_dimensions_has_no_length(self):
        scalar = m.make((), value=2)
        for use in (len, iter, lambda t: list(t)):
            self.assertRaisesRegex(TypeError, "without dimensions", use, scalar)
        self.assertRaises(IndexError, lambda: scalar[0])
        self.assertEqual((scalar[()].shape, scalar[...].shape, scalar[None].shape), ((), (), (1,)))


class Refused(Case):
    def test_what_is_out_of_range_is_an_index_error(self):
        tensor = m.make((2, 3))
        for key in (2, -3, (0, 3), (0, -4), (..., 3), (0, 0, 0), (None, 0, 0, 0), (..., ...),
                    2**70, (0, 2**70), (None,) * 63, (None,) * 65, (None,) * 200):
            with self.assertRaises(IndexError, msg=key):
                tensor[key]
        with self.assertRaisesRegex(IndexError, "index 3 is out of range for dimension 1 of size 3"):
            tensor[0, 3]
        with self.assertRaisesRegex(IndexError, "index 5 is out of range for dimension 0 of size 2"):
            tensor[5, 9]

    def test_the_c_api_wraps_a_negative_index_once(self):
        get = ctypes.pythonapi.PySequence_GetItem
        get.restype, get.argtypes = ctypes.py_object, [ctypes.py_object, ctypes.c_ssize_t]
        tensor = m.take(np.arange(3))
        self.assertEqual([get(tensor, i).item() for i in range(-3, 3)], [0, 1, 2, 0, 1, 2])
        for i in (-7, -5, -4, 3):
            self.assertRaises(IndexError, get, tensor, i)

    def test_what_would_copy_or_mean_something_else_is_a_type_error(self):
        tensor = m.make((2, 3))
        for key in ([0, 1], True, False, np.array([0]), np.array([True, False]), m.make((1,), "int64"),
                    m.make((2,), "bool"), 1.0, "a", b"a", (0, [1]), (0, True), {}, 1j, ((0,),),
                    slice("a"), slice(0, 1.5)):
            with self.assertRaises(TypeError, msg=key):
                tensor[key]
        self.assertRaises(ValueError, lambda: tensor[::0])

    def test_what_python_raises_meanwhile_is_passed_on(self):
        class Raises:
            def __index__(self):
                raise ZeroDivisionError

        tensor = m.make((2, 3))
        for key in (Raises(), (0, Raises()), slice(Raises()), (slice(0, 1, Raises()), None)):
            self.assertRaises(ZeroDivisionError, lambda: tensor[key])

    def test_an_index_that_drops_the_tensor_does_no_harm(self):
        class Drops:
            def __index__(self):
                holder.clear()
                gc.collect()
                return 1

        holder = [m.make((2, 3), value=5)]
        self.assertEqual(holder[0][Drops(), Drops()].item(), 5)


class Devices(Devices):
    def test_a_view_of_device_memory_is_a_view(self):
        m.device_begin("cuda:0")
        tensor = m.device_make("cuda:0", [3, 2])
        self.assertEqual((tensor[1:, 0].shape, tensor[1:, 0].device), ((2,), "cuda:0"))

    def test_a_view_of_a_placeholder_is_one(self):
        self.assertEqual(m.placeholder((2, 3))[0, ::2].shape, (2,))


if __name__ == "__main__":
    unittest.main()
