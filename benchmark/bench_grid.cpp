// SPDX-License-Identifier: MIT
//
// Copies and casts of 11 types in 12 layouts and 6 sizes: tenon beside a plain loop that knows the
// layout, ATen and OpenCV, which take turns. Prints a line for each case: layout, types, elements,
// and the nanoseconds an element takes with each, "-" where it has no such call. grid.py reads it.
//
// bench_grid [ROUNDS [LARGEST]]: of at least ROUNDS rounds the best, of at most LARGEST elements.

#if BENCH_ATEN
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#endif
#if BENCH_OPENCV
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <tenon/tenon.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <vector>

#include "harness.h"

using tenon::BFloat16;
using tenon::Half;
using tenon::ScalarType;

namespace {

enum class Layout {
  Contiguous,
  Padded,
  Short,
  Transposed,
  ToPixels,
  ToPlanes,
  Second,
  Mirrored,
  Row,
  Column,
  Crop,
  Channels
};
constexpr const char* kLayouts[] = {"contiguous",           "padded rows",   "padded rows of 8",
                                    "transposed",           "NCHW to NHWC",  "NHWC to NCHW",
                                    "every second element", "mirrored rows", "broadcast row",
                                    "broadcast column",     "crop to NCHW",  "BGR to RGB"};

/// The source's strides, in elements; the destination is row-major.
struct Shape {
  int64_t sizes[3];
  int64_t strides[3];
  int64_t start = 0;  // of element 0

  int64_t count() const { return sizes[0] * sizes[1] * sizes[2]; }
};

/// About `n` elements.
Shape shape_of(Layout layout, int64_t n) {
  const auto side = static_cast<int64_t>(std::sqrt(static_cast<double>(n)));
  const auto third = static_cast<int64_t>(std::sqrt(static_cast<double>(n / 3)));
  switch (layout) {
    case Layout::Contiguous: return {{1, 1, n}, {0, 0, 1}};
    case Layout::Padded: return {{1, side, side}, {0, side + side / 4, 1}};
    case Layout::Short: return {{1, n / 8, 8}, {0, 12, 1}};
    case Layout::Transposed: return {{1, side, side}, {0, 1, side}};
    case Layout::ToPixels: return {{1, n / 3, 3}, {0, 1, n / 3}};
    case Layout::ToPlanes: return {{1, 3, n / 3}, {0, 1, 3}};
    case Layout::Second: return {{1, 1, n}, {0, 0, 2}};
    case Layout::Mirrored: return {{1, side, side}, {0, side, -1}, side - 1};
    case Layout::Row: return {{1, side, side}, {0, 0, 1}};
    case Layout::Column: return {{1, side, side}, {0, 1, 0}};
    case Layout::Crop: return {{3, third, third}, {1, 6 * third, 3}};
    default: return {{1, n / 3, 3}, {0, 3, -1}, 2};
  }
}

// --- The plain loop ---------------------------------------------------------------------------

template <class To, class From>
BENCH_FOR_AVX2 inline void convert(To& to, const From& from) {
  to = static_cast<To>(from);
}
#if defined(__x86_64__)
BENCH_FOR_AVX2 inline void convert(float& to, const Half& from) {
  short bits;
  std::memcpy(&bits, &from, sizeof bits);
  to = _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(bits)));
}
BENCH_FOR_AVX2 inline void convert(Half& to, const float& from) {
  const auto bits = static_cast<short>(_mm_extract_epi16(_mm_cvtps_ph(_mm_set_ss(from), 0), 0));
  std::memcpy(&to, &bits, sizeof bits);
}
#endif

constexpr int64_t kAny = INT64_MAX;

/// The last dimension's size and stride are known, unless kAny.
template <int64_t kSize, int64_t kStride, class To, class From>
BENCH_FOR_AVX2 __attribute__((noinline)) void loop(To* __restrict out, const From* __restrict in,
                                                   const Shape& shape) {
  const int64_t size = kSize == kAny ? shape.sizes[2] : kSize;
  const int64_t stride = kStride == kAny ? shape.strides[2] : kStride;
  for (int64_t i = 0; i < shape.sizes[0]; ++i) {
    for (int64_t j = 0; j < shape.sizes[1]; ++j, out += size) {
      const From* const row = in + i * shape.strides[0] + j * shape.strides[1];
      for (int64_t k = 0; k < size; ++k) convert(out[k], row[k * stride]);
    }
  }
}

