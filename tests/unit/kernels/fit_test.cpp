// SPDX-License-Identifier: MIT
#include "tenon/kernels/fit.h"

#include <limits>
#include <vector>

#include "kernels/helpers.h"
#include "support/catch.h"

namespace fit_test {

using namespace tenon;
using namespace tests;
using detail::check_fit;

namespace {

/// The ends of every type, with their neighbours, as elements of `type`.
std::vector<unsigned char> edges_of(ScalarType type) {
  std::vector<unsigned char> all;
  const auto add = [&](const Scalar& value) {
    alignas(16) unsigned char element[16];
    if (detail::store_scalar(type, value, element) != Error::Ok) return;
    all.insert(all.end(), element, element + elementSize(type));
  };
  for (int bits = 0; bits <= 64; ++bits) {
    for (const int64_t by : {-1, 0, 1}) {
      const uint64_t power = bits == 64 ? 0 : uint64_t{1} << bits;
      add(power + static_cast<uint64_t>(by));
      add(static_cast<int64_t>(power + static_cast<uint64_t>(by)));
      add(static_cast<int64_t>(uint64_t{0} - power + static_cast<uint64_t>(by)));
    }
  }
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double value :
       {0.0,          -0.0,    0.5,     447.0,     448.0,
        464.0,        465.0,   57344.0, 61439.0,   61440.0,
        65504.0,      65519.0, 65520.0, 3.3895e38, 3.396e38,
        3.4028234e38, 3.41e38, 1e300,   infinity,  std::numeric_limits<double>::quiet_NaN()}) {
    add(value);
    add(-value);
    add(complex<double>(1, value));
    add(complex<double>(-value, 2));
  }
  return all;
}

}  // namespace

TEST_CASE("check_fit: says of each value what store_scalar says, for every pair that is cast") {
  for (const ScalarType from : kAllTypes) {
    const std::vector<unsigned char> elements = edges_of(from);
    const size_t size = elementSize(from);
    REQUIRE(elements.size() > 4 * size);
    for (const ScalarType to : kAllTypes) {
      if (to == from || !canCast(from, to)) continue;
      INFO(toString(from) << " to " << toString(to));
      for (size_t at = 0; at < elements.size(); at += size) {
        alignas(16) unsigned char element[16];
        const Scalar value = detail::load_scalar(from, elements.data() + at);
        INFO("value " << at / size);
        CHECK(check_fit(to, from, elements.data() + at, 1) ==
              detail::store_scalar(to, value, element));
      }
    }
  }
}

TEST_CASE("check_fit: finds one value among many, wherever it is, and names it") {
  std::vector<int32_t> values(3000, 255);
  CHECK(check_fit(ScalarType::Byte, ScalarType::Int, values.data(), 3000) == Error::Ok);
  for (const size_t at : {0u, 1u, 1023u, 1024u, 2047u, 2999u}) {
    values[at] = -1;
    INFO("at " << at);
    RETURNS(InvalidArgument, "the value -1 does not fit Byte",
            check_fit(ScalarType::Byte, ScalarType::Int, values.data(), 3000));
    values[at] = 255;
  }
  CHECK(check_fit(ScalarType::Byte, ScalarType::Int, values.data(), 0) == Error::Ok);
}

TEST_CASE("check_fit: NaN and infinity fit where the type has them, among others too") {
  std::vector<float> values(2000, std::numeric_limits<float>::quiet_NaN());
  values[7] = -std::numeric_limits<float>::infinity();
  values[8] = 65519.0f;
  CHECK(check_fit(ScalarType::Half, ScalarType::Float, values.data(), 2000) == Error::Ok);
  RETURNS(InvalidArgument, "does not fit Float8_e4m3fn",
          check_fit(ScalarType::Float8_e4m3fn, ScalarType::Float, values.data(), 2000));
  values[1999] = 65520.0f;
  RETURNS(InvalidArgument, "the value 65520 does not fit Half",
          check_fit(ScalarType::Half, ScalarType::Float, values.data(), 2000));
}

}  // namespace fit_test
