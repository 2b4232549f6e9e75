# SPDX-License-Identifier: MIT
"""interop/python/tenon.pyi says what the type has."""

import ast
import pathlib
import unittest

import tenon_test_module as m

STUB = pathlib.Path(__file__).parents[4] / "include/tenon/interop/python/tenon.pyi"
# What the type has from object, or from the way it is made, and the stub need not say.
OBJECT = set(dir(object)) | {"__module__", "__doc__", "_DtypeName"}


class StubTest(unittest.TestCase):
    def test_it_says_what_the_type_has(self):
        tree = ast.parse(STUB.read_text(encoding="utf-8"))
        (body,) = [node.body for node in tree.body
                   if isinstance(node, ast.ClassDef) and node.name == "Tensor"]
        said = {node.name for node in body if isinstance(node, ast.FunctionDef)}
        said |= {node.target.id for node in body if isinstance(node, ast.AnnAssign)}
        tensor = type(m.make((1,)))
        has = set(dir(tensor))
        self.assertEqual(has - said - OBJECT, set())
        # memoryview() has it from Python 3.12 on under this name.
        self.assertEqual(said - has - {"__buffer__"}, set())


if __name__ == "__main__":
    unittest.main()
