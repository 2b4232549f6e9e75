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
  const double one = 1.5;
  const TensorPtr scalar = make_tensor_ptr(0.0);
  CHECK(assign(scalar, &one, sizeof one) == Error::Ok);
  CHECK(item<double>(scalar) == 1.5);
  unsigned char raw[25] = {};
  CHECK(copy_to(out, raw + 1, 24) == Error::Ok);  // misaligned memory
  CHECK(std::memcmp(raw + 1, data, 24) == 0);
  CHECK(raw[0] == 0);
  CHECK(zero_(out) == Error::Ok);
  CHECK(assign(out, raw + 1, 24) == Error::Ok);
  CHECK(values<float>(out) == Floats{1, 2, 3, 4, 5, 6});
}

TEST_CASE("assign: what is written to may interleave, as long as no two elements meet", "[plain]") {
  float floats[20] = {};
  const TensorPtr t = from_blob(floats + 10, {3, 3}, {-3, 2}, ScalarType::Float, [](void*) {});
  const Floats nine{1, 2, 3, 4, 5, 6, 7, 8, 9};
  CHECK(assign(t, nine.data(), 36) == Error::Ok);
  CHECK(values<float>(t) == nine);
  CHECK(copy_(t, zeros({3, 3})) == Error::Ok);
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

TEST_CASE("assign: takes read-only blobs, pinned memory and an element_size; keeps no owner") {
  auto owner = std::make_shared<Ints>(Ints{1, 2});
  Blob blob{owner->data(), {2}, {}, ScalarType::Int, "cuda_host", 4, true, owner};
  const TensorPtr out = zeros({2}, ScalarType::Int);
  CHECK(assign(out, blob) == Error::Ok);
  CHECK(values<int32_t>(out) == Ints{1, 2});
  blob.readonly = false;
  CHECK(copy_to(out, blob) == Error::Ok);
  CHECK(owner.use_count() == 2);
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
  CHECK(copy_to(t, static_cast<void*>(ints), 8) == Error::Ok);
  CHECK(assign(t, static_cast<const void*>(ints), 8) == Error::Ok);
  CHECK(assign(t, reinterpret_cast<const char*>(constants), 8) == Error::Ok);
  CHECK(values<float>(t) == Floats{3, 4});
  CHECK(copy_to(t, reinterpret_cast<std::byte*>(floats), 8) == Error::Ok);
  CHECK(Floats(floats, floats + 2) == Floats{3, 4});
  CHECK(assign(t, constants, 8) == Error::Ok);
  RETURNS(InvalidState, "copy_to: the data pointer is to const", copy_to(t, DataPtr(constants), 8));
  // A list in braces is a blob.
  CHECK(assign(t, {floats, {2}, {}, ScalarType::Float}, {0.5f}) == Error::Ok);
  CHECK(values<float>(t) == Floats{1.5f, 2});
  RETURNS(InvalidType, "assign: the blob's dtype is Undefined", assign(t, {floats, {2}}, {0.5f}));
}

TEST_CASE("assign: memory without elements may be null") {
  const TensorPtr nothing = zeros({0, 3});
  CHECK(assign(nothing, nullptr, 0) == Error::Ok);
  CHECK(copy_to(nothing, nullptr, 0) == Error::Ok);
  CHECK(assign(nothing, Blob::of(nullptr, {0, 3}, ScalarType::Float)) == Error::Ok);
  CHECK(copy_to(nothing, Blob::of(nullptr, {0, 3}, {INT64_MAX, -5}, ScalarType::Float)) ==
        Error::Ok);
  CHECK(can_assign(nothing, nullptr, 0));
  CHECK(can_assign(nothing, Blob::of(nullptr, {0, 3}, ScalarType::Float)));
}

TEST_CASE(
    "can_assign: says whether assign would succeed, writes nothing; errors stay the last text") {
  float data[4] = {1, 2, 3, 4};
  const TensorPtr out = zeros({2, 2});
  CHECK_FALSE(can_assign(out, data, 8));
  CHECK(can_assign(out, data, 16));
  CHECK(contains(last_error_message(), "can_assign: 8 bytes were given"));
  CHECK(can_assign(*out, Blob::of(data, {2, 2}, {1, 2})));
  CHECK(can_assign(zeros({2, 2}, ScalarType::Byte), Blob::of(data, {2, 2}), CastMode::Saturate));
  CHECK(can_assign(zeros({2, 2}, ScalarType::Double), Blob::of(data, {2, 2})));
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

TEST_CASE("assign, copy_to: over a reversed tensor's own memory", "[plain]") {
  SECTION("assign a blob") { check_scenes(assign_blob, Variety::SameSizes, Reversed::Any); }
  SECTION("to a blob") { check_scenes(copy_to_blob, Variety::SameSizes, Reversed::Any); }
  SECTION("assign bytes") { check_scenes(assign_memory, Variety::DenseSource, Reversed::Any); }
  SECTION("to bytes") { check_scenes(copy_to_memory, Variety::DenseTarget, Reversed::Any); }
}

// What is refused, by whose name, and that neither side changes then

namespace {

// An address that faults when it is read or written.
void* const kDevicePointer = reinterpret_cast<void*>(uintptr_t{4096});

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
  for (const size_t nbytes : {size_t{0}, size_t{23}, size_t{25}, size_t{32}, SIZE_MAX}) {
    check_bytes(invalid, std::to_string(nbytes) + " bytes were given, sizes {2, 3} of Int need 24",
                t, foreign, nbytes);
  }
  check_bytes(invalid, "1 bytes were given, sizes {0} of Float need 0", zeros({0}), foreign, 1);
  // Of a strided one the elements count, not the extent.
  const Tensor padded = for_blob(foreign, {2, 3}).strides({5, 1}).make_tensor();
  check_bytes(invalid, "32 bytes were given, sizes {2, 3} of Int need 24", padded, foreign, 32);
  check_bytes(invalid, "the data pointer is null", t, nullptr, 24);
  check_blob(invalid, "the blob's data is null", t, Blob{nullptr, {2, 3}, {}, ScalarType::Int});
  const std::pair<Vector, const char*> others[] = {
      {{3, 2}, "dimension 0 is 3 in the blob's sizes {3, 2} and 2 in the tensor's {2, 3}"},
      {{2, 4}, "dimension 1 is 4 in the blob's sizes {2, 4} and 3 in the tensor's {2, 3}"},
      {{0, 3}, "dimension 0 is 0 in the blob's sizes {0, 3} and 2 in the tensor's {2, 3}"},
      {{6}, "the blob's sizes {6} and the tensor's {2, 3} differ in length"},
      {{1, 2, 3}, "the blob's sizes {1, 2, 3} and the tensor's {2, 3} differ in length"},
      {{}, "the blob's sizes {} and the tensor's {2, 3} differ in length"}};
  for (const auto& [other, words] : others) check_blob(invalid, words, t, ints(other));
  Blob blob = ints({2, 3});
  blob.element_size = 8;
  check_blob(invalid, "the blob's element_size is 8, but an element of Int has 4 bytes", t, blob);
  check_blob(invalid, "size -3 of dimension 1 is negative", t, ints({2, -3}));
  check_blob(invalid, "strides {1} and sizes {2, 3} differ in length", t, ints({2, 3}, {1}));
  check_blob(invalid, "strides {9223372036854775807, 1} with sizes {2, 3}", t,
             ints({2, 3}, {INT64_MAX, 1}));
  check_blob(invalid, "sizes has more than 64 entries", t, ints(Vector(65, 1)));
  check_blob(Error::InvalidType, "the blob's dtype is Undefined", t, Blob{foreign, {2, 3}});
  const Blob floats{foreign, {2, 3}, {}, ScalarType::Float};
  check_blob(Error::InvalidType,
             "values of Float cannot be cast to Int here: convert explicitly with to(t, "
             "ScalarType::Int, CastMode::Truncate)",
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
  check_blob(invalid, "the blob has strides {2, 1} for sizes {2, 3}", t, ints({2, 3}, {2, 1}),
             kCopyTo);
  CHECK(values<int32_t>(t) == Ints{10, 20, 30, 40, 50, 60});
  CHECK(Ints(foreign, foreign + 8) == Ints{1, 2, 3, 4, 5, 6, 7, 8});
}

TEST_CASE("assign, copy_to: tensors without data and memory on a device are refused") {
  const auto check = [](Error error, const std::string& words, const TensorArg& t) {
    check_bytes(error, words, t, foreign, 24);
    check_blob(error, words, t, ints({2, 3}));
  };
  check(Error::InvalidState, "the tensor is undefined", Tensor());
  check(Error::InvalidState, "the tensor is undefined", TensorPtr());
  check(Error::InvalidState, "the tensor is a placeholder without data",
        make_tensor({2, 3}, nullptr, ScalarType::Int));
  check(Error::NotSupported, "the tensor is on cuda:1, which the host cannot reach",
        for_blob(kDevicePointer, {2, 3}, ScalarType::Int).device("cuda:1").make_tensor());
  check_blob(Error::NotSupported, "the blob is on cuda:0, which the host cannot reach",
             zeros({2, 3}), Blob{kDevicePointer, {2, 3}, {}, ScalarType::Int, "cuda"});
}

// A promise of docs/guarantees.md.
TEST_CASE("assign: a read-only tensor is not written to") {
  const int32_t data[6] = {10, 20, 30, 40, 50, 60};
  const Tensor t = for_blob(read_only(data), {2, 3}).make_tensor();
  check_bytes(Error::InvalidState, "the tensor is read-only", t, foreign, 24, kAssign);
  check_blob(Error::InvalidState, "the tensor is read-only", t, ints({2, 3}), kAssign);
}

TEST_CASE("assign, copy_to: a DeviceBackend checks a blob's memory before anything is copied") {
  RecordingDevice cuda;
  register_backend(cuda);
  float memory[8] = {1, 2, 3, -1, 4, 5, 6, -1};
  float elsewhere[8] = {};
  cuda.lend(memory, sizeof memory);
  const TensorPtr t = zeros({2, 3});
  Blob blob{memory, {2, 3}, {4, 1}, ScalarType::Float, "cuda"};
  CHECK(assign(t, blob) == Error::Ok);
  CHECK(cuda.calls.front() == "check_memory 28");
  CHECK(values<float>(t) == Floats{1, 2, 3, 4, 5, 6});
  CHECK(fill_(t, 9) == Error::Ok);
  CHECK(copy_to(t, blob) == Error::Ok);
  CHECK(Floats(memory, memory + 8) == Floats{9, 9, 9, -1, 9, 9, 9, -1});
  blob.data = elsewhere;
  cuda.calls.clear();
  RETURNS(InvalidArgument, "assign: backend recording failed in check_memory", assign(t, blob));
  RETURNS(InvalidArgument, "assign: backend recording failed in check_memory",
          assign(t, blob, Normalize{}));
  RETURNS(InvalidArgument, "copy_to: backend recording failed in check_memory", copy_to(t, blob));
  CHECK_FALSE(can_assign(t, blob));
  CHECK(cuda.calls ==
        Texts{"check_memory 28", "check_memory 28", "check_memory 28", "check_memory 28"});
  CHECK(elsewhere[0] == 0);
  // To the device, too.
  const TensorPtr there = zeros({2, 3}, cuda);
  blob.data = memory;
  CHECK(assign(there, blob) == Error::Ok);
  CHECK(values<float>(clone_tensor_ptr_to(there, "cpu")) == Floats{9, 9, 9, 9, 9, 9});
  CHECK(assign(zeros({0}), Blob{elsewhere, {0}, {}, ScalarType::Float, "cuda"}) == Error::Ok);
}

}  // namespace assign_test
