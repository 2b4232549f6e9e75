// SPDX-License-Identifier: MIT
// What assign and copy_to move; what they refuse is in assign_errors_test.cpp.
#include "tenon/exchange/assign.h"

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;

namespace {
using Ints = std::vector<int32_t>;
using Floats = std::vector<float>;
using Bytes = std::vector<uint8_t>;
}  // namespace

TEST_CASE("assign: fills a tensor from contiguous memory of its dtype, and the way back") {
  const float data[6] = {1, 2, 3, 4, 5, 6};
  auto out = zeros({2, 3});
  const tests::State before(*out);
  CHECK(assign(out, data, sizeof data) == Error::Ok);
  CHECK(values<float>(out) == Floats{1, 2, 3, 4, 5, 6});
  CHECK(tests::State(*out) == before);
  float back[7] = {0, 0, 0, 0, 0, 0, -1};
  CHECK(copy_to(out, back, 24) == Error::Ok);
  CHECK(Floats(back, back + 7) == Floats{1, 2, 3, 4, 5, 6, -1});
}

TEST_CASE("assign: plain memory is row-major, whatever the tensor's strides") {
  const int32_t data[6] = {1, 2, 3, 4, 5, 6};
  int32_t memory[8] = {0, 0, 0, -1, 0, 0, 0, -1};
  auto padded = from_blob(memory, {2, 3}, {4, 1});
  CHECK(assign(padded, data, sizeof data) == Error::Ok);
  CHECK(Ints(memory, memory + 8) == Ints{1, 2, 3, -1, 4, 5, 6, -1});
  int32_t back[6] = {};
  CHECK(copy_to(transpose(padded, 0, 1), back, sizeof back) == Error::Ok);
  CHECK(Ints(back, back + 6) == Ints{1, 4, 2, 5, 3, 6});
  CHECK(copy_to(expand(slice(padded, 0, 1, 2), {2, 3}), back, 24) == Error::Ok);
  CHECK(Ints(back, back + 6) == Ints{4, 5, 6, 4, 5, 6});
}

TEST_CASE("assign: plain memory is row-major, whatever the tensor's strides, reversed", "[plain]") {
  const int32_t data[6] = {1, 2, 3, 4, 5, 6};
  int32_t memory[8] = {0, 0, 0, -1, 0, 0, 0, -1};
  const Tensor reversed = flip(from_blob(memory, {2, 3}, {4, 1}), {1});
  CHECK(assign(reversed, data, sizeof data) == Error::Ok);
  CHECK(Ints(memory, memory + 8) == Ints{3, 2, 1, -1, 6, 5, 4, -1});
  int32_t back[6] = {};
  CHECK(copy_to(reversed, back, sizeof back) == Error::Ok);
  CHECK(Ints(back, back + 6) == Ints{1, 2, 3, 4, 5, 6});
}

TEST_CASE("assign: takes tensors, pointers and temporary views") {
  const int32_t data[2] = {1, 2};
  const TensorPtr ptr = zeros({2, 2}, ScalarType::Int);
  const Tensor handle = *ptr;
  CHECK(assign(select(ptr, 0, 0), data, 8) == Error::Ok);
  CHECK(assign(select(handle, 0, 1),
               Blob{const_cast<int32_t*>(data) + 1, {2}, {0}, ScalarType::Int}) == Error::Ok);
  CHECK(values<int32_t>(handle) == Ints{1, 2, 2, 2});
  int32_t back[4] = {};
  CHECK(copy_to(ptr, back, 16) == Error::Ok);
  CHECK(copy_to(handle, Blob{back, {2, 2}, {}, ScalarType::Int}) == Error::Ok);
  CHECK(Ints(back, back + 4) == Ints{1, 2, 2, 2});
}

