// SPDX-License-Identifier: MIT
#include "tenon/tensor/sequence.h"

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace sequence_test {

using namespace tenon;
using namespace tests;

namespace {
constexpr auto kStatic = TensorShapeDynamism::STATIC;
}  // namespace

TEST_CASE("arange: integral arguments give Long, floating ones Float") {
  CHECK(values<int64_t>(arange(4)) == Longs{0, 1, 2, 3});
  CHECK(values<int64_t>(arange(1, 8, 3)) == Longs{1, 4, 7});
  CHECK(values<float>(arange(2.5)) == Floats{0, 1, 2});
  CHECK(values<float>(arange(0, 1, 0.25)) == Floats{0, 0.25f, 0.5f, 0.75f});
  CHECK(values<float>(arange(1.0, 0.0, -0.5)) == Floats{1, 0.5f});
  CHECK(sizes(arange(0)) == Vector{0});
}

TEST_CASE("arange: a type given is the type") {
  CHECK(values<int32_t>(arange(0, 3, 1, ScalarType::Int)) == Ints{0, 1, 2});
  CHECK(values<float>(arange(0, 3, 1, ScalarType::Float)) == Floats{0, 1, 2});
  CHECK(shape_dynamism(arange(0, 3, 1, ScalarType::Int, kStatic)) == kStatic);
  RAISES(InvalidType, "arange: ", arange(0.5, 3, 1, ScalarType::Int));
  RAISES(InvalidArgument, "arange: the value 18446744073709551615 does not fit Long",
         arange(0, UINT64_MAX));
  RAISES(InvalidArgument, "arange: the value 299 does not fit Byte",
         arange(0, 300, 1, ScalarType::Byte));
  RAISES(InvalidType, "Undefined", arange(0, 3, 1, ScalarType::Undefined));
}

TEST_CASE("arange: a step of 0, away from the end, not finite or complex is refused") {
  RAISES(InvalidArgument, "arange: step 0 does not lead from 0 to 3", arange(0, 3, 0));
  RAISES(InvalidArgument, "arange: step -1", arange(0, 3, -1));
  RAISES(InvalidArgument, "arange: step 1 does not lead from 0 to -1", arange(-1));
  RAISES(InvalidArgument, "arange: ", arange(0.0, 1.0, 0.0));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  RAISES(InvalidArgument, "nan", arange(0.0, nan));
  RAISES(InvalidArgument, "inf", arange(0.0, infinity));
  RAISES(InvalidArgument, "step inf", arange(0.0, 1.0, infinity));
  RAISES(InvalidArgument, "overflow", arange(0.0, 1e300));
  RAISES(InvalidArgument, "from -1e308 to 1e308 is not finite", arange(-1e308, 1e308, 1e308));
  RAISES(InvalidType, "complex", arange(complex<double>(1, 1)));
  RAISES(InvalidArgument, "overflow", arange(INT64_MIN, INT64_MAX));
}

TEST_CASE("arange: reaches the ends of int64 without overflow") {
  CHECK(values<int64_t>(arange(INT64_MAX - 2, INT64_MAX)) == Longs{INT64_MAX - 2, INT64_MAX - 1});
  CHECK(values<int64_t>(arange(INT64_MIN, INT64_MAX, INT64_MAX)) ==
        Longs{INT64_MIN, -1, INT64_MAX - 1});
  CHECK(values<int64_t>(arange(INT64_MAX, INT64_MIN, INT64_MIN)) == Longs{INT64_MAX, -1});
}

TEST_CASE("arange: long ranges of every type hold what the formula gives") {
  constexpr int64_t n = 2500;
  const auto count_wrong = [](auto first, auto step, auto start, ScalarType type) {
    const auto t = arange(start, start + step * n, step, type);
    const Tensor doubles = to(t, ScalarType::Double);
    int wrong = doubles.numel() == n ? 0 : 1;
    for (int64_t i = 0; wrong == 0 && i < n; ++i) {
      const auto value =
          static_cast<decltype(first)>(start + step * static_cast<decltype(step)>(i));
      wrong += const_data_ptr<double>(doubles)[i] != static_cast<double>(value) ? 1 : 0;
    }
    return wrong;
  };
  for (const int64_t start : {int64_t{0}, int64_t{-3000}, int64_t{1} << 40, int64_t{1} << 60}) {
    CHECK(count_wrong(float(), int64_t{7}, start, ScalarType::Float) == 0);
    CHECK(count_wrong(double(), int64_t{-3}, start, ScalarType::Double) == 0);
    CHECK(count_wrong(int64_t(), int64_t{5}, start, ScalarType::Long) == 0);
  }
  CHECK(count_wrong(int16_t(), int64_t{2}, int64_t{-5000}, ScalarType::Short) == 0);
  CHECK(count_wrong(float(), 0.375, -100.0, ScalarType::Float) == 0);
  CHECK(count_wrong(double(), 0.375, -100.0, ScalarType::Double) == 0);
}

TEST_CASE("arange: errors of the steps do not add up") {
  const auto t = arange(0.0, 1000.0, 0.1, ScalarType::Double);
  const auto* data = const_data_ptr<double>(t);
  bool right = t->numel() == 10000;
  for (int64_t i = 0; right && i < 10000; ++i) right = data[i] == 0.1 * static_cast<double>(i);
  CHECK(right);
}

TEST_CASE("iota: along an axis each element is its index there") {
  CHECK(values<int64_t>(iota({2, 3}, 0)) == Longs{0, 0, 0, 1, 1, 1});
  CHECK(values<int64_t>(iota({2, 3}, 1)) == Longs{0, 1, 2, 0, 1, 2});
  CHECK(values<int64_t>(iota({2, 3}, -1)) == Longs{0, 1, 2, 0, 1, 2});
  // More than are written at once.
  const Tensor large = *iota({2, 100, 3}, 1);
  for (int64_t i = 0; i < 600; ++i) {
    if (const_data_ptr<int64_t>(large)[i] != i / 3 % 100) FAIL_CHECK("element " << i);
  }
}

TEST_CASE("iota: an axis out of range or a value that does not fit is refused") {
  RAISES(OutOfBounds, "iota: axis 2", iota({2, 3}, 2));
  RAISES(OutOfBounds, "iota: axis -3", iota({2, 3}, -3));
  RAISES(OutOfBounds, "iota: axis 0", iota({}, 0));
  RAISES(InvalidArgument, "iota: the value 256 does not fit Byte",
         iota({257}, none, ScalarType::Byte));
  RAISES(InvalidArgument, "iota: size -1", iota({-1}));
  RAISES(InvalidType, "iota: ", iota({2}, none, ScalarType::Undefined));
  RAISES(InvalidArgument, "overflow", iota({INT64_MAX, 2}));
  CHECK(iota({256}, none, ScalarType::Byte)->numel() == 256);
}

TEST_CASE("iota, eye: an unsigned number that wrapped below 0 is refused") {
  const uint64_t n = 2;
  RAISES(OutOfBounds, "iota: the axis is above int64_t's range", iota({2, 2}, n - 3));
  RAISES(InvalidArgument, "eye: sizes has a value above int64_t's range", eye(n, n - 3));
  RAISES(InvalidArgument, "eye: size -3", eye(2, -3));
}

TEST_CASE("eye: ones on the main diagonal, square or not") {
  CHECK(values<float>(eye(2)) == Floats{1, 0, 0, 1});
  CHECK(values<float>(eye(2, 3)) == Floats{1, 0, 0, 0, 1, 0});
  CHECK(values<float>(eye(3, 2)) == Floats{1, 0, 0, 1, 0, 0});
  CHECK(values<int32_t>(eye(2, ScalarType::Int)) == Ints{1, 0, 0, 1});
  CHECK(values<int32_t>(eye(1, 2, ScalarType::Int)) == Ints{1, 0});
  CHECK(sizes(eye(0)) == Vector{0, 0});
  CHECK(sizes(eye(2, 0)) == Vector{2, 0});
  CHECK(shape_dynamism(eye(1, none, ScalarType::Float, kStatic)) == kStatic);
  RAISES(InvalidArgument, "eye: size -1", eye(-1));
  RAISES(InvalidArgument, "eye: size -2", eye(1, -2));
  RAISES(InvalidType, "eye: ", eye(1, ScalarType::Undefined));
}

}  // namespace sequence_test
