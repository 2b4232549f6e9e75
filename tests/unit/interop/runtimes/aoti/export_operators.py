# SPDX-License-Identifier: MIT
"""Exports models that call operators without a C function: custom ones, and PyTorch's linear algebra.

    python3 export_operators.py FOLDER
"""

import sys

import torch


def define(schema, function, fake):
    """An operator with an implementation in Python, by which the model is traced."""
    name = schema[: schema.index("(")]
    torch.library.define(name, schema[schema.index("(") :])
    torch.library.impl(name, "cpu", function)
    torch.library.register_fake(name, fake)


define(
    "tests::scale_by(Tensor x, float factor=2.0, *, Tensor? bias=None, SymInt[] sizes=[1, 2], str mode='a', "
    "Scalar alpha=1, ScalarType t=float) -> (Tensor, Tensor)",
    lambda x, factor=2.0, **_: (x * factor, x + 1),
    lambda x, factor=2.0, **_: (torch.empty_like(x), torch.empty_like(x)),
)
define(
    "tests::pieces(Tensor[] xs, Tensor?[] ys, bool[] flags, float[] numbers, Device d, SymInt n) -> Tensor[]",
    lambda xs, ys, flags, numbers, d, n: [x * n for x in xs],
    lambda xs, ys, flags, numbers, d, n: [torch.empty_like(x) for x in xs],
)
define("tests::increase_(Tensor(a!) x, SymInt by) -> ()", lambda x, by: x.add_(by) and None, lambda x, by: None)
# As extension.cpp has them.
define(
    "extension::scale(Tensor x, float factor, Tensor? bias=None) -> Tensor",
    lambda x, factor, bias=None: x * factor + (0 if bias is None else bias),
    lambda x, factor, bias=None: torch.empty_like(x),
)


class Custom(torch.nn.Module):
    def forward(self, x):
        rows = x.shape[0]
        a, b = torch.ops.tests.scale_by(x, 3, bias=x, sizes=[rows, 4], mode="zz", alpha=5, t=torch.float16)
        p, q = torch.ops.tests.pieces([a, b], [None, x], [True, False], [1.5], torch.device("cpu"), rows)
        c = a.clone()
        torch.ops.tests.increase_(c, rows)
        return p + q, c


class Defaults(torch.nn.Module):
    def forward(self, x):
        a, b = torch.ops.tests.scale_by(x)
        return a + b


class Stable(torch.nn.Module):
    def forward(self, x):
        y = torch.ops.extension.scale(x, 2.0)
        return torch.ops.extension.scale(y + 1, 3.0, y)


class Algebra(torch.nn.Module):
    def forward(self, x):
        u, s, v = torch.linalg.svd(x)
        return torch.linalg.inv(x), torch.linalg.cholesky(x), torch.linalg.solve(x, x + 1), u, s, v


def main(folder):
    x = torch.randn(6, 4)
    square = torch.randn(4, 4)
    square = square @ square.T + 4 * torch.eye(4)
    rows = torch.export.Dim("rows", min=2, max=50)
    for name, module, example, dims in [
        ("custom", Custom(), x, {"x": {0: rows}}),
        ("defaults", Defaults(), x, None),
        ("stable", Stable(), x, None),
        ("algebra", Algebra(), square, None),
    ]:
        program = torch.export.export(module, (example,), dynamic_shapes=dims)
        torch._inductor.aoti_compile_and_package(
            program, package_path=f"{folder}/{name}.pt2", inductor_configs={"aot_inductor.link_libtorch": False}
        )


if __name__ == "__main__":
    main(sys.argv[1])
