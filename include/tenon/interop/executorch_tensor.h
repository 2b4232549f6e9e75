// SPDX-License-Identifier: MIT
// to_executorch, from_executorch: tensors to and from those of ExecuTorch's runtime, over the same
// memory. Neither side needs runtime_init() for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "tenon/backend/calls.h"
#include "tenon/config.h"
#include "tenon/core/device.h"
#include "tenon/core/dims.h"
#include "tenon/core/error.h"
#include "tenon/core/result.h"
#include "tenon/core/scalar_type.h"
#include "tenon/interop/executorch_layout.h"
#include "tenon/tensor/deleter.h"
#include "tenon/tensor/draft.h"
#include "tenon/tensor/make.h"
#include "tenon/tensor/make.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_arg.h"
#include "tenon/tensor/tensor_ptr_maker.h"

#if defined(TENON_HAS_EXECUTORCH)

namespace executorch {
namespace runtime {
struct EValue;
}
}  // namespace executorch

TENON_BEGIN_NAMESPACE

class EValue;

namespace detail {

/// executorch::extension::TensorPtr.
using ExecutorchTensorPtr = std::shared_ptr<::executorch::aten::Tensor>;

/// What a tensor of ExecuTorch's refers to.
struct ExecutorchParts {
  ExecutorchParts() noexcept {}  // NOLINT(modernize-use-equals-default)
  ExecutorchParts(const ExecutorchParts&) = delete;
  ExecutorchParts& operator=(const ExecutorchParts&) = delete;
  ~ExecutorchParts() = default;

  ExecutorchLayout layout;
  union {
    ::executorch::aten::TensorImpl impl;  // made once the layout is there
  };
  MemoryHold memory;

