# SPDX-License-Identifier: MIT
"""interop/python_capsule.h: DLPack's capsules."""

import unittest

import tenon_test_module as m

from support import READ_ONLY, Case


class Capsules(Case):
    def test_a_capsule_can_be_consumed_once(self):
        for versioned, name in ((True, "dltensor_versioned"), (False, "dltensor")):
            capsule = m.capsule(m.make((2, 3), value=4), versioned)
            self.assertEqual(m.capsule_name(capsule), name)
            tensor = m.take_capsule(capsule)
            self.assertEqual(memoryview(tensor).tolist(), [[4.0] * 3] * 2)
            self.assertEqual(m.capsule_name(capsule), "used_" + name)
            with self.assertRaisesRegex(ValueError, "consumed before"):
                m.take_capsule(capsule)
            with self.assertRaisesRegex(ValueError, "consumed before"):
                m.take(capsule)

    def test_from_python_takes_a_bare_capsule(self):
        capsule = m.capsule(m.make((5,), value=1))
        self.assertEqual(m.take(capsule).shape, (5,))
        self.assertEqual(m.capsule_name(capsule), "used_dltensor_versioned")

    def test_a_capsule_that_nobody_takes_releases_its_tensor(self):
        deleted = m.deleted()
        for versioned in (True, False):
            capsule = m.capsule(m.make((2,)), versioned)
            self.assertEqual(m.live(), self.live_before + 1)
            del capsule
            self.assertEqual(m.live(), self.live_before)
        self.assertEqual(m.deleted(), deleted + 2)

    def test_a_refused_capsule_is_not_consumed_and_releases_what_it_holds_once(self):
        expected = {"version": BufferError, "dtype": BufferError, "lanes": BufferError,
                    "device": BufferError, "ndim": ValueError, "shape": ValueError,
                    "size": ValueError, "data": ValueError}
        for what, error in expected.items():
            with self.subTest(what):
                deleted = m.deleted()
                capsule = m.hostile(what)
                for take in (m.take_capsule, m.take):
                    with self.assertRaises(error):
                        take(capsule)
                self.assertEqual(m.capsule_name(capsule), "dltensor_versioned")
                self.assertEqual(m.deleted(), deleted)
                del capsule
                self.assertEqual(m.deleted(), deleted + 1)

    def test_what_cannot_be_copied_to_a_device_stays_in_its_capsule(self):
        capsule = m.capsule(m.make((2,)))
        with self.assertRaisesRegex(BufferError, "cuda"):
            m.take(capsule, device="cuda")
        self.assertEqual(m.capsule_name(capsule), "dltensor_versioned")
        capsule = m.hostile("cuda")
        with self.assertRaisesRegex(BufferError, "cuda"):
            m.take(capsule, device="cpu")
        self.assertEqual(m.capsule_name(capsule), "dltensor_versioned")

    def test_a_newer_minor_version_is_taken(self):
        self.assertEqual(memoryview(m.take(m.hostile("minor"))).tolist(), [[1, 2, 3], [4, 5, 6]])

    def test_misaligned_data_is_copied_unless_that_is_forbidden(self):
        deleted = m.deleted()
        tensor = m.take(m.hostile("misaligned"))
        self.assertEqual(m.deleted(), deleted + 1)
        self.assertEqual(m.data_pointer(tensor) % 4, 0)
        self.assertEqual(tensor.shape, (2, 2))
        capsule = m.hostile("misaligned")
        with self.assertRaisesRegex(BufferError, "aligned"):
            m.take_capsule(capsule, False)
        self.assertEqual(m.capsule_name(capsule), "dltensor_versioned")

    def test_what_is_no_capsule_of_dlpacks_is_a_type_error(self):
        with self.assertRaisesRegex(TypeError, "^tenon: 'list' object is no capsule"):
            m.take_capsule([1])
        with self.assertRaisesRegex(TypeError, '"something"'):
            m.take_capsule(m.named_capsule("something"))
        with self.assertRaisesRegex(TypeError, '"something"'):
            m.take(m.named_capsule("something"))

    def test_read_only_is_said_by_versioned_capsules_and_refused_for_legacy_ones(self):
        tensor = m.make((3,), readonly=True)
        capsule = m.capsule(tensor)
        self.assertEqual(m.capsule_flags(capsule), READ_ONLY)
        self.assertTrue(m.take(capsule).readonly)
        with self.assertRaisesRegex(BufferError, "read-only"):
            m.capsule(tensor, False)
        self.assertEqual(m.capsule_flags(m.capsule(m.make((3,)))), 0)

    def test_a_capsule_that_dies_keeps_the_exception_in_flight(self):
        for versioned in (True, False):
            capsules = [m.capsule(m.make((2,)), versioned)]
            with self.assertRaisesRegex(ZeroDivisionError, "in flight"):
                m.release_with_error(capsules)


if __name__ == "__main__":
    unittest.main()
