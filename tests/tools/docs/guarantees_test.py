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
    "tests/CMakeLists.txt": f"add(*_test.cpp)\nif(X)\n  # {MARK}\n  add_test(NAME a/long COMMAND a)\nendif()\n",
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

    def test_a_mark_that_was_left_behind_is_a_fault(self):
        text = TESTS["tests/a_test.cpp"].replace('TEST_CASE("a: works") {}\n', "\n")
        self.assertIn("tests/a_test.cpp:1: no test follows the mark", faults(a=text))

    def test_a_mark_that_was_removed_is_missed(self):
        self.assertEqual(len(faults(a=TESTS["tests/a_test.cpp"].replace(f"// {MARK}\n", "", 1))), 1)

    def test_a_test_that_is_taken_out_of_the_code_is_missed(self):
        text = TESTS["tests/a_test.cpp"]
        missing = ['docs/guarantees.md: `tests/a_test.cpp`: "a: works": no marked test of that name']
        for before, after in [("#if 0\n", "#endif\n"), ("  # if 0  // later\n", "#else\n"), ("/*\n", "*/\n")]:
            works, rest = text.split("TEST_CASE(\"a: other\"")
            self.assertEqual(faults(a=before + works + after + "TEST_CASE(\"a: other\"" + rest), missing)
        self.assertIn("tests/a_test.cpp:1: no test follows the mark",
                      faults(a=text.replace('TEST_CASE("a: works"', '// TEST_CASE("a: works"')))

    def test_a_test_that_does_not_run_by_itself_is_a_fault(self):
        text = TESTS["tests/a_test.cpp"]
        for tag in ["[.]", "[.slow]", "[!mayfail]", "[x][!shouldfail]", "[!hide]"]:
            self.assertEqual(faults(a=text.replace('"a: works"', f'"a: works", "{tag}"')),
                             ['tests/a_test.cpp:1: "a: works" is left out of what runs'])
        self.assertEqual(faults(a=text.replace('"a: works"', '"a: works", "[x]"')), [])
        self.assertTrue(guarantees.is_left_out(f"@unittest.skip('')\n# {MARK}\ndef test_it(self):", 2))
        self.assertFalse(guarantees.is_left_out(f"# {MARK}\ndef test_it(self):", 1))

    def test_a_file_that_is_not_built_is_a_fault(self):
        lists = {"tests/CMakeLists.txt": "foreach(folder a b/c e)\n*_test.cpp", "tests/e/CMakeLists.txt": "main.cpp d",
                 "tests/f/CMakeLists.txt": "*_test.cpp", "tests/b/c/CMakeLists.txt": "../c_*_test.cpp"}
        for path, built in [("a/x_test.cpp", True), ("b/c/x_test.cpp", True), ("x_test.cpp", True),
                            ("e/main.cpp", True), ("e/d.cpp", True), ("e/CMakeLists.txt", True),
                            ("c/x_test.cpp", False), ("a/x.cpp", False), ("e/maine.cpp", False),
                            ("b/c_x_test.cpp", True), ("b/d_x_test.cpp", False), ("c/c_x_test.cpp", False),
                            ("f/x_test.cpp", False), ("f/CMakeLists.txt", False)]:
            self.assertEqual(guarantees.is_built("tests/" + path, lists), built, path)

    def test_a_promise_that_was_removed_leaves_its_tests_unlisted(self):
        page = PAGE.replace('- It works.\n  - `tests/a_test.cpp`: "a: works"\n', "")
        self.assertEqual(faults(page),
                         ['tests/a_test.cpp:1: docs/guarantees.md does not list "a: works"'])

    def test_a_promise_that_nothing_holds_is_a_fault(self):
        self.assertEqual(faults(PAGE + "- It flies.\n"),
                         ['docs/guarantees.md: nothing holds "It flies."'])
        self.assertEqual(len(faults(PAGE.replace("- It stays", "- It flies.\n- It stays"))), 1)


if __name__ == "__main__":
    unittest.main()
