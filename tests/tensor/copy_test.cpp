// SPDX-License-Identifier: MIT
// What copy_ writes. Its errors, overlaps and plans are in files of their own, as are the other
// functions of the header.
#include "tenon/tensor/copy.h"
#include "tenon/tensor/access.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/copy_reference.h"
#include "support/catch.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;

namespace {
using Ints = std::vector<int32_t>;
using Floats = std::vector<float>;

// The destination's elements after the copy.
Ints written(const Tensor& dst, const Tensor& src) {
  CHECK(copy_(dst, src) == Error::Ok);
  return values<int32_t>(dst);
}

}  // namespace

TEST_CASE("copy_: writes the source's elements, and only their own memory changes") {
  auto dst = make_tensor_ptr({2, 3}, {0, 0, 0, 0, 0, 0});
  auto src = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  const tests::State before(*dst);
  CHECK(copy_(dst, src) == Error::Ok);
  CHECK(values<int32_t>(dst) == Ints{1, 2, 3, 4, 5, 6});
  CHECK(tests::State(*dst) == before);
  tenon::mutable_data_ptr<int32_t>(src)[0] = 9;
  CHECK(values<int32_t>(dst) == Ints{1, 2, 3, 4, 5, 6});
}

TEST_CASE("copy_: takes tensors, pointers, constant handles and temporary views on either side") {
  const Tensor dst = make_tensor({2, 2}, {0, 0, 0, 0});
  const TensorPtr src = make_tensor_ptr({1, 2});
  CHECK(copy_(select(dst, 0, 1), src) == Error::Ok);
  CHECK(copy_(select(dst, 0, 0), *src) == Error::Ok);
  CHECK(values<int32_t>(dst) == Ints{1, 2, 1, 2});
  CHECK(copy_(src, make_tensor({3, 4})) == Error::Ok);
  CHECK(copy_(select(dst, 1, 1), select(dst, 1, 0)) == Error::Ok);
  CHECK(values<int32_t>(dst) == Ints{1, 1, 1, 1});
  CHECK(values<int32_t>(src) == Ints{3, 4});
}

TEST_CASE("copy_: any strides on both sides") {
  auto src = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  int32_t data[12] = {};
  CHECK(written(*from_blob(data, {2, 3}, {1, 2}), *src) == Ints{1, 2, 3, 4, 5, 6});
  CHECK(Ints(data, data + 6) == Ints{1, 4, 2, 5, 3, 6});
  CHECK(written(*from_blob(data, {3, 2}, {4, 2}), tenon::transpose(src, 0, 1)) ==
        Ints{1, 4, 2, 5, 3, 6});
  CHECK(Ints(data, data + 12) == Ints{1, 4, 4, 5, 2, 6, 5, 0, 3, 0, 6, 0});
  auto dense = make_tensor({2, 3}, {0, 0, 0, 0, 0, 0});
  CHECK(written(dense, tenon::expand(select(src, 0, 1), {2, 3})) == Ints{4, 5, 6, 4, 5, 6});
}

TEST_CASE("copy_: any strides on both sides, reversed", "[plain]") {
  auto src = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  int32_t data[12] = {};
  CHECK(written(*from_blob(data + 5, {2, 3}, {-3, -1}), *src) == Ints{1, 2, 3, 4, 5, 6});
  CHECK(Ints(data, data + 6) == Ints{6, 5, 4, 3, 2, 1});
  CHECK(written(*from_blob(data + 10, {3, 2}, {-4, -2}), tenon::transpose(src, 0, 1)) ==
        Ints{1, 4, 2, 5, 3, 6});
  CHECK(Ints(data, data + 12) == Ints{6, 5, 3, 3, 5, 1, 2, 0, 4, 0, 1, 0});
  auto dense = make_tensor({2, 3}, {0, 0, 0, 0, 0, 0});
  CHECK(written(dense, tenon::flip(src, {0, 1})) == Ints{6, 5, 4, 3, 2, 1});
}

