// SPDX-License-Identifier: MIT
// split, chunk and unbind: views of a tensor's parts.
#pragma once

#include <utility>
#include <vector>

#include "tenon/tensor/view.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// How a dimension is cut.
struct Cut {
  int64_t count;
  int64_t length;  // of each part but the last; -1 for one index each, without the dimension
};
/// Computes the cut of a dimension of `size` from the size or count that was `asked` for.
using CutFunction = Error (*)(int64_t size, int64_t asked, Cut& cut) noexcept;

TENON_TEMPLATE_INLINE Error cut_by_length(int64_t size, int64_t length, Cut& cut) noexcept {
  if (length < 0 || (length == 0 && size != 0)) {
    return fail(Error::InvalidArgument, "parts of size ", length,
                " cannot make a dimension of size ", size);
  }
  cut = {size == 0 ? 1 : (size - 1) / length + 1, length};
  return Error::Ok;
}
TENON_TEMPLATE_INLINE Error cut_by_count(int64_t size, int64_t count, Cut& cut) noexcept {
  if (count < 1) {
    return fail(Error::InvalidArgument, count, " chunks were asked for; there is 1 at least");
  }
  cut = {count, 0};
  return size == 0 ? Error::Ok : cut_by_length(size, (size - 1) / count + 1, cut);
}
TENON_TEMPLATE_INLINE Error cut_by_index(int64_t size, int64_t, Cut& cut) noexcept {
  cut = {size, -1};
  return Error::Ok;
}

TENON_TEMPLATE_INLINE Error make_parts(const TensorArg& source, int64_t dim, CutFunction plan,
                                       int64_t asked, std::vector<Tensor>& parts) noexcept {
  TENON_TRY(check_defined(source, "the source tensor"));
  const SourceGuard kept(source, asks_for_metadata(source));
  const TensorFields& from = fields(kept.arg);
  size_t d = 0;
  TENON_TRY(wrap_dim(dim, from.layout.rank(), d));
  const int64_t size = from.layout.sizes()[d];
  Cut cut{};
  TENON_TRY(plan(size, asked, cut));
  const bool is_possible = static_cast<uint64_t>(cut.count) <= parts.max_size();
  if (!is_possible || !has_memory_for([&] { parts.reserve(static_cast<size_t>(cut.count)); })) {
    return fail(Error::OutOfMemory, TENON_OUT_OF_MEMORY " for ", cut.count, " views");
  }
  for (int64_t i = 0; i < cut.count; ++i) {
    ViewShape shape(from);
    TENON_TRY(shape.error);
    const int64_t left = size - i * cut.length;
    TENON_TRY(cut.length < 0
                  ? shape.select(dim, i)
                  : shape.narrow(dim, i * cut.length, left < cut.length ? left : cut.length));
    NewView draft;
    Tensor part;
    TENON_TRY(make_view(kept.arg, shape, draft));
    TENON_TRY(make_first_handle(draft, part));
    parts.push_back(std::move(part));
  }
  return Error::Ok;
}

template <class Out>
Out split_views(const char* function, const TensorArg& source, int64_t dim, CutFunction plan,
                int64_t asked) {
  std::vector<Tensor> parts;
  const Error error = make_parts(source, dim, plan, asked, parts);
  return return_to_user<Out>(function, error, std::move(parts));
}

}  // namespace detail

// These make views as those of view.h, in a list on the heap. Each has a try_ form, which returns a
// Result.

/// The parts of a dimension, of `size` each but for the last one, which may be smaller. A dimension
/// of size 0 is one part.
///
/// Errors: InvalidArgument for a negative size, or 0 where the dimension's is not.
/// Source: at::split.
TENON_TEMPLATE_INLINE std::vector<Tensor> split(detail::ConstTensorArg t, int64_t size,
                                                int64_t dim = 0) {
  return detail::split_views<std::vector<Tensor>>("split", t, dim, &detail::cut_by_length<>, size);
}
TENON_TEMPLATE_INLINE Result<std::vector<Tensor>> try_split(detail::ConstTensorArg t, int64_t size,
                                                            int64_t dim = 0) {
  return detail::split_views<Result<std::vector<Tensor>>>("try_split", t, dim,
                                                          &detail::cut_by_length<>, size);
}

/// split() to `chunks` parts or fewer, of a size that is rounded up: 5 rows make 2, 2 and 1, for 3
/// chunks and for 4. A dimension of size 0 makes `chunks` parts without elements.
///
/// Errors: InvalidArgument unless chunks >= 1.
/// Source: at::chunk.
TENON_TEMPLATE_INLINE std::vector<Tensor> chunk(detail::ConstTensorArg t, int64_t chunks,
                                                int64_t dim = 0) {
  return detail::split_views<std::vector<Tensor>>("chunk", t, dim, &detail::cut_by_count<>, chunks);
}
TENON_TEMPLATE_INLINE Result<std::vector<Tensor>> try_chunk(detail::ConstTensorArg t,
                                                            int64_t chunks, int64_t dim = 0) {
  return detail::split_views<Result<std::vector<Tensor>>>("try_chunk", t, dim,
                                                          &detail::cut_by_count<>, chunks);
}

/// The views that select() makes of each index of a dimension.
///
/// Source: at::unbind.
TENON_TEMPLATE_INLINE std::vector<Tensor> unbind(detail::ConstTensorArg t, int64_t dim = 0) {
  return detail::split_views<std::vector<Tensor>>("unbind", t, dim, &detail::cut_by_index<>, 0);
}
TENON_TEMPLATE_INLINE Result<std::vector<Tensor>> try_unbind(detail::ConstTensorArg t,
                                                             int64_t dim = 0) {
  return detail::split_views<Result<std::vector<Tensor>>>("try_unbind", t, dim,
                                                          &detail::cut_by_index<>, 0);
}

TENON_END_NAMESPACE
