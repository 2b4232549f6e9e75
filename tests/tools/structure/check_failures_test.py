#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads small headers and cases with check_failures.py, and plants what is forgotten."""

import unittest

import check_failures


def names(text):
    """The public functions of a header with that text."""
    return set(check_failures.public_functions({"tenon/a.h": text}))


def faults(header, cases, not_failing=None, others=None):
    """What is said of a header and a test file."""
    headers = {"tenon/a.h": header}
    return list(check_failures.check(headers, check_failures.public_functions(headers),
                                     check_failures.covered_functions(cases),
                                     not_failing or {}, others or {}))


class Functions(unittest.TestCase):
    def test_free_functions_are_found_in_every_form(self):
        self.assertEqual(names("TENON_BEGIN_NAMESPACE\n"
                               "inline Error fill_(Tensor t) noexcept { if (t) { return x; } }\n"
                               "template <class T = void>\n"
                               "TENON_TEMPLATE_INLINE [[nodiscard]] std::vector<int> split(A a, int n = 0);\n"
                               "Tensor* both(int (*f)(int)) { return {}; }\n"
                               "#define MACRO(name) Error name() {\n"
                               "// Error commented() {\n"
                               'const char* text() { return R"(})"; }\n'
                               "int64_t number() { return 1'000; }\n"
                               "TENON_END_NAMESPACE"),
                         {"fill_", "split", "both", "text", "number"})

    def test_function_objects_are_listed_by_their_names(self):
        self.assertEqual(names("template <class Out>\n"
                               "struct Eye { Out operator()(int n) const { return n; } };\n"
                               'inline constexpr Eye<int> eye{"eye"};\n'
                               'inline constexpr detail::From<int> from{"from"};\n'
                               "inline constexpr Version kVersion{1, 3};\n"
                               'TENON_CREATOR(zeros, Creator, detail::Zeros);\n'
                               "TENON_VIEW(flip, (int t), flip(t))\n"
                               "void after();"),
                         {"eye", "from", "zeros", "try_zeros", "flip", "try_flip", "after"})


class Cases(unittest.TestCase):
    def test_calls_in_a_case_are_covered_and_others_are_not(self):
        self.assertEqual(check_failures.covered_functions(
            "x = made(); FAIL_EACH(zeros({2}, gpu.device()));\n"
            'fail_each("what Is::this", f, [&](auto& g) { return tenon::rand(make<int>(g)); });'),
            {"zeros", "rand", "make", "Is::this"})


class Check(unittest.TestCase):
    def test_a_function_without_a_case_is_a_fault(self):
        self.assertEqual(faults("void a(); void b();", "FAIL_EACH(a());"), [
            "tenon/a.h: b has no case in tests/stress/allocation: let what it calls fail in a FAIL_EACH, "
            "or list it in NOT_FAILING and say why nothing in it can"])

    def test_a_try_form_has_a_case_without_exceptions_too(self):
        functions = {name: "tenon/a.h" for name in ("try_a", "try_b", "try_c", "d")}
        faults_of = check_failures.check_tries(functions, {"try_a"}, {"try_b", "try_e"}, {})
        self.assertEqual(list(faults_of),
                         ["there is no try_e, which NEEDING_EXCEPTIONS lists",
                          "tenon/a.h: try_c has no case in tests/builds/no_exceptions/failures.cpp"])


if __name__ == "__main__":
    unittest.main()
