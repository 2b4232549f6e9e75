// SPDX-License-Identifier: MIT
// ExecuTorch's runtime together with tenon, in plain mode: ExecuTorchModule runs ExecuTorch's
// programs, and functions convert between ExecuTorch's tensors and EValues and tenon's, which share
// the memory. Code that was written for ExecuTorch's tensor extension, and does not use the
// runtime, needs compat/executorch.h instead.
#pragma once

#include <string>
#include <vector>

#include "tenon/backend/cpu.h"
#include "tenon/interop/files/file.h"
#include "tenon/interop/runtimes/executorch_method.h"
#include "tenon/module/module.h"

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>
#include <executorch/extension/named_data_map/merged_data_map.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

TENON_BEGIN_NAMESPACE

/// Options of an ExecuTorchModule.
struct ExecuTorchOptions {
  /// Paths of files with weights (.ptd), which were exported with the program.
  std::vector<std::string> data_files = {};
  /// If set, files are mapped with this option instead of copied to memory. If a file is truncated
  /// while it is mapped, reading it ends the program with SIGBUS; no check can prevent that.
  std::optional<::executorch::extension::MmapDataLoader::MlockConfig> map = {};
  /// Options of backends. The module copies the map and the options to which the map refers.
  ::executorch::runtime::LoadBackendOptionsMap backend_options = {};
  /// Traces each step, if the runtime was built with event tracing. Borrowed: the tracer must
  /// outlive the module.
  ::executorch::runtime::EventTracer* event_tracer = nullptr;
  /// Whether all methods share two blocks of memory, which programs plan as memory 1 (activations)
  /// and memory 2 (shared state, share_mutable_buffers at export). Load all methods before the
  /// first run: loading a method may initialise the state. Other methods overwrite state that was
  /// not exported as shared.
  bool share_arenas = false;
};

namespace detail {

/// A file that is copied to memory or mapped, and the weights in it if it is a .ptd.
struct ExecutorchFile {
  Error open(const char* path, const ExecuTorchOptions& options,
             ::executorch::runtime::DataLoader*& loader) {
    TENON_TRY(InputFile().open(path));  // for a better error text
    const auto keep = [&](auto file, auto& kept) {
      TENON_TRY(check_executorch(file.error(), "it cannot be opened"));
      loader = &kept.emplace(std::move(*file));
      return Error::Ok;
    };
    return options.map.has_value()
               ? keep(::executorch::extension::MmapDataLoader::from(path, *options.map), mapped)
               : keep(::executorch::extension::FileDataLoader::from(path, kDataAlignment), copied);
  }
  Error open_weights(const char* path, const ExecuTorchOptions& options) {
    ::executorch::runtime::DataLoader* loader = nullptr;
    TENON_TRY(open(path, options, loader));
    auto loaded = ::executorch::extension::FlatTensorDataMap::load(loader);
    TENON_TRY(check_loaded(loaded.error(), options, "it has no weights that can be loaded"));
    weights.emplace(std::move(*loaded));
    return Error::Ok;
  }

  /// Ok, or the runtime's error with a message.
  static Error check_loaded(::executorch::runtime::Error error, const ExecuTorchOptions& options,
                            const char* text) {
    const bool is_locked =
        options.map == ::executorch::extension::MmapDataLoader::MlockConfig::UseMlock;
    return check_executorch(error, is_locked && error == ::executorch::runtime::Error::NotSupported
                                       ? "it cannot be locked in memory; UseMlockIgnoreErrors "
                                         "goes on without"
                                       : text);
  }

  std::optional<::executorch::extension::FileDataLoader> copied;
  std::optional<::executorch::extension::MmapDataLoader> mapped;
  std::optional<::executorch::extension::FlatTensorDataMap> weights;
};

}  // namespace detail

