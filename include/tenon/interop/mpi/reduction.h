// SPDX-License-Identifier: MIT
// Op: how reductions combine elements, by MPI's operations and for its lack of those our own.
#pragma once

#include "tenon/interop/mpi/datatype.h"

TENON_BEGIN_NAMESPACE
namespace mpi {

/// How the elements of all ranks become one. Of Bool, Sum and Max are "or", Product and Min "and".
/// Half, BFloat16 and Float8 are combined in float, pair by pair, and rounded each time.
/// Source: MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX.
enum class Op : uint8_t { Sum, Product, Min, Max };

}  // namespace mpi
namespace detail {

constexpr const char* toString(mpi::Op op) noexcept {
  return name_at("Sum\0Product\0Min\0Max\0unknown",
                 op <= mpi::Op::Max ? static_cast<size_t>(op) : 4);
}

template <mpi::Op op>
TENON_ALWAYS_INLINE float combine(float a, float b) noexcept {
  if constexpr (op == mpi::Op::Sum) return a + b;
  if constexpr (op == mpi::Op::Product) return a * b;
  if constexpr (op == mpi::Op::Min) return b < a ? b : a;
  return a < b ? b : a;
}

/// What MPI_Op_create takes, for elements T that compute in float.
template <class T, mpi::Op op>
TENON_VECTORIZE void reduce_elements(void* in, void* inout, int* count, MPI_Datatype*) {
  const auto* const a = static_cast<const T*>(in);
  auto* const b = static_cast<T*>(inout);
  for (int i = 0; i < *count; ++i) {
    b[i] = combine<op>(static_cast<float>(a[i]), static_cast<float>(b[i]));
  }
}
template <class T>
inline constexpr MPI_User_function* kReductions[] = {
    &reduce_elements<T, mpi::Op::Sum>, &reduce_elements<T, mpi::Op::Product>,
    &reduce_elements<T, mpi::Op::Min>, &reduce_elements<T, mpi::Op::Max>};

/// The function for elements that MPI cannot combine; null for the others.
inline MPI_User_function* own_reduction(ScalarType type, mpi::Op op) noexcept {
  const auto of_element = [&](auto tag) noexcept -> MPI_User_function* {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_arithmetic_v<T> && sizeof(T) <= 2) {
      return kReductions<T>[static_cast<size_t>(op)];
    } else {
      return nullptr;
    }
  };
  return own::visit(type, of_element, []() noexcept -> MPI_User_function* { return nullptr; });
}

/// An operation for the length of a call: MPI's, or one that is made.
struct MpiOperation {
  MPI_Op op = MPI_OP_NULL;
  MpiOwner<MPI_Op, &MPI_Op_free> made;  // of the program's code, for memory that the host reads

  /// Errors: InvalidType (complex elements have no order), NotSupported (ComplexHalf),
  /// InvalidArgument (no Op).
  Error find(ScalarType type, mpi::Op asked) noexcept {
    if (TENON_UNLIKELY(asked > mpi::Op::Max)) {
      return fail(Error::InvalidArgument, "number ", static_cast<int>(asked), " is no operation");
    }
    if (TENON_UNLIKELY(isComplexType(type) && asked >= mpi::Op::Min)) {
      return fail(Error::InvalidType, toString(asked), " of ", type,
                  ": complex numbers have no order");
    }
    if (TENON_UNLIKELY(type == ScalarType::ComplexHalf)) {
      return fail(Error::NotSupported, "MPI has no operations for ", type);
    }
    if (MPI_User_function* const function = own_reduction(type, asked)) {
      TENON_TRY(check_mpi(MPI_Op_create(function, 1, &op)));
      made = MpiOwner<MPI_Op, &MPI_Op_free>(op);
      return Error::Ok;
    }
    const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX};
    const MPI_Op ops_of_bool[] = {MPI_LOR, MPI_LAND, MPI_LAND, MPI_LOR};
    op = (type == ScalarType::Bool ? ops_of_bool : ops)[static_cast<size_t>(asked)];
    return Error::Ok;
  }
};

}  // namespace detail
TENON_END_NAMESPACE
