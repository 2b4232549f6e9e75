// SPDX-License-Identifier: MIT
// The random functions for every element type.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "support/catch.h"
#include "tenon/tensor/random.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tensor/random_helpers.h"

using namespace tenon;
using tests::numbers;

namespace {

using Doubles = std::vector<double>;
constexpr Generator kGenerator(9, 101);

// Every second number, from the first on, or from the second on: the parts of complex elements.
Doubles parts(const Doubles& numbers, size_t which) {
  Doubles out;
  for (size_t i = which; i < numbers.size(); i += 2) out.push_back(numbers[i]);
  return out;
}

double mean(const Doubles& x) {
  double sum = 0;
  for (double value : x) sum += value;
  return sum / static_cast<double>(x.size());
}
double covariance(const Doubles& x, const Doubles& y) {
  const double mean_x = mean(x);
  const double mean_y = mean(y);
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += (x[i] - mean_x) * (y[i] - mean_y);
  return sum / static_cast<double>(x.size());
}

// What a function makes with the same generator each time; of complex types, the real parts.
template <class F>
Doubles made(ScalarType type, F&& make) {
  Generator g = kGenerator;
  const Doubles all = numbers(make(type, g));
  return isComplexType(type) ? parts(all, 0) : all;
}

ScalarType part_type(ScalarType type) {
  return type == ScalarType::ComplexHalf     ? ScalarType::Half
         : type == ScalarType::ComplexFloat  ? ScalarType::Float
         : type == ScalarType::ComplexDouble ? ScalarType::Double
                                             : type;
}

// The type in which a type's numbers are computed, by its size.
ScalarType computed_in(ScalarType type) {
  const size_t size = elementSize(part_type(type));
  const bool is_float = part_type(type) == ScalarType::Float;
  return size < 4 || is_float ? ScalarType::Float : ScalarType::Double;
}

}  // namespace

TEST_CASE("random creators: every element type, with finite numbers that vary") {
  for (const tests::Creator& creator : tests::kCreators) {
    for (ScalarType type : tests::kAllTypes) {
      INFO(creator.name << " " << toString(type));
      Generator g = kGenerator;
      const TensorPtr t = creator.make({300}, {}, type, g);
      CHECK(t->scalar_type() == type);
      CHECK(t->numel() == 300);
      const Doubles made = numbers(t);
      bool is_finite = true;
      for (double value : made) is_finite = is_finite && std::isfinite(value);
      CHECK(is_finite);
      const std::set<double> different(made.begin(), made.end());
      if (!isIntegralType(type, true)) CHECK(different.size() > 1);
    }
  }
}

TEST_CASE("rand: shorter floating types hold the Float value rounded down, and never 1") {
  const auto rand = [](ScalarType type, Generator& g) { return tenon::rand({20000}, type, g); };
  const Doubles floats = made(ScalarType::Float, rand);
  CHECK(*std::min_element(floats.begin(), floats.end()) >= 0);
  CHECK(*std::max_element(floats.begin(), floats.end()) < 1);
  for (ScalarType type : tests::kAllTypes) {
    tenon::visit(
        type,
        [&](auto tag) {
          using T = typename decltype(tag)::type;
          if constexpr (tenon::detail::IsSmallFloat<T>::value) {
            INFO(toString(type));
            const Doubles values = made(type, rand);
            using Limits = std::numeric_limits<T>;
            int wrong = 0;
            for (size_t i = 0; i < values.size(); ++i) {
              const double error = floats[i] - values[i];
              const double step = std::max(std::ldexp(values[i], 1 - Limits::digits),
                                           tests::number(Limits::denorm_min()));
              if (error < 0 || error >= step || values[i] >= 1) ++wrong;
            }
            CHECK(wrong == 0);
          }
        },
        [] {});
  }
}

TEST_CASE("rand: Double has 53 bits, of which the upper ones are Float's") {
  const auto rand = [](ScalarType type, Generator& g) { return tenon::rand({20000}, type, g); };
  const Doubles floats = made(ScalarType::Float, rand);
  const Doubles doubles = made(ScalarType::Double, rand);
  int wrong = 0;
  int odd = 0;
  for (size_t i = 0; i < floats.size(); ++i) {
    const double rest = doubles[i] - floats[i];
    if (rest < 0 || rest >= std::ldexp(1.0, -24)) ++wrong;
    const double integer = std::ldexp(doubles[i], 53);
    if (integer != std::floor(integer)) ++wrong;
    if (std::fmod(integer, 2) == 1) ++odd;
  }
  CHECK(wrong == 0);
  CHECK(odd > 9600);  // 10000 but for 5.7 standard deviations
  CHECK(odd < 10400);
}

