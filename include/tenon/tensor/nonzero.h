// SPDX-License-Identifier: MIT
// nonzero: the indices of the elements that are not 0.
#pragma once

#include "tenon/kernels/read_elements.h"
#include "tenon/tensor/copy.h"
#include "tenon/tensor/creators.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Calls use(flags, count) for chunks of the elements of host memory, in row-major order. Each flag
/// is a byte that is nonzero if its element is.
template <class Use>
void read_flags(const TensorView& view, const Use& use) noexcept {
  constexpr int64_t kChunk = TENON_BARE_METAL ? 16 : 512;
  alignas(16) char flags[kChunk];
  const ScalarType type = own_type(view.type);
  const auto size = static_cast<int64_t>(elementSize(type));
  const bool are_flags = size == 1 && isIntegralType(type, true);
  Conversion conversion;
  if (!are_flags) make_conversion(conversion, ScalarType::Bool, type, CastMode::Checked);
  ElementPlan plan;
  if (plan_row_major(plan, view) == 0) return;
  read_pieces(plan, false, [&](const char* const* elements, int64_t count) noexcept {
    for (int64_t i = 0; i < count; i += kChunk) {
      const int64_t n = count - i < kChunk ? count - i : kChunk;
      const char* const from = *elements + i * size;
      if (!are_flags) conversion.run(flags, from, n);
      use(are_flags ? from : flags, n);
    }
    return true;
  });
  clear_after_variants();
}

/// How many of up to 1024 bytes are not 0.
TENON_TEMPLATE_INLINE int64_t count_flags(const char* flags, int64_t count) noexcept {
  constexpr uint64_t kOnes = 0x0101010101010101u;
  uint64_t sums = 0;  // the sums of eight columns, each in a byte
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const uint64_t word = load_element<uint64_t>(flags + i, 0);
    sums += ((((word & 127 * kOnes) + 127 * kOnes) | word) >> 7) & kOnes;
  }
  constexpr uint64_t kPairs = 0x00ff00ff00ff00ffu;
  sums = (sums & kPairs) + (sums >> 8 & kPairs);
  auto found = static_cast<int64_t>(sums * 0x0001000100010001u >> 48);
  for (; i < count; ++i) found += flags[i] != 0 ? 1 : 0;
  return found;
}

/// Writes the indices of the elements found, one after the other.
struct IndexWriter {
  int64_t* out;
  int64_t left;  // elements that were counted and are not written yet
  ArrayRef<int64_t> sizes;
  int64_t element = 0;    // the number of the next element
  int64_t row_begin = 0;  // the number of the first element of the row that was written last
  int64_t row_end = 0;
  int64_t index[kMaxDims];

  TENON_TEMPLATE_INLINE IndexWriter(int64_t* data, int64_t count, ArrayRef<int64_t> shape) noexcept
      : out(data), left(count), sizes(shape) {}

  TENON_TEMPLATE_INLINE void add(const char* flags, int64_t count) noexcept {
    for (int64_t i = 0; i < count && left != 0; i += 8) {
      const int64_t n = count - i < 8 ? count - i : 8;
      if (n == 8 && load_element<uint64_t>(flags + i, 0) == 0) continue;
      if (n == 8 && left >= 8 && sizes.size() == 1) {  // no branches, which would mispredict
        int64_t* next = out;
        const int64_t first = element + i;  // a local copy, since the stores might change a member
        for (int64_t j = 0; j < 8; ++j) {
          *next = first + j;
          next += flags[i + j] != 0 ? 1 : 0;
        }
        left -= next - out;
        out = next;
        continue;
      }
      int64_t found[8];
      int64_t k = 0;
      for (int64_t j = 0; j < n; ++j) {
        found[k] = element + i + j;
        k += flags[i + j] != 0 ? 1 : 0;
      }
      if (k > left) k = left;  // another thread wrote the elements meanwhile
      left -= k;
      for (int64_t j = 0; j < k; ++j) put(found[j]);
    }
    element += count;
  }

 private:
  void put(int64_t at) noexcept {
    if (sizes.size() == 1) {
      *out++ = at;
      return;
    }
    if (sizes.empty()) return;
    const size_t last = sizes.size() - 1;
    if (at >= row_end) {
      int64_t row = at / sizes[last];
      row_begin = row * sizes[last];
      row_end = row_begin + sizes[last];
      for (size_t d = last; d-- > 0; row /= sizes[d]) index[d] = row % sizes[d];
    }
    for (size_t d = 0; d < last; ++d) *out++ = index[d];
    *out++ = at - row_begin;
  }
};

TENON_TEMPLATE_INLINE Error make_indices(const TensorArg& t, Backend*& backend,
                                         NewTensor& made) noexcept {
  HeldLocation from;
  HostElements fetched;
  TENON_TRY(find_source(t, "the tensor", from));
  TENON_TRY(find_backend_like(fields(t), nullptr, backend));
  TENON_TRY(from.keep_while_asking(t, backend != nullptr));
  if (from.backend != nullptr) {
    TENON_TRY(fetched.make(from.view));
    TENON_TRY(copy(fetched.location, from));
    from.view = fetched.location.view;
  }
  int64_t count = 0;
  read_flags(from.view,
             [&](const char* flags, int64_t n) noexcept { count += count_flags(flags, n); });
  CreateOptions opts(ScalarType::Long);
  opts.backend = backend;
  const Dims sizes{count, from.view.sizes.size()};
  TENON_TRY(make_owned_row_major(sizes, opts, false, made));
  const MemoryLocation to = locate_new(fields(made));
  HostElements here;
  if (to.backend != nullptr) TENON_TRY(here.make(to.view));
  const TensorView& out = to.backend != nullptr ? here.location.view : to.view;
  IndexWriter writer(static_cast<int64_t*>(out.data), count, from.view.sizes);
  read_flags(from.view, [&](const char* flags, int64_t n) noexcept { writer.add(flags, n); });
  return to.backend != nullptr ? copy(to, here.location) : Error::Ok;
}

template <class Out>
Out list_indices(const char* function, const TensorArg& t) {
  NewTensor made;
  Backend* backend = nullptr;
  const Error error = make_indices(t, backend, made);
  return return_to_user<Out>(function, error, made, backend);
}

}  // namespace detail

/// The indices of the elements that are not 0, in row-major order: a row-major Long tensor in t's
/// backend, with a row for each such element and a column for each dimension of t. NaN counts as
/// not 0, -0 as 0. The try_ form returns a Result.
///
/// For a mask of rank 1, `flatten(nonzero(mask))` has the indices that index_select() takes.
/// Errors: InvalidState (an undefined tensor, a placeholder), NotSupported (a meta tensor; memory
/// that neither the host nor a registered backend can reach), OutOfMemory.
/// Cost: two passes over the elements, by one thread.
/// Source: at::nonzero, whose result is column-major; numpy.argwhere.
TENON_TEMPLATE_INLINE TensorPtr nonzero(ConstTensorArg t) {
  return detail::list_indices<TensorPtr>("nonzero", t);
}
TENON_TEMPLATE_INLINE Result<TensorPtr> try_nonzero(ConstTensorArg t) {
  return detail::list_indices<Result<TensorPtr>>("try_nonzero", t);
}

TENON_END_NAMESPACE
