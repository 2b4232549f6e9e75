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

    def test_what_is_internal_or_cannot_fail_is_not(self):
        self.assertEqual(names("namespace detail { int inner() { return 0; } }\n"
                               "constexpr int size() { return 0; }\n"
                               "class A {\n"
                               "  void hidden();\n"
                               " public:\n"
                               "  A() = default;\n"
                               "  A(const A&) = delete;\n"
                               "  virtual void pure() = 0;\n"
                               "  constexpr int get() const { return x_; }\n"
                               "  Error (*pointer)(int);\n"
                               "  struct Inner { void deep() {} };\n"
                               " private:\n"
                               "  void also_hidden() {}\n"
                               "  int x_{0};\n"
                               "};\n"
                               "enum class E { f, g };\n"
                               "using F = int(int);\n"
                               "void A::hidden() {}\n"
                               "inline A::~A() {}\n"
                               "void after();"), {"A::Inner::deep", "after"})

    def test_members_constructors_and_operators_are(self):
        self.assertEqual(names("class TENON_EXPORT A final : public B<int> {\n"
                               " public:\n"
                               "  explicit A(int x) : B{x}, x_(x) {}\n"
                               "  ~A();\n"
                               "  A& operator=(A&& other) noexcept { return *this; }\n"
                               "  int operator[](int i) const { return i; }\n"
                               "  void operator()() const {}\n"
                               "  explicit operator bool() const { return true; }\n"
                               "  friend bool operator==(A a, A b) { return true; }\n"
                               "};"),
                         {"A::A", "A::~A", "A::operator=", "A::operator[]", "A::operator()",
                          "A::operator_bool", "A::operator=="})

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

    def test_an_unknown_macro_is_refused(self):
        with self.assertRaisesRegex(ValueError, "TENON_NEW"):
            names("TENON_NEW(name, Form);")


class Cases(unittest.TestCase):
    def test_calls_in_a_case_are_covered_and_others_are_not(self):
        self.assertEqual(check_failures.covered_functions(
            "x = made(); FAIL_EACH(zeros({2}, gpu.device()));\n"
            'fail_each("what Is::this", f, [&](auto& g) { return tenon::rand(make<int>(g)); });'),
            {"zeros", "rand", "make", "Is::this"})

    def test_a_case_that_is_not_compiled_covers_nothing(self):
        for after in ["#endif", "#else"]:
            self.assertEqual(check_failures.covered_functions(
                f"#if 0\nFAIL_EACH(zeros({{2}}));\n{after}\nFAIL_EACH(ones({{2}}));\n"), {"ones"})

    def test_members_are_covered_by_name(self):
        self.assertEqual(check_failures.covered_functions(
            'FAIL_EACH_OF("Module::run, Text::operator=, Backend::~Backend: and more", m.run());'),
            {"Module::run", "Text::operator=", "Backend::~Backend"})


class Check(unittest.TestCase):
    def test_a_function_without_a_case_is_a_fault(self):
        self.assertEqual(faults("void a(); void b();", "FAIL_EACH(a());"), [
            "tenon/a.h: b has no case in tests/stress/allocation: let what it calls fail in a FAIL_EACH, "
            "or list it in NOT_FAILING and say why nothing in it can"])

    def test_what_is_listed_is_none(self):
        self.assertEqual(faults("void a(); void b();", "FAIL_EACH(a());", {"reads": "b"}), [])
        self.assertEqual(faults("void a(); void b();", "", {}, {"tenon/a": "others"}), [])

    def test_what_is_listed_in_vain_is_a_fault(self):
        self.assertEqual(faults("void a();", "FAIL_EACH(a());", {"reads": "a gone"},
                                {"tenon/gone": "no more"}),
                         ["there is no tenon/gone, which OTHER_HEADERS lists",
                          "a has a case, and is listed in NOT_FAILING",
                          "there is no gone, which NOT_FAILING lists"])

    def test_a_try_form_has_a_case_without_exceptions_too(self):
        functions = {name: "tenon/a.h" for name in ("try_a", "try_b", "try_c", "d")}
        faults_of = check_failures.check_tries(functions, {"try_a"}, {"try_b", "try_e"}, {})
        self.assertEqual(list(faults_of),
                         ["there is no try_e, which NEEDING_EXCEPTIONS lists",
                          "tenon/a.h: try_c has no case in tests/builds/no_exceptions/failures.cpp"])


if __name__ == "__main__":
    unittest.main()
