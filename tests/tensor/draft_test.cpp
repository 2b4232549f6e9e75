// SPDX-License-Identifier: MIT
#include "tenon/tensor/draft.h"

#include <cstdint>
#include <memory>

#include "support/catch.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/resize.h"
#include "tensor/helpers.h"

using namespace tenon;
namespace detail = tenon::detail;

TEST_CASE("draft: the impl and its data share a block up to a limit, aligned on both sides") {
  bool right = true;
  for (size_t nbytes : {size_t{0}, size_t{1}, size_t{64}, detail::kMaxInlineBytes,
                        detail::kMaxInlineBytes + 1, size_t{100000}}) {
    detail::Draft draft;
    REQUIRE(detail::start_owned_draft(nbytes, detail::Contents::Zero, draft) == Error::Ok);
    const auto* data = static_cast<const unsigned char*>(detail::fields(draft).data);
    right = right && reinterpret_cast<uintptr_t>(data) % 64 == 0;
    for (size_t i = 0; i < nbytes; ++i) right = right && data[i] == 0;
    const bool inside =
        static_cast<bool>(detail::fields(draft).deleter) == (nbytes > detail::kMaxInlineBytes);
    right = right && inside;
  }
  CHECK(right);
}

TEST_CASE("draft: weak pointers to an impl work, and outlive it") {
  detail::Draft draft;
  REQUIRE(detail::start_owned_draft(16, detail::Contents::Zero, draft) == Error::Ok);
  std::weak_ptr<tenon::TensorImpl> weak = draft;
  CHECK(weak.lock() == draft);
  draft.reset();
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
