// SPDX-License-Identifier: MIT
// Kernels that search in sorted sequences.
#pragma once

#include <cstring>

#include "tenon/interop/runtimes/aoti_kernel_tools.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// A search in sorted sequences, which are the rows of a tensor.
struct SortedSearch {
  Tensor sequence;
  Tensor values;
  Tensor sorter;  // indices that sort the sequence; undefined if it is sorted already
  // whether `values` is a number, which does not widen the sequence's type
  bool values_are_scalar = false;
  bool is_right = false;  // whether positions are behind equal elements, not before them
  bool is_int32 = false;

  /// Errors: InvalidArgument for a side other than left and right, or if `side` and `right`
  /// contradict each other.
  Error read_side(const char* const* side, int32_t right) {
    is_right = right != 0;
    if (side == nullptr) return Error::Ok;
    const char* const name = text_or_empty(*side);
    const bool names_right = std::strcmp(name, "right") == 0;
    if (!names_right && std::strcmp(name, "left") != 0) {
      return fail(Error::InvalidArgument, "side is \"", name, "\", expected left or right");
    }
    if (is_right && !names_right) {
      return fail(Error::InvalidArgument, "side is left, but right is true");
    }
    is_right = names_right;
    return Error::Ok;
  }
  /// Errors: InvalidArgument for sizes that do not fit; OutOfBounds for positions beyond int32.
  Error check() const {
    const ArrayRef<int64_t> in = sequence.sizes();
    const ArrayRef<int64_t> of = values.sizes();
    if (in.empty()) {
      return fail(Error::InvalidArgument, "the sequence has rank 0, expected 1 or more");
    }
    bool fits = in.size() == 1 || in.size() == of.size();
    for (size_t d = 0; fits && in.size() != 1 && d + 1 < in.size(); ++d) fits = in[d] == of[d];
    if (!fits) {
      return fail(Error::InvalidArgument, "the values have sizes ", of, ", the sequences ", in,
                  ", expected equal sizes except for the last, or a sequence of rank 1");
    }
    if (is_int32 && in[in.size() - 1] >= INT32_MAX) {
      return fail(Error::OutOfBounds, "a sequence of ", in[in.size() - 1],
                  " elements has positions that do not fit int32");
    }
    return Error::Ok;
  }
  Error read_sorter(AtenTensorHandle handle) {
    Tensor given;
    TENON_TRY(read_aoti(handle, "the sorter", given));
    if (given.scalar_type() != ScalarType::Long || given.sizes() != sequence.sizes()) {
      return fail(Error::InvalidArgument, "the sorter has sizes ", given.sizes(), " and type ",
                  given.scalar_type(), ", expected ", sequence.sizes(), " and Long");
    }
    TENON_TRY(make_dense(given, ScalarType::Long, sorter));
    const ArrayRef<int64_t> sizes = given.sizes();
    const int64_t count = sizes.empty() ? 1 : sizes[sizes.size() - 1];  // check() refuses rank 0
    const auto* const at = dense_data<int64_t>(sorter);
    for (int64_t i = 0; i < given.numel(); ++i) {
      if (at[i] >= 0 && at[i] < count) continue;
      return fail(Error::OutOfBounds, "the sorter has index ", at[i], ", expected 0 to ",
                  count - 1);
    }
    return Error::Ok;
  }
  /// The type in which elements are compared, by torch's rules.
  ScalarType common_type() const noexcept {
    const bool is_scalar = values_are_scalar || values.sizes().empty();
    return result_type(sequence.scalar_type(), false,
                       values_are_scalar ? ScalarType::Float : values.scalar_type(), is_scalar);
  }

