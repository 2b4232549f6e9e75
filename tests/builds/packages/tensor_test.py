# SPDX-License-Identifier: MIT
"""What the installed package of Python gives; mypy checks this file against its stub."""

import array
import pathlib
import sys

import tenon


def main() -> None:
    assert tenon.__version__ == sys.argv[1]
    assert pathlib.Path(tenon.get_include(), "tenon", "tenon.h").is_file()
    assert pathlib.Path(tenon.get_cmake_dir(), "tenonConfig.cmake").is_file()

    assert {"Tensor", "asarray"} <= set(dir(tenon))

    numbers = array.array("f", [1, 2, 3])
    shared = tenon.asarray(numbers)
    copied = tenon.asarray(numbers, copy=True)
    numbers[1] = 5
    assert isinstance(shared, tenon.Tensor) and shared.shape == (3,)
    assert shared.tolist() == [1, 5, 3] and copied.tolist() == [1, 2, 3]
    assert tenon.asarray(shared[1:]).tolist() == [5, 3]
    assert repr(tenon.Tensor) == "<class 'tenon.Tensor'>"
    try:
        tenon.asarray([1, 2])  # type: ignore[arg-type]
    except TypeError as error:
        assert "'list' object" in str(error)
    else:
        raise AssertionError("a list was taken")


if __name__ == "__main__":
    main()
