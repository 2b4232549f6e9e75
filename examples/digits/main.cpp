// SPDX-License-Identifier: MIT
// Reads handwritten digits with a small neural network. What tenon does here: it maps .npy files,
// borrows each image where it lies in its file, keeps every buffer of the network from one batch to
// the next, and resizes them for a last batch that is smaller, all without touching the heap again.
//
//     digits [folder with the .npy files]
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "count_allocations.h"
#include "picture.h"
#include "tenon/interop/npy.h"
#include "tenon/tenon.h"

using tenon::Dims;
using tenon::ScalarType;
using tenon::TensorPtr;

constexpr int64_t kSide = 8;
constexpr int64_t kPixels = kSide * kSide;
constexpr int64_t kHidden = 32;
constexpr int64_t kDigits = 10;
constexpr int64_t kBatch = 32;
constexpr int kPasses = 20;  // over all images, for a steady time per image
constexpr double kLowestAccuracy = 0.95;

/// Reads folder/name.npy and checks that it is what this program expects; -1 is any size.
TensorPtr load(const std::string& folder, const char* name, ScalarType type, const Dims& sizes) {
  const std::string path = folder + "/" + name + ".npy";
  TensorPtr tensor = tenon::read_npy(path);
  bool fits = tensor->dtype() == type && tensor->sizes().size() == sizes.size();
  for (size_t d = 0; fits && d < sizes.size(); ++d) {
    fits = sizes[d] == -1 || sizes[d] == tensor->sizes()[d];
  }
  TENON_CHECK(fits, tenon::Error::InvalidType, path.c_str(), ": holds ", tensor->dtype(),
              " of sizes ", tensor->sizes(), ", expected ", type, " of sizes ", sizes);
  return tensor;
}

/// A fully connected layer, and room for its outputs for a batch.
struct Layer {
  TensorPtr weights;  // outputs × inputs
  TensorPtr biases;
  TensorPtr out;  // batch × outputs

  void run(const TensorPtr& input, bool relu) {
    const auto x = input->accessor<const float, 2>();
    const auto w = weights->accessor<const float, 2>();
    const auto b = biases->accessor<const float, 1>();
    const auto y = out->accessor<float, 2>();
    for (int64_t n = 0; n < x.size(0); ++n) {
      for (int64_t o = 0; o < w.size(0); ++o) {
        float sum = b[o];
        for (int64_t i = 0; i < w.size(1); ++i) sum += w[o][i] * x[n][i];
        y[n][o] = relu ? std::max(sum, 0.0f) : sum;
      }
    }
  }
};

struct Network {
  TensorPtr input = tenon::empty({kBatch, kPixels});
  Layer first;
  Layer second;

  explicit Network(const std::string& folder) {
    first.weights = load(folder, "w1", ScalarType::Float, {kHidden, kPixels});
    first.biases = load(folder, "b1", ScalarType::Float, {kHidden});
    first.out = tenon::empty({kBatch, kHidden});
    second.weights = load(folder, "w2", ScalarType::Float, {kDigits, kHidden});
    second.biases = load(folder, "b2", ScalarType::Float, {kDigits});
    second.out = tenon::empty({kBatch, kDigits});
  }

  /// Changes the number of images. Tensors are DYNAMIC_BOUND unless made otherwise: any shape
  /// within the first one is just other numbers over the same memory.
  void set_batch(int64_t count) {
    for (TensorPtr* tensor : {&input, &first.out, &second.out}) {
      if (resize_tensor_ptr(*tensor, {count, (*tensor)->size(1)}) != tenon::Error::Ok) {
        throw std::runtime_error(tenon::last_error_message());
      }
    }
  }

  /// Puts an image into row n of the input.
  void set_image(int64_t n, const TensorPtr& image) {
    const auto pixels = image->accessor<const uint8_t, 2>();
    const auto row = input->accessor<float, 2>()[n];
    for (int64_t i = 0; i < kPixels; ++i) {
      row[i] = static_cast<float>(pixels[i / kSide][i % kSide]) / 16.0f;
    }
  }

