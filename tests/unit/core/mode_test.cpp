// SPDX-License-Identifier: MIT
#include "tenon/core/mode.h"

#include "support/catch.h"
#include "tenon/tenon.h"

namespace mode_test {

// In plain mode the library's own types are the public ones.
static_assert(std::is_same_v<tenon::own::Half, tenon::Half>);
static_assert(std::is_same_v<tenon::own::BFloat16, tenon::BFloat16>);
static_assert(std::is_same_v<tenon::own::Float8_e4m3fn, tenon::Float8_e4m3fn>);
static_assert(std::is_same_v<tenon::own::complex<float>, tenon::complex<float>>);
static_assert(std::is_same_v<tenon::own::Scalar, tenon::Scalar>);
static_assert(std::is_same_v<tenon::own::ScalarType, tenon::ScalarType>);
static_assert(tenon::detail::foreign_scalar_type<float>() == -1);
static_assert(std::is_same_v<tenon::detail::PublicElement<tenon::Half, 5>::type, tenon::Half>);

namespace {

/// A Scalar with the members that c10's has, and no other.
class Foreign {
 public:
  enum class Type { Long = 4, Double = 7, ComplexDouble = 10, Bool = 11, UInt64 = 29 };
  Foreign(Type type, double real, double imag = 0) : type_(type), real_(real), imag_(imag) {}
  bool isBoolean() const { return type_ == Type::Bool; }
  bool isFloatingPoint() const { return type_ == Type::Double; }
  bool isComplex() const { return type_ == Type::ComplexDouble; }
  Type type() const { return type_; }
  tenon::complex<double> toComplexDouble() const { return {real_, imag_}; }
  template <class T>
  T to() const {
    return static_cast<T>(real_);
  }

 private:
  Type type_;
  double real_;
  double imag_;
};

}  // namespace

TEST_CASE("mode: another library's Scalar becomes one of the same kind and value") {
  using tenon::Scalar;
  CHECK(Scalar(Foreign(Foreign::Type::Bool, 1)).isBoolean());
  CHECK(Scalar(Foreign(Foreign::Type::Long, -7)).to<int64_t>() == -7);
  CHECK(Scalar(Foreign(Foreign::Type::Long, -7)).isIntegral(false));
  CHECK(Scalar(Foreign(Foreign::Type::Double, 0.5)).to<double>() == 0.5);
  CHECK(Scalar(Foreign(Foreign::Type::UInt64, 9.3e18)).to<uint64_t>() == 9300000000000000000u);
  const auto complex = Scalar(Foreign(Foreign::Type::ComplexDouble, 1, -2));
  CHECK(complex.isComplex());
  CHECK(complex.to<tenon::complex<double>>() == tenon::complex<double>(1, -2));
}

}  // namespace mode_test
