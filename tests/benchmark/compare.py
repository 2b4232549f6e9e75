#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the benchmark programs side by side and prints one table.

The programs take turns for several short rounds, so that a slow spell of the machine hits all of
them, and each figure is the median of its rounds. Allocations come from a run of their own under
the preloaded malloc counter.

To add a case: a few lines under one name in bench_tenon.cpp and, where they have a peer, in
bench_executorch.cpp, bench_aten.cpp, bench_libc.cpp and bench_numpy.py, and one Row in ROWS below.
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
import statistics
import subprocess
import sys
from typing import Dict, List, Optional

PEERS = ("executorch", "aten", "libc", "numpy", "heap")
PROGRAMS = ("tenon", *PEERS)
ATEN_MODE = "aten_mode"
MODELS = "models"
TITLES = {
    "tenon": "tenon",
    ATEN_MODE: "tenon in ATen mode",
    MODELS: "tenon with ExecuTorch",
    "executorch": "ExecuTorch",
    "aten": "ATen",
    "libc": "plain C",
    "numpy": "NumPy",
    "heap": "the heap",
}
# The peers that have columns in a table, where any of its rows has a figure of theirs.
TABLES = {
    "Making tensors": ("executorch", "aten"),
    "Moving data": ("executorch", "aten", "libc"),
    "Random numbers": ("executorch", "aten", "numpy"),
    "ATen mode": ("aten",),
    "Backends": ("heap",),
    "Models": ("executorch",),
}
# The program that has both columns of a table, and the peer.
PAIRS = {"ATen mode": (ATEN_MODE, "aten"), "Models": (MODELS, "executorch")}


@dataclasses.dataclass(frozen=True)
class Row:
    """A case and what tenon must reach: at most this multiple of a peer's time, and at most this
    many allocations. None means no target (and that the peer may lack the case).

    A row with peer_case compares a variant of tenon's with that case of the peers. It is left out
    where tenon lacks the case: a variant for one instruction set needs a processor that has it.
    more_allocs is how many allocations tenon may make beyond the peer's of a table in PAIRS; such
    a row has both figures from that program. A row of backends has both from tenon's: that of the heap
    is its peer_case."""

    case: str
    title: str
    executorch: Optional[float] = None
    aten: Optional[float] = None
    libc: Optional[float] = None
    numpy: Optional[float] = None
    heap: Optional[float] = None
    allocs: Optional[int] = None
    more_allocs: Optional[int] = None
    table: str = "Making tensors"
    peer_case: Optional[str] = None

    def limit(self, peer):
        return getattr(self, peer)

    def source(self, column):
        """The program and the case that a column has its figure from; None where it has none."""
        if self.table in PAIRS:
            program, peer = PAIRS[self.table]
            cases = {"tenon": self.case, peer: f"{self.case}@{peer}"}
            return (program, cases[column]) if column in cases else None
        if self.table == "Backends":
            case = {"tenon": self.case, "heap": self.peer_case}.get(column)
            return ("tenon", case) if case else None
        if column == "heap":
            return None
        return (column, self.case if column == "tenon" else self.peer_case or self.case)

    def cases_in(self, program):
        sources = [self.source(column) for column in PROGRAMS]
        return {source[1] for source in sources if source and source[0] == program}


ROWS = [
    Row("from_blob", "from_blob 2x3", executorch=0.5, aten=0.5, allocs=2),
    Row("from_blob/deleter", "from_blob with a deleter", executorch=0.5, aten=0.5, allocs=2),
    Row("for_blob/strides", "for_blob with strides", executorch=0.4, aten=0.5, allocs=2),
    Row("make_tensor/blob", "make_tensor over a blob", allocs=1),
    Row("make_tensor_ptr/vector", "owning vector moved in", executorch=0.6, allocs=3),
    Row("make_tensor_ptr/list", "list of 4", executorch=0.5, aten=0.4, allocs=2),
    Row("make_tensor_ptr/scalar", "scalar", executorch=0.6, aten=0.3, allocs=2),
    Row("make_tensor_ptr/share", "share an existing impl", executorch=0.3, aten=0.5, allocs=1),
    Row("make_tensor_ptr/share_handle", "share, beside a bare handle"),
    Row("clone_tensor_ptr", "clone 2x3", executorch=0.4, aten=0.2, allocs=2),
    Row("resize_tensor_ptr", "two in-bound resizes", executorch=0.7, aten=0.7, allocs=0),
    Row("resize_tensor_ptr/braces", "two resizes to a brace list"),
    Row("stack_tensor", "Tensor over a stack TensorImpl", allocs=0),
    Row("empty/4MiB", "empty 4 MiB", aten=1.0, allocs=3),
    Row("dlpack", "to_dlpack, from_dlpack", aten=0.5, allocs=3),
]