  static_assert(std::is_trivially_destructible_v<::executorch::aten::TensorImpl>);
};

/// Both in one object.
struct ExecutorchExport : ExecutorchParts, ::executorch::aten::Tensor {
  ExecutorchExport() noexcept : ::executorch::aten::Tensor(&impl) {}
};

/// One block for all of it, where the tensor's backend keeps metadata.
TENON_LAZY Error make_executorch(const TensorArg& source, ExecutorchTensorPtr& tensor) noexcept {
  static_assert(sizeof(ExecutorchExport) <= sizeof(TensorImpl), "it is to fit such a node");
  void* const block = allocate_metadata(ImplAccess::kNodeSize, metadata_like(source));
  if (TENON_UNLIKELY(block == nullptr)) {
    return fail(Error::OutOfMemory, {"out of memory for ExecuTorch's tensor"});
  }
  auto made = std::allocate_shared<ExecutorchExport>(NodeAllocator<ExecutorchExport>(block));
  TENON_TRY(make_executorch_layout(source, ReadOnly::Refuse, made->layout));
  ::new (static_cast<void*>(&made->impl))::executorch::aten::TensorImpl(made->layout.make_impl());
  TENON_TRY(made->memory.hold(source));
  tensor = std::move(made);
  return Error::Ok;
}

/// The enumerator's name. ExecuTorch's own function for it is in a header that costs more than
/// this.
constexpr const char* name_of(::executorch::aten::ScalarType type) noexcept {
  switch (type) {
#define TENON_DETAIL_CASE(cpp_type, name) \
  case ::executorch::aten::ScalarType::name: return #name;
    ET_FORALL_SCALAR_TYPES(TENON_DETAIL_CASE)
#undef TENON_DETAIL_CASE
    default: return "Undefined";
  }
}

/// Whether the layout is that which the sizes alone imply.
inline bool is_row_major(const ::executorch::aten::Tensor& tensor) noexcept {
  int64_t stride = 1;
  for (size_t d = tensor.sizes().size(); d-- > 0;) {
    if (tensor.dim_order()[d] != d || tensor.strides()[d] != stride) return false;
    if (tensor.sizes()[d] != 0) stride *= tensor.sizes()[d];  // of 32 bits each
  }
  return true;
}

/// Reads a list of a TensorImpl's, which may lack it.
template <class T>
Dims dims_of(::executorch::aten::ArrayRef<T> list) noexcept {
  return list.data() == nullptr ? Dims() : Dims(list);
}

/// A tensor over the memory of ExecuTorch's, which the deleter keeps.
TENON_LAZY Error make_from_executorch(const ::executorch::aten::Tensor& source, Deleter& deleter,
                                      Draft& draft) noexcept {
  const auto type = static_cast<ScalarType>(source.scalar_type());
  if (TENON_UNLIKELY(!isValidType(type))) {
    return fail(Error::NotSupported, {"tenon has no dtype ", name_of(source.scalar_type())});
  }
  void* const data = source.mutable_data_ptr();
  if (TENON_UNLIKELY(data == nullptr && source.numel() != 0)) {
    return fail(Error::InvalidState, {"ExecuTorch's tensor has no memory yet"});
  }
  Device device;
  if (!source.device().is_cpu()) {
    const int32_t index = source.device().index();
    device = Device(DeviceType::CUDA, index < 0 ? -1 : index);
  }
  const auto dynamism = static_cast<TensorShapeDynamism>(source.shape_dynamism());
  const Dims sizes(source.sizes());
  const bool has_lists = source.dim_order().data() != nullptr && source.strides().data() != nullptr;
  if (has_lists && is_row_major(source)) {
    return make_from_pointer(data, sizes, {}, {}, type, dynamism, device, deleter, draft);
  }
  return make_from_pointer(data, sizes, dims_of(source.dim_order()), dims_of(source.strides()),
                           type, dynamism, device, deleter, draft);
}

/// The same of a handle, which may be null. `release` becomes the deleter.
template <class Release>
Error make_from_executorch(const ::executorch::aten::Tensor* source, Release& release,
                           Draft& draft) noexcept(std::is_nothrow_move_constructible_v<Release>) {
  if (TENON_UNLIKELY(source == nullptr || source->unsafeGetTensorImpl() == nullptr)) {
    return fail(Error::InvalidState, {"ExecuTorch's tensor is null"});
  }
  Deleter deleter(source->mutable_data_ptr(), std::move(release));
  return make_from_executorch(*source, deleter, draft);
}

}  // namespace detail

template <class Out>
struct ToExecutorch {
  const char* function;

  /// The tensor's memory as an executorch::extension::TensorPtr of the same sizes, dim order,
  /// dtype, dynamism and device. Strides without a meaning become those of the dim order.
  ///
  /// Ownership: shares the memory, not the shape, as a view does: the TensorPtr keeps it alive
  /// after the tensor is gone, and until it is dropped the tensor cannot grow (InUse). Resized
  /// there, it has room for the elements of now, even if DYNAMIC_UNBOUND. Writes show on both
  /// sides. A tensor over a raw TensorImpl* has nothing to share: the memory is the caller's to
  /// keep. Copies of the executorch::aten::Tensor, and an executorch::runtime::EValue made of it,
  /// borrow from the TensorPtr.
  /// Errors: InvalidState (undefined, deallocated, a placeholder); NotSupported (read-only; strides
  /// that are not dense; more than 16 dimensions; sizes or strides beyond 32 bits; a device other
  /// than the host and CUDA); OutOfMemory.
  /// Threads: like std::shared_ptr. Nothing is synchronised. Cost: one allocation.
  /// Source: executorch::extension::from_blob.
  Out operator()(const TensorArg& tensor) const {
    detail::ExecutorchTensorPtr made;
    const Error error = detail::make_executorch(tensor, made);
    return detail::finish_value<Out>(function, error, std::move(made));
  }
};