TEST_CASE("rand: integral types truncate to 0, Bool is true unless the number is 0") {
  for (ScalarType type : tests::kAllTypes) {
    if (!isIntegralType(type, true)) continue;
    INFO(toString(type));
    Generator g = kGenerator;
    const double expected = type == ScalarType::Bool ? 1 : 0;
    CHECK((numbers(tenon::rand({500}, type, g)) == Doubles(500, expected)));
  }
}

TEST_CASE("uniform and normal: integral types truncate towards 0 what they are computed in") {
  const auto uniform_one = [](ScalarType type, Generator& g) {
    return tenon::uniform(0.25, 100.75, {3000}, type, g);
  };
  const auto around_zero = [](ScalarType type, Generator& g) {
    return tenon::uniform(-2.75, 2.75, {3000}, type, g);
  };
  const auto normal_one = [](ScalarType type, Generator& g) {
    return tenon::normal(0, 10, {3000}, type, g);
  };
  for (ScalarType type : tests::kAllTypes) {
    if (!isIntegralType(type, false)) continue;
    INFO(toString(type));
    const auto check = [&](const auto& make) {
      Doubles expected = made(computed_in(type), make);
      for (double& value : expected) value = std::trunc(value) + 0.0;  // no -0
      CHECK((made(type, make) == expected));
    };
    check(uniform_one);
    const bool is_signed = type != ScalarType::Byte && type < ScalarType::UInt16;
    if (is_signed) {
      check(around_zero);
      check(normal_one);
    }
  }
  Doubles expected = made(ScalarType::Float, around_zero);
  for (double& value : expected) value = value != 0 ? 1 : 0;
  CHECK((made(ScalarType::Bool, around_zero) == expected));
}

TEST_CASE("normal: integral types take their nearest end for what is out of their range") {
  const auto normal_one = [](ScalarType type, Generator& g) {
    return tenon::normal(0, 1000, {3000}, type, g);
  };
  Doubles expected = made(ScalarType::Float, normal_one);
  for (double& value : expected) value = std::min(std::max(std::trunc(value), -128.0), 127.0) + 0.0;
  CHECK((made(ScalarType::Char, normal_one) == expected));
}