TEST_CASE("copy_: padded rows keep their padding, on both sides") {
  std::vector<uint8_t> rows(3 * 8, 0xEE);
  auto padded = from_blob(rows.data(), {3, 5}, {8, 1});
  auto dense = make_tensor_ptr({3, 5}, std::vector<uint8_t>(15, 7));
  CHECK(copy_(padded, dense) == Error::Ok);
  for (size_t i = 0; i < rows.size(); ++i) CHECK(rows[i] == (i % 8 < 5 ? 7 : 0xEE));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<uint8_t>(i);
  CHECK(copy_(dense, padded) == Error::Ok);
  CHECK(values<uint8_t>(dense) ==
        std::vector<uint8_t>{0, 1, 2, 3, 4, 8, 9, 10, 11, 12, 16, 17, 18, 19, 20});
  for (size_t i = 0; i < rows.size(); ++i) CHECK(rows[i] == i);
}

TEST_CASE("copy_: a source is broadcast along leading dimensions and those of size 1") {
  const auto copied = [](const tenon::Dims& sizes, const Tensor& src) {
    auto dst = tenon::zeros(sizes, ScalarType::Int);
    CHECK(copy_(dst, src) == Error::Ok);
    return values<int32_t>(dst);
  };
  CHECK(copied({2, 3}, make_tensor({1, 2, 3})) == Ints{1, 2, 3, 1, 2, 3});
  CHECK(copied({2, 3}, make_tensor({1, 3}, {1, 2, 3})) == Ints{1, 2, 3, 1, 2, 3});
  CHECK(copied({2, 3}, make_tensor({2, 1}, {1, 2})) == Ints{1, 1, 1, 2, 2, 2});
  CHECK(copied({2, 3}, make_tensor({1, 1}, {5})) == Ints{5, 5, 5, 5, 5, 5});
  CHECK(copied({2, 3}, make_tensor(5)) == Ints{5, 5, 5, 5, 5, 5});
  CHECK(copied({2, 2, 2}, make_tensor({2, 1, 2}, {1, 2, 3, 4})) == Ints{1, 2, 1, 2, 3, 4, 3, 4});
  CHECK(copied({2, 2, 2}, make_tensor({2, 1}, {1, 2})) == Ints{1, 1, 2, 2, 1, 1, 2, 2});
  CHECK(copied({}, make_tensor(5)) == Ints{5});
  CHECK(copied({1, 1}, make_tensor({5})) == Ints{5});
}

TEST_CASE("copy_: the stride of a dimension of size 1 means nothing, that of a source is kept") {
  int32_t data[4] = {1, 2, 3, 4};
  auto dst = tenon::zeros({2, 2}, ScalarType::Int);
  CHECK(copy_(dst, from_blob(data, {1, 2}, {1000, 2})) == Error::Ok);
  CHECK(values<int32_t>(dst) == Ints{1, 3, 1, 3});
  CHECK(copy_(dst, from_blob(data, {2, 1}, {3, -77})) == Error::Ok);
  CHECK(values<int32_t>(dst) == Ints{1, 1, 4, 4});
}

TEST_CASE("copy_: a reversed source is broadcast along a dimension of size 1", "[plain]") {
  int32_t data[4] = {1, 2, 3, 4};
  auto dst = tenon::zeros({2, 2}, ScalarType::Int);
  CHECK(copy_(dst, from_blob(data + 3, {1, 2}, {1000, -2})) == Error::Ok);
  CHECK(values<int32_t>(dst) == Ints{4, 2, 4, 2});
}

