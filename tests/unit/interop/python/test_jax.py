# SPDX-License-Identifier: MIT
"""Exchange with JAX, whose arrays are immutable and whose DLPack is that from before version 1."""

import gc
import sys
import unittest

import jax
import jax.numpy as jnp
import numpy as np
import tenon_test_module as m

from support import NAMES, Case

# JAX has the 64-bit types when it is asked to, and no complex32.
TYPES = NAMES.keys() - {"int64", "uint64", "float64", "complex32", "complex128"}


def aligned(shape, dtype=np.float32):
    """An array at a multiple of 64 bytes: JAX copies all others."""
    nbytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start:start + nbytes].view(dtype).reshape(shape)


class JaxTest(Case):
    def test_an_array_of_jax_is_shared_and_read_only(self):
        array = jnp.arange(6.0).reshape(2, 3)
        for offered in (array, memoryview(array)):
            taken = m.take(offered, False)
            self.assertEqual(m.data_pointer(taken), array.unsafe_buffer_pointer())
            self.assertEqual((taken.shape, taken.strides), ((2, 3), (3, 1)))
            self.assertEqual((taken.dtype, taken.device, taken.readonly), ("float32", "cpu", True))
            self.assertFalse(np.asarray(taken).flags.writeable)
        self.assertRaisesRegex(BufferError, "read-only", m.fill, array, 7)
        self.assertEqual(array.tolist(), [[0, 1, 2], [3, 4, 5]])

    def test_a_copy_of_an_array_of_jax_may_be_written(self):
        for dtype in (jnp.float32, jnp.bfloat16):
            array = jnp.ones(3, dtype)
            copy = m.take(array, True)
            self.assertFalse(copy.readonly)
            m.fill(copy, 7)
            self.assertEqual(array.tolist(), [1, 1, 1])

    def test_a_change_before_the_exchange_is_seen_by_all_three(self):
        array = aligned((4, 4))
        tensor = m.take(array)
        m.fill(tensor, 3)
        array[1, 2] = 5
        exchanged = jnp.from_dlpack(tensor)
        self.assertEqual(exchanged.unsafe_buffer_pointer(), array.ctypes.data)
        expected = [[3, 3, 3, 3], [3, 3, 5, 3], [3, 3, 3, 3], [3, 3, 3, 3]]
        self.assertEqual(exchanged.tolist(), expected)
        self.assertEqual(np.asarray(m.take(exchanged)).tolist(), expected)
        self.assertEqual(m.data_pointer(exchanged), array.ctypes.data)

    def test_all_types_keep_their_name_and_their_bytes(self):
        for name in TYPES:
            for shape in ((4,), (), (0,), (3, 0, 2), (1, 1)):
                with self.subTest(name, shape=shape):
                    array = jnp.ones(shape).astype(getattr(jnp, name))
                    taken = m.take(array)
                    self.assertEqual((taken.dtype, taken.shape, taken.readonly),
                                     (name, shape, True))
                    if array.size:
                        self.assertEqual(m.data_pointer(taken), array.unsafe_buffer_pointer())
                    for back in (jnp.from_dlpack(taken), jnp.from_dlpack(taken, copy=True),
                                 jnp.from_dlpack(m.take(taken, True)), jnp.asarray(taken)):
                        self.assertEqual((back.dtype, back.shape), (array.dtype, shape))
                        self.assertEqual(back.tolist(), array.tolist())
        self.assertRaisesRegex(ValueError, "dtype.*complex32", jnp.asarray,
                               m.make((2,), dtype="complex32"))

    def test_jax_has_a_copy_of_what_is_read_only(self):
        # It asks for a struct from before 1.0, which cannot say so, and passes no copy on.
        taken = m.take(jnp.arange(3.0))
        for copied in (None, True, False):
            back = jnp.from_dlpack(taken, copy=copied)
            self.assertNotEqual(back.unsafe_buffer_pointer(), m.data_pointer(taken))

    def test_types_that_tenon_lacks_are_refused(self):
        for name in ("float8_e8m0fnu", "float8_e3m4", "float4_e2m1fn"):
            array = jnp.ones(2, getattr(jnp, name))
            self.assertRaisesRegex(BufferError, "no element type", m.take, array)
        self.assertRaises(Exception, m.take, jnp.ones(2, jnp.int4))

    def test_jax_takes_compact_layouts_in_any_order_of_dimensions(self):
        array = aligned((4, 8))
        array[:] = np.arange(32).reshape(4, 8)
        turned = jnp.from_dlpack(m.take(array.T))
        self.assertEqual(turned.tolist(), array.T.tolist())
        repeated = np.broadcast_to(array[0], (4, 8))  # read-only: JAX gets a copy, which is compact
        self.assertEqual(jnp.from_dlpack(m.take(repeated)).tolist(), repeated.tolist())
        for strided in (array[:, ::2], array[::-1]):
            before = sys.getrefcount(array)
            self.assertRaises(Exception, jnp.from_dlpack, m.take(strided))
            gc.collect()
            self.assertEqual(sys.getrefcount(array), before)

    def test_what_is_no_array_yet_or_no_more_is_refused(self):
        jax.jit(lambda array: self.assertRaises(TypeError, m.take, array))(jnp.ones(3))
        deleted = jnp.ones(3)
        deleted.delete()
        self.assertRaisesRegex(RuntimeError, "deleted", m.take, deleted)
        self.assertRaises(TypeError, m.take, jax.random.key(0))

    def test_an_array_of_jax_lives_as_long_as_tenon_looks_at_it(self):
        for dtype in (jnp.float32, jnp.bfloat16):  # by a buffer, and by __dlpack__
            array = jnp.full(1000, 7, dtype)
            number = m.hold(array)
            del array
            gc.collect()
            churn = [jnp.zeros(1000, dtype) for _ in range(20)]
            held = jnp.from_dlpack(m.take(m.held_object(number), True))
            self.assertTrue((held == 7).all())
            m.drop_on_thread(number)
            del churn


if __name__ == "__main__":
    unittest.main()
