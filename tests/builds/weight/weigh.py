# SPDX-License-Identifier: MIT
"""What one use of tenon adds to a program: text, and compile time. tests/tools/budgets has the limits.

One program for each row: text at -Os, the same without error texts, text at -O2, and the compiler's
processor time at -O2 in includes of tenon.h. An empty program's text is part of each figure.
"""

import concurrent.futures
import os
import pathlib
import resource
import subprocess
import tempfile

FLAGS = ["-std=c++17", "-fno-exceptions", "-fno-rtti", "-ffunction-sections", "-fdata-sections",
         "-DNDEBUG"]

# name: main's body
PROGRAMS = {
    "tensor_impl": ("TensorImpl impl(ScalarType::Float, 2, sizes, floats); Tensor t(&impl); "
                    "sink = t.numel();"),
    "from_blob": "auto t = from_blob(floats, {2, 3}); sink = t->numel();",
    "resize": "auto t = from_blob(floats, {2, 3}); sink = int(resize_tensor_ptr(t, {3, 2}));",
    "zeros": "auto t = zeros({2, 3}); sink = t->numel();",
    "list": "auto t = make_tensor_ptr({2, 2}, {1.f, 2.f, 3.f, 4.f}); sink = t->numel();",
    "clone": "auto t = from_blob(floats, {2, 3}); auto c = clone_tensor_ptr(t); sink = c->numel();",
    "copy": ("auto t = from_blob(floats, {2, 3}); auto c = from_blob(integers, {2, 3}); "
             "sink = int(copy_(t, c));"),
    "rand": "auto t = rand({2, 2}); sink = t->numel();",
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
    """The processor seconds that a command takes, its children included, without the system's."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before.ru_utime


def text_size(program):
    output = subprocess.run(["size", program], check=True, capture_output=True, text=True).stdout
    return int(output.splitlines()[1].split()[0])


def is_the_compiler(compiler):
    """Whether it is the one that the limits are for."""
    macros = subprocess.run([compiler, "-dM", "-E", "-x", "c++", os.devnull], check=True,
                            capture_output=True, text=True).stdout
    return ("__clang__" not in macros and "#define __GNUC__ 12\n" in macros
            and "#define __x86_64__ 1\n" in macros)


def measure(compiler, include, is_enough):
    """Yields (name, value, what it is) of each program. Times are measured again, five times at most, while they are not
    enough: is_enough(name, value)."""
    flags = [compiler, *FLAGS, f"-I{include}"]
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
        for name, body in PROGRAMS.items():
            empty = full = float("inf")
            for _ in range(6):  # side by side, since other programs may run meanwhile
                empty, full = min(empty, seconds("")), min(full, seconds(body))
                compiled = round(full / empty, 2)
                if is_enough(f"{name}/compile", compiled):
                    break
            with concurrent.futures.ThreadPoolExecutor() as pool:
                small = pool.submit(text, "small", *small_options, source)
                smallest = pool.submit(text, "smallest", *smallest_options, source)
                yield f"{name}/Os", small.result(), "text, -Os"
                yield f"{name}/Os_without_texts", smallest.result(), "text, -Os, TENON_ERROR_TEXT=0"
            yield f"{name}/O2", text("fast", object_file), "text, -O2"
            yield f"{name}/compile", compiled, "compile time in that of <tenon/tenon.h>"
