// SPDX-License-Identifier: MIT
// The one file of tenon::executorch_runtime: open_module() runs .pte files on ExecuTorch.
#include "tenon/interop/executorch.h"
#include "tenon/module/runtimes.h"

namespace {

std::shared_ptr<tenon::Module> make_module(const tenon::ModelFile& file) {
  tenon::ExecuTorchOptions options;
  options.data_files = file.data_files;
  options.share_arenas = file.share_arenas;
  if (file.map) options.map = executorch::extension::MmapDataLoader::MlockConfig::NoMlock;
  if (file.bytes.defined()) return std::make_shared<tenon::ExecuTorchModule>(file.bytes, options);
  return std::make_shared<tenon::ExecuTorchModule>(file.path, options);
}

// Not ".pte": a program's own maker for that wins, whichever is registered first.
[[maybe_unused]] const bool registered = tenon::register_runtime("pte", make_module);

}  // namespace
