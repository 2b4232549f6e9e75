// SPDX-License-Identifier: MIT
// ExecuTorch's runtime beside tenon, in plain mode: its models as modules, and tensors and EValues
// to and from its own over the same memory. Code written for its tensor extension, without its
// runtime, wants compat/executorch.h instead.
#pragma once

#include "tenon/backend/cpu.h"
#include "tenon/interop/files/file.h"
#include "tenon/interop/runtimes/executorch_method.h"
#include "tenon/module/module.h"

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

TENON_BEGIN_NAMESPACE

/// The methods of an ExecuTorch program, a .pte. The kernels and delegates that it uses are to be
/// linked.
///
/// Nothing is opened before the first use, which reports errors of the file; the next use tries
/// again. A method is loaded at its first use, or by load_method().
///
/// Inputs: a tensor is dense in the dim order of export, and not beyond max_sizes where its shape
/// is dynamic. Any other kind has the one value that it had at export. A tensor is read where it
/// is, or copied if the program plans memory for it (alloc_graph_input, on by default at export).
/// It may be read-only: a program writes to no input but one that it was exported to change. Give
/// that writable memory; ExecuTorch does not tell which it is.
/// Outputs: one for which no memory is planned (alloc_graph_output=False at export) is written
/// right into the tensor that was set, if that has room for the largest shape, is dense in the same
/// dim order and shares nothing with an input or an earlier set output; where none was set, into
/// one that the module makes, as FunctionModule does. Any other, also a constant, or one that is an
/// input, is copied there. A list of tensors, which no export makes, is None, and get_output() says
/// so; a run of a method that takes one is NotSupported.
/// Ownership: the file is copied to memory, and stays open for delegates. A program in memory is
/// used where it is, and kept by its tensor: bytes in flash, an adopted std::vector, a mapped file.
/// With `memory`, which is the host's, all is made there but what ExecuTorch, kernels and delegates
/// take from the heap, and long names and shapes, as with FunctionModule; it outlives the module
/// and the outputs. Outputs outlive the module.
/// Errors: as Module's; NotFound and AccessFailed, with the path; InvalidArgument (no program, or a
/// broken one; a tensor in another dim order); NotSupported (operators or delegates that are not
/// linked; memory that is not the host's); OutOfMemory; errors of kernels. A text "ExecuTorch says
/// …" is the runtime's; it logs more to stderr, unless the program's platform layer differs.
/// Cost: a run allocates nothing itself, but for outputs that are shared when the next ones are
/// made, for the first copy of one that shares memory, and for shapes of more dimensions than
/// TENON_INLINE_DIMS.
/// Threads: as Module's; several modules may run at once.
/// Source: executorch::extension::Module, which gives outputs that the next run overwrites.
class TENON_EXPORT ExecuTorchModule final : public Module {
 public:
  explicit ExecuTorchModule(std::string path) : ExecuTorchModule(std::move(path), host_backend()) {}
  ExecuTorchModule(std::string path, Backend& memory)
      : ExecuTorchModule(memory, std::move(path), Tensor(), false) {}
  /// A program in memory: a contiguous tensor of its bytes, at a multiple of 16.
  explicit ExecuTorchModule(const TensorArg& program) : ExecuTorchModule(program, host_backend()) {}
  ExecuTorchModule(const TensorArg& program, Backend& memory)
      : ExecuTorchModule(memory, {}, program.defined() ? program.tensor() : Tensor(), true) {}

 protected:
  Error load() override {
    const Error error = open();
    if (error == Error::Ok) return Error::Ok;
    program_.reset();
    file_.reset();
    buffer_.reset();
    return is_in_memory_ ? error : detail::FilePath(path_).add_context(error);
  }
  size_t count_methods() const noexcept override { return methods_.size(); }
  const char* name_of(size_t method) const noexcept override {
    return program_->get_method_name(method).get();
  }
  Error prepare(size_t method, MethodMeta& meta) override {
    detail::Stored<detail::ExecutorchMethod> made;
    TENON_TRY(detail::make_stored(made, methods_.metadata_backend(), 0, memory_));
    TENON_TRY(made->load(*program_, name_of(method)));
    made->describe(meta);
    methods_[method] = std::move(made);
    return Error::Ok;
  }
  Error invoke(size_t method, Span<const EValue> inputs, Outputs& outputs) override {
    return methods_[method]->run(name_of(method), inputs, outputs);
  }
  Error explain_none(size_t method, size_t output) const noexcept override {
    return methods_[method]->explain_none(output);
  }

 private:
  using Program = ::executorch::runtime::Program;

  ExecuTorchModule(Backend& memory, std::string path, Tensor bytes, bool is_in_memory)
      : Module(&memory),
        memory_(memory),
        path_(std::move(path)),
        bytes_(std::move(bytes)),
        is_in_memory_(is_in_memory) {}

  Error open() {
    if (!memory_.device().is_cpu() || memory_.is_opaque()) {
      return detail::fail(Error::NotSupported, "backend ", memory_.name(),
                          " has no memory that the host reads on cpu");
    }
    ::executorch::runtime::runtime_init();
    ::executorch::runtime::DataLoader* loader = nullptr;
    TENON_TRY(is_in_memory_ ? open_bytes(loader) : open_file(loader));
    // All that the file refers to is checked, if the runtime was built with that.
    const auto load_with = [&](Program::Verification verification) {
      auto program = Program::load(loader, verification);
      if (program.ok()) program_.emplace(std::move(*program));
      return program.error();
    };
    auto error = load_with(Program::Verification::InternalConsistency);
    if (error == ::executorch::runtime::Error::NotSupported) {
      error = load_with(Program::Verification::Minimal);
    }
    TENON_TRY(detail::check_executorch(error, "it is no program that can be loaded"));
    const size_t count = program_->num_methods();
    for (size_t i = 0; i < count; ++i) {
      TENON_TRY(detail::check_executorch(program_->get_method_name(i).error(), "method ", i,
                                         " has no name"));
    }
    return methods_.resize(count);
  }
  /// Not mapped: a file that is truncated while it is would end the program by SIGBUS.
  Error open_file(::executorch::runtime::DataLoader*& loader) {
    TENON_TRY(detail::InputFile().open(path_.c_str()));  // for a better error text
    auto file =
        ::executorch::extension::FileDataLoader::from(path_.c_str(), detail::kDataAlignment);
    TENON_TRY(detail::check_executorch(file.error(), "it cannot be opened"));
    file_.emplace(std::move(*file));
    loader = &*file_;
    return Error::Ok;
  }
  Error open_bytes(::executorch::runtime::DataLoader*& loader) {
    constexpr size_t kAlignment = 16;  // of constants in a program
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

  Backend& memory_;
  const std::string path_;
  const Tensor bytes_;
  const bool is_in_memory_;
  // Later members refer to earlier ones.
  std::optional<::executorch::extension::FileDataLoader> file_;
  std::optional<::executorch::extension::BufferDataLoader> buffer_;
  std::optional<Program> program_;
  detail::StoredArray<detail::Stored<detail::ExecutorchMethod>> methods_{
      detail::metadata_backend_for(&memory_)};
};

TENON_END_NAMESPACE
