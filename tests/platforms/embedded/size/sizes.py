#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the programs beside this file take on a Cortex-M4F: a table, or a check of the limits.

usage: sizes.py report [--executorch PATH]   prints the table of docs/embedded.md
       sizes.py check                        fails where a program is too large, or has what it must not have
"""

import argparse
import collections
import concurrent.futures
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
STACKS = ["-fstack-usage", "-fcallgraph-info=su"]
LINK = ["-Wl,--gc-sections", "--specs=nano.specs", "--specs=nosys.specs"]

# The program, its row in the table, and what its text may take above an empty program's: without error texts, with
# them; a few per cent more than it does, or what was promised of those with modules. The others have no limit.
Row = collections.namedtuple("Row", "title limit limit_with_texts", defaults=(None, None))
PROGRAMS = {
    "tensor_impl": Row("`TensorImpl` on the stack, accessor", 2300, 5100),
    "from_blob": Row("`from_blob` in an arena, accessor", 5100, 8900),
    "resize": Row("`from_blob` on the heap, `resize_tensor_ptr`, accessor", 5100, 9100),
    "zeros": Row("`zeros` in an arena"),
    "list": Row("a list of values in an arena, accessor", 6600, 10700),
    "views": Row("`slice`, `transpose`, `reshape`"),
    "cast_known": Row("a cast of known types, by a loop of yours"),
    "fill": Row("`fill_`"),
    "copy_same": Row("`copy_`, one type"),
    "copy_cast": Row("`copy_` with a cast"),
    "clone": Row("`clone_tensor_ptr`"),
    "blob": Row("`Blob` and `assign`"),
    "dlpack": Row("`to_dlpack`"),
    "rand": Row("`rand`"),
    "randn": Row("`randn`"),
    "format": Row("`to_string`"),
    "function_module": Row("`FunctionModule` and `EValue`, an output returned", 14336, 14336 + 5120),
    "set_output": Row("`FunctionModule` and `EValue`, an output set", 14336, 14336 + 5184),
}
# Bytes of stack, by direct calls, from a function of the program on.
STACK_LIMITS = {
    ("from_blob", "main"): 512, ("resize", "resize_to"): 512, ("views", "main"): 1200, ("fill", "main"): 1640,
    ("copy_same", "main"): 2080, ("copy_cast", "main"): 2120, ("rand", "make_random"): 1420,
    ("randn", "make_random"): 1420}
# Those that divide no 64-bit numbers, when there are no texts to print them in.
WITHOUT_LONG_DIVISION = ["tensor_impl", "from_blob", "resize", "zeros", "list", "cast_known", "dlpack", "rand"]
# Those that link no heap with TENON_HEAP=0: all but what returns a std::string.
WITHOUT_HEAP = [name for name in PROGRAMS if name != "format"]
# Their own memory, which is no cost of the library.
OWN_MEMORY = {"arena_memory", "data", "xs", "ys", "sink"}

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
# The texts of numbers come from snprintf and strtod, which have these.
ALLOWED = {"format": {"locale", "stdio", "double printf", "abort"}}
LONG_DIVISION = r"^__u?divmoddi4$"
HEAP = r"^_?(malloc|free|realloc|calloc)(_r)?$|^_Znw"


def run(*command):
    """Its output; with a clear end of this program where it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


class Program:
    """A linked program: its sections, symbols and worst stack."""

    def __init__(self, elf, graphs):
        self.text, self.data, self.bss = map(int, run("arm-none-eabi-size", elf).splitlines()[1].split()[:3])
        symbols = [line.split() for line in run("arm-none-eabi-nm", "-S", "--defined-only", elf).splitlines()]
        self.symbols = {words[-1] for words in symbols}
        self.ram = self.data + self.bss - sum(int(words[1], 16) for words in symbols if words[-1] in OWN_MEMORY)
        self.frames, self.calls = {}, collections.defaultdict(set)
        self.read_instructions(run("arm-none-eabi-objdump", "-d", "--no-show-raw-insn", elf))
        for graph in graphs:
            self.read_frames(graph.read_text(encoding="utf-8"))

    def read_instructions(self, listing):
        """Calls, and the frames of the C library's functions, which were compiled elsewhere."""
        name = None
        for line in listing.splitlines():
            if head := re.match(r"[0-9a-f]+ <(.+)>:$", line):
                name = head[1]
                self.frames[name] = 0
            elif name is None:
                continue
            elif pushed := re.search(r"\t(?:push|stmdb\tsp!,|stmfd\tsp!,)\s*(?:\.w)?\s*\{(.*)\}", line):
                self.frames[name] += 4 * count_registers(pushed[1])
            elif pushed := re.search(r"\tvpush\t\{(.*)\}", line):
                self.frames[name] += (8 if "d" in pushed[1] else 4) * count_registers(pushed[1])
            elif room := re.search(r"\tsub(?:w|\.w)?\tsp,(?: sp,)? #(\d+)", line):
                self.frames[name] += int(room[1])
            elif room := re.search(r"\tstr(?:\.w)?\t\w+, \[sp, #-(\d+)\]!", line):
                self.frames[name] += int(room[1])
            elif call := re.search(r"\tb\S*\t[0-9a-f]+ <([^+>]+)>", line):
                if call[1] != name:
                    self.calls[name].add(call[1])

    def read_frames(self, graph):
        """The compiler's own figures, which are exact."""
        for title, label in re.findall(r'node: \{ title: "(?:[^"]*:)?([^":]+)" label: "([^"]*)"', graph):
            if found := re.search(r"\\n(\d+) bytes \((static|dynamic,bounded)\)", label):
                if title in self.frames:
                    self.frames[title] = int(found[1])
            elif "bytes (dynamic" in label and title in self.frames:
                sys.exit(f"{title}: its stack has no bound")

    def stack(self, name="main"):
        """(bytes below the caller of the function whose symbol has that name in it, the functions on the way), by
        direct calls; a recursion counts once."""
        deepest = {}

        def depth(name):
            if name not in deepest:
                deepest[name] = (0, [])  # what a recursion finds
                below, way = max((depth(callee) for callee in sorted(self.calls[name])), default=(0, []))
                deepest[name] = (self.frames.get(name, 0) + below, [name, *way])
            return deepest[name]

        return max(depth(symbol) for symbol in self.frames if symbol == name or f"{len(name)}{name}I" in symbol)


