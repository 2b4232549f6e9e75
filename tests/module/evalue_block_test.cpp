// SPDX-License-Identifier: MIT
#include "tenon/module/evalue_block.h"

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>

#include "support/catch.h"
#include "tenon/tensor/tensor_ptr.h"

using namespace tenon;
using tenon::detail::ValueBlock;

TEST_CASE("ValueKind: its names are those of the enumerators, in a text with an article") {
  CHECK(toString(ValueKind::OptionalTensorList) == std::string("OptionalTensorList"));
  char text[64];
  const auto shown = [&](ValueKind kind) {
    tenon::detail::Message message(text, sizeof text);
    tenon::detail::append(message, kind);
    return std::string(text);
  };
  CHECK(shown(ValueKind::Int) == "an Int");
  CHECK(shown(ValueKind::OptionalTensorList) == "an OptionalTensorList");
  CHECK(shown(ValueKind::Tensor) == "a Tensor");
  CHECK(shown(ValueKind::None) == "None");
}

TEST_CASE("ValueKind: lists are told from single values, and those of tensors from others") {
  using tenon::detail::is_list;
  using tenon::detail::is_tensor_list;
  CHECK(is_list(ValueKind::TensorList));
  CHECK(is_list(ValueKind::BoolList));
  CHECK_FALSE(is_list(ValueKind::String));
  CHECK(is_tensor_list(ValueKind::OptionalTensorList));
  CHECK_FALSE(is_tensor_list(ValueKind::IntList));
}

TEST_CASE("ValueBlock: the last user drops it, and its tensors with it") {
  const Tensor x = tenon::make_tensor({1.0f});
  ValueBlock* const block = ValueBlock::make<Tensor>(2);
  REQUIRE(block != nullptr);
  block->tensors = true;
  for (; block->size < 2; ++block->size) ::new (block->elements<Tensor>() + block->size) Tensor(x);
  block->users.add();
  CHECK(x.use_count() == 3);
  block->drop();
  CHECK(x.use_count() == 3);
  block->drop();
  CHECK(x.use_count() == 1);
}

TEST_CASE("ValueBlock: a count that no memory could hold gives null") {
  CHECK(ValueBlock::make<int64_t>(SIZE_MAX / 4) == nullptr);
}
