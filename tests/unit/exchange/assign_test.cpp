// SPDX-License-Identifier: MIT
// What assign and copy_to move, between memories that overlap too, and what they refuse.
#include "tenon/exchange/assign.h"

#include "backend/device_helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/copy_model.h"
#include "tensor/helpers.h"

namespace assign_test {

using namespace tenon;
using tenon::detail::DataPtr;
using namespace tests;
using namespace tests::copy_model;

TEST_CASE("assign: fills a tensor from contiguous memory of its dtype, and the way back") {
  const float data[6] = {1, 2, 3, 4, 5, 6};
  const TensorPtr out = zeros({2, 3});
  const State before(*out);
  CHECK(assign(out, data, sizeof data) == Error::Ok);
  CHECK(values<float>(out) == Floats{1, 2, 3, 4, 5, 6});
  CHECK(State(*out) == before);
  float back[7] = {0, 0, 0, 0, 0, 0, -1};
  CHECK(copy_to(out, back, 24) == Error::Ok);
  CHECK(Floats(back, back + 7) == Floats{1, 2, 3, 4, 5, 6, -1});
  unsigned char raw[25] = {};
  CHECK(copy_to(out, raw + 1, 24) == Error::Ok);  // misaligned memory
  CHECK(std::memcmp(raw + 1, data, 24) == 0);
  CHECK(raw[0] == 0);
}

// A promise of docs/guarantees.md.
TEST_CASE("assign: a camera's padded rows, whose padding is neither read nor written") {
  Bytes camera(4 * 16);
  for (size_t i = 0; i < camera.size(); ++i) camera[i] = static_cast<uint8_t>(i);
  const Blob frame{camera.data(), {4, 5, 3}, {16, 3, 1}, ScalarType::Byte};
  const TensorPtr image = zeros({4, 5, 3}, ScalarType::Byte);
  CHECK(assign(image, frame) == Error::Ok);
  CHECK(const_data_ptr<uint8_t>(select(select(image, 0, 1), 0, 4))[2] == 16 + 14);
  for (uint8_t& byte : camera) byte = 0xEE;
  CHECK(copy_to(image, frame) == Error::Ok);
  for (size_t i = 0; i < camera.size(); ++i) CHECK(camera[i] == (i % 16 < 15 ? i : 0xEE));
}

// A promise of docs/guarantees.md.
TEST_CASE("assign, copy_to: a typed pointer is to the tensor's dtype, raw bytes are of any") {
  const TensorPtr t = zeros({2});
  float floats[2] = {1, 2};
  const float constants[2] = {3, 4};
  int32_t ints[2] = {1, 2};
  uint32_t bits[2] = {};
  const auto refuses = [&](const DataPtr& data, const std::string& name) {
    const std::string words = "the data pointer is to " + name +
                              ", the tensor's dtype is Float; pass a void* to reinterpret the "
                              "bytes, or Blob::of(data, sizes) to convert";
    RETURNS(InvalidType, "assign: " + words, assign(t, data, 8));
    CHECK_FALSE(can_assign(t, data, 8));
    CHECK(std::string(last_error_message()) == "can_assign: " + words);
    RETURNS(InvalidType, "copy_to: " + words, copy_to(t, data, 8));
  };
  refuses(ints, "Int");
  refuses(bits, "UInt32");
  CHECK(values<float>(t) == Floats{0, 0});
  CHECK(ints[0] == 1);
  CHECK(assign(t, Blob::of(ints, {2})) == Error::Ok);
  CHECK(values<float>(t) == Floats{1, 2});
  CHECK(assign(t, reinterpret_cast<const char*>(constants), 8) == Error::Ok);
  CHECK(values<float>(t) == Floats{3, 4});
  CHECK(assign(t, constants, 8) == Error::Ok);
  RETURNS(InvalidState, "copy_to: the data pointer is to const", copy_to(t, DataPtr(constants), 8));
  // A list in braces is a blob.
  CHECK(assign(t, {floats, {2}, {}, ScalarType::Float}, {0.5f}) == Error::Ok);
  CHECK(values<float>(t) == Floats{0.5f, 1});
}

TEST_CASE("assign: memory without elements may be null") {
  const TensorPtr nothing = zeros({0, 3});
  CHECK(assign(nothing, nullptr, 0) == Error::Ok);
  CHECK(copy_to(nothing, nullptr, 0) == Error::Ok);
  CHECK(assign(nothing, Blob::of(nullptr, {0, 3}, ScalarType::Float)) == Error::Ok);
}

TEST_CASE(
    "can_assign: says whether assign would succeed, writes nothing; errors stay the last text") {
  float data[4] = {1, 2, 3, 4};
  const TensorPtr out = zeros({2, 2});
  CHECK_FALSE(can_assign(out, data, 8));
  CHECK(can_assign(out, data, 16));
  CHECK(contains(last_error_message(), "can_assign: 8 bytes were given"));
  CHECK(values<float>(out) == Floats{0, 0, 0, 0});
}

namespace {

Tensor tensor_over(Scene& scene, const Window& window) {
  return for_blob(scene.at(window), window.sizes, window.type)
      .strides(window.strides)
      .make_tensor();
}
Blob blob_over(Scene& scene, const Window& window) {
  return Blob{scene.at(window), window.sizes, window.strides, window.type};
}
size_t nbytes_of(const Window& window) {
  return static_cast<size_t>(window.numel() * window.item());
}

Error assign_blob(Scene& scene) {
  return assign(tensor_over(scene, scene.dst), blob_over(scene, scene.src), scene.mode);
}
Error copy_to_blob(Scene& scene) {
  return copy_to(tensor_over(scene, scene.src), blob_over(scene, scene.dst), scene.mode);
}
Error assign_memory(Scene& scene) {
  return assign(tensor_over(scene, scene.dst), scene.at(scene.src), nbytes_of(scene.src));
}
Error copy_to_memory(Scene& scene) {
  return copy_to(tensor_over(scene, scene.src), scene.at(scene.dst), nbytes_of(scene.dst));
}

// Scenes of windows over one memory come out as a temporary would make them; many overlap.
void check_scenes(Error (*copy)(Scene&), Variety variety, Reversed reversed) {
  int wrong = 0;
  int overlapping = 0;
  for (uint64_t seed = 1; seed <= 5000; ++seed) {
    Scene scene = Scenes(seed, reversed).make(variety);
    const Bytes expected = scene.expected();
    if (copy(scene) != Error::Ok || scene.memory != expected) ++wrong;
    overlapping += scene.meet();
  }
  CHECK(wrong == 0);
  CHECK(overlapping > 2000);
}

}  // namespace

TEST_CASE("assign, copy_to: over the tensor's own memory, as if through a temporary") {
  SECTION("assign a blob") { check_scenes(assign_blob, Variety::SameSizes, Reversed::OnlySource); }
  SECTION("to a blob") { check_scenes(copy_to_blob, Variety::SameSizes, Reversed::OnlyTarget); }
  SECTION("assign bytes") { check_scenes(assign_memory, Variety::DenseSource, Reversed::None); }
  SECTION("to bytes") { check_scenes(copy_to_memory, Variety::DenseTarget, Reversed::None); }
}

// What is refused, by whose name, and that neither side changes then

namespace {

int32_t foreign[8] = {1, 2, 3, 4, 5, 6, 7, 8};

Blob ints(const Dims& sizes, const Dims& strides = {}) {
  return Blob{foreign, sizes, strides, ScalarType::Int};
}

enum Which { kAssign = 1, kCopyTo = 2, kBoth = 3 };

// assign and can_assign refuse a blob alike, and copy_to in its own name.
void check_blob(Error error, const std::string& words, const TensorArg& t, const Blob& blob,
                int calls = kBoth) {
  if ((calls & kAssign) != 0) {
    CHECK_RETURNS(error, "assign: " + words, assign(t, blob));
    CHECK_FALSE(can_assign(t, blob));
    INFO(last_error_message());
    CHECK(contains(last_error_message(), "can_assign: " + words));
  }
  if ((calls & kCopyTo) != 0) CHECK_RETURNS(error, "copy_to: " + words, copy_to(t, blob));
}
void check_bytes(Error error, const std::string& words, const TensorArg& t, void* data,
                 size_t nbytes, int calls = kBoth) {
  CHECK_RETURNS(error, "assign: " + words, assign(t, data, nbytes));
  CHECK_FALSE(can_assign(t, data, nbytes));
  INFO(last_error_message());
  CHECK(contains(last_error_message(), "can_assign: " + words));
  if ((calls & kCopyTo) != 0) CHECK_RETURNS(error, "copy_to: " + words, copy_to(t, data, nbytes));
}

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("assign, copy_to: what does not fit is refused, and neither side changes") {
  const Tensor t = make_tensor({2, 3}, {10, 20, 30, 40, 50, 60});
  const Error invalid = Error::InvalidArgument;
  for (const size_t nbytes : {size_t{0}, size_t{25}}) {
    check_bytes(invalid, std::to_string(nbytes) + " bytes were given, sizes {2, 3} of Int need 24",
                t, foreign, nbytes);
  }
  // Of a strided one the elements count, not the extent.
  const Tensor padded = for_blob(foreign, {2, 3}).strides({5, 1}).make_tensor();
  check_bytes(invalid, "32 bytes were given, sizes {2, 3} of Int need 24", padded, foreign, 32);
  check_bytes(invalid, "the data pointer is null", t, nullptr, 24);
  check_blob(invalid, "the blob's data is null", t, Blob{nullptr, {2, 3}, {}, ScalarType::Int});
  check_blob(invalid, "dimension 1 is 4 in the blob's sizes {2, 4} and 3 in the tensor's {2, 3}", t,
             ints({2, 4}));
  check_blob(invalid, "the blob's sizes {6} and the tensor's {2, 3} differ in length", t,
             ints({6}));
  Blob blob = ints({2, 3});
  blob.element_size = 8;
  check_blob(invalid, "the blob's element_size is 8, but an element of Int has 4 bytes", t, blob);
  check_blob(Error::InvalidType, "the blob's dtype is Undefined", t, Blob{foreign, {2, 3}});
  const Blob floats{foreign, {2, 3}, {}, ScalarType::Float};
  check_blob(Error::InvalidType,
             "values of Float cannot be cast to Int here: give a CastMode, as in to(t, "
             "ScalarType::Int, CastMode::Saturate)",
             t, floats, kAssign);
  CHECK(can_assign(t, floats, CastMode::Truncate));
  check_blob(Error::InvalidType, "values of Float cannot be cast to Int", make_tensor({1.0f, 2.0f}),
             ints({2}), kCopyTo);
  blob = ints({2, 3});
  blob.readonly = true;
  check_blob(Error::InvalidState, "the blob is read-only", t, blob, kCopyTo);
  const std::string words =
      " has strides {0, 1} for sizes {2, 3}, at which elements may share memory";
  const Tensor shared = for_blob(foreign, {2, 3}).strides({0, 1}).make_tensor();
  check_bytes(invalid, "the tensor" + words, shared, foreign, 24, kAssign);
  check_blob(invalid, "the tensor" + words, shared, ints({2, 3}), kAssign);
  check_blob(invalid, "the blob" + words, t, ints({2, 3}, {0, 1}), kCopyTo);
  CHECK(values<int32_t>(t) == Ints{10, 20, 30, 40, 50, 60});
  CHECK(Ints(foreign, foreign + 8) == Ints{1, 2, 3, 4, 5, 6, 7, 8});
}

// A promise of docs/guarantees.md.
TEST_CASE("assign: a read-only tensor is not written to") {
  const int32_t data[6] = {10, 20, 30, 40, 50, 60};
  const Tensor t = for_blob(read_only(data), {2, 3}).make_tensor();
  check_bytes(Error::InvalidState, "the tensor is read-only", t, foreign, 24, kAssign);
  check_blob(Error::InvalidState, "the tensor is read-only", t, ints({2, 3}), kAssign);
}

}  // namespace assign_test
