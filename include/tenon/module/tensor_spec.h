// SPDX-License-Identifier: MIT
// TensorSpec, ValueSpec, MethodMeta: descriptions of a method's inputs and outputs, and checks of
// values.
#pragma once

#include "tenon/module/evalue.h"
#include "tenon/module/lists.h"

TENON_BEGIN_NAMESPACE
/// The inputs of a call.
using EValues = detail::ListArg<EValue>;

/// Requirements on a tensor. Fields are only ever appended.
///
/// `TensorSpec{{-1, 8, 8}, ScalarType::Float, {"batch", "rows", "columns"}}`
struct TensorSpec {
  /// -1: any size.
  Dims sizes = {};
  /// Float unless given. Undefined: any dtype.
  ScalarType type = ScalarType::Float;
  /// The dimensions' names, for messages; as many as sizes, or none.
  detail::NameList names = {};
  /// CPU: any host-accessible memory.
  Device device = {};
  /// The tensor's name, "image".
  detail::Text name = {};
  /// The maximum for each size that is -1; -1 for no maximum; empty for none at all.
  Dims max_sizes = {};
  /// The strides, -1 for any; empty for any strides. Strides of dimensions of size 1 are ignored.
  detail::StridesArg strides = {};
  /// Instead of strides, if they depend on sizes: the dim order of a dense tensor, outermost first.
  /// {0, 2, 3, 1} is channels last.
  detail::DimOrderArg dim_order = {};

  /// `type`, in a Tensor's words.
  ScalarType dtype() const noexcept { return type; }
  /// `type`, in ATen's words.
  ScalarType scalar_type() const noexcept { return type; }

  /// Checks a tensor.
  /// Errors: InvalidType (another dtype); InvalidArgument (another rank or size, "check: dimension
  /// 1 (rows) is 9, expected 8"; other strides; another device; a spec that no tensor can meet:
  /// lists that are not as long as its sizes, sizes below -1, beyond max_sizes or beyond the
  /// address space, negative strides, a dim_order that is not a permutation, or beside strides);
  /// InvalidState (an undefined or deallocated tensor); OutOfMemory (the spec's lists could not be
  /// allocated).
  [[nodiscard]] Error check(const TensorArg& tensor) const noexcept;
};

struct ValueSpec;
namespace detail {
inline Error check_value(const ValueSpec& spec, const EValue& value) noexcept;
template <class = void>
Error check_supported(const ValueSpec& spec, const EValue& value) noexcept;
}  // namespace detail

/// Requirements on an input or an output: a tensor that meets a spec, any tensor, or another kind
/// of value.
struct ValueSpec {
  ValueSpec() noexcept = default;
  /// A tensor that meets a spec.
  ValueSpec(TensorSpec spec) noexcept : tensor(std::move(spec)), is_described(true) {}
  ValueSpec(detail::Text name, TensorSpec spec) noexcept : ValueSpec(std::move(spec)) {
    tensor.name = std::move(name);
  }
  /// Any value of a kind; a StringList accepts a String too.
  ValueSpec(ValueKind kind_) noexcept : kind(kind_) {}
  ValueSpec(detail::Text name, ValueKind kind_) noexcept : kind(kind_) {
    tensor.name = std::move(name);
  }

  ValueKind kind = ValueKind::Tensor;  ///< which kind of value
  /// Requirements on a tensor, if kind is Tensor and is_described is true; all kinds use
  /// tensor.name. For a StringList of an OnnxModule, the sizes of the text tensor and their names.
  TensorSpec tensor;
  bool is_described = false;  ///< whether `tensor` has requirements; else any tensor is accepted
  /// Whether None is accepted too.
  bool is_optional = false;
  /// Whether a tensor with other strides is accepted: the module then copies it to the spec's
  /// strides.
  bool copies_strides = false;
  /// Whether the runtime supports such values. If not, check() accepts any value, and a run reports
  /// the reason.
  bool is_supported = true;

  /// The name of the input or output; "" for none.
  const char* name() const noexcept TENON_LIFETIMEBOUND { return tensor.name.c_str(); }

  /// Checks a value.
  /// Errors: InvalidType (another kind), and those of TensorSpec::check().
  [[nodiscard]] Error check(const EValue& value) const noexcept {
    return detail::add_context_if("check", detail::check_value(*this, value));
  }

 private:
  friend Error detail::check_value(const ValueSpec& spec, const EValue& value) noexcept;

