// SPDX-License-Identifier: MIT
// cat and stack, which copy tensors into one.
#pragma once

#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>

#include "tenon/tensor/copy.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// An undefined ConstTensorArg. The default argument avoids a local temporary, about which Clang
/// warns.
inline ConstTensorArg no_tensor(const TensorPtr& null = nullptr) noexcept { return null; }

/// A tensor in a brace list. Holds a handle, since a backend's code may drop the caller's handle.
/// In ATen mode each use describes the tensor anew.
struct ListedTensor {
  ListedTensor(const Tensor& t) noexcept : tensor(t) {}
  ListedTensor(const TensorPtr& t) noexcept : tensor(t != nullptr ? *t : Tensor()) {}
  operator ConstTensorArg() const noexcept { return tensor; }
  Tensor tensor;
};

template <class C>
using IteratorOf = std::enable_if_t<std::is_same_v<decltype(std::begin(std::declval<const C&>())),
                                                   decltype(std::end(std::declval<const C&>()))>,
                                    decltype(std::begin(std::declval<const C&>()))>;

/// Whether C is a range of tensors whose iterators return references.
template <class C, class = void>
struct IsTensorRange : std::false_type {};
template <class C>
struct IsTensorRange<C, std::void_t<typename std::iterator_traits<IteratorOf<C>>::reference>>
    : std::bool_constant<
          std::is_lvalue_reference_v<typename std::iterator_traits<IteratorOf<C>>::reference> &&
          std::is_base_of_v<std::forward_iterator_tag,
                            typename std::iterator_traits<IteratorOf<C>>::iterator_category> &&
          std::is_convertible_v<typename std::iterator_traits<IteratorOf<C>>::reference,
                                ConstTensorArg>> {};

}  // namespace detail

/// Several tensors as an argument: a brace list, or a range of Tensor or TensorPtr.
///
/// Ownership: refers to the list or range during the call, so a named TensorArgs cannot be passed.
/// A brace list keeps its tensors alive. A range need not: a backend's code that runs meanwhile may
/// drop tensors of a range, and change the length of a random-access range. Allocates nothing.
class TensorArgs {
 public:
  /// The type of for_each()'s argument.
  using Function = detail::FunctionRef<Error(size_t i, const ConstTensorArg& tensor)>;

  TensorArgs(const TensorArgs&) = delete;
  TensorArgs& operator=(const TensorArgs&) = delete;
  /// Refers to a brace list or a range of tensors.
  // The list is taken by reference, since this points to it: it then lives as long as the call.
  TensorArgs(const std::initializer_list<detail::ListedTensor>& list TENON_LIFETIMEBOUND) noexcept {
    refer(list);
  }
  template <class Range, std::enable_if_t<detail::IsTensorRange<Range>::value, int> = 0>
  TensorArgs(const Range& range TENON_LIFETIMEBOUND) noexcept {
    refer(range);
  }

  /// How many tensors there are.
  size_t size() const noexcept { return size_; }
  /// Tensor i. O(i) in a std::list.
  ConstTensorArg operator[](size_t i) const noexcept { return at_(range_, i); }
  /// Calls f(i, tensor) for each tensor, until f fails. A step is O(1) in any range.
  Error for_each(Function f) const noexcept { return for_each_(*this, f); }

 private:
  template <class Range>
  void refer(const Range& range) noexcept {
    range_ = std::addressof(range);
    size_ = static_cast<size_t>(std::distance(std::begin(range), std::end(range)));
    at_ = [](const void* r, size_t i) noexcept -> ConstTensorArg {
      const auto begin = std::begin(*static_cast<const Range*>(r));
      const auto at = static_cast<ptrdiff_t>(i);
      // A backend's code may have shortened the range.
      if (at >= std::distance(begin, std::end(*static_cast<const Range*>(r)))) {
        return detail::no_tensor();
      }
      return *std::next(begin, at);
    };
    for_each_ = [](const TensorArgs& args, Function f) noexcept -> Error {
      using Iterator = decltype(std::begin(range));
      if constexpr (std::is_base_of_v<std::random_access_iterator_tag,
                                      typename std::iterator_traits<Iterator>::iterator_category>) {
        // Iterates by index: f runs a backend's code, which may change a vector's length.
        for (size_t i = 0; i < args.size(); ++i) TENON_TRY(f(i, args[i]));
      } else {
        size_t i = 0;
        for (const auto& tensor : *static_cast<const Range*>(args.range_)) {
          TENON_TRY(f(i++, tensor));
        }
      }
      return Error::Ok;
    };
  }

  const void* range_ = nullptr;
  size_t size_ = 0;
  ConstTensorArg (*at_)(const void* range, size_t i) noexcept = nullptr;
  Error (*for_each_)(const TensorArgs& args, Function f) noexcept = nullptr;
};

