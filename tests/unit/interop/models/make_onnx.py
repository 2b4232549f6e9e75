# SPDX-License-Identifier: MIT
"""Writes the .onnx files in this folder, which the tests of interop/onnxruntime.h run, and that of
examples/executorch_app. They were written by onnx 1.23.2:

    pip install onnx==1.23.2 numpy==2.4.6
    python3 make_onnx.py

A rerun writes the same bytes.
"""

from pathlib import Path

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper

HERE = Path(__file__).resolve().parent
DIGITS = HERE.parents[3] / "examples" / "digits" / "data"

FLOAT = TensorProto.FLOAT
# Whatever both ONNX and tenon have, by the names of tenon's types in lower case.
DTYPES = {
    "bool": TensorProto.BOOL,
    "byte": TensorProto.UINT8,
    "char": TensorProto.INT8,
    "short": TensorProto.INT16,
    "int": TensorProto.INT32,
    "long": TensorProto.INT64,
    "uint16": TensorProto.UINT16,
    "uint32": TensorProto.UINT32,
    "uint64": TensorProto.UINT64,
    "half": TensorProto.FLOAT16,
    "bfloat16": TensorProto.BFLOAT16,
    "float": TensorProto.FLOAT,
    "double": TensorProto.DOUBLE,
    "e5m2": TensorProto.FLOAT8E5M2,
    "e4m3fn": TensorProto.FLOAT8E4M3FN,
    "e5m2fnuz": TensorProto.FLOAT8E5M2FNUZ,
    "e4m3fnuz": TensorProto.FLOAT8E4M3FNUZ,
}

tensor = helper.make_tensor_value_info


def save(name, nodes, inputs, outputs, constants=(), folder=HERE, ml=1):
    """`constants` are pairs of a name and an array; one that is named as an input is its default."""
    initializers = [numpy_helper.from_array(array, name) for name, array in constants]
    graph = helper.make_graph(nodes, name, inputs, outputs, initializers)
    model = helper.make_model(graph, producer_name="tenon", ir_version=10,
                              opset_imports=[helper.make_opsetid("", 21), *(
                                  [helper.make_opsetid("ai.onnx.ml", ml)] if any(node.domain for node in nodes) else [])])
    checker.check_model(model, full_check=True)
    data = model.SerializeToString(deterministic=True)
    (folder / f"{name}.onnx").write_bytes(data)
    print(f"{name}.onnx: {len(data)} bytes")


def save_double(name, sizes):
    """doubled = 2 * image."""
    save(name, [helper.make_node("Mul", ["image", "two"], ["doubled"])],
         [tensor("image", FLOAT, sizes)], [tensor("doubled", FLOAT, sizes)],
         [("two", np.array(2, np.float32))])


def save_digits(batch="batch", folder=HERE):
    """The network of examples/digits: `batch` images of bytes, or any number; ten scores for each."""
    weights = {name: np.load(DIGITS / f"{name}.npy") for name in ("w1", "b1", "w2", "b2")}
    # Multiples of 1/64, most of them small: as bytes they take a quarter of what they take as floats.
    small = {name: np.round(array * 64).astype(np.int16) for name, array in weights.items()}
    assert all((small[name] / np.float32(64) == weights[name]).all() for name in weights)
    nodes = [helper.make_node("Cast", ["images"], ["ink"], to=FLOAT),
             helper.make_node("Flatten", ["ink"], ["flat"], axis=1),
             helper.make_node("Div", ["flat", "sixteen"], ["pixels"])]
    constants = [("sixteen", np.array(16, np.float32)), ("unit", np.array(1 / 64, np.float32))]
    for name, array in small.items():
        nodes += [helper.make_node("Cast", [name], [name + "_float"], to=FLOAT),
                  helper.make_node("Mul", [name + "_float", "unit"], [name + "_weight"])]
        fits = np.abs(array).max() < 128
        constants.append((name, array.astype(np.int8) if fits else array))
    nodes += [helper.make_node("Gemm", ["pixels", "w1_weight", "b1_weight"], ["sums"], transB=1),
              helper.make_node("Relu", ["sums"], ["hidden"]),
              helper.make_node("Gemm", ["hidden", "w2_weight", "b2_weight"], ["scores"], transB=1)]
    save("digits", nodes, [tensor("images", TensorProto.UINT8, [batch, 8, 8])],
         [tensor("scores", FLOAT, [batch, 10])], constants, folder)


