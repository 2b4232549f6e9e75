// SPDX-License-Identifier: MIT
// How the random creators are called, and which numbers they begin with. Their layouts, types and
// errors are in files of their own, as are the functions that fill existing tensors.
#include "tenon/tensor/random.h"
#include "tenon/tensor/access.h"

#include <cstdint>
#include <cstdlib>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tensor/random_helpers.h"

using namespace tenon;
using namespace tests;

namespace {

using Doubles = std::vector<double>;
constexpr auto kBound = TensorShapeDynamism::DYNAMIC_BOUND;
constexpr auto kStatic = TensorShapeDynamism::STATIC;

// What each form of a call is to make, with the default type or with Double: with a generator of
// the state that seeded() has, or with none after manual_seed(7).
struct Expected {
  ScalarType type;
  Bytes plain;
  Bytes typed;
  Bytes own_plain;
  Bytes own_typed;
};

Generator seeded() { return Generator(7, 3); }

// Calls a creator with options in any number and order after `args`; the generator is always in the
// same state, so all make the same numbers.
template <class Creator, class... Args>
void check_forms(const Expected& expected, const Creator& create, const Args&... args) {
  const auto check_numbers = [](const auto& result, ScalarType type, TensorShapeDynamism dynamism,
                                const Bytes& plain, const Bytes& typed) {
    const tenon::Tensor t = handle(result);
    CHECK(t.scalar_type() == type);
    CHECK(tenon::shape_dynamism(t) == dynamism);
    CHECK(elements(t) == (type == ScalarType::Double ? typed : plain));
    CHECK(tenon::ownership(t) == Ownership::Owned);
    CHECK_FALSE(tenon::is_readonly(t));
  };
  const auto check = [&](const auto& result, ScalarType type, TensorShapeDynamism dynamism) {
    check_numbers(result, type, dynamism, expected.plain, expected.typed);
  };
  Generator g = seeded();
  check(create(args..., g), expected.type, kBound);
  g = seeded();
  check(create(args..., ScalarType::Double, g), ScalarType::Double, kBound);
  g = seeded();
  check(create(args..., ScalarType::Double, kStatic, g), ScalarType::Double, kStatic);
  g = seeded();
  check(create(args..., g, kStatic, ScalarType::Double), ScalarType::Double, kStatic);
  check(create(args..., seeded(), ScalarType::Double), ScalarType::Double, kBound);
  check(create(args..., kStatic, seeded()), expected.type, kStatic);

  const auto check_own = [&](const auto& result, ScalarType type, TensorShapeDynamism dynamism) {
    check_numbers(result, type, dynamism, expected.own_plain, expected.own_typed);
  };
  const Generator before = default_generator();
  tenon::manual_seed(7);
  check_own(create(args...), expected.type, kBound);
  tenon::manual_seed(7);
  check_own(create(args..., ScalarType::Double), ScalarType::Double, kBound);
  tenon::manual_seed(7);
  check_own(create(args..., ScalarType::Double, kStatic), ScalarType::Double, kStatic);
  tenon::manual_seed(7);
  check_own(create(args..., kStatic), expected.type, kStatic);
  default_generator() = before;
}

// What fills existing tensors makes what the creators are to make.
template <class Fill>
Expected filled(ScalarType type, const Fill& fill) {
  const auto filled_by = [&](ScalarType element_type, Generator& g) {
    const TensorPtr t = tenon::empty({2, 3}, element_type);
    CHECK(fill(*t, g) == Error::Ok);
    return elements(t);
  };
  const auto by_given = [&](ScalarType element_type) {
    Generator g = seeded();
    return filled_by(element_type, g);
  };
  const auto by_own = [&](ScalarType element_type) {
    const Generator before = default_generator();
    tenon::manual_seed(7);
    Bytes numbers = filled_by(element_type, default_generator());
    default_generator() = before;
    return numbers;
  };
  return {type, by_given(type), by_given(ScalarType::Double), by_own(type),
          by_own(ScalarType::Double)};
}

// rand is a function template, which cannot be passed on.
const auto rand_object = [](const tenon::Dims& sizes, auto&&... args) {
  return tenon::rand(sizes, std::forward<decltype(args)>(args)...);
};

}  // namespace

