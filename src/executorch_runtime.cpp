// SPDX-License-Identifier: MIT
// The one file of tenon::executorch_runtime: open_module() runs .pte files on ExecuTorch.
#include "tenon/interop/executorch.h"
#include "tenon/module/runtimes.h"

[[maybe_unused]] static const bool is_registered =
    tenon::register_runtime<tenon::ExecuTorchModule>(".pte");
