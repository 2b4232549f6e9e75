#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The digits network on four runtimes, each alone in a small program: size, memory, start-up, and time and allocations
of a forward on one thread. Prints a Markdown table, and writes a picture.

    python3 ../../examples/aoti/export.py ../../examples/digits/export.py MODELS/digits.pt2 --max-batch 64
    python3 make_models.py MODELS                              # what both need is in their first lines
    python3 runtimes.py MODELS --partners DIR [--picture FILE.svg] [--rounds N]

DIR is what scripts/partners.sh made, with executorch, onnxruntime and torch. minizip and zlib are linked statically
(Debian: libminizip-dev, zlib1g-dev).

The programs take turns: each is started anew in each round, and later, in rounds again, each computes for a while, and
the others wait. Starts are the quickest of all rounds, since another program may have had the processor; other figures
are medians. Times of a forward are processor time, of all threads. Memory is the greatest resident set until the first
scores, with the pages of libraries. Libraries are the runtime's own that the process has mapped, without the system's:
libc, libm, libstdc++, libgcc_s. All must give the same scores.
"""

import argparse
import dataclasses
import datetime
import platform
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(ROOT / "docs" / "pictures"))

import dark  # noqa: E402

RUNS = {1: 20000, 32: 4000}  # forwards in a turn, by rows


@dataclasses.dataclass
class Runtime:
    title: str
    source: str
    model: Path
    compile: list
    link: list
    size: int = 0  # of the program
    libraries: dict = dataclasses.field(default_factory=dict)  # sizes by name
    peak: list = dataclasses.field(default_factory=list)  # bytes
    load: list = dataclasses.field(default_factory=list)  # ms
    start: list = dataclasses.field(default_factory=list)  # ms
    forward: dict = dataclasses.field(default_factory=lambda: {rows: [] for rows in RUNS})  # µs
    allocations: float = 0


def version(partners, name):
    """Of what scripts/partners.sh fetched."""
    return re.search(r"==([^\s+]+)", (partners / name / ".stamp").read_text())[1]


def executorch_flags(partners):
    include = partners / "executorch" / "executorch" / "include"
    return ["-isystem", f"{include}", "-isystem", f"{include}/executorch/runtime/core/portable_type/c10",
            "-DC10_USING_CUSTOM_GENERATED_MACROS", "-DET_EVENT_TRACER_ENABLED"]


def shared(folder, names):
    """Links libraries that register themselves: nothing calls them."""
    return [f"-L{folder}", "-Wl,--no-as-needed", *names, "-Wl,--as-needed", f"-Wl,-rpath,{folder}"]


def runtimes(partners, models):
    """All of them, with how each is compiled and linked."""

    torch = partners / "torch" / "torch"
    et = partners / "executorch" / "executorch"
    onnx = partners / "onnxruntime"
    small = ["-ffunction-sections", "-fdata-sections", f"-I{ROOT / 'include'}", str(HERE / "no_demangler.cpp")]
    static = ["-static-libstdc++", "-static-libgcc", "-Wl,-Bstatic", "-lminizip", "-lz", "-Wl,-Bdynamic",
              "-Wl,--gc-sections", "-Wl,--export-dynamic-symbol=aoti_*"]
    et_include = executorch_flags(partners)
    kernels = ["-lexecutorch", "-lexecutorch_kernels_optimized", "-lexecutorch_threadpool"]
    return [
        Runtime("tenon, -O2", "tenon.cpp", models / "digits.pt2", ["-std=c++17", "-O2", *small], static),
        Runtime("tenon, -Os", "tenon.cpp", models / "digits.pt2", ["-std=c++17", "-Os", *small], static),
        Runtime(f"libtorch {version(partners, 'torch')}", "libtorch.cpp", models / "digits.pt2",
                ["-std=c++20", "-O2", "-isystem", f"{torch}/include",
                 "-isystem", f"{torch}/include/torch/csrc/api/include"],
                shared(torch / "lib", ["-ltorch_cpu", "-lc10"])),
        Runtime(f"ExecuTorch {version(partners, 'executorch')}", "executorch.cpp", ROOT / "examples/digits/data/digits.pte",
                ["-std=c++17", "-O2", *et_include], shared(et / "lib", kernels)),
        Runtime("ExecuTorch with XNNPACK", "executorch.cpp", models / "digits_xnnpack.pte",
                ["-std=c++17", "-O2", *et_include], shared(et / "lib", [*kernels, "-lexecutorch_backend_xnnpack"])),
        Runtime(f"ONNX Runtime {version(partners, 'onnxruntime')}", "onnxruntime.cpp", models / "digits.onnx",
                ["-std=c++17", "-O2", "-isystem", f"{onnx}/include"],
                [str(onnx / "lib/libonnxruntime.so.1"), f"-Wl,-rpath,{onnx / 'lib'}"]),
    ]


class Process:
    """A program that has computed its first scores and waits."""

    def __init__(self, runtime, program, counter=None):
        begin = time.monotonic_ns()
        environment = {"LD_PRELOAD": str(counter)} if counter else {}
        self.process = subprocess.Popen([program, runtime.model], text=True, env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        line = self.process.stdout.readline()
        while line and not re.match(r"\d+ \d+ \d+ ", line):  # ExecuTorch logs to stdout
            line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{program} {runtime.model}: failed")
        opening, opened, first, *self.scores = line.split()
        self.load = (int(opened) - int(opening)) / 1e6
        self.start = (int(first) - begin) / 1e6

    def forward(self, rows, runs):
        """Microseconds and allocations of one forward."""
        print(rows, runs, file=self.process.stdin, flush=True)
        nanoseconds, allocations, *self.scores = self.process.stdout.readline().split()
        return int(nanoseconds) / runs / 1e3, int(allocations) / runs

    def peak(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024

    def files(self):
        maps = Path(f"/proc/{self.process.pid}/maps").read_text()
        return {Path(path) for path in re.findall(r"\s(/\S+)$", maps, re.MULTILINE)}

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def build(runtime, program):
    command = ["g++", "-DNDEBUG", "-s", *runtime.compile, HERE / runtime.source, "-o", program, *runtime.link, "-ldl"]
    subprocess.run(command, check=True)
    runtime.size = program.stat().st_size


def build_counter(folder):
    """The library that counts calls of malloc, to be preloaded."""
    counter = folder / "malloc_counter.so"
    command = ["g++", "-O2", "-fno-builtin", "-fPIC", "-shared", HERE.parent / "malloc_counter.cpp", "-o", counter]
    subprocess.run(command, check=True)
    return counter


def measure(all_of, programs, counter, partners, rounds):
    scores = {}

    def compare(rows, process, runtime):
        if scores.setdefault(rows, process.scores) != process.scores:
            raise SystemExit(f"{runtime.title}: other scores for {rows} rows")

    for _ in range(rounds):
        for runtime, program in zip(all_of, programs):
            process = Process(runtime, program)
            compare(0, process, runtime)
            runtime.load.append(process.load)
            runtime.start.append(process.start)
            runtime.peak.append(process.peak())
            own = [path for path in process.files() if partners in path.parents]
            runtime.libraries = {path.name: path.stat().st_size for path in own}
            process.close()
    waiting = [Process(*pair) for pair in zip(all_of, programs)]
    for _ in range(rounds):
        for rows, runs in RUNS.items():
            for runtime, process in zip(all_of, waiting):
                runtime.forward[rows].append(process.forward(rows, runs)[0])
                compare(rows, process, runtime)
    for process in waiting:
        process.close()
    for runtime, program in zip(all_of, programs):
        process = Process(runtime, program, counter)
        runtime.allocations = max(process.forward(rows, 1000)[1] for rows in RUNS)
        process.close()


def median_forward(runtime, rows):
    return statistics.median(runtime.forward[rows])


def megabytes(size):
    mb = size / 1e6
    return f"{mb:.0f} MB" if mb >= 100 else f"{mb:.1f} MB" if mb >= 1 else f"{size / 1e3:.0f} kB"


def table(all_of):
    rows = {
        "program": [megabytes(r.size) for r in all_of],
        "libraries that it loads": [megabytes(sum(r.libraries.values())) if r.libraries else "none" for r in all_of],
        "model": [megabytes(r.model.stat().st_size) for r in all_of],
        "peak memory": [megabytes(statistics.median(r.peak)) for r in all_of],
        "the model is opened in": [f"{min(r.load):.1f} ms" for r in all_of],
        "start of the process to the first scores": [f"{min(r.start):.1f} ms" for r in all_of],
    }
    for n in RUNS:
        rows[f"forward of {n} row{'s' if n > 1 else ''}"] = [f"{median_forward(r, n):.2f} µs" for r in all_of]
    rows["allocations in a forward"] = [f"{r.allocations:.0f}" for r in all_of]
    lines = ["| | " + " | ".join(r.title for r in all_of) + " |", "|---|" + "---:|" * len(all_of)]
    return "\n".join(lines + [f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items()])


def columns_of(all_of):
    """The figures of a picture: their title, and each runtime's number and its text."""
    columns = [("program and libraries", [(r.size + sum(r.libraries.values())) for r in all_of], megabytes),
               ("peak memory", [statistics.median(r.peak) for r in all_of], megabytes),
               ("start-up", [min(r.start) for r in all_of], lambda ms: f"{ms:.0f} ms" if ms >= 100 else f"{ms:.1f} ms")]
    for n in RUNS:
        columns.append((f"forward, {n} row{'s' if n > 1 else ''}", [median_forward(r, n) for r in all_of],
                        lambda us: f"{us:.2f} µs"))
    return [(title, [(value, show(value)) for value in values]) for title, values, show in columns]


