#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tenon beside other libraries' tensors and arrays: builds a program for each, with the same cases, and prints tables of
times, allocations, what a wrong shape does, compile time and program size.

    ../../scripts/benchmark.sh --comparison                    # fetches, builds, writes docs/comparison.md
    python3 comparison.py --partners DIR --build DIR [--page FILE.md] [--rounds N]

DIR is what scripts/partners.sh made, with executorch, libtorch, tvm_ffi, nanobind and cccl. A library that is not there is
left out, and the tables say so. The programs take turns, and each figure is the median of its rounds, as compare.py's are.

To add a case: one name in the programs, and a line in ROWS. A library without it has no case.
"""

import argparse
import concurrent.futures
import dataclasses
import datetime
import os
import re
import signal
import statistics
import subprocess
import sys
import sysconfig
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "runtimes")]

import compare  # noqa: E402
import runtimes  # noqa: E402

ROWS = {
    "borrow": "borrow 2x3",
    "zeros/2x3": "zeros 2x3",
    "share": "one more handle",
    "transpose": "transposed view",
    "resize": "two resizes",
    "dlpack": "DLPack, out and in",
    "read": "sum of 1,000",
    "read/checked": "the same, checked",
    "zeros/1024x1024": "zeros 1024²",
    "clone": "clone 1024²",
    "dense": "dense copy of transposed 1024²",
    "cast": "Float to Double, 1024²",
}
MARKS = ("<!-- figures: comparison.py writes from here -->", "<!-- to here -->")
FLAGS = ["-O3", "-DNDEBUG"]
SMALL = ["-Os", "-DNDEBUG", "-ffunction-sections", "-fdata-sections", "-s", "-Wl,--gc-sections"]
# Debian's and every C++ program's.
SYSTEM = re.compile(r"lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|c\+\+|c\+\+abi|unwind)\.so|ld-linux|linux-vdso")
CLOSE = 1.1  # of the quickest: as quick, the next run may have another order


@dataclasses.dataclass
class Library:
    name: str  # of its source here
    title: str
    version: str
    needs: list  # files and folders that are there if the library is
    get: str  # how to get it
    minimal: str  # the smallest program
    flags: list = dataclasses.field(default_factory=list)
    link: list = dataclasses.field(default_factory=list)
    sources: list = dataclasses.field(default_factory=list)  # beside its own
    checked: list = dataclasses.field(default_factory=list)  # the flags that make its reads checked
    compiler: str = "g++"
    standard: str = "-std=c++17"
    has_cases: bool = True
    made_by: str = ""  # if the title does not say it
    is_module: bool = False  # of Python's

    @property
    def is_there(self):
        return all(Path(file).exists() for file in self.needs)

    @property
    def package(self):
        return f"{self.title} of {self.made_by}" if self.made_by else self.title

    def compile(self, flags, *sources):
        shared = ["-shared", "-fPIC", "-fvisibility=hidden"] if self.is_module else []
        return [self.compiler, self.standard, *flags, *self.flags, *shared, *sources]

    def command(self, program):
        """What runs it, a module too."""
        if not self.is_module:
            return [str(program)]
        code = f"import sys; sys.path[:0] = [{str(program.parent)!r}]; import {program.stem} as m; sys.exit(m.run(sys.argv))"
        # Where allocations are counted, those of Python's own allocator too.
        counted = '[ -z "$LD_PRELOAD" ] || export PYTHONMALLOC=malloc; exec "$0" "$@"'
        return ["sh", "-c", counted, sys.executable, "-B", "-c", code]


def function(body):
    return f"int main() {{\n  float data[6] = {{1, 2, 3, 4, 5, 6}};\n  {body}\n}}\n"


def macros(file, *names):
    """A version in a header."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    found = [re.search(rf"#\s*define {name}\s+(\d+)", text) for name in names]
    return ".".join(match[1] for match in found if match)


