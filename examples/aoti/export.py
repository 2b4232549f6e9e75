# SPDX-License-Identifier: MIT
"""Compiles a PyTorch module, with AOTInductor, to a .pt2 package that tenon::AotiModule runs without libtorch, and
prints what the package needs of the program that runs it.

    pip install -r requirements.txt
    python3 export.py network.py model.pt2 [--max-batch N | --dynamic INPUT=DIMENSIONS ...]
                                           [--matmuls generated|library] [--cpu native|x86-64-v3]
                                           [--threads N] [--weights inside|beside]

network.py has a function network() that gives the module, a tuple of example inputs and, if there are any, a dict of
keyword arguments. The first dimension of every input is the batch, of any size up to --max-batch. With --dynamic only
the dimensions that it names are dynamic, in an input that is called as in C++:

    --dynamic tokens=0:batch<=8,1:time<=128 --dynamic cache.keys=2:2<=past<=512 --dynamic mask=1:past+1

The model reads each input by the strides of its example: one in channels_last makes a model that takes channels_last
without a copy. A program of Python calls export() of this file instead, or export_all() for several models in a package.

--matmuls: in `generated` code matrix products are C++ that is compiled here, with the weights packed for it, and the
model needs no kernel for them; that serves products with constant weights alone, in a model that writes to no buffer.
With `library` they are kernels that the program provides, such as those of tenon/interop/aoti_onednn.h, and the weights
keep their names and shapes, so that AotiModule::set_constants replaces them. Where neither is asked for, it is
`generated` if that is possible.
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
from torch.export.dynamic_shapes import _combine_args, _tree_map_with_path
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind
from torch._inductor.package import package_aoti
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils import _pytree as pytree

# The headers that define functions for models. What they have is read from them.
INTEROP = Path(__file__).resolve().parents[2] / "include/tenon/interop"
HEADERS = ("aoti_shim.h", "aoti_kernels.h", "aoti_onednn.h", "aoti_fft.h", "aoti_proxy.h")


@dataclass
class Needs:
    """What a package asks of the program that loads it."""

    package_size: int = 0
    library_size: int = 0  # of the .so in it
    matmuls: str = ""
    libraries: list = field(default_factory=list)  # by the loader's names
    headers: dict = field(default_factory=dict)  # by header, the functions of it
    missing: list = field(default_factory=list)  # functions that no header has
    sleef: list = field(default_factory=list)  # functions of libsleef that no library is named for

    def __str__(self):
        def row(title, names):
            return f"\n  {title}: {', '.join(names) if names else 'none'}"

        text = f"{self.package_size} bytes, of them {self.library_size} in the library; matrix products: {self.matmuls}"
        text += row("shared libraries", self.libraries)
        for header, names in self.headers.items():
            text += row(f"functions of tenon/interop/{header}", [str(len(names))] if header == "aoti_shim.h" else names)
        if self.missing:
            text += row("functions that the program has to define", self.missing)
        if self.sleef:
            text += row("functions of libsleef, which the program has to load", self.sleef)
        return text


@functools.cache
def functions_of(header):
    """The functions of torch in a header of tenon's and those that it includes: "name(", or "begin##" in a macro."""
    files, seen = [INTEROP / header], {}
    while files:
        file = files.pop()
        if file in seen or not file.exists():
            continue
        seen[file] = text = file.read_text(encoding="utf-8")
        included = re.findall(r'#include "tenon/interop/(runtimes/aoti_[a-z]+_\w+\.h)"', text)
        files += [INTEROP / name for name in included]
    return tuple(name for text in seen.values() for name in re.findall(r"\baoti_torch_\w+(?:\(|##)", text))


def has_function(header, name):
    """Whether the header defines name(…), or by a macro all functions that begin so."""
    found = functions_of(header)
    return f"{name}(" in found or any(name.startswith(text[:-2]) for text in found if text.endswith("##"))


