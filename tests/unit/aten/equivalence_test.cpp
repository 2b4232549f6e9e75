// SPDX-License-Identifier: MIT
// Every creator, view and copy beside the at:: call that it corresponds to: the same sizes,
// strides, dtype, device and values. docs/aten.md has the table, with the differences.
#include <ATen/ATen.h>
#include <cmath>

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tenon/tensor/values.h"
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

/// Both are over the memory of one tensor, and start at the same element.
void check_view(const at::Tensor& made, const at::Tensor& expected) {
  check_same(made, expected);
  CHECK(made.data_ptr() == expected.data_ptr());
  CHECK(made.storage_offset() == expected.storage_offset());
  CHECK(made.is_alias_of(expected));
}

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

TEST_CASE("equivalence: arange is Long for integers, Float for floating values; iota and eye") {
  check_same(tenon::arange(5), at::arange(5));
  check_same(tenon::arange(0), at::arange(0));
  check_same(tenon::arange(2, 11), at::arange(2, 11));
  check_same(tenon::arange(2, 11, 3), at::arange(2, 11, 3));
  check_same(tenon::arange(11, 2, -3), at::arange(11, 2, -3));
  check_same(tenon::arange(2.5), at::arange(2.5));
  check_same(tenon::arange(0.0, 1.0, 0.25), at::arange(0.0, 1.0, 0.25));
  for (const ScalarType type : {ScalarType::Byte, ScalarType::Short, ScalarType::Double}) {
    check_same(tenon::arange(1, 7, 2, type), at::arange(1, 7, 2, type));
  }
  check_same(tenon::iota({2, 3, 4}), at::arange(24).view({2, 3, 4}));
  check_same(tenon::iota({2, 3, 4}, 1), at::arange(3).view({3, 1}).expand({2, 3, 4}).contiguous());
  check_same(tenon::iota({4}, tenon::none, ScalarType::Float), at::arange(4, at::kFloat));
  check_same(tenon::eye(3), at::eye(3));
  check_same(tenon::eye(2, 4), at::eye(2, 4));
  check_same(tenon::eye(4, 2, ScalarType::Long), at::eye(4, 2, at::kLong));
  check_same(tenon::eye(0), at::eye(0));
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

TEST_CASE("equivalence: view, reshape and flatten") {
  const at::Tensor t = numbered({2, 3, 4});
  check_view(tenon::view(t, {6, 4}), t.view({6, 4}));
  check_view(tenon::view(t, {3, -1, 2}), t.view({3, -1, 2}));
  check_view(tenon::view(t, {2, 1, 12}), t.view({2, 1, 12}));
  check_view(tenon::reshape(t, {4, 6}), t.reshape({4, 6}));
  check_view(tenon::flatten(t), t.flatten());
  check_view(tenon::flatten(t, 1, 2), t.flatten(1, 2));
  check_view(tenon::view(t.slice(0, 1, 2), {3, 4}), t.slice(0, 1, 2).view({3, 4}));
  check_view(tenon::view(t.permute({2, 0, 1}), {2, 2, 2, 3}),
             t.permute({2, 0, 1}).view({2, 2, 2, 3}));
  const at::Tensor scalar = numbered({});
  check_view(tenon::flatten(scalar), scalar.flatten());
  check_view(tenon::view(scalar, {1, 1}), scalar.view({1, 1}));
  check_view(tenon::view(t.slice(1, 1, 2).slice(2, 3, 4), {2}), t.select(1, 1).select(1, 3));
}

TEST_CASE("equivalence: reshape and flatten copy what at:: copies, view refuses it") {
  const at::Tensor t = numbered({2, 3}).t();
  RAISES(NotSupported, "view", tenon::view(t, {6}));
  const at::Tensor copies[] = {tenon::reshape(t, {6}), tenon::reshape(t, {2, -1}),
                               tenon::flatten(t), tenon::flatten(numbered({2, 3, 4}).mT(), 1)};
  const at::Tensor expected[] = {t.reshape({6}), t.reshape({2, -1}), t.flatten(),
                                 numbered({2, 3, 4}).mT().flatten(1)};
  for (size_t i = 0; i < 4; ++i) {
    check_same(copies[i], expected[i]);
    CHECK_FALSE(copies[i].is_alias_of(t));
    CHECK(copies[i].storage_offset() == 0);
  }
  check_view(tenon::reshape(t, {3, 1, 2}), t.reshape({3, 1, 2}));
}

TEST_CASE("equivalence: movedim, diagonal and the transposed matrix") {
  const at::Tensor t = numbered({3, 4, 5});
  check_view(tenon::movedim(t, 0, 2), t.movedim(0, 2));
  check_view(tenon::movedim(t, -1, 0), t.movedim(-1, 0));
  check_view(tenon::movedim(t, {0, 1}, {-1, 0}), at::movedim(t, {0, 1}, {-1, 0}));
  const at::Tensor scalar = numbered({});
  check_view(tenon::movedim(scalar, 0, -1), scalar.movedim(0, -1));
  for (const int64_t offset : {0, 1, 3, 4, 9, -1, -2, -3}) {
    INFO(offset);
    check_view(tenon::diagonal(t, offset), t.diagonal(offset));
    check_view(tenon::diagonal(t, offset, 2, 0), t.diagonal(offset, 2, 0));
    check_view(tenon::diagonal(t, offset, -2, -1), t.diagonal(offset, -2, -1));
  }
  check_view(tenon::transpose(t[0]), t[0].t());
  check_view(tenon::transpose(t[0][0]), t[0][0].t());
  check_view(tenon::transpose(scalar), scalar.t());
}

TEST_CASE("equivalence: select, slice and narrow") {
  const at::Tensor t = numbered({4, 5, 6}).transpose(0, 2);
  for (int64_t dim : {0, 1, 2, -1}) {
    check_view(tenon::select(t, dim, 1), t.select(dim, 1));
    check_view(tenon::select(t, dim, -2), t.select(dim, -2));
    check_view(tenon::slice(t, dim, 1, 3), t.slice(dim, 1, 3));
    check_view(tenon::slice(t, dim, 0, INT64_MAX, 2), t.slice(dim, 0, INT64_MAX, 2));
    check_view(tenon::slice(t, dim, -3, -1), t.slice(dim, -3, -1));
    check_view(tenon::narrow(t, dim, 1, 2), t.narrow(dim, 1, 2));
    check_view(tenon::narrow(t, dim, -2, 1), t.narrow(dim, -2, 1));
    check_same(tenon::slice(t, dim, 3, 2), t.slice(dim, 3, 2));  // without elements
    check_same(tenon::narrow(t, dim, 2, 0), t.narrow(dim, 2, 0));
  }
}

TEST_CASE("equivalence: transpose, permute, squeeze and unsqueeze") {
  const at::Tensor t = numbered({2, 1, 3, 1, 4});
  check_view(tenon::transpose(t, 0, 2), t.transpose(0, 2));
  check_view(tenon::transpose(t, -1, 1), t.transpose(-1, 1));
  check_view(tenon::permute(t, {4, 2, 0, 3, 1}), t.permute({4, 2, 0, 3, 1}));
  check_view(tenon::squeeze(t), t.squeeze());
  check_view(tenon::squeeze(t, 1), t.squeeze(1));
  check_view(tenon::squeeze(t, 0), t.squeeze(0));
  check_view(tenon::squeeze(t, -2), t.squeeze(-2));
  for (int64_t dim = -6; dim <= 5; ++dim) check_view(tenon::unsqueeze(t, dim), t.unsqueeze(dim));
  const at::Tensor crooked = t.permute({4, 2, 0, 3, 1});
  for (int64_t dim = 0; dim <= 5; ++dim) {
    check_view(tenon::unsqueeze(crooked, dim), crooked.unsqueeze(dim));
  }
  const at::Tensor scalar = numbered({});
  check_view(tenon::unsqueeze(scalar, 0), scalar.unsqueeze(0));
  check_view(tenon::transpose(scalar, 0, -1), scalar.transpose(0, -1));
}

TEST_CASE("equivalence: as_strided, whose offset ATen counts from the start of the storage") {
  const at::Tensor t = numbered({4, 6});
  check_view(tenon::as_strided(t, {3, 2}, {6, 2}, 1), t.as_strided({3, 2}, {6, 2}, 1));
  check_view(tenon::as_strided(t, {3, 3}, {1, 1}), t.as_strided({3, 3}, {1, 1}));
  check_view(tenon::as_strided(t, {5, 2}, {0, 3}, 2), t.as_strided({5, 2}, {0, 3}, 2));
  const at::Tensor second = t.select(0, 1);
  check_view(tenon::as_strided(second, {3}, {2}, 1), second.as_strided({3}, {2}, 6 + 1));
  RAISES(OutOfBounds, "as_strided", tenon::as_strided(second, {7}, {1}));
  CHECK(second.as_strided({18}, {1}).sum().item<float>() == 17 * 18 / 2 + 6 * 18);
}

TEST_CASE("equivalence: view_as_type is at::Tensor::view of a dtype") {
  const at::Tensor t = numbered({2, 4});
  check_view(tenon::view_as_type(t, ScalarType::Int), t.view(at::kInt));
  CHECK(tenon::view_as_type(t, ScalarType::Byte).storage_offset() == 0);
  check_same(tenon::view_as_type(t, ScalarType::Byte), t.view(at::kByte));
  check_same(tenon::view_as_type(t, ScalarType::Double), t.view(at::kDouble));
  const at::Tensor tail = t.slice(1, 2, 4);
  check_view(tenon::view_as_type(tail, ScalarType::Long), tail.view(at::kLong));
}

TEST_CASE("equivalence: contiguous and to") {
  for (const at::Tensor& source : sources()) {
    INFO(source.sizes() << " at " << source.strides());
    check_same(tenon::contiguous(source), source.contiguous());
    CHECK(tenon::contiguous(source).is_same(source) == source.contiguous().is_same(source));
    for (const ScalarType type : {ScalarType::Float, ScalarType::Double, ScalarType::Half}) {
      check_same(tenon::to(source, type), source.to(type));
      CHECK(tenon::to(source, type).is_same(source) == source.to(type).is_same(source));
    }
  }
  const at::Tensor t = at::tensor({1.75f, -2.5f});
  RAISES(InvalidType, "Int", tenon::to(t, ScalarType::Int));
  check_same(tenon::to(t, ScalarType::Int, tenon::CastMode::Truncate), t.to(at::kInt));
}

TEST_CASE("equivalence: copy_, fill_ and zero_") {
  for (const at::Tensor& source : sources()) {
    INFO(source.sizes() << " at " << source.strides());
    for (const ScalarType type : {ScalarType::Float, ScalarType::Double, ScalarType::BFloat16}) {
      const at::Tensor made = at::zeros(source.sizes(), type);
      REQUIRE(tenon::copy_(made, source) == Error::Ok);
      check_same(made, at::zeros(source.sizes(), type).copy_(source));
    }
  }
  const at::Tensor made = at::zeros({3, 4}).t();
  REQUIRE(tenon::copy_(made, numbered({3})) == Error::Ok);  // broadcast
  check_same(made, at::zeros({3, 4}).t().copy_(numbered({3})));
  REQUIRE(tenon::fill_(made, 2.5) == Error::Ok);
  check_same(made, at::empty({3, 4}).t().fill_(2.5));
  REQUIRE(tenon::zero_(made) == Error::Ok);
  check_same(made, at::empty({3, 4}).t().zero_());
}

TEST_CASE("equivalence: moves by index, and nonzero") {
  const auto both_refuse = [](auto&& ours, auto&& theirs) {
    CHECK_THROWS_AS(ours(), Exception);
    CHECK_THROWS(theirs());
  };
  for (const at::Tensor& t : sources()) {
    INFO(t.sizes() << " at " << t.strides());
    for (int64_t dim = t.dim() == 0 ? -1 : -t.dim(); dim < (t.dim() == 0 ? 1 : t.dim()); ++dim) {
      const int64_t size = t.dim() == 0 ? 1 : t.size(dim);
      const int64_t count = t.dim() == 0 ? 1 : size == 0 ? 0 : size + 2;
      const at::Tensor indices =
          at::arange(count, at::kLong).mul(3).remainder(size == 0 ? 1 : size);
      const at::Tensor theirs = at::index_select(t, dim, indices).contiguous();
      check_same(tenon::index_select(t, dim, indices), theirs);
      const at::Tensor out = at::zeros_like(theirs);
      REQUIRE(tenon::index_select_out(out, t, dim, indices.to(at::kInt)) == Error::Ok);
      check_same(out, theirs);
      const at::Tensor ours = t.contiguous().clone();
      const at::Tensor source = theirs + 1;
      REQUIRE(tenon::index_copy_(ours, dim, indices, source) == Error::Ok);
      check_same(ours, t.contiguous().clone().index_copy_(dim, indices, source));
      both_refuse([&] { return tenon::index_select(t, dim, {size}); },
                  [&] { return at::index_select(t, dim, at::full({1}, size, at::kLong)); });
    }
    const at::Tensor found = at::nonzero(t);
    CHECK(tenon::nonzero(t)->sizes() == found.sizes());
    if (found.numel() != 0) check_same(tenon::nonzero(t), found.contiguous());  // else any strides
  }
}

TEST_CASE("equivalence: cat and stack") {
  const at::Tensor nothing = at::empty({0});
  for (const at::Tensor& t : sources()) {
    INFO(t.sizes() << " at " << t.strides());
    const auto dense = [](const at::Tensor& made) { return made.contiguous(); };
    for (int64_t dim = -t.dim(); dim < t.dim(); ++dim) {
      check_same(tenon::cat({t, t, t}, dim), dense(at::cat({t, t, t}, dim)));
      check_same(tenon::cat({nothing, t, nothing}, dim),
                 dense(at::cat({nothing, t, nothing}, dim)));
    }
    for (int64_t dim = -t.dim() - 1; dim <= t.dim(); ++dim) {
      check_same(tenon::stack({t, t}, dim), dense(at::stack({t, t}, dim)));
      const at::Tensor out = at::empty(at::stack({t, t}, dim).sizes());
      REQUIRE(tenon::stack_out(out, {t, t}, dim) == Error::Ok);
      check_same(out, dense(at::stack({t, t}, dim)));
    }
  }
  check_same(tenon::cat({nothing, nothing}), at::cat({nothing, nothing}));
  const auto both_refuse = [](auto&& ours, auto&& theirs) {
    CHECK_THROWS_AS(ours(), Exception);
    CHECK_THROWS_AS(theirs(), c10::Error);
  };
  const at::Tensor a = numbered({2, 3});
  const at::Tensor scalar = numbered({});
  for (const std::vector<at::Tensor>& list : {std::vector<at::Tensor>{},
                                              {scalar},
                                              {a, scalar},
                                              {nothing, scalar},
                                              {a, numbered({3})},
                                              {a, at::empty({0, 2})},
                                              {a, numbered({2, 2})}}) {
    both_refuse([&] { return tenon::cat(list); }, [&] { return at::cat(list); });
  }
  both_refuse([&] { return tenon::stack({a, nothing}); }, [&] { return at::stack({a, nothing}); });
  both_refuse([&] { return tenon::stack({a}, 3); }, [&] { return at::stack({a}, 3); });
}

TEST_CASE("equivalence: split, chunk and unbind") {
  const auto check_views = [](const std::vector<at::Tensor>& made,
                              const std::vector<at::Tensor>& expected) {
    REQUIRE(made.size() == expected.size());
    for (size_t i = 0; i < made.size(); ++i) {
      made[i].numel() == 0 ? check_same(made[i], expected[i]) : check_view(made[i], expected[i]);
    }
  };
  for (const at::Tensor& t : sources()) {
    INFO(t.sizes() << " at " << t.strides());
    for (int64_t dim = -t.dim(); dim < t.dim(); ++dim) {
      for (int64_t n = 1; n <= 5; ++n) {
        check_views(tenon::split(t, n, dim), at::split(t, n, dim));
        check_views(tenon::chunk(t, n, dim), at::chunk(t, n, dim));
      }
      check_views(tenon::unbind(t, dim), at::unbind(t, dim));
    }
  }
  const at::Tensor nothing = at::empty({0, 2});
  check_views(tenon::split(nothing, 0), at::split(nothing, 0));
  check_views(tenon::chunk(nothing, 3), at::chunk(nothing, 3));
}

TEST_CASE("equivalence: equal, allclose, min_max, mean_std and item") {
  for (const at::Tensor& t : sources()) {
    INFO(t.sizes() << " at " << t.strides());
    for (const at::Tensor& u : {t.clone(), t + 1e-6, t + 1, t.reshape({-1})}) {
      CHECK(tenon::equal(t, u) == at::equal(t, u));
      if (t.sizes() == u.sizes()) CHECK(tenon::allclose(t, u) == at::allclose(t, u));
    }
    if (t.numel() == 0) continue;
    const auto [min, max] = at::aminmax(t);
    CHECK(tenon::min_max(t).min.to<float>() == min.item<float>());
    CHECK(tenon::min_max(t).max.to<float>() == max.item<float>());
    const at::Tensor in_double = t.to(at::kDouble);
    CHECK(std::fabs(tenon::mean_std(t).mean - in_double.mean().item<double>()) < 1e-12);
    CHECK(std::fabs(tenon::mean_std(t).std - in_double.std(false).item<double>()) < 1e-12);
    const at::Tensor first = t.reshape({-1})[0];
    CHECK(tenon::item<float>(first) == first.item<float>());
  }
  const at::Tensor t = numbered({3});
  CHECK_FALSE(tenon::equal(t, t.to(at::kDouble)));
  CHECK(tenon::allclose(t, t.to(at::kDouble)));
}

TEST_CASE("equivalence: resize_tensor_ptr is at::Tensor::resize_, keeping the elements") {
  const auto dynamic = tenon::TensorShapeDynamism::DYNAMIC;
  const TensorPtr made = tenon::arange(0, 6, 1, ScalarType::Float, dynamic);
  const at::Tensor expected = numbered({6});
  for (const Vector& sizes : {Vector{2, 3}, Vector{5}, Vector{2, 2, 1}, Vector{0}, Vector{3}}) {
    REQUIRE(tenon::resize_tensor(*made, sizes) == Error::Ok);
    check_same(made, expected.resize_(sizes));
  }
  REQUIRE(tenon::resize_tensor(*made, {50}) == Error::Ok);
  expected.resize_({50});
  check_metadata(*made, expected);
  CHECK(at::equal(made->slice(0, 0, 3), expected.slice(0, 0, 3)));
}

}  // namespace equivalence_test
