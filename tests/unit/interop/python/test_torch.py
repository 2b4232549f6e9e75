# SPDX-License-Identifier: MIT
"""Exchange with PyTorch, through DLPack's capsules, __dlpack__ and PyTorch's C exchange API."""

import unittest
import warnings

import numpy as np
import tenon_test_module as m
import torch
from torch.utils import dlpack

from support import NAMES, Case


class TorchTest(Case):
    def setUp(self):
        warnings.simplefilter("ignore")  # PyTorch's, on what it calls a beta state
        super().setUp()

    def refuses(self, pattern, tensor):
        """Checks a BufferError, and that it is none of a copy either."""
        for copy in (None, True, False):
            self.assertRaisesRegex(BufferError, pattern, m.take, tensor, copy)

    def test_a_change_through_one_is_seen_by_all_three(self):
        array = np.zeros((2, 3), np.float32)
        tensor = m.take(array)
        for exchanged in (torch.from_dlpack(tensor), dlpack.from_dlpack(tensor),
                          dlpack.from_dlpack(m.capsule(array)),
                          dlpack.from_dlpack(m.capsule(array, False)),
                          torch.from_dlpack(tensor, device="cpu", copy=False)):
            self.assertEqual(exchanged.data_ptr(), array.ctypes.data)
            exchanged[0, 1] += 1
            array[0, 2] += 10
            m.fill(exchanged[1], array[0, 1])
            expected = [[0, array[0, 1], array[0, 2]], [array[0, 1]] * 3]
            self.assertEqual(exchanged.tolist(), expected)
            self.assertEqual(np.asarray(m.take(exchanged)).tolist(), expected)
        copy = torch.from_dlpack(tensor, copy=True)
        copy[0] = 7
        self.assertEqual(array.tolist(), [[0, 5, 50], [5, 5, 5]])

    def test_what_pytorch_gives_is_shared(self):
        class Measured(torch.Tensor):
            pass

        tensor = torch.arange(6.0).reshape(2, 3)
        for offered in (tensor, dlpack.to_dlpack(tensor), tensor.__dlpack__(max_version=(1, 0)),
                        torch.nn.Parameter(tensor, requires_grad=False),
                        tensor.as_subclass(Measured)):
            taken = m.take(offered, False)
            self.assertEqual(m.data_pointer(taken), tensor.data_ptr())
            self.assertEqual((taken.shape, taken.strides), ((2, 3), (3, 1)))
            self.assertEqual((taken.dtype, taken.device, taken.readonly), ("float32", "cpu", False))
        copy = m.take(tensor, True)
        self.assertNotEqual(m.data_pointer(copy), tensor.data_ptr())
        self.assertEqual(np.asarray(copy).tolist(), tensor.tolist())

    def test_all_types_keep_their_name_and_their_bytes(self):
        for name in NAMES:
            with self.subTest(name):
                dtype = getattr(torch, name)
                tensor = torch.tensor([0.0, 1.0, 1.0, 0.0]).to(dtype)
                taken = m.take(tensor)
                self.assertEqual((taken.dtype, taken.itemsize), (name, dtype.itemsize))
                back = torch.from_dlpack(taken)
                self.assertIs(back.dtype, dtype)
                self.assertEqual(back.data_ptr(), tensor.data_ptr())
                self.assertEqual(back.view(torch.uint8).tolist(), tensor.view(torch.uint8).tolist())

    def test_layouts_stay_as_they_are(self):
        base = torch.arange(24.0).reshape(2, 3, 4)
        for tensor in (base, base.transpose(0, 2), base[:, 1:, ::2], base[1, 2], base[1, 2, 3],
                       base[:, :0], torch.zeros(0), torch.zeros(3, 0, 2), torch.tensor(5.0),
                       torch.ones(1).expand(4), torch.ones(3, 1).expand(3, 4)):
            taken = m.take(tensor)
            self.assertEqual((taken.shape, taken.strides), (tuple(tensor.shape), tensor.stride()))
            back = torch.from_dlpack(taken)
            self.assertEqual((back.shape, back.stride()), (tensor.shape, tensor.stride()))
            self.assertEqual(back.tolist(), tensor.tolist())
            if tensor.numel() > 0:
                self.assertEqual(back.data_ptr(), tensor.data_ptr())

    def test_what_autograd_watches_is_refused(self):
        for dtype in (torch.float32, torch.complex64):
            tensor = torch.ones(2, dtype=dtype, requires_grad=True)
            for watched in (tensor, tensor * 2, torch.nn.Parameter(tensor)):
                self.refuses(r"requires grad.*detach\(\)", watched)
            self.assertEqual(m.data_pointer(tensor.detach()), tensor.data_ptr())
        with torch.no_grad():
            self.assertEqual(m.take(tensor * 2).shape, (2,))

    def test_what_is_lazily_conjugated_or_negated_is_refused(self):
        conjugated = torch.tensor([1 + 2j, 3 - 4j]).conj()
        self.assertTrue(conjugated.is_conj())
        self.refuses(r"conjugated.*resolve_conj\(\)", conjugated)
        resolved = np.asarray(m.take(conjugated.resolve_conj())).tolist()
        self.assertEqual(resolved, [1 - 2j, 3 + 4j])
        imaginary = conjugated.imag
        for tensor in (imaginary, torch._neg_view(torch.tensor([1 + 2j])),
                       torch._neg_view(torch.tensor([1]))):
            self.assertTrue(tensor.is_neg())
            self.refuses(r"negated.*resolve_neg\(\)", tensor)
        self.assertEqual(np.asarray(m.take(imaginary.resolve_neg())).tolist(), [-2, 4])

    def test_what_is_no_strided_memory_is_refused(self):
        resized = torch.ones(2)
        resized.untyped_storage().resize_(0)
        for tensor, kind in ((torch.ones(2, 2).to_sparse(), BufferError),
                             (torch.ones(2, 2, device="meta"), BufferError),
                             (torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8),
                              BufferError),
                             (torch._efficientzerotensor(3), ValueError), (resized, ValueError),
                             (torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
                              RuntimeError)):
            self.assertRaises(kind, m.take, tensor)
        scales = torch.ones(2, dtype=torch.float8_e8m0fnu)
        self.refuses("no element type.*Float8_e8m0fnu.*view as uint8", scales)
        self.assertEqual(m.take(scales.view(torch.uint8)).tolist(), [127, 127])

    def test_packed_types_are_exchanged_as_their_bytes(self):
        codes = torch.arange(256, dtype=torch.uint8).reshape(16, 16)
        for dtype, name, sizes in ((torch.float4_e2m1fn_x2, "Float4_e2m1fn", (16, 32)),
                                   (torch.float8_e8m0fnu, "Float8_e8m0fnu", (16, 16))):
            for tensor in (codes.view(dtype), codes.view(dtype)[::2].T):
                for version in (None, (1, 3)):
                    taken, found, shape = m.take_packed(tensor.__dlpack__(max_version=version))
                    self.assertEqual(found, name)
                    self.assertEqual((shape[-1] // taken.shape[-1]) * tensor.shape[-1], shape[-1])
                    self.assertEqual(m.data_pointer(taken), tensor.data_ptr())
                    self.assertEqual(taken.tolist(), tensor.view(torch.uint8).tolist())
                given = dlpack.from_dlpack(m.give_packed(tensor.view(torch.uint8), name))
                self.assertEqual((given.dtype, given.data_ptr()), (dtype, tensor.data_ptr()))
                self.assertEqual((given.shape, given.stride()), (tensor.shape, tensor.stride()))
            self.assertEqual(m.take_packed(codes.view(dtype).__dlpack__())[2], sizes)

    def test_reference_counts_and_memory_stay_level(self):
        tensor = torch.arange(12.0).reshape(3, 4)
        watched = torch.ones(3, requires_grad=True)
        ours = m.make([3, 4])

        def exchange(times):
            for i in range(times):
                m.take(tensor)
                torch.from_dlpack(ours)
                if i % 5 == 0:
                    m.take(tensor.__dlpack__())
                    tensor.__dlpack__(max_version=(1, 0))  # and never taken
                    self.assertRaises(BufferError, m.take, watched)

        things = [tensor, watched, ours, torch.Tensor, type(ours), None, BufferError]
        self.stays_level(exchange, things, 50_000)


if __name__ == "__main__":
    unittest.main()
