#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the programs beside this file take on a Cortex-M4F: a table, or a check of the limits. Each is run in QEMU, which
has to end well, on a painted stack.

usage: sizes.py report [--executorch PATH]   prints the table of docs/embedded.md
       sizes.py check                        fails where a program is too large, or has what it must not have
"""

import argparse
import collections
import concurrent.futures
import functools
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[3]
COMPILER = "arm-none-eabi-g++"
CPU = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"]
FLAGS = ["-Os", "-DNDEBUG", "-std=c++17", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics",
         "-ffunction-sections", "-fdata-sections", "--specs=nano.specs"]
# Without a note for each parameter that GCC 7.1 began to pass in another way.
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror", "-Wno-psabi"]
LINK = ["-Wl,--gc-sections", "--specs=nano.specs", "--specs=nosys.specs"]
# For the second link of a program, with measure.cpp around main().
LINK_TO_RUN = ["-Wl,--gc-sections", "-Wl,--wrap=main", "--specs=nano.specs", "--specs=rdimon.specs", "-T",
               HERE.parent / "mps2.ld", "-Wl,--defsym=flash_at=0,--defsym=ram_at=0x20000000"]
QEMU = ["qemu-system-arm", "-M", "mps2-an386", "-nographic", "-monitor", "none", "-serial", "none",
        "-semihosting-config", "enable=on,target=native", "-kernel"]

# The program, its row in the table, what it makes of its numbers (None: random ones), and what it may take: of stack
# without error texts, and of text above an empty program's without error texts and with them. A few per cent more than
# it does, or what was promised of those with modules. The texts of the others have no limit.
Row = collections.namedtuple("Row", "title result stack limit limit_with_texts", defaults=(None, None))
PROGRAMS = {
    "tensor_impl": Row("`TensorImpl` on the stack, accessor", 21, 264, 1700, 4200),
    "from_blob": Row("`from_blob` in an arena, accessor", 21, 296, 5100, 8900),
    "resize": Row("`from_blob` on the heap, `resize_tensor_ptr`, accessor", 21, 352, 5100, 9100),
    "zeros": Row("`zeros` in an arena", 0, 440),
    "list": Row("a list of values in an arena, accessor", 21, 560, 6600, 10700),
    "views": Row("`slice`, `transpose`, `view`", 6, 1064),
    "cast_known": Row("a cast of known types, by a loop of yours", 6, 496),
    "fill": Row("`fill_`", 2, 1648),
    "copy_same": Row("`copy_`, one type, transposed", 6, 2400),
    "copy_cast": Row("`copy_` with a cast, transposed", 6, 3240),
    "normalize": Row("`copy_` with `Normalize` and a cast", -16, 3480),
    "clone": Row("`clone_tensor_ptr`", 6, 1480),
    "blob": Row("`Blob` and `assign`, transposed", 1, 2656),
    "dlpack": Row("`to_dlpack`", 6, 408),
    "rand": Row("`rand`", None, 1536),
    "randn": Row("`randn`", None, 1760),
    "format": Row("`to_string`", 37, 2584, 18432, 20480),
    "function_module": Row("`FunctionModule` and `EValue`, an output returned", 1, 680, 14336, 14336 + 5120),
    "set_output": Row("`FunctionModule` and `EValue`, an output set", 1, 648, 14464, 14464 + 5504),
}
# Those that divide no 64-bit numbers, when there are no texts to print them in.
WITHOUT_LONG_DIVISION = ["tensor_impl", "from_blob", "resize", "zeros", "list", "cast_known", "dlpack", "rand"]
# Those that link no heap with TENON_HEAP=0: all but what returns a std::string.
WITHOUT_HEAP = [name for name in PROGRAMS if name != "format"]
# Those whose tensors are on the heap, and which end without one.
ON_HEAP = ["resize"]
# Their own memory, which is no cost of the library.
OWN_MEMORY = {"arena_memory", "data", "xs", "ys", "sink"}

# Those that give sizes alone, and link nothing that checks strides.
WITHOUT_STRIDES = ["tensor_impl", "from_blob"]
# Symbols that no program may have.
UNWANTED = {
    "iostream": r"^_ZN?K?St\d+(basic_)?(ios|istream|ostream|iostream|streambuf)|^_ZSt\d(cin|cout|cerr|clog)$",
    "locale": r"^_ZN?K?St6locale|locale",
    "stdio": r"^_?(v?f?i?printf|puts|fwrite|__sinit|__sflush|__swsetup)(_r)?$",
    "double printf": r"^(_printf_float|_dtoa_r)$",
    "exceptions": r"^(__cxa_throw|__cxa_begin_catch|_Unwind_RaiseException)$",
    "abort": r"^(abort|raise)$",
    "copies to devices": r"CopyingState",
}
# std::string, which ends so where it is too long.
ALLOWED = {"format": {"abort"}}
STRIDES = r"make_strided|check_strides|fail_strides"
LONG_DIVISION = r"^__u?divmoddi4$"
HEAP = r"^_?(malloc|free|realloc|calloc)(_r)?$|^_Znw"


def run(*command):
    """Its output; with a clear end of this program where it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


