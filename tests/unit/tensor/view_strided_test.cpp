// SPDX-License-Identifier: MIT
// Views by strides and by bytes: expand, as_strided, view_as_type.
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace view_strided_test {

using namespace tenon;
using namespace tests;

TEST_CASE("expand: sizes that the tensor cannot take are refused") {
  const struct {
    Dims sizes;
    const char* words;
  } rows[] = {
      {{2, 4}, "expand: dimension 1 of size 3 cannot become 4; only size 1 can"},
      {{3}, "sizes {3} have fewer dimensions than the 2"},
      {{-1, 2, 3}, "size -1 of dimension 0 is negative in sizes {-1, 2, 3}, and there is no old"},
      {Vector(65, 1), "sizes has more than 64"},
  };
  for (const auto& row : rows)
    RAISES(InvalidArgument, row.words, expand(counted({2, 3}), row.sizes));
  RAISES(InvalidArgument, "overflow", expand(make_tensor(1), {int64_t{1} << 40, int64_t{1} << 40}));
}

TEST_CASE("as_strided: what reaches beyond the tensor, or does not fit together, is refused") {
  const Tensor t = counted({2, 3});
  RAISES(OutOfBounds,
         "as_strided: a view of sizes {7}, strides {1} at offset 0 reaches beyond the source's "
         "elements at offsets 0 to 5",
         as_strided(t, {7}, {1}));
  RAISES(OutOfBounds, "offset 9223372036854775807", as_strided(t, {1}, {1}, INT64_MAX));
  // Wraps around the address space in bytes, not in elements.
  RAISES(OutOfBounds, "offset 4611686018427387904", as_strided(t, {1}, {1}, int64_t{1} << 62));
  RAISES(InvalidArgument, "overflow", as_strided(t, {3}, {INT64_MAX}));
  RAISES(InvalidArgument, "as_strided: strides {} and sizes {2, 3} differ in length",
         as_strided(t, {2, 3}, {}));
  RAISES(InvalidArgument, "sizes has more than 64", as_strided(t, Vector(65, 1), Vector(65, 1)));
  RAISES(InvalidArgument, "strides has more than 64", as_strided(t, {1}, Vector(65, 1)));
  // Without elements it starts at one of the tensor's, or at their end.
  CHECK(as_strided(t, {0, 2}, {2, 1}, 6).numel() == 0);
  RAISES(OutOfBounds, "offset 7", as_strided(t, {0}, {1}, 7));
}

TEST_CASE("view_as_type: what cannot be rescaled is refused") {
  const Tensor t = counted({2, 3});
  RAISES(InvalidType, "view_as_type: ", view_as_type(t, ScalarType::Undefined));
  RAISES(InvalidArgument,
         "view_as_type: elements of 4 bytes cannot be viewed as elements of 1 bytes: the last "
         "dimension has "
         "stride 3, expected 1",
         view_as_type(transpose(t, 0, 1), ScalarType::Byte));
  // The stride of a dimension of size 1 is free.
  const Tensor column = slice(t, 1, 0, 1, 2);
  REQUIRE(strides(column) == Vector{3, 2});
  CHECK(strides(view_as_type(column, ScalarType::Byte)) == Vector{12, 1});
  RAISES(InvalidArgument, "an element of 4 bytes cannot be viewed as elements of 1 bytes",
         view_as_type(make_tensor(1), ScalarType::Byte));
  RAISES(InvalidArgument, "the last dimension, 3 elements of 4 bytes, is not a multiple of 8 bytes",
         view_as_type(t, ScalarType::Long));
  RAISES(InvalidArgument,
         "stride 3 of dimension 0, in elements of 4 bytes, is not a multiple of 8 bytes",
         view_as_type(from_blob(nullptr, {2, 2}, {3, 1}, ScalarType::Int), ScalarType::Double));
  // Without elements only the last dimension has to divide.
  const Tensor nothing = counted({0, 6});
  RAISES(InvalidArgument, "6 elements of 4 bytes, is not a multiple of 16 bytes",
         view_as_type(nothing, ScalarType::ComplexDouble));
}

}  // namespace view_strided_test
