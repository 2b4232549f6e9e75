// SPDX-License-Identifier: MIT
#include "tenon/core/scalar_type.h"

#include <complex>

#include "support/catch.h"

namespace scalar_type_test {

using namespace tenon;

namespace {

struct Row {
  ScalarType type;
  int number;
  const char* name;
  size_t size;
  char kind;         // b: Bool, i: integral, f: floating, c: complex
  const char* code;  // of the promotion table below
};

const Row kRows[] = {
    {ScalarType::Byte, 0, "Byte", 1, 'i', "u1"},
    {ScalarType::Char, 1, "Char", 1, 'i', "i1"},
    {ScalarType::Short, 2, "Short", 2, 'i', "i2"},
    {ScalarType::Int, 3, "Int", 4, 'i', "i4"},
    {ScalarType::Long, 4, "Long", 8, 'i', "i8"},
    {ScalarType::Half, 5, "Half", 2, 'f', "f2"},
    {ScalarType::Float, 6, "Float", 4, 'f', "f4"},
    {ScalarType::Double, 7, "Double", 8, 'f', "f8"},
    {ScalarType::ComplexHalf, 8, "ComplexHalf", 4, 'c', "c2"},
    {ScalarType::ComplexFloat, 9, "ComplexFloat", 8, 'c', "c4"},
    {ScalarType::ComplexDouble, 10, "ComplexDouble", 16, 'c', "c8"},
    {ScalarType::Bool, 11, "Bool", 1, 'b', "b1"},
    {ScalarType::BFloat16, 15, "BFloat16", 2, 'f', "bf"},
    {ScalarType::Float8_e5m2, 23, "Float8_e5m2", 1, 'f', "q1"},
    {ScalarType::Float8_e4m3fn, 24, "Float8_e4m3fn", 1, 'f', "q2"},
    {ScalarType::Float8_e5m2fnuz, 25, "Float8_e5m2fnuz", 1, 'f', "q3"},
    {ScalarType::Float8_e4m3fnuz, 26, "Float8_e4m3fnuz", 1, 'f', "q4"},
    {ScalarType::UInt16, 27, "UInt16", 2, 'i', "u2"},
    {ScalarType::UInt32, 28, "UInt32", 4, 'i', "u4"},
    {ScalarType::UInt64, 29, "UInt64", 8, 'i', "u8"},
};

// c10's promotion table: row and column in the order above, "--" where it throws.
const char* const kPromotions[] = {
    //     u1 i1 i2 i4 i8 f2 f4 f8 c2 c4 c8 b1 bf q1 q2 q3 q4 u2 u4 u8
    /*u1*/ "u1 i2 i2 i4 i8 f2 f4 f8 c2 c4 c8 u1 bf -- -- -- -- -- -- --",
    /*i1*/ "i2 i1 i2 i4 i8 f2 f4 f8 c2 c4 c8 i1 bf -- -- -- -- -- -- --",
    /*i2*/ "i2 i2 i2 i4 i8 f2 f4 f8 c2 c4 c8 i2 bf -- -- -- -- -- -- --",
    /*i4*/ "i4 i4 i4 i4 i8 f2 f4 f8 c2 c4 c8 i4 bf -- -- -- -- -- -- --",
    /*i8*/ "i8 i8 i8 i8 i8 f2 f4 f8 c2 c4 c8 i8 bf -- -- -- -- -- -- --",
    /*f2*/ "f2 f2 f2 f2 f2 f2 f4 f8 c2 c4 c8 f2 f4 -- -- -- -- f2 f2 f2",
    /*f4*/ "f4 f4 f4 f4 f4 f4 f4 f8 c4 c4 c8 f4 f4 -- -- -- -- f4 f4 f4",
    /*f8*/ "f8 f8 f8 f8 f8 f8 f8 f8 c8 c8 c8 f8 f8 -- -- -- -- f8 f8 f8",
    /*c2*/ "c2 c2 c2 c2 c2 c2 c4 c8 c2 c4 c8 c2 c4 -- -- -- -- -- -- --",
    /*c4*/ "c4 c4 c4 c4 c4 c4 c4 c8 c4 c4 c8 c4 c4 -- -- -- -- -- -- --",
    /*c8*/ "c8 c8 c8 c8 c8 c8 c8 c8 c8 c8 c8 c8 c8 -- -- -- -- -- -- --",
    /*b1*/ "u1 i1 i2 i4 i8 f2 f4 f8 c2 c4 c8 b1 bf -- -- -- -- -- -- --",
    /*bf*/ "bf bf bf bf bf f4 f4 f8 c4 c4 c8 bf bf -- -- -- -- bf bf bf",
    /*q1*/ "-- -- -- -- -- -- -- -- -- -- -- -- -- q1 -- -- -- -- -- --",
    /*q2*/ "-- -- -- -- -- -- -- -- -- -- -- -- -- -- q2 -- -- -- -- --",
    /*q3*/ "-- -- -- -- -- -- -- -- -- -- -- -- -- -- -- q3 -- -- -- --",
    /*q4*/ "-- -- -- -- -- -- -- -- -- -- -- -- -- -- -- -- q4 -- -- --",
    /*u2*/ "-- -- -- -- -- f2 f4 f8 -- -- -- -- bf -- -- -- -- u2 -- --",
    /*u4*/ "-- -- -- -- -- f2 f4 f8 -- -- -- -- bf -- -- -- -- -- u4 --",
    /*u8*/ "-- -- -- -- -- f2 f4 f8 -- -- -- -- bf -- -- -- -- -- -- u8",
};

template <class T, class = void>
struct HasScalarType : std::false_type {};
template <class T>
struct HasScalarType<T, std::void_t<decltype(CppTypeToScalarType<T>::value)>> : std::true_type {};

template <class T>
constexpr ScalarType type_of = CppTypeToScalarType<T>::value;

}  // namespace

TEST_CASE("scalar_type: every type has c10's number, its name, size and kind") {
  for (const Row& row : kRows) {
    INFO(row.name);
    CHECK(static_cast<int>(row.type) == row.number);
    CHECK(std::string(toString(row.type)) == row.name);
    CHECK(elementSize(row.type) == row.size);
    CHECK(isValidType(row.type));
    CHECK(isIntegralType(row.type, false) == (row.kind == 'i'));
    CHECK(isIntegralType(row.type, true) == (row.kind == 'i' || row.kind == 'b'));
    CHECK(isFloatingType(row.type) == (row.kind == 'f'));
    CHECK(isComplexType(row.type) == (row.kind == 'c'));
    const auto same = [&](auto tag) {
      using T = typename decltype(tag)::type;
      return type_of<T> == row.type && sizeof(T) == row.size;
    };
    CHECK(visit(row.type, same, [] { return false; }));
  }
}

TEST_CASE(
    "scalar_type: canCast forbids floating to integral, complex to real, and others to Bool") {
  const auto allowed = [](char from, char to) {
    switch (from) {
      case 'b': return true;
      case 'i': return to == 'i' || to == 'f' || to == 'c';
      case 'f': return to == 'f' || to == 'c';
      default: return to == 'c';
    }
  };
  int count = 0;
  for (const Row& from : kRows) {
    for (const Row& to : kRows) {
      INFO(from.name << " to " << to.name);
      CHECK(canCast(from.type, to.type) == allowed(from.kind, to.kind));
      count += canCast(from.type, to.type) ? 1 : 0;
    }
  }
  // Bool to all 20; 8 integral types to all but Bool; 8 floating ones to 11; 3 complex ones to 3.
  CHECK(count == 20 + 8 * 19 + 8 * 11 + 3 * 3);
}

TEST_CASE("scalar_type: promoteTypes is c10's table, Undefined where c10 refuses") {
  size_t a = 0;
  for (const char* line : kPromotions) {
    for (size_t b = 0; b < 20; ++b) {
      const std::string code(line + 3 * b, 2);
      ScalarType expected = ScalarType::Undefined;
      for (const Row& row : kRows) {
        if (code == row.code) expected = row.type;
      }
      INFO(kRows[a].name << " with " << kRows[b].name << " is " << code);
      CHECK(promoteTypes(kRows[a].type, kRows[b].type) == expected);
    }
    ++a;
  }
  CHECK(a == 20);
}

TEST_CASE("scalar_type: C++ types map to the type that stores them, integers by width and sign") {
#define CHECK_ROUND_TRIP(cpp_type, name)                 \
  STATIC_REQUIRE(type_of<cpp_type> == ScalarType::name); \
  STATIC_REQUIRE(std::is_same_v<ScalarTypeToCppType<ScalarType::name>::type, cpp_type>);
  TENON_FORALL_SCALAR_TYPES(CHECK_ROUND_TRIP)
#undef CHECK_ROUND_TRIP
  STATIC_REQUIRE(type_of<int32_t> == ScalarType::Int);
  STATIC_REQUIRE(type_of<bool> == ScalarType::Bool);
  STATIC_REQUIRE(type_of<complex<Half>> == ScalarType::ComplexHalf);
  STATIC_REQUIRE(type_of<long> == (sizeof(long) == 8 ? ScalarType::Long : ScalarType::Int));
  STATIC_REQUIRE(type_of<unsigned long> ==
                 (sizeof(long) == 8 ? ScalarType::UInt64 : ScalarType::UInt32));
  STATIC_REQUIRE(type_of<long long> == ScalarType::Long);
  STATIC_REQUIRE(type_of<unsigned long long> == ScalarType::UInt64);
  STATIC_REQUIRE(type_of<std::complex<float>> == ScalarType::ComplexFloat);
  STATIC_REQUIRE(type_of<const std::complex<double>> == ScalarType::ComplexDouble);
  STATIC_REQUIRE(type_of<volatile int32_t> == ScalarType::Int);
}

#if TENON_HAS_FLOAT16
TEST_CASE("scalar_type: the compiler's 16-bit floating types are elements of Half and BFloat16") {
  STATIC_REQUIRE(type_of<_Float16> == ScalarType::Half);
  STATIC_REQUIRE(type_of<const _Float16> == ScalarType::Half);
  STATIC_REQUIRE(std::is_same_v<ScalarTypeToCppType<ScalarType::Half>::type, Half>);
#if defined(__STDCPP_BFLOAT16_T__)
  STATIC_REQUIRE(type_of<decltype(0.0bf16)> == ScalarType::BFloat16);
#endif
}
#endif

}  // namespace scalar_type_test
