// SPDX-License-Identifier: MIT
#include "tenon/interop/mpi/reduction.h"

#include "interop/mpi/ranks.h"

using namespace tenon;
using detail::MpiOperation;
using mpi::Op;

namespace {

double naive(Op op, double a, double b) {
  return op == Op::Sum       ? a + b
         : op == Op::Product ? a * b
         : op == Op::Min     ? std::min(a, b)
                             : std::max(a, b);
}

template <class T>
void check_all_pairs(ScalarType type) {
  std::vector<T> values;
  for (int i = 0; i < 1 << (8 * sizeof(T)); i += sizeof(T) == 1 ? 1 : 499) {
    T value;
    const auto bits = static_cast<typename T::Bits>(i);
    std::memcpy(&value, &bits, sizeof value);
    const float number = value;
    if (std::isfinite(number)) values.push_back(value);
  }
  for (const Op op : {Op::Sum, Op::Product, Op::Min, Op::Max}) {
    bool same = true;
    for (const T a : values) {
      std::vector<T> in(values.size(), a);
      std::vector<T> inout = values;
      int count = static_cast<int>(values.size());
      MPI_Datatype element = detail::mpi_element(type);
      detail::own_reduction(detail::own_type(type), op)(in.data(), inout.data(), &count, &element);
      for (size_t i = 0; i < values.size(); ++i) {
        const T expected(static_cast<float>(naive(op, a, values[i])));
        const float got = inout[i];
        same = same && (got == static_cast<float>(expected) ||
                        (std::isnan(got) && std::isnan(static_cast<float>(expected))));
      }
    }
    INFO(toString(type) << " " << detail::toString(op));
    CHECK(same);
  }
}

}  // namespace

TEST_CASE(
    "mpi reductions: small floats are combined in float and rounded, for each pair of values") {
  check_all_pairs<Half>(ScalarType::Half);
  check_all_pairs<BFloat16>(ScalarType::BFloat16);
  check_all_pairs<Float8_e5m2>(ScalarType::Float8_e5m2);
  check_all_pairs<Float8_e4m3fn>(ScalarType::Float8_e4m3fn);
  check_all_pairs<Float8_e5m2fnuz>(ScalarType::Float8_e5m2fnuz);
  check_all_pairs<Float8_e4m3fnuz>(ScalarType::Float8_e4m3fnuz);
}

TEST_CASE("mpi reductions: MPI's own operation where it has one, for Bool the logical ones") {
  const auto found = [](ScalarType type, Op op) {
    MpiOperation operation;
    REQUIRE(operation.find(type, op) == Error::Ok);
    CHECK(!bool(operation.made));
    return operation.op;
  };
  CHECK(found(ScalarType::Float, Op::Sum) == MPI_SUM);
  CHECK(found(ScalarType::ComplexDouble, Op::Product) == MPI_PROD);
  CHECK(found(ScalarType::Byte, Op::Min) == MPI_MIN);
  CHECK(found(ScalarType::UInt64, Op::Max) == MPI_MAX);
  CHECK(found(ScalarType::Bool, Op::Sum) == MPI_LOR);
  CHECK(found(ScalarType::Bool, Op::Max) == MPI_LOR);
  CHECK(found(ScalarType::Bool, Op::Product) == MPI_LAND);
  CHECK(found(ScalarType::Bool, Op::Min) == MPI_LAND);
  MpiOperation half;
  REQUIRE(half.find(ScalarType::Half, Op::Sum) == Error::Ok);
  CHECK(bool(half.made));
}

TEST_CASE("mpi reductions: complex numbers have no order, and a number may be no operation") {
  MpiOperation operation;
  for (const ScalarType type :
       {ScalarType::ComplexHalf, ScalarType::ComplexFloat, ScalarType::ComplexDouble}) {
    RETURNS(InvalidType, "complex numbers have no order", operation.find(type, Op::Min));
    RETURNS(InvalidType, "Max of Complex", operation.find(type, Op::Max));
  }
  RETURNS(InvalidArgument, "number 9 is no operation",
          operation.find(ScalarType::Float, static_cast<Op>(9)));
  RETURNS(NotSupported, "MPI has no operations for ComplexHalf",
          operation.find(ScalarType::ComplexHalf, Op::Sum));
}
