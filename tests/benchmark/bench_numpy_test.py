#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests bench_numpy.py on made-up cases and a made-up clock; NumPy is not needed."""

import contextlib
import io
import pathlib
import sys
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import bench_numpy  # noqa: E402
import compare  # noqa: E402


class Clock:
    """A clock that only a case's calls move."""

    def __init__(self, step):
        self.now = 0
        self.step = step
        self.calls = 0

    def body(self):
        self.now += self.step
        self.calls += 1

    def measure(self, counter=None):
        with mock.patch.object(bench_numpy.time, "thread_time_ns", lambda: self.now):
            return bench_numpy.measure("a", self.body, 0.001, counter)


class Test(unittest.TestCase):
    def test_a_record_is_of_one_of_many_calls_in_nanoseconds(self):
        record = Clock(step=2000).measure()
        self.assertGreaterEqual(record.pop("iterations"), 500)
        self.assertEqual(record, {"name": "a", "cpu_time": 2000, "time_unit": "ns"})

    def test_a_case_that_takes_longer_is_called_once_after_its_first_call(self):
        clock = Clock(step=5_000_000)
        self.assertEqual((clock.measure()["iterations"], clock.calls), (1, 2))

    def test_allocations_are_those_of_the_measured_calls(self):
        clock = Clock(step=400_000)
        self.assertEqual(clock.measure(counter=lambda: 3 * clock.calls)["allocs"], 3)

    def test_only_the_cases_that_the_filter_matches_are_called(self):
        suite = bench_numpy.Suite()
        clocks = {name: Clock(step=1) for name in ("rand", "randn", "randint")}
        for name, clock in clocks.items():
            suite.add(name, clock.body)
        records = suite.run("^(rand|randint)$", 1e-9)
        self.assertEqual([record["name"] for record in records], ["rand", "randint"])
        self.assertEqual(clocks["randn"].calls, 0)

    def test_its_cases_are_those_of_compare_py(self):
        suite = bench_numpy.Suite()
        bench_numpy.add_cases(suite, mock.MagicMock())
        rows = [row for table in compare.TABLES.values() for row in table]
        sources = [source for row in rows for source in row.sources.values()]
        self.assertEqual(set(suite.cases), {case for program, case in sources if program == "numpy"})

    def test_the_arguments_that_compare_py_gives_are_understood_others_are_refused(self):
        options = bench_numpy.parse_arguments(
            ["--benchmark_format=json", "--benchmark_min_time=0.02", "--benchmark_filter=^(a)$"])
        self.assertEqual((options.benchmark_min_time, options.benchmark_filter), (0.02, "^(a)$"))
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit):
            bench_numpy.parse_arguments(["--benchmark_repetitions=3"])


if __name__ == "__main__":
    unittest.main()
