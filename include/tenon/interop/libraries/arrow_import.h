// SPDX-License-Identifier: MIT
// from_arrow: makes a tensor over an array of Arrow's C data interface.
#pragma once

#include <string_view>

#include "tenon/interop/libraries/arrow_types.h"
#include "tenon/tensor/accessor.h"
#include "tenon/tensor/make.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The result of reading an array's nested types. `sizes` are in memory order: first the number of
/// rows. Dimension d of the tensor has size sizes[order[d]].
struct ArrowPlan {
  Dims sizes;
  Dims order;
  ScalarType type = ScalarType::Undefined;
  const void* values = nullptr;
  int64_t begin = 0;  // index of the first element in `values`
};

/// Whether bit i of an array's bitmap is set.
inline bool arrow_bit(const void* bits, int64_t i) noexcept {
  return (static_cast<const uint8_t*>(bits)[i / 8] >> (i % 8) & 1) != 0;
}

/// Checks that an array has the given numbers of buffers and children, and that none of the `count`
/// values from index `begin` on is null.
inline Error check_arrow_array(const ArrowArray& array, int64_t begin, int64_t count,
                               int64_t buffers, int64_t children) noexcept {
  int64_t end = 0;
  int64_t needed = 0;
  if (array.n_buffers != buffers || array.buffers == nullptr || array.n_children != children) {
    return fail(Error::InvalidArgument, "the ArrowArray has ", array.n_buffers, " buffers and ",
                array.n_children, " children, but its format has ", buffers, " and ", children);
  }
  if (array.length < 0 || array.offset < 0 || !add(array.offset, array.length, end) ||
      !add(begin, count, needed) || needed > end) {
    return fail(Error::InvalidArgument, "the ArrowArray has offset ", array.offset, " and length ",
                array.length, ", but ", count, " values from ", begin, " are needed");
  }
  if (array.dictionary != nullptr) {
    return fail(Error::NotSupported, "the array is dictionary-encoded; decode it");
  }
  if (array.null_count == 0 || count == 0) return Error::Ok;
  const auto* const valid = static_cast<const uint8_t*>(array.buffers[0]);
  if (valid == nullptr && array.null_count < 0) return Error::Ok;
  int64_t nulls = valid == nullptr ? array.null_count : 0;
  for (int64_t i = begin; valid != nullptr && i < needed;) {
    if (i % 8 == 0 && needed - i >= 8 && valid[i / 8] == 0xff) {
      i += 8;
    } else {
      nulls += !arrow_bit(valid, i++);
    }
  }
  if (nulls == 0) return Error::Ok;
  return fail(Error::NotSupported, nulls, " of the array's ", count,
              " values are null, which tensors do not have; fill or drop them");
}

/// Adds the dimensions of a fixed-size list of `width` values: one, or those of the extension type
/// arrow.fixed_shape_tensor.
inline Error add_arrow_dims(const ArrowSchema& schema, int64_t width, ArrowPermutation meaning,
                            ArrowPlan& plan) noexcept {
  ArrowTensorShape list;
  bool found = false;
  std::string_view text;
  TENON_TRY(find_arrow_metadata(schema.metadata, kArrowExtensionName, found, text));
  if (found && text == kArrowTensorName) {
    TENON_TRY(find_arrow_metadata(schema.metadata, kArrowExtensionMetadata, found, text));
    TENON_TRY(parse_arrow_tensor(found ? text : std::string_view(), list));
    int64_t numel = 1;
    bool fits = true;
    for (const int64_t size : list.shape) fits = multiply(numel, size, numel) && fits;
    if (!fits || numel != width) {
      return fail(Error::InvalidArgument, "arrow.fixed_shape_tensor of shape ", list.shape,
                  " is stored in lists of ", width, " values");
    }
    if (meaning != ArrowPermutation::Specification && !is_own_inverse(list.permutation)) {
      if (meaning == ArrowPermutation::Unambiguous) {
        return fail(Error::NotSupported,
                    "Arrow's specification and pyarrow mean different tensors by the permutation ",
                    list.permutation,
                    "; pass ArrowPermutation::Specification or ::Pyarrow to choose one");
      }
      Dims inverse = list.permutation;
      TENON_TRY(check_dims("permutation", inverse));
      invert(list.permutation, inverse);
      list.permutation = std::move(inverse);
    }
  } else {
    list.shape.push_back(width);
  }
  const auto first = static_cast<int64_t>(plan.sizes.size());
  for (size_t d = 0; d < list.shape.size(); ++d) {
    plan.sizes.push_back(list.shape[d]);
    plan.order.push_back(
        first + (list.permutation.empty() ? static_cast<int64_t>(d) : list.permutation[d]));
  }
  TENON_TRY(check_dims("sizes", plan.order));
  return check_dims("sizes", plan.sizes);
}

