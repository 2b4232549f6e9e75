#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests real_files.py with a small checkout.

usage: real_files_test.py COMPILER
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent / "real_files.py"
COMPILER = sys.argv.pop() if len(sys.argv) > 1 else "c++"

TENSOR = "#include <executorch/extension/tensor/tensor_ptr.h>\nextern executorch::extension::TensorPtr a;\n"
FILES = {
    # Of a header that has a forwarding one, and of what else is the runtime's, nothing is found.
    "extension/tensor/tensor_ptr.h": "#error a forwarding header stands for this one\n",
    "runtime/core/hidden.h": "",
    "extension/llm/helper.h": TENSOR + "inline int64_t count(executorch::extension::TensorPtr t) { return t->numel(); }\n",
    "examples/good.cpp": "#include <executorch/extension/llm/helper.h>\n"
                         "int64_t f() { return count(executorch::extension::make_tensor_ptr({1.0f})); }\n",
    "examples/ours.cpp": TENSOR + "executorch::extension::TensorPtr t = executorch::extension::not_there();\n",
    "examples/hidden.cpp": TENSOR + "#include <executorch/runtime/core/hidden.h>\n",
    "examples/library.cpp": TENSOR + "#include <some/library.h>\n",
    "examples/other.cpp": "int not_about_tensors() { return 0; }\n",
    "extension/training/train.cpp": TENSOR,
}


class RealFiles(unittest.TestCase):
    def run_script(self, *options):
        with tempfile.TemporaryDirectory() as folder:
            for path, text in FILES.items():
                file = pathlib.Path(folder, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
            return subprocess.run([sys.executable, "-B", str(SCRIPT), "--compiler", COMPILER, *options, folder],
                                  capture_output=True, text=True, check=False)

    def test_files_are_told_apart(self):
        done = self.run_script("--all")
        rows = {line.split(" | ")[0]: line.split(" | ")[1:] for line in done.stdout.splitlines() if " | " in line}
        self.assertEqual(rows["examples/good.cpp"], ["compiles |"], done.stdout + done.stderr)
        self.assertEqual(rows["examples/ours.cpp"][0], "ours")
        self.assertIn("not_there", rows["examples/ours.cpp"][1])
        self.assertEqual(rows["examples/hidden.cpp"][0], "ours")
        self.assertEqual(rows["examples/library.cpp"], ["library", "some/library.h"])
        self.assertEqual(rows["extension/training/train.cpp"], ["left out", "training"])
        self.assertEqual(len(rows), 5)
        self.assertIn("1 compile; 2 do not and are ours to serve; 1 lack a library; 0 fail by their own", done.stdout)
        self.assertEqual(done.returncode, 1)

    def test_exit_status(self):
        self.assertEqual(self.run_script("--match", "good").returncode, 0)
        self.assertEqual(self.run_script("--match", "good", "--least", "1").returncode, 0)
        self.assertEqual(self.run_script("--match", "good", "--least", "2").returncode, 1)


if __name__ == "__main__":
    unittest.main()
