// SPDX-License-Identifier: MIT
// The functions that handles need; each test file includes the kernels that it tests.
#include "tenon/interop/aoti_shim.h"
