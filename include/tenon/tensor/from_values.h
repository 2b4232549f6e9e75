// SPDX-License-Identifier: MIT
// Tensors made of one value, a list, a container, nested containers
// (std::vector<std::vector<float>>) or an array (float[2][3]).
#pragma once

#include <type_traits>

#include "tenon/kernels/convert.h"
#include "tenon/kernels/fit.h"
#include "tenon/tensor/data.h"
#include "tenon/tensor/make.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The element type of a range or array; void for any other type.
template <class C>
using RowOf = typename RangeElement<const C>::type;

/// TypeTag of the innermost element type; TypeTag<void> if there is none, as in
/// std::filesystem::path, a range of paths.
template <class C, size_t kDepth = 0>
constexpr auto innermost() noexcept {
  using Row = RowOf<C>;
  if constexpr (is_element_v<Row> || is_char_or_byte_v<Row>) {
    return TypeTag<Row>();
  } else if constexpr (std::is_void_v<Row> || kDepth == kMaxDims) {
    return TypeTag<void>();
  } else {
    return innermost<Row, kDepth + 1>();
  }
}
template <class C>
using InnermostElement = typename decltype(innermost<C>())::type;

/// Whether a range's elements are of an element type, char or std::byte.
template <class C>
inline constexpr bool is_row_v = is_element_v<RowOf<C>> || is_char_or_byte_v<RowOf<C>>;

// Excludes string literals, which end in a 0.
template <class C>
using IfNested =
    std::enable_if_t<!std::is_void_v<InnermostElement<C>> &&
                         (std::is_array_v<C> ? !std::is_same_v<RowOf<C>, char> : !is_row_v<C>),
                     int>;

/// Appends the sizes of `rows`, which is the row at index `at`, and of its rows.
/// Errors: InvalidArgument for rows of different lengths, OutOfMemory.
template <class Rows>
Error add_row_sizes(const Rows& rows, const Dims& at, Dims& sizes) {
  TENON_TRY(check_dims("the index of a row", at));
  int64_t count = 0;
  for (auto it = range_access::first(rows); it != range_access::last(rows); ++it) ++count;
  const size_t depth = at.size();
  if (depth == sizes.size()) sizes.push_back(count);
  TENON_TRY(check_dims("sizes", sizes));
  if (count != sizes[depth]) {
    return fail(Error::InvalidArgument, "row ", at, " has ", count, " values, the first has ",
                sizes[depth], "; rows of a tensor are equally long");
  }
  if constexpr (!is_row_v<Rows>) {
    int64_t i = 0;
    for (const auto& row : rows) {
      Dims at_row = at;
      at_row.push_back(i++);
      TENON_TRY(add_row_sizes(row, at_row, sizes));
    }
  }
  return Error::Ok;
}

/// The size of a std::array; else 0.
template <class C, class = void>
inline constexpr int64_t kStaticSize = 0;
template <class C>
inline constexpr int64_t kStaticSize<C, std::void_t<decltype(std::tuple_size<C>::value)>> =
    std::tuple_size<C>::value;

/// Appends the sizes below an empty dimension.
template <class Rows>
void add_missing_sizes(size_t depth, Dims& sizes) noexcept {
  if (depth == sizes.size()) sizes.push_back(kStaticSize<Rows>);
  if constexpr (!is_row_v<Rows>) add_missing_sizes<RowOf<Rows>>(depth + 1, sizes);
}

/// Copies elements, at most up to `end`, since the range may have grown. Copies one by one if the
/// elements are volatile, if iterators return values (std::vector<bool>), or if a sentinel ends the
/// range.
template <class T, class Rows>
void copy_rows(const Rows& rows, T*& out, const T* end) {
  auto it = range_access::first(rows);
  const auto last = range_access::last(rows);
  using Element = decltype(*it);
  constexpr bool is_memory =
      is_contiguous_v<Rows> && std::is_same_v<const decltype(it), decltype(last)> &&
      std::is_lvalue_reference_v<Element> && !std::is_volatile_v<std::remove_reference_t<Element>>;
  if constexpr (!is_row_v<Rows>) {
    for (; it != last; ++it) copy_rows(*it, out, end);
  } else if constexpr (is_memory) {
    const ptrdiff_t count = last - it < end - out ? last - it : end - out;
    if (count > 0) std::memcpy(out, std::addressof(*it), static_cast<size_t>(count) * sizeof(T));
    out += count;
  } else {
    for (; it != last && out != end; ++it) *out++ = *it;
  }
}

/// Nested containers, copied to one block.
template <class T>
struct NestedValues {
  Dims sizes;
  Span<const T> values;