namespace detail {

/// The tensors to join, and the result.
struct Batch {
  const TensorArgs& tensors;
  bool is_stack;                            // false for cat()
  size_t dim = 0;                           // the joined dimension, in the result
  Dims sizes = {};                          // the result's
  ScalarType type = ScalarType::Undefined;  // the tensors' dtype
  const MemoryLocation* out = nullptr;      // for cat_out(), the result's memory
  bool overlaps = false;                    // whether a tensor may share elements with `out`
  bool on_host = true;                      // whether the host can read all tensors

  /// As in ATen, cat() ignores tensors of sizes {0}, whatever the other tensors' sizes.
  bool skips(ArrayRef<int64_t> piece) const noexcept {
    return !is_stack && piece.size() == 1 && piece[0] == 0;
  }
};

/// The list with `value` inserted before `at`.
TENON_TEMPLATE_INLINE Dims inserted(ArrayRef<int64_t> list, size_t at, int64_t value) noexcept {
  Dims out(list.begin(), list.begin() + at);
  out.push_back(value);
  for (size_t d = at; d < list.size(); ++d) out.push_back(list[d]);
  return out;
}

/// Calls find_source() for tensor i. The error text contains i.
TENON_TEMPLATE_INLINE Error find_piece(const TensorArg& tensor, size_t i,
                                       MemoryLocation& location) noexcept {
  const Error error = find_source(tensor, "", location);
  if (error == Error::Ok || error == Error::OutOfMemory) return error;
  char role[32];
  Message name(role, sizeof role);
  (append(name, "tensor "), append(name, i));
  return find_source(tensor, role, location);  // again, for an error text that names the tensor
}

/// The error if the sizes of tensors `i` and `like` differ.
TENON_TEMPLATE_INLINE TENON_COLD Error fail_sizes(const Batch& batch, size_t i,
                                                  size_t like) noexcept {
  const ConstTensorArg tensor = batch.tensors[i];
  const ConstTensorArg other = batch.tensors[like];
  const auto say = [&](const auto&... more) noexcept {
    return fail(Error::InvalidArgument, "tensor ", i, " has sizes ", fields(tensor).layout.sizes(),
                ", tensor ", like, " has ", fields(other).layout.sizes(), more...);
  };
  return batch.is_stack ? say("; they have to be equal")
                        : say("; they have to be equal but for dimension ", batch.dim);
}

/// Checks the tensors, and computes the sizes of the result.
TENON_TEMPLATE_INLINE Error plan_batch(int64_t dim, Batch& batch) noexcept {
  const size_t count = batch.tensors.size();
  if (count == 0) return fail(Error::InvalidArgument, "the list has no tensors");
  Device device;
  size_t first = count;  // the first tensor that is not ignored
  const auto begin = [&](ArrayRef<int64_t> sizes) noexcept -> Error {
    batch.sizes = sizes;
    TENON_TRY(check_dims("sizes", batch.sizes));
    if (sizes.empty() && !batch.is_stack) {
      return fail(Error::OutOfBounds, "tensor ", first,
                  " has no dimensions to join along; stack() adds one");
    }
    return wrap_dim(dim, sizes.size() + (batch.is_stack ? 1 : 0), batch.dim, "result");
  };
  const auto add_piece = [&](size_t i, const ConstTensorArg& tensor) noexcept -> Error {
    MemoryLocation piece;
    TENON_TRY(find_piece(tensor, i, piece));
    const TensorFields& t = fields(tensor);
    if (i == 0) {
      batch.type = t.type;
      device = t.device;
    }
    if (t.type != batch.type) {
      return fail(Error::InvalidType, "tensor ", i, " is ", t.type, ", tensor 0 is ", batch.type,
                  "; to() converts");
    }
    if (t.device != device) {
      return fail(Error::InvalidArgument, "tensor ", i, " is on ", t.device, ", tensor 0 is on ",
                  device);
    }
    if (batch.out != nullptr && t.layout.numel != 0) {
      batch.overlaps =
          batch.overlaps || (batch.out->backend == piece.backend &&
                             overlap(byte_range(batch.out->view), byte_range(piece.view)));
    }
    batch.on_host = batch.on_host && piece.backend == nullptr;
    const ArrayRef<int64_t> sizes = piece.view.sizes;
    if (batch.skips(sizes)) return Error::Ok;
    if (first == count) {
      first = i;
      return begin(sizes);
    }
    bool fits = sizes.size() == batch.sizes.size();
    for (size_t d = 0; fits && d < sizes.size(); ++d) {
      fits = sizes[d] == batch.sizes[d] || (!batch.is_stack && d == batch.dim);
    }
    if (!fits) return fail_sizes(batch, i, first);
    if (batch.is_stack) return Error::Ok;
    int64_t& sum = batch.sizes[batch.dim];
    if (!add(sum, sizes[batch.dim], sum)) {
      return fail(Error::InvalidArgument, "the sizes of dimension ", batch.dim,
                  " overflow the address space");
    }
    return Error::Ok;
  };
  TENON_TRY(batch.tensors.for_each(add_piece));
  if (first == count) batch.sizes = {0};  // whatever `dim` is, as in ATen
  if (batch.is_stack) {
    batch.sizes = inserted(batch.sizes, batch.dim, static_cast<int64_t>(count));
  }
  return check_dims("sizes", batch.sizes);
}

/// Copies indices [begin, end) of the joined dimension to `out`.
TENON_TEMPLATE_INLINE Error copy_slices(const Batch& batch, const MemoryLocation& out,
                                        int64_t begin, int64_t end) noexcept {
  const auto element = static_cast<int64_t>(elementSize(batch.type));
  // Strides of dimensions of size 1 are unspecified and may overflow.
  const int64_t step = batch.sizes[batch.dim] > 1 ? out.view.strides[batch.dim] * element : 0;
  ViewWithLists to;
  MemoryLocation part = out;
  TENON_TRY(copy_lists(part.view, to));
  int64_t start = 0;
  const auto copy_piece = [&](size_t i, const ConstTensorArg& tensor) noexcept -> Error {
    HeldLocation piece;
    TENON_TRY(find_piece(tensor, i, piece));
    if (is_backend_asked(fields(tensor), out.backend != nullptr)) {
      TENON_TRY(piece.hold.hold(tensor));
    }
    TENON_TRY(piece.keep_lists());
    ViewWithLists& from = piece.lists;
    if (batch.skips(from.sizes)) return Error::Ok;
    if (batch.is_stack && from.sizes.size() >= batch.dim) {
      from.sizes = inserted(from.sizes, batch.dim, 1);
      from.strides = inserted(from.strides, batch.dim, 0);
      TENON_TRY(check_lists(from));
    }
    const bool has_rank = from.sizes.size() == to.sizes.size();
    const int64_t size = has_rank ? from.sizes[batch.dim] : 0;
    to.sizes[batch.dim] = size;
    // Checked again: for earlier pieces a backend's code may have run, and changed this tensor.
    if (from.type != public_type(batch.type) || from.sizes != to.sizes ||
        size > batch.sizes[batch.dim] - start) {
      return fail(Error::InvalidState, "tensor ", i, " was changed during the call");
    }
    const int64_t first = start < begin ? begin : start;
    const int64_t skipped = first - start;
    start += size;
    if (first >= start || first >= end) return Error::Ok;
    to.data = static_cast<char*>(out.view.data) + first * step;
    if (skipped != 0) {
      from.data = static_cast<char*>(from.data) + skipped * from.strides[batch.dim] * element;
    }
    from.sizes[batch.dim] = to.sizes[batch.dim] = (start < end ? start : end) - first;
    part.view = to;
    piece.view = from;
    return copy(part, piece);
  };
  TENON_TRY(batch.tensors.for_each(copy_piece));
  if (start != batch.sizes[batch.dim]) {
    return fail(Error::InvalidState, "a tensor was resized during the call");
  }
  return Error::Ok;
}

/// Copies the tensors to `out`, which has the batch's sizes and does not overlap them. Threads
/// share the indices of the joined dimension, unless one index has enough bytes to be shared
/// itself.
TENON_TEMPLATE_INLINE Error copy_batch(const Batch& batch, const MemoryLocation& out) noexcept {
  const int64_t count = batch.sizes[batch.dim];
  size_t nbytes = elementSize(batch.type);
  for (const int64_t size : batch.sizes) {
    if (size == 0) return Error::Ok;
    nbytes *= static_cast<size_t>(size);
  }
  // Several threads copy only if nothing can fail: no backend's code runs, and no list allocates.
  const bool is_shared = batch.on_host && out.backend == nullptr &&
                         batch.sizes.size() <= Dims::kInlineSize &&
                         !is_parallel(nbytes / static_cast<size_t>(count));
  Error error = Error::Ok;
  parallel_for(count, 1, is_shared ? nbytes : 0, [&](int64_t begin, int64_t end) {
    const Error failed = copy_slices(batch, out, begin, end);
    if (failed != Error::Ok) error = failed;
  });
  return error;
}

TENON_TEMPLATE_INLINE Error join_to(const TensorArg& out, Batch& batch, int64_t dim) noexcept {
  HeldLocation to;
  TENON_TRY(find_destination(out, "the output", to));
  const TensorFields& result = fields(out);
  batch.out = &to;
  TENON_TRY(plan_batch(dim, batch));
  if (result.type != batch.type) {
    return fail(Error::InvalidType, "the output is ", result.type, ", the tensors are ",
                batch.type);
  }
  if (to.view.sizes != batch.sizes) {
    return fail(Error::InvalidArgument, "the output has sizes ", to.view.sizes, ", the result has ",
                batch.sizes, "; they have to be equal");
  }
  TENON_TRY(to.keep(out));  // a backend's code may run between two pieces
  // Lists on the heap are allocated for each piece; a failure would leave some pieces written.
  const bool is_inline = batch.sizes.size() <= Dims::kInlineSize;
  if (!batch.overlaps && is_inline) return copy_batch(batch, to);
  HostElements here;
  TENON_TRY(here.make(to.view));
  TENON_TRY(copy_batch(batch, here.location));
  return copy(to, here.location);
}

template <class Out>
Out join(const char* function, const TensorArgs& tensors, bool is_stack, int64_t dim) {
  Batch batch{tensors, is_stack};
  NewTensor new_tensor;
  Error error = plan_batch(dim, batch);
  CreateOptions opts(batch.type);
  if (error == Error::Ok) error = find_backend_like(fields(tensors[0]), nullptr, opts.backend);
  if (error == Error::Ok) error = make_owned_row_major(batch.sizes, opts, false, new_tensor);
  if (error == Error::Ok) error = copy_batch(batch, locate_new(fields(new_tensor)));
  return return_to_user<Out>(function, error, new_tensor, opts.backend);
}

}  // namespace detail