def libraries(partners):
    def version(name):
        return runtimes.version(partners, name) if (partners / name / ".stamp").exists() else ""

    def fetched(name):
        return f"scripts/partners.sh {name}"

    executorch, torch = partners / "executorch/executorch", partners / "libtorch/torch"
    tvm, nanobind = partners / "tvm_ffi/tvm_ffi", partners / "nanobind/nanobind"
    cccl = partners / "cccl/nvidia/cu13/include/cccl"
    xtensor, libcxx = Path("/usr/include/xtensor"), Path("/usr/lib/llvm-19/include/c++/v1")
    config = ROOT / "include/tenon/config.h"
    python = sysconfig.get_paths()["include"]
    mdspan = "return {}::mdspan(data, 2, 3).size() != 6;"
    return [
        Library("tenon", "tenon", macros(config, *(f"TENON_VERSION_{p}" for p in ("MAJOR", "MINOR", "PATCH"))), [config], "",
                "#include <tenon/tenon.h>\n" + function("return tenon::from_blob(data, {2, 3})->numel() != 6;"),
                [f"-I{ROOT / 'include'}"], checked=["-DTENON_CHECKED"]),
        Library("executorch", "ExecuTorch", version("executorch"), [executorch], fetched("executorch"),
                "#include <executorch/extension/tensor/tensor.h>\n"
                + function("return executorch::extension::from_blob(data, {2, 3})->numel() != 6;"),
                runtimes.executorch_flags(partners), runtimes.shared(executorch / "lib", ["-lexecutorch"])),
        Library("aten", "ATen", version("libtorch"), [torch], fetched("libtorch"),
                "#include <ATen/ATen.h>\n" + function("return at::from_blob(data, {2, 3}).numel() != 6;"),
                ["-isystem", f"{torch}/include"], runtimes.shared(torch / "lib", ["-ltorch_cpu", "-lc10"])),
        Library("tvm_ffi", "tvm-ffi", version("tvm_ffi"), [tvm], fetched("tvm_ffi"),
                "#include <tvm/ffi/container/tensor.h>\n"
                + function("int64_t shape[2] = {2, 3}, strides[2] = {3, 1};\n"
                           "  const DLTensor tensor{data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, 0};\n"
                           "  return tvm::ffi::TensorView(&tensor).numel() != 6;"),
                ["-isystem", f"{tvm}/include"], runtimes.shared(tvm / "lib", ["-ltvm_ffi"])),
        Library("nanobind", "nanobind", version("nanobind"), [nanobind, f"{python}/Python.h"],
                fetched("nanobind") + " and python3-dev",
                "#include <nanobind/ndarray.h>\n"
                "static float data[6];\n"
                "NB_MODULE(minimal_nanobind, m) {\n"
                "  m.def(\"run\", [](nanobind::object) {\n"
                "    return nanobind::ndarray<float>(data, {2, 3}).size() != 6;\n"
                "  });\n"
                "}\n",
                ["-isystem", f"{nanobind}/include", "-isystem", python,
                 f"-I{nanobind}/ext/robin_map/include", "-fno-strict-aliasing"],
                sources=[f"{nanobind}/src/nb_combined.cpp"], is_module=True),
        Library("xtensor", "xtensor",
                macros(xtensor / "xtensor_config.hpp", *(f"XTENSOR_VERSION_{p}" for p in ("MAJOR", "MINOR", "PATCH"))),
                [xtensor], "apt-get install libxtensor-dev",
                "#include <array>\n#include <xtensor/xadapt.hpp>\n"
                + function("const std::array<size_t, 2> shape{2, 3};\n"
                           "  return xt::adapt(&data[0], 6, xt::no_ownership(), shape).size() != 6;")),
        Library("mdspan", "mdspan", version("cccl"), [cccl], fetched("cccl"),
                "#include <cuda/std/mdspan>\n" + function(mdspan.format("cuda::std")), ["-isystem", f"{cccl}"],
                checked=["-DCCCL_ENABLE_ASSERTIONS"], made_by="libcu++"),
        # Standard libraries cannot be mixed, and Google Benchmark is built with the other.
        Library("std_mdspan", "std::mdspan", re.sub(r"(..)(..)(..)", lambda m: ".".join(str(int(n)) for n in m.groups()),
                                                    macros(libcxx / "__config", "_LIBCPP_VERSION")),
                [libcxx / "mdspan", "/usr/bin/clang++-19"],
                "apt-get install clang-19 libc++-19-dev",
                "#include <mdspan>\n" + function(mdspan.format("std")), ["-stdlib=libc++"], compiler="clang++-19",
                standard="-std=c++23", has_cases=False, made_by="libc++"),
    ]


