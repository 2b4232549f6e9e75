# SPDX-License-Identifier: MIT
"""tenon-inspect as a user runs it: in pipes, on a terminal, over files that NumPy wrote."""

import collections
import io
import json
import os
import pickle
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import types
import unittest
import unicodedata
import zipfile
import zlib

import numpy as np

PROGRAM = os.environ["TENON_INSPECT"]
MODELS = os.environ["TENON_MODELS"]
WITH = os.environ["TENON_WITH"].split(",")
SOURCE = os.environ["TENON_INSPECT_SOURCE"]


def run(*arguments, code=0, **options):
    """What it prints. It has to end with `code`, and to say nothing else unless that is 2."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, **options)
    if done.returncode != code or (done.stderr and code != 2):
        raise AssertionError(f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    if "--json" in arguments:
        done.stdout.decode("ascii")
    text = (done.stdout if code != 2 else done.stderr).decode()
    if code == 2 and re.search(r"\w::\w|\\\"|\b(read|write|to|npy)_\w+: ", text):
        raise AssertionError(f"for a program's author, not its user: {text}")
    return text


def parse(*arguments, code=0):
    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    return json.loads(run("--json", *arguments, code=code), parse_constant=refuse)


def on_terminal(*arguments, columns=40):
    """What it writes to a terminal."""
    import fcntl
    import termios

    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execv(PROGRAM, [PROGRAM, *map(str, arguments)])
    text = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the end, on Linux
            break
        if not part:
            break
        text += part
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    return text, os.waitstatus_to_exitcode(status)


def read_png(path):
    """The pixels of a PNG of 8-bit RGB, by hand."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed, size = 8, b"", None
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            size = struct.unpack(">IIBBBBB", body)
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    width, height, depth, color, *_ = size
    assert (depth, color) == (8, 2)
    raw = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + 3 * width)
    out = np.zeros((height + 1, 3 * width + 3), int)  # a border of zeros above and to the left
    for y in range(height):
        for x in range(3 * width):
            a, b, c = out[y + 1, x], out[y, x + 3], out[y, x]
            guess = a + b - c
            near = min((abs(guess - a), 0, a), (abs(guess - b), 1, b), (abs(guess - c), 2, c))[2]
            predicted = [0, a, b, (a + b) // 2, near][raw[y, 0]]
            out[y + 1, x + 3] = (int(raw[y, x + 1]) + predicted) % 256
    return out[1:, 3:].reshape(height, width, 3)


def varint(value):
    value %= 2**64
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def field(number, value):
    """A field of a protocol buffer: an integer, or bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def onnx_tensor(name, number, shape, *fields):
    """An ONNX initialiser, of TensorProto's dtype `number`."""
    dims = b"".join(field(1, size) for size in shape)
    return field(5, dims + field(2, number) + field(8, name) + b"".join(fields))


def onnx_model(*graph):
    return field(1, 8) + field(2, "by hand") + field(7, b"".join(graph))


def onnx_external(location, **pairs):
    entries = {"location": location, **pairs}
    return b"".join(field(13, field(1, k) + field(2, str(v))) for k, v in entries.items()) + field(14, 1)


def torch_file(values):
    """The bytes that torch.save() writes; NumPy's float32 arrays in it are tensors."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")

    class FloatStorage:
        pass

    def _rebuild_tensor_v2():
        pass

    for made, module in ((FloatStorage, torch), (_rebuild_tensor_v2, utils)):
        made.__module__, made.__qualname__ = module.__name__, made.__name__
        setattr(module, made.__name__, made)
    storages = []

    class Tensor:
        def __init__(self, array):
            self.array = array

        def __reduce__(self):
            storage = FloatStorage()
            storage.array = self.array
            storage.key = str(len(storages))
            storages.append(storage)
            strides = tuple(s // 4 for s in self.array.strides)
            return _rebuild_tensor_v2, (storage, 0, self.array.shape, strides, False, collections.OrderedDict())

    class Pickler(pickle.Pickler):
        def persistent_id(self, value):
            if isinstance(value, FloatStorage):
                return ("storage", FloatStorage, value.key, "cpu", value.array.size)

    def convert(value):
        if isinstance(value, dict):
            return {k: convert(v) for k, v in value.items()}
        return Tensor(value) if isinstance(value, np.ndarray) else value

    text, out = io.BytesIO(), io.BytesIO()
    before = {n: sys.modules.get(n) for n in ("torch", "torch._utils")}
    sys.modules.update({"torch": torch, "torch._utils": utils})
    try:
        Pickler(text, 2).dump(convert(values))
    finally:
        for name, module in before.items():
            del sys.modules[name]
            if module is not None:
                sys.modules[name] = module
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("a/data.pkl", text.getvalue())
        file.writestr("a/byteorder", "little")
        for storage in storages:
            file.writestr(f"a/data/{storage.key}", np.ascontiguousarray(storage.array).tobytes())
        file.writestr("a/version", "3\n")
    return out.getvalue()


def gguf_file(metadata, tensors):
    """metadata: [(key, type, packed value)]; tensors: [(name, sizes as NumPy has them, type, bytes)]."""
    text = lambda t: struct.pack("<Q", len(t.encode())) + t.encode()
    out = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    for key, kind, value in metadata:
        out += text(key) + struct.pack("<I", kind) + value
    data = b""
    for name, sizes, kind, values in tensors:
        out += text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes[::-1], kind, len(data))
        data += values + bytes(-len(values) % 32)
    return out + bytes(-len(out) % 32) + data


def safetensors_file(tensors):
    header, data = {}, b""
    for name, array in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def columns_of(text):
    """The columns that a text takes on a terminal."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


class InspectTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, data):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def save(self, array, name="a.npy"):
        path = os.path.join(self.folder, name)
        np.save(path, array)
        return path

    def check_statistics(self, found, array):
        """Those of a real array are NumPy's, of its finite values in double."""
        finite = array[np.isfinite(array)] if array.dtype.kind == "f" else array
        wide = finite.astype("f8")
        self.assertEqual(found["count"], array.size)
        self.assertEqual(found["nan"], np.count_nonzero(np.isnan(array)) if array.dtype.kind == "f" else 0)
        self.assertEqual(found["inf"], np.count_nonzero(array == np.inf))
        self.assertEqual(found["-inf"], np.count_nonzero(array == -np.inf))
        if not finite.size:
            self.assertEqual([found[k] for k in ("min", "max", "mean", "std")], [None] * 4)
            self.assertNotIn("histogram", found)
            return
        self.assertEqual(found["min"], finite.min().item())
        self.assertEqual(found["max"], finite.max().item())
        scale = np.abs(wide).max()
        self.assertAlmostEqual(found["mean"], wide.mean(), delta=1e-14 * scale)
        self.assertAlmostEqual(found["std"], wide.std(), delta=1e-14 * scale)

    def test_statistics_are_numpys(self):
        r = np.random.default_rng(1)
        special = r.normal(size=5000)
        special[[0, 17, 4999]] = np.nan, np.inf, -np.inf
        arrays = [r.normal(3, 2, (70, 90)).astype(t) for t in ("f2", "f4", "f8", ">f4")]
        arrays += [r.integers(0, 100, (3, 4, 5)).astype(t) for t in
                   ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?")]
        arrays += [special, special.astype("f4"), np.full(3, np.nan), np.zeros((0, 3)), np.array(7.5),
                   np.array([2**64 - 1, 0], "u8"), np.array([-2**63, 2**63 - 1]),
                   np.asfortranarray(r.normal(size=(30, 40)))]
        for array in arrays:
            with self.subTest(array.dtype, shape=array.shape):
                about, = parse(self.save(array))["entries"]
                self.assertEqual(about["shape"], list(array.shape))
                if array.size:
                    expected = [s // array.itemsize for s in array.strides]
                    self.assertEqual(about["strides"], expected)
                self.assertEqual(about["nbytes"], array.nbytes)
                self.check_statistics(about["statistics"], array)
                if array.size and about["statistics"].get("histogram"):
                    h = about["statistics"]["histogram"]
                    finite = array[np.isfinite(array)].astype("f8")
                    bins = len(h["counts"])
                    self.assertEqual(type(h["low"]), float if array.dtype.kind == "f" else int)
                    self.assertEqual(bins, 10 if h["low"] < h["high"] else 1)
                    self.assertEqual(sum(h["counts"]), finite.size)
                    expected = np.histogram(finite, bins, (float(h["low"]), float(h["high"])))[0]
                    self.assertLessEqual(np.abs(np.cumsum(expected - h["counts"])).max(), 2)

    def test_a_histogram_of_much_is_of_a_sample(self):
        array = np.arange(3_000_000, dtype="f4")
        h = parse("--bins", 4, self.save(array))["entries"][0]["statistics"]["histogram"]
        self.assertLess(h["sampled"], 1_100_000)
        self.assertEqual(sum(h["counts"]), h["sampled"])
        self.assertLess(max(h["counts"]) - min(h["counts"]), 10_000)
        self.assertNotIn("histogram", parse("--bins", 0, self.save(array))["entries"][0]["statistics"])

    def test_a_histogram_of_large_integers_is_exact(self):
        for array in (2**62 + np.arange(40), np.arange(40) + np.int64(-2**63), np.uint64(2**64 - 40) + np.arange(40, dtype="u8")):
            path = self.save(array)
            h = parse(path)["entries"][0]["statistics"]["histogram"]
            self.assertEqual((h["low"], h["high"]), (array.min(), array.max()))
            self.assertEqual(h["counts"], [4] * 10)
            self.assertIn(f"{int(array.min()) + 35} ", run(path))  # 9 tenths of 39, of whole numbers

    def test_text(self):
        text = run(self.save(np.array([[1.5, np.nan], [2.5, 3.5]])))
        for line in ("format      .npy", "  dtype       Double", "  shape       {2, 2}", "    nan         1",
                     "    mean        2.5", "[[1.5 nan]", " [2.5 3.5]]"):
            self.assertIn(line + "\n", text)
        self.assertNotIn("statistics", run("--list", self.save(np.zeros(3))))

    def test_npz(self):
        arrays = {"w": np.arange(6.0).reshape(2, 3), "flags": np.array([True, False]), "z": np.array([1j])}
        for save in (np.savez, np.savez_compressed):
            path = os.path.join(self.folder, "a.npz")
            save(path, **arrays)
            entries = parse(path)["entries"]
            self.assertEqual([e["name"] for e in entries], list(arrays))
            self.check_statistics(entries[0]["statistics"], arrays["w"])
            self.assertEqual(entries[1]["statistics"]["max"], True)
            only, = parse(path, "--name", "flags")["entries"]
            self.assertEqual(only["name"], "flags")
            two = parse(path, "-n", "z", "-n", "w")["entries"]
            self.assertEqual([e["name"] for e in two], ["z", "w"])
            self.assertIn("[[0. 1. 2.]", run(path, "-n", "w"))
            rows = run(path).splitlines()
            self.assertEqual(rows[2].split()[:4], ["role", "name", "dtype", "shape"])
            starts = [row.index(word) for row, word in zip(rows[2:], ("dtype", "Double", "Bool"))]
            self.assertEqual(len(set(starts)), 1)
        self.assertIn('nothing is named "v"', run(path, "-n", "v", code=2))

    def test_what_cannot_be_read_is_named_and_the_rest_is_shown(self):
        path = os.path.join(self.folder, "a.npz")
        np.savez(path, good=np.arange(3))
        with zipfile.ZipFile(path, "a") as file:
            file.writestr("note.txt", "hello")
        self.assertIn(f"{path}: note.txt: not a .npy file", run(path, code=2))
        done = subprocess.run([PROGRAM, "--json", path], capture_output=True)
        self.assertEqual(done.returncode, 2)
        entries = json.loads(done.stdout)["entries"]
        self.assertEqual(entries[0]["statistics"]["max"], 2)
        self.assertEqual(entries[1]["note"], "cannot be read")

    def test_dtypes_that_tenon_lacks_have_the_files_own_name(self):
        arrays = {"texts": np.array(["a", "bcd"]), "empty": np.array("csr"), "bytes": np.array([[b"ab"]]),
                  "pairs": np.zeros(4, [("x", "<f4"), ("y", "<i2", (2,))]),
                  "dates": np.zeros((2, 0), "M8[s]"), "objects": np.array([None]),
                  "big": np.arange(3, dtype=">f4"), "plain": np.arange(2.0)}
        path = os.path.join(self.folder, "a.npz")
        for save in (np.savez, np.savez_compressed):
            save(path, **arrays)
            for options in ([], ["--list"]):
                found = {e["name"]: e for e in parse(path, *options)["entries"]}
                self.assertEqual({n: e["shape"] for n, e in found.items()},
                                 {n: list(a.shape) for n, a in arrays.items()})
                self.assertEqual([found[n]["dtype"] for n in arrays],
                                 ["<U3", "<U3", "|S2", "[('x', '<f4'), ('y', '<i2', (2,))]", "<M8[s]", "|O",
                                  "Float", "Double"])
                self.assertEqual([found[n]["in file"] for n in ("texts", "big", "plain")], ["<U3", ">f4", "<f8"])
                self.assertRegex(run(path, *options), r"array +texts +<U3 +\{2\}")
        for name, array in arrays.items():
            one = self.save(array)
            self.assertIn(f"  shape       {{{', '.join(map(str, array.shape))}}}\n", run(one))
            if name == "texts":
                self.assertIn("  dtype       <U3\n", run("--list", one))
                self.assertIn("a picture needs numbers", run(one, "--png", self.folder + "/a.png", code=2))

    def test_safetensors(self):
        header = {"__metadata__": {"by": "h\u00e4nd \x1b[31m"},
                  "a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
                  "b": {"dtype": "BF16", "shape": [2], "data_offsets": [16, 20]}}
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        path = os.path.join(self.folder, "a.safetensors")
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            file.write(np.array([1, 2, 3, 4], "f4").tobytes() + b"\x80\x3f\x00\xc0")  # 1 and -2
        about = parse(path)
        self.assertEqual(about["metadata"], header["__metadata__"])
        self.assertEqual(about["entries"][0]["statistics"]["mean"], 2.5)
        self.assertEqual(about["entries"][1]["dtype"], "BFloat16")
        self.assertEqual(about["entries"][1]["statistics"]["min"], -2)
        self.assertIn("[ 1. -2.]", run(path, "-n", "b"))
        self.assertNotIn("\x1b", run(path))

    def test_models(self):
        if "executorch" in WITH:
            about = parse(os.path.join(MODELS, "methods.pte"))
            named = {(e["role"], e["name"]): e for e in about["entries"]}
            self.assertEqual(named["input", "forward.0"]["shape"], [2, 3])
            self.assertEqual(named["output", "encode.1"]["dtype"], "Float")
            self.assertEqual(named["output", "get_name.0"]["note"], "not a tensor")
            self.assertIn("get_max_seq_len.0", run(os.path.join(MODELS, "methods.pte")))
        else:
            self.assertIn("formats that this program was built for", run("a.pte", code=2))

    def test_onnx(self):
        first, second, two = parse(os.path.join(MODELS, "double_batch.onnx"))["entries"]
        self.assertEqual((first["role"], first["name"]), ("input", "forward.image"))
        self.assertEqual(second["shape"], ["batch", 8])
        self.assertEqual((two["role"], two["statistics"]["max"]), ("array", 2))
        found = {e["name"]: e for e in parse(os.path.join(MODELS, "sequence.onnx"))["entries"]}
        self.assertIn("not a tensor", [e.get("note") for e in found.values()])

    def test_onnx_initialisers_of_every_dtype_and_field(self):
        kinds = {"f4": (1, 4), "u1": (2, 5), "i1": (3, 5), "u2": (4, 5), "i2": (5, 5), "i4": (6, 5), "i8": (7, 7),
                 "?": (9, 5), "f2": (10, 5), "f8": (11, 10), "u4": (12, 11), "u8": (13, 11), "c8": (14, 4),
                 "c16": (15, 10)}
        r = np.random.default_rng(4)
        for code, (number, where) in kinds.items():
            array = (r.normal(size=(3, 4)) * 50).astype(code)
            if array.dtype.kind in "iu":
                info = np.iinfo(code)
                array[0, :2] = info.min, info.max
            parts = array.view("u2") if code == "f2" else array.astype("u1") if code == "?" else array
            if where in (4, 10):
                values = field(where, array.tobytes())
                single = b"".join(varint(where << 3 | (5 if where == 4 else 1)) + part.tobytes()
                                  for part in array.view("f4" if where == 4 else "f8").ravel())
            else:
                values = field(where, b"".join(varint(int(v)) for v in parts.ravel()))
                single = b"".join(field(where, int(v)) for v in parts.ravel())
            model = onnx_model(onnx_tensor("raw", number, (3, 4), field(9, array.tobytes())),
                               onnx_tensor("packed", number, (3, 4), values),
                               onnx_tensor("single", number, (3, 4), single),
                               onnx_tensor("beside", number, (3, 4), onnx_external("w/a.bin", offset=16)),
                               onnx_tensor("none", number, (0, 4)))
            self.write("w/a.bin", bytes(16) + array.tobytes())
            path = self.write("a.onnx", model)
            entries = parse(path, "--head", 12)["entries"]
            self.assertEqual([e["name"] for e in entries], ["raw", "packed", "single", "beside", "none"])
            flat = array.ravel().tolist()
            expected = [[z.real, z.imag] for z in flat] if array.dtype.kind == "c" else flat
            for entry in entries[:4]:
                self.assertEqual(entry["head"], expected, (code, entry["name"]))
                self.assertEqual((entry["shape"], entry["nbytes"]), ([3, 4], array.nbytes))
            self.assertEqual(entries[3]["file"], "w/a.bin")
            self.assertEqual(entries[4]["head"], [])

    # A promise of docs/guarantees.md.
    def test_onnx_files_that_are_broken_or_leave_their_folder(self):
        array = bytes(48)
        self.write("out.bin", array)
        for location in ("../out.bin", "/etc/passwd", "a/../../out.bin", "..", "", "a\\b", "no.bin", "."):
            path = self.write("m/a.onnx", onnx_model(onnx_tensor("w", 1, (3, 4), onnx_external(location)),
                                                     onnx_tensor("good", 1, (1,), field(9, bytes(4)))))
            self.assertIn("external data", run(path, code=2), location)
            done = subprocess.run([PROGRAM, "--json", path], capture_output=True)
            w, good = json.loads(done.stdout)["entries"]
            self.assertEqual((w["file"], w["note"], good["statistics"]["max"]), (location, "cannot be read", 0))
        self.write("m/out.bin", array)
        for pairs in ({"offset": 1}, {"offset": 2**60}, {"length": 49}, {"offset": -1}, {"offset": "x"},
                      {"offset": "9" * 30}, {"length": 47}):
            path = self.write("m/a.onnx", onnx_model(onnx_tensor("w", 1, (3, 4), onnx_external("out.bin", **pairs))))
            run(path, code=2)
        for shape, fields in (((2**62, 2**62), field(9, array)), ((2**40,), field(9, array)), ((5,), field(9, array)),
                              ((-1,), field(9, array)), ((2**40,), field(4, array)), ((13,), field(4, array)),
                              ((12,), field(4, array[:-1])), ((1,) * 65, field(9, array[:4]))):
            text = run(self.write("a.onnx", onnx_model(onnx_tensor("w", 1, shape, fields))), code=2)
            self.assertRegex(text, "sizes|size|bytes|dimensions")
        whole = onnx_model(onnx_tensor("w", 1, (3, 4), field(9, array)))
        self.assertIn("byte ", run(self.write("a.onnx", whole[:-10]), code=2))
        r = np.random.default_rng(5)
        for _ in range(60):
            data = bytearray(whole)
            for at in r.integers(0, 40, 2):
                data[at] = r.integers(256)
            done = subprocess.run([PROGRAM, self.write("a.onnx", data)], capture_output=True)
            self.assertIn(done.returncode, (0, 2), data)

    def test_torch_files(self):
        a = np.arange(12, dtype="f4").reshape(3, 4)
        values = {"model": {"fc.weight": a, "fc.bias": np.ones(4, "f4")}, "epoch": 7, "note": "\x1b[31m",
                  "betas": (0.5, 0.75), "ids": [1, 2], "none": None, "names": ["a", "\x1bb"], "flags": [True, False]}
        path = self.write("a.pt", torch_file(values))
        about = parse(path)
        self.assertEqual(about["metadata"], {"epoch": 7, "note": "\x1b[31m", "betas": [0.5, 0.75], "ids": [1, 2],
                                             "none": "None", "names": ["a", "\x1bb"], "flags": [True, False]})
        script = run(os.path.join(MODELS, "add.pt"), code=2)
        self.assertIn("TorchScript", script)
        self.assertNotIn(".h", script)
        self.assertEqual([e["name"] for e in about["entries"]], ["model.fc.weight", "model.fc.bias"])
        self.check_statistics(about["entries"][0]["statistics"], a)
        self.assertEqual(about["entries"][0]["in file"], "float32")
        self.assertNotIn("\x1b", run(path))
        one = self.write("b.safetensors", safetensors_file({"model.fc.weight": a, "model.fc.bias": np.ones(4, "f4")}))
        self.assertEqual(parse("-d", path, one), [])
        self.write("parts/m-00001-of-00002.bin", torch_file({"a": a}))
        self.write("parts/m-00002-of-00002.bin", torch_file({"b": a + 1}))
        weights = {"a": "m-00001-of-00002.bin", "b": "m-00002-of-00002.bin"}
        index = self.write("parts/m.bin.index.json", json.dumps({"weight_map": weights}).encode())
        for name in (index, self.folder + "/parts"):
            found = {e["name"]: e for e in parse(name)["entries"]}
            self.assertEqual([(n, e["statistics"]["max"], e["file"]) for n, e in found.items()],
                             [("a", 11, "m-00001-of-00002.bin"), ("b", 12, "m-00002-of-00002.bin")])
        self.write("parts/training_args.bin", pickle.dumps(types.SimpleNamespace(a=1)))
        self.assertIn("training_args.bin", run(self.folder + "/parts", code=2))
        outside = self.write("parts/m.bin.index.json", b'{"weight_map": {"a": "../a.pt"}}')
        run(outside, code=2)

    def test_gguf_files(self):
        a = np.arange(12, dtype="f4").reshape(3, 4)
        blocks = np.arange(34, dtype="u1").tobytes()
        metadata = [("general.name", 8, struct.pack("<Q", 5) + b"\x1b[31m"), ("n", 4, struct.pack("<I", 7)),
                    ("tokens", 9, struct.pack("<IQ", 4, 100) + bytes(400))]
        path = self.write("a.gguf", gguf_file(metadata, [("w", (3, 4), 0, a.tobytes()), ("q", (1, 32), 8, blocks)]))
        about = parse(path)
        self.assertEqual(about["metadata"], {"general.name": "\x1b[31m", "n": 7, "tokens": "100 of UINT32"})
        w, q = about["entries"]
        self.check_statistics(w["statistics"], a)
        self.assertEqual((q["dtype"], q["shape"], q["nbytes"]), ("Q8_0", [1, 32], 34))
        self.assertNotIn("\x1b", run(path))
        other = bytearray(blocks)
        other[20] ^= 1
        two = self.write("b.gguf", gguf_file([], [("w", (3, 4), 0, a.tobytes()), ("q", (1, 32), 8, bytes(other))]))
        found, = parse("-d", path, two, code=1)
        self.assertEqual((found["name"], found["what"], found["first"], found["count"], found["of"]),
                         ("q", "bytes", [20], 1, 34))
        self.assertEqual(parse("-d", path, path), [])

    def test_a_folder_and_an_index_are_one_file(self):
        a = np.arange(6, dtype="f4").reshape(2, 3)
        parts = {"model-00001-of-00002.safetensors": {"x.0": a}, "model-00002-of-00002.safetensors": {"x.1": a + 1}}
        for name, tensors in parts.items():
            self.write("m/" + name, safetensors_file(tensors))
        folder = self.folder + "/m"
        self.assertEqual([e["name"] for e in parse(folder)["entries"]], ["x.0", "x.1"])
        weights = {t: name for name, tensors in parts.items() for t in tensors}
        self.write("m/model.safetensors.index.json", json.dumps({"weight_map": weights}).encode())
        self.assertEqual([e["name"] for e in parse(folder)["entries"]], ["x.0", "x.1"])
        whole = self.write("whole.safetensors", safetensors_file({"x.0": a, "x.1": a + 1}))
        self.assertEqual(parse("-d", folder, whole), [])
        self.save(a, "m/alone.npy")
        self.save(a, "m/x.0.npy")
        found = [(e["name"], e["file"]) for e in parse(folder)["entries"]]
        self.assertEqual(found, [("alone", "alone.npy"), ("model.safetensors.index.json:x.0", "model.safetensors.index.json"),
                                 ("x.1", "model.safetensors.index.json"), ("x.0.npy:x.0", "x.0.npy")])
        os.mkdir(self.folder + "/empty")
        self.assertIn("a folder without files", run(self.folder + "/empty", code=2))

    def test_totals_sorting_and_patterns(self):
        arrays = {"layers.10.weight": np.zeros((4, 5), "f4"), "layers.2.weight": np.zeros((7, 5), "f8"),
                  "layers.2.bias": np.zeros(5, "f4"), "a[0]": np.zeros(300, "u1"), "a0": np.zeros(2, "u1")}
        path = os.path.join(self.folder, "a.npz")
        for save in (np.savez, np.savez_compressed):
            save(path, **arrays)
            for options in ([], ["--list"]):
                totals = parse(path, *options)["totals"]
                self.assertEqual((totals["arrays"], totals["elements"], totals["nbytes"]), (5, 362, 682))
                self.assertEqual(totals["dtypes"]["Float"], {"arrays": 2, "elements": 25, "nbytes": 100})
                self.assertIn("total       5 arrays, 362 parameters, 682 B\n", run(path, *options))
        names = lambda *options: [e["name"] for e in parse("-l", path, *options)["entries"]]
        self.assertEqual(names("--sort", "name"), ["a0", "a[0]", "layers.2.bias", "layers.2.weight", "layers.10.weight"])
        self.assertEqual(names("-s", "size")[:2], ["a[0]", "layers.2.weight"])
        self.assertEqual(names("--sort=dtype")[:2], ["a[0]", "a0"])
        self.assertEqual(names("-n", "layers.*.weight"), ["layers.10.weight", "layers.2.weight"])
        self.assertEqual(names("-n", "a[0]"), ["a[0]", "a0"])
        self.assertEqual(names("-n", "a?", "-n", "*"), ["a0"] + [n for n in arrays if n != "a0"])
        self.assertIn('nothing is named "b*"', run(path, "-n", "b*", code=2))
        self.assertEqual(parse("-d", path, path, "-n", "layers*"), [])

    def test_head(self):
        r = np.random.default_rng(6)
        array = r.integers(-2**63, 2**63 - 1, (3, 4, 5))
        for made in (array, np.asfortranarray(array), array.astype("u8"), array.astype("f4"), array > 0,
                     array[:, :0], array[0, 0, 0]):
            for count in (0, 1, 4, 7, 60, 100):
                about, = parse(self.save(made), "--head", count)["entries"]
                self.assertEqual(about["head"], np.ravel(made)[:count].tolist())
        self.assertEqual(parse(self.save(np.array([np.nan, 1])), "--head", 2)["entries"][0]["head"], [None, 1])
        self.assertIn(f"head        {{{array[0, 0, 0]}, {array[0, 0, 1]}}}\n", run(self.save(array), "--head", 2))
        path = os.path.join(self.folder, "a.npz")
        np.savez(path, a=np.arange(5), b=np.arange(5.0))
        self.assertRegex(run(path, "--head", 3), r"\{0, 1, 2\}")

    def test_tables_fit_the_terminal(self):
        arrays = {f"model.layers.{i}.self_attention.output_projection.weight": np.full((4, 5), i / 3, "f4") for i in range(3)}
        arrays["\u5c42" * 30] = np.array([np.nan, 1])
        path, other = os.path.join(self.folder, "a.npz"), os.path.join(self.folder, "b.npz")
        np.savez(path, **arrays)
        np.savez(other, **{n: a + 1 for n, a in list(arrays.items())[:2]})
        whole = run(path).splitlines()[2].split()
        for columns in (20, 40, 60, 80, 120, 200):
            for arguments in ([path], ["-l", path], ["-d", path, other], [path, "--head", "20"],
                              [path, "-n", "*.0.*"], [path, "-n", "*.0.*", "--head", "20"]):
                text, code = on_terminal(*arguments, columns=columns)
                self.assertEqual(code, 1 if "-d" in arguments else 0)
                lines = text.decode().replace("\r", "").splitlines()
                for line in lines if columns >= 60 else []:
                    self.assertLessEqual(columns_of(line), columns, line)
                if arguments != [path]:
                    continue
                heading = lines[2].split()
                self.assertLessEqual({"name", "dtype", "shape"}, set(heading))
                if columns >= 60:
                    self.assertIn("nan", heading)  # there is one
                    self.assertEqual("-inf" in heading, columns == 200)
                missing = text.decode().partition("not shown:")[2].partition("total")[0]
                for word in whole:
                    self.assertIn(word, heading + re.findall(r"[\w-]+", missing))
        self.assertIn("self_attention.output_projection", run(path))

    def test_the_summary_of_a_diff(self):
        path, other = os.path.join(self.folder, "a.npz"), os.path.join(self.folder, "b.npz")
        np.savez(path, a=np.arange(3), b=np.arange(3), c=np.zeros(2), o=np.array([None]))
        np.savez(other, a=np.arange(3), b=np.arange(3) + 1, d=np.zeros(2), o=np.array([None]))
        done = subprocess.run([PROGRAM, "-d", path, other], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("o: elements of dtype |O cannot be compared", done.stderr)
        self.assertEqual(done.stdout.splitlines()[-1],
                         "differ      1 of 3; cannot be compared: 1; only in the first: 1; only in the second: 1")
        self.assertEqual(len(done.stdout.splitlines()), 6)
        text = run("-d", path, other, "-n", "b", code=1)
        self.assertEqual(text.splitlines()[-1], "differ      1 of 1")
        self.assertEqual(run("-d", path, path, "-n", "b"), "")

    def test_the_manual_and_the_completions_have_every_option(self):
        options = set(re.findall(r"--[a-z]+", run("--help")))
        self.assertIn("--head", options)
        self.assertLess(max(map(len, run("--help").splitlines())), 80)

        def read(name):
            with open(os.path.join(SOURCE, name)) as file:
                return file.read()

        manual = read("tenon-inspect.1").replace("\\-", "-")
        self.assertEqual(set(re.findall(r"--[a-z]+", manual)), options)
        self.assertEqual(set(re.findall(r"--[a-z]+", read("completion.bash"))) - {"--"}, options)
        self.assertEqual(set(re.findall(r"--[a-z]+", read("completion.zsh"))), options)
        self.assertEqual({"--" + o for o in re.findall(r" -l ([a-z]+)", read("completion.fish"))}, options)
        for format_ in (".npz", ".gguf", ".pt", ".onnx"):
            self.assertIn(format_, run("--help"))
        if shutil.which("bash"):
            script = ('. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tenon_inspect; echo "${COMPREPLY[*]}"')
            complete = lambda *words: subprocess.run(
                ["bash", "-c", script, os.path.join(SOURCE, "completion.bash"), "tenon-inspect", *words],
                capture_output=True, text=True, cwd=self.folder, check=True).stdout.strip()
            self.assertEqual(complete("--so"), "--sort")
            self.assertEqual(complete("--sort", ""), "name size dtype")
            self.save(np.zeros(3), "some file.npy")
            self.assertEqual(complete("so"), "some file.npy")
            self.assertEqual(set(complete("-").split()), options)
        if shutil.which("man") and shutil.which("groff"):
            done = subprocess.run(["man", "--warnings", "-l", os.path.join(SOURCE, "tenon-inspect.1")],
                                  capture_output=True, text=True, env={**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8"})
            self.assertEqual(done.stderr, "")

    # A promise of docs/guarantees.md.
    def test_names_reach_no_terminal_raw(self):
        path = os.path.join(self.folder, "a.npz")
        names = ["\x1b[2J", "\x9b31m", "\u202egnp.exe", "\x07\x7f", "a\nb", "\u0434"]
        with zipfile.ZipFile(path, "w") as file:
            for name in names:
                with file.open(name + ".npy", "w") as entry:
                    np.lib.format.write_array(entry, np.arange(2))
        text = run(path)
        for shown in ("\\u001b[2J", "\\u009b31m", "\\u202egnp.exe", "\\u0007\\u007f", "a\\u000ab", "\u0434"):
            self.assertIn(shown, text)
        text = run("--json", path) + text.replace("\u0434", "")
        self.assertTrue(all(c == "\n" or " " <= c <= "~" for c in text), repr(text))
        self.assertEqual([e["name"] for e in parse(path)["entries"]], names)
        raw, code = on_terminal(path)
        self.assertEqual(code, 0)
        self.assertNotIn(b"\x1b", raw)
        self.assertNotIn(b"\x1b", run(path, "-n", "\x1b[31mx", code=2).encode())

    def test_pictures(self):
        y, x = np.mgrid[0:21, 0:34]
        colors = np.stack([x * 7, y * 12, (x * y) % 256], -1).astype("u1")
        png = os.path.join(self.folder, "a.png")
        run(self.save(colors), "--png", png)
        np.testing.assert_array_equal(read_png(png), colors)
        run(self.save(colors.transpose(2, 0, 1).copy()), "--png", png)  # channels first
        np.testing.assert_array_equal(read_png(png), colors)
        run(self.save(np.stack([colors, 0 * colors])), "--png", png)  # the first of two
        np.testing.assert_array_equal(read_png(png), colors)
        alpha = np.concatenate([colors, colors[:, :, :1]], -1)
        run(self.save(alpha), "--png", png)
        np.testing.assert_array_equal(read_png(png), colors)

        shades = np.linspace(-2, 3, 12).reshape(3, 4).astype("f4")
        run(self.save(shades), "--png", png)
        grey = np.rint((shades + 2) / 5 * 255)
        self.assertLessEqual(np.abs(read_png(png) - grey[:, :, None]).max(), 1)
        shades[1, 2] = np.nan
        run(self.save(shades), "--png", png)
        np.testing.assert_array_equal(read_png(png)[1, 2], [255, 0, 0])

        large = 2**62 + np.arange(6).reshape(1, 6)
        for array in (large, large.astype("u8") + np.uint64(2**63 - 2**62), -large):
            run(self.save(array), "--png", png)
            span = array - array.min()
            grey = np.rint(span.astype("f8") / 5 * 255)
            np.testing.assert_array_equal(read_png(png), np.repeat(grey[:, :, None], 3, 2))
            self.assertIn(f"{array.min()} is black, {array.max()} white", run(self.save(array), "--picture"))
        limits = np.array([[-2**63, 2**63 - 1]])
        run(self.save(limits), "--png", png)
        np.testing.assert_array_equal(read_png(png)[0, :, 0], [0, 255])
        self.assertIn("real numbers", run(self.save(np.ones((2, 2), "c8")), "--png", png, code=2))
        run(self.save(shades), "--png", png)

        os.chmod(png, 0o640)
        os.symlink("a.png", self.folder + "/link.png")
        long = self.folder + "/" + "x" * 251 + ".png"
        run(self.save(shades), "--png", self.folder + "/link.png")
        run(self.save(shades), "--png", long)
        self.assertEqual(os.stat(png).st_mode & 0o777, 0o640)
        self.assertTrue(os.path.islink(self.folder + "/link.png"))
        before = read_png(png)
        self.assertIn("rows and columns", run(self.save(np.zeros(3)), "--png", png, code=2))
        np.testing.assert_array_equal(read_png(png), before)
        self.assertIn("cannot be written", run(self.save(shades), "--png", self.folder + "/no/a.png", code=2))
        self.assertEqual(len(os.listdir(self.folder)), 4)

    def test_a_picture_has_colors_on_a_terminal_and_characters_in_a_pipe(self):
        path = self.save(np.array([[0, 255, 0], [255, 0, 0], [0, 0, 255]], "u1"))
        lines = run(path, "--picture").splitlines()
        self.assertEqual(lines[-3:-1], [" @ ", "  @"])  # every second row: characters are tall
        text, code = on_terminal(path, "--picture")
        self.assertEqual(code, 0)
        half = "\u2580".encode()
        self.assertEqual(text.count(half), 6)
        self.assertIn(b"\x1b[38;2;0;0;0m\x1b[48;2;255;255;255m" + half, text)
        wide, _ = on_terminal(self.save(np.zeros((2, 1000), "u1")), "--picture")
        self.assertEqual(wide.count(half), 40)

    def test_diff(self):
        a = np.arange(12.0).reshape(3, 4)
        b = a.copy()
        b[1, 2] += 0.5
        b[2, 3] -= 2
        one, two = self.save(a), self.save(b, "b.npy")
        self.assertEqual(run("--diff", one, one), "")
        found, = parse("--diff", one, two, code=1)
        self.assertEqual((found["what"], found["a"], found["b"]), ("values", 6, 6.5))
        self.assertEqual((found["first"], found["count"], found["of"], found["largest"]), ([1, 2], 2, 12, 2))
        self.assertIn("{1, 2}", run("-d", one, two, code=1))
        self.assertEqual(parse("--diff", one, two, "--atol", 1, code=1)[0]["count"], 1)
        self.assertEqual(parse("--diff", one, two, "--atol", 2), [])
        self.assertEqual(parse("--diff", one, two, "--rtol", 0.3), [])
        self.assertEqual(parse("-d", one, self.save(a.astype("f4"), "c.npy"), code=1)[0]["what"], "dtype")
        self.assertEqual(parse("-d", one, self.save(a.astype("f4"), "c.npy"), "--rtol", 1e-6), [])
        self.assertEqual(parse("-d", one, self.save(a.T, "c.npy"), code=1)[0]["what"], "shape")
        self.assertEqual(parse("-d", one, self.save(np.asfortranarray(a), "c.npy")), [])
        a[0, 0] = b[0, 0] = np.nan
        self.assertEqual(parse("-d", self.save(a), two, code=1)[0]["first"], [0, 0])
        self.assertEqual(parse("-d", self.save(a), self.save(a, "b.npy")), [])
        large = np.zeros(5_000_000, "f4")
        other = large.copy()
        other[[7, 4_999_999]] = 1
        found, = parse("-d", self.save(large), self.save(other, "b.npy"), code=1)
        self.assertEqual((found["first"], found["count"]), ([7], 2))

        for path, arrays in (("p.npz", {"x": a, "y": b}), ("q.npz", {"z": b, "x": a})):
            np.savez(os.path.join(self.folder, path), **arrays)
        p, q = os.path.join(self.folder, "p.npz"), os.path.join(self.folder, "q.npz")
        self.assertEqual([(d["name"], d["what"]) for d in parse("-d", p, q, code=1)],
                         [("y", "only in " + p), ("z", "only in " + q)])
        self.assertEqual(parse("-d", p, q, "-n", "x"), [])

    def test_diff_of_integers_is_exact(self):
        for x, y in ((1234567, 1234568), (2**60, 2**60 + 1), (-2**63, 2**63 - 1), (-5, 3),
                     (np.uint64(2**64 - 1), np.uint64(2**64 - 2)), (np.uint64(2**64 - 1), np.uint64(0))):
            one, two = self.save(np.array([x])), self.save(np.array([y]), "b.npy")
            found, = parse("-d", one, two, code=1)
            self.assertEqual((found["a"], found["b"], found["largest"]), (x, y, abs(int(x) - int(y))))
            row = run("-d", one, two, code=1).splitlines()[1].split()
            self.assertEqual((row[2], row[3], row[-1]), (str(x), str(y), str(abs(int(x) - int(y)))))
        one = self.save(np.array([2**62, 7]))
        two = self.save(np.array([2**62 + 1, 2**64 - 1], "u8"), "b.npy")
        found, = parse("-d", one, two, "--atol", 0.5, code=1)
        self.assertEqual((found["count"], found["first"], found["largest"]), (2, [0], 2**64 - 8))
        self.assertEqual(parse("-d", one, two, "--atol", 1, code=1)[0]["count"], 1)
        below = self.save(np.array([-2**63, -1]), "c.npy")
        found, = parse("-d", below, two, "--rtol", 0.1, code=1)
        self.assertEqual((found["count"], found["largest"]), (2, 2**64))

    def test_diff_is_numpys_of_every_dtype(self):
        r = np.random.default_rng(3)
        for code in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", ">i8", ">f4"):
            a = r.integers(0, 2, 200_000).astype(code)
            b = r.integers(0, 2, 200_000).astype(code)
            if a.dtype.kind in "fc":
                a[[3, 70_000]] = np.nan, np.inf
                b[[3, 100_000]] = np.nan, -np.inf
            found, = parse("-d", self.save(a), self.save(b, "b.npy"), code=1)
            differ = ~((a == b) | (np.isnan(a) & np.isnan(b)))
            first = int(differ.argmax())
            self.assertEqual((found["count"], found["first"], found["largest"]), (differ.sum(), [first], 1), code)
            self.assertEqual((found["a"], found["b"]), (a[first], b[first]))
        tiny, huge = np.array([5e-324]), np.array([1.7e308])
        self.assertEqual(len(parse("-d", self.save(tiny), self.save(0 * tiny, "b.npy"), code=1)), 1)
        self.assertEqual(parse("-d", self.save(huge), self.save(-huge, "b.npy"), "--rtol", 2), [])
        self.assertEqual(len(parse("-d", self.save(huge), self.save(-huge, "b.npy"), "--rtol", 1.9, code=1)), 1)

    def test_trouble_is_2_and_help_0(self):
        self.assertIn("--diff", run("--help"))
        self.assertRegex(run("--version"), r"^\d+\.\d+\.\d+\n$")
        path = self.save(np.zeros(3))
        for arguments in ([], ["--bins", "-1", path], ["--unknown", path], [path, path], ["-d", path],
                          [self.folder + "/none.npy"], [__file__], ["-d", path, self.folder + "/none.npy"],
                          ["-d", path, path, "--atol", "-1"], [path, "--rtol", "0.1"], [path, "--atol", "0.1"],
                          ["-d", path, path, "--png", self.folder + "/a.png"], ["-d", path, path, "--picture"],
                          ["-d", path, path, "--bins", "3"], ["-d", path, path, "--list"],
                          ["--list", "--bins", "3", path], ["--json", "--picture", path], [""]):
            with self.subTest(arguments):
                done = subprocess.run([PROGRAM, *arguments], capture_output=True)
                self.assertEqual(done.returncode, 2)
                self.assertTrue(done.stderr)
                self.assertEqual(done.stdout, b"")
        self.assertIn(".npy, .npz, .safetensors", run(__file__, code=2))
        with open(path, "r+b") as file:
            file.truncate(140)
        self.assertIn(f"tenon-inspect: {path}: sizes {{3}} of Double need 24 bytes", run(path, code=2))

    def test_a_reader_that_goes_and_a_full_disk(self):
        path = os.path.join(self.folder, "a.npz")
        np.savez(path, **{f"array{i}": np.arange(3) for i in range(3000)})
        for ignored in (False, True):  # SIGPIPE
            program = subprocess.Popen([PROGRAM, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       restore_signals=not ignored)
            program.stdout.readline()
            program.stdout.close()
            self.assertEqual(program.stderr.read(), b"")
            program.stderr.close()
            self.assertEqual(program.wait(), 2 if ignored else -13)
        if os.path.exists("/dev/full"):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([PROGRAM, path], stdout=full, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 2)
            self.assertIn(b"No space left", done.stderr)


if __name__ == "__main__":
    unittest.main()