TEST_CASE("copy_: without elements there is nothing to do, data may be null") {
  int32_t data[3] = {1, 2, 3};
  auto nothing = from_blob(data, {0, 3});
  CHECK(copy_(nothing, from_blob(data, {3})) == Error::Ok);
  CHECK(copy_(nothing, make_tensor(7)) == Error::Ok);
  CHECK(copy_(nothing, from_blob(data, {1, 1})) == Error::Ok);
  CHECK(copy_(nothing, nothing) == Error::Ok);
  auto null = make_tensor_ptr({3, 0, 2}, static_cast<int32_t*>(nullptr));
  CHECK(copy_(null, null) == Error::Ok);
  CHECK(copy_(null, make_tensor({1, 0, 1}, std::vector<int32_t>())) == Error::Ok);
  CHECK(Ints(data, data + 3) == Ints{1, 2, 3});
}

TEST_CASE("copy_: rank 0 and 8 dimensions") {
  auto scalar = make_tensor_ptr(1);
  CHECK(copy_(scalar, make_tensor(2)) == Error::Ok);
  CHECK(copy_(scalar, tenon::select(make_tensor({3, 4, 5}), 0, 2)) == Error::Ok);
  CHECK(tenon::item<int>(scalar) == 5);
  Ints data(256);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<int32_t>(i);
  const Vector reversed{1, 2, 4, 8, 16, 32, 64, 128};
  auto deep = from_blob(data.data(), Vector(8, 2), reversed);
  auto dst = tenon::zeros(Vector(8, 2), ScalarType::Int);
  CHECK(copy_(dst, deep) == Error::Ok);
  CHECK(values<int32_t>(dst) == values<int32_t>(deep));
  CHECK(tenon::data<int32_t>(dst)[1] == 128);
  auto wide = tenon::zeros(Vector(8, 2), ScalarType::Int);
  CHECK(copy_(wide, make_tensor({2, 1}, {8, 9})) == Error::Ok);
  CHECK(tenon::data<int32_t>(wide)[0] == 8);
  CHECK(tenon::data<int32_t>(wide)[255] == 9);
}

TEST_CASE("copy_: converts the type, broadcasting and restriding on the way") {
  auto floats = tenon::zeros({2, 3});
  CHECK(copy_(floats, make_tensor({1, 2, 3})) == Error::Ok);
  CHECK(values<float>(floats) == Floats{1, 2, 3, 1, 2, 3});
  CHECK(copy_(tenon::transpose(floats, 0, 1),
              make_tensor({3, 2}, {1, 2, 3, 4, 5, 6}, ScalarType::Short)) == Error::Ok);
  CHECK(values<float>(floats) == Floats{1, 3, 5, 2, 4, 6});
  auto half = tenon::zeros({3, 2}, ScalarType::Half);
  CHECK(copy_(tenon::transpose(half, 0, 1), select(floats, 0, 0)) == Error::Ok);
  CHECK(static_cast<float>(tenon::data<tenon::Half>(half)[2]) == 3.0f);
}

TEST_CASE("copy_: converts the type, reversing on the way", "[plain]") {
  auto half = tenon::zeros({3}, ScalarType::Half);
  CHECK(copy_(tenon::flip(half, {0}), make_tensor({1.0f, 3.0f, 5.0f})) == Error::Ok);
  CHECK(static_cast<float>(tenon::data<tenon::Half>(half)[0]) == 5.0f);
}

TEST_CASE("copy_: integers wrap by default, as in C++") {
  auto bytes = tenon::zeros({2}, ScalarType::Byte);
  CHECK(copy_(bytes, make_tensor({300, -1})) == Error::Ok);
  CHECK(values<uint8_t>(bytes) == std::vector<uint8_t>{44, 255});
}

