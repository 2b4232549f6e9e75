#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plants faults in two pages and expects figures.py to name them."""

import unittest

import figures

REPORT = """Of 20 cases of more than 250 ns 3 take more than 1.2 of the best other's time.

| kind | largest | each type's largest |
|---|---:|---|
| rows, copies | 2.3 | Byte 2.3 (loop) |
| rows, casts | 2.0 | Byte to Float 2.0 (loop) |
| turned | 1.3 | Byte 1.3 (loop) |
"""
PAGE = """Of 20 cases of more than 250 ns 3
take more than 1.2 of the best other's time.

| slow kinds | largest | why |
|---|---:|---|
| rows, copies; rows, casts | 2.3 | they are |
"""
BENCHMARKS = """
| case | tenon | allocs | ATen | allocs | ratio |
| --- | ---: | ---: | ---: | ---: | ---: |
| clone 2x3 | 50 ns | 2 | 600 ns | 3 | 0.08 |
| share | 20 ns | 1 | 14 ns | 1 | 1.43 |
"""
README = """
| case | tenon | other |
|---|---:|---:|
| clone 2x3 | 50 ns | 600 ns, ATen |
| share | 20 ns | **14 ns**, ATen |
"""


class Figures(unittest.TestCase):
    def faults(self, page=PAGE, report=REPORT):
        return list(figures.faults(page, report))

    def test_pages_that_agree_have_none(self):
        self.assertEqual(self.faults(), [])

    def test_another_figure_is_named(self):
        self.assertEqual(self.faults(report=REPORT.replace("copies | 2.3", "copies | 2.4")),
                         ["rows, copies; rows, casts: 2.3, in the report 2.4"])

    def test_a_slow_kind_that_the_page_leaves_out_is_named(self):
        self.assertEqual(self.faults(page=PAGE.replace("; rows, casts", "")),
                         ["rows, casts: 2.0 in the report, not on the page"])

    def test_a_kind_that_is_no_longer_slow_is_named(self):
        self.assertEqual(self.faults(page=PAGE.replace("rows, casts", "rows, casts; crops")),
                         ["crops: not a slow kind of the report"])

    def test_a_kind_on_two_rows_is_named(self):
        self.assertEqual(self.faults(page=PAGE + "| rows, copies | 2.3 | twice |\n"), ["rows, copies: named twice"])

    def test_another_count_is_named(self):
        self.assertEqual(self.faults(report=REPORT.replace("250 ns 3 take", "250 ns 4 take")),
                         ["the page does not say: Of 20 cases of more than 250 ns 4 take more than 1.2"])

    def test_the_readme_may_have_some_of_the_report(self):
        self.assertEqual(list(figures.readme_faults(README, BENCHMARKS)), [])

    def test_the_readme_has_no_other_figures(self):
        for old, new, fault in (("| 50 ns", "| 51 ns", "clone 2x3: 51 ns and 600 ns, ATen, in the report 50 ns and 600 ns"),
                                ("**14 ns**", "13 ns", "share: 20 ns and 13 ns, ATen, in the report 20 ns and 14 ns"),
                                ("14 ns**, ATen", "14 ns**, Eigen", "share: 20 ns and **14 ns**, Eigen, in the report 20 ns and None"),
                                ("| share", "| view", "view: 20 ns and **14 ns**, ATen, in the report None and None"),
                                ("| case", "| row", "there is no table of cases")):
            self.assertEqual(list(figures.readme_faults(README.replace(old, new), BENCHMARKS)), [fault])


if __name__ == "__main__":
    unittest.main()
