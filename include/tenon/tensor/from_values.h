// SPDX-License-Identifier: MIT
// Tensors of values: a list's, a container's, or one.
#pragma once

#include "tenon/kernels/convert.h"
#include "tenon/tensor/make.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Checks that the values are as many as the options say: elements, or bytes to be taken as
/// elements, if it `reinterprets` them.
TENON_TEMPLATE_INLINE Error check_values(const Values& values, ArrayRef<int64_t> sizes,
                                         const CreateOptions& opts, bool reinterprets) noexcept {
  if (values.error() != Error::Ok) {
    return fail(values.error(), TENON_OUT_OF_MEMORY " to keep ", values.count(), " values");
  }
  const auto count = static_cast<size_t>(opts.count);
  const size_t needed = reinterprets ? opts.nbytes() : count;
  if (values.count() != needed) {
    int64_t numel = 1;
    for (const int64_t size : sizes) numel *= size;
    // As many as elements: values were meant.
    const bool meant = reinterprets && values.count() == count;
    return fail(Error::InvalidArgument, values.count(), reinterprets ? " bytes" : " values",
                " were given, sizes ", sizes, numel == opts.count ? "" : " with these strides",
                " need ", needed,
                meant ? "; with sizes and a type, bytes are memory of that type: to convert "
                        "values, make the tensor without a type, and call to()"
                      : "");
  }
  return Error::Ok;
}

/// Converts values; each one of a list must fit.
TENON_TEMPLATE_INLINE Error convert_values(ScalarType type, void* out,
                                           const Values& values) noexcept {
  if (!values.is_checked()) {
    convert_elements(type, out, values.type(), values.data(), static_cast<int64_t>(values.count()),
                     CastMode::Checked);
    return Error::Ok;
  }
  auto* to = static_cast<char*>(out);
  auto* from = static_cast<const char*>(values.data());
  for (size_t i = 0; i < values.count(); ++i) {
    TENON_TRY(store_scalar(type, load_scalar(values.type(), from), to));
    to += elementSize(type);
    from += elementSize(values.type());
  }
  return Error::Ok;
}

/// What a creator with a type does to values of another one. Null in calls without a type, which do
/// not link it.
struct ValueCast {
  Error (*check)(ScalarType from, ScalarType to, CastMode mode) noexcept = nullptr;
  Error (*convert)(ScalarType type, void* out, const Values& values) noexcept = nullptr;
};
template <class... Options>
constexpr ValueCast value_cast() noexcept {
  if constexpr (has_type_v<Options...>) {
    return {&check_cast<>, &convert_values<>};
  } else {
    return {};
  }
}

/// Makes the memory of the values that of a tensor.
inline Error adopt_values(ShapeArg shape, const CreateOptions& opts, Values& values,
                          NewTensor& tensor) noexcept {
  TENON_TRY(make_impl(tensor));
  ImplFields& made = fields(tensor);
  made.data = const_cast<void*>(values.data());
  made.ownership = Ownership::Adopted;
  made.deleter.fill(std::move(values.deleter()));
  return set_shape(shape, opts, made);
}

/// A tensor of values. `is_flat`: the sizes are the values' own. With another shape and a type, a
/// container of bytes is memory to be taken as that type. A container that is moved in is adopted
/// if nothing converts it, and if it is aligned for its elements.
TENON_COMPILED_ONCE TENON_NOINLINE Error make_of_values(Values& values, ShapeArg shape,
                                                        bool is_flat, const ValueCast& cast,
                                                        CreateOptions& opts,
                                                        NewTensor& tensor) noexcept {
  const bool reinterprets = opts.has_type && values.is_bytes() && !is_flat;
  const bool converts = !reinterprets && opts.type != values.type();
  if (cast.check != nullptr) {
    TENON_TRY(cast.check(converts ? values.type() : opts.type, opts.type, CastMode::Checked));
  }
  TENON_TRY(check_shape(shape, opts));
  TENON_TRY(check_values(values, shape.list(), opts, reinterprets));
  const size_t size = elementSize(opts.type);
  if (values.is_adoptable() && !converts && opts.backend == nullptr &&
      reinterpret_cast<uintptr_t>(values.data()) % (size < 16 ? size : 16) == 0) {
    return adopt_values(shape, opts, values, tensor);
  }
  TENON_TRY(make_owned(shape, opts, false, tensor));
  return fill_new(fields(tensor), opts.count, "", nullptr, [&](void* out) noexcept {
    if (converts) return cast.convert(opts.type, out, values);
    if (opts.count != 0) std::memcpy(out, values.data(), opts.nbytes());  // data() may be null
    return Error::Ok;
  });
}

/// A 0-d tensor of the element in the 16 bytes at `element`.
TENON_COMPILED_ONCE TENON_NOINLINE Error of_element(const void* element, const CreateOptions& opts,
                                                    NewTensor& tensor) noexcept {
  TENON_TRY(make_owned(Dims(), opts, false, tensor));
  return fill_new(
      fields(tensor), 1, "constant",
      [&](Backend& backend, const auto& out) { return backend.constant(out, element); },
      [&](void* out) noexcept {
        std::memcpy(out, element, elementSize(opts.type));
        return Error::Ok;
      });
}
/// A 0-d tensor of a value, which must fit the type.
TENON_TEMPLATE_INLINE Error of_scalar(const Scalar& value, const CreateOptions& opts,
                                      NewTensor& tensor) noexcept {
  alignas(16) unsigned char element[16] = {};
  TENON_TRY(store_scalar(opts.type, value, element));
  return of_element(element, opts, tensor);
}

}  // namespace detail
TENON_END_NAMESPACE
