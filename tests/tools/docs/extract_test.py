#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of extract.py."""

import unittest

import extract


def translate(text):
    return extract.translate(text, "A.md", "/x/A.md")


class Extract(unittest.TestCase):
    def test_each_block_becomes_a_function_with_the_lines_of_the_document(self):
        text = translate("# Title\n\n```cpp\nint x = 1;\n```\ntext\n```cpp\nint y = 2;\n```\n")
        self.assertEqual(list(text), ["blocks.cpp"])
        for part in ('static void block_4() {\n#line 4 "/x/A.md"\nint x = 1;\n}',
                     'static void block_8() {\n#line 8 "/x/A.md"\nint y = 2;\n}',
                     'std::puts(where = "A.md:4");\n    block_4();'):
            self.assertIn(part, text["blocks.cpp"])

    def test_a_block_with_main_is_a_file_of_its_own(self):
        text = translate("```cpp\n#include <x>\nint main() {\n}\n```\n")
        self.assertEqual(text, {"program_2.cpp": extract.LICENCE + '\n#undef NDEBUG\n'
                                             '#line 2 "/x/A.md"\n#include <x>\n'
                                             "int main() {\n}\n"})

    def test_an_output_belongs_to_the_program_above_it(self):
        text = translate("```cpp\nint main() {}\n```\nprints\n\n```output\n a\nb\n```\n")
        self.assertEqual(text["program_2.txt"], " a\nb\n")
        for other in ("", "```cpp\nint x;\n```\n", "```cpp\nint main() {}\n```\n```output\n```\n"):
            with self.assertRaisesRegex(extract.Fault, r"^A\.md:\d+: there is no program above"):
                translate(other + "```output\na\n```\n")

    def test_a_name_that_only_contains_main_is_no_program(self):
        self.assertEqual(list(translate("```cpp\nint remain(int x);\n```\n")), ["blocks.cpp"])

    def test_includes_move_in_front_and_keep_their_line(self):
        text = translate("```cpp\nint x;\n#include <y>\nint z;\n```\n")["blocks.cpp"]
        self.assertIn('#line 3 "/x/A.md"\n#include <y>\n', text)
        self.assertLess(text.index("#include <y>"), text.index("static void block_2"))
        self.assertIn('#line 2 "/x/A.md"\nint x;\n\nint z;\n', text)

    def test_comments_steer_the_next_block_only(self):
        text = translate("<!-- not compiled: a sketch -->\n\n```cpp\nbad\n```\n"
                         "```cpp\nint x;\n```\n"
                         "<!-- continues -->\n```cpp\nx = 1;\n```\n"
                         "<!-- namespace scope -->\n```cpp\nint f();\n```\n"
                         "```cpp\nf();\n```\n")["blocks.cpp"]
        self.assertNotIn("bad", text)
        self.assertIn('int x;\n#line 11 "/x/A.md"\nx = 1;\n}', text)
        self.assertIn('}\n#line 15 "/x/A.md"\nint f();\nstatic void block_18()', text)

    def test_a_block_of_plain_mode_is_left_out_in_aten_mode(self):
        text = translate("<!-- plain mode -->\n```cpp\nx();\n```\n```cpp\ny();\n```\n")["blocks.cpp"]
        self.assertIn('{\n#if !TENON_ATEN_MODE\n#line 3 "/x/A.md"\nx();\n#endif\n}', text)
        self.assertIn('{\n#line 6 "/x/A.md"\ny();\n}', text)

    def test_a_comment_far_above_does_not_count(self):
        self.assertIn("int x;", translate("<!-- not compiled: no -->\ntext\n```cpp\nint x;\n```\n")
                      ["blocks.cpp"])

    def test_other_languages_are_left_out(self):
        self.assertEqual(translate("```sh\nls\n```\n```\n```\n~~~python\n```cpp\n~~~\n"), {})

    def test_a_python_module_is_a_source_of_its_own_by_its_name(self):
        text = translate("<!-- Python module: example -->\n```cpp\n#include <a>\nint a;\n```\n")
        self.assertEqual(set(text), {"module_example.cpp"})
        self.assertTrue(text["module_example.cpp"].endswith("#include <a>\nint a;\n"))

    def test_programs_of_libtorch_and_of_aten_mode_have_names_of_their_own(self):
        program = "```cpp\nint main() {}\n```\n"
        text = translate("<!-- libtorch -->\n" + program + "<!-- ATen mode -->\n" + program)
        self.assertEqual(set(text), {"libtorch_3.cpp", "aten_7.cpp"})
        with self.assertRaisesRegex(extract.Fault, "only a program"):
            translate("<!-- ATen mode -->\n```cpp\nint x;\n```\n")

    def test_programs_written_for_executorch_have_names_of_their_own(self):
        program = "```cpp\nint main() {}\n```\n"
        text = translate("<!-- compat -->\n" + program + "<!-- compat, executorch -->\n" + program)
        self.assertEqual(set(text), {"compat_3.cpp", "compat_executorch_7.cpp"})

    def test_cuda_is_a_file_of_its_own(self):
        text = translate("```cuda\n#include <x>\n__global__ void f();\n```\n```cpp\nint x;\n```\n")
        self.assertEqual(text.pop("cuda_2.cu"), extract.LICENCE + '\n#line 2 "/x/A.md"\n#include <x>\n'
                                             "__global__ void f();\n")
        self.assertEqual(list(text), ["blocks.cpp"])

    def test_an_indented_block_loses_its_indentation(self):
        self.assertIn("\nint x;\n  int y;\n",
                      translate("- item\n  ```cpp\n  int x;\n    int y;\n  ```\n")["blocks.cpp"])

    def test_faults_name_the_line(self):
        for text in ("```cpp\nint x;\n", "<!-- not compiled -->\n```cpp\n```\n",
                     "<!-- continues -->\n```cpp\n```\n"):
            with self.assertRaisesRegex(extract.Fault, r"^A\.md:\d"):
                translate(text)


if __name__ == "__main__":
    unittest.main()
