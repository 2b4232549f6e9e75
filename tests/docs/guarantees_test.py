#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plants faults in a page and its tests and expects guarantees.py to name them."""

import unittest

import guarantees

MARK = "A promise of docs/guarantees.md."
PAGE = '''# Title

## Part

- It works.
  - `tests/a_test.cpp`: "a: works"
- It stays,
  whatever happens.
  - `tests/a_test.cpp`: "a: stays"
  - `tests/CMakeLists.txt`: "a/long"
'''
TESTS = {
    "tests/a_test.cpp": f'''// {MARK}
TEST_CASE("a: works") {{}}
TEST_CASE("a: other") {{}}
// {MARK}
TEST_CASE(
    "a: "
    "stays") {{}}
''',
    "tests/CMakeLists.txt": f"if(X)\n  # {MARK}\n  add_test(NAME a/long COMMAND a)\nendif()\n",
}


def faults(page=PAGE, **changes):
    tests = dict(TESTS)
    for name, text in changes.items():
        tests["tests/" + name + "_test.cpp"] = text
    return list(guarantees.faults(page, tests))


class Guarantees(unittest.TestCase):
    def test_what_names_each_other_passes(self):
        self.assertEqual(faults(), [])

    def test_a_test_that_was_removed_is_missed(self):
        text = TESTS["tests/a_test.cpp"].replace(f'// {MARK}\nTEST_CASE("a: works") {{}}\n', "")
        self.assertEqual(faults(a=text), [
            'docs/guarantees.md: `tests/a_test.cpp`: "a: works": no marked test of that name'])

    def test_a_test_that_was_renamed_is_a_fault_on_both_sides(self):
        self.assertEqual(len(faults(a=TESTS["tests/a_test.cpp"].replace("a: works", "a: runs"))), 2)

    def test_a_mark_that_was_left_behind_is_a_fault(self):
        text = TESTS["tests/a_test.cpp"].replace('TEST_CASE("a: works") {}\n', "\n")
        self.assertIn("tests/a_test.cpp:1: no test follows the mark", faults(a=text))

    def test_a_mark_that_was_removed_is_missed(self):
        self.assertEqual(len(faults(a=TESTS["tests/a_test.cpp"].replace(f"// {MARK}\n", "", 1))), 1)

    def test_a_promise_that_was_removed_leaves_its_tests_unlisted(self):
        page = PAGE.replace('- It works.\n  - `tests/a_test.cpp`: "a: works"\n', "")
        self.assertEqual(faults(page),
                         ['tests/a_test.cpp:1: docs/guarantees.md does not list "a: works"'])

    def test_a_promise_that_nothing_holds_is_a_fault(self):
        self.assertEqual(faults(PAGE + "- It flies.\n"),
                         ['docs/guarantees.md: nothing holds "It flies."'])
        self.assertEqual(len(faults(PAGE.replace("- It stays", "- It flies.\n- It stays"))), 1)

    def test_a_promise_made_twice_and_a_test_listed_twice_are_faults(self):
        self.assertIn("promised twice", faults(PAGE + "- It works.\n  - `tests/a_test.cpp`: \"a: stays\"\n")[0])
        self.assertIn("listed twice", faults(PAGE + '  - `tests/CMakeLists.txt`: "a/long"\n')[0])

    def test_other_forms_of_a_holder_are_faults(self):
        self.assertIn("not `tests/FILE`", faults(PAGE + "  - tests/a_test.cpp: a: works\n")[0])
        self.assertIn("without a promise", faults(PAGE + '## More\n  - `tests/a_test.cpp`: "a: works"\n')[0])

    def test_an_empty_page_is_a_fault(self):
        self.assertEqual(list(guarantees.faults("# Title\n", {})),
                         ["docs/guarantees.md: promises nothing"])

    def test_each_form_of_a_test_has_its_name(self):
        for text, name in [('TEST_CASE("a, b") {', "a, b"), ('TEST_CASE("a",\n          "[x]") {', "a"),
                           ('TEMPLATE_TEST_CASE("a: t", "", int)', "a: t"),
                           ("    def test_it(self):", "test_it"), ("static void check_it() {", "check_it"),
                           ("int main() {", "main"), ("add_test(\n  NAME a.b COMMAND c)", "a.b"),
                           ("tenon_add_odr_program(mix a.cpp)", "mix"), ("#if defined(bad)", "bad"),
                           ("class A:", None), ("", None)]:
            self.assertEqual(guarantees.test_at(text), name)


if __name__ == "__main__":
    unittest.main()
