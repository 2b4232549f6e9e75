#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What it costs to pass arrays between Python's libraries and C++, in one run: tenon beside
torch.from_dlpack and nanobind's ndarray. Prints a Markdown table.

usage: bench_python.py [--rounds N] [--calls N]
Needs bench_python_module, numpy and torch in PYTHONPATH."""

import argparse
import statistics
import time

import numpy
import torch

import bench_python_module as module


def one_round(function, argument, calls):
    start = time.thread_time_ns()
    for _ in range(calls):
        function(argument)
    return (time.thread_time_ns() - start) / calls


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--calls", type=int, default=5000)
    options = parser.parse_args()

    array = numpy.zeros((16, 32), numpy.float32)
    tensor = torch.zeros(16, 32)
    ours = module.through_and_back(array)
    cases = [
        ("a call that does nothing", module.nothing, array),
        ("NumPy array to tenon: from_python", module.from_python, array),
        ("the same as an argument of a bound function", module.through, array),
        ("NumPy array to nanobind's ndarray", module.ndarray, array),
        ("NumPy array to PyTorch: torch.from_dlpack", torch.from_dlpack, array),
        ("PyTorch tensor to tenon: from_python", module.from_python, tensor),
        ("PyTorch tensor to nanobind's ndarray", module.ndarray, tensor),
        ("PyTorch tensor to NumPy: numpy.from_dlpack", numpy.from_dlpack, tensor),
        ("tenon's object to NumPy: numpy.asarray", numpy.asarray, ours),
        ("tenon's object to PyTorch: torch.from_dlpack", torch.from_dlpack, ours),
        ("NumPy array through a function and back", module.through_and_back, array),
        ("the same with nanobind's ndarray", module.ndarray_and_back, array),
    ]
    assert numpy.shares_memory(numpy.asarray(ours), array)
    rounds = {title: [] for title, _, _ in cases}
    for _ in range(options.rounds):
        for title, function, argument in cases:
            rounds[title].append(one_round(function, argument, options.calls))
    figures = {title: statistics.median(times) for title, times in rounds.items()}
    torch_ns = figures["NumPy array to PyTorch: torch.from_dlpack"]
    print("| case | time | beside torch.from_dlpack of a NumPy array |")
    print("| --- | ---: | ---: |")
    for title, ns in figures.items():
        print(f"| {title} | {ns:.0f} ns | {ns / torch_ns:.2f} |")
    print(f"\nNumPy {numpy.__version__}, PyTorch {torch.__version__}; median of {options.rounds} rounds.")


if __name__ == "__main__":
    main()
