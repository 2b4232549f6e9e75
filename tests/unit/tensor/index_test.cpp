// SPDX-License-Identifier: MIT
#include "tenon/tensor/index.h"

#include <array>
#include <vector>

#include "backend/helpers.h"
#include "kernels/helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tenon/tensor/values.h"
#include "tensor/helpers.h"

namespace index_test {

using namespace tenon;
using namespace tests;

namespace {

constexpr auto kInt = ScalarType::Int;

/// A window of `pool`, whose dimensions are all of one size, of any strides.
Tensor window(Rng& random, Tensor pool, const Vector& shape) {
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto dim = static_cast<int64_t>(d);
    const auto other = random.between(0, static_cast<int64_t>(shape.size()) - 1);
    pool = transpose(pool, dim, other);
    if (!TENON_ATEN_MODE && random.between(0, 3) == 0) pool = flip(pool, {dim});
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto dim = static_cast<int64_t>(d);
    const int64_t size = pool.size(dim);
    if (random.between(0, 3) == 0 && 2 * shape[d] <= size) {
      pool = slice(pool, dim, 0, 2 * shape[d], 2);
    } else {
      pool = narrow(pool, dim, random.between(0, size - shape[d]), shape[d]);
    }
  }
  return pool;
}

/// copy_() of one row after the other.
Error copy_rows_one_by_one(const Tensor& to, const Vector& to_rows, const Tensor& from,
                           const Vector& from_rows, int64_t dim, CastMode mode) {
  for (size_t k = 0; k < to_rows.size(); ++k) {
    const Error error =
        copy_(narrow(to, dim, to_rows[k], 1), narrow(from, dim, from_rows[k], 1), mode);
    if (error != Error::Ok) return error;
  }
  return Error::Ok;
}

/// Random elements that every type has.
Tensor noise(Rng& random, const Vector& shape, ScalarType type) {
  std::vector<int64_t> elements(element_offsets(shape, Vector(shape.size())).size());
  for (int64_t& element : elements) element = random.between(0, 100);
  return to(make_tensor(shape, elements), type, CastMode::Saturate);
}

bool same(const Tensor& a, const Tensor& b) {
  return to_vector<complex<double>>(a) == to_vector<complex<double>>(b);
}

/// One random move: compares tenon::index_select_out() or tenon::index_copy_() with copies of single rows.
void check_move(uint64_t seed, ScalarType to_type, ScalarType from_type, int64_t largest) {
  Rng random{seed};
  const int64_t rank = random.between(1, 4);
  const int64_t side = rank > 2 ? (largest < 9 ? largest : 9) : largest;
  Vector shape;
  for (int64_t d = 0; d < rank; ++d) {
    shape.push_back(random.between(0, 19) == 0 ? 0 : random.between(1, side));
  }
  const bool scatters = random.between(0, 1) == 0;
  const auto at = static_cast<size_t>(random.between(0, rank - 1));
  const auto dim = static_cast<int64_t>(at);
  const int64_t size = shape[at];
  const int64_t count = size == 0 ? 0 : random.between(0, side);
  Vector rows(static_cast<size_t>(count));
  for (int64_t& row : rows) row = random.between(0, size - 1);
  Vector listed(rows.size());
  for (size_t k = 0; k < listed.size(); ++k) listed[k] = static_cast<int64_t>(k);
  Vector few = shape;
  few[at] = count;
  const Vector all(static_cast<size_t>(rank), side + 2);
  const Tensor to_pool = noise(random, all, to_type);
  const Tensor expected_pool = *clone_tensor_ptr(to_pool);
  Rng same_window = random;
  const Tensor out = window(random, to_pool, scatters ? shape : few);
  const Tensor expected = window(same_window, expected_pool, scatters ? shape : few);
  Tensor in = window(random, noise(random, all, from_type), scatters ? few : shape);
  if (random.between(0, 9) == 0 && in.numel() != 0) {
    const int64_t repeated = random.between(0, rank - 1);
    in = expand(narrow(in, repeated, 0, 1), list(in.sizes()));
  }
  const CastMode mode = canCast(from_type, to_type) ? CastMode::Checked : CastMode::Saturate;
  const bool is_int = random.between(0, 1) == 0;
  Tensor indices = make_tensor({count}, rows, is_int ? kInt : ScalarType::Long);
  if (random.between(0, 2) == 0) indices = tenon::select(stack({indices, indices}, 1), 1, 0);
  CAPTURE(seed, to_type, from_type, scatters, shape, rows, dim, strides(out), strides(in));
  const int64_t given = random.between(0, 1) == 0 ? dim : dim - rank;
  const Error error = scatters ? tenon::index_copy_(out, given, indices, in, mode)
                               : tenon::index_select_out(out, in, given, indices, mode);
  CHECK(error == Error::Ok);
  REQUIRE(copy_rows_one_by_one(expected, scatters ? rows : listed, in, scatters ? listed : rows,
                               dim, mode) == Error::Ok);
  if (!same(to_pool, expected_pool)) FAIL_CHECK("other elements");
  if (scatters) return;
  const TensorPtr made = tenon::index_select(in, given, indices);
  const bool is_right =
      made->scalar_type() == from_type && made->is_contiguous() && sizes(made) == few &&
      same(*made, from_type == to_type ? expected : *tenon::index_select(in, dim, rows));
  if (!is_right) FAIL_CHECK("made");
}

}  // namespace