def needs_of(package, matmuls="", model="model"):
    """Reads from the compiled library of a model in a package what it asks for."""
    with zipfile.ZipFile(package) as archive, tempfile.TemporaryDirectory() as folder:
        (library,) = (n for n in archive.namelist() if n.endswith(".so") and f"/aotinductor/{model}/" in n)
        library = Path(archive.extract(library, folder))
        dynamic = subprocess.run(["readelf", "-dW", library], check=True, capture_output=True, text=True).stdout
        symbols = subprocess.run(["nm", "-D", "-u", library], check=True, capture_output=True, text=True).stdout
        needs = Needs(Path(package).stat().st_size, library.stat().st_size, matmuls)
    needs.libraries = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    for name in sorted(line.split()[-1] for line in symbols.splitlines()):
        if name.startswith("Sleef_"):
            if not any("sleef" in library for library in needs.libraries):
                needs.sleef.append(name)
        elif re.match("aoti_|torch_", name):
            owner = next((header for header in HEADERS if has_function(header, name)), None)
            (needs.headers.setdefault(owner, []) if owner else needs.missing).append(name)
    return needs


def keys_of(tree):
    """What the children of a node in torch's tree of inputs or outputs are called: keys, fields, or numbers."""
    context = tree.context if isinstance(tree.context, (list, tuple)) else ()
    for names in (context, *context, getattr(tree.context, "_fields", None)):
        is_list = isinstance(names, (list, tuple)) and len(names) == tree.num_children
        if is_list and not any(isinstance(name, list) for name in names):
            return names
    return range(tree.num_children)


def paths_in(tree, path):
    """The path to each leaf: keys, fields and numbers."""
    if tree.is_leaf():
        return [path]
    return [leaf for key, child in zip(keys_of(tree), tree.children()) for leaf in paths_in(child, (*path, key))]


def name_of(path):
    """ "cache.keys.0"."""
    return ".".join(re.sub(r"\W+", "_", str(key), flags=re.ASCII) for key in path)


def name_inputs(program):
    signature = program.module_call_graph[0].signature
    trees = [child for tree in signature.in_spec.children() for child in tree.children()]
    return [name_of(path) for name, tree in zip(signature.forward_arg_names, trees) for path in paths_in(tree, (name,))]


def name_outputs(program):
    tree = program.module_call_graph[0].signature.out_spec
    paths = [path if path else (0,) for path in paths_in(tree, ())]
    return [name_of((f"output_{path[0]}" if isinstance(path[0], int) else path[0], *path[1:])) for path in paths]


def user_values(names, nodes, specs, kind):
    """Name and value, which may be symbolic, of each input or output in torch's order."""
    values = [node.meta["val"] if isinstance(node, torch.fx.Node) else node for node in nodes]
    return list(zip(names, (value for value, spec in zip(values, specs) if spec.kind == kind), strict=True))


def tensor_inputs(program):
    """Name and fake tensor of the inputs that the library takes: numbers, texts and None are fixed in it."""
    nodes = program.graph.find_nodes(op="placeholder")
    values = user_values(name_inputs(program), nodes, program.graph_signature.input_specs, InputKind.USER_INPUT)
    for name, value in values:
        if isinstance(value, torch.SymInt):
            text = f"input {name} is an integer with a dynamic shape, which torch does not compile"
            raise ValueError(text + ": give it none, or pass a tensor of one element, whose item() is the integer")
    return [(name, value) for name, value in values if isinstance(value, torch.Tensor)]


def map_inputs(function, module, inputs, kwargs, *shapes):
    """function(name, value, shape) of each input and what dynamic_shapes has for it, in the form of dynamic_shapes."""
    combined = _combine_args(module, inputs, kwargs)
    if shapes and isinstance(shapes[0], (tuple, list)):
        shapes = (dict(zip(combined, shapes[0])),)

    def call(path, value, *shape):
        keys = (getattr(key, "key", getattr(key, "idx", getattr(key, "name", None))) for key in path)
        return function(name_of(keys), value, *shape)

    return _tree_map_with_path(call, combined, *shapes, tree_name="inputs")


