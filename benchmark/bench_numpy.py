#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The cases on NumPy, as a program that takes Google Benchmark's flags and prints its JSON, as far
as compare.py uses them."""

import argparse
import ctypes
import json
import math
import re
import sys
import time


class Suite:
    """What harness.h's Suite is to the C++ programs."""

    def __init__(self):
        self.cases = {}

    def add(self, name, body):
        self.cases[name] = body

    def run(self, pattern, min_time):
        counter = malloc_counter()
        return [
            measure(name, body, min_time, counter)
            for name, body in self.cases.items()
            if re.search(pattern, name)
        ]


def malloc_counter():
    """The preloaded counter's function, or None in a timing run."""
    try:
        function = ctypes.CDLL(None).tenon_bench_malloc_count
    except AttributeError:
        return None
    function.restype = ctypes.c_uint64
    return function


def measure(name, body, min_time, counter=None):
    """Calls `body` until that takes `min_time` seconds; returns the record of one call."""
    body()  # fills caches, as in harness.h
    iterations = 1
    while True:
        before = counter() if counter else 0
        start = time.thread_time_ns()
        for _ in range(iterations):
            body()
        taken = time.thread_time_ns() - start
        allocations = counter() - before if counter else 0
        if taken >= min_time * 1e9:
            break
        needed = math.ceil(1.2 * iterations * min_time * 1e9 / max(taken, 1))
        iterations = min(max(needed, iterations + 1), 10 * iterations)
    record = {
        "name": name,
        "iterations": iterations,
        "cpu_time": taken / iterations,
        "time_unit": "ns",
    }
    if counter:
        record["allocs"] = allocations / iterations
    return record


def add_cases(suite, np):
    size = (1024, 1024)
    rng = np.random.default_rng()
    suite.add("rand", lambda: rng.random(size, dtype=np.float32))
    suite.add("randn", lambda: rng.standard_normal(size, dtype=np.float32))
    suite.add("randint", lambda: rng.integers(0, 100, size, dtype=np.int32))
    uniform = np.ones(size, dtype=np.float32)
    suite.add("uniform_", lambda: rng.random(dtype=np.float32, out=uniform))

    every = np.ones(200000, dtype=np.float32)
    second = np.empty(100000, dtype=np.float32)
    suite.add("move/second", lambda: np.copyto(second, every[::2]))
    suite.add("arange/long", lambda: np.arange(100000))
    suite.add("arange/float", lambda: np.arange(100000, dtype=np.float32))


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--benchmark_format", choices=["json"], default="json")
    parser.add_argument("--benchmark_filter", default="", metavar="REGEX")
    parser.add_argument("--benchmark_min_time", type=float, default=0.5, metavar="SECONDS")
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parse_arguments(arguments)
    import numpy  # here, so that the rest can be tested without it

    suite = Suite()
    add_cases(suite, numpy)
    records = suite.run(options.benchmark_filter, options.benchmark_min_time)
    print(json.dumps({"benchmarks": records}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
