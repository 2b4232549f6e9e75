# SPDX-License-Identifier: MIT
"""interop/python/import.h: which way an object is asked for its memory, and for what."""

import gc
import unittest
import weakref

import tenon_test_module as m

from support import IS_COPIED, Case, OldProducer, Producer


class Answering:
    """Answers what a function gives, and keeps it."""

    def __init__(self, make):
        self.make = make

    def __dlpack__(self, **keywords):
        self.answer = self.make()
        return self.answer


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


class Types(Case):
    """What is looked up in the type of an object."""

    # A look-up that asks a metaclass takes longer than all the rest of an import.
    def test_with_many_types_in_turn_none_is_asked_again(self):
        class Meta(type):
            asked = 0

            def __getattribute__(cls, name):
                Meta.asked += 1
                return super().__getattribute__(name)

        sources = [Meta(f"Memory{i}", (bytearray,), {})(4) for i in range(100)]
        for source in sources:
            m.data_pointer(source)
        Meta.asked = 0
        for source in sources * 3:
            m.data_pointer(source)
        self.assertEqual(Meta.asked, 0)

    def test_a_type_may_die_and_another_has_its_place(self):
        api = type(m.make((1,))).__dlpack_c_exchange_api__
        for i in range(100):
            source = type("Memory", (bytearray,), {})(4)
            self.assertEqual(m.take(source).shape, (4,))
            # Not of its type, which its functions say.
            other = type("Other", (), {"__dlpack_c_exchange_api__": api})()
            self.assertRaisesRegex(TypeError, "is not a tenon.Tensor", m.take, other)
            gone = [weakref.ref(type(source)), weakref.ref(type(other))]
            del source, other
            gc.collect()
            self.assertEqual([ref() for ref in gone], [None, None])

    def test_what_a_type_gets_later_is_seen(self):
        class Memory(bytearray):
            pass

        source = Memory(4)
        self.assertEqual(m.take(source).dtype, "uint8")
        Memory.__dlpack_c_exchange_api__ = "not a capsule"
        self.assertEqual(m.take(source).dtype, "uint8")
        Memory.requires_grad = True
        Memory.is_conj = Memory.is_neg = lambda self: False
        self.assertRaisesRegex(BufferError, "requires grad", m.take, source)


