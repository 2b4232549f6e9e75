// SPDX-License-Identifier: MIT
// ScalarType: the element types, their properties, and visit() to dispatch on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "tenon/core/error.h"
#include "tenon/core/numbers.h"

TENON_BEGIN_VALUES
TENON_BEGIN_OWN

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"  // ScalarType::Half beside tenon::Half, on purpose
#endif

/// The type of a tensor's elements. Names and numbers are c10's, so that a cast converts a value
/// for ExecuTorch, ATen and their files. c10's quantised and bit types are declared for code that
/// compares with them; like Undefined they are not valid, and no tensor has them.
enum class ScalarType : int8_t {
  Byte = 0,              ///< uint8_t
  Char = 1,              ///< int8_t
  Short = 2,             ///< int16_t
  Int = 3,               ///< int32_t
  Long = 4,              ///< int64_t
  Half = 5,              ///< 16-bit IEEE 754 floating
  Float = 6,             ///< float
  Double = 7,            ///< double
  ComplexHalf = 8,       ///< two Halves
  ComplexFloat = 9,      ///< two floats
  ComplexDouble = 10,    ///< two doubles
  Bool = 11,             ///< bool, a byte that is 0 or 1
  QInt8 = 12,            ///< quantised int8_t; not valid
  QUInt8 = 13,           ///< quantised uint8_t; not valid
  QInt32 = 14,           ///< quantised int32_t; not valid
  BFloat16 = 15,         ///< the upper half of a float
  QUInt4x2 = 16,         ///< two quantised numbers of 4 bits; not valid
  QUInt2x4 = 17,         ///< four quantised numbers of 2 bits; not valid
  Bits1x8 = 18,          ///< eight single bits; not valid
  Bits2x4 = 19,          ///< four pairs of bits; not valid
  Bits4x2 = 20,          ///< two groups of 4 bits; not valid
  Bits8 = 21,            ///< 8 bits without a meaning; not valid
  Bits16 = 22,           ///< 16 bits without a meaning; not valid
  Float8_e5m2 = 23,      ///< 8 bits: 5 of exponent, 2 of mantissa
  Float8_e4m3fn = 24,    ///< 8 bits: 4 of exponent, 3 of mantissa; no infinities
  Float8_e5m2fnuz = 25,  ///< as Float8_e5m2, without infinities and negative zero
  Float8_e4m3fnuz = 26,  ///< as Float8_e4m3fn, without negative zero
  UInt16 = 27,           ///< uint16_t
  UInt32 = 28,           ///< uint32_t
  UInt64 = 29,           ///< uint64_t
  Undefined = 46,        ///< no type; the number is ExecuTorch 1.5's and torch 2.13's
};

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

TENON_END_OWN
TENON_END_NAMESPACE

TENON_BEGIN_NAMESPACE
namespace detail {

using own::ScalarType;

/// Converts to tenon's enumeration, and back. All numbers are c10's, except that c10's number of
/// Undefined depends on the version. Casts through int8_t, because a cast to the same type is a
/// warning.
constexpr own::ScalarType own_type(tenon::ScalarType type) noexcept {
  return type == tenon::ScalarType::Undefined
             ? own::ScalarType::Undefined
             : static_cast<own::ScalarType>(static_cast<int8_t>(type));
}
constexpr tenon::ScalarType public_type(own::ScalarType type) noexcept {
  return type == own::ScalarType::Undefined
             ? tenon::ScalarType::Undefined
             : static_cast<tenon::ScalarType>(static_cast<int8_t>(type));
}

/// Whether T is the public ScalarType and that is not tenon's own.
template <class T>
inline constexpr bool is_foreign_type_v =
    std::is_same_v<T, tenon::ScalarType> && !std::is_same_v<T, own::ScalarType>;

}  // namespace detail

