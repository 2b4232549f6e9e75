// SPDX-License-Identifier: MIT
// Joins and pads tensors, chooses elements by masks, and other tools of kernels that move elements.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include "tenon/interop/runtimes/aoti_channels_last.h"
#include "tenon/interop/runtimes/aoti_kernel_tools.h"
#include "tenon/kernels/element_plan.h"
#include "tenon/tensor/view.h"

TENON_BEGIN_NAMESPACE
namespace detail {

using AotiDims = std::vector<int64_t>;

/// Row-major strides.
inline AotiDims dense_strides(ArrayRef<int64_t> sizes) {
  AotiDims strides(sizes.size());
  int64_t next = 1;
  for (size_t d = sizes.size(); d-- > 0; next *= sizes[d]) strides[d] = next;
  return strides;
}
/// The offsets of all elements, the last dimension fastest.
inline AotiDims offsets_of(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides) {
  AotiDims offsets;
  const int64_t count = product(sizes);
  if (count == 0) return offsets;
  offsets.reserve(static_cast<size_t>(count));
  offsets.push_back(0);
  for (size_t d = sizes.size(); d-- > 0;) {
    const size_t inner = offsets.size();
    for (int64_t i = 1; i < sizes[d]; ++i) {
      for (size_t k = 0; k < inner; ++k) offsets.push_back(offsets[k] + i * strides[d]);
    }
  }
  return offsets;
}

/// Calls f(copy): copy(to, from) copies an element of `size` bytes.
template <class F>
void with_element_copy(size_t size, const F& f) {
  const auto copy_of = [](auto bytes) {
    return [](void* to, const void* from) { std::memcpy(to, from, decltype(bytes)::value); };
  };
  switch (size) {
    case 1: return f(copy_of(std::integral_constant<size_t, 1>()));
    case 2: return f(copy_of(std::integral_constant<size_t, 2>()));
    case 4: return f(copy_of(std::integral_constant<size_t, 4>()));
    case 8: return f(copy_of(std::integral_constant<size_t, 8>()));
    default: return f(copy_of(std::integral_constant<size_t, 16>()));
  }
}

/// Converts a double, as torch's functions pass numbers, to an element type. Integer types drop the
/// fraction; Bool is true unless the number is 0.
/// Errors: InvalidArgument for a number out of the type's range.
/// Source: c10::checked_convert.
inline Error read_number(ScalarType type, double value, Scalar& number) {
  number = value;
  if (type == ScalarType::Bool) number = value != 0;
  // unlike Half, ComplexHalf rounds large numbers to infinity
  if (type == ScalarType::ComplexHalf) {
    number = double{static_cast<float>(Half(static_cast<float>(value)))};
  }
  if (type == ScalarType::Bool || type == ScalarType::ComplexHalf) return Error::Ok;
  const bool is_integral = isIntegralType(type, false);
  const bool is_signed = type == ScalarType::Char || type == ScalarType::Short ||
                         type == ScalarType::Int || type == ScalarType::Long;
  const double beyond = std::ldexp(1.0, static_cast<int>(elementSize(type) * 8) - is_signed);
  const double most = is_integral                    ? beyond - (beyond < 0x1p53 ? 1 : 0)
                      : type == ScalarType::Half     ? 65504.0
                      : type == ScalarType::BFloat16 ? 0x1.FEp127
                      : type == ScalarType::Float || type == ScalarType::ComplexFloat
                          ? double{(std::numeric_limits<float>::max)()}
                          : std::numeric_limits<double>::infinity();
  const double least = !is_integral ? -most : is_signed ? -beyond : 0;
  if ((is_integral || std::isfinite(value)) && !(value >= least && value <= most)) {
    return fail(Error::InvalidArgument, value, " is out of the range of ", type);
  }
  if (is_integral && (std::abs)(value) < 0x1p63) number = static_cast<int64_t>(value);
  return Error::Ok;
}
inline Error fill_number(const Tensor& tensor, double value) {
  TENON_TRY(check_defined(tensor, "the tensor"));
  Scalar number;
  TENON_TRY(read_number(tensor.scalar_type(), value, number));
  Tensor distinct;
  TENON_TRY(distinct_elements(tensor, distinct));
  return fill_(distinct, number);
}

/// Replaces `read` by a copy if its memory may overlap the memory of `written`.
inline Error separate(const Tensor& written, Tensor& read) {
  const TensorFields& to = fields(TensorArg(written));
  const TensorFields& from = fields(TensorArg(read));
  if (to.layout.numel == 0 || from.layout.numel == 0 ||
      !overlap(byte_range(view_of(to)), byte_range(view_of(from)))) {
    return Error::Ok;
  }
  TENON_ASSIGN(const TensorPtr copy, try_empty(read.sizes(), from.type, host_backend()));
  TENON_TRY(copy_(*copy, read));
  read = *copy;
  return Error::Ok;
}

/// Reads an index tensor as a dense tensor of Long.
/// Errors: InvalidType for types other than Long and Int.
inline Error read_indices(AtenTensorHandle handle, Tensor& dense) {
  Tensor given;
  TENON_TRY(read_aoti(handle, "the index", given));
  const ScalarType type = given.scalar_type();
  if (type != ScalarType::Long && type != ScalarType::Int && given.numel() != 0) {
    return fail(Error::InvalidType, "the index has type ", type, ", expected Long or Int");
  }
  return make_dense(given, ScalarType::Long, dense);
}
/// Checks that indices are in [least, size).
/// Errors: OutOfBounds.
inline Error check_indices(const int64_t* indices, int64_t count, int64_t least, int64_t size) {
  for (int64_t i = 0; i < count; ++i) {
    if (indices[i] < least || indices[i] >= size) {
      return fail(Error::OutOfBounds, "index ", indices[i], " is outside a dimension of size ",
                  size);
    }
  }
  return Error::Ok;
}

/// Signed integers are added as unsigned, so that they wrap: their overflow would be undefined.
template <class T>
T wrapping_sum(T a, T b) noexcept {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}

/// Checks a tensor into which the caller wants the result.
/// Errors: InvalidArgument; InvalidType.
inline Error check_out(const Tensor& out, ArrayRef<int64_t> sizes, ScalarType type) {
  if (out.sizes() != sizes) {
    return fail(Error::InvalidArgument, "the output has sizes ", out.sizes(), ", expected ", sizes);
  }
  if (out.scalar_type() != type) {
    return fail(Error::InvalidType, "the output has type ", out.scalar_type(), ", expected ", type);
  }
  return check_distinct(fields(TensorArg(out)).layout, "the output");
}

// --- Joining and padding -------------------------------------------------------------------------

/// A dense shape: channels last, or row-major.
inline AotiShape dense_shape(ArrayRef<int64_t> sizes, ScalarType type, bool channels_last) {
  AotiShape shape;
  shape.sizes = sizes;
  shape.type = type;
  shape.strides = row_major_strides(shape.sizes);
  if (channels_last) set_channels_last(shape.sizes, 1, shape.strides);
  return shape;
}

/// Errors: InvalidArgument for an empty list, a tensor of rank 0, and sizes that do not fit;
/// NotSupported if no type holds all tensors' types; those of check_readable().
inline Error join(ArrayRef<Tensor> tensors, int64_t dim, Tensor& made) {
  if (tensors.empty()) return fail(Error::InvalidArgument, "the list of tensors to join is empty");
  std::vector<Tensor> pieces;
  ScalarType type = ScalarType::Undefined;
  bool channels_last = true;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& piece = tensors[i];
    TENON_TRY(check_readable(piece, "a tensor"));
    const ScalarType own = piece.scalar_type();
    const ScalarType common = i == 0 ? own : promoteTypes(type, own);
    if (common == ScalarType::Undefined) {
      return fail(Error::NotSupported, "types ", type, " and ", own, " have no common type");
    }
    type = common;
    if (piece.dim() == 0) {
      return fail(Error::InvalidArgument, "tensor ", i, " has rank 0");
    }
    channels_last = channels_last && has_channels_last(fields(TensorArg(piece)).layout);
    // As in torch, a tensor of sizes {0} may be joined with tensors of any rank.
    const bool is_nothing = piece.sizes() == Dims{0};
    if (!is_nothing) pieces.push_back(piece);
  }
  AotiDims sizes{0};
  size_t d = 0;
  if (!pieces.empty()) TENON_TRY(read_dim(dim, pieces[0].sizes().size(), d));
  for (size_t i = 0; i < pieces.size(); ++i) {
    AotiDims own = pieces[i].sizes().vec();
    if (i == 0) {
      sizes = own;
      continue;
    }
    const int64_t added = d < own.size() ? own[d] : 0;
    if (d < own.size()) own[d] = sizes[d];
    if (own != sizes || !add(sizes[d], added, sizes[d])) {
      return fail(Error::InvalidArgument, "sizes ", pieces[i].sizes(), " and ", pieces[0].sizes(),
                  " differ in another dimension than ", dim);
    }
  }
  TENON_TRY(aoti_empty(dense_shape(sizes, type, channels_last), made));
  int64_t begin = 0;
  for (const Tensor& piece : pieces) {
    const int64_t length = piece.sizes()[d];
    TENON_ASSIGN(const Tensor part, try_narrow(made, static_cast<int64_t>(d), begin, length));
    TENON_TRY(convert(part, piece));
    begin += length;
  }
  return Error::Ok;
}

