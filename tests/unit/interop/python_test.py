# SPDX-License-Identifier: MIT
"""interop/python.h: whichever way memory crosses, its owner goes after the last user."""

import gc
import sys
import unittest
import weakref

import tenon_test_module as m

from support import Case, Interface, OldProducer, Producer


class Loud(bytearray):
    def __del__(self):
        raise ValueError("in __del__")


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

    def test_dropping_keeps_the_exception_in_flight(self):
        hook, sys.unraisablehook = sys.unraisablehook, lambda unraisable: None
        try:
            for make in (bytearray, Loud):
                with self.assertRaisesRegex(ZeroDivisionError, "in flight"):
                    m.drop_with_error(m.hold(make(3)))
        finally:
            sys.unraisablehook = hook

    def test_threads_exchange_tensors_and_nothing_is_left(self):
        shared = m.make((16,), value=3)
        memory = bytearray(64)

        def work(seed):
            for i in range(1500):
                tensor = m.make((8,), value=seed)
                number = m.hold(memoryview(tensor))
                numbers = [number, m.hold(shared), m.hold(memory), m.hold(Producer(tensor))]
                del tensor
                if memoryview(m.held_object(number)).tolist() != [seed] * 8:
                    return ["another tensor's values"]
                for n in numbers:
                    (m.drop, m.drop_without_gil)[(i + n) % 2](n)
                if i % 100 == 0:
                    m.drop_on_thread(m.hold(memory))

        deleted = m.deleted()
        self.run_threads(4, work)
        self.assertEqual(m.deleted(), deleted + 4 * 1500)
        self.assertEqual((sys.getrefcount(memory), sys.getrefcount(shared)), (2, 2))
        memory.append(1)

    def test_counts_are_level_after_many_exchanges(self):
        tensor = m.make((3,))
        old, modern = OldProducer(m.make((3,))), Producer(m.make((3,)))
        sources = (bytearray(12), old, modern, Interface(), tensor)

        def exchange(times):
            for i in range(times):
                for source in sources:
                    m.take(source)[i % 2:].tolist()
                tensor.__dlpack__(max_version=(1, 0))
                m.take(tensor.__dlpack__())
                memoryview(tensor)
                len(tensor), bool(tensor[0]), hash(tensor), list(tensor), tensor[1].item()
                old.asked.clear()
                modern.asked.clear()
                self.assertRaises(TypeError, m.take, [])

        self.stays_level(exchange, [*sources, None, True, False, type(tensor)], 12_500)


if __name__ == "__main__":
    unittest.main()