/// Calls a macro with each C++ type and enumerator: `#define ROW(T, name)`,
/// `TENON_FORALL_SCALAR_TYPES(ROW)`.
/// Source: AT_FORALL_SCALAR_TYPES.
#define TENON_FORALL_SCALAR_TYPES(_)                        \
  _(uint8_t, Byte)                                          \
  _(int8_t, Char)                                           \
  _(int16_t, Short)                                         \
  _(int32_t, Int)                                           \
  _(int64_t, Long)                                          \
  _(::tenon::own::Half, Half)                               \
  _(float, Float)                                           \
  _(double, Double)                                         \
  _(::tenon::own::complex<::tenon::own::Half>, ComplexHalf) \
  _(::tenon::own::complex<float>, ComplexFloat)             \
  _(::tenon::own::complex<double>, ComplexDouble)           \
  _(bool, Bool)                                             \
  _(::tenon::own::BFloat16, BFloat16)                       \
  _(::tenon::own::Float8_e5m2, Float8_e5m2)                 \
  _(::tenon::own::Float8_e4m3fn, Float8_e4m3fn)             \
  _(::tenon::own::Float8_e5m2fnuz, Float8_e5m2fnuz)         \
  _(::tenon::own::Float8_e4m3fnuz, Float8_e4m3fnuz)         \
  _(uint16_t, UInt16)                                       \
  _(uint32_t, UInt32)                                       \
  _(uint64_t, UInt64)

/// The C++ type that stores an element: `ScalarTypeToCppType<ScalarType::Int>::type` is int32_t.
template <ScalarType type>
struct ScalarTypeToCppType;

namespace detail {

template <class T, class = void>
struct IsComplexLike : std::false_type {};
/// Detects std::complex<V>, c10::complex<V> and tenon::complex<V>: class templates with the
/// argument V and twice its size. Does not use value_type, which c10::complex<Half> lacks.
template <template <class> class C, class V>
struct IsComplexLike<C<V>, std::void_t<decltype(std::declval<const C<V>&>().real()),
                                       decltype(std::declval<const C<V>&>().imag())>>
    : std::bool_constant<sizeof(C<V>) == 2 * sizeof(V)> {
  using Part = V;
};

/// Integers map by width and sign, so that `long` and `long long` are both Long on every platform.
/// Plain char and the wide characters are text, not numbers, and have no ScalarType.
template <class T>
constexpr ScalarType integer_scalar_type() noexcept {
  if (std::is_same_v<T, bool>) return ScalarType::Bool;
  if (std::is_same_v<T, wchar_t> || std::is_same_v<T, char16_t> || std::is_same_v<T, char32_t>) {
    return ScalarType::Undefined;
  }
  constexpr bool is_signed = std::is_signed_v<T>;
  switch (sizeof(T)) {
    case 1:  // other types of this size: char and C++20's char8_t
      return std::is_same_v<T, signed char>     ? ScalarType::Char
             : std::is_same_v<T, unsigned char> ? ScalarType::Byte
                                                : ScalarType::Undefined;
    case 2: return is_signed ? ScalarType::Short : ScalarType::UInt16;
    case 4: return is_signed ? ScalarType::Int : ScalarType::UInt32;
    case 8: return is_signed ? ScalarType::Long : ScalarType::UInt64;
    default: return ScalarType::Undefined;
  }
}

/// The ScalarType's number for equivalent types: the compiler's 16-bit floats, std::float16_t and
/// std::bfloat16_t, and in ATen mode c10's types. -1 for any other type.
template <class T>
constexpr int other_scalar_type() noexcept {
#if TENON_HAS_FLOAT16
  if (std::is_same_v<T, _Float16>) return static_cast<int>(ScalarType::Half);
#endif
#if defined(__STDCPP_BFLOAT16_T__)
  if (std::is_same_v<T, decltype(0.0bf16)>) return static_cast<int>(ScalarType::BFloat16);
#endif
  return foreign_scalar_type<T>();
}

template <class T>
constexpr ScalarType scalar_type_of() noexcept {
  if constexpr (std::is_integral_v<T>) {
    return integer_scalar_type<T>();
  } else if constexpr (IsComplexLike<T>::value) {
    using V = typename IsComplexLike<T>::Part;
    // Two bytes and eleven digits: true for c10::Half, false for BFloat16 and short.
    constexpr bool is_half = sizeof(V) == 2 && std::numeric_limits<V>::digits == 11;
    return std::is_same_v<V, double>  ? ScalarType::ComplexDouble
           : std::is_same_v<V, float> ? ScalarType::ComplexFloat
           : is_half                  ? ScalarType::ComplexHalf
                                      : ScalarType::Undefined;
  } else {
#define TENON_DETAIL_CASE(cpp_type, name) \
  if constexpr (std::is_same_v<T, cpp_type>) return ScalarType::name;
    TENON_FORALL_SCALAR_TYPES(TENON_DETAIL_CASE)
#undef TENON_DETAIL_CASE
    constexpr int other = other_scalar_type<T>();
    return other < 0 ? ScalarType::Undefined : static_cast<ScalarType>(other);
  }
}

/// Whether T, cv-qualifiers aside, is the C++ type of some ScalarType.
template <class T>
inline constexpr bool is_element_v = scalar_type_of<std::remove_cv_t<T>>() != ScalarType::Undefined;

/// Byte types that are not element types. (unsigned char is Byte.)
template <class T>
inline constexpr bool is_char_or_byte_v = std::is_same_v<T, char> || std::is_same_v<T, std::byte>;

/// Whether Integer is an integer type, but neither bool nor a character type.
template <class Integer>
inline constexpr bool is_integer_v =
    std::is_integral_v<Integer> && !std::is_same_v<Integer, bool> && is_element_v<Integer>;

template <class T>
struct TypeTag {
  using type = T;
};

/// ScalarTypeToCppType for tenon's own types.
template <own::ScalarType type>
struct OwnElement;

}  // namespace detail

