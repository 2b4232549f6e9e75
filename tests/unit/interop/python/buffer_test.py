# SPDX-License-Identifier: MIT
"""interop/python/buffer.h: memory from the buffer protocol and from __array_interface__."""

import array
import ctypes
import gc
import sys
import unittest
import weakref

import tenon_test_module as m

from support import Case, Interface

LITTLE = sys.byteorder == "little"


class Buffers(Case):
    def test_the_memory_of_a_bytearray_is_shared_and_locked(self):
        memory = bytearray(b"abc")
        tensor = m.take(memory)
        self.assertEqual((tensor.dtype, tensor.shape, tensor.readonly), ("uint8", (3,), False))
        m.fill(tensor, 65)
        self.assertEqual(memory, b"AAA")
        self.assertRaises(BufferError, memory.append, 1)
        del tensor
        memory.append(1)

    def test_the_buffer_of_another_object_is_given_back_to_it(self):
        memory = bytearray(b"abc")
        tensor = m.take(m.lender(memory))
        self.assertEqual(memoryview(tensor).tolist(), [97, 98, 99])
        self.assertRaises(BufferError, memory.append, 1)
        del tensor
        memory.append(1)
        # One without a release of its own.
        source = m.lender(b"i", 4)
        count = sys.getrefcount(source)
        lent = m.lender(source)
        tensor = m.take(lent)
        self.assertEqual((tensor.dtype, sys.getrefcount(source)), ("int32", count + 2))
        del tensor
        self.assertEqual(sys.getrefcount(source), count + 1)

    def test_who_drops_the_last_reference_releases_the_object(self):
        class Memory(bytearray):
            pass

        for make, lend in ((Memory, lambda memory: memory), (Memory, memoryview),
                           (Memory, m.lender), (Interface, lambda source: source)):
            for drop in (m.drop, m.drop_without_gil, m.drop_on_thread, m.drop_with_error):
                owner = make() if make is Interface else make(4)
                gone = weakref.ref(owner)
                number = m.hold(lend(owner))
                del owner
                gc.collect()
                self.assertIsNotNone(gone())
                try:
                    drop(number)
                except ZeroDivisionError:
                    pass
                gc.collect()
                self.assertIsNone(gone())

    def test_bytes_are_read_only(self):
        tensor = m.take(b"abc")
        self.assertTrue(tensor.readonly)
        for source in (tensor, b"abc"):
            self.assertRaisesRegex(BufferError, "read-only", m.fill, source, 1)

    def test_shapes_and_strides_are_kept(self):
        memory = bytearray(range(24))
        view = memoryview(memory)
        for source, shape, strides in (
                (view.cast("B", (2, 3, 4)), (2, 3, 4), (12, 4, 1)), (view[::2], (12,), (2,)),
                (view[::-1], (24,), (-1,)),
                (memoryview(array.array("f", [2.5])).cast("B").cast("f", ()), (), ())):
            tensor = m.take(source)
            self.assertEqual((tensor.shape, tensor.strides), (shape, strides))
            self.assertEqual(memoryview(tensor).tolist(), source.tolist())

    def test_misaligned_memory_is_copied_unless_that_is_forbidden(self):
        memory = memoryview(bytearray(20))
        view = memory[1:17].cast("f")
        tensor = m.take(view)
        self.assertEqual(m.data_pointer(tensor) % 4, 0)
        m.fill(tensor, 1)
        self.assertEqual(bytes(memory), bytes(20))
        self.assertRaisesRegex(BufferError, "aligned", m.take, view, copy=False)

    def test_a_released_memoryview_is_an_error(self):
        view = memoryview(bytearray(4))
        view.release()
        self.assertRaises(ValueError, m.take, view)

    def test_a_letter_of_another_size_than_the_elements_is_no_type(self):
        native = {"b": ("int", 1), "B": ("uint", 1), "?": ("bool", 1), "e": ("float", 2),
                  "f": ("float", 4), "d": ("float", 8), "Zf": ("complex", 8),
                  "Zd": ("complex", 16), "F": ("complex", 8), "D": ("complex", 16)}
        for signed, unsigned, c_type in (("h", "H", ctypes.c_short), ("i", "I", ctypes.c_int),
                                         ("l", "L", ctypes.c_long), ("q", "Q", ctypes.c_longlong),
                                         ("n", "N", ctypes.c_ssize_t)):
            native[signed] = ("int", ctypes.sizeof(c_type))
            native[unsigned] = ("uint", ctypes.sizeof(c_type))
        # Where the byte order is said, sizes are the struct module's standard ones, and there is
        # no n and N.
        standard = {**native, "l": ("int", 4), "L": ("uint", 4), "n": ("int", 0), "N": ("uint", 0)}
        host, other = "<>" if LITTLE else ">!", ">!" if LITTLE else "<"
        for order in ("", "@", "^", "=", *host, *other):
            swapped = order != "" and order in other and not (order == "!" and not LITTLE)
            for letter in (*(chr(i) for i in range(33, 127)), "Zf", "Zd", "Ze", "Zb", "Z?", "ZF",
                           "ZZf", "ff", "2f", "f:a:", "T{f}"):
                kind, expected = (native if order in ("", "@", "^") else standard).get(
                    letter, ("", 0))
                for size in (1, 2, 3, 4, 8, 16, 32):
                    source = m.lender((order + letter).encode(), size)
                    with self.subTest(order + letter, size=size):
                        if size == expected and not (swapped and size > 1):
                            name = "bool" if kind == "bool" else f"{kind}{8 * size}"
                            self.assertEqual(m.take(source).dtype, name)
                        else:
                            self.assertRaisesRegex(BufferError, "no element type", m.take, source)

    def test_ctypes_scalars_have_their_type(self):
        for c_type, name in ((ctypes.c_bool, "bool"), (ctypes.c_byte, "int8"),
                             (ctypes.c_uint16, "uint16"), (ctypes.c_int32, "int32"),
                             (ctypes.c_uint64, "uint64"), (ctypes.c_double, "float64")):
            for source, values in ((c_type(1), 1), ((c_type * 3)(1, 0, 1), [1, 0, 1])):
                tensor = m.take(source)
                self.assertEqual((tensor.dtype, memoryview(tensor).tolist()), (name, values))
        for c_type in (ctypes.c_char, ctypes.c_longdouble, ctypes.POINTER(ctypes.c_int)):
            self.assertRaisesRegex(BufferError, "no element type", m.take, (c_type * 2)())

    # Packed structures and unions say the format "B", and their own size.
    def test_structures_and_unions_are_no_numbers(self):
        fields = [("f", ctypes.c_float), ("i", ctypes.c_int32)]
        for base, pack in ((ctypes.Structure, 0), (ctypes.Structure, 1), (ctypes.Union, 0),
                           (ctypes.Union, 1), (ctypes.BigEndianStructure, 0)):
            body = {"_fields_": fields, **({"_pack_": pack, "_layout_": "ms"} if pack else {})}
            record = type(base)("Record", (base,), body)
            for source in (record(), (record * 2)()):
                self.assertRaisesRegex(BufferError, "no element type", m.take, source)
        bits = [("a", ctypes.c_uint32, 3), ("b", ctypes.c_uint32, 5)]
        record = type(ctypes.Structure)("Bits", (ctypes.Structure,), {"_fields_": bits})
        self.assertRaisesRegex(BufferError, "no element type", m.take, (record * 2)())

    def test_a_type_that_tenon_lacks_is_a_buffer_error_that_names_its_format(self):
        swapped = ctypes.c_int32.__ctype_be__ if LITTLE else ctypes.c_int32.__ctype_le__
        for source in (array.array("u", "abc"), (swapped * 3)()):
            self.assertRaisesRegex(BufferError, 'format "[uw<>]', m.take, source)