def save_classifier(name, labels, outputs):
    """A linear classifier as sklearn-onnx writes them: the greater of two values wins; "prob" is a sequence of maps."""
    kind = "strings" if isinstance(labels[0], str) else "int64s"
    nodes = [helper.make_node("LinearClassifier", ["x"], ["label", "prob_t"], domain="ai.onnx.ml", multi_class=0,
                              coefficients=[1.0, -1.0, -1.0, 1.0], intercepts=[0.0, 0.0], post_transform="SOFTMAX",
                              **{f"classlabels_{'strings' if kind == 'strings' else 'ints'}": labels})]
    nodes.append(helper.make_node("ZipMap", ["prob_t"], ["prob"], domain="ai.onnx.ml", **{f"classlabels_{kind}": labels}))
    key = TensorProto.STRING if kind == "strings" else TensorProto.INT64
    value = helper.make_tensor_type_proto(FLOAT, [])
    maps = helper.make_sequence_type_proto(helper.make_map_type_proto(key, value))
    infos = {"label": tensor("label", key, ["n"]), "prob_t": tensor("prob_t", FLOAT, ["n", 2]),
             "prob": helper.make_value_info("prob", maps)}
    save(name, nodes, [tensor("x", FLOAT, ["n", 2])], [infos[output] for output in outputs])


def save_optional():
    """there = whether the optional mask is given, same = the optional x, nothing = an optional value that is not there."""
    kind = helper.make_tensor_type_proto(FLOAT, [2])
    optional = helper.make_optional_type_proto(kind)
    save("optional", [helper.make_node("OptionalHasElement", ["mask"], ["there"]),
                      helper.make_node("Optional", ["x"], ["same"]), helper.make_node("Optional", [], ["nothing"], type=kind)],
         [tensor("x", FLOAT, [2]), helper.make_value_info("mask", optional)],
         [tensor("there", TensorProto.BOOL, []), helper.make_value_info("same", optional), helper.make_value_info("nothing", optional)])


def save_texts():
    """Numbers of texts and texts of numbers; counts of three words; texts of every shape, and their sizes."""
    text = TensorProto.STRING
    save("encoder", [helper.make_node("LabelEncoder", ["word"], ["number"], domain="ai.onnx.ml", keys_strings=["a", "b"],
                                      values_int64s=[1, 2], default_int64=-1)],
         [tensor("word", text, ["n"])], [tensor("number", TensorProto.INT64, ["n"])], ml=2)
    save("decoder", [helper.make_node("LabelEncoder", ["number"], ["word"], domain="ai.onnx.ml", keys_int64s=[1, 2],
                                      values_strings=["a", "b"], default_string="?")],
         [tensor("number", TensorProto.INT64, ["n"])], [tensor("word", text, ["n"])], ml=2)
    save("counter", [helper.make_node("TfIdfVectorizer", ["words"], ["counts"], max_gram_length=1, max_skip_count=0,
                                      min_gram_length=1, mode="TF", ngram_counts=[0], ngram_indexes=[0, 1, 2],
                                      pool_strings=["a", "b", "c"])],
         [tensor("words", text, ["n"])], [tensor("counts", FLOAT, [3])])
    shapes = {"scalar": [], "one": [1], "row": ["n"], "column": ["m", 1], "pairs": ["p", 2], "six": [2, 3], "grid": ["y", "x"]}
    for name, sizes in shapes.items():
        save(f"words_{name}", [helper.make_node("Identity", ["words"], ["same"]), helper.make_node("Shape", ["words"], ["sizes"])],
             [tensor("words", text, sizes)], [tensor("same", text, sizes), tensor("sizes", TensorProto.INT64, [len(sizes)])])
    sequence = helper.make_tensor_sequence_value_info
    save("word_lists", [helper.make_node("ConcatFromSequence", ["lists"], ["whole"], axis=0),
                        helper.make_node("SplitToSequence", ["whole"], ["pieces"], axis=0)],
         [sequence("lists", text, ["n"])], [tensor("whole", text, ["m"]), sequence("pieces", text, [1])])