  // A pointer, so that a module without specs does not link the check: 4 KB at -Os.
  Error (*check_)(const ValueSpec&, const EValue&) noexcept = &detail::check_supported<>;
};

/// The specs of a method: a list such as `{{"image", spec}, ValueKind::Int}`, or a vector.
using ValueSpecs = detail::ListArg<ValueSpec>;

/// A method's description. It refers to the module's lists and is valid until the module is
/// destroyed or the method unloaded; `inputs` only until describe_inputs() changes them.
/// Source: executorch::runtime::MethodMeta.
struct MethodMeta {
  const char* name = "";        ///< the method's name, "forward"
  ArrayRef<ValueSpec> inputs;   ///< the specs of a run's inputs
  ArrayRef<ValueSpec> outputs;  ///< the specs of its outputs
  bool knows_inputs = false;    ///< if false, `inputs` is empty and nothing is checked
  bool knows_outputs = false;   ///< if false, `outputs` is empty
};

namespace detail {

/// "1 (rows)", or "1" if the name is empty.
struct Numbered {
  size_t index;
  const char* name;
  friend void append(Message& out, Numbered part) noexcept {
    detail::append(out, part.index);
    if (*part.name == '\0') return;
    out.put(" (");
    out.put(part.name);
    out.put(')');
  }
};

/// Whether a spec's strides or dim_order can be met.
TENON_TEMPLATE_INLINE Error check_spec_layout(const TensorSpec& spec) noexcept {
  const size_t rank = spec.sizes.size();
  uint64_t seen = 0;
  bool is_valid = spec.strides.empty() || (spec.strides.size() == rank && spec.dim_order.empty());
  for (const int64_t stride : spec.strides) is_valid = is_valid && stride >= -1;
  for (const int64_t d : spec.dim_order) {
    is_valid = is_valid && d >= 0 && d < static_cast<int64_t>(rank) && (seen >> d & 1) == 0;
    if (is_valid) seen |= uint64_t{1} << d;
  }
  is_valid = is_valid && (spec.dim_order.empty() || spec.dim_order.size() == rank);
  if (is_valid) return Error::Ok;
  return fail(Error::InvalidArgument, "the spec has strides ", spec.strides, " and dim_order ",
              spec.dim_order, " for sizes ", spec.sizes,
              ", expected strides of -1 or more or a permutation, one of them, of as many entries");
}
/// Whether a spec determines the order of the elements.
inline bool has_layout(const TensorSpec& spec) noexcept {
  return !spec.strides.empty() || !spec.dim_order.empty();
}
/// The stride that a spec requires for dimension d of a layout, which has elements and the spec's
/// rank: the row-major stride if the spec has no strides, the layout's stride if the spec has -1.
inline int64_t stride_of(const TensorSpec& spec, const Layout& given, size_t d) noexcept {
  if (!spec.strides.empty()) {
    return spec.strides[d] >= 0 ? spec.strides[d] : given.strides()[d];
  }
  int64_t product = 1;
  for (size_t i = given.rank(); i-- > 0;) {
    const size_t inner = spec.dim_order.empty() ? i : static_cast<size_t>(spec.dim_order[i]);
    if (inner == d) break;
    product *= given.sizes()[inner];
  }
  return product;
}
inline Dims strides_of(const TensorSpec& spec, const Layout& given) noexcept {
  Dims strides = given.strides();
  for (size_t d = 0; d < strides.size(); ++d) strides[d] = stride_of(spec, given, d);
  return strides;
}
/// Whether a layout's strides are those of a spec.
inline bool has_strides(const TensorSpec& spec, const Layout& given) noexcept {
  if (given.numel == 0) return true;
  bool is_same = true;
  for (size_t d = 0; d < given.rank(); ++d) {
    is_same &= given.sizes()[d] == 1 || given.strides()[d] == stride_of(spec, given, d);
  }
  return is_same;
}
TENON_TEMPLATE_INLINE Error check_strides(const TensorSpec& spec, const Layout& given) noexcept {
  if (has_strides(spec, given)) return Error::Ok;
  return fail(Error::InvalidArgument, "its strides are ", given.strides(), ", expected ",
              strides_of(spec, given),
              "; copy_() to an empty_strided() tensor of these changes them");
}

/// Whether any tensor can meet a spec.
inline Error check_spec(const TensorSpec& spec) noexcept {
  TENON_TRY(check_dims("the spec's sizes", spec.sizes));
  TENON_TRY(check_dims("the spec's max_sizes", spec.max_sizes));
  TENON_TRY(check_dims("the spec's strides", spec.strides));
  TENON_TRY(check_dims("the spec's dim_order", spec.dim_order));
  if (spec.names.error() != Error::Ok || spec.name.error() != Error::Ok) {
    return fail(Error::OutOfMemory, "out of memory for a spec");
  }
  const size_t rank = spec.sizes.size();
  if ((!spec.names.empty() && spec.names.size() != rank) ||
      (!spec.max_sizes.empty() && spec.max_sizes.size() != rank)) {
    return fail(Error::InvalidArgument, "the spec has ", spec.names.size(), " names and max_sizes ",
                spec.max_sizes, " for sizes ", spec.sizes);
  }
  ShapeProduct known;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t size = spec.sizes[d];
    const int64_t most = spec.max_sizes.empty() ? -1 : spec.max_sizes[d];
    if (size < -1 || most < -1 || (most >= 0 && size > most)) {
      return fail(Error::InvalidArgument, "the spec's dimension ", Numbered{d, spec.names[d]},
                  " has size ", size, " and max_size ", most);
    }
    if (size >= 0) known.multiply_by(size);
  }
  if (!known.valid(elementSize(own_type(spec.type)))) {
    return fail(Error::InvalidArgument, "the spec's sizes ", spec.sizes, " of ",
                own_type(spec.type), " overflow the address space");
  }
  return has_layout(spec) ? check_spec_layout(spec) : Error::Ok;
}