template <class To, class From>
void loop(Layout layout, void* to, const void* from, const Shape& shape) {
  auto* const out = static_cast<To*>(to);
  const auto* const in = static_cast<const From*>(from) + shape.start;
  switch (layout) {
    case Layout::Transposed: return loop<kAny, kAny>(out, in, shape);
    case Layout::ToPixels: return loop<3, kAny>(out, in, shape);
    case Layout::ToPlanes:
    case Layout::Crop: return loop<kAny, 3>(out, in, shape);
    case Layout::Second: return loop<kAny, 2>(out, in, shape);
    case Layout::Mirrored: return loop<kAny, -1>(out, in, shape);
    case Layout::Column: return loop<kAny, 0>(out, in, shape);
    case Layout::Channels: return loop<3, -1>(out, in, shape);
    default: return loop<kAny, 1>(out, in, shape);
  }
}

struct Types {
  ScalarType from, to;
  void (*loop)(Layout layout, void* to, const void* from, const Shape& shape);
};
using ComplexFloat = std::complex<float>;
using ComplexDouble = std::complex<double>;
constexpr Types kTypes[] = {
    {ScalarType::Byte, ScalarType::Byte, loop<uint8_t, uint8_t>},
    {ScalarType::Char, ScalarType::Char, loop<int8_t, int8_t>},
    {ScalarType::Bool, ScalarType::Bool, loop<bool, bool>},
    {ScalarType::Short, ScalarType::Short, loop<int16_t, int16_t>},
    {ScalarType::Half, ScalarType::Half, loop<Half, Half>},
    {ScalarType::BFloat16, ScalarType::BFloat16, loop<BFloat16, BFloat16>},
    {ScalarType::Int, ScalarType::Int, loop<int32_t, int32_t>},
    {ScalarType::Float, ScalarType::Float, loop<float, float>},
    {ScalarType::Long, ScalarType::Long, loop<int64_t, int64_t>},
    {ScalarType::Double, ScalarType::Double, loop<double, double>},
    {ScalarType::ComplexDouble, ScalarType::ComplexDouble, loop<ComplexDouble, ComplexDouble>},
    {ScalarType::Byte, ScalarType::Float, loop<float, uint8_t>},
    {ScalarType::Char, ScalarType::Float, loop<float, int8_t>},
    {ScalarType::Bool, ScalarType::Float, loop<float, bool>},
    {ScalarType::Short, ScalarType::Float, loop<float, int16_t>},
    {ScalarType::Half, ScalarType::Float, loop<float, Half>},
    {ScalarType::BFloat16, ScalarType::Float, loop<float, BFloat16>},
    {ScalarType::Int, ScalarType::Float, loop<float, int32_t>},
    {ScalarType::Float, ScalarType::Half, loop<Half, float>},
    {ScalarType::Long, ScalarType::Int, loop<int32_t, int64_t>},
    {ScalarType::Double, ScalarType::Float, loop<float, double>},
    {ScalarType::ComplexDouble, ScalarType::ComplexFloat, loop<ComplexFloat, ComplexDouble>},
};

// --- The cases --------------------------------------------------------------------------------

using Call = std::function<void()>;

struct Memory {
  std::vector<char> from, to;
};

/// The shape without the dimensions of size 1 in front.
template <class List>
List list_of(const int64_t (&values)[3], const Shape& shape) {
  const int64_t* first = values;
  for (size_t d = 0; d < 2 && shape.sizes[d] == 1; ++d) ++first;
  return List(first, values + 3);
}

Call tenon_call(const Types& types, const Shape& shape, Memory& memory) {
  const auto sizes = list_of<tenon::Dims>(shape.sizes, shape);
  const auto size = static_cast<int64_t>(tenon::elementSize(types.from));
  const std::shared_ptr<tenon::Tensor> from =
      tenon::for_blob(memory.from.data() + shape.start * size, sizes, types.from)
          .strides(list_of<tenon::Dims>(shape.strides, shape))
          .make_tensor_ptr();
  const std::shared_ptr<tenon::Tensor> to = tenon::from_blob(memory.to.data(), sizes, types.to);
  return [from, to] {
    bench::require(tenon::copy_(*to, *from, tenon::CastMode::Truncate) == tenon::Error::Ok);
  };
}

