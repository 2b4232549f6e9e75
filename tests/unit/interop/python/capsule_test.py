# SPDX-License-Identifier: MIT
"""interop/python/capsule.h: DLPack's capsules and __dlpack__."""

import unittest

import tenon_test_module as m

from support import IS_COPIED, NAMES, READ_ONLY, Case

VERSIONED = "dltensor_versioned"


class Capsules(Case):
    # A promise of docs/guarantees.md.
    def test_a_capsule_can_be_consumed_once(self):
        for versioned, name in ((True, VERSIONED), (False, "dltensor")):
            for take in (m.take_capsule, m.take):
                capsule = m.capsule(m.make((2, 3), value=4), versioned)
                self.assertEqual(m.capsule_name(capsule), name)
                tensor = take(capsule)
                self.assertEqual(memoryview(tensor).tolist(), [[4.0] * 3] * 2)
                self.assertEqual(m.capsule_name(capsule), "used_" + name)
                self.assertRaisesRegex(ValueError, "consumed before", take, capsule)

    def test_a_refused_capsule_is_not_consumed_and_releases_what_it_holds_once(self):
        for what, error, wanted in (
                ("version", BufferError, {}), ("dtype", BufferError, {}),
                ("lanes", BufferError, {}), ("device", BufferError, {}), ("ndim", ValueError, {}),
                ("shape", ValueError, {}), ("size", ValueError, {}), ("data", ValueError, {}),
                ("misaligned", BufferError, {"copy": False}), ("cuda", BufferError, {"copy": True}),
                ("cuda", BufferError, {"device": "cpu"}), ("", BufferError, {"device": "cuda"})):
            with self.subTest(what, **wanted):
                deleted = m.deleted()
                capsule = m.hostile(what)
                self.assertRaises(error, m.take, capsule, **wanted)
                if not wanted:
                    self.assertRaises(error, m.take_capsule, capsule)
                self.assertEqual(m.capsule_name(capsule), VERSIONED)
                self.assertEqual(m.deleted(), deleted)
                del capsule
                self.assertEqual(m.deleted(), deleted + 1)

    def test_misaligned_data_is_copied(self):
        deleted = m.deleted()
        tensor = m.take(m.hostile("misaligned"))
        self.assertEqual(m.deleted(), deleted + 1)
        self.assertEqual((m.data_pointer(tensor) % 4, tensor.shape), (0, (2, 2)))

    def test_what_is_no_capsule_of_dlpacks_is_a_type_error(self):
        self.assertRaisesRegex(TypeError, "^tenon: 'list' object is not a capsule", m.take_capsule, [1])
        for take in (m.take_capsule, m.take):
            self.assertRaisesRegex(TypeError, '"something"', take, m.named_capsule("something"))

    def test_read_only_is_said_by_versioned_capsules_and_refused_for_legacy_ones(self):
        tensor = m.make((3,), readonly=True)
        capsule = m.capsule(tensor)
        self.assertEqual(m.capsule_flags(capsule), READ_ONLY)
        self.assertTrue(m.take(capsule).readonly)
        self.assertRaisesRegex(BufferError, "read-only", m.capsule, tensor, False)
        self.assertEqual(m.capsule_flags(m.capsule(m.make((3,)))), 0)

    def test_a_capsule_that_nobody_takes_releases_its_tensor_and_keeps_the_exception(self):
        for versioned in (True, False):
            deleted = m.deleted()
            self.assertRaisesRegex(ZeroDivisionError, "in flight", m.release_with_error,
                                   [m.capsule(m.make((2,)), versioned)])
            self.assertEqual(m.deleted(), deleted + 1)


