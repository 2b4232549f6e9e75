# SPDX-License-Identifier: MIT
"""interop/python_export.h: tenon.Tensor's memory, lent to others."""

import array
import gc
import unittest

import tenon_test_module as m

from support import IS_COPIED, NAMES, Case


class OwnDlpack(Case):
    """tenon.Tensor as a producer."""

    def test_max_version_chooses_the_kind_of_capsule(self):
        tensor = m.make((2,))
        for version, name in ((None, "dltensor"), ((0, 8), "dltensor"),
                              ((1, 0), "dltensor_versioned"), ((1, 3), "dltensor_versioned"),
                              ((2, 0), "dltensor_versioned")):
            self.assertEqual(m.capsule_name(tensor.__dlpack__(max_version=version)), name)
        self.assertEqual(m.capsule_name(tensor.__dlpack__()), "dltensor")

    def test_copy_true_copies_and_says_so(self):
        tensor = m.make((2,), value=3)
        capsule = tensor.__dlpack__(max_version=(1, 0), copy=True)
        self.assertEqual(m.capsule_flags(capsule), IS_COPIED)
        copy = m.take(capsule)
        self.assertNotEqual(m.data_pointer(copy), m.data_pointer(tensor))
        self.assertEqual(memoryview(copy).tolist(), [3, 3])
        legacy = m.take(m.make((2,), readonly=True).__dlpack__(copy=True))
        self.assertFalse(legacy.readonly)

    def test_copy_false_and_none_share_the_memory(self):
        tensor = m.make((2,))
        for copy in (False, None):
            capsule = tensor.__dlpack__(max_version=(1, 0), copy=copy)
            self.assertEqual(m.capsule_flags(capsule), 0)
            self.assertEqual(m.data_pointer(m.take(capsule)), m.data_pointer(tensor))

    def test_the_device_may_be_named_and_another_one_is_a_buffer_error(self):
        tensor = m.make((2,))
        self.assertEqual(tensor.__dlpack_device__(), (1, 0))
        taken = m.take(tensor.__dlpack__(dl_device=(1, 0), max_version=(1, 0)))
        self.assertEqual(m.data_pointer(taken), m.data_pointer(tensor))
        with self.assertRaisesRegex(BufferError, "cpu"):
            tensor.__dlpack__(dl_device=(2, 0))

    def test_the_hosts_memory_has_no_streams(self):
        tensor = m.make((2,))
        for stream in (None, -1, 0, 1, 2, 12345):
            self.assertEqual(m.take(tensor.__dlpack__(stream=stream)).shape, (2,))

    def test_arguments_of_the_wrong_kind_are_type_errors(self):
        tensor = m.make((2,))
        for wrong in ({"unknown": 1}, {"max_version": 1}, {"max_version": (1,)},
                      {"max_version": ("a", 0)}, {"dl_device": 1}):
            with self.assertRaises(TypeError):
                tensor.__dlpack__(**wrong)
        with self.assertRaises(TypeError):
            tensor.__dlpack__(None)
        # Keywords that are no interned strings are the same keywords.
        keyword = "".join(["max_", "version"])
        self.assertEqual(m.capsule_name(tensor.__dlpack__(**{keyword: (1, 0)})),
                         "dltensor_versioned")

    def test_what_dlpack_cannot_say_is_a_buffer_error(self):
        with self.assertRaisesRegex(BufferError, "read-only"):
            m.make((2,), readonly=True).__dlpack__()
        with self.assertRaisesRegex(BufferError, "placeholder"):
            m.placeholder((2, 3)).__dlpack__(max_version=(1, 0))

    def test_every_type_crosses(self):
        for name in NAMES:
            tensor = m.make((2, 2), dtype=name, value=1)
            for version in (None, (1, 0)):
                taken = m.take(tensor.__dlpack__(max_version=version))
                self.assertEqual(taken.dtype, name)
                self.assertEqual(m.data_pointer(taken), m.data_pointer(tensor))

    def test_shapes_cross_as_they_are(self):
        tensor = m.make((4, 6))
        for sizes, strides, offset in (((), (), 5), ((3, 2), (6, 3), 0), ((4, 6), (-6, -1), 23),
                                       ((2, 2, 2), (0, 6, 1), 0), ((1, 4), (17, 6), 0)):
            view = m.as_strided(tensor, sizes, strides, offset)
            for version in (None, (1, 0)):
                taken = m.take(view.__dlpack__(max_version=version))
                self.assertEqual((taken.shape, taken.strides), (sizes, strides))
                self.assertEqual(m.data_pointer(taken), m.data_pointer(tensor) + 4 * offset)
        empty = m.take(m.make((0, 3)).__dlpack__())
        self.assertEqual((empty.shape, empty.size), ((0, 3), 0))


