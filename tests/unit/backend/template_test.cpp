// SPDX-License-Identifier: MIT
#include "tenon/backend/template.h"

#include <functional>

#include "support/catch.h"
#include "tenon/tenon.h"

namespace template_test {

using namespace tenon;

TEST_CASE("MetaBackend: opaque memory of its own device, of which there is none") {
  MetaBackend backend;
  CHECK(std::string(backend.name()) == "meta");
  CHECK(backend.device() == Device("meta"));
  STATIC_REQUIRE(std::is_same_v<TemplateBackend, MetaBackend>);
  CHECK(backend.is_opaque());
  CHECK(&backend.base() == &backend);
  CHECK(backend.metadata_backend() == nullptr);
  const std::string words = "a meta tensor has a type and a shape, no data";
  CHECK(backend.allocate(16, 64) == nullptr);
  CHECK(last_error_message() == words);
  backend.deallocate(nullptr, 16);
  CHECK(backend.live_blocks() == 0);
  char byte = 1;
  RETURNS(NotSupported, words, backend.copy_from_host(nullptr, &byte, 1));
  RETURNS(NotSupported, words, backend.copy_to_host(&byte, nullptr, 1));
  RETURNS(NotSupported, words, backend.copy_within(nullptr, nullptr, 1));
  CHECK(byte == 1);
  CHECK(backend.synchronize() == Error::Ok);
  RETURNS(InvalidArgument, "there is no option \"limit\"", backend.init({{"limit", 3}}));
}

TEST_CASE("MetaBackend: inspect appends the type and the shape") {
  MetaBackend backend;
  std::string text = "x: ";
  const ViewWithLists view{nullptr, ScalarType::Float, backend.device(), {2, 3}, {3, 1}};
  CHECK(backend.inspect(view, 1000, text) == Error::Ok);
  CHECK(text == "x: Meta Float {2, 3}");
}

TEST_CASE("meta tensors: creators give the host's shapes, what needs data says so") {
  MetaBackend backend;
  const std::function<TensorPtr(Backend&)> makers[] = {
      [](Backend& b) { return full({4}, 2, ScalarType::Byte, b); },
      [](Backend& b) {
        return ones_strided({2, 3}, {5, 1}, b);
      },
      [](Backend& b) { return arange(0.5, 9, 0.25, b); },
      [](Backend& b) {
        return make_tensor_ptr({2, 2}, {1, 2, 3, 4}, {1, 0}, b);
      },
      [](Backend& b) {
        return randn_like(transpose(zeros({4, 6}, b), 0, 1));
      }};
  for (const auto& make : makers) {
    const TensorPtr here = make(host_backend());
    const TensorPtr there = make(backend);
    CAPTURE(as_view(here).sizes);
    CHECK(as_view(there).type == as_view(here).type);
    CHECK(as_view(there).sizes == as_view(here).sizes);
    CHECK(as_view(there).strides == as_view(here).strides);
    CHECK(as_view(there).data == nullptr);
    CHECK(device(there) == backend.device());
  }
  const TensorPtr t = zeros({2, 3}, TensorShapeDynamism::DYNAMIC, backend);
  const TensorPtr host = zeros({2, 3});
  const char* const words = "meta tensor, Float {2, 3}, which has no data";
  float values[6] = {};
  Generator generator(1);
  RETURNS(NotSupported, words, copy_(host, t));
  RETURNS(NotSupported, words, copy_(t, host));
  RETURNS(NotSupported, words, fill_(t, 1));
  RETURNS(NotSupported, words, uniform_(t, 0, 1, generator));
  RETURNS(NotSupported, words, assign(t, values, sizeof values));
  RETURNS(NotSupported, words, copy_to(t, values, sizeof values));
  RAISES(NotSupported, words, backend_copy(t, host_backend()));
  RAISES(NotSupported, words, const_data_ptr<float>(t));
  RAISES(NotSupported, words, to_binary(t));
  CHECK(device(clone_tensor_ptr(t)) == backend.device());
  CHECK(resize_tensor(*t, {100, 7}) == Error::Ok);
  CHECK(tests::contains(to_string(t), "Float {100, 7} on meta"));
  CHECK(backend_deallocate(t) == Deallocation::Ok);
}

}  // namespace template_test
