// SPDX-License-Identifier: MIT
#include <tenon/interop/aoti.h>
#include <tenon/interop/aoti_fft.h>
#include <tenon/interop/aoti_kernels.h>
#include <tenon/interop/aoti_onednn.h>
#include <tenon/interop/aoti_proxy.h>
#include <tenon/interop/aoti_shim.h>
#include <tenon/interop/torch_stable_shim.h>

#include "network.h"

int main(int argc, char** argv) {
  return run_network<ModuleNetwork<tenon::AotiModule>>(argc, argv, ".pt2");
}