/// The index of the input's element at position `i` of a padded dimension; the result keeps the
/// input's elements from `begin` to `end`. -1 if the constant is there.
inline int64_t padded_index(std::string_view mode, int64_t i, int64_t begin, int64_t end) noexcept {
  if (i >= begin && i < end) return i;
  const bool is_front = i < begin;
  if (mode == "replicate") return is_front ? 0 : end - 1;
  if (mode == "circular") return is_front ? i + (end - begin) : i - (end - begin);
  if (mode == "reflect") return is_front ? -i : 2 * (end - 1) - i;
  return -1;
}
/// `pad` has two numbers for each dimension, from the last dimension on: how many elements to add
/// before and after it. Negative numbers remove elements.
/// Errors: InvalidArgument and NotSupported for padding that torch refuses; those of
/// check_readable() and read_number().
inline Error pad_by(const Tensor& self, ArrayRef<int64_t> pad, std::string_view mode,
                    const double* value, Tensor& made) {
  TENON_TRY(check_readable(self, "the input"));
  const size_t rank = self.sizes().size();
  const bool is_constant = mode == "constant";
  const size_t padded = pad.size() / 2;
  if (pad.size() % 2 != 0 || padded > rank) {
    return fail(Error::InvalidArgument, "padding ", pad, " has ", pad.size(),
                " numbers, expected an even number, at most ", 2 * rank);
  }
  const bool is_other = mode == "reflect" || mode == "replicate" || mode == "circular";
  if (!is_constant && !is_other) {
    return fail(Error::InvalidArgument,
                "the padding mode is unknown, expected constant, reflect, replicate or circular");
  }
  const bool has_value = value != nullptr && *value != 0;
  if (is_other &&
      (padded < 1 || padded > 3 || rank < padded + 1 || rank > padded + 2 || has_value)) {
    return fail(Error::NotSupported, "padding ", pad, " of a tensor of rank ", rank,
                has_value ? " with a value" : "", " is only supported in mode constant");
  }
  AotiDims sizes = self.sizes().vec();
  struct Kept {
    int64_t front;  // number of elements that are added before the input's
    int64_t begin;
    int64_t end;
  };
  std::vector<Kept> kept(rank);
  bool only_cuts = true;
  for (size_t d = 0; d < rank; ++d) {
    const size_t k = rank - 1 - d;
    const int64_t size = sizes[d];
    const int64_t front = k < padded ? pad[2 * k] : 0;
    const int64_t back = k < padded ? pad[2 * k + 1] : 0;
    only_cuts = only_cuts && front <= 0 && back <= 0;
    bool fits = front >= -size && back >= -size;
    const int64_t begin = fits && front < 0 ? -front : 0;
    const int64_t end = fits && back < 0 ? size + back : size;
    int64_t most = INT64_MAX;
    if (mode == "reflect") most = size - 1;
    if (mode == "circular") most = end - begin;
    int64_t padded_size = 0;
    fits = fits && front <= most && back <= most && add(size, front, padded_size) &&
           add(padded_size, back, padded_size) && padded_size >= 0 &&
           (is_constant || size != 0 || padded_size == 0);
    if (mode == "reflect" || mode == "replicate") fits = fits && padded_size != 0;
    if (!fits) {
      return fail(Error::InvalidArgument, "padding ", pad, " does not fit a tensor of sizes ",
                  self.sizes());
    }
    sizes[d] = padded_size;
    kept[d] = {front, begin, end};
  }
  const ScalarType type = self.scalar_type();
  alignas(16) char element[16] = {};
  if (value != nullptr) {
    Scalar number;
    TENON_TRY(read_number(type, *value, number));
    TENON_TRY(store_scalar(type, number, element));
  }
  AotiResult result;
  if (is_constant && only_cuts) {
    Tensor part = self;
    for (size_t k = 0; k < padded; ++k) {
      const size_t d = rank - 1 - k;
      TENON_ASSIGN(part, try_narrow(part, static_cast<int64_t>(d), -pad[2 * k], sizes[d]));
    }
    TENON_TRY(result.make_like(part, type, type));
    made = result.tensor();
    return convert(made, part);
  }
  const bool channels_last = has_channels_last(fields(TensorArg(self)).layout);
  TENON_TRY(result.make(dense_shape(sizes, type, channels_last && mode != "circular"), type));
  made = result.tensor();
  const auto* const from = static_cast<const char*>(fields(TensorArg(self)).data);
  char* to = result.data<char>();
  const size_t item = elementSize(type);
  if (made.numel() == 0) return Error::Ok;
  // for each dimension: offsets in the input, -1 for the constant
  std::vector<AotiDims> places(rank);
  for (size_t d = 0; d < rank; ++d) {
    for (int64_t i = 0; i < sizes[d]; ++i) {
      const int64_t at = padded_index(mode, i - kept[d].front, kept[d].begin, kept[d].end);
      places[d].push_back(at < 0 ? -1 : at * self.strides()[d]);
    }
  }
  AotiDims rows{0};  // offsets of the input's rows along the last dimension, -1 for the constant
  for (size_t d = 0; d + 1 < rank; ++d) {
    AotiDims next;
    for (const int64_t row : rows) {
      for (const int64_t place : places[d]) {
        next.push_back(row < 0 || place < 0 ? -1 : row + place);
      }
    }
    rows = std::move(next);
  }
  const AotiDims last = rank == 0 ? AotiDims{0} : places[rank - 1];
  with_element_copy(item, [&](const auto& copy) {
    for (const int64_t row : rows) {
      for (const int64_t place : last) {
        const bool is_inside = row >= 0 && place >= 0;
        copy(to, is_inside ? from + (row + place) * static_cast<int64_t>(item) : element);
        to += item;
      }
    }
  });
  return result.finish();
}

