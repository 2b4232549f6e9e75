# SPDX-License-Identifier: MIT
"""Calls the operators of torchvision's and torchaudio's wheels in PyTorch, and writes what they were given and gave.

    python3 make_torch_operators.py FOLDER WHEELS

FOLDER gets a line for each call in <library>.txt, "torchvision::nms exact tensor tensor float:0.5 -> 1", and its tensors
beside: <library>.<call>.in0.npy before it, .after0.npy after it, .out0.npy. WHEELS is where both are unpacked.
"""

import sys
from pathlib import Path

import numpy as np
import torch

LIBRARIES = {
    "torchvision": "torchvision/_C_stable.so",
    "torchaudio": "torchaudio/lib/libtorchaudio.so",
}


class Calls:
    def __init__(self, folder, library):
        self.folder, self.library, self.lines = folder, library, []

    def save(self, name, tensor):
        # NumPy gives the strides of what is saved up; the test wants dense ones.
        np.save(self.folder / f"{self.library}.{len(self.lines)}.{name}.npy", tensor.detach().contiguous().numpy())

    def __call__(self, name, *values, match="exact"):
        words = [f"{self.library}::{name}", match]
        for i, value in enumerate(values):
            if isinstance(value, torch.Tensor):
                words.append("tensor")
                self.save(f"in{i}", value)
            else:
                words.append(f"{type(value).__name__}:{value}")
        made = getattr(getattr(torch.ops, self.library), name)(*values)
        made = made if isinstance(made, (tuple, list)) else (made,)
        for i, value in enumerate(values):
            if isinstance(value, torch.Tensor):
                self.save(f"after{i}", value)
        words += ["->"]
        for i, value in enumerate(made):
            if isinstance(value, torch.Tensor):
                words.append("tensor")
                self.save(f"out{i}", value)
            else:
                words.append(f"{type(value).__name__}:{value}")
        self.lines.append(" ".join(words))

    def finish(self):
        (self.folder / f"{self.library}.txt").write_text("\n".join(self.lines) + "\n")
        print(f"{self.library}: {len(self.lines)} calls")


def boxes(count, size):
    corners = torch.rand(count, 2, 2).sort(dim=1).values * size
    return torch.stack((corners[:, 0, 0], corners[:, 0, 1], corners[:, 1, 0], corners[:, 1, 1]), 1)


def rois(count, images, size):
    return torch.cat((torch.randint(images, (count, 1)).float(), boxes(count, size)), 1)


def torchvision(call):
    for count in (0, 1, 300):
        for dtype in (torch.float32, torch.float64):
            call("nms", boxes(count, 100).to(dtype), torch.rand(count, dtype=dtype), 0.4)
    call("nms", boxes(50, 10), torch.ones(50), 0.3)  # equal scores stay in order
    for size in ((2, 8, 16, 16), (1, 4, 7, 9)):
        x = torch.randn(size)
        r = rois(7, size[0], 60)
        for ratio, aligned in ((2, True), (-1, False)):
            call("roi_align", x, r, 0.25, 3, 2, ratio, aligned)
            call("roi_align", x.double(), r.double(), 0.25, 3, 2, ratio, aligned)
            y = torch.randn(7, size[1], 3, 2)
            call("_roi_align_backward", y, r, 0.25, 3, 2, *size, ratio, aligned)
        call("roi_align", x.permute(0, 1, 3, 2), r, 0.25, 3, 2, 2, True)
        call("roi_pool", x, r, 0.25, 2, 2)
        made, places = torch.ops.torchvision.roi_pool(x, r, 0.25, 2, 2)
        call("_roi_pool_backward", torch.randn_like(made), r, places, 0.25, 2, 2, *size)
        call("ps_roi_align", x, r, 0.25, 2, 2, 2)
        made, mapping = torch.ops.torchvision.ps_roi_align(x, r, 0.25, 2, 2, 2)
        call("_ps_roi_align_backward", torch.randn_like(made), r, mapping, 0.25, 2, 2, 2, *size)
        call("ps_roi_pool", x, r, 0.25, 2, 2)
        made, mapping = torch.ops.torchvision.ps_roi_pool(x, r, 0.25, 2, 2)
        call("_ps_roi_pool_backward", torch.randn_like(made), r, mapping, 0.25, 2, 2, *size)
    turned = torch.cat((torch.rand(20, 2) * 10, torch.rand(20, 2) * 5 + 1, torch.rand(20, 1) * 180), 1)
    call("box_iou_rotated", turned, turned[:7].clone())
    # Products of matrices, which add up in another order.
    for stride, pad, dilation, groups, offset_groups, use_mask in (
        (1, 1, 1, 1, 1, False),
        (2, 0, 1, 2, 2, True),
        (1, 2, 2, 1, 4, True),
    ):
        x = torch.randn(2, 8, 9, 10)
        weight = torch.randn(6, 8 // groups, 3, 3)
        out = [(n + 2 * pad - dilation * 2 - 1) // stride + 1 for n in (9, 10)]
        offset = torch.randn(2, offset_groups * 18, *out)
        mask = torch.rand(2, offset_groups * 9, *out) if use_mask else torch.zeros(2, 1)
        numbers = (stride, stride, pad, pad, dilation, dilation, groups, offset_groups, use_mask)
        bias = torch.randn(6)
        call("deform_conv2d", x, weight, offset, mask, bias, *numbers, match="1e-5")
        grad = torch.randn(2, 6, *out)
        call("_deform_conv2d_backward", grad, x, weight, offset, mask, bias, *numbers, match="1e-4")
    call("_cuda_version")


def torchaudio(call):
    for dtype in (torch.float32, torch.float64):
        wave = torch.randn(2, 50, dtype=dtype)
        call("_overdrive_core_loop", wave, torch.tanh(wave), torch.zeros(2, dtype=dtype),
             torch.zeros(2, dtype=dtype), torch.zeros(2, 50, dtype=dtype))  # fmt: skip
        coefficients = torch.rand(3, 4, dtype=dtype) * 0.2
        call("_lfilter_core_loop", torch.randn(2, 3, 40, dtype=dtype), coefficients,
             torch.zeros(2, 3, 43, dtype=dtype))  # fmt: skip
        scores = torch.randn(1, 30, 6, dtype=dtype).log_softmax(-1)
        for index in (torch.int32, torch.int64):
            targets = torch.tensor([[1, 2, 2, 5, 3]], dtype=index)
            call("forced_align", scores, targets, torch.tensor([30], dtype=index), torch.tensor([5], dtype=index), 0)
    for fused in (True, False):
        logits = torch.randn(2, 6, 4, 5)
        logits = logits if fused else logits.log_softmax(-1)
        targets = torch.randint(1, 5, (2, 3), dtype=torch.int32)
        call("rnnt_loss_forward", logits, targets, torch.tensor([6, 5], dtype=torch.int32),
             torch.tensor([3, 2], dtype=torch.int32), 0, -1.0, fused)  # fmt: skip


def main():
    folder, wheels = Path(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    for library, calls in (("torchvision", torchvision), ("torchaudio", torchaudio)):
        torch.ops.load_library(str(wheels / LIBRARIES[library]))
        torch.manual_seed(0)
        call = Calls(folder, library)
        calls(call)
        call.finish()


main()
