#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tensors in Python without other libraries: capsules, producers, buffers, lifetimes.

Runs by itself or under unittest; needs tenon_test_module, see module.cpp, in the module path."""

import array
import ctypes
import gc
import subprocess
import sys
import threading
import unittest
import weakref

import tenon_test_module as m

READ_ONLY = 1
IS_COPIED = 2

NAMES = {"float32": 4, "uint8": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "float16": 2,
         "float64": 8, "complex32": 4, "complex64": 8, "complex128": 16, "bool": 1, "bfloat16": 2,
         "float8_e5m2": 1, "float8_e4m3fn": 1, "float8_e5m2fnuz": 1, "float8_e4m3fnuz": 1,
         "uint16": 2, "uint32": 4, "uint64": 8}


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
        with self.assertRaisesRegex(TypeError, "list is no capsule"):
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


class ExchangeApi(Case):
    """tenon.Tensor's C exchange API, and that of others as a source."""

    def test_it_is_on_the_type_in_its_own_version(self):
        self.assertEqual(m.api_version(m.make((1,))), (1, 3))

    def test_a_round_trip_shares_the_memory(self):
        tensor = m.make((2, 3), value=1)
        other = m.api_round_trip(tensor)
        self.assertIsNot(other, tensor)
        m.fill(other, 7)
        self.assertEqual(memoryview(tensor).tolist(), [[7] * 3] * 2)
        self.assertTrue(m.api_round_trip(m.make((2,), readonly=True)).readonly)

    def test_a_description_borrows(self):
        tensor = m.make((2, 3), dtype="int16")
        self.assertEqual(m.api_describe(tensor), (m.data_pointer(tensor), (1, 0), (0, 16, 1),
                                                  (2, 3), (3, 1), True))

    def test_it_allocates(self):
        tensor = m.api_allocate(m.make((1,)), (3, 4), 2, 64)
        self.assertEqual((tensor.shape, tensor.dtype, tensor.readonly), ((3, 4), "float64", False))
        self.assertEqual(m.api_allocate(m.make((1,)), (), 6, 8).dtype, "bool")
        with self.assertRaisesRegex(RuntimeError, "BufferError: .*17 bits"):
            m.api_allocate(m.make((1,)), (3,), 2, 17)
        with self.assertRaisesRegex(RuntimeError, "BufferError: .*negative"):
            m.api_allocate(m.make((1,)), (-3,), 2, 32)

    def test_placeholders_are_buffer_errors(self):
        with self.assertRaisesRegex(BufferError, "placeholder"):
            m.api_describe(m.placeholder((2,)))
        with self.assertRaisesRegex(BufferError, "placeholder"):
            m.api_round_trip(m.placeholder((2,)))

    def test_a_type_whose_attribute_is_something_else_is_asked_in_other_ways(self):
        class Odd(Producer):
            __dlpack_c_exchange_api__ = 12

        class Named(Producer):
            __dlpack_c_exchange_api__ = m.named_capsule("dlpack_exchange")

        for kind in (Odd, Named):
            self.assertEqual(m.take(kind(m.make((2,)))).shape, (2,))


