// SPDX-License-Identifier: MIT
// What the kernels must write, checked against the host's library: run on a device by
// device/device_test.cpp, and in their host form by kernels_test.cpp.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "cuda/device_kernels.h"
#include "tenon/tenon.h"

namespace tests {

using namespace tenon;

/// Whether to try all there is; unoptimised builds try a sample.
#if defined(__OPTIMIZE__)
inline constexpr bool kThorough = true;
#else
inline constexpr bool kThorough = false;
#endif

/// Keeps the texts of what was wrong.
struct Checks {
  std::vector<std::string> failures;

  void check(bool ok, const std::string& text) {
    if (!ok && failures.size() < 20) failures.push_back(text);
  }
  void check(cudaError_t error, const std::string& text) {
    check(error == cudaSuccess, text + ": " + cudaGetErrorName(error));
  }
};

using Bytes = std::vector<unsigned char>;

/// The same numbers on all platforms: SplitMix64.
struct Noise {
  uint64_t state = 1;
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  Bytes bytes(size_t count) {
    Bytes made(count);
    for (unsigned char& byte : made) byte = static_cast<unsigned char>(next());
    return made;
  }
};

/// Bytes on the device that are those of `host` until they are read back.
class OnDevice {
 public:
  OnDevice(Checks& checks, const Bytes& host) : checks_(checks), nbytes_(host.size()) {
    checks_.check(cudaMalloc(&data_, nbytes_ + 1), "cudaMalloc");
    checks_.check(cudaMemcpy(data_, host.data(), nbytes_, cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() { cudaFree(data_); }

  char* data() { return static_cast<char*>(data_); }
  Bytes read() {
    Bytes made(nbytes_);
    checks_.check(cudaMemcpy(made.data(), data_, nbytes_, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return made;
  }

 private:
  Checks& checks_;
  size_t nbytes_;
  void* data_ = nullptr;
};

/// How a view lies in a block: element 0 at `first`, strides in elements.
struct Lies {
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  int64_t first = 0;
  int64_t elements = 0;  ///< of the block
};
inline Lies contiguous(std::vector<int64_t> sizes, int64_t first = 0) {
  Lies lies{sizes, std::vector<int64_t>(sizes.size()), first, 1};
  for (size_t d = sizes.size(); d-- > 0; lies.elements *= sizes[d]) lies.strides[d] = lies.elements;
  lies.elements += first;
  return lies;
}
inline TensorView view_in(void* block, ScalarType type, const Lies& lies) {
  const auto size = static_cast<int64_t>(elementSize(type));
  return {static_cast<char*>(block) + lies.first * size, type, Device(), lies.sizes, lies.strides};
}
inline std::string text_of(const Lies& lies) {
  std::string text = " {";
  for (size_t d = 0; d < lies.sizes.size(); ++d) {
    text += std::to_string(lies.sizes[d]) + ":" + std::to_string(lies.strides[d]) + " ";
  }
  return text + "} from " + std::to_string(lies.first);
}

/// Has `host` write to a view of a block, and `device` to the same on the device: all bytes of the
/// block are to be the same.
template <class Host, class InDevice>
void check_written(Checks& checks, ScalarType type, const Lies& lies, const std::string& what,
                   const Host& host, const InDevice& device) {
  Noise noise;
  Bytes block = noise.bytes(static_cast<size_t>(lies.elements) * elementSize(type));
  OnDevice there(checks, block);
  const std::string text = what + " " + toString(type) + text_of(lies);
  host(view_in(block.data(), type, lies));
  checks.check(device(view_in(there.data(), type, lies)), text);
  checks.check(there.read() == block, text);
}

/// A copy, of which `source` are all bytes of the source's block.
inline void check_copy(Checks& checks, ScalarType to, const Lies& out, ScalarType from,
                       const Lies& in, CastMode mode, Bytes source) {
  OnDevice there(checks, source);
  check_written(
      checks, to, out,
      std::string("copy ") + toString(mode) + " " + toString(from) + text_of(in) + " to",
      [&](const TensorView& dst) {
        detail::copy_elements(dst, view_in(source.data(), from, in), mode,
                              &detail::cast_elements<>);
      },
      [&](const TensorView& dst) {
        const StridedCopy copy = strided_copy(dst, view_in(there.data(), from, in));
        return device_kernels().copy(copy, to, from, mode, nullptr);
      });
}

inline bool can_cast(ScalarType from, ScalarType to, CastMode mode) {
  return mode != CastMode::Checked || canCast(from, to);
}

/// Elements of all kinds: around the limits of all types, halves, infinities, NaNs; and noise.
inline Bytes edge_elements(ScalarType type) {
  Bytes bytes;
  const size_t size = elementSize(type);
  if (size == 1 || (kThorough && size == 2 && !isComplexType(type))) {
    for (uint32_t code = 0; code < 1u << (8 * size); ++code) {
      for (size_t i = 0; i < size; ++i) {
        bytes.push_back(static_cast<unsigned char>(code >> (8 * i)));
      }
    }
    return bytes;
  }
  std::vector<double> numbers = {0.0, -0.0};
  for (double halves = 0.5; halves < 12; halves += 0.5) numbers.push_back(halves);
  for (ScalarType other : detail::kScalarTypes) {
    const detail::NumberFormat format = detail::number_format(detail::part_type_of(other));
    if (format.digits == 0) continue;
    for (double limit : {format.lowest, format.largest}) {
      for (double more : {-1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0}) {
        numbers.push_back(limit + more);
        numbers.push_back(limit * (1 + more / 64));
        numbers.push_back(limit * (1 + more / (1 << 20)));
      }
    }
    for (int k = -4; k < 4; ++k) {  // around the smallest subnormal number
      const int exponent = format.min_exponent - format.digits + 1023 + k;
      if (exponent > 0) {
        numbers.push_back(detail::double_from_bits(static_cast<uint64_t>(exponent) << 52));
        numbers.push_back(1.5 * numbers.back());
      }
    }
  }
  for (uint64_t code : {0x7ff0000000000000u, 0x7ff8000000000000u, 0x7ff0000000000001u,
                        0x7ff4000020000000u, 0xfff8000000000000u, 0x7fffffffffffffffu}) {
    numbers.push_back(detail::double_from_bits(code));
  }
  const size_t given = numbers.size();
  for (size_t i = 0; i < given; ++i) numbers.push_back(-numbers[i]);
  bytes.resize(numbers.size() * size);
  detail::convert_elements(type, bytes.data(), ScalarType::Double, numbers.data(),
                           static_cast<int64_t>(numbers.size()), CastMode::Truncate);
  Noise noise;
  const Bytes more = noise.bytes((kThorough ? 8192 : 256) * size);
  bytes.insert(bytes.end(), more.begin(), more.end());
  if (isComplexType(type)) {  // imaginary parts too
    bytes.insert(bytes.end(), size / 2, 1);
    const Bytes parts = bytes;
    bytes.insert(bytes.end(), parts.begin() + static_cast<ptrdiff_t>(size / 2), parts.end());
    bytes.resize(bytes.size() / size * size);
  }
  return bytes;
}

constexpr CastMode kModes[] = {CastMode::Checked, CastMode::Truncate, CastMode::Saturate};

/// Each type to each, in each mode.
inline void check_casts(Checks& checks) {
  for (ScalarType from : detail::kScalarTypes) {
    const Bytes source = edge_elements(from);
    const Lies lies = contiguous({static_cast<int64_t>(source.size() / elementSize(from))});
    for (ScalarType to : detail::kScalarTypes) {
      for (CastMode mode : kModes) {
        if (can_cast(from, to, mode)) check_copy(checks, to, lies, from, lies, mode, source);
      }
    }
  }
}

/// Destinations and sources of the same sizes.
inline std::vector<std::pair<Lies, Lies>> pairs_of_layouts() {
  return {
      {contiguous({0, 3}), contiguous({0, 3})},
      {contiguous({}), contiguous({})},
      {contiguous({1000}), contiguous({1000}, 24)},
      {contiguous({1001}, 3), contiguous({1001}, 2)},
      {contiguous({70, 33}), {{70, 33}, {1, 70}, 0, 70 * 33}},             // transposed
      {{{40, 16}, {20, 1}, 4, 40 * 20}, {{40, 16}, {24, 1}, 8, 40 * 24}},  // padded
      {contiguous({50}), {{50}, {-1}, 49, 50}},
      {{{50}, {-3}, 149, 150}, {{50}, {2}, 1, 100}},
      {contiguous({30, 20}), {{30, 20}, {0, 1}, 0, 20}},  // repeated rows, columns, elements
      {contiguous({30, 20}), {{30, 20}, {1, 0}, 0, 30}},
      {contiguous({300}), {{300}, {0}, 5, 6}},
      {contiguous({5, 4, 3, 6}), {{5, 4, 3, 6}, {1, 90, 30, 5}, 0, 360}},
      {{{5, 4, 3, 6}, {1, 90, 30, 5}, 0, 360}, {{5, 4, 3, 6}, {-72, 18, -6, 1}, 300, 360}},
      {contiguous({3, 1, 7, 2, 2, 3, 2}),
       {{3, 1, 7, 2, 2, 3, 2}, {168, 9, 24, 1, 12, 4, 2}, 0, 504}},
  };
}

/// Copies of elements of all sizes at all kinds of strides, and casts.
inline void check_strided(Checks& checks) {
  Noise noise;
  for (const auto& [out, in] : pairs_of_layouts()) {
    for (ScalarType from : detail::kScalarTypes) {
      const Bytes source = noise.bytes(static_cast<size_t>(in.elements) * elementSize(from));
      for (ScalarType to :
           {from, ScalarType::Float, ScalarType::Short, ScalarType::ComplexDouble}) {
        check_copy(checks, to, out, from, in, CastMode::Truncate, source);
      }
    }
  }
}

/// Fills at strides, with starts and ends that are aligned and not.
inline void check_fills(Checks& checks) {
  constexpr ScalarType kSizes[] = {ScalarType::Byte, ScalarType::Half, ScalarType::Float,
                                   ScalarType::Double, ScalarType::ComplexDouble};
  std::vector<Lies> all;
  for (const auto& [out, in] : pairs_of_layouts()) all.push_back(out);
  for (int64_t first : {0, 1, 2, 4, 8, 16}) {
    for (int64_t size : {1, 15, 16, 17, 64, 1000}) all.push_back(contiguous({size}, first));
  }
  for (ScalarType type : kSizes) {
    Bytes element(elementSize(type));
    for (size_t i = 0; i < element.size(); ++i) element[i] = static_cast<unsigned char>(17 + i);
    for (const Lies& lies : all) {
      const int64_t zeros[kMaxDims] = {};
      const auto source_of = [&](const TensorView& out) {
        return TensorView{element.data(), type, Device(), out.sizes, {zeros, out.sizes.size()}};
      };
      check_written(
          checks, type, lies, "fill",
          [&](const TensorView& out) {
            detail::copy_elements(out, source_of(out), CastMode::Checked, nullptr);
          },
          [&](const TensorView& out) {
            return device_kernels().fill(strided_copy(out, source_of(out)), element.data(),
                                         nullptr);
          });
    }
  }
}

inline std::vector<Lies> matrices() {
  return {contiguous({3, 5}), contiguous({5, 3}, 8),   contiguous({1, 1}),
          contiguous({0, 4}), {{6, 4}, {1, 6}, 0, 24}, {{6, 4}, {-9, 2}, 46, 60}};
}

/// Whole numbers in all types.
inline void check_numbers(Checks& checks) {
  const auto copy_here = [](const TensorView& out, const TensorPtr& made) {
    const auto view = view_of(detail::fields(*made));
    detail::copy_elements(out, view, CastMode::Checked, nullptr);
  };
  for (ScalarType type : detail::kScalarTypes) {
    const bool is_bool = type == ScalarType::Bool;
    for (const Lies& lies : matrices()) {
      const Dims sizes(lies.sizes);
      check_written(
          checks, type, lies, "eye",
          [&](const TensorView& out) { copy_here(out, eye(sizes[0], sizes[1], type)); },
          [&](const TensorView& out) { return device_kernels().eye(out, nullptr); });
      for (const OptionalIndex axis : {OptionalIndex(none), OptionalIndex(0), OptionalIndex(1)}) {
        if (is_bool) continue;  // it holds no counts
        check_written(
            checks, type, lies, "iota",
            [&](const TensorView& out) { copy_here(out, iota(sizes, axis, type)); },
            [&](const TensorView& out) { return device_kernels().iota(out, axis, nullptr); });
      }
    }
  }
}

inline std::vector<Lies> random_layouts() {
  std::vector<Lies> all = matrices();
  for (int64_t size : {1, 2, 3, 4, 5, 63, 64, 1023}) all.push_back(contiguous({size}));
  for (int64_t first : {1, 2, 3, 5}) all.push_back(contiguous({101}, first));
  all.push_back({{40, 16}, {20, 1}, 4, 40 * 20});
  all.push_back({{200}, {-3}, 600, 601});
  return all;
}

/// Random numbers of a plan, from several offsets.
inline void check_plan(Checks& checks, const std::string& what, const detail::RandomPlan& plan) {
  for (const Lies& lies : random_layouts()) {
    for (uint64_t offset :
         {uint64_t{0}, uint64_t{1}, uint64_t{6}, uint64_t{0x3fffffffd}, UINT64_MAX - 4}) {
      check_written(
          checks, plan.type, lies, what + " at " + std::to_string(offset),
          [&](const TensorView& out) {
            int64_t count = 1;
            for (int64_t size : out.sizes) count *= size;
            Bytes row(static_cast<size_t>(count) * elementSize(plan.type));
            detail::random_elements(plan, 0x123456789abcdefu, offset, count, row.data());
            detail::copy_elements(out, view_in(row.data(), plan.type, contiguous(lies.sizes)),
                                  CastMode::Checked, nullptr);
          },
          [&](const TensorView& out) {
            const Generator::State start{0x123456789abcdefu, offset, Generator::kVersion};
            return device_kernels().random(out, plan, start, nullptr);
          });
    }
  }
}
inline void check_uniform(Checks& checks) {
  for (ScalarType type : detail::kScalarTypes) {
    for (const auto& [low, high] :
         {std::pair<double, double>(0, 1), {3, 90}, {-1, 3}, {-120.5, 100}, {0, 1e-33}}) {
      detail::RandomPlan plan;
      if (detail::plan_uniform(plan, type, low, high) != Error::Ok) continue;
      check_plan(checks, "uniform [" + std::to_string(low) + ", " + std::to_string(high) + ")",
                 plan);
    }
  }
}
inline void check_normal(Checks& checks) {
  for (ScalarType type : detail::kScalarTypes) {
    for (const auto& [mean, stddev] : {std::pair<double, double>(0, 1), {30, 4}, {-3, 1e3}}) {
      detail::RandomPlan plan;
      if (detail::plan_normal(plan, type, mean, stddev) != Error::Ok) continue;
      check_plan(checks, "normal " + std::to_string(mean) + " " + std::to_string(stddev), plan);
    }
  }
}
inline void check_integers(Checks& checks) {
  for (ScalarType type : detail::kScalarTypes) {
    for (const auto& [low, high] : {std::pair<int64_t, int64_t>(0, 2),
                                    {-7, 120},
                                    {0, 1 << 20},
                                    {-5, 1 << 20},
                                    {3, 0xc0000000},
                                    {INT64_MIN, INT64_MAX},
                                    {-1, (int64_t{1} << 62) + 12345}}) {
      detail::RandomPlan plan;
      if (detail::plan_integers_below(plan, type, low, high) != Error::Ok) continue;
      check_plan(checks, "integers [" + std::to_string(low) + ", " + std::to_string(high) + ")",
                 plan);
    }
    detail::RandomPlan plan;
    checks.check(detail::plan_all_integers(plan, type) == Error::Ok, "plan");
    check_plan(checks, "all integers", plan);
  }
}

/// What is refused, with nothing started.
inline void check_refusals(Checks& checks) {
  OnDevice there(checks, Bytes(64));
  const ViewWithLists odd{there.data() + 1, ScalarType::Float, Device(), {2, 2}, {2, 1}};
  const ViewWithLists even{there.data() + 32, ScalarType::Int, Device(), {2, 2}, {2, 1}};
  detail::RandomPlan plan;
  detail::plan_unit_floats(plan);
  const CudaKernels& kernels = device_kernels();
  const auto refused = [&](cudaError_t error, const char* what) {
    checks.check(error == cudaErrorNotSupported, what);
  };
  refused(kernels.iota(odd, none, nullptr), "iota, misaligned");
  refused(kernels.eye(odd, nullptr), "eye, misaligned");
  refused(kernels.random(odd, plan, {}, nullptr), "random, misaligned");
  const auto cast = [&](const TensorView& dst, const TensorView& src) {
    return kernels.copy(strided_copy(dst, src), dst.type, src.type, CastMode::Truncate, nullptr);
  };
  refused(cast(odd, even), "cast to misaligned elements");
  refused(cast(even, odd), "cast of misaligned elements");
  checks.check(cudaGetLastError(), "no error stays");
}

/// A matrix of bytes that count up in each row; with more than 2^26 rows, more than 2^32 elements.
inline void check_rows(Checks& checks, int64_t rows) {
  constexpr int64_t kColumns = 67;
  void* data = nullptr;
  checks.check(cudaMalloc(&data, static_cast<size_t>(rows * kColumns)), "cudaMalloc");
  const ViewWithLists out{data, ScalarType::Byte, Device(), {rows, kColumns}, {kColumns, 1}};
  checks.check(device_kernels().iota(out, 1, nullptr), "iota of many rows");
  Bytes expected(kColumns);
  for (size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<unsigned char>(i);
  for (int64_t row : {int64_t{0}, rows / 2, rows - 1}) {
    Bytes read(expected.size());
    checks.check(cudaMemcpy(read.data(), static_cast<char*>(data) + row * kColumns, read.size(),
                            cudaMemcpyDeviceToHost),
                 "cudaMemcpy");
    checks.check(read == expected, "row " + std::to_string(row) + " of " + std::to_string(rows));
  }
  cudaFree(data);
}

struct Check {
  const char* name;
  void (*run)(Checks&);
};
inline constexpr Check kChecks[] = {
    {"casts of each type to each, in each mode", &check_casts},
    {"copies and casts at any strides", &check_strided},
    {"fills at any strides", &check_fills},
    {"iota and eye", &check_numbers},
    {"uniform numbers, bit for bit", &check_uniform},
    {"normal numbers, bit for bit", &check_normal},
    {"integers, bit for bit", &check_integers},
    {"what is misaligned is refused", &check_refusals},
};

}  // namespace tests
