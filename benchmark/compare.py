#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the benchmark programs side by side and prints their figures and ratios.

The programs take turns for several short rounds, so that a slow spell of the machine hits all of
them, and each figure is the median of its rounds. Allocations come from a run of their own under
the preloaded malloc counter.

To add a case: a few lines under one name in bench_tenon.cpp and, where they have a peer, in
bench_executorch.cpp, bench_aten.cpp, bench_opencv.cpp, bench_libc.cpp and bench_numpy.py, and a row in TABLES below.
bench_aten_mode.cpp and bench_models.cpp have both sides of their cases, "x" and "x@aten" or
"x@executorch".
"""

import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
from typing import Dict, List, Optional, Tuple

# The columns of tables, and the programs that have both sides of their cases.
TITLES = {
    "tenon": "tenon",
    "executorch": "ExecuTorch",
    "aten": "ATen",
    "opencv": "OpenCV",
    "libc": "plain C",
    "numpy": "NumPy",
    "heap": "the heap",
    "aten_mode": "tenon in ATen mode",
    "models": "tenon with ExecuTorch",
}


@dataclasses.dataclass(frozen=True)
class Row:
    """A line of a table: where each of its columns has its figure from.

    A row with variant_of is tenon's case for one instruction set. It is left out on processors that
    lack the set, which never lack all the variants of a case."""

    title: str
    sources: Dict[str, Tuple[str, str]]  # column -> (program, case)
    variant_of: Optional[str] = None


def row(case, title, peers=""):
    """The same case in tenon's program and in those of the peers."""
    return Row(title, {p: (p, case) for p in ["tenon", *peers.split()]})


def variants(case, title):
    """tenon's case with each instruction set, "rand/avx2", beside the peers' "rand"."""
    peers = {p: (p, case) for p in ("executorch", "aten", "numpy")}
    sets = {"avx512": ", AVX-512", "avx2": ", AVX2", "sse2": ", SSE2 only", "baseline": ""}
    return [
        Row(title + words, {"tenon": ("tenon", f"{case}/{name}"), **peers}, case)
        for name, words in sets.items()
    ]


def pair(program, case, title, peer):
    """Both sides from one program."""
    case = f"{program}/{case}"
    return Row(title, {"tenon": (program, case), peer: (program, f"{case}@{peer}")})


def aten_mode(case, title=None):
    return pair("aten_mode", case, title or case, "aten")


def backend(case, title, heap="backend/cpu"):
    """The same tensor in a backend and on the heap; beside a blob where no heap is used."""
    return Row(title, {"tenon": ("tenon", f"backend/{case}"), "heap": ("tenon", heap)})