/// The width of a fixed-size list, whose format is "+w:" and a number; -1 for other formats.
inline int64_t arrow_list_width(const char* format) noexcept {
  if (std::strncmp(format, "+w:", 3) != 0 || format[3] == '\0') return -1;
  int64_t width = 0;
  for (const char* at = format + 3; *at != '\0'; ++at) {
    if (*at < '0' || *at > '9' || width > INT32_MAX) return -1;
    width = width * 10 + (*at - '0');
  }
  return width;
}

/// Checks that a list or struct has child `i`, and that the child was not moved out.
template <class T>
Error check_arrow_child(const T& parent, int64_t i) noexcept {
  if (parent.n_children <= i || parent.children == nullptr || parent.children[i] == nullptr) {
    return fail(Error::InvalidArgument,
                "a list or struct of the ArrowSchema or the ArrowArray has no child ", i);
  }
  if (parent.children[i]->release != nullptr) return Error::Ok;
  return fail(Error::InvalidState,
              "a child of the ArrowSchema or the ArrowArray was moved out "
              "or released: its memory has another owner");
}

/// Plans what depends only on the schema: the dtype, and the sizes of one row.
inline Error plan_arrow_rows(const ArrowSchema& first, ArrowPermutation meaning,
                             ArrowPlan& plan) noexcept {
  plan.sizes.push_back(0);
  plan.order.push_back(0);
  const ArrowSchema* schema = &first;
  for (;; schema = schema->children[0]) {
    if (schema->format == nullptr) {
      return fail(Error::InvalidArgument, "the ArrowSchema has no format");
    }
    if (schema->dictionary != nullptr) {
      return fail(Error::NotSupported, "the array is dictionary-encoded; decode it");
    }
    const int64_t width = arrow_list_width(schema->format);
    if (width < 0) break;
    if (schema->n_children > 1) {
      return fail(Error::InvalidArgument, "a list of the ArrowSchema has ", schema->n_children,
                  " children");
    }
    TENON_TRY(check_arrow_child(*schema, 0));
    TENON_TRY(add_arrow_dims(*schema, width, meaning, plan));
  }
  plan.type = type_of_arrow_format(schema->format);
  if (plan.type != ScalarType::Undefined) return Error::Ok;
  if (std::strcmp(schema->format, "w:2") == 0) {
    bool found = false;
    std::string_view name;
    TENON_TRY(find_arrow_metadata(schema->metadata, kArrowExtensionName, found, name));
    if (found && name == kArrowBFloat16Name) {
      plan.type = ScalarType::BFloat16;
      return Error::Ok;
    }
  }
  const ArrowFormatRow* const row = find_arrow_format(schema->format);
  return fail(
      Error::NotSupported, "Arrow's format \"", schema->format, "\"", row == nullptr ? "" : ", ",
      row == nullptr ? "" : row->type_name,
      ", is not supported; expected numbers, Booleans, dates, times or fixed-size lists of them");
}

/// Finds the values of `count` rows from row `begin` on; `begin` includes the array's offset.
/// Precondition: plan_arrow_rows() checked the schema.
inline Error plan_arrow_values(const ArrowSchema& first, const ArrowArray& of_first, int64_t begin,
                               int64_t count, ArrowPlan& plan) noexcept {
  plan.sizes[0] = count;
  const ArrowSchema* schema = &first;
  const ArrowArray* array = &of_first;
  for (int64_t width; (width = arrow_list_width(schema->format)) >= 0;) {
    TENON_TRY(check_arrow_array(*array, begin, count, 1, 1));
    TENON_TRY(check_arrow_child(*array, 0));
    schema = schema->children[0];
    array = array->children[0];
    if (!multiply(begin, width, begin) || !add(begin, array->offset, begin) ||
        !multiply(count, width, count)) {
      return fail(Error::InvalidArgument, "lists of ", width, " values overflow the address space");
    }
  }
  TENON_TRY(check_arrow_array(*array, begin, count, 2, 0));
  plan.values = array->buffers[1];
  plan.begin = begin;
  if (plan.values == nullptr && count != 0) {
    return fail(Error::InvalidArgument, "the ArrowArray has no buffer of values");
  }
  return Error::Ok;
}