#define TENON_DETAIL_TRAIT(cpp_type, name)                                                       \
  template <>                                                                                    \
  struct ScalarTypeToCppType<detail::public_type(own::ScalarType::name)> {                       \
    using type =                                                                                 \
        typename detail::PublicElement<cpp_type, static_cast<int>(own::ScalarType::name)>::type; \
  };                                                                                             \
  template <>                                                                                    \
  struct detail::OwnElement<own::ScalarType::name> {                                             \
    using type = cpp_type;                                                                       \
  };
TENON_FORALL_SCALAR_TYPES(TENON_DETAIL_TRAIT)
#undef TENON_DETAIL_TRAIT

/// The ScalarType of a C++ type: `CppTypeToScalarType<float>::value` is Float. Recognises
/// std::complex and c10::complex too, and where the compiler has them _Float16, std::float16_t and
/// std::bfloat16_t. Other types have no `value` member, which SFINAE can test.
template <class T, class = void>
struct CppTypeToScalarType {};
template <class T>
struct CppTypeToScalarType<T, std::enable_if_t<detail::is_element_v<T>>>
    : std::integral_constant<ScalarType,
                             detail::public_type(detail::scalar_type_of<std::remove_cv_t<T>>())> {};

namespace detail {
#define TENON_DETAIL_TYPE(cpp_type, name) own::ScalarType::name,
inline constexpr own::ScalarType kScalarTypes[] = {TENON_FORALL_SCALAR_TYPES(TENON_DETAIL_TYPE)};
#undef TENON_DETAIL_TYPE
/// The type's index in kScalarTypes; for any other value, how many types there are.
constexpr size_t row_of(own::ScalarType type) noexcept {
  size_t row = 0;
  while (row < sizeof kScalarTypes && kScalarTypes[row] != type) ++row;
  return row;
}
/// The type as an integer, for a switch over some types: -Wswitch-enum would ask for a case for
/// each type.
template <class Type>
constexpr int number_of(Type type) noexcept {
  return static_cast<int>(type);
}
}  // namespace detail

