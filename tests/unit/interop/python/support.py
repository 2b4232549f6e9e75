# SPDX-License-Identifier: MIT
"""What the Python tests share.

To run one of them by itself, have this folder and that of tenon_test_module, see module.cpp, in
PYTHONPATH."""

import ctypes
import gc
import importlib.util
import os
import subprocess
import sys
import threading
import unittest

import tenon_test_module as m

# DLPack's flags.
READ_ONLY = 1
IS_COPIED = 2

HANDLE = 0x7fffdeadbeef1234  # of a stream: 64 bits

# The types, and the bytes of their elements.
NAMES = {"float32": 4, "uint8": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "float16": 2,
         "float64": 8, "complex32": 4, "complex64": 8, "complex128": 16, "bool": 1, "bfloat16": 2,
         "float8_e5m2": 1, "float8_e4m3fn": 1, "float8_e5m2fnuz": 1, "float8_e4m3fnuz": 1,
         "uint16": 2, "uint32": 4, "uint64": 8}
# The formats of those that the buffer protocol has.
LONG = "l" if ctypes.sizeof(ctypes.c_long) == 8 else "q"
FORMATS = {"float32": "f", "uint8": "B", "int8": "b", "int16": "h", "int32": "i", "int64": LONG,
           "float16": "e", "float64": "d", "complex64": "Zf", "complex128": "Zd", "bool": "?",
           "uint16": "H", "uint32": "I", "uint64": LONG.upper()}
# Those of ml_dtypes.
SMALL = sorted(NAMES.keys() - FORMATS.keys() - {"complex32"})
HAS_ML_DTYPES = importlib.util.find_spec("ml_dtypes") is not None


def address(array):
    """Of the memory of a NumPy array."""
    return array.__array_interface__["data"][0]


class Case(unittest.TestCase):
    """Fails a test that leaves memory of the module's alive."""

    def setUp(self):
        gc.collect()
        self.live_before = m.live()

    def tearDown(self):
        gc.collect()
        self.assertEqual(m.live(), self.live_before, "memory is left")

    def raises_each(self, rows, call):
        """Calls `call` with the first of each row, which is to raise the second with the third in
        its text."""
        for argument, error, text in rows:
            with self.subTest(argument):
                with self.assertRaisesRegex(error, text):
                    call(argument)

    def stays_level(self, exchange, things, times):
        """Reference counts, blocks and memory after `times` of `exchange` are as before."""
        def counts():
            gc.collect()
            return [sys.getrefcount(thing) for thing in things]

        exchange(times // 50)
        before, blocks, bytes_ = counts(), sys.getallocatedblocks(), resident_bytes()
        exchange(times)
        # Python is not exact about None's references, and its free lists keep some blocks.
        for thing, old, new in zip(things, before, counts()):
            self.assertLess(abs(new - old), times // (3 if thing is None else 20), thing)
        self.assertLess(abs(sys.getallocatedblocks() - blocks), 2000)
        if "asan" not in os.environ.get("LD_PRELOAD", ""):  # which keeps what was freed
            self.assertLess(resident_bytes() - bytes_, 4 << 20)

    def run_script(self, script, module="tenon_test_module"):
        """What a script that ends well prints; `module` is its m."""
        script = f"import sys\nsys.path[:0] = {sys.path!r}\nimport {module} as m\n{script}"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def run_until_the_end_comes(self, body, call, module="tenon_test_module"):
        """Runs `call` on a daemon thread, which spin()s in a method of Source's `body` when the
        interpreter ends. Before 3.14, CPython ends such a thread by unwinding it. What is in sys is
        released when the end has begun, and lets the thread ask for the GIL."""
        self.run_script("import threading, time\n"
                        "inside = threading.Event()\n"
                        "class Late:\n"
                        "    def __del__(self, sleep=time.sleep): sleep(0.1)\n"
                        "sys.late = Late()\n"
                        "def spin():\n"
                        "    inside.set()\n"
                        "    while True: pass\n"
                        "class Source:\n"
                        f"    {body}\n"
                        f"threading.Thread(target=lambda: {call}, daemon=True).start()\n"
                        "inside.wait()\n", module)

    def run_threads(self, count, work):
        """Calls work(number) on threads; they return what is wrong, if anything."""
        faults = []

        def run(number):
            try:
                faults.extend(work(number) or [])
            except BaseException as error:  # a thread's error would be lost
                faults.append(error)

        threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        gc.collect()
        self.assertEqual(faults, [])


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Producer:
    """Hands out capsules of a tensor and notes what it was asked."""

    def __init__(self, tensor, versioned=True):
        self.tensor = tensor
        self.versioned = versioned
        self.asked = []

    def __dlpack__(self, **keywords):
        self.asked.append(keywords)
        return m.capsule(self.tensor, self.versioned)

    def __dlpack_device__(self):
        return (1, 0)


class OldProducer(Producer):
    """One from before DLPack 1.0, which knows no keyword but stream."""

    def __dlpack__(self, stream=None):
        self.asked.append({})
        return m.capsule(self.tensor, False)


class Failing:
    """Raises when it is asked."""

    def __init__(self, error):
        self.error = error

    def __dlpack__(self, **keywords):
        raise self.error


class Devices(Case):
    """With DeviceBackends of the module's, over the host's memory."""

    def tearDown(self):
        gc.collect()
        m.device_end()
        super().tearDown()


class Floats:
    """Six numbers, and the entries of an array interface that describe them."""

    def __init__(self, **entries):
        self.memory = (ctypes.c_float * 6)(1, 2, 3, 4, 5, 6)
        self.address = ctypes.addressof(self.memory)
        self.entries = {"shape": (2, 3), "typestr": "<f4", "version": 3,
                        "data": (self.address, False), **entries}


class CudaInterface(Floats):
    """Nothing but a __cuda_array_interface__, over the host's memory."""
    __cuda_array_interface__ = property(lambda self: self.entries)


class Interface(Floats):
    """Nothing but an __array_interface__."""
    __array_interface__ = property(lambda self: self.entries)
