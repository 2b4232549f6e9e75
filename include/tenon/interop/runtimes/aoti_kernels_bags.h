// SPDX-License-Identifier: MIT
// Kernels that sum or average the rows of bags, or take their maxima: torch.nn.EmbeddingBag.
#pragma once

#include "tenon/interop/runtimes/aoti_kernel_tools.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// How a bag's rows are combined, by torch's numbers.
enum class BagMode : int64_t { Sum, Mean, Max };

/// The checked arguments of an embedding bag. Each index is the number of a row of `weight`; bag b
/// has the indices from begin(b) to end(b).
struct EmbeddingBags {
  Tensor weight;  // dense, of the caller's type
  Tensor indices;
  Tensor offsets;
  Tensor factors;  // a factor for each index, in the computed type; undefined if all are 1
  ScalarType index_type = ScalarType::Long;
  BagMode mode = BagMode::Sum;
  int64_t padding = -1;  // the row whose indices are ignored; -1 for none
  int64_t bags = 0;
  bool sums_fast = false;  // whether torch adds rows without computing the bag of each index

  bool is_fast() const noexcept { return sums_fast && mode == BagMode::Sum; }

  int64_t width() const noexcept { return weight.sizes()[1]; }
  int64_t begin(int64_t bag) const noexcept { return dense_data<int64_t>(offsets)[bag]; }
  int64_t end(int64_t bag) const noexcept {
    // As in torch: the last bag also has the indices after the last offset, unless torch adds rows
    // fast.
    const int64_t count = sums_fast ? offsets.numel() : bags;
    return bag + 1 < count ? begin(bag + 1) : indices.numel();
  }

  Error read(AtenTensorHandle weight_handle, AtenTensorHandle indices_handle,
             AtenTensorHandle offsets_handle, int64_t mode_number, const AtenTensorHandle* factor,
             bool includes_last, int64_t padding_index) {
    Tensor table;
    TENON_TRY(read_aoti(weight_handle, "the weight", table));
    const ScalarType type = table.scalar_type();
    if (!isFloatingType(type) || elementSize(type) < 2 || table.dim() != 2) {
      return fail(Error::InvalidArgument, "the weight has type ", type, " and sizes ",
                  table.sizes(), ", expected a floating type of 16 bits or more and rank 2");
    }
    if (mode_number < 0 || mode_number > 2) {
      return fail(Error::InvalidArgument, "mode is ", mode_number, ", expected 0, 1 or 2");
    }
    mode = static_cast<BagMode>(mode_number);
    padding = padding_index;
    TENON_TRY(read_indices(indices_handle, offsets_handle));
    sums_fast = mode != BagMode::Max && type != ScalarType::Double && table.strides()[1] == 1 &&
                padding < 0;
    bags = offsets.numel() - (includes_last ? 1 : 0);
    if (bags < 0)
      return fail(Error::InvalidArgument, "there are no offsets, expected at least the last one");
    if (factor != nullptr) TENON_TRY(read_factors(*factor, type));
    TENON_TRY(make_dense(table, type, weight));
    return check();
  }

