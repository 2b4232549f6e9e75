// SPDX-License-Identifier: MIT
#include "tenon/core/numbers.h"

#include <complex>

#include "support/catch.h"
#include "tenon/tenon.h"

namespace complex_test {

using namespace tenon;

TEST_CASE("complex: the bytes are those of std::complex") {
  STATIC_REQUIRE(sizeof(complex<float>) == 8);
  STATIC_REQUIRE(sizeof(complex<double>) == 16);
  STATIC_REQUIRE(sizeof(complex<Half>) == 4);
  STATIC_REQUIRE(alignof(complex<float>) == alignof(std::complex<float>));
  STATIC_REQUIRE(alignof(complex<double>) == alignof(std::complex<double>));
  STATIC_REQUIRE(std::is_trivially_copyable_v<complex<float>>);
  STATIC_REQUIRE(std::is_trivially_default_constructible_v<complex<double>>);
  STATIC_REQUIRE(std::is_standard_layout_v<complex<double>>);

  const std::complex<double> theirs(1.25, -7);
  complex<double> ours;
  std::memcpy(static_cast<void*>(&ours), &theirs, sizeof ours);
  CHECK(ours == complex<double>(1.25, -7));
}

}  // namespace complex_test
