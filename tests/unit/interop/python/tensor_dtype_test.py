# SPDX-License-Identifier: MIT
"""interop/python/tensor_array.h: the dtype of a tenon.Tensor."""

import os
import subprocess
import sys
import unittest
from unittest import mock

import numpy as np
import tenon_test_module as m

from support import FORMATS, HAS_ML_DTYPES, NAMES, SMALL, Case


def without(*names):
    """Where such modules are not installed."""
    return mock.patch.dict(sys.modules, {name: None for name in names})


class Dtype(Case):
    def test_it_is_numpys_object(self):
        for name in FORMATS:
            dtype = m.make((2,), dtype=name).dtype
            self.assertIs(type(dtype), type(np.dtype(name)))
            self.assertEqual((dtype, dtype.name, str(dtype)), (np.dtype(name), name, name))
            self.assertEqual(np.result_type(m.make((2,), dtype=name)), np.dtype(name))

    @unittest.skipUnless(HAS_ML_DTYPES, "ml_dtypes is not installed")
    def test_it_is_ml_dtypes_object_for_the_small_types(self):
        import ml_dtypes

        for name in SMALL:
            tensor = m.make((2,), dtype=name)
            self.assertEqual(tensor.dtype, np.dtype(getattr(ml_dtypes, name)))
            self.assertEqual(np.result_type(tensor), tensor.dtype)

    def is_name(self, dtype, name):
        self.assertEqual((str(dtype), repr(dtype), f"{dtype}", dtype, hash(dtype)),
                         (name, name, name, name, hash(name)))
        self.assertEqual((dtype.name, type(dtype.name)), (name, str))
        self.assertEqual(type(dtype).__name__, "dtype")
        self.assertNotEqual(dtype, "other")

    def test_what_numpy_lacks_is_an_object_with_the_name(self):
        self.is_name(m.make((2,), dtype="complex32").dtype, "complex32")
        with without("ml_dtypes"):
            for name in SMALL:
                self.is_name(m.make((2,), dtype=name).dtype, name)
                self.assertRaises((TypeError, ValueError), np.result_type,
                                  m.make((2,), dtype=name))
        with without("numpy"):
            for name in NAMES:
                self.is_name(m.make((2,), dtype=name).dtype, name)
        self.assertEqual(np.dtype("float32"), m.make((2,)).dtype)

    def test_what_breaks_while_it_is_imported_is_not_hidden(self):
        class Broken:
            def find_spec(self, name, path=None, target=None):
                if name == "ml_dtypes":
                    raise ZeroDivisionError("broken")

        modules = {name: module for name, module in sys.modules.items() if name != "ml_dtypes"}
        with mock.patch.dict(sys.modules, modules, clear=True):
            with mock.patch.object(sys, "meta_path", [Broken(), *sys.meta_path]):
                with self.assertRaisesRegex(ZeroDivisionError, "broken"):
                    m.make((2,), dtype="bfloat16").dtype

    def test_numpy_is_imported_when_it_is_needed_alone(self):
        script = ("import sys, tenon_test_module as m\n"
                  "t = m.make((2, 3), value=3)\n"
                  "t[0], len(t), repr(t), t.tolist(), t[0, 0].item(), list(t), hash(t)\n"
                  "m.take(b'abc'), memoryview(t), t.__dlpack__(), t.shape\n"
                  "assert 'numpy' not in sys.modules\n"
                  "t.dtype\n"
                  "assert 'numpy' in sys.modules\n")
        environment = dict(os.environ)
        subprocess.run([sys.executable, "-B", "-c", script], check=True, env=environment)


if __name__ == "__main__":
    unittest.main()
