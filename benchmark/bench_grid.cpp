// SPDX-License-Identifier: MIT
//
// Copies and casts of many types, layouts and sizes, moves by index, comparisons and kept plans:
// tenon beside plain loops that know the layout, ATen and OpenCV, which take turns. Prints a line
// for each case: section, row and column of its table, the types, the elements, and the nanoseconds
// an element takes with each, "-" where it has no such call. grid.py reads it.
//
// bench_grid [ROUNDS [LARGEST [SECTION]]]: of at least ROUNDS rounds the best; layouts of at most
// LARGEST elements; one section alone.

#if BENCH_ATEN
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#endif
#if BENCH_OPENCV
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#endif
#include <tenon/tenon.h>
#include <tenon/tensor/copy_plan.h>
#include <tenon/tensor/index.h>
#include <tenon/tensor/values.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "grid_loops.h"
#include "harness.h"

using tenon::ScalarType;
using List = std::vector<int64_t>;

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
  Channels,
  Other
};
constexpr const char* kLayouts[] = {"contiguous",           "padded rows",   "padded rows of 8",
                                    "transposed",           "NCHW to NHWC",  "NHWC to NCHW",
                                    "every second element", "mirrored rows", "broadcast row",
                                    "broadcast column",     "crop to NCHW",  "BGR to RGB"};

/// The source's strides, in elements; the destination is row-major.
struct Shape {
  List sizes;
  List strides;
  int64_t start = 0;  // of element 0

  int64_t count() const {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  }
  /// From the first to behind the last.
  int64_t reach() const {
    int64_t end = start + 1;
    for (size_t d = 0; d < sizes.size(); ++d) {
      end += std::max<int64_t>(0, strides[d] * (sizes[d] - 1));
    }
    return end;
  }
};

List row_major(const List& sizes) {
  List strides(sizes.size());
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0; stride *= sizes[d]) strides[d] = stride;
  return strides;
}

/// About `n` elements.
Shape shape_of(Layout layout, int64_t n) {
  const auto side = static_cast<int64_t>(std::sqrt(static_cast<double>(n)));
  const auto third = static_cast<int64_t>(std::sqrt(static_cast<double>(n / 3)));
  switch (layout) {
    case Layout::Contiguous: return {{n}, {1}};
    case Layout::Padded: return {{side, side}, {side + side / 4, 1}};
    case Layout::Short: return {{n / 8, 8}, {12, 1}};
    case Layout::Transposed: return {{side, side}, {1, side}};
    case Layout::ToPixels: return {{n / 3, 3}, {1, n / 3}};
    case Layout::ToPlanes: return {{3, n / 3}, {1, 3}};
    case Layout::Second: return {{n}, {2}};
    case Layout::Mirrored: return {{side, side}, {side, -1}, side - 1};
    case Layout::Row: return {{side, side}, {0, 1}};
    case Layout::Column: return {{side, side}, {1, 0}};
    case Layout::Crop: return {{3, third, third}, {1, 6 * third, 3}};
    default: return {{n / 3, 3}, {3, -1}, 2};
  }
}

struct Types {
  ScalarType from, to;
};
constexpr Types kTypes[] = {
    {ScalarType::Byte, ScalarType::Byte},
    {ScalarType::Char, ScalarType::Char},
    {ScalarType::Bool, ScalarType::Bool},
    {ScalarType::Short, ScalarType::Short},
    {ScalarType::Half, ScalarType::Half},
    {ScalarType::BFloat16, ScalarType::BFloat16},
    {ScalarType::Int, ScalarType::Int},
    {ScalarType::Float, ScalarType::Float},
    {ScalarType::Long, ScalarType::Long},
    {ScalarType::Double, ScalarType::Double},
    {ScalarType::ComplexDouble, ScalarType::ComplexDouble},
    {ScalarType::Byte, ScalarType::Float},
    {ScalarType::Char, ScalarType::Float},
    {ScalarType::Bool, ScalarType::Float},
    {ScalarType::Short, ScalarType::Float},
    {ScalarType::Half, ScalarType::Float},
    {ScalarType::BFloat16, ScalarType::Float},
    {ScalarType::Int, ScalarType::Float},
    {ScalarType::Float, ScalarType::Half},
    {ScalarType::Long, ScalarType::Int},
    {ScalarType::Double, ScalarType::Float},
    {ScalarType::ComplexDouble, ScalarType::ComplexFloat},
};