TEST_CASE("assign: a camera's padded rows, whose padding is neither read nor written") {
  Bytes camera(4 * 16, 0xEE);
  for (size_t i = 0; i < camera.size(); ++i) camera[i] = static_cast<uint8_t>(i);
  const Blob frame{camera.data(), {4, 5, 3}, {16, 3, 1}, ScalarType::Byte};
  auto image = zeros({4, 5, 3}, ScalarType::Byte);
  CHECK(assign(image, frame) == Error::Ok);
  CHECK(const_data_ptr<uint8_t>(select(select(image, 0, 1), 0, 4))[2] == 16 + 14);
  for (uint8_t& byte : camera) byte = 0xEE;
  CHECK(copy_to(image, frame) == Error::Ok);
  for (size_t i = 0; i < camera.size(); ++i) CHECK(camera[i] == (i % 16 < 15 ? i : 0xEE));
}

TEST_CASE("assign: a blob's pixels go to planes and back, at any strides of both") {
  int16_t pixels[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};  // 2 x 2 of 3
  const Blob blob{pixels, {3, 2, 2}, {1, 6, 3}, ScalarType::Short};
  auto planes = zeros({3, 2, 2}, ScalarType::Short);
  CHECK(assign(planes, blob) == Error::Ok);
  CHECK(values<int16_t>(planes) == std::vector<int16_t>{1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12});
  CHECK(zero_(select(planes, 0, 1)) == Error::Ok);
  CHECK(copy_to(planes, blob) == Error::Ok);
  CHECK(std::vector<int16_t>(pixels, pixels + 12) ==
        std::vector<int16_t>{1, 0, 3, 4, 0, 6, 7, 0, 9, 10, 0, 12});
  // From the last element backwards, and one element for all.
  CHECK(assign(planes, Blob{pixels + 11, {3, 2, 2}, {-1, -6, -3}, ScalarType::Short}) == Error::Ok);
  CHECK(values<int16_t>(planes)[0] == 12);
  CHECK(assign(planes, Blob{pixels + 2, {3, 2, 2}, {0, 0, 0}, ScalarType::Short}) == Error::Ok);
  CHECK(values<int16_t>(planes) == std::vector<int16_t>(12, 3));
}

TEST_CASE("assign: converts a blob's dtype, where canCast allows it or a mode says how") {
  float data[4] = {-1.5f, 0.5f, 1.5f, 300.0f};
  const Blob floats{data, {4}};
  auto doubles = zeros({4}, ScalarType::Double);
  CHECK(assign(doubles, floats) == Error::Ok);
  CHECK(values<double>(doubles) == std::vector<double>{-1.5, 0.5, 1.5, 300});
  auto bytes = zeros({4}, ScalarType::Byte);
  CHECK(assign(bytes, floats, CastMode::Saturate) == Error::Ok);
  CHECK(values<uint8_t>(bytes) == Bytes{0, 0, 2, 255});
  CHECK(assign(bytes, floats, CastMode::Truncate) == Error::Ok);
  CHECK(values<uint8_t>(bytes) == Bytes{0, 0, 1, 255});
  CHECK(copy_to(bytes, floats) == Error::Ok);
  CHECK(Floats(data, data + 4) == Floats{0, 0, 1, 255});
  uint8_t narrow[4] = {};
  CHECK(copy_to(make_tensor({-1.5f, 0.5f, 1.5f, 300.0f}), Blob{narrow, {4}, {}, ScalarType::Byte},
                CastMode::Saturate) == Error::Ok);
  CHECK(Bytes(narrow, narrow + 4) == Bytes{0, 0, 2, 255});
}

TEST_CASE("assign: an element_size that is the dtype's is accepted") {
  double data[2] = {1, 2};
  auto out = zeros({2}, ScalarType::Double);
  CHECK(assign(out, Blob{data, {2}, {}, ScalarType::Double, {}, 8}) == Error::Ok);
  CHECK(copy_to(out, Blob{data, {2}, {}, ScalarType::Double, {}, 8}) == Error::Ok);
}

TEST_CASE("assign: reads a read-only blob and pinned memory") {
  const int32_t data[2] = {1, 2};
  Blob blob{const_cast<int32_t*>(data), {2}, {}, ScalarType::Int, "cuda_host"};
  blob.readonly = true;
  auto out = zeros({2}, ScalarType::Int);
  CHECK(assign(out, blob) == Error::Ok);
  CHECK(values<int32_t>(out) == Ints{1, 2});
}