/// Makes the tensor. Unless the values are copied, the tensor takes over `keep`, which owns the
/// values.
template <class Keep>
Error make_from_arrow(const ArrowPlan& from, Keep& keep, NewTensor& new_tensor) noexcept {
  const auto size = static_cast<int64_t>(elementSize(from.type));
  Layout dense;
  TENON_TRY(dense.make_row_major(from.sizes, static_cast<size_t>(size)));
  Dims sizes, strides;
  for (const int64_t d : from.order) {
    sizes.push_back(dense.sizes()[static_cast<size_t>(d)]);
    strides.push_back(dense.strides()[static_cast<size_t>(d)]);
  }
  CreateOptions plan(from.type);
  if (from.type == ScalarType::Bool) {
    Layout layout;
    TENON_TRY(lay_out_new(sizes, {nullptr, &strides}, plan.type, layout));
    TENON_TRY(make_owned(layout, plan, false, new_tensor));
    bool* const out = static_cast<bool*>(fields(new_tensor).data);
    for (int64_t i = 0; i < dense.numel; ++i) out[i] = arrow_bit(from.values, from.begin + i);
    return Error::Ok;
  }
  int64_t offset = 0;
  if (!multiply(from.begin, size, offset)) {
    return fail(Error::InvalidArgument, "offset ", from.begin, " overflows the address space");
  }
  // The buffer of an empty array may be null.
  const char* const data =
      from.values == nullptr ? nullptr : static_cast<const char*>(from.values) + offset;
  if (dense.numel != 0) TENON_TRY(check_aligned(data, from.type));
  Deleter deleter(nullptr, std::move(keep));
  return borrow_checked(DataPtr(const_cast<char*>(data), true), sizes, {}, strides, plan, &deleter,
                        new_tensor);
}

TENON_TEMPLATE_INLINE Error make_from_arrow(const ArrowSchema& schema, ArrowHold<ArrowArray>& array,
                                            ArrowPermutation meaning,
                                            NewTensor& new_tensor) noexcept {
  ArrowPlan plan;
  TENON_TRY(plan_arrow_rows(schema, meaning, plan));
  TENON_TRY(plan_arrow_values(schema, array.value, array.value.offset, array.value.length, plan));
  return make_from_arrow(plan, array, new_tensor);
}

}  // namespace detail

namespace detail {  // function objects

template <class Out>
struct FromArrow {
  const char* function;

  /// Makes a tensor over an array of numbers, Booleans, dates or times, of fixed-size lists of
  /// these, or of the extension type arrow.fixed_shape_tensor. The tensor's sizes are the array's
  /// length, then the lists' sizes or the shape of the extension type; the extension type's
  /// permutation becomes strides, read by `meaning`. Dates and times become counts of their unit:
  /// Int for 32 bits (date32, time32), else Long; ArrowBatch reports the unit. lance.bfloat16
  /// becomes BFloat16; other extension types are read as their storage type.
  ///
  /// Ownership: takes over both structs, also after an error, and marks them as released, as
  /// Arrow's specification requires. The tensor keeps the array's memory, and is read-only, since
  /// others may share the memory. Booleans are copied, since Arrow packs eight in a byte.
  /// Errors: InvalidArgument (a null pointer; fewer buffers, children or elements than the format
  /// requires; malformed metadata; data that is not aligned; more than kMaxDims dimensions);
  /// InvalidState (a released struct, or a list whose child was released); NotSupported (null
  /// values; other types, such as texts, decimals and dictionaries; a permutation that is not its
  /// own inverse, if `meaning` does not choose how to read it); OutOfMemory.
  /// Threads: the array's release callback runs on the thread that drops the last handle to the
  /// memory.
  /// Cost: two allocations; reads the validity bitmap if the array states that it has nulls, or
  /// does not state their number.
  /// Source: arrow::ImportArray.
  Out operator()(ArrowArray* array, ArrowSchema* schema,
                 ArrowPermutation meaning = ArrowPermutation::Unambiguous) const {
    ArrowHold<ArrowArray> values(array);
    const ArrowHold<ArrowSchema> type(schema);
    NewTensor new_tensor;
    Error error = Error::Ok;
    if (array == nullptr || schema == nullptr) {
      error = fail(Error::InvalidArgument, "the ArrowArray or the ArrowSchema is null");
    } else if (values.value.release == nullptr || type.value.release == nullptr) {
      error = fail(Error::InvalidState, "the ArrowArray or the ArrowSchema was released");
    } else {
      error = make_from_arrow(type.value, values, meaning, new_tensor);
    }
    return return_to_user<Out>(function, error, new_tensor);
  }
};

}  // namespace detail

inline constexpr detail::FromArrow<TensorPtr> from_arrow{"from_arrow"};
inline constexpr detail::FromArrow<Result<TensorPtr>> try_from_arrow{"try_from_arrow"};

TENON_END_NAMESPACE
