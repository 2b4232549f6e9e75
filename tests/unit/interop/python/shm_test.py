# SPDX-License-Identifier: MIT
"""Tensors in shared memory, seen by multiprocessing.shared_memory and NumPy: with the code of
docs/distributed.md."""

import array
import gc
import os
import pathlib
import re
import socket
import subprocess
import sys
import textwrap
import unittest

import numpy as np
import tenon_test_module as m

from support import Case

DOCUMENT = pathlib.Path(__file__).parents[4] / "docs" / "distributed.md"
CODE = re.search(r"^```python\n(.*?)^```$", DOCUMENT.read_text(encoding="utf-8"),
                 re.MULTILINE | re.DOTALL).group(1)
documented = {}
exec(CODE, documented)  # pylint: disable=exec-used
attach, tensor_array = documented["attach"], documented["tensor_array"]
map_descriptor = documented["map_descriptor"]

# Arguments behind the document's code: the name.
MAIN = "\nimport sys\nname = sys.argv[1]\n"


def run(code, *arguments, **keywords):
    """Runs a program of the document's code and this in another process."""
    return subprocess.run([sys.executable, "-c", CODE + MAIN + textwrap.dedent(code), *arguments],
                          check=True, capture_output=True, text=True, timeout=120, **keywords)


class SharedMemory(Case):
    def setUp(self):
        super().setUp()
        self.name = f"tenon-test-py-{os.getpid()}"

    def tearDown(self):
        gc.collect()
        self.assertFalse(self.exists(), "the name is left")
        super().tearDown()

    def exists(self):
        return os.path.exists("/dev/shm/" + self.name)

    def create(self, *arguments):
        return m.shm_create("/" + self.name, *arguments)[0]

    def test_another_process_reads_and_writes_the_same_bytes(self):
        tensor = self.create((2, 3), "float32", ())
        m.fill(tensor, 7)
        run("""
            shm = attach(name)
            array = tensor_array(shm.buf)
            assert array.shape == (2, 3) and array.dtype == np.float32, array
            assert (array == 7).all() and array.flags.c_contiguous
            array[1, 2] = -1
            del array
            shm.close()
            """, self.name)
        self.assertEqual(memoryview(tensor).tolist(), [[7, 7, 7], [7, 7, -1]])
        self.assertTrue(self.exists(), "attaching has removed the name")

    def test_strides_numbers_and_no_elements(self):
        for shape, strides, expected in (((2, 3), (1, 2), (4, 8)), ((2, 3), (8, 1), (32, 4)),
                                         ((), (), ()), ((0, 3), (), (12, 4))):
            with self.subTest(shape):
                tensor = self.create(shape, "int32", strides)
                shm = attach(self.name)
                seen = tensor_array(shm.buf)
                self.assertEqual((seen.shape, seen.strides), (shape, expected))
                if seen.size:
                    seen[...] = np.arange(seen.size).reshape(shape)
                self.assertEqual(np.asarray(tensor).tolist(), seen.tolist())
                del seen, tensor
                shm.close()

    def test_python_keeps_the_memory_and_not_the_name(self):
        tensor = self.create((3,), "int32", ())
        m.fill(tensor, 4)
        shm = attach(self.name)
        seen = tensor_array(shm.buf)
        del tensor
        gc.collect()
        self.assertFalse(self.exists())
        self.assertEqual(seen.tolist(), [4, 4, 4])
        del seen
        shm.close()

    def test_a_lock_makes_python_an_owner(self):
        tensor = self.create((3,), "int32", ())
        shm = attach(self.name)
        documented_call = "fcntl.flock(shm._fd, fcntl.LOCK_SH | fcntl.LOCK_NB)"
        self.assertIn(documented_call, DOCUMENT.read_text(encoding="utf-8"))
        exec("import fcntl\n" + documented_call, {"shm": shm})  # pylint: disable=exec-used
        del tensor
        gc.collect()
        self.assertTrue(self.exists())
        again = m.shm_attach("/" + self.name)
        shm.close()
        del again

    def test_a_descriptor_goes_to_another_process(self):
        tensor, descriptor = m.shm_create(None, (2, 3), "int16", ())
        m.fill(tensor, 3)
        here, there = socket.socketpair()
        program = subprocess.Popen(
            [sys.executable, "-c", CODE + MAIN + textwrap.dedent("""
                import socket
                ends = socket.socket(fileno=int(name))
                _, (fd,), _, _ = socket.recv_fds(ends, 1, 1)
                memory = map_descriptor(fd)
                array = tensor_array(memory)
                assert array.tolist() == [[3, 3, 3], [3, 3, 3]], array
                assert not array.flags.writeable
                """), str(there.fileno())], pass_fds=[there.fileno()])
        socket.send_fds(here, [b"x"], [descriptor])
        self.assertEqual(program.wait(120), 0)
        here.close()
        there.close()

    def test_what_is_no_tensor_and_hostile_headers_raise(self):
        self.assertRaisesRegex(ValueError, "not a tensor", tensor_array, bytes(8192))
        tensor, descriptor = m.shm_create(None, (2, 3), "int32", ())
        good = bytes(map_descriptor(descriptor))
        for at, number in ((16, 65), (16, 1 << 40), (24, 1 << 40), (32, 1 << 40), (40, 1000),
                           (544, 1 << 40), (544, -(1 << 20))):
            bad = bytearray(good)
            bad[at:at + 8] = array.array("q", [number]).tobytes()
            with self.subTest((at, number)):
                self.assertRaises((ValueError, TypeError), tensor_array, bad)
        del tensor


if __name__ == "__main__":
    unittest.main()
