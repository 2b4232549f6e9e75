#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plants faults in small headers, tables and tests, and expects check_threads.py to name them."""

import unittest

import check_threads

HEADERS = {"tenon/core/a.h": "TENON_BEGIN_NAMESPACE\nnamespace detail {\nclass Inner {\n};\n"
                             "}  // namespace detail\n\n"
                             "/// What it is.\n/// Threads: any.\ntemplate <class T>\n"
                             "class TENON_EXPORT Shared final : public Base {\n};\n"
                             "struct Value {\n};\nclass Later;\n"
                             "template <>\nclass Shared<int> {\n};\n",
           "tenon/compat/b.h": "class Renamed {\n};\n"}
DOCUMENT = ("- **`Shared`,\n  `T`**: any threads\n"
            "- **every other type**: a plain value\n\n"
            "- `Other`: any\n\n"
            "- **the end** is nobody's\n")
PLAIN_VALUES = {"Value"}
TESTED = {"Shared", "T", "Value", "the end"}


class Threads(unittest.TestCase):
    def faults(self, headers=None, document=DOCUMENT, tested=None):
        return list(check_threads.check(headers or HEADERS, document, tested or TESTED, PLAIN_VALUES))

    def test_complete_ones_pass(self):
        self.assertEqual(self.faults(), [])

    def test_a_class_without_an_entry_or_in_two_is_a_fault(self):
        header = {**HEADERS, "tenon/core/c.h": "/// Threads: any.\nclass New {\n};\n"}
        self.assertEqual(self.faults(header),
                         ["tenon/core/c.h:2: New is in 0 entries of docs/threads.md, not in one"])
        twice = DOCUMENT + "- **`Value`**: a plain value\n"
        self.assertEqual(self.faults(document=twice),
                         ["tenon/core/a.h:12: Value is in 2 entries of docs/threads.md, not in one"])

    def test_a_class_without_a_line_is_a_fault(self):
        header = {**HEADERS, "tenon/core/a.h":
                  HEADERS["tenon/core/a.h"].replace("/// Threads: any.\n", "// Threads: any.\n")}
        self.assertEqual(self.faults(header),
                         ['tenon/core/a.h:10: the comment of Shared has no line "Threads: ..."'])

    def test_a_class_with_a_rule_of_its_own_is_not_a_plain_value(self):
        for said, count in [("as a plain value.", 0), ("one at a time.", 1)]:
            header = {**HEADERS, "tenon/core/a.h":
                      HEADERS["tenon/core/a.h"].replace("struct Value", f"/// Threads: {said}\nstruct Value")}
            self.assertEqual(len(self.faults(header)), count, said)

    def test_without_the_entry_for_others_each_plain_value_is_missing(self):
        self.assertIn("tenon/core/a.h:12: Value is in 0 entries of docs/threads.md, not in one",
                      self.faults(document=DOCUMENT.replace("every other type", "others")))

    def test_a_plain_value_that_is_gone_is_a_fault(self):
        header = {**HEADERS, "tenon/core/a.h": HEADERS["tenon/core/a.h"].replace("struct Value {\n};\n", "")}
        self.assertEqual(self.faults(header), ["docs/threads.md: there is no Value"])

    def test_classes_of_other_forms_and_behind_declarations_are_seen(self):
        for form in ["namespace detail {\nstruct CreateOptions;\n}\n\nstruct New {\n};\n", "class New\n    : public Base {\n};\n",
                     "template <class T> class New {\n};\n", "struct alignas(8) New {\n};\n",
                     "class TENON_DEPRECATED(\"it\") New : Base {\n};\n"]:
            self.assertEqual(len(self.faults({**HEADERS, "tenon/core/c.h": form})), 1, form)

    def test_of_two_classes_of_a_name_each_has_a_line(self):
        for header in ["tenon/core/0.h", "tenon/core/c.h"]:
            self.assertEqual(self.faults({**HEADERS, header: "class Shared {\n};\n"}),
                             [header + ':1: the comment of Shared has no line "Threads: ..."'])

    def test_what_does_not_run_has_no_tags(self):
        case = 'TEST_CASE("a: b", "[threads][Shared]") {}\n'
        self.assertEqual(check_threads.tags(case), {"Shared"})
        for text in ["// " + case, "/*\n" + case + "*/\n", "#if 0\n" + case + "#endif\n"]:
            self.assertEqual(check_threads.tags(text), set())
        self.assertEqual(check_threads.tags("// [threads][Shared]\nvoid f() {}\n"), {"Shared"})

    def test_a_line_may_say_two_things(self):
        header = {**HEADERS, "tenon/core/a.h":
                  HEADERS["tenon/core/a.h"].replace("Threads: any.", "Errors, threads: as Base's.")}
        self.assertEqual(self.faults(header), [])

    def test_an_entry_without_a_test_is_a_fault(self):
        self.assertEqual(self.faults(tested={"T", "Value", "the end"}),
                         ["docs/threads.md: no test is tagged [threads][Shared]"])
        self.assertEqual(self.faults(tested={"Shared", "T", "the end"}),
                         ["docs/threads.md: no test is tagged [threads][Value] or another of its entry"])
        self.assertEqual(self.faults(tested={"Shared", "T", "Value"}),
                         ["docs/threads.md: no test is tagged [threads][the end]"])

    def test_names_that_are_gone_are_faults(self):
        self.assertEqual(self.faults(document=DOCUMENT + "- **`Gone`**: any\n", tested=TESTED | {"Gone"}),
                         ["docs/threads.md: there is no Gone"])
        self.assertEqual(self.faults(tested=TESTED | {"Gone"}),
                         ["tests: [threads][Gone] is no entry of docs/threads.md"])

    def test_tags_are_found_in_cases_and_comments(self):
        self.assertEqual(check_threads.tags('TEST_CASE("a", "[threads][A]"\n    "[b c]") {}\n// [threads][D]\n'
                                            'TEST_CASE("a", "[slow]") {}\n'), {"A", "b c", "D"})


if __name__ == "__main__":
    unittest.main()
