# SPDX-License-Identifier: MIT
"""interop/npz.h against NumPy, both ways: test_npz.py PROGRAM, which is files.cpp."""

import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

import numpy

PROGRAM = sys.argv.pop(1)
DTYPES = "b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()


def run(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout.splitlines()


def arrays():
    """Every dtype in C and Fortran order, and odd shapes and names."""
    made = {}
    for code in DTYPES:
        values = numpy.arange(24).reshape(2, 3, 4).astype(code)
        made[code] = values
        made[f"fortran_{code}"] = numpy.asfortranarray(values)
        made[f"big_{code}"] = values.astype(values.dtype.newbyteorder(">"))
    made["scalar"] = numpy.array(2.5)
    made["empty"] = numpy.zeros((3, 0), "f4")
    made["folder/é"] = numpy.arange(5)
    return made


class NpzTest(unittest.TestCase):
    def setUp(self):
        self.held = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.held.name)
        self.addCleanup(self.held.cleanup)

    def check_equal(self, path, wanted, **options):
        with numpy.load(path, **options) as file:
            self.assertEqual(file.files, list(wanted))
            for name, array in wanted.items():
                with self.subTest(name):
                    self.assertEqual(file[name].dtype, array.dtype.newbyteorder("="))
                    self.assertEqual(file[name].shape, array.shape)
                    numpy.testing.assert_array_equal(file[name], array)

    def test_every_dtype_both_ways(self):
        wanted = arrays()
        for save in numpy.savez, numpy.savez_compressed:
            theirs = self.folder / "theirs.npz"
            save(theirs, **wanted)
            for packing in "store", "deflate":
                with self.subTest(save.__name__, packing=packing):
                    ours = self.folder / f"{packing}.npz"
                    run("copy", theirs, ours, packing)
                    self.check_equal(ours, wanted)
                    self.check_equal(ours, wanted, mmap_mode="r")
                    with zipfile.ZipFile(ours) as archive:
                        self.assertIsNone(archive.testzip())
                        method = zipfile.ZIP_STORED if packing == "store" else zipfile.ZIP_DEFLATED
                        self.assertEqual({i.compress_type for i in archive.infolist()}, {method})
                    # Fortran order is kept.
                    with numpy.load(ours) as file:
                        self.assertTrue(file["fortran_f4"].flags.f_contiguous)

    def test_sizes_of_64_bits(self):
        path = self.folder / "x.npz"
        limit, zipfile.ZIP64_LIMIT = zipfile.ZIP64_LIMIT, 10  # so that small files have them
        self.addCleanup(setattr, zipfile, "ZIP64_LIMIT", limit)
        wanted = {"a": numpy.arange(40), "b": numpy.arange(5)}
        numpy.savez_compressed(path, **wanted)
        ours = self.folder / "ours.npz"
        run("copy", path, ours, "store")
        self.check_equal(ours, wanted)

    def test_other_files_and_dtypes_are_listed(self):
        path = self.folder / "x.npz"
        numpy.savez(path, a=numpy.arange(2, dtype="u1"), b=numpy.array(["x"]), c=numpy.array([None]))
        with zipfile.ZipFile(path, "a", zipfile.ZIP_BZIP2) as archive:
            archive.writestr("note.txt", "hello", zipfile.ZIP_STORED)
            archive.writestr("packed.npy", b"x" * 100)
        lines = run("list", path)
        self.assertEqual(lines[0], "a Byte mapped 0001")
        self.assertEqual([line.split()[1] for line in lines[1:]],
                         ["NotSupported", "NotSupported", "InvalidArgument", "NotSupported"])


if __name__ == "__main__":
    unittest.main()