TEST_CASE("copy_: a CastMode truncates or saturates what canCast forbids") {
  auto bytes = tenon::zeros({4}, ScalarType::Byte);
  auto src = make_tensor({-1.0f, 1.5f, 2.5f, 300.0f});
  CHECK(copy_(bytes, src, CastMode::Truncate) == Error::Ok);
  CHECK(values<uint8_t>(bytes) == std::vector<uint8_t>{0, 1, 2, 255});
  CHECK(copy_(bytes, src, CastMode::Saturate) == Error::Ok);
  CHECK(values<uint8_t>(bytes) == std::vector<uint8_t>{0, 2, 2, 255});
  CHECK(copy_(bytes, make_tensor({300, -1, 0, 7}), CastMode::Saturate) == Error::Ok);
  CHECK(values<uint8_t>(bytes) == std::vector<uint8_t>{255, 0, 0, 7});
  auto bools = tenon::zeros({4}, ScalarType::Bool);
  CHECK(copy_(bools, make_tensor({0, 2, -1, 0}), CastMode::Truncate) == Error::Ok);
  CHECK(values<bool>(bools) == std::vector<bool>{false, true, true, false});
  auto parts = tenon::zeros({1});
  CHECK(copy_(parts, make_tensor({tenon::complex<float>(3, 4)}), CastMode::Truncate) == Error::Ok);
  CHECK(values<float>(parts) == Floats{3});
}

TEST_CASE("copy_: every type to every type, in every mode that allows it") {
  tests::Rng random{1};
  int wrong = 0;
  for (ScalarType from : tests::kAllTypes) {
    for (ScalarType to : tests::kAllTypes) {
      for (CastMode mode : {CastMode::Checked, CastMode::Truncate, CastMode::Saturate}) {
        const bool allowed = mode != CastMode::Checked || from == to || canCast(from, to);
        tests::Bytes src = tests::random_elements(random, from, 6);
        tests::Bytes dst(6 * elementSize(to), 0xAB);
        tests::Bytes expected = dst;
        for (size_t i = 0; i < 6; ++i) {  // 3 x 2, copied to 2 x 3
          const size_t j = i % 3 * 2 + i / 3;
          if (!allowed) continue;
          tests::cast_by_hand(to, expected.data() + i * elementSize(to), from,
                              src.data() + j * elementSize(from), mode);
        }
        const auto in = tenon::for_blob(src.data(), {3, 2}, from).make_tensor();
        const auto out = tenon::for_blob(dst.data(), {2, 3}, to).make_tensor();
        const Error error = copy_(out, tenon::transpose(in, 0, 1), mode);
        if (error != (allowed ? Error::Ok : Error::InvalidType) || dst != expected) ++wrong;
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("copy_: writes through a view") {
  auto dst = make_tensor_ptr({0, 0});
  CHECK(copy_(tenon::view(dst, {1, 2}), make_tensor({1, 2})) == Error::Ok);
  CHECK(values<int32_t>(dst) == Ints{1, 2});
}

TEST_CASE("copy_: reads a read-only source", "[plain]") {
  const int32_t data[2] = {1, 2};
  auto dst = make_tensor_ptr({0, 0});
  CHECK(copy_(tenon::view(dst, {2}), from_blob(tests::read_only(data), {2})) == Error::Ok);
  CHECK(values<int32_t>(dst) == Ints{1, 2});
}

TEST_CASE("copy_: reaches pinned memory of a device, which is the host's too") {
  int32_t data[2] = {1, 2};
  auto pinned = tenon::for_blob(data, {2}).device("cuda_host").make_tensor();
  auto dst = make_tensor_ptr({0, 0});
  CHECK(copy_(dst, pinned) == Error::Ok);
  CHECK(values<int32_t>(dst) == Ints{1, 2});
  CHECK(copy_(pinned, make_tensor(9)) == Error::Ok);
  CHECK(data[1] == 9);
}

TEST_CASE("copy_: reaches managed memory of a device, which is the host's too", "[plain]") {
  int32_t data[2] = {1, 2};
  auto managed = tenon::for_blob(data + 1, {1}).device("cuda_managed:1").make_tensor();
  CHECK(copy_(managed, make_tensor(9)) == Error::Ok);
  CHECK(data[1] == 9);
}
