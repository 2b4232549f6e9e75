# SPDX-License-Identifier: MIT
"""interop/torch_file.h against PyTorch: test_torch_file.py PROGRAM, which is files.cpp."""

import argparse
import collections
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

import torch
from torch._weights_only_unpickler import _get_allowed_globals

PROGRAM = sys.argv.pop(1)
DTYPES = ("uint8 int8 int16 int32 int64 float16 float32 float64 bfloat16 complex32 complex64 complex128 bool uint16 "
          "uint32 uint64 float8_e5m2 float8_e4m3fn float8_e5m2fnuz float8_e4m3fnuz float8_e8m0fnu float4_e2m1fn_x2 "
          "bits8").split()
FORMS = [{"pickle_protocol": protocol, "_use_new_zipfile_serialization": is_zip}
         for protocol in (2, 3, 4, 5) for is_zip in (True, False)]


def run(command, path):
    done = subprocess.run([PROGRAM, command, path], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise AssertionError(done.stderr)
    return done.stdout.splitlines()


def join(numbers):
    return ",".join(map(str, numbers))



class TorchFileTest(unittest.TestCase):
    def setUp(self):
        self.held = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.held.name) / "a.pt"
        self.addCleanup(self.held.cleanup)

    def check(self, tensors):
        """The file has these tensors, as torch.load gives them."""
        lines = run("list", self.path)
        self.assertEqual(len(lines), len(tensors), lines[:2])
        storages = {}
        for line, (name, tensor) in zip(lines, tensors.items()):
            found = line.split("|")
            elements = tensor.detach().contiguous()
            raw = bytes(elements.reshape(-1).view(torch.uint8).tolist()) if elements.numel() else b""
            dtype = str(tensor.dtype).replace("torch.", "")
            self.assertEqual(found[:4], [name, dtype, join(tensor.shape), join(tensor.stride())])
            self.assertEqual(found[5], str(int(tensor.requires_grad)), name)
            self.assertEqual(found[7], raw.hex(), name)
            self.assertEqual(storages.setdefault(tensor.untyped_storage()._cdata, found[4]), found[4], name)

    def test_checkpoint(self):
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.25)
        model(torch.ones(2, 3)).sum().backward()
        optimizer.step()
        values = {"epoch": 7, "name": "é", "none": None, "flags": [True, False], "least": -2**63, "most": 2**63 - 1,
                  "bytes": b"\x00\xff\x80a", "array": bytearray(b"12\xfe"), "dtype": torch.float16,
                  "device": torch.device("cuda:1"), "size": torch.Size([3, 4]), "mixed": [1, "a", None],
                  "reals": (1, 2.5), "names": ["a", "é"], "set": {3}, "counter": collections.Counter("aab"),
                  "args": argparse.Namespace(lr=0.5, layers=[1, 2]), "default": collections.defaultdict(list, k=[1])}
        wanted = ["epoch|7", "name|c3a9", "none|None", "flags|10", f"least|{-2**63}", f"most|{2**63 - 1}",
                  "bytes|00ff8061", "array|3132fe", "dtype|" + b"torch.float16".hex(), "device|" + b"cuda:1".hex(),
                  "size|[3,4]", "mixed.0|1", "mixed.1|61", "mixed.2|None", "reals|1,2.5,", "names|a,é,", "set|[3]",
                  "counter.a|2", "counter.b|1", "args.lr|0.5", "args.layers|[1,2]", "default.k|[1]"]
        tensors = {"model." + name: tensor for name, tensor in model.state_dict().items()}
        for i, state in optimizer.state_dict()["state"].items():
            for name, tensor in state.items():
                tensors[f"optimizer.state.{i}.{name}"] = tensor
        for form in FORMS:
            with self.subTest(**form):
                torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), **values}, self.path,
                           **form)
                self.check(tensors)
                lines = run("values", self.path)
                self.assertEqual([line for line in lines if not line.startswith("optimizer.")], wanted)
                self.assertIn("optimizer.param_groups.0.lr|0.25", lines)
                self.assertIn("optimizer.param_groups.0.params|[0,1,2,3]", lines)

    def test_parameters_and_tensors_with_attributes(self):
        tensor = torch.ones(2)
        tensor.tag = 5
        parameter = torch.nn.Parameter(torch.zeros(3))
        parameter.tag = "x"
        made = {"tensor": tensor, "parameter": torch.nn.Parameter(torch.ones(2)), "tagged": parameter,
                "frozen": torch.nn.Parameter(torch.ones(2), requires_grad=False)}
        for form in FORMS:
            torch.save(made, self.path, **form)
            self.check(made)

    def test_a_tensor_alone_and_lists(self):
        torch.save(torch.ones(3), self.path)
        self.check({"": torch.ones(3)})
        whole = torch.ones(2, 2)
        torch.save([whole, (whole.t(),)], self.path)
        self.check({"0": whole, "1.0": whole.t()})

    def test_what_is_refused_by_tensor(self):
        ones = torch.eye(3)
        torch.save({"coo": ones.to_sparse(), "csr": ones.to_sparse_csr(),
                    "quantized": torch.quantize_per_tensor(ones, 0.1, 0, torch.qint8),
                    "meta": torch.empty(2, device="meta"), "conj": torch.ones(2, dtype=torch.complex64).conj(),
                    "nested": torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), "good": ones}, self.path)
        lines = run("list", self.path)
        for line, word in zip(lines, ["sparse", "sparse", "quantized", "meta", "conjugated", "nested"]):
            self.assertIn(word, line)
        self.assertTrue(lines[6].startswith("good|float32|3,3|3,1|"))

    def test_what_is_refused_by_file(self):
        torch.save(torch.nn.Linear(2, 3), self.path)
        self.assertIn("makes a `torch.nn.modules.linear.Linear`", run("list", self.path)[0])
        import numpy
        torch.save({"a": numpy.ones(3)}, self.path)
        self.assertRegex(run("list", self.path)[0], r"numpy\._?core\.multiarray\._reconstruct` \(byte \d+\)")
        torch.jit.save(torch.jit.script(torch.nn.Linear(2, 3)), str(self.path))
        self.assertIn("a TorchScript archive", run("list", self.path)[0])
        program = torch.export.export(torch.nn.Linear(2, 3), (torch.ones(1, 2),))
        exported = self.path.with_suffix(".pt2")
        torch.export.save(program, exported)
        self.assertIn("a program of torch.export", run("list", exported)[0])

    def test_what_weights_only_allows_is_known(self):
        refused = {"torch._utils._rebuild_device_tensor_from_numpy"}  # of a NumPy array, which weights_only refuses
        wrong = set()
        for name in _get_allowed_globals():
            module, _, attribute = name.rpartition(".")
            with zipfile.ZipFile(self.path, "w", zipfile.ZIP_STORED) as file:
                file.writestr("a/data.pkl", f"\x80\x02c{module}\n{attribute}\n.".encode("latin1"))
            if f"makes a `{name}`" in "".join(run("list", self.path)):
                wrong.add(name)
        self.assertEqual(wrong, refused)

    def test_dtypes_without_tensors_beside_weights(self):
        for form in FORMS:
            torch.save({"w": torch.ones(2), "dt": torch.int4, "kind": torch.sparse.FloatTensor}, self.path, **form)
            self.check({"w": torch.ones(2)})
            self.assertIn("dt|" + b"torch.int4".hex(), run("values", self.path))

    def test_big_endian_file(self):
        made = {"short": torch.tensor([1, 258], dtype=torch.int16), "byte": torch.tensor([7], dtype=torch.uint8)}
        torch.save(made, self.path)
        swapped = io.BytesIO()
        with zipfile.ZipFile(self.path) as old, zipfile.ZipFile(swapped, "w", zipfile.ZIP_STORED) as new:
            for name in old.namelist():
                data = old.read(name)
                if name.endswith("/byteorder"):
                    data = b"big"
                elif name.endswith("data/0"):
                    data = bytes([data[1], data[0], data[3], data[2]])
                new.writestr(name, data)
        self.path.write_bytes(swapped.getvalue())
        self.check(made)


if __name__ == "__main__":
    unittest.main()
