// SPDX-License-Identifier: MIT
#include <executorch/extension/threadpool/threadpool_guard.h>
#include <tenon/interop/executorch.h>

#include "network.h"

int main(int argc, char** argv) {
  const executorch::extension::threadpool::NoThreadPoolGuard one_thread;
  return run_network<ModuleNetwork<tenon::ExecuTorchModule>>(argc, argv, ".pte");
}
