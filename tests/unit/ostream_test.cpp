// SPDX-License-Identifier: MIT
#include "tenon/ostream.h"

#include <complex>
#include <cstdint>
#include <iomanip>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.h"
#include "tenon/exchange/blob.h"
#include "tenon/tensor/tensor_ptr.h"

namespace ostream_test {

using namespace tenon;

// Only strings are compared here: elsewhere in this program the test framework knows no operator<<
// for these types, and must not know two ways to print one type.
namespace {

template <class T>
std::string print(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

}  // namespace

TEST_CASE("operator<<: a Tensor and a TensorPtr print as to_string() does") {
  auto t = make_tensor_ptr({2, 2}, {1, 2, 3, 4});
  CHECK(print(t) == "[[1 2]\n [3 4]]\nInt {2, 2}");
  CHECK(print(*t) == "[[1 2]\n [3 4]]\nInt {2, 2}");
  CHECK(print(make_tensor(1.5)) == "1.5\nDouble {}");
}

TEST_CASE("operator<<: an undefined tensor prints") {
  CHECK(print(tenon::Tensor()) == "undefined tensor");
  CHECK(print(tenon::TensorPtr()) == "undefined tensor");
}

TEST_CASE("operator<<: the stream's precision and width are not the elements'") {
  std::ostringstream out;
  out << std::setprecision(1) << std::setw(20) << std::left << std::setfill('.')
      << make_tensor({0.25f, 10.5f});
  CHECK(out.str() == "[ 0.25 10.5 ]\nFloat {2}");
  out.str("");
  out << std::setw(20) << make_tensor(true);
  CHECK(out.str() == "True\nBool {}........");
}

TEST_CASE("operator<<: ScalarType, Device and Error print their names") {
  CHECK(print(ScalarType::Float8_e4m3fn) == "Float8_e4m3fn");
  CHECK(print(ScalarType::Undefined) == "Undefined");
  CHECK(print(static_cast<ScalarType>(99)) == "Undefined (99)");
  CHECK(print(tenon::Device("cuda:1")) == "cuda:1");
  CHECK(print(tenon::Device()) == "cpu");
  CHECK(print(tenon::Error::OutOfMemory) == "OutOfMemory");
}

TEST_CASE("operator<<: a Scalar prints as in error messages") {
  CHECK(print(tenon::Scalar(true)) == "true");
  CHECK(print(tenon::Scalar(UINT64_MAX)) == "18446744073709551615");
  CHECK(print(tenon::Scalar(INT64_MIN)) == "-9223372036854775808");
  CHECK(print(tenon::Scalar(0.5)) == "0.5");
  CHECK(print(tenon::Scalar(complex<double>(1, -2))) == "1 - 2i");
}

TEST_CASE("operator<<: Dims and spans of sizes print as in error messages") {
  CHECK(print(tenon::Dims{2, 3}) == "{2, 3}");
  CHECK(print(tenon::Dims()) == "{}");
  CHECK(print(tenon::DimOrder{1, 0}) == "{1, 0}");
  CHECK(to_string(tenon::DimOrder{1, 0}) == "{1, 0}");
  CHECK(print(tenon::Blob{nullptr, {2}, {1}}.strides) == "{1}");
  auto t = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(print(t->sizes()) == "{2, 3}");
  CHECK(print(t->strides()) == "{3, 1}");
  CHECK(print(t->dim_order()) == "{0, 1}");
}

TEST_CASE("operator<<: a span prints numbers of any element type, those of 8 bits too") {
  auto t = make_tensor_ptr({0.5f, 2.0f});
  CHECK(print(t->data<float>()) == "{0.5, 2}");
  const std::vector<int8_t> bytes = {-1, 65};
  CHECK(print(ArrayRef<int8_t>(bytes)) == "{-1, 65}");
  const Half halves[2] = {Half(0.5f), Half(1.0f)};
  CHECK(print(ArrayRef<Half>(halves)) == "{0.5, 1}");
  const std::complex<float> parts[1] = {{1.0f, 2.0f}};
  CHECK(print(ArrayRef<std::complex<float>>(parts)) == "{(1,2)}");
  const bool flags[2] = {true, false};
  CHECK(print(ArrayRef<bool>(flags)) == "{1, 0}");
}

TEST_CASE("operator<<: complex prints as std::complex does") {
  CHECK(print(complex<float>(1.5f, -2.0f)) == "(1.5,-2)");
  CHECK(print(complex<Half>(Half(1.5f), Half(-2.0f))) == "(1.5,-2)");
}

TEST_CASE("operator<<: the stream's format is that of the numbers in a list and in complex") {
  std::ostringstream out;
  out << std::setprecision(2) << std::setw(4) << Span<const double>(std::vector<double>{1.25, 3})
      << std::setw(4) << complex<double>(1, 2) << 7;
  CHECK(out.str() == "{ 1.2,    3}(   1,   2)7");
}

TEST_CASE("operator<<: the small floating types print as float does") {
  CHECK(print(Half(0.5f)) == "0.5");
  CHECK(print(tenon::BFloat16(-2.0f)) == "-2");
  CHECK(print(tenon::Float8_e5m2(0.25f)) == "0.25");
}

TEST_CASE("operator<<: with the whole namespace in use, other values print as ever") {
  using namespace tenon;
  std::ostringstream out;
  out << "text" << ' ' << std::string("string") << ' ' << 1 << ' ' << 2.5 << ' ' << true << ' '
      << Half(1.5f) << ' ' << std::complex<double>(1, 2) << ' ' << BFloat16(1.0f);
  CHECK(out.str() == "text string 1 2.5 1 1.5 (1,2) 1");
}

}  // namespace ostream_test