# What moves bytes. Plain C is malloc with memset, memcpy or a loop over a pointer.
MOVING = [
    Row("zeros/4MiB", "zeros 4 MiB", aten=1.0),
    Row("full/4MiB", "full 4 MiB", aten=1.0),
    Row("full/64MiB", "full 64 MiB", aten=1.0, libc=1 / 0.95),
    Row("fill_/64MiB", "fill_ 64 MiB", aten=1.0, libc=1 / 0.95),
    Row("clone/4MiB", "clone 4 MiB", aten=1.0, libc=1 / 0.95),
    Row("clone/64MiB", "clone 64 MiB", aten=1.0, libc=1 / 0.95),
    Row("clone/int_float", "clone Int to Float, 1M elements", aten=0.9),
    Row("clone/float_half", "clone Float to Half", aten=1.0),
    Row("clone/half_float", "clone Half to Float", aten=1.0),
    Row("clone/float_bfloat16", "clone Float to BFloat16", aten=1.0),
    Row("clone/bfloat16_float", "clone BFloat16 to Float", aten=1.0),
    Row("clone/byte_float", "clone Byte to Float", aten=1.0),
    Row("contiguous/transpose", "transpose 1024² Float", aten=0.6),
    Row("nhwc_nchw/byte", "NHWC to NCHW, 1080p Byte", aten=0.3),
    Row("nhwc_nchw/float", "NHWC to NCHW, 1080p Float", aten=0.3),
    Row("nchw_nhwc/byte", "NCHW to NHWC, 1080p Byte", aten=0.3),
    Row("pitch/byte", "padded rows, 1080p Byte", libc=1 / 0.9),
    Row("accessor/sum", "accessor sum 1024² Float", libc=1.02),
]
ROWS += [dataclasses.replace(row, table="Moving data") for row in MOVING]


def each(limit):
    """The same target beside every peer that makes random numbers."""
    return {"executorch": limit, "aten": limit, "numpy": limit}


# 4 MiB of random numbers with each instruction set that the processor has. Those of other processors
# than x86-64 have one, the baseline, and no targets.
RANDN = {"executorch": 1 / 10, "aten": 1 / 3, "numpy": 1 / 8}
RANDOM = [
    Row("rand/avx512", "rand Float, AVX-512", peer_case="rand", **each(1 / 6)),
    Row("rand/avx2", "rand Float, AVX2", peer_case="rand", **each(1 / 5)),
    Row("rand/sse2", "rand Float, SSE2 only", peer_case="rand", **each(1 / 2.5)),
    Row("rand/baseline", "rand Float", peer_case="rand"),
    Row("randn/avx512", "randn Float, AVX-512", peer_case="randn", **RANDN),
    Row("randn/avx2", "randn Float, AVX2", peer_case="randn", **RANDN),
    Row("randn/sse2", "randn Float, SSE2 only", peer_case="randn", **each(1.0)),
    Row("randn/baseline", "randn Float", peer_case="randn"),
    Row("randint/avx512", "randint Int [0, 100), AVX-512", peer_case="randint", **each(1 / 4)),
    Row("randint/avx2", "randint Int [0, 100), AVX2", peer_case="randint", **each(1 / 4)),
    Row("randint/sse2", "randint Int [0, 100), SSE2 only", peer_case="randint", **each(1.0)),
    Row("randint/baseline", "randint Int [0, 100)", peer_case="randint"),
    Row("uniform_", "uniform_ Float in place"),
]
ROWS += [dataclasses.replace(row, table="Random numbers") for row in RANDOM]

