# SPDX-License-Identifier: MIT
"""interop/arrow.h and Apache Arrow's own library, each as producer and as consumer."""

import ctypes
import gc
import itertools
import os
import random
import unittest

import numpy
import pandas
import pyarrow

LIBRARY = ctypes.CDLL(os.environ["TENON_ARROW_EXCHANGE"])
for function in (LIBRARY.take, LIBRARY.give, LIBRARY.take_stream, LIBRARY.take_batch, LIBRARY.take_column,
                 LIBRARY.give_batch):
    function.restype = ctypes.c_char_p
ctypes.pythonapi.PyCapsule_GetPointer.restype = ctypes.c_void_p
ctypes.pythonapi.PyCapsule_GetPointer.argtypes = ctypes.py_object, ctypes.c_char_p
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


def read(shape, dtype="int32"):
    """tenon's tensor as it sees its own elements."""
    out = numpy.empty(shape, dtype)
    LIBRARY.copy_out(out.ctypes.data_as(ctypes.c_void_p))
    return out


def address(capsule, name):
    return ctypes.c_void_p(ctypes.pythonapi.PyCapsule_GetPointer(capsule, name))


def table_of(text):
    """A list of (name, Arrow's type, tenon's)."""
    text = text.decode()
    if text.startswith("error: "):
        raise ValueError(text)
    return [tuple(line.split("\t")) for line in text.splitlines()]


def take_stream(source, limit=1 << 30):
    """Gives what has the protocol of capsules to tenon."""
    capsule = source.__arrow_c_stream__()
    return table_of(LIBRARY.take_stream(address(capsule, b"arrow_array_stream"), limit))


def take_batch(source):
    schema, array = source.__arrow_c_array__()
    return table_of(LIBRARY.take_batch(address(array, b"arrow_array"), address(schema, b"arrow_schema")))


def column(name, like, batch=0):
    """A column of a batch as tenon sees it."""
    text = LIBRARY.take_column(batch, name.encode()).decode()
    if text:
        raise ValueError(text)
    return read(like.shape, like.dtype)


def give_batch(names, lists=False):
    """tenon's tensors that were added, as pyarrow imports and validates them."""
    values, kind = Array(), Schema()
    text = LIBRARY.give_batch(ctypes.byref(values), ctypes.byref(kind), int(lists)).decode()
    if text:
        raise ValueError(text)
    batch = pyarrow.RecordBatch._import_from_c(ctypes.addressof(values), ctypes.addressof(kind))
    assert values.release is None and kind.release is None and batch.schema.names == names
    batch.validate(full=True)
    return batch


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

    def test_three_dimensions_in_another_order(self):
        kind = pyarrow.fixed_shape_tensor(pyarrow.int64(), [2, 3, 4], permutation=[2, 0, 1])
        storage = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(range(24)), 24)
        array = pyarrow.ExtensionArray.from_storage(kind, storage)
        self.assertRegex(take(array), r"permutation \{2, 0, 1\}; pass .*::Specification or ::Pyarrow")
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
                    self.assertIn("to choose one", take(array))

    def test_what_pyarrow_does_with_other_permutations(self):
        """The page says so of this version; if it fails, look at what a newer one does."""
        expected = make("int32", (2, 2, 3, 4), (0, 3, 1, 2))
        for meaning in (SPECIFICATION, PYARROW):
            got = give(meaning=meaning).to_numpy_ndarray()
            self.assertFalse(got.shape == expected.shape and (got == expected).all())
        source = numpy.arange(48, dtype="int32").reshape(2, 2, 3, 4).transpose(0, 3, 1, 2)
        array = pyarrow.FixedShapeTensorArray.from_numpy_ndarray(source)
        self.assertEqual(array.type.permutation, [1, 2, 0])  # by the specification [2, 0, 1]


DATES_AND_TIMES = [pyarrow.date32(), pyarrow.date64(), pyarrow.time32("s"), pyarrow.time32("ms"), pyarrow.time64("us"),
                   pyarrow.time64("ns"),
                   *(pyarrow.duration(unit) for unit in ("s", "ms", "us", "ns")),
                   *(pyarrow.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns")
                     for zone in (None, "UTC", "Europe/Berlin"))]
NUMBERS = [getattr(pyarrow, name)() for name in TYPES]


def random_column(generator, kind, rows):
    """(pyarrow's array, NumPy's that has its elements)"""
    if isinstance(kind, pyarrow.FixedSizeListType):
        values, expected = random_column(generator, kind.value_type, rows * kind.list_size)
        return (pyarrow.FixedSizeListArray.from_arrays(values, kind.list_size),
                expected.reshape(rows, kind.list_size, *expected.shape[1:]))
    numbers = numpy.array([generator.randrange(100) for _ in range(rows)], "int64")
    if pyarrow.types.is_boolean(kind):
        return pyarrow.array(numbers % 2 == 0), numbers % 2 == 0
    if kind in NUMBERS:
        expected = numbers.astype(kind.to_pandas_dtype())
        return pyarrow.array(expected, kind), expected
    expected = (numbers * 86400000).astype(f"int{kind.bit_width}")
    return pyarrow.array(expected).view(kind), expected


