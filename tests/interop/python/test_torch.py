# SPDX-License-Identifier: MIT
"""Exchange with PyTorch, through DLPack's capsules, __dlpack__ and PyTorch's C exchange API."""

import gc
import os
import sys
import threading
import unittest
import warnings
import weakref

import numpy as np
import tenon_test_module as m
import torch
from torch.utils import dlpack

from support import resident_bytes

# tenon's types, by the name that both have for them.
INTEGRAL = "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64".split()
FLOATING = ("float16 float32 float64 bfloat16 "
            "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz").split()
COMPLEX = "complex32 complex64 complex128".split()


def refuses(test, kind, pattern, tensor):
    """Checks an error, and that it is none of a copy either."""
    for copy in (None, True, False):
        with test.assertRaisesRegex(kind, pattern):
            m.take(tensor, copy)


class TorchTest(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")  # PyTorch's, on what it calls a beta state
        gc.collect()
        self.live = m.live()

    def tearDown(self):
        gc.collect()
        self.assertEqual(m.live(), self.live)

    def test_a_change_through_one_is_seen_by_all_three(self):
        array = np.zeros((2, 3), np.float32)
        tensor = m.take(array)
        for exchanged in (torch.from_dlpack(tensor), dlpack.from_dlpack(tensor),
                          dlpack.from_dlpack(m.capsule(array)),
                          dlpack.from_dlpack(m.capsule(array, False))):
            self.assertEqual(exchanged.data_ptr(), array.ctypes.data)
            exchanged[0, 1] += 1
            array[0, 2] += 10
            m.fill(exchanged[1], array[0, 1])
            expected = [[0, array[0, 1], array[0, 2]], [array[0, 1]] * 3]
            self.assertEqual(exchanged.tolist(), expected)
            self.assertEqual(np.asarray(m.take(exchanged)).tolist(), expected)
        self.assertEqual(array.tolist(), [[0, 4, 40], [4, 4, 4]])

    def test_what_pytorch_gives_is_shared(self):
        tensor = torch.arange(6.0).reshape(2, 3)
        for offered in (tensor, dlpack.to_dlpack(tensor), tensor.__dlpack__(max_version=(1, 0)),
                        torch.nn.Parameter(tensor, requires_grad=False)):
            taken = m.take(offered, False)
            self.assertEqual(m.data_pointer(taken), tensor.data_ptr())
            self.assertEqual((taken.shape, taken.strides), ((2, 3), (3, 1)))
            self.assertEqual((taken.dtype, taken.device, taken.readonly), ("float32", "cpu", False))
        copy = m.take(tensor, True)
        self.assertNotEqual(m.data_pointer(copy), tensor.data_ptr())
        self.assertEqual(np.asarray(copy).tolist(), tensor.tolist())

    def test_capsules_are_taken_once(self):
        for tensor in (torch.ones(2), m.take(torch.ones(2))):
            for options in ({}, {"max_version": (1, 0)}):
                capsule = tensor.__dlpack__(**options)
                m.take(capsule)
                with self.assertRaisesRegex(ValueError, "consumed"):
                    m.take(capsule)
                with self.assertRaises(RuntimeError):
                    dlpack.from_dlpack(capsule)

    def test_all_types_keep_their_name_and_their_bytes(self):
        for name in INTEGRAL + FLOATING + COMPLEX:
            with self.subTest(name):
                dtype = getattr(torch, name)
                tensor = torch.tensor([0.0, 1.0, 1.0, 0.0]).to(dtype)
                taken = m.take(tensor)
                self.assertEqual(taken.dtype, name)
                self.assertEqual(taken.itemsize, dtype.itemsize)
                back = torch.from_dlpack(taken)
                self.assertIs(back.dtype, dtype)
                self.assertEqual(back.data_ptr(), tensor.data_ptr())
                self.assertEqual(back.view(torch.uint8).tolist(), tensor.view(torch.uint8).tolist())

    def test_values_are_read_alike(self):
        for name in FLOATING:
            tensor = torch.tensor([1.5, -0.25, 4.0]).to(getattr(torch, name))
            self.assertEqual(repr_values(m.take(tensor)), "[ 1.5  -0.25  4.  ]", name)
        self.assertEqual(repr_values(m.take(torch.tensor([True, False]))), "[ True False]")
        self.assertEqual(repr_values(m.take(torch.tensor([1.5 - 2j]))), "[1.5-2.j]")

    def test_layouts_stay_as_they_are(self):
        base = torch.arange(24.0).reshape(2, 3, 4)
        for tensor in (base, base.transpose(0, 2), base[:, 1:, ::2], base[1, 2], base[1, 2, 3],
                       base[:, :0], torch.zeros(0), torch.zeros(3, 0, 2), torch.tensor(5.0),
                       torch.ones(1).expand(4), torch.ones(3, 1).expand(3, 4),
                       base.to(memory_format=torch.preserve_format)):
            taken = m.take(tensor)
            self.assertEqual(taken.shape, tuple(tensor.shape))
            self.assertEqual(taken.strides, tensor.stride())
            back = torch.from_dlpack(taken)
            self.assertEqual(back.shape, tensor.shape)
            self.assertEqual(back.stride(), tensor.stride())
            self.assertEqual(back.tolist(), tensor.tolist())
            if tensor.numel() > 0:
                self.assertEqual(back.data_ptr(), tensor.data_ptr())

    def test_negative_strides_are_refused_by_pytorch_and_released(self):
        before = m.deleted()
        reversed_ = m.take(np.asarray(m.make([4]))[::-1])
        self.assertEqual(reversed_.strides, (-1,))
        with self.assertRaises(RuntimeError):
            torch.from_dlpack(reversed_)
        del reversed_
        gc.collect()
        self.assertEqual(m.deleted(), before + 1)

    def test_a_read_only_tensor_says_so_where_it_can_be_said(self):
        tensor = m.make([3], readonly=True)
        self.assertEqual(m.capsule_flags(tensor.__dlpack__(max_version=(1, 0))), 1)
        with self.assertRaisesRegex(BufferError, "read-only"):
            dlpack.from_dlpack(tensor.__dlpack__())

    def test_what_autograd_watches_is_refused(self):
        for dtype in (torch.float32, torch.complex64):
            tensor = torch.ones(2, dtype=dtype, requires_grad=True)
            refuses(self, BufferError, r"requires grad.*detach\(\)", tensor)
            refuses(self, BufferError, r"requires grad.*detach\(\)", tensor * 2)
            refuses(self, BufferError, r"requires grad.*detach\(\)", torch.nn.Parameter(tensor))
            self.assertEqual(m.data_pointer(tensor.detach()), tensor.data_ptr())
        with torch.no_grad():
            self.assertEqual(m.take(tensor * 2).shape, (2,))

    def test_a_lazy_conjugation_is_refused(self):
        tensor = torch.tensor([1 + 2j, 3 - 4j]).conj()
        self.assertTrue(tensor.is_conj())
        refuses(self, BufferError, r"conjugated.*resolve_conj\(\)", tensor)
        self.assertEqual(np.asarray(m.take(tensor.resolve_conj())).tolist(), [1 - 2j, 3 + 4j])

    def test_a_lazy_negation_is_refused(self):
        imaginary = torch.tensor([1 + 2j, 3 - 4j]).conj().imag
        self.assertTrue(imaginary.is_neg())
        for tensor in (imaginary, torch._neg_view(torch.tensor([1 + 2j])),
                       torch._neg_view(torch.tensor([1]))):
            refuses(self, BufferError, r"negated.*resolve_neg\(\)", tensor)
        self.assertEqual(np.asarray(m.take(imaginary.resolve_neg())).tolist(), [-2, 4])

    def test_what_is_no_strided_memory_is_refused(self):
        quantized = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)
        nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
        resized = torch.ones(2)
        resized.untyped_storage().resize_(0)
        for tensor, kind in ((torch.ones(2, 2).to_sparse(), BufferError),
                             (torch.ones(2, 2, device="meta"), BufferError),
                             (quantized, BufferError),
                             (torch.ones(2, dtype=torch.float8_e8m0fnu), BufferError),
                             (torch._efficientzerotensor(3), ValueError), (resized, ValueError),
                             (nested, RuntimeError)):
            with self.assertRaises(kind):
                m.take(tensor)

    def test_subclasses_are_taken_like_tensors(self):
        class Measured(torch.Tensor):
            pass

        tensor = torch.ones(3).as_subclass(Measured)
        self.assertEqual(m.data_pointer(tensor), tensor.data_ptr())
        refuses(self, BufferError, "requires grad", tensor.clone().requires_grad_())

    def test_autograd_runs_over_memory_of_tenon(self):
        values = torch.from_dlpack(m.make([3], value=2))
        weights = torch.ones(3, requires_grad=True)
        (weights * values).sum().backward()
        self.assertEqual(weights.grad.tolist(), [2, 2, 2])

    def test_pytorch_copies_where_it_is_asked_to(self):
        tensor = m.make([2], value=1)
        copy = torch.from_dlpack(tensor, copy=True)
        copy[0] = 5
        self.assertEqual(np.asarray(tensor).tolist(), [1, 1])
        same = torch.from_dlpack(tensor, device="cpu", copy=False)
        self.assertEqual(same.data_ptr(), m.data_pointer(tensor))

    def test_memory_of_tenon_lives_as_long_as_pytorch_looks_at_it(self):
        before = m.deleted()
        tensor = m.make([2, 3], value=4)
        views = [torch.from_dlpack(tensor)[0], dlpack.from_dlpack(tensor.__dlpack__()).T]
        views.append(views[0].view(3, 1))
        del tensor
        while views:
            gc.collect()
            self.assertEqual(m.deleted(), before)
            self.assertEqual(views.pop().sum() % 4, 0)
        gc.collect()
        self.assertEqual(m.deleted(), before + 1)

    def test_memory_of_pytorch_lives_as_long_as_tenon_looks_at_it(self):
        array = np.full(1000, 7.0)
        alive = weakref.ref(array)
        tensor = torch.from_numpy(array)
        number = m.hold(tensor[10:20])
        del array, tensor
        gc.collect()
        self.assertIsNotNone(alive())
        self.assertEqual(np.asarray(m.held_object(number)).tolist(), [7.0] * 10)
        m.drop_on_thread(number)
        gc.collect()
        self.assertIsNone(alive())

    def test_an_undone_import_leaves_nothing_behind(self):
        array = np.full(10, 7.0)
        alive = weakref.ref(array)
        tensor = torch.from_numpy(array).requires_grad_()
        refuses(self, BufferError, "requires grad", tensor)
        del array, tensor
        gc.collect()
        self.assertIsNone(alive())

    def test_threads_exchange_and_drop_at_once(self):
        shared = torch.arange(6.0)
        faults = []

        def exchange():
            try:
                for i in range(500):
                    tensor = m.make([3], value=i)
                    view = torch.from_dlpack(tensor)
                    number = m.hold(view)
                    del tensor
                    if view.tolist() != [i] * 3 or np.asarray(m.take(shared))[5] != 5:
                        faults.append(view)
                    del view
                    (m.drop_without_gil if i % 2 else m.drop_on_thread)(number)
            except BaseException as error:  # a thread's error would be lost
                faults.append(error)

        before = m.deleted()
        threads = [threading.Thread(target=exchange) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(faults, [])
        self.assertEqual(m.deleted(), before + 3000)

    def test_reference_counts_and_memory_stay_level(self):
        tensor = torch.arange(12.0).reshape(3, 4)
        watched = torch.ones(3, requires_grad=True)
        ours = m.make([3, 4])

        def exchange(times):
            for i in range(times):
                m.touch(tensor)
                torch.from_dlpack(ours)
                if i % 10 == 0:
                    m.take(tensor.__dlpack__())
                    tensor.__dlpack__(max_version=(1, 0))  # and never taken
                    self.assertEqual(m.take_error(watched), "NotSupported")

        exchange(1000)
        gc.collect()
        things = [tensor, watched, ours, torch.Tensor, type(ours), None, BufferError]
        references = [sys.getrefcount(thing) for thing in things]
        blocks, bytes_ = sys.getallocatedblocks(), resident_bytes()
        exchange(100_000)
        gc.collect()
        for thing, count in zip(things, references):
            self.assertLess(abs(sys.getrefcount(thing) - count), 1000, thing)
        self.assertLess(abs(sys.getallocatedblocks() - blocks), 500)
        if "asan" not in os.environ.get("LD_PRELOAD", ""):  # which keeps what was freed
            self.assertLess(resident_bytes() - bytes_, 4 << 20)  # 40 bytes for each


def repr_values(tensor):
    """The values in a repr, on one line."""
    return repr(tensor).split("\n", 1)[0]


if __name__ == "__main__":
    unittest.main()