# Each creator beside the call of ATen's that makes the same. The handle on the heap is tenon's one
# allocation more.
ATEN_MODE_CASES = {
    "empty": "empty 2x3",
    "empty_strided": "empty_strided",
    "empty_like": "empty_like",
    "zeros": "zeros",
    "ones": "ones",
    "full": "full",
    "full_like": "full_like",
    "scalar_tensor": "scalar_tensor",
    "arange": "arange",
    "eye": "eye",
    "rand": "rand",
    "rand_like": "rand_like",
    "randn": "randn",
    "randint": "randint",
    "clone_tensor_ptr": "clone",
    "clone_tensor_ptr/half": "clone Float to Half",
    "from_blob": "from_blob",
    "from_blob/deleter": "from_blob with a deleter",
    "for_blob/strides": "for_blob with strides",
    "make_tensor_ptr/list": "list of 4",
    "make_tensor_ptr/view": "view in other sizes",
    "empty/4MiB": "empty 4 MiB",
    "zeros/4MiB": "zeros 4 MiB",
    "full/4MiB": "full 4 MiB",
    "rand/4MiB": "rand 4 MiB",
    "clone_tensor_ptr/4MiB": "clone 4 MiB",
}
ROWS += [
    Row(f"{ATEN_MODE}/{case}", title, aten=1.1, more_allocs=1, table="ATen mode")
    for case, title in ATEN_MODE_CASES.items()
]

# The heap's is the same tensor in CpuBackend, or where a backend is to replace the heap, a blob.
BACKENDS = [
    Row("backend/pool", "empty 4 KiB, pool", peer_case="backend/cpu", heap=0.7),
    Row("backend/tracking", "empty 4 KiB, tracking, no timeline", peer_case="backend/cpu"),
    Row("backend/arena", "empty 2x3, arena, beside from_blob", peer_case="from_blob", heap=0.75,
        allocs=0),
]
ROWS += [dataclasses.replace(row, table="Backends") for row in BACKENDS]

# Each beside the same in ExecuTorch's own words, with fewer allocations.
FEWER = {"executorch": 1.05, "more_allocs": -1, "table": "Models"}
ROWS += [
    Row("models/forward", "digits forward, 32 images", **FEWER),
    Row("models/run", "digits run, input and output set", allocs=0, **FEWER),
    Row("models/forward/one", "digits forward, one image", **FEWER),
    Row("models/run/one", "digits run, one image, both set", allocs=0, **FEWER),
    Row("models/to_executorch", "to_executorch, beside from_blob", **{**FEWER, "executorch": 1.0}),
    Row("models/from_executorch", "from_executorch, beside make_tensor_ptr", **FEWER),
]

# How long the compiler needs for nothing but the header: a row like the others, measured here.
HEADER_ROW = Row("include", "#include, -fsyntax-only", executorch=0.8)
HEADERS = {
    "tenon": "tenon/tenon.h",
    "executorch": "executorch/extension/tensor/tensor.h",
    "aten": "ATen/ATen.h",
}


@dataclasses.dataclass
class Cell:
    """One program's figures for one case."""

    ns: float
    allocs: Optional[float] = None
    rounds: List[float] = dataclasses.field(default_factory=list)


Cells = Dict[str, Dict[str, Cell]]  # case -> program -> figures


class Failure(Exception):
    """A program failed, or the programs and the rows do not fit together."""


# Measuring


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def run_program(program, arguments, preload=None):
    """Runs one benchmark program, given as a command; returns its JSON records by case name."""
    environment = dict(os.environ, OMP_NUM_THREADS="1", LC_ALL="C")
    if preload:
        environment["LD_PRELOAD"] = preload
    command = [*program, "--benchmark_format=json", *arguments]
    path = program[-1]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"{path} ended with {done.returncode}:\n{done.stderr.strip()[-2000:]}")
    if not done.stdout.strip():  # no case matches the filter
        return {}
    try:
        records = json.loads(done.stdout)["benchmarks"]
    except (ValueError, KeyError) as error:
        raise Failure(f"{path} did not print Google Benchmark's JSON: {error}") from error
    for record in records:
        if record.get("error_occurred"):
            raise Failure(f"{path}: {record['name']}: {record.get('error_message')}")
    return {record["name"]: record for record in records}


def selection(program, pattern):
    """The arguments that make a program run the rows that the pattern matches."""
    if not pattern:
        return []
    chosen = [row for row in ROWS if re.search(pattern, row.case)]
    if not chosen:
        raise Failure(f"no case matches {pattern!r}")
    # An empty filter would stand for all.
    cases = {re.escape(case) for row in chosen for case in row.cases_in(program)} or {"none"}
    return [f"--benchmark_filter=^({'|'.join(sorted(cases))})$"]


