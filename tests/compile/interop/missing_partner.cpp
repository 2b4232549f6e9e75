// SPDX-License-Identifier: MIT
// A runtime's header without the runtime says what is missing.
// expect: interop/executorch.h needs ExecuTorch
#if !defined(CONTROL)
#include <tenon/interop/executorch.h>
#endif
