# SPDX-License-Identifier: MIT
"""Compiles five small networks with examples/aoti/export.py: FOLDER/<name>.pt2, and beside each what PyTorch gives for
one input: <name>.input.npy and <name>.output.npy. And a sixth whose examples are not row-major, with that script and by
torch's function alone: layouts.pt2 and layouts_torch.pt2, with layouts.input0.npy and so on. And several.pt2, which has
two models.

    python3 make_aoti.py FOLDER

The weights are random, from a fixed seed. The packages are for this machine's processor, so they are made where the
tests are built.
"""

import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from torch import nn

ROOT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "examples/aoti"))
from export import export, export_all, load_network  # noqa: E402

MAX_BATCH = 64


class Convolutions(nn.Module):
    """With a stride, padding, a dilation and groups."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=2, dilation=2, groups=4), nn.ReLU(),
            nn.Conv2d(16, 16, 3, stride=2, bias=False), nn.ReLU(),
            nn.Flatten(), nn.Linear(16 * 9, 10), nn.LogSoftmax(1),
        )  # fmt: skip

    def forward(self, x):
        return self.layers(x)


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels),
        )  # fmt: skip

    def forward(self, x):
        return torch.relu(x + self.layers(x))


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, padding=1)
        self.blocks = nn.Sequential(Block(16), Block(16))
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells = nn.LSTM(8, 32, batch_first=True)
        self.head = nn.Linear(32, 4)

    def forward(self, x):
        states, _ = self.cells(x)
        return self.head(states[:, -1])


def transformer():
    return nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, activation="gelu")


# name: a function that makes the module, and the sizes of an input but for the batch
MODELS = {
    "digits": (lambda: load_network(ROOT / "examples/digits/export.py")[0], (8, 8)),
    "convolutions": (Convolutions, (1, 16, 16)),
    "transformer": (transformer, (12, 32)),
    "lstm": (Recurrent, (6, 8)),
    "residual": (Residual, (3, 16, 16)),
}


def make(name, folder):
    start = time.time()
    torch.manual_seed(1)
    make_module, sizes = MODELS[name]
    module = make_module().eval()
    for layer in module.modules():  # as if it had been trained
        if isinstance(layer, nn.BatchNorm2d):
            layer.running_mean.uniform_(-1, 1)
            layer.running_var.uniform_(0.5, 2)
    x = torch.randn(5, *sizes)
    with torch.no_grad():
        np.save(folder / f"{name}.input.npy", x.numpy())
        np.save(folder / f"{name}.output.npy", module(x).numpy())
    needs = export(module, (x,), folder / f"{name}.pt2", max_batch=MAX_BATCH)
    return f"{name} ({time.time() - start:.0f} s): {needs}"


class Layouts(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(7, 5).t())

    def forward(self, images, rows, scale, times):  # times is fixed in the library
        images = torch.relu(images - images.mean(1, keepdim=True)) * times
        return images, rows @ self.weight * scale + rows[:, :, :1], None, times


def make_layouts(kind, folder):
    start = time.time()
    torch.manual_seed(2)
    module = Layouts().eval()
    images = torch.randn(5, 3, 8, 6).to(memory_format=torch.channels_last)
    inputs = (images, torch.randn(5, 6, 5).transpose(0, 2), torch.tensor(2.0), 3)
    batch = torch.export.Dim("batch", min=1, max=MAX_BATCH)
    path = folder / f"{kind}.pt2"
    if kind == "layouts":
        with torch.no_grad():
            for role, tensors in (("input", inputs), ("output", module(*inputs))):
                for i, tensor in enumerate(tensors[: 3 if role == "input" else 2]):
                    np.save(folder / f"layouts.{role}{i}.npy", tensor.numpy().copy("C"))
        export(module, inputs, path, dynamic_shapes=({0: batch}, {0: batch}, {}, None), matmuls="library")
    else:
        sides = {2: torch.export.Dim("height", min=2, max=64), 3: torch.export.Dim("width", min=2, max=64)}
        with torch.no_grad():
            program = torch.export.export(module, inputs, dynamic_shapes=({0: batch} | sides, {0: batch}, {}, None))
            options = {"aot_inductor.link_libtorch": False, "cpp.vec_isa_ok": True, "cpp.threads": 1}
            torch._inductor.aoti_compile_and_package(program, package_path=str(path), inductor_configs=options)
    return f"{kind} ({time.time() - start:.0f} s)"


class Counter(nn.Module):
    """Writes to its buffer, and gives what is not a tensor."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def forward(self, tokens, *, cache):
        self.count += 1
        sums = tokens.sum(1) + cache["keys"][0].sum()
        return {"sums": sums, "count": self.count + 0, "time": tokens.shape[1], "scale": 2.5, "state": [None, tokens]}


class Twice(nn.Module):
    def forward(self, x):
        y = x * 2
        return y, y


def make_several(folder):
    start = time.time()
    cache = {"keys": [torch.ones(9, 2)]}
    dynamic = ["tokens=0:batch<=8,1:2<=time<=128", "cache.keys.0=0:2*time+1"]
    counter = (Counter(), (torch.ones(3, 4),), {"kwargs": {"cache": cache}, "dynamic": dynamic})
    export_all({"counter": counter, "twice": (Twice(), (torch.ones(2, 3),))}, folder / "several.pt2")
    return f"several ({time.time() - start:.0f} s)"


def main():
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    # A process for each: what takes the time is the compiler. Forked, since importing torch takes seconds too.
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("fork")) as pool:
        jobs = [pool.submit(make, name, folder) for name in MODELS]
        jobs += [pool.submit(make_layouts, kind, folder) for kind in ("layouts", "layouts_torch")]
        jobs.append(pool.submit(make_several, folder))
        for job in jobs:
            print(job.result())


if __name__ == "__main__":
    main()