TEST_CASE("rand: 24 bits of Philox's words, which are published") {
  Generator g(0);
  const auto t = tenon::rand({4}, g);
  const float unit = 1.0f / (1 << 24);
  CHECK(values<float>(t) ==
        std::vector<float>{0x6627e8 * unit, 0xe169c5 * unit, 0xbc57ac * unit, 0x9b00db * unit});
}

TEST_CASE("randint: the upper halves of the words' products with the range") {
  Generator g(0);
  CHECK(values<int32_t>(tenon::randint(0, 100, {4}, g)) == std::vector<int32_t>{39, 88, 73, 60});
  g.manual_seed(0);
  CHECK(values<int32_t>(tenon::randint(-10, 90, {4}, g)) == std::vector<int32_t>{29, 78, 63, 50});
}

TEST_CASE("rand and randn: Float, row-major, DYNAMIC_BOUND, or a type, a dynamism, a generator") {
  const auto uniform_one = filled(
      ScalarType::Float, [](const auto& t, Generator& g) { return tenon::uniform_(t, 0, 1, g); });
  const auto normal_one = filled(
      ScalarType::Float, [](const auto& t, Generator& g) { return tenon::normal_(t, 0, 1, g); });
  CHECK(uniform_one.type == ScalarType::Float);
  const tenon::Dims shape{2, 3};
  const tenon::Dims dense{3, 1};
  check_forms(uniform_one, rand_object, shape);
  check_forms(uniform_one, tenon::try_rand, shape);
  check_forms(uniform_one, tenon::rand_strided, shape, dense);
  check_forms(uniform_one, tenon::try_rand_strided, shape, dense);
  check_forms(normal_one, tenon::randn, shape);
  check_forms(normal_one, tenon::try_randn, shape);
  check_forms(normal_one, tenon::randn_strided, shape, dense);
  check_forms(normal_one, tenon::try_randn_strided, shape, dense);
  CHECK(strides(tenon::rand({2, 3})) == Vector{3, 1});
}

TEST_CASE("randint: Int, or a type, a dynamism, a generator") {
  const auto expected = filled(
      ScalarType::Int, [](const auto& t, Generator& g) { return tenon::random_(t, -5, 50, g); });
  const tenon::Dims shape{2, 3};
  const tenon::Dims dense{3, 1};
  check_forms(expected, tenon::randint, -5, 50, shape);
  check_forms(expected, tenon::try_randint, -5, 50, shape);
  check_forms(expected, tenon::randint_strided, -5, 50, shape, dense);
  check_forms(expected, tenon::try_randint_strided, -5, 50, shape, dense);
}

TEST_CASE("uniform and normal: Float, or a type, a dynamism, a generator") {
  const auto uniform_one = filled(ScalarType::Float, [](const auto& t, Generator& g) {
    return tenon::uniform_(t, -1.5, 2.5, g);
  });
  const auto normal_one = filled(
      ScalarType::Float, [](const auto& t, Generator& g) { return tenon::normal_(t, 10, 0.5, g); });
  const tenon::Dims shape{2, 3};
  const tenon::Dims dense{3, 1};
  check_forms(uniform_one, tenon::uniform, -1.5, 2.5, shape);
  check_forms(uniform_one, tenon::try_uniform, -1.5, 2.5, shape);
  check_forms(uniform_one, tenon::uniform_strided, -1.5, 2.5, shape, dense);
  check_forms(uniform_one, tenon::try_uniform_strided, -1.5, 2.5, shape, dense);
  check_forms(normal_one, tenon::normal, 10, 0.5, shape);
  check_forms(normal_one, tenon::try_normal, 10, 0.5, shape);
  check_forms(normal_one, tenon::normal_strided, 10, 0.5, shape, dense);
  check_forms(normal_one, tenon::try_normal_strided, 10, 0.5, shape, dense);
}