def name_dimensions(program, module, inputs, kwargs, dynamic_shapes):
    """A name for each symbol of the program's sizes: that of its torch.export.Dim."""
    sizes = {name: tensor.shape for name, tensor in tensor_inputs(program)}
    names = {}

    def find_names(input_name, value, dims):
        if input_name not in sizes:
            return
        for d, dim in dims.items() if isinstance(dims, dict) else enumerate(dims or ()):
            size = sizes[input_name][d]
            # A derived Dim calls itself "2*batch - 1".
            name = getattr(dim, "__name__", "").replace(" ", "")
            if isinstance(size, torch.SymInt) and re.fullmatch(r"(\d+\*)?[A-Za-z_]\w*([+-]\d+)?", name, re.ASCII):
                names.setdefault(size.node.expr, name)

    if dynamic_shapes:
        map_inputs(find_names, module, inputs, kwargs, dynamic_shapes)
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


def describe_dimension(size, names, constraints):
    """ "8", "batch", "2<=time<=128", "2*time+1", or "*" without a name."""
    if isinstance(size, int):
        return str(size)
    expression = size.node.expr
    symbols = list(expression.free_symbols)
    if expression not in names and len(symbols) == 1 and symbols[0] in names and expression.is_polynomial(*symbols):
        line = sympy.Poly(expression, *symbols)
        factor, plus = line.coeff_monomial(symbols[0]), line.coeff_monomial(1)
        if line.degree() == 1 and factor > 0:
            return (f"{factor}*" if factor != 1 else "") + names[symbols[0]] + (f"{int(plus):+d}" if plus != 0 else "")
    bounds = constraints.get(expression)
    is_bounded = bounds is not None and bounds.upper.is_Integer and bounds.upper < 2**62
    # torch has 2 as the least size of a Dim.AUTO, which takes 1 too.
    least = int(bounds.lower) if bounds is not None and bounds.lower.is_Integer else 1
    has_least = least > 2 or (expression in names and least != 1)
    name = names.get(expression, "*")
    return (f"{least}<=" if has_least else "") + name + (f"<={bounds.upper}" if is_bounded else "")


def metadata_of(program, names):
    """What tenon reads of inputs and outputs, which AOTInductor's library does not keep: of each the name, the dtype, and
    of each dimension its size or name and bounds, and of inputs the layout,
    "image float32 batch<=64 1 8 8 strides=64,64,8,1; rows int64 batch strides=1". Of numbers and None the kind."""

    kinds = {bool: "Bool", int: "Int", float: "Double"}
    symbols = {torch.SymBool: "Bool", torch.SymInt: "Int", torch.SymFloat: "Double", type(None): "none"}

    def describe(name, value):
        if type(value) in symbols:
            return f"{name} {symbols[type(value)]}"
        if type(value) in kinds:  # the library does not have it
            return f"{name} {kinds[type(value)]}={value if isinstance(value, float) else int(value)!r}"
        if not isinstance(value, torch.Tensor):
            raise ValueError(f"{name} is {value!r}, expected a tensor, a number or None: leave it out")
        sizes = (describe_dimension(size, names, program.range_constraints) for size in value.shape)
        return " ".join([name, str(value.dtype).removeprefix("torch."), *sizes])

    def describe_input(name, tensor):
        return describe(name, tensor) + (f" {layout_of(name, tensor)}" if tensor.dim() > 0 else "")

    nodes, specs = program.graph.output_node().args[0], program.graph_signature.output_specs
    outputs = user_values(name_outputs(program), nodes, specs, OutputKind.USER_OUTPUT)
    return {
        "tenon_inputs": "; ".join(describe_input(name, tensor) for name, tensor in tensor_inputs(program)),
        "tenon_outputs": "; ".join(describe(name, value) for name, value in outputs),
    }


