// SPDX-License-Identifier: MIT
// to_executorch, from_executorch: convert tensors between tenon and ExecuTorch's runtime, over the
// same memory, and convert its EValues, errors and dtypes to tenon's. No conversion needs
// runtime_init(). The runtime's log messages go to the program's platform layer, by default to
// stderr.
//
// tenon's EValues are not converted to ExecuTorch's, which own nothing. Make ExecuTorch's where
// they are used, from numbers and from the results of to_executorch().
#pragma once

#include "tenon/config.h"

#if TENON_ATEN_MODE  // in ATen mode ExecuTorch's headers need another build, and at::Tensor
#error "tenon: interop/executorch.h is for plain mode; build without USE_ATEN_LIB"
#elif !__has_include(<executorch/runtime/core/error.h>)
#error "tenon: interop/executorch.h needs ExecuTorch's headers in the include path"
#endif

#include <optional>
#include <utility>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>

#include "tenon/module/evalue.h"
#include "tenon/module/lists.h"
#include "tenon/tensor/tensor_ptr_maker.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// tenon's error for ExecuTorch's; InvalidArgument for a broken program or broken data.
constexpr Error own_error(::executorch::runtime::Error error) noexcept {
  using Theirs = ::executorch::runtime::Error;
  switch (error) {
    case Theirs::Ok: return Error::Ok;
    case Theirs::InvalidState:
    case Theirs::EndOfMethod:
    case Theirs::AlreadyLoaded:
    case Theirs::RegistrationAlreadyRegistered:
    case Theirs::DelegateInvalidHandle: return Error::InvalidState;
    case Theirs::NotSupported:
    case Theirs::NotImplemented:
    case Theirs::OperatorMissing:
    case Theirs::RegistrationExceedingMaxKernels:
    case Theirs::DelegateInvalidCompatibility: return Error::NotSupported;
    case Theirs::InvalidArgument:
    case Theirs::InvalidProgram:
    case Theirs::InvalidExternalData: return Error::InvalidArgument;
    case Theirs::InvalidType: return Error::InvalidType;
    case Theirs::NotFound: return Error::NotFound;
    case Theirs::AccessFailed: return Error::AccessFailed;
    case Theirs::MemoryAllocationFailed:
    case Theirs::OutOfResources:
    case Theirs::DelegateMemoryAllocationFailed: return Error::OutOfMemory;
    case Theirs::Internal: break;
  }
  return Error::Internal;
}

/// Ok, or the error with the message "<what>: ExecuTorch says InvalidArgument".
template <class... Parts>
Error check_executorch(::executorch::runtime::Error error, const Parts&... what) noexcept {
  if (error == ::executorch::runtime::Error::Ok) return Error::Ok;
  const char* const name = ::executorch::runtime::to_string(error);  // "Error::InvalidArgument"
  return fail(own_error(error), what..., ": ExecuTorch says ", name + (sizeof "Error::" - 1));
}

// The two enumerations have equal numbers.
static_assert(static_cast<int>(ScalarType::BFloat16) ==
              static_cast<int>(::executorch::aten::ScalarType::BFloat16));
static_assert(static_cast<int>(ScalarType::UInt64) ==
              static_cast<int>(::executorch::aten::ScalarType::UInt64));
static_assert(static_cast<int>(TensorShapeDynamism::DYNAMIC_UNBOUND) ==
              static_cast<int>(::executorch::aten::TensorShapeDynamism::DYNAMIC_UNBOUND));

/// Errors: NotSupported for quantised and packed dtypes.
inline Error own_dtype(::executorch::aten::ScalarType from, ScalarType& to) noexcept {
  to = static_cast<ScalarType>(from);
  if (isValidType(to)) return Error::Ok;
  return fail(Error::NotSupported, "tenon has no dtype for ExecuTorch's number ",
              static_cast<int>(from));
}

/// The arguments of ExecuTorch's TensorImpl, and the lists that they refer to. Allocates nothing.
struct ExecutorchLayout {
  using Size = ::executorch::aten::SizesType;
  static constexpr size_t kMaxRank = ::executorch::runtime::kTensorDimensionLimit;
  static_assert(std::is_same_v<Size, ::executorch::aten::StridesType>);

