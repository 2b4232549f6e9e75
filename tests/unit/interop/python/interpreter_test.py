# SPDX-License-Identifier: MIT
"""interop/python/interpreter.h: errors, and what is left at the interpreter's end."""

import unittest

import tenon_test_module as m

from support import Case, Failing


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
        text = "BufferError: no memory to lend"
        self.assertEqual(m.messages(Failing(BufferError("no memory to lend"))),
                         ("NotSupported", "from_python: " + text, "try_from_python: " + text))

    # A promise of docs/guarantees.md.
    def test_exceptions_and_results_leave_no_error_of_python(self):
        consumed = m.capsule(m.make((2,)))
        m.take_capsule(consumed)
        for source, error, as_capsule in (
                ([], "InvalidType", False), (consumed, "InvalidArgument", False),
                (m.hostile("dtype"), "NotSupported", False),
                (Failing(KeyboardInterrupt("stop")), "AccessFailed", False),
                ([], "InvalidType", True), (consumed, "InvalidArgument", True),
                (m.hostile("ndim"), "InvalidArgument", True)):
            with self.subTest(source=source, as_capsule=as_capsule):
                found, *texts = m.messages(source, as_capsule)
                self.assertEqual(found, error)
                for text in texts:
                    self.assertIn("from_capsule: " if as_capsule else "from_python: ", text)


class InterpretersEnd(Case):
    # A promise of docs/guarantees.md.
    def test_what_outlives_the_interpreter_ends_quietly(self):
        self.run_script("m.hold(bytearray(3))\n"
                        "m.hold(m.make((2,)))\n"
                        "kept = m.take(bytearray(3))\n"
                        "class Cycle: pass\n"
                        "c = Cycle(); c.me = c; c.tensor = m.take(bytearray(5))\n"
                        "c.capsule = m.capsule(bytearray(5))\n"
                        "sys.kept = m.take(bytearray(4))\n")

    # [threads][Python]
    # A promise of docs/guarantees.md.
    def test_threads_that_drop_tensors_at_the_end_do_not_abort_it(self):
        for _ in range(10):
            self.run_script("import array\n"
                            "for i in range(300): m.drop_later(array.array('f', [1, 2]), i // 6)\n")

    def test_the_end_waits_for_a_daemon_thread_that_releases_what_runs_python_code(self):
        out = self.run_script("import os, threading, time\n"
                              "inside = threading.Event()\n"
                              "class Slow(bytearray):\n"
                              "    def __del__(self):\n"
                              "        inside.set()\n"
                              "        time.sleep(0.3)\n"
                              "        os.write(1, b'released\\n')\n"
                              "def work():\n"
                              "    while True: m.drop(m.hold(Slow(3)))\n"
                              "threading.Thread(target=work, daemon=True).start()\n"
                              "inside.wait()\n")
        self.assertEqual(out, "released\n")

    def test_a_child_does_not_wait_for_the_threads_of_its_parent(self):
        self.run_script("import os, time\n"
                        "class Slow(bytearray):\n"
                        "    def __del__(self, sleep=time.sleep): sleep(0.5)\n"
                        "m.drop_later(Slow(3), 0)\n"  # that thread is inside at the fork
                        "time.sleep(0.1)\n"
                        "child = os.fork()\n"
                        "if child == 0: sys.exit(0)\n"
                        "assert os.waitpid(child, 0)[1] == 0\n")

    def test_what_a_release_runs_may_fork_or_end_the_interpreter(self):
        out = self.run_script("import os, threading, time\n"
                              "inside = threading.Event()\n"
                              "class Forks(bytearray):\n"
                              "    def __del__(self): self.seen.append(os.fork())\n"
                              "    seen = []\n"
                              "class Slow(bytearray):\n"
                              "    def __del__(self, sleep=time.sleep, write=os.write):\n"
                              "        inside.set()\n"
                              "        sleep(0.3)\n"
                              "        write(1, b'released\\n')\n"
                              "m.drop(m.hold(Forks(3)))\n"
                              "if Forks.seen[0] == 0:\n"
                              "    m.drop_later(Slow(3), 0)\n"
                              "    inside.wait()\n"
                              "else: assert os.waitpid(Forks.seen[0], 0)[1] == 0\n")
        self.assertEqual(out, "released\n")  # the child's end waited for its thread
        self.run_script("import atexit\n"
                        "class Ends(bytearray):\n"
                        "    def __del__(self, end=atexit._run_exitfuncs): end()\n"
                        "m.drop(m.hold(Ends(3)))\n")

    def test_objects_are_released_while_the_interpreter_shuts_down(self):
        out = self.run_script("import os\n"
                              "class Owner(bytearray):\n"
                              "    def __del__(self, write=os.write): write(1, b'gone\\n')\n"
                              "sys.kept = m.take(Owner(3))\n"
                              "sys.kept_too = m.capsule(Owner(4))\n")
        self.assertEqual(out, "gone\n" * 2)

    # A promise of docs/guarantees.md.
    def test_a_daemon_thread_in_a_call_at_the_end_does_not_abort_it(self):
        take = "m.take(Source())"
        for body, call in (
                ("def __dlpack__(self, **keywords): spin()", take),
                ("def __dlpack__(self, **keywords): pass\n"
                 "    def __dlpack_device__(self): spin()", take),
                ("def __getattr__(self, name): spin()", take),
                ("__array_interface__ = property(lambda self: spin())", "m.messages(Source())"),
                ("def __index__(self): spin()\n"
                 "    __array_interface__ = property(lambda self: {\n"
                 "        'shape': (self,), 'typestr': '<f4', 'data': (8, True)})", take),
                ("def __del__(self): spin()\n"
                 "    __array_interface__ = property(lambda self: {'shape': Source()})", take),
                ("def __bool__(self): spin()", "m.make((2,)).__dlpack__(copy=Source())"),
                ("def __array__(self): spin()", take),
                ("def __index__(self): spin()", "m.make((2,))[Source()]"),
                ("def __index__(self): spin()", "m.make((2,))[..., Source():]"),
                ("def __bool__(self): spin()", "m.make((2,)).__array__(copy=Source())")):
            with self.subTest(body):
                self.run_until_the_end_comes(body, call)


if __name__ == "__main__":
    unittest.main()
