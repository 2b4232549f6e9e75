# SPDX-License-Identifier: MIT
"""Tests layouts.py: what needs another epoch, and what does not."""

import unittest

import layouts

BLOB = ["16 bytes, aligned to 8", "0 data", "8 sizes"]
BACKEND = ["8 bytes, aligned to 8", "0 functions", "function 0: name() const [pure]", "function 1: reserved1()"]


def faults(before, after, old="v1", new="v1"):
    return layouts.faults((old, {"": before}), (new, {"": after}))


class Layouts(unittest.TestCase):
    def test_file(self):
        sections = {"": {"Blob": BLOB, "Backend": BACKEND}, "TENON_HEAP=0": {"Blob": BLOB[:2]}}
        self.assertEqual(layouts.read(layouts.write("v1", sections)), ("v1", sections))

    def test_alike(self):
        self.assertEqual(faults({"Blob": BLOB}, {"Blob": BLOB}), [])

    def test_changed(self):
        for after in ([*BLOB[:2], "12 sizes"], [*BLOB, "16 strides"], BLOB[:2], ["24 bytes, aligned to 8", *BLOB[1:]]):
            found = faults({"Blob": BLOB}, {"Blob": after})
            self.assertEqual(found[0], "layout of Blob changed")
            self.assertIn("bump the epoch in include/tenon/config.h", found[-1])

    def test_gone(self):
        self.assertIn("bump the epoch", faults({"Blob": BLOB}, {})[-1])

    def test_bumped(self):
        found = faults({"Blob": BLOB}, {"Blob": BLOB[:2]}, new="v2")
        self.assertNotIn("bump", found[-1])
        self.assertIn("update", found[-1])

    def test_new(self):
        found = faults({}, {"Blob": BLOB})
        self.assertEqual(found[0], "Blob is new")
        self.assertNotIn("bump", found[-1])

    def test_functions(self):
        moved = [*BACKEND[:2], BACKEND[3].replace("1:", "0:"), BACKEND[2].replace("0:", "1:")]
        self.assertIn("bump the epoch", faults({"Backend": BACKEND}, {"Backend": moved})[-1])
        used = [*BACKEND[:3], "function 1: prefetch(const TensorView &)"]
        self.assertNotIn("bump", faults({"Backend": BACKEND}, {"Backend": used})[-1])
        appended = [*BACKEND, "function 2: prefetch(const TensorView &)"]
        self.assertIn("bump the epoch", faults({"Backend": BACKEND}, {"Backend": appended})[-1])

    def test_mode(self):
        before, after = {"": {"Blob": BLOB}}, {"": {"Blob": BLOB}, "TENON_HEAP=0": {"Blob": BLOB[:2]}}
        found = layouts.faults(("v1", before), ("v1", after))
        self.assertEqual(found[0], "layout of Blob with TENON_HEAP=0 changed")


if __name__ == "__main__":
    unittest.main()