TENON_BEGIN_OWN

/// Short names of the types: `zeros({2, 3}, kHalf)`. In ATen mode they are ATen's.
/// Source: at::kFloat and the others.
inline constexpr ScalarType kByte = ScalarType::Byte, kChar = ScalarType::Char,
                            kShort = ScalarType::Short, kInt = ScalarType::Int,
                            kLong = ScalarType::Long, kHalf = ScalarType::Half,
                            kFloat = ScalarType::Float, kDouble = ScalarType::Double,
                            kComplexHalf = ScalarType::ComplexHalf,
                            kComplexFloat = ScalarType::ComplexFloat,
                            kComplexDouble = ScalarType::ComplexDouble, kBool = ScalarType::Bool,
                            kBFloat16 = ScalarType::BFloat16,
                            kFloat8_e5m2 = ScalarType::Float8_e5m2,
                            kFloat8_e4m3fn = ScalarType::Float8_e4m3fn,
                            kFloat8_e5m2fnuz = ScalarType::Float8_e5m2fnuz,
                            kFloat8_e4m3fnuz = ScalarType::Float8_e4m3fnuz,
                            kUInt16 = ScalarType::UInt16, kUInt32 = ScalarType::UInt32,
                            kUInt64 = ScalarType::UInt64;

/// Calls `visitor(TypeTag<T>())` with the C++ type of `type` and returns what it returns; all calls
/// must return the same type. `otherwise()` is called for Undefined and numbers that are not types.
template <class Visitor, class Otherwise>
constexpr decltype(auto) visit(ScalarType type, Visitor&& visitor, Otherwise&& otherwise) {
  switch (detail::number_of(type)) {
#define TENON_DETAIL_CASE(cpp_type, name) \
  case detail::number_of(ScalarType::name): return visitor(detail::TypeTag<cpp_type>());
    TENON_FORALL_SCALAR_TYPES(TENON_DETAIL_CASE)
#undef TENON_DETAIL_CASE
    default: break;
  }
  return otherwise();
}

/// Bytes in one element; 0 for Undefined.
/// Source: c10::elementSize.
constexpr size_t elementSize(ScalarType type) noexcept {
  switch (detail::number_of(type)) {
#define TENON_DETAIL_CASE(cpp_type, name) \
  case detail::number_of(ScalarType::name): return sizeof(cpp_type);
    TENON_FORALL_SCALAR_TYPES(TENON_DETAIL_CASE)
#undef TENON_DETAIL_CASE
    default: return 0;
  }
}

/// Whether a tensor can have this dtype; false for Undefined, for quantised and bit types, and for
/// any other number.
constexpr bool isValidType(ScalarType type) noexcept { return elementSize(type) != 0; }

/// The name, such as "Float"; "Undefined" if the type is not valid.
/// Source: c10::toString.
constexpr const char* toString(ScalarType type) noexcept {
#define TENON_DETAIL_NAME(cpp_type, name) #name "\0"
  return detail::name_at(TENON_FORALL_SCALAR_TYPES(TENON_DETAIL_NAME) "Undefined",
                         detail::row_of(type));
#undef TENON_DETAIL_NAME
}

/// The signed and unsigned integers, and Bool if `includeBool`.
/// Source: c10::isIntegralType.
constexpr bool isIntegralType(ScalarType type, bool includeBool) noexcept {
  return (type >= ScalarType::Byte && type <= ScalarType::Long) ||
         (type >= ScalarType::UInt16 && type <= ScalarType::UInt64) ||
         (includeBool && type == ScalarType::Bool);
}

/// The real floating types, 8-bit ones included.
/// Source: c10::isFloatingType.
constexpr bool isFloatingType(ScalarType type) noexcept {
  return (type >= ScalarType::Half && type <= ScalarType::Double) || type == ScalarType::BFloat16 ||
         (type >= ScalarType::Float8_e5m2 && type <= ScalarType::Float8_e4m3fnuz);
}