def measure_cases(config, options) -> Cells:
    commands = {p: c["command"] for p, c in config["programs"].items() if "command" in c}
    chosen = {p: selection(p, options.filter) for p in commands}
    min_time = f"--benchmark_min_time={options.min_time}"
    cells: Cells = {}

    for number in range(options.rounds):
        # A different one starts each round, so that none always runs after the same neighbour.
        order = list(commands)
        order = order[number % len(order) :] + order[: number % len(order)]
        for program in order:
            progress(f"round {number + 1} of {options.rounds}: {TITLES[program]}")
            records = run_program(commands[program], [min_time, *chosen[program]])
            for case, record in records.items():
                cell = cells.setdefault(case, {}).setdefault(program, Cell(0.0))
                # CPU time: what other processes do to the wall clock is not the library's.
                cell.rounds.append(record["cpu_time"])
    # Counts do not need a stable time, only some calls to divide by.
    min_time = "--benchmark_min_time=0.001"
    for program, command in commands.items():
        progress(f"allocations: {TITLES[program]}")
        records = run_program(command, [min_time, *chosen[program]], config["malloc_counter"])
        for case, record in records.items():
            if "allocs" not in record:
                raise Failure(f"{command[-1]}: the preloaded malloc counter was not found")
            cells[case][program].allocs = record["allocs"]
    progress("")
    for by_program in cells.values():
        for cell in by_program.values():
            cell.ns = statistics.median(cell.rounds)
    return cells


def header_seconds(compiler, header, flags):
    """CPU seconds that the compiler needs for a file that only includes `header`."""
    command = [compiler, "-std=c++17", "-fsyntax-only", *flags, "-x", "c++", "-"]
    before = os.times()
    done = subprocess.run(
        command, input=f"#include <{header}>\n", capture_output=True, text=True, check=False
    )
    after = os.times()
    if done.returncode != 0:
        raise Failure(f"<{header}> does not compile:\n{done.stderr.strip()[-2000:]}")
    return (after.children_user + after.children_system) - (
        before.children_user + before.children_system
    )


def measure_headers(config, options) -> Dict[str, Cell]:
    cells = {p: Cell(0.0) for p in HEADERS if "command" in config["programs"].get(p, {})}
    for number in range(options.compile_runs + 1):
        for program, cell in cells.items():
            progress(f"compile time {number} of {options.compile_runs}: {TITLES[program]}")
            flags = config["programs"][program]["flags"]
            seconds = header_seconds(config["compiler"], HEADERS[program], flags)
            if number > 0:  # the first reads the headers into the page cache
                cell.rounds.append(seconds * 1e9)
    progress("")
    for cell in cells.values():
        cell.ns = statistics.median(cell.rounds)
    return cells


def check_cases(cells: Cells, config):
    """A case that one side misspelt would otherwise pass for one without a peer or a target."""
    built = [p for p, program in config["programs"].items() if "command" in program]
    for case, by_program in cells.items():
        unknown = [p for p in by_program if all(case not in row.cases_in(p) for row in ROWS)]
        if unknown:
            names = " and ".join(f"bench_{program}" for program in unknown)
            raise Failure(f"case {case!r} of {names} has no row in compare.py")
    for row in ROWS:
        expected = [p for p in PEERS if row.limit(p) is not None]
        if row.peer_case is None:
            expected.append("tenon")
        for program, case in map(row.source, expected):
            if program in built and program not in cells.get(case, {}):
                raise Failure(f"case {case!r} of compare.py is not in bench_{program}")
    # A processor lacks some variants of a case, never all.
    for case in {row.peer_case for row in ROWS if row.peer_case}:
        if not any(row.peer_case == case and is_shown(row, cells) for row in ROWS):
            raise Failure(f"no variant of case {case!r} is in bench_tenon")


def figures(row: Row, cells: Cells) -> Dict[str, Cell]:
    """What each program has for a row."""
    found = {}
    for column in PROGRAMS:
        source = row.source(column)
        cell = cells.get(source[1], {}).get(source[0]) if source else None
        if cell is not None:
            found[column] = cell
    return found


def is_shown(row: Row, cells: Cells):
    by_program = figures(row, cells)
    return "tenon" in by_program if row.peer_case else bool(by_program)


# Judging


def ratio(by_program: Dict[str, Cell], peer) -> Optional[float]:
    if "tenon" not in by_program or peer not in by_program:
        return None
    return by_program["tenon"].ns / by_program[peer].ns