  // Uninitialised: make_executorch_layout() sets it.
  ExecutorchLayout() noexcept {}  // NOLINT(modernize-use-equals-default)

  Size sizes[kMaxRank];
  Size strides[kMaxRank];
  ::executorch::aten::DimOrderType dim_order[kMaxRank];
  uint8_t rank;
  ::executorch::aten::ScalarType type;
  ::executorch::aten::TensorShapeDynamism dynamism;
  ::executorch::aten::DeviceType device_type;
  ::executorch::runtime::etensor::DeviceIndex device_index;
  void* data;

  /// The result refers to the lists of this object, which must not move while the result is used.
  ::executorch::aten::TensorImpl make_impl() noexcept {
    return {type, rank, sizes, data, dim_order, strides, dynamism, device_type, device_index};
  }
};

/// Describes a tensor for ExecuTorch, which supports host memory and CUDA. Strides that do not
/// matter, of dimensions of size 1 and of shapes without elements, become those of the dim order.
///
/// Ownership: none; the memory must outlive the description.
/// Errors: InvalidState (undefined, deallocated, a placeholder); NotSupported (strides that are not
/// dense in some dim order; more dimensions than kMaxRank; a size or stride of more than 32 bits;
/// another device, a meta tensor).
TENON_TEMPLATE_INLINE Error make_executorch_layout(const TensorArg& source,
                                                   ExecutorchLayout& layout) noexcept {
  using Theirs = ::executorch::aten::DeviceType;
  TENON_TRY(check_defined(source, "the tensor"));
  const TensorFields& from = fields(source);
  TENON_TRY(check_has_data(from));
  const bool is_host = from.is_host_accessible();
  if (!is_host && (!from.device.is_cuda() || from.device.index() > INT8_MAX)) {
    return fail(Error::NotSupported, "ExecuTorch has no device ", from.device,
                from.opaque ? " with memory that only a backend reaches" : "");
  }
  layout.device_type = is_host ? Theirs::CPU : Theirs::CUDA;
  layout.device_index =
      static_cast<::executorch::runtime::etensor::DeviceIndex>(is_host ? 0 : from.device.index());
  const Layout& shape = from.layout;
  const size_t rank = shape.sizes().size();
  if (rank > ExecutorchLayout::kMaxRank) {
    return fail(Error::NotSupported, "the tensor has ", rank,
                " dimensions, but ExecuTorch's tensors have at most ", ExecutorchLayout::kMaxRank);
  }
  constexpr int64_t kMost = (std::numeric_limits<ExecutorchLayout::Size>::max)();
  int64_t stride = 1;
  bool fits = true;
  for (size_t i = rank; i-- > 0;) {
    const DimOrderType d = shape.dim_order()[i];
    const int64_t size = shape.sizes()[d];
    fits = fits && size <= kMost && stride <= kMost;
    if (shape.strides()[d] != stride && size != 1 && shape.numel != 0) {
      return fail(Error::NotSupported, "strides ", shape.strides(), " of sizes ", shape.sizes(),
                  " are not dense, but ExecuTorch's have to be; contiguous() makes a copy");
    }
    layout.sizes[d] = static_cast<ExecutorchLayout::Size>(size);
    layout.strides[d] = static_cast<ExecutorchLayout::Size>(stride);
    layout.dim_order[i] = d;
    if (size != 0) stride *= size;  // cannot overflow, since the tensor's shape does not
  }
  if (!fits) {
    return fail(Error::NotSupported, "sizes ", shape.sizes(),
                " or their strides do not fit ExecuTorch's 32 bits");
  }
  layout.rank = static_cast<uint8_t>(rank);
  layout.type = static_cast<::executorch::aten::ScalarType>(from.type);
  layout.dynamism = static_cast<::executorch::aten::TensorShapeDynamism>(from.dynamism);
  layout.data = from.data;
  return Error::Ok;
}

