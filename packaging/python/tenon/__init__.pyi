# SPDX-License-Identifier: MIT
from ._tensor import ArrayLike as ArrayLike
from ._tensor import Tensor as Tensor

__all__ = ["Tensor", "asarray", "get_cmake_dir", "get_include"]
__version__: str

def get_include() -> str: ...
def get_cmake_dir() -> str: ...
def asarray(object: ArrayLike, /, *, copy: bool | None = None) -> Tensor: ...
