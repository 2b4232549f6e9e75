# SPDX-License-Identifier: MIT
"""interop/python/import.h: which way an object is asked for its memory, and for what."""

import unittest

import tenon_test_module as m

from support import IS_COPIED, Case, OldProducer, Producer


class Own(Case):
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

    def test_an_answer_that_is_no_capsule_is_a_type_error(self):
        class Wrong:
            def __dlpack__(self, **keywords):
                return 5

        with self.assertRaisesRegex(TypeError, "'int' object is no capsule"):
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
        with self.assertRaisesRegex(TypeError, "^tenon: 'list' object has neither __dlpack__ nor"):
            m.take([1, 2])


class Messages(Case):
    def test_they_name_no_cxx_functions(self):
        readonly = m.make((2,), readonly=True)
        consumed = m.capsule(m.make((2,)))
        m.take_capsule(consumed)
        for call in (lambda: m.take([1]), lambda: m.take(consumed), lambda: m.take_capsule(5),
                     lambda: m.take(m.hostile("dtype")), lambda: m.take(m.make((2,)), device="cuda"),
                     lambda: m.capsule(readonly, False), lambda: readonly.__dlpack__(),
                     lambda: m.make((2,)).__dlpack__(max_version=5), m.undefined):
            with self.assertRaises((BufferError, TypeError, ValueError)) as caught:
                call()
            self.assertNotRegex(str(caught.exception), r"::|(from|to)_(python|capsule|dlpack)|\ba int")


class KnownTypes(Case):
    def test_a_type_whose_attribute_is_something_else_is_asked_in_other_ways(self):
        class Odd(Producer):
            __dlpack_c_exchange_api__ = 12

        class Named(Producer):
            __dlpack_c_exchange_api__ = m.named_capsule("dlpack_exchange")

        for kind in (Odd, Named):
            self.assertEqual(m.take(kind(m.make((2,)))).shape, (2,))

    def test_asking_again_and_again_keeps_types_apart(self):
        # More types than are remembered at a time, so that they take each other's places.
        for number in range(200):
            kind = type(f"Kind{number}", (Producer,), {})
            self.assertEqual(m.take(kind(m.make((number,)))).shape, (number,))


if __name__ == "__main__":
    unittest.main()
