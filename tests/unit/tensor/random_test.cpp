// SPDX-License-Identifier: MIT
// How the random creators are called, and which numbers they make of each type. What fills existing
// tensors, layouts and errors are in files of their own.
#include "tenon/tensor/random.h"

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
  check(create(args..., ScalarType::Double, kStatic, g), ScalarType::Double, kStatic);
  g = seeded();
  check(create(args..., g, kStatic, ScalarType::Double), ScalarType::Double, kStatic);
  check(create(args..., seeded(), ScalarType::Double), ScalarType::Double, kBound);
  check(create(args...), plain, kBound, true);
  check(create(args..., ScalarType::Double, kStatic), ScalarType::Double, kStatic, true);
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
      Generator g(3, 8);
      Bytes pieces;
      for (int64_t count : {1, 2, 5, 3, 200, 0, 400}) {
        const Bytes piece = drawn(count, g);
        pieces.insert(pieces.end(), piece.begin(), piece.end());
      }
      CHECK((pieces == all));
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

// A promise of docs/guarantees.md.
TEST_CASE("random creators: a state stored and set again makes the same numbers") {
  Generator g(11, 5);
  const Generator::State state = g.state();
  const Bytes drawn = elements(randn({10}, g));
  Generator later;
  CHECK(later.set_state(state) == Error::Ok);
  CHECK((elements(randn({10}, later)) == drawn));
}

}  // namespace random_test