Number number_of(ScalarType type) {
  switch (type) {
    case ScalarType::Byte: return Number::Byte;
    case ScalarType::Char: return Number::Char;
    case ScalarType::Bool: return Number::Bool;
    case ScalarType::UInt16: return Number::UInt16;
    case ScalarType::Short: return Number::Short;
    case ScalarType::Half: return Number::Half;
    case ScalarType::BFloat16: return Number::BFloat16;
    case ScalarType::Int: return Number::Int;
    case ScalarType::Float: return Number::Float;
    case ScalarType::Long: return Number::Long;
    case ScalarType::Double: return Number::Double;
    case ScalarType::ComplexFloat: return Number::ComplexFloat;
    default: return Number::ComplexDouble;
  }
}

int64_t size_of(ScalarType type) { return static_cast<int64_t>(tenon::elementSize(type)); }

// --- Peers ------------------------------------------------------------------------------------

using Call = std::function<void()>;

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

/// In grid.py's order.
enum { kTenon, kLoop, kNativeLoop, kAten, kOpenCV, kPeers };

struct Memory {
  std::vector<char> from, to;
};

/// One line of output.
struct Case {
  std::string section, row, column;
  Types types;
  int64_t count;
  std::vector<Peer> peers = std::vector<Peer>(kPeers);
};

int g_rounds;

/// Whether tenon takes more than 1.2 of the best other's time.
bool is_slow(const std::vector<Peer>& peers) {
  double best = 1e300;
  for (size_t i = 1; i < peers.size(); ++i) best = std::min(best, peers[i].best);
  return peers[kTenon].best > 1.2 * best;
}

/// All have to write the same to `result`.
void measure(Case& measured, std::vector<char>& result, int64_t nbytes) {
  std::vector<char> expected;
  const auto size = static_cast<size_t>(nbytes);
  for (Peer& peer : measured.peers) {
    if (!peer.call) continue;
    std::memset(result.data(), 0x55, size);
    peer.call();
    if (expected.empty()) expected.assign(result.data(), result.data() + size);
    if (std::memcmp(expected.data(), result.data(), size) != 0) {
      std::fprintf(stderr, "bench_grid: %s, %s, %s, %s to %s: peer %d writes other values\n",
                   measured.section.c_str(), measured.row.c_str(), measured.column.c_str(),
                   tenon::toString(measured.types.from), tenon::toString(measured.types.to),
                   static_cast<int>(&peer - measured.peers.data()));
      std::exit(1);
    }
    peer.prepare();
  }
  // Where tenon seems to be slow, more rounds tell whether the machine was.
  for (int i = 0; i < g_rounds || (i < 4 * g_rounds && is_slow(measured.peers)); ++i) {
    for (Peer& peer : measured.peers) {
      if (peer.call) peer.measure();
    }
  }
  std::printf("%s\t%s\t%s\t%s\t%s\t%lld", measured.section.c_str(), measured.row.c_str(),
              measured.column.c_str(), tenon::toString(measured.types.from),
              tenon::toString(measured.types.to), static_cast<long long>(measured.count));
  for (const Peer& peer : measured.peers) {
    if (peer.call) {
      std::printf("\t%.4f", peer.best / static_cast<double>(measured.count));
    } else {
      std::printf("\t-");
    }
  }
  std::printf("\n");
  std::fflush(stdout);
}

// --- Copies -----------------------------------------------------------------------------------

std::shared_ptr<tenon::Tensor> tensor_of(char* data, const Shape& shape, ScalarType type) {
  return tenon::for_blob(data + shape.start * size_of(type), tenon::Dims(shape.sizes), type)
      .strides(tenon::Dims(shape.strides))
      .make_tensor_ptr();
}

Call tenon_call(const Types& types, const Shape& shape, Memory& memory) {
  const auto from = tensor_of(memory.from.data(), shape, types.from);
  const auto to = tensor_of(memory.to.data(), {shape.sizes, row_major(shape.sizes)}, types.to);
  return [from, to] {
    bench::require(tenon::copy_(*to, *from, tenon::CastMode::Truncate) == tenon::Error::Ok);
  };
}

