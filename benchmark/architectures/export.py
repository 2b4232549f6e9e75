# SPDX-License-Identifier: MIT
"""Compiles the networks of networks.py with examples/aoti/export.py: FOLDER/<name>.pt2, and beside each its inputs and what
PyTorch gives, as <name>.input0.npy and <name>.output0.npy, of bfloat16 as float32.

    python3 export.py FOLDER [--peers] [NAME...]

Needs torch, torchvision, timm and transformers (scripts/partners.sh torch torch_export numpy architectures). With --peers it
writes <name>.onnx and <name>.pte too, as far as their exporters can, and needs `pip install onnx onnxscript executorch==1.5.1`.
"""

import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from torch.utils import _pytree as pytree

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "examples/aoti")]
import export as aoti  # noqa: E402
import networks  # noqa: E402


def save(folder, name, role, tensors):
    for i, tensor in enumerate(tensors):
        array = tensor.float() if tensor.dtype == torch.bfloat16 else tensor
        np.save(folder / f"{name}.{role}{i}.npy", array.detach().numpy().copy("C"))


def make_peers(name, folder):
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    def onnx(module, inputs, shapes):
        path = folder / f"{name}.onnx"
        torch.onnx.export(module, inputs, path, dynamo=True, external_data=False, dynamic_shapes=shapes, verbose=False)

    def executorch(module, inputs, shapes):
        program = torch.export.export(module, inputs, dynamic_shapes=shapes)
        program = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch()
        (folder / f"{name}.pte").write_bytes(program.buffer)

    for write in (onnx, executorch):
        try:
            write(*networks.make(name))
        except Exception as error:  # each exporter has its own
            print(f"{name}: {write.__name__}: {str(error)[:200]}", flush=True)


def make(name, folder, peers):
    start = time.time()
    module, inputs, shapes = networks.make(name)
    needs = aoti.export(module, inputs, folder / f"{name}.pt2", dynamic_shapes=shapes if shapes is not None else pytree.tree_map(lambda _: None, inputs))
    module, inputs, _ = networks.make(name)
    with torch.no_grad():
        outputs = module(*inputs)
    save(folder, name, "input", inputs)
    save(folder, name, "output", outputs if isinstance(outputs, tuple) else (outputs,))
    if name == "llama":
        module, _, _ = networks.make(name)
        token, tokens = torch.tensor([[7]]), [7]
        with torch.no_grad():
            for i in range(32):
                token = module(token, torch.tensor([i])).argmax(-1)
                tokens.append(int(token))
        np.save(folder / "llama.tokens.npy", np.array(tokens))
    if peers:
        make_peers(name, folder)
    return f"{name} ({time.time() - start:.0f} s): {needs}"


def main():
    folder, *names = (word for word in sys.argv[1:] if word != "--peers")
    folder = Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("fork")) as pool:
        jobs = [pool.submit(make, name, folder, "--peers" in sys.argv) for name in names or networks.NETWORKS]
        for job in jobs:
            print(job.result(), flush=True)


if __name__ == "__main__":
    main()