class OwnDlpack(Case):
    """tenon.Tensor as a producer."""

    def test_max_version_chooses_the_kind_of_capsule(self):
        tensor = m.make((2,))
        for version, name in ((None, "dltensor"), ((0, 8), "dltensor"), ((1, 0), VERSIONED),
                              ((1, 3), VERSIONED), ((2, 0), VERSIONED)):
            self.assertEqual(m.capsule_name(tensor.__dlpack__(max_version=version)), name)
        self.assertEqual(m.capsule_name(tensor.__dlpack__()), "dltensor")
        # Keywords that are no interned strings are the same keywords.
        keyword = "".join(["max_", "version"])
        self.assertEqual(m.capsule_name(tensor.__dlpack__(**{keyword: (1, 0)})), VERSIONED)

    def test_a_copy_is_made_where_it_is_asked_for_and_says_so(self):
        tensor = m.make((2,), value=3)
        for copy, flags in ((True, IS_COPIED), (False, 0), (None, 0)):
            capsule = tensor.__dlpack__(max_version=(1, 0), copy=copy)
            self.assertEqual(m.capsule_flags(capsule), flags)
            taken = m.take(capsule)
            self.assertEqual(m.data_pointer(taken) != m.data_pointer(tensor), copy is True)
            self.assertEqual(memoryview(taken).tolist(), [3, 3])
        legacy = m.take(m.make((2,), readonly=True).__dlpack__(copy=True))
        self.assertFalse(legacy.readonly)

    def test_the_device_may_be_named_and_another_one_is_a_buffer_error(self):
        tensor = m.make((2,))
        self.assertEqual(tensor.__dlpack_device__(), (1, 0))
        taken = m.take(tensor.__dlpack__(dl_device=(1, 0), max_version=(1, 0)))
        self.assertEqual(m.data_pointer(taken), m.data_pointer(tensor))
        self.assertRaisesRegex(BufferError, "cpu", tensor.__dlpack__, dl_device=(2, 0))

    def test_the_hosts_memory_has_no_streams_and_a_devices_has_dlpacks_numbers(self):
        for stream in (None, -1, 0, 1, 2, 12345):
            self.assertEqual(m.take(m.make((2,)).__dlpack__(stream=stream)).shape, (2,))
        tensor = m.take(m.hostile("cuda"))
        for stream in (None, -1, 1, 2, 1 << 40):
            self.assertEqual(m.take(tensor.__dlpack__(stream=stream)).device, "cuda:1")
        self.raises_each(((0, ValueError, "stream"), (-2, ValueError, "stream"),
                          ("a", TypeError, "")),
                         lambda stream: tensor.__dlpack__(stream=stream))

    def test_arguments_of_the_wrong_kind_are_type_errors(self):
        tensor = m.make((2,))
        self.raises_each((({"unknown": 1}, TypeError, "unexpected keyword argument 'unknown'"),
                          ({"max_version": 1}, TypeError, "max_version is 'int'"),
                          ({"max_version": (1,)}, TypeError, "max_version"),
                          ({"max_version": ("a", 0)}, TypeError, "int"),
                          ({"dl_device": 1}, TypeError, "dl_device is 'int'")),
                         lambda keywords: tensor.__dlpack__(**keywords))
        self.assertRaises(TypeError, tensor.__dlpack__, None)

    def test_the_first_number_that_raises_is_the_last_to_be_read(self):
        class Raises:
            def __index__(self):
                raise ZeroDivisionError

        class Zero:
            def __index__(self):
                return 0
        with self.assertRaises(ZeroDivisionError):
            m.make((2,)).__dlpack__(dl_device=(Raises(), Zero()))

    def test_who_cannot_be_told_of_read_only_memory_gets_a_copy(self):
        tensor = m.make((2,), value=3, readonly=True)
        taken = m.take(tensor.__dlpack__())
        self.assertEqual((taken.readonly, taken.tolist()), (False, [3, 3]))
        self.assertNotEqual(m.data_pointer(taken), m.data_pointer(tensor))
        self.assertRaisesRegex(BufferError, "read-only", tensor.__dlpack__, copy=False)
        shared = m.take(tensor.__dlpack__(max_version=(1, 0)))
        self.assertEqual(m.data_pointer(shared), m.data_pointer(tensor))
        self.assertTrue(shared.readonly)

    def test_what_dlpack_cannot_say_is_a_buffer_error(self):
        self.assertRaisesRegex(BufferError, "placeholder", m.placeholder((2, 3)).__dlpack__,
                               max_version=(1, 0))

    def test_every_type_crosses(self):
        for name in NAMES:
            tensor = m.make((2, 2), dtype=name, value=1)
            for version in (None, (1, 0)):
                taken = m.take(tensor.__dlpack__(max_version=version))
                self.assertEqual(taken.dtype, name)
                self.assertEqual(m.data_pointer(taken), m.data_pointer(tensor))


class DeviceMemory(Case):
    """Memory that the host does not reach, and no backend knows."""

    def setUp(self):
        super().setUp()
        self.tensor = m.take(m.hostile("cuda"))

    def tearDown(self):
        del self.tensor
        super().tearDown()

    def test_it_is_described_and_not_read(self):
        tensor = self.tensor
        self.assertEqual((tensor.device, tensor.shape, tensor.__dlpack_device__()),
                         ("cuda:1", (2, 3), (2, 1)))
        self.assertIn("on cuda:1", repr(tensor))
        self.assertRaisesRegex(BufferError, "host", memoryview, tensor)
        self.assertFalse(hasattr(tensor, "__array_interface__"))

    def test_it_crosses_to_whoever_does_not_ask_for_the_host(self):
        again = m.take(self.tensor.__dlpack__(max_version=(1, 0), dl_device=(2, 1)))
        self.assertEqual(again.device, "cuda:1")
        self.assertEqual(m.data_pointer(again), m.data_pointer(self.tensor))
        for copy in (None, True, False):
            self.assertRaisesRegex(BufferError, "cuda", self.tensor.__dlpack__, dl_device=(1, 0),
                                   copy=copy)


if __name__ == "__main__":
    unittest.main()
