// SPDX-License-Identifier: MIT
#include <tenon/interop/aoti.h>
#include <tenon/interop/aoti_fft.h>
#include <tenon/interop/aoti_kernels.h>
#include <tenon/interop/aoti_onednn.h>
#include <tenon/interop/aoti_proxy.h>
#include <tenon/interop/aoti_shim.h>
#include <tenon/interop/torch_stable_no_cuda.h>
#include <tenon/interop/torch_stable_shim.h>

#include "network.h"

int main(int argc, char** argv) {
  if (argc > 3 && tenon::load_torch_library(argv[3]) != tenon::Error::Ok) {
    fail(tenon::last_error_message());
  }
  return run_network<ModuleNetwork<tenon::AotiModule>>(argc, argv, ".pt2");
}
