#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the columns "NumPy" and "tenon" of a page's tables, and compares what they give.

usage: numpy_rows.py PAGE SOURCE     writes a C++ program that evaluates tenon's cell of each row
       numpy_rows.py PAGE SOURCE PROGRAM    compares what it prints with what NumPy's cell gives
       numpy_rows.py PAGE SOURCE --peer COLUMN    writes a C++ program of the cells of ATen, ExecuTorch, mdspan or Eigen

A row is run if tenon's cell is code alone and NumPy's too, or empty; compared if it is not. The page's first python block and its first cpp
block behind that stand before each row. A statement, or a call that returns nothing, is compared by `a` afterwards.
Of uninitialised memory and of random numbers, dtype and sizes are compared; of addresses and texts nothing is.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

CODE = re.compile(r"`([^`|]*)`")
UNKNOWN_VALUES = re.compile(r"np\.empty|rng\.")
UNCOMPARED = re.compile(r"\.ctypes\b|\.device$|^str\(")
# What stands before the cells of other libraries, whose columns are compiled and run, but not compared.
PEERS = {
    "ATen": """#include <ATen/ATen.h>
#include <ATen/DLConvertor.h>
#include <ATen/MemoryOverlap.h>
#include <iostream>
static const auto arange = [] { return at::arange(12, at::kFloat).view({3, 4}); };
#define SETUP at::Tensor a = arange(), b = at::ones({3, 4}), n = at::arange(1, 4), image = at::zeros({2, 4, 3}); \\
  float p[6] = {};
""",
    "ExecuTorch": """#include <executorch/extension/tensor/tensor.h>
using namespace executorch::extension;
using executorch::aten::ScalarType, executorch::aten::TensorShapeDynamism, executorch::aten::DeviceType;
#define SETUP auto a = full({3, 4}, 1), image = full({2, 4, 3}, 1); float p[6] = {}; \\
  std::vector<float> floats(6); std::vector<uint8_t> raw(24);
""",
    "mdspan": """#include <cuda/std/array>
#include <cuda/std/linalg>
#include <cuda/std/mdspan>
#include <cuda/std/utility>
using namespace cuda::std;
#define SETUP float p[12] = {}, table[3] = {}; auto m = mdspan(p, 3, 4);
""",
    "Eigen": """#include <Eigen/Dense>
#include <iostream>
using namespace Eigen;
#define SETUP MatrixXf a = MatrixXf::Ones(3, 4), b = a; VectorXf n = VectorXf::Ones(3); float p[6] = {}, table[3] = {};
""",
}
PROGRAM = r"""// SPDX-License-Identifier: MIT
#undef NDEBUG
#include <cassert>
#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

#include <tenon/interop/npy.h>
#include <tenon/tenon.h>
#include <tenon/tensor/values.h>

using namespace tenon;

// By what write_npy writes, so that NumPy's name of the dtype is not from a table here.
static std::string dtype(ScalarType type) {
  const std::vector<uint8_t> file = to_npy(empty({1}, type));
  const std::string text(file.begin(), file.end());
  const size_t begin = text.find("'descr': '") + 10;
  return text.substr(begin, text.find('\'', begin) - begin);
}
static std::string text(const Tensor& t) {
  std::string out = to_string(t);
  out = out.substr(0, out.rfind('\n')) + "\n" + dtype(t.scalar_type());
  for (int64_t d = 0; d < t.dim(); ++d) {
    out += " " + std::to_string(t.size(d));
    if (t.size(d) > 1) out += ":" + std::to_string(t.stride(d) * static_cast<int64_t>(t.element_size()));
  }
  return out;
}
static std::string text(const TensorPtr& t) { return t->const_data_ptr() == nullptr ? "" : text(*t); }
// Addresses, enumerators and what else is not compared.
struct Any {
  template <class T>
  Any(const T&) {}
};
[[maybe_unused]] static std::string text(Any) { return ""; }
static std::string text(ScalarType type) { return dtype(type); }
static std::string text(const std::vector<Tensor>& list) {
  std::string out;
  for (const Tensor& t : list) out += text(t) + "\n";
  return out;
}
template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
static std::string text(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    char out[32];
    std::snprintf(out, sizeof out, "%.9g", static_cast<double>(value));
    return out;
  }
  return std::to_string(value);
}
template <class T>
static std::string text(Span<T> list) {
  std::string out;
  for (auto x : list) out += text(x) + " ";
  return out;
}
template <class T>
static std::string text(const std::vector<T>& list) {
  return text(Span<const T>(list.data(), list.size()));
}
// What the call gives; of a statement, of an Ok and of nothing: what `a` is then.
template <bool kIsStatement, class Call, class A>
static void show(const Call& call, const A& a) {
  using T = decltype(call());
  std::string out;
  if constexpr (std::is_same_v<T, Error>) {
    check(call());
    out = text(a);
  } else if constexpr (kIsStatement || std::is_void_v<T>) {
    static_cast<void>(call());
    out = text(a);
  } else {
    out = text(call());
  }
  std::printf("%s\n\f\n", out.c_str());
}
"""