class Image:
    """As PIL.Image.Image: the bytes are made when they are asked for."""
    extra = {}

    @property
    def __array_interface__(self):
        return {"version": 3, "shape": (2, 3), "typestr": "|u1", "data": bytes(range(8)),
                **self.extra}


class ArrayInterface(Case):
    def test_the_memory_is_shared(self):
        source = Interface()
        tensor = m.take(source)
        self.assertEqual(memoryview(tensor).tolist(), [[1, 2, 3], [4, 5, 6]])
        m.fill(tensor, 9)
        self.assertEqual(list(source.memory), [9] * 6)

    def test_data_may_be_an_object_with_a_buffer_as_pils_images_have(self):
        image = Image()
        tensor = m.take(image)
        self.assertEqual(memoryview(tensor).tolist(), [[0, 1, 2], [3, 4, 5]])
        self.assertTrue(tensor.readonly)
        memory = bytearray(6)
        image.extra = {"data": memory}
        tensor = m.take(image)
        m.fill(tensor, 7)
        self.assertEqual(memory, b"\7" * 6)
        self.assertRaises(BufferError, memory.append, 1)
        del tensor
        memory.append(1)
        image.extra = {"shape": (0, 3), "data": b""}
        self.assertEqual(m.take(image).shape, (0, 3))

        def take(extra):
            image.extra = extra
            m.take(image)

        self.raises_each((({"shape": (3, 3)}, ValueError, "fit"),
                          ({"typestr": "<u2" if LITTLE else ">u2"}, ValueError, "fit"),
                          ({"shape": (1 << 62, 4)}, ValueError, ""),
                          ({"shape": (-1,)}, ValueError, ""),
                          ({"data": memoryview(b"12345678901234")[::2]}, BufferError, ""),
                          ({"offset": 2}, BufferError, "offset"),
                          ({"strides": (3, 1)}, BufferError, "strides")), take)

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
        class NoDict:
            __array_interface__ = 5

        self.assertRaisesRegex(TypeError, "'int', expected a dict", m.take, NoDict())
        self.raises_each((({"typestr": "<V4"}, BufferError, "<V4"),
                          ({"typestr": ">f4" if LITTLE else "<f4"}, BufferError, "f4"),
                          ({"typestr": "f4"}, BufferError, "f4"),
                          ({"typestr": ""}, BufferError, "typestr"),
                          ({"typestr": "<f4x"}, BufferError, "f4x"),
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
                          ({"mask": 1}, BufferError, "mask")),
                         lambda entries: m.take(Interface(**entries)))


if __name__ == "__main__":
    unittest.main()
