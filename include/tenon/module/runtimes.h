// SPDX-License-Identifier: MIT
// Which runtime runs a model file: open_module("digits.onnx") makes the Module that was registered
// for ".onnx".
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tenon/module/module.h"

TENON_BEGIN_NAMESPACE

/// A model to open: a file, or its bytes.
struct ModelFile {
  /// Of a program in memory: a name that its runtime is found by.
  std::string path = {};
  /// The program, if it is in memory; else undefined.
  Tensor bytes = {};
  /// Files of weights beside it, such as ExecuTorch's .ptd.
  std::vector<std::string> data_files = {};
  /// Whether to map files, not to copy them; a runtime may do as it does always.
  bool map = false;
  /// Whether methods may plan their memory in one arena; a runtime may do as it does always.
  bool share_arenas = false;
};

/// Makes a runtime's module. Null, after set_error(), is an error; so is an exception.
using ModuleMaker = std::function<std::shared_ptr<Module>(const ModelFile& file)>;

namespace detail {

struct Runtimes {
  struct Entry {
    std::string suffix;
    ModuleMaker make;
  };
  std::mutex mutex;
  std::vector<Entry> entries;
};
TENON_EXPORT inline Runtimes& runtimes() {
  static Runtimes all;
  return all;
}

}  // namespace detail

/// Registers what runs the model files whose path ends in `suffix`: ".onnx", or one file's name. Of
/// several that fit, the longest suffix wins, and of equal ones the last registered; "" takes any.
/// Returns true, for the initializer of a static variable.
/// Threads: any.
inline bool register_runtime(std::string suffix, ModuleMaker make) {
  detail::Runtimes& all = detail::runtimes();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.entries.push_back({std::move(suffix), std::move(make)});
  return true;
}
/// Registers a class that is made from a path or from a program's bytes:
/// `register_runtime<OnnxModule>(".onnx")`. It takes no data_files.
template <class M>
bool register_runtime(std::string suffix) {
  return register_runtime(std::move(suffix), [](const ModelFile& file) -> std::shared_ptr<Module> {
    if (!file.data_files.empty()) {
      static_cast<void>(set_error(Error::NotSupported, "the runtime takes no data files"));
      return nullptr;
    }
    if (file.bytes.defined()) return std::make_shared<M>(file.bytes);
    return std::make_shared<M>(file.path);
  });
}

/// Makes the module of the runtime that is registered for `file`. Whether the file is there and
/// right is found out when the module is used.
/// Errors: NotSupported, with the registered suffixes, if there is none for it; the runtime's.
/// Threads: any.
inline Result<std::shared_ptr<Module>> open_module(const ModelFile& file) {
  ModuleMaker make;
  std::string known;
  size_t longest = 0;
  {
    detail::Runtimes& all = detail::runtimes();
    const std::lock_guard<std::mutex> lock(all.mutex);
    for (const auto& entry : all.entries) {
      const std::string& suffix = entry.suffix;
      known += (known.empty() ? "\"" : ", \"") + suffix + '"';
      if (suffix.size() < longest || suffix.size() > file.path.size()) continue;
      if (file.path.compare(file.path.size() - suffix.size(), suffix.size(), suffix) != 0) continue;
      make = entry.make;
      longest = suffix.size();
    }
  }
  if (!make) {
    return detail::fail(Error::NotSupported, "open_module: no runtime is registered for \"",
                        file.path, "\"; registered: ", known.empty() ? "none" : known);
  }
  std::shared_ptr<Module> module;
  const Error error = detail::call_safely([&] {
    static_cast<void>(set_error(Error::InvalidState, "the runtime made no module"));
    module = make(file);
    return module != nullptr ? Error::Ok : detail::last_error().error;
  });
  if (error != Error::Ok) return detail::add_context("open_module", error);
  return module;
}
inline Result<std::shared_ptr<Module>> open_module(std::string path) {
  ModelFile file;
  file.path = std::move(path);
  return open_module(file);
}

TENON_END_NAMESPACE