  /// Copies the values to the memory of a new tensor, whose shape is not set yet.
  template <class Rows>
  Error gather(const Rows& rows, NewTensor& tensor) {
    TENON_TRY(add_row_sizes(rows, Dims(), sizes));
    add_missing_sizes<Rows>(0, sizes);
    TENON_TRY(check_dims("sizes", sizes));
    CreateOptions opts(value_type_of<T>());
    TENON_TRY(compute_numel(sizes, sizeof(T), opts.count));
    TENON_TRY(allocate_owned(opts, false, tensor));
    auto* const begin = static_cast<T*>(fields(tensor).data);
    T* out = begin;
    copy_rows(rows, out, begin + opts.count);
    values = Span<const T>(begin, static_cast<size_t>(out - begin));
    return Error::Ok;
  }
};

/// Checks that there are as many values as the options have elements or, if `reinterprets`, as
/// these elements have bytes.
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
    // If there are as many bytes as elements, they are probably meant as values.
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

/// Converts values, which must fit the type.
TENON_TEMPLATE_INLINE Error convert_values(ScalarType type, void* out,
                                           const Values& values) noexcept {
  const auto count = static_cast<int64_t>(values.count());
  TENON_TRY(check_fit(type, values.type(), values.data(), count));
  convert_elements(type, out, values.type(), values.data(), count, CastMode::Checked);
  return Error::Ok;
}

using ConvertValues = Error (*)(ScalarType type, void* out, const Values& values) noexcept;

/// Converts values to another type. The functions are null in calls without a type, which do not
/// link them.
struct ValueCast {
  Error (*check)(ScalarType from, ScalarType to, CastMode mode) noexcept = nullptr;
  ConvertValues convert = nullptr;
};
template <class... Options>
constexpr ValueCast value_cast() noexcept {
  if constexpr (has_type_v<Options...>) {
    return {&check_cast<>, &convert_values<>};
  } else {
    return {};
  }
}

/// Makes a tensor over the values' memory.
inline Error adopt_values(const CreateOptions& opts, Values& values, NewTensor& tensor) noexcept {
  TENON_TRY(make_impl(tensor));
  ImplFields& made = fields(tensor);
  made.data = const_cast<void*>(values.data());
  made.ownership = Ownership::Adopted;
  made.deleter.take(std::move(values.deleter()));
  made.type = opts.type;
  return Error::Ok;
}

/// Puts the values into a tensor's memory, as many as the options say. Converts them by `convert`,
/// unless that is null. The caller sets the shape. Without conversion nothing is copied if the
/// values are in the memory of `tensor` already, or in a moved container that is aligned for them.
TENON_COMPILED_ONCE TENON_NOINLINE Error keep_values(Values& values, ConvertValues convert,
                                                     const CreateOptions& opts,
                                                     NewTensor& tensor) noexcept {
  const size_t size = elementSize(opts.type);
  const bool may_stay = convert == nullptr && opts.backend == nullptr;
  if (tensor != nullptr) {
    fields(tensor).type = opts.type;
    if (may_stay) return Error::Ok;
    const NewTensor source = std::move(tensor);
    return keep_values(values, convert, opts, tensor);
  }
  if (may_stay && values.is_adoptable() &&
      reinterpret_cast<uintptr_t>(values.data()) % (size < 16 ? size : 16) == 0) {
    return adopt_values(opts, values, tensor);
  }
  TENON_TRY(allocate_owned(opts, false, tensor));
  return fill_new(fields(tensor), opts.count, "", nullptr, [&](void* out) noexcept {
    if (convert != nullptr) return convert(opts.type, out, values);
    std::memcpy(out, values.data(), opts.nbytes());
    return Error::Ok;
  });
}
/// Makes a tensor of values, which may be in its memory already. `shape` is of any type that
/// count_elements() takes. `is_flat`: the tensor is 1-d, of the values' size. Otherwise, with a
/// type, a container of bytes is reinterpreted as that type.
template <class Shape>
Error make_of_values(Values& values, const Shape& shape, bool is_flat, const ValueCast& cast,
                     CreateOptions& opts, NewTensor& tensor) noexcept {
  const bool reinterprets = opts.has_type && values.is_bytes() && !is_flat;
  const bool converts = !reinterprets && opts.type != values.type();
  if (cast.check != nullptr) {
    TENON_TRY(cast.check(converts ? values.type() : opts.type, opts.type, CastMode::Checked));
  }
  TENON_TRY(count_elements(shape, opts));
  TENON_TRY(check_values(values, sizes_of(shape), opts, reinterprets));
  TENON_TRY(keep_values(values, converts ? cast.convert : nullptr, opts, tensor));
  return set_shape(shape, opts, fields(tensor));
}

/// A 0-d tensor of the element in the 16 bytes at `element`.
TENON_COMPILED_ONCE TENON_NOINLINE Error of_element(const void* element, const CreateOptions& opts,
                                                    NewTensor& tensor) noexcept {
  TENON_TRY(allocate_owned(opts, false, tensor));
  fields(tensor).finalize(opts.dynamism);
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