#if BENCH_ATEN
at::Tensor aten_tensor(char* data, const Shape& shape, ScalarType type) {
  return at::from_blob(data, shape.sizes, shape.strides, static_cast<at::ScalarType>(type));
}
#endif

/// Null where the layout has negative strides, which ATen has not.
Call aten_call(const Types& types, const Shape& shape, Memory& memory) {
#if BENCH_ATEN
  if (shape.start != 0) return nullptr;
  const at::Tensor from = aten_tensor(memory.from.data(), shape, types.from);
  const at::Tensor to =
      aten_tensor(memory.to.data(), {shape.sizes, row_major(shape.sizes)}, types.to);
  return [from, to] { to.copy_(from); };
#else
  static_cast<void>(types), static_cast<void>(shape), static_cast<void>(memory);
  return nullptr;
#endif
}

/// The nest of a shape whose dimensions are taken in that order, and joined where they can be.
Nest nest_of(const Shape& shape, const std::vector<size_t>& order) {
  const List to = row_major(shape.sizes);
  Nest nest;
  for (const size_t d : order) {
    if (!nest.sizes.empty() && nest.to.back() == to[d] * shape.sizes[d] &&
        nest.from.back() == shape.strides[d] * shape.sizes[d]) {
      nest.sizes.back() *= shape.sizes[d];
      nest.to.back() = to[d];
      nest.from.back() = shape.strides[d];
    } else {
      nest.sizes.push_back(shape.sizes[d]);
      nest.to.push_back(to[d]);
      nest.from.push_back(shape.strides[d]);
    }
  }
  for (size_t d = nest.sizes.size(); d < 3; ++d) {
    nest.sizes.insert(nest.sizes.begin(), 1);
    nest.to.insert(nest.to.begin(), 0);
    nest.from.insert(nest.from.begin(), 0);
  }
  return nest;
}

/// The fastest loop, through the destination's memory or through the source's; null without one.
Call loop_call(std::vector<Loop> (*find)(Number, Number, const Nest&), const Types& types,
               const Shape& shape, Memory& memory) {
  std::vector<size_t> by_to(shape.sizes.size());
  std::iota(by_to.begin(), by_to.end(), size_t{0});
  std::vector<size_t> by_from = by_to;
  std::stable_sort(by_from.begin(), by_from.end(), [&](size_t a, size_t b) {
    return std::abs(shape.strides[a]) > std::abs(shape.strides[b]);
  });
  std::vector<Peer> peers;
  void* const to = memory.to.data();
  const void* const from = memory.from.data() + shape.start * size_of(types.from);
  for (const auto& order : {by_to, by_from}) {
    const Nest nest = nest_of(shape, order);
    for (const Loop loop : find(number_of(types.from), number_of(types.to), nest)) {
      peers.push_back({[=] { loop(to, from, nest); }});
    }
    if (by_from == by_to) break;
  }
  if (peers.empty()) return nullptr;
  for (Peer& peer : peers) {
    while (peer.measure(), peer.best * static_cast<double>(peer.repeats) < 1e4) {
      peer.repeats *= 2;
      peer.best = 1e300;
    }
    peer.measure();
  }
  return std::min_element(peers.begin(), peers.end(),
                          [](const Peer& a, const Peer& b) { return a.best < b.best; })
      ->call;
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
  const size_t rank = shape.sizes.size();
  const auto rows = static_cast<int>(rank < 2 ? 1 : shape.sizes[rank - 2]);
  const auto columns = static_cast<int>(shape.sizes[rank - 1]);
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
      const size_t pitch = size * static_cast<size_t>(rank < 2 ? columns : shape.strides[rank - 2]);
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
                           size * static_cast<size_t>(shape.strides[1]));
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

void fill_memory(Memory& memory, const Types& types, int64_t from_count, int64_t to_count) {
  memory.from.resize(static_cast<size_t>(from_count * size_of(types.from)));
  memory.to.resize(static_cast<size_t>(to_count * size_of(types.to)));
  const auto period = types.from == ScalarType::Bool ? 2 : 120;
  for (int64_t i = 0; i < from_count; ++i) {
    const int64_t value = i * 7919 % period;
    tenon::detail::convert_elements(types.from, memory.from.data() + i * size_of(types.from),
                                    ScalarType::Long, &value, 1, tenon::CastMode::Truncate);
  }
}

