#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Shows PyTorch the decoder's film, in the GPU's memory where it lies.

usage: torch_view.py LIBRARY      libcuda_blob_torch.so, beside the program
"""

import ctypes
import sys


def film(library, stream):
    """The tensor that the library exports, as a DLPack capsule."""
    library.cuda_blob_film.argtypes = [ctypes.c_int64]
    library.cuda_blob_film.restype = ctypes.c_void_p
    exported = library.cuda_blob_film(stream)
    if not exported:
        sys.exit(1)
    new = ctypes.pythonapi.PyCapsule_New
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    new.restype = ctypes.py_object
    return new(exported, b"dltensor_versioned", None)


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        import torch
    except ImportError:
        print("tenon: skipped: there is no PyTorch")
        return 77
    if not torch.cuda.is_available():
        print("tenon: skipped: PyTorch has no GPU")
        return 77
    stream = torch.cuda.current_stream().cuda_stream or 1  # DLPack's number of the null stream
    seen = torch.from_dlpack(film(ctypes.CDLL(arguments[0]), stream))
    n, y, x = torch.meshgrid(*(torch.arange(size, device="cuda") for size in seen.shape),
                             indexing="ij")
    assert seen.stride() == (24, 8, 1), seen.stride()
    assert torch.equal(seen, (1000 * n + 10 * y + x).float()), seen
    print(f"{seen.dtype} {tuple(seen.shape)} with strides {seen.stride()} on {seen.device}:")
    print(seen[-1])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