TEST_CASE("random _like creators: the source's type, or a type, a dynamism, a generator") {
  const TensorPtr like = tenon::zeros({2, 3}, ScalarType::Half, kStatic);
  const auto uniform_one = filled(
      ScalarType::Half, [](const auto& t, Generator& g) { return tenon::uniform_(t, 0, 1, g); });
  check_forms(uniform_one, tenon::rand_like, like);
  check_forms(uniform_one, tenon::try_rand_like, *like);
  const auto normal_one = filled(
      ScalarType::Half, [](const auto& t, Generator& g) { return tenon::normal_(t, 0, 1, g); });
  check_forms(normal_one, tenon::randn_like, *like);
  check_forms(normal_one, tenon::try_randn_like, like);
  const auto integers = filled(
      ScalarType::Half, [](const auto& t, Generator& g) { return tenon::random_(t, -5, 50, g); });
  check_forms(integers, tenon::randint_like, like, -5, 50);
  check_forms(integers, tenon::try_randint_like, *like, -5, 50);
  const auto between = filled(ScalarType::Half, [](const auto& t, Generator& g) {
    return tenon::uniform_(t, -1.5, 2.5, g);
  });
  check_forms(between, tenon::uniform_like, *like, -1.5, 2.5);
  check_forms(between, tenon::try_uniform_like, like, -1.5, 2.5);
  const auto around = filled(
      ScalarType::Half, [](const auto& t, Generator& g) { return tenon::normal_(t, 10, 0.5, g); });
  check_forms(around, tenon::normal_like, like, 10, 0.5);
  check_forms(around, tenon::try_normal_like, *like, 10, 0.5);
}

TEST_CASE("random creators: sizes as in empty, from braces, containers and none") {
  CHECK(sizes(tenon::rand({2, 3})) == Vector{2, 3});
  CHECK(tenon::rand({})->dim() == 0);
  CHECK(tenon::shape_dynamism(tenon::rand({})) == kStatic);
  CHECK(tenon::randn(std::vector<int>{2, 3})->numel() == 6);
  CHECK(tenon::randint(0, 9, {0, 3})->numel() == 0);
  CHECK(tenon::uniform(0, 1, Vector(8, 2))->dim() == 8);
  CHECK(sizes(tenon::normal_strided(0, 1, {2, 3}, {1, 2})) == Vector{2, 3});
}

TEST_CASE("random creators: each takes as many elements from its generator as it makes") {
  for (const tests::Creator& creator : tests::kCreators) {
    INFO(creator.name);
    Generator g(3);
    creator.make({5, 4}, {}, ScalarType::Float, g);
    CHECK(g.offset() == 20);
    creator.make({}, {}, ScalarType::ComplexDouble, g);
    CHECK(g.offset() == 21);
    creator.make({3, 0, 2}, {}, ScalarType::Int, g);
    CHECK(g.offset() == 21);
    creator.make({7}, {}, ScalarType::Byte, g);
    CHECK(g.offset() == 28);
    CHECK(g.seed() == 3);
  }
}

TEST_CASE("random creators: the same seed and offset make the same numbers, others do not") {
  for (const tests::Creator& creator : tests::kCreators) {
    INFO(creator.name);
    const auto made = [&](Generator g) {
      return elements(creator.make({100}, {}, ScalarType::Float, g));
    };
    const Bytes numbers = made(Generator(3, 8));
    CHECK((made(Generator(3, 8)) == numbers));
    CHECK((made(Generator(4, 8)) != numbers));
    CHECK((made(Generator(3, 9)) != numbers));
  }
}

TEST_CASE("random creators: an element's number depends on its offset, not on what came before") {
  for (const tests::Creator& creator : tests::kCreators) {
    for (ScalarType type : {ScalarType::Float, ScalarType::Double, ScalarType::Int}) {
      INFO(creator.name << " " << toString(type));
      Generator once(3, 8);
      const Bytes all = elements(creator.make({611}, {}, type, once));
      Generator g(3, 8);
      Bytes pieces;
      for (int64_t count : {1, 2, 5, 3, 200, 0, 400}) {
        const Bytes piece = elements(creator.make({count}, {}, type, g));
        pieces.insert(pieces.end(), piece.begin(), piece.end());
      }
      CHECK((pieces == all));
      CHECK(g.offset() == once.offset());
    }
  }
}

