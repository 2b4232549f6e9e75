// SPDX-License-Identifier: MIT
// copy_ and assign with a Normalize: what they make, between memories that overlap or are a
// backend's too, and what they refuse. tests/unit/kernels has the elements in every layout.
#include <cmath>
#include <limits>

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace copy_normalize_test {

using namespace tenon;
using namespace tests;

namespace {

constexpr auto kByte = ScalarType::Byte;

// Half the difference to the channel's mean: exact in float.
Normalize halves() { return {1, {10, 20, 30}, {2}, 0}; }

// 3 channels of 2 pixels, and what halves() makes of them.
TensorPtr planes() { return make_tensor_ptr({3, 2}, {10, 12, 20, 24, 30, 36}, kByte); }
const Floats kHalved{0, 1, 0, 2, 0, 3};

}  // namespace

TEST_CASE("normalize: lists of one value and none, broadcast sources, scalars and no elements") {
  const TensorPtr out = zeros({3, 2});
  CHECK(copy_(out, planes(), halves()) == Error::Ok);
  CHECK(values<float>(out) == kHalved);
  CHECK(copy_(out, make_tensor_ptr({40, 50}), {0.5f, {}, {10, 5}, 1}) == Error::Ok);
  CHECK(values<float>(out) == Floats{2, 5, 2, 5, 2, 5});
  CHECK(copy_(out, planes(), {1, {10}, {-4}, 0}) == Error::Ok);
  CHECK(values<float>(out) == Floats{0, -0.5f, -2.5f, -3.5f, -5, -6.5f});
  const TensorPtr scalar = make_tensor_ptr(7.0f);
  for (int64_t dim : {0, -1}) {
    CHECK(copy_(scalar, make_tensor_ptr(9), {1, {1}, {2}, dim}) == Error::Ok);
    CHECK(item<float>(scalar) == 4);
  }
  RETURNS(InvalidArgument, "mean has 3 values", copy_(empty({0, 3}), empty({0, 3}), halves()));
}

TEST_CASE("normalize: in place, and between memories that overlap") {
  const TensorPtr t = make_tensor_ptr({3, 2}, {10.f, 12.f, 20.f, 24.f, 30.f, 36.f});
  CHECK(copy_(t, t, halves()) == Error::Ok);
  CHECK(values<float>(t) == kHalved);
  const Normalize one_more{1, {-1}, {}, 0};
  CHECK(copy_(transpose(t, 0, 1), transpose(t, 0, 1), {1, {1, 2}, {}, 0}) == Error::Ok);
  CHECK(values<float>(t) == Floats{-1, -1, -1, 0, -1, 1});
  const TensorPtr line = make_tensor_ptr({1.f, 2.f, 3.f, 4.f});
  CHECK(copy_(tenon::slice(line, 0, 1, 4), tenon::slice(line, 0, 0, 3), one_more) == Error::Ok);
  CHECK(values<float>(line) == Floats{1, 2, 3, 4});
  // Bytes that become the floats that lie over them.
  float memory[3] = {};
  const unsigned char bytes[] = {10, 20, 30};
  std::memcpy(memory, bytes, sizeof bytes);
  CHECK(assign(from_blob(memory, {3}), {memory, {3}, {}, kByte}, one_more) == Error::Ok);
  CHECK(Floats(memory, memory + 3) == Floats{11, 21, 31});
  float reversed[3] = {1, 2, 3};
  CHECK(assign(from_blob(reversed, {3}), Blob::of(reversed + 2, {3}, {-1}), one_more) == Error::Ok);
  CHECK(Floats(reversed, reversed + 3) == Floats{4, 3, 2});
}

TEST_CASE("normalize: what is refused changes nothing") {
  const TensorPtr out = full({3, 2}, 7.0f);
  const TensorPtr bytes = full({3, 2}, 7, kByte);
  const TensorPtr in = planes();
  const auto complex = zeros({3, 2}, ScalarType::ComplexFloat);
  const auto with = [](detail::FloatList mean, detail::FloatList stddev, int64_t dim = 0) {
    Normalize n;
    n.mean = mean;
    n.stddev = stddev;
    n.dim = dim;
    return n;
  };
  constexpr auto kSaturate = CastMode::Saturate;
  RETURNS(InvalidArgument, "copy_: mean has 2 values, dimension 0 of the destination has 3",
          copy_(out, in, with({1, 2}, {})));
  RETURNS(InvalidArgument, "copy_: stddev has 3 values, dimension -1 of the destination has 2",
          copy_(out, in, with({1, 2}, {1, 2, 3}, -1)));
  RETURNS(InvalidArgument, "copy_: stddev[1] is 0", copy_(out, in, with({}, {1, 0, 3})));
  RETURNS(InvalidArgument, "copy_: stddev[0] is 0", copy_(out, in, with({}, {-0.0f})));
  RETURNS(OutOfBounds, "copy_: dimension 2 is out of range for a tensor of 2 dimensions",
          copy_(out, in, with({}, {}, 2)));
  RETURNS(OutOfBounds, "dimension -2 is out of range",
          copy_(make_tensor_ptr(1.0f), make_tensor_ptr(1), with({}, {}, -2)));
  RETURNS(InvalidType,
          "copy_: values of Byte cannot be normalised to Byte, except with CastMode::Saturate",
          copy_(bytes, in, Normalize()));
  RETURNS(InvalidType, "except with CastMode::Saturate",
          copy_(bytes, in, Normalize(), CastMode::Truncate));
  RETURNS(InvalidType, "copy_: values of Byte cannot be normalised to Bool",
          copy_(zeros({3, 2}, ScalarType::Bool), in, Normalize(), kSaturate));
  RETURNS(InvalidType, "values of Byte cannot be normalised to ComplexFloat",
          copy_(complex, in, Normalize(), kSaturate));
  RETURNS(InvalidType, "values of ComplexFloat cannot be normalised to Float",
          copy_(out, complex, Normalize(), kSaturate));
  RETURNS(InvalidArgument, "sizes {3} of the source do not broadcast to sizes {3, 2}",
          copy_(out, zeros({3}), Normalize()));
  RETURNS(InvalidArgument, "elements may share memory",
          copy_(expand(zeros({1}), {2}), in, Normalize()));
  RETURNS(InvalidState, "copy_: the destination is undefined", copy_(Tensor(), in, Normalize()));
  RETURNS(InvalidState, "copy_: the source is a placeholder without data",
          copy_(out, make_tensor({3, 2}, nullptr), Normalize()));
  const Blob blob = to_blob(in);
  RETURNS(InvalidArgument, "assign: dimension 0 is 3 in the blob's sizes",
          assign(zeros({2, 3}), blob, Normalize()));
  RETURNS(InvalidArgument, "assign: mean has 2 values", assign(out, blob, with({1, 2}, {})));
  RETURNS(InvalidType, "assign: values of Byte cannot", assign(bytes, blob, Normalize()));
  CHECK(values<float>(out) == Floats(6, 7));
  CHECK(values<uint8_t>(bytes) == std::vector<uint8_t>(6, 7));
}

}  // namespace copy_normalize_test
