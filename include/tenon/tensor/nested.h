// SPDX-License-Identifier: MIT
// Containers of containers, such as std::vector<std::vector<float>>, and arrays, such as
// float[2][3]: their sizes, and their elements one after another.
#pragma once

#include <type_traits>

#include "tenon/tensor/data.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The element type of a range or array; void for others.
template <class C>
using RowOf = typename RangeElement<const C>::type;

/// TypeTag of the innermost element type; TypeTag<void> if there is none, as in a
/// std::filesystem::path, whose elements are paths.
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

/// Whether a range's elements are tensor elements, chars or std::bytes.
template <class C>
inline constexpr bool is_row_v = is_element_v<RowOf<C>> || is_char_or_byte_v<RowOf<C>>;

// Not of a text: it ends in a 0, which is not an element.
template <class C>
using IfNested =
    std::enable_if_t<!std::is_void_v<InnermostElement<C>> &&
                         (std::is_array_v<C> ? !std::is_same_v<RowOf<C>, char> : !is_row_v<C>),
                     int>;

/// Appends the sizes of `rows`, the row at index `at`, and of its rows.
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

/// Copies elements, at most until `end`: the range may have grown.
template <class T, class Rows>
void copy_rows(const Rows& rows, T*& out, const T* end) {
  for (const auto& row : rows) {  // a std::vector<bool> gives values
    if constexpr (is_row_v<Rows>) {
      if (out == end) return;
      *out++ = row;
    } else {
      copy_rows(row, out, end);
    }
  }
}

/// A copy of nested containers.
template <class T>
struct NestedValues {
  Dims sizes;
  Span<const T> values;
  Deleter deleter;

  template <class Rows>
  Error gather(const Rows& rows) {
    TENON_TRY(add_row_sizes(rows, Dims(), sizes));
    add_missing_sizes<Rows>(0, sizes);
    TENON_TRY(check_dims("sizes", sizes));
    ptrdiff_t count = 0;
    TENON_TRY(compute_numel(sizes, sizeof(T), count));
    const size_t nbytes = static_cast<size_t>(count) * sizeof(T);
    auto* const buffer = static_cast<T*>(heap_allocate(nbytes + 1));
    if (buffer == nullptr) {
      return fail(Error::OutOfMemory, TENON_OUT_OF_MEMORY " to keep ", count, " values");
    }
    deleter = Deleter(buffer, &heap_release);
    T* out = buffer;
    copy_rows(rows, out, buffer + count);
    values = Span<const T>(buffer, static_cast<size_t>(out - buffer));
    return Error::Ok;
  }
};

}  // namespace detail
TENON_END_NAMESPACE
