# SPDX-License-Identifier: MIT
"""interop/arrow.h and Apache Arrow's own library, each as producer and as consumer."""

import ctypes
import gc
import itertools
import os
import unittest

import numpy
import pyarrow

LIBRARY = ctypes.CDLL(os.environ["TENON_ARROW_EXCHANGE"])
LIBRARY.take.restype = LIBRARY.give.restype = ctypes.c_char_p
TYPES = {"uint8": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float16": 5, "float32": 6, "float64": 7,
         "uint16": 27, "uint32": 28, "uint64": 29}


class Array(ctypes.Structure):
    _fields_ = [("numbers", ctypes.c_int64 * 5), ("pointers", ctypes.c_void_p * 3), ("release", ctypes.c_void_p),
                ("private_data", ctypes.c_void_p)]


class Schema(ctypes.Structure):
    _fields_ = [("texts", ctypes.c_void_p * 3), ("numbers", ctypes.c_int64 * 2), ("pointers", ctypes.c_void_p * 2),
                ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p)]


UNAMBIGUOUS, SPECIFICATION, PYARROW = range(3)  # tenon::ArrowPermutation


def take(array, meaning=UNAMBIGUOUS):
    """Gives an array to tenon; returns what it says of it."""
    values, kind = Array(), Schema()
    array._export_to_c(ctypes.addressof(values), ctypes.addressof(kind))
    text = LIBRARY.take(ctypes.byref(values), ctypes.byref(kind), meaning).decode()
    assert values.release is None and kind.release is None
    return text


def make(name, sizes, permutation):
    """Makes tenon's tensor of 0, 1, 2, ...; returns NumPy's array that is the same."""
    numbers = ctypes.c_int64 * len(sizes)
    LIBRARY.make(TYPES[name], len(sizes), numbers(*sizes), numbers(*permutation))
    return numpy.arange(numpy.prod(sizes)).astype(name).reshape(sizes).transpose(permutation)


def read(shape):
    """tenon's tensor, of int32, as it sees its own elements."""
    out = numpy.empty(shape, "int32")
    LIBRARY.read(out.ctypes.data_as(ctypes.c_void_p))
    return out


def give(lists=False, meaning=UNAMBIGUOUS):
    """tenon's tensor, as pyarrow imports and validates it."""
    values, kind = Array(), Schema()
    text = LIBRARY.give(ctypes.byref(values), ctypes.byref(kind), int(lists), meaning).decode()
    if text:
        raise ValueError(text)
    array = pyarrow.Array._import_from_c(ctypes.addressof(values), ctypes.addressof(kind))
    assert values.release is None and kind.release is None
    array.validate(full=True)
    return array