def drop_constants(program):
    """Makes outputs that are always one number None, since torch compiles no others than integers."""
    output = program.graph.output_node()
    output.args = (tuple(arg if isinstance(arg, torch.fx.Node) else None for arg in output.args[0]),)
    for spec in program.graph_signature.output_specs:
        if isinstance(spec.arg, ConstantArgument):
            spec.arg = ConstantArgument(name=spec.arg.name, value=None)


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


def first_dimensions(module, inputs, kwargs, max_batch):
    """dynamic_shapes by which the first dimension of every input is the batch."""
    batch = torch.export.Dim("batch", min=1, max=max_batch)  # its name shows in errors

    def dims_of(name, value):
        if not isinstance(value, torch.Tensor):
            return None
        if value.dim() == 0 or value.shape[0] < 2:
            text = f"the example input {name} of sizes {list(value.shape)} has no batch of 2 or more"
            raise ValueError(f"{text}; --dynamic or dynamic_shapes says which dimensions of which inputs are dynamic")
        return {0: batch}

    return map_inputs(dims_of, module, inputs, kwargs)


def named_dimensions(module, inputs, kwargs, words):
    """dynamic_shapes by texts such as "tokens=0:batch<=8,1:time<=128", "mask=1:2*time+1"."""
    given, bounds, left = {}, {}, {word.partition("=")[0] for word in words}
    pattern = r"(\d+):(?:(\d+)<=)?(?:(\d+)\*)?([A-Za-z_]\w*)([+-]\d+)?(?:<=(\d+))?"
    for word in words:
        name, _, dims = word.partition("=")
        for dim in dims.split(","):
            match = re.fullmatch(pattern, dim, re.ASCII)
            if match is None:
                raise ValueError(f"--dynamic {word}: {dim!r} is not a dimension, such as 0:batch or 1:2<=time<=128")
            d, least, factor, symbol, plus, most = match.groups()
            given.setdefault(name, {})[int(d)] = (symbol, int(factor or 1), int(plus or 0))
            if symbol not in bounds or least or most:
                bounds[symbol] = (int(least or 1), int(most) if most else None)
    symbols = {symbol: torch.export.Dim(symbol, min=least, max=most) for symbol, (least, most) in bounds.items()}

    def dims_of(name, value):
        left.discard(name)
        dims = {}
        for d, (symbol, factor, plus) in given.get(name, {}).items():
            dim = symbols[symbol] if factor == 1 else factor * symbols[symbol]
            dims[d] = dim + plus if plus > 0 else dim - -plus if plus < 0 else dim
        return dims or None

    shapes = map_inputs(dims_of, module, inputs, kwargs)
    if left:
        known = []
        map_inputs(lambda name, value: known.append(name), module, inputs, kwargs)
        raise ValueError(f"--dynamic: there is no input {', '.join(sorted(left))}; the inputs: {', '.join(known)}")
    return shapes


def name_types(tree):
    """Gives NamedTuples the names by which a package keeps them."""
    kind = tree.context
    if hasattr(kind, "_fields") and kind not in pytree.SUPPORTED_NODES:
        pytree._register_namedtuple(kind, serialized_type_name=f"{kind.__module__}.{kind.__qualname__}")
    for child in tree.children():
        name_types(child)


