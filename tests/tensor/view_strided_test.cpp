// SPDX-License-Identifier: MIT
// Views by strides and by bytes: expand, as_strided, view_as_type.
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;

namespace {

Tensor two_by_three() { return make_tensor({2, 3}, {0, 1, 2, 3, 4, 5}); }

}  // namespace

TEST_CASE("expand: repeats dimensions of size 1 by stride 0, -1 keeps a size") {
  const Tensor t = make_tensor({2, 1}, {7, 8});
  const Tensor view = expand(t, {2, 3});
  CHECK(strides(view) == Vector{1, 0});
  CHECK(values<int32_t>(view) == Ints{7, 7, 7, 8, 8, 8});
  CHECK(values<int32_t>(expand(t, {-1, 3})) == values<int32_t>(view));
  CHECK(sizes(expand(t, {-1, -1})) == Vector{2, 1});
  CHECK(view.nbytes() == 24);
  CHECK_FALSE(view.is_contiguous());
}

TEST_CASE("expand: adds dimensions on the left") {
  const Tensor t = make_tensor({1, 2, 3});
  const Tensor view = expand(t, {2, 2, -1});
  CHECK(sizes(view) == Vector{2, 2, 3});
  CHECK(strides(view) == Vector{0, 0, 1});
  CHECK(dim_order(view) == Vector{2, 0, 1});
  CHECK(values<int32_t>(view) == Ints{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3});
  CHECK(values<int32_t>(expand(make_tensor(7), {2, 2})) == Ints{7, 7, 7, 7});
  CHECK(expand(t, {1, 1, 3}).is_contiguous());
}

TEST_CASE("expand: sizes that the tensor cannot take are refused") {
  const Tensor t = two_by_three();
  RAISES(InvalidArgument, "expand: dimension 1 of size 3 cannot become 4; only size 1 can",
         expand(t, {2, 4}));
  RAISES(InvalidArgument, "dimension 1 of size 2 cannot become 4", expand(t, {2, 4, 3}));
  RAISES(InvalidArgument, "size 3 cannot become 1", expand(t, {2, 1}));
  RAISES(InvalidArgument, "sizes {3} have fewer dimensions than the 2", expand(t, {3}));
  RAISES(InvalidArgument,
         "size -1 of dimension 0 is negative in sizes {-1, 2, 3}, and there is no old size",
         expand(t, {-1, 2, 3}));
  RAISES(InvalidArgument, "size -2 of dimension 1", expand(t, {2, -2}));
  RAISES(InvalidArgument, "sizes has more than 64", expand(t, Vector(65, 1)));
  RAISES(InvalidArgument, "overflow", expand(make_tensor(1), {int64_t{1} << 40, int64_t{1} << 40}));
}

