# SPDX-License-Identifier: MIT
"""Compiles a PyTorch module, with AOTInductor, to a .pt2 package that tenon::AotiModule runs without libtorch, and
prints what the package needs of the program that runs it.

    pip install -r requirements.txt
    python3 export.py network.py model.pt2 [--max-batch N] [--matmuls generated|library] [--cpu native|x86-64-v3]
                                           [--threads N] [--weights inside|beside]

network.py has a function network() that gives the module and a tuple of example inputs. The first dimension of every
input is the batch, of any size up to --max-batch. The model reads each input by the strides of its example: one in
channels_last makes a model that takes channels_last without a copy. A program of Python calls export() of this file
instead, which takes other dynamic dimensions too.

--matmuls: in `generated` code matrix products are C++ that is compiled here, with the weights packed for it, and the
model needs no kernel for them; that serves products with constant weights alone. With `library` they are kernels that
the program provides, such as those of tenon/interop/aoti_onednn.h, and the weights keep their names and shapes, so that
AotiModule::set_constants replaces them. Where neither is asked for, it is `generated` if that is possible.
"""

import argparse
import contextlib
import functools
import importlib.util
import logging
import re
import subprocess
import tempfile
import warnings
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import sympy
import torch
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind, TensorArgument
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils import _pytree as pytree

# What aoti_onednn.h defines; the functions that are no kernels are in aoti_shim.h.
ONEDNN = {f"aoti_torch_cpu_{name}" for name in ("addmm_out", "mm_out", "bmm_out", "baddbmm_out", "convolution")}


@dataclass
class Needs:
    """What a package asks of the program that loads it."""

    package_size: int = 0
    library_size: int = 0  # of the .so in it
    matmuls: str = ""
    libraries: list = field(default_factory=list)  # by the loader's names
    shim: list = field(default_factory=list)  # functions of aoti_shim.h
    onednn: list = field(default_factory=list)  # kernels of aoti_onednn.h
    missing: list = field(default_factory=list)  # kernels and functions that neither has
    sleef: list = field(default_factory=list)  # functions of libsleef that no library is named for

    def __str__(self):
        def row(title, names):
            return f"\n  {title}: {', '.join(names) if names else 'none'}"

        text = f"{self.package_size} bytes, of them {self.library_size} in the library; matrix products: {self.matmuls}"
        text += row("shared libraries", self.libraries)
        text += row("functions of tenon/interop/aoti_shim.h", [str(len(self.shim))])
        text += row("kernels of tenon/interop/aoti_onednn.h", self.onednn)
        if self.missing:
            text += row("kernels that the program has to define", self.missing)
        if self.sleef:
            text += row("functions of libsleef, which the program has to load", self.sleef)
        return text


def needs_of(package, matmuls=""):
    """Reads from the compiled library in a package what it asks for."""
    with zipfile.ZipFile(package) as archive, tempfile.TemporaryDirectory() as folder:
        (library,) = (name for name in archive.namelist() if name.endswith(".so"))
        library = Path(archive.extract(library, folder))
        dynamic = subprocess.run(["readelf", "-dW", library], check=True, capture_output=True, text=True).stdout
        symbols = subprocess.run(["nm", "-D", "-u", library], check=True, capture_output=True, text=True).stdout
        needs = Needs(Path(package).stat().st_size, library.stat().st_size, matmuls)
    needs.libraries = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    for name in sorted(line.split()[-1] for line in symbols.splitlines()):
        if name in ONEDNN:
            needs.onednn.append(name)
        elif name.startswith("Sleef_"):
            if not any("sleef" in library for library in needs.libraries):
                needs.sleef.append(name)
        elif re.match(r"aoti_torch_(cpu_|proxy_|call_)", name) or name.startswith("torch_"):
            needs.missing.append(name)
        elif name.startswith("aoti_"):
            needs.shim.append(name)
    return needs


def tensor_inputs(program):
    """Name, fake tensor and number of the inputs that the library takes: numbers and texts are fixed in it."""
    nodes = {node.name: node for node in program.graph.nodes}
    specs = [spec for spec in program.graph_signature.input_specs if spec.kind == InputKind.USER_INPUT]
    found = []
    for i, spec in enumerate(specs):
        if isinstance(spec.arg, TensorArgument):
            found.append((spec.arg.name, nodes[spec.arg.name].meta["val"], i))
        elif not isinstance(spec.arg, ConstantArgument):
            text = f"input {spec.arg.name} is not a tensor, and has no fixed value"
            raise ValueError(text + ": pass a tensor of one element, or give it no dynamic shape")
    return found


