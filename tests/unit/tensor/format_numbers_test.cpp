// SPDX-License-Identifier: MIT
// How to_string() writes the elements of each dtype.
#include "tenon/tensor/format_numbers.h"

#include <clocale>
#include <cmath>
#include <complex>

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace format_numbers_test {

using namespace tenon;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLargest = std::numeric_limits<double>::max();

FormatOptions precision(int digits) {
  FormatOptions options;
  options.precision = digits;
  return options;
}
const FormatOptions kAll = precision(24);

/// The text without its last line.
std::string elements(const TensorPtr& t, const FormatOptions& options = {}) {
  const std::string text = to_string(t, options);
  return text.substr(0, text.rfind('\n'));
}
/// One element, or a row of them.
template <class T>
std::string print(T value, const FormatOptions& options = {}) {
  return elements(make_tensor_ptr(value), options);
}
template <class T>
std::string print(std::initializer_list<T> values, const FormatOptions& options = {}) {
  return elements(make_tensor_ptr(std::vector<T>(values)), options);
}

}  // namespace

TEST_CASE("to_string: integers are right-aligned and exact, 8 bits are numbers too") {
  tests::check_texts({
      {print({1, -20, 300}), "[  1 -20 300]"},
      {print({int16_t{-32768}, int16_t{32767}}), "[-32768  32767]"},
      {print({INT64_MIN, int64_t{0}, INT64_MAX}),
       "[-9223372036854775808                    0  9223372036854775807]"},
      {print({uint64_t{0}, UINT64_MAX}), "[                   0 18446744073709551615]"},
      {print({uint32_t{4294967295u}}), "[4294967295]"},
  });
}

TEST_CASE("to_string: Bool is True or False, in a column wide enough for both") {
  unsigned char bytes[3] = {0, 1, 7};  // any byte but 0 is True
  tests::check_texts({
      {elements(make_tensor_ptr({true, false})), "[ True False]"},
      {elements(make_tensor_ptr(false)), "False"},
      {elements(from_blob(static_cast<void*>(bytes), {3}, ScalarType::Bool)),
       "[False  True  True]"},
  });
}

TEST_CASE("to_string: floating numbers have a point, and no more digits than they need") {
  tests::check_texts({
      {print({1.0, 2.5, -10.125}), "[  1.      2.5   -10.125]"},
      {print({0.0, -0.0}), "[ 0. -0.]"},
      {print(-0.004, precision(2)), "-0."},
      // At most `precision` digits follow the point, the last one rounded, to the even one if it is
      // exactly between two.
      {print(2.0 / 3.0), "0.6667"},
      {print(2.0 / 3.0, precision(0)), "1."},
      {print({0.125, 0.375}, precision(2)), "[0.12 0.38]"},
      // Digits before the point are exact.
      {print(999999.9375f), "999999.94"},
      {print(99999992.0), "99999992."},
  });
}

TEST_CASE("to_string: exponents from 1e8, below 1e-4 and where numbers differ 1000 times") {
  tests::check_texts({
      {print(1e8), "1.e+08"},
      {print(0.0001), "0.0001"},
      {print(0.00009), "9.e-05"},
      {print({1.0, 1001.0}), "[1.000e+00 1.001e+03]"},
      {print({0.0, -1.0, 1000.0, kInfinity}), "[   0.   -1. 1000.   inf]"},
      // Equally many digits, of both parts; those that fill up are the number's, not zeros.
      {print({1.0, -2.5e10}), "[ 1.0e+00 -2.5e+10]"},
      {print({1e100, 0.0, 1e-5}), "[1.e+100 0.e+000 1.e-005]"},
      {print({0.0625, 1234.0}, precision(3)), "[6.250e-02 1.234e+03]"},
      {print({Half(0.00024414062f), Half(2.001953125f)}), "[2.441e-04 2.002e+00]"},
      {print(kLargest), "1.7977e+308"},
      {print(kLargest, kAll), "1.7976931348623157e+308"},
      {print(std::numeric_limits<double>::denorm_min(), kAll), "5.e-324"},
  });
}

