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

    def test_any_other_is_a_fault(self):
        for name in ("TENON_OTHER", "ROW"):
            self.assertEqual(len(self.faults(f"# define {name}(x) x\n")), 1)


class Layers(unittest.TestCase):
    def test_every_upward_include_is_a_fault(self):
        names = [name[:-2] if name.endswith(".h") else name + "__x"
                 for name in check_headers.LAYERS[1:]]
        for low in range(len(names)):
            for high in range(low + 1, len(names)):
                target = "tenon/" + names[high].replace("__", "/") + ".h"
                faults = layer_faults(**{names[high]: "<vector>", names[low]: f'"{target}"'})
                self.assertEqual(len(faults), 1, (names[low], target))
                self.assertIn(f"must not include {target}", faults[0])

    def test_cycles_are_faults(self):
        faults = layer_faults(core__a='"tenon/core/b.h"', core__b='"tenon/core/c.h"',
                              core__c='"tenon/core/a.h"')
        self.assertEqual(faults, ["cyclic include: tenon/core/a.h -> tenon/core/b.h -> "
                                  "tenon/core/c.h -> tenon/core/a.h"])

    def test_other_forms_are_faults(self):
        for form in ('"b.h"', '"../core/b.h"', "<tenon/core/b.h>", '"vector"', "HEADER"):
            self.assertEqual(len(layer_faults(core__a=form, core__b="<vector>")), 1, form)


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
    def test_missing_lines_are_faults(self):
        for text in ("#pragma once\n",
                     check_headers.LICENCE + "\nint x;\n#pragma once\n",
                     check_headers.LICENCE + "\n// #pragma once\n",
                     "\n" + check_headers.LICENCE + "\n#pragma once\n"):
            self.assertEqual(len(list(check_headers.check_form({"tenon/core/a.h": text}))), 1, text)

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

    def test_others_are_faults(self):
        for variable in ("static int x = 0;", "static std::atomic<int> x{0};", "inline int x = 0;",
                         "alignas(8) static unsigned char x[8];", "static A* const x = f();",
                         "static thread_local A x;", "static const A x{1};"):
            with self.subTest(variable):
                faults = self.faults("inline int f() {\n}\n" + variable)
                self.assertEqual(len(faults), 1)
                self.assertIn("a.h:3: each shared library has its own x", faults[0])


class Forward(unittest.TestCase):
    def faults(self, forward, header):
        return list(check_headers.check_forward({"tenon/fwd.h": forward, "tenon/core/a.h": header}))

    def test_what_differs_is_a_fault(self):
        self.assertEqual(self.faults("class S; enum class Gone;", "struct S {};"), [
            "tenon/core/a.h: fwd.h does not declare struct S", "tenon/fwd.h: there is no class S",
            "tenon/fwd.h: there is no enum Gone"])


if __name__ == "__main__":
    unittest.main()
