# SPDX-License-Identifier: MIT
"""What mypy makes of interop/python/tenon.pyi and of what nanobind's stub generator writes."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import mypy  # which is run
import tenon_test_nanobind  # whose stub is made

STUB = pathlib.Path(__file__).parents[4] / "include/tenon/interop/python/tenon.pyi"

RIGHT = """
import array
import tenon_test_nanobind as example
t = example.counted()
u = example.share_pointer(example.try_handle(4))
example.count([t, u, b"abc"]) + example.try_number(4)
example.maybe(None)
example.fill(t[0, ..., None], 2)
example.fill(b"abc", float(t))
example.fill(array.array("f"), int(t))
example.fill(t.__dlpack__(max_version=(1, 0)), 1)
row: int = len(t) + t.ndim + sum(t.shape)
memoryview(t)
for row_of in t:
    row_of.tolist()
if t:
    print((t == 3).all(), t.dtype.name, hash(t))
class Lender:
    def __dlpack__(self, *, stream: int | None = None, copy: bool = False) -> object: ...
    def __array__(self, dtype: object = None) -> object: ...
example.fill(Lender(), 1)
"""
WRONG = ("example.fill([1.0], 2)", "example.fill('text', 2)", "example.fill(None, 2)",
         "example.fill(3, 2)", "t[0] = 1", "t + t", "t.shape = (1,)", "t.anything",
         "example.try_handle(t.device)", "example.counted().anything")


class MypyTest(unittest.TestCase):
    def check(self, program):
        """What mypy says of a program."""
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "program.py").write_text(program, encoding="utf-8")
            run = [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "tenon_test_nanobind", "-O",
                   folder]
            subprocess.run(run, check=True)
            run = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, "program.py",
                   "tenon_test_nanobind.pyi", str(STUB)]
            environment = dict(os.environ, MYPYPATH=f"{STUB.parent}:{folder}")
            return subprocess.run(run, cwd=folder, env=environment, capture_output=True, text=True,
                                  check=False).stdout

    def test_what_is_right_checks(self):
        self.assertRegex(self.check(RIGHT), "^Success")

    def test_what_is_wrong_does_not(self):
        program = "import tenon_test_nanobind as example\nt = example.counted()\n" + "\n".join(WRONG)
        said = self.check(program)
        for line in range(3, 3 + len(WRONG)):
            self.assertRegex(said, rf"program.py:{line}: error", WRONG[line - 3])


if __name__ == "__main__":
    unittest.main()