// What numpy.array2string(a, precision=4, max_line_width=80) of NumPy 2.4.6 gives.
TEST_CASE("to_string: exponents from 1e3 in Half and from 1e6 in Float, as NumPy 2.3 and later") {
  const auto half = [](std::initializer_list<float> values, const FormatOptions& options = {}) {
    return elements(make_tensor_ptr(values, ScalarType::Half), options);
  };
  using Complex = complex<float>;
  tests::check_texts({
      {half({999.5f}), "[999.5]"},
      {half({1000.0f}), "[1.e+03]"},
      {half({1.0f, 999.0f}), "[  1. 999.]"},
      {half({0.0f, 1000.0f, float(kInfinity)}), "[0.e+00 1.e+03    inf]"},
      {half({250.5f, 0.25048828f}), "[250.5      0.2505]"},  // 1000.05 times: 1000 in Half
      {half({1.0004e-4f, 0.05f}), "[0.0001 0.05  ]"},
      {half({9.9e-5f}), "[9.9e-05]"},
      {print({1e6f}), "[1.e+06]"},
      {print({16777216.0f, 12345678.0f}), "[1.6777e+07 1.2346e+07]"},
      {print({1e6}), "[1000000.]"},
      {print({Complex(1e6f, 1.0f), Complex(1.0f, -2e6f)}), "[1.e+06+1.e+00j 1.e+00-2.e+06j]"},
      {print({complex<double>(1e6, 1.0)}), "[1000000.+1.j]"},
      // A power of two: the number below it is nearer than the one above, so it may be rounded up.
      {half({0.015625f, 100.0f}), "[1.563e-02 1.000e+02]"},
      {half({0.015625f}, kAll), "[0.01563]"},
      {half({0.0078125f}, kAll), "[0.007812]"},
      {print({9.5367431640625e-07f}, kAll), "[9.536743e-07]"},
  });
}

TEST_CASE("to_string: a complex number is its two parts, which are two columns") {
  using Complex = complex<double>;
  tests::check_texts({
      {print(std::complex<double>(0.0, -0.0)), "0.-0.j"},
      {print({Complex(1.0, 2.0), Complex(-1.5, -10.25)}), "[ 1.  +2.j   -1.5-10.25j]"},
      {print({Complex(1e9, 0.5), Complex(1.0, -1.0)}), "[1.e+09+0.5j 1.e+00-1.j ]"},
      {print({Complex(1.0, 1e9), Complex(kNan, -kInfinity)}), "[ 1.+1.e+09j nan   -infj]"},
      // Each part has the digits that its type needs.
      {print(complex<Half>(Half(0.1f), Half(0.3f)), kAll), "0.1+0.3j"},
      {print(Complex(0.1, 0.30000000000000004), kAll), "0.1+0.30000000000000004j"},
  });
}

// What numpy.array2string of NumPy 2.4.6 gives.
// A promise of docs/guarantees.md.
TEST_CASE("to_string: a power of two has the fewest digits, even where they are not the nearest") {
  tests::check_texts({
      {print(std::ldexp(1.0, -24), kAll), "5.960464477539063e-08"},
      {print(std::ldexp(1.0, 887), kAll), "1.0318252561243462e+267"},
      {print({std::ldexp(1.0, -24), 0.5}, precision(16)),
       "[5.960464477539063e-08 5.000000000000000e-01]"},
      // Digits that only fill up are the number's again.
      {print({std::ldexp(1.0, -24), 1e-8 / 3}, precision(20)),
       "[5.9604644775390625e-08 3.3333333333333334e-09]"},
      {print(std::ldexp(1.0, -24), precision(10)), "5.9604644775e-08"},
  });
}

// A promise of docs/guarantees.md.
TEST_CASE("to_string: the digits of the smallest and largest numbers are all computed") {
  const auto smallest = std::numeric_limits<double>::denorm_min();
  tests::check_texts({
      {print({smallest, kLargest}, kAll), "[4.9406564584124654e-324 1.7976931348623157e+308]"},
      {print({-smallest, 0.0}), "[-5.e-324  0.e+000]"},
      {print({std::numeric_limits<double>::min(), 3 * smallest}, kAll),
       "[2.2250738585072014e-308 1.4821969375237396e-323]"},
      {print(std::numeric_limits<float>::denorm_min(), kAll), "1.e-45"},
      {print(std::numeric_limits<float>::max(), kAll), "3.4028235e+38"},
      {print(std::numeric_limits<Half>::denorm_min(), kAll), "6.e-08"},
      {print(std::numeric_limits<BFloat16>::max(), kAll), "3.39e+38"},
      {print({9.9996, 99.996}), "[ 9.9996 99.996 ]"},
      {print({9.99996, 99.99996}), "[ 10. 100.]"},
      {print({9.99996e-9, 1.0}), "[1.e-08 1.e+00]"},
      {print({9.99996e-9, 1.25}), "[1.00e-08 1.25e+00]"},
  });
}

// A promise of docs/guarantees.md.
TEST_CASE("to_string: a C locale with another point makes no difference") {
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  // Commas, and U+066B; none of them need be there.
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "ps_AF.UTF-8", "German"}) {
    if (std::setlocale(LC_NUMERIC, name) == nullptr) continue;
    const std::string fixed = print({0.1f, 2.5f, -1.0f / 3.0f});
    const std::string exponents = print({1.5e10, 0.5});
    std::setlocale(LC_NUMERIC, before.c_str());
    tests::check_texts({{fixed, "[ 0.1     2.5    -0.3333]"}, {exponents, "[1.5e+10 5.0e-01]"}});
  }
}

}  // namespace format_numbers_test
