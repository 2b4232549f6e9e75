// SPDX-License-Identifier: MIT
// Creators, random numbers and clones beside the at:: call that they correspond to: the same sizes,
// strides, dtype, device and values. docs/aten.md has the table, with the differences; the values of
// views and copies are those of the test files that both modes share.
#include <ATen/ATen.h>
#include <cmath>

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace equivalence_test {

using namespace tenon;
using namespace tests;

namespace {

constexpr ScalarType kTypes[] = {
    ScalarType::Byte,         ScalarType::Char,          ScalarType::Short, ScalarType::Int,
    ScalarType::Long,         ScalarType::Half,          ScalarType::Float, ScalarType::Double,
    ScalarType::ComplexFloat, ScalarType::ComplexDouble, ScalarType::Bool,  ScalarType::BFloat16};

void check_metadata(const at::Tensor& made, const at::Tensor& expected) {
  REQUIRE(made.defined());
  CHECK(made.sizes().vec() == expected.sizes().vec());
  CHECK(made.strides().vec() == expected.strides().vec());
  CHECK(made.scalar_type() == expected.scalar_type());
  CHECK(made.device() == expected.device());
  CHECK(made.layout() == expected.layout());
  CHECK(made.is_contiguous() == expected.is_contiguous());
  CHECK(made.is_non_overlapping_and_dense() == expected.is_non_overlapping_and_dense());
  CHECK(made.key_set() == expected.key_set());
  CHECK_FALSE(made.requires_grad());
}

void check_same(const at::Tensor& made, const at::Tensor& expected) {
  check_metadata(made, expected);
  CHECK(at::equal(made, expected));
}
void check_same(const TensorPtr& made, const at::Tensor& expected) { check_same(*made, expected); }

/// 0, 1, 2, … in these sizes.
at::Tensor numbered(at::IntArrayRef sizes) {
  int64_t numel = 1;
  for (int64_t size : sizes) numel *= size;
  return at::arange(numel, at::kFloat).view(sizes);
}

/// Strides that say something: dense, permuted, of size 1, empty, 0-d, with gaps, broadcast.
std::vector<at::Tensor> sources() {
  const at::Tensor base = numbered({2, 3, 4});
  return {base,
          base.permute({2, 0, 1}),
          base.transpose(0, 1),
          base.unsqueeze(1),
          base.slice(2, 0, 4, 2),
          base.select(1, 1),
          base.permute({1, 2, 0}).slice(0, 1, 3),
          numbered({3, 1}).expand({3, 4}),
          numbered({}),
          at::empty({2, 0, 3}),
          numbered({1, 2, 1, 2, 1, 2, 1, 2})};
}

/// What both give after the same seed.
template <class Make, class Expect>
void check_same_numbers(Make make, Expect expect) {
  tenon::manual_seed(7);
  const at::Tensor made = make();
  const at::Tensor next = make();
  at::manual_seed(7);
  check_same(made, expect());
  check_same(next, expect());
  CHECK_FALSE(at::equal(made, next));
}

#define CHECK_SAME_NUMBERS(made, expected) \
  check_same_numbers([&] { return made; }, [&] { return expected; })

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("equivalence: empty, zeros, ones and full are at::'s, of every dtype and rank") {
  for (const ScalarType type : kTypes) {
    INFO(c10::toString(type));
    check_metadata(*tenon::empty({2, 3}, type), at::empty({2, 3}, type));
    check_same(tenon::zeros({2, 3}, type), at::zeros({2, 3}, type));
    check_same(tenon::ones({2, 3}, type), at::ones({2, 3}, type));
    check_same(tenon::full({2, 3}, 1, type), at::full({2, 3}, 1, type));
    check_same(tenon::scalar_tensor(1, type), at::scalar_tensor(1, type));
  }
  for (const Vector& sizes : {Vector{}, Vector{5}, Vector{0}, Vector{2, 0, 3}, Vector{1, 4, 1},
                              Vector{2, 1, 2, 1, 2, 1, 2, 1}}) {
    check_same(tenon::zeros(sizes), at::zeros(sizes));
    check_same(tenon::full(sizes, 2.5), at::full(sizes, 2.5));
    check_metadata(*tenon::rand(sizes), at::rand(sizes));
  }
}

TEST_CASE("equivalence: full is Float, and refuses what does not fit, where ATen does otherwise") {
  check_same(tenon::full({2}, 3), at::full({2}, 3, at::kFloat));
  CHECK(at::full({2}, 3).scalar_type() == at::kLong);
  check_same(tenon::full({2}, true), at::full({2}, true, at::kFloat));
  CHECK(at::full({2}, true).scalar_type() == at::kBool);
  check_same(tenon::full({2}, 2.5), at::full({2}, 2.5));
  RAISES(InvalidArgument, "300", tenon::full({2}, 300, ScalarType::Byte));
  RAISES(InvalidType, "full", tenon::full({2}, 2.5, ScalarType::Int));
  CHECK(at::full({2}, 2.5, at::kInt).select(0, 0).item<int>() == 2);
  check_same(tenon::scalar_tensor(2.5), at::scalar_tensor(2.5));
  check_same(tenon::scalar_tensor(3), at::scalar_tensor(3));
}

TEST_CASE(
    "equivalence: _like chooses ATen's strides: dense ones kept, others made dense in order") {
  for (const at::Tensor& source : sources()) {
    INFO(source.sizes() << " at " << source.strides());
    check_metadata(*tenon::empty_like(source), at::empty_like(source));
    check_same(tenon::zeros_like(source), at::zeros_like(source));
    check_same(tenon::ones_like(source), at::ones_like(source));
    check_same(tenon::full_like(source, 2.5), at::full_like(source, 2.5));
    check_metadata(*tenon::rand_like(source), at::rand_like(source));
    check_metadata(*tenon::randint_like(source, 0, 9), at::randint_like(source, 0, 9));
    check_same(tenon::ones_like(source, ScalarType::Long),
               at::ones_like(source, source.options().dtype(at::kLong)));
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("equivalence: rand and randn give libtorch's own numbers after the same seed") {
  for (const ScalarType type :
       {ScalarType::Float, ScalarType::Double, ScalarType::Half, ScalarType::BFloat16}) {
    INFO(c10::toString(type));
    CHECK_SAME_NUMBERS((*tenon::rand({3, 5}, type)), (at::rand({3, 5}, type)));
    CHECK_SAME_NUMBERS((*tenon::randn({5, 7}, type)), (at::randn({5, 7}, type)));
  }
}

TEST_CASE("equivalence: the _like and in-place random functions give libtorch's numbers too") {
  const at::Tensor source = numbered({4, 5}).t();
  CHECK_SAME_NUMBERS((*tenon::rand_like(source)), (at::rand_like(source)));
  CHECK_SAME_NUMBERS((*tenon::randn_like(source)), (at::randn_like(source)));
  CHECK_SAME_NUMBERS((*tenon::rand_strided({3, 4}, {1, 3})),
                     (at::empty_strided({3, 4}, {1, 3}).uniform_()));
  const auto fill_uniform = [] {
    const at::Tensor t = at::empty({20});
    REQUIRE(tenon::uniform_(t) == Error::Ok);
    return t;
  };
  check_same_numbers(fill_uniform, [] { return at::empty({20}).uniform_(); });
  const auto fill_normal = [] {
    const at::Tensor t = at::empty({20});
    REQUIRE(tenon::normal_(t) == Error::Ok);
    return t;
  };
  check_same_numbers(fill_normal, [] { return at::empty({20}).normal_(); });
}

TEST_CASE("equivalence: randint and random_ give libtorch's integers for up to 65536 of them") {
  CHECK_SAME_NUMBERS((*tenon::randint(-3, 9, {20})), (at::randint(-3, 9, {20}, at::kInt)));
  CHECK_SAME_NUMBERS((*tenon::randint(0, 65536, {20}, ScalarType::Long)),
                     (at::randint(0, 65536, {20}, at::kLong)));
  const at::Tensor source = at::zeros({20}, at::kShort);
  CHECK_SAME_NUMBERS((*tenon::randint_like(source, 5, 100)), (at::randint_like(source, 5, 100)));
  const auto fill = [] {
    const at::Tensor t = at::empty({20}, at::kLong);
    REQUIRE(tenon::random_(t, 0, 100) == Error::Ok);
    return t;
  };
  check_same_numbers(fill, [] { return at::empty({20}, at::kLong).random_(0, 100); });
}

TEST_CASE("equivalence: clone_tensor_ptr is clone, with a dtype a copying to") {
  for (const at::Tensor& source : sources()) {
    INFO(source.sizes() << " at " << source.strides());
    const TensorPtr clone = tenon::clone_tensor_ptr(source);
    check_same(clone, source.clone());
    CHECK_FALSE(clone->is_alias_of(source));
    check_same(tenon::clone_tensor_ptr(source, ScalarType::Double),
               source.to(at::kDouble, /*non_blocking=*/false, /*copy=*/true));
  }
}

TEST_CASE(
    "equivalence: a dimension of stride 0 goes last in memory, where ATen leaves it in place") {
  const at::Tensor source = numbered({4}).expand({2, 3, 4});
  const TensorPtr clone = tenon::clone_tensor_ptr(source);
  CHECK(at::equal(*clone, source));
  CHECK(clone->strides().vec() == Vector{3, 1, 6});
  CHECK(source.clone().strides().vec() == Vector{12, 4, 1});
  CHECK(tenon::empty_like(source)->strides().vec() == Vector{3, 1, 6});
  CHECK(at::empty_like(source).strides().vec() == Vector{12, 4, 1});
  check_same(tenon::contiguous(source), source.contiguous());
}

}  // namespace equivalence_test