  /// Reads the images [begin, end) and writes a digit for each to `answers`.
  void read(const TensorPtr* begin, const TensorPtr* end, uint8_t* answers) {
    set_batch(end - begin);
    for (const TensorPtr* image = begin; image != end; ++image) set_image(image - begin, *image);
    first.run(input, true);
    second.run(first.out, false);
    const auto scores = second.out->accessor<const float, 2>();
    for (int64_t n = 0; n < scores.size(0); ++n) {
      const float* const row = scores[n].data();
      answers[n] = static_cast<uint8_t>(std::max_element(row, row + kDigits) - row);
    }
  }
};

/// Draws some images that were read right, the digits from 1 to 6, and two that were not.
void show_some(const Screen& screen, const std::vector<TensorPtr>& images,
               const std::vector<uint8_t>& labels, const std::vector<uint8_t>& answers) {
  std::vector<Picture> right;
  std::vector<Picture> wrong;
  for (size_t i = 0; i < images.size(); ++i) {
    const Picture picture{images[i]->accessor<const uint8_t, 2>(), labels[i], answers[i]};
    if (picture.answer != picture.label) {
      if (wrong.size() < 2) wrong.push_back(picture);
    } else if (right.size() < 6 && picture.label == static_cast<int>(right.size()) + 1) {
      right.push_back(picture);
    }
  }
  std::printf("\n  Some of the digits that the network had never seen:\n\n");
  right.insert(right.end(), wrong.begin(), wrong.end());
  for (auto row = right.begin(); row != right.end();) {
    const auto end = right.end() - row > 4 ? row + 4 : right.end();
    screen.draw({row, end});
    row = end;
  }
}

int run(const std::string& folder) {
  const TensorPtr all_images = load(folder, "images", ScalarType::Byte, {-1, kSide, kSide});
  const TensorPtr all_labels = load(folder, "labels", ScalarType::Byte, {all_images->size(0)});
  const TensorPtr test_index = load(folder, "test_index", ScalarType::Int, {-1});
  Network network(folder);

  // The held-out images, borrowed: tensors over bytes of `all_images`, which outlives them.
  std::vector<TensorPtr> images;
  std::vector<uint8_t> labels;
  for (const int32_t i : test_index->data<const int32_t>()) {
    TENON_CHECK(i >= 0 && i < all_images->size(0), tenon::Error::OutOfBounds, "test_index: image ",
                i, " is out of range for ", all_images->size(0));
    const uint8_t* const bytes = all_images->const_data_ptr<uint8_t>() + i * kPixels;
    images.push_back(tenon::from_blob(bytes, {kSide, kSide}));
    labels.push_back(all_labels->accessor<const uint8_t, 1>()[i]);
  }
  const auto count = static_cast<int64_t>(images.size());
  std::vector<uint8_t> answers(images.size());

  // The steady state: nothing in here asks the heap for memory.
  const long allocations_before = count_allocations();
  const auto start = std::chrono::steady_clock::now();
  for (int pass = 0; pass < kPasses; ++pass) {
    for (int64_t begin = 0; begin < count; begin += kBatch) {
      const int64_t end = std::min(begin + kBatch, count);
      network.read(images.data() + begin, images.data() + end, answers.data() + begin);
    }
  }
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
  const long allocations = count_allocations() - allocations_before;

  const Screen screen;
  show_some(screen, images, labels, answers);
  int64_t right = 0;
  for (size_t i = 0; i < images.size(); ++i) right += answers[i] == labels[i] ? 1 : 0;
  const double accuracy = static_cast<double>(right) / static_cast<double>(count);
  char line[100];
  std::snprintf(line, sizeof line, "%d of %d held-out images right: %.2f %%",
                static_cast<int>(right), static_cast<int>(count), 100 * accuracy);
  std::printf("  %s\n", screen.bold(line).c_str());
  std::printf("  %.2f %s an image, in batches of %d, the last of %d\n",
              time.count() / static_cast<double>(count * kPasses), screen.microseconds(),
              static_cast<int>(kBatch), static_cast<int>(network.input->size(0)));
  if (allocations_before < 0) {
    std::printf("  heap allocations in the steady state: not counted on this platform\n");
  } else {
    std::printf("  heap allocations in the steady state: %ld\n", allocations);
  }
  return accuracy >= kLowestAccuracy && allocations == 0 ? 0 : 1;
}

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : DIGITS_DATA_DIR);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "digits: %s\n", error.what());
    return 1;
  }
}