class DeviceMemory(Case):
    """Memory that the host does not reach, and no backend knows."""

    def test_it_is_described_and_not_read(self):
        tensor = m.take(m.hostile("cuda"))
        self.assertEqual((tensor.device, tensor.shape, tensor.__dlpack_device__()),
                         ("cuda:1", (2, 3), (2, 1)))
        self.assertIn("on cuda:1", repr(tensor))
        with self.assertRaisesRegex(BufferError, "host"):
            memoryview(tensor)
        self.assertFalse(hasattr(tensor, "__array_interface__"))

    def test_it_crosses_to_whoever_does_not_ask_for_the_host(self):
        tensor = m.take(m.hostile("cuda"))
        again = m.take(tensor.__dlpack__(max_version=(1, 0), dl_device=(2, 1)))
        self.assertEqual(again.device, "cuda:1")
        self.assertEqual(m.data_pointer(again), m.data_pointer(tensor))
        for copy in (None, True, False):
            with self.assertRaisesRegex(BufferError, "cuda"):
                tensor.__dlpack__(dl_device=(1, 0), copy=copy)

    def test_its_streams_are_numbered_as_dlpack_does(self):
        tensor = m.take(m.hostile("cuda"))
        for stream in (None, -1, 1, 2, 1 << 40):
            self.assertEqual(m.take(tensor.__dlpack__(stream=stream)).device, "cuda:1")
        for stream in (0, -2):
            with self.assertRaisesRegex(ValueError, "stream"):
                tensor.__dlpack__(stream=stream)
        with self.assertRaises(TypeError):
            tensor.__dlpack__(stream="a")


class OwnBuffer(Case):
    """tenon.Tensor's buffer protocol."""

    SIMPLE, WRITABLE, FORMAT, ND = 0, 1, 4, 8
    STRIDES = 0x10 | ND
    C, F, ANY = 0x20 | STRIDES, 0x40 | STRIDES, 0x80 | STRIDES
    FULL = 0x100 | STRIDES | WRITABLE | FORMAT
    FULL_RO = 0x100 | STRIDES | FORMAT

    def test_what_is_not_asked_for_is_left_out(self):
        tensor = m.make((2, 3))
        full = (2, (2, 3), (12, 4), "f", 24, 4, 0)
        self.assertEqual(m.get_buffer(tensor, self.FULL), full)
        self.assertEqual(m.get_buffer(tensor, self.FULL_RO), full)
        self.assertEqual(m.get_buffer(tensor, self.C), (2, (2, 3), (12, 4), None, 24, 4, 0))
        self.assertEqual(m.get_buffer(tensor, self.ND), (2, (2, 3), None, None, 24, 4, 0))
        self.assertEqual(m.get_buffer(tensor, self.ND | self.FORMAT),
                         (2, (2, 3), None, "f", 24, 4, 0))
        self.assertEqual(m.get_buffer(tensor, self.SIMPLE), (1, None, None, None, 24, 4, 0))
        self.assertEqual(m.get_buffer(tensor, self.WRITABLE), (1, None, None, None, 24, 4, 0))
        with self.assertRaises(BufferError):
            m.get_buffer(tensor, self.FORMAT)

    def test_order_is_as_asked_or_an_error(self):
        rows = m.make((2, 3))
        columns = m.as_strided(rows, (3, 2), (1, 3))
        gaps = m.as_strided(rows, (2, 2), (3, 1))
        allowed = {rows: {self.SIMPLE, self.ND, self.STRIDES, self.C, self.ANY},
                   columns: {self.STRIDES, self.F, self.ANY}, gaps: {self.STRIDES}}
        for tensor, flags in allowed.items():
            for flag in (self.SIMPLE, self.ND, self.STRIDES, self.C, self.F, self.ANY):
                if flag in flags:
                    m.get_buffer(tensor, flag)
                else:
                    with self.assertRaises(BufferError):
                        m.get_buffer(tensor, flag)
        row = m.make((3,))
        for flag in (self.SIMPLE, self.ND, self.STRIDES, self.C, self.F, self.ANY):
            m.get_buffer(row, flag)

    def test_a_read_only_tensor_is_not_lent_for_writing(self):
        tensor = m.make((3,), readonly=True)
        self.assertTrue(memoryview(tensor).readonly)
        with self.assertRaisesRegex(BufferError, "read-only"):
            m.get_buffer(tensor, self.FULL)
        with self.assertRaises(TypeError):
            memoryview(tensor)[0] = 1.0

    def test_shapes_without_elements_and_without_dimensions(self):
        self.assertEqual(memoryview(m.make((0, 3))).shape, (0, 3))
        self.assertEqual(memoryview(m.make((0, 3))).tobytes(), b"")
        scalar = memoryview(m.make((), value=3))
        self.assertEqual((scalar.shape, scalar.tolist()), ((), 3.0))
        many = memoryview(m.make((1,) * 7))
        self.assertEqual(many.ndim, 7)

    def test_negative_and_zero_strides(self):
        tensor = m.take(array.array("i", [1, 2, 3, 4]))
        self.assertEqual(memoryview(m.as_strided(tensor, (4,), (-1,), 3)).tolist(), [4, 3, 2, 1])
        self.assertEqual(memoryview(m.as_strided(tensor, (2, 2), (0, 1))).tolist(),
                         [[1, 2], [1, 2]])

    def test_the_memory_lives_as_long_as_the_view(self):
        view = memoryview(m.make((2,), value=6))
        gc.collect()
        self.assertEqual(m.live(), self.live_before + 1)
        self.assertEqual(view.tolist(), [6, 6])
        view.release()
        self.assertEqual(m.live(), self.live_before)

    def test_a_placeholder_has_no_buffer(self):
        with self.assertRaisesRegex(BufferError, "placeholder"):
            memoryview(m.placeholder((2,)))


if __name__ == "__main__":
    unittest.main()