/// Concatenates tensors along an existing dimension. The result is row-major, owns its memory, has
/// the tensors' dtype, is DYNAMIC_BOUND, and comes from the first tensor's backend. The try_ form
/// returns a Result.
///
/// Shapes: all other sizes must be equal. As in ATen, tensors of sizes {0} are ignored.
/// Errors: InvalidArgument (no tensors; other sizes; sizes or bytes that overflow; different
/// devices), InvalidType (different dtypes: none is converted), OutOfBounds (a dimension that the
/// result does not have), InvalidState (an undefined tensor, a placeholder), NotSupported (a meta
/// tensor; memory that neither the host nor a registered backend can reach), OutOfMemory.
/// Cost: one pass over the elements, like copy_().
/// Source: at::cat, which promotes dtypes and keeps a memory format.
TENON_TEMPLATE_INLINE TensorPtr cat(TensorArgs tensors, int64_t dim = 0) {
  return detail::join<TensorPtr>("cat", tensors, false, dim);
}
TENON_TEMPLATE_INLINE Result<TensorPtr> try_cat(TensorArgs tensors, int64_t dim = 0) {
  return detail::join<Result<TensorPtr>>("try_cat", tensors, false, dim);
}

/// Joins tensors of equal sizes along a new dimension, the result's dimension `dim`. Otherwise like
/// cat().
///
/// Source: at::stack.
TENON_TEMPLATE_INLINE TensorPtr stack(TensorArgs tensors, int64_t dim = 0) {
  return detail::join<TensorPtr>("stack", tensors, true, dim);
}
TENON_TEMPLATE_INLINE Result<TensorPtr> try_stack(TensorArgs tensors, int64_t dim = 0) {
  return detail::join<Result<TensorPtr>>("try_stack", tensors, true, dim);
}