struct Copy {
  std::string row, column;
  Types types;
  Shape shape;
  Layout layout = Layout::Other;
};

/// Those of the same types follow each other.
void measure_copies(const char* section, const std::vector<Copy>& copies) {
  Memory memory;
  for (size_t i = 0; i < copies.size(); ++i) {
    const Copy& copy = copies[i];
    const Types& types = copy.types;
    if (i == 0 || copies[i - 1].types.from != types.from || copies[i - 1].types.to != types.to) {
      int64_t reach = 0;
      int64_t count = 0;
      for (size_t k = i; k < copies.size() && copies[k].types.from == types.from &&
                         copies[k].types.to == types.to;
           ++k) {
        reach = std::max(reach, copies[k].shape.reach());
        count = std::max(count, copies[k].shape.count());
      }
      fill_memory(memory, types, reach, count);
    }
    Case made{section, copy.row, copy.column, types, copy.shape.count()};
    made.peers[kTenon].call = tenon_call(types, copy.shape, memory);
    made.peers[kLoop].call = loop_call(find_loops, types, copy.shape, memory);
    made.peers[kNativeLoop].call = loop_call(find_native_loops, types, copy.shape, memory);
    made.peers[kAten].call = aten_call(types, copy.shape, memory);
    made.peers[kOpenCV].call = opencv_call(copy.layout, types, copy.shape, memory);
    measure(made, memory.to, made.count * size_of(types.to));
  }
}

std::vector<Copy> layouts(int64_t largest) {
  std::vector<Copy> copies;
  for (const Types& types : kTypes) {
    for (size_t layout = 0; layout < std::size(kLayouts); ++layout) {
      for (const int64_t n : {64, 1 << 10, 8 << 10, 64 << 10, 512 << 10, 4 << 20}) {
        if (n > largest) continue;
        const auto which = static_cast<Layout>(layout);
        copies.push_back({kLayouts[layout], std::to_string(n), types, shape_of(which, n), which});
      }
    }
  }
  return copies;
}

/// Of 300 rows of an image of 480 × 640.
std::vector<Copy> crops() {
  std::vector<Copy> copies;
  for (const Types& types :
       {Types{ScalarType::Byte, ScalarType::Byte}, Types{ScalarType::Float, ScalarType::Float},
        Types{ScalarType::Byte, ScalarType::Float}, Types{ScalarType::Float, ScalarType::Half}}) {
    for (const int64_t w : {1, 2, 3, 5, 7, 13, 20, 52, 112, 300}) {
      const std::string width = std::to_string(w);
      copies.push_back(
          {"crop of HWC to CHW", width, types, {{3, 300, w}, {1, 1920, 3}}, Layout::Crop});
      copies.push_back({"crop of CHW to HWC", width, types, {{300, w, 3}, {640, 1, 307200}}});
      copies.push_back({"crop of one plane", width, types, {{300, w}, {640, 1}}, Layout::Padded});
    }
  }
  return copies;
}

std::vector<Copy> ranks() {
  const List sizes_of[] = {
      {8, 7, 8, 9, 6}, {5, 6, 5, 4, 6, 5}, {4, 4, 4, 4, 4, 4, 4}, {3, 4, 3, 4, 3, 4, 3, 4}};
  std::vector<Copy> copies;
  for (const Types& types :
       {Types{ScalarType::Byte, ScalarType::Byte}, Types{ScalarType::Half, ScalarType::Half},
        Types{ScalarType::Float, ScalarType::Float}, Types{ScalarType::Double, ScalarType::Double},
        Types{ScalarType::Byte, ScalarType::Float}, Types{ScalarType::Short, ScalarType::Float},
        Types{ScalarType::Long, ScalarType::Int}}) {
    for (const List& sizes : sizes_of) {
      const std::string rank = std::to_string(sizes.size());
      const List strides = row_major(sizes);
      const auto permuted = [&](const std::vector<size_t>& order) {
        Shape shape;
        for (const size_t d : order) {
          shape.sizes.push_back(sizes[d]);
          shape.strides.push_back(strides[d]);
        }
        return shape;
      };
      std::vector<size_t> order(sizes.size());
      std::iota(order.begin(), order.end(), size_t{0});
      std::reverse(order.begin(), order.end());
      copies.push_back({"reversed order", rank, types, permuted(order)});
      std::iota(order.begin(), order.end(), size_t{0});
      std::stable_partition(order.begin(), order.end(), [](size_t d) { return d % 2 == 0; });
      copies.push_back({"even dimensions first", rank, types, permuted(order)});
      std::iota(order.begin(), order.end(), size_t{0});
      std::reverse(order.begin(), order.end() - 1);
      copies.push_back({"reversed but the last", rank, types, permuted(order)});
      Shape second{sizes, strides};
      int64_t stride = 2;
      for (size_t d = sizes.size(); d-- > 0; stride *= sizes[d] + 1) second.strides[d] = stride;
      copies.push_back({"gaps in each dimension", rank, types, second});
    }
  }
  return copies;
}

