// SPDX-License-Identifier: MIT
#include "tenon/tensor/view.h"

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace views_suite {

using namespace tenon;
using namespace tests;

TEST_CASE("views: each kind reads the same memory in its order") {
  const Tensor t = counted({2, 3});
  check_tensor(transpose(t, 0, 1), {3, 2}, {1, 3}, {0, 3, 1, 4, 2, 5});
  check_tensor(permute(t, {1, 0}), {3, 2}, {1, 3}, {0, 3, 1, 4, 2, 5});
  check_tensor(reshape(t, {3, -1}), {3, 2}, {2, 1}, {0, 1, 2, 3, 4, 5});
  check_tensor(flatten(t), {6}, {1}, {0, 1, 2, 3, 4, 5});
  check_tensor(select(t, 1, -1), {2}, {3}, {2, 5});
  check_tensor(slice(t, 1, 0, 3, 2), {2, 2}, {3, 2}, {0, 2, 3, 5});
  check_tensor(narrow(t, 1, 1, 2), {2, 2}, {3, 1}, {1, 2, 4, 5});
  check_tensor(flip(t, {0, 1}), {2, 3}, {-3, -1}, {5, 4, 3, 2, 1, 0});
  check_tensor(expand(select(t, 0, 1), {2, 3}), {2, 3}, {0, 1}, {3, 4, 5, 3, 4, 5});
  check_tensor(squeeze(unsqueeze(t, 0)), {2, 3}, {3, 1}, {0, 1, 2, 3, 4, 5});
  check_tensor(as_strided(t, {2, 2}, {2, 2}, 1), {2, 2}, {2, 2}, {1, 3, 3, 5});
  CHECK(values<uint8_t>(view_as_type(select(t, 0, 1), ScalarType::Byte)).size() == 12);
}

TEST_CASE("views: of views, and written through") {
  const Tensor t = counted({3, 4});
  const Tensor corner = slice(slice(transpose(t, 0, 1), 0, 2, 4), 1, 1, 3);
  check_tensor(corner, {2, 2}, {1, 4}, {6, 10, 7, 11});
  CHECK(fill_(corner, -1) == Error::Ok);
  check_tensor(t, {3, 4}, {4, 1}, {0, 1, 2, 3, 4, 5, -1, -1, 8, 9, -1, -1});
  CHECK(values<int32_t>(contiguous(corner)) == Ints{-1, -1, -1, -1});
}

TEST_CASE("views: more dimensions than are inline") {
  const Tensor t = counted({1, 2, 1, 2, 1, 2, 1});
  const Tensor turned = permute(t, {6, 5, 4, 3, 2, 1, 0});
  CHECK(values<int32_t>(turned) == Ints{0, 4, 2, 6, 1, 5, 3, 7});
  CHECK(values<int32_t>(flatten(t)) == Ints{0, 1, 2, 3, 4, 5, 6, 7});
}

}  // namespace views_suite