class Program:
    """A linked program: its sections and symbols, and what it uses of the stack when it runs."""

    def __init__(self, elf, elf_to_run=None):
        self.text, self.data, self.bss = map(int, run("arm-none-eabi-size", elf).splitlines()[1].split()[:3])
        symbols = [line.split() for line in run("arm-none-eabi-nm", "-S", "--defined-only", elf).splitlines()]
        self.symbols = {words[-1] for words in symbols}
        self.ram = self.data + self.bss - sum(int(words[1], 16) for words in symbols if words[-1] in OWN_MEMORY)
        if elf_to_run:
            self.stack, self.result = map(int, run(*QEMU, elf_to_run).split())


@functools.lru_cache
def build_runtime(folder):
    """The objects of the startup code and of measure.cpp."""
    objects = [pathlib.Path(folder, name) for name in ("startup.o", "measure.o")]
    for source, target in zip((HERE.parent / "startup.cpp", HERE / "measure.cpp"), objects):
        run(COMPILER, *CPU, *FLAGS, *WARNINGS, "-c", source, "-o", target)
    return objects


def build(folder, name, sources, *options, warnings=WARNINGS, runs=True):
    work = pathlib.Path(folder, name)
    work.mkdir()
    objects = []
    for source in sources:
        objects.append(work / f"{len(objects)}.o")
        run(COMPILER, *CPU, *FLAGS, *warnings, *options, "-c", source, "-o", objects[-1])
    run(COMPILER, *CPU, *LINK, *objects, "-o", work / "program.elf")
    if not runs:
        return Program(work / "program.elf")
    run(COMPILER, *CPU, *LINK_TO_RUN, *build_runtime(folder), *objects, "-o", work / "to_run.elf")
    return Program(work / "program.elf", work / "to_run.elf")


def build_all(folder, jobs):
    """{(program, definitions...): Program}; two at a time. Headers are half of the compiler's time: precompiled."""
    def options(definitions):
        return [f"-I{ROOT / 'include'}", *(f"-D{definition}" for definition in definitions)]

    def precompile(definitions):
        header = pathlib.Path(folder, "_".join(definitions) + "_tenon.h")
        header.write_text("#include <tenon/tenon.h>\n", encoding="utf-8")
        run(COMPILER, *CPU, *FLAGS, *WARNINGS, *options(definitions), "-x", "c++-header", header, "-o",
            f"{header}.gch")
        return header

    def one(job):
        name, *definitions = job
        traps_heap = "TENON_HEAP=0" in definitions and name in WITHOUT_HEAP
        sources = [HERE / f"{name}.cpp"] + ([HERE / "no_heap.cpp"] if traps_heap else [])
        # The empty program has no headers: what they cost by themselves is part of the others' figures.
        headers = [] if name == "empty" else ["-Winvalid-pch", "-include", precompiled[tuple(definitions)]]
        return build(folder, "_".join(job), sources, *options(definitions), *headers,
                     runs="TENON_HEAP=0" not in definitions or name not in ON_HEAP)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        kinds = {tuple(definitions) for _, *definitions in jobs}
        precompiled = dict(zip(kinds, pool.map(precompile, kinds)))
        return dict(zip(jobs, pool.map(one, jobs)))


def build_together(folder):
    """One program of all that need no heap, without one, each in a namespace: if it links no heap, none of them does."""
    texts = {name: (HERE / f"{name}.cpp").read_text(encoding="utf-8") for name in WITHOUT_HEAP}
    includes = sorted(set(re.findall(r"^#include .*", "\n".join(texts.values()), re.MULTILINE)))  # before any namespace
    source = pathlib.Path(folder, "together.cpp")
    source.write_text("\n".join([
        *includes, *(f"namespace of_{name} {{ {text} }}" for name, text in texts.items()),
        f"int main() {{ return {' + '.join(f'of_{name}::main()' for name in texts)}; }}"]), encoding="utf-8")
    return build(folder, "together", [source, HERE / "no_heap.cpp"], f"-I{ROOT / 'include'}", "-DTENON_ERROR_TEXT=0",
                 "-DTENON_HEAP=0", runs=False)


EXECUTORCH_RELEASE = "1.4.1"
EXECUTORCH_SOURCES = [
    "extension/tensor/tensor_ptr.cpp", "extension/tensor/tensor_ptr_maker.cpp", "runtime/core/evalue.cpp",
    "runtime/core/exec_aten/util/tensor_shape_to_c_string.cpp", "runtime/core/exec_aten/util/tensor_util_portable.cpp",
    "runtime/core/portable_type/tensor_impl.cpp", "runtime/core/tag.cpp", "runtime/platform/abort.cpp",
    "runtime/platform/default/minimal.cpp", "runtime/platform/log.cpp", "runtime/platform/platform.cpp",
    "runtime/platform/runtime.cpp"]


