// SPDX-License-Identifier: MIT
// A loaded method of a program, with its memory: a method of an ExecuTorchModule.
#pragma once

#include "tenon/interop/runtimes/executorch_tensors.h"
#include "tenon/module/outputs.h"

#include <executorch/runtime/backend/backend_options_map.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/method_meta.h>
#include <executorch/runtime/executor/program.h>

TENON_BEGIN_NAMESPACE
namespace detail {

/// A bump allocator over blocks that are tensors in a backend's memory.
///
/// Ownership: keeps the blocks until it is destroyed; the backend outlives it.
/// Cost: after reset() a single block replaces several. Kernels allocate equal amounts in each run,
/// so that soon no further blocks are needed.
class ExecutorchMemory final : public ::executorch::runtime::MemoryAllocator {
 public:
  explicit ExecutorchMemory(Backend& memory) noexcept
      : MemoryAllocator(0, nullptr), memory_(memory) {}

  /// Returns null, and sets the thread's error text, when out of memory.
  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override {
    if (!isPowerOf2(alignment)) return nullptr;
    void* const found = take(size, alignment);
    if (found != nullptr || !add_block(size, alignment)) return found;
    return take(size, alignment);
  }
  void reset() override {
    if (blocks_.size() > 1) {
      static_cast<void>(blocks_.resize(0));
      next_ = end_ = nullptr;
    } else if (blocks_.size() == 1) {
      next_ = end_ - capacity_;
    }
  }

 private:
  static constexpr size_t kBlock = 4096;

  void* take(size_t size, size_t alignment) noexcept {
    if (next_ == nullptr) return nullptr;
    const size_t padding = (uintptr_t{0} - reinterpret_cast<uintptr_t>(next_)) % alignment;
    const auto room = static_cast<size_t>(end_ - next_);
    if (padding > room || size > room - padding) return nullptr;
    void* const taken = next_ + padding;
    next_ += padding + size;
    return taken;
  }
  bool add_block(size_t size, size_t alignment) noexcept {
    if (size > PTRDIFF_MAX - alignment) return false;
    size_t nbytes = size + alignment;
    // as large as all blocks of the last run
    if (blocks_.size() == 0 && nbytes < capacity_) nbytes = capacity_;
    if (nbytes < kBlock) nbytes = kBlock;
    constexpr Empty<Result<Tensor>> make{"empty"};
    Result<Tensor> block = make({static_cast<int64_t>(nbytes)}, ScalarType::Byte,
                                TensorShapeDynamism::STATIC, memory_);
    if (!block.ok()) return false;
    auto* const begin = static_cast<unsigned char*>(fields(TensorArg(*block)).data);
    if (blocks_.push_back(std::move(*block)) != Error::Ok) return false;
    next_ = begin;
    end_ = begin + nbytes;
    capacity_ = blocks_.size() == 1 ? nbytes : capacity_ + nbytes;
    return true;
  }

  Backend& memory_;
  StoredArray<Tensor> blocks_{metadata_backend_for(&memory_)};
  unsigned char* next_ = nullptr;  // in the last block
  unsigned char* end_ = nullptr;
  size_t capacity_ = 0;  // of all blocks
};

/// The kind of a value with this tag; None for a tag without a kind, such as that of a list of
/// tensors.
inline ValueKind kind_of(::executorch::runtime::Tag tag) noexcept {
  using ::executorch::runtime::Tag;
  switch (number_of(tag)) {
    case number_of(Tag::Tensor): return ValueKind::Tensor;
    case number_of(Tag::Int): return ValueKind::Int;
    case number_of(Tag::Double): return ValueKind::Double;
    case number_of(Tag::Bool): return ValueKind::Bool;
    case number_of(Tag::String): return ValueKind::String;
    case number_of(Tag::ListInt): return ValueKind::IntList;
    case number_of(Tag::ListDouble): return ValueKind::DoubleList;
    case number_of(Tag::ListBool): return ValueKind::BoolList;
    default: return ValueKind::None;
  }
}

/// Describes an input or output before the first run.
///
/// The program does not record which dimensions of a dynamic shape vary: in the spec each may vary,
/// up to its present size. The spec leaves out a row-major dim order, since a spec with a dim order
/// cannot take strides.
/// Errors: NotSupported for lists of tensors, which exported methods neither take nor return, a
/// dtype that tenon lacks, and memory off the host.
inline Error describe_value(const TheirValue& value, ValueSpec& spec) noexcept {
  spec = ValueSpec(kind_of(value.tag));
  if (spec.kind == ValueKind::None && !value.isNone()) {
    return fail(Error::NotSupported, "a list of tensors, tag number ",
                static_cast<uint32_t>(value.tag), ", is not supported");
  }
  if (spec.kind != ValueKind::Tensor) return Error::Ok;
  const ::executorch::aten::TensorImpl& tensor = *value.toTensor().unsafeGetTensorImpl();
  TENON_TRY(own_dtype(tensor.scalar_type(), spec.tensor.type));
  if (tensor.device_type() != ::executorch::aten::DeviceType::CPU) {
    return fail(Error::NotSupported, "its memory is not the host's");
  }
  spec.is_described = true;
  spec.tensor.sizes = Dims(tensor.sizes());
  if (tensor.shape_dynamism() != ::executorch::aten::TensorShapeDynamism::STATIC) {
    spec.tensor.max_sizes = spec.tensor.sizes;
    for (int64_t& size : spec.tensor.sizes) size = -1;
  }
  const Dims order = dims_of(tensor.dim_order());
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<int64_t>(i)) spec.tensor.dim_order = order;
  }
  return check_spec(spec.tensor);
}

