// SPDX-License-Identifier: MIT
// What copy_, fill_ and zero_ write. Errors and overlaps, contiguous
// and to are in files of their own.
#include "tenon/tensor/copy.h"

#include "kernels/copy_reference.h"
#include "support/catch.h"
#include "tenon/exchange/binary.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

namespace copy_test {

using namespace tenon;
using namespace tests;

namespace {

/// A shape over a memory of ints.
struct Window {
  Vector sizes;
  Vector strides;
  int64_t first = 0;

  TensorPtr over(Ints& memory) const { return from_blob(memory.data() + first, sizes, strides); }
};
/// What a copy from 1, 2, 3, … makes of a memory of zeros.
struct Case {
  Window dst;
  Window src;
  Ints expected;
};

void check_copies(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    CAPTURE(c.dst.sizes, c.dst.strides, c.src.sizes, c.src.strides);
    Ints from(260);
    std::iota(from.begin(), from.end(), 1);
    const Ints before = from;
    Ints to(c.expected.size());
    const TensorPtr dst = c.dst.over(to);
    const State state(*dst);
    CHECK(copy_(dst, c.src.over(from)) == Error::Ok);
    CHECK(to == c.expected);
    CHECK(from == before);
    CHECK(State(*dst) == state);
  }
}

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("copy_: any strides on both sides, broadcasting, and only elements change") {
  const Window matrix{{2, 3}, {3, 1}};
  const Window cube{{2, 2, 2}, {4, 2, 1}};
  check_copies({
      {matrix, matrix, {1, 2, 3, 4, 5, 6}},
      {{{2, 3}, {1, 2}}, matrix, {1, 4, 2, 5, 3, 6}},
      {{{3, 2}, {4, 2}}, {{3, 2}, {1, 3}}, {1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6, 0}},
      {{{2, 3}, {4, 1}, 1}, {{2, 3}, {5, 1}}, {0, 1, 2, 3, 0, 6, 7, 8, 0}},
      {matrix, {{2, 3}, {0, 1}, 3}, {4, 5, 6, 4, 5, 6}},
      {matrix, {{3}, {1}}, {1, 2, 3, 1, 2, 3}},
      {matrix, {{1, 3}, {3, 1}}, {1, 2, 3, 1, 2, 3}},
      {matrix, {{2, 1}, {1, 1}}, {1, 1, 1, 2, 2, 2}},
      {matrix, {{1, 1}, {1, 1}}, {1, 1, 1, 1, 1, 1}},
      {matrix, {{}, {}}, {1, 1, 1, 1, 1, 1}},
      {cube, {{2, 1, 2}, {2, 2, 1}}, {1, 2, 1, 2, 3, 4, 3, 4}},
      {cube, {{2, 1}, {1, 1}}, {1, 1, 2, 2, 1, 1, 2, 2}},
      {{{}, {}}, {{}, {}}, {1}},
      {{{1, 1}, {1, 1}}, {{1}, {1}}, {1}},
      // The stride of a dimension of size 1 means nothing.
      {{{2, 2}, {2, 1}}, {{1, 2}, {1000, 2}}, {1, 3, 1, 3}},
      {{{2, 2}, {2, 1}}, {{2, 1}, {3, -77}}, {1, 1, 4, 4}},
  });
}

TEST_CASE("copy_: 8 dimensions, from their other end") {
  Ints expected(256);
  for (size_t i = 0; i < 256; ++i) {
    for (size_t bit = 0; bit < 8; ++bit)
      expected[i] |= static_cast<int>((i >> bit & 1) << (7 - bit));
    ++expected[i];
  }
  const Vector strides{128, 64, 32, 16, 8, 4, 2, 1};
  check_copies(
      {{{Vector(8, 2), strides}, {Vector(8, 2), {1, 2, 4, 8, 16, 32, 64, 128}}, expected}});
}

TEST_CASE("copy_: takes tensors, pointers, constant handles and temporary views on either side") {
  const Tensor dst = make_tensor({2, 2}, {0, 0, 0, 0});
  const TensorPtr src = make_tensor_ptr({1, 2});
  CHECK(copy_(tenon::select(dst, 0, 1), src) == Error::Ok);
  CHECK(copy_(tenon::select(dst, 0, 0), *src) == Error::Ok);
  CHECK(values<int32_t>(dst) == Ints{1, 2, 1, 2});
  CHECK(copy_(src, make_tensor({3, 4})) == Error::Ok);
  CHECK(copy_(tenon::select(dst, 1, 1), tenon::select(dst, 1, 0)) == Error::Ok);
  CHECK(values<int32_t>(dst) == Ints{1, 1, 1, 1});
  CHECK(values<int32_t>(src) == Ints{3, 4});
}

TEST_CASE("copy_: without elements there is nothing to do, data may be null") {
  int32_t data[3] = {1, 2, 3};
  const TensorPtr nothing = from_blob(data, {0, 3});
  for (const Tensor& src :
       {*from_blob(data, {3}), make_tensor(7), *from_blob(data, {1, 1}), *nothing}) {
    CHECK(copy_(nothing, src) == Error::Ok);
  }
  const TensorPtr null = make_tensor_ptr({3, 0, 2}, static_cast<int32_t*>(nullptr));
  CHECK(copy_(null, null) == Error::Ok);
  CHECK(copy_(null, make_tensor({1, 0, 1}, Ints())) == Error::Ok);
  CHECK(Ints(data, data + 3) == Ints{1, 2, 3});
}

TEST_CASE("copy_: every type to every type, in every mode that allows it") {
  Rng random{1};
  int wrong = 0;
  for (ScalarType from : kAllTypes) {
    for (ScalarType to : kAllTypes) {
      for (CastMode mode : {CastMode::Checked, CastMode::Truncate, CastMode::Saturate}) {
        const bool allowed = mode != CastMode::Checked || from == to || canCast(from, to);
        Bytes src = random_elements(random, from, 6);
        Bytes dst(6 * elementSize(to), 0xAB);
        Bytes expected = dst;
        for (size_t i = 0; allowed && i < 6; ++i) {  // 3 x 2, copied to 2 x 3
          const size_t j = i % 3 * 2 + i / 3;
          cast_by_hand(to, expected.data() + i * elementSize(to), from,
                       src.data() + j * elementSize(from), mode);
        }
        const Tensor in = for_blob(src.data(), {3, 2}, from).make_tensor();
        const Tensor out = for_blob(dst.data(), {2, 3}, to).make_tensor();
        const Error error = copy_(out, transpose(in, 0, 1), mode);
        if (error != (allowed ? Error::Ok : Error::InvalidType) || dst != expected) ++wrong;
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("copy_: reads a read-only source") {
  const int32_t data[2] = {1, 2};
  const TensorPtr dst = make_tensor_ptr({0, 0});
  CHECK(copy_(dst, from_blob(read_only(data), {2})) == Error::Ok);
  CHECK(values<int32_t>(dst) == Ints{1, 2});
}

TEST_CASE("copy_: reaches pinned and managed memory of a device, which is the host's too") {
  for (const char* device : {"cuda_host" ATEN_LACKS(, "cuda_managed:1")}) {
    int32_t data[2] = {1, 2};
    const Tensor there = for_blob(data, {2}).device(device).make_tensor();
    const TensorPtr here = make_tensor_ptr({0, 0});
    CHECK(copy_(here, there) == Error::Ok);
    CHECK(values<int32_t>(here) == Ints{1, 2});
    CHECK(copy_(there, make_tensor(9)) == Error::Ok);
    CHECK(data[1] == 9);
  }
}

TEST_CASE("fill_, zero_: write all elements, and no others") {
  Bytes rows(3 * 8, 0xEE);
  const TensorPtr padded = from_blob(rows.data(), {3, 5}, {8, 1});
  const auto check = [&](int even, int odd) {
    for (size_t i = 0; i < rows.size(); ++i) {
      CHECK(rows[i] == (i % 8 >= 5 ? 0xEE : i % 2 == 0 ? even : odd));
    }
  };
  CHECK(fill_(padded, 9) == Error::Ok);
  check(9, 9);
  CHECK(zero_(transpose(padded, 0, 1)) == Error::Ok);
  check(0, 0);
  CHECK(fill_(slice(*padded, 1, 0, 5, 2), 1) == Error::Ok);
  check(1, 0);
  ATEN_LACKS(CHECK(zero_(flip(transpose(padded, 0, 1), {0, 1})) == Error::Ok); check(0, 0);)
}

TEST_CASE("fill_: converts a value that fits the type") {
  const auto filled = [](ScalarType type, const Scalar& value) {
    const TensorPtr t = zeros({2}, type);
    CHECK(fill_(t, value) == Error::Ok);
    return to_binary(t);
  };
  CHECK(filled(ScalarType::Int, -1) == to_binary(make_tensor_ptr({-1, -1})));
  CHECK(filled(ScalarType::Half, 1.5) == to_binary(make_tensor_ptr({Half(1.5f), Half(1.5f)})));
  CHECK(filled(ScalarType::Bool, true) == Bytes{1, 1});
  CHECK(filled(ScalarType::UInt64, 5) == to_binary(make_tensor_ptr({uint64_t{5}, uint64_t{5}})));
  const complex<double> number(1, -2);
  CHECK(filled(ScalarType::ComplexDouble, number) == to_binary(make_tensor_ptr({number, number})));
}

TEST_CASE("zero_: makes the elements of every type zero, and nothing beyond them") {
  for (ScalarType type : kAllTypes) {
    INFO(toString(type));
    const size_t size = elementSize(type);
    Bytes memory(7 * size, 0xFF);
    CHECK(zero_(for_blob(memory.data() + size, {5}, type).make_tensor()) == Error::Ok);
    for (size_t i = 0; i < memory.size(); ++i) {
      CHECK(memory[i] == (i < size || i >= 6 * size ? 0xFF : 0));
    }
  }
}

TEST_CASE("fill_: rank 0, 8 dimensions, and no elements with null data") {
  const TensorPtr scalar = make_tensor_ptr(1);
  CHECK(fill_(scalar, 2) == Error::Ok);
  CHECK(item<int>(scalar) == 2);
  const TensorPtr deep = zeros(Vector(8, 2), ScalarType::Int);
  CHECK(fill_(permute(deep, {7, 6, 5, 4, 3, 2, 1, 0}), 3) == Error::Ok);
  CHECK(values<int32_t>(deep) == Ints(256, 3));
  const TensorPtr nothing = make_tensor_ptr({0, 4}, static_cast<float*>(nullptr));
  CHECK(fill_(nothing, 1) == Error::Ok);
  CHECK(zero_(nothing) == Error::Ok);
}

}  // namespace copy_test
