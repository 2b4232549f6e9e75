// SPDX-License-Identifier: MIT
#include "tenon/module/output_tensor.h"

#include "support/catch.h"
#include "tenon/tenon.h"

using namespace tenon;

using namespace tenon;
using tenon::detail::overlap;

TEST_CASE("overlap: tensors share memory by their elements and the room they may be resized to") {
  float memory[12] = {};
  TensorPtr low = from_blob(memory, {4});
  const TensorPtr high = from_blob(memory + 4, {4});
  CHECK_FALSE(overlap(*low, *high));
  CHECK(overlap(*low, *from_blob(memory + 3, {1})));
  REQUIRE(resize_tensor_ptr(low, {1}) == Error::Ok);
  CHECK(overlap(*low, *from_blob(memory + 3, {1})));
  const Tensor last = slice(high, 0, 3, 4);
  CHECK_FALSE(overlap(last, slice(high, 0, 0, 3)));
  CHECK_FALSE(overlap(Tensor(), *low));
  CHECK_FALSE(overlap(EValue("text"), *low));
  const TensorPtr nothing = empty({0});
  CHECK(overlap(EValue(nothing), *nothing));  // would be resized with it
}

#if !TENON_ATEN_MODE
TEST_CASE("overlap: a view whose strides are negative overlaps what lies below its element 0") {
  const TensorPtr memory = zeros({8});
  const Tensor backward = flip(slice(memory, 0, 4, 8), {0});
  CHECK(overlap(backward, slice(memory, 0, 4, 5)));
  CHECK_FALSE(overlap(backward, slice(memory, 0, 0, 4)));
}
#endif

TEST_CASE("is_delivered: the tensor itself, or one of the same shape and dtype at its place") {
  const TensorPtr to = zeros({2, 2});
  CHECK(detail::is_delivered(*to, *to));
  CHECK(detail::is_delivered(view(to, {2, 2}), *to));
  CHECK_FALSE(detail::is_delivered(view(to, {4}), *to));
  CHECK_FALSE(detail::is_delivered(transpose(to, 0, 1), *to));
  CHECK_FALSE(detail::is_delivered(view_as_type(to, ScalarType::Int), *to));
  CHECK_FALSE(detail::is_delivered(*zeros({2, 2}), *to));
  CHECK_FALSE(detail::is_delivered(Tensor(), *to));
}

TEST_CASE("renew: a tensor that somebody shares, or of another dtype, is made anew") {
  Tensor kept;
  const auto renew = [&](ScalarType type, const Dims& sizes) {
    CHECK(detail::renew(kept, nullptr, type, sizes, {}, TensorShapeDynamism::DYNAMIC_BOUND) ==
          Error::Ok);
    CHECK(kept.scalar_type() == type);
    CHECK(kept.sizes() == sizes);
    return kept.const_data_ptr();
  };
  const void* const first = renew(ScalarType::Float, {4});
  CHECK(renew(ScalarType::Float, {2}) == first);
  const Tensor shared = kept;
  CHECK(renew(ScalarType::Float, {2}) != first);
  renew(ScalarType::Int, {2});
  renew(ScalarType::Int, {8});
}