def name_dimensions(program, dynamic_shapes):
    """A name for each symbol of the program's sizes: that of its torch.export.Dim where the inputs are given as such."""
    leaves = pytree.tree_leaves(dynamic_shapes, is_leaf=lambda x: isinstance(x, dict) and all(isinstance(k, int) for k in x))
    names = {}
    for _, tensor, i in tensor_inputs(program):
        dims = leaves[i] if i < len(leaves) else None
        for d, dim in (dims or {}).items():
            size = tensor.shape[d]
            if isinstance(size, torch.SymInt) and hasattr(dim, "__name__"):
                # A derived Dim calls itself "2*batch" or "batch + 1".
                if dim.__name__.isidentifier() and dim.__name__.isascii():
                    names.setdefault(size.node.expr, dim.__name__)
    return names


def expression_of(size):
    return size.node.expr if isinstance(size, torch.SymInt) else sympy.Integer(size)


def layout_of(name, tensor):
    """The strides by which the library reads an input: "strides=8,1", or for those that depend on sizes "order=0,2,1": the
    dimensions of a dense tensor, outermost first."""
    sizes, strides = map(expression_of, tensor.shape), map(expression_of, tensor.stride())
    sizes, strides = list(sizes), list(strides)
    if all(stride.is_Integer for stride in strides):
        return "strides=" + ",".join(map(str, strides))
    order, product = [d for d in range(len(sizes)) if sizes[d] == 1], sympy.Integer(1)
    while len(order) < len(sizes):
        inner = [d for d in range(len(sizes)) if d not in order and sympy.expand(strides[d] - product) == 0]
        if not inner:
            text = f"input {name} has sizes {sizes} and strides {strides}, with gaps that depend on its sizes"
            raise ValueError(text + ": give a contiguous() or another dense example")
        order.append(inner[0])
        product *= sizes[inner[0]]
    return "order=" + ",".join(map(str, reversed(order)))


def metadata_of(program, dynamic_shapes):
    """What tenon reads of inputs and outputs, which AOTInductor's library does not keep: of each the name, the dtype, and
    of each dimension its size or name and largest size, and of inputs the layout,
    "image float32 batch<=64 1 8 8 strides=64,64,8,1; rows int64 batch strides=1"."""
    nodes = {node.name: node for node in program.graph.nodes}
    names = name_dimensions(program, dynamic_shapes)

    def dimension(size):
        if isinstance(size, int):
            return str(size)
        symbol = size.node.expr
        bounds = program.range_constraints.get(symbol)
        is_bounded = bounds is not None and bounds.upper.is_Integer and bounds.upper < 2**62
        return names.get(symbol, "*") + (f"<={bounds.upper}" if is_bounded else "")

    def describe(name, value):
        if value is None:
            return f"{name} none"
        if isinstance(value, (int, torch.SymInt)) and not isinstance(value, bool):
            return f"{name} int64"  # the library gives a tensor of it
        if not isinstance(value, torch.Tensor):
            text = f"{name} is {value!r}, expected a tensor, an integer or None"
            raise ValueError(text + ": return torch.tensor(...) of it")
        return " ".join([name, str(value.dtype).removeprefix("torch."), *map(dimension, value.shape)])

    def describe_input(name, tensor):
        return describe(name, tensor) + (f" {layout_of(name, tensor)}" if tensor.dim() > 0 else "")

    def value_of(output):
        return output.value if isinstance(output, ConstantArgument) else nodes[output.name].meta["val"]

    signature = program.graph_signature
    values = [value_of(spec.arg) for spec in signature.output_specs if spec.kind == OutputKind.USER_OUTPUT]
    tree = pytree.tree_unflatten(list(range(len(values))), program.module_call_graph[0].signature.out_spec)
    paths = [re.sub(r"\W+", "_", pytree.keystr(path)).strip("_") for path, _ in pytree.tree_flatten_with_path(tree)[0]]
    outputs = [path if path and not path.isdigit() else f"output_{i}" for i, path in enumerate(paths)]
    return {
        "tenon_inputs": "; ".join(describe_input(name, tensor) for name, tensor, _ in tensor_inputs(program)),
        "tenon_outputs": "; ".join(map(describe, outputs, values)),
    }