TEST_CASE("index_select, index_copy_: take tensors, lists and containers of indices") {
  const TensorPtr t = make_tensor_ptr({3, 2}, {1, 2, 3, 4, 5, 6});
  const Ints expected = {5, 6, 1, 2, 5, 6};
  const Vector vector = {2, 0, 2};
  const std::array<int32_t, 3> array = {2, 0, 2};
  const TensorPtr indices = make_tensor_ptr({2, 0, 2}, ScalarType::Long);
  const Tensor ints = make_tensor({2, 0, 2}, kInt);
  const size_t two = 2;
  const TensorPtr results[] = {
      tenon::index_select(t, 0, {2, 0, 2}),
      tenon::index_select(t, -2, {two, 0, two}),
      tenon::index_select(t, 0, vector),
      tenon::index_select(t, 0, array),
      tenon::index_select(t, 0, indices),
      tenon::index_select(t, 0, ints),
      tenon::index_select(
          t, 0, tenon::slice(make_tensor_ptr({2, 9, 0, 9, 2}, ScalarType::Long), 0, 0, 5, 2)),
  };
  for (const TensorPtr& result : results) check_tensor(*result, {3, 2}, {2, 1}, expected);
  check_tensor(*tenon::index_select(t, 0, scalar_tensor(1, ScalarType::Long)), {1, 2}, {2, 1},
               {3, 4});
  const TensorPtr out = zeros({4, 2}, kInt);
  CHECK(tenon::index_copy_(out, 0, {3, 1, 3}, t) == Error::Ok);
  CHECK(values<int32_t>(out) == Ints{0, 0, 3, 4, 0, 0, 5, 6});

  static_assert(!std::is_convertible_v<int, IndicesArg>);
  static_assert(!std::is_convertible_v<std::vector<float>, IndicesArg>);
  static_assert(!std::is_convertible_v<std::vector<uint8_t>, IndicesArg>);
  static_assert(!std::is_convertible_v<std::vector<size_t>, IndicesArg>);
}

TEST_CASE("index_select, index_copy_: a tensor of rank 0 is one row, as in ATen") {
  const TensorPtr scalar = make_tensor_ptr(7);
  check_tensor(*tenon::index_select(scalar, 0, {0}), {}, {}, {7});
  RAISES(InvalidArgument, "index_select: 2 indices are given for a tensor of rank 0, expected 1",
         tenon::index_select(scalar, 0, {0, 0}));
  RAISES(OutOfBounds, "index_select: dimension 1", tenon::index_select(scalar, 1, {0}));
  const TensorPtr out = make_tensor_ptr({1, 2, 3});
  CHECK(tenon::index_copy_(out, 0, {1}, scalar) == Error::Ok);
  CHECK(values<int32_t>(out) == Ints{1, 7, 3});
  CHECK(tenon::index_copy_(scalar, 0, {0}, make_tensor_ptr({5})) == Error::Ok);
  CHECK(values<int32_t>(scalar) == Ints{5});
  CHECK(tenon::index_select_out(scalar, make_tensor_ptr(9), 0, {0}) == Error::Ok);
  CHECK(values<int32_t>(scalar) == Ints{9});
}

