// SPDX-License-Identifier: MIT
// values_test.cpp has whole tensors.
#include "tenon/kernels/compare.h"

#include <cmath>
#include <limits>
#include <random>

#include "kernels/helpers.h"

namespace compare_test {

using namespace tests;
using namespace tenon::detail;
using tenon::complex;
using tenon::ScalarType;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A number as its exact type, by the compiler's own comparisons.
struct Exact {
  ScalarType kind;
  alignas(16) unsigned char bytes[16];

  Exact(ScalarType type, const char* element) : kind(exact_type(type)) {
    load_exact(type, element, 1, bytes);
  }
  bool is_integer() const { return kind == ScalarType::Long || kind == ScalarType::UInt64; }
  uint64_t bits() const { return load_element<uint64_t>(bytes, 0); }
  complex<double> value() const {
    if (kind == ScalarType::Long) return static_cast<double>(load_element<int64_t>(bytes, 0));
    if (kind == ScalarType::UInt64) return static_cast<double>(bits());
    if (kind == ScalarType::Double) return load_element<double>(bytes, 0);
    return load_element<complex<double>>(bytes, 0);
  }
};

bool are_equal(const Exact& a, const Exact& b) {
  if (a.is_integer()) return a.bits() == b.bits();
  return a.value().real() == b.value().real() && a.value().imag() == b.value().imag();
}

/// The rule of allclose() for numbers below 1e300.
bool are_close(const Exact& a, const Exact& b, double rtol, double atol, bool equal_nan) {
  const complex<double> x = a.value();
  const complex<double> y = b.value();
  const bool nans[] = {std::isnan(x.real()) || std::isnan(x.imag()),
                       std::isnan(y.real()) || std::isnan(y.imag())};
  if (nans[0] || nans[1]) return nans[0] && nans[1] && equal_nan;
  const bool are_integers = a.is_integer() && b.is_integer();
  if (x.real() == y.real() && x.imag() == y.imag() && !(are_integers && a.bits() != b.bits())) {
    return true;
  }
  for (const double part : {x.real(), x.imag(), y.real(), y.imag()}) {
    if (std::isinf(part)) return false;
  }
  const auto modulus = [](double re, double im) {
    const double greater = std::max(std::abs(re), std::abs(im));
    const double lesser = std::min(std::abs(re), std::abs(im));
    if (lesser == 0) return greater;
    volatile double square = lesser / greater * (lesser / greater);  // not fused
    return greater * std::sqrt(1 + square);
  };
  double distance = modulus(x.real() - y.real(), x.imag() - y.imag());
  if (are_integers && (x.real() < 0) == (y.real() < 0)) {
    distance = static_cast<double>(a.bits() < b.bits() ? b.bits() - a.bits() : a.bits() - b.bits());
  }
  const double size = modulus(y.real(), y.imag());
  volatile double product = size == 0 ? 0 : rtol * size;
  return distance <= atol + product;
}

/// Numbers that lie near each other, special ones among them.
class Numbers {
 public:
  /// Writes an element that is about `near`; `kind` says how near.
  void write(ScalarType type, double near, int kind, char* element) {
    const double steps[] = {0, 1e-9, 1e-6, 0.9e-5, 1e-5, 1.1e-5, 1, 1e200, -2};
    double value = near * (1 + steps[static_cast<size_t>(kind) % 9] * (next() % 2 == 0 ? 1 : -1));
    if (isIntegralType(type, true)) value = std::round(value);
    alignas(16) unsigned char exact[16] = {};
    if (isComplexType(type)) {
      store_element(exact, 0, complex<double>(value, near * static_cast<double>(next() % 3)));
      convert_elements(type, element, ScalarType::ComplexDouble, exact, 1,
                       tenon::CastMode::Truncate);
    } else {
      store_element(exact, 0, value);
      convert_elements(type, element, ScalarType::Double, exact, 1, tenon::CastMode::Truncate);
      if (elementSize(type) == 8 && isIntegralType(type, false) && kind > 20) {
        store_element(element, 0, load_element<uint64_t>(element, 0) + next() % 3);
      }
    }
  }
  uint32_t next() { return static_cast<uint32_t>(random_()); }

 private:
  std::mt19937 random_{7};
};

}  // namespace

