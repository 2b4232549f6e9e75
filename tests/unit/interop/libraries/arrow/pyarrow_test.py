# SPDX-License-Identifier: MIT
"""interop/arrow.h and Apache Arrow's own library, each as producer and as consumer."""

import ctypes
import datetime
import decimal
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
                      pyarrow.array([decimal.Decimal("1.5")]), pyarrow.array([{"a": 1}])):
            with self.subTest(array.type):
                self.assertIn("Arrow's format", take(array))
        self.assertIn("dictionary-encoded", take(pyarrow.array([1, 2, 1]).dictionary_encode()))

    def test_empty_arrays(self):
        self.assertEqual(take(pyarrow.array([], pyarrow.float32())), "{0} {1} Float")
        self.assertEqual(len(give()), 0)
        self.assertEqual(take(pyarrow.array([], pyarrow.list_(pyarrow.float32(), 3))), "{0, 3} {3, 1} Float")
        self.assertEqual(give(lists=True).type, pyarrow.list_(pyarrow.float32(), 3))

    def test_dates_and_times_are_counts(self):
        for kind in DATES_AND_TIMES:
            with self.subTest(kind):
                width = kind.bit_width
                array = pyarrow.array([1, 86400000, 3 * 86400000], f"int{width}").view(kind)
                self.assertEqual(take(array), f"{{3}} {{1}} {'Int' if width == 32 else 'Long'}")
                self.assertTrue(give().equals(array.view(f"int{width}")))


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

    def test_what_no_tensor_can_be_is_refused_by_name_and_the_rest_is_had(self):
        table = pyarrow.table({
            "n": [1, 2, 3], "text": ["a", "b", "c"], "list": [[1], [], [2, 3]], "map": pyarrow.array(
                [[("k", 1)], [], []], pyarrow.map_(pyarrow.string(), pyarrow.int32())),
            "word": pyarrow.array(["a", "b", "a"]).dictionary_encode(), "price": [decimal.Decimal("1.5")] * 3,
            "nothing": pyarrow.nulls(3), "holes": [1.5, None, None],
            "runs": pyarrow.RunEndEncodedArray.from_arrays([2, 3], [1, 2]),
            "when": [datetime.datetime(2024, 1, 2)] * 3})
        names = {name: kind for name, kind, _ in take_stream(table)}
        self.assertEqual(list(names), table.column_names)
        self.assertEqual(names["word"], "dictionary")
        numpy.testing.assert_array_equal(column("n", numpy.empty(3, "int64")), [1, 2, 3])
        for name in ("text", "list", "map", "price", "nothing", "runs"):
            with self.assertRaisesRegex(ValueError, f'^ArrowBatch::get: column "{name}": Arrow.s format'):
                column(name, numpy.empty(3))
        with self.assertRaisesRegex(ValueError, 'column "word": the array is dictionary-encoded; decode it'):
            column("word", numpy.empty(3))
        with self.assertRaisesRegex(ValueError, 'column "holes": 2 of the array.s 3 values are null'):
            column("holes", numpy.empty(3))
        self.assertEqual(names["when"], "timestamp[us]")
        self.assertEqual(column("when", numpy.empty(3, "int64"))[0], 1704153600000000)

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

    def test_a_column_keeps_the_batch(self):
        table = pyarrow.table({"a": numpy.arange(1000), "b": numpy.arange(1000.0)})
        held = pyarrow.total_allocated_bytes()
        take_stream(table.take(numpy.arange(1000)))
        self.assertGreater(pyarrow.total_allocated_bytes(), held)
        expected = column("a", numpy.empty(1000, "int64"))
        LIBRARY.take_stream(None, 0)  # the batches go
        gc.collect()
        self.assertGreater(pyarrow.total_allocated_bytes(), held)
        numpy.testing.assert_array_equal(give().to_numpy(), expected)

    def test_a_stream_that_fails_says_why(self):
        schema = pyarrow.schema([("a", pyarrow.int64())])

        def batches():
            yield pyarrow.record_batch({"a": [1, 2]})
            raise ValueError("out of luck")

        with self.assertRaisesRegex(ValueError, "ArrowStream::next: the stream's get_next returned .*out of luck"):
            take_stream(pyarrow.RecordBatchReader.from_batches(schema, batches()))
        self.assertEqual(column("a", numpy.empty(2, "int64")).tolist(), [1, 2])  # what came before stays

    def test_a_stream_that_is_left_early(self):
        left = []

        def batches():
            try:
                while True:
                    yield pyarrow.record_batch({"a": [1, 2]})
            finally:
                left.append(True)

        take_stream(pyarrow.RecordBatchReader.from_batches(pyarrow.schema([("a", pyarrow.int64())]), batches()), 2)
        gc.collect()
        self.assertEqual(left, [True])
        self.assertEqual(column("a", numpy.empty(2, "int64"), 1).tolist(), [1, 2])

    def test_a_stream_of_arrays_is_not_of_batches(self):
        with self.assertRaisesRegex(ValueError, "not of a record batch, but of int64"):
            take_stream(pyarrow.chunked_array([[1, 2]]))

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
        with self.assertRaisesRegex(ValueError, 'tensor "y": it has 3 rows, tensor "x" 2'):
            give_batch(["x", "y"])

    def test_no_rows_no_columns_many_columns(self):
        self.assertEqual(take_stream(pyarrow.table({"a": pyarrow.array([], "int8")})), [("a", "int8", "Char")])
        self.assertEqual(take_batch(pyarrow.RecordBatch.from_arrays([], names=[])), [])
        self.assertEqual(give_batch([]).num_rows, 0)
        names = [f"column {i}" for i in range(10000)]
        batch = pyarrow.RecordBatch.from_arrays([pyarrow.array([i, i + 1]) for i in range(10000)], names)
        self.assertEqual([name for name, _, _ in take_batch(batch)], names)
        for i in range(0, 10000, 7):
            self.assertEqual(column(names[i], numpy.empty(2, "int64")).tolist(), [i, i + 1])


if __name__ == "__main__":
    unittest.main()
