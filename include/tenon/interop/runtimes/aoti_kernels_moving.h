// SPDX-License-Identifier: MIT
// Kernels that join and pad tensors, and what those share that move elements by indices and masks.
#pragma once

#include <cstring>
#include <string_view>

#include "tenon/interop/runtimes/aoti_kernel_tools.h"
#include "tenon/kernels/copy_plan.h"
#include "tenon/tensor/view.h"

TENON_BEGIN_NAMESPACE
namespace detail {

using AotiDims = std::vector<int64_t>;

inline int64_t product(ArrayRef<int64_t> sizes) noexcept {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return count;
}
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

/// Calls f(copy), where copy(to, from) copies an element of that many bytes.
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

/// A number that torch's functions pass as double, as a tensor of that type takes it: cut to an
/// integer for integers, whether it is not 0 for Bool.
inline Scalar scalar_for(ScalarType type, double value) noexcept {
  if (type == ScalarType::Bool) return value != 0;
  const bool is_integer = isIntegralType(type, false) && value > -9.2e18 && value < 9.2e18;
  return is_integer ? Scalar(static_cast<int64_t>(value)) : Scalar(value);
}

/// Replaces `read` by a copy if its memory may overlap that of `written`.
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

/// Index tensors as a dense Long one.
/// Errors: InvalidType for other types than Long and Int.
inline Error read_indices(AtenTensorHandle handle, Tensor& dense) {
  Tensor given;
  TENON_TRY(read_aoti(handle, "the index", given));
  const ScalarType type = given.scalar_type();
  if (type != ScalarType::Long && type != ScalarType::Int && given.numel() != 0) {
    return fail(Error::InvalidType, "an index of type ", type, ", expected Long or Int");
  }
  return make_dense(given, ScalarType::Long, dense);
}
/// Checks that indices are in [least, size).
/// Errors: OutOfBounds.
inline Error check_indices(const int64_t* indices, int64_t count, int64_t least, int64_t size) {
  for (int64_t i = 0; i < count; ++i) {
    if (indices[i] < least || indices[i] >= size) {
      return fail(Error::OutOfBounds, "index ", indices[i], " of a dimension of size ", size);
    }
  }
  return Error::Ok;
}

/// Sizes to which both broadcast.
/// Errors: InvalidArgument.
inline Error broadcast_sizes(ArrayRef<int64_t> other, Dims& sizes) {
  while (sizes.size() < other.size()) {
    if (!sizes.insert(0, 1)) return fail_shape_memory();
  }
  const size_t offset = sizes.size() - other.size();
  for (size_t d = 0; d < other.size(); ++d) {
    int64_t& size = sizes[offset + d];
    if (other[d] == size || other[d] == 1) continue;
    if (size != 1) {
      return fail(Error::InvalidArgument, "sizes ", other, " and ", sizes, " do not broadcast");
    }
    size = other[d];
  }
  return Error::Ok;
}

/// Without the undefined overflow of signed integers.
template <class T>
T wrapping_sum(T a, T b) noexcept {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}
template <class T>
T wrapping_product(T a, T b) noexcept {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}

/// Checks a tensor that the caller gives for the result.
/// Errors: InvalidArgument; InvalidType.
inline Error check_out(const Tensor& out, ArrayRef<int64_t> sizes, ScalarType type) {
  if (out.sizes() != sizes) {
    return fail(Error::InvalidArgument, "an output of sizes ", out.sizes(), ", expected ", sizes);
  }
  if (out.scalar_type() != type) {
    return fail(Error::InvalidType, "an output of type ", out.scalar_type(), ", expected ", type);
  }
  return check_distinct(fields(TensorArg(out)).layout, "the output");
}

// --- Kernels ------------------------------------------------------------------------------------

/// Whether strides are those of channels last, as c10 decides that.
/// Source: c10::is_channels_last_strides_2d_s4, c10::is_channels_last_strides_3d_s5.
inline bool suggests_channels_last(const Layout& layout) noexcept {
  const size_t rank = layout.rank();
  if ((rank != 4 && rank != 5) || layout.strides()[1] == 0) return false;
  constexpr size_t kOrders[2][5] = {{1, 3, 2, 0, 0}, {1, 4, 3, 2, 0}};
  int64_t least = 0;
  for (size_t k = 0; k < rank; ++k) {
    const size_t d = kOrders[rank - 4][k];
    const int64_t size = layout.sizes()[d];
    const int64_t stride = layout.strides()[d];
    if (size == 0 || stride < least || (d == 0 && least == layout.strides()[1])) return false;
    least = stride * (size > 1 ? size : 1);
  }
  return true;
}
/// A shape without gaps, row-major or of channels last.
inline AotiShape dense_shape(ArrayRef<int64_t> sizes, ScalarType type, bool has_channels_last) {
  AotiShape shape;
  shape.sizes = shape.strides = Dims(sizes);
  shape.type = type;
  int64_t next = 1;
  for (size_t k = sizes.size(); k-- > 0;) {
    size_t d = k;
    if (has_channels_last) d = k + 1 == sizes.size() ? 1 : k == 0 ? 0 : k + 1;
    shape.strides[d] = next;
    next *= (std::max)(sizes[d], int64_t{1});
  }
  return shape;
}

inline Error join(const AtenTensorHandle* handles, int64_t count, int64_t dim,
                  AtenTensorHandle* ret) {
  std::vector<Tensor> pieces;
  ScalarType type = ScalarType::Undefined;
  bool has_channels_last = count > 0;
  for (int64_t i = 0; i < count; ++i) {
    Tensor piece;
    TENON_TRY(read_aoti(handles[i], "a tensor", piece));
    const ScalarType own = piece.scalar_type();
    const ScalarType common = i == 0 ? own : promoteTypes(type, own);
    if (common == ScalarType::Undefined) {
      return fail(Error::NotSupported, "tensors of types ", type, " and ", own);
    }
    type = common;
    if (piece.dim() == 0) {
      return fail(Error::InvalidArgument, "tensor ", i, " has rank 0");
    }
    has_channels_last =
        has_channels_last && suggests_channels_last(fields(TensorArg(piece)).layout);
    // As torch, an empty list joins tensors of any rank.
    const bool is_nothing = piece.sizes() == Dims{0};
    if (!is_nothing) pieces.push_back(piece);
  }
  if (count <= 0) return fail(Error::InvalidArgument, "no tensors to join");
  Dims sizes{0};
  size_t d = 0;
  if (!pieces.empty()) TENON_TRY(read_dim(dim, pieces[0].sizes().size(), d));
  for (size_t i = 0; i < pieces.size(); ++i) {
    Dims own(pieces[i].sizes());
    if (i == 0) {
      sizes = own;
      continue;
    }
    const int64_t added = d < own.size() ? own[d] : 0;
    if (d < own.size()) own[d] = sizes[d];
    if (own != sizes) {
      return fail(Error::InvalidArgument, "sizes ", pieces[i].sizes(), " and ", pieces[0].sizes(),
                  " differ in another dimension than ", dim);
    }
    sizes[d] += added;
  }
  Tensor made;
  TENON_TRY(aoti_empty(dense_shape(sizes, type, has_channels_last), made));
  int64_t begin = 0;
  for (const Tensor& piece : pieces) {
    const int64_t length = piece.sizes()[d];
    TENON_ASSIGN(const Tensor part, try_narrow(made, static_cast<int64_t>(d), begin, length));
    TENON_TRY(convert(part, piece));
    begin += length;
  }
  return make_aoti_handle(std::move(made), *ret);
}

/// The index of the element that stands at `i` of a padded dimension, of which the elements from
/// `begin` up to `end` are kept; -1 for the constant.
inline int64_t padded_index(std::string_view mode, int64_t i, int64_t begin, int64_t end) noexcept {
  if (i >= begin && i < end) return i;
  const bool is_front = i < begin;
  if (mode == "replicate") return is_front ? 0 : end - 1;
  if (mode == "circular") return is_front ? i + (end - begin) : i - (end - begin);
  if (mode == "reflect") return is_front ? -i : 2 * (end - 1) - i;
  return -1;
}
inline Error pad_by(const Tensor& self, ArrayRef<int64_t> pad, std::string_view mode,
                    const double* value, AtenTensorHandle* ret) {
  const size_t rank = self.sizes().size();
  const bool is_constant = mode == "constant";
  const size_t padded = pad.size() / 2;
  if (pad.size() % 2 != 0 || padded > rank) {
    return fail(Error::InvalidArgument, "padding ", pad, " of a tensor of rank ", rank);
  }
  const bool is_other = mode == "reflect" || mode == "replicate" || mode == "circular";
  if (!is_constant && !is_other) {
    return fail(Error::InvalidArgument, "this padding mode is not one of torch's");
  }
  const bool has_value = value != nullptr && *value != 0;
  if (is_other &&
      (padded < 1 || padded > 3 || rank < padded + 1 || rank > padded + 2 || has_value)) {
    return fail(Error::NotSupported, "padding ", pad, " of a tensor of rank ", rank,
                has_value ? " with a value" : "", " in another mode than constant");
  }
  Dims sizes(self.sizes());
  std::vector<AotiDims> places(rank);  // along each dimension: offsets, -1 for the constant
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
    int64_t made = 0;
    fits = fits && front <= most && back <= most && add(size, front, made) &&
           add(made, back, made) && made >= 0 && (is_constant || size != 0 || made == 0);
    if (mode == "reflect" || mode == "replicate") fits = fits && made != 0;
    if (!fits) {
      return fail(Error::InvalidArgument, "padding ", pad, " of a tensor of sizes ", self.sizes());
    }
    sizes[d] = made;
    for (int64_t i = 0; i < made; ++i) {
      const int64_t at = padded_index(mode, i - front, begin, end);
      places[d].push_back(at < 0 ? -1 : at * self.strides()[d]);
    }
  }
  const ScalarType type = self.scalar_type();
  alignas(16) char element[16] = {};
  if (value != nullptr) TENON_TRY(store_scalar(type, scalar_for(type, *value), element));
  AotiResult result;
  if (is_constant && only_cuts) {
    Tensor part = self;
    for (size_t k = 0; k < padded; ++k) {
      const size_t d = rank - 1 - k;
      TENON_ASSIGN(part, try_narrow(part, static_cast<int64_t>(d), -pad[2 * k], sizes[d]));
    }
    TENON_TRY(result.make_like(part, type, type));
    TENON_TRY(result.copy_from(part));
    return result.finish(ret);
  }
  const bool has_channels_last = suggests_channels_last(fields(TensorArg(self)).layout);
  TENON_TRY(result.make(dense_shape(sizes, type, has_channels_last && mode != "circular"), type));
  const auto* const from = static_cast<const char*>(fields(TensorArg(self)).data);
  char* to = result.data<char>();
  const size_t item = elementSize(type);
  if (product(sizes) == 0) return result.finish(ret);
  AotiDims rows{0};  // offsets of the rows along the last dimension
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
  return result.finish(ret);
}

#pragma GCC visibility push(default)
extern "C" {

AOTITorchError aoti_torch_cpu_cat(const AtenTensorHandle* tensors, int64_t tensors_len_,
                                  int64_t dim, AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] { return join(tensors, tensors_len_, dim, ret0); });
}
AOTITorchError aoti_torch_cpu_pad(AtenTensorHandle self, const int64_t* pad, int64_t pad_len_,
                                  const char* mode, double* value, AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    Tensor given;
    TENON_TRY(read_aoti(self, "the input", given));
    return pad_by(given, {pad, static_cast<size_t>(pad_len_)}, mode, value, ret0);
  });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace detail
TENON_END_NAMESPACE
