// SPDX-License-Identifier: MIT
// What assign, can_assign and copy_to refuse, by whose name, and that neither side changes then.

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;

namespace {

using Ints = std::vector<int32_t>;

// An address that faults when it is read or written.
void* const kDevicePointer = reinterpret_cast<void*>(uintptr_t{4096});

int32_t foreign[8] = {1, 2, 3, 4, 5, 6, 7, 8};

Blob ints(const Dims& sizes, const Dims& strides = {}) {
  return Blob{foreign, sizes, strides, ScalarType::Int};
}
Tensor counted() { return make_tensor({2, 3}, {10, 20, 30, 40, 50, 60}); }

bool is_unchanged(const Tensor& t) {
  return values<int32_t>(t) == Ints{10, 20, 30, 40, 50, 60} &&
         Ints(foreign, foreign + 8) == Ints{1, 2, 3, 4, 5, 6, 7, 8};
}

// assign and can_assign refuse these arguments alike.
void check_assign(Error error, const std::string& words, const TensorArg& out, const Blob& blob) {
  CHECK_RETURNS(error, "assign: " + words, assign(out, blob));
  CHECK_FALSE(can_assign(out, blob));
  INFO(last_error_message());
  CHECK(contains(last_error_message(), "can_assign: " + words));
}
void check_assign(Error error, const std::string& words, const TensorArg& out, const void* data,
                  size_t nbytes) {
  CHECK_RETURNS(error, "assign: " + words, assign(out, data, nbytes));
  CHECK_FALSE(can_assign(out, data, nbytes));
  INFO(last_error_message());
  CHECK(contains(last_error_message(), "can_assign: " + words));
}
void check_copy_to(Error error, const std::string& words, const TensorArg& tensor,
                   const Blob& blob) {
  CHECK_RETURNS(error, "copy_to: " + words, copy_to(tensor, blob));
}
void check_copy_to(Error error, const std::string& words, const TensorArg& tensor, void* data,
                   size_t nbytes) {
  CHECK_RETURNS(error, "copy_to: " + words, copy_to(tensor, data, nbytes));
}

}  // namespace

TEST_CASE("assign: too many bytes are an error like too few, both counts are named") {
  const Tensor t = counted();
  for (size_t nbytes : {size_t{0}, size_t{23}, size_t{25}, size_t{32}, SIZE_MAX}) {
    const std::string words =
        std::to_string(nbytes) + " bytes were given, sizes {2, 3} of Int need 24";
    check_assign(Error::InvalidArgument, words, t, foreign, nbytes);
    check_copy_to(Error::InvalidArgument, words, t, foreign, nbytes);
  }
  check_assign(Error::InvalidArgument, "1 bytes were given, sizes {0} of Float need 0", *zeros({0}),
               foreign, 1);
  CHECK(is_unchanged(t));
}

TEST_CASE("assign: a strided tensor needs the bytes of its elements, not of its extent") {
  const auto padded = for_blob(foreign, {2, 3}).strides({5, 1}).make_tensor();
  int32_t data[6] = {};
  check_assign(Error::InvalidArgument, "32 bytes were given, sizes {2, 3} of Int need 24", padded,
               data, 32);
  check_copy_to(Error::InvalidArgument, "32 bytes were given", padded, data, 32);
}

TEST_CASE("assign: a null pointer to elements is refused") {
  const Tensor t = counted();
  check_assign(Error::InvalidArgument, "the data pointer is null", t, nullptr, 24);
  check_copy_to(Error::InvalidArgument, "the data pointer is null", t, nullptr, 24);
  const Blob null{nullptr, {2, 3}, {}, ScalarType::Int};
  check_assign(Error::InvalidArgument, "the blob's data is null", t, null);
  check_copy_to(Error::InvalidArgument, "the blob's data is null", t, null);
  CHECK(is_unchanged(t));
}

TEST_CASE("assign: other sizes are refused, both are named, nothing is broadcast") {
  const Tensor t = counted();
  const auto check = [&](const Vector& sizes, const std::string& words) {
    const std::string text = "the blob's sizes " + words +
                             " elements, the tensor's {2, 3} hold 6; they have to be equal";
    check_assign(Error::InvalidArgument, text, t, ints(sizes));
    check_copy_to(Error::InvalidArgument, text, t, ints(sizes));
  };
  check({3, 2}, "{3, 2} hold 6");
  check({6}, "{6} hold 6");
  check({3}, "{3} hold 3");
  check({1, 2, 3}, "{1, 2, 3} hold 6");
  check({}, "{} hold 1");
  check({0, 3}, "{0, 3} hold 0");
  CHECK(is_unchanged(t));
}

TEST_CASE("assign: an element_size that is not the dtype's is refused") {
  const Tensor t = counted();
  Blob blob = ints({2, 3});
  blob.element_size = 8;
  const std::string words = "the blob's element_size is 8, but an element of Int has 4 bytes";
  check_assign(Error::InvalidArgument, words, t, blob);
  check_copy_to(Error::InvalidArgument, words, t, blob);
  CHECK(is_unchanged(t));
}

TEST_CASE("assign: a blob's shape and dtype that make no layout are refused") {
  const Tensor t = counted();
  check_assign(Error::InvalidArgument, "size -3 of dimension 1 is negative", t, ints({2, -3}));
  check_assign(Error::InvalidArgument, "strides {1} and sizes {2, 3} differ in length", t,
               ints({2, 3}, {1}));
  check_assign(Error::InvalidArgument, "strides {9223372036854775807, 1} with sizes {2, 3}", t,
               ints({2, 3}, {INT64_MAX, 1}));
  check_assign(Error::InvalidArgument, "sizes has more than 64 entries", t, ints(Vector(65, 1)));
  check_copy_to(Error::InvalidArgument, "size -3 of dimension 1 is negative", t, ints({2, -3}));
  Blob blob = ints({2, 3});
  blob.dtype = ScalarType::Undefined;
  check_assign(Error::InvalidType, "Undefined is not an element type", t, blob);
  check_copy_to(Error::InvalidType, "Undefined is not an element type", t, blob);
  CHECK(is_unchanged(t));
}