class TableTest(unittest.TestCase):
    setUp, tearDown = ArrowTest.setUp, ArrowTest.tearDown

    def test_types_have_the_names_that_pyarrow_prints(self):
        for kind in (*NUMBERS, *DATES_AND_TIMES, pyarrow.bool_(), pyarrow.null(), pyarrow.string(),
                     pyarrow.large_string(), pyarrow.string_view(), pyarrow.binary(), pyarrow.large_binary(),
                     pyarrow.binary_view(), pyarrow.binary(5), pyarrow.month_day_nano_interval(),
                     pyarrow.list_(pyarrow.float32(), 3), pyarrow.list_(pyarrow.timestamp("ns"), 3)):
            with self.subTest(kind):
                [(_, name, dtype)] = take_stream(pyarrow.table({"a": pyarrow.array([], kind)}))
                self.assertEqual(name, str(kind).replace("<item: ", "<"))
                known = kind in NUMBERS or kind in DATES_AND_TIMES or pyarrow.types.is_boolean(kind)
                self.assertEqual(dtype == "Undefined", not known and not isinstance(kind, pyarrow.FixedSizeListType))

    def test_random_tables(self):
        generator = random.Random(7)
        kinds = [*NUMBERS, *DATES_AND_TIMES, pyarrow.bool_()]
        kinds += [pyarrow.list_(kind, 3) for kind in kinds] + [pyarrow.list_(pyarrow.list_(kind, 2), 1) for kind in kinds]
        for _ in range(60):
            rows = generator.choice([0, 1, 7, 40])
            drawn = [random_column(generator, generator.choice(kinds), rows) for _ in range(generator.randrange(8))]
            names = [f"c{i}" for i in range(len(drawn))]
            arrays = [array for array, _ in drawn]
            if drawn and generator.random() < 0.5:  # as fields of a struct
                batch = pyarrow.RecordBatch.from_arrays([pyarrow.StructArray.from_arrays(arrays, names)], ["s"])
                names = [f"s.{name}" for name in names]
            else:
                batch = pyarrow.RecordBatch.from_arrays(arrays, names)
            begin = generator.randrange(rows + 1)
            count = generator.randrange(rows - begin + 1)
            batch = batch.slice(begin, count)
            if generator.random() < 0.5:
                self.assertEqual([row[0] for row in take_batch(batch)], names)
                bounds = [(0, batch.num_rows)]
            else:
                take_stream(pyarrow.RecordBatchReader.from_batches(
                    batch.schema, [batch.slice(0, 3), batch.slice(3), batch]))
                bounds = [(0, min(3, count)), (min(3, count), count), (0, count)]
                self.assertEqual(LIBRARY.count_batches(), 3)
            for k, (first, last) in enumerate(bounds):
                for name, (_, expected) in zip(names, drawn):
                    expected = expected[begin + first:begin + last]
                    numpy.testing.assert_array_equal(column(name, expected, k), expected)
            LIBRARY.drop()

    def test_a_data_frame(self):
        frame = pandas.DataFrame({"a": [1, 2], "when": pandas.to_datetime(["2024-01-01", "2024-01-02"], utc=True),
                                  "word": ["a", "b"]})
        rows = dict((name, kind) for name, kind, _ in take_stream(frame))
        self.assertRegex(rows["when"], r"^timestamp\[.s, tz=UTC\]$")
        self.assertEqual(column("a", numpy.empty(2, "int64")).tolist(), [1, 2])

    def test_tensors_as_a_batch(self):
        expected = {}
        for name in TYPES:
            expected[name] = make(name, (3, 2, 4), (0, 2, 1))
            LIBRARY.add_column(name.encode())
        expected["row"] = make("int32", (3,), (0,))
        LIBRARY.add_column(b"row")
        batch = give_batch(list(expected))
        for name, array in expected.items():
            if name == "row":
                self.assertEqual(batch["row"].to_pylist(), [0, 1, 2])
            else:
                numpy.testing.assert_array_equal(batch[name].to_numpy_ndarray(), array)
        LIBRARY.drop()
        gc.collect()
        self.assertEqual(pyarrow.Table.from_batches([batch, batch]).to_pandas()["row"].tolist(), [0, 1, 2] * 2)
        make("float32", (2, 3), (0, 1))
        LIBRARY.add_column(b"x")
        self.assertEqual(give_batch(["x"], lists=True)["x"].to_pylist(), [[0, 1, 2], [3, 4, 5]])
        make("float32", (3,), (0,))
        LIBRARY.add_column(b"y")
        with self.assertRaisesRegex(ValueError, 'tensor "y": it has 3 rows, but tensor "x" has 2'):
            give_batch(["x", "y"])


if __name__ == "__main__":
    unittest.main()