TEST_CASE("as_strided: any sizes and strides within the tensor's elements") {
  const Tensor t = make_tensor({0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(values<int32_t>(as_strided(t, {2, 2}, {4, 1}, 1)) == Ints{1, 2, 5, 6});
  CHECK(values<int32_t>(as_strided(t, {2, 3}, {0, 1}, 2)) == Ints{2, 3, 4, 2, 3, 4});
  CHECK(values<int32_t>(as_strided(t, {3, 3}, {1, 1})) == Ints{0, 1, 2, 1, 2, 3, 2, 3, 4});
  CHECK(strides(as_strided(t, {1, 2}, {1000, 7})) == Vector{1000, 7});
  CHECK(dim_order(as_strided(t, {2, 3}, {1, 2})) == Vector{1, 0});
}

TEST_CASE("as_strided: empty lists make a view of rank 0") {
  const Tensor t = make_tensor({5, 6, 7});
  CHECK(item<int32_t>(as_strided(t, {}, {})) == 5);
  const Tensor last = as_strided(t, {}, {}, 2);
  CHECK(last.dim() == 0);
  CHECK(item<int32_t>(last) == 7);
  RAISES(OutOfBounds, "offset 3", as_strided(t, {}, {}, 3));
}

TEST_CASE("as_strided: the offset counts from the tensor's own element 0") {
  const Tensor t = slice(make_tensor({0, 1, 2, 3, 4, 5, 6, 7}), 0, 2, 6);
  CHECK(values<int32_t>(as_strided(t, {2}, {3})) == Ints{2, 5});
  RAISES(OutOfBounds, "offset -1", as_strided(t, {1}, {1}, -1));
  RAISES(OutOfBounds, "offset 4", as_strided(t, {1}, {1}, 4));
}

TEST_CASE("as_strided: an element beyond the tensor's on either side is refused") {
  const Tensor t = two_by_three();
  RAISES(OutOfBounds,
         "as_strided: a view of sizes {7}, strides {1} at offset 0 reaches beyond the source's "
         "elements at offsets 0 to 5",
         as_strided(t, {7}, {1}));
  RAISES(OutOfBounds, "strides {-1}", as_strided(t, {2}, {-1}));
  RAISES(OutOfBounds, "offset 9223372036854775807", as_strided(t, {1}, {1}, INT64_MAX));
  RAISES(OutOfBounds, "offset -9223372036854775808", as_strided(t, {2}, {-1}, INT64_MIN));
  // Wraps around the address space in bytes, not in elements.
  RAISES(OutOfBounds, "offset 4611686018427387904", as_strided(t, {1}, {1}, int64_t{1} << 62));
  RAISES(InvalidArgument, "overflow", as_strided(t, {3}, {INT64_MAX}));
}

TEST_CASE("as_strided: lists that do not fit together are refused") {
  const Tensor t = two_by_three();
  RAISES(InvalidArgument, "as_strided: strides {} and sizes {2, 3} differ in length",
         as_strided(t, {2, 3}, {}));
  RAISES(InvalidArgument, "strides {1} and sizes {} differ", as_strided(t, {}, {1}));
  RAISES(InvalidArgument, "size -1 of dimension 0 is negative", as_strided(t, {-1}, {1}));
  RAISES(InvalidArgument, "sizes has more than 64", as_strided(t, Vector(65, 1), Vector(65, 1)));
  RAISES(InvalidArgument, "strides has more than 64", as_strided(t, {1}, Vector(65, 1)));
}

TEST_CASE("as_strided: without elements it starts at one of the tensor's, or at their end") {
  const Tensor t = two_by_three();
  CHECK(as_strided(t, {0, 2}, {2, 1}, 6).numel() == 0);
  RAISES(OutOfBounds, "offset 7", as_strided(t, {0}, {1}, 7));
  const Tensor nothing = make_tensor({0}, Ints());
  CHECK(as_strided(nothing, {3, 0}, {1, 1}).numel() == 0);
  RAISES(OutOfBounds, "at offsets 0 to -1", as_strided(nothing, {1}, {1}));
  RAISES(OutOfBounds, "offset 1", as_strided(nothing, {0}, {1}, 1));
}

TEST_CASE("view_as_type: elements of the same size keep sizes and strides") {
  const Tensor t = transpose(make_tensor({2, 2}, {1.0f, -2.0f, 0.5f, 0.0f}), 0, 1);
  const Tensor bits = view_as_type(t, ScalarType::Int);
  CHECK(bits.scalar_type() == ScalarType::Int);
  CHECK(strides(bits) == Vector{1, 2});
  CHECK(values<int32_t>(bits) == Ints{0x3f800000, 0x3f000000, INT32_MIN + 0x40000000, 0});
  CHECK(strides(view_as_type(expand(t, {2, 2, 2}), ScalarType::UInt32)) == Vector{0, 1, 2});
  CHECK(item<int32_t>(view_as_type(make_tensor(1.0f), ScalarType::Int)) == 0x3f800000);
}

TEST_CASE("view_as_type: smaller elements multiply the last dimension, and strides") {
  const Tensor t = two_by_three();
  const Tensor bytes = view_as_type(t, ScalarType::Byte);
  CHECK(sizes(bytes) == Vector{2, 12});
  CHECK(strides(bytes) == Vector{12, 1});
  CHECK(bytes.is_contiguous());
  uint8_t expected[24];
  std::memcpy(expected, const_data_ptr(t), sizeof expected);
  CHECK(values<uint8_t>(bytes) == std::vector<uint8_t>(expected, expected + 24));
}

TEST_CASE("view_as_type: larger elements divide the last dimension, and strides") {
  alignas(8) int32_t data[8] = {1, 0, 2, 0, 3, 0, 4, 0};
  const auto t = from_blob(data, {2, 4});
  const Tensor wide = view_as_type(t, ScalarType::ComplexFloat);
  CHECK(sizes(wide) == Vector{2, 2});
  CHECK(strides(wide) == Vector{2, 1});
  CHECK(wide.is_contiguous());
  const Tensor rows = view_as_type(expand(narrow(t, 0, 1, 1), {3, 4}), ScalarType::Long);
  CHECK(sizes(rows) == Vector{3, 2});
  CHECK(strides(rows) == Vector{0, 1});
  const Tensor back = view_as_type(wide, ScalarType::Int);
  CHECK(values<int32_t>(back) == Ints{1, 0, 2, 0, 3, 0, 4, 0});
}

TEST_CASE("view_as_type: reads every pixel of padded rows") {
  alignas(4) uint8_t frame[2 * 12] = {};
  for (size_t i = 0; i < sizeof frame; ++i) frame[i] = static_cast<uint8_t>(i);
  const auto pixels = from_blob(frame, {2, 8}, {12, 1});
  const Tensor words = view_as_type(pixels, ScalarType::UInt32);
  CHECK(sizes(words) == Vector{2, 2});
  CHECK(strides(words) == Vector{3, 1});
  uint32_t last = 0;
  std::memcpy(&last, frame + 16, sizeof last);
  CHECK(values<uint32_t>(words).back() == last);
}

TEST_CASE("view_as_type: a last dimension that is not contiguous is refused") {
  const Tensor t = two_by_three();
  RAISES(InvalidArgument,
         "view_as_type: elements of 4 bytes do not become 1 bytes: the last dimension has "
         "stride 3, expected 1",
         view_as_type(transpose(t, 0, 1), ScalarType::Byte));
  RAISES(InvalidArgument, "stride 0",
         view_as_type(expand(make_tensor(1), {2}), ScalarType::Double));
  // The stride of a dimension of size 1 is free.
  const Tensor column = slice(t, 1, 0, 1, 2);
  REQUIRE(strides(column) == Vector{3, 2});
  CHECK(strides(view_as_type(column, ScalarType::Byte)) == Vector{12, 1});
}

TEST_CASE("view_as_type: a last dimension that is reversed is refused", "[plain]") {
  RAISES(InvalidArgument, "stride -1", view_as_type(flip(two_by_three(), {1}), ScalarType::Short));
}

TEST_CASE("view_as_type: rank 0 has no dimension to rescale") {
  RAISES(InvalidArgument, "an element of 4 bytes does not become 1 bytes",
         view_as_type(make_tensor(1), ScalarType::Byte));
  RAISES(InvalidArgument, "rank 0", view_as_type(make_tensor(1), ScalarType::Long));
}

TEST_CASE("view_as_type: sizes and strides that larger elements do not divide are refused") {
  RAISES(InvalidArgument, "the last dimension, 3 elements of 4 bytes, is no multiple of 8 bytes",
         view_as_type(two_by_three(), ScalarType::Long));
  const auto t = from_blob(nullptr, {2, 2}, {3, 1}, ScalarType::Int);
  RAISES(InvalidArgument,
         "stride 3 of dimension 0, in elements of 4 bytes, is no multiple of 8 bytes",
         view_as_type(t, ScalarType::Double));
  RAISES(InvalidType, "view_as_type: ", view_as_type(two_by_three(), ScalarType::Undefined));
}

TEST_CASE("view_as_type: data that is not aligned for the type is refused") {
  alignas(16) uint8_t bytes[32] = {};
  const auto at_2 = from_blob(bytes + 2, {16});
  RAISES(InvalidArgument,
         "the data lies 2 bytes after a multiple of 4, at which elements of Float have to lie",
         view_as_type(at_2, ScalarType::Float));
  CHECK(sizes(view_as_type(at_2, ScalarType::Half)) == Vector{8});
  // The parts of a complex number are what has to be aligned.
  const auto at_8 = from_blob(bytes + 8, {16});
  CHECK(sizes(view_as_type(at_8, ScalarType::ComplexDouble)) == Vector{1});
  RAISES(InvalidArgument, "4 bytes after a multiple of 8",
         view_as_type(from_blob(bytes + 4, {16}), ScalarType::ComplexDouble));
}

TEST_CASE("view_as_type: without elements only the last dimension has to divide") {
  const Tensor t = make_tensor({0, 6}, Ints());
  CHECK(sizes(view_as_type(t, ScalarType::Byte)) == Vector{0, 24});
  CHECK(sizes(view_as_type(t, ScalarType::Long)) == Vector{0, 3});
  CHECK(sizes(view_as_type(transpose(t, 0, 1), ScalarType::Long)) == Vector{6, 0});
  RAISES(InvalidArgument, "6 elements of 4 bytes, is no multiple of 16 bytes",
         view_as_type(t, ScalarType::ComplexDouble));
}
