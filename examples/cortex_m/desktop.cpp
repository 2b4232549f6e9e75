// SPDX-License-Identifier: MIT
// For a test: the checksum of the scores that a desktop's plain runtime gives, in batches.
//
//     desktop ../digits/data
#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "checksum.h"
#include "files.h"
#include "runtimes.h"

using tenon::check;
using tenon::copy_;
using tenon::ScalarType;
using tenon::TensorPtr;

int main(int argc, char** argv) try {
  if (argc != 2) throw std::runtime_error("expected the folder with the .npy files");
  const std::string folder = argv[1];
  const TensorPtr images = load(folder, "images", ScalarType::Byte, {-1, kSide, kSide});
  const TensorPtr test_index = load(folder, "test_index", ScalarType::Int, {-1});
  const auto model = open_plain(folder);
  TensorPtr batch = tenon::empty({kMostImages, kSide, kSide});
  const TensorPtr scores = tenon::empty({kMostImages, kDigits});
  check(model->set_input(batch, 0));
  check(model->set_output(scores, 0));

  Checksum checksum;
  const int64_t count = test_index->size(0);
  for (int64_t begin = 0; begin < count; begin += kMostImages) {
    const int64_t size = std::min(kMostImages, count - begin);
    check(resize_tensor_ptr(batch, {size, kSide, kSide}));
    for (int64_t n = 0; n < size; ++n) {
      const int64_t image = test_index->accessor<const int32_t, 1>()[begin + n];
      check(copy_(select(batch, 0, n), select(images, 0, image)));
    }
    check(model->run());
    checksum.add(scores->const_data_ptr<float>(), size * kDigits);
  }
  std::printf("  checksum of all scores: %u\n", static_cast<unsigned>(checksum.sum()));
} catch (const std::exception& error) {
  std::fprintf(stderr, "desktop: %s\n", error.what());
  return 1;
}
