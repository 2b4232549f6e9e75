#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The networks of networks.py on tenon and on libtorch, which run the same packages, and on ONNX Runtime and ExecuTorch
with XNNPACK, each in a small program on one thread: time of a forward and of opening, and peak memory. Prints Markdown tables.

    python3 export.py MODELS [--peers]                         # what it needs is in its first lines
    python3 architectures.py MODELS --partners DIR [--rounds N]

DIR is what scripts/partners.sh made, with torch and torchvision, and onnxruntime and executorch for the peers' files. All programs compare
what they compute with PyTorch's results; a runtime that does not run a network, or gives other values, has a dash. They
take turns in each round; figures are medians of processor time, the quickest opening, and the greatest resident set after
the first forward, with the pages of libraries.
"""

import argparse
import datetime
import math
import re
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent / "runtimes")]

import runtimes  # noqa: E402


def build(partners, folder, suffixes):
    """A program for each runtime that has packages."""
    torch, et, onnx = partners / "torch" / "torch", partners / "executorch" / "executorch", partners / "onnxruntime"
    kernels = ["executorch", "executorch_kernels_optimized", "executorch_threadpool", "executorch_backend_xnnpack"]
    flags = {
        ("tenon", ".pt2"): ["-std=c++17", "-lminizip", "-ldnnl", "-rdynamic"],
        ("libtorch", ".pt2"): ["-std=c++20", "-isystem", f"{torch}/include",
                               "-isystem", f"{torch}/include/torch/csrc/api/include",
                               *runtimes.shared(torch / "lib", ["-ltorch", "-ltorch_cpu", "-lc10"])],
        ("onnxruntime", ".onnx"): ["-std=c++17", "-isystem", f"{onnx}/include", str(onnx / "lib/libonnxruntime.so.1"),
                                   f"-Wl,-rpath,{onnx / 'lib'}"],
        ("executorch", ".pte"): ["-std=c++17", *runtimes.executorch_flags(partners),
                                 *runtimes.shared(et / "lib", [f"-l{name}" for name in kernels])],
    }  # fmt: skip
    programs = {}
    for (name, suffix), more in flags.items():
        if suffix not in suffixes:
            continue
        program = folder / name
        command = ["g++", "-O2", "-DNDEBUG", "-s", f"-I{ROOT / 'include'}", HERE / f"{name}.cpp", "-o", program, *more, "-ldl"]
        subprocess.run(command, check=True)
        programs[name] = (program, suffix)
    return programs


class Failed(Exception):
    pass


class Process:
    """A program that has computed and compared."""

    def __init__(self, program, folder, name, operators):
        command = [program, folder, name, operators]
        self.process = subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.opened = int(self.read()) / 1e6
        self.forward(1)

    def read(self):
        line = self.process.stdout.readline()
        while line and not line.strip().isdigit():  # ExecuTorch logs to stdout
            line = self.process.stdout.readline()
        if not line:
            raise Failed(self.process.stderr.read().strip())
        return line

    def forward(self, runs):
        """Microseconds."""
        print(runs, file=self.process.stdin, flush=True)
        return int(self.read()) / runs / 1e3

    def peak(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1e3

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def measure(programs, folder, name, rounds, operators):
    """(microseconds of a forward, milliseconds of opening, megabytes) by runtime."""
    opened, peak, waiting = {}, {}, {}
    for title, (program, suffix) in programs.items():
        if not (folder / f"{name}{suffix}").exists():
            continue
        try:
            waiting[title] = Process(program, folder, name, operators)
        except (Failed, BrokenPipeError) as error:
            print(f"{title} {name}: {error}", file=sys.stderr)
            if title in ("tenon", "libtorch"):
                raise SystemExit(1) from error
            continue
        peak[title] = waiting[title].peak()
        opened[title] = [waiting[title].opened]
    for _ in range(max(2, rounds // 3)):
        for title in waiting:
            process = Process(programs[title][0], folder, name, operators)
            opened[title].append(process.opened)
            process.close()
    runs = max(1, int(20000 / waiting["libtorch"].forward(3)))  # 20 ms a turn
    times = {title: [] for title in waiting}
    for _ in range(rounds):
        for title, process in waiting.items():
            times[title].append(process.forward(runs))
    for process in waiting.values():
        process.close()
    return {t: (statistics.median(times[t]), min(opened[t]), peak[t]) for t in waiting}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("models", type=Path)
    parser.add_argument("--partners", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    folder = options.models.resolve()
    partners = options.partners.resolve()
    operators = partners / "torchvision/torchvision/_C_stable.so"
    programs = build(partners, folder, {path.suffix for path in folder.iterdir()})
    packages = sorted(folder.glob("*.pt2"))
    found = {path.stem: measure(programs, folder, path.stem, options.rounds, operators) for path in packages}
    for at, (what, digits) in enumerate((("forward, µs", 1), ("opening, ms", 1), ("peak memory, MB", 0))):
        print(f"\n| {what} | " + " | ".join(programs) + " | tenon to libtorch |\n|---|" + "---:|" * (len(programs) + 1))
        ratios = []
        for name, of in found.items():
            cells = [f"{of[title][at]:.{digits}f}" if title in of else "–" for title in programs]
            ratios.append(of["tenon"][at] / of["libtorch"][at])
            print(f"| {name} | {' | '.join(cells)} | {ratios[-1]:.2f} |")
        mean = math.exp(statistics.mean(map(math.log, ratios)))
        print(f"\nGeometric mean of tenon to libtorch: {mean:.2f}, from {min(ratios):.2f} to {max(ratios):.2f}")
    size = programs["tenon"][0].stat().st_size
    print(f"\nprogram: {runtimes.megabytes(size)}; {runtimes.processor()}, {datetime.date.today()}")


if __name__ == "__main__":
    main()
