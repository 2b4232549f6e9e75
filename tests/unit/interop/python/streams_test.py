# SPDX-License-Identifier: MIT
"""interop/python/capsule.h: which stream waits for which, with a DeviceBackend that records it."""

import unittest

import tenon_test_module as m
from support import HANDLE, Devices, OldProducer, Producer


class Gpu(Producer):
    device = (2, 0)

    def __dlpack_device__(self):
        return self.device


class Export(Devices):
    def setUp(self):
        super().setUp()
        m.device_begin("cuda:0", HANDLE)
        self.tensor = m.device_make("cuda:0", (2, 3))
        m.device_calls("cuda:0")

    def tearDown(self):
        del self.tensor
        super().tearDown()

    def asked(self, **keywords):
        self.tensor.__dlpack__(max_version=(1, 3), **keywords)
        return m.device_calls("cuda:0")

    def test_the_stream_that_the_consumer_names_waits_and_the_host_does_not(self):
        for stream in (1, 2, 3, HANDLE):
            self.assertEqual(self.asked(stream=stream), [f"order_before {stream}"])
        for keywords in ({}, {"stream": None}):  # the legacy default stream
            self.assertEqual(self.asked(**keywords), ["order_before 1"])


    def test_minus_one_orders_nothing_and_0_is_refused(self):
        self.assertEqual(self.asked(stream=-1), [])
        self.raises_each(((0, ValueError, "stream is 0"), (-2, ValueError, "stream is -2"),
                          (1 << 63, OverflowError, ""), ("a", TypeError, "")),
                         lambda stream: self.asked(stream=stream))
        self.assertEqual(m.device_calls("cuda:0"), [])

    def test_a_copy_on_the_device_is_ordered_too_and_one_on_the_host_is_there(self):
        self.assertEqual(self.asked(stream=7, copy=True), ["copy_within", "order_before 7"])
        self.assertEqual(self.asked(stream=None, dl_device=(1, 0)), ["copy_to_host"])

    def test_rocms_default_stream_is_0(self):
        m.device_begin("rocm:0")
        tensor = m.device_make("rocm:0", (2,))
        m.device_calls("rocm:0")
        for stream, order in ((None, ["order_before 0"]), (0, ["order_before 0"]), (-1, [])):
            tensor.__dlpack__(stream=stream)
            self.assertEqual(m.device_calls("rocm:0"), order)

    def test_what_the_backend_reports_is_raised(self):
        m.device_fail("cuda:0")
        with self.assertRaisesRegex(Exception, "recording failed in order_before: the stream is"):
            self.asked(stream=5)

    def test_memory_that_came_as_a_pointer_is_ordered_by_the_registered_backend(self):
        foreign = m.take(m.hostile("cuda"))  # on cuda:1
        foreign.__dlpack__(stream=5)
        m.device_begin("cuda:1")
        foreign.__dlpack__(stream=5)
        self.assertEqual(m.device_calls("cuda:1"), ["order_before 5"])
        self.assertEqual(m.device_calls("cuda:0"), [])
        del foreign

    def test_the_exchange_api_says_the_backends_stream(self):
        self.assertEqual(m.api_stream(self.tensor, 2, 0), HANDLE)
        for device in ((2, 1), (1, 0), (2, -1), (99, 0), (-1, -1)):
            self.assertIsNone(m.api_stream(self.tensor, *device) or None)


class Import(Devices):
    def setUp(self):
        super().setUp()
        m.device_begin("cuda:0", HANDLE)

    def test_the_producer_is_given_the_backends_stream(self):
        gpu = Gpu(m.make((2,)))
        m.take(gpu)
        self.assertEqual(gpu.asked, [{"max_version": (1, 3), "stream": HANDLE}])
        self.assertEqual(m.device_calls("cuda:0"), [])

    def test_another_device_and_one_without_a_backend_have_their_default_streams(self):
        for device, stream in (((2, 1), 1), ((10, 0), 0), ((2, -1), 1), ((2, 1 << 31), None),
                               ((1, 0), None), ((3, 0), None), ((13, 0), None), ((99, 0), None)):
            with self.subTest(device):
                gpu = Gpu(m.make((2,)))
                gpu.device = device
                m.take(gpu)
                self.assertEqual(gpu.asked[0].get("stream"), stream)

    def test_managed_memory_has_the_stream_of_its_backend(self):
        m.device_begin("cuda_managed:0", 2)
        gpu = Gpu(m.make((2,)))
        gpu.device = (13, 0)
        m.take(gpu)
        self.assertEqual(gpu.asked[0]["stream"], 2)

    def test_of_one_that_cannot_be_asked_the_backend_waits_for_the_default_stream(self):
        class OldGpu(OldProducer):
            def __dlpack_device__(self):
                return (2, 0)

        m.take(OldGpu(m.make((2,))))
        self.assertEqual(m.device_calls("cuda:0"), ["order_after 1"])
        m.device_fail("cuda:0")
        with self.assertRaisesRegex(Exception, "recording failed in order_after: the stream is"):
            m.take(OldGpu(m.make((2,))))

    def test_a_capsule_with_memory_that_is_not_the_devices_is_refused_and_not_consumed(self):
        m.device_begin("cuda:1")
        capsule = m.hostile("cuda")
        self.assertRaisesRegex(ValueError, "recording failed in check_memory: the driver knows it",
                               m.take, capsule)
        self.assertEqual(m.capsule_name(capsule), "dltensor_versioned")
        self.assertEqual(m.device_calls("cuda:1"), ["check_memory 24"])

    def test_a_capsules_memory_is_checked_once(self):
        tensor = m.device_make("cuda:0", (2, 3))
        m.device_calls("cuda:0")
        taken = m.take(tensor.__dlpack__(max_version=(1, 3), stream=-1))
        self.assertEqual((taken.device, m.device_calls("cuda:0")), ("cuda:0", ["check_memory 24"]))
        del taken, tensor


if __name__ == "__main__":
    unittest.main()