TEST_CASE("compare: all pairs of codes of one byte, and many of two") {
  for (const ScalarType type : kAllTypes) {
    const size_t size = elementSize(type);
    if (size > 2) continue;
    INFO(toString(type));
    int64_t wrong = 0;
    for (uint32_t a = 0; a < 1u << (8 * size); a += size == 1 || kThorough ? 1 : 7) {
      for (uint32_t k = 0; k < (size == 1 ? 256u : 9u); ++k) {
        // The same, the other sign, neighbours, zeros.
        const uint32_t near[] = {a,       a ^ 0x8000u, a + 1,       a - 1,  0,
                                 0x8000u, ~a,          a ^ 0x4000u, 0x7e00u};
        const uint32_t b = size == 1 ? k : near[k];
        const char left[] = {static_cast<char>(a), static_cast<char>(a >> 8)};
        const char right[] = {static_cast<char>(b), static_cast<char>(b >> 8)};
        const bool expected = are_equal(Exact(type, left), Exact(type, right));
        wrong += equal_elements(type, left, right, 1) != expected;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("compare: floats, doubles and complex numbers, whatever their bits are") {
  const double numbers[] = {0.0,       -0.0,       1,    -1,    5e-324, -5e-324,  1e-40,
                            kInfinity, -kInfinity, kNan, -kNan, 1e308,  1.0000001};
  for (const ScalarType type : {ScalarType::Float, ScalarType::Double, ScalarType::ComplexFloat,
                                ScalarType::ComplexDouble, ScalarType::ComplexHalf}) {
    for (const double a : numbers) {
      for (const double b : numbers) {
        for (const double c : {0.0, -0.0, kNan}) {
          char left[16];
          char right[16];
          const complex<double> values[] = {{a, 0.0}, {b, c}};
          const ScalarType from = ScalarType::ComplexDouble;
          convert_elements(type, left, from, &values[0], 1, tenon::CastMode::Truncate);
          convert_elements(type, right, from, &values[1], 1, tenon::CastMode::Truncate);
          CHECK(equal_elements(type, left, right, 1) ==
                are_equal(Exact(type, left), Exact(type, right)));
        }
      }
    }
  }
}

TEST_CASE("compare: one element at any place makes them unequal, and not close") {
  for_each_isa([&] {
    for (const ScalarType type : kAllTypes) {
      INFO(toString(type));
      const size_t size = elementSize(type);
      for (const size_t count : std::vector<size_t>{1, 2, 15, 33, 600, 5000}) {
        std::vector<char> a(count * size);
        std::vector<char> b(count * size);
        const auto n = static_cast<int64_t>(count);
        CloseElements close(type, type, {0.1, 0.1, false});
        const char* sides[] = {a.data(), b.data()};
        CHECK(equal_elements(type, a.data(), b.data(), n));
        CHECK(close(sides, n));
        for (size_t at = 0; at < count; at += kThorough ? count / 99 + 1 : count / 9 + 1) {
          CHECK(store_scalar(type, int64_t{1}, b.data() + at * size) == tenon::Error::Ok);
          CHECK_FALSE(equal_elements(type, a.data(), b.data(), n));
          CHECK_FALSE(close(sides, n));
          std::memset(b.data() + at * size, 0, size);
        }
      }
    }
  });
}

TEST_CASE("compare: true Bools of other bytes are equal, in any block") {
  std::vector<unsigned char> a(10000, 1);
  std::vector<unsigned char> b(10000, 1);
  const auto are_equal_bools = [&] {
    return equal_elements(ScalarType::Bool, reinterpret_cast<const char*>(a.data()),
                          reinterpret_cast<const char*>(b.data()), 10000);
  };
  for (const size_t at : {size_t{0}, size_t{4095}, size_t{4096}, size_t{9999}}) {
    b[at] = 200;
    CHECK(are_equal_bools());
    a[at] = 0;
    CHECK_FALSE(are_equal_bools());
    a[at] = 0x80;
    CHECK(are_equal_bools());
  }
}

TEST_CASE("compare: a type without -0 has its NaN at any place, which ends it") {
  for (const ScalarType type : {ScalarType::Float8_e4m3fnuz, ScalarType::Float8_e5m2fnuz}) {
    std::vector<char> a(10000, 1);
    CHECK(equal_elements(type, a.data(), a.data(), 10000));
    for (const size_t at : {size_t{0}, size_t{4095}, size_t{4096}, size_t{9999}}) {
      a[at] = static_cast<char>(0x80);
      CHECK_FALSE(equal_elements(type, a.data(), a.data(), 10000));
      // No further than its block: a pass over all would leave the memory.
      if (at == 0) CHECK_FALSE(equal_elements(type, a.data(), a.data(), int64_t{1} << 46));
      a[at] = 1;
    }
  }
}

TEST_CASE("compare: closeness is as the rule says, for each pair of types") {
  Numbers numbers;
  int sampled = 0;
  for_each_isa([&] {
    for (const ScalarType a : kAllTypes) {
      for (const ScalarType b : kAllTypes) {
        INFO(toString(a) << " and " << toString(b));
        int64_t wrong = 0;
        for (int i = 0; i < (kThorough ? 200 : 2); ++i) {
          const int round = kThorough ? i : sampled++;  // so that the pairs share the kinds
          // Blocks in which all elements are close, mostly, and some in which they are not.
          const int64_t count = round % 8 == 0 ? 530 : 1 + numbers.next() % 40;
          const int kinds = round % 4 == 0 ? 30 : round % 4 == 1 ? 3 : 1 + round % 9;
          const double specials[] = {0, -0.0, kNan, kInfinity, -kInfinity, 5e-324, 1e200, 1e15};
          std::vector<char> left(static_cast<size_t>(count) * elementSize(a));
          std::vector<char> right(static_cast<size_t>(count) * elementSize(b));
          for (int64_t k = 0; k < count; ++k) {
            const bool is_special = round % 3 == 0 && numbers.next() % 100 == 0;
            const double scales[] = {1, 100, 3e4, 9e15, 1e-3};
            const double near = is_special ? specials[numbers.next() % 8]
                                           : scales[static_cast<size_t>(round) % 5] *
                                                 (1 + numbers.next() % 100 / 99.0);
            const auto kind = static_cast<int>(numbers.next() % static_cast<uint32_t>(kinds));
            numbers.write(a, near, 0, left.data() + k * static_cast<int64_t>(elementSize(a)));
            numbers.write(b, near, kind, right.data() + k * static_cast<int64_t>(elementSize(b)));
          }
          const double tolerances[][2] = {{1e-5, 1e-8},   {0, 0},         {0, 1},     {0.5, 0},
                                          {kInfinity, 0}, {0, kInfinity}, {1, 1e-300}};
          const double* const t = tolerances[numbers.next() % 7];
          const bool equal_nan = numbers.next() % 2 == 0;
          bool expected = true;
          for (int64_t k = 0; expected && k < count; ++k) {
            expected = are_close(Exact(a, left.data() + k * static_cast<int64_t>(elementSize(a))),
                                 Exact(b, right.data() + k * static_cast<int64_t>(elementSize(b))),
                                 t[0], t[1], equal_nan);
          }
          CloseElements close(a, b, {t[0], t[1], equal_nan});
          const char* sides[] = {left.data(), right.data()};
          wrong += close(sides, count) != expected;
        }
        CHECK(wrong == 0);
      }
    }
  });
}

TEST_CASE("compare: doubles at the very edge of a tolerance") {
  Numbers numbers;
  int64_t far = 0;
  int64_t wrong = 0;
  for_each_isa([&] {
    for (int i = 0; i < 20000; ++i) {
      const double rtol = numbers.next() / 4294967296.0;
      const double y = numbers.next() / 65536.0 - 32768;
      volatile double product = rtol * std::abs(y);
      volatile double distance = 1e-3 + product;
      volatile double x = y + distance;  // about as far as that
      const double values[] = {x, y};
      const bool expected = are_close(
          Exact(ScalarType::Double, reinterpret_cast<const char*>(&values[0])),
          Exact(ScalarType::Double, reinterpret_cast<const char*>(&values[1])), rtol, 1e-3, false);
      CloseElements close(ScalarType::Double, ScalarType::Double, {rtol, 1e-3, false});
      const char* sides[] = {reinterpret_cast<const char*>(&values[0]),
                             reinterpret_cast<const char*>(&values[1])};
      wrong += close(sides, 1) != expected;
      far += !expected;
    }
  });
  CHECK(wrong == 0);
  CHECK(far > 1000);
}

}  // namespace compare_test
