# SPDX-License-Identifier: MIT
"""Writes the .npy files in this folder, which npy_test.cpp reads. They were written by NumPy 2.4.6
and ml_dtypes 0.6.0:

    pip install numpy==2.4.6 ml_dtypes==0.6.0
    python3 make_data.py

Element i in row-major order is the number in VALUES, or for complex dtypes VALUES[i] - VALUES[i] j.
"""

from pathlib import Path

import ml_dtypes
import numpy as np

HERE = Path(__file__).resolve().parent
VALUES = [0, 1, 2, 3, 100, 127]
DTYPES = ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]


def numbers(code):
    values = np.array(VALUES).reshape(2, 3)
    return (values - 1j * values if code.startswith("c") else values).astype("<" + code)


def save(name, array, version=None):
    with open(HERE / f"{name}.npy", "wb") as file:
        if version is None:
            np.save(file, array)
        else:
            np.lib.format.write_array(file, array, version=version)


for code in DTYPES:
    save(f"c_{code}", numbers(code))
for code in ["u2", "i4", "f8", "c8", "c16"]:
    save(f"big_{code}", numbers(code).astype(">" + code))

save("v2", numbers("f4"), version=(2, 0))
save("v3", numbers("f4"), version=(3, 0))
save("fortran_f4", np.asfortranarray(numbers("f4")))
save("fortran_3d", np.asfortranarray(np.arange(24, dtype="<i2").reshape(2, 3, 4)))
save("big_fortran_u4", np.asfortranarray(numbers("u4").astype(">u4")))
save("scalar", np.array(2.5))
save("empty", np.zeros((0, 3), "<f4"))
save("one_dimension", np.arange(12345, 12350, dtype="<i8"))

for name in ["bfloat16", "float8_e4m3fn"]:
    save(name, np.array([[0, 1, 2], [3, 96, -448]]).astype(getattr(ml_dtypes, name)))
save("bfloat16_bits", np.array([1.5, -2], ml_dtypes.bfloat16).view(np.uint16))
with open(HERE / "two_arrays.npy", "wb") as file:
    np.save(file, np.arange(3, dtype="<i4"))
    np.save(file, np.array([[0.5], [2.5]], "<f8", order="F"))

# What tenon refuses without a type.
save("text", np.array(["tenon", "mortise"]))
save("bytes", np.array([b"ab", b"c"]))
save("date", np.array(["2026-11-21"], "datetime64[D]"))
save("void", np.zeros(2, "V3"))
save("object", np.array([None, 1], dtype=object))
save("structured", np.zeros(2, [("pixel", "<u1", (3,)), ("depth", "<f4")]))
save("long_double", np.zeros(1, np.longdouble))
with open(HERE / "archive.npz", "wb") as archive:
    np.savez(archive, x=np.zeros(1, "u1"))
