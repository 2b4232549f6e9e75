// SPDX-License-Identifier: MIT
// infer_size and restride, against trying every element.
#include "tenon/tensor/restride.h"

#include "support/catch.h"
#include "tensor/helpers.h"

using namespace tenon;
using tenon::detail::infer_size;
using tenon::detail::restride;
using namespace tests;

namespace {

Vector list(const Dims& dims) { return Vector(dims.begin(), dims.end()); }

Error refused(Dims sizes, int64_t numel) { return infer_size(sizes, numel, 4); }

// Whether some strides give these offsets: if so, the first element of each dimension tells them.
bool strides_exist(const Vector& sizes, const Vector& wanted) {
  Vector strides(sizes.size(), 0);
  int64_t step = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] > 1) strides[d] = wanted[static_cast<size_t>(step)] - wanted[0];
    step *= sizes[d];
  }
  return element_offsets(sizes, strides) == wanted;
}

}  // namespace

TEST_CASE("infer_size: what has no answer or several is refused") {
  RETURNS(InvalidArgument, "sizes {2} hold 2 elements, the tensor has 6", refused({2}, 6));
  RETURNS(InvalidArgument, "no size for the -1 in sizes {4, -1}", refused({4, -1}, 6));
  RETURNS(InvalidArgument, "no size for the -1 in sizes {0, -1}", refused({0, -1}, 6));
  RETURNS(InvalidArgument, "any size for the -1 in sizes {0, -1}", refused({0, -1}, 0));
  RETURNS(InvalidArgument, "sizes {-1, 2, -1} have more than one", refused({-1, 2, -1}, 6));
  RETURNS(InvalidArgument, "-2", refused({-2, -3}, 6));
  RETURNS(InvalidArgument, "overflow", refused({INT64_MAX, 2}, 6));
}

TEST_CASE("restride: dimensions of size 1 get the stride of what they enclose") {
  Dims out;
  REQUIRE(restride(Vector{2, 3}, Vector{3, 1}, {1, 2, 1, 3, 1}, out) == Error::Ok);
  CHECK(list(out) == Vector{6, 3, 3, 1, 1});
  REQUIRE(restride(Vector{}, Vector{}, {1, 1}, out) == Error::Ok);
  CHECK(list(out) == Vector{1, 1});
  REQUIRE(restride(Vector{1, 1}, Vector{7, 9}, {}, out) == Error::Ok);
  CHECK(list(out).empty());
}

TEST_CASE("restride: a stride near the end of the address space does not overflow") {
  Dims out;
  const int64_t large = int64_t{1} << 62;
  REQUIRE(restride(Vector{2}, Vector{large}, {1, 2, 1}, out) == Error::Ok);
  CHECK(out[1] == large);
  REQUIRE(restride(Vector{2, 2}, Vector{-large, large}, {2, 1, 2}, out) == Error::Ok);
  CHECK(out[0] == -large);
  CHECK(out[2] == large);
}

TEST_CASE("restride: finds strides exactly when there are some, over thousands of shapes") {
  tests::Rng random{7};
  int found = 0;
  int impossible = 0;
  for (int round = 0; round < 20000; ++round) {
    // The wanted sizes are those of the source, joined and divided at random.
    Vector sizes, strides, wanted;
    int64_t numel = 1;
    const int64_t rank = random.between(0, 4);
    for (int64_t d = 0; d < rank; ++d) {
      sizes.push_back(random.between(1, 4));
      strides.push_back(random.between(-3, 6));
      numel *= sizes.back();
    }
    // Often even: the stride that continues the dimension inside.
    for (size_t d = sizes.size(); d-- > 1;) {
      if (random.between(0, 1) == 0) strides[d - 1] = strides[d] * sizes[d];
    }
    for (int64_t left = numel; left > 1;) {
      int64_t size = random.between(1, left);
      while (left % size != 0) --size;
      wanted.push_back(size);
      left /= size;
    }
    if (random.between(0, 3) == 0) wanted.push_back(1);
    const Vector expected = element_offsets(sizes, strides);
    const bool exist = strides_exist(wanted, expected);
    Dims out;
    const Error error = restride(sizes, strides, wanted, out);
    if (error != (exist ? Error::Ok : Error::NotSupported) ||
        (exist && element_offsets(wanted, list(out)) != expected)) {
      CAPTURE(sizes, strides, wanted, exist);
      FAIL_CHECK("restride and the elements disagree");
      break;
    }
    ++(exist ? found : impossible);
  }
  CHECK(found > 5000);
  CHECK(impossible > 2000);
}
