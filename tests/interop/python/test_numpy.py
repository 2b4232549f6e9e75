#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tensors and NumPy's arrays over the same memory.

Runs by itself or under unittest; needs tenon_test_module, see module.cpp, in the module path."""

import gc
import sys
import threading
import unittest
import weakref

import numpy as np
import tenon_test_module as m

from support import Case

TYPES = ("float32", "uint8", "int8", "int16", "int32", "int64", "float16", "float64", "complex64",
         "complex128", "bool", "uint16", "uint32", "uint64")
LACKING = ("bfloat16", "float8_e4m3fn", "complex32")


def address(array):
    return array.__array_interface__["data"][0]


class FromNumpy(Case):
    def test_the_memory_is_shared_both_ways(self):
        array = np.arange(6, dtype=np.float32).reshape(2, 3)
        tensor = m.take(array)
        self.assertEqual(m.data_pointer(tensor), address(array))
        m.fill(tensor, 7)
        self.assertTrue((array == 7).all())
        array[1, 2] = -1
        self.assertEqual(memoryview(tensor)[1, 2], -1)

    def test_every_type_has_its_own(self):
        for name in TYPES:
            array = np.array([[1, 0], [1, 1]]).astype(name)
            tensor = m.take(array)
            self.assertEqual((tensor.dtype, tensor.shape, tensor.itemsize),
                             (name, (2, 2), array.itemsize))
            np.testing.assert_array_equal(np.asarray(tensor), array)
            self.assertIs(np.asarray(tensor).dtype, array.dtype)

    def test_types_of_the_same_size_are_told_apart(self):
        for code in "bhilqBHILQ":
            array = np.array([1, 2], dtype=code)
            self.assertEqual(m.take(array).dtype, array.dtype.name)

    def test_strides_are_kept(self):
        base = np.arange(60, dtype=np.int32).reshape(3, 4, 5)
        for view in (base, base.T, base[::-1], base[:, ::-2], base[1:, :, 2], base[:, :, ::-1],
                     np.asfortranarray(base), base[:, None], np.broadcast_to(base[0], (2, 4, 5))):
            tensor = m.take(view)
            self.assertEqual(tensor.shape, view.shape)
            self.assertEqual(m.data_pointer(tensor), address(view))
            for d, size in enumerate(view.shape):
                if size > 1:
                    self.assertEqual(tensor.strides[d], view.strides[d] // 4)
            np.testing.assert_array_equal(np.asarray(tensor), view)
            np.testing.assert_array_equal(np.from_dlpack(tensor), view)

    def test_arrays_without_dimensions_and_without_elements(self):
        scalar = np.array(2.5)
        tensor = m.take(scalar)
        self.assertEqual((tensor.shape, tensor.strides, tensor.size), ((), (), 1))
        m.fill(tensor, 3.5)
        self.assertEqual(scalar[()], 3.5)
        for shape in ((0,), (2, 0, 3), (0, 0)):
            tensor = m.take(np.empty(shape, np.int16))
            self.assertEqual((tensor.shape, tensor.size, tensor.dtype), (shape, 0, "int16"))
            self.assertEqual(np.asarray(tensor).shape, shape)
            self.assertEqual(np.from_dlpack(tensor).shape, shape)

    def test_many_dimensions_are_taken(self):
        array = np.arange(64, dtype=np.uint8).reshape((2,) * 6 + (1,) * 58)
        self.assertEqual(m.take(array).ndim, 64)
        np.testing.assert_array_equal(np.from_dlpack(m.take(array[::-1])), array[::-1])

    def test_a_read_only_array_is_a_read_only_tensor(self):
        array = np.arange(3.0)
        array.flags.writeable = False
        tensor = m.take(array)
        self.assertTrue(tensor.readonly)
        with self.assertRaisesRegex(BufferError, "read-only"):
            m.fill(array, 1)
        self.assertFalse(np.asarray(tensor).flags.writeable)
        self.assertFalse(np.from_dlpack(tensor).flags.writeable)
        self.assertFalse(m.take(array, copy=True).readonly)
        self.assertTrue(m.take(array.__dlpack__(max_version=(1, 0))).readonly)

    def test_capsules_of_numpy_are_taken(self):
        array = np.arange(6, dtype=np.int64).reshape(2, 3)
        for keywords in ({}, {"max_version": (1, 0)}):
            tensor = m.take(array.__dlpack__(**keywords))
            self.assertEqual(m.data_pointer(tensor), address(array))
            self.assertEqual((tensor.shape, tensor.dtype), ((2, 3), "int64"))
        capsule = array.__dlpack__()
        m.take(capsule)
        with self.assertRaisesRegex(ValueError, "consumed before"):
            m.take(capsule)

    def test_copy_true_copies(self):
        array = np.arange(6, dtype=np.float32).reshape(2, 3)[:, ::-1]
        tensor = m.take(array, copy=True)
        m.fill(array, 0)
        np.testing.assert_array_equal(np.asarray(tensor), [[2, 1, 0], [5, 4, 3]])

    def test_misaligned_arrays_are_copied_unless_that_is_forbidden(self):
        array = np.zeros(17, np.uint8)[1:].view(np.float32)
        array[:] = (1, 2, 3, 4)
        tensor = m.take(array)
        np.testing.assert_array_equal(np.asarray(tensor), array)
        self.assertEqual(m.data_pointer(tensor) % 4, 0)
        with self.assertRaisesRegex(BufferError, "aligned"):
            m.take(array, copy=False)

    def test_fields_of_a_record_are_taken_where_their_strides_are_whole(self):
        records = np.zeros(3, dtype=[("a", "f4"), ("b", "i4")])
        m.fill(records["b"], 5)
        self.assertEqual(records["b"].tolist(), [5, 5, 5])
        self.assertEqual(m.take(records["b"]).strides, (2,))
        packed = np.zeros(3, dtype=[("a", "f4"), ("b", "i1")])
        with self.assertRaises(BufferError):
            m.take(packed["a"])

    def test_what_tenon_has_no_type_for_is_numpys_error(self):
        for array in (np.zeros(2, "M8[s]"), np.zeros(2, object), np.zeros(2, "S3"),
                      np.zeros(2, "U1"), np.zeros(2, [("a", "i4")]), np.zeros(2, np.longdouble),
                      np.zeros(2, np.int32).astype(np.dtype("i4").newbyteorder())):
            with self.subTest(array.dtype):
                with self.assertRaises(BufferError):
                    m.take(array)

    def test_scalars_of_numpy_are_taken_read_only(self):
        tensor = m.take(np.float32(1.5))
        self.assertEqual((tensor.shape, tensor.dtype, tensor.readonly), ((), "float32", True))

    def test_subclasses_are_taken(self):
        class Array(np.ndarray):
            pass

        array = np.zeros((2, 2)).view(Array)
        self.assertEqual(m.data_pointer(m.take(array)), address(array))

    def test_an_object_with_nothing_but_array_interface_is_taken(self):
        class Wrapped:
            def __init__(self, array):
                self.array = array
                self.__array_interface__ = array.__array_interface__

        for array in (np.arange(6.0).reshape(2, 3), np.arange(6.0)[::-2], np.array(3),
                      np.zeros((0, 2))):
            tensor = m.take(Wrapped(array))
            np.testing.assert_array_equal(np.asarray(tensor), array)
            self.assertEqual(m.data_pointer(tensor), address(array))


class ToNumpy(Case):
    def test_asarray_and_from_dlpack_share_the_memory(self):
        tensor = m.make((2, 3), dtype="int32", value=4)
        by_buffer = np.asarray(tensor)
        by_dlpack = np.from_dlpack(tensor)
        by_interface = np.asarray(type("Holder", (), {
            "__array_interface__": tensor.__array_interface__, "kept": tensor})())
        for array in (by_buffer, by_dlpack, by_interface):
            self.assertEqual(address(array), m.data_pointer(tensor))
            self.assertEqual((array.dtype, array.shape), (np.int32, (2, 3)))
        by_buffer[0, 0] = 9
        self.assertEqual(by_dlpack[0, 0], 9)
        self.assertEqual(by_interface[0, 0], 9)
        self.assertEqual(memoryview(tensor)[0, 0], 9)

    def test_a_copy_is_made_when_numpy_asks_for_one(self):
        tensor = m.make((2,), value=1)
        copy = np.from_dlpack(tensor, copy=True)
        self.assertNotEqual(address(copy), m.data_pointer(tensor))
        shared = np.from_dlpack(tensor, copy=False, device="cpu")
        self.assertEqual(address(shared), m.data_pointer(tensor))

    def test_values_are_written_as_they_are(self):
        for name in TYPES:
            array = np.asarray(m.make((3,), dtype=name, value=1))
            self.assertEqual(array.tolist(), [1, 1, 1])

    def test_negative_and_zero_strides(self):
        tensor = m.take(np.arange(6, dtype=np.float32))
        for sizes, strides, offset, expected in (((2, 3), (-3, -1), 5, [[5, 4, 3], [2, 1, 0]]),
                                                 ((2, 3), (0, 1), 0, [[0, 1, 2], [0, 1, 2]]),
                                                 ((), (), 4, 4)):
            view = m.as_strided(tensor, sizes, strides, offset)
            np.testing.assert_array_equal(np.asarray(view), expected)
            np.testing.assert_array_equal(np.from_dlpack(view), expected)

    def test_types_that_numpy_lacks_are_buffer_errors(self):
        for name in LACKING:
            tensor = m.make((2,), dtype=name)
            with self.assertRaises(BufferError):
                memoryview(tensor)
            with self.assertRaises((BufferError, RuntimeError)):
                np.from_dlpack(tensor)
            self.assertFalse(hasattr(tensor, "__array_interface__"))

    def test_the_tensor_lives_as_long_as_its_arrays(self):
        live = self.live_before
        for make in (np.asarray, np.from_dlpack):
            tensor = m.make((4,), value=2)
            array = make(tensor)
            view = array[1:]
            del tensor, array
            gc.collect()
            self.assertEqual(m.live(), live + 1)
            self.assertEqual(view.tolist(), [2, 2, 2])
            del view
            gc.collect()
            self.assertEqual(m.live(), live)


class Lifetimes(Case):
    def test_an_array_goes_after_its_last_user(self):
        array = np.arange(4.0)
        gone = weakref.ref(array)
        tensor = m.take(array)
        again = np.from_dlpack(tensor)
        number = m.hold(again)
        del array, tensor, again
        gc.collect()
        self.assertIsNotNone(gone())
        self.assertEqual(np.asarray(m.held_object(number)).tolist(), [0, 1, 2, 3])
        m.drop_on_thread(number)
        gc.collect()
        self.assertIsNone(gone())

    def test_a_round_trip_can_be_repeated(self):
        array = np.arange(3.0)
        chain = array
        for _ in range(20):
            chain = np.from_dlpack(m.take(np.asarray(m.take(chain))))
        chain[0] = 8
        self.assertEqual(array[0], 8)
        del chain
        gc.collect()
        self.assertEqual(sys.getrefcount(array), 2)

    def test_counts_are_level_after_100000_exchanges(self):
        array = np.arange(6, dtype=np.float32).reshape(2, 3)
        frozen = np.arange(3)
        frozen.flags.writeable = False
        tensor = m.make((2, 3))

        def exchange(times):
            for _ in range(times):
                m.touch(array)
                m.take(array)
                m.take(frozen)
                m.take(array.__dlpack__())
                m.take(array.__dlpack__(max_version=(1, 0)))
                np.asarray(tensor)
                np.from_dlpack(tensor)

        watched = (array, frozen, tensor, array.dtype, type(tensor), None)
        exchange(100)
        gc.collect()
        counts = [sys.getrefcount(each) for each in watched]
        blocks = sys.getallocatedblocks()
        exchange(100_000 // 7)
        gc.collect()
        for before, each in zip(counts, watched):
            self.assertLess(abs(sys.getrefcount(each) - before), 1000)
        self.assertLess(abs(sys.getallocatedblocks() - blocks), 200)

    def test_threads_exchange_arrays_and_nothing_is_left(self):
        failures = []
        shared = np.arange(100.0)

        def work(seed):
            for i in range(1000):
                array = np.full(16, seed + i)
                tensor = m.take(array)
                numbers = [m.hold(tensor), m.hold(shared), m.hold(m.make((3,), value=seed))]
                del array
                if (np.from_dlpack(tensor) != seed + i).any():
                    failures.append(seed)
                del tensor
                for n in numbers:
                    (m.drop, m.drop_without_gil)[i % 2](n)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        gc.collect()
        self.assertEqual(failures, [])
        self.assertEqual(sys.getrefcount(shared), 2)


if __name__ == "__main__":
    unittest.main()
