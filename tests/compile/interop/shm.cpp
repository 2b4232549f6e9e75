// SPDX-License-Identifier: MIT
// A system without what shared memory takes is told so.
// expect: interop/shm.h needs Linux
#if !defined(CONTROL)
#undef __linux__
#include <tenon/interop/shm.h>
#endif
