#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs both columns of docs/numpy.md's tables, and compares what NumPy and tenon give.

usage: numpy_rows.py PAGE SOURCE     writes a C++ program that evaluates the second column of each row
       numpy_rows.py PAGE SOURCE PROGRAM    compares what it prints with what NumPy gives for the first

A row is compared if each of its first two cells is code alone. The page's first python block and its first cpp
block behind that stand before each row. A statement, or a call that returns nothing, is compared by `a` afterwards.
Of uninitialised memory and of random numbers, dtype and sizes are compared.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

ROW = re.compile(r"^\| *`([^`|]+)` *\| *`([^`|]+)` *\|", re.MULTILINE)
UNKNOWN_VALUES = re.compile(r"np\.empty|rng\.")
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
static std::string text(const TensorPtr& t) { return text(*t); }
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


def read(page):
    """The page's rows, each with its line, and what stands before each in Python and in C++."""
    text = page.read_text(encoding="utf-8")
    python, cpp = (re.search(rf"```{language}\n(.*?)```", text[text.index("```python"):], re.DOTALL)[1]
                   for language in ("python", "cpp"))
    rows = [(text.count("\n", 0, row.start()) + 1, row[1], row[2]) for row in ROW.finditer(text)]
    return rows, python, cpp


def program(page, rows, setup):
    parts = [PROGRAM]
    for line, numpy, tenon in rows:
        is_statement = "false" if is_expression(numpy) else "true"
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
        names = {}
        exec(setup, names)  # pylint: disable=exec-used
        result = eval(numpy, names) if is_expression(numpy) else exec(numpy, names)  # pylint: disable=eval-used,exec-used
        theirs, ours = text(names["a"] if result is None else result).strip(), ours.strip()
        if UNKNOWN_VALUES.match(numpy):
            theirs, ours = theirs.rpartition("\n")[2], ours.rpartition("\n")[2]
        if theirs != ours:
            yield f"{page}:{line}: {numpy} gives\n{theirs}\n{tenon} gives\n{ours}"


def main(arguments):
    if len(arguments) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    page, source = (pathlib.Path(argument) for argument in arguments[:2])
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
