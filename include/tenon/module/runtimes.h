// SPDX-License-Identifier: MIT
// Registers runtimes for model files: open_module("digits.onnx") makes a module with the runtime
// that is registered for ".onnx".
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/module/module.h"

#if !TENON_HEAP
#error "tenon/module/runtimes.h: the runtimes' list is on the heap, and TENON_HEAP is 0"
#endif
#if TENON_HAS_THREADS
#include <mutex>
#endif

TENON_BEGIN_NAMESPACE

/// A model to open: a file, or its bytes. Later versions only append fields.
struct ModelFile {
  /// The file. For a program in memory, a name whose suffix selects the runtime.
  std::string path = {};
  /// The bytes of a program in memory; undefined for a file.
  Tensor bytes = {};
  /// Further files with weights, such as ExecuTorch's .ptd.
  std::vector<std::string> data_files = {};
  /// Whether to map files instead of copying them, if the runtime has the choice.
  bool map = false;
  /// Whether methods may share one arena for planned memory, if the runtime has the choice.
  bool share_arenas = false;
};

/// Makes a runtime's module. To fail, it calls set_error() and returns null, or throws. To pass on
/// the error of a Result `r`: `set_error(r.error(), r.message())`.
using ModuleMaker = std::function<std::shared_ptr<Module>(const ModelFile& file)>;

namespace detail {

/// The makers, by suffix. shared_ptrs, so that calls and copies of a maker need no lock.
struct Runtimes {
#if TENON_HAS_THREADS
  using Mutex = std::mutex;
#else
  using Mutex = SpinLock;
#endif
  Mutex mutex;
  std::map<std::string, std::shared_ptr<const ModuleMaker>, std::less<>> makers;
};
TENON_EXPORT inline Runtimes& runtimes() {
  static Runtimes& all = *new Runtimes;  // static objects may open modules before and after main()
  return all;
}

/// Finds the maker of the longest suffix of `path` for which one is registered.
inline Error find_maker(std::string_view path, std::shared_ptr<const ModuleMaker>& found) {
  Runtimes& all = runtimes();
  const LockGuard<Runtimes::Mutex> lock(all.mutex);
  for (size_t i = 0; i <= path.size(); ++i) {
    const auto at = all.makers.find(path.substr(i));
    if (at == all.makers.end()) continue;
    found = at->second;
    return Error::Ok;
  }
  std::string known;
  for (const auto& entry : all.makers) {
    known += (known.empty() ? "\"" : ", \"") + entry.first + '"';
  }
  return fail(Error::NotSupported, "no runtime is registered for \"", path,
              "\"; registered: ", known.empty() ? "none" : known.c_str());
}

}  // namespace detail

/// Registers the maker of modules for model files whose path ends in `suffix`: ".onnx", or a file's
/// name. Case matters. The longest suffix of a path wins; "" matches any path. Replaces an earlier
/// maker for the suffix; an empty `make` (`nullptr`) only removes that maker.
///
/// A program and its shared libraries have one registry if they share symbols (docs/threads.md says
/// when). A library removes its makers before it is unloaded.
/// Ownership: keeps `make` until it is replaced, and while it runs.
/// Returns true, for the initializer of a static variable; false, with the thread's error text, if
/// out of memory.
/// Threads: any; `make` may be called on several threads at once. `make` may call
/// register_runtime() and open_module().
inline bool register_runtime(std::string suffix, ModuleMaker make) noexcept {
  std::shared_ptr<const ModuleMaker> maker;  // later the replaced maker, dropped without the lock
  const Error error = detail::call_safely([&] {
    if (make) maker = std::make_shared<const ModuleMaker>(std::move(make));
    detail::Runtimes& all = detail::runtimes();
    const detail::LockGuard<detail::Runtimes::Mutex> lock(all.mutex);
    if (maker != nullptr) {
      all.makers[std::move(suffix)].swap(maker);
    } else if (const auto at = all.makers.find(suffix); at != all.makers.end()) {
      maker = std::move(at->second);
      all.makers.erase(at);
    }
    return Error::Ok;
  });
  return detail::add_context_if("register_runtime", error) == Error::Ok;
}
/// Registers a class of modules that has a constructor from a path, and perhaps a constructor from
/// a program's bytes: `register_runtime<OnnxModule>(".onnx")`. Modules that need data files are
/// registered with a maker.
template <class M>
bool register_runtime(std::string suffix) noexcept {
  return register_runtime(std::move(suffix), [](const ModelFile& file) -> std::shared_ptr<Module> {
    constexpr bool kTakesBytes = std::is_constructible_v<M, const Tensor&>;
    if (!file.data_files.empty() || (!kTakesBytes && file.bytes.defined())) {
      static_cast<void>(set_error(Error::NotSupported, "the runtime of \"", file.path.c_str(),
                                  "\" takes no ",
                                  file.data_files.empty() ? "program in memory" : "data files"));
      return nullptr;
    }
    if constexpr (kTakesBytes) {
      if (file.bytes.defined()) return std::make_shared<M>(file.bytes);
    }
    return std::make_shared<M>(file.path);
  });
}

/// Makes a module with the runtime that is registered for `file`. Most runtimes open the file only
/// when the module is used: then load_method() and the other functions return the file's errors.
/// Errors: NotSupported, with the registered suffixes, if no runtime is registered for the file;
/// the maker's errors; InvalidState if the maker makes no module and sets no error.
/// Threads: any.
inline Result<std::shared_ptr<Module>> open_module(const ModelFile& file) {
  std::shared_ptr<Module> module;
  const Error error = detail::call_safely([&] {
    std::shared_ptr<const ModuleMaker> make;
    TENON_TRY(detail::find_maker(file.path, make));
    Error& last = detail::last_error().error;
    const Error before = std::exchange(last, Error::Ok);  // an error from before the maker ran
    module = (*make)(file);
    if (module == nullptr) {
      // A Result may have taken the text of the error that was set.
      const bool has_text = last != Error::Ok && *detail::text_of(last) != '\0';
      return has_text ? last
                      : detail::fail(last == Error::Ok ? Error::InvalidState : last,
                                     "the runtime made no module");
    }
    if (last == Error::Ok) last = before;
    return Error::Ok;
  });
  if (error != Error::Ok) return detail::add_context("open_module", error);
  return module;
}
/// A template, so that braces make a ModelFile: `open_module({"llama.pte", {}, {"llama.ptd"}})`.
template <class Path, std::enable_if_t<std::is_convertible_v<Path, std::string>, int> = 0>
Result<std::shared_ptr<Module>> open_module(Path&& path) {
  ModelFile file;
  const Error error = detail::call_safely([&] {
    file.path = std::forward<Path>(path);
    return Error::Ok;
  });
  if (error != Error::Ok) return detail::add_context("open_module", error);
  return open_module(file);
}

TENON_END_NAMESPACE