/// Whether two dim orders are equivalent for a shape: the position of dimensions of size 1 does not
/// matter.
inline bool is_same_order(ArrayRef<int64_t> sizes, ArrayRef<DimOrderType> a,
                          ArrayRef<DimOrderType> b) noexcept {
  if (a == b) return true;
  const size_t rank = a.size();
  size_t i = 0;
  size_t j = 0;
  while (true) {
    while (i < rank && sizes[a[i]] == 1) ++i;
    while (j < rank && sizes[b[j]] == 1) ++j;
    if (i == rank || j == rank) return i == j;
    if (a[i++] != b[j++]) return false;
  }
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // for writing without set_input()
/// The runtime's value for an input.
inline const TheirValue& input_of(const ::executorch::runtime::Method& method, size_t i) noexcept {
  return method.get_input(i);
}
#pragma GCC diagnostic pop

/// Allocates planned memory that is filled with zeros: a mutable buffer without a value starts with
/// them.
inline Error make_planned(int64_t nbytes, Backend& memory, Tensor& made) {
  constexpr Constant<Result<Tensor>, 0> make{"zeros"};
  Result<Tensor> result = make({nbytes}, ScalarType::Byte, TensorShapeDynamism::STATIC, memory);
  if (!result.ok()) return fail(result.error(), result.message());
  made = std::move(*result);
  return Error::Ok;
}

/// The arguments with which a program's methods are loaded. They outlive the methods.
struct ExecutorchSetup {
  const ::executorch::runtime::Program& program;
  ::executorch::runtime::EventTracer* event_tracer;
  const ::executorch::runtime::LoadBackendOptionsMap& backend_options;
  const ::executorch::runtime::NamedDataMap* data;
  Span<const Tensor> arenas;  // the methods' shared planned memory
};

/// A loaded method. Each run gives the runtime the caller's memory for every input. For every
/// output without planned memory it gives the runtime the caller's memory or newly allocated
/// memory. So the runtime never uses a pointer from an earlier run. After the run an output may
/// still be in planned memory, in an input or in a constant: it is then copied.
///
/// Ownership: the program outlives it.
class ExecutorchMethod {
 public:
  explicit ExecutorchMethod(Backend& memory) noexcept : memory_(memory) {}

  /// Loads the method, for the first time or again.
  Error load(const ExecutorchSetup& setup, const char* name) {
    const auto meta = setup.program.method_meta(name);
    TENON_TRY(check_executorch(meta.error(), "method ", name));
    method_.reset();
    kept_.reset();
    if (!manager_) TENON_TRY(plan(*meta, setup.arenas));
    auto loaded = setup.program.load_method(name, &*manager_, setup.event_tracer, setup.data,
                                            &setup.backend_options);
    const char* hint = "";
    if (loaded.error() == ::executorch::runtime::Error::InvalidState && setup.data == nullptr) {
      hint = "; if its weights are in a .ptd file, data_files has to name that file";
    } else if (loaded.error() == ::executorch::runtime::Error::NotFound) {
      hint = "; none of data_files has one of its weights";
    }
    TENON_TRY(check_executorch(loaded.error(), "method ", name, " cannot be loaded", hint));
    method_.emplace(std::move(*loaded));
    TENON_TRY(specs_.inputs.resize(method_->inputs_size()));
    for (size_t i = 0; i < method_->inputs_size(); ++i) {
      TENON_TRY(check_is_there(meta->input_tag(i).error(), "input ", i));
      const TheirValue& value = input_of(*method_, i);
      ValueSpec& spec = specs_.inputs[i];
      TENON_TRY(describe(meta->input_tag(i).error(), meta->input_tensor_meta(i), "input", i, value,
                         spec));
      spec.is_supported = spec.kind != ValueKind::None || value.isNone();
    }
    TENON_TRY(specs_.outputs.resize(method_->outputs_size()));
    TENON_TRY(outputs_.resize(method_->outputs_size()));
    for (size_t i = 0; i < outputs_.size(); ++i) {
      TENON_TRY(check_is_there(meta->output_tag(i).error(), "output ", i));
      const auto info = meta->output_tensor_meta(i);
      const TheirValue& value = method_->get_output(i);
      TENON_TRY(describe(meta->output_tag(i).error(), info, "output", i, value, specs_.outputs[i]));
      if (specs_.outputs[i].kind != ValueKind::Tensor) continue;
      TheirImpl* const impl = value.toTensor().unsafeGetTensorImpl();
      outputs_[i] = {impl, info->nbytes(), !info->is_memory_planned() && !is_input(impl)};
      specs_.outputs[i].copies_strides = true;
    }
    is_whole_ = true;
    return Error::Ok;
  }
  void describe(MethodMeta& meta) const noexcept { specs_.describe(meta); }
  /// Why output i is of kind None; Ok if its value is None.
  Error explain_none(size_t i) const noexcept {
    ValueSpec spec;
    return describe_value(method_->get_output(i), spec);
  }

  /// The caller has checked the inputs against their specs.
  Error run(const ExecutorchSetup& setup, const char* name, Span<const EValue> inputs,
            Outputs& outputs) {
    if (!is_whole_) TENON_TRY(load(setup, name));
    for (size_t i = 0; i < inputs.size(); ++i) {
      TENON_TRY(add_context_if("input", i, specs_.inputs[i].name(), set_input(i, inputs[i])));
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs_[i].impl != nullptr) TENON_TRY(bind_output(i, outputs));
    }
    is_whole_ = false;  // stays so if a kernel or a tracer throws: the runtime cannot continue
    const auto error = method_->execute();
    is_whole_ = true;
    TENON_TRY(check_executorch(error, "method ", name));
    for (size_t i = 0; i < outputs_.size(); ++i) {
      TENON_TRY(add_context_if("output", i, specs_.outputs[i].name(),
                               take_output(i, outputs.values()[i])));
    }
    return Error::Ok;
  }

 private:
  using TheirImpl = ::executorch::aten::TensorImpl;

  /// An output that is a tensor.
  struct Output {
    TheirImpl* impl = nullptr;
    size_t nbytes = 0;     // the largest number of bytes that the output can need
    bool is_free = false;  // whether it has no planned memory, and must be given memory
    ArrayRef<DimOrderType> dim_order() const noexcept {
      return {impl->dim_order().data(), impl->dim_order().size()};
    }
  };

  /// Allocates the planned memory that is not in an arena.
  /// Errors: OutOfMemory; NotSupported for planned memory off the host; the runtime's.
  Error plan(const ::executorch::runtime::MethodMeta& meta, Span<const Tensor> arenas) {
    const size_t count = meta.num_memory_planned_buffers();
    TENON_TRY(planned_.resize(count));
    TENON_TRY(spans_.resize(count));
    for (size_t i = 0; i < count; ++i) {
      const auto nbytes = meta.memory_planned_buffer_size(i);
      const auto device = meta.memory_planned_buffer_device(i);
      TENON_TRY(check_executorch(nbytes.error(), "planned memory ", i));
      TENON_TRY(check_executorch(device.error(), "planned memory ", i));
      if (device->type() != ::executorch::aten::DeviceType::CPU || *nbytes < 0) {
        return fail(Error::NotSupported, "planned memory ", i,
                    " is for another device, expected the host's memory");
      }
      if (i < arenas.size()) {
        planned_[i] = arenas[i];
      } else {
        TENON_TRY(make_planned(*nbytes, memory_, planned_[i]));
      }
      const TensorFields& planned = fields(TensorArg(planned_[i]));
      spans_[i] = {static_cast<uint8_t*>(planned.data), planned.nbytes()};
    }
    hierarchy_.emplace(
        ::executorch::runtime::Span<::executorch::runtime::Span<uint8_t>>(spans_.data(), count));
    manager_.emplace(&kept_, &*hierarchy_, &temporary_);
    return Error::Ok;
  }
  /// Checks that a value exists: a broken program may lack it, and the runtime aborts when it is
  /// asked for a value that does not exist. For a value without a tag, such as a list of tensors,
  /// the runtime returns Internal.
  static Error check_is_there(::executorch::runtime::Error tag, const char* role, size_t i) {
    return tag == ::executorch::runtime::Error::Internal ? Error::Ok
                                                         : check_executorch(tag, role, i);
  }
  /// A value that EValue cannot hold gets the kind None.
  static Error describe(
      ::executorch::runtime::Error tag,
      const ::executorch::runtime::Result<::executorch::runtime::TensorInfo>& info,
      const char* role, size_t i, const TheirValue& value, ValueSpec& spec) {
    const Error error = describe_value(value, spec);
    if (error == Error::NotSupported) {
      spec = ValueKind::None;
      return Error::Ok;
    }
    TENON_TRY(add_context_if(role, i, "", error));
    TENON_TRY(check_executorch(tag, role, ' ', i));
    if (spec.kind != ValueKind::Tensor) return Error::Ok;
    TENON_TRY(check_executorch(info.error(), role, ' ', i));
    spec.tensor.name = Text(info->name());
    return Error::Ok;
  }
  bool is_input(const TheirImpl* impl) const noexcept {
    for (size_t i = 0; i < specs_.inputs.size(); ++i) {
      const TheirValue& value = input_of(*method_, i);
      if (value.isTensor() && value.toTensor().unsafeGetTensorImpl() == impl) return true;
    }
    return false;
  }

  Error set_input(size_t i, const EValue& value) {
    if (specs_.inputs[i].kind == ValueKind::None) {
      ValueSpec spec;
      TENON_TRY(describe_value(input_of(*method_, i), spec));
    }
    switch (value.kind()) {
      case ValueKind::Tensor: return set_tensor(i, value.toTensor());
      case ValueKind::None: return set_constant(i, value, {});
      case ValueKind::Int: return set_constant(i, value, value.toInt());
      case ValueKind::Double: return set_constant(i, value, value.toDouble());
      case ValueKind::Bool: return set_constant(i, value, value.toBool());
      case ValueKind::String: {
        const auto text = value.toString();
        ::executorch::aten::ArrayRef<char> characters(text.data(), text.size());
        return set_constant(i, value, &characters);
      }
      case ValueKind::TensorList:
      case ValueKind::OptionalTensorList:
      case ValueKind::IntList:
      case ValueKind::DoubleList:
      case ValueKind::BoolList:
      case ValueKind::StringList: break;
    }
    return fail(Error::NotSupported, "it is ", value, ", which ExecuTorch cannot take");
  }
  /// Checks that the input has the value of export: the runtime accepts no other.
  Error set_constant(size_t i, const EValue& value, const TheirValue& theirs) {
    if (method_->set_input(theirs, i) == ::executorch::runtime::Error::Ok) return Error::Ok;
    EValue expected;
    TENON_TRY(read_value(input_of(*method_, i), nullptr, expected));
    return fail(Error::InvalidArgument, "it is ", value, ", expected ", expected,
                ", as when the program was exported");
  }
  Error set_tensor(size_t i, const Tensor& tensor) noexcept {
    const Layout& shape = fields(TensorArg(tensor)).layout;
    ExecutorchLayout layout;
    TENON_TRY(make_executorch_layout(tensor, layout));
    const auto order = input_of(*method_, i).toTensor().dim_order();
    const ArrayRef<DimOrderType> wanted(order.data(), order.size());
    if (shape.numel != 0 && !is_same_order(shape.sizes(), wanted, shape.dim_order())) {
      return fail(Error::InvalidArgument, "its dim order is ", Dims(shape.dim_order()),
                  ", the program was exported for ", Dims(wanted),
                  "; copy it to a tensor of that dim order");
    }
    TheirImpl impl = layout.make_impl();
    return check_executorch(method_->set_input(TheirValue(TheirTensor(&impl)), i), "sizes ",
                            shape.sizes());
  }

  /// Prepares the tensor for output i in `outputs`, and passes its memory to the runtime if the
  /// runtime accepts memory for this output.
  Error bind_output(size_t i, Outputs& outputs) {
    const Output& output = outputs_[i];
    Tensor* const target = outputs.target(i);
    // A branch of the program may have replaced the output by another tensor that already has
    // memory.
    const TheirValue& value = method_->get_output(i);
    const bool takes_memory =
        output.is_free && value.isTensor() && value.toTensor().unsafeGetTensorImpl() == output.impl;
    if (target == nullptr || (takes_memory && !has_room(i, *target))) {
      TENON_TRY(outputs.make(i, specs_.outputs[i], output.dim_order()));
    }
    // Does what set_output_data_ptr() does, without reading the needed size from the program again.
    if (takes_memory) output.impl->set_data(fields(TensorArg(outputs.values()[i].toTensor())).data);
    return Error::Ok;
  }
  /// Whether the runtime may write an output directly into the tensor that was set for it, whatever
  /// size it will have.
  bool has_room(size_t i, const Tensor& target) const noexcept {
    const TensorFields& to = fields(TensorArg(target));
    const size_t element_size = elementSize(to.type);
    const TensorSpec& spec = specs_.outputs[i].tensor;
    return static_cast<size_t>(to.capacity) >= outputs_[i].nbytes / element_size &&
           reinterpret_cast<uintptr_t>(to.data) % element_size == 0 && to.layout.is_dense() &&
           is_same_order(spec.max_sizes.empty() ? spec.sizes : spec.max_sizes,
                         outputs_[i].dim_order(), to.layout.dim_order());
  }

  Error take_output(size_t i, EValue& output) {
    if (specs_.outputs[i].kind == ValueKind::None) return Error::Ok;
    const TheirValue& value = method_->get_output(i);
    const ValueKind kind = kind_of(value.tag);
    if (kind != specs_.outputs[i].kind) {
      return fail(Error::Internal, "the runtime made it ", kind, ", not ", specs_.outputs[i].kind);
    }
    if (kind == ValueKind::Tensor) return take_tensor(value.toTensor(), output.toTensor());
    return read_value(value, nullptr, output);
  }
  static Error take_tensor(const TheirTensor& from, Tensor& to) {
    const Dims sizes(from.sizes());
    const ArrayRef<DimOrderType> dim_order(from.dim_order().data(), sizes.size());
    const TensorFields& made = fields(TensorArg(to));
    if (made.layout.sizes() != sizes) TENON_TRY(resize_tensor(to, sizes));
    if (made.layout.numel == 0) return Error::Ok;
    if (from.const_data_ptr() == made.data && made.layout.is_dense() &&
        is_same_order(sizes, dim_order, made.layout.dim_order())) {
      return Error::Ok;  // the output is in the right tensor already
    }
    TensorImpl source(static_cast<ScalarType>(from.scalar_type()), from.dim(), sizes.data(),
                      from.mutable_data_ptr(), dim_order.data());
    return deliver(Tensor(&source), to);
  }

  Backend& memory_;
  MethodSpecs specs_{metadata_backend_for(&memory_)};
  StoredArray<Output> outputs_{metadata_backend_for(&memory_)};
  // The method's memory: planned at export, kept by the runtime, and for kernels during a run.
  StoredArray<Tensor> planned_{metadata_backend_for(&memory_)};
  StoredArray<::executorch::runtime::Span<uint8_t>> spans_{metadata_backend_for(&memory_)};
  ExecutorchMemory kept_{memory_};
  ExecutorchMemory temporary_{memory_};
  std::optional<::executorch::runtime::HierarchicalAllocator> hierarchy_;
  std::optional<::executorch::runtime::MemoryManager> manager_;
  std::optional<::executorch::runtime::Method> method_;
  bool is_whole_ = false;
};

}  // namespace detail

TENON_END_NAMESPACE
