#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plants faults in small headers and lists, and expects check_tries.py to name them."""

import unittest

import check_tries

HEADERS = {"tenon/core/a.h": "TENON_BEGIN_NAMESPACE\nnamespace detail {\nint inner();\n}  // namespace detail\n"
                             "int read(int t);\nResult<int> try_read(int t) noexcept;\n"
                             "template <class T>\nT ask(int t);\n"
                             "int quiet() noexcept;\nconstexpr int two() { return 2; }\nError act(int t);\n"
                             "inline constexpr detail::Maker<int> make{\"make\"};\n"
                             "class Value {\n public:\n  Value(int v);\n  ~Value();\n  int get() const;\n"
                             "  int toInt() const;\n  Result<int> tryToInt() const;\n"
                             "  explicit operator Error() const;\n private:\n  int hidden();\n};\n"
                             "TENON_END_NAMESPACE\n",
           "tenon/compat/b.h": "int renamed();\n"}
DOCUMENT = ("Text.\n\n## What has no try_ form\n\n- `ask`: it cannot, `gone` is no name\n- `Value`,\n  `Value::get`: members\n\n"
            "`more`\n\n## Next\n\n- `most`: no name\n")


class Tries(unittest.TestCase):
    def faults(self, headers=None, document=DOCUMENT):
        return list(check_tries.check(headers or HEADERS, document))

    def test_complete_ones_pass(self):
        self.assertEqual(self.faults(), [])

    def test_a_function_without_a_form_and_an_entry_is_a_fault(self):
        document = DOCUMENT.replace("- `ask`: it cannot, `gone` is no name\n", "")
        self.assertEqual(self.faults(document=document),
                         ["tenon/core/a.h: ask can raise, and has neither a try_ form nor an entry in docs/errors.md"])
        header = {**HEADERS, "tenon/core/c.h": "template <class = void>\nPlan plan(int a, int b = f(1)) {\n}\n"}
        self.assertEqual(self.faults(header),
                         ["tenon/core/c.h: plan can raise, and has neither a try_ form nor an entry in docs/errors.md"])

    def test_members_are_looked_at_one_by_one(self):
        document = DOCUMENT.replace("`Value`,\n  ", "")
        self.assertEqual(self.faults(document=document), [])
        self.assertEqual(self.faults(document=document.replace("`Value::get`", "members")),
                         ["tenon/core/a.h: Value::get can raise, and has neither a try_ form nor an entry in docs/errors.md"])

    def test_an_entry_without_need_is_a_fault(self):
        self.assertEqual(self.faults(document=DOCUMENT.replace("`ask`", "`ask`, `gone`, `quiet`")),
                         ["docs/errors.md: gone is not the name of what can raise",
                          "docs/errors.md: quiet is not the name of what can raise"])
        self.assertEqual(self.faults(document=DOCUMENT.replace("`ask`", "`ask`, `read`")),
                         ["docs/errors.md: read has a try_ form"])

    def test_a_document_without_the_list_is_a_fault(self):
        self.assertEqual(self.faults(document="Text.\n"), ['docs/errors.md has no list under "## What has no try_ form"'])


if __name__ == "__main__":
    unittest.main()
