// SPDX-License-Identifier: MIT
#include "tenon/tensor/view.h"

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace split_test {

using namespace tenon;
using namespace tests;

TEST_CASE("split, chunk, unbind: the parts of a dimension, as views") {
  const TensorPtr t = make_tensor_ptr({2, 5}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  using Sizes = std::vector<Vector>;
  const auto sizes_of = [](const std::vector<Tensor>& parts) {
    Sizes all;
    for (const Tensor& part : parts) all.push_back(sizes(part));
    return all;
  };
  const std::vector<Tensor> parts = split(t, 2, 1);
  CHECK(sizes_of(parts) == Sizes{{2, 2}, {2, 2}, {2, 1}});
  CHECK(values<int32_t>(parts[1]) == Ints{2, 3, 7, 8});
  CHECK(values<int32_t>(parts[2]) == Ints{4, 9});
  CHECK(const_data_ptr<int32_t>(parts[1]) == const_data_ptr<int32_t>(t) + 2);
  CHECK(sizes_of(chunk(t, 3, 1)) == Sizes{{2, 2}, {2, 2}, {2, 1}});
  CHECK(sizes_of(chunk(t, INT64_MAX, 1)) == Sizes(5, Vector{2, 1}));
  CHECK(sizes_of(unbind(t)) == Sizes{{5}, {5}});
  CHECK(values<int32_t>(unbind(t, -1)[3]) == Ints{3, 8});

  const TensorPtr nothing = empty({0, 2});
  CHECK(sizes_of(split(nothing, 0)) == Sizes{{0, 2}});
  CHECK(sizes_of(chunk(nothing, 3)) == Sizes{{0, 2}, {0, 2}, {0, 2}});
  CHECK(unbind(nothing).empty());
}

TEST_CASE("split, chunk, unbind: errors") {
  const TensorPtr t = ones({3});
  RAISES(InvalidArgument, "split: parts of size 0 cannot make a dimension of size 3", split(t, 0));
  RAISES(InvalidArgument, "split: parts of size -1", split(t, -1));
  RAISES(InvalidArgument, "split: parts of size -1", split(empty({0}), -1));
  RAISES(InvalidArgument, "chunk: 0 chunks were asked for", chunk(t, 0));
  RAISES(OutOfBounds, "split: dimension 1 is out of range for a tensor of 1", split(t, 1, 1));
  RAISES(OutOfBounds, "chunk: dimension -2", chunk(t, 1, -2));
  RAISES(OutOfBounds, "unbind: dimension 0 is out of range for a tensor of 0",
         unbind(make_tensor_ptr(1)));
  RAISES(InvalidState, "unbind: the source tensor is undefined", unbind(TensorPtr()));
  RAISES(OutOfMemory, "unbind: out of memory for " + std::to_string(PTRDIFF_MAX) + " views",
         unbind(expand(zeros({1}, ScalarType::Byte), {PTRDIFF_MAX})));
  RAISES(OutOfMemory, "chunk: out of memory", chunk(empty({0}), INT64_MAX));
  CHECK(try_split(t, 2)->size() == 2);
  CHECK(try_chunk(t, 2)->size() == 2);
  CHECK(try_unbind(t)->size() == 3);
  CHECK(try_split(t, 0).error() == Error::InvalidArgument);
  CHECK(try_chunk(t, 0).message() ==
        std::string("try_chunk: 0 chunks were asked for; expected at least 1"));
  CHECK(try_unbind(t, 1).error() == Error::OutOfBounds);
}

}  // namespace split_test
