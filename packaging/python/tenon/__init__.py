# SPDX-License-Identifier: MIT
"""tenon's headers and CMake package for C++, and its type of tensors over the memory of arrays."""

import importlib
import importlib.metadata
import os

__all__ = ["Tensor", "asarray", "get_cmake_dir", "get_include"]
__version__ = importlib.metadata.version("tenon")

# Not this file's folder: `pip install -e` leaves the file in the checkout, but installs the headers.
_FOLDER = os.path.abspath(str(importlib.metadata.distribution("tenon").locate_file("tenon")))


def get_include():
    """The folder to give to the compiler: -I."""
    return os.path.join(_FOLDER, "include")


def get_cmake_dir():
    """The folder to give to CMake: -Dtenon_DIR=."""
    return os.path.join(_FOLDER, "share", "cmake", "tenon")


def __getattr__(name):
    """Loads the type when it is asked for: a build that wants the headers does without."""
    if name in ("Tensor", "asarray"):
        try:
            return getattr(importlib.import_module("tenon._tensor"), name)
        except ModuleNotFoundError as error:
            raise ImportError(f"tenon.{name} is not here: tenon was built with TENON_PYTHON=OFF") from error
    raise AttributeError(f"module 'tenon' has no attribute '{name}'")


def __dir__():
    return sorted({*globals(), *__all__})
