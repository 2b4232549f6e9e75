#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the digits network for the runtimes that have no file of it with float images: digits.onnx for ONNX Runtime,
digits_xnnpack.pte for ExecuTorch with XNNPACK. Both take 1 to 64 images.

    pip install -r ../../examples/digits/requirements-export.txt onnx==1.23.2
    python3 make_models.py FOLDER
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "digits"))


def save_onnx(path):
    import numpy as np
    from export import load_weights
    from onnx import TensorProto, checker, helper, numpy_helper

    nodes = [helper.make_node("Flatten", ["images"], ["flat"], axis=1),
             helper.make_node("Div", ["flat", "sixteen"], ["pixels"]),
             helper.make_node("Gemm", ["pixels", "w1", "b1"], ["sums"], transB=1),
             helper.make_node("Relu", ["sums"], ["hidden"]),
             helper.make_node("Gemm", ["hidden", "w2", "b2"], ["scores"], transB=1)]
    constants = {"sixteen": np.array(16, np.float32), **load_weights()}
    graph = helper.make_graph(nodes, "digits",
                              [helper.make_tensor_value_info("images", TensorProto.FLOAT, ["batch", 8, 8])],
                              [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", 10])],
                              [numpy_helper.from_array(array, name) for name, array in constants.items()])
    model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])
    checker.check_model(model, full_check=True)
    path.write_bytes(model.SerializeToString())


def save_xnnpack(path):
    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
    from executorch.exir.passes import MemoryPlanningPass
    from export import MAX_BATCH, network

    module, inputs = network()
    batch = torch.export.Dim("batch", min=1, max=MAX_BATCH)
    program = torch.export.export(module.eval(), inputs, dynamic_shapes={"images": {0: batch}})
    program = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    planning = MemoryPlanningPass(alloc_graph_input=False, alloc_graph_output=False)
    path.write_bytes(program.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning)).buffer)


def main():
    folder = Path(sys.argv[1])
    for save, name in ((save_onnx, "digits.onnx"), (save_xnnpack, "digits_xnnpack.pte")):
        save(folder / name)
        print(f"{name}: {(folder / name).stat().st_size} bytes")


if __name__ == "__main__":
    main()
