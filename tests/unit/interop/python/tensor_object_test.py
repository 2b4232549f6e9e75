# SPDX-License-Identifier: MIT
"""interop/python/tensor_object.h: how long a tenon.Tensor and what it holds live."""

import gc
import os
import unittest
import weakref

import numpy  # noqa: F401, the scripts' partner
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

    def test_a_cycle_over_a_memoryview_or_the_like_does_no_harm(self):
        # Before 3.13 the collector clears a memoryview that it finds, though it lends its buffer.
        for view in ("memoryview(Lender(8))", "pickle.PickleBuffer(Lender(8))",
                     "Bytes(b'abcdefgh').getbuffer()", "Bytes(b'abcdefgh').getbuffer().obj"):
            self.run_script("import gc, io, pickle\n"
                            "class Lender(bytearray): pass\n"
                            "class Bytes(io.BytesIO): pass\n"
                            "def owner(of):\n"
                            "    if isinstance(of, (Lender, Bytes)): return of\n"
                            "    return owner(gc.get_referents(of)[0])\n"
                            f"view = {view}\n"
                            "gc.collect()\n"  # sorts what it finds: the view before its owner
                            "owner(view).tensor = m.take(view)\n"
                            "del view\n"
                            # 3.13 says that it could not clear the view, and leaves it alone.
                            "sys.unraisablehook = lambda what: None\n"
                            "gc.collect()\n")

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


class Chains(Case):
    """Memory that is handed back and forth, each time held by what was made last."""

    def test_a_long_chain_is_released_with_little_stack(self):
        stack = 8 << 20 if "asan" in os.environ.get("LD_PRELOAD", "") else 256 << 10
        for trip in ("memoryview(tensor)", "numpy.asarray(tensor)", "Array(tensor)"):
            self.run_script(f"""
import threading, numpy
class Array:
    def __init__(self, tensor): self.tensor = tensor
    def __array__(self, copy=None): return numpy.asarray(self.tensor)
def go():
    tensor = m.make([4], value=3)
    for i in range(100_000): tensor = m.take({trip})
    assert m.live() == 1 and tensor.tolist() == [3, 3, 3, 3]
    del tensor
    assert m.live() == 0
threading.stack_size({stack})
thread = threading.Thread(target=go)
thread.start()
thread.join()
""")


if __name__ == "__main__":
    unittest.main()