/// The methods of an ExecuTorch program, a .pte. The C++ program has to link the kernels and
/// delegates that the model uses.
///
/// The file is opened at the first use, which reports the file's errors; after an error, the next
/// use tries again. A method is loaded at its first use, or by load_method().
///
/// Inputs: a tensor must be dense in the dim order that it had at export, which method_meta()
/// reports if it is not row-major; a dynamic shape must be within max_sizes. Inputs of other kinds
/// must have the value that they had at export. A tensor is read in place, or copied if the program
/// plans memory for it (alloc_graph_input, on by default at export). A tensor may be read-only,
/// unless the program was exported to change that input: pass such inputs in writable memory.
/// ExecuTorch does not report which inputs a program changes.
/// Outputs: an output for which no memory is planned (alloc_graph_output=False at export) is
/// written directly into the tensor that was set for it. That tensor must have room for the largest
/// shape, be dense in the same dim order and share no memory with an input or an earlier set
/// output. If none was set, the output is written directly into a tensor that the module makes, as
/// FunctionModule does. All other outputs are copied, also constants and outputs that are inputs.
/// An output that is a list of tensors, which no export makes, is None, and get_output() returns an
/// error; a method with such an input fails with NotSupported.
/// Ownership: files are copied to memory, or mapped, and stay open for delegates. A program in
/// memory is used in place, and the module keeps its tensor; the bytes may be in flash, or in a
/// std::vector that the tensor adopted. If `memory` is given, which must be host memory, everything
/// is allocated there, except what ExecuTorch, kernels and delegates take from the heap, and long
/// names and shapes, as with FunctionModule. `memory` must outlive the module and the outputs.
/// Outputs may outlive the module.
/// Errors: those of Module; NotFound and AccessFailed, with the path; InvalidArgument (no program,
/// or a broken one; a tensor in another dim order); NotSupported (operators or delegates that are
/// not linked; memory off the host); OutOfMemory; InvalidState (a method in arenas that another
/// method is using); errors of kernels. A text after "ExecuTorch says" is from the runtime, which
/// logs more to stderr by default. After an exception of a kernel or a tracer, the next run loads
/// the method again, and state that the method kept is undefined. A tracer that throws in
/// end_profiling() ends the program: the runtime calls end_profiling() in destructors. A .ptd that
/// is damaged after its header may end the program too: the runtime does not check it.
/// Cost: the module itself allocates in a run only: new outputs in the place of those that the
/// caller still shares; the first copy of an output that shares memory; shapes of more dimensions
/// than TENON_INLINE_DIMS.
/// Threads: as for Module; several modules may run at once.
/// Source: executorch::extension::Module, whose outputs the next run overwrites.
class TENON_EXPORT ExecuTorchModule final : public Module {
 public:
  /// Makes a module of the program at a path, which the first use reads.
  /// Ownership: borrows `memory`, in which the outputs are made.
  explicit ExecuTorchModule(std::string path) : ExecuTorchModule(std::move(path), host_backend()) {}
  ExecuTorchModule(std::string path, Backend& memory)
      : ExecuTorchModule(std::move(path), ExecuTorchOptions(), memory) {}
  ExecuTorchModule(std::string path, ExecuTorchOptions options, Backend& memory = host_backend())
      : ExecuTorchModule(memory, std::move(path), Tensor(), false, std::move(options)) {}
  /// Makes a module of a program in memory: a contiguous tensor of its bytes, at a multiple of 16
  /// bytes.
  explicit ExecuTorchModule(const TensorArg& program) : ExecuTorchModule(program, host_backend()) {}
  ExecuTorchModule(const TensorArg& program, Backend& memory)
      : ExecuTorchModule(program, ExecuTorchOptions(), memory) {}
  ExecuTorchModule(const TensorArg& program, ExecuTorchOptions options,
                   Backend& memory = host_backend())
      : ExecuTorchModule(memory, {}, program.defined() ? program.tensor() : Tensor(), true,
                         std::move(options)) {}

