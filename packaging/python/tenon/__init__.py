# SPDX-License-Identifier: MIT
"""tenon's headers and CMake package for C++, and its type of tensors over the memory of arrays."""

import importlib.metadata
import pathlib

__all__ = ["Tensor", "asarray", "get_cmake_dir", "get_include"]
__version__ = importlib.metadata.version("tenon")

_FOLDER = pathlib.Path(__file__).resolve().parent


def get_include():
    """The folder to give to the compiler: -I."""
    return str(_FOLDER / "include")


def get_cmake_dir():
    """The folder to give to CMake: -Dtenon_DIR=."""
    return str(_FOLDER / "share" / "cmake" / "tenon")


def __getattr__(name):
    """Loads the type when it is asked for: a build that wants the headers does without."""
    if name in ("Tensor", "asarray"):
        from . import _tensor  # pylint: disable=import-outside-toplevel

        return getattr(_tensor, name)
    raise AttributeError(f"module 'tenon' has no attribute '{name}'")
