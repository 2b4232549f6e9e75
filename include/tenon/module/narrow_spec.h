// SPDX-License-Identifier: MIT
// narrow_spec: what a module knows of an input, and what its user adds to that, as one spec.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tenon/config.h"
#include "tenon/core/dims.h"
#include "tenon/core/error.h"
#include "tenon/core/scalar_type.h"
#include "tenon/module/evalue_block.h"
#include "tenon/module/names.h"
#include "tenon/module/tensor_spec.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Adds the sizes that `own` has to those of `spec`, of the same rank, or refuses what can never
/// pass both.
inline Error narrow_sizes(const TensorSpec& own, TensorSpec& spec) noexcept {
  const size_t rank = own.sizes.size();
  if (TENON_UNLIKELY(spec.sizes.size() != rank)) {
    return fail(Error::InvalidArgument, {"the spec has sizes ", AnySizes{spec.sizes},
                                         ", the module's are ", AnySizes{own.sizes}});
  }
  for (size_t d = 0; d < rank; ++d) {
    const int64_t exact = own.sizes[d];
    const int64_t limit = exact >= 0 || own.max_sizes.empty() ? exact : own.max_sizes[d];
    int64_t& size = spec.sizes[d];
    if (size < 0) {
      size = exact;
      if (exact >= 0 || limit < 0) continue;
      if (spec.max_sizes.empty()) spec.max_sizes = own.max_sizes;
      int64_t& most = spec.max_sizes[d];
      if (most < 0 || most > limit) most = limit;
    } else if (TENON_UNLIKELY((exact >= 0 && size != exact) || (limit >= 0 && size > limit))) {
      return fail(Error::InvalidArgument,
                  {"the spec's dimension ", d, InParentheses{spec.names[d]}, " is ", size,
                   ", the module's is ", exact >= 0 ? "" : "at most ", limit});
    }
  }
  return Error::Ok;
}

/// Makes `spec` what passes both: `own` with more names, and sizes where that has -1.
/// Errors: InvalidArgument, InvalidType when nothing can pass both.
inline Error narrow_spec(const ValueSpec& own, ValueSpec& spec) noexcept {
  TENON_TRY(check_spec(spec.tensor));
  if (TENON_UNLIKELY(spec.kind != own.kind)) {
    return fail(Error::InvalidType,
                {"the spec is for ", spec.kind, ", the module takes ", own.kind});
  }
  if (*spec.name() == '\0') spec.tensor.name = own.tensor.name;
  spec.is_optional = own.is_optional;
  if (!own.is_described) return spec.tensor.name.error();
  if (!spec.is_described) {
    Text name(spec.tensor.name);
    spec.tensor = own.tensor;
    spec.tensor.name = std::move(name);
    spec.is_described = true;
    return check_spec(spec.tensor);
  }
  if (spec.tensor.type == tenon::ScalarType::Undefined) spec.tensor.type = own.tensor.type;
  if (TENON_UNLIKELY(own.tensor.type != tenon::ScalarType::Undefined &&
                     spec.tensor.type != own.tensor.type)) {
    return fail(Error::InvalidType, {"the spec is for ", own_type(spec.tensor.type),
                                     ", the module takes ", own_type(own.tensor.type)});
  }
  if (TENON_UNLIKELY(spec.tensor.device != own.tensor.device)) {
    return fail(Error::InvalidArgument,
                {"the spec is for ", spec.tensor.device, ", the module takes ", own.tensor.device});
  }
  if (spec.tensor.names.empty()) spec.tensor.names = own.tensor.names;
  TENON_TRY(narrow_sizes(own.tensor, spec.tensor));
  return check_spec(spec.tensor);
}

}  // namespace detail
TENON_END_NAMESPACE
