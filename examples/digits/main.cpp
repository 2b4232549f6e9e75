// SPDX-License-Identifier: MIT
// Reads handwritten digits with a small neural network, on a runtime of your choice. What tenon
// does here: it maps .npy files, borrows each image where it lies in its file, and gives the model
// one tensor for a batch and one for its scores, which stay where they are from batch to batch:
// resized for a last one that is smaller, passed to the runtime without a copy, and without
// touching the heap.
//
//     digits [--runtime=plain|executorch|torchscript|aoti] [folder with the .npy files and the models]
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "count_allocations.h"
#include "files.h"
#include "runtimes.h"
#include "tenon/module/module.h"
#include "tenon/tenon.h"

using tenon::check;
using tenon::ScalarType;
using tenon::TensorPtr;
using tenon::TensorSpec;

constexpr int64_t kBatch = 32;
constexpr int kPasses = 20;  // over all images, for a steady time per image
constexpr double kLowestAccuracy = 0.95;

std::unique_ptr<tenon::Module> open(const std::string& runtime, const std::string& folder) {
  if (runtime == "plain") return open_plain(folder);
#if defined(DIGITS_HAS_EXECUTORCH)
  if (runtime == "executorch") return open_executorch(folder);
#endif
#if defined(DIGITS_HAS_LIBTORCH)
  if (runtime == "torchscript") return open_torchscript(folder);
#endif
#if defined(DIGITS_HAS_AOTI)
  if (runtime == "aoti") return open_aoti(folder);
#endif
  if (runtime == "executorch" || runtime == "torchscript" || runtime == "aoti") {
    throw std::runtime_error("built without " + runtime + ", see examples/digits/README.md");
  }
  throw std::runtime_error("--runtime is plain, executorch, torchscript or aoti, not " + runtime);
}

/// A model with its input and its output.
class Reader {
 public:
  explicit Reader(std::unique_ptr<tenon::Module> model) : model_(std::move(model)) {
    // No model file knows what its input is called; now a batch that does not fit is named so.
    check(model_->describe_inputs(
        {{"images",
          TensorSpec{{-1, kSide, kSide}, ScalarType::Float, {"image", "row", "column"}}}}));
    // Both stay: what is written to them and their shapes show.
    check(model_->set_input(images_, 0));
    check(model_->set_output(scores_, 0));
  }

  /// Reads the images [begin, end) and writes a digit for each to `answers`.
  void read(const TensorPtr* begin, const TensorPtr* end, uint8_t* answers) {
    // Tensors are DYNAMIC_BOUND unless made otherwise: any shape within the first one is just other
    // numbers over the same memory.
    check(resize_tensor_ptr(images_, {end - begin, kSide, kSide}));
    float* to = images_->mutable_data_ptr<float>();
    for (const TensorPtr* image = begin; image != end; ++image, to += kPixels) {
      check(copy_to(*image, tenon::Blob::of(to, {kSide, kSide})));  // from bytes to floats
    }
    check(model_->run());
    const auto scores = scores_->accessor<const float, 2>();
    if (scores.size(0) != end - begin) throw std::runtime_error("not as many scores as images");
    for (int64_t n = 0; n < scores.size(0); ++n) {
      const float* const row = scores[n].data();
      answers[n] = static_cast<uint8_t>(std::max_element(row, row + kDigits) - row);
    }
  }

  int64_t last_batch() const { return images_->size(0); }

 private:
  TensorPtr images_ = tenon::empty({kBatch, kSide, kSide});
  // Room for the most that the model may give: so it can be written to without knowing how much
  // that is.
  TensorPtr scores_ = tenon::empty({kMostImages, kDigits});
  std::unique_ptr<tenon::Module> model_;
};

struct Picture {
  tenon::TensorAccessor<const uint8_t, 2> pixels;  // 0 is paper, 16 is full ink
  int label;
  int answer;
};

