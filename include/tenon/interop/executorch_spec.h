// SPDX-License-Identifier: MIT
// What a program of ExecuTorch's says of inputs and outputs, as specs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/config.h"
#include "tenon/core/array_ref.h"
#include "tenon/core/dims.h"
#include "tenon/core/error.h"
#include "tenon/core/layout.h"
#include "tenon/core/scalar_type.h"
#include "tenon/interop/executorch_error.h"
#include "tenon/module/tensor_spec.h"

#if defined(TENON_HAS_EXECUTORCH)

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/tag.h>

TENON_BEGIN_NAMESPACE
namespace detail {

/// Errors: NotSupported for lists of tensors, which exported methods neither take nor give.
inline Error find_kind(::executorch::runtime::Tag tag, ValueKind& kind) noexcept {
  using ::executorch::runtime::Tag;
  switch (tag) {
    case Tag::None: kind = ValueKind::None; return Error::Ok;
    case Tag::Tensor: kind = ValueKind::Tensor; return Error::Ok;
    case Tag::Int: kind = ValueKind::Int; return Error::Ok;
    case Tag::Double: kind = ValueKind::Double; return Error::Ok;
    case Tag::Bool: kind = ValueKind::Bool; return Error::Ok;
    case Tag::String: kind = ValueKind::String; return Error::Ok;
    case Tag::ListInt: kind = ValueKind::IntList; return Error::Ok;
    case Tag::ListDouble: kind = ValueKind::DoubleList; return Error::Ok;
    case Tag::ListBool: kind = ValueKind::BoolList; return Error::Ok;
    case Tag::ListTensor:
    case Tag::ListOptionalTensor:
    case Tag::ListScalar: break;
  }
  return fail(Error::NotSupported,
              {"a list of tensors, tag number ", static_cast<uint32_t>(tag), ", is not supported"});
}

/// Describes an input or output as it is before anything was run.
///
/// Which dimensions of a dynamic shape may vary is not recorded: here any may, each up to what it
/// is now.
/// Errors: also NotSupported for a dtype that tenon lacks or memory that is not the host's.
inline Error describe_value(const ::executorch::runtime::EValue& value, ValueSpec& spec) noexcept {
  ValueKind kind = ValueKind::None;
  TENON_TRY(find_kind(value.tag, kind));
  spec = ValueSpec(kind);
  if (kind != ValueKind::Tensor) return Error::Ok;
  const ::executorch::aten::TensorImpl& tensor = *value.toTensor().unsafeGetTensorImpl();
  const auto type = static_cast<ScalarType>(tensor.scalar_type());
  if (TENON_UNLIKELY(!isValidType(type))) {
    return fail(Error::NotSupported, {"tenon has no dtype number ", static_cast<int>(type)});
  }
  if (TENON_UNLIKELY(tensor.device_type() != ::executorch::aten::DeviceType::CPU)) {
    return fail(Error::NotSupported, {"its memory is not the host's"});
  }
  const auto sizes = tensor.sizes();
  spec.is_described = true;
  spec.tensor.type = type;
  spec.tensor.sizes = Dims(sizes.data(), sizes.data() + sizes.size());
  if (tensor.shape_dynamism() != ::executorch::aten::TensorShapeDynamism::STATIC) {
    spec.tensor.max_sizes = spec.tensor.sizes;
    for (int64_t& size : spec.tensor.sizes) size = -1;
  }
  return check_spec(spec.tensor);
}

/// Whether two dim orders lay a shape's elements alike: where a dimension of size 1 stands means
/// nothing.
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

}  // namespace detail
TENON_END_NAMESPACE

#endif
