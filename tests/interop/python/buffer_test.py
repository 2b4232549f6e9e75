# SPDX-License-Identifier: MIT
"""interop/python/buffer.h: memory from the buffer protocol and from __array_interface__."""

import array
import ctypes
import gc
import sys
import unittest
import weakref

import tenon_test_module as m

from support import NAMES, Case, Interface


class Buffers(Case):
    def test_the_memory_of_a_bytearray_is_shared_and_locked(self):
        memory = bytearray(b"abc")
        tensor = m.take(memory)
        self.assertEqual((tensor.dtype, tensor.shape, tensor.readonly), ("uint8", (3,), False))
        m.fill(tensor, 65)
        self.assertEqual(memory, b"AAA")
        with self.assertRaises(BufferError):
            memory.append(1)
        del tensor
        memory.append(1)
        self.assertEqual(memory, b"AAA\x01")

    def test_bytes_are_read_only(self):
        tensor = m.take(b"abc")
        self.assertTrue(tensor.readonly)
        with self.assertRaisesRegex(BufferError, "read-only"):
            m.fill(tensor, 1)
        with self.assertRaisesRegex(BufferError, "read-only"):
            m.fill(b"abc", 1)

    def test_memoryviews_keep_their_shape(self):
        memory = bytearray(range(24))
        view = memoryview(memory).cast("B", (2, 3, 4))
        self.assertEqual(m.take(view).shape, (2, 3, 4))
        every_second = memoryview(memory)[::2]
        tensor = m.take(every_second)
        self.assertEqual((tensor.shape, tensor.strides), ((12,), (2,)))
        backwards = m.take(memoryview(memory)[::-1])
        self.assertEqual((backwards.strides, memoryview(backwards).tolist()[:2]), ((-1,), [23, 22]))
        scalar = m.take(memoryview(array.array("f", [2.5])).cast("B").cast("f", ()))
        self.assertEqual((scalar.shape, scalar.size), ((), 1))

    def test_ctypes_arrays_are_taken(self):
        values = ((ctypes.c_double * 3) * 2)((1, 2, 3), (4, 5, 6))
        tensor = m.take(values)
        self.assertEqual((tensor.dtype, tensor.shape), ("float64", (2, 3)))
        m.fill(tensor, 8)
        self.assertEqual(values[1][2], 8)

    def test_misaligned_memory_is_copied_unless_that_is_forbidden(self):
        memory = memoryview(bytearray(20))
        view = memory[1:17].cast("f")
        tensor = m.take(view)
        self.assertEqual(m.data_pointer(tensor) % 4, 0)
        m.fill(tensor, 1)
        self.assertEqual(bytes(memory), bytes(20))
        with self.assertRaisesRegex(BufferError, "aligned"):
            m.take(view, copy=False)

    def test_a_copy_lets_go_of_the_memory(self):
        memory = bytearray(4)
        tensor = m.take(memory, copy=True)
        memory.append(1)
        self.assertEqual(tensor.shape, (4,))
        tensor = m.take(bytes(4), copy=True)
        self.assertFalse(tensor.readonly)

    def test_another_device_is_a_buffer_error(self):
        with self.assertRaisesRegex(BufferError, "cuda"):
            m.take(bytearray(4), device="cuda")
        self.assertEqual(m.take(bytearray(4), device="cpu").shape, (4,))

    def test_a_released_memoryview_is_an_error(self):
        view = memoryview(bytearray(4))
        view.release()
        with self.assertRaises(ValueError):
            m.take(view)