/// Counts the elements that are not 0 in a dense Bool or Byte tensor.
inline int64_t count_nonzero(const Tensor& mask) noexcept {
  const auto* const bytes = dense_data<uint8_t>(mask);
  int64_t count = 0;
  for (int64_t i = 0; i < mask.numel(); ++i) count += bytes[i] != 0 ? 1 : 0;
  return count;
}
/// Writes the indices of the first `most` elements that are not 0. Index d of the k-th of them goes
/// to to[k * strides[0] + d * strides[1]].
inline void list_nonzero(const Tensor& mask, int64_t most, const int64_t (&strides)[2],
                         int64_t* to) {
  const auto* const bytes = dense_data<uint8_t>(mask);
  const ArrayRef<int64_t> sizes = mask.sizes();
  for (int64_t i = 0, k = 0; i < mask.numel() && k < most; ++i) {
    if (bytes[i] == 0) continue;
    int64_t rest = i;
    for (size_t d = sizes.size(); d-- > 0; rest /= sizes[d]) {
      to[k * strides[0] + static_cast<int64_t>(d) * strides[1]] = rest % sizes[d];
    }
    ++k;
  }
}

/// Reads both tensors as dense, broadcast to the same sizes.
inline Error read_masked(const Tensor& given, const Tensor& chosen, Tensor& dense, Tensor& mask) {
  TENON_TRY(check_readable(given, "the input"));
  TENON_TRY(check_readable(chosen, "the mask"));
  if (chosen.scalar_type() != ScalarType::Bool) {
    return fail(Error::InvalidType, "the mask has type ", chosen.scalar_type(), ", expected Bool");
  }
  Dims sizes(given.sizes());
  TENON_TRY(broadcast_sizes(chosen.sizes(), sizes));
  TENON_ASSIGN(const Tensor from, try_expand(given, sizes));
  TENON_ASSIGN(const Tensor choice, try_expand(chosen, sizes));
  TENON_TRY(make_dense(from, from.scalar_type(), dense));
  return make_dense(choice, ScalarType::Bool, mask);
}

inline Error select_masked(const Tensor& given, const Tensor& mask, AotiResult& result) {
  Tensor from;
  Tensor chosen;
  TENON_TRY(read_masked(given, mask, from, chosen));
  const auto* const choice = dense_data<uint8_t>(chosen);
  const ScalarType type = from.scalar_type();
  TENON_TRY(result.make(Dims{count_nonzero(chosen)}, type, type));
  const size_t item = elementSize(type);
  const auto* next = dense_data<char>(from);
  char* to = result.data<char>();
  with_element_copy(item, [&](const auto& copy) {
    for (int64_t i = 0; i < from.numel(); ++i, next += item) {
      if (choice[i] == 0) continue;
      copy(to, next);
      to += item;
    }
  });
  return result.finish();
}

}  // namespace detail
TENON_END_NAMESPACE
