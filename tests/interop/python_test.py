# SPDX-License-Identifier: MIT
"""interop/python.h: whichever way memory crosses, its owner goes after the last user."""

import gc
import sys
import threading
import unittest
import weakref

import tenon_test_module as m

from support import Case, Interface, OldProducer, Producer


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
        # One that is lost in each round would be 12500. Python's free lists keep some blocks, and it
        # is not exact about None's references.
        for before, now in zip(counts, after):
            self.assertLess(abs(now - before), 5000)
        self.assertLess(abs(sys.getallocatedblocks() - blocks), 2000)


if __name__ == "__main__":
    unittest.main()
