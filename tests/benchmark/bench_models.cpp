// SPDX-License-Identifier: MIT
//
// The digits network on ExecuTorch's runtime, through tenon's ExecuTorchModule and, as "…@executorch",
// through ExecuTorch's own Module and TensorPtr; and tensors that cross between the two.

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "harness.h"
#include "tenon/interop/executorch.h"
#include "tenon/tenon.h"

namespace {

constexpr int64_t kBatch = 32;
constexpr int64_t kPixels = 8 * 8;
constexpr int64_t kDigits = 10;
constexpr int64_t kMostImages = 64;  // of digits.pte

}  // namespace

int main(int argc, char** argv) {
  namespace theirs = executorch::extension;
  using tenon::Error;
  bench::Suite suite(argc, argv);

  std::vector<float> images(kBatch * kPixels, 8.0f);
  std::vector<float> scores(kMostImages * kDigits);
  std::vector<float> their_scores(kMostImages * kDigits);

  tenon::ExecuTorchModule module(DIGITS_PTE);
  bench::require(module.set_output(tenon::from_blob(scores.data(), {kMostImages, kDigits})) ==
                 Error::Ok);
  theirs::Module their_module(DIGITS_PTE);
  bench::require(
      their_module.set_output(theirs::from_blob(their_scores.data(), {kMostImages, kDigits})) ==
      executorch::runtime::Error::Ok);

  suite.add("models/forward", [&] {
    auto outputs = module.forward(tenon::from_blob(images.data(), {kBatch, 8, 8}));
    bench::require(outputs.ok());
    return std::move(*outputs);
  });
  suite.add("models/forward@executorch", [&] {
    auto outputs = their_module.forward(theirs::from_blob(images.data(), {kBatch, 8, 8}));
    bench::require(outputs.ok());
    return std::move(*outputs);
  });

  // The input stays, too.
  tenon::ExecuTorchModule module_set(DIGITS_PTE);
  bench::require(module_set.set_output(tenon::from_blob(scores.data(), {kMostImages, kDigits})) ==
                 Error::Ok);
  bench::require(module_set.set_input(tenon::from_blob(images.data(), {kBatch, 8, 8}), 0) ==
                 Error::Ok);
  const theirs::TensorPtr their_images = theirs::from_blob(images.data(), {kBatch, 8, 8});
  theirs::Module their_module_set(DIGITS_PTE);
  bench::require(
      their_module_set.set_output(theirs::from_blob(their_scores.data(), {kMostImages, kDigits})) ==
      executorch::runtime::Error::Ok);
  bench::require(their_module_set.set_input(their_images, 0) == executorch::runtime::Error::Ok);
  suite.add("models/run", [&] { bench::require(module_set.run() == Error::Ok); });
  suite.add("models/run@executorch", [&] { bench::require(their_module_set.forward().ok()); });

  // A tensor that exists, to the other side. ExecuTorch's has its memory from a vector.
  const auto own = tenon::full({2, 3}, 1);
  std::vector<float> values(6, 1.0f);
  suite.add("models/to_executorch", [&] { return tenon::to_executorch(own); });
  suite.add("models/to_executorch@executorch", [&] {
    return theirs::from_blob(values.data(), {2, 3});
  });
  const theirs::TensorPtr foreign = theirs::make_tensor_ptr({2, 3}, values);
  suite.add("models/from_executorch", [&] { return tenon::from_executorch(foreign); });
  suite.add("models/from_executorch@executorch", [&] { return theirs::make_tensor_ptr(foreign); });

  const int result = suite.run();
  bench::require(scores == their_scores);
  return result;
}
