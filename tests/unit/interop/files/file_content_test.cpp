// SPDX-License-Identifier: MIT
#include "tenon/interop/files/file_content.h"

#include "interop/files.h"
#include "tenon/tenon.h"

namespace file_content_test {

using namespace tenon;
using tenon::detail::FileBytes;
using tenon::detail::FileContent;

namespace {

Error open(const FileContent& content) {
  FileBytes bytes;
  return bytes.open(content);
}

}  // namespace

TEST_CASE("file content: a Blob's owner is kept, and let go once") {
  auto owner = std::make_shared<std::vector<uint8_t>>(std::vector<uint8_t>{1, 2, 3});
  const std::weak_ptr<std::vector<uint8_t>> watched = owner;
  {
    FileBytes bytes;
    REQUIRE(bytes.open(Blob::of(owner->data(), {3}, {}, owner)) == Error::Ok);
    owner = nullptr;
    CHECK(!watched.expired());
    CHECK(bytes.data[2] == 3);
  }
  CHECK(watched.expired());
}

TEST_CASE("file content: what is not contiguous memory of the host is refused") {
  const auto matrix = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  RETURNS(InvalidState, "the source tensor is undefined", open(TensorPtr()));
  RETURNS(InvalidArgument, "the bytes are not contiguous, or not in host memory",
          open(transpose(matrix, 0, 1)));
  Blob elsewhere = to_blob(matrix);
  elsewhere.device = Device(DeviceType::CUDA, 0);
  RETURNS(InvalidArgument, "the bytes are not contiguous, or not in host memory", open(elsewhere));
  RETURNS(InvalidArgument, "the bytes are not contiguous, or not in host memory",
          open(Blob::of(static_cast<const uint8_t*>(nullptr), {3})));
  RETURNS(InvalidType, "the blob's dtype is Undefined", open(Blob()));
}

TEST_CASE("file content: the bytes of a tensor of any dtype, which stays while they are used") {
  auto numbers = make_tensor_ptr({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f});
  const void* const data = numbers->const_data_ptr();
  FileBytes bytes;
  REQUIRE(bytes.open(numbers) == Error::Ok);
  CHECK(bytes.data == data);
  CHECK(bytes.size == 16);
  numbers.reset();
  float last = 0;
  std::memcpy(&last, bytes.data + 12, sizeof last);
  CHECK(last == 4.0f);

  FileBytes none;
  REQUIRE(none.open(empty({0}, ScalarType::Byte)) == Error::Ok);
  CHECK(none.size == 0);
}

}  // namespace file_content_test