/// Does what cat() does, but writes the result to an existing tensor, of any strides, on any
/// device.
///
/// The result is as if all tensors were read before the output is written. A temporary of the
/// result's size is allocated if a tensor may overlap the output, or if there are more than
/// TENON_INLINE_DIMS dimensions; otherwise nothing is allocated.
/// Errors: cat()'s; for the output: InvalidArgument (other sizes than the result's; elements that
/// may share memory), InvalidType (another dtype), InvalidState (undefined, read-only or a
/// placeholder). Nothing is changed then. If a backend fails, or is out of memory, the output may
/// be partly written.
/// Threads: the caller locks out other users of the output, and writers of the tensors.
/// Source: at::cat_out, which resizes the output and refuses overlap.
template <class = void>
[[nodiscard]] Error cat_out(TensorArg out, TensorArgs tensors, int64_t dim = 0) noexcept {
  detail::Batch batch{tensors, false};
  return detail::add_context_if("cat_out", detail::join_to(out, batch, dim));
}
/// Does what stack() does, but writes the result to an existing tensor, such as a batch of camera
/// images; otherwise like cat_out().
///
/// Source: at::stack_out.
template <class = void>
[[nodiscard]] Error stack_out(TensorArg out, TensorArgs tensors, int64_t dim = 0) noexcept {
  detail::Batch batch{tensors, true};
  return detail::add_context_if("stack_out", detail::join_to(out, batch, dim));
}

TENON_END_NAMESPACE