TEST_CASE("copy_to: reads a read-only tensor", "[plain]") {
  const int32_t data[2] = {1, 2};
  int32_t back[2] = {};
  CHECK(copy_to(from_blob(tests::read_only(data), {2}), back, 8) == Error::Ok);
  CHECK(back[1] == 2);
}

TEST_CASE("assign: memory without elements may be null") {
  auto nothing = zeros({0, 3});
  CHECK(assign(nothing, nullptr, 0) == Error::Ok);
  CHECK(copy_to(nothing, nullptr, 0) == Error::Ok);
  CHECK(assign(nothing, Blob{nullptr, {0, 3}}) == Error::Ok);
  CHECK(copy_to(nothing, Blob{nullptr, {0, 3}, {INT64_MAX, -5}}) == Error::Ok);
  CHECK(can_assign(nothing, nullptr, 0));
  CHECK(can_assign(nothing, Blob{nullptr, {0, 3}}));
}

TEST_CASE("assign: rank 0 and 8 dimensions") {
  const double one = 1.5;
  auto scalar = make_tensor_ptr(0.0);
  CHECK(assign(scalar, &one, sizeof one) == Error::Ok);
  CHECK(item<double>(scalar) == 1.5);
  Ints data(256);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<int32_t>(i);
  auto deep = zeros(Vector(8, 2), ScalarType::Int);
  CHECK(assign(deep, Blob{data.data(), Vector(8, 2), Vector{1, 2, 4, 8, 16, 32, 64, 128},
                          ScalarType::Int}) == Error::Ok);
  CHECK(tenon::data<int32_t>(deep)[1] == 128);
  CHECK(assign(deep, data.data(), 1024) == Error::Ok);
  CHECK(tenon::data<int32_t>(deep)[1] == 1);
  Ints back(256);
  CHECK(copy_to(deep, back.data(), 1024) == Error::Ok);
  CHECK(back == data);
}

TEST_CASE("assign: misaligned memory is read and written") {
  unsigned char raw[17] = {};
  const float data[4] = {1, 2, 3, 4};
  auto out = zeros({4});
  CHECK(copy_to(make_tensor({1.0f, 2.0f, 3.0f, 4.0f}), raw + 1, 16) == Error::Ok);
  CHECK(std::memcmp(raw + 1, data, 16) == 0);
  CHECK(raw[0] == 0);
  CHECK(assign(out, raw + 1, 16) == Error::Ok);
  CHECK(values<float>(out) == Floats{1, 2, 3, 4});
}

TEST_CASE("assign: the blob's owner is not kept") {
  auto owner = std::make_shared<Ints>(Ints{1, 2});
  Blob blob{owner->data(), {2}, {}, ScalarType::Int};
  blob.owner = owner;
  auto out = zeros({2}, ScalarType::Int);
  CHECK(assign(out, blob) == Error::Ok);
  CHECK(copy_to(out, blob) == Error::Ok);
  CHECK(owner.use_count() == 2);
  CHECK(values<int32_t>(out) == Ints{1, 2});
}

TEST_CASE("assign: what to_blob gives of one tensor fills another") {
  auto source = make_tensor_ptr({2, 2}, {1, 2, 3, 4});
  auto out = zeros({2, 2}, ScalarType::Int);
  CHECK(assign(out, to_blob(transpose(source, 0, 1))) == Error::Ok);
  CHECK(values<int32_t>(out) == Ints{1, 3, 2, 4});
}

TEST_CASE("can_assign: is true where assign would succeed, and writes nothing") {
  float data[4] = {1, 2, 3, 4};
  auto out = zeros({2, 2});
  CHECK(can_assign(out, data, 16));
  CHECK(can_assign(*out, Blob{data, {2, 2}, {1, 2}}));
  CHECK(can_assign(zeros({2, 2}, ScalarType::Byte), Blob{data, {2, 2}}, CastMode::Saturate));
  CHECK(can_assign(zeros({2, 2}, ScalarType::Double), Blob{data, {2, 2}}));
  CHECK(values<float>(out) == Floats{0, 0, 0, 0});
}
