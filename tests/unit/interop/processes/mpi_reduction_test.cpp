// SPDX-License-Identifier: MIT
#include "tenon/interop/processes/mpi_reduction.h"

#include "interop/processes/mpi/ranks.h"

namespace reduction_test {

using namespace tenon;
using mpi::Op;

TEST_CASE("mpi reductions: MPI's own operations, for Bool the logical ones") {
  const auto found = [](ScalarType type, Op op) {
    MPI_Op operation = MPI_OP_NULL;
    REQUIRE(detail::find_operation(type, op, operation) == Error::Ok);
    return operation;
  };
  CHECK(found(ScalarType::Float, Op::Sum) == MPI_SUM);
  CHECK(found(ScalarType::ComplexDouble, Op::Product) == MPI_PROD);
  CHECK(found(ScalarType::Byte, Op::Min) == MPI_MIN);
  CHECK(found(ScalarType::UInt64, Op::Max) == MPI_MAX);
  CHECK(found(ScalarType::Bool, Op::Sum) == MPI_LOR);
  CHECK(found(ScalarType::Bool, Op::Max) == MPI_LOR);
  CHECK(found(ScalarType::Bool, Op::Product) == MPI_LAND);
  CHECK(found(ScalarType::Bool, Op::Min) == MPI_LAND);
}

TEST_CASE("mpi reductions: small floats are combined as Float, the others as they are") {
  for (const ScalarType type :
       {ScalarType::Half, ScalarType::BFloat16, ScalarType::Float8_e5m2, ScalarType::Float8_e4m3fn,
        ScalarType::Float8_e5m2fnuz, ScalarType::Float8_e4m3fnuz}) {
    CHECK(detail::reduced_as(type) == ScalarType::Float);
  }
  CHECK(detail::reduced_as(ScalarType::ComplexHalf) == ScalarType::ComplexFloat);
  for (const ScalarType type :
       {ScalarType::Float, ScalarType::Double, ScalarType::Bool, ScalarType::Byte,
        ScalarType::Short, ScalarType::ComplexFloat, ScalarType::ComplexDouble}) {
    CHECK(detail::reduced_as(type) == type);
  }
}

TEST_CASE("mpi reductions: complex numbers have no order, and a number may be no operation") {
  MPI_Op operation = MPI_OP_NULL;
  for (const ScalarType type :
       {ScalarType::ComplexHalf, ScalarType::ComplexFloat, ScalarType::ComplexDouble}) {
    RETURNS(InvalidType, "complex numbers have no order",
            detail::find_operation(type, Op::Min, operation));
    RETURNS(InvalidType, "Max of Complex", detail::find_operation(type, Op::Max, operation));
  }
  RETURNS(InvalidArgument, "number 9 is no operation",
          detail::find_operation(ScalarType::Float, static_cast<Op>(9), operation));
}

}  // namespace reduction_test