/// In the cache.
std::vector<Copy> integers() {
  constexpr ScalarType kNumbers[] = {ScalarType::Byte,  ScalarType::Char,  ScalarType::UInt16,
                                     ScalarType::Short, ScalarType::Int,   ScalarType::Long,
                                     ScalarType::Float, ScalarType::Double};
  std::vector<Copy> copies;
  for (const ScalarType from : kNumbers) {
    for (const ScalarType to : kNumbers) {
      if (from == to) continue;
      copies.push_back({tenon::toString(from), tenon::toString(to), {from, to}, {{65536}, {1}}});
    }
  }
  return copies;
}

/// Of Bytes: elements that are none of a type's.
std::vector<Copy> units() {
  constexpr Types kBytes{ScalarType::Byte, ScalarType::Byte};
  std::vector<Copy> copies;
  for (const int64_t n : {3, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15}) {
    const std::string bytes = std::to_string(n);
    copies.push_back({"every second of them", bytes, kBytes, {{5000, n}, {2 * n, 1}}});
    copies.push_back({"them mirrored", bytes, kBytes, {{5000, n}, {-n, 1}, 4999 * n}});
    copies.push_back({"them transposed", bytes, kBytes, {{70, 70, n}, {n, 70 * n, 1}}});
  }
  return copies;
}

/// What programs do to images and to attention's tensors.
std::vector<Copy> programs() {
  const std::pair<const char*, Shape> shapes[] = {
      {"im2col, 3 × 3", {{16, 3, 3, 28, 28}, {900, 30, 1, 30, 1}}},
      {"im2col of NHWC, 3 × 3", {{28, 28, 3, 48}, {480, 16, 480, 1}}},
      {"space to depth", {{4, 2, 2, 32, 32}, {4096, 64, 1, 128, 2}}},
      {"pixel shuffle", {{4, 32, 2, 32, 2}, {4096, 32, 2048, 1, 1024}}},
      {"upsampled by repeating", {{16, 32, 2, 32, 2}, {1024, 32, 0, 1, 0}}},
      {"patches of 16 × 16", {{14, 14, 3, 16, 16}, {3584, 16, 50176, 224, 1}}},
      {"channels in blocks of 8", {{4, 28, 28, 8}, {6272, 28, 1, 784}}},
      {"heads merged", {{512, 12, 64}, {64, 32768, 1}}},
      {"heads split", {{12, 512, 64}, {64, 768, 1}}},
      {"pairs to halves", {{2048, 2, 32}, {64, 1, 2}}},
      {"keys repeated for 4 heads", {{128, 4, 4, 64}, {256, 64, 0, 1}}},
      {"one channel of RGB", {{307200}, {3}}},
      {"RGBA to RGB", {{76800, 3}, {4, 1}}},
      {"turned by 90°", {{640, 480}, {-1, 640}, 639}},
      {"2 channels of sound to planes", {{2, 48000}, {1, 2}}},
      {"columns 0 to 3 of 20", {{10000, 3}, {20, 1}}},
      {"every third row of 20", {{3334, 20}, {60, 1}}},
  };
  std::vector<Copy> copies;
  for (const Types& types :
       {Types{ScalarType::Byte, ScalarType::Byte}, Types{ScalarType::Half, ScalarType::Half},
        Types{ScalarType::Float, ScalarType::Float}, Types{ScalarType::Double, ScalarType::Double},
        Types{ScalarType::Byte, ScalarType::Float}, Types{ScalarType::Short, ScalarType::Float},
        Types{ScalarType::Float, ScalarType::Half}}) {
    std::string name = tenon::toString(types.from);
    if (types.from != types.to) name = name + " to " + tenon::toString(types.to);
    for (const auto& [row, shape] : shapes) copies.push_back({row, name, types, shape});
  }
  return copies;
}

