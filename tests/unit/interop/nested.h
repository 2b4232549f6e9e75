// SPDX-License-Identifier: MIT
// One program for models/nested.pt and nested.pte, the same model on two runtimes.
#pragma once

#include "support/catch.h"
#include "tenon/module/module.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tensor/helpers.h"

namespace tests {

/// Gives the model of make_models.py's Nested its inputs in the order of torch.utils._pytree, and
/// checks that its outputs come in that order.
inline void check_nested(tenon::Module& module) {
  using tenon::Error;
  using tenon::EValue;
  std::vector<EValue> inputs;  // x, state.h, state.c, pair's three, table["z"], table["a"]
  for (float value = 0; value < 8; ++value) {
    inputs.emplace_back(tenon::make_tensor_ptr({2}, {value, value + 0.5f}));
  }
  const tenon::TensorPtr boxes = tenon::make_tensor_ptr({2}, {-1.0f, -1.0f});
  REQUIRE(module.set_output(boxes, 3) == Error::Ok);
  const auto outputs = module.forward(inputs);
  INFO(outputs.message());
  REQUIRE(outputs.ok());
  REQUIRE(outputs->size() == 13);
  const auto at = [&](size_t i) { return values<float>((*outputs)[i].toTensor()); };
  CHECK(at(0) == Floats{543210.0f, 598765.5f});  // out
  // aux; scores and boxes; b and a; the tuple's first, h and c.
  for (size_t i = 1; i <= 8; ++i) {
    CAPTURE(i);
    CHECK(at(i) == Floats{static_cast<float>(i), static_cast<float>(i) + 0.5f});
  }
  CHECK((*outputs)[9].toInt() == 2);
  CHECK(at(10) == Floats{9, 9.5f});  // the list
  CHECK(at(11) == Floats{-1, -1});   // z - a
  CHECK((*outputs)[12].isNone());
  CHECK(module.get_output(12)->isNone());
  CHECK(values<float>(boxes) == Floats{3, 3.5f});
  REQUIRE(module.set_input(tenon::make_tensor_ptr({2}, {6.0f, 6.5f}), 7) == Error::Ok);
  inputs.pop_back();
  CHECK(values<float>(module.forward(inputs)->at(11).toTensor()) == Floats{0, 0});
}

}  // namespace tests