def judge(row: Row, by_program: Dict[str, Cell]) -> str:
    """met | missed (what) | met, X unchecked | unchecked | "" where the row has no target."""
    misses = []
    unchecked = []
    checked = 0
    for peer in PEERS:
        if row.limit(peer) is None:
            continue
        value = ratio(by_program, peer)
        if value is None:
            unchecked.append(TITLES[peer])
            continue
        checked += 1
        if value > row.limit(peer):
            misses.append(f"{value:.3f} x {TITLES[peer]}")
    if row.allocs is not None:
        tenon = by_program.get("tenon")
        if tenon is None or tenon.allocs is None:
            unchecked.append("allocs")
        else:
            checked += 1
            if tenon.allocs > row.allocs:
                misses.append(f"{format_allocs(tenon)} allocs")
    other = PAIRS[row.table][1] if row.more_allocs is not None else None
    if other and "tenon" in by_program and other in by_program:
        tenon, peer = by_program["tenon"], by_program[other]
        if tenon.allocs is None or peer.allocs is None:
            unchecked.append("allocs")
        elif tenon.allocs > peer.allocs + row.more_allocs:
            misses.append(f"{format_allocs(tenon)} allocs for {format_allocs(peer)}")
    if misses:
        return f"missed ({', '.join(misses)})"
    if not unchecked:
        return "met" if checked else ""
    return f"met, {' and '.join(unchecked)} unchecked" if checked else "unchecked"


# Printing


def format_time(ns):
    for limit, scale, unit in ((1e3, 1.0, "ns"), (1e6, 1e3, "µs"), (1e9, 1e6, "ms")):
        if ns < 0.9995 * limit:
            return f"{ns / scale:.3g} {unit}"
    return f"{ns / 1e9:.2f} s"


def format_allocs(cell: Cell):
    if cell.allocs is None:
        return ""
    # A fraction is real: something allocates once in a few calls.
    return f"{cell.allocs:.2f}".rstrip("0").rstrip(".")


def format_target(row: Row):
    parts = [f"≤ {row.limit(p):.3g} x {TITLES[p]}" for p in PEERS if row.limit(p) is not None]
    if row.allocs is not None:
        parts.append(f"≤ {row.allocs} allocs" if row.allocs else "0 allocs")
    if row.more_allocs is not None:
        more = row.more_allocs
        parts.append(f"≤ {more} alloc more" if more >= 0 else f"≥ {-more} alloc fewer")
    return ", ".join(parts)


def table(rows, cells: Cells, config):
    """Header and lines, as lists of text. A peer that has none of the rows gets no columns."""
    measured = [figures(row, cells) for row in rows]
    skipped = [p for p in PROGRAMS if "skipped" in config["programs"].get(p, {})]
    peers = [
        p
        for p in TABLES[rows[0].table]
        if p in skipped or any(p in by_program for by_program in measured)
    ]
    header = ["case", "tenon", "allocs"]
    for peer in peers:
        header += [TITLES[peer], "allocs", "ratio"]
    header += ["target", "verdict"]
    lines = []
    for row, by_program in zip(rows, measured):
        line = [row.title]
        for program in ["tenon", *peers]:
            cell = by_program.get(program)
            if cell:
                line += [format_time(cell.ns), format_allocs(cell)]
            else:
                line += ["skipped" if program in skipped else "–", ""]
            if program in peers:
                value = ratio(by_program, program)
                line.append("" if value is None else f"{value:.2f}")
        line += [format_target(row), judge(row, by_program)]
        lines.append(line)
    return header, lines


def numeric_columns(header):
    return [i for i, name in enumerate(header) if name not in ("case", "target", "verdict")]


def plain_text(header, lines):
    widths = [max(len(line[i]) for line in [header, *lines]) for i in range(len(header))]
    right = numeric_columns(header)

    def joined(line):
        cells = [
            text.rjust(width) if i in right else text.ljust(width)
            for i, (text, width) in enumerate(zip(line, widths))
        ]
        return "  ".join(cells).rstrip()

    rule = "  ".join("-" * width for width in widths)
    return "\n".join([joined(header), rule, *map(joined, lines)])


def markdown(header, lines):
    right = numeric_columns(header)
    rule = ["---:" if i in right else "---" for i in range(len(header))]
    return "\n".join("| " + " | ".join(line) + " |" for line in [header, rule, *lines])


