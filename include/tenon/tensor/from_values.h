// SPDX-License-Identifier: MIT
// Tensors of values: a list's, a container's, or one.
#pragma once

#include "tenon/kernels/convert.h"
#include "tenon/tensor/make.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Checks that the values are as many as the options say: elements, or bytes to be taken as
/// elements, if it `reinterprets` them.
TENON_TEMPLATE_INLINE Error check_values(const Values& values, const Dims& sizes,
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

/// A draft without a shape whose elements are the values: in their memory, or in a copy. A
/// container that is not aligned for its elements is copied.
TENON_COMPILED_ONCE TENON_NOINLINE Error adopt_or_copy(const CreateOptions& opts, Values& values,
                                                       NewTensor& draft) noexcept {
  const size_t size = elementSize(opts.type);
  if (values.is_adoptable() && opts.backend == nullptr &&
      reinterpret_cast<uintptr_t>(values.data()) % (size < 16 ? size : 16) == 0) {
    TENON_TRY(make_impl(draft));
    ImplFields& made = fields(draft);
    made.type = opts.type;
    made.data = const_cast<void*>(values.data());
    made.ownership = Ownership::Adopted;
    made.deleter.fill(std::move(values.deleter()));
    return Error::Ok;
  }
  TENON_TRY(make_memory(opts, false, draft));
  return fill_new(fields(draft), opts.count, "", nullptr, [&](void* out) noexcept {
    if (opts.count != 0) std::memcpy(out, values.data(), opts.nbytes());  // data() may be null
    return Error::Ok;
  });
}
TENON_TEMPLATE_INLINE TENON_NOINLINE Error convert_to_new(const CreateOptions& opts,
                                                          const Values& values,
                                                          NewTensor& draft) noexcept {
  TENON_TRY(make_memory(opts, false, draft));
  return fill_new(fields(draft), opts.count, "", nullptr,
                  [&](void* out) noexcept { return convert_values(opts.type, out, values); });
}

/// Every overload of values ends here. `is_flat`: the sizes are the values' own. With another shape
/// and a type, a container of bytes is memory to be taken as that type.
template <class Out, class Shape, class... Options>
Out of_values(const char* function, Values& values, const Shape& shape, bool is_flat,
              Options&... options) {
  CreateOptions opts = create_options_of(values.type(), options...);
  NewTensor draft;
  Error error = Error::Ok;
  bool reinterprets = false;
  bool is_cast = false;
  if constexpr (has_type_v<Options...>) {
    reinterprets = values.is_bytes() && !is_flat && opts.has_type;
    is_cast = !reinterprets && opts.type != values.type();
    error = reinterprets ? check_type(opts.type) : check_cast(values.type(), opts.type);
  }
  if (error == Error::Ok) error = shape.check(opts);
  if (error == Error::Ok) error = check_values(values, shape.sizes, opts, reinterprets);
  if constexpr (has_type_v<Options...>) {
    if (is_cast && error == Error::Ok) error = convert_to_new(opts, values, draft);
  }
  if (!is_cast && error == Error::Ok) error = adopt_or_copy(opts, values, draft);
  if (error == Error::Ok) error = write_shape(shape, opts, draft);
  return finish_new<Out>(function, error, draft, opts.backend);
}

/// A 0-d tensor of the element in the 16 bytes at `element`.
TENON_COMPILED_ONCE TENON_NOINLINE Error of_element(const void* element, const CreateOptions& opts,
                                                    NewTensor& draft) noexcept {
  TENON_TRY(make_memory(opts, false, draft));
  fields(draft).finalize(TensorShapeDynamism::STATIC);  // its layout is that of no dimensions
  return fill_new(
      fields(draft), 1, "constant",
      [&](Backend& backend, const auto& out) { return backend.constant(out, element); },
      [&](void* out) noexcept {
        std::memcpy(out, element, elementSize(opts.type));
        return Error::Ok;
      });
}
/// A 0-d tensor of a value, which must fit the type.
TENON_TEMPLATE_INLINE Error of_scalar(const Scalar& value, const CreateOptions& opts,
                                      NewTensor& draft) noexcept {
  alignas(16) unsigned char element[16] = {};
  TENON_TRY(store_scalar(opts.type, value, element));
  return of_element(element, opts, draft);
}

}  // namespace detail
TENON_END_NAMESPACE
