// SPDX-License-Identifier: MIT
//
// The cases in plain C: malloc with memset or memcpy, and a loop over a pointer. What they move is
// what the machine can move.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "harness.h"

namespace {

/// Memory from malloc that is freed again, as a tensor's is.
class Block {
 public:
  explicit Block(std::size_t size) : data_(std::malloc(size)) { bench::require(data_ != nullptr); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() { std::free(data_); }
  void* data() const { return data_; }

 private:
  void* data_;
};

void fill(std::size_t size) {
  const Block block(size);
  std::memset(block.data(), 0x2a, size);
  benchmark::DoNotOptimize(block.data());
  benchmark::ClobberMemory();
}

void copy(const std::vector<char>& source, std::size_t size) {
  const Block block(size);
  std::memcpy(block.data(), source.data(), size);
  benchmark::DoNotOptimize(block.data());
  benchmark::ClobberMemory();
}

}  // namespace

int main(int argc, char** argv) {
  bench::Suite suite(argc, argv);
  constexpr std::size_t kSmall = std::size_t{4} << 20;
  constexpr std::size_t kLarge = std::size_t{64} << 20;

  std::vector<char> large(kLarge, 1);
  suite.add("full/64MiB", [] { fill(kLarge); });
  suite.add("fill_/64MiB", [&] {
    std::memset(large.data(), 0x2a, kLarge);
    benchmark::DoNotOptimize(large.data());
    benchmark::ClobberMemory();
  });
  suite.add("clone/4MiB", [&] { copy(large, kSmall); });
  suite.add("clone/64MiB", [&] { copy(large, kLarge); });

  constexpr std::size_t kImage = std::size_t{1080} * 1920 * 3;
  const std::vector<char> image(kImage, 1);
  std::vector<char> dense(kImage, 2);
  suite.add("pitch/byte", [&] {
    std::memcpy(dense.data(), image.data(), kImage);
    benchmark::DoNotOptimize(dense.data());
    benchmark::ClobberMemory();
  });

  // 32 images, each in memory of its own, to one block: new memory, or memory that is there.
  const auto add_stack = [&](const std::string& name, std::size_t size, std::vector<char>& batch) {
    const std::vector<std::vector<char>> images(32, std::vector<char>(size, 1));
    batch.resize(32 * size);
    const auto copy_to = [images, size](char* out) {
      for (std::size_t i = 0; i < images.size(); ++i) {
        std::memcpy(out + i * size, images[i].data(), size);
      }
      benchmark::DoNotOptimize(out);
      benchmark::ClobberMemory();
    };
    suite.add("stack/" + name, [copy_to, size] {
      const Block block(32 * size);
      copy_to(static_cast<char*>(block.data()));
    });
    suite.add("stack_out/" + name, [copy_to, &batch] { copy_to(batch.data()); });
  };
  std::vector<char> byte_batch;
  std::vector<char> float_batch;
  add_stack("byte", std::size_t{3} * 224 * 224, byte_batch);
  add_stack("float", std::size_t{4} * 3 * 224 * 224, float_batch);
  std::vector<float> input(kImage);
  suite.add("normalize/nchw", [&] {
    constexpr float kMean[] = {0.485f, 0.456f, 0.406f};
    constexpr float kStddev[] = {0.229f, 0.224f, 0.225f};
    constexpr std::size_t kPixels = kImage / 3;
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t i = 0; i < kPixels; ++i) {
        const auto value = static_cast<float>(image[3 * i + c]);
        input[c * kPixels + i] = (value * (1 / 255.0f) - kMean[c]) / kStddev[c];
      }
    }
    benchmark::DoNotOptimize(input.data());
    benchmark::ClobberMemory();
  });

  const std::vector<float> floats(std::size_t{1024} * 1024, 1.0f);
  suite.add("accessor/sum", [&] {
    const float* const data = floats.data();
    float sum = 0;
    for (std::int64_t i = 0; i < 1024; ++i) {
      for (std::int64_t j = 0; j < 1024; ++j) sum += data[i * 1024 + j];
    }
    benchmark::DoNotOptimize(sum);
  });

  return suite.run();
}