TEST_CASE("assign: casts that canCast forbids are refused without a mode") {
  const Tensor t = counted();
  float floats[6] = {};
  const Blob blob{floats, {2, 3}};
  check_assign(
      Error::InvalidType,
      "values of Float cannot be cast to Int here: convert explicitly with to(t, ScalarType::Int, "
      "CastMode::Truncate)",
      t, blob);
  CHECK(can_assign(t, blob, CastMode::Truncate));
  CHECK(is_unchanged(t));
  check_copy_to(Error::InvalidType, "values of Float cannot be cast to Int",
                make_tensor({1.0f, 2.0f}), ints({2}));
  CHECK(is_unchanged(t));
}

TEST_CASE("assign: memory on a device is refused on either side, never touched") {
  const Tensor t = counted();
  const Tensor device =
      for_blob(kDevicePointer, {2, 3}, ScalarType::Int).device("cuda:1").make_tensor();
  int32_t data[6] = {};
  check_assign(Error::NotSupported, "the tensor is on cuda:1, which the host cannot reach", device,
               data, sizeof data);
  check_assign(Error::NotSupported, "the tensor is on cuda:1", device, ints({2, 3}));
  check_copy_to(Error::NotSupported, "the tensor is on cuda:1", device, data, sizeof data);
  check_copy_to(Error::NotSupported, "the tensor is on cuda:1", device, ints({2, 3}));
  const Blob blob{kDevicePointer, {2, 3}, {}, ScalarType::Int, "cuda"};
  check_assign(Error::NotSupported, "the blob is on cuda:0, which the host cannot reach", t, blob);
  check_copy_to(Error::NotSupported, "the blob is on cuda:0, which the host cannot reach", t, blob);
  CHECK(is_unchanged(t));
}

TEST_CASE("assign: undefined tensors, null pointers and placeholders are refused") {
  const auto check = [](const auto& tensor, const std::string& words) {
    check_assign(Error::InvalidState, words, tensor, foreign, 24);
    check_assign(Error::InvalidState, words, tensor, ints({2, 3}));
    check_copy_to(Error::InvalidState, words, tensor, foreign, 24);
    check_copy_to(Error::InvalidState, words, tensor, ints({2, 3}));
  };
  check(Tensor(), "the tensor is undefined");
  check(TensorPtr(), "the tensor is undefined");
  check(make_tensor({2, 3}, nullptr, ScalarType::Int), "the tensor is a placeholder without data");
  CHECK(is_unchanged(counted()));
}

TEST_CASE("copy_to: a read-only blob is not written to") {
  const Tensor t = counted();
  Blob blob = ints({2, 3});
  blob.readonly = true;
  check_copy_to(Error::InvalidState, "the blob is read-only", t, blob);
  CHECK(is_unchanged(t));
}

TEST_CASE("assign: a read-only tensor is not written to", "[plain]") {
  const int32_t data[6] = {10, 20, 30, 40, 50, 60};
  const auto t = for_blob(tests::read_only(data), {2, 3}).make_tensor();
  check_assign(Error::InvalidState, "the tensor is read-only", t, foreign, 24);
  check_assign(Error::InvalidState, "the tensor is read-only", t, ints({2, 3}));
  CHECK(is_unchanged(t));
}

TEST_CASE("assign: what is written to may interleave, as long as no two elements meet", "[plain]") {
  float data[20] = {};
  const TensorPtr t = from_blob(data + 10, {3, 3}, {-3, 2}, ScalarType::Float, [](void*) {});
  const float values[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  REQUIRE(assign(t, values, sizeof values) == Error::Ok);
  float back[9] = {};
  REQUIRE(copy_to(t, back, sizeof back) == Error::Ok);
  CHECK(std::equal(values, values + 9, back));
  REQUIRE(copy_(t, zeros({3, 3})) == Error::Ok);
}

TEST_CASE("assign: what is written to may not share memory between its elements") {
  int32_t data[6] = {10, 20, 30, 40, 50, 60};
  const auto shared = for_blob(data, {2, 3}).strides({0, 1}).make_tensor();
  const std::string words =
      " has strides {0, 1} for sizes {2, 3}, at which elements may share memory";
  check_assign(Error::InvalidArgument, "the tensor" + words, shared, foreign, 24);
  check_assign(Error::InvalidArgument, "the tensor" + words, shared, ints({2, 3}));
  const Tensor t = counted();
  check_copy_to(Error::InvalidArgument, "the blob" + words, t, ints({2, 3}, {0, 1}));
  check_copy_to(Error::InvalidArgument, "the blob has strides {2, 1} for sizes {2, 3}", t,
                ints({2, 3}, {2, 1}));
  CHECK(is_unchanged(t));
  CHECK(data[0] == 10);
  CHECK(data[1] == 20);
}

TEST_CASE("can_assign: leaves the message of the last refusal, and none on success") {
  const Tensor t = counted();
  CHECK_FALSE(can_assign(t, foreign, 8));
  CHECK(can_assign(t, foreign, 24));
  CHECK(contains(last_error_message(), "can_assign: 8 bytes were given"));
}