def count_registers(text):
    """Of a list such as "r4-r7, lr"."""
    count = 0
    for part in text.replace(" ", "").split(","):
        numbers = [int(number) for number in re.findall(r"\d+", part)]
        count += numbers[1] - numbers[0] + 1 if "-" in part else 1
    return count


def build(folder, name, sources, *options, warnings=WARNINGS):
    work = pathlib.Path(folder, name)
    work.mkdir()
    objects = []
    for source in sources:
        objects.append(work / f"{len(objects)}.o")
        run(COMPILER, *CPU, *FLAGS, *STACKS, *warnings, *options, "-c", source, "-o", objects[-1])
    run(COMPILER, *CPU, *LINK, *objects, "-o", work / "program.elf")
    return Program(work / "program.elf", [path.with_suffix(".ci") for path in objects])


def build_all(folder, jobs):
    """{(program, definitions...): Program}; two at a time. Headers are half of the compiler's time: precompiled."""
    def options(definitions):
        return [f"-I{ROOT / 'include'}", *(f"-D{definition}" for definition in definitions)]

    def precompile(definitions):
        header = pathlib.Path(folder, "_".join(definitions) + "_tenon.h")
        header.write_text("#include <tenon/tenon.h>\n", encoding="utf-8")
        run(COMPILER, *CPU, *FLAGS, *STACKS, *WARNINGS, *options(definitions), "-x", "c++-header", header, "-o",
            f"{header}.gch")
        return header

    def one(job):
        name, *definitions = job
        sources = [HERE / f"{name}.cpp"] + ([HERE / "no_heap.cpp"] if "TENON_HEAP=0" in definitions else [])
        # The empty program has no headers: what they cost by themselves is part of the others' figures.
        headers = [] if name == "empty" else ["-Winvalid-pch", "-include", precompiled[tuple(definitions)]]
        return build(folder, "_".join(job), sources, *options(definitions), *headers)

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
                 "-DTENON_HEAP=0")


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
        jobs = [("empty",)] + [(name, *definitions) for name in PROGRAMS
                               for definitions in (("TENON_ERROR_TEXT=0",), (),
                                                   ("TENON_ERROR_TEXT=0", "TENON_HEAP=0"))]
        built = build_all(folder, jobs)
        executorch = build_executorch(folder, arguments.executorch) if arguments.executorch else {}
    empty = built["empty",]

    def row(title, program, with_texts, without_heap=None):
        print(f"| {title} | {program.text - empty.text} | {with_texts.text - empty.text} "
              f"| {without_heap.text - empty.text if without_heap else '–'} | {program.ram - empty.ram} "
              f"| {program.stack()[0]} |")

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
        limited = [name for name, row in PROGRAMS.items() if row.limit]
        built = build_all(folder, [("empty",), *((name, "TENON_ERROR_TEXT=0") for name in PROGRAMS),
                                   *((name,) for name in limited)])
        built["together", "TENON_HEAP=0"] = build_together(folder)
    faults = []

    def limit(what, size, most, more=""):
        print(f"{what}: {size} bytes, at most {most}")
        if size > most:
            faults.append(f"{what}: {size} bytes, {size - most} more than {most}{more}")

    for name in limited:
        _, without_texts, with_texts = PROGRAMS[name]
        empty = built["empty",].text
        limit(f"{name}, without error texts", built[name, "TENON_ERROR_TEXT=0"].text - empty, without_texts)
        limit(f"{name}, with error texts", built[name,].text - empty, with_texts)
    for (name, function), most in STACK_LIMITS.items():
        size, way = built[name, "TENON_ERROR_TEXT=0"].stack(function)
        limit(f"stack of {function} in {name}", size, most, f" in {' '.join(way)}")
    for (name, *definitions), program in built.items():
        unwanted = {what: pattern for what, pattern in UNWANTED.items() if what not in ALLOWED.get(name, ())}
        if "TENON_HEAP=0" in definitions:
            unwanted["the heap"] = HEAP
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
