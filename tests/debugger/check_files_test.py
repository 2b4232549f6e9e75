#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of check_files.py."""

import unittest

import check_files

HEADERS = """
#define TENON_FORALL_SCALAR_TYPES(_) \\
  _(float, Float)                    \\
  _(::tenon::complex<float>, ComplexFloat)

enum class DeviceType : int32_t {
  CPU = 1,
  CUDA = 2,
};
case DeviceType::CPU: return "cpu";
case DeviceType::CUDA: return "cuda";
"""
SCRIPT = "DEVICES = {1: 'cpu', 2: 'cuda'}\nC_TYPES = {'Float': 4}\nCOMPLEX = {'ComplexFloat': 8}\n"


class Tables(unittest.TestCase):
    def faults(self, script):
        return list(check_files.check_tables(script, HEADERS))

    def test_what_the_headers_have_is_right(self):
        self.assertEqual(self.faults(SCRIPT), [])

    def test_a_dtype_too_few_or_too_many_is_a_fault(self):
        self.assertIn("Float", self.faults(SCRIPT.replace("'Float'", "'Double'"))[1])
        self.assertEqual(len(self.faults(SCRIPT.replace("'Float'", "'Double'"))), 2)

    def test_a_device_of_another_number_or_name_is_a_fault(self):
        self.assertEqual(len(self.faults(SCRIPT.replace("2:", "3:"))), 1)
        self.assertEqual(len(self.faults(SCRIPT.replace("'cuda'", "'gpu'"))), 1)


if __name__ == "__main__":
    unittest.main()