// --- In place -----------------------------------------------------------------------------------

template <class T>
void fill_rows(T* out, int64_t rows, int64_t row, int64_t size, T value) {
  for (int64_t i = 0; i < rows; ++i) std::fill(out + i * row, out + i * row + size, value);
}

/// Moves within one memory, and fills.
template <class T>
void measure_in_place(ScalarType type) {
  std::vector<char> memory(sizeof(T) * 400000);
  T* const data = reinterpret_cast<T*>(memory.data());
  const auto nbytes = static_cast<int64_t>(memory.size());
  const std::string name = tenon::toString(type);
  const auto move = [&](const char* row, const Shape& shape, int64_t by, const Call& loop) {
    Shape behind = shape;
    behind.start = by;
    const auto to = tensor_of(memory.data(), shape, type);
    const auto from = tensor_of(memory.data(), behind, type);
    Case moved{"in place", row, name, {type, type}, shape.count()};
    moved.peers[kTenon].call = [=] {
      bench::require(tenon::copy_(*to, *from) == tenon::Error::Ok);
    };
    moved.peers[kLoop].call = loop;
    measure(moved, memory, nbytes);
  };
  move("a window of 8 heads moved by a row", {{8, 127 * 64}, {8192, 1}}, 64, [=] {
    for (int64_t i = 0; i < 8; ++i) {
      std::memmove(data + i * 8192, data + i * 8192 + 64, 127 * 64 * sizeof(T));
    }
  });
  move("a column of 2 moved by a row", {{100000}, {2}}, 2, [=] {
    for (int64_t i = 0; i < 100000; ++i) data[2 * i] = data[2 * i + 2];
  });
  const auto fill = [&](const char* row, int64_t rows, int64_t pitch, int64_t size) {
    const Shape shape{{rows, size}, {pitch, 1}};
    const auto tensor = tensor_of(memory.data(), shape, type);
    Case filled{"in place", row, name, {type, type}, shape.count()};
    filled.peers[kTenon].call = [=] {
      bench::require(tenon::fill_(*tensor, 3) == tenon::Error::Ok);
    };
    filled.peers[kLoop].call = [=] { fill_rows(data, rows, pitch, size, T(3)); };
#if BENCH_ATEN
    const at::Tensor aten = aten_tensor(memory.data(), shape, type);
    filled.peers[kAten].call = [=] { aten.fill_(3); };
#endif
    measure(filled, memory, nbytes);
  };
  fill("`fill_` of rows of 17", 2000, 32, 17);
  fill("`fill_` of columns 0 to 3 of 8", 5000, 8, 3);
  fill("`fill_` of 65,536", 1, 65536, 65536);
}

// --- Moves by index ---------------------------------------------------------------------------

constexpr int64_t kRows = 1024;
constexpr int64_t kTable = 4096;

template <size_t kBytes>
void select_rows(char* to, const char* from, const List& indices) {
  for (const int64_t i : indices) {
    std::memcpy(to, from + static_cast<size_t>(i) * kBytes, kBytes);
    to += kBytes;
  }
}
template <size_t kBytes>
void copy_to_rows(char* to, const char* from, const List& indices) {
  for (const int64_t i : indices) {
    std::memcpy(to + static_cast<size_t>(i) * kBytes, from, kBytes);
    from += kBytes;
  }
}

