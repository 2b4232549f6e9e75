// SPDX-License-Identifier: MIT
// How the random creators are called, and which numbers they make of each type. What fills existing
// tensors, layouts and errors are in files of their own.
#include "tenon/tensor/random.h"

#include <cmath>
#include <set>

#include "support/catch.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tensor/random_helpers.h"

namespace random_test {

using namespace tenon;
using namespace tests;

namespace {

constexpr auto kBound = TensorShapeDynamism::DYNAMIC_BOUND;
constexpr auto kStatic = TensorShapeDynamism::STATIC;
const Dims kShape{2, 3};
const Dims kDense{3, 1};

Generator seeded() { return Generator(7, 3); }

/// Restores the thread's own generator.
struct KeepGenerator {
  Generator before = default_generator();
  ~KeepGenerator() { default_generator() = before; }
};

// Calls a creator with options in any number and order after `args`, with a generator and with the
// thread's own; they make what `fill` writes to a tensor of the type.
template <class Fill, class Create, class... Args>
void check_forms(ScalarType plain, const Fill& fill, const Create& create, const Args&... args) {
  const KeepGenerator keep;
  const auto check = [&](const auto& result, ScalarType type, TensorShapeDynamism dynamism,
                         bool own = false) {
    const Tensor t = handle(result);
    CHECK(t.scalar_type() == type);
    CHECK(shape_dynamism(t) == dynamism);
    CHECK(ownership(t) == Ownership::Owned);
    const TensorPtr expected = empty({2, 3}, type);
    Generator g = seeded();
    if (own) manual_seed(7);
    CHECK(fill(*expected, own ? default_generator() : g) == Error::Ok);
    CHECK((elements(t) == elements(expected)));
    manual_seed(7);
  };
  Generator g = seeded();
  check(create(args..., g), plain, kBound);
  g = seeded();
  check(create(args..., ScalarType::Double, g), ScalarType::Double, kBound);
  g = seeded();
  check(create(args..., ScalarType::Double, kStatic, g), ScalarType::Double, kStatic);
  g = seeded();
  check(create(args..., g, kStatic, ScalarType::Double), ScalarType::Double, kStatic);
  check(create(args..., seeded(), ScalarType::Double), ScalarType::Double, kBound);
  check(create(args..., kStatic, seeded()), plain, kStatic);
  check(create(args...), plain, kBound, true);
  check(create(args..., ScalarType::Double), ScalarType::Double, kBound, true);
  check(create(args..., ScalarType::Double, kStatic), ScalarType::Double, kStatic, true);
  check(create(args..., kStatic), plain, kStatic, true);
}

// The same for a try_ twin.
template <class Fill, class Create, class Try, class... Args>
void check_both(ScalarType plain, const Fill& fill, const Create& create, const Try& attempt,
                const Args&... args) {
  check_forms(plain, fill, create, args...);
  check_forms(plain, fill, attempt, args...);
}

// rand is a function template, which cannot be passed on.
const auto rand_object = [](const Dims& sizes, auto&&... args) {
  return tenon::rand(sizes, std::forward<decltype(args)>(args)...);
};

const auto fill_unit = [](const Tensor& t, Generator& g) { return uniform_(t, 0, 1, g); };
const auto fill_standard = [](const Tensor& t, Generator& g) { return normal_(t, 0, 1, g); };
const auto fill_integers = [](const Tensor& t, Generator& g) { return random_(t, -5, 50, g); };
const auto fill_uniform = [](const Tensor& t, Generator& g) { return uniform_(t, -1.5, 2.5, g); };
const auto fill_normal = [](const Tensor& t, Generator& g) { return normal_(t, 10, 0.5, g); };

// What a function makes with the same generator each time; of complex types, the real parts.
template <class F>
Doubles made(ScalarType type, const F& make) {
  Generator g(9, 101);
  const Doubles all = numbers(make(type, g));
  if (!isComplexType(type)) return all;
  Doubles real;
  for (size_t i = 0; i < all.size(); i += 2) real.push_back(all[i]);
  return real;
}

}  // namespace

TEST_CASE("rand, randint: numbers of Philox's words, which are published") {
  Generator g(0);
  const float unit = 1.0f / (1 << 24);
  CHECK(values<float>(tenon::rand({4}, g)) ==
        Floats{0x6627e8 * unit, 0xe169c5 * unit, 0xbc57ac * unit, 0x9b00db * unit});
  CHECK(values<int32_t>(randint(0, 100, {4}, Generator(0))) == Ints{39, 88, 73, 60});
  CHECK(values<int32_t>(randint(-10, 90, {4}, Generator(0))) == Ints{29, 78, 63, 50});
}

TEST_CASE("random creators: the default or the source's type, or a type, a dynamism, a generator") {
  check_both(ScalarType::Float, fill_unit, rand_object, try_rand, kShape);
  check_both(ScalarType::Float, fill_standard, randn, try_randn, kShape);
  check_both(ScalarType::Int, fill_integers, randint, try_randint, -5, 50, kShape);
  check_both(ScalarType::Float, fill_uniform, uniform, try_uniform, -1.5, 2.5, kShape);
  check_both(ScalarType::Float, fill_normal, normal, try_normal, 10, 0.5, kShape);
  check_both(ScalarType::Float, fill_unit, rand_strided, try_rand_strided, kShape, kDense);
  check_both(ScalarType::Float, fill_standard, randn_strided, try_randn_strided, kShape, kDense);
  check_both(ScalarType::Int, fill_integers, randint_strided, try_randint_strided, -5, 50, kShape,
             kDense);
  check_both(ScalarType::Float, fill_uniform, uniform_strided, try_uniform_strided, -1.5, 2.5,
             kShape, kDense);
  check_both(ScalarType::Float, fill_normal, normal_strided, try_normal_strided, 10, 0.5, kShape,
             kDense);
  const TensorPtr like = zeros({2, 3}, ScalarType::Half, kStatic);
  check_both(ScalarType::Half, fill_unit, rand_like, try_rand_like, like);
  check_both(ScalarType::Half, fill_standard, randn_like, try_randn_like, *like);
  check_both(ScalarType::Half, fill_integers, randint_like, try_randint_like, like, -5, 50);
  check_both(ScalarType::Half, fill_uniform, uniform_like, try_uniform_like, *like, -1.5, 2.5);
  check_both(ScalarType::Half, fill_normal, normal_like, try_normal_like, like, 10, 0.5);
}

TEST_CASE("random creators: sizes as in empty, from braces, containers and none") {
  CHECK(sizes(tenon::rand({2, 3})) == Vector{2, 3});
  CHECK(strides(tenon::rand({2, 3})) == Vector{3, 1});
  CHECK(shape_dynamism(tenon::rand({})) == kStatic);
  CHECK(randn(std::vector<int>{2, 3})->numel() == 6);
  CHECK(uniform(0, 1, Vector(8, 2))->dim() == 8);
}

// A promise of docs/guarantees.md.
TEST_CASE("random creators: an element's number depends on seed and offset, which they advance") {
  for (const RandomCreator& creator : kCreators) {
    for (ScalarType type : {ScalarType::Float, ScalarType::Double, ScalarType::Int}) {
      INFO(creator.name << " " << toString(type));
      const auto drawn = [&](int64_t count, Generator& g) {
        return elements(creator.make({count}, {}, type, g));
      };
      Generator once(3, 8);
      const Bytes all = drawn(611, once);
      CHECK(once.offset() == 8 + 611);
      CHECK(once.seed() == 3);
      Generator g(3, 8);
      Bytes pieces;
      for (int64_t count : {1, 2, 5, 3, 200, 0, 400}) {
        const Bytes piece = drawn(count, g);
        pieces.insert(pieces.end(), piece.begin(), piece.end());
      }
      CHECK((pieces == all));
      CHECK(g.offset() == once.offset());
      // After element 2^64 - 1 comes element 0.
      Generator across(3, uint64_t{0} - 300);
      Generator first(3);
      const Bytes wrapped = drawn(800, across);
      const Bytes begin = drawn(500, first);
      CHECK(across.offset() == 500);
      CHECK(std::equal(begin.rbegin(), begin.rend(), wrapped.rbegin()));
      if (type == ScalarType::Int) continue;  // rand is 0
      Generator seed(4, 8);
      Generator offset(3, 9);
      CHECK((drawn(611, seed) != all));
      CHECK((drawn(611, offset) != all));
    }
    Generator g(3);
    creator.make({}, {}, ScalarType::ComplexDouble, g);
    creator.make({3, 0, 2}, {}, ScalarType::Int, g);
    CHECK(g.offset() == 1);
  }
}

TEST_CASE("random creators: manual_seed makes the thread's own generator repeat itself") {
  const KeepGenerator keep;
  manual_seed(11);
  const Bytes first = elements(tenon::rand({10}));
  const Bytes second = elements(randn({10}));
  CHECK((elements(tenon::rand({10})) != first));
  manual_seed(11);
  CHECK((elements(tenon::rand({10})) == first));
  CHECK((elements(randn({10})) == second));
  manual_seed(12);
  CHECK((elements(tenon::rand({10})) != first));
}

TEST_CASE("random creators: the thread's own generator is one like others, which counts",
          "[plain]") {
  const KeepGenerator keep;
  default_generator() = seeded();
  const auto check = [](const auto& create, const auto&... args) {
    Generator same = default_generator();
    const Bytes own = elements(create(args...));
    CHECK((own == elements(create(args..., same))));
    CHECK(default_generator().offset() == same.offset());
  };
  const TensorPtr source = zeros({2, 3});
  check(rand_object, kShape);
  check(rand_like, source);
  check(randint_strided, -5, 50, kShape, Dims{1, 2});
  check(normal, 10, 0.5, kShape);
  CHECK(default_generator().seed() == seeded().seed());
  CHECK(default_generator().offset() == seeded().offset() + 4 * 6);
}

// A promise of docs/guarantees.md.
TEST_CASE("random creators: a state stored and set again makes the same numbers") {
  Generator g(11, 5);
  const Generator::State state = g.state();
  const Bytes drawn = elements(randn({10}, g));
  Generator later;
  CHECK(later.set_state(state) == Error::Ok);
  CHECK((elements(randn({10}, later)) == drawn));
}

TEST_CASE("rand: after a using directive it overloads the C library's") {
  Generator g(0);
  CHECK(sizes(rand({2, 3})) == Vector{2, 3});
  CHECK(rand(std::vector<int>{2, 3}, ScalarType::Half)->scalar_type() == ScalarType::Half);
  CHECK(const_data_ptr<float>(rand({4}, g))[0] == 0x6627e8 / 16777216.0f);
  STATIC_REQUIRE(std::is_same_v<decltype(rand()), int>);
  CHECK(rand() >= 0);
}

TEST_CASE("random creators: every element type, with finite numbers that vary") {
  for (const RandomCreator& creator : kCreators) {
    for (ScalarType type : kAllTypes) {
      INFO(creator.name << " " << toString(type));
      Generator g(9, 101);
      const TensorPtr t = creator.make({300}, {}, type, g);
      CHECK(t->scalar_type() == type);
      const Doubles drawn = numbers(t);
      CHECK(std::all_of(drawn.begin(), drawn.end(), [](double x) { return std::isfinite(x); }));
      if (!isIntegralType(type, true))
        CHECK(std::set<double>(drawn.begin(), drawn.end()).size() > 1);
    }
  }
}

TEST_CASE("uniform, normal: integral types truncate towards 0, and take their nearest end") {
  const auto check = [](bool has_negative, const auto& make) {
    for (ScalarType type : kAllTypes) {
      if (!isIntegralType(type, true)) continue;
      const bool is_unsigned =
          type == ScalarType::Bool || type == ScalarType::Byte || type >= ScalarType::UInt16;
      if (is_unsigned && has_negative) continue;
      INFO(toString(type));
      const bool is_narrow = elementSize(type) < 4;
      Doubles expected = made(is_narrow ? ScalarType::Float : ScalarType::Double, make);
      for (double& value : expected) {
        value = type == ScalarType::Bool ? value != 0 : std::trunc(value) + 0.0;  // no -0
        if (type == ScalarType::Char) value = std::min(std::max(value, -128.0), 127.0);
      }
      CHECK((made(type, make) == expected));
    }
  };
  check(false, [](ScalarType type, Generator& g) { return tenon::rand({500}, type, g); });
  check(false,
        [](ScalarType type, Generator& g) { return uniform(0.25, 100.75, {3000}, type, g); });
  check(true, [](ScalarType type, Generator& g) { return uniform(-2.75, 2.75, {3000}, type, g); });
  check(true, [](ScalarType type, Generator& g) { return normal(0, 1000, {3000}, type, g); });
}

TEST_CASE("randint: every type gets the same integers, or the nearest within the bounds") {
  for (int64_t high : {2, 9}) {  // Float8_e5m2 holds all up to 8
    const auto draw = [&](ScalarType type, Generator& g) {
      return randint(0, high, {3000}, type, g);
    };
    const Doubles ints = made(ScalarType::Int, draw);
    CHECK(std::set<double>(ints.begin(), ints.end()).size() == static_cast<size_t>(high));
    for (ScalarType type : kAllTypes) {
      INFO(toString(type));
      if (type != ScalarType::Bool || high == 2) CHECK((made(type, draw) == ints));
    }
  }
  // 2049 is not Half's, so it becomes 2050, and 2055 becomes 2054, not 2056.
  const Doubles halves = made(ScalarType::Half, [](ScalarType type, Generator& g) {
    return randint(2049, 2056, {2000}, type, g);
  });
  CHECK((std::set<double>(halves.begin(), halves.end()) == std::set<double>{2050, 2052, 2054}));
}

TEST_CASE("complex elements: real parts are those of the real type, imaginary ones are others") {
  const std::pair<ScalarType, ScalarType> types[] = {
      {ScalarType::ComplexHalf, ScalarType::Half},
      {ScalarType::ComplexFloat, ScalarType::Float},
      {ScalarType::ComplexDouble, ScalarType::Double}};
  const auto draw = [](ScalarType type, Generator& g) { return tenon::rand({500}, type, g); };
  for (const auto& [type, part] : types) {
    INFO(toString(type));
    CHECK((made(type, draw) == made(part, draw)));
    Generator g(9, 101);
    const Doubles both = numbers(draw(type, g));
    CHECK(both[0] != both[1]);
    CHECK((both[1] >= 0 && both[1] < 1));
  }
}

TEST_CASE("random_: without bounds, integers from 0 to the largest up to which a type has all") {
  const std::pair<ScalarType, double> types[] = {
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
  CHECK(std::size(types) == std::size(kAllTypes));
  for (const auto& [type, largest] : types) {
    INFO(toString(type));
    const Doubles drawn = made(type, [](ScalarType asked, Generator& g) {
      TensorPtr t = empty({20000}, asked);
      CHECK(random_(t, g) == Error::Ok);
      return t;
    });
    const std::set<double> different(drawn.begin(), drawn.end());
    for (double value : different) {
      if (value != std::floor(value)) FAIL_CHECK(value);
    }
    CHECK(*different.begin() >= 0);
    CHECK(*different.begin() <= largest / 1000);
    CHECK(*different.rbegin() <= largest);
    CHECK(*different.rbegin() >= largest * 0.999);
    if (largest <= 256) CHECK(different.size() == static_cast<size_t>(largest) + 1);
  }
}

}  // namespace random_test