def main():
    save_double("double", [1, 8])
    save_double("double_batch", ["batch", 8])

    # total = a + b, difference = a - b
    save("two", [helper.make_node("Add", ["a", "b"], ["total"]), helper.make_node("Sub", ["a", "b"], ["difference"])],
         [tensor("a", FLOAT, ["rows", 2]), tensor("b", FLOAT, ["rows", 2])],
         [tensor("total", FLOAT, ["rows", 2]), tensor("difference", FLOAT, ["rows", 2])])

    # next = state + x, last = state
    save("state", [helper.make_node("Add", ["state", "x"], ["next"]), helper.make_node("Identity", ["state"], ["last"])],
         [tensor("x", FLOAT, [2]), tensor("state", FLOAT, [2])],
         [tensor("next", FLOAT, [2]), tensor("last", FLOAT, [2])])

    # Says that its output has as many rows as its input, and gives twice as many.
    save("wrong", [helper.make_node("Concat", ["values", "values"], ["both"], axis=0)],
         [tensor("values", FLOAT, ["rows", 2])], [tensor("both", FLOAT, ["rows", 2])])

    # What comes out of a run is as large as its input's values say; the index may be beyond the table.
    save("positive", [helper.make_node("NonZero", ["values"], ["indices"])],
         [tensor("values", FLOAT, ["count"])], [tensor("indices", TensorProto.INT64, [1, None])])
    save("pick", [helper.make_node("Gather", ["table", "index"], ["picked"])],
         [tensor("index", TensorProto.INT64, [1])], [tensor("picked", FLOAT, [1])],
         [("table", np.array([10, 20, 30], np.float32))])

    # Outputs that are an input and a constant of the model, as they are.
    save("given", [], [tensor("values", FLOAT, [None])], [tensor("values", FLOAT, [None]), tensor("table", FLOAT, [3])],
         [("table", np.array([10, 20, 30], np.float32))])
    save("scalar", [helper.make_node("ReduceSum", ["values"], ["sum"], keepdims=0)],
         [tensor("values", FLOAT, ["count"])], [tensor("sum", FLOAT, [])])

    # Each output is the input of its name.
    names = list(DTYPES)
    save("dtypes", [helper.make_node("Identity", [f"{name}_in"], [f"{name}_out"]) for name in names],
         [tensor(f"{name}_in", DTYPES[name], [4]) for name in names],
         [tensor(f"{name}_out", DTYPES[name], [4]) for name in names])

    # y = x * scale + shift, which are inputs with a default; words is one that no node reads.
    save("defaults", [helper.make_node("Mul", ["x", "scale"], ["scaled"]), helper.make_node("Add", ["scaled", "shift"], ["y"])],
         [tensor("scale", FLOAT, []), tensor("x", FLOAT, ["n"]), tensor("shift", FLOAT, [1]),
          tensor("words", TensorProto.STRING, [2])], [tensor("y", FLOAT, ["n"])],
         [("scale", np.array(2, np.float32)), ("shift", np.array([1], np.float32)), ("words", np.array(["a", "b"], object))])
    # The default of an input as an output, as it is.
    save("given_default", [helper.make_node("Add", ["x", "shift"], ["y"])],
         [tensor("x", FLOAT, [3]), tensor("shift", FLOAT, [3])], [tensor("y", FLOAT, [3]), tensor("shift", FLOAT, [3])],
         [("shift", np.array([1, 2, 3], np.float32))])
    # Sequences of tensors: pieces joined, the rows of that one by one, and an empty sequence.
    sequence = helper.make_tensor_sequence_value_info
    save("pieces", [helper.make_node("ConcatFromSequence", ["pieces"], ["whole"], axis=0),
                    helper.make_node("SplitToSequence", ["whole"], ["rows"], axis=0, keepdims=1),
                    helper.make_node("SequenceEmpty", [], ["nothing"], dtype=FLOAT)],
         [sequence("pieces", FLOAT, ["n", 2])],
         [tensor("whole", FLOAT, ["m", 2]), sequence("rows", FLOAT, [1, 2]), sequence("nothing", FLOAT, None)])
    save_classifier("zipmap", [0, 1], ["label", "prob"])
    save_classifier("text_label", ["cat", "dog"], ["label", "prob_t", "prob"])
    save_classifier("only_map", [0, 1], ["prob"])
    save_optional()

    save_texts()
    save("strings", [helper.make_node("Identity", ["words"], ["same"])],
         [tensor("words", TensorProto.STRING, [2])], [tensor("same", TensorProto.STRING, [2])])
    words = helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.STRING, [2]))
    save("optional_text", [helper.make_node("Identity", ["x"], ["same"])],
         [tensor("x", FLOAT, [2]), helper.make_value_info("words", words)], [tensor("same", FLOAT, [2])])
    save("sequence", [helper.make_node("SequenceConstruct", ["image"], ["images"])],
         [tensor("image", FLOAT, [2])],
         [helper.make_tensor_sequence_value_info("images", FLOAT, [2])])
    save_digits()
    save_digits(1, HERE.parents[3] / "examples" / "executorch_app")


if __name__ == "__main__":
    main()