TABLES = {
    "Making tensors": [
        row("from_blob", "from_blob 2x3", "executorch aten"),
        row("from_blob/deleter", "from_blob with a deleter", "executorch aten"),
        row("for_blob/strides", "for_blob with strides", "executorch aten"),
        row("make_tensor/blob", "make_tensor over a blob"),
        row("make_tensor_ptr/vector", "owning vector moved in", "executorch"),
        row("make_tensor_ptr/list", "list of 4", "executorch aten"),
        row("make_tensor_ptr/scalar", "scalar", "executorch aten"),
        row("make_tensor_ptr/share", "share an existing impl", "executorch aten"),
        row("make_tensor_ptr/share_handle", "share, beside a bare handle", "aten"),
        row("clone_tensor_ptr", "clone 2x3", "executorch aten"),
        row("resize_tensor_ptr", "two in-bound resizes", "executorch aten"),
        row("resize_tensor_ptr/braces", "two resizes to a brace list", "executorch aten"),
        row("stack_tensor", "Tensor over a stack TensorImpl", "executorch"),
        row("empty/4MiB", "empty 4 MiB", "executorch aten"),
        row("dlpack", "to_dlpack, from_dlpack", "aten"),
    ],
    # Plain C is malloc with memset, memcpy or a loop over a pointer.
    "Moving data": [
        row("zeros/4MiB", "zeros 4 MiB", "executorch aten"),
        row("full/4MiB", "full 4 MiB", "executorch aten"),
        row("full/64MiB", "full 64 MiB", "executorch aten libc"),
        row("fill_/64MiB", "fill_ 64 MiB", "aten libc"),
        row("clone/4MiB", "clone 4 MiB", "executorch aten libc"),
        row("clone/64MiB", "clone 64 MiB", "executorch aten libc"),
        row("clone/int_float", "clone Int to Float, 1M elements", "executorch aten"),
        *(
            row(f"clone/{a}_{b}".lower(), f"clone {a} to {b}", "executorch aten")
            for a, b in [("Float", "Half"), ("Half", "Float"), ("Float", "BFloat16"),
                         ("BFloat16", "Float"), ("Byte", "Float")]
        ),
        row("contiguous/transpose", "transpose 1024² Float", "aten"),
        row("nhwc_nchw/byte", "NHWC to NCHW, 1080p Byte", "aten"),
        row("nhwc_nchw/float", "NHWC to NCHW, 1080p Float", "aten"),
        row("nchw_nhwc/byte", "NCHW to NHWC, 1080p Byte", "aten"),
        row("pitch/byte", "padded rows, 1080p Byte", "aten libc"),
        row("stack/byte", "stack 32 images 3x224x224, Byte", "aten libc"),
        row("stack/float", "stack 32 images 3x224x224, Float", "aten libc"),
        row("stack_out/byte", "stack_out of the same, Byte", "aten libc"),
        row("stack_out/float", "stack_out of the same, Float", "aten libc"),
        row("cat/channels", "cat of the same, Float, along dimension 1", "aten"),
        row("unbind", "unbind 32 views", "aten"),
        row("normalize/nchw", "1080p Byte pixels to Float planes, normalised", "opencv libc"),
        row("assign/nchw", "the same, not normalised"),
        row("normalize/nhwc", "to Float pixels, normalised"),
        row("assign/nhwc", "the same, not normalised"),
        row("accessor/sum", "accessor sum 1024² Float", "aten libc"),
    ],
    # 480 by 640 pixels; casts of 65,536 elements. The loops are compiled for AVX2.
    "Layouts": [
        row("layout/rgba", "RGBA to RGB, Byte to Float", "libc"),
        row("layout/bgr", "BGR to RGB, Byte to Float", "opencv"),
        row("layout/bgr_planes", "BGR pixels to RGB planes, normalised", "opencv"),
        row("layout/crop", "a crop of 224² to planes, Byte to Float", "libc"),
        row("layout/heads", "{L, H, 64} to {H, L, 64}, Half to Float", "aten"),
        *(row(f"layout/rows{n}", f"padded rows of {n}, Byte to Float", "libc") for n in (8, 16, 64)),
        row("layout/one_mean", "{100000, 10}, one mean for all, Byte to Float", "libc"),
        *(
            row(f"cast/{a}_{b}".lower(), f"{a} to {b}", "libc")
            for a, b in [("Int", "Short"), ("Double", "Int"), ("Char", "Int"), ("Float", "Byte")]
        ),
        row("cast/bool_float", "Bool to Float"),
        row("cast/float_float8", "Float to Float8_e4m3fn"),
        row("move/bgr_rgb", "BGR to RGB, 480p Byte", "opencv libc"),
        row("move/rgba_rgb", "RGBA to RGB", "opencv aten libc"),
        row("move/mirrored", "mirrored", "opencv"),
        row("move/turned", "turned by 90°", "opencv"),
        row("move/crop", "a 224² crop of 1080p to planes", "opencv aten"),
        row("move/rgbx", "planes to pixels with a gap", "aten libc"),
        row("move/window", "a KV window moved by one token, Float", "libc"),
        row("move/fill_rows", "fill_ of rows of 16 with gaps, Float", "aten"),
        row("move/small", "64x64x3x4 Byte permuted by 1 3 0 2", "aten libc"),
        row("move/column", "a column broadcast to 10000x100 Double", "aten libc"),
        row("move/nchw_nhwc", "NCHW to NHWC, 2x512x28x28 Double", "aten"),
        row("move/second", "every second element of 200,000 Float", "aten libc numpy"),
        row("fill_/256KiB", "fill_ 256 KiB Float", "aten"),
        row("arange/long", "arange of 100,000 Long", "aten numpy"),
        row("arange/float", "arange of 100,000 Float", "aten numpy"),
    ],
    # 4 MiB with each instruction set that the processor has, "baseline" where it is not x86-64.
    "Random numbers": [
        *variants("rand", "rand Float"),
        *variants("randn", "randn Float"),
        *variants("randint", "randint Int [0, 100)"),
        row("uniform_", "uniform_ Float in place", "aten numpy"),
    ],
    # Each creator beside the call of ATen's that makes the same.
    "ATen mode": [
        aten_mode("empty", "empty 2x3"),
        *map(aten_mode, "empty_strided empty_like zeros ones full full_like scalar_tensor".split()),
        *map(aten_mode, "arange eye rand rand_like randn randint".split()),
        aten_mode("clone_tensor_ptr", "clone"),
        aten_mode("clone_tensor_ptr/half", "clone Float to Half"),
        aten_mode("from_blob"),
        aten_mode("from_blob/deleter", "from_blob with a deleter"),
        aten_mode("for_blob/strides", "for_blob with strides"),
        aten_mode("make_tensor_ptr/list", "list of 4"),
        aten_mode("make_tensor_ptr/view", "view in other sizes"),
        *(aten_mode(f"{case}/4MiB", f"{case} 4 MiB") for case in "empty zeros full rand".split()),
        aten_mode("clone_tensor_ptr/4MiB", "clone 4 MiB"),
    ],
    "Backends": [
        backend("pool", "empty 4 KiB, pool"),
        backend("tracking", "empty 4 KiB, tracking, no timeline"),
        backend("arena", "empty 2x3, arena, beside from_blob", "from_blob"),
    ],
    # Each beside the same in ExecuTorch's own words.
    "Models": [
        pair("models", case, title, "executorch")
        for case, title in {
            "forward": "digits forward, 32 images",
            "run": "digits run, input and output set",
            "forward/one": "digits forward, one image",
            "run/one": "digits run, one image, both set",
            "to_executorch": "to_executorch, beside from_blob",
            "from_executorch": "from_executorch, beside make_tensor_ptr",
        }.items()
    ],
    # How long the compiler needs for nothing but the header, measured here.
    "Compile time": [
        Row("#include, -fsyntax-only", {p: ("include", p) for p in ("tenon", "executorch", "aten")})
    ],
}
HEADERS = {
    "tenon": "tenon/tenon.h",
    "executorch": "executorch/extension/tensor/tensor.h",
    "aten": "ATen/ATen.h",
}