class Producers(Case):
    """Classes with __dlpack__."""

    def test_the_newest_version_is_asked_for_and_what_the_caller_wants(self):
        producer = Producer(m.make((2,)))
        version = {"max_version": (1, 3)}
        for wanted, asked in (({}, {}), ({"copy": False}, {"copy": False}),
                              ({"copy": True}, {"copy": True}),
                              ({"device": "cpu"}, {"dl_device": (1, 0)}),
                              ({"device": "cpu", "copy": False},
                               {"dl_device": (1, 0), "copy": False})):
            taken = m.take(producer, **wanted)
            self.assertEqual(producer.asked.pop(), {**version, **asked})
            self.assertEqual(m.data_pointer(taken) == m.data_pointer(producer.tensor),
                             not wanted.get("copy"))

    def test_the_stream_is_named_for_a_gpu_alone(self):
        gpu = type("Gpu", (Producer,), {"__dlpack_device__": lambda self: (2, 0)})
        producer = gpu(m.make((2,)))
        m.take(producer)
        self.assertEqual(producer.asked, [{"max_version": (1, 3), "stream": 1}])

    def test_a_legacy_answer_is_taken_too(self):
        for producer in (Producer(m.make((2,)), versioned=False), OldProducer(m.make((2,)))):
            for copy in (None, False):
                self.assertEqual(m.data_pointer(m.take(producer, copy)),
                                 m.data_pointer(producer.tensor))
        self.assertEqual(len(producer.asked), 2)

    def test_a_copy_is_not_asked_for_by_leaving_it_out(self):
        producer = OldProducer(m.make((2,)))
        self.assertRaisesRegex(TypeError, "keyword", m.take, producer, copy=True)
        self.assertEqual(producer.asked, [])

    def test_copy_true_gives_one_copy_whoever_makes_it(self):
        tensor = m.make((2,), value=2)
        taken = m.take(Producer(tensor), copy=True)
        self.assertNotEqual(m.data_pointer(taken), m.data_pointer(tensor))
        self.assertEqual(memoryview(taken).tolist(), [2, 2])
        addresses = []

        def copy():
            capsule = tensor.__dlpack__(max_version=(1, 0), copy=True)
            self.assertEqual(m.capsule_flags(capsule), IS_COPIED)
            addresses.append(m.capsule_address(capsule))
            return capsule

        for source in (Answering(copy), copy()):
            taken = m.take(source, copy=True)
            self.assertEqual(m.data_pointer(taken), addresses.pop())
            self.assertEqual(memoryview(taken).tolist(), [2, 2])

    def test_an_interrupt_is_not_taken_for_a_missing_method(self):
        class Interrupted(Producer):
            def __dlpack_device__(self):
                raise KeyboardInterrupt("stop")

        class Without(Producer):
            __dlpack_device__ = property(lambda self: 1 // 0)

        self.assertRaisesRegex(KeyboardInterrupt, "stop", m.take, Interrupted(m.make((2,))))
        self.assertEqual(m.take(Without(m.make((2,)))).shape, (2,))

    def test_an_answer_that_is_no_capsule_to_take_is_an_error(self):
        self.assertRaisesRegex(TypeError, "'int' object is not a capsule", m.take,
                               Answering(lambda: 5))
        capsule = m.capsule(m.make((2,)))
        producer = Answering(lambda: capsule)
        self.assertEqual(m.take(producer).shape, (2,))
        self.assertRaisesRegex(ValueError, "consumed before", m.take, producer)
        producer = Answering(lambda: m.hostile("dtype"))
        self.assertRaisesRegex(BufferError, "17 bits", m.take, producer)
        self.assertEqual(m.capsule_name(producer.answer), "dltensor_versioned")

    def test_an_attribute_that_raises_is_not_taken_for_a_missing_one(self):
        class Raising:
            @property
            def __dlpack__(self):
                raise RuntimeError("the property broke")

        self.assertRaisesRegex(RuntimeError, "the property broke", m.take, Raising())

    def test_an_object_that_has_nothing_is_a_type_error(self):
        for nothing in ([1, 2], "text", 5, None, object(), dict):
            self.assertRaises(TypeError, m.take, nothing)
        self.assertRaisesRegex(TypeError, "^tenon: 'list' object has neither __dlpack__ nor",
                               m.take, [1, 2])


class Messages(Case):
    def test_they_name_no_cxx_functions(self):
        readonly = m.make((2,), readonly=True)
        consumed = m.capsule(m.make((2,)))
        m.take_capsule(consumed)
        for call in (lambda: m.take([1]), lambda: m.take(consumed), lambda: m.take_capsule(5),
                     lambda: m.take(m.hostile("dtype")), lambda: m.take(m.make((2,)), device="cuda"),
                     lambda: m.capsule(readonly, False), lambda: readonly.__dlpack__(copy=False),
                     lambda: m.make((2,)).__dlpack__(max_version=5), m.undefined):
            with self.assertRaises((BufferError, TypeError, ValueError)) as caught:
                call()
            self.assertNotRegex(str(caught.exception), r"::|(from|to)_(python|capsule|dlpack)|\ba int")


class KnownTypes(Case):
    def test_a_type_whose_attribute_is_something_else_is_asked_in_other_ways(self):
        for odd in (12, m.named_capsule("dlpack_exchange")):
            kind = type("Odd", (Producer,), {"__dlpack_c_exchange_api__": odd})
            self.assertEqual(m.take(kind(m.make((2,)))).shape, (2,))


if __name__ == "__main__":
    unittest.main()
