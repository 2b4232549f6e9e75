# SPDX-License-Identifier: MIT
"""interop/safetensors.h against the safetensors package, both ways: test_safetensors.py PROGRAM, which is files.cpp."""

import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest

import numpy
from safetensors import TensorSpec, deserialize, safe_open, serialize_file

PROGRAM = sys.argv.pop(1)
# The package's names, the files' and the bits of an element.
DTYPES = {
    "bool": ("BOOL", 8), "uint8": ("U8", 8), "int8": ("I8", 8), "uint16": ("U16", 16), "int16": ("I16", 16),
    "uint32": ("U32", 32), "int32": ("I32", 32), "uint64": ("U64", 64), "int64": ("I64", 64),
    "float16": ("F16", 16), "bfloat16": ("BF16", 16), "float32": ("F32", 32), "float64": ("F64", 64),
    "complex64": ("C64", 64), "float8_e5m2": ("F8_E5M2", 8), "float8_e4m3fn": ("F8_E4M3", 8),
    "float8_e5m2fnuz": ("F8_E5M2FNUZ", 8), "float8_e4m3fnuz": ("F8_E4M3FNUZ", 8),
}


def run(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout.splitlines()


def read(path):
    """What the package reads: {name: (dtype, shape, bytes)}."""
    return {name: (t["dtype"], tuple(t["shape"]), bytes(t["data"]))
            for name, t in deserialize(path.read_bytes())}


def file_of(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def is_accepted(path):
    """Whether the package reads the file."""
    try:
        deserialize(path.read_bytes())
        return True
    except Exception:
        return False


class SafetensorsTest(unittest.TestCase):
    def setUp(self):
        self.held = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.held.name)
        self.addCleanup(self.held.cleanup)
        self.kept = []

    def spec(self, dtype, shape, data):
        array = numpy.frombuffer(data, dtype=numpy.uint8).copy() if data else numpy.zeros(1, numpy.uint8)
        self.kept.append(array)
        return TensorSpec(dtype=dtype, shape=shape, data_ptr=array.ctypes.data, data_len=len(data))

    def write(self, path, dtypes, metadata=None):
        """Has the package write every dtype in several shapes."""
        specs = {}
        for dtype, (name, bits) in dtypes.items():
            for shape in [(), (3,), (2, 3), (4, 0, 2)]:
                if bits == 4 and not shape:
                    continue
                # The package doubles the last size of F4, whose elements here are pairs.
                count = int(numpy.prod(shape)) * max(bits, 8) // 8
                data = bytes(i % 2 if dtype == "bool" else (7 + i) % 251 for i in range(count))
                specs[f"{name} {len(shape)} é\"\\"] = self.spec(dtype, shape, data)
        serialize_file(specs, str(path), metadata)
        return read(path)

    def test_every_dtype_both_ways(self):
        theirs, ours = self.folder / "theirs.safetensors", self.folder / "ours.safetensors"
        metadata = {"format": "np", "ключ": "a\"b\n\u0001"}
        wanted = self.write(theirs, DTYPES, metadata)
        self.assertEqual(len(wanted), 4 * len(DTYPES))
        run("copy", theirs, ours)
        self.assertEqual(read(ours), wanted)
        with safe_open(str(ours), "np") as file:
            self.assertEqual(file.metadata(), metadata)
            self.assertEqual(sorted(file.keys()), sorted(wanted))
            self.assertEqual(file.get_tensor("F32 2 é\"\\").shape, (2, 3))
        # Once more, from what tenon wrote.
        again = self.folder / "again.safetensors"
        run("copy", ours, again)
        self.assertEqual(again.read_bytes(), ours.read_bytes())
        self.assertEqual(struct.unpack("<Q", ours.read_bytes()[:8])[0] % 64, 56)

    def test_numbers_that_end_within_a_byte_are_refused_as_by_the_package(self):
        cases = {f"{dtype} {shape} {end}": file_of({"a": {"dtype": dtype, "shape": shape, "data_offsets": [0, end]}},
                                                   bytes(end))
                 for dtype in ("F4", "F6_E2M3", "F6_E3M2", "F8_E8M0")
                 for shape in ([], [0], [1], [2], [3], [4], [5], [2, 3], [4, 1], [0, 3], [3, 4])
                 for end in range(13)}
        self.check_answers(cases, is_accepted)

    def check_answers(self, cases, is_ok):
        paths = []
        for name, content in cases.items():
            paths.append(self.folder / name)
            paths[-1].write_bytes(content)
        for path, answer in zip(paths, run("open", *paths)):
            with self.subTest(path.name, answer=answer):
                self.assertEqual(answer == "ok", is_ok(path))

    def test_what_the_package_takes_and_the_format_does_not_have_is_refused(self):
        one = {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}
        # docs/files.md lists these. The package reads them: it ignores what the format does not have, and takes the
        # last of one name.
        twice = json.dumps({"a": one}).encode()[:-1] + b", " + json.dumps({"a": one}).encode()[1:]
        self.check_answers({
            "leading space": file_of(b" " + json.dumps({"a": one}).encode(), b"xy"),
            "twice": file_of(twice, b"xy"),
            "metadata twice": file_of(b'{"__metadata__":{"k":"1","k":"2"},' + json.dumps({"a": one}).encode()[1:], b"xy"),
            "null metadata": file_of({"__metadata__": None, "a": one}, b"xy"),
            "65 sizes": file_of({"a": {**one, "shape": [2] + [1] * 64}}, b"xy"),
            "more": file_of({"a": {**one, "x": 1}}, b"xy"),
        }, lambda path: not is_accepted(path))

    def test_mutated_headers_are_accepted_by_both_or_neither(self):
        source = self.folder / "source.safetensors"
        self.write(source, {"float32": ("F32", 32), "uint8": ("U8", 8)}, {"k": "v"})
        content = source.read_bytes()
        end = 8 + struct.unpack("<Q", content[:8])[0]
        dice = random.Random(1)
        paths = []
        for i in range(1000):
            mutant = bytearray(content)
            for _ in range(dice.choice([1, 1, 1, 2, 3])):
                at = dice.randrange(8, end)
                mutant[at] = dice.choice([dice.randrange(256), ord(dice.choice('0123456789{}[]",: \\e.-'))])
            paths.append(self.folder / f"{i}")
            paths[-1].write_bytes(mutant)
        accepted = 0
        for path, answer in zip(paths, run("open", *paths)):
            theirs = is_accepted(path)
            accepted += theirs
            if theirs and ("expected dtype, shape and data_offsets" in answer or "twice" in answer):
                continue
            self.assertEqual(answer == "ok", theirs, f"{answer}: {path.read_bytes()[:end]!r}")
        self.assertGreater(accepted, 50)


if __name__ == "__main__":
    unittest.main()