 protected:
  Error load() override {
    const Error error = open();
    if (error == Error::Ok) return Error::Ok;
    program_.reset();
    data_.reset();
    static_cast<void>(files_.resize(0));
    buffer_.reset();
    return error;
  }
  size_t count_methods() const noexcept override { return methods_.size(); }
  const char* name_of(size_t method) const noexcept override {
    return program_->get_method_name(method).get();
  }
  Error prepare(size_t method, MethodMeta& meta) override {
    return use_arenas([&] {
      TENON_TRY(make_arenas());
      detail::Stored<detail::ExecutorchMethod> made;
      TENON_TRY(detail::make_stored(made, methods_.metadata_backend(), 0, memory_));
      TENON_TRY(made->load(setup(), name_of(method)));
      made->describe(meta);
      methods_[method] = std::move(made);
      return Error::Ok;
    });
  }
  Error invoke(size_t method, Span<const EValue> inputs, Outputs& outputs) override {
    return use_arenas(
        [&] { return methods_[method]->run(setup(), name_of(method), inputs, outputs); });
  }
  Error unload(size_t method) override {
    const auto dropped = std::move(methods_[method]);
    return Error::Ok;
  }
  Error explain_none(size_t method, size_t output) const noexcept override {
    // Null while unload() frees the method: a backend's code may call the module then.
    return methods_[method] ? methods_[method]->explain_none(output) : Error::Ok;
  }

 private:
  using Program = ::executorch::runtime::Program;
  using MergedDataMap = ::executorch::extension::merged_data_map::MergedDataMap;

  ExecuTorchModule(Backend& memory, std::string path, Tensor bytes, bool is_in_memory,
                   ExecuTorchOptions options)
      : Module(&memory),
        memory_(memory),
        path_(std::move(path)),
        bytes_(std::move(bytes)),
        is_in_memory_(is_in_memory),
        options_(std::move(options)) {
    auto& map = options_.backend_options;
    for (size_t i = 0; i < map.size(); ++i) {
      const auto entry = map.entry_at(i);
      auto& kept = backend_options_.emplace_back(entry.options.begin(), entry.options.end());
      // If the backend already has an entry, this is not an error.
      static_cast<void>(map.set_options(entry.backend_id, {kept.data(), kept.size()}));
    }
  }

  Error open() {
    if (!memory_.device().is_cpu() || memory_.is_opaque()) {
      return add_path(detail::fail(Error::NotSupported, "backend ", memory_.name(),
                                   " is opaque or not on cpu, expected host memory"));
    }
    ::executorch::runtime::runtime_init();
    TENON_TRY(add_path(open_program()));
    return options_.data_files.empty() ? Error::Ok : open_data();
  }
  Error add_path(Error error) const noexcept {
    return error == Error::Ok || is_in_memory_ ? error : detail::FilePath(path_).add_context(error);
  }
  Error open_program() {
    ::executorch::runtime::DataLoader* loader = nullptr;
    TENON_TRY(files_.resize(1 + options_.data_files.size()));
    TENON_TRY(is_in_memory_ ? open_bytes(loader) : files_[0].open(path_.c_str(), options_, loader));
    // Checks all references within the file, if the runtime was built with that check.
    const auto load_with = [&](Program::Verification verification) {
      auto program = Program::load(loader, verification);
      if (program.ok()) program_.emplace(std::move(*program));
      return program.error();
    };
    auto error = load_with(Program::Verification::InternalConsistency);
    if (error == ::executorch::runtime::Error::NotSupported) {
      error = load_with(Program::Verification::Minimal);
    }
    TENON_TRY(detail::ExecutorchFile::check_loaded(error, options_,
                                                   "it is not a program that can be loaded"));
    const size_t count = program_->num_methods();
    for (size_t i = 0; i < count; ++i) {
      TENON_TRY(detail::check_executorch(program_->get_method_name(i).error(), "method ", i,
                                         " has no name"));
    }
    return methods_.resize(count);
  }
  Error open_data() {
    const size_t count = options_.data_files.size();
    detail::StoredArray<const ::executorch::runtime::NamedDataMap*> maps;
    TENON_TRY(maps.resize(count));
    for (size_t i = 0; i < count; ++i) {
      const detail::FilePath path(options_.data_files[i]);
      const Error error = files_[1 + i].open_weights(path.c_str(), options_);
      if (error != Error::Ok) return path.add_context(error);
      maps[i] = &*files_[1 + i].weights;
    }
    auto merged = MergedDataMap::load({maps.data(), count});
    TENON_TRY(detail::check_executorch(merged.error(), "the data files cannot be merged"));
    data_.emplace(std::move(*merged));
    return Error::Ok;
  }
  Error open_bytes(::executorch::runtime::DataLoader*& loader) {
    constexpr size_t kAlignment = 16;  // the alignment of a program's constants
    TENON_TRY(detail::check_defined(bytes_, "the program"));
    const detail::TensorFields& bytes = detail::fields(TensorArg(bytes_));
    TENON_TRY(detail::check_has_data(bytes));
    if (!bytes.is_host_accessible() || !bytes.layout.is_contiguous() ||
        reinterpret_cast<uintptr_t>(bytes.data) % kAlignment != 0) {
      return detail::fail(Error::InvalidArgument,
                          "the program's bytes are not contiguous at a "
                          "multiple of ",
                          kAlignment,
                          " in memory that the host reads; "
                          "clone_tensor_ptr() aligns them");
    }
    loader = &buffer_.emplace(bytes.data, bytes.nbytes());
    return Error::Ok;
  }