def run(command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise compare.Failure(f"{command[0]} {command[-1]} ended with {done.returncode}:\n{done.stderr.strip()[-3000:]}")
    return done.stdout


def build(found, folder):
    """Programs of all libraries, in as many processes as there are processors. {(library's name, kind): program}"""
    jobs = {}
    for library in found:
        suffix = ".so" if library.is_module else ""
        benchmark = ["-lbenchmark", "-ldl", "-pthread"]
        minimal = folder / f"minimal_{library.name}.cpp"
        minimal.write_text(library.minimal, encoding="utf-8")
        kinds = {"minimal": (SMALL, minimal, [])}
        if library.has_cases:
            kinds["comparison"] = (FLAGS, HERE / f"{library.name}.cpp", benchmark)
            if library.checked:
                kinds["checked"] = ([*FLAGS, *library.checked], HERE / f"{library.name}.cpp", benchmark)
        for kind, (flags, source, link) in kinds.items():
            program = folder / f"{kind}_{library.name}{suffix}"
            # The module's name is in its source.
            jobs[library.name, kind] = program, [*library.compile(flags, source, *library.sources), "-o", program,
                                                 *library.link, *link]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda job: run(job[1]), jobs.values()))
    return {key: program for key, (program, _) in jobs.items()}


def measure(found, programs, counter, options):
    """Times and allocations of all cases: {(library's name, case): compare.Cell}"""
    commands = {}
    for library in found:
        if library.has_cases:
            commands[library.name] = {"command": library.command(programs[library.name, "comparison"])}
            if library.checked:
                commands[f"{library.name}/checked"] = {
                    "command": [*library.command(programs[library.name, "checked"]), "--benchmark_filter=^read$"]}
    config = {"programs": commands, "malloc_counter": str(counter)}
    measured = compare.measure_cases(config, options, ROWS)
    cells = {}
    for (program, case), cell in measured.items():
        name, slash, _ = program.partition("/")
        case = "read/checked" if slash else case
        if case not in ROWS:
            raise compare.Failure(f"case {case!r} of {name}.cpp has no row in comparison.py")
        cells[name, case] = cell
    return cells


def best_in_bold(cells):
    """Times as texts, the quickest in bold, with those that are as quick. None has no time."""
    limit = CLOSE * min(cell.ns for cell in cells if cell)
    texts = [compare.format_time(cell.ns) if cell else "–" for cell in cells]
    return [f"**{text}**" if cell and cell.ns <= limit else text for text, cell in zip(texts, cells)]


def case_tables(found, cells):
    columns = [library for library in found if library.has_cases]
    times, allocations = ([["", *(library.title for library in columns)]] for _ in range(2))
    for case, title in ROWS.items():
        row = [cells.get((library.name, case)) for library in columns]
        if any(row):
            times.append([title, *best_in_bold(row)])
            allocations.append([title, *(compare.format_allocs(cell) if cell else "–" for cell in row)])
    return compare.markdown(times), compare.markdown(allocations)


def slower_lines(found, cells):
    """A line for each case in which another library is quicker: how many times tenon's time is the other's."""
    lines = []
    for case, title in ROWS.items():
        tenon = cells["tenon", case].ns
        others = [(tenon / cells[library.name, case].ns, library.title) for library in found
                  if (library.name, case) in cells]
        quicker = [f"{other} {ratio:.1f}" for ratio, other in sorted(others, reverse=True) if ratio > CLOSE]
        if quicker:
            lines.append(f"- {title}: {', '.join(quicker)}")
    return "\n".join(lines) or "none"


def outcome(code, out, err):
    """What a program with --wrong-shape did, in words: (what, its text)."""
    if code == 0:
        kind, _, text = out.strip().splitlines()[0].partition(": ")
        return ("exception" if kind == "exception" else "not checked"), text
    last = err.strip().splitlines()[-1] if err.strip() else ""
    # ExecuTorch's log: level, time, file and line.
    last = re.sub(r"^[A-Z] [\d:.]+ ", "", last)
    return (f"ends the program, {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"), last


