# SPDX-License-Identifier: MIT
"""Tensors in pandas and pyarrow; pandas' series and h5py's datasets, which have nothing but
__array__."""

import io
import unittest

import h5py
import numpy as np
import pandas
import pyarrow
import tenon_test_module as m

from support import Case


class Pandas(Case):
    def test_series_and_frames_of_tensors(self):
        tensor = m.take(np.arange(6.0).reshape(2, 3))
        self.assertEqual(pandas.Series(tensor[1]).tolist(), [3, 4, 5])
        self.assertEqual(pandas.Series(tensor[1]).dtype, np.float64)
        self.assertEqual(pandas.DataFrame(tensor).shape, (2, 3))
        self.assertEqual(pandas.DataFrame({"a": tensor[0]})["a"].sum(), 3)
        self.assertRaises(TypeError, pandas.Series, m.make((2,), dtype="complex32"))

    def test_a_series_is_taken(self):
        series = pandas.Series([1.0, 2.0, 3.0])
        for copied in (None, False):
            tensor = m.take(series, copied)
            self.assertEqual(tensor.tolist(), [1, 2, 3])
            self.assertEqual(m.data_pointer(tensor), series.to_numpy().ctypes.data)
        self.assertRaises(BufferError, m.take, pandas.Series(["a", "b"], dtype=object))


class PyArrow(Case):
    def test_arrays_of_tensors(self):
        tensor = m.take(np.arange(6.0).reshape(2, 3))
        array = pyarrow.array(tensor[1])
        self.assertEqual((array.to_pylist(), array.type), ([3, 4, 5], pyarrow.float64()))
        self.assertEqual(pyarrow.array(tensor[1], pyarrow.float32()).type, pyarrow.float32())
        for wrong in (tensor, m.make((2,), dtype="complex32")):
            self.assertRaises((pyarrow.ArrowInvalid, TypeError), pyarrow.array, wrong)


class H5py(Case):
    def test_a_dataset_is_read(self):
        with h5py.File(io.BytesIO(), "w") as file:
            dataset = file.create_dataset("numbers", data=np.arange(6.0).reshape(2, 3))
            self.assertEqual(m.take(dataset).tolist(), [[0, 1, 2], [3, 4, 5]])
            self.assertRaises(ValueError, m.take, dataset, False)


if __name__ == "__main__":
    unittest.main()