TEST_CASE("normal: shorter floating types hold the Float value rounded to nearest") {
  const auto randn_one = [](ScalarType type, Generator& g) {
    return tenon::randn({3000}, type, g);
  };
  const Doubles floats = made(ScalarType::Float, randn_one);
  const Doubles halves = made(ScalarType::Half, randn_one);
  int wrong = 0;
  for (size_t i = 0; i < floats.size(); ++i) {
    const double step = std::max(std::ldexp(std::fabs(floats[i]), -11), std::ldexp(1.0, -25));
    if (std::fabs(floats[i] - halves[i]) > step) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("randint: every type that holds the integers gets the same ones") {
  for (int64_t high : {2, 9}) {  // Float8_e5m2 holds all up to 8
    const auto randint_one = [&](ScalarType type, Generator& g) {
      return tenon::randint(0, high, {3000}, type, g);
    };
    const Doubles ints = made(ScalarType::Int, randint_one);
    CHECK(std::set<double>(ints.begin(), ints.end()).size() == static_cast<size_t>(high));
    for (ScalarType type : tests::kAllTypes) {
      INFO(toString(type));
      if (type == ScalarType::Bool && high > 2) continue;
      CHECK((made(type, randint_one) == ints));
    }
  }
}

TEST_CASE("randint: floating types hold the nearest of their values that is within the bounds") {
  Generator g = kGenerator;
  const Doubles values = numbers(tenon::randint(2049, 2056, {2000}, ScalarType::Half, g));
  // 2049 is not Half's, so it becomes 2050, and 2055 becomes 2054, not 2056.
  CHECK((std::set<double>(values.begin(), values.end()) == std::set<double>{2050, 2052, 2054}));
}

TEST_CASE("complex elements: real parts are those of the real type, imaginary ones are others") {
  for (ScalarType type :
       {ScalarType::ComplexHalf, ScalarType::ComplexFloat, ScalarType::ComplexDouble}) {
    INFO(toString(type));
    Generator g = kGenerator;
    const Doubles both = numbers(tenon::rand({5000}, type, g));
    g = kGenerator;
    const Doubles real = parts(both, 0);
    const Doubles imaginary = parts(both, 1);
    CHECK((real == numbers(tenon::rand({5000}, part_type(type), g))));
    CHECK(*std::min_element(imaginary.begin(), imaginary.end()) >= 0);
    CHECK(*std::max_element(imaginary.begin(), imaginary.end()) < 1);
    // To five standard deviations, of the mean 1 / sqrt(12 n) and of the covariance 1 / (12 sqrt n).
    CHECK(std::fabs(mean(imaginary) - 0.5) < 5 * 0.0041);
    CHECK(std::fabs(covariance(real, imaginary)) < 5 * 0.0012);
  }
}

TEST_CASE("complex elements: of a normal distribution each part has half the variance") {
  for (ScalarType type :
       {ScalarType::ComplexHalf, ScalarType::ComplexFloat, ScalarType::ComplexDouble}) {
    INFO(toString(type));
    Generator g = kGenerator;
    const Doubles both = numbers(tenon::normal(3, 2, {20000}, type, g));
    const Doubles real = parts(both, 0);
    const Doubles imaginary = parts(both, 1);
    // To five standard deviations: sqrt(2 / n) of the mean, 2 sqrt(2 / n) of a variance of 2, and
    // 2 / sqrt n of the covariance.
    for (const Doubles& part : {real, imaginary}) {
      CHECK(std::fabs(mean(part) - 3) < 5 * 0.01);
      CHECK(std::fabs(covariance(part, part) - 2) < 5 * 0.02);
    }
    CHECK(std::fabs(covariance(real, imaginary)) < 5 * 0.0142);
  }
}

TEST_CASE("random_: without bounds, integers from 0 to the largest up to which a type has all") {
  const struct {
    ScalarType type;
    double largest;
  } types[] = {
      {ScalarType::Bool, 1},
      {ScalarType::Byte, 255},
      {ScalarType::Char, 127},
      {ScalarType::Short, 32767},
      {ScalarType::UInt16, 65535},
      {ScalarType::Int, 2147483647},
      {ScalarType::UInt32, 4294967295},
      {ScalarType::Long, 9223372036854775807.0},
      {ScalarType::UInt64, 9223372036854775807.0},
      {ScalarType::Half, 2048},
      {ScalarType::BFloat16, 256},
      {ScalarType::Float, 16777216},
      {ScalarType::Double, 9007199254740992},
      {ScalarType::Float8_e5m2, 8},
      {ScalarType::Float8_e4m3fn, 16},
      {ScalarType::Float8_e5m2fnuz, 8},
      {ScalarType::Float8_e4m3fnuz, 16},
      {ScalarType::ComplexHalf, 2048},
      {ScalarType::ComplexFloat, 16777216},
      {ScalarType::ComplexDouble, 9007199254740992},
  };
  CHECK(std::size(types) == std::size(tests::kAllTypes));
  for (const auto& expected : types) {
    INFO(toString(expected.type));
    const Doubles values = made(expected.type, [](ScalarType type, Generator& g) {
      TensorPtr t = tenon::empty({20000}, type);
      CHECK(tenon::random_(t, g) == Error::Ok);
      return t;
    });
    const std::set<double> different(values.begin(), values.end());
    bool is_integral = true;
    for (double value : different) is_integral = is_integral && value == std::floor(value);
    CHECK(is_integral);
    CHECK(*different.begin() >= 0);
    CHECK(*different.begin() <= expected.largest / 1000);
    CHECK(*different.rbegin() <= expected.largest);
    CHECK(*different.rbegin() >= expected.largest * 0.999);
    if (expected.largest <= 256) {
      CHECK(different.size() == static_cast<size_t>(expected.largest) + 1);
    }
  }
}

TEST_CASE("random_: every integer of a small range comes as often as the others") {
  for (ScalarType type : {ScalarType::Byte, ScalarType::Long, ScalarType::Half}) {
    INFO(toString(type));
    TensorPtr t = tenon::empty({70000}, type);
    Generator g = kGenerator;
    CHECK(tenon::random_(t, 0, 7, g) == Error::Ok);
    int counts[7] = {};
    for (double value : numbers(t)) ++counts[static_cast<int>(value)];
    for (int count : counts) CHECK(std::abs(count - 10000) < 5 * 93);  // the deviation is 92.6
  }
}