/// The spec's size of dimension d; if that is open, its maximum; -1 for any size.
inline int64_t limit_of(const TensorSpec& spec, size_t d) noexcept {
  return spec.sizes[d] >= 0 || spec.max_sizes.empty() ? spec.sizes[d] : spec.max_sizes[d];
}

/// Whether some dimension may have any size.
inline bool is_open(const TensorSpec& spec) noexcept {
  for (size_t d = 0; d < spec.sizes.size(); ++d) {
    if (limit_of(spec, d) < 0) return true;
  }
  return false;
}

/// Whether dimension d may be `size`.
inline bool allows(const TensorSpec& spec, size_t d, int64_t size) noexcept {
  const int64_t limit = limit_of(spec, d);
  return limit < 0 || size == limit || (spec.sizes[d] < 0 && size < limit);
}

/// Checks a tensor against a spec. `copies_strides` allows other strides.
TENON_TEMPLATE_INLINE Error check_tensor(const TensorSpec& spec, const TensorArg& tensor,
                                         bool copies_strides = false) noexcept {
  TENON_TRY(check_spec(spec));
  TENON_TRY(check_defined(tensor, "the tensor"));
  const TensorFields& found = fields(tensor);
  if (spec.type != tenon::ScalarType::Undefined && found.type != own_type(spec.type)) {
    return fail(Error::InvalidType, "it is ", found.type, ", expected ", own_type(spec.type));
  }
  const ArrayRef<int64_t> sizes = found.layout.sizes();
  if (sizes.size() != spec.sizes.size()) {
    return fail(Error::InvalidArgument, "it has sizes ", sizes, ", expected ", spec.sizes);
  }
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (!allows(spec, d, sizes[d])) {
      return fail(Error::InvalidArgument, "dimension ", Numbered{d, spec.names[d]}, " is ",
                  sizes[d], spec.sizes[d] < 0 ? ", expected at most " : ", expected ",
                  limit_of(spec, d));
    }
  }
  if (has_layout(spec) && !copies_strides) TENON_TRY(check_strides(spec, found.layout));
  const bool here = spec.device.is_cpu() ? found.is_host_accessible() : found.device == spec.device;
  if (!here) {
    return fail(Error::InvalidArgument, "it is on ", found.device, ", expected ", spec.device,
                found.device == spec.device ? " memory that the host reads without a backend" : "");
  }
  return Error::Ok;
}

/// Whether a value meets a spec.
inline Error check_value(const ValueSpec& spec, const EValue& value) noexcept {
  return spec.is_supported ? call_stored<&check_supported<>>(spec.check_, spec, value) : Error::Ok;
}
template <class>
Error check_supported(const ValueSpec& spec, const EValue& value) noexcept {
  if (spec.is_optional && value.isNone()) return Error::Ok;
  const bool is_one = value.isString() && spec.kind == ValueKind::StringList;
  if (value.kind() != spec.kind && !is_one) {
    return fail(Error::InvalidType, "it is ", value, ", expected ", spec.kind);
  }
  if (spec.kind != ValueKind::Tensor) return Error::Ok;
  const TensorArg tensor(value.toTensor());
  return spec.is_described ? check_tensor(spec.tensor, tensor, spec.copies_strides)
                           : check_metadata(tensor, "the tensor");
}

