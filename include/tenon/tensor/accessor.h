// SPDX-License-Identifier: MIT
// TensorAccessor: elements by index, a[i][j] or a(i, j).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "tenon/config.h"
#include "tenon/core/array_ref.h"
#include "tenon/core/error.h"

TENON_BEGIN_NAMESPACE

/// Indexes N-dimensional memory of elements T through its strides; T is const for read-only
/// tensors.
///
/// Ownership: none; the memory must stay, the sizes and strides are the accessor's own copies.
/// Indices are checked in debug builds and wherever TENON_CHECKED is defined: OutOfBounds. In
/// release builds a[i][j] is the multiplications and additions of a pointer loop. Source:
/// at::TensorAccessor; ExecuTorch's, which accepts the default dim order only.
template <class T, size_t N>
class TensorAccessor {
 public:
  static_assert(N >= 1, "a tensor of rank 0 has item<T>(), not an accessor");
  using value_type = T;

  /// `sizes` and `strides` point to N values each, strides in elements.
  TensorAccessor(T* data, const int64_t* sizes, const int64_t* strides) noexcept : data_(data) {
    for (size_t d = 0; d < N; ++d) {
      sizes_[d] = sizes[d];
      strides_[d] = strides[d];
    }
  }

  T* data() const noexcept { return data_; }
  int64_t size(size_t d) const { return sizes_[check_dim(d)]; }
  int64_t stride(size_t d) const { return strides_[check_dim(d)]; }
  ArrayRef<int64_t> sizes() const noexcept { return sizes_; }
  ArrayRef<int64_t> strides() const noexcept { return strides_; }

  /// The accessor of one dimension less, or the element when there is one dimension.
  TENON_ALWAYS_INLINE decltype(auto) operator[](int64_t i) const {
    check_index(0, i);
    T* const at = data_ + i * strides_[0];
    if constexpr (N == 1) {
      return static_cast<T&>(*at);
    } else {
      return TensorAccessor<T, N - 1>(at, sizes_ + 1, strides_ + 1);
    }
  }

  /// The element at N indices.
  template <class... Index>
  TENON_ALWAYS_INLINE T& operator()(Index... index) const {
    static_assert(sizeof...(Index) == N, "as many indices as dimensions");
    return at(std::make_index_sequence<N>(), index...);
  }

 private:
  template <size_t... D, class... Index>
  TENON_ALWAYS_INLINE T& at(std::index_sequence<D...>, Index... index) const {
    (check_index(D, static_cast<int64_t>(index)), ...);
    return data_[((static_cast<int64_t>(index) * strides_[D]) + ...)];
  }
  // Inlined by force: a function whose body depends on NDEBUG must not be shared between files.
  TENON_ALWAYS_INLINE void check_index([[maybe_unused]] size_t d,
                                       [[maybe_unused]] int64_t i) const {
    TENON_DCHECK(i >= 0 && i < sizes_[d], Error::OutOfBounds, "accessor: index ", i,
                 " of dimension ", d, " is out of range for size ", sizes_[d]);
  }
  size_t check_dim(size_t d) const {
    TENON_CHECK(d < N, Error::OutOfBounds, "accessor: dimension ", d, " is out of range for ", N,
                " dimensions");
    return d;
  }

  T* data_;
  int64_t sizes_[N];
  int64_t strides_[N];
};

TENON_END_NAMESPACE