/// One row of pictures, two characters a pixel, with a caption under each.
void draw(const std::vector<Picture>& pictures) {
  for (int64_t y = 0; y < kSide; ++y) {
    for (const Picture& picture : pictures) {
      std::printf("  ");
      for (int64_t x = 0; x < kSide; ++x) {
        const char mark = " .+#@"[std::min<int>(picture.pixels[y][x] + 2, 16) / 4];
        std::printf("%c%c", mark, mark);
      }
    }
    std::printf("\n");
  }
  for (const Picture& picture : pictures) {
    const char mark = picture.answer == picture.label ? ' ' : 'X';
    std::printf("  %c a %d, read as %d", mark, picture.label, picture.answer);
  }
  std::printf("\n\n");
}

/// Draws some images that were read right, the digits from 1 to 3, and one that was not.
void show_some(const std::vector<TensorPtr>& images, const std::vector<uint8_t>& labels,
               const std::vector<uint8_t>& answers) {
  std::vector<Picture> right;
  std::vector<Picture> wrong;
  for (size_t i = 0; i < images.size(); ++i) {
    const Picture picture{images[i]->accessor<const uint8_t, 2>(), labels[i], answers[i]};
    if (picture.answer != picture.label) {
      wrong.push_back(picture);
    } else if (right.size() < 3 && picture.label == static_cast<int>(right.size()) + 1) {
      right.push_back(picture);
    }
  }
  std::printf("\n  Some of the digits that the network had never seen:\n\n");
  if (!wrong.empty()) right.push_back(wrong.front());
  draw(right);
}

int run(const std::string& runtime, const std::string& folder) {
  const TensorPtr all_images = load(folder, "images", ScalarType::Byte, {-1, kSide, kSide});
  const TensorPtr all_labels = load(folder, "labels", ScalarType::Byte, {all_images->size(0)});
  const TensorPtr test_index = load(folder, "test_index", ScalarType::Int, {-1});
  Reader reader(open(runtime, folder));

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

  // The steady state: nothing in here asks the heap for memory, unless the runtime does. A first
  // batch lets that get ready.
  reader.read(images.data(), images.data() + std::min(kBatch, count), answers.data());
  const long allocations_before = count_allocations();
  const auto start = std::chrono::steady_clock::now();
  for (int pass = 0; pass < kPasses; ++pass) {
    for (int64_t begin = 0; begin < count; begin += kBatch) {
      const int64_t end = std::min(begin + kBatch, count);
      reader.read(images.data() + begin, images.data() + end, answers.data() + begin);
    }
  }
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
  const long allocations = count_allocations() - allocations_before;

  show_some(images, labels, answers);
  int64_t right = 0;
  for (size_t i = 0; i < images.size(); ++i) right += answers[i] == labels[i] ? 1 : 0;
  const double accuracy = static_cast<double>(right) / static_cast<double>(count);
  std::printf("  %d of %d held-out images right: %.2f %%\n", static_cast<int>(right),
              static_cast<int>(count), 100 * accuracy);
  std::printf("  %.2f us an image on %s, in batches of %d, the last of %d\n",
              time.count() / static_cast<double>(count * kPasses), runtime.c_str(),
              static_cast<int>(kBatch), static_cast<int>(reader.last_batch()));
  if (allocations_before < 0) {
    std::printf("  heap allocations in the steady state: not counted on this platform\n");
  } else {
    std::printf("  heap allocations in the steady state: %ld\n", allocations);
  }
  // libtorch makes its tensors anew; AOTInductor's code asks for three small blocks in each run.
  const bool may_allocate = runtime == "torchscript" || runtime == "aoti";
  return accuracy >= kLowestAccuracy && (allocations == 0 || may_allocate) ? 0 : 1;
}

int main(int argc, char** argv) {
  try {
    std::string runtime = "plain";
    std::string folder = DIGITS_DATA_DIR;
    for (int i = 1; i < argc; ++i) {
      const std::string argument = argv[i];
      const std::string option = "--runtime=";
      if (argument.compare(0, option.size(), option) == 0) {
        runtime = argument.substr(option.size());
      } else {
        folder = argument;
      }
    }
    return run(runtime, folder);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "digits: %s\n", error.what());
    return 1;
  }
}
