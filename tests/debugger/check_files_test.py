#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of check_files.py."""

import unittest

import check_files

HEADERS = """
#define TENON_VERSION_MAJOR 3
class Thing {
  int64_t size_ = 0;
  const Ops* ops_;
};
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
ALTERNATIVE = '<AlternativeType Name="tenon::v3_plain_noexcept::Thing"/>'
SCRIPT = "DEVICES = {1: 'cpu', 2: 'cuda'}\nC_TYPES = {'Float': 4}\nCOMPLEX = {'ComplexFloat': 8}\n"


def natvis(body, name="tenon::v3_plain::Thing"):
    text = (f'<AutoVisualizer xmlns="{check_files.XMLNS[1:-1]}"><Type Name="{name}">{body}</Type>'
            "</AutoVisualizer>")
    return list(check_files.check_natvis(text, HEADERS))


class Natvis(unittest.TestCase):
    def test_members_variables_and_words_are_known(self):
        self.assertEqual(natvis(ALTERNATIVE + """
            <DisplayString Condition="ops_ == nullptr">a word {(int)size_,en}, another
            </DisplayString>
            <Expand><CustomListItems><Variable Name="i" InitialValue="size_"/>
            <Exec>i = i + 1</Exec></CustomListItems></Expand>"""), [])

    def test_text_that_is_no_xml_is_a_fault(self):
        self.assertIn("is no XML", natvis("<Item>")[0])

    def test_a_member_that_no_header_declares_is_a_fault(self):
        for body in ("<DisplayString>{length_}</DisplayString>",
                     '<DisplayString Condition="length_ == 0">none</DisplayString>',
                     '<Expand><Item Name="a">length_</Item></Expand>'):
            self.assertIn("member length_", natvis(ALTERNATIVE + body)[0])

    def test_a_type_that_no_header_declares_is_a_fault(self):
        faults = natvis(ALTERNATIVE.replace("Thing", "Other"), "tenon::v3_plain::Other")
        self.assertEqual(len(faults), 1)
        self.assertIn("no such type", faults[0])

    def test_another_version_is_a_fault(self):
        self.assertIn("is not in tenon::v3_plain", natvis("", "tenon::v2_plain::Thing")[0])

    def test_a_type_for_one_namespace_only_is_a_fault(self):
        self.assertIn("is not its one alternative", natvis("")[0])


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
