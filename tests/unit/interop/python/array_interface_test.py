# SPDX-License-Identifier: MIT
"""interop/python/array_interface.h: __cuda_array_interface__ both ways. __array_interface__ is in
buffer_test.py and tensor_type_test.py."""

import ctypes
import gc
import unittest
import weakref

import tenon_test_module as m
from support import HANDLE, Case, CudaInterface, Devices, Producer


class Export(Devices):
    def test_it_describes_device_memory_with_the_stream_of_its_backend(self):
        m.device_begin("cuda:0", HANDLE)
        tensor = m.device_make("cuda:0", (2, 3))
        m.device_calls("cuda:0")
        self.assertEqual(tensor.__cuda_array_interface__,
                         {"shape": (2, 3), "typestr": "<f4", "data": (m.data_pointer(tensor), False),
                          "strides": None, "version": 3, "stream": HANDLE})
        self.assertEqual(m.device_calls("cuda:0"), [])
        view = m.as_strided(tensor, (3, 2), (1, 3), 0)
        self.assertEqual(view.__cuda_array_interface__["strides"], (4, 12))
        self.assertFalse(hasattr(tensor, "__array_interface__"))
        small = m.device_make("cuda:0", (2,), "bfloat16")
        self.assertFalse(hasattr(small, "__cuda_array_interface__"))

    def test_the_stream_is_none_where_nothing_is_known(self):
        tensor = m.over(4096, (2,), "cuda:1", True)
        interface = tensor.__cuda_array_interface__
        self.assertIsNone(interface["stream"])
        self.assertEqual(interface["data"], (4096, True))
        m.device_begin("cuda:1", 2)
        self.assertEqual(tensor.__cuda_array_interface__["stream"], 2)

    def test_data_is_null_without_elements(self):
        m.device_begin("cuda:0")
        tensor = m.device_make("cuda:0", (0, 4))
        interface = tensor.__cuda_array_interface__
        self.assertEqual((interface["data"], interface["shape"], interface["strides"]),
                         ((0, False), (0, 4), None))

    def test_other_memory_has_none(self):
        memory = (ctypes.c_float * 2)(1, 2)
        for device in ("cpu", "cuda_host", "rocm", "ext_dev"):
            tensor = m.over(ctypes.addressof(memory), (2,), device)
            self.assertFalse(hasattr(tensor, "__cuda_array_interface__"), device)
        self.assertFalse(hasattr(m.placeholder((2,)), "__cuda_array_interface__"))