using TheirTensor = ::executorch::aten::Tensor;
using TheirValue = ::executorch::runtime::EValue;
/// executorch::extension::TensorPtr.
using ExecutorchTensorPtr = std::shared_ptr<TheirTensor>;

/// A tensor of ExecuTorch, with everything that it refers to.
struct ExecutorchExport {
  ExecutorchExport(const ExecutorchLayout& from, MemoryHold&& held) noexcept
      : layout(from), impl(layout.make_impl()), tensor(&impl), memory(std::move(held)) {}

  ExecutorchLayout layout;
  ::executorch::aten::TensorImpl impl;
  TheirTensor tensor;
  MemoryHold memory;
};

/// Makes an ExecutorchExport in one block. If the tensor has a metadata backend, that allocates the
/// block.
TENON_TEMPLATE_INLINE Error make_executorch(const TensorArg& source,
                                            ExecutorchTensorPtr& tensor) noexcept {
  ExecutorchLayout layout;
  TENON_TRY(make_executorch_layout(source, layout));
  if (fields(source).readonly) {
    return fail(Error::NotSupported,
                "the tensor is read-only, and ExecuTorch has no read-only tensors; "
                "clone_tensor_ptr() makes a writable copy");
  }
  MemoryHold memory;  // held first, because the backend's code may drop the source
  TENON_TRY(memory.hold(source));
  void* const block =
      allocate_metadata(kNodeSize<ExecutorchExport>, metadata_backend_of(fields(source)));
  if (block == nullptr) {
    return fail(Error::OutOfMemory, "out of memory for ExecuTorch's tensor");
  }
  auto* const placed =
      ::new (place_in<ExecutorchExport>(block)) ExecutorchExport(layout, std::move(memory));
  std::shared_ptr<ExecutorchExport> made(placed, DestroyOnly(),
                                         NodeAllocator<ExecutorchExport>(block));
  auto* const inside = &made->tensor;
  tensor = ExecutorchTensorPtr(std::move(made), inside);
  return Error::Ok;
}

/// Reads a list of a TensorImpl. The list may be missing.
template <class T>
Dims dims_of(::executorch::aten::ArrayRef<T> list) noexcept {
  return list.data() == nullptr ? Dims() : Dims(list);
}

/// A tensor over the memory of an ExecuTorch tensor, which may be null. `release` becomes the
/// deleter.
template <class Release>
Error make_from_executorch(const TheirTensor* source, Release release,
                           Tensor& tensor) noexcept(std::is_nothrow_move_constructible_v<Release>) {
  if (source == nullptr || source->unsafeGetTensorImpl() == nullptr) {
    return fail(Error::InvalidState, "ExecuTorch's tensor is null");
  }
  void* const data = source->mutable_data_ptr();
  Deleter deleter(data, std::move(release));
  ScalarType type = ScalarType::Undefined;
  TENON_TRY(own_dtype(source->scalar_type(), type));
  if (data == nullptr && source->numel() != 0) {
    return fail(Error::InvalidState, "ExecuTorch's tensor has no memory yet");
  }
  const int32_t index = source->device().index();
  CreateOptions opts(type, static_cast<TensorShapeDynamism>(source->shape_dynamism()));
  if (!source->device().is_cpu()) opts.device = Device(DeviceType::CUDA, index < 0 ? -1 : index);
  NewTensor new_tensor;
  TENON_TRY(borrow_checked(data, Dims(source->sizes()), dims_of(source->dim_order()),
                           dims_of(source->strides()), opts, &deleter, new_tensor));
  return make_first_handle(new_tensor, tensor);
}

/// The tensor keeps `owner`; without one the memory is borrowed.
inline Error read_tensor(const TheirTensor& from, const std::shared_ptr<const void>& owner,
                         Tensor& tensor) noexcept {
  if (owner.use_count() == 0) return make_from_executorch(&from, nullptr, tensor);
  return make_from_executorch(
      &from, [kept = owner](void*) noexcept {}, tensor);
}
inline Error read_tensor(const std::optional<TheirTensor>& from,
                         const std::shared_ptr<const void>& owner, Tensor& tensor) noexcept {
  return from.has_value() ? read_tensor(*from, owner, tensor) : Error::Ok;
}