class Producers(Case):
    """Classes with __dlpack__."""

    def test_the_newest_version_is_asked_for_and_nothing_else(self):
        producer = Producer(m.make((2,)))
        taken = m.take(producer)
        self.assertEqual(producer.asked, [{"max_version": (1, 3)}])
        self.assertEqual(m.data_pointer(taken), m.data_pointer(producer.tensor))

    def test_copy_and_device_are_passed_on(self):
        producer = Producer(m.make((2,)))
        m.take(producer, copy=False)
        m.take(producer, copy=True)
        m.take(producer, device="cpu")
        m.take(producer, device="cpu", copy=False)
        self.assertEqual(producer.asked,
                         [{"max_version": (1, 3), "copy": False},
                          {"max_version": (1, 3), "copy": True},
                          {"max_version": (1, 3), "dl_device": (1, 0)},
                          {"max_version": (1, 3), "dl_device": (1, 0), "copy": False}])

    def test_the_stream_is_named_for_a_gpu_alone(self):
        class Gpu(Producer):
            def __dlpack_device__(self):
                return (2, 0)

        producer = Gpu(m.make((2,)))
        m.take(producer)
        self.assertEqual(producer.asked, [{"max_version": (1, 3), "stream": 1}])

    def test_a_legacy_answer_is_taken_too(self):
        producer = Producer(m.make((2,)), versioned=False)
        self.assertEqual(m.data_pointer(m.take(producer)), m.data_pointer(producer.tensor))

    def test_keywords_that_are_refused_are_left_out(self):
        producer = OldProducer(m.make((2,)))
        self.assertEqual(m.data_pointer(m.take(producer)), m.data_pointer(producer.tensor))
        self.assertEqual(m.data_pointer(m.take(producer, copy=False)),
                         m.data_pointer(producer.tensor))
        self.assertEqual(len(producer.asked), 2)

    def test_a_copy_is_not_asked_for_by_leaving_it_out(self):
        producer = OldProducer(m.make((2,)))
        with self.assertRaisesRegex(TypeError, "keyword"):
            m.take(producer, copy=True)
        self.assertEqual(producer.asked, [])

    def test_copy_true_gives_one_copy_whoever_makes_it(self):
        tensor = m.make((2,), value=2)
        taken = m.take(Producer(tensor), copy=True)
        self.assertNotEqual(m.data_pointer(taken), m.data_pointer(tensor))
        self.assertEqual(memoryview(taken).tolist(), [2, 2])

        class Flagged(Producer):
            def __dlpack__(self, **keywords):
                self.capsule = self.tensor.__dlpack__(**keywords)
                self.flags = m.capsule_flags(self.capsule)
                return self.capsule

        flagged = Flagged(tensor)
        deleted = m.deleted()
        copy = m.take(flagged, copy=True)
        self.assertEqual(flagged.flags, IS_COPIED)
        self.assertEqual(m.deleted(), deleted)
        self.assertEqual(memoryview(copy).tolist(), [2, 2])

    def test_what_a_producer_raises_arrives_with_its_text(self):
        class Failing:
            def __init__(self, error):
                self.error = error

            def __dlpack__(self, **keywords):
                raise self.error

        for error in (BufferError("no memory to lend"), RuntimeError("broken"), OSError("gone"),
                      KeyboardInterrupt("stop"), MemoryError("out"), ValueError("odd")):
            with self.assertRaises(type(error)) as caught:
                m.take(Failing(error))
            self.assertIs(caught.exception, error)
        with self.assertRaises(TypeError):
            m.take(Failing(TypeError("not like this")))

    def test_an_interrupt_is_not_taken_for_a_missing_method(self):
        class Interrupted(Producer):
            def __dlpack_device__(self):
                raise KeyboardInterrupt("stop")

        class Without(Producer):
            __dlpack_device__ = property(lambda self: 1 // 0)

        with self.assertRaisesRegex(KeyboardInterrupt, "stop"):
            m.take(Interrupted(m.make((2,))))
        self.assertEqual(m.take(Without(m.make((2,)))).shape, (2,))

    def test_an_error_is_tenons_as_well(self):
        class Failing:
            def __dlpack__(self, **keywords):
                raise BufferError("no memory to lend")

        self.assertEqual(m.take_error(Failing()), "NotSupported")
        self.assertEqual(m.take_error([]), "InvalidType")
        self.assertEqual(m.take_error(m.hostile("ndim")), "InvalidArgument")
        with self.assertRaises(BufferError):
            m.try_take(Failing())
        self.assertEqual(m.last_message(), "try_from_python: BufferError: no memory to lend")

    def test_an_answer_that_is_no_capsule_is_a_type_error(self):
        class Wrong:
            def __dlpack__(self, **keywords):
                return 5

        with self.assertRaisesRegex(TypeError, "int is no capsule"):
            m.take(Wrong())

    def test_an_answer_that_was_consumed_is_a_value_error(self):
        class Same:
            capsule = m.capsule(m.make((2,)))

            def __dlpack__(self, **keywords):
                return self.capsule

        producer = Same()
        self.assertEqual(m.take(producer).shape, (2,))
        with self.assertRaisesRegex(ValueError, "consumed before"):
            m.take(producer)

    def test_a_refused_answer_is_left_to_its_capsule(self):
        class Keeping:
            def __dlpack__(self, **keywords):
                self.capsule = m.hostile("dtype")
                return self.capsule

        producer = Keeping()
        with self.assertRaisesRegex(BufferError, "17 bits"):
            m.take(producer)
        self.assertEqual(m.capsule_name(producer.capsule), "dltensor_versioned")

    def test_an_attribute_that_raises_is_not_taken_for_a_missing_one(self):
        class Raising:
            @property
            def __dlpack__(self):
                raise RuntimeError("the property broke")

        with self.assertRaisesRegex(RuntimeError, "the property broke"):
            m.take(Raising())

    def test_an_object_that_has_nothing_is_a_type_error(self):
        for nothing in ([1, 2], "text", 5, None, object(), dict):
            with self.assertRaises(TypeError):
                m.take(nothing)
        with self.assertRaisesRegex(TypeError, "^from_python: a list has neither __dlpack__ nor"):
            m.take([1, 2])

    def test_asking_again_and_again_keeps_types_apart(self):
        # More types than are remembered at a time, so that they take each other's places.
        for number in range(200):
            kind = type(f"Kind{number}", (Producer,), {})
            self.assertEqual(m.take(kind(m.make((number,)))).shape, (number,))


class Buffers(Case):
    def test_the_memory_of_a_bytearray_is_shared_and_locked(self):
        memory = bytearray(b"abc")
        tensor = m.take(memory)
        self.assertEqual((tensor.dtype, tensor.shape, tensor.readonly), ("uint8", (3,), False))
        m.fill(tensor, 65)
        self.assertEqual(memory, b"AAA")
        with self.assertRaises(BufferError):
            memory.append(1)
        del tensor
        memory.append(1)
        self.assertEqual(memory, b"AAA\x01")

    def test_bytes_are_read_only(self):
        tensor = m.take(b"abc")
        self.assertTrue(tensor.readonly)
        with self.assertRaisesRegex(BufferError, "read-only"):
            m.fill(tensor, 1)
        with self.assertRaisesRegex(BufferError, "read-only"):
            m.fill(b"abc", 1)

    def test_arrays_of_every_code_have_their_type(self):
        expected = {"b": "int8", "B": "uint8", "h": "int16", "H": "uint16", "i": "int32",
                    "I": "uint32", "q": "int64", "Q": "uint64", "f": "float32", "d": "float64",
                    "l": f"int{8 * array.array('l').itemsize}",
                    "L": f"uint{8 * array.array('L').itemsize}"}
        for code, name in expected.items():
            values = array.array(code, [1, 2, 3])
            tensor = m.take(values)
            self.assertEqual((tensor.dtype, tensor.shape), (name, (3,)))
            self.assertEqual(memoryview(tensor).tolist(), [1, 2, 3])
            m.fill(tensor, 5)
            self.assertEqual(list(values), [5, 5, 5])

    def test_a_type_that_tenon_lacks_is_a_buffer_error_that_names_its_format(self):
        with self.assertRaisesRegex(BufferError, 'format "u|format "w'):
            m.take(array.array("u", "abc"))
        swapped = ctypes.c_int32.__ctype_be__ if sys.byteorder == "little" else \
            ctypes.c_int32.__ctype_le__
        with self.assertRaisesRegex(BufferError, "format"):
            m.take((swapped * 3)())

    def test_memoryviews_keep_their_shape(self):
        memory = bytearray(range(24))
        view = memoryview(memory).cast("B", (2, 3, 4))
        self.assertEqual(m.take(view).shape, (2, 3, 4))
        every_second = memoryview(memory)[::2]
        tensor = m.take(every_second)
        self.assertEqual((tensor.shape, tensor.strides), ((12,), (2,)))
        backwards = m.take(memoryview(memory)[::-1])
        self.assertEqual((backwards.strides, memoryview(backwards).tolist()[:2]), ((-1,), [23, 22]))
        scalar = m.take(memoryview(array.array("f", [2.5])).cast("B").cast("f", ()))
        self.assertEqual((scalar.shape, scalar.size), ((), 1))

    def test_ctypes_arrays_are_taken(self):
        values = ((ctypes.c_double * 3) * 2)((1, 2, 3), (4, 5, 6))
        tensor = m.take(values)
        self.assertEqual((tensor.dtype, tensor.shape), ("float64", (2, 3)))
        m.fill(tensor, 8)
        self.assertEqual(values[1][2], 8)

    def test_misaligned_memory_is_copied_unless_that_is_forbidden(self):
        memory = memoryview(bytearray(20))
        view = memory[1:17].cast("f")
        tensor = m.take(view)
        self.assertEqual(m.data_pointer(tensor) % 4, 0)
        m.fill(tensor, 1)
        self.assertEqual(bytes(memory), bytes(20))
        with self.assertRaisesRegex(BufferError, "aligned"):
            m.take(view, copy=False)

    def test_a_copy_lets_go_of_the_memory(self):
        memory = bytearray(4)
        tensor = m.take(memory, copy=True)
        memory.append(1)
        self.assertEqual(tensor.shape, (4,))
        tensor = m.take(bytes(4), copy=True)
        self.assertFalse(tensor.readonly)

    def test_another_device_is_a_buffer_error(self):
        with self.assertRaisesRegex(BufferError, "cuda"):
            m.take(bytearray(4), device="cuda")
        self.assertEqual(m.take(bytearray(4), device="cpu").shape, (4,))

    def test_a_released_memoryview_is_an_error(self):
        view = memoryview(bytearray(4))
        view.release()
        with self.assertRaises(ValueError):
            m.take(view)


class OwnBuffer(Case):
    """tenon.Tensor's buffer protocol."""

    SIMPLE, WRITABLE, FORMAT, ND = 0, 1, 4, 8
    STRIDES = 0x10 | ND
    C, F, ANY = 0x20 | STRIDES, 0x40 | STRIDES, 0x80 | STRIDES
    FULL = 0x100 | STRIDES | WRITABLE | FORMAT
    FULL_RO = 0x100 | STRIDES | FORMAT

    def test_formats(self):
        long = "l" if ctypes.sizeof(ctypes.c_long) == 8 else "q"
        expected = {"float32": "f", "uint8": "B", "int8": "b", "int16": "h", "int32": "i",
                    "int64": long, "float16": "e", "float64": "d", "complex64": "Zf",
                    "complex128": "Zd", "bool": "?", "uint16": "H", "uint32": "I",
                    "uint64": long.upper()}
        for name, size in NAMES.items():
            tensor = m.make((2,), dtype=name)
            if name in expected:
                view = memoryview(tensor)
                self.assertEqual((view.format, view.itemsize, view.nbytes),
                                 (expected[name], size, 2 * size))
                self.assertEqual(m.take(view).dtype, name)
            else:
                with self.assertRaisesRegex(BufferError, name):
                    memoryview(tensor)

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


class ArrayInterface(Case):
    def test_the_memory_is_shared_and_its_owner_kept(self):
        source = Interface()
        memory = source.memory
        gone = weakref.ref(source)
        tensor = m.take(source)
        del source
        gc.collect()
        self.assertIsNotNone(gone())
        self.assertEqual(memoryview(tensor).tolist(), [[1, 2, 3], [4, 5, 6]])
        m.fill(tensor, 9)
        self.assertEqual(list(memory), [9] * 6)
        del tensor
        gc.collect()
        self.assertIsNone(gone())

    def test_strides_are_bytes_and_none_is_row_major(self):
        address = Interface().entries["data"][0]
        self.assertEqual(m.take(Interface(strides=None)).strides, (3, 1))
        self.assertEqual(m.take(Interface(shape=(3, 2), strides=(4, 12))).strides, (1, 3))
        last = Interface(shape=(6,), strides=(-4,))
        address = ctypes.addressof(last.memory)
        last.entries["data"] = (address + 20, False)
        self.assertEqual(memoryview(m.take(last)).tolist(), [6, 5, 4, 3, 2, 1])

    def test_read_only_is_honoured(self):
        source = Interface()
        source.entries["data"] = (source.entries["data"][0], True)
        self.assertTrue(m.take(source).readonly)

    def test_errors_say_what_is_wrong(self):
        for entries, error, text in (({"typestr": "<V4"}, BufferError, "<V4"),
                                     ({"typestr": ">f4" if sys.byteorder == "little" else "<f4"},
                                      BufferError, "f4"),
                                     ({"typestr": 5}, TypeError, "typestr"),
                                     ({"shape": None}, TypeError, "shape"),
                                     ({"shape": [2, 3]}, TypeError, "shape"),
                                     ({"shape": (2, "a")}, TypeError, "int"),
                                     ({"shape": (2, -3)}, ValueError, "negative"),
                                     ({"strides": (4,)}, ValueError, "length"),
                                     ({"strides": (6, 4)}, BufferError, "multiple"),
                                     ({"data": None}, BufferError, "data"),
                                     ({"data": (0, False)}, ValueError, "null"),
                                     ({"data": ("a", False)}, TypeError, ""),
                                     ({"mask": 1}, BufferError, "mask")):
            with self.subTest(entries):
                source = Interface(**entries)
                with self.assertRaisesRegex(error, text):
                    m.take(source)
        class NoDict:
            __array_interface__ = 5
        with self.assertRaisesRegex(TypeError, "int, expected a dict"):
            m.take(NoDict())

    def test_a_tensor_has_one_where_numpy_has_the_type(self):
        kinds = {"float32": "f4", "uint8": "u1", "int8": "i1", "int16": "i2", "int32": "i4",
                 "int64": "i8", "float16": "f2", "float64": "f8", "complex64": "c8",
                 "complex128": "c16", "bool": "b1", "uint16": "u2", "uint32": "u4", "uint64": "u8"}
        order = "<" if sys.byteorder == "little" else ">"
        for name, size in NAMES.items():
            tensor = m.make((2, 3), dtype=name)
            if name not in kinds:
                with self.assertRaisesRegex(AttributeError, name):
                    tensor.__array_interface__
                continue
            self.assertEqual(tensor.__array_interface__,
                             {"shape": (2, 3),
                              "typestr": (order if size > 1 else "|") + kinds[name],
                              "data": (m.data_pointer(tensor), False), "strides": None,
                              "version": 3})
        view = m.as_strided(m.make((2, 3), readonly=True), (3, 2), (1, 3))
        self.assertEqual(view.__array_interface__["strides"], (4, 12))
        self.assertTrue(view.__array_interface__["data"][1])
        self.assertFalse(hasattr(m.placeholder((2,)), "__array_interface__"))


class Objects(Case):
    def test_attributes(self):
        tensor = m.as_strided(m.make((4, 6), dtype="int16"), (2, 3), (6, 2))
        self.assertEqual((tensor.shape, tensor.strides, tensor.dtype, tensor.device),
                         ((2, 3), (6, 2), "int16", "cpu"))
        self.assertEqual((tensor.ndim, tensor.size, tensor.nbytes, tensor.itemsize),
                         (2, 6, 12, 2))
        self.assertIs(tensor.readonly, False)
        self.assertIs(m.make((1,), readonly=True).readonly, True)
        self.assertEqual(len(tensor), 2)
        self.assertEqual(type(tensor).__name__, "Tensor")
        self.assertEqual(type(tensor).__module__, "tenon")

    def test_types_are_named_as_numpy_and_torch_name_them(self):
        for name, size in NAMES.items():
            tensor = m.make((3,), dtype=name)
            self.assertEqual((tensor.dtype, tensor.itemsize), (name, size))

    def test_a_tensor_without_dimensions_has_no_length(self):
        with self.assertRaises(TypeError):
            len(m.make(()))
        self.assertEqual(len(m.make((0, 3))), 0)

    def test_repr_shows_the_elements(self):
        self.assertEqual(repr(m.make((2,), value=1.5)), "[1.5 1.5]\nFloat {2}")

    def test_attributes_cannot_be_set_and_the_type_makes_none(self):
        tensor = m.make((2,))
        for name in ("shape", "dtype", "anything"):
            with self.assertRaises(AttributeError):
                setattr(tensor, name, 1)
        with self.assertRaises(TypeError):
            type(tensor)()
        with self.assertRaises(TypeError):
            type("Sub", (type(tensor),), {})

    def test_is_python_tensor_knows_its_own(self):
        self.assertTrue(m.is_ours(m.make((2,))))
        for other in (b"abc", [1], type(m.make((2,)))):
            self.assertFalse(m.is_ours(other))

    def test_an_undefined_tensor_is_a_buffer_error(self):
        with self.assertRaisesRegex(BufferError, "to_python: .* undefined"):
            m.undefined()

    def test_own_objects_share_their_memory(self):
        tensor = m.make((2, 3))
        again = m.take(tensor)
        self.assertIsNot(again, tensor)
        self.assertEqual(m.data_pointer(again), m.data_pointer(tensor))
        del tensor
        m.fill(again, 4)
        self.assertEqual(memoryview(again).tolist(), [[4] * 3] * 2)
        copy = m.take(again, copy=True)
        self.assertNotEqual(m.data_pointer(copy), m.data_pointer(again))
        self.assertTrue(m.take(m.make((2,), readonly=True)).readonly)

    def test_errors_have_their_exceptions(self):
        for name, error in (("InvalidArgument", ValueError), ("OutOfBounds", ValueError),
                            ("InvalidType", TypeError), ("NotSupported", BufferError),
                            ("InvalidState", BufferError), ("InUse", BufferError),
                            ("OutOfMemory", MemoryError), ("NotFound", LookupError),
                            ("AccessFailed", RuntimeError), ("Internal", RuntimeError)):
            with self.assertRaises(error) as caught:
                m.raise_error(name, "the text, ünbroken".encode())
            self.assertIs(type(caught.exception), error)
            self.assertEqual(str(caught.exception), "the text, ünbroken")
        with self.assertRaisesRegex(ValueError, "cut \ufffd"):
            m.raise_error("InvalidArgument", b"cut \xc3")


class Lifetimes(Case):
    def test_the_owner_goes_after_its_last_user(self):
        class Owner(bytearray):
            pass

        owner = Owner(b"abc")
        gone = weakref.ref(owner)
        first = m.take(owner)
        second = memoryview(first)
        third = m.take(second)
        del owner, first, second
        gc.collect()
        self.assertIsNotNone(gone())
        self.assertEqual(memoryview(third).tobytes(), b"abc")
        del third
        gc.collect()
        self.assertIsNone(gone())

    def test_a_tensor_goes_after_its_last_user(self):
        tensor = m.make((2,), value=1)
        gone = weakref.ref(tensor)
        users = [memoryview(tensor), tensor.__dlpack__(), m.take(tensor), m.hold(tensor)]
        del tensor
        deleted = m.deleted()
        m.drop(users.pop())
        while users:
            self.assertEqual(m.deleted(), deleted)
            users.pop()
        self.assertEqual(m.deleted(), deleted + 1)
        self.assertIsNone(gone())

    def test_what_is_dropped_without_the_gil_is_released(self):
        for drop in (m.drop, m.drop_without_gil, m.drop_on_thread):
            for make in (bytearray, Producer, Interface):
                source = make(b"abc") if make is bytearray else \
                    make(m.make((2,))) if make is Producer else make()
                number = m.hold(source)
                if make is bytearray:
                    with self.assertRaises(BufferError):
                        source.append(1)
                drop(number)
                if make is bytearray:
                    source.append(1)
                self.assertEqual(sys.getrefcount(source), 2)

    def test_dropping_keeps_the_exception_in_flight(self):
        class Loud(bytearray):
            def __del__(self):
                raise ValueError("in __del__")

        number = m.hold(bytearray(3))
        with self.assertRaisesRegex(ZeroDivisionError, "in flight"):
            m.drop_with_error(number)
        number = m.hold(Loud(3))
        hook, sys.unraisablehook = sys.unraisablehook, lambda unraisable: None
        try:
            with self.assertRaisesRegex(ZeroDivisionError, "in flight"):
                m.drop_with_error(number)
        finally:
            sys.unraisablehook = hook

    def test_threads_exchange_tensors_and_nothing_is_left(self):
        failures = []
        shared = m.make((16,), value=3)
        memory = bytearray(64)

        def work(seed):
            try:
                for i in range(1500):
                    tensor = m.make((8,), value=seed)
                    number = m.hold(memoryview(tensor))
                    numbers = [number, m.hold(shared), m.hold(memory), m.hold(Producer(tensor))]
                    del tensor
                    view = m.held_object(number)
                    if memoryview(view).tolist() != [seed] * 8:
                        failures.append("another tensor's values")
                    del view
                    for n in numbers:
                        (m.drop, m.drop_without_gil)[(i + n) % 2](n)
                    if i % 100 == 0:
                        m.drop_on_thread(m.hold(memory))
            except Exception as error:  # shown by the main thread
                failures.append(repr(error))

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        deleted = m.deleted()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        gc.collect()
        self.assertEqual(m.deleted(), deleted + 4 * 1500)
        self.assertEqual(sys.getrefcount(memory), 2)
        self.assertEqual(sys.getrefcount(shared), 2)
        memory.append(1)

    def test_counts_are_level_after_many_exchanges(self):
        memory = bytearray(12)
        producer = OldProducer(m.make((3,)))
        modern = Producer(m.make((3,)))
        interface = Interface()
        tensor = m.make((3,))
        sources = (memory, producer, modern, interface, tensor)

        def exchange(times):
            for _ in range(times):
                for source in sources:
                    m.take(source)
                tensor.__dlpack__(max_version=(1, 0))
                m.take(tensor.__dlpack__())
                memoryview(tensor)
                producer.asked.clear()
                modern.asked.clear()
                try:
                    m.take([])
                except TypeError:
                    pass

        exchange(100)
        gc.collect()
        counts = [sys.getrefcount(source) for source in (*sources, None, True, False, type(tensor))]
        blocks = sys.getallocatedblocks()
        exchange(100_000 // 8)
        gc.collect()
        after = [sys.getrefcount(source) for source in (*sources, None, True, False, type(tensor))]
        # One that is lost in each round would be 12500. Python itself is not exact about None's.
        for before, now in zip(counts, after):
            self.assertLess(abs(now - before), 1000)
        self.assertLess(abs(sys.getallocatedblocks() - blocks), 200)

    def run_script(self, script):
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_what_outlives_the_interpreter_ends_quietly(self):
        self.run_script("import sys\n"
                        f"sys.path[:0] = {sys.path!r}\n"
                        "import tenon_test_module as m\n"
                        "m.hold(bytearray(3))\n"
                        "m.hold(m.make((2,)))\n"
                        "kept = m.take(bytearray(3))\n"
                        "class Cycle: pass\n"
                        "c = Cycle(); c.me = c; c.tensor = m.take(bytearray(5))\n"
                        "c.capsule = m.capsule(bytearray(5))\n"
                        "sys.kept = m.take(bytearray(4))\n")

    def test_objects_are_released_while_the_interpreter_shuts_down(self):
        out = self.run_script("import os, sys\n"
                              f"sys.path[:0] = {sys.path!r}\n"
                              "import tenon_test_module as m\n"
                              "class Owner(bytearray):\n"
                              "    def __del__(self, write=os.write): write(1, b'gone\\n')\n"
                              "sys.kept = m.take(Owner(3))\n"
                              "sys.kept_too = m.capsule(Owner(4))\n")
        self.assertEqual(out, "gone\n" * 2)


if __name__ == "__main__":
    unittest.main()
