// SPDX-License-Identifier: MIT
// The network of examples/digits as TorchScript, run by libtorch on tensors that tenon makes. Built
// in ATen mode, where a TensorPtr is a std::unique_ptr<at::Tensor>: libtorch takes `*batch` as it
// is, and what it returns is a tensor to tenon.
//
//     torchscript [folder with the .npy files [.pt file]]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "tenon/interop/npy.h"
#include "tenon/tenon.h"

// Has torch::jit::load. <torch/script.h>, which is the documented one, takes a third longer to
// compile.
#include <torch/csrc/jit/serialization/import.h>

using tenon::check;
using tenon::Tensor;
using tenon::TensorPtr;

constexpr int64_t kSide = 8;
constexpr int64_t kBatch = 32;
constexpr double kPlainAccuracy = 440.0 / 450;  // the digits demo's

/// Writes the digit that each image shows to `answers`.
void read(torch::jit::Module& network, const Tensor& images, uint8_t* answers) {
  const Tensor output = network.forward({images}).toTensor();
  const auto scores = output.accessor<float, 2>();
  if (scores.size(0) != images.size(0)) throw std::runtime_error("not as many scores as images");
  for (int64_t n = 0; n < scores.size(0); ++n) {
    const float* const row = scores[n].data();
    answers[n] = static_cast<uint8_t>(std::max_element(row, row + scores.size(1)) - row);
  }
}

/// Reads the images with these numbers, by way of one batch that is resized and never reallocated.
std::vector<uint8_t> read_chosen(torch::jit::Module& network, const TensorPtr& images,
                                 const TensorPtr& index) {
  std::vector<uint8_t> answers(static_cast<size_t>(index->numel()));
  const auto numbers = index->accessor<int32_t, 1>();
  TensorPtr batch = tenon::empty({kBatch, kSide, kSide});  // of floats
  for (int64_t begin = 0; begin < numbers.size(0); begin += kBatch) {
    const int64_t count = std::min(kBatch, numbers.size(0) - begin);
    check(tenon::resize_tensor_ptr(batch, {count, kSide, kSide}));
    for (int64_t n = 0; n < count; ++n) {
      // From one view to another, and from bytes to floats.
      check(tenon::copy_(tenon::select(batch, 0, n), tenon::select(images, 0, numbers[begin + n])));
    }
    read(network, *batch, answers.data() + begin);
  }
  return answers;
}

/// Reads all images where they lie: libtorch gets views of the mapped file.
std::vector<uint8_t> read_mapped(torch::jit::Module& network, const TensorPtr& images) {
  const int64_t total = images->size(0);
  std::vector<uint8_t> answers(static_cast<size_t>(total));
  for (int64_t begin = 0; begin < total; begin += kBatch) {
    const int64_t end = std::min(begin + kBatch, total);
    read(network, tenon::slice(images, 0, begin, end), answers.data() + begin);
  }
  return answers;
}

int run(const std::string& folder, const std::string& file) {
  const TensorPtr images = tenon::read_npy(folder + "/images.npy", tenon::NpyMemory::Map);
  const TensorPtr labels = tenon::read_npy(folder + "/labels.npy");
  const TensorPtr test_index = tenon::read_npy(folder + "/test_index.npy");
  torch::jit::Module network = torch::jit::load(file);

  const auto label = labels->accessor<uint8_t, 1>();
  const auto number = test_index->accessor<int32_t, 1>();
  if (label.size(0) != images->size(0)) throw std::runtime_error("not as many labels as images");
  for (int64_t i = 0; i < number.size(0); ++i) {
    if (number[i] < 0 || number[i] >= label.size(0)) throw std::runtime_error("no such image");
  }

  const std::vector<uint8_t> chosen = read_chosen(network, images, test_index);
  const std::vector<uint8_t> mapped = read_mapped(network, images);

  int right = 0;
  bool same = true;
  for (size_t i = 0; i < chosen.size(); ++i) {
    const int32_t image = number[static_cast<int64_t>(i)];
    right += chosen[i] == label[image] ? 1 : 0;
    same = same && chosen[i] == mapped[static_cast<size_t>(image)];
  }
  const double accuracy = right / static_cast<double>(chosen.size());
  std::printf("  %d of %d held-out images right: %.2f %%\n", right, static_cast<int>(chosen.size()),
              100 * accuracy);
  std::printf("  read in batches of %d and where the file is mapped: %s\n",
              static_cast<int>(kBatch), same ? "the same answers" : "other answers");
  return accuracy >= kPlainAccuracy && same ? 0 : 1;
}

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : DIGITS_DATA_DIR, argc > 2 ? argv[2] : TORCHSCRIPT_FILE);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "torchscript: %s\n", error.what());
    return 1;
  }
}