template <class T>
Error copy_value(const char* kind, const ::executorch::runtime::Result<T>& got, EValue& value) {
  TENON_TRY(check_executorch(got.error(), "reading a ", kind));
  value = EValue(got.get());
  return Error::Ok;
}

template <class T>
Error read_list(const char* kind,
                const ::executorch::runtime::Result<::executorch::aten::ArrayRef<T>>& got,
                const std::shared_ptr<const void>& owner, EValue& value) {
  TENON_TRY(check_executorch(got.error(), "reading a ", kind));
  StoredArray<Tensor> tensors;
  TENON_TRY(tensors.resize(got->size()));
  for (size_t i = 0; i < got->size(); ++i) {
    const Error error = read_tensor((*got)[i], owner, tensors[i]);
    if (error != Error::Ok) {
      return fail(error, "element ", i, " of a ", kind, ": ", last_error_message());
    }
  }
  value = std::is_same_v<T, TheirTensor> ? EValue(tensors) : EValue::optional_tensor_list(tensors);
  return Error::Ok;
}

/// Reads an EValue of ExecuTorch. Each tensor keeps `owner`; without one its memory is borrowed.
inline Error read_value(const TheirValue& from, const std::shared_ptr<const void>& owner,
                        EValue& value) noexcept {
  using ::executorch::runtime::Tag;
  return call_safely([&] {  // making an EValue of a text or a list throws when out of memory
    switch (from.tag) {
      case Tag::None: value = EValue(); return Error::Ok;
      case Tag::Tensor:
        value = Tensor();
        return read_tensor(from.toTensor(), owner, value.toTensor());
      case Tag::Int: value = from.toInt(); return Error::Ok;
      case Tag::Double: value = from.toDouble(); return Error::Ok;
      case Tag::Bool: value = from.toBool(); return Error::Ok;
      case Tag::String: return copy_value("String", from.tryToString(), value);
      case Tag::ListInt: return copy_value("ListInt", from.tryToIntList(), value);
      case Tag::ListDouble: return copy_value("ListDouble", from.tryToDoubleList(), value);
      case Tag::ListBool: return copy_value("ListBool", from.tryToBoolList(), value);
      case Tag::ListTensor: return read_list("ListTensor", from.tryToTensorList(), owner, value);
      case Tag::ListOptionalTensor:
        return read_list("ListOptionalTensor", from.tryToListOptionalTensor(), owner, value);
      case Tag::ListScalar: break;  // the runtime cannot make these
    }
    return fail(Error::NotSupported, "tenon has no EValue for ExecuTorch's of tag number ",
                static_cast<uint32_t>(from.tag));
  });
}

/// Implements to_executorch() and try_to_executorch().
template <class Out>
Out to_executorch(const char* function, const TensorArg& tensor) {
  ExecutorchTensorPtr made;
  const Error error = make_executorch(tensor, made);
  return return_to_user<Out>(function, error, std::move(made));
}

}  // namespace detail

namespace detail {  // function objects

/// A tensor over the memory of ExecuTorch's, with its sizes, strides, dim order, dtype, dynamism
/// and device.
///
/// Both sides see writes, but not resizes. A DYNAMIC_UNBOUND tensor with an owner that grows beyond
/// its elements moves to new memory. ExecuTorch does not report memory that must not be written,
/// such as a program's constants. If a TensorImpl was made without strides or without a dim order,
/// the missing list is computed from the other; with ExecuTorch's debug assertions the
/// program ends.
/// Errors: InvalidState (null; a tensor without memory, as a method's outputs may be); NotSupported
/// (a dtype that tenon lacks: quantised and packed ones); InvalidArgument (strides that do not nest
/// in the dim order); OutOfMemory. After an error the owners are dropped.
/// Threads: like std::shared_ptr. Nothing is synchronised.
template <class Out>
struct FromExecutorch {
  using EValueOrResult = std::conditional_t<IsResult<Out>::value, Result<EValue>, EValue>;

