# SPDX-License-Identifier: MIT
"""interop/python/tensor_object.h: how long a tenon.Tensor and what it holds live."""

import gc
import unittest
import weakref

import tenon_test_module as m

from support import Case, Interface


class Lender(bytearray):
    """Lends its buffer, and may refer to anything."""


class Cycles(Case):
    def test_an_object_that_refers_to_a_tensor_over_itself_is_freed(self):
        for make in (lambda: Lender(4), Interface):
            for view in (lambda t: t, lambda t: t[1:], lambda t: m.take(t)[None]):
                owner = make()
                alive = weakref.ref(owner)
                owner.tensor = view(m.take(owner))
                del owner
                gc.collect()
                self.assertIsNone(alive())

    def test_a_cycle_through_lists_and_dicts_is_freed(self):
        owner = Lender(4)
        alive = weakref.ref(owner)
        owner.held = [{"tensor": m.take(owner)}]
        del owner
        gc.collect()
        self.assertIsNone(alive())

    def test_what_cxx_holds_too_stays(self):
        owner = Lender(b"abcd")
        alive = weakref.ref(owner)
        number = m.hold(owner)
        owner.tensor = m.held_object(number)
        del owner
        gc.collect()
        self.assertIsNotNone(alive())
        self.assertEqual(alive().tensor.tolist(), list(b"abcd"))
        m.drop_on_thread(number)
        gc.collect()
        self.assertIsNone(alive())

    def test_what_two_tensors_share_stays_until_both_are_gone(self):
        owner = Lender(b"abcd")
        alive = weakref.ref(owner)
        first = m.take(owner)
        owner.tensor = first[1:]
        del owner
        gc.collect()
        self.assertEqual(alive().tensor.tolist(), list(b"bcd"))
        self.assertEqual(first.tolist(), list(b"abcd"))
        del first
        gc.collect()
        self.assertIsNone(alive())

    def test_memory_of_cxx_is_released_with_the_cycle_that_it_is_in(self):
        tensor = m.make((2,))
        cycle = [tensor]
        cycle.append(cycle)
        deleted = m.deleted()
        del tensor, cycle
        gc.collect()
        self.assertEqual(m.deleted(), deleted + 1)


class References(Case):
    def test_weak_references_end_with_the_tensor(self):
        tensor = m.make((2,))
        alive = weakref.ref(tensor)
        self.assertIs(alive(), tensor)
        del tensor
        self.assertIsNone(alive())

    def test_reference_counts_and_memory_stay_level(self):
        tensor = m.make((3, 4))
        owner = Lender(8)

        def exchange(times):
            for i in range(times):
                tensor[i % 3, 1:].tolist()
                m.take(owner)[0].item()
                len(tensor), bool(tensor[0, 0]), hash(tensor), list(tensor)

        self.stays_level(exchange, [tensor, owner, type(tensor), None], 20_000)


if __name__ == "__main__":
    unittest.main()