/// Whether elements have a real and an imaginary part.
/// Source: c10::isComplexType.
constexpr bool isComplexType(ScalarType type) noexcept {
  return type >= ScalarType::ComplexHalf && type <= ScalarType::ComplexDouble;
}

/// Whether elements convert without a CastMode. Not allowed: floating to integral, complex to real,
/// and other types to Bool.
/// Source: c10::canCast.
constexpr bool canCast(ScalarType from, ScalarType to) noexcept {
  if (!isValidType(from) || !isValidType(to)) return false;
  if (isComplexType(from) && !isComplexType(to)) return false;
  if (isFloatingType(from) && isIntegralType(to, false)) return false;
  return from == ScalarType::Bool || to != ScalarType::Bool;
}

/// The dtype that an operation on both dtypes computes in, as in ATen and NumPy.
///
/// Undefined where c10 throws: for Undefined, a Float8 type with any other type, and UInt16, UInt32
/// or UInt64 with another integral or a complex type.
/// Source: c10::promoteTypes.
constexpr ScalarType promoteTypes(ScalarType a, ScalarType b) noexcept {
  if (!isValidType(a) || !isValidType(b)) return ScalarType::Undefined;
  if (a == b) return a;
  const auto is_float8 = [](ScalarType t) { return isFloatingType(t) && elementSize(t) == 1; };
  const auto is_wide_unsigned = [](ScalarType t) { return t >= ScalarType::UInt16; };
  if (is_float8(a) || is_float8(b)) return ScalarType::Undefined;
  if (is_wide_unsigned(a) || is_wide_unsigned(b)) {
    return isFloatingType(a) ? a : isFloatingType(b) ? b : ScalarType::Undefined;
  }
  if (isComplexType(a) || isComplexType(b)) {
    // The complex type whose parts can hold both. A complex type's number is its part's plus three.
    const auto part = [](ScalarType t) {
      return isComplexType(t) ? static_cast<ScalarType>(static_cast<int>(t) - 3) : t;
    };
    return static_cast<ScalarType>(static_cast<int>(promoteTypes(part(a), part(b))) + 3);
  }
  if (isFloatingType(a) && isFloatingType(b)) {
    // Half with BFloat16 is Float: neither can hold the other's values.
    return a == ScalarType::Double || b == ScalarType::Double ? ScalarType::Double
                                                              : ScalarType::Float;
  }
  if (isFloatingType(a)) return a;
  if (isFloatingType(b)) return b;
  if (a == ScalarType::Bool) return b;
  if (b == ScalarType::Bool) return a;
  // Byte with a signed type needs one more bit than Char has.
  const ScalarType wider = a > b ? a : b;
  const bool mixed = (a == ScalarType::Byte || b == ScalarType::Byte) && wider == ScalarType::Char;
  return mixed ? ScalarType::Short : wider;
}

TENON_END_OWN

/// In ATen mode, the functions above for c10's ScalarType.
template <class T, std::enable_if_t<detail::is_foreign_type_v<T>, int> = 0>
constexpr bool isValidType(T type) noexcept {
  return isValidType(detail::own_type(type));
}
template <class T, class Visitor, class Otherwise,
          std::enable_if_t<detail::is_foreign_type_v<T>, int> = 0>
decltype(auto) visit(T type, Visitor&& visitor, Otherwise&& otherwise) {
  return visit(detail::own_type(type), visitor, otherwise);
}

namespace detail {
inline void append(Message& out, ScalarType type) noexcept {
  out.put(toString(type));
  if (!isValidType(type) && type != ScalarType::Undefined) {
    out.put(" (");
    append(out, static_cast<int>(type));
    out.put(')');
  }
}
/// In ATen mode, append() for c10's types.
template <class T, std::enable_if_t<is_foreign_type_v<T>, int> = 0>
void append(Message& out, T type) noexcept {
  append(out, own_type(type));
}
}  // namespace detail

TENON_END_NAMESPACE
