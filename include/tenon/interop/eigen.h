// SPDX-License-Identifier: MIT
// from_eigen: makes tensors over the memory of Eigen's matrices, arrays and tensors. as_eigen,
// as_eigen_map: make Eigen's maps over a tensor's memory.
#pragma once

#include <memory>

#include "tenon/interop/libraries/eigen_map.h"
#include "tenon/tensor/clone.h"
#include "tenon/tensor/tensor_ptr_maker.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// True for a Ref to const. Such a Ref may hold a copy of the elements; a Ref that is moved from it
/// still refers to that copy.
template <class E>
inline constexpr bool is_eigen_const_ref_v =
    decltype(is_eigen_const_ref(static_cast<E*>(nullptr)))::value;

/// True if E keeps its elements in a heap block that a move does not relocate, as far as its type
/// tells.
template <class E>
constexpr bool has_stable_block() noexcept {
  if constexpr (is_eigen_dense_v<E>) return int{E::MaxSizeAtCompileTime} == Eigen::Dynamic;
  return false;
}

/// A deleter that keeps a matrix.
template <class Kept>
struct KeepEigen {
  Kept kept;
  void operator()(void*) const noexcept {}
};

}  // namespace detail

namespace detail {  // function objects

template <class Out>
struct FromEigen {
  const char* function;

  /// Makes a tensor over the memory of a Matrix, Array, Map, Ref, Block or another expression with
  /// memory, or of a Tensor or TensorMap. The tensor has the same strides. A vector type becomes
  /// one dimension. For const objects and Maps of const elements the tensor is read-only.
  ///
  /// Ownership: borrows lvalues, and the memory to which a Block, a Map or another expression
  /// refers. An rvalue Matrix or Tensor is moved into the tensor's deleter (a const rvalue is
  /// copied); elements that a fixed-size type holds inline move to the heap. An rvalue Ref to const
  /// is copied, since it may hold its elements; an lvalue Ref is borrowed.
  /// Errors: OutOfMemory.
  /// Cost: one allocation; two for a Tensor or a matrix of fixed size that is moved in.
  template <class E, std::enable_if_t<is_eigen_v<std::remove_const_t<E>>, int> = 0>
  Out operator()(E& from TENON_LIFETIMEBOUND) const {
    Deleter nothing;
    return share(from, nothing);
  }
  template <class E,
            std::enable_if_t<!std::is_lvalue_reference_v<E> && is_eigen_v<std::remove_const_t<E>>,
                             int> = 0>
  Out operator()(E&& from) const {
    using Kept = std::remove_const_t<E>;
    if constexpr (is_eigen_const_ref_v<Kept>) {
      Deleter nothing;
      NewTensor lent;
      const Error error = borrow(from, nothing, lent);
      if (error != Error::Ok) return return_to_user<Out>(function, error);
      return clone<Out>(function, return_to_user<Tensor>(function, error, lent));
    } else if constexpr (!owns_elements<Kept>()) {
      Deleter nothing;
      return share(from, nothing);
    } else if constexpr (has_stable_block<Kept>()) {
      Deleter keep(nullptr, KeepEigen<Kept>{std::move(from)});
      return share(keep.template stored<KeepEigen<Kept>>()->kept, keep);
    } else {
      KeepEigen<std::unique_ptr<Kept>> kept{std::unique_ptr<Kept>(new Kept(std::move(from)))};
      Kept& moved = *kept.kept;
      Deleter keep(nullptr, std::move(kept));
      return share(moved, keep);
    }
  }

 private:
  template <class E>
  Out share(E& from, Deleter& keep) const {
    NewTensor new_tensor;
    const Error error = borrow(from, keep, new_tensor);
    return return_to_user<Out>(function, error, new_tensor);
  }
  template <class E>
  static Error borrow(E& from, Deleter& keep, NewTensor& new_tensor) noexcept {
    using D = std::remove_const_t<E>;
    if constexpr (is_eigen_dense_v<D>) {
      static_assert(has_eigen_memory_v<D>,
                    "this expression has no memory; from_eigen(expression.eval()) computes it");
    }
    constexpr bool kReadOnly = std::is_const_v<std::remove_pointer_t<decltype(from.data())>>;
    void* const data = const_cast<void*>(static_cast<const void*>(from.data()));
    const CreateOptions opts(eigen_type<typename D::Scalar>());
    Dims sizes, strides;
    describe_eigen(from, sizes, strides);
    return borrow_checked(DataPtr(data, kReadOnly), sizes, {}, strides, opts, &keep, new_tensor);
  }
};

}  // namespace detail

inline constexpr detail::FromEigen<TensorPtr> from_eigen{"from_eigen"};
inline constexpr detail::FromEigen<Result<TensorPtr>> try_from_eigen{"try_from_eigen"};

TENON_END_NAMESPACE