  detail::ExecutorchSetup setup() const noexcept {
    return {*program_,
            options_.event_tracer,
            options_.backend_options,
            data_ ? &*data_ : nullptr,
            {arenas_.data(), arenas_.size()}};
  }
  /// Makes the methods' shared memory, as large as the largest that any method plans.
  Error make_arenas() {
    if (!options_.share_arenas || arenas_.size() != 0) return Error::Ok;
    constexpr size_t kShared = 2;  // only the export knows what further memories are for
    int64_t nbytes[kShared] = {-1, -1};
    for (size_t method = 0; method < methods_.size(); ++method) {
      const auto meta = program_->method_meta(name_of(method));
      TENON_TRY(detail::check_executorch(meta.error(), "method ", name_of(method)));
      for (size_t i = 0; i < kShared && i < meta->num_memory_planned_buffers(); ++i) {
        const auto planned = meta->memory_planned_buffer_size(i);
        TENON_TRY(detail::check_executorch(planned.error(), "planned memory ", i));
        if (*planned > nbytes[i]) nbytes[i] = *planned;
      }
    }
    detail::StoredArray<Tensor> made{methods_.metadata_backend()};
    for (size_t i = 0; i < kShared && nbytes[i] >= 0; ++i) {
      Tensor arena;
      TENON_TRY(detail::make_planned(nbytes[i], memory_, arena));
      TENON_TRY(made.push_back(std::move(arena)));
    }
    arenas_ = std::move(made);
    return Error::Ok;
  }
  /// Calls f(). Meanwhile kernels, backends and a tracer may use the module, but not the shared
  /// arenas.
  template <class F>
  Error use_arenas(const F& f) {
    if (!options_.share_arenas) return f();
    if (are_arenas_used_) {
      return detail::fail(Error::InvalidState, "another method is running in the shared arenas");
    }
    are_arenas_used_ = true;
    const Error error = detail::call_safely(f);
    are_arenas_used_ = false;
    return error;
  }

  Backend& memory_;
  const std::string path_;
  const Tensor bytes_;
  const bool is_in_memory_;
  bool are_arenas_used_ = false;
  ExecuTorchOptions options_;
  std::vector<std::vector<::executorch::runtime::BackendOption>> backend_options_;
  // Later members refer to earlier ones.
  std::optional<::executorch::extension::BufferDataLoader> buffer_;
  detail::StoredArray<detail::ExecutorchFile> files_{detail::metadata_backend_for(&memory_)};
  std::optional<MergedDataMap> data_;
  std::optional<Program> program_;
  detail::StoredArray<Tensor> arenas_{detail::metadata_backend_for(&memory_)};
  detail::StoredArray<detail::Stored<detail::ExecutorchMethod>> methods_{
      detail::metadata_backend_for(&memory_)};
};

TENON_END_NAMESPACE