// A promise of docs/guarantees.md.
TEST_CASE("index_select, index_copy_: any strides and types, as copies of single rows") {
  const ScalarType types[] = {
      ScalarType::Byte,  ScalarType::Short, ScalarType::Half,   kInt,
      ScalarType::Float, ScalarType::Long,  ScalarType::Double, ScalarType::ComplexDouble};
  for (uint64_t seed = 1; seed <= (kThorough ? 1500 : 500); ++seed) {
    Rng random{seed * 1000};
    const ScalarType from = types[random.between(0, 7)];
    const ScalarType to = random.between(0, 1) == 0 ? from : types[random.between(0, 7)];
    check_move(seed, to, from, seed % 8 == 0 ? 70 : 6);
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("index_copy_: of an index that occurs twice the last row stays") {
  for (const int64_t width : {1, 3, 40, 3000}) {
    Vector rows(999);
    for (size_t k = 0; k < rows.size(); ++k) rows[k] = static_cast<int64_t>(k % 7);
    const TensorPtr source = empty({999, width});
    const TensorPtr column = arange(999, ScalarType::Float);
    REQUIRE(copy_(source, view(column, {999, 1})) == Error::Ok);
    const TensorPtr out = zeros({7, width}, ScalarType::Double);
    REQUIRE(tenon::index_copy_(out, 0, rows, source) == Error::Ok);
    const auto written = values<double>(out);
    for (size_t i = 0; i < written.size(); ++i) {
      const size_t row = i / static_cast<size_t>(width);
      const size_t last = 998 - (998 + 7 - row) % 7;
      if (written[i] != static_cast<double>(last)) FAIL_CHECK(width << ", row " << row);
    }
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("index_select_out, index_copy_: memory that overlaps, the indices' too") {
  const TensorPtr t = make_tensor_ptr({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(tenon::index_select_out(t, t, 0, {3, 2, 1, 0}) == Error::Ok);
  CHECK(values<int32_t>(t) == Ints{7, 8, 5, 6, 3, 4, 1, 2});
  CHECK(tenon::index_copy_(t, 0, {1, 2, 3}, narrow(t, 0, 0, 3)) == Error::Ok);
  CHECK(values<int32_t>(t) == Ints{7, 8, 7, 8, 5, 6, 3, 4});
  const TensorPtr places = make_tensor_ptr({2, 1, 0}, ScalarType::Long);
  const TensorPtr values_of = make_tensor_ptr({1000, 2000, 3000}, ScalarType::Long);
  CHECK(tenon::index_select_out(places, values_of, 0, places) == Error::Ok);
  CHECK(values<int64_t>(places) == Vector{3000, 2000, 1000});
  Vector memory = {2, 0, 1};
  CHECK(tenon::index_copy_(from_blob(memory.data(), {3}, ScalarType::Long), 0, memory, values_of) ==
        Error::Ok);
  CHECK(memory == Vector{2000, 3000, 1000});
}

TEST_CASE("index_select: errors, before anything is made") {
  const TensorPtr t = ones({2, 3});
  const TensorPtr nothing;
  RAISES(OutOfBounds,
         "index_select: index 3 at position 1 is out of range for dimension 1 of size 3",
         tenon::index_select(t, 1, {2, 3}));
  RAISES(OutOfBounds,
         "index -1 at position 0 is out of range for dimension 0 of size 2; negative indices do "
         "not count from the end",
         tenon::index_select(t, 0, {-1}));
  const size_t two = 2;
  RAISES(OutOfBounds, "index_select: the index at position 1 is above int64_t's range",
         tenon::index_select(t, 0, {two - 1, two - 3, two - 4}));
  RAISES(OutOfBounds, "index -9223372036854775808 at position 2",
         tenon::index_select(t, 0, {0, 1, INT64_MIN, INT64_MAX}));
  RAISES(OutOfBounds, "index 9223372036854775807 at position 1",
         tenon::index_select(t, -2, {0, INT64_MAX}));
  RAISES(OutOfBounds, "index -1 at position 1",
         tenon::index_select(t, 0, make_tensor({0, -1}, kInt)));
  RAISES(OutOfBounds, "index 0 at position 0 is out of range for dimension 0 of size 0",
         tenon::index_select(empty({0, 3}), 0, {0}));
  RAISES(OutOfBounds, "index 5 at position 0", tenon::index_select(empty({2, 0}), 0, {5}));
  RAISES(OutOfBounds, "index_select: dimension 2 is out of range", tenon::index_select(t, 2, {0}));
  RAISES(InvalidType, "index_select: the indices are Float, expected Long or Int",
         tenon::index_select(t, 0, ones({1})));
  RAISES(
      InvalidType,
      "the indices are Bool, expected Long or Int; flatten(nonzero(mask)) makes indices of a mask",
      tenon::index_select(t, 0, ones({2}, ScalarType::Bool)));
  RAISES(InvalidType, "the indices are Short",
         tenon::index_select(t, 0, ones({1}, ScalarType::Short)));
  RAISES(InvalidArgument, "index_select: the indices have sizes {1, 1}, expected one dimension",
         tenon::index_select(t, 0, zeros({1, 1}, ScalarType::Long)));
  RAISES(InvalidState, "index_select: the tensor is undefined",
         tenon::index_select(nothing, 0, {0}));
  RAISES(InvalidState, "index_select: the index tensor is undefined",
         tenon::index_select(t, 0, nothing));
  RAISES(InvalidState, "the tensor is a placeholder",
         tenon::index_select(make_tensor_ptr({2, 3}, nullptr), 0, {0}));
  CHECK(try_index_select(t, 0, {0, 1}).ok());
  CHECK(try_index_select(t, 0, {2}).message() ==
        std::string("try_index_select: index 2 at position 0 is out of range for dimension 0 of "
                    "size 2"));
}

// A promise of docs/guarantees.md.
TEST_CASE("index_select_out, index_copy_: after an error the output is as it was") {
  const TensorPtr t = make_tensor_ptr({2, 2}, {5, 6, 7, 8});
  const TensorPtr source = make_tensor_ptr({2, 2}, {1, 2, 3, 4});
  const TensorPtr floats = ones({2, 2});
  RETURNS(InvalidArgument,
          "index_select_out: the output has sizes {2, 2}, the result has {3, 2}; they have to be "
          "equal",
          tenon::index_select_out(t, source, 0, {0, 0, 0}));
  RETURNS(InvalidType, "index_select_out: ", tenon::index_select_out(t, floats, 0, {0, 1}));
  RETURNS(OutOfBounds, "index_select_out: index 2 at position 1",
          tenon::index_select_out(t, source, 0, {0, 2}));
  RETURNS(InvalidState, "index_select_out: the output is undefined",
          tenon::index_select_out(Tensor(), source, 0, {0, 1}));
  RETURNS(InvalidArgument, "index_select_out: the output has strides {0, 1}",
          tenon::index_select_out(expand(make_tensor({1, 2}), {2, 2}), source, 0, {0, 1}));
  RETURNS(OutOfBounds, "index_copy_: index 2 at position 1 is out of range for dimension 1",
          tenon::index_copy_(t, 1, {0, 2}, source));
  RETURNS(InvalidArgument,
          "index_copy_: the source has sizes {2, 2}, expected {3, 2} for 3 indices of dimension 0",
          tenon::index_copy_(t, 0, {0, 1, 1}, source));
  RETURNS(InvalidArgument, "index_copy_: the source has sizes {2}, expected {1, 2}",
          tenon::index_copy_(t, 0, {0}, make_tensor({1, 2})));
  RETURNS(InvalidType, "index_copy_: ", tenon::index_copy_(t, 0, {0, 1}, floats));
  RETURNS(InvalidState, "index_copy_: the source is undefined",
          tenon::index_copy_(t, 0, {0, 1}, Tensor()));
  RETURNS(OutOfBounds, "index_copy_: dimension -3", tenon::index_copy_(t, -3, {0, 1}, source));
  CHECK(values<int32_t>(t) == Ints{5, 6, 7, 8});
  CHECK(tenon::index_copy_(t, 0, {1, 0}, floats, CastMode::Saturate) == Error::Ok);
  CHECK(values<int32_t>(t) == Ints{1, 1, 1, 1});
}

TEST_CASE("index_copy_: a read-only tensor is refused", "[readonly]") {
  static const int32_t table[2] = {1, 2};
  const TensorPtr fixed = from_blob(read_only(table), {2});
  RETURNS(InvalidState, "index_copy_: the tensor is read-only",
          tenon::index_copy_(fixed, 0, {0}, make_tensor({5})));
  RETURNS(InvalidState, "index_select_out: the output is read-only",
          tenon::index_select_out(fixed, make_tensor({5}), 0, {0, 0}));
  CHECK(values<int32_t>(tenon::index_select(fixed, 0, {1, 1})) == Ints{2, 2});
}

TEST_CASE("index_select, index_copy_: rows in a backend's memory") {
  MinimalBackend b;
  const TensorPtr t = make_tensor_ptr({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}, b);
  const TensorPtr host = zeros({3, 2}, kInt);
  const auto fetched = [](const TensorArg& from) {
    return values<int32_t>(backend_copy(from, host_backend()));
  };
  const TensorPtr made = tenon::index_select(t, 0, {3, 1, 3});
  CHECK(&backend_of(made) == &b);
  CHECK(fetched(made) == Ints{7, 8, 3, 4, 7, 8});
  CHECK(fetched(tenon::index_select(t, 1, {1})) == Ints{2, 4, 6, 8});
  CHECK(fetched(tenon::index_select(t, 0, {})).empty());
  b.downloaded = 0;
  CHECK(tenon::index_select_out(host, t, 0, {0, 2, 1}) ==
        Error::Ok);  // only the rows that are asked for
  CHECK(values<int32_t>(host) == Ints{1, 2, 5, 6, 3, 4});
  CHECK(b.downloaded == 24);
  b.uploaded = 0;
  CHECK(tenon::index_copy_(t, 0, {2, 3}, make_tensor({2, 2}, {9, 8, 7, 6})) == Error::Ok);
  CHECK(fetched(t) == Ints{1, 2, 3, 4, 9, 8, 7, 6});
  CHECK(b.uploaded == 16);
  const TensorPtr indices = make_tensor_ptr({1, 1, 0}, ScalarType::Long, b);
  CHECK(values<int32_t>(tenon::index_select(host, 0, indices)) == Ints{5, 6, 5, 6, 1, 2});
  CHECK(fetched(tenon::index_select(t, 0, indices)) == Ints{3, 4, 3, 4, 1, 2});
  CHECK(tenon::index_copy_(t, 0, {0, 1}, narrow(t, 0, 1, 2)) == Error::Ok);  // overlap
  CHECK(fetched(t) == Ints{3, 4, 9, 8, 9, 8, 7, 6});
  const TensorPtr halves = zeros({4, 2}, ScalarType::Half, b);
  CHECK(tenon::index_copy_(halves, 1, {1, 0}, t) == Error::Ok);
  CHECK(to_vector<float>(halves) == std::vector<float>{4, 3, 8, 9, 8, 9, 6, 7});
  Vector deep(7, 1);
  deep.insert(deep.begin(), 4);
  deep.back() = 2;
  const Tensor many = view(t, deep);
  CHECK(fetched(tenon::index_select(many, 0, {3, 0})) == Ints{7, 6, 3, 4});
  CHECK(tenon::index_copy_(many, -1, {1, 0}, backend_copy(many, host_backend())) == Error::Ok);
  CHECK(fetched(t) == Ints{4, 3, 8, 9, 8, 9, 6, 7});
  CHECK(b.faults == 0);
  RETURNS(OutOfBounds, "index_copy_: index 1 at position 0",
          tenon::index_copy_(narrow(t, 0, 0, 1), 0, indices, host));
  b.will["copy_to_host"] = Answer::Fails;
  RETURNS(AccessFailed, "index_select_out: backend minimal failed in copy_to_host",
          tenon::index_select_out(host, t, 0, {0, 2, 1}));
}

}  // namespace index_test