def picture(titles, columns, caption):
    """An SVG, narrow, for phones: below each other the figures, each with a bar for each runtime, from 0 in its own
    scale. tenon's titles begin with its name."""
    width, left, top, line, longest = 420, 174, 36, 20, 168
    height = top + (line * len(titles) + 34) * len(columns) + 14 * len(caption) + 10
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
           f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12" fill="#222222">',
           "<title>The digits network on four runtimes</title>",
           f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
           '<text x="10" y="22" font-size="14" font-weight="bold">The digits network on four runtimes: '
           'less is better</text>']
    y = top
    for title, values in columns:
        y += 18
        out += [f'<text x="{left}" y="{y}" fill="#555555">{title}</text>',
                f'<line x1="{left}" y1="{y + 5}" x2="{left}" y2="{y + 9 + line * len(titles)}" stroke="#999999"/>']
        y += 8
        for name, (value, text) in zip(titles, values):
            is_tenon = name.startswith("tenon")
            weight = ' font-weight="bold"' if is_tenon else ""
            length = max(1, longest * value / max(value for value, _ in values))
            out += [f'<text x="{left - 8}" y="{y + 12}" text-anchor="end"{weight}>{name}</text>',
                    f'<rect x="{left}" y="{y}" width="{length:.1f}" height="16" '
                    f'fill="{"#1f5fa8" if is_tenon else "#b8bfc8"}"/>',
                    f'<text x="{left + length + 6:.1f}" y="{y + 12}">{text}</text>']
            y += line
        y += 8
    for words in caption:
        y += 14
        out.append(f'<text x="10" y="{y}" fill="#555555">{words}</text>')
    return dark.add_dark_form("\n".join([*out, "</svg>", ""]))


