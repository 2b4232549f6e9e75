// SPDX-License-Identifier: MIT
//
// The cases in plain C: malloc with memset or memcpy, and loops over pointers. What they move is
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

/// Rows of `length` elements; strides in elements.
template <class To, class From>
BENCH_FOR_AVX2 __attribute__((noinline)) void cast_rows(To* __restrict out,
                                                        const From* __restrict in, std::size_t rows,
                                                        std::size_t length, std::ptrdiff_t in_row,
                                                        std::ptrdiff_t in_step) {
  for (std::size_t r = 0; r < rows; ++r, in += in_row) {
    for (std::size_t i = 0; i < length; ++i) {
      *out++ = static_cast<To>(in[static_cast<std::ptrdiff_t>(i) * in_step]);
    }
  }
}
BENCH_FOR_AVX2 __attribute__((noinline)) void take_rgb(float* __restrict out,
                                                       const std::uint8_t* __restrict in,
                                                       std::size_t pixels) {
  for (std::size_t i = 0; i < pixels; ++i) {
    for (std::size_t c = 0; c < 3; ++c) out[3 * i + c] = in[4 * i + c];
  }
}
template <class To, class From>
BENCH_FOR_AVX2 __attribute__((noinline)) void cast_all(To* __restrict out,
                                                       const From* __restrict in,
                                                       std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<To>(in[i]);
}
BENCH_FOR_AVX2 __attribute__((noinline)) void normalize_all(float* __restrict out,
                                                            const std::uint8_t* __restrict in,
                                                            std::size_t count, float mean,
                                                            float stddev) {
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = (static_cast<float>(in[i]) * (1 / 255.0f) - mean) / stddev;
  }
}

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

  // Layouts, and casts of 65,536 elements.
  const std::vector<std::uint8_t> photo(std::size_t{480} * 640 * 4, 1);
  std::vector<float> made(1000000);
  const auto add_loop = [&suite](const std::string& name, auto loop) {
    suite.add(name, [loop] {
      loop();
      benchmark::ClobberMemory();
    });
  };
  add_loop("layout/rgba", [&] { take_rgb(made.data(), photo.data(), std::size_t{480} * 640); });
  add_loop("layout/crop", [&] {
    for (std::size_t c = 0; c < 3; ++c) {
      cast_rows(made.data() + c * 224 * 224, photo.data() + c, 224, 224, 1920, 3);
    }
  });
  for (const std::size_t length : {8, 16, 64}) {
    add_loop("layout/rows" + std::to_string(length), [&, length] {
      cast_rows(made.data(), photo.data(), 65536 / length, length,
                static_cast<std::ptrdiff_t>(length * 3 / 2), 1);
    });
  }
  volatile float mean = 0.45f;  // not known to the compiler
  volatile float stddev = 0.22f;
  add_loop("layout/one_mean",
           [&] { normalize_all(made.data(), photo.data(), 1000000, mean, stddev); });
  const auto add_cast = [&](const char* name, auto to, auto from) {
    const std::vector<decltype(from)> in(65536, decltype(from){1});
    auto* const out = reinterpret_cast<decltype(to)*>(made.data());
    add_loop(name, [in, out] { cast_all(out, in.data(), in.size()); });
  };
  add_cast("cast/int_short", std::int16_t{}, std::int32_t{});
  add_cast("cast/double_int", std::int32_t{}, double{});
  add_cast("cast/char_int", std::int32_t{}, std::int8_t{});
  add_cast("cast/float_byte", std::uint8_t{}, float{});

  // Loops over layouts, with their sizes known.
  using Byte = unsigned char;
  constexpr std::size_t kPixels = std::size_t{480} * 640;
  const std::vector<Byte> from(4 * kPixels, 1);
  std::vector<Byte> to(4 * kPixels, 1);
  const auto add_move = [&](const std::string& name, auto loop) {
    suite.add("move/" + name, [&from, &to, loop] {
      loop(to.data(), from.data());
      benchmark::DoNotOptimize(to.data());
      benchmark::ClobberMemory();
    });
  };
  add_move("bgr_rgb", [](Byte* out, const Byte* in) {
    for (std::size_t i = 0; i < kPixels; ++i) {
      for (std::size_t c = 0; c < 3; ++c) out[3 * i + c] = in[3 * i + 2 - c];
    }
  });
  add_move("rgba_rgb", [](Byte* out, const Byte* in) {
    for (std::size_t i = 0; i < kPixels; ++i) {
      for (std::size_t c = 0; c < 3; ++c) out[3 * i + c] = in[4 * i + c];
    }
  });
  add_move("rgbx", [](Byte* out, const Byte* in) {
    for (std::size_t i = 0; i < kPixels; ++i) {
      for (std::size_t c = 0; c < 3; ++c) out[4 * i + c] = in[c * kPixels + i];
    }
  });
  add_move("small", [](Byte* out, const Byte* in) {
    for (std::size_t i = 0; i < 64; ++i) {
      for (std::size_t j = 0; j < 4; ++j) {
        for (std::size_t k = 0; k < 64; ++k) {
          for (std::size_t l = 0; l < 3; ++l) *out++ = in[768 * k + 12 * i + 4 * l + j];
        }
      }
    }
  });
  std::vector<float> cache(std::size_t{32} * 512 * 128, 1);
  suite.add("move/window", [&] {
    for (std::size_t head = 0; head < 32; ++head) {
      float* const row = cache.data() + head * 512 * 128;
      std::memmove(row, row + 128, std::size_t{511} * 128 * sizeof(float));
    }
    benchmark::DoNotOptimize(cache.data());
    benchmark::ClobberMemory();
  });
  const std::vector<double> column(10000, 1.5);
  std::vector<double> wide(1000000);
  suite.add("move/column", [&] {
    for (std::size_t i = 0; i < 10000; ++i) {
      for (std::size_t j = 0; j < 100; ++j) wide[100 * i + j] = column[i];
    }
    benchmark::DoNotOptimize(wide.data());
    benchmark::ClobberMemory();
  });
  suite.add("move/second", [&] {
    for (std::size_t i = 0; i < 100000; ++i) input[i] = input[1000000 + 2 * i];
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