/// 1,024 rows of a table of 4,096, in no order.
template <size_t kBytes>
void measure_indices() {
  List indices(kRows);
  for (int64_t i = 0; i < kRows; ++i) indices[static_cast<size_t>(i)] = i * 2663 % kTable;
  constexpr auto kWidth = static_cast<int64_t>(kBytes / sizeof(float));
  std::vector<char> table(kTable * kBytes);
  std::vector<char> rows(kRows * kBytes);
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<char>(i * 31 % 120);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<char>(i * 37 % 120);
  const auto big = tensor_of(table.data(), {{kTable, kWidth}, {kWidth, 1}}, ScalarType::Float);
  const auto small = tensor_of(rows.data(), {{kRows, kWidth}, {kWidth, 1}}, ScalarType::Float);
  const auto list = tenon::from_blob(indices.data(), {kRows});
  const Types types{ScalarType::Float, ScalarType::Float};

  Case selected{"index", "index_select_out", std::to_string(kBytes), types, kRows * kWidth};
  selected.peers[kTenon].call = [&] {
    bench::require(tenon::index_select_out(*small, *big, 0, *list) == tenon::Error::Ok);
  };
  selected.peers[kLoop].call = [&] { select_rows<kBytes>(rows.data(), table.data(), indices); };
  Case copied{"index", "index_copy_", std::to_string(kBytes), types, kRows * kWidth};
  copied.peers[kTenon].call = [&] {
    bench::require(tenon::index_copy_(*big, 0, *list, *small) == tenon::Error::Ok);
  };
  copied.peers[kLoop].call = [&] { copy_to_rows<kBytes>(table.data(), rows.data(), indices); };
#if BENCH_ATEN
  at::Tensor aten_big = at::from_blob(table.data(), {kTable, kWidth});
  at::Tensor aten_small = at::from_blob(rows.data(), {kRows, kWidth});
  const at::Tensor aten_list = at::from_blob(indices.data(), {kRows}, at::kLong);
  selected.peers[kAten].call = [&] { at::index_select_out(aten_small, aten_big, 0, aten_list); };
  copied.peers[kAten].call = [&] { aten_big.index_copy_(0, aten_list, aten_small); };
#endif
  measure(selected, rows, static_cast<int64_t>(rows.size()));
  measure(copied, table, static_cast<int64_t>(table.size()));
}

// --- Values -----------------------------------------------------------------------------------

/// 65,536 values each.
void measure_values() {
  constexpr int64_t kSide = 256;
  constexpr int64_t kCount = kSide * kSide;
  for (const ScalarType type : {ScalarType::Byte, ScalarType::Int, ScalarType::Float,
                                ScalarType::Long, ScalarType::Double}) {
    Memory memory;
    fill_memory(memory, {type, type}, kCount, kCount);
    memory.to = memory.from;
    std::vector<char> result(32);  // what a call found
    const Shape dense{{kSide, kSide}, {kSide, 1}};
    const Shape transposed{{kSide, kSide}, {1, kSide}};
    const Scans scans = find_scans(number_of(type));
    const Scans native_scans = find_native_scans(number_of(type));
    for (const Shape& shape : {dense, transposed}) {
      const auto a = tensor_of(memory.from.data(), shape, type);
      const auto b = tensor_of(memory.to.data(), shape, type);
      Case equal{"values",
                 shape.strides[0] == 1 ? "equal, both transposed" : "equal",
                 tenon::toString(type),
                 {type, type},
                 kCount};
      equal.peers[kTenon].call = [&] { result[0] = tenon::equal(*a, *b); };
      equal.peers[kLoop].call = [&] {
        result[0] = scans.equal(memory.from.data(), memory.to.data(), kCount);
      };
      equal.peers[kNativeLoop].call = [&] {
        result[0] = native_scans.equal(memory.from.data(), memory.to.data(), kCount);
      };
#if BENCH_ATEN
      const at::Tensor aten_a = aten_tensor(memory.from.data(), shape, type);
      const at::Tensor aten_b = aten_tensor(memory.to.data(), shape, type);
      equal.peers[kAten].call = [&] { result[0] = at::equal(aten_a, aten_b); };
#endif
      measure(equal, result, 1);
    }
    const auto values = tensor_of(memory.from.data(), dense, type);
    Case range{"values", "min_max", tenon::toString(type), {type, type}, kCount};
    const auto put = [&](double least, double largest) {
      std::memcpy(result.data(), &least, sizeof least);
      std::memcpy(result.data() + sizeof least, &largest, sizeof largest);
    };
    range.peers[kTenon].call = [&] {
      const tenon::MinMax found = tenon::min_max(*values);
      put(found.min.to<double>(), found.max.to<double>());
    };
    char found[2][8] = {};
    const auto put_found = [&] {
      double ends[2];
      for (size_t i = 0; i < 2; ++i) {
        tenon::detail::convert_elements(ScalarType::Double, &ends[i], type, found[i], 1,
                                        tenon::CastMode::Truncate);
      }
      put(ends[0], ends[1]);
    };
    range.peers[kLoop].call = [&] {
      scans.min_max(memory.from.data(), kCount, found[0], found[1]);
      put_found();
    };
    range.peers[kNativeLoop].call = [&] {
      native_scans.min_max(memory.from.data(), kCount, found[0], found[1]);
      put_found();
    };
#if BENCH_ATEN
    const at::Tensor aten_values = aten_tensor(memory.from.data(), dense, type);
    range.peers[kAten].call = [&] {
      const auto ends = at::aminmax(aten_values);
      put(std::get<0>(ends).item<double>(), std::get<1>(ends).item<double>());
    };
#endif
    measure(range, result, 16);
  }
}

