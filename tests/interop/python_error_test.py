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
        text = "BufferError: no memory to lend"
        self.assertEqual(m.messages(Failing()),
                         ("from_python: " + text, "try_from_python: " + text))

    def test_exceptions_and_results_leave_no_error_of_python(self):
        class Interrupted:
            def __dlpack__(self, **keywords):
                raise KeyboardInterrupt("stop")

        consumed = m.capsule(m.make((2,)))
        m.take_capsule(consumed)
        for other in ([], "text", consumed, m.hostile("dtype"), Interrupted()):
            for text in m.messages(other):
                self.assertIn("from_python: ", text)
        for other in ([], consumed, m.hostile("ndim")):
            for text in m.messages(other, True):
                self.assertIn("from_capsule: ", text)

    def test_the_form_that_sets_an_error_sets_that_of_python_itself(self):
        error = KeyboardInterrupt("stop")

        class Interrupted:
            def __dlpack__(self, **keywords):
                raise error

        with self.assertRaises(KeyboardInterrupt) as caught:
            m.take(Interrupted())
        self.assertIs(caught.exception, error)


if __name__ == "__main__":
    unittest.main()
