# SPDX-License-Identifier: MIT
"""What holds for functions that pybind11 and nanobind bind; both modules bind the same ones."""


import numpy as np

from support import Case, Failing


def swapped():
    """Integers in the other byte order."""
    return np.arange(3, dtype=np.dtype(np.int32).newbyteorder())


def misaligned():
    """Doubles that start between the bytes of doubles."""
    array = np.zeros(25, np.uint8)[1:].view(np.float64)
    array[:] = [1, 2, 3]
    return array


class BinderTests(Case):
    """The tests, with `module`."""

    def is_no_argument(self, function, argument):
        self.assertRaisesRegex(TypeError, "incompatible function arguments", function, argument)

    def test_a_tensor_goes_in_and_out_without_a_copy(self):
        array = np.arange(6.0).reshape(2, 3)
        for share in (self.module.share, self.module.share_handle, self.module.strict,
                      self.module.cast, self.module.maybe, self.module.share_pointer):
            tensor = share(array)
            self.assertEqual((type(tensor).__module__, type(tensor).__name__), ("tenon", "Tensor"))
            back = np.asarray(tensor)
            self.assertEqual(back.ctypes.data, array.ctypes.data)
            self.assertEqual((back.shape, back.strides, back.dtype),
                             (array.shape, array.strides, array.dtype))
        self.assertEqual(self.module.address(array), array.ctypes.data)
        self.assertEqual(self.module.address(tensor), array.ctypes.data)

    def test_writes_through_a_reference_are_seen_in_the_array(self):
        array = np.zeros((4, 6), np.float32)
        self.module.fill(array[1:3, ::2], 7)
        expected = [[0] * 6, [7, 0, 7, 0, 7, 0], [7, 0, 7, 0, 7, 0], [0] * 6]
        self.assertEqual(array.tolist(), expected)

    def test_lists_of_tensors(self):
        array = np.arange(6).reshape(2, 3)
        self.assertEqual(self.module.count([array, np.zeros((2, 2, 2)), array[:0]]), 14)
        self.assertEqual(self.module.count([]), 0)
        self.assertRaises(TypeError, self.module.count, [array, None])
        first, second = self.module.rows(array)
        np.asarray(second)[:] = 9
        self.assertEqual(np.asarray(first).tolist(), [0, 1, 2])
        self.assertEqual(array.tolist(), [[0, 1, 2], [9, 9, 9]])

    def test_an_undefined_result_is_an_error(self):
        for function in (self.module.null_pointer, self.module.undefined, self.module.null_shared):
            self.assertRaisesRegex(BufferError, "undefined", function)

    def test_exceptions_are_those_of_python(self):
        kinds = {1: ValueError, 3: BufferError, 8: LookupError, 9: RuntimeError}
        for error, kind in kinds.items():
            with self.assertRaisesRegex(kind, "^as asked$") as raised:
                self.module.fail(error)
            self.assertIs(type(raised.exception), kind)

    def test_what_python_raised_inside_comes_out_as_tenons_exception(self):
        moody = Failing(ArithmeticError("not today"))
        self.assertRaisesRegex(RuntimeError, "from_python: ArithmeticError: not today",
                               self.module.import_and_throw, moody)
        self.assertRaisesRegex(ArithmeticError, "not today", self.module.share, moody)

    def test_signatures_name_the_type(self):
        for function in (self.module.share, self.module.share_handle, self.module.share_pointer):
            self.assertRegex(function.__doc__, r": tenon\.ArrayLike.*-> tenon\.Tensor")
        for function in (self.module.try_pointer, self.module.try_handle):
            self.assertIn("-> tenon.Tensor", function.__doc__)
        self.assertIn("-> int", self.module.try_number.__doc__)

    def test_a_result_is_its_value_or_raises_its_error(self):
        self.assertEqual(self.module.try_handle(4).tolist(), [[0, 1], [2, 3]])
        self.assertRaisesRegex(ValueError, "try_reshape.*-1", self.module.try_handle, 5)
        self.assertEqual(self.module.try_pointer(4).shape, (4,))
        self.assertRaisesRegex(ValueError, "try_empty.*-4", self.module.try_pointer, -4)
        self.assertEqual(self.module.try_number(4), 4)
        self.assertRaisesRegex(LookupError, "there is no -4", self.module.try_number, -4)

    def test_a_result_that_cannot_be_copied_is_moved(self):
        for function in (self.module.try_moved, self.module.try_unique):
            self.assertEqual(function(4).number(), 4)
            self.assertRaisesRegex(LookupError, "there is no -4", function, -4)

    def test_reference_counts_and_memory_stay_level(self):
        array = np.arange(12.0).reshape(3, 4)
        wrong = swapped()

        def exchange(times):
            for _ in range(times):
                self.module.share(self.module.share(array))
                self.module.count([array, array])
                for argument in ("text", wrong):
                    self.assertRaises((TypeError, BufferError), self.module.share, argument)

        things = [array, wrong, None, np.ndarray, TypeError, BufferError, self.module.share]
        self.stays_level(exchange, things, 20_000)

    def test_what_is_no_array_is_no_argument(self):
        for other in (None, 3, [1.0, 2.0], "text", np.ndarray, object()):
            self.is_no_argument(self.module.share, other)
        self.assertIsNone(self.module.maybe())
        self.assertIsNone(self.module.maybe(None))

    def test_overloads_are_chosen_by_what_the_argument_is(self):
        which = self.module.which
        self.assertEqual(which(np.zeros(2)), "tensor")
        self.assertEqual(which(self.module.counted()), "tensor")
        self.assertEqual(which("text"), "text")
        for other in (None, 3, [1.0], np.ndarray):
            self.assertEqual(which(other), "object")
        self.assertEqual(self.module.number_or_tensor(5), "number")
        self.assertEqual(self.module.number_or_tensor(np.zeros((2, 2))), "tensor")
        # What later ones convert is not refused by the tensor's.
        for other, expected in ((np.zeros(2), "tensor"), ([1, 2], "list"), (3, "number")):
            self.assertEqual(self.module.tensor_or_list(other), expected)
        self.is_no_argument(self.module.tensor_or_list, None)

    def test_an_array_that_cannot_be_taken_says_why(self):
        wrong = {"byte order": swapped(), "tenon: the data is not aligned": misaligned(),
                 "only supports signed": np.zeros(2, "U3")}
        for words, array in wrong.items():
            for taker in (self.module.share, self.module.share_handle, self.module.share_pointer,
                          self.module.number_or_tensor):
                self.assertRaisesRegex(BufferError, words, taker, array)
            # With noconvert() the reason is lost.
            self.is_no_argument(self.module.strict, array)
            self.assertEqual(self.module.which(array), "object")
            self.assertEqual(self.module.which_strict(array), "object")
        self.assertEqual(self.module.which_strict(np.zeros(3)), "tensor")

    def test_an_interrupt_is_not_taken_for_an_answer(self):
        for taker in (self.module.share, self.module.strict, self.module.which):
            self.assertRaises(KeyboardInterrupt, taker, Failing(KeyboardInterrupt()))