TEST_CASE("random creators: after element 2^64 - 1 of a seed comes element 0") {
  for (const tests::Creator& creator : tests::kCreators) {
    for (ScalarType type : {ScalarType::Float, ScalarType::Double, ScalarType::Int}) {
      INFO(creator.name << " " << toString(type));
      Generator across(3, uint64_t{0} - 300);
      const Bytes all = elements(creator.make({800}, {}, type, across));
      CHECK(across.offset() == 500);
      Generator g(3);
      const Bytes first = elements(creator.make({500}, {}, type, g));
      CHECK((Bytes(all.end() - static_cast<std::ptrdiff_t>(first.size()), all.end()) == first));
    }
  }
}

TEST_CASE("random creators: manual_seed makes the thread's own generator repeat itself") {
  const Generator before = default_generator();
  tenon::manual_seed(11);
  const Bytes first = elements(tenon::rand({10}));
  const Bytes second = elements(tenon::randn({10}));
  CHECK((elements(tenon::rand({10})) != first));
  tenon::manual_seed(11);
  CHECK((elements(tenon::rand({10})) == first));
  CHECK((elements(tenon::randn({10})) == second));
  tenon::manual_seed(12);
  CHECK((elements(tenon::rand({10})) != first));
  default_generator() = before;
}

TEST_CASE("random creators: the thread's own generator is one like others, which counts",
          "[plain]") {
  const Generator before = default_generator();
  tenon::manual_seed(11);
  Generator g(11);
  CHECK((elements(tenon::rand({10})) == elements(tenon::rand({10}, g))));
  CHECK((elements(tenon::randn({10})) == elements(tenon::randn({10}, g))));
  CHECK(default_generator().offset() == 20);
  default_generator() = seeded();
  const auto check = [](const auto& create, const auto&... args) {
    Generator same = default_generator();
    const Bytes own = elements(create(args...));
    CHECK((own == elements(create(args..., same))));
    CHECK(default_generator().offset() == same.offset());
  };
  const TensorPtr source = tenon::zeros({2, 3});
  const tenon::Dims shape{2, 3};
  check(rand_object, shape);
  check(tenon::rand_like, source);
  check(tenon::randn, shape);
  check(tenon::randint, -5, 50, shape);
  check(tenon::randint_strided, -5, 50, shape, tenon::Dims{1, 2});
  check(tenon::uniform_like, source, -1.5, 2.5);
  check(tenon::normal, 10, 0.5, shape);
  CHECK(default_generator().seed() == seeded().seed());
  CHECK(default_generator().offset() == seeded().offset() + 7 * 6);
  default_generator() = before;
}

TEST_CASE("random creators: a state stored and set again makes the same numbers") {
  Generator g(11, 5);
  const Generator::State state = g.state();
  const Bytes numbers = elements(tenon::randn({10}, g));
  Generator later;
  CHECK(later.set_state(state) == Error::Ok);
  CHECK((elements(tenon::randn({10}, later)) == numbers));
}

namespace with_using_directive {
using namespace tenon;

static TensorPtr make() { return rand({2, 3}); }
}  // namespace with_using_directive

TEST_CASE("rand: after a using directive it overloads the C library's") {
  using namespace tenon;
  Generator g(0);
  CHECK(sizes(rand({2, 3})) == Vector{2, 3});
  CHECK(rand(std::vector<int>{2, 3}, ScalarType::Half)->scalar_type() == ScalarType::Half);
  CHECK(tenon::const_data_ptr<float>(rand({4}, g))[0] == 0x6627e8 / 16777216.0f);
  CHECK(with_using_directive::make()->numel() == 6);
  STATIC_REQUIRE(std::is_same_v<decltype(rand()), int>);
  CHECK(rand() >= 0);
}
