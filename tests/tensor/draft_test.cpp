// SPDX-License-Identifier: MIT
#include "tenon/tensor/draft.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "support/catch.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/resize.h"
#include "tensor/helpers.h"

using namespace tenon;
namespace detail = tenon::detail;

TEST_CASE("draft: the impl and its data share a block up to a limit, aligned on both sides") {
  const int64_t limit = static_cast<int64_t>(detail::kMaxInlineBytes);
  for (int64_t nbytes : {int64_t{0}, int64_t{1}, int64_t{64}, limit, limit + 1, int64_t{100000}}) {
    const auto impl = tenon::make_tensor_impl_ptr(tenon::zeros({nbytes}, tenon::ScalarType::Byte));
    const auto& made = detail::fields(impl);
    CHECK(reinterpret_cast<uintptr_t>(made.data) % 64 == 0);
    CHECK(static_cast<bool>(made.deleter) == (nbytes > limit));
    CHECK(tests::values<uint8_t>(tenon::Tensor(impl)) ==
          std::vector<uint8_t>(static_cast<size_t>(nbytes)));
  }
}

TEST_CASE("draft: weak pointers to an impl work, and outlive it") {
  auto impl = tenon::make_tensor_impl_ptr({2}, {1.0f, 2.0f});
  const std::weak_ptr<tenon::TensorImpl> weak = impl;
  CHECK(weak.lock() == impl);
  impl.reset();
  CHECK(weak.expired());
}

TEST_CASE("draft: an owner keeps the memory alive and counts as a borrow") {
  auto t = tenon::ones({4}, tenon::ScalarType::Float, tenon::TensorShapeDynamism::DYNAMIC);
  const float* data = t->const_data_ptr<float>();
  std::shared_ptr<const void> owner;
  REQUIRE(detail::keep_memory(t, owner) == Error::Ok);
  CHECK(resize_tensor_ptr(t, {5}) == Error::InUse);
  t.reset();
  CHECK(data[3] == 1);
}

TEST_CASE("draft: memory is exchanged only where it is borrowed") {
  float first[2] = {1, 2};
  float second[2] = {3, 4};
  auto borrowed = tenon::make_tensor_ptr({2}, first);
  CHECK(detail::bind_memory(borrowed, second) == Error::Ok);
  CHECK(borrowed->const_data_ptr<float>() == second);
  auto owned = tenon::ones({2});
  CHECK_RETURNS(Error::InvalidState, "not borrowed", detail::bind_memory(owned, second));
}