  /// Reads both lists. index_type is Long if either of them is.
  Error read_indices(AtenTensorHandle indices_handle, AtenTensorHandle offsets_handle) {
    Tensor places;
    Tensor begins;
    TENON_TRY(read_aoti(indices_handle, "indices", places));
    TENON_TRY(read_aoti(offsets_handle, "offsets", begins));
    index_type = promoteTypes(places.scalar_type(), begins.scalar_type());
    const bool fits = index_type == ScalarType::Long || index_type == ScalarType::Int;
    if (!fits || places.dim() != 1 || begins.dim() != 1) {
      return fail(Error::InvalidArgument, "the indices have type ", places.scalar_type(),
                  " and sizes ", places.sizes(), ", the offsets type ", begins.scalar_type(),
                  " and sizes ", begins.sizes(), ", expected lists of Int or Long");
    }
    TENON_TRY(make_dense(places, ScalarType::Long, indices));
    return make_dense(begins, ScalarType::Long, offsets);
  }
  Error read_factors(AtenTensorHandle handle, ScalarType type) {
    Tensor given;
    TENON_TRY(read_aoti(handle, "per_sample_weights", given));
    if (mode != BagMode::Sum) {
      return fail(Error::NotSupported, "per_sample_weights are given, but the mode is not sum");
    }
    if (given.scalar_type() != type || given.sizes() != indices.sizes()) {
      return fail(Error::InvalidArgument, "per_sample_weights have type ", given.scalar_type(),
                  " and sizes ", given.sizes(), ", expected ", type, " and sizes ",
                  indices.sizes());
    }
    sums_fast = sums_fast && given.strides()[0] == 1;
    return make_dense(given, computed_type(type), factors);
  }
  Error check() const {
    const int64_t* const index = dense_data<int64_t>(indices);
    const int64_t rows = weight.sizes()[0];
    for (int64_t i = 0; i < indices.numel(); ++i) {
      if (index[i] >= 0 && index[i] < rows) continue;
      return fail(Error::OutOfBounds, "index ", index[i], " is outside a weight of ", rows,
                  " rows");
    }
    int64_t before = 0;
    for (int64_t i = 0; i < offsets.numel(); ++i) {
      const int64_t offset = begin(i);
      if (offset < before || offset > indices.numel() || (i == 0 && offset != 0)) {
        return fail(Error::InvalidArgument, "offset ", offset, " follows ", before, " for ",
                    indices.numel(), " indices, expected offsets from 0 on that do not decrease");
      }
      before = offset;
    }
    return Error::Ok;
  }
};

/// Fills the bags' rows, the number of indices in each and, for maxima, the row of each maximum.
template <class W, class T>
void fill_bags(const EmbeddingBags& bags, T* to, int64_t* counts, int64_t* sources) noexcept {
  const int64_t width = bags.width();
  const int64_t* const index = dense_data<int64_t>(bags.indices);
  const T* const factors = bags.factors.defined() ? dense_data<T>(bags.factors) : nullptr;
  std::fill_n(to, bags.bags * width, T(0));
  for (int64_t b = 0; b < bags.bags; ++b, to += width) {
    int64_t count = 0;
    for (int64_t i = bags.begin(b); i < bags.end(b); ++i) {
      if (index[i] == bags.padding) continue;
      const W* const row = dense_data<W>(bags.weight) + index[i] * width;
      if (bags.mode != BagMode::Max) {
        const T factor = factors == nullptr ? T(1) : factors[i];
        for (int64_t j = 0; j < width; ++j) to[j] += factor * static_cast<T>(row[j]);
      } else {
        for (int64_t j = 0; j < width; ++j) {
          if (count != 0 && !(static_cast<T>(row[j]) > to[j])) continue;
          to[j] = static_cast<T>(row[j]);
          sources[b * width + j] = index[i];
        }
      }
      ++count;
    }
    // as in torch, also indices after the bag
    if (b + 1 == bags.bags) count += bags.indices.numel() - bags.end(b);
    for (int64_t j = 0; j < width && bags.mode == BagMode::Mean && count != 0; ++j) {
      to[j] /= static_cast<T>(count);
    }
    counts[b] = count;
  }
}