def configuration(matmuls, cpu, threads, weights):
    options = {
        "aot_inductor.link_libtorch": False,
        # Else torch looks for vector instructions with a library that it cannot load without libtorch, and finds none.
        "cpp.vec_isa_ok": True,
        "cpp.threads": threads,  # one thread needs no OpenMP
        "aot_inductor.enable_line_tables": False,  # three quarters of the library's size
        "aot_inductor.enable_frame_pointer": False,
    }
    if cpu != "native":
        options["cpp.march"] = cpu
        options["cpp.simdlen"] = {"x86-64-v3": 256, "x86-64-v4": 512}[cpu]
    if matmuls == "generated":
        options |= {"max_autotune": True, "max_autotune_gemm_backends": "CPP", "freezing": True}
    if has_sleef():
        # For exponentials and the like of vectors. torch puts -l before each; the linker drops what is not used.
        options["aot_inductor.custom_op_libs"] = ["m -Wl,--as-needed", "sleef"]
    if weights == "beside":
        options |= {
            "aot_inductor.package_constants_in_so": False,
            "aot_inductor.package_constants_on_disk_format": "binary_blob",
        }
    return options


def export(
    module, inputs, path, *, dynamic_shapes=None, max_batch=None, matmuls=None, cpu="native", threads=1, weights="inside"
):
    """Writes the package of `module`, in its eval mode, for inputs like the tuple `inputs`; gives its Needs.

    dynamic_shapes: as torch.export.export's. None: the first dimension of every input is the batch, from 1 to max_batch.
    The example's batch must not be 1, which torch takes for a fixed size. The model reads an input by the strides of its
    example, and AotiModule copies others to them; of an expand()ed example it reads only what has memory. Numbers and
    texts among the inputs are fixed to the example's, and are no inputs of the package.
    """
    if dynamic_shapes is None:
        for tensor in pytree.tree_leaves(inputs):
            if isinstance(tensor, torch.Tensor) and (tensor.dim() == 0 or tensor.shape[0] < 2):
                raise ValueError(f"an example input of sizes {list(tensor.shape)} has no batch of 2 or more")
        batch = torch.export.Dim("batch", min=1, max=max_batch)  # its name shows in errors
        dynamic_shapes = pytree.tree_map(lambda value: {0: batch} if isinstance(value, torch.Tensor) else None, inputs)
    module = module.eval()

    # Attention as matrix products and a softmax, recurrent layers as loops, convolutions with their weights as they
    # are: without these three each is a kernel of libtorch's alone.
    with quiet(), torch.no_grad(), sdpa_kernel(SDPBackend.MATH), torch.backends.mkldnn.flags(enabled=False):
        program = torch.export.export(module, inputs, dynamic_shapes=dynamic_shapes)
        for name, tensor, _ in tensor_inputs(program):
            layout_of(name, tensor)  # raises where torch's next step would fail without a reason
        program = program.run_decompositions()
        metadata = metadata_of(program, dynamic_shapes) | {"tenon_threads": str(threads)}
        extra = {"aot_inductor.metadata": metadata}

        def compile_with(kind):
            options = configuration(kind, cpu, threads, weights) | extra
            torch._inductor.aoti_compile_and_package(program, package_path=str(path), inductor_configs=options)

        try:
            chosen = matmuls or "generated"
            compile_with(chosen)
        except Exception as error:
            if matmuls is not None or "NoValidChoicesError" not in str(error):
                raise
            chosen = "library"
            compile_with(chosen)
    return needs_of(path, chosen)


@functools.cache
def has_sleef():
    """Whether the compiler links with libsleef (Debian: libsleef-dev)."""
    command = ["g++", "-shared", "-x", "c++", "/dev/null", "-o", "/dev/null", "-lsleef"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@contextlib.contextmanager
def quiet():
    """Without torch's warnings of a machine that has no GPU."""
    for name in ("torch.utils.flop_counter", "torch.utils.cpp_extension"):
        logging.getLogger(name).setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def load_network(path):
    """What network() of that file gives."""
    spec = importlib.util.spec_from_file_location("network", path)
    file = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(file)
    return file.network()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("network", type=Path, help="a file with a function network()")
    parser.add_argument("package", type=Path, help="the .pt2 to write")
    parser.add_argument("--max-batch", type=int, default=None, help="default: any")
    parser.add_argument("--matmuls", choices=("generated", "library"))
    parser.add_argument("--cpu", choices=("native", "x86-64-v3", "x86-64-v4"), default="native")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--weights", choices=("inside", "beside"), default="inside")
    options = vars(parser.parse_args())

    module, inputs = load_network(options.pop("network"))
    path = options.pop("package")
    print(f"{path}: {export(module, inputs, path, **options)}")


if __name__ == "__main__":
    main()