/// The overloads of from_executorch: a tensor over the memory of ExecuTorch's, of the same sizes,
/// strides, dim order, dtype, dynamism and device; an EValue of its EValue.
///
/// Resizes do not show on the other side, writes do. A DYNAMIC_UNBOUND tensor with an owner that
/// grows beyond its elements moves to memory of its own. Whether memory must not be written, as
/// that of a program's constants, ExecuTorch does not say. A TensorImpl that was made without
/// strides or without a dim order has those that are implied, unless ExecuTorch's debug assertions
/// are on, which end the program.
/// Errors: InvalidState (null; a tensor without memory, as a method's outputs may be); NotSupported
/// (a dtype that tenon lacks: quantised and packed ones); InvalidArgument (strides that do not nest
/// in the dim order); OutOfMemory. The owners are dropped.
/// Threads: like std::shared_ptr. Nothing is synchronised.
template <class Out>
struct FromExecutorch {
  using Value = std::conditional_t<detail::IsResult<Out>::value, Result<EValue>, EValue>;

  const char* function;

  /// Ownership: keeps the TensorPtr, and so its deleter's duty, as long as the memory is in use.
  Out operator()(detail::ExecutorchTensorPtr tensor) const {
    const ::executorch::aten::Tensor* const source = tensor.get();
    return make(source, [kept = std::move(tensor)](void*) noexcept {});
  }
  /// Ownership: borrows: an executorch::aten::Tensor owns nothing, whoever owns its memory keeps
  /// it.
  Out operator()(const ::executorch::aten::Tensor& tensor) const { return make(&tensor, nullptr); }
  /// Ownership: keeps any movable value alive with the tensor, that which owns the memory, a
  /// std::shared_ptr to a runtime's Module say.
  /// Errors: also what moving the value throws.
  template <class Owner, std::enable_if_t<!detail::is_deleter_v<Owner>, int> = 0>
  Out operator()(const ::executorch::aten::Tensor& tensor, Owner owner) const {
    return make(&tensor, [kept = std::move(owner)](void*) noexcept {});
  }
  // An owner is kept, never called.
  template <class F, std::enable_if_t<detail::is_deleter_v<F>, int> = 0>
  Out operator()(const ::executorch::aten::Tensor& tensor, F deleter) const = delete;

  /// Defined in executorch_evalue.h, like the next one.
  /// Ownership: copies texts and lists, borrows tensors.
  /// Errors: also those of a list whose elements changed their types.
  /// Threads: reading a list writes to memory of the runtime's.
  Value operator()(const ::executorch::runtime::EValue& value) const;
  /// Ownership: each tensor keeps the owner, that of the method's memory.
  Value operator()(const ::executorch::runtime::EValue& value,
                   const std::shared_ptr<const void>& owner) const;

 private:
  template <class Release>
  Out make(const ::executorch::aten::Tensor* tensor, Release release) const {
    detail::Made<Out> made;
    return made.finish(function, detail::make_from_executorch(tensor, release, made.draft()));
  }
};

inline constexpr ToExecutorch<detail::ExecutorchTensorPtr> to_executorch{"to_executorch"};
inline constexpr ToExecutorch<Result<detail::ExecutorchTensorPtr>> try_to_executorch{
    "try_to_executorch"};
inline constexpr FromExecutorch<Tensor> from_executorch{"from_executorch"};
inline constexpr FromExecutorch<Result<Tensor>> try_from_executorch{"try_from_executorch"};

TENON_END_NAMESPACE

#else

TENON_BEGIN_NAMESPACE

struct WithoutExecutorch {
  template <class T, class... More>
  void operator()(const T&, const More&...) const {
#if TENON_ATEN_MODE
    static_assert(
        sizeof(T) == 0,
        "this is not there in ATen mode (USE_ATEN_LIB), where ExecuTorch is built otherwise");
#else
    static_assert(sizeof(T) == 0, "this needs ExecuTorch's headers in the include path");
#endif
  }
};

inline constexpr WithoutExecutorch to_executorch{};
inline constexpr WithoutExecutorch try_to_executorch{};
inline constexpr WithoutExecutorch from_executorch{};
inline constexpr WithoutExecutorch try_from_executorch{};

TENON_END_NAMESPACE

#endif