def skipped_notes(config):
    return [
        f"{TITLES[p]}: skipped: {config['programs'][p]['skipped']}"
        for p in PROGRAMS
        if "skipped" in config["programs"].get(p, {})
    ]


def cpu_model():
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    found = re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
    return found.group(1).strip() if found else os.uname().machine


def environment(config, options):
    """What a reader needs to judge the figures."""
    version = subprocess.run(
        [config["compiler"], "--version"], capture_output=True, text=True, check=True
    )
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "compiler": version.stdout.splitlines()[0],
        "flags": f"-std=c++17 {config['flags']}",
        "versions": {
            p: config["programs"][p]["version"]
            for p in PROGRAMS
            if "version" in config["programs"].get(p, {})
        },
        "rounds": options.rounds,
        "min_time": options.min_time,
        "date": datetime.date.today().isoformat(),
    }


def footer(about):
    versions = ", ".join(f"{TITLES[p]} {about['versions'][p]}" for p in about["versions"])
    return (
        f"{about['cpu']}, {about['cores']} cores; {about['compiler']}; {about['flags']}; "
        f"one thread; {versions}; CPU time, median of {about['rounds']} interleaved rounds; "
        f"allocations counted at malloc; {about['date']}."
    )


def as_json(rows, cells: Cells, config, about):
    return {
        "environment": about,
        "skipped": {
            p: c["skipped"] for p, c in config["programs"].items() if "skipped" in c
        },
        "rows": [
            {
                "case": row.case,
                "title": row.title,
                "figures": {p: dataclasses.asdict(c) for p, c in by_program.items()},
                "ratios": {p: ratio(by_program, p) for p in PEERS if p in by_program},
                "limits": {**{p: row.limit(p) for p in PEERS}, "allocs": row.allocs},
                "verdict": judge(row, by_program),
            }
            for row, by_program in ((row, figures(row, cells)) for row in rows)
        ],
    }


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=pathlib.Path, help="where benchmarks.json was generated")
    parser.add_argument("--rounds", type=int, default=11, help="timing rounds (default 11)")
    parser.add_argument(
        "--min-time", type=float, default=0.02, help="seconds a case in a round (default 0.02)"
    )
    parser.add_argument("--filter", help="only the cases that this regular expression matches")
    parser.add_argument(
        "--compile-runs", type=int, default=5, help="runs of each header (default 5, 0: none)"
    )
    parser.add_argument("--markdown", action="store_true", help="print a Markdown table")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write all figures")
    parser.add_argument(
        "--strict", action="store_true", help="exit with 1 unless every target is checked and met"
    )
    options = parser.parse_args(arguments)
    if options.rounds < 1 or options.compile_runs < 0 or options.min_time <= 0:
        parser.error("--rounds and --min-time are positive, --compile-runs is not negative")
    return options


def main(arguments=None):
    options = parse_arguments(arguments)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8")
    config_file = options.folder / "benchmarks.json"
    try:
        config = json.loads(config_file.read_text(encoding="utf-8"))
        if config["build_type"] != "Release":
            print(f"warning: a {config['build_type']} build", file=sys.stderr)
        cells = measure_cases(config, options)
        rows = [row for row in ROWS if is_shown(row, cells)]
        if not options.filter:
            check_cases(cells, config)
            if options.compile_runs > 0:
                cells[HEADER_ROW.case] = measure_headers(config, options)
                rows.append(HEADER_ROW)
        about = environment(config, options)
    except (Failure, OSError, re.error, subprocess.SubprocessError) as error:
        progress("")
        print(f"compare.py: {error}", file=sys.stderr)
        return 2

    for title in dict.fromkeys(row.table for row in rows):
        header, lines = table([row for row in rows if row.table == title], cells, config)
        print(f"{title}\n" if options.markdown else title)
        print(markdown(header, lines) if options.markdown else plain_text(header, lines))
        print()
    for note in skipped_notes(config):
        print(note + ("\n" if options.markdown else ""))
    print(footer(about))
    if options.json:
        text = json.dumps(as_json(rows, cells, config, about), indent=2)
        options.json.write_text(text + "\n", encoding="utf-8")

    verdicts = [judge(row, figures(row, cells)) for row in rows]
    if options.strict and any(verdict not in ("met", "") for verdict in verdicts):
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
