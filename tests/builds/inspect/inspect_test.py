# SPDX-License-Identifier: MIT
"""tenon-inspect as a user runs it: in pipes, on a terminal, over files that NumPy wrote."""

import json
import os
import pty
import re
import struct
import subprocess
import tempfile
import unittest
import zipfile
import zlib

import numpy as np

PROGRAM = os.environ["TENON_INSPECT"]
MODELS = os.environ["TENON_MODELS"]
WITH = os.environ["TENON_WITH"].split(",")


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


def on_terminal(*arguments):
    """What it writes to a terminal of 40 columns."""
    import fcntl
    import termios

    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
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


class InspectTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

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

    def test_complex_arrays_have_two_parts(self):
        array = np.array([1 + 2j, 3 - 4j, np.nan + 1j], "c8")
        about, = parse(self.save(array))["entries"]
        self.check_statistics(about["real"], array.real)
        self.check_statistics(about["imaginary"], array.imag)

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
                self.assertEqual([n for n, e in found.items() if "in file" in e], ["big"])
                self.assertEqual(found["big"]["in file"], ">f4")
                self.assertRegex(run(path, *options), r"array +texts +<U3 +\{2\}")
        for name, array in arrays.items():
            one = self.save(array)
            self.assertIn(f"  shape       {{{', '.join(map(str, array.shape))}}}\n", run(one))
            if name == "texts":
                self.assertIn("  dtype       <U3\n", run("--list", one))
                self.assertIn("a picture needs numbers", run(one, "--png", self.folder + "/a.png", code=2))

    def test_a_list_unpacks_nothing(self):
        path = os.path.join(self.folder, "a.npz")
        np.savez_compressed(path, a=np.zeros(300_000_000, "u1"))
        for arguments in (["--list", path], ["--json", "--list", path]):
            process = subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(process.returncode, 0)
            self.assertLess(usage.ru_maxrss, 100_000)
        about, = parse("--list", path)["entries"]
        self.assertEqual((about["shape"], about["note"]), ([300_000_000], "deflated"))
        about, = parse("--list", self.save(np.arange(3, dtype=">f4")))["entries"]
        self.assertEqual((about["shape"], about["note"], about["in file"]), ([3], "copied", ">f4"))
        self.assertNotIn("strides", about)  # it was not read

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

    def test_safetensors_of_its_own_library(self):
        try:
            from safetensors.numpy import save_file
        except ImportError:
            self.skipTest("safetensors: not fetched (scripts/partners.sh safetensors)")
        path = os.path.join(self.folder, "a.safetensors")
        array = np.random.default_rng(2).normal(size=(5, 6)).astype("f4")
        save_file({"x": array}, path, {"k": "v"})
        self.check_statistics(parse(path)["entries"][0]["statistics"], array)

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
        if "onnxruntime" in WITH:
            first, second = parse(os.path.join(MODELS, "double_batch.onnx"))["entries"]
            self.assertEqual((first["role"], first["name"]), ("input", "forward.image"))
            self.assertEqual(second["shape"], ["batch", 8])
        else:
            self.assertIn("formats that this program was built for", run("a.onnx", code=2))

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

    def test_names_in_utf8_are_shown_as_they_are_and_columns_meet(self):
        path = os.path.join(self.folder, "a.npz")
        names = ["gewicht_\u00e4", "\u5c42.0.\u91cd\u307f", "e\u0301", "\U0001f600", "a\\b", 'q"q']
        np.savez(path, **{name: np.arange(2) for name in names})
        rows = run(path).splitlines()[2:]
        wide = {"\u5c42": 2, "\u91cd": 2, "\u307f": 2, "\U0001f600": 2, "\u0301": 0}
        for row, name in zip(rows[1:], names):
            self.assertIn("  " + name + " ", row)
            before = row[:row.index("Long")]
            self.assertEqual(sum(wide.get(c, 1) for c in before), rows[0].index("dtype"), row)
        self.assertIn(f"nothing is named \"\u00e4\"", run(path, "-n", "\u00e4", code=2))
        with open(path, "rb") as file:
            data = file.read().replace("gewicht_\u00e4".encode(), b"gewicht_\xff\xfe")
        with open(path, "wb") as file:
            file.write(data)
        self.assertIn("gewicht_\\ufffd\\ufffd ", run(path))

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

    def test_diff_shows_doubles_that_differ_as_different(self):
        one, two = self.save(np.array([1 + 1e-12])), self.save(np.array([1 + 2e-12]), "b.npy")
        row = run("-d", one, two, code=1).splitlines()[1].split()
        self.assertEqual((float(row[2]), float(row[3])), (1 + 1e-12, 1 + 2e-12))
        self.assertIn(" 6 ", run("-d", self.save(np.array([6.0])), two, code=1))

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

    def test_diff_of_arrays_that_differ_everywhere_is_one_pass(self):
        x = np.arange(3_000_000, dtype="f4")
        one, two = self.save(x), self.save(x + 1, "b.npy")

        def seconds(*arguments):
            best = 1e9
            for _ in range(3):
                process = subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.DEVNULL)
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                best = min(best, usage.ru_utime)
            return best

        # Against one pass of the same program: by halves it was a hundred times as long.
        self.assertLess(seconds("--diff", one, two), 10 * seconds("--bins", "0", one) + 0.05)

    def test_diff_of_dtypes_that_tenon_lacks(self):
        texts = np.array([["a", "bc"], ["d", "e"]])
        other = texts.copy()
        other[1, 0] = "x"
        for save in (np.savez, np.savez_compressed):
            one, two = (os.path.join(self.folder, name) for name in ("p.npz", "q.npz"))
            save(one, t=texts, p=np.zeros(2, "i4,f4"))
            save(two, t=other, p=np.zeros(2, "i4,f4"))
            self.assertEqual(parse("-d", one, one), [])
            found, = parse("-d", one, two, code=1)
            self.assertEqual((found["name"], found["first"], found["count"], found["of"]), ("t", [1, 0], 1, 4))
        one, two = self.save(texts), self.save(other, "b.npy")
        self.assertEqual(parse("-d", one, two, code=1)[0]["first"], [1, 0])
        self.assertEqual(parse("-d", one, self.save(texts.astype("U9"), "b.npy"), code=1)[0]["what"], "dtype")
        objects = self.save(np.array([None]))
        self.assertIn("elements of dtype |O cannot be compared", run("-d", objects, objects, code=2))

    def test_files_of_other_kinds_are_named(self):
        for name in ("a.npy", "a.npz", "a.safetensors", "a.bin"):
            path = os.path.join(self.folder, name)
            with open(path, "wb") as file:
                file.write(b"GGUF\3\0\0\0" + bytes(100))
            self.assertIn(f"{path}: a GGUF file; ", run(path, code=2))

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

    def test_a_bar_on_a_terminal_for_much_and_none_in_a_pipe(self):
        path = os.path.join(self.folder, "a.npy")
        np.lib.format.open_memmap(path, "w+", "f4", (12_000_000,)).flush()  # 48 MB of nothing
        text, code = on_terminal(path)
        self.assertEqual(code, 0)
        self.assertIn(b"] 100 %\r\x1b[K", text)
        self.assertEqual(subprocess.run([PROGRAM, path], capture_output=True).stderr, b"")
        text, _ = on_terminal(self.save(np.zeros(100_000)))
        self.assertNotIn(b"%", text)


if __name__ == "__main__":
    unittest.main()
