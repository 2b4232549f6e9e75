// SPDX-License-Identifier: MIT
// A library whose name says that it is a part of libtorch.
extern "C" int fake_torch() { return 0; }
