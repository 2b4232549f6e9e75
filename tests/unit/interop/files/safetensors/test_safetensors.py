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
PACKED = {"float8_e8m0fnu": ("F8_E8M0", 8), "float4_e2m1fn_x2": ("F4", 4)}


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

    def test_packed_numbers_are_had_as_their_bytes(self):
        path = self.folder / "x.safetensors"
        wanted = self.write(path, PACKED)
        lines = run("list", path)
        expected = [f"{name} {dtype} [{','.join(map(str, shape))}] mapped {data.hex()}"
                    for name, (dtype, shape, data) in wanted.items()]
        self.assertEqual(sorted(lines), sorted(expected))

    def test_numbers_that_end_within_a_byte_are_refused_as_by_the_package(self):
        cases = {f"{dtype} {shape} {end}": file_of({"a": {"dtype": dtype, "shape": shape, "data_offsets": [0, end]}},
                                                   bytes(end))
                 for dtype in ("F4", "F6_E2M3", "F6_E3M2", "F8_E8M0")
                 for shape in ([], [0], [1], [2], [3], [4], [5], [2, 3], [4, 1], [0, 3], [3, 4])
                 for end in range(13)}
        self.check_answers(cases, is_accepted)

    def test_misaligned_tensors_are_copied(self):
        path = self.folder / "x.safetensors"
        header = {"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
                  "b": {"dtype": "I32", "shape": [2], "data_offsets": [1, 9]},
                  "c": {"dtype": "U8", "shape": [], "data_offsets": [9, 10]}}
        text = json.dumps(header).encode()
        path.write_bytes(file_of(text + b" " * (-len(text) % 8), bytes(range(10))))
        self.assertEqual(run("list", path),
                         ["a U8 [1] mapped 00", "b I32 [2] copied 0102030405060708", "c U8 [] mapped 09"])

    def test_a_sharded_model(self):
        names = [f"model-0000{i}-of-00002.safetensors" for i in (1, 2)]
        for i, name in enumerate(names):
            serialize_file({f"{k}{i}": self.spec("int32", (2,), bytes([i, k == "b"]) * 4) for k in "ab"},
                           str(self.folder / name), {f"of{i}": "x"})
        index = self.folder / "model.safetensors.index.json"
        weight_map = {f"{k}{i}": name for i, name in enumerate(names) for k in "ab"}
        more = {"total_size": 32, "deep": [[1, None], {}]}
        index.write_text(json.dumps({"metadata": more, "weight_map": weight_map}))
        out = self.folder / "out.safetensors"
        run("copy", index, out)
        wanted = {**read(self.folder / names[0]), **read(self.folder / names[1])}
        self.assertEqual(read(out), wanted)
        with safe_open(str(out), "np") as file:
            self.assertEqual(file.metadata(), {"of0": "x", "of1": "x"})
        weight_map["c"] = names[0]
        index.write_text(json.dumps({"weight_map": weight_map}))
        self.assertIn('there is no tensor "c"', run("open", index)[0])

    def check_answers(self, cases, is_ok):
        paths = []
        for name, content in cases.items():
            paths.append(self.folder / name)
            paths[-1].write_bytes(content)
        for path, answer in zip(paths, run("open", *paths)):
            with self.subTest(path.name, answer=answer):
                self.assertEqual(answer == "ok", is_ok(path))

    def test_what_the_package_refuses_is_refused(self):
        one = {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}
        self.check_answers({
            "whole": file_of({"a": one}, b"xy"),
            "empty": file_of({}),
            "padded": file_of(json.dumps({"a": one}).encode() + b"   ", b"xy"),
            "short": b"1234567",
            "length": struct.pack("<Q", 100_000_001) + b"{}",
            "cut header": file_of({"a": one}, b"xy")[:20],
            "cut data": file_of({"a": one}, b"x"),
            "more data": file_of({"a": one}, b"xyz"),
            "gap": file_of({"a": {**one, "data_offsets": [1, 3]}}, b"xyz"),
            "overlap": file_of({"a": one, "b": one}, b"xy"),
            "backwards": file_of({"a": {**one, "data_offsets": [2, 0]}}, b"xy"),
            "size": file_of({"a": {**one, "shape": [3]}}, b"xy"),
            "dtype": file_of({"a": {**one, "dtype": "U9"}}, b"xy"),
            "overflow": file_of({"a": {**one, "shape": [2**32, 2**32, 2**32]}}, b"xy"),
            "negative": file_of({"a": {**one, "shape": [-2]}}, b"xy"),
            "float": file_of({"a": {**one, "shape": [2.0]}}, b"xy"),
            "large": file_of({"a": {**one, "shape": [2**64]}}, b"xy"),
            "three offsets": file_of({"a": {**one, "data_offsets": [0, 2, 2]}}, b"xy"),
            "one offset": file_of({"a": {**one, "data_offsets": [0]}}, b"xy"),
            "no dtype": file_of({"a": {"shape": [2], "data_offsets": [0, 2]}}, b"xy"),
            "metadata": file_of({"__metadata__": {"a": 1}}),
            "metadata list": file_of({"__metadata__": []}),
            "list": file_of([]),
            "zero": file_of(b"{}\0"),
            "utf-8": file_of(b'{"__metadata__":{"a":"\xff"}}'),
            "half a byte": file_of({"a": {"dtype": "F4", "shape": [3], "data_offsets": [0, 1]}}, b"x"),
            "F4": file_of({"a": {"dtype": "F4", "shape": [2], "data_offsets": [0, 1]}}, b"x"),
            "F6_E2M3": file_of({"a": {"dtype": "F6_E2M3", "shape": [4], "data_offsets": [0, 3]}}, b"xyz"),
            "F6_E3M2": file_of({"a": {"dtype": "F6_E3M2", "shape": [2, 2], "data_offsets": [0, 3]}}, b"xyz"),
            "deep": file_of(b"{" + b'"a":[' * 10000, b""),
        }, is_accepted)
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