  const char* function;

  /// Ownership: keeps the TensorPtr, and with it its deleter, as long as the memory is in use.
  Out operator()(ExecutorchTensorPtr tensor) const {
    const TheirTensor* const source = tensor.get();
    return make(source, [kept = std::move(tensor)](void*) noexcept {});
  }
  /// A tensor over the memory of one that has no owner.
  /// Ownership: borrows. An executorch::aten::Tensor owns nothing: the owner of its memory must
  /// keep it alive.
  Out operator()(const TheirTensor& tensor) const { return make(&tensor, nullptr); }
  /// A tensor that keeps the owner of its memory.
  /// Ownership: keeps any movable value alive with the tensor: the owner of the memory, such as a
  /// std::shared_ptr to a runtime's Module.
  /// Errors: also what moving the value throws.
  template <class Owner, std::enable_if_t<!is_only_deleter_v<Owner>, int> = 0>
  Out operator()(const TheirTensor& tensor, Owner owner) const {
    return make(&tensor, [kept = std::move(owner)](void*) noexcept {});
  }
  // An owner is kept, never called.
  template <class F, std::enable_if_t<is_only_deleter_v<F>, int> = 0>
  Out operator()(const TheirTensor& tensor, F deleter) const = delete;

  /// An EValue of ExecuTorch's EValue.
  /// Ownership: copies texts and lists. Each tensor keeps the owner of the method's memory, or
  /// borrows if none is given.
  /// Errors: also for a list whose elements changed their types.
  /// Threads: reading a list writes to the runtime's memory.
  EValueOrResult operator()(const TheirValue& value,
                            const std::shared_ptr<const void>& owner = nullptr) const {
    EValue made;
    const Error error = read_value(value, owner, made);
    return return_to_user<EValueOrResult>(function, error, std::move(made));
  }

 private:
  template <class Release>
  Out make(const TheirTensor* source, Release release) const {
    Tensor made;
    const Error error = make_from_executorch(source, std::move(release), made);
    return return_to_user<Out>(function, error, std::move(made));
  }
};

}  // namespace detail

/// The tensor's memory as an executorch::extension::TensorPtr with its sizes, dim order, dtype,
/// dynamism and device. Unspecified strides become those of the dim order.
///
/// Ownership: shares the memory, not the shape, as a view does: the TensorPtr keeps it alive after
/// the tensor is gone, and until the TensorPtr is dropped the tensor cannot grow (InUse). If
/// ExecuTorch resizes it, there is room for its present elements only, even if it is
/// DYNAMIC_UNBOUND. Both sides see writes. Memory of a tensor over a raw TensorImpl* is borrowed:
/// the caller keeps it alive. Copies of the executorch::aten::Tensor, and an
/// executorch::runtime::EValue made of it, borrow from the TensorPtr.
/// Errors: InvalidState (undefined, deallocated, a placeholder); NotSupported (read-only; strides
/// that are not dense; more than 16 dimensions; sizes or strides beyond 32 bits; a device other
/// than the host and CUDA); OutOfMemory.
/// Threads: like std::shared_ptr. Nothing is synchronised. Cost: one allocation.
/// Source: executorch::extension::from_blob.
TENON_TEMPLATE_INLINE detail::ExecutorchTensorPtr to_executorch(const TensorArg& tensor) {
  return detail::to_executorch<detail::ExecutorchTensorPtr>("to_executorch", tensor);
}
TENON_TEMPLATE_INLINE Result<detail::ExecutorchTensorPtr> try_to_executorch(
    const TensorArg& tensor) {
  return detail::to_executorch<Result<detail::ExecutorchTensorPtr>>("try_to_executorch", tensor);
}
inline constexpr detail::FromExecutorch<Tensor> from_executorch{"from_executorch"};
inline constexpr detail::FromExecutorch<Result<Tensor>> try_from_executorch{"try_from_executorch"};

TENON_END_NAMESPACE
