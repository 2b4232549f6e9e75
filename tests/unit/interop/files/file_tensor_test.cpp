// SPDX-License-Identifier: MIT
#include "tenon/interop/files/file_tensor.h"

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tenon/tensor/values.h"

namespace file_tensor_test {

using namespace tenon;

namespace {

TensorPtr make(const std::shared_ptr<std::vector<uint8_t>>& file, const Dims& sizes,
               const Dims& strides, bool is_copied, bool is_swapped) {
  detail::NewTensor made;
  REQUIRE(detail::make_file_tensor(file, file->data(), 6, detail::own_type(ScalarType::Short),
                                   sizes, strides, is_copied, is_swapped, made) == Error::Ok);
  return detail::return_to_user<Result<TensorPtr>>("f", Error::Ok, made).value();
}

}  // namespace

TEST_CASE("file tensor: over the file's bytes, which it keeps, or over a copy; read-only") {
  auto file = std::make_shared<std::vector<uint8_t>>(std::vector<uint8_t>{1, 0, 2, 0, 3, 0});
  const std::weak_ptr<std::vector<uint8_t>> watched = file;
  TensorPtr mapped = make(file, {3}, {}, false, false);
  const TensorPtr copied = make(file, {3}, {}, true, false);
  const TensorPtr swapped = make(file, {3}, {}, true, true);
  const TensorPtr spread = make(file, {2, 2}, {0, 2}, true, false);
  CHECK(const_data_ptr(mapped) == file->data());
  CHECK(ownership(mapped) == Ownership::Adopted);
  CHECK(ownership(copied) == Ownership::Owned);
  file = nullptr;
  CHECK(!watched.expired());
  CHECK(to_vector<int16_t>(mapped) == std::vector<int16_t>{1, 2, 3});
  mapped = nullptr;
  CHECK(watched.expired());
  CHECK(to_vector<int16_t>(copied) == std::vector<int16_t>{1, 2, 3});
  CHECK(to_vector<int16_t>(swapped) == std::vector<int16_t>{256, 512, 768});
  CHECK(to_vector<int16_t>(spread) == std::vector<int16_t>{1, 3, 1, 3});
  for (const TensorPtr* tensor : {&copied, &swapped, &spread}) CHECK(is_readonly(*tensor));
}

TEST_CASE("file tensor: a name goes before an error's message, printable") {
  CHECK(detail::add_name(Error::Ok, "tensor", "a") == Error::Ok);
  RETURNS(NotFound, "tensor \"a?\": there is none",
          detail::add_name(detail::fail(Error::NotFound, "there is none"), "tensor", "a\n"));
}

}  // namespace file_tensor_test
