# SPDX-License-Identifier: MIT
"""Writes the models in this folder, which README.md describes:

    pip install -r ../../../../examples/digits/requirements-export.txt
    python3 make_models.py

A rerun writes the same bytes in any folder.
"""

import io
import zipfile
from pathlib import Path
from typing import NamedTuple

import executorch.kernels.quantized  # registers its operators
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from executorch.exir._serialize._program import PTEFile, serialize_pte_binary
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.schema import EValue, TensorList
from torch.export import Dim

HERE = Path(__file__).resolve().parent
BATCH = Dim("batch", min=1, max=16)


class Function(torch.nn.Module):
    """A module whose forward is a given function of tensors."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def export(module, *inputs, dynamic=None):
    """`inputs` are examples, `dynamic` has what changes of each, as in {0: BATCH}."""
    # A tensor given twice is exported as one: both inputs would be in the same memory.
    assert len({id(x) for x in inputs}) == len(inputs)
    if not isinstance(module, torch.nn.Module):
        module = Function(module)
        dynamic = dynamic and (dynamic,)  # as `inputs` is one argument
    return torch.export.export(module, inputs, dynamic_shapes=dynamic)


def save(name, methods, constants=None, planned=True, partitioner=None, shares_state=False, **config):
    """Writes a .pte of exported methods and of methods that give a constant, and .ptd files if it has external constants."""
    if partitioner is None:
        program = to_edge(methods, constant_methods=constants)
    else:
        program = to_edge_transform_and_lower(methods, partitioner=[partitioner])
    planning = MemoryPlanningPass(
        alloc_graph_input=planned, alloc_graph_output=planned, share_mutable_buffers=shares_state
    )
    program = program.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning, **config))
    (HERE / name).write_bytes(program.buffer)
    program.write_tensor_data_to_file(HERE)


def save_listed(name, x):
    """Writes a .pte with lists of tensors, which no export makes: an output of `forward`, and an input of `take`."""
    program = to_edge({"forward": export(lambda x: (x + 1, x + 2), x), "take": export(lambda x: x + 3, x)})
    program = program.to_executorch().executorch_program
    forward, take = program.execution_plan
    first, second = forward.outputs
    for plan, values in ((forward, [first, second]), (take, take.inputs)):
        plan.values.append(EValue(TensorList(list(values))))
    forward.outputs = [first, len(forward.values) - 1, second]
    take.inputs = [*take.inputs, len(take.values) - 1]
    (HERE / name).write_bytes(bytes(serialize_pte_binary(PTEFile(program=program))))


def save_script(name, module):
    """Writes a .pt without what differs from run to run: the debug records and the hash of all records."""
    saved = io.BytesIO()
    torch.jit.save(torch.jit.script(module), saved)
    with zipfile.ZipFile(saved) as source, zipfile.ZipFile(HERE / name, "w", zipfile.ZIP_STORED) as target:
        for record in source.namelist():
            if not record.endswith((".debug_pkl", "/.data/serialization_id")):
                target.writestr(zipfile.ZipInfo(record), source.read(record))


class Scaled(torch.nn.Module):
    """All but x are constants of the exported method, which takes no other values."""

    def forward(self, x, by: float, times: int, flag: bool, mask: torch.Tensor | None):
        return x * by * times if flag and mask is None else x


class Constant(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.arange(6, dtype=torch.float32).reshape(2, 3))

    def forward(self):
        return self.table


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("runs", torch.zeros(1, dtype=torch.int64))

    def forward(self):
        self.runs.add_(1)
        return self.runs.clone()


class Sum(torch.nn.Module):
    """A function of a state, which methods exported together have in common."""

    def __init__(self, function):
        super().__init__()
        self.function = function
        self.register_buffer("sum", torch.zeros(2, 3))

    def forward(self, *inputs):
        return self.function(self.sum, *inputs)


class Branch(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))


class Linear(torch.nn.Module):
    """Its row i sums the first i + 1 inputs and adds i."""

    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.ones(4, 4).tril())
        self.register_buffer("bias", torch.arange(4.0))

    def forward(self, x):
        return torch.nn.functional.linear(x, self.weight, self.bias)


class Add(torch.nn.Module):
    def forward(self, x, y):
        return x + y


class Bounds(NamedTuple):
    low: torch.Tensor
    high: torch.Tensor


class Many(torch.nn.Module):
    """A method for each kind of input and output."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor(2.0))

    def forward(self, x):
        return x * self.scale

    @torch.jit.export
    def dropped(self, x):
        return torch.nn.functional.dropout(x, 0.5, self.training)

    @torch.jit.export
    def scaled(self, x, by: float, times: int, negate: bool):
        return -x * by * times if negate else x * by * times

    @torch.jit.export
    def plus(self, x, by: float = 0.5, times: int = 1):
        return x + by * times

    @torch.jit.export
    def greet(self, name: str) -> str:
        return "hello " + name

    @torch.jit.export
    def maybe(self, x, y: torch.Tensor | None = None):
        return x if y is None else x + y

    @torch.jit.export
    def maybe_times(self, x, times: int | None):
        return x if times is None else x * times

    @torch.jit.export
    def total(self, tensors: list[torch.Tensor]):
        return torch.stack(tensors).sum(0)

    @torch.jit.export
    def count_there(self, tensors: list[torch.Tensor | None]) -> int:
        count = 0
        for tensor in tensors:
            if tensor is not None:
                count += 1
        return count

    @torch.jit.export
    def shaped(self, x, sizes: list[int]):
        return x.reshape(sizes)

    @torch.jit.export
    def mean_of(self, values: list[float]) -> float:
        return sum(values) / len(values)

    @torch.jit.export
    def all_of(self, flags: list[bool]) -> bool:
        return all(flags)

    @torch.jit.export
    def bounds(self, x) -> Bounds:
        return Bounds(x - 1, x + 1)

    @torch.jit.export
    def pair(self, x) -> tuple[torch.Tensor, torch.Tensor]:
        return x + 1, x - 1

    @torch.jit.export
    def single(self, x) -> tuple[torch.Tensor]:
        return (x + 1,)

    @torch.jit.export
    def mixed(self, x) -> tuple[torch.Tensor, int, float, bool, str]:
        return x, x.dim(), 0.5, True, "text"

    @torch.jit.export
    def nested(self, x) -> tuple[torch.Tensor, tuple[torch.Tensor, int]]:
        return x, (x + 1, 2)

    @torch.jit.export
    def rows(self, x) -> list[torch.Tensor]:
        return list(x.unbind(0))

    @torch.jit.export
    def sizes(self, x) -> list[int]:
        return x.size()

    @torch.jit.export
    def texts(self) -> list[str]:
        return ["a", "b"]

    @torch.jit.export
    def nothing(self, x) -> None:
        pass

    @torch.jit.export
    def same(self, x):
        return x

    @torch.jit.export
    def add_in_place(self, x):
        return x.add_(1)

    @torch.jit.export
    def transposed(self, x):
        return x.t()

    @torch.jit.export
    def table(self, x) -> dict[str, torch.Tensor]:
        return {"x": x}

    @torch.jit.export
    def look_up(self, table: dict[str, torch.Tensor]):
        return table["x"]

    @torch.jit.export
    def device_of(self, x) -> tuple[torch.Tensor, torch.device, int]:
        return x, x.device, 3

    @torch.jit.export
    def refuse(self, x):
        if x.dim() < 100:
            raise RuntimeError("the sensor is off")
        return x


