// SPDX-License-Identifier: MIT
//
// The digits network on ExecuTorch's runtime, through tenon's ExecuTorchModule and, as "…@executorch",
// through ExecuTorch's own Module and TensorPtr; and tensors that cross between the two.

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "harness.h"
#include "tenon/interop/executorch.h"
#include "tenon/tenon.h"

namespace {

constexpr int64_t kBatch = 32;  // and 1, of which most is what a run costs itself
constexpr int64_t kPixels = 8 * 8;
constexpr int64_t kDigits = 10;
constexpr int64_t kMostImages = 64;  // of digits.pte

/// A program with memory for its output set.
struct Ours {
  std::vector<float> scores = std::vector<float>(kMostImages * kDigits);
  tenon::ExecuTorchModule module{DIGITS_PTE};

  Ours() {
    const auto to = tenon::from_blob(scores.data(), {kMostImages, kDigits});
    bench::require(module.set_output(to) == tenon::Error::Ok);
  }
};
struct Theirs {
  std::vector<float> scores = std::vector<float>(kMostImages * kDigits);
  executorch::extension::Module module{DIGITS_PTE};

  Theirs() {
    const auto to = executorch::extension::from_blob(scores.data(), {kMostImages, kDigits});
    bench::require(module.set_output(to) == executorch::runtime::Error::Ok);
  }
};

}  // namespace

int main(int argc, char** argv) {
  namespace theirs = executorch::extension;
  bench::Suite suite(argc, argv);

  std::vector<float> images(kBatch * kPixels, 8.0f);
  const auto add_runs = [&](const std::string& tail, int32_t count, Ours& ours, Theirs& other,
                            Ours& ours_set, Theirs& other_set) {
    suite.add("models/forward" + tail, [&images, &ours, count] {
      auto outputs = ours.module.forward(tenon::from_blob(images.data(), {count, 8, 8}));
      bench::require(outputs.ok());
      return std::move(*outputs);
    });
    suite.add("models/forward" + tail + "@executorch", [&images, &other, count] {
      auto outputs = other.module.forward(theirs::from_blob(images.data(), {count, 8, 8}));
      bench::require(outputs.ok());
      return std::move(*outputs);
    });
    // The input stays, too.
    bench::require(ours_set.module.set_input(tenon::from_blob(images.data(), {count, 8, 8}), 0) ==
                   tenon::Error::Ok);
    bench::require(other_set.module.set_input(theirs::from_blob(images.data(), {count, 8, 8}), 0) ==
                   executorch::runtime::Error::Ok);
    suite.add("models/run" + tail,
              [&ours_set] { bench::require(ours_set.module.run() == tenon::Error::Ok); });
    suite.add("models/run" + tail + "@executorch",
              [&other_set] { bench::require(other_set.module.forward().ok()); });
  };
  Ours ours, ours_set, ours_one, ours_one_set;
  Theirs other, other_set, other_one, other_one_set;
  add_runs("", kBatch, ours, other, ours_set, other_set);
  add_runs("/one", 1, ours_one, other_one, ours_one_set, other_one_set);

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
  bench::require(ours.scores == other.scores && ours_one.scores == other_one.scores);
  return result;
}