class Import(Devices):
    def begin(self, **entries):
        """An object on cuda:0, whose backend is told of its memory."""
        m.device_begin("cuda:0", HANDLE)
        producer = CudaInterface(**entries)
        m.device_lend("cuda:0", producer.address, 24)
        return producer

    def test_it_shares_the_memory_and_keeps_the_object(self):
        producer = self.begin()
        taken = m.take(producer)
        self.assertEqual((taken.device, taken.shape, taken.strides, taken.dtype, taken.readonly),
                         ("cuda:0", (2, 3), (3, 1), "float32", False))
        self.assertEqual(m.data_pointer(taken), producer.address)
        self.assertEqual(m.device_calls("cuda:0")[0], "check_memory 24")
        alive = weakref.ref(producer)
        del producer
        gc.collect()
        self.assertIsNotNone(alive())
        del taken
        gc.collect()
        self.assertIsNone(alive())

    def test_the_backend_waits_for_the_stream_that_is_named(self):
        for stream in (1, 2, 3, HANDLE):
            producer = self.begin(stream=stream)
            del_taken = m.take(producer)
            self.assertEqual(m.device_calls("cuda:0"), ["check_memory 24", f"order_after {stream}"])
            del del_taken
            m.device_end()
        for entries in ({"stream": None}, {}, {"version": 0}, {"version": 2}):
            taken = m.take(self.begin(**entries))
            self.assertEqual(m.device_calls("cuda:0"), ["check_memory 24"])
            del taken
            m.device_end()

    def test_strides_are_bytes_and_may_be_none(self):
        producer = self.begin(shape=(3, 2), strides=(4, 12))
        self.assertEqual(m.take(producer).strides, (1, 3))
        producer.entries["strides"] = None
        self.assertEqual(m.take(producer).strides, (2, 1))
        producer.entries.update(strides=(-8, 4), data=(producer.address + 16, True))
        taken = m.take(producer)
        self.assertEqual((taken.strides, taken.readonly), ((-2, 1), True))

    def test_what_is_wrong_is_refused_and_no_stream_is_ordered(self):
        producer = self.begin()
        address = producer.address
        for entries, error, text in (
                ({"mask": producer}, BufferError, "__cuda_array_interface__ has a mask"),
                ({"stream": 0}, ValueError, "stream is 0, expected None, 1, 2 or a handle"),
                ({"stream": -1}, ValueError, "stream is -1"),
                ({"stream": "legacy"}, TypeError, ""), ({"stream": 1 << 64}, OverflowError, ""),
                ({"typestr": "<f3"}, BufferError, "typestr"), ({"typestr": ">f4"}, BufferError, "typ"),
                ({"typestr": None}, TypeError, "no typestr"), ({"shape": None}, TypeError, "shape"),
                ({"shape": (2, -3)}, ValueError, ""), ({"strides": (4,)}, ValueError, "length"),
                ({"strides": (5, 4)}, BufferError, "multiple"), ({"data": None}, BufferError, "data"),
                ({"data": 4096}, BufferError, "data"), ({"data": ("a", False)}, TypeError, ""),
                ({"data": (0, False)}, ValueError, "null"),
                ({"data": (address + 2, False), "shape": (1,)}, BufferError, "not aligned"),
                ({"data": (address + 4, False)}, ValueError, "recording failed in check_memory")):
            with self.subTest(entries):
                wrong = CudaInterface(**{"data": (address, False), "stream": 7, **entries})
                with self.assertRaisesRegex(error, text):
                    m.take(wrong)
                calls = m.device_calls("cuda:0")
                if text != "not aligned":
                    self.assertEqual([call for call in calls if "order" in call], [])
        with self.assertRaisesRegex(TypeError, "__cuda_array_interface__ is 'int', expected a dict"):
            m.take(type("Odd", (), {"__cuda_array_interface__": 5})())

    def test_a_key_that_raises_when_it_is_compared_is_no_missing_one(self):
        class Key(str):
            __hash__ = str.__hash__

            def __eq__(self, other):
                raise RuntimeError("compared")

        producer = self.begin()
        interface = dict(producer.__cuda_array_interface__)
        interface.pop("stream", None)
        interface[Key("stream")] = 7
        m.device_calls("cuda:0")
        with self.assertRaisesRegex(RuntimeError, "compared"):
            m.take(type("Odd", (), {"__cuda_array_interface__": interface})())
        self.assertEqual(m.device_calls("cuda:0"), [])

    def test_what_the_backend_reports_is_raised(self):
        producer = self.begin(stream=7)
        m.device_fail("cuda:0")
        with self.assertRaisesRegex(Exception, "recording failed in order_after: the stream is lost"):
            m.take(producer)

    def test_the_device_is_the_one_whose_backend_knows_the_memory(self):
        m.device_begin("cuda:0")
        m.device_begin("cuda:3", 9)
        m.device_begin("cuda_managed", 4)
        producer = CudaInterface(stream=6)
        self.assertRaisesRegex(ValueError, "check_memory", m.take, producer)
        m.device_lend("cuda_managed", producer.address, 24)
        self.assertEqual(m.take(producer).device, "cuda_managed:0")
        m.device_calls("cuda:3")
        m.device_lend("cuda:3", producer.address, 24)
        self.assertEqual(m.take(producer).device, "cuda:3")
        self.assertEqual(m.device_calls("cuda:3"), ["check_memory 24", "order_after 6"])
        self.assertEqual(m.device_calls("cuda_managed")[-1], "order_after 6")

    def test_without_elements_there_is_no_memory_to_know(self):
        m.device_begin("cuda:2")
        taken = m.take(CudaInterface(shape=(0, 3), data=(0, False)))
        self.assertEqual((taken.device, taken.shape), ("cuda:2", (0, 3)))
        self.assertEqual(m.device_calls("cuda:2"), [])

    def test_a_copy_goes_to_the_host_by_the_backend(self):
        producer = self.begin(stream=7)
        taken = m.take(producer, device="cpu")
        self.assertEqual((taken.device, memoryview(taken).tolist()),
                         ("cpu", [[1, 2, 3], [4, 5, 6]]))
        calls = m.device_calls("cuda:0")
        self.assertLess(calls.index("order_after 7"), calls.index("copy_to_host"))
        self.assertRaisesRegex(BufferError, "copy is false", m.take, producer, False, "cpu")

    def test_dlpack_comes_first_and_this_before_the_hosts_interface(self):
        class Both(Producer, CudaInterface):
            def __init__(self):
                Producer.__init__(self, m.make((4,)))
                CudaInterface.__init__(self)

        self.assertEqual(m.take(Both()).shape, (4,))

        class Pair(CudaInterface):
            @property
            def __array_interface__(self):
                raise AssertionError("asked")

        self.assertEqual(m.take(Pair()).device, "cuda:0")


class WithoutBackend(Case):
    def test_it_is_taken_as_it_is_on_cuda_0(self):
        producer = CudaInterface(stream=7)
        taken = m.take(producer)
        self.assertEqual((taken.device, m.data_pointer(taken)), ("cuda:0", producer.address))
        self.assertRaisesRegex(ValueError, "stream is 0", m.take, CudaInterface(stream=0))


if __name__ == "__main__":
    unittest.main()