// --- Kept plans -------------------------------------------------------------------------------

/// Small copies, by copy_() and by a plan that was made before.
void measure_plans() {
  for (const Types& types :
       {Types{ScalarType::Float, ScalarType::Float}, Types{ScalarType::Byte, ScalarType::Float}}) {
    for (const int64_t n : {16, 64, 256, 1024}) {
      for (const Layout layout : {Layout::Contiguous, Layout::Second, Layout::Transposed}) {
        const Shape shape = shape_of(layout, n);
        Memory memory;
        fill_memory(memory, types, shape.reach(), shape.count());
        const auto from = tensor_of(memory.from.data(), shape, types.from);
        const auto to =
            tensor_of(memory.to.data(), {shape.sizes, row_major(shape.sizes)}, types.to);
        const tenon::CopyPlan plan = tenon::plan_copy(*to, *from);
        const std::string row = kLayouts[static_cast<size_t>(layout)];
        for (const bool kept : {true, false}) {
          Case made{"plans", row + (kept ? ", run" : ", copy_"), std::to_string(n), types,
                    shape.count()};
          made.peers[kTenon].call =
              kept ? Call([&] { bench::require(plan.run(*to, *from) == tenon::Error::Ok); })
                   : Call([&] { bench::require(tenon::copy_(*to, *from) == tenon::Error::Ok); });
          made.peers[kLoop].call = loop_call(find_loops, types, shape, memory);
          made.peers[kNativeLoop].call = loop_call(find_native_loops, types, shape, memory);
          made.peers[kAten].call = aten_call(types, shape, memory);
          measure(made, memory.to, made.count * size_of(types.to));
        }
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  g_rounds = argc > 1 ? std::atoi(argv[1]) : 7;
  const int64_t largest = argc > 2 ? std::atoll(argv[2]) : 4 << 20;
  const std::string only = argc > 3 ? argv[3] : "";
  bench::require(g_rounds > 0 && largest > 0);
#if BENCH_ATEN
  at::set_num_threads(1);
  const c10::InferenceMode inference;
#endif
#if BENCH_OPENCV
  cv::setNumThreads(1);
#endif
  const auto wants = [&](const char* section) { return only.empty() || only == section; };
  if (wants("layouts")) measure_copies("layouts", layouts(largest));
  if (wants("crops")) measure_copies("crops", crops());
  if (wants("ranks")) measure_copies("ranks", ranks());
  if (wants("integers")) measure_copies("integers", integers());
  if (wants("units")) measure_copies("units", units());
  if (wants("programs")) measure_copies("programs", programs());
  if (wants("in place")) {
    measure_in_place<uint8_t>(ScalarType::Byte);
    measure_in_place<int16_t>(ScalarType::Short);
    measure_in_place<float>(ScalarType::Float);
    measure_in_place<double>(ScalarType::Double);
  }
  if (wants("index")) {
    measure_indices<4>();
    measure_indices<16>();
    measure_indices<64>();
    measure_indices<256>();
    measure_indices<1024>();
  }
  if (wants("values")) measure_values();
  if (wants("plans")) measure_plans();
  return 0;
}
