// SPDX-License-Identifier: MIT
// Scalar: one number of any kind, with checked conversions.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tenon/core/scalar_type.h"

TENON_BEGIN_NAMESPACE
TENON_BEGIN_OWN
class Scalar;
TENON_END_OWN
namespace detail {
using own::Scalar;

/// Detects c10's and ExecuTorch's Scalar by their members.
template <class S, class = void>
struct IsForeignScalar : std::false_type {};
template <class S>
struct IsForeignScalar<S, std::void_t<decltype(std::declval<const S&>().isFloatingPoint()),
                                      decltype(std::declval<const S&>().isBoolean()),
                                      decltype(std::declval<const S&>().template to<int64_t>())>>
    : std::negation<std::is_same<S, Scalar>> {};

/// Detects c10's Scalar, which also holds complex numbers and uint64_t.
template <class S, class = void>
struct HasComplexAndType : std::false_type {};
template <class S>
struct HasComplexAndType<S, std::void_t<decltype(std::declval<const S&>().toComplexDouble()),
                                        decltype(std::declval<const S&>().type())>>
    : std::true_type {};

/// Whether c10's Scalar can hold integers above INT64_MAX: since libtorch 2.3.
template <class S, class = void>
struct HasUInt64 : std::false_type {};
template <class S>
struct HasUInt64<S, std::void_t<decltype(std::declval<const S&>().template to<uint64_t>())>>
    : std::true_type {};

}  // namespace detail
TENON_BEGIN_OWN

/// A bool, an integer, a floating or a complex number.
///
/// Converts implicitly from every element type. Integers are held exactly, uint64_t included, the
/// rest as double or complex<double>.
/// Source: c10::Scalar.
class Scalar {
 public:
  /// 0, or the value of any element type.
  Scalar() noexcept : Scalar(int64_t{0}) {}
  template <class T, std::enable_if_t<detail::is_element_v<T>, int> = 0>
  Scalar(T value) noexcept {
    if constexpr (std::is_same_v<T, bool>) {
      kind_ = Kind::Bool;
      bits_ = value ? 1 : 0;
    } else if constexpr (std::is_integral_v<T>) {
      kind_ = std::is_signed_v<T> ? Kind::Signed : Kind::Unsigned;
      bits_ = static_cast<uint64_t>(value);
    } else if constexpr (detail::IsComplexLike<T>::value) {
      kind_ = Kind::Pair;
      real_ = static_cast<double>(value.real());
      imag_ = static_cast<double>(value.imag());
    } else {
      kind_ = Kind::Double;
      real_ = static_cast<double>(value);
    }
  }

  /// From c10's or ExecuTorch's Scalar.
  template <class S, std::enable_if_t<detail::IsForeignScalar<S>::value, int> = 0>
  Scalar(const S& value) : Scalar(from_foreign(value)) {}

  /// Whether this holds a bool.
  bool isBoolean() const noexcept { return kind_ == Kind::Bool; }
  /// Whether this holds an integer, or a bool if `includeBool`.
  bool isIntegral(bool includeBool) const noexcept {
    return is_integer() || (includeBool && isBoolean());
  }
  /// Whether this holds a real floating number.
  bool isFloatingPoint() const noexcept { return kind_ == Kind::Double; }
  /// Whether this holds a complex number.
  bool isComplex() const noexcept { return kind_ == Kind::Pair; }

  /// Bool, Long, UInt64 (for integers above INT64_MAX), Double or ComplexDouble.
  /// Source: c10::Scalar::type.
  ScalarType type() const noexcept {
    if (isBoolean()) return ScalarType::Bool;
    if (kind_ == Kind::Unsigned && bits_ >> 63 != 0) return ScalarType::UInt64;
    if (is_integer()) return ScalarType::Long;
    return isComplex() ? ScalarType::ComplexDouble : ScalarType::Double;
  }

  /// The value as a T. Rounding to a shorter floating type is allowed; any other change of the
  /// value is an error.
  /// Errors: InvalidArgument when the value is out of T's range, has a fraction or an imaginary
  /// part that T lacks, or is neither 0 nor 1 for bool.
  template <class T>
  T to() const {
    TENON_CHECK(fits<T>(), Error::InvalidArgument, "Scalar::to: ", *this, " does not fit ",
                CppTypeToScalarType<T>::value);
    return convert<T>();
  }

