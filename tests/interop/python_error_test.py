# SPDX-License-Identifier: MIT
"""interop/python_error.h: tenon's errors are Python's, and Python's tenon's."""

import unittest

import tenon_test_module as m

from support import Case


class Errors(Case):
    def test_errors_have_their_exceptions(self):
        for name, error in (("InvalidArgument", ValueError), ("OutOfBounds", ValueError),
                            ("InvalidType", TypeError), ("NotSupported", BufferError),
                            ("InvalidState", BufferError), ("InUse", BufferError),
                            ("OutOfMemory", MemoryError), ("NotFound", LookupError),
                            ("AccessFailed", RuntimeError), ("Internal", RuntimeError)):
            with self.assertRaises(error) as caught:
                m.raise_error(name, "the text, ünbroken".encode())
            self.assertIs(type(caught.exception), error)
            self.assertEqual(str(caught.exception), "the text, ünbroken")
        with self.assertRaisesRegex(ValueError, "cut \ufffd"):
            m.raise_error("InvalidArgument", b"cut \xc3")

    def test_an_error_is_tenons_as_well(self):
        class Failing:
            def __dlpack__(self, **keywords):
                raise BufferError("no memory to lend")

        self.assertEqual(m.take_error(Failing()), "NotSupported")
        self.assertEqual(m.take_error([]), "InvalidType")
        self.assertEqual(m.take_error(m.hostile("ndim")), "InvalidArgument")
        with self.assertRaises(BufferError):
            m.try_take(Failing())
        self.assertEqual(m.last_message(), "try_from_python: BufferError: no memory to lend")


if __name__ == "__main__":
    unittest.main()