class ArrowTest(unittest.TestCase):
    def setUp(self):
        gc.collect()
        self.before = pyarrow.total_allocated_bytes()

    def tearDown(self):
        LIBRARY.drop()
        gc.collect()
        self.assertEqual(pyarrow.total_allocated_bytes(), self.before)  # all is released

    def test_numbers_go_both_ways(self):
        for name in TYPES:
            with self.subTest(name):
                values = pyarrow.array(numpy.arange(7).astype(name))
                self.assertRegex(take(values), r"^\{7\} \{1\} ")
                self.assertTrue(give().equals(values))

    def test_a_tensor_keeps_the_array_and_an_array_the_tensor(self):
        array = pyarrow.array([1.0, 2.0, 3.0])
        buffer = array.buffers()[1].address
        take(array)
        del array
        gc.collect()
        back = give()
        LIBRARY.drop()
        self.assertEqual(back.buffers()[1].address, buffer)
        self.assertEqual(back.to_pylist(), [1.0, 2.0, 3.0])

    def test_slices(self):
        take(pyarrow.array(range(100), pyarrow.int32()).slice(13, 5))
        self.assertEqual(give().to_pylist(), [13, 14, 15, 16, 17])
        lists = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(range(24)).slice(2, 20), 4)
        self.assertEqual(take(lists.slice(1, 3)), "{3, 4} {4, 1} Long")
        self.assertEqual(give(lists=True).to_pylist(), lists.slice(1, 3).to_pylist())

    def test_lists_in_lists(self):
        inner = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(range(24), pyarrow.int8()), 4)
        outer = pyarrow.FixedSizeListArray.from_arrays(inner, 3)
        self.assertEqual(take(outer), "{2, 3, 4} {12, 4, 1} Char")
        back = give(lists=True)
        self.assertEqual(back.type, outer.type)
        self.assertTrue(back.equals(outer))

    def test_booleans_are_unpacked(self):
        self.assertEqual(take(pyarrow.array([True, False, True] * 5).slice(1, 11)), "{11} {1} Bool")
        with self.assertRaisesRegex(ValueError, "Arrow has no arrays of Bool"):
            give()

    def test_tensors_from_numpy(self):
        source = numpy.arange(24, dtype="float32").reshape(2, 3, 4)
        self.assertEqual(take(pyarrow.FixedShapeTensorArray.from_numpy_ndarray(source)), "{2, 3, 4} {12, 4, 1} Float")
        back = give()
        self.assertEqual(back.type, pyarrow.fixed_shape_tensor(pyarrow.float32(), [3, 4]))
        numpy.testing.assert_array_equal(back.to_numpy_ndarray(), source)

    def test_a_permutation_is_the_order_in_memory(self):
        # As Arrow's specification says: physical shape [3, 4], logically [4, 3].
        kind = pyarrow.fixed_shape_tensor(pyarrow.int32(), [3, 4], permutation=[1, 0], dim_names=["y", "x"])
        storage = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(range(24), pyarrow.int32()), 12)
        array = pyarrow.ExtensionArray.from_storage(kind, storage)
        self.assertEqual(take(array), "{2, 4, 3} {12, 1, 4} Int")
        back = give()
        self.assertEqual(back.type.shape, [3, 4])
        self.assertEqual(list(back.type.permutation), [1, 0])
        numpy.testing.assert_array_equal(back.to_numpy_ndarray(), array.to_numpy_ndarray())

    def test_three_dimensions_in_another_order(self):
        kind = pyarrow.fixed_shape_tensor(pyarrow.int64(), [2, 3, 4], permutation=[2, 0, 1])
        storage = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(range(24)), 24)
        array = pyarrow.ExtensionArray.from_storage(kind, storage)
        self.assertRegex(take(array), r"permutation \{2, 0, 1\}; say whose .*::Specification or ::Pyarrow")
        self.assertEqual(take(array, PYARROW), "{1, 3, 4, 2} {24, 4, 1, 12} Long")
        self.assertEqual(list(give(meaning=PYARROW).type.permutation), [2, 0, 1])
        self.assertEqual(list(give(meaning=SPECIFICATION).type.permutation), [1, 2, 0])
        self.assertEqual(take(array, SPECIFICATION), "{1, 4, 2, 3} {24, 1, 12, 4} Long")
        self.assertEqual(list(give(meaning=SPECIFICATION).type.permutation), [2, 0, 1])

    def test_all_permutations_are_the_same_to_pyarrow(self):
        for permutation in itertools.permutations(range(1, 5)):
            with self.subTest(permutation):
                expected = make("int32", (2, 2, 3, 4, 5), (0, *permutation))
                numpy.testing.assert_array_equal(give().to_numpy_ndarray(), expected)

    def test_all_permutations_of_pyarrow_are_the_same_to_tenon(self):
        for permutation in itertools.permutations(range(1, 4)):
            with self.subTest(permutation):
                source = numpy.arange(48, dtype="int32").reshape(2, 2, 3, 4).transpose(0, *permutation)
                array = pyarrow.FixedShapeTensorArray.from_numpy_ndarray(source)
                own_inverse = all(permutation[d - 1] == i + 1 for i, d in enumerate(permutation))
                for meaning in (PYARROW, *((UNAMBIGUOUS, SPECIFICATION) if own_inverse else ())):
                    take(array, meaning)
                    numpy.testing.assert_array_equal(read(source.shape), source)
                    back = give(meaning=meaning)  # as pyarrow made it
                    self.assertEqual(back.type.shape, array.type.shape)
                    if array.type.permutation != [0, 1, 2]:
                        self.assertEqual(back.type.permutation, array.type.permutation)
                    self.assertTrue(back.storage.equals(array.storage))
                if not own_inverse:
                    self.assertIn("say whose it is", take(array))

    def test_what_pyarrow_does_with_other_permutations(self):
        """The page says so of this version; if it fails, look at what a newer one does."""
        expected = make("int32", (2, 2, 3, 4), (0, 3, 1, 2))
        for meaning in (SPECIFICATION, PYARROW):
            got = give(meaning=meaning).to_numpy_ndarray()
            self.assertFalse(got.shape == expected.shape and (got == expected).all())
        source = numpy.arange(48, dtype="int32").reshape(2, 2, 3, 4).transpose(0, 3, 1, 2)
        array = pyarrow.FixedShapeTensorArray.from_numpy_ndarray(source)
        self.assertEqual(array.type.permutation, [1, 2, 0])  # by the specification [2, 0, 1]

    def test_tensors_of_tenon(self):
        for name in TYPES:
            for permutation in ((0, 1, 2), (0, 2, 1)):
                with self.subTest(name, permutation=permutation):
                    expected = make(name, (2, 3, 4), permutation)
                    numpy.testing.assert_array_equal(give().to_numpy_ndarray(), expected)

    def test_nulls_are_refused(self):
        self.assertIn("1 of the array's 3 values are null", take(pyarrow.array([1, None, 3])))
        with_one = pyarrow.array([1, None, 3, 4])
        self.assertEqual(take(with_one.slice(2)), "{2} {1} Long")
        self.assertIn("are null", take(pyarrow.array([[1, 2], None], pyarrow.list_(pyarrow.int64(), 2))))

    def test_other_types_are_refused(self):
        for array in (pyarrow.array(["text"]), pyarrow.array([[1], [2, 3]]), pyarrow.array([None]),
                      pyarrow.array([1], pyarrow.date32()), pyarrow.array([{"a": 1}])):
            with self.subTest(array.type):
                self.assertIn("Arrow's format", take(array))
        self.assertIn("dictionary-encoded", take(pyarrow.array([1, 2, 1]).dictionary_encode()))

    def test_empty_arrays(self):
        self.assertEqual(take(pyarrow.array([], pyarrow.float32())), "{0} {1} Float")
        self.assertEqual(len(give()), 0)
        self.assertEqual(take(pyarrow.array([], pyarrow.list_(pyarrow.float32(), 3))), "{0, 3} {3, 1} Float")
        self.assertEqual(give(lists=True).type, pyarrow.list_(pyarrow.float32(), 3))


if __name__ == "__main__":
    unittest.main()