  /// Whether to<T>() succeeds.
  template <class T>
  bool fits() const noexcept {
    if constexpr (!detail::IsComplexLike<T>::value) {
      if (isComplex() && has_imaginary_part()) return false;
    }
    if constexpr (std::is_integral_v<T>) {
      if (isFloatingPoint() || isComplex()) {
        if (!detail::is_finite(real_)) return false;
        // 2^digits is exact in double; the largest integer itself may not be.
        const double end =
            static_cast<double>(uint64_t{1} << (std::numeric_limits<T>::digits - 1)) * 2.0;
        const double begin = std::is_signed_v<T> ? -end : 0.0;
        if (!(real_ >= begin && real_ < end)) return false;
      }
    }
    return Scalar(convert<T>()).keeps(*this);
  }

  /// Whether this equals `value`, apart from the rounding of floating values. A finite value must
  /// not have become infinite or NaN, nor infinity NaN.
  bool keeps(const Scalar& value) const noexcept {
    if (isIntegral(true)) {
      if (!value.isIntegral(true)) return real_part() == value.real_;
      return bits_ == value.bits_ && is_negative() == value.is_negative();
    }
    return keeps(real_part(), value.real_part()) && keeps(imag_, value.imag_);
  }

  /// Writes the value to 16 bytes, as the type that type() names; a Bool as int64_t.
  void store_exact(void* exact) const noexcept {
    if (isIntegral(true)) {
      std::memcpy(exact, &bits_, sizeof bits_);
    } else {
      std::memcpy(exact, &real_, sizeof real_);
      std::memcpy(static_cast<char*>(exact) + sizeof real_, &imag_, sizeof imag_);
    }
  }

 private:
  // Pair: a complex number. The name Complex is a macro in X.h.
  enum class Kind : uint8_t { Bool, Signed, Unsigned, Double, Pair };

  template <class S>
  static Scalar from_foreign(const S& value) {
    if (value.isBoolean()) return value.template to<bool>();
    if (value.isFloatingPoint()) return value.template to<double>();
    if constexpr (detail::HasComplexAndType<S>::value) {
      if (value.isComplex()) return value.toComplexDouble();
      if constexpr (detail::HasUInt64<S>::value) {
        if (static_cast<int>(value.type()) == static_cast<int>(ScalarType::UInt64)) {
          return value.template to<uint64_t>();
        }
      }
    }
    return value.template to<int64_t>();
  }

  bool is_integer() const noexcept { return kind_ == Kind::Signed || kind_ == Kind::Unsigned; }
  double real_part() const noexcept {
    if (kind_ == Kind::Signed) return static_cast<double>(static_cast<int64_t>(bits_));
    return is_integer() || isBoolean() ? static_cast<double>(bits_) : real_;
  }

  bool has_imaginary_part() const noexcept { return detail::is_nan(imag_) || imag_ != 0; }
  bool is_negative() const noexcept {
    return kind_ == Kind::Signed && static_cast<int64_t>(bits_) < 0;
  }
  /// Whether two numbers differ by rounding only.
  static bool keeps(double after, double before) noexcept {
    if (detail::is_finite(before)) return detail::is_finite(after);
    return detail::is_nan(before) || detail::double_bits(after) == detail::double_bits(before);
  }

  template <class T>
  T convert() const noexcept {
    if constexpr (detail::other_scalar_type<T>() >= 0) {
      const auto own_value =
          convert<typename detail::OwnElement<detail::scalar_type_of<T>()>::type>();
      T value;
      std::memcpy(&value, &own_value, sizeof value);
      return value;
    } else if constexpr (detail::IsComplexLike<T>::value) {
      using V = typename detail::IsComplexLike<T>::Part;
      return T(static_cast<V>(real_part()), static_cast<V>(imag_));
    } else if constexpr (std::is_same_v<T, bool>) {
      return bits_ != 0 || real_ != 0;
    } else {
      if (kind_ == Kind::Signed) return static_cast<T>(static_cast<int64_t>(bits_));
      return is_integer() || isBoolean() ? static_cast<T>(bits_) : static_cast<T>(real_);
    }
  }

  friend void append(detail::Message& out, const Scalar& s) noexcept {
    using detail::append;
    if (s.isBoolean()) return append(out, s.bits_ != 0);
    if (s.kind_ == Kind::Signed) return append(out, static_cast<int64_t>(s.bits_));
    if (s.kind_ == Kind::Unsigned) return append(out, s.bits_);
    append(out, s.real_);
    if (s.isComplex()) {
      const bool is_below = !detail::is_nan(s.imag_) && s.imag_ < 0;
      append(out, is_below ? " - " : " + ");
      append(out, is_below ? -s.imag_ : s.imag_);
      append(out, 'i');
    }
  }

  Kind kind_;
  uint64_t bits_ = 0;  // Bool, Signed, Unsigned
  double real_ = 0;    // Double, Pair
  double imag_ = 0;    // the imaginary part of a Pair
};

TENON_END_OWN
TENON_END_NAMESPACE
