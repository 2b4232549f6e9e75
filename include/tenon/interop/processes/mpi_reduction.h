// SPDX-License-Identifier: MIT
// Op: how reductions combine elements, by MPI's operations.
#pragma once

#include "tenon/interop/processes/mpi_datatype.h"

TENON_BEGIN_NAMESPACE
namespace mpi {

/// How the elements of all ranks become one. Of Bool, Sum and Max are "or", Product and Min "and".
/// Half, BFloat16, Float8 and ComplexHalf are combined as Float or ComplexFloat, and rounded once.
/// Whether Min and Max of a NaN and a number are the NaN is MPI's to say, and may depend on ranks.
/// Source: MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX.
enum class Op : uint8_t { Sum, Product, Min, Max };

}  // namespace mpi
namespace detail {

constexpr const char* toString(mpi::Op op) noexcept {
  return name_at("Sum\0Product\0Min\0Max\0unknown",
                 op <= mpi::Op::Max ? static_cast<size_t>(op) : 4);
}

/// The dtype in which elements are combined: MPI has no operations for the small floats.
constexpr ScalarType reduced_as(ScalarType type) noexcept {
  if (type == ScalarType::ComplexHalf) return ScalarType::ComplexFloat;
  return isFloatingType(type) && elementSize(type) < 4 ? ScalarType::Float : type;
}

/// Finds MPI's operation.
/// Errors: InvalidType (complex elements have no order), InvalidArgument (no Op).
inline Error find_operation(ScalarType type, mpi::Op op, MPI_Op& found) noexcept {
  if (op > mpi::Op::Max) {
    return fail(Error::InvalidArgument, "number ", static_cast<int>(op), " is no operation");
  }
  if (isComplexType(type) && op >= mpi::Op::Min) {
    return fail(Error::InvalidType, toString(op), " of ", type, ": complex numbers have no order");
  }
  const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX};
  const MPI_Op ops_of_bool[] = {MPI_LOR, MPI_LAND, MPI_LAND, MPI_LOR};
  found = (type == ScalarType::Bool ? ops_of_bool : ops)[static_cast<size_t>(op)];
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
