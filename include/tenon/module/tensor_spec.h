// SPDX-License-Identifier: MIT
// TensorSpec, ValueSpec, MethodMeta: what a method takes and gives, and the checks by that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tenon/config.h"
#include "tenon/core/array_ref.h"
#include "tenon/core/device.h"
#include "tenon/core/dims.h"
#include "tenon/core/error.h"
#include "tenon/core/layout.h"
#include "tenon/core/scalar_type.h"
#include "tenon/module/evalue.h"
#include "tenon/module/list_arg.h"
#include "tenon/module/names.h"
#include "tenon/tensor/tensor_arg.h"

TENON_BEGIN_NAMESPACE

/// What a tensor has to be.
///
/// `TensorSpec{{-1, 8, 8}, ScalarType::Float, {"batch", "rows", "columns"}}`
struct TensorSpec {
  /// -1 stands for any size.
  Dims sizes = {};
  /// Undefined stands for any.
  ScalarType type = ScalarType::Float;
  /// Of the dimensions, for messages; as many as sizes, or none.
  NameList names = {};
  /// CPU stands for all memory that the host reads.
  Device device = {};
  /// The name of the whole, "image".
  Text name = {};
  /// The most that each size may be where sizes has -1; -1 for no such bound; empty for none at
  /// all.
  Dims max_sizes = {};

  /// Whether a tensor is that; strides do not matter.
  /// Errors: InvalidType (another dtype); InvalidArgument (another rank or size, "check: dimension
  /// 1 (rows) is 9, expected 8"; another device; a spec that no tensor can meet: names or max_sizes
  /// that are not as many as its sizes, sizes below -1, beyond max_sizes or beyond the address
  /// space); InvalidState (an undefined or deallocated tensor); OutOfMemory (there was none for
  /// the spec itself).
  [[nodiscard]] Error check(const TensorArg& tensor) const noexcept;
};

/// What an input or an output has to be: a tensor by its spec, any tensor, or another kind of
/// value.
struct ValueSpec {
  ValueSpec() noexcept = default;
  ValueSpec(TensorSpec spec) noexcept : tensor(std::move(spec)), is_described(true) {}
  ValueSpec(Text name, TensorSpec spec) noexcept : ValueSpec(std::move(spec)) {
    tensor.name = std::move(name);
  }
  /// Any value of that kind.
  ValueSpec(ValueKind kind_) noexcept : kind(kind_) {}
  ValueSpec(Text name, ValueKind kind_) noexcept : kind(kind_) { tensor.name = std::move(name); }

  ValueKind kind = ValueKind::Tensor;
  /// Of a Tensor, if is_described; the name is there for all kinds.
  TensorSpec tensor;
  bool is_described = false;
  /// Whether None will do as well.
  bool is_optional = false;

  const char* name() const noexcept { return tensor.name.c_str(); }

  /// Errors: InvalidType (another kind), and those of TensorSpec::check().
  [[nodiscard]] Error check(const EValue& value) const noexcept;
};

using ValueSpecs = ListArg<ValueSpec>;

/// A method of a module: a view of what the module knows, valid as long as the module, its inputs
/// until describe_inputs() adds to them.
/// Source: executorch::runtime::MethodMeta.
struct MethodMeta {
  const char* name = "";
  ArrayRef<ValueSpec> inputs;
  ArrayRef<ValueSpec> outputs;
  /// Whether the module knows them. If not, the lists are empty and nothing is checked.
  bool knows_inputs = false;
  bool knows_outputs = false;
};

namespace detail {

/// " (rows)", or nothing without a name.
struct InParentheses {
  const char* name;
  friend void append(Message& out, InParentheses part) noexcept {
    if (*part.name == '\0') return;
    out.put(" (");
    out.put(part.name);
    out.put(')');
  }
};

/// Sizes of which -1 is "any".
struct AnySizes {
  const Dims& sizes;
  friend void append(Message& out, AnySizes part) noexcept {
    out.put('{');
    for (size_t d = 0; d < part.sizes.size(); ++d) {
      if (d != 0) out.put(", ");
      if (part.sizes[d] < 0) {
        out.put("any");
      } else {
        detail::append(out, part.sizes[d]);
      }
    }
    out.put('}');
  }
};

/// Whether a spec can be met at all.
inline Error check_spec(const TensorSpec& spec) noexcept {
  TENON_TRY(check_dims("the spec's sizes", spec.sizes));
  TENON_TRY(check_dims("the spec's max_sizes", spec.max_sizes));
  for (const Error error : {spec.names.error(), spec.name.error()}) {
    if (TENON_UNLIKELY(error != Error::Ok)) {
      return fail(error, {error == Error::OutOfMemory ? "out of memory for a spec"
                                                      : "the spec has too many names"});
    }
  }
  const size_t rank = spec.sizes.size();
  if (TENON_UNLIKELY(!spec.names.empty() && spec.names.size() != rank)) {
    return fail(Error::InvalidArgument,
                {"the spec has ", spec.names.size(), " names for sizes ", AnySizes{spec.sizes}});
  }
  if (TENON_UNLIKELY(!spec.max_sizes.empty() && spec.max_sizes.size() != rank)) {
    return fail(Error::InvalidArgument, {"the spec has max_sizes ", AnySizes{spec.max_sizes},
                                         " for sizes ", AnySizes{spec.sizes}});
  }
  DensePass known;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t size = spec.sizes[d];
    const int64_t most = spec.max_sizes.empty() ? -1 : spec.max_sizes[d];
    if (TENON_UNLIKELY(size < -1 || most < -1)) {
      return fail(Error::InvalidArgument, {"the spec has ", size < -1 ? "size " : "max_size ",
                                           size < -1 ? size : most, " for dimension ", d});
    }
    if (TENON_UNLIKELY(most >= 0 && size > most)) {
      return fail(Error::InvalidArgument, {"the spec's dimension ", d, InParentheses{spec.names[d]},
                                           " is ", size, ", its max_sizes say at most ", most});
    }
    if (size >= 0) known.take(size);
  }
  if (TENON_UNLIKELY(!known.valid(elementSize(own_type(spec.type))))) {
    return fail(Error::InvalidArgument, {"the spec's sizes ", AnySizes{spec.sizes}, " of ",
                                         own_type(spec.type), " overflow the address space"});
  }
  return Error::Ok;
}