class State(NamedTuple):
    h: torch.Tensor
    c: torch.Tensor


torch.utils._pytree._register_namedtuple(State, serialized_type_name="State")


class Nested(torch.nn.Module):
    """What a dict, lists of dicts, tuples and lists hold, in and out, in an order that sorting would change."""

    def forward(
        self, x: torch.Tensor, state: State, pair: tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]],
        table: dict[str, torch.Tensor],
    ) -> tuple[
        dict[str, torch.Tensor], list[dict[str, torch.Tensor]], tuple[torch.Tensor, tuple[State, int]], list[torch.Tensor],
        torch.Tensor | None,
    ]:
        a, (b, c) = pair
        total = x + 10 * state.h + 100 * state.c + 1000 * a + 10000 * b + 100000 * c
        return (
            {"out": total, "aux": x + 1},
            [{"scores": x + 2, "boxes": x + 3}, {"b": x + 4, "a": x + 5}],
            (x + 6, (State(x + 7, x + 8), 2)),
            [x + 9, table["z"] - table["a"]],
            None,
        )


def main():
    x, y = torch.ones(2, 3), torch.ones(2, 3)

    save("add.pte", export(Add(), x, y))
    save("add_unplanned.pte", export(Add(), x, y, dynamic=({0: BATCH}, {0: BATCH})), planned=False)
    save(
        "methods.pte",
        {
            "forward": export(lambda x: x * 2, x),
            "encode": export(lambda x: (x + 1, x - 1), x),
            "batch": export(lambda x: x + 1, x, dynamic=({0: BATCH},)),
            "scaled": export(Scaled(), x, 0.5, 3, True, None),
        },
        {
            "get_max_seq_len": 128,
            "get_rate": 0.5,
            "get_flag": True,
            "get_name": "tenon",
            "get_sizes": [2, 3],
            "get_tensor": torch.arange(3.0),
        },
    )
    types = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split()
    save(
        "types.pte",
        {name: export(lambda x: x + x, torch.ones(2, 3, dtype=getattr(torch, name))) for name in types},
    )
    image = torch.ones(2, 3, 4, 5)
    save(
        "layouts.pte",
        {
            "scalar": export(lambda x: x + 1, torch.tensor(1.0)),
            "empty": export(lambda x: x + 1, torch.ones(0, 3)),
            "channels_last": export(lambda x: x + x, image.to(memory_format=torch.channels_last)),
            "channels_last_batch": export(
                lambda x: x + x, image.to(memory_format=torch.channels_last), dynamic=({0: BATCH},)
            ),
            "channels_last_one": export(lambda x: x + x, image[:1].to(memory_format=torch.channels_last)),
        },
    )
    for name, planned in (("aliasing.pte", True), ("aliasing_unplanned.pte", False)):
        methods = {
            "same": export(lambda x: x, x),
            "twice": export(lambda x: (y := x + 1, y), x),
            "constant": export(Constant()),
            "count": export(Counter()),
            "add_in_place": export(lambda x: x.add_(1), x),
        }
        save(name, methods, planned=planned)
    for name, planned in (("state.pte", True), ("state_unplanned.pte", False)):
        save(name, export(lambda x, state: (state + x, state), x, y), planned=planned)
    rows = torch.ones(2, 4)
    save("xnnpack.pte", export(Linear(), rows, dynamic=({0: BATCH},)), partitioner=XnnpackPartitioner())
    save("external.pte", export(Linear(), rows), external_constants=lambda node: f"external_{node.name[2:]}")
    save(
        "shared.pte",
        {"add": export(Sum(lambda sum, x: sum.add_(x) * 1), x), "get": export(Sum(lambda sum: sum * 1))},
        shares_state=True,
    )
    depth = Dim("depth", min=1, max=16)
    save(
        "fails.pte",
        {
            "matmul": export(torch.matmul, rows, rows.t().contiguous(), dynamic=({0: BATCH, 1: depth}, {0: depth})),
            "embed": export(lambda i, t: torch.nn.functional.embedding(i, t), torch.tensor([0, 1]), rows),
        },
    )

    save("branch.pte", export(Branch(), x), planned=False)
    quantize = torch.ops.quantized_decomposed.quantize_per_tensor
    save("missing.pte", export(lambda x: quantize(x, 0.5, 0, -128, 127, torch.int8), x))

    numbers = [torch.full((2,), float(i)) for i in range(8)]
    state, pair = State(numbers[1], numbers[2]), (numbers[3], (numbers[4], numbers[5]))
    save("nested.pte", export(Nested(), numbers[0], state, pair, {"z": numbers[6], "a": numbers[7]}))
    save_script("nested.pt", Nested())
    save_listed("listed.pte", numbers[0])
    save_script("add.pt", Add())
    save_script("many.pt", Many())


if __name__ == "__main__":
    main()
