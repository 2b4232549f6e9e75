# SPDX-License-Identifier: MIT
"""Saves the network of ../digits, with the weights that it has there, as TorchScript: data/digits.pt.

    pip install torch==2.15.0 numpy==2.4.6
    python3 export.py

The module takes any number of images, N x 8 x 8 with pixels from 0 to 16 of any dtype, and gives N x 10 scores.
"""

import io
import zipfile
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import linear

HERE = Path(__file__).resolve().parent
DIGITS = HERE.parent / "digits" / "data"
FILE = HERE / "data" / "digits.pt"


class Digits(torch.nn.Module):
    """No torch.nn.Linear: its attributes are saved in an order that changes from run to run."""

    def __init__(self, weights):
        super().__init__()
        for name, array in weights.items():
            self.register_buffer(name, torch.from_numpy(array))

    def forward(self, images):
        pixels = images.flatten(1).to(torch.float32) / 16
        hidden = torch.relu(linear(pixels, self.w1, self.b1))
        return linear(hidden, self.w2, self.b2)


def save(module):
    """Writes a .pt without its debug records, which hold the path of this file, and without the hash of all records.
    torch::jit::load needs neither, and the rest is the same bytes every time."""
    saved = io.BytesIO()
    torch.jit.save(module, saved)
    FILE.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(saved) as source, zipfile.ZipFile(FILE, "w", zipfile.ZIP_STORED) as target:
        for name in source.namelist():
            if not name.endswith((".debug_pkl", "/.data/serialization_id")):
                target.writestr(zipfile.ZipInfo(name), source.read(name))


def check(images, labels, test_index, w1, b1, w2, b2):
    """Fails unless the saved file computes what NumPy does, for batches of several sizes and dtypes."""
    module = torch.jit.load(FILE)
    expected = np.maximum(images.reshape(-1, 64) / np.float32(16) @ w1.T + b1, 0) @ w2.T + b2
    for count in (0, 1, 32, len(images)):
        for dtype in (torch.uint8, torch.float32):
            scores = module(torch.from_numpy(images[:count]).to(dtype)).numpy()
            if scores.shape != (count, 10) or np.abs(scores - expected[:count]).max(initial=0) > 1e-5:
                raise SystemExit(f"{FILE.name}: other scores than NumPy's for {count} images of {dtype}")
    right = scores.argmax(axis=1) == labels
    print(f"{right[test_index].sum()} of {len(test_index)} held-out images right, {right.sum()} of all {len(images)}")


def main():
    images, labels, test_index = (np.load(DIGITS / f"{name}.npy") for name in ("images", "labels", "test_index"))
    weights = {name: np.load(DIGITS / f"{name}.npy") for name in ("w1", "b1", "w2", "b2")}
    save(torch.jit.script(Digits(weights).eval()))
    check(images, labels, test_index, **weights)
    print(f"{FILE.name}: {FILE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
