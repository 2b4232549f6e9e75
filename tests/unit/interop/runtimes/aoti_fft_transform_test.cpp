// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_fft_transform.h"

#include <cmath>

#include "support/catch.h"
#include "tenon/tenon.h"

namespace aoti_fft_transform_test {

using namespace tenon;
using detail::FourierNumber;

namespace {

FourierNumber number(size_t i) {
  return {std::sin(1.7 * static_cast<double>(i)), std::cos(0.3 * static_cast<double>(i * i))};
}

/// The definition: a sum for each number.
std::vector<FourierNumber> sums(const std::vector<FourierNumber>& row, bool is_inverse) {
  std::vector<FourierNumber> made(row.size());
  const double turn =
      (is_inverse ? 2 : -2) * 3.14159265358979323846 / static_cast<double>(row.size());
  for (size_t k = 0; k < row.size(); ++k) {
    for (size_t i = 0; i < row.size(); ++i) {
      made[k] += row[i] * std::polar(1.0, turn * static_cast<double>(i * k % row.size()));
    }
  }
  return made;
}

}  // namespace

TEST_CASE("aoti_fft: rows of each length are the sums of the definition", "[aoti_fft_transform]") {
  // Small factors, primes below and above the bound of Bluestein's method, products of these.
  for (const size_t length : std::initializer_list<size_t>{1, 2, 3, 4, 5, 7, 8, 12, 30, 37, 41, 74,
                                                           82, 123, 128, 211, 400, 509}) {
    CAPTURE(length);
    std::vector<FourierNumber> row(length);
    for (size_t i = 0; i < length; ++i) row[i] = number(i);
    for (const bool is_inverse : {false, true}) {
      detail::FourierPlan plan(length, is_inverse);
      const std::vector<FourierNumber> expected = sums(row, is_inverse);
      for (int time = 0; time < 2; ++time) {  // a plan has no memory of the row before
        const FourierNumber* const made = plan.run(row.data());
        double worst = 0;
        for (size_t i = 0; i < length; ++i)
          worst = (std::max)(worst, std::abs(made[i] - expected[i]));
        CHECK(worst < 1e-11 * static_cast<double>(length));
      }
    }
    detail::RealFourierPlan real(length);
    for (size_t i = 0; i < length; ++i) {
      real.row()[i] = row[i].real();
      row[i] = row[i].real();
    }
    const std::vector<FourierNumber> expected = sums(row, false);
    const FourierNumber* const made = real.run();
    double worst = 0;
    for (size_t i = 0; i <= length / 2; ++i)
      worst = (std::max)(worst, std::abs(made[i] - expected[i]));
    CHECK(worst < 1e-11 * static_cast<double>(length));
  }
  CHECK(detail::largest_factor(1) == 1);
  CHECK(detail::largest_factor(60) == 5);
  CHECK(detail::largest_factor(2 * 9973) == 9973);
  CHECK(detail::largest_factor(49) == 7);
}

}  // namespace aoti_fft_transform_test