def compile_model(
    module,
    inputs,
    kwargs=None,
    *,
    dynamic_shapes=None,
    max_batch=None,
    dynamic=None,
    matmuls=None,
    cpu="native",
    threads=1,
    weights="inside",
):
    """Compiles as export() says. Gives AOTInductor's files, and which matrix products they have."""
    module = module.eval()
    if dynamic:
        dynamic_shapes = named_dimensions(module, inputs, kwargs, dynamic)
    elif dynamic_shapes is None:
        dynamic_shapes = first_dimensions(module, inputs, kwargs, max_batch)

    # Attention as matrix products and a softmax, recurrent layers as loops, convolutions with their weights as they
    # are: without these three each is a kernel of libtorch's alone.
    with quiet(), torch.no_grad(), sdpa_kernel(SDPBackend.MATH), torch.backends.mkldnn.flags(enabled=False):
        program = torch.export.export(module, inputs, kwargs, dynamic_shapes=dynamic_shapes)
        for name, tensor in tensor_inputs(program):
            layout_of(name, tensor)  # raises where torch's next step would fail without a reason
        program = program.run_decompositions()
        if program.graph_signature.buffers_to_mutate:
            # torch's freezing takes what is computed from them alone, such as a counter, for a constant.
            if matmuls == "generated":
                written = ", ".join(program.graph_signature.buffers_to_mutate.values())
                raise ValueError(f"the model writes to its buffers {written}: matrix products have to be library's")
            matmuls = "library"
        if not tensor_inputs(program):  # of which freezing needs one
            matmuls = "library"
        signature = program.module_call_graph[0].signature
        name_types(signature.in_spec)
        name_types(signature.out_spec)
        names = name_dimensions(program, module, inputs, kwargs, dynamic_shapes)
        metadata = metadata_of(program, names) | {"tenon_threads": str(threads)}
        drop_constants(program)
        extra = {"aot_inductor.metadata": metadata, "aot_inductor.package": True}

        def compile_with(kind):
            options = configuration(kind, cpu, threads, weights) | extra
            args, kwargs = program.example_inputs
            return torch._inductor.aot_compile(program.module(check_guards=False), args, kwargs, options=options)

        try:
            chosen = matmuls or "generated"
            return compile_with(chosen), chosen
        except Exception as error:
            if matmuls is not None or "NoValidChoicesError" not in str(error):
                raise
            chosen = "library"
            return compile_with(chosen), chosen


def export_all(models, path):
    """Writes a package of several models: `models` has by name what export() takes, (module, inputs) or (module, inputs,
    options). Gives their Needs by name. AotiOptions::model says which one a program loads."""
    compiled = {}
    for name, (module, inputs, *options) in models.items():
        compiled[name] = compile_model(module, inputs, **(options[0] if options else {}))
    package_aoti(str(path), {name: files for name, (files, _) in compiled.items()})
    return {name: needs_of(path, matmuls, name) for name, (_, matmuls) in compiled.items()}


def export(module, inputs, path, **options):
    """Writes the package of `module`, in its eval mode, for inputs like the tuple `inputs`; gives its Needs.

    kwargs: a dict of inputs by keyword, which the package has after the others, in this order.
    dynamic_shapes: as torch.export.export's. None: by `dynamic`, a list of texts as --dynamic has them; without them
    too, the first dimension of every input is the batch, from 1 to max_batch. The example's size of a dynamic dimension
    must not be 1, which torch takes for a fixed size. The model reads an input by the strides of its example, and
    AotiModule copies others to them; of an expand()ed example it reads only what has memory. Numbers, texts and None
    among the inputs are fixed to the example's, and are no inputs of the package.
    matmuls, cpu, threads, weights: as on the command line.
    """
    return export_all({"model": (module, inputs, options)}, path)["model"]


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
    parser.add_argument("--dynamic", action="append", metavar="INPUT=DIMENSIONS", help="tokens=0:batch<=8,1:time<=128")
    parser.add_argument("--matmuls", choices=("generated", "library"))
    parser.add_argument("--cpu", choices=("native", "x86-64-v3", "x86-64-v4"), default="native")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--weights", choices=("inside", "beside"), default="inside")
    options = vars(parser.parse_args())

    module, inputs, *kwargs = load_network(options.pop("network"))
    path = options.pop("package")
    print(f"{path}: {export(module, inputs, path, kwargs=kwargs[0] if kwargs else None, **options)}")


if __name__ == "__main__":
    main()