def is_expression(code):
    try:
        compile(code, "row", "eval")
        return True
    except SyntaxError:
        return False


def cells_of(text):
    """Yields the rows of tables, (line, {column: code}), with the cells that are code alone, or empty."""
    columns = []
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if not columns or not cells:
            columns = cells
            continue
        code = {column: CODE.fullmatch(cell or "``") for column, cell in zip(columns, cells)}
        yield number, {column: match[1] for column, match in code.items() if match}


def peer_program(page, peer):
    parts = ["// SPDX-License-Identifier: MIT\n", PEERS[peer]]
    rows = [(line, cells[peer]) for line, cells in cells_of(page.read_text(encoding="utf-8")) if cells.get(peer)]
    for line, cell in rows:
        if peer == "mdspan":  # C++17 has no operator[] of two indices; libcu++'s parts of std
            cell = re.sub(r"m\[1, 2\]", "m(1, 2)", cell).replace("std::", "cuda::std::")
        if re.search(r"::(Scalar|\w+_type)$", cell):
            cell = f"sizeof({cell})"
        statement = cell if cell.startswith("auto ") else f"static_cast<void>({cell})"
        if "CUDA" in cell:  # compiled, not run
            statement = f"static_cast<void>([&] {{ {statement}; }})"
        parts.append(f"static void row_{line}() {{\nSETUP\n#line {line} \"{page.as_posix()}\"\n{statement};\n}}\n")
    return "".join(parts) + "int main() {\n" + "".join(f"  row_{line}();\n" for line, _ in rows) + "}\n"


def read(page):
    """The page's rows, each with its line, and what stands before each in Python and in C++."""
    text = page.read_text(encoding="utf-8")
    python, cpp = (re.search(rf"```{language}\n(.*?)```", text[text.index("```python"):], re.DOTALL)[1]
                   for language in ("python", "cpp"))
    rows = [(line, cells["NumPy"], cells["tenon"]) for line, cells in cells_of(text)
            if "NumPy" in cells and cells.get("tenon")]
    return rows, python, cpp


def program(page, rows, setup):
    parts = [PROGRAM]
    for line, numpy, tenon in rows:
        is_statement = "false" if not numpy or is_expression(numpy) else "true"
        parts.append(f"static void row_{line}() {{\n{setup}#line {line} \"{page.as_posix()}\"\n"
                     f"show<{is_statement}>([&]() -> decltype(auto) {{ return {tenon}; }}, a);\n}}\n")
    return "".join(parts) + "int main() {\n" + "".join(f"  row_{line}();\n" for line, _, _ in rows) + "}\n"


def text(value):
    import numpy as np
    if isinstance(value, np.ndarray):
        shape = (f" {n}:{stride}" if n > 1 else f" {n}" for n, stride in zip(value.shape, value.strides))
        return f"{value}\n{value.dtype.str}" + "".join(shape)
    if isinstance(value, (np.dtype, type)):
        return np.dtype(value).str
    if isinstance(value, (list, tuple, bytes)):
        is_text = value and isinstance(value[0], np.ndarray)
        return "".join(text(x) + ("\n" if is_text else " ") for x in value)
    return f"{value:.9g}" if isinstance(value, (float, np.floating)) else str(int(value))


def compare(page, rows, setup, printed):
    """Yields a fault for each row whose sides differ."""
    for (line, numpy, tenon), ours in zip(rows, printed):
        if not numpy or UNCOMPARED.search(numpy):
            continue
        names = {}
        exec(setup, names)  # pylint: disable=exec-used
        result = eval(numpy, names) if is_expression(numpy) else exec(numpy, names)  # pylint: disable=eval-used,exec-used
        theirs, ours = text(names["a"] if result is None else result).strip(), ours.strip()
        if UNKNOWN_VALUES.match(numpy):
            theirs, ours = theirs.rpartition("\n")[2], ours.rpartition("\n")[2]
        if theirs != ours:
            yield f"{page}:{line}: {numpy} gives\n{theirs}\n{tenon} gives\n{ours}"


def main(arguments):
    if len(arguments) not in (2, 3, 4):
        print(__doc__, file=sys.stderr)
        return 2
    page, source = (pathlib.Path(argument) for argument in arguments[:2])
    if len(arguments) == 4:
        source.write_text(peer_program(page, arguments[3]), encoding="utf-8")
        return 0
    rows, python, cpp = read(page)
    if len(arguments) == 2:
        source.write_text(program(page, rows, cpp), encoding="utf-8")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([pathlib.Path(arguments[2]).resolve()], cwd=folder, text=True, check=True, stdout=subprocess.PIPE)
        printed = run.stdout.split("\n\f\n")[:-1]
        faults = list(compare(page, rows, f"import os\nos.chdir({folder!r})\n{python}", printed))
    print("\n".join(faults))
    print(f"{len(rows)} rows, {len(printed)} printed, {len(faults)} differ")
    return 1 if faults or len(printed) != len(rows) or not rows else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
