# SPDX-License-Identifier: MIT
"""What the Python tests share.

To run one of them by itself, have this folder and that of tenon_test_module, see module.cpp, in
PYTHONPATH."""

import ctypes
import gc
import os
import unittest

import tenon_test_module as m

# DLPack's flags.
READ_ONLY = 1
IS_COPIED = 2

# The types, and the bytes of their elements.
NAMES = {"float32": 4, "uint8": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "float16": 2,
         "float64": 8, "complex32": 4, "complex64": 8, "complex128": 16, "bool": 1, "bfloat16": 2,
         "float8_e5m2": 1, "float8_e4m3fn": 1, "float8_e5m2fnuz": 1, "float8_e4m3fnuz": 1,
         "uint16": 2, "uint32": 4, "uint64": 8}


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Case(unittest.TestCase):
    """Fails a test that leaves memory of the module's alive."""

    def setUp(self):
        gc.collect()
        self.live_before = m.live()

    def tearDown(self):
        gc.collect()
        self.assertEqual(m.live(), self.live_before, "memory is left")


class Producer:
    """Hands out capsules of a tensor and notes what it was asked."""

    def __init__(self, tensor, versioned=True):
        self.tensor = tensor
        self.versioned = versioned
        self.asked = []

    def __dlpack__(self, **keywords):
        self.asked.append(keywords)
        return m.capsule(self.tensor, self.versioned)

    def __dlpack_device__(self):
        return (1, 0)


class OldProducer(Producer):
    """One from before DLPack 1.0, which knows no keyword but stream."""

    def __dlpack__(self, stream=None):
        self.asked.append({})
        return m.capsule(self.tensor, False)


class Interface:
    """Nothing but an __array_interface__."""

    def __init__(self, **entries):
        self.memory = (ctypes.c_float * 6)(1, 2, 3, 4, 5, 6)
        self.entries = {"shape": (2, 3), "typestr": "<f4", "version": 3,
                        "data": (ctypes.addressof(self.memory), False)}
        self.entries.update(entries)

    @property
    def __array_interface__(self):
        return self.entries