class ArrayInterface(Case):
    def test_the_memory_is_shared_and_its_owner_kept(self):
        source = Interface()
        memory = source.memory
        gone = weakref.ref(source)
        tensor = m.take(source)
        del source
        gc.collect()
        self.assertIsNotNone(gone())
        self.assertEqual(memoryview(tensor).tolist(), [[1, 2, 3], [4, 5, 6]])
        m.fill(tensor, 9)
        self.assertEqual(list(memory), [9] * 6)
        del tensor
        gc.collect()
        self.assertIsNone(gone())

    def test_strides_are_bytes_and_none_is_row_major(self):
        address = Interface().entries["data"][0]
        self.assertEqual(m.take(Interface(strides=None)).strides, (3, 1))
        self.assertEqual(m.take(Interface(shape=(3, 2), strides=(4, 12))).strides, (1, 3))
        last = Interface(shape=(6,), strides=(-4,))
        address = ctypes.addressof(last.memory)
        last.entries["data"] = (address + 20, False)
        self.assertEqual(memoryview(m.take(last)).tolist(), [6, 5, 4, 3, 2, 1])

    def test_read_only_is_honoured(self):
        source = Interface()
        source.entries["data"] = (source.entries["data"][0], True)
        self.assertTrue(m.take(source).readonly)

    def test_data_may_be_an_object_with_a_buffer_as_pils_images_have(self):
        class Image:
            """As PIL.Image.Image: the bytes are made when they are asked for."""
            extra = {}

            @property
            def __array_interface__(self):
                return {"version": 3, "shape": (2, 3), "typestr": "|u1", "data": bytes(range(8)),
                        **self.extra}

        image = Image()
        tensor = m.take(image)
        self.assertEqual(memoryview(tensor).tolist(), [[0, 1, 2], [3, 4, 5]])
        self.assertTrue(tensor.readonly)
        memory = bytearray(6)
        image.extra = {"data": memory}
        tensor = m.take(image)
        m.fill(tensor, 7)
        self.assertEqual(memory, b"\7" * 6)
        with self.assertRaises(BufferError):
            memory.append(1)
        del tensor
        memory.append(1)
        image.extra = {"shape": (0, 3), "data": b""}
        self.assertEqual(m.take(image).shape, (0, 3))
        for extra, error in (({"shape": (3, 3)}, ValueError), ({"typestr": "<u2"}, ValueError),
                             ({"shape": (1 << 62, 4)}, ValueError), ({"shape": (-1,)}, ValueError),
                             ({"data": memoryview(b"12345678901234")[::2]}, BufferError),
                             ({"offset": 2}, BufferError), ({"strides": (3, 1)}, BufferError)):
            with self.subTest(extra):
                image.extra = extra
                with self.assertRaises(error):
                    m.take(image)

    def test_a_size_that_empties_the_dict_when_it_is_asked_does_no_harm(self):
        class Size:
            def __index__(self):
                source.entries.clear()
                gc.collect()
                self.others = [(9, 9, i) for i in range(100)]
                return 1

        source = Interface(strides=None)
        source.entries["shape"] = (Size(), int("2"), int("3"))
        self.assertEqual(m.take(source).shape, (1, 2, 3))

    def test_errors_say_what_is_wrong(self):
        for entries, error, text in (({"typestr": "<V4"}, BufferError, "<V4"),
                                     ({"typestr": ">f4" if sys.byteorder == "little" else "<f4"},
                                      BufferError, "f4"),
                                     ({"typestr": 5}, TypeError, "typestr"),
                                     ({"shape": None}, TypeError, "shape"),
                                     ({"shape": [2, 3]}, TypeError, "shape"),
                                     ({"shape": (2, "a")}, TypeError, "int"),
                                     ({"shape": (2, -3)}, ValueError, "negative"),
                                     ({"strides": (4,)}, ValueError, "length"),
                                     ({"strides": (6, 4)}, BufferError, "multiple"),
                                     ({"data": None}, BufferError, "data"),
                                     ({"data": (0, False)}, ValueError, "null"),
                                     ({"data": ("a", False)}, TypeError, ""),
                                     ({"mask": 1}, BufferError, "mask")):
            with self.subTest(entries):
                source = Interface(**entries)
                with self.assertRaisesRegex(error, text):
                    m.take(source)
        class NoDict:
            __array_interface__ = 5
        with self.assertRaisesRegex(TypeError, "'int', expected a dict"):
            m.take(NoDict())


class Formats(Case):
    def test_arrays_of_every_code_have_their_type(self):
        expected = {"b": "int8", "B": "uint8", "h": "int16", "H": "uint16", "i": "int32",
                    "I": "uint32", "q": "int64", "Q": "uint64", "f": "float32", "d": "float64",
                    "l": f"int{8 * array.array('l').itemsize}",
                    "L": f"uint{8 * array.array('L').itemsize}"}
        for code, name in expected.items():
            values = array.array(code, [1, 2, 3])
            tensor = m.take(values)
            self.assertEqual((tensor.dtype, tensor.shape), (name, (3,)))
            self.assertEqual(memoryview(tensor).tolist(), [1, 2, 3])
            m.fill(tensor, 5)
            self.assertEqual(list(values), [5, 5, 5])

    def test_a_type_that_tenon_lacks_is_a_buffer_error_that_names_its_format(self):
        with self.assertRaisesRegex(BufferError, 'format "u|format "w'):
            m.take(array.array("u", "abc"))
        swapped = ctypes.c_int32.__ctype_be__ if sys.byteorder == "little" else \
            ctypes.c_int32.__ctype_le__
        with self.assertRaisesRegex(BufferError, "format"):
            m.take((swapped * 3)())

    def test_formats(self):
        long = "l" if ctypes.sizeof(ctypes.c_long) == 8 else "q"
        expected = {"float32": "f", "uint8": "B", "int8": "b", "int16": "h", "int32": "i",
                    "int64": long, "float16": "e", "float64": "d", "complex64": "Zf",
                    "complex128": "Zd", "bool": "?", "uint16": "H", "uint32": "I",
                    "uint64": long.upper()}
        for name, size in NAMES.items():
            tensor = m.make((2,), dtype=name)
            if name in expected:
                view = memoryview(tensor)
                self.assertEqual((view.format, view.itemsize, view.nbytes),
                                 (expected[name], size, 2 * size))
                self.assertEqual(m.take(view).dtype, name)
            else:
                with self.assertRaisesRegex(BufferError, name):
                    memoryview(tensor)

    def test_types_are_named_as_numpy_and_torch_name_them(self):
        for name, size in NAMES.items():
            tensor = m.make((3,), dtype=name)
            self.assertEqual((tensor.dtype, tensor.itemsize), (name, size))


if __name__ == "__main__":
    unittest.main()