  template <class T>
  void search(const Tensor& in, const Tensor& of, int64_t* to) const noexcept {
    const ArrayRef<int64_t> sizes = in.sizes();
    const int64_t count = sizes[sizes.size() - 1];
    const int64_t row_size = of.sizes().empty() ? 1 : of.sizes()[of.sizes().size() - 1];
    const auto* const order = sorter.defined() ? dense_data<int64_t>(sorter) : nullptr;
    const T* const wanted = dense_data<T>(of);
    for (int64_t i = 0; i < of.numel(); ++i) {
      const int64_t row = sizes.size() == 1 ? 0 : i / row_size * count;
      const T* const elements = dense_data<T>(in) + row;
      int64_t begin = 0;
      int64_t end = count;
      // Comparisons are negated, so that NaN counts as larger.
      while (begin < end) {
        const int64_t middle = begin + (end - begin) / 2;
        const T x = elements[order == nullptr ? middle : order[row + middle]];
        if (is_right ? !(x > wanted[i]) : !(x >= wanted[i])) {
          begin = middle + 1;
        } else {
          end = middle;
        }
      }
      to[i] = begin;
    }
  }
  Error answer(AtenTensorHandle* ret) const {
    TENON_TRY(check());
    AotiResult result;
    const ScalarType type = common_type();
    if (values.numel() != 0) {
      if (type == ScalarType::Undefined) {
        return fail(Error::InvalidType, "the sequence has type ", sequence.scalar_type(),
                    " and the values ", values.scalar_type(), ", which have no common type");
      }
      TENON_TRY(check_compared_type(type, false));
    }
    TENON_TRY(result.make(values.sizes(), is_int32 ? ScalarType::Int : ScalarType::Long,
                          ScalarType::Long));
    if (values.numel() == 0) return result.finish(ret);
    Tensor in;
    Tensor of;
    TENON_TRY(make_dense(sequence, type, in));
    TENON_TRY(make_dense(values, type, of));
    TENON_TRY(on_computed_type(type, [&](auto zero) {
      TENON_TRY(make_dense(in, computed_type(type), in));
      TENON_TRY(make_dense(of, computed_type(type), of));
      search<decltype(zero)>(in, of, result.data<int64_t>());
      return Error::Ok;
    }));
    return result.finish(ret);
  }
};

#pragma GCC visibility push(default)
extern "C" {

AOTITorchError aoti_torch_cpu_searchsorted_Tensor(AtenTensorHandle sorted_sequence,
                                                  AtenTensorHandle self, int32_t out_int32,
                                                  int32_t right, const char** side,
                                                  AtenTensorHandle* sorter,
                                                  AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    SortedSearch search;
    TENON_TRY(read_aoti(sorted_sequence, "the sequence", search.sequence));
    TENON_TRY(read_aoti(self, "the values", search.values));
    TENON_TRY(search.read_side(side, right));
    search.is_int32 = out_int32 != 0;
    if (sorter != nullptr) TENON_TRY(search.read_sorter(*sorter));
    return search.answer(ret0);
  });
}
AOTITorchError aoti_torch_cpu_searchsorted_Scalar(AtenTensorHandle sorted_sequence, double self,
                                                  int32_t out_int32, int32_t right,
                                                  const char** side, AtenTensorHandle* sorter,
                                                  AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    SortedSearch search;
    TENON_TRY(read_aoti(sorted_sequence, "the sequence", search.sequence));
    TENON_ASSIGN(const TensorPtr value, try_scalar_tensor(self, ScalarType::Double));
    search.values = *value;
    search.values_are_scalar = true;
    TENON_TRY(search.read_side(side, right));
    search.is_int32 = out_int32 != 0;
    if (sorter != nullptr) TENON_TRY(search.read_sorter(*sorter));
    return search.answer(ret0);
  });
}
AOTITorchError aoti_torch_cpu_bucketize_Tensor(AtenTensorHandle self, AtenTensorHandle boundaries,
                                               int32_t out_int32, int32_t right,
                                               AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    SortedSearch search;
    TENON_TRY(read_aoti(boundaries, "the boundaries", search.sequence));
    TENON_TRY(read_aoti(self, "the values", search.values));
    if (search.sequence.sizes().size() != 1) {
      return fail(Error::InvalidArgument, "boundaries have sizes ", search.sequence.sizes(),
                  ", expected rank 1");
    }
    search.is_right = right != 0;
    search.is_int32 = out_int32 != 0;
    return search.answer(ret0);
  });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace detail
TENON_END_NAMESPACE
