# SPDX-License-Identifier: MIT
"""interop/torch_file.h against PyTorch, both ways: test_matrix.py PROGRAM, which is matrix.cpp."""

import collections
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings
import zlib

import torch

PROGRAM = sys.argv.pop(1) if __name__ == "__main__" else None
warnings.filterwarnings("ignore")

NAMES = {
    torch.uint8: "Byte", torch.int8: "Char", torch.int16: "Short", torch.int32: "Int", torch.int64: "Long",
    torch.float16: "Half", torch.float32: "Float", torch.float64: "Double", torch.complex32: "ComplexHalf",
    torch.complex64: "ComplexFloat", torch.complex128: "ComplexDouble", torch.bool: "Bool",
    torch.bfloat16: "BFloat16", torch.float8_e5m2: "Float8_e5m2", torch.float8_e4m3fn: "Float8_e4m3fn",
    torch.float8_e5m2fnuz: "Float8_e5m2fnuz", torch.float8_e4m3fnuz: "Float8_e4m3fnuz", torch.uint16: "UInt16",
    torch.uint32: "UInt32", torch.uint64: "UInt64",
}
ZIP = {}
LEGACY = {"_use_new_zipfile_serialization": False}


def run(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout.splitlines()


def flatten(value, prefix=""):
    """The tensors in what was saved, by the names that TorchFile gives them."""
    if isinstance(value, torch.Tensor):
        yield prefix, value
    elif isinstance(value, (dict, list, tuple)):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            yield from flatten(inner, f"{prefix}.{key}" if prefix else str(key))


def row_major(tensor):
    """The elements' bytes. By a copy of integers: some dtypes have no copy."""
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if tensor.dtype == torch.complex32:
        tensor = torch.view_as_real(tensor)
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy()


def compare_file(program, path, saved):
    """Compares names, dtypes, sizes, strides, storages and bytes. Returns the number of tensors."""
    wanted = dict(flatten(saved))
    read = {}
    for line in run(program, "list", path):
        name, *rest = line.split(" ")
        read[bytes.fromhex(name).decode()] = rest
    if set(read) != set(wanted):
        raise AssertionError(f"names: {sorted(set(read) ^ set(wanted))[:6]}")
    places = {}
    for name, tensor in wanted.items():
        dtype, sizes, strides, address, checksum = read[name]
        elements = row_major(tensor)
        expected = [NAMES[tensor.dtype], ",".join(map(str, tensor.shape)), str(zlib.crc32(elements))]
        if [dtype, sizes, checksum] != expected:
            raise AssertionError(f"{name}: {[dtype, sizes, checksum]}, expected {expected}")
        if tensor.numel() == 0:
            continue
        for size, theirs, ours in zip(tensor.shape, tensor.stride(), strides.split(",")):
            if size > 1 and theirs != int(ours):
                raise AssertionError(f"{name}: strides {strides}, expected {tensor.stride()}")
        if address == "0":  # of a storage at an odd place, which only the old form has
            continue
        # Tensors over one storage stay so: their distance is that in the storage.
        storage = tensor.untyped_storage().data_ptr()
        offset = int(address) - tensor.data_ptr()
        if places.setdefault(storage, offset) != offset:
            raise AssertionError(f"{name}: not over the storage that it shares with others")
    return len(wanted)


def values(dtype):
    """A matrix of a dtype, of different numbers."""
    numbers = torch.arange(24) % 7 - (3 if dtype.is_signed else 0)
    if dtype.is_complex:
        return (numbers + 1j * (numbers * 2)).to(dtype).reshape(4, 6)
    return numbers.to(dtype).reshape(4, 6)


def layouts(matrix):
    return {
        "contiguous": matrix,
        "transposed": matrix.t(),
        "expanded": matrix[:1].expand(3, 6),
        "expanded_front": matrix.expand(2, 4, 6),
        "slice": matrix[1:4:2, 2::3],
        "column": matrix[:, 3],
        "scalar": matrix[2, 1],
        "empty": matrix[:0],
        "empty_column": matrix[:, 6:],
        "windows": matrix.as_strided((5, 3), (2, 1), 1),
        "channels_last": matrix.reshape(1, 2, 3, 4).as_strided((1, 2, 3, 4), (24, 1, 8, 2)),
        "one": matrix.reshape(4, 1, 6),
    }


class TorchFileTest(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        self.path = self.folder / "x.pt"

    def check_saved(self, saved, **options):
        torch.save(saved, self.path, **options)
        return compare_file(PROGRAM, self.path, saved)

    # A promise of docs/guarantees.md.
    def test_every_dtype_layout_and_protocol(self):
        count = 0
        for protocol in range(2, 6):
            for form in ZIP, LEGACY:
                for dtype in NAMES:
                    with self.subTest(dtype, protocol=protocol, **form):
                        try:
                            torch.save(values(dtype), self.path, pickle_protocol=protocol, **form)
                        except (KeyError, RuntimeError):  # PyTorch's old form has not all
                            self.assertEqual(form, LEGACY)
                            continue
                        count += self.check_saved(layouts(values(dtype)), pickle_protocol=protocol, **form)
                        # Each with a storage for itself.
                        apart = {name: layouts(values(dtype))[name] for name in layouts(values(dtype))}
                        count += self.check_saved(apart, pickle_protocol=protocol, **form)
        self.assertGreater(count, 20 * 12 * 4 * 2)

    # A promise of docs/guarantees.md.
    def test_shared_storages(self):
        base = torch.arange(20.0)
        other = torch.randn(3)
        shared = {"base": base, "tail": base[10:], "odd": base[1::2], "matrix": base.reshape(4, 5).t(),
                  "other": other, "again": other, "bits": base.view(torch.float32)[3]}
        for form in ZIP, LEGACY:
            for protocol in range(2, 6):
                self.assertEqual(self.check_saved(shared, pickle_protocol=protocol, **form), len(shared))
        shared["bits"] = base.view(torch.int32)  # PyTorch refuses two dtypes of one storage
        with self.assertRaises(RuntimeError):
            torch.save(shared, self.path)

    # A promise of docs/guarantees.md.
    def test_written_files_are_read(self):
        for dtype in NAMES:
            wanted = layouts(values(dtype))
            theirs, ours = self.folder / "theirs.pt", self.folder / "ours.pt"
            torch.save(wanted, theirs)
            run(PROGRAM, "copy", theirs, ours)
            for options in {"weights_only": True}, {"weights_only": True, "mmap": True}, {"weights_only": False}:
                with self.subTest(dtype, **options):
                    read = torch.load(ours, **options)
                    self.assertIs(type(read), collections.OrderedDict)
                    self.assertEqual(list(read), list(wanted))
                    for name, tensor in wanted.items():
                        self.assertEqual(read[name].dtype, dtype)
                        self.assertEqual(read[name].shape, tensor.shape)
                        self.assertEqual(row_major(read[name]).tobytes(), row_major(tensor).tobytes(), name)
                        self.assertEqual(read[name].data_ptr() % 64, 0)
            # Dense ones keep their strides, and one memory is one storage.
            self.assertEqual(read["transposed"].stride(), wanted["transposed"].stride())
            self.assertEqual(read["channels_last"].stride()[1:], wanted["channels_last"].stride()[1:])
            self.assertEqual(read["transposed"].data_ptr(), read["contiguous"].data_ptr())
            compare_file(PROGRAM, ours, read)


if __name__ == "__main__":
    unittest.main()