@dataclasses.dataclass
class Cell:
    """The figures of one case in one program."""

    rounds: List[float] = dataclasses.field(default_factory=list)  # nanoseconds
    allocs: Optional[float] = None

    @property
    def ns(self):
        return statistics.median(self.rounds)


Cells = Dict[Tuple[str, str], Cell]  # (program, case) -> figures


class Failure(Exception):
    """A program failed, or the programs and the rows do not fit together."""


def run_program(command, arguments, preload=None):
    """Runs one benchmark program; returns its JSON records."""
    environment = dict(os.environ, OMP_NUM_THREADS="1", LC_ALL="C")
    if preload:
        environment["LD_PRELOAD"] = preload
    done = subprocess.run(
        [*command, "--benchmark_format=json", *arguments],
        env=environment, capture_output=True, text=True, check=False)
    path = command[-1]
    if done.returncode != 0:
        raise Failure(f"{path} ended with {done.returncode}:\n{done.stderr.strip()[-2000:]}")
    if not done.stdout.strip():  # no case matches the filter
        return []
    records = json.loads(done.stdout)["benchmarks"]
    for record in records:
        if record.get("error_occurred"):
            raise Failure(f"{path}: {record['name']}: {record.get('error_message')}")
    return records


def measure_cases(config, options, tables) -> Cells:
    commands = {p: c["command"] for p, c in config["programs"].items() if "command" in c}
    chosen = {p: [] for p in commands}
    if options.filter:
        sources = {s for rows in tables.values() for r in rows for s in r.sources.values()}
        for program in commands:
            # An empty filter would stand for all.
            cases = sorted(re.escape(case) for p, case in sources if p == program) or ["none"]
            chosen[program] = [f"--benchmark_filter=^({'|'.join(cases)})$"]
    cells: Cells = {}
    for number in range(options.rounds):
        # A different one starts each round, so that none always runs after the same neighbour.
        order = list(commands)
        for program in order[number % len(order) :] + order[: number % len(order)]:
            arguments = [f"--benchmark_min_time={options.min_time}", *chosen[program]]
            for record in run_program(commands[program], arguments):
                # CPU time: what other processes do to the wall clock is not the library's.
                cell = cells.setdefault((program, record["name"]), Cell())
                cell.rounds.append(record["cpu_time"])
    # Counts do not need a stable time, only some calls to divide by.
    for program, command in commands.items():
        arguments = ["--benchmark_min_time=0.001", *chosen[program]]
        for record in run_program(command, arguments, config["malloc_counter"]):
            if "allocs" not in record:
                raise Failure(f"{command[-1]}: the preloaded malloc counter was not found")
            cells[program, record["name"]].allocs = record["allocs"]
    return cells