/// Null where the layout has negative strides, which ATen has not.
Call aten_call(const Types& types, const Shape& shape, Memory& memory) {
#if BENCH_ATEN
  if (shape.start != 0) return nullptr;
  const auto sizes = list_of<std::vector<int64_t>>(shape.sizes, shape);
  const auto strides = list_of<std::vector<int64_t>>(shape.strides, shape);
  const at::Tensor from =
      at::from_blob(memory.from.data(), sizes, strides, static_cast<at::ScalarType>(types.from));
  const at::Tensor to =
      at::from_blob(memory.to.data(), sizes, static_cast<at::ScalarType>(types.to));
  return [from, to] { to.copy_(from); };
#else
  static_cast<void>(types), static_cast<void>(shape), static_cast<void>(memory);
  return nullptr;
#endif
}

/// Null where it has no one call for it.
Call opencv_call(Layout layout, const Types& types, const Shape& shape, Memory& memory) {
#if BENCH_OPENCV
  const auto depth_of = [&](ScalarType type) {
    switch (type) {
      case ScalarType::Char: return types.from == types.to ? CV_8U : CV_8S;
      case ScalarType::Short: return types.from == types.to ? CV_16U : CV_16S;
      case ScalarType::Half: return types.from == types.to ? CV_16U : CV_16F;
      case ScalarType::BFloat16: return types.from == types.to ? CV_16U : -1;
      case ScalarType::Int: return types.from == types.to ? CV_32F : CV_32S;
      case ScalarType::Float: return CV_32F;
      case ScalarType::Long: return types.from == types.to ? CV_64F : -1;
      case ScalarType::Double: return CV_64F;
      case ScalarType::ComplexDouble:
      case ScalarType::ComplexFloat: return -1;
      default: return CV_8U;
    }
  };
  const int in = depth_of(types.from);
  const int out = depth_of(types.to);
  if (in < 0 || out < 0) return nullptr;
  const bool casts = types.from != types.to;
  const auto rows = static_cast<int>(shape.sizes[1]);
  const auto columns = static_cast<int>(shape.sizes[2]);
  const auto size = static_cast<size_t>(tenon::elementSize(types.from));
  void* const from = memory.from.data();
  void* const to = memory.to.data();
  const auto planes_over = [&](int height, int width, int type, void* data) {
    std::vector<cv::Mat> planes;
    const auto area = static_cast<size_t>(height * width) * size;
    for (size_t c = 0; c < 3; ++c) {
      planes.emplace_back(height, width, type, static_cast<char*>(data) + c * area);
    }
    return planes;
  };
  switch (layout) {
    case Layout::Contiguous:
    case Layout::Padded: {
      const size_t pitch = size * static_cast<size_t>(rows == 1 ? columns : shape.strides[1]);
      const cv::Mat source(rows, columns, in, from, pitch);
      cv::Mat result(rows, columns, out, to);
      if (casts) return [source, result, out]() mutable { source.convertTo(result, out); };
      return [source, result]() mutable { source.copyTo(result); };
    }
    case Layout::Transposed: {
      if (casts) return nullptr;
      const cv::Mat source(columns, rows, in, from);
      cv::Mat result(rows, columns, out, to);
      return [source, result]() mutable { cv::transpose(source, result); };
    }
    case Layout::ToPixels: {
      if (casts) return nullptr;
      const std::vector<cv::Mat> source = planes_over(1, rows, in, from);
      cv::Mat result(1, rows, CV_MAKETYPE(out, 3), to);
      return [source, result]() mutable { cv::merge(source, result); };
    }
    case Layout::ToPlanes: {
      if (casts) return nullptr;
      const cv::Mat source(1, columns, CV_MAKETYPE(in, 3), from);
      std::vector<cv::Mat> result = planes_over(1, columns, out, to);
      return [source, result]() mutable { cv::split(source, result); };
    }
    case Layout::Crop: {
      if (casts) return nullptr;
      const cv::Mat source(rows, columns, CV_MAKETYPE(in, 3), from,
                           6 * size * static_cast<size_t>(columns));
      std::vector<cv::Mat> result = planes_over(rows, columns, out, to);
      return [source, result]() mutable { cv::split(source, result); };
    }
    case Layout::Mirrored: {
      if (casts) return nullptr;
      const cv::Mat source(rows, columns, in, from);
      cv::Mat result(rows, columns, out, to);
      return [source, result]() mutable { cv::flip(source, result, 1); };
    }
    case Layout::Channels: {
      if (casts || size == 8) return nullptr;
      const cv::Mat source(1, rows, CV_MAKETYPE(in, 3), from);
      cv::Mat result(1, rows, CV_MAKETYPE(out, 3), to);
      return [source, result]() mutable { cv::cvtColor(source, result, cv::COLOR_BGR2RGB); };
    }
    default: return nullptr;
  }
#else
  static_cast<void>(layout), static_cast<void>(types);
  static_cast<void>(shape), static_cast<void>(memory);
  return nullptr;
#endif
}

