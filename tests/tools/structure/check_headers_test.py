#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plants faults in small sets of headers and expects check_headers.py to name them."""

import pathlib
import tempfile
import unittest

import check_headers


def layer_faults(**headers):
    """Faults of headers given as core__dims='"tenon/config.h"', their include directives."""
    texts = {"tenon/config.h": ""}
    for name, includes in headers.items():
        directives = "".join(f"#include {include}\n" for include in includes.split())
        texts["tenon/" + name.replace("__", "/") + ".h"] = directives
    return list(check_headers.check_layers(texts))


class MacroNames(unittest.TestCase):
    def faults(self, text):
        found = check_headers.check_macro_names({"tenon/a.h": text}, "set `TENON_SET`")
        return [fault for fault in found if not fault.startswith("no header")]

    def test_documented_internal_and_local_ones_pass(self):
        self.assertEqual(self.faults("#define TENON_SET 1\n#define TENON_DETAIL_X\n#define TENON_COLD\n"
                                     "#define ROW(x) x\n#undef ROW\n"), [])

    def test_any_other_is_a_fault(self):
        for name in ("TENON_OTHER", "ROW"):
            self.assertEqual(len(self.faults(f"# define {name}(x) x\n")), 1)


class Layers(unittest.TestCase):
    def test_downward_and_sideways_includes_pass(self):
        self.assertEqual(layer_faults(core__a='"tenon/config.h" <vector>',
                                      core__b='"tenon/core/a.h"',
                                      tensor__t='"tenon/core/b.h" "tenon/core/a.h"',
                                      tenon='"tenon/tensor/t.h"',
                                      interop__i='"tenon/tensor/t.h" <Python.h>',
                                      compat__c='"tenon/tenon.h" "tenon/interop/i.h"'), [])

    def test_every_upward_include_is_a_fault(self):
        names = [name[:-2] if name.endswith(".h") else name + "__x"
                 for name in check_headers.LAYERS[1:]]
        for low in range(len(names)):
            for high in range(low + 1, len(names)):
                target = "tenon/" + names[high].replace("__", "/") + ".h"
                faults = layer_faults(**{names[high]: "<vector>", names[low]: f'"{target}"'})
                self.assertEqual(len(faults), 1, (names[low], target))
                self.assertIn(f"must not include {target}", faults[0])

    def test_config_includes_nothing_of_tenon(self):
        self.assertEqual(len(layer_faults(config='"tenon/core/a.h"', core__a="<vector>")), 1)

    def test_an_upward_include_is_found_among_conditions_and_odd_spacing(self):
        texts = {"tenon/core/a.h": '#if X\n  #  include   "tenon/tensor/t.h"  // why\n#endif\n',
                 "tenon/tensor/t.h": ""}
        self.assertIn("tenon/core/a.h:2: core must not include",
                      list(check_headers.check_layers(texts))[0])

    def test_a_comment_is_no_include(self):
        texts = {"tenon/core/a.h": '// #include "tenon/tensor/t.h"\n/*\n#include "x"\n*/\n',
                 "tenon/tensor/t.h": ""}
        self.assertEqual(list(check_headers.check_layers(texts)), [])

    def test_some_folders_of_interop_include_nothing_else_of_it(self):
        files = '"tenon/interop/files/f.h"'
        self.assertEqual(layer_faults(interop__files__f="<vector>", interop__files__g=files, interop__python__p=files,
                                      interop__i=files), [])
        self.assertEqual(layer_faults(interop__files__f="<vector>", interop__libraries__l=files),
                         ["tenon/interop/libraries/l.h:1: tenon/interop/libraries must not include "
                          "tenon/interop/files/f.h"])

    def test_a_declaration_of_a_type_of_interop_below_it_is_a_fault(self):
        texts = {"tenon/tensor/t.h": "struct Hold;\nclass Own;\n// struct Other;\n",
                 "tenon/tensor/u.h": "class Own : Base {\n};\n",
                 "tenon/interop/i.h": "struct Hold {\n};\nstruct Other {};\n",
                 "tenon/interop/j.h": "struct Hold;\n"}
        self.assertEqual(list(check_headers.check_layers(texts)),
                         ["tenon/tensor/t.h:1: Hold is defined in tenon/interop/i.h, above it"])

    def test_cycles_are_faults(self):
        faults = layer_faults(core__a='"tenon/core/b.h"', core__b='"tenon/core/c.h"',
                              core__c='"tenon/core/a.h"')
        self.assertEqual(faults, ["cyclic include: tenon/core/a.h -> tenon/core/b.h -> "
                                  "tenon/core/c.h -> tenon/core/a.h"])

    def test_other_forms_are_faults(self):
        for form in ('"b.h"', '"../core/b.h"', "<tenon/core/b.h>", '"vector"', "HEADER"):
            self.assertEqual(len(layer_faults(core__a=form, core__b="<vector>")), 1, form)

    def test_a_missing_header_and_an_unknown_layer_are_faults(self):
        self.assertIn("there is no", layer_faults(core__a='"tenon/core/gone.h"')[0])
        self.assertIn("no known layer", layer_faults(attic__a="<vector>")[0])


