# SPDX-License-Identifier: MIT
"""Tests layouts.py: what needs another epoch, and what does not."""

import unittest

import layouts

BLOB = ["16 bytes, aligned to 8", "0 void * data", "8 int64_t * sizes"]
BACKEND = ["8 bytes, aligned to 8", "0 functions", "function 0: const char *name() const [pure]", "function 1: Error reserved1()"]
ERROR = ["of uint8_t", "Ok = 0", "Internal = 1"]

DUMP = """*** Dumping AST Record Layout
         0 | struct tenon::detail::Header
         0 |   size_t nbytes
           | [sizeof=8, dsize=8, align=8,
           |  nvsize=8, nvalign=8]

*** Dumping AST Record Layout
         0 | class tenon::Blob
         0 |   (Blob vtable pointer)
         8 |   struct tenon::detail::Header * header
           | [sizeof=16, dsize=16, align=8,
           |  nvsize=16, nvalign=8]

Vtable for 'tenon::Blob' (3 entries).
   0 | offset_to_top (0)
   1 | tenon::Blob RTTI
       -- (tenon::Blob, 0) vtable address --
   2 | bool tenon::Blob::is_lent() const
"""


def faults(before, after, old="v1", new="v1"):
    return layouts.faults((old, {"": before}), (new, {"": after}))


class Layouts(unittest.TestCase):
    def test_changed(self):
        for after in ([*BLOB[:2], "12 int64_t * sizes"], [*BLOB[:2], "8 int32_t * sizes"], [*BLOB, "16 strides"], BLOB[:2], ["24 bytes, aligned to 8", *BLOB[1:]]):
            found = faults({"Blob": BLOB}, {"Blob": after})
            self.assertEqual(found[0], "layout of Blob changed")
            self.assertIn("bump the epoch in include/tenon/config.h", found[-1])

    def test_new(self):
        found = faults({}, {"Blob": BLOB})
        self.assertEqual(found, ["Blob is new", "run python3 layouts.py update"])

    def test_functions(self):
        moved = [*BACKEND[:2], BACKEND[3].replace("1:", "0:"), BACKEND[2].replace("0:", "1:")]
        self.assertIn("bump the epoch", faults({"Backend": BACKEND}, {"Backend": moved})[-1])
        used = [*BACKEND[:3], "function 1: Error prefetch(const TensorView &)"]
        self.assertNotIn("bump", faults({"Backend": BACKEND}, {"Backend": used})[-1])
        self.assertIn("bump the epoch", faults({"Backend": used}, {"Backend": BACKEND})[-1])
        for other in ("bool prefetch(const TensorView &)", "ErrorText prefetch()", "Error *prefetch()"):
            used = [*BACKEND[:3], f"function 1: {other}"]
            self.assertIn("bump the epoch", faults({"Backend": BACKEND}, {"Backend": used})[-1])
        for result in ("void *", "const wchar_t *"):
            changed = [*BACKEND[:2], f"function 0: {result}name() const [pure]", BACKEND[3]]
            self.assertIn("bump the epoch", faults({"Backend": BACKEND}, {"Backend": changed})[-1])
        appended = [*BACKEND, "function 2: Error prefetch(const TensorView &)"]
        self.assertIn("bump the epoch", faults({"Backend": BACKEND}, {"Backend": appended})[-1])

    def test_enumerators(self):
        further = faults({"enum Error": ERROR}, {"enum Error": [*ERROR, "InUse = 2"]})
        self.assertEqual(further, ["enum Error has further enumerators", "run python3 layouts.py update"])
        for after in ([*ERROR[:2], "InUse = 1", "Internal = 2"], ERROR[:2], ["of int32_t", *ERROR[1:]]):
            self.assertIn("bump the epoch", faults({"enum Error": ERROR}, {"enum Error": after})[-1])

    def test_unlisted(self):
        header = ("struct alignas(8) LastError {\n};\nclass TENON_EXPORT Backend : public Base {\n};\n"
                  "TENON_EXPORT inline LastError& last_error() noexcept {\n"
                  "TENON_EXPORT inline Backend*& current_backend() noexcept {\n"
                  "TENON_EXPORT inline FailureHandler& failure_handler() noexcept {\n")
        self.assertEqual(layouts.unlisted([header], ["Blob"]), ["Backend", "LastError"])
        self.assertEqual(layouts.unlisted([header], ["Backend", "detail::LastError"]), [])

    def test_parsed(self):
        found = layouts.parsed(DUMP, ["Blob"])
        self.assertEqual(found["Blob"], ["16 bytes, aligned to 8", "0 functions", "8 Header * header",
                                         "function 0: bool is_lent() const"])
        self.assertEqual(found["detail::Header"], ["8 bytes, aligned to 8", "0 size_t nbytes"])  # by pointer
        self.assertEqual(layouts.parsed(DUMP.replace("bool tenon", "int tenon"), ["Blob"])["Blob"][3],
                         "function 0: int is_lent() const")


if __name__ == "__main__":
    unittest.main()