def compiler_time(command, source):
    """Nanoseconds of CPU time that a compiler needs for a source that it reads from its input."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([*command, "-x", "c++", "-"], input=source, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise Failure(f"{source.splitlines()[0]} does not compile:\n{done.stderr.strip()[-2000:]}")
    # Not os.times(), which counts in hundredths of a second.
    return 1e9 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def measure_headers(config, runs) -> Cells:
    """CPU time that the compiler needs for a file that only includes a header."""
    cells: Cells = {}
    for number in range(runs + 1):
        for name, header in HEADERS.items():
            program = config["programs"].get(name, {})
            if "command" not in program:
                continue
            command = [config["compiler"], "-std=c++17", "-fsyntax-only", *program["flags"]]
            time = compiler_time(command, f"#include <{header}>\n")
            if number > 0:  # the first reads the headers into the page cache
                cells.setdefault(("include", name), Cell()).rounds.append(time)
    return cells


def check_cases(cells: Cells, config):
    """A case that one side misspelt would otherwise pass for one without a peer."""
    rows = [r for table in TABLES.values() for r in table]
    named = {source for r in rows for source in r.sources.values()}
    for program, case in cells:
        if (program, case) not in named:
            raise Failure(f"case {case!r} of bench_{program} has no row in compare.py")
    for r in rows:
        for column, (program, case) in r.sources.items():
            optional = column == "tenon" and r.variant_of is not None
            built = "command" in config["programs"].get(program, {})
            if built and not optional and (program, case) not in cells:
                raise Failure(f"case {case!r} of compare.py is not in bench_{program}")
    for case in {r.variant_of for r in rows} - {None}:
        if not any(r.variant_of == case and r.sources["tenon"] in cells for r in rows):
            raise Failure(f"no variant of case {case!r} is in bench_tenon")


def figures(r: Row, cells: Cells) -> Dict[str, Cell]:
    """What each column has for a row."""
    return {column: cells[source] for column, source in r.sources.items() if source in cells}


def format_time(ns):
    for limit, scale, unit in ((1e3, 1.0, "ns"), (1e6, 1e3, "µs"), (1e9, 1e6, "ms")):
        if ns < 0.9995 * limit:
            return f"{ns / scale:.3g} {unit}"
    return f"{ns / 1e9:.2f} s"


def format_allocs(cell: Cell):
    # A fraction is real: something allocates once in a few calls.
    return "" if cell.allocs is None else f"{cell.allocs:.2f}".rstrip("0").rstrip(".")


def table_lines(rows, cells: Cells):
    """A table as lists of text, its header first. Columns are those that have a figure."""
    measured = [(r.title, figures(r, cells)) for r in rows]
    columns = [c for c in TITLES if any(c in found for _, found in measured)]
    lines = [["case"]]
    for column in columns:
        lines[0] += [TITLES[column], "allocs"] + ["ratio"] * (column != "tenon")
    for title, found in measured:
        line = [title]
        for column in columns:
            cell = found.get(column)
            line += [format_time(cell.ns), format_allocs(cell)] if cell else ["–", ""]
            if column != "tenon":
                line.append(f"{found['tenon'].ns / cell.ns:.2f}" if cell else "")
        lines.append(line)
    return lines


def plain_text(lines):
    widths = [max(map(len, column)) for column in zip(*lines)]

    def joined(line):
        cells = [line[0].ljust(widths[0]), *(t.rjust(w) for t, w in zip(line[1:], widths[1:]))]
        return "  ".join(cells).rstrip()

    rule = ["-" * width for width in widths]
    return "\n".join(map(joined, [lines[0], rule, *lines[1:]]))


def markdown(lines):
    rule = ["---"] + ["---:"] * (len(lines[0]) - 1)
    return "\n".join("| " + " | ".join(line) + " |" for line in [lines[0], rule, *lines[1:]])


def cpu_model():
    file = pathlib.Path("/proc/cpuinfo")
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    found = re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
    return found.group(1).strip() if found else os.uname().machine


def footer(config, rounds):
    """What a reader needs to judge the figures."""
    version = subprocess.run(
        [config["compiler"], "--version"], capture_output=True, text=True, check=True)
    libraries = [f"{TITLES[p]} {c['version']}" for p, c in config["programs"].items()
                 if "version" in c and p not in ("aten_mode", "models", "libc")]
    return (f"{cpu_model()}, {os.cpu_count()} cores; {version.stdout.splitlines()[0]}; "
            f"-std=c++17 {config['flags']}; one thread; {', '.join(libraries)}; CPU time, "
            f"median of {rounds} interleaved rounds; allocations counted at malloc; {datetime.date.today()}.")


def as_json(tables, cells: Cells, skipped, about):
    rows = []
    for title, table in tables.items():
        for r in table:
            found = {c: {"ns": cell.ns, **vars(cell)} for c, cell in figures(r, cells).items()}
            rows.append({"table": title, "title": r.title, "figures": found})
    return json.dumps({"environment": about, "skipped": skipped, "rows": rows}, indent=2) + "\n"


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("folder", type=pathlib.Path, help="where benchmarks.json was generated")
    add("--rounds", type=int, default=11, help="timing rounds (default 11)")
    add("--min-time", type=float, default=0.02, help="seconds a case in a round (default 0.02)")
    add("--filter", help="only tenon's cases that this regular expression matches")
    add("--compile-runs", type=int, default=5, help="runs of each header (default 5, 0: none)")
    add("--markdown", action="store_true", help="print Markdown tables")
    add("--json", type=pathlib.Path, metavar="FILE", help="write all figures")
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parse_arguments(arguments)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8")
    try:
        config = json.loads((options.folder / "benchmarks.json").read_text(encoding="utf-8"))
        if config["build_type"] != "Release":
            print(f"warning: a {config['build_type']} build", file=sys.stderr)
        tables = TABLES
        if options.filter:
            chosen = re.compile(options.filter)
            tables = {
                title: [r for r in rows if chosen.search(r.sources["tenon"][1])]
                for title, rows in TABLES.items()
            }
            if not any(tables.values()):
                raise Failure(f"no case matches {options.filter!r}")
        cells = measure_cases(config, options, tables)
        if not options.filter:
            check_cases(cells, config)
            if options.compile_runs > 0:
                cells.update(measure_headers(config, options.compile_runs))
        about = footer(config, options.rounds)
    except (Failure, OSError, ValueError, re.error, subprocess.SubprocessError) as error:
        print(f"compare.py: {error}", file=sys.stderr)
        return 2

    skipped = {p: c["skipped"] for p, c in config["programs"].items() if "skipped" in c}
    tables = {t: [r for r in rows if r.sources["tenon"] in cells] for t, rows in tables.items()}
    for title, rows in tables.items():
        if rows:
            lines = table_lines(rows, cells)
            text = "\n" + markdown(lines) if options.markdown else plain_text(lines)
            print(f"{title}\n{text}\n")
    for program, reason in skipped.items():
        print(f"{TITLES[program]} was skipped: {reason}\n")
    print(about)
    if options.json:
        options.json.write_text(as_json(tables, cells, skipped, about), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
