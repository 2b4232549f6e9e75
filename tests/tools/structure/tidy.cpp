// SPDX-License-Identifier: MIT
// What clang-tidy reads: every public header.
#include "tenon/compat/executorch_module.h"
#include "tenon/interop/npy.h"
#include "tenon/interop/shm.h"
#include "tenon/ostream.h"
#include "tenon/tenon.h"