class Tests(unittest.TestCase):
    def test_a_header_without_a_test_is_a_fault(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("core/config_test.cpp", "core/dims_test.cpp", "interop/python_test.py"):
                path = pathlib.Path(folder, "tests", "unit", name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
            headers = ["tenon/config.h", "tenon/tenon.h", "tenon/core/dims.h", "tenon/core/half.h",
                       "tenon/backend/cuda.h", "tenon/backend/cuda/stream.h",
                       "tenon/interop/python.h", "tenon/interop/python/buffer.h"]
            self.assertEqual(list(check_headers.check_tests(headers, folder)),
                             ["tenon/core/half.h: there is no tests/unit/core/half_test.cpp or .py",
                              "tenon/interop/python/buffer.h: there is no "
                              "tests/unit/interop/python/buffer_test.cpp or .py"])


class Form(unittest.TestCase):
    def test_a_proper_header_passes(self):
        text = check_headers.LICENCE + "\n// What it is.\n#pragma once\n\nint x;\n"
        for name in ("a.h", "a.cuh"):
            self.assertEqual(list(check_headers.check_form({"tenon/core/" + name: text})), [])
        self.assertEqual(list(check_headers.check_form({"tenon/core/a.hpp": text})),
                         ["tenon/core/a.hpp: is not named *.h or *.cuh"])

    def test_missing_lines_are_faults(self):
        for text in ("#pragma once\n",
                     check_headers.LICENCE + "\nint x;\n#pragma once\n",
                     check_headers.LICENCE + "\n// #pragma once\n",
                     "\n" + check_headers.LICENCE + "\n#pragma once\n"):
            self.assertEqual(len(list(check_headers.check_form({"tenon/core/a.h": text}))), 1, text)

    def test_names_are_unique_but_for_those_of_aten(self):
        text = check_headers.LICENCE + "\n#pragma once\n"
        headers = {"tenon/aten/a.h": text, "tenon/core/a.h": text, "tenon/interop/executorch.h": text,
                   "tenon/compat/executorch.h": text}
        self.assertEqual(list(check_headers.check_form(headers)), [])
        headers["tenon/tensor/a.h"] = text
        self.assertEqual(list(check_headers.check_form(headers)),
                         ["tenon/tensor/a.h: has the name of tenon/core/a.h"])

    def test_a_forwarding_header_has_three_lines(self):
        name = check_headers.FORWARDING + "executorch/runtime/core/error.h"
        text = check_headers.LICENCE + '\n#pragma once\n#include "tenon/compat/executorch_types.h"\n'
        self.assertEqual(list(check_headers.check_form({"tenon/core/error.h": check_headers.LICENCE + "\n#pragma once\n",
                                                        name: text})), [])
        self.assertEqual(list(check_headers.check_tests({name: text}, "")), [])
        for other in (text + "int x;\n", text.replace("compat", "core"), text.replace("#pragma once\n", "")):
            self.assertEqual(len(list(check_headers.check_form({name: other}))), 1, other)

    def test_long_lines_are_faults(self):
        text = check_headers.LICENCE + "\n#pragma once\n//" + 98 * "x" + "\n//" + 99 * "x" + "\n"
        self.assertEqual(list(check_headers.check_form({"tenon/core/a.h": text})),
                         ["tenon/core/a.h:4: is longer than 100 characters"])

    def test_few_headers_ask_for_the_mode(self):
        text = check_headers.LICENCE + "\n#pragma once\n#if TENON_ATEN_MODE\n#endif\n"
        headers = {"tenon/core/mode.h": text, "tenon/aten/random.h": text, "tenon/interop/aten.h": text}
        self.assertEqual(list(check_headers.check_form(headers)), [])
        self.assertEqual(len(list(check_headers.check_form({"tenon/tensor/copy.h": text}))), 1)


class Statics(unittest.TestCase):
    def faults(self, text, header="tenon/core/a.h"):
        return list(check_headers.check_statics({header: text}))

    def test_exported_ones_functions_and_constants_pass(self):
        self.assertEqual(self.faults("TENON_EXPORT inline int& count() noexcept {\n"
                                     "  static TENON_THREAD_LOCAL int count = 0;\n"
                                     "  return count;\n}\n"
                                     "inline int twice(int x) {\n  static constexpr int kTwo = 2;\n}\n"
                                     "struct S {\n  static int f(int x) noexcept { return x; }\n};\n"
                                     "inline constexpr int kOne = 1;\n"
                                     "// static int x = 0;\n"), [])

    def test_others_are_faults(self):
        for variable in ("static int x = 0;", "static std::atomic<int> x{0};", "inline int x = 0;",
                         "alignas(8) static unsigned char x[8];", "static A* const x = f();",
                         "static thread_local A x;", "static const A x{1};"):
            with self.subTest(variable):
                faults = self.faults("inline int f() {\n}\n" + variable)
                self.assertEqual(len(faults), 1)
                self.assertIn("a.h:3: each shared library has its own x", faults[0])

    def test_a_listed_one_passes_and_has_to_be_there(self):
        header = "tenon/kernels/dispatch.h"
        self.assertEqual(self.faults("  static Isa level = detect_isa();\n", header), [])
        self.assertEqual(self.faults("", header), [f"{header}: there is no level, which DUPLICATES lists"])


class Forward(unittest.TestCase):
    def faults(self, forward, header):
        return list(check_headers.check_forward({"tenon/fwd.h": forward, "tenon/core/a.h": header}))

    def test_what_is_the_same_passes(self):
        self.assertEqual(self.faults(
            "TENON_BEGIN_NAMESPACE enum class E : int; template <class T> class A; struct S; TENON_END_NAMESPACE",
            "namespace detail { struct Inner {}; } enum class [[nodiscard]] E : int { a = 0 }; class Other;"
            "template <class T> class TENON_EXPORT A final : public Inner { struct Part {}; };"
            "int f(int i = 0) { return i; } template <class T, int = 0> T g() { return T(); } template <> struct A<int> {}; struct S { int i = f(); };"), [])

    def test_what_differs_is_a_fault(self):
        self.assertEqual(self.faults("class S; enum class Gone;", "struct S {};"), [
            "tenon/core/a.h: fwd.h does not declare struct S", "tenon/fwd.h: there is no class S",
            "tenon/fwd.h: there is no enum Gone"])


if __name__ == "__main__":
    unittest.main()