def processor():
    """As benchmarks.md names it: the model's name alone says little on virtual machines."""
    info = Path("/proc/cpuinfo").read_text()
    name = re.search(r"model name\s*: (.*)", info)
    family, model = (re.search(rf"^{what}\s*: (\d+)", info, re.MULTILINE)[1] for what in ("cpu family", "model"))
    return f"{name[1] if name else platform.machine()} (family {family}, model {model})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("models", type=Path)
    parser.add_argument("--partners", type=Path, required=True)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--rounds", type=int, default=21)
    options = parser.parse_args()
    models, partners = options.models.resolve(), options.partners.resolve()
    all_of = runtimes(partners, models)
    for runtime in all_of:
        if not runtime.model.exists():
            parser.error(f"{runtime.model} is not there; the first lines of this file say how it is made")
    programs = [models / re.sub(r"\W+", "_", runtime.title) for runtime in all_of]
    for runtime, program in zip(all_of, programs):
        build(runtime, program)
    measure(all_of, programs, build_counter(models), partners, options.rounds)

    compiler = subprocess.run(["g++", "-dumpfullversion"], check=True, capture_output=True, text=True).stdout.strip()
    caption = [processor(), f"g++ {compiler}, one thread, {options.rounds} rounds, {datetime.date.today()}"]
    print(f"{table(all_of)}\n\n{', '.join(caption)}")
    for runtime in all_of:
        libraries = [f"{name} {size}" for name, size in sorted(runtime.libraries.items())]
        print(f"{runtime.title}: {', '.join(libraries) or 'no libraries'}")
    torch = next(runtime for runtime in all_of if runtime.source == "libtorch.cpp")
    for n in RUNS:
        ratios = [f"{r.title} {median_forward(r, n) / median_forward(torch, n):.2f}" for r in all_of]
        print(f"forward of {n}, beside libtorch: {', '.join(ratios)}")
    if options.picture:
        options.picture.write_text(picture([r.title for r in all_of], columns_of(all_of), caption))


if __name__ == "__main__":
    main()
