# SPDX-License-Identifier: MIT
"""interop/python/tensor_array.h: __array__ and what else NumPy does for a tenon.Tensor; copies."""

import copy
import pickle
import sys
import unittest
from unittest import mock

import numpy as np
import tenon_test_module as m

from support import FORMATS, HAS_ML_DTYPES, NAMES, SMALL, Case, Devices, address

TYPES = list(FORMATS) + (SMALL if HAS_ML_DTYPES else [])


class Arrays(Case):
    def test_it_is_over_the_memory(self):
        for name in TYPES:
            tensor = m.make((2, 3), dtype=name, value=1)
            view = tensor[::-1, 1:]
            for array, source in ((np.asarray(tensor), tensor), (tensor.__array__(), tensor),
                                  (np.asarray(view), view), (np.asarray(tensor, copy=False), tensor),
                                  (tensor.__array__(copy=False), tensor)):
                self.assertEqual((array.dtype.name, array.shape), (name, source.shape))
                self.assertEqual(address(array), m.data_pointer(source))
                self.assertTrue((array == 1).all())
        self.assertFalse(m.make((2,), readonly=True).__array__().flags.writeable)

    def test_dtype_and_copy_are_numpys(self):
        for name in TYPES:
            tensor = m.make((2,), dtype=name, value=1)
            own = tensor.__array__().dtype
            for copied in (tensor.__array__(copy=True), np.array(tensor), tensor.__array__(own, copy=True)):
                self.assertNotEqual(address(copied), m.data_pointer(tensor))
                self.assertEqual((copied.dtype, copied.tolist()), (own, [1, 1]))
            self.assertEqual(address(tensor.__array__(own, copy=False)), m.data_pointer(tensor))
            other = np.dtype(np.int32 if name == "float64" else np.float64)
            if "complex" not in name:
                self.assertEqual(tensor.__array__(other).tolist(), [1, 1])
                self.assertIs(np.asarray(tensor, dtype=other).dtype, other)
                self.assertRaises(ValueError, tensor.__array__, other, copy=False)
        self.assertRaises(TypeError, tensor.__array__, None, True)
        self.assertRaises(TypeError, tensor.__array__, other=1)

    def test_what_numpy_lacks_is_a_type_error_and_no_array_of_objects(self):
        uses = (np.asarray, np.array, np.sum, lambda t: t.__array__(), lambda t: t == 1, pickle.dumps,
                lambda t: np.array([t, t]))
        for use in uses:
            self.assertRaisesRegex(TypeError, r"complex32.*torch.from_dlpack", use,
                                   m.make((2,), dtype="complex32"))
        with mock.patch.dict(sys.modules, {"ml_dtypes": None}):
            for name in SMALL:
                for use in uses:
                    self.assertRaisesRegex(TypeError, f"{name} needs ml_dtypes, which is not installed",
                                           use, m.make((2,), dtype=name))
        with mock.patch.dict(sys.modules, {"numpy": None}):
            self.assertRaisesRegex(TypeError, "numpy, which is not installed", m.make((2,)).__array__)

    def test_numpys_functions_take_it(self):
        tensor = m.make((2, 3), value=2)
        self.assertEqual((np.sum(tensor), (np.ones(3) + tensor).shape), (12, (2, 3)))


class Comparisons(Case):
    def test_they_are_numpys_element_by_element(self):
        tensor = m.take(np.array([1, 2, 3]))
        for other in (2, np.array([2, 2, 2]), m.make((1,), dtype="int64", value=2)):
            for result, expected in ((tensor == other, [False, True, False]),
                                     (tensor != other, [True, False, True]),
                                     (tensor < other, [True, False, False]),
                                     (tensor <= other, [True, True, False]),
                                     (tensor > other, [False, False, True]),
                                     (tensor >= other, [False, True, True])):
                self.assertIs(type(result), np.ndarray)
                self.assertEqual(result.tolist(), expected)
        self.assertEqual((np.array([1, 0, 3]) == tensor).tolist(), [True, False, True])

    def test_what_is_in_it_is_numpys_answer(self):
        array = np.arange(6).reshape(2, 3)
        for source in (array, array[0], array[1, 1], array[:0]):
            tensor = m.take(np.asarray(source))
            for value in (4, 7, 0, np.array([0, 9, 9]), tensor):
                self.assertIs(value in tensor, value in np.asarray(source))
        self.assertRaises(TypeError, lambda: 1 in m.make((2,), dtype="complex32"))

    def test_hashes_are_those_of_the_object(self):
        tensor, other = m.make((2,)), m.make((2,))
        self.assertEqual(hash(tensor), object.__hash__(tensor))
        names = {tensor: "tensor", other: "other"}
        self.assertEqual((names[tensor], names[other]), ("tensor", "other"))


class Copies(Case):
    def test_copies_are_tensors_with_memory_of_their_own(self):
        for name in NAMES:
            for source in (m.make((2, 3), dtype=name, value=1), m.make((), dtype=name, value=1),
                           m.make((2, 3), dtype=name, value=1, readonly=True)[:, ::-2]):
                for copied in (copy.copy(source), copy.deepcopy(source), copy.deepcopy([source])[0]):
                    self.assertIs(type(copied), type(source))
                    self.assertEqual((copied.shape, copied.dtype, copied.readonly, copied.tolist()),
                                     (source.shape, source.dtype, False, source.tolist()))
                    self.assertNotEqual(m.data_pointer(copied), m.data_pointer(source))

    def test_what_refers_to_one_tensor_twice_does_so_in_the_copy(self):
        tensor = m.make((2,))
        copied = copy.deepcopy([tensor, tensor])
        self.assertIs(copied[0], copied[1])

    def test_a_pickle_has_the_values_as_an_array_of_numpys(self):
        for name in TYPES:
            for source in (m.make((2, 3), dtype=name, value=1), m.make((2, 3), dtype=name)[:, ::-1]):
                for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                    read = pickle.loads(pickle.dumps(source, protocol))
                    self.assertIs(type(read), np.ndarray)
                    self.assertEqual((read.dtype.name, read.tolist()), (name, source.tolist()))
        buffers = []
        tensor = m.make((1000,))
        small = pickle.dumps(tensor, 5, buffer_callback=buffers.append)
        self.assertLess(len(small), 500)  # the memory is passed on, not copied
        self.assertEqual(pickle.loads(small, buffers=buffers).size, 1000)


class OnDevices(Devices):
    def test_numpy_gets_no_memory_of_a_device_but_hears_how(self):
        m.device_begin("cuda:0")
        tensor = m.device_make("cuda:0", [3])
        for use in (np.asarray, np.array, np.sum, lambda t: t == 0, pickle.dumps, memoryview):
            self.assertRaisesRegex(BufferError, r"on cuda:0.*numpy.from_dlpack", use, tensor)
        self.assertEqual(np.from_dlpack(tensor, device="cpu").tolist(), [0, 0, 0])
        self.assertEqual(tensor.dtype, np.float32)
        copied = copy.deepcopy(tensor)
        self.assertEqual((copied.device, copied.shape), ("cuda:0", (3,)))

    def test_a_placeholder_has_none(self):
        for use in (np.asarray, lambda t: t == 0, pickle.dumps):
            self.assertRaisesRegex(BufferError, "placeholder", use, m.placeholder((2,)))
        self.assertEqual(copy.copy(m.placeholder((2,))).shape, (2,))


if __name__ == "__main__":
    unittest.main()