def shape_table(found, programs):
    lines = [["", "{4, 2} of 6 elements", "text"]]
    for library in found:
        if library.has_cases:
            command = [*library.command(programs[library.name, "comparison"]), "--wrong-shape"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            what, text = outcome(done.returncode, done.stdout, done.stderr)
            lines.append([library.title, what, f"`{text}`"])
    return compare.markdown(lines).replace("---:", "---")


def needed_libraries(listed):
    """Sizes by name of what ldd's output names beside the system's own."""
    paths = [Path(path) for path in re.findall(r"=> (/\S+)", listed)]
    return {path.name: path.resolve().stat().st_size for path in paths if not SYSTEM.match(path.name)}


def compile_times(found, runs):
    """Medians of seconds: {library's name: (its minimal program, an empty file)}"""
    rounds = {library.name: ([], []) for library in found}
    for number in range(runs + 1):
        for library in found:
            command = library.compile(["-O2", "-c", "-o", "/dev/null"])
            for source, seconds in zip((library.minimal, "// empty\n"), rounds[library.name]):
                time = compare.compiler_time(command, source) / 1e9
                if number > 0:  # the first reads the headers into the page cache
                    seconds.append(time)
    return {name: tuple(map(statistics.median, both)) for name, both in rounds.items()}


def build_table(found, programs, times):
    lines = [["", "compiled in", "an empty file", "text", "shared libraries"]]
    for library in found:
        program = programs[library.name, "minimal"]
        command = library.command(program)
        run(command)  # that it works
        text = run(["size", program]).splitlines()[1].split()[0]
        needed = needed_libraries(run(["ldd", program]))
        if library.is_module:
            interpreter = Path(sys.executable).resolve()
            needed |= {interpreter.name: interpreter.stat().st_size, **needed_libraries(run(["ldd", interpreter]))}
        words = f"{len(needed)}, {runtimes.megabytes(sum(needed.values()))}" if needed else "none"
        minimal, empty = times[library.name]
        lines.append([library.title, f"{minimal:.2f} s", f"{empty:.2f} s", runtimes.megabytes(int(text)), words])
    return compare.markdown(lines)


def about(found, missing, options):
    compilers = {library.compiler: run([library.compiler, "--version"]).splitlines()[0] for library in found}
    versions = ", ".join(f"{library.package} {library.version}" for library in found)
    lines = [f"{runtimes.processor()}, {os.cpu_count()} cores; {'; '.join(compilers.values())}; -std=c++17 {' '.join(FLAGS)}; "
             f"one thread; {versions}; CPU time, median of {options.rounds} interleaved rounds; {datetime.date.today()}."]
    lines += [f"{library.title} is left out: not there ({library.get})." for library in missing]
    return "\n".join(lines)


def insert(page, text):
    """The page with the text between the marks."""
    before, begin, rest = page.partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not begin or not end:
        raise compare.Failure("the page lacks the marks between which the tables go")
    return f"{before}{begin}\n\n{text}\n\n{end}{after}"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--partners", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True, help="a folder for the programs")
    parser.add_argument("--page", type=Path, help="the page that has the marks")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--min-time", type=float, default=0.02, help="seconds a case in a round")
    parser.add_argument("--compile-runs", type=int, default=5)
    parser.set_defaults(filter=None)
    options = parser.parse_args(arguments)
    sys.stdout.reconfigure(encoding="utf-8")
    everything = libraries(options.partners.resolve())
    found = [library for library in everything if library.is_there]
    missing = [library for library in everything if not library.is_there]
    options.build.mkdir(parents=True, exist_ok=True)
    folder = options.build.resolve()
    try:
        programs = build(found, folder)
        cells = measure(found, programs, runtimes.build_counter(folder), options)
        times, allocations = case_tables(found, cells)
        parts = [about(found, missing, options), "### Times", times,
                 f"Tenon's time is more than {CLOSE} times another's, and how many times, in:", slower_lines(found, cells),
                 "### Allocations", allocations, "### A wrong shape", shape_table(found, programs),
                 "### The smallest program", build_table(found, programs, compile_times(found, options.compile_runs))]
        text = "\n\n".join(parts)
        if options.page:
            options.page.write_text(insert(options.page.read_text(encoding="utf-8"), text), encoding="utf-8")
    except (compare.Failure, OSError, subprocess.SubprocessError) as error:
        print(f"comparison.py: {error}", file=sys.stderr)
        return 2
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