inline Error check_sizes(const TensorSpec& spec, const Dims& sizes) noexcept {
  const size_t rank = spec.sizes.size();
  if (TENON_UNLIKELY(sizes.size() != rank)) {
    return fail(Error::InvalidArgument,
                {"it has ", sizes.size(), sizes.size() == 1 ? " dimension, " : " dimensions, ",
                 sizes, ", expected ", rank, ", ", AnySizes{spec.sizes}});
  }
  for (size_t d = 0; d < rank; ++d) {
    const int64_t size = sizes[d];
    if (spec.sizes[d] >= 0) {
      if (TENON_UNLIKELY(size != spec.sizes[d])) {
        return fail(Error::InvalidArgument, {"dimension ", d, InParentheses{spec.names[d]}, " is ",
                                             size, ", expected ", spec.sizes[d]});
      }
    } else if (!spec.max_sizes.empty() && spec.max_sizes[d] >= 0) {
      if (TENON_UNLIKELY(size > spec.max_sizes[d])) {
        return fail(Error::InvalidArgument, {"dimension ", d, InParentheses{spec.names[d]}, " is ",
                                             size, ", expected at most ", spec.max_sizes[d]});
      }
    }
  }
  return Error::Ok;
}

TENON_LAZY Error check_tensor(const TensorSpec& spec, const TensorArg& tensor) noexcept {
  TENON_TRY(check_spec(spec));
  TENON_TRY(check_defined(tensor, "the tensor"));
  const TensorFields& found = fields(tensor);
  if (TENON_UNLIKELY(spec.type != tenon::ScalarType::Undefined &&
                     found.type != own_type(spec.type))) {
    return fail(Error::InvalidType, {"it is ", found.type, ", expected ", own_type(spec.type)});
  }
  TENON_TRY(check_sizes(spec, found.layout.sizes));
  const bool here = spec.device.is_cpu() ? found.is_host_accessible() : found.device == spec.device;
  if (TENON_UNLIKELY(!here)) {
    return fail(
        Error::InvalidArgument,
        {"it is on ", found.device, ", expected ", spec.device,
         found.device == spec.device ? " memory that the host reads without a backend" : ""});
  }
  return Error::Ok;
}

TENON_LAZY Error check_value(const ValueSpec& spec, const EValue& value) noexcept {
  if (spec.is_optional && value.isNone()) return Error::Ok;
  if (TENON_UNLIKELY(value.kind() != spec.kind)) {
    return fail(Error::InvalidType, {"it is ", value, ", expected ", spec.kind});
  }
  if (spec.kind != ValueKind::Tensor) return Error::Ok;
  const TensorArg tensor(value.toTensor());
  return spec.is_described ? check_tensor(spec.tensor, tensor)
                           : check_metadata(tensor, "the tensor");
}

/// Puts "input 0 (image): " in front of the message that a check left.
TENON_COLD inline Error blame_value(const char* role, size_t index, const char* name,
                                    Error error) noexcept {
  return fail(error, {role, ' ', index, InParentheses{name}, ": ",
                      static_cast<const char*>(error_text().text)});
}

}  // namespace detail

inline Error TensorSpec::check(const TensorArg& tensor) const noexcept {
  const Error error = detail::check_tensor(*this, tensor);
  return TENON_UNLIKELY(error != Error::Ok) ? detail::blame("check", error) : error;
}

inline Error ValueSpec::check(const EValue& value) const noexcept {
  const Error error = detail::check_value(*this, value);
  return TENON_UNLIKELY(error != Error::Ok) ? detail::blame("check", error) : error;
}

TENON_END_NAMESPACE
