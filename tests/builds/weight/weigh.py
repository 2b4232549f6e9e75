#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Weighs what one use of tenon adds to a program: text, and compile time.

usage: weigh.py COMPILER INCLUDE_FOLDER

One program for each row: text at -Os, the same without error texts, text at -O2, and the compiler's
processor time at -O2 in includes of tenon.h. The times are measured again, five times at most, while
above their limit, and the limits leave room, since a busy machine moves them by a fifth. An empty
program's text is part of each figure. Exits with 1 when a figure is above its limit, with 77
(skipped) when the compiler is not GCC 12 for x86-64, whose figures the limits are.
"""

import concurrent.futures
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

FLAGS = ["-std=c++17", "-fno-exceptions", "-fno-rtti", "-ffunction-sections", "-fdata-sections",
         "-DNDEBUG"]

# name: (main's body, text -Os, text -Os without error texts, text -O2, includes)
PROGRAMS = {
    "stack TensorImpl": ("TensorImpl impl(ScalarType::Float, 2, sizes, floats); Tensor t(&impl); "
                         "sink = t.numel();", 7000, 4000, 7800, 2),
    "from_blob": ("auto t = from_blob(floats, {2, 3}); sink = t->numel();", 9600, 7700, 11400, 2),
    "+ resize": ("auto t = from_blob(floats, {2, 3}); sink = int(resize_tensor_ptr(t, {3, 2}));",
                 14000, 10200, 15500, 2.3),
    "zeros": ("auto t = zeros({2, 3}); sink = t->numel();", 12500, 9800, 15600, 2.3),
    "list of four": ("auto t = make_tensor_ptr({2, 2}, {1.f, 2.f, 3.f, 4.f}); sink = t->numel();",
                     12500, 9800, 15800, 2.3),
    "clone": ("auto t = from_blob(floats, {2, 3}); auto c = clone_tensor_ptr(t); sink = c->numel();",
              22100, 19000, 38700, 3.2),
    "copy_": ("auto t = from_blob(floats, {2, 3}); auto c = from_blob(integers, {2, 3}); "
              "sink = int(copy_(t, c));", 40000, None, 80000, 5),
    "rand": ("auto t = rand({2, 2}); sink = t->numel();", 24000, None, 40000, 4),
}

SOURCE = """#include <tenon/tenon.h>
using namespace tenon;
volatile int64_t sink;
static float floats[6];
static int32_t integers[6];
static const int64_t sizes[] = {2, 3};
int main() {
  static_cast<void>(floats), static_cast<void>(integers), static_cast<void>(sizes);
  %s
}
"""


def compile_seconds(command):
    """The processor seconds that a command takes, its children included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def text_size(program):
    output = subprocess.run(["size", program], check=True, capture_output=True, text=True).stdout
    return int(output.splitlines()[1].split()[0])


def is_the_compiler(compiler):
    """Whether it is the one that the limits are for."""
    macros = subprocess.run([compiler, "-dM", "-E", "-x", "c++", os.devnull], check=True,
                            capture_output=True, text=True).stdout
    return ("__clang__" not in macros and "#define __GNUC__ 12\n" in macros
            and "#define __x86_64__ 1\n" in macros)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    compiler, include = sys.argv[1:]
    if not is_the_compiler(compiler):
        print("tenon: skipped: the limits are for GCC 12 on x86-64")
        return 77
    flags = [compiler, *FLAGS, "-I" + include]
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        source, object_file = str(pathlib.Path(folder, "a.cpp")), str(pathlib.Path(folder, "a.o"))

        def text(name, *options):
            program = str(pathlib.Path(folder, name))
            subprocess.run([*flags, *options, "-Wl,--gc-sections", "-o", program], check=True)
            return text_size(program)

        def seconds(body):
            pathlib.Path(source).write_text(SOURCE % body, encoding="utf-8")
            return compile_seconds([*flags, "-O2", "-c", source, "-o", object_file])

        def precompile(name, *options):
            """Compiles the headers once; returns the options that use them."""
            header = pathlib.Path(folder, name + ".h")
            header.write_text("#include <tenon/tenon.h>\n", encoding="utf-8")
            options = [*options, "-Wno-psabi"]  # GCC loses the pragma that says so
            subprocess.run([*flags, *options, "-x", "c++-header", header, "-o", f"{header}.gch"], check=True)
            return [*options, "-Werror", "-Winvalid-pch", "-include", str(header)]

        small_options = precompile("small", "-Os")
        smallest_options = precompile("smallest", "-Os", "-DTENON_ERROR_TEXT=0")
        include_seconds = float("inf")
        print("| program | text -Os | without error texts | text -O2 | includes |\n|---|---|---|---|---|")
        for name, (body, *limits) in PROGRAMS.items():
            empty = full = float("inf")
            for _ in range(6):  # side by side, since other programs may run meanwhile
                empty, full = min(empty, seconds("")), min(full, seconds(body))
                compiled = round(full / empty, 1)
                if compiled <= limits[-1]:
                    break
            include_seconds = min(include_seconds, empty)
            with concurrent.futures.ThreadPoolExecutor() as pool:
                small = pool.submit(text, "small", *small_options, source)
                smallest = pool.submit(text, "smallest", *smallest_options, source)
                figures = [small.result(), smallest.result()]
            figures += [text("fast", object_file), compiled]
            cells = []
            for figure, limit in zip(figures, limits):
                over = limit is not None and figure > limit
                faults += over
                cells.append(f"{figure:,}" + (f" (limit {limit:,})" if over else ""))
            print(f"| {name} |", " | ".join(cells), "|", flush=True)
        print(f"include alone: {include_seconds:.2f} s")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