def build_executorch(folder, path):
    """{(program, whether it has log texts): Program}, of a checkout of ExecuTorch."""
    version = path / "version.txt"
    if not all((path / source).is_file() for source in EXECUTORCH_SOURCES) or not version.is_file():
        sys.exit(f"{path} has not ExecuTorch's sources: a checkout of release {EXECUTORCH_RELEASE} has")
    if (found := version.read_text(encoding="utf-8").strip()) != EXECUTORCH_RELEASE:
        print(f"sizes.py: this is ExecuTorch {found}, not {EXECUTORCH_RELEASE}", file=sys.stderr)
    pathlib.Path(folder, "executorch").symlink_to(path.resolve())  # by which name it includes itself
    return {(name, texts): build(
        folder, f"executorch_{name}_{texts}",
        [HERE / "executorch" / f"{name}.cpp", *(path / source for source in EXECUTORCH_SOURCES)], f"-I{folder}",
        f"-I{path / 'runtime/core/portable_type/c10'}", "-DC10_USING_CUSTOM_GENERATED_MACROS",
        f"-DET_LOG_ENABLED={texts}", warnings=["-w"]) for name in ("tensor_impl", "resize") for texts in (0, 1)}


def report(arguments):
    with tempfile.TemporaryDirectory() as folder:
        build_runtime(folder)
        jobs = [("empty",)] + [(name, *definitions) for name in PROGRAMS
                               for definitions in (("TENON_ERROR_TEXT=0",), (),
                                                   ("TENON_ERROR_TEXT=0", "TENON_HEAP=0"))]
        built = build_all(folder, jobs)
        executorch = build_executorch(folder, arguments.executorch) if arguments.executorch else {}
    empty = built["empty",]

    def row(title, program, with_texts, without_heap=None):
        print(f"| {title} | {program.text - empty.text} | {with_texts.text - empty.text} "
              f"| {without_heap.text - empty.text if without_heap else '–'} | {program.ram - empty.ram} "
              f"| {program.stack} |")

    print("| program | code, no error texts | code, with error texts | code, no texts, no heap | RAM | stack |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, (title, *_) in PROGRAMS.items():
        row(title, built[name, "TENON_ERROR_TEXT=0"], built[name,],
            built[name, "TENON_ERROR_TEXT=0", "TENON_HEAP=0"])
    for name in ("tensor_impl", "resize") if executorch else ():
        row(f"ExecuTorch {EXECUTORCH_RELEASE}: {PROGRAMS[name].title}", executorch[name, 0], executorch[name, 1])
    version = run(COMPILER, "--version").splitlines()[0]
    print(f"\nBytes above those of an empty program, which has {empty.text} of code and {empty.data + empty.bss} of RAM: "
          f"{version}, newlib-nano, `{' '.join(CPU + FLAGS)}`.")


def check(_arguments):
    with tempfile.TemporaryDirectory() as folder:
        build_runtime(folder)
        limited = [name for name, row in PROGRAMS.items() if row.limit]
        built = build_all(folder, [("empty",), *((name, "TENON_ERROR_TEXT=0") for name in PROGRAMS),
                                   *((name,) for name in limited)])
        built["together", "TENON_HEAP=0"] = build_together(folder)
    faults = []

    def limit(what, size, most):
        print(f"{what}: {size} bytes, at most {most}")
        if size > most:
            faults.append(f"{what}: {size} bytes, {size - most} more than {most}")

    for name in limited:
        without_texts, with_texts = PROGRAMS[name][3:]
        empty = built["empty",].text
        limit(f"{name}, without error texts", built[name, "TENON_ERROR_TEXT=0"].text - empty, without_texts)
        limit(f"{name}, with error texts", built[name,].text - empty, with_texts)
    for (name, *_), program in built.items():
        if name in PROGRAMS and PROGRAMS[name].result not in (None, program.result):
            faults.append(f"{name} gives {program.result}, not {PROGRAMS[name].result}")
    for name, row in PROGRAMS.items():
        limit(f"stack of {name}", built[name, "TENON_ERROR_TEXT=0"].stack, row.stack)
    for (name, *definitions), program in built.items():
        unwanted = {what: pattern for what, pattern in UNWANTED.items() if what not in ALLOWED.get(name, ())}
        if "TENON_HEAP=0" in definitions:
            unwanted["the heap"] = HEAP
        if name in WITHOUT_STRIDES:
            unwanted["strides"] = STRIDES
        if "TENON_ERROR_TEXT=0" in definitions and name in WITHOUT_LONG_DIVISION:
            unwanted["64-bit division"] = LONG_DIVISION
        for what, pattern in unwanted.items():
            if found := [symbol for symbol in sorted(program.symbols) if re.search(pattern, symbol)]:
                faults.append(f"{' '.join([name, *definitions])} has {what}: {' '.join(found)}")
    if faults:
        sys.exit("\n".join(faults))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    commands.add_parser("check").set_defaults(run=check)
    reporting = commands.add_parser("report")
    reporting.add_argument("--executorch", type=pathlib.Path, metavar="PATH",
                           help=f"a checkout of ExecuTorch {EXECUTORCH_RELEASE}, measured with the same flags")
    reporting.set_defaults(run=report)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
