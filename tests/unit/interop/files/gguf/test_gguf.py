# SPDX-License-Identifier: MIT
"""interop/gguf.h against Python's gguf: test_gguf.py PROGRAM [time], where PROGRAM is files.cpp.

With `time` it prints what both take to open a file of 300 tensors and a vocabulary, the package in processor time.
"""

import json
import logging
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import numpy
from gguf import (GGML_QUANT_SIZES, GGMLQuantizationType, GGUFEndian, GGUFReader, GGUFValueType, GGUFWriter)
from gguf.quants import QuantError, dequantize, quantize

PROGRAM = sys.argv.pop(1)
NUMBERS = {"F32": ("Float", numpy.float32), "F16": ("Half", numpy.float16), "F64": ("Double", numpy.float64),
           "BF16": ("BFloat16", numpy.uint8), "I8": ("Char", numpy.int8), "I16": ("Short", numpy.int16),
           "I32": ("Int", numpy.int32), "I64": ("Long", numpy.int64)}
logging.disable(logging.WARNING)


def run(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout.splitlines()


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def value(field):
    """A field's value as files.cpp prints it."""
    kind = field.types[-1]
    parts = [field.parts[i] for i in field.data]
    if kind == GGUFValueType.STRING:
        return [bytes(part).hex() for part in parts]
    if field.types[0] == GGUFValueType.ARRAY:
        return b"".join(part.tobytes() for part in parts).hex()
    number = parts[0][0]
    if kind in (GGUFValueType.FLOAT32, GGUFValueType.FLOAT64):
        return struct.pack("<d", float(number)).hex()
    return int(number)


def read(path):
    """What the package reads, as files.cpp prints it."""
    reader = GGUFReader(path)
    entries = [{"key": field.name.encode().hex(), "dtype": field.types[-1].name,
                "array": int(field.types[0] == GGUFValueType.ARRAY), "value": value(field)}
               for name, field in reader.fields.items() if not name.startswith("GGUF.")]
    tensors = []
    for tensor in reader.tensors:
        name = tensor.tensor_type.name
        shape = list(tensor.data.shape)
        if name == "BF16":  # the package has its bytes
            shape[-1] //= 2
        tensors.append({"name": tensor.name.encode().hex(), "dtype": name, "number": int(tensor.tensor_type),
                        "type": NUMBERS.get(name, ("Byte",))[0], "sizes": [int(n) for n in tensor.shape][::-1],
                        "shape": shape, "block": list(GGML_QUANT_SIZES[tensor.tensor_type]),
                        "offset": tensor.data_offset, "nbytes": tensor.n_bytes, "copied": 0,
                        "bytes": tensor.data.tobytes().hex()})
    return entries + tensors


def refusal(path):
    """Why the package does not read a file; empty where it does."""
    try:
        GGUFReader(path)
        return ""
    except Exception as error:
        return f"{type(error).__name__}: {error}"


class GgufTest(unittest.TestCase):
    def setUp(self):
        self.held = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.held.name)
        self.addCleanup(self.held.cleanup)
        self.path = self.folder / "x.gguf"

    def check(self, path=None):
        """Checks a file's keys and tensors, and returns their number."""
        path = path or self.path
        wanted = read(path)
        self.assertEqual([json.loads(line) for line in run("list", path)], wanted)
        return len(wanted)

    def test_every_type_in_several_shapes(self):
        dice = numpy.random.default_rng(1)
        for alignment in (None, 8, 4096):
            writer = GGUFWriter(self.path, "llama")
            if alignment is not None:
                writer.add_custom_alignment(alignment)
            count = 0
            for kind, (block, nbytes) in GGML_QUANT_SIZES.items():
                for i, shape in enumerate([(1,), (3,), (2, 3), (2, 1, 4), (2, 3, 2, 1), (0, 2), (2, 0, 3)]):
                    count += 1
                    name = f"{kind.name}.{i} é"
                    if kind.name in NUMBERS and kind.name != "BF16":
                        data = dice.bytes(int(numpy.prod(shape)) * nbytes)
                        writer.add_tensor(name, numpy.frombuffer(data, NUMBERS[kind.name][1]).reshape(shape))
                        continue
                    rows = (*shape[:-1], shape[-1] * block)
                    try:
                        data = quantize(dice.standard_normal(rows, numpy.float32), kind)
                    except (QuantError, NotImplementedError, ValueError):  # those that it can only read
                        data = numpy.frombuffer(dice.bytes(int(numpy.prod(shape)) * nbytes), numpy.uint8)
                        data = data.reshape((*shape[:-1], shape[-1] * nbytes))
                    writer.add_tensor(name, data, raw_dtype=kind)
            finish(writer)
            self.assertEqual(count, 7 * len(GGML_QUANT_SIZES))
            self.assertEqual(self.check(), count + 1 + (alignment is not None))

    def test_what_a_tensor_means(self):
        data = numpy.arange(256, dtype=numpy.float32).reshape(4, 64) / 256
        writer = GGUFWriter(self.path, "llama")
        writer.add_tensor("q", quantize(data, GGMLQuantizationType.Q8_0), raw_dtype=GGMLQuantizationType.Q8_0)
        writer.add_tensor("f", data)
        finish(writer)
        q, f = [json.loads(line) for line in run("list", self.path)][-2:]
        self.assertEqual(q["sizes"], [4, 64])
        blocks = numpy.frombuffer(bytes.fromhex(q["bytes"]), numpy.uint8).reshape(q["shape"])
        self.assertLess(abs(dequantize(blocks, GGMLQuantizationType.Q8_0) - data).max(), 0.005)
        back = numpy.frombuffer(bytes.fromhex(f["bytes"]), numpy.float32).reshape(f["shape"])
        self.assertTrue((back == data).all())

    def test_all_metadata(self):
        writer = GGUFWriter(self.path, "llama")
        writer.add_uint8("u8", 255)
        writer.add_int8("i8", -128)
        writer.add_uint16("u16", 65535)
        writer.add_int16("i16", -32768)
        writer.add_uint32("u32", 2**32 - 1)
        writer.add_int32("i32", -2**31)
        writer.add_float32("f32", 0.1)
        writer.add_bool("true", True)
        writer.add_bool("false", False)
        writer.add_string("text", "żółw \"\\ \n")
        writer.add_key_value("empty", "", GGUFValueType.STRING)
        writer.add_uint64("u64", 2**63 - 1)
        writer.add_int64("i64", -2**63)
        writer.add_float64("f64", -1e300)
        for kind in GGUFValueType:
            if kind not in (GGUFValueType.ARRAY, GGUFValueType.STRING):
                values = [1.5, -2.0] if kind.name.startswith("FLOAT") else [1, 0, 1]
                writer.add_key_value(f"{kind.name}s", values, GGUFValueType.ARRAY, sub_type=kind)
        writer.add_token_list(["<s>", "a", "żółw", "", "\U0001f422"] * 20)
        writer.add_token_scores([0.5] * 100)
        writer.add_token_types([1] * 100)
        finish(writer)
        self.assertEqual(self.check(), 1 + 14 + 11 + 3)

    def test_the_package_reads_what_is_accepted(self):
        writer = GGUFWriter(self.path, "llama")
        writer.add_uint32("n", 5)
        writer.add_token_list(["a", "bc"])
        writer.add_tensor("a", numpy.arange(6, dtype=numpy.float32).reshape(2, 3))
        writer.add_tensor("q", numpy.zeros((2, 18), numpy.uint8), raw_dtype=GGMLQuantizationType.Q4_0)
        finish(writer)
        content = self.path.read_bytes()
        end = GGUFReader(self.path).data_offset
        dice = random.Random(1)
        paths = []
        for i in range(1000):
            mutant = bytearray(content)
            for _ in range(dice.choice([1, 1, 2])):
                at = dice.randrange(4, end)
                mutant[at] = dice.choice([dice.randrange(256), (mutant[at] + dice.choice([1, 255])) % 256])
            paths.append(self.folder / f"{i}")
            paths[-1].write_bytes(mutant)
        # The package does not bound counts by the file's size, so it is not asked about what is refused.
        accepted = [path for path, answer in zip(paths, run("open", *paths)) if answer == "ok"]
        self.assertGreater(len(accepted), 200)
        for path in accepted:
            why = refusal(path)
            if why:  # types that neither knows, names that are not UTF-8
                self.assertRegex(why, "GGMLQuantizationType|UnicodeDecodeError")
            else:
                self.check(path)


def measure():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "x.gguf"
        writer = GGUFWriter(path, "llama")
        writer.add_token_list([f"token {i}" for i in range(128000)])
        writer.add_token_scores([0.5] * 128000)
        writer.add_token_types([1] * 128000)
        for i in range(300):
            writer.add_tensor(f"blk.{i}.weight", numpy.full((64, 64), i, numpy.float32))
        finish(writer)
        best = float("inf")
        for _ in range(3):
            ours = float(run("time", path, 20)[0])
            begin = time.process_time()
            GGUFReader(path)
            best = min(best, time.process_time() - begin)
        print(f"GGUFReader {best * 1e3:.1f} ms, Gguf::open {ours / 1e3:.3f} ms, ratio {ours / best / 1e6:.5f}")


if __name__ == "__main__":
    if sys.argv[1:] == ["time"]:
        measure()
    else:
        unittest.main()