/// Makes the bags, the bag of each index, the number of indices in each bag, and the row of each
/// maximum. The last three have torch's sizes, and are 0 where torch does not compute them.
inline Error make_bags(const EmbeddingBags& bags, bool counts_offsets,
                       AtenTensorHandle* const (&results)[4]) {
  const ScalarType type = bags.weight.scalar_type();
  const bool is_max = bags.mode == BagMode::Max;
  const Dims shape = {bags.bags, bags.width()};
  const Dims per_bag = {counts_offsets && bags.mode == BagMode::Sum ? bags.offsets.numel()
                                                                    : bags.bags};
  AotiResult made[4];
  TENON_TRY(made[0].make(shape, type, computed_type(type)));
  TENON_TRY(made[1].make(Dims{bags.is_fast() ? 0 : bags.indices.numel()}, bags.index_type,
                         ScalarType::Long));
  TENON_TRY(made[2].make(per_bag, bags.index_type, ScalarType::Long));
  TENON_TRY(made[3].make(is_max ? shape : per_bag, bags.index_type, ScalarType::Long));
  auto* const counts = made[2].data<int64_t>();
  auto* const rows = made[3].data<int64_t>();
  std::fill_n(rows, made[3].tensor().numel(), 0);
  if (type == ScalarType::Half) {
    fill_bags<Half>(bags, made[0].data<float>(), counts, rows);
  } else if (type == ScalarType::BFloat16) {
    fill_bags<BFloat16>(bags, made[0].data<float>(), counts, rows);
  } else if (type == ScalarType::Float) {
    fill_bags<float>(bags, made[0].data<float>(), counts, rows);
  } else {
    fill_bags<double>(bags, made[0].data<double>(), counts, rows);
  }
  // Indices after the last bag get the last bag's number, or -1 if there are no bags.
  std::fill_n(made[1].data<int64_t>(), made[1].tensor().numel(), bags.bags - 1);
  for (int64_t b = 0; b < bags.bags && !bags.is_fast(); ++b) {
    std::fill(made[1].data<int64_t>() + bags.begin(b), made[1].data<int64_t>() + bags.end(b), b);
  }
  if (bags.mode == BagMode::Sum) std::fill_n(counts, per_bag[0], 0);
  if (!is_max) std::copy_n(counts, per_bag[0], rows);
  return finish_all({{&made[0], results[0]},
                     {&made[1], results[1]},
                     {&made[2], results[2]},
                     {&made[3], results[3]}});
}
inline AOTITorchError answer_bags(const char* function, AtenTensorHandle weight,
                                  AtenTensorHandle indices, AtenTensorHandle offsets, int64_t mode,
                                  const AtenTensorHandle* factors, int32_t includes_last,
                                  int64_t padding, bool counts_offsets,
                                  AtenTensorHandle* const (&results)[4]) noexcept {
  return aoti_answer(function, [&] {
    EmbeddingBags bags;
    TENON_TRY(bags.read(weight, indices, offsets, mode, factors, includes_last != 0, padding));
    return make_bags(bags, counts_offsets, results);
  });
}

#pragma GCC visibility push(default)
extern "C" {

AOTITorchError aoti_torch_cpu__embedding_bag(AtenTensorHandle weight, AtenTensorHandle indices,
                                             AtenTensorHandle offsets, int32_t, int64_t mode,
                                             int32_t, AtenTensorHandle* per_sample_weights,
                                             int32_t include_last_offset, int64_t padding_idx,
                                             AtenTensorHandle* ret0, AtenTensorHandle* ret1,
                                             AtenTensorHandle* ret2, AtenTensorHandle* ret3) {
  AtenTensorHandle* const results[] = {ret0, ret1, ret2, ret3};
  return answer_bags(__func__, weight, indices, offsets, mode, per_sample_weights,
                     include_last_offset, padding_idx, false, results);
}
AOTITorchError aoti_torch_cpu__embedding_bag_forward_only(
    AtenTensorHandle weight, AtenTensorHandle indices, AtenTensorHandle offsets, int32_t,
    int64_t mode, int32_t, AtenTensorHandle* per_sample_weights, int32_t include_last_offset,
    int64_t padding_idx, AtenTensorHandle* ret0, AtenTensorHandle* ret1, AtenTensorHandle* ret2,
    AtenTensorHandle* ret3) {
  AtenTensorHandle* const results[] = {ret0, ret1, ret2, ret3};
  return answer_bags(__func__, weight, indices, offsets, mode, per_sample_weights,
                     include_last_offset, padding_idx, true, results);
}
// For models that older versions of torch compiled.
AOTITorchError aoti_torch__embedding_bag(AtenTensorHandle weight, AtenTensorHandle indices,
                                         AtenTensorHandle offsets, int32_t, int32_t mode, int32_t,
                                         AtenTensorHandle per_sample_weights,
                                         int32_t include_last_offset, int32_t padding_idx,
                                         AtenTensorHandle* ret0, AtenTensorHandle* ret1,
                                         AtenTensorHandle* ret2, AtenTensorHandle* ret3) {
  AtenTensorHandle* const results[] = {ret0, ret1, ret2, ret3};
  return answer_bags(__func__, weight, indices, offsets, mode,
                     per_sample_weights == nullptr ? nullptr : &per_sample_weights,
                     include_last_offset, padding_idx, false, results);
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace detail
TENON_END_NAMESPACE