struct Peer {
  Call call;
  int64_t repeats = 1;  // some 100 µs
  double best = 1e300;  // nanoseconds a call

  /// In processor time, since others may use the machine.
  void measure() {
    const std::clock_t start = std::clock();
    for (int64_t i = 0; i < repeats; ++i) call();
    const auto ticks = static_cast<double>(std::clock() - start);
    best = std::min(best, 1e9 / CLOCKS_PER_SEC * ticks / static_cast<double>(repeats));
  }
  void prepare() {
    while (measure(), best * static_cast<double>(repeats) < 1e5) {
      repeats *= 2;
      best = 1e300;
    }
  }
};

/// Whether tenon takes more than 1.2 of the best other's time.
bool is_slow(const std::vector<Peer>& peers) {
  double best = 1e300;
  for (size_t i = 1; i < peers.size(); ++i) best = std::min(best, peers[i].best);
  return peers[0].best > 1.2 * best;
}

void measure(Layout layout, const Types& types, int64_t n, int rounds, Memory& memory) {
  const Shape shape = shape_of(layout, n);
  std::vector<Peer> peers(4);
  peers[0].call = tenon_call(types, shape, memory);
  peers[1].call = [&] { types.loop(layout, memory.to.data(), memory.from.data(), shape); };
  peers[2].call = aten_call(types, shape, memory);
  peers[3].call = opencv_call(layout, types, shape, memory);
  // All have to write the same.
  std::vector<char> expected;
  const size_t nbytes = static_cast<size_t>(shape.count()) * tenon::elementSize(types.to);
  for (Peer& peer : peers) {
    if (!peer.call) continue;
    std::memset(memory.to.data(), 0x55, nbytes);
    peer.call();
    if (expected.empty()) expected.assign(memory.to.data(), memory.to.data() + nbytes);
    if (std::memcmp(expected.data(), memory.to.data(), nbytes) != 0) {
      std::fprintf(stderr, "bench_grid: %s, %s to %s: peer %d writes other values\n",
                   kLayouts[static_cast<int>(layout)], tenon::toString(types.from),
                   tenon::toString(types.to), static_cast<int>(&peer - peers.data()));
      std::exit(1);
    }
    peer.prepare();
  }
  // Where tenon seems to be slow, more rounds tell whether the machine was.
  for (int round = 0; round < rounds || (round < 4 * rounds && is_slow(peers)); ++round) {
    for (Peer& peer : peers) {
      if (peer.call) peer.measure();
    }
  }
  std::printf("%s\t%s\t%s\t%lld", kLayouts[static_cast<int>(layout)], tenon::toString(types.from),
              tenon::toString(types.to), static_cast<long long>(n));
  for (const Peer& peer : peers) {
    if (peer.call) {
      std::printf("\t%.4f", peer.best / static_cast<double>(shape.count()));
    } else {
      std::printf("\t-");
    }
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 7;
  const int64_t largest = argc > 2 ? std::atoll(argv[2]) : 4 << 20;
  bench::require(rounds > 0 && largest > 0);
#if BENCH_ATEN
  at::set_num_threads(1);
  const c10::InferenceMode inference;
#endif
#if BENCH_OPENCV
  cv::setNumThreads(1);
#endif
  for (const Types& types : kTypes) {
    // The crop's source has twice its elements.
    const auto room = static_cast<size_t>(2 * largest + 64);
    Memory memory{std::vector<char>(room * tenon::elementSize(types.from)),
                  std::vector<char>(room * tenon::elementSize(types.to))};

    const auto period = types.from == ScalarType::Bool ? 2 : 120;
    for (int64_t i = 0; i < static_cast<int64_t>(room); ++i) {
      const int64_t value = i * 7919 % period;
      tenon::detail::convert_elements(
          types.from, memory.from.data() + i * static_cast<int64_t>(tenon::elementSize(types.from)),
          ScalarType::Long, &value, 1, tenon::CastMode::Truncate);
    }
    for (size_t layout = 0; layout < std::size(kLayouts); ++layout) {
      for (const int64_t n : {64, 1 << 10, 8 << 10, 64 << 10, 512 << 10, 4 << 20}) {
        if (n <= largest) measure(static_cast<Layout>(layout), types, n, rounds, memory);
      }
    }
  }
  return 0;
}
