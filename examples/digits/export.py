# SPDX-License-Identifier: MIT
"""Saves the network with the weights in data/ in the files of two runtimes: data/digits.pt (TorchScript) and
data/digits.pte (ExecuTorch). Nothing is trained.

    pip install -r requirements-export.txt
    python3 export.py

Both take N images as N x 8 x 8 pixels from 0 to 16 and give N x 10 scores. TorchScript takes any N and any dtype,
ExecuTorch 1 to 64 images of float32. Memory is not planned for the .pte's input and output: it reads and writes the
caller's.

The build makes AOTInductor's digits.pt2 for its own machine, by ../aoti/export.py, which calls network().
"""

import io
import zipfile
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import linear

DATA = Path(__file__).resolve().parent / "data"
MAX_BATCH = 64


class Digits(torch.nn.Module):
    """No torch.nn.Linear: TorchScript saves its attributes in an order that changes from run to run."""

    def __init__(self, weights):
        super().__init__()
        for name, array in weights.items():
            self.register_buffer(name, torch.from_numpy(array))

    def forward(self, images):
        pixels = images.flatten(1).to(torch.float32) / 16
        hidden = torch.relu(linear(pixels, self.w1, self.b1))
        return linear(hidden, self.w2, self.b2)


def load_weights():
    return {name: np.load(DATA / f"{name}.npy") for name in ("w1", "b1", "w2", "b2")}


def network():
    """The module and an example of its inputs."""
    return Digits(load_weights()), (torch.zeros(2, 8, 8),)


def save_torchscript(network, path):
    """Writes a .pt without its debug records, which hold the path of this file, and without the hash of all records.
    torch::jit::load needs neither, and the rest is the same bytes every time."""
    saved = io.BytesIO()
    torch.jit.save(torch.jit.script(network), saved)
    with zipfile.ZipFile(saved) as source, zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as target:
        for name in source.namelist():
            if not name.endswith((".debug_pkl", "/.data/serialization_id")):
                target.writestr(zipfile.ZipInfo(name), source.read(name))


def save_executorch(network, path):
    """Writes a .pte for the kernels of ExecuTorch's own libraries."""
    from executorch.exir import ExecutorchBackendConfig, to_edge
    from executorch.exir.passes import MemoryPlanningPass

    images = torch.zeros(2, 8, 8)
    # The file keeps the strides. Images that an index picked can have odd ones, with which it refuses proper images.
    assert images.stride() == (64, 8, 1)
    batch = torch.export.Dim("batch", min=1, max=MAX_BATCH)
    program = to_edge(torch.export.export(network, (images,), dynamic_shapes={"images": {0: batch}}))
    planning = MemoryPlanningPass(alloc_graph_input=False, alloc_graph_output=False)
    config = ExecutorchBackendConfig(
        memory_planning_pass=planning,
        do_quant_fusion_and_const_prop=True,  # transposes the weights here, not in each run
    )
    path.write_bytes(program.to_executorch(config).buffer)


def check(name, network, images, expected, batches):
    """Fails unless `network`, a function of a tensor, computes what NumPy does in batches of several sizes. Gives the
    scores."""
    for size in batches:
        scores = [network(torch.from_numpy(images[i : i + size])).numpy() for i in range(0, len(images), size)]
        scores = np.concatenate(scores)
        if not np.array_equal(scores, expected):  # no sum is rounded, see data/README.md
            raise SystemExit(f"{name}: other scores than NumPy's for batches of {size} images of {images.dtype}")
    return scores


def main():
    from executorch.runtime import Runtime

    images, labels, test_index = (np.load(DATA / f"{name}.npy") for name in ("images", "labels", "test_index"))
    weights = load_weights()
    w1, b1, w2, b2 = weights.values()
    expected = np.maximum(images.reshape(-1, 64) / np.float32(16) @ w1.T + b1, 0) @ w2.T + b2
    floats = images.astype(np.float32)

    digits = Digits(weights).eval()
    save_torchscript(digits, DATA / "digits.pt")
    save_executorch(digits, DATA / "digits.pte")

    script = torch.jit.load(DATA / "digits.pt")
    assert script(torch.zeros(0, 8, 8)).shape == (0, 10)
    check("digits.pt", script, images, expected, (1, 32, len(images)))
    scores = {"digits.pt": check("digits.pt", script, floats, expected, (1, 32, len(images)))}

    method = Runtime.get().load_program(DATA / "digits.pte").load_method("forward")
    sizes = (1, 32, MAX_BATCH)
    scores["digits.pte"] = check("digits.pte", lambda some: method.execute([some])[0], floats, expected, sizes)

    for name, found in scores.items():
        right = (found.argmax(axis=1) == labels)[test_index].sum()
        print(f"{name}: {(DATA / name).stat().st_size} bytes, {right} of {len(test_index)} held-out images right")


if __name__ == "__main__":
    main()