/// Prefixes a check's message with "input 0 (image): ".
TENON_COLD inline Error add_context(const char* role, size_t index, const char* name,
                                    Error error) noexcept {
  return fail(error, role, ' ', Numbered{index, name}, ": ", message_of(error));
}
inline Error add_context_if(const char* role, size_t index, const char* name,
                            Error error) noexcept {
  return error != Error::Ok ? add_context(role, index, name, error) : error;
}

/// Merges the module's spec `own` into a user's valid `spec`: values must meet both specs. Names
/// and sizes that `spec` leaves open are taken from `own`.
/// Errors: InvalidArgument, InvalidType if no value can meet both.
TENON_TEMPLATE_INLINE Error narrow_spec(const ValueSpec& own, ValueSpec& spec) noexcept {
  const TensorSpec& known = own.tensor;
  TensorSpec& to = spec.tensor;
  if (spec.kind != own.kind) {
    return fail(Error::InvalidType, "the spec is for ", spec.kind, ", the module takes ", own.kind);
  }
  if (to.name.empty()) to.name = known.name;
  spec.is_optional = own.is_optional;
  spec.is_supported = own.is_supported;
  spec.copies_strides = own.copies_strides;
  if (!own.is_described) return check_spec(to);
  if (spec.kind == ValueKind::StringList && !to.sizes.empty()) spec.is_described = true;
  if (!spec.is_described) {
    const Text name = to.name;
    to = known;
    to.name = name;
    spec.is_described = true;
    return check_spec(to);
  }
  if (to.type == tenon::ScalarType::Undefined) to.type = known.type;
  if (known.type != tenon::ScalarType::Undefined && to.type != known.type) {
    return fail(Error::InvalidType, "the spec is for ", own_type(to.type), ", the module takes ",
                own_type(known.type));
  }
  if (to.device != known.device) {
    return fail(Error::InvalidArgument, "the spec is for ", to.device, ", the module takes ",
                known.device);
  }
  if (to.sizes.size() != known.sizes.size()) {
    return fail(Error::InvalidArgument, "the spec has sizes ", to.sizes, ", the module's are ",
                known.sizes);
  }
  if (to.names.empty()) to.names = known.names;
  if (to.max_sizes.empty()) to.max_sizes = known.max_sizes;
  TENON_TRY(check_spec(to));
  bool differs = has_layout(to) && has_layout(known) &&
                 (to.strides.size() != known.strides.size() || to.dim_order != known.dim_order);
  for (size_t d = 0; d < to.strides.size() && has_layout(known) && !differs; ++d) {
    if (to.strides[d] < 0) to.strides[d] = known.strides[d];
    const int64_t stride = known.strides[d];
    differs = stride >= 0 && to.strides[d] != stride && known.sizes[d] != 1;
  }
  if (differs) {
    return fail(Error::InvalidArgument, "the spec has strides ", to.strides, " and dim_order ",
                to.dim_order, ", the module's are ", known.strides, " and ", known.dim_order);
  }
  if (!has_layout(to)) {
    to.strides = known.strides;
    to.dim_order = known.dim_order;
  }
  for (size_t d = 0; d < to.sizes.size(); ++d) {
    const int64_t limit = limit_of(known, d);
    if (to.sizes[d] >= 0 && !allows(known, d, to.sizes[d])) {
      return fail(Error::InvalidArgument, "the spec's dimension ", Numbered{d, to.names[d]}, " is ",
                  to.sizes[d], ", the module's is ", known.sizes[d] < 0 ? "at most " : "", limit);
    }
    if (to.sizes[d] < 0) to.sizes[d] = known.sizes[d];
    if (to.sizes[d] < 0 && limit >= 0 && (to.max_sizes[d] < 0 || to.max_sizes[d] > limit)) {
      to.max_sizes[d] = limit;
    }
  }
  return check_spec(to);
}

}  // namespace detail

inline Error TensorSpec::check(const TensorArg& tensor) const noexcept {
  return detail::add_context_if("check", detail::check_tensor(*this, tensor));
}

TENON_END_NAMESPACE
