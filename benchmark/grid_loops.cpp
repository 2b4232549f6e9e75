// SPDX-License-Identifier: MIT

#include "grid_loops.h"

#include <complex>
#include <cstring>
#include <type_traits>
#if defined(__F16C__)
#include <immintrin.h>
#endif

#if BENCH_NATIVE
#define FIND_LOOPS find_native_loops
#define FIND_SCANS find_native_scans
#else
#define FIND_LOOPS find_loops
#define FIND_SCANS find_scans
#endif

namespace {

struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

template <class To, class From>
inline void convert(To& to, const From& from) {
  to = static_cast<To>(from);
}
inline void convert(float& to, const BFloat16& from) {
  const uint32_t bits = static_cast<uint32_t>(from.bits) << 16;
  std::memcpy(&to, &bits, sizeof bits);
}
#if defined(__F16C__)
inline void convert(float& to, const Half& from) {
  to = _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(from.bits)));
}
inline void convert(Half& to, const float& from) {
  to.bits = static_cast<uint16_t>(_mm_extract_epi16(_mm_cvtps_ph(_mm_set_ss(from), 0), 0));
}
#endif

constexpr int64_t kAny = INT64_MAX;

/// The last dimension's size and strides are known, unless kAny.
template <int64_t kSize, int64_t kTo, int64_t kFrom, class To, class From>
void loop(void* to, const void* from, const Nest& nest) {
  const size_t last = nest.sizes.size() - 1;
  const int64_t size = kSize == kAny ? nest.sizes[last] : kSize;
  const int64_t to_stride = kTo == kAny ? nest.to[last] : kTo;
  const int64_t from_stride = kFrom == kAny ? nest.from[last] : kFrom;
  const int64_t rows = nest.sizes[last - 1];
  const int64_t to_row = nest.to[last - 1];
  const int64_t from_row = nest.from[last - 1];
  const int64_t planes = nest.sizes[last - 2];
  const int64_t to_plane = nest.to[last - 2];
  const int64_t from_plane = nest.from[last - 2];
  auto* out = static_cast<To*>(to);
  const auto* in = static_cast<const From*>(from);
  int64_t index[16] = {};
  for (;;) {
    for (int64_t i = 0; i < planes; ++i) {
      for (int64_t j = 0; j < rows; ++j) {
        To* __restrict const row = out + i * to_plane + j * to_row;
        const From* __restrict const source = in + i * from_plane + j * from_row;
        if constexpr (std::is_same_v<To, From> && kSize != kAny && kTo == 1 && kFrom == 1) {
          std::memcpy(row, source, kSize * sizeof(To));
        } else {
          for (int64_t k = 0; k < size; ++k) convert(row[k * to_stride], source[k * from_stride]);
        }
      }
    }
    size_t d = last - 2;
    while (d > 0) {
      --d;
      out += nest.to[d];
      in += nest.from[d];
      if (++index[d] < nest.sizes[d]) break;
      out -= nest.to[d] * nest.sizes[d];
      in -= nest.from[d] * nest.sizes[d];
      index[d] = 0;
      if (d == 0) return;
    }
    if (last == 2) return;
  }
}

struct Found {
  const Nest& nest;
  std::vector<Loop> loops = {};

  template <int64_t kSize, int64_t kTo, int64_t kFrom, class To, class From>
  void add() {
    if (kSize != kAny && nest.sizes.back() != kSize) return;
    if (kTo != kAny && nest.to.back() != kTo) return;
    if (kFrom != kAny && nest.from.back() != kFrom) return;
    loops.push_back(&loop<kSize, kTo, kFrom, To, From>);
  }
  template <class To, class From>
  void add_general() {
    add<kAny, 1, 1, To, From>();
    add<kAny, 1, kAny, To, From>();
    add<kAny, kAny, 1, To, From>();
    add<kAny, kAny, kAny, To, From>();
  }
  template <class To, class From>
  void add_all() {
    add_general<To, From>();
    add<kAny, 1, -1, To, From>();
    add<kAny, 1, 0, To, From>();
    add<kAny, 1, 2, To, From>();
    add<kAny, 1, 3, To, From>();
    add<3, 1, -1, To, From>();
    add<3, 1, kAny, To, From>();
    add<3, kAny, 1, To, From>();
    add<8, 1, 1, To, From>();
    add<2, kAny, kAny, To, From>();
    add<3, kAny, kAny, To, From>();
    add<4, kAny, kAny, To, From>();
  }
  /// Runs of so many bytes: elements that no type of C++ has.
  template <int64_t... kSizes>
  void add_runs() {
    (add<kSizes, 1, 1, uint8_t, uint8_t>(), ...);
  }
  template <class To>
  void add_casts(Number from) {
    switch (from) {
      case Number::Byte: return add_general<To, uint8_t>();
      case Number::Char: return add_general<To, int8_t>();
      case Number::UInt16: return add_general<To, uint16_t>();
      case Number::Short: return add_general<To, int16_t>();
      case Number::Int: return add_general<To, int32_t>();
      case Number::Long: return add_general<To, int64_t>();
      case Number::Float: return add_general<To, float>();
      case Number::Double: return add_general<To, double>();
      default: return;
    }
  }
};

template <class T>
bool equal(const void* a, const void* b, int64_t count) {
  const auto* const x = static_cast<const T*>(a);
  const auto* const y = static_cast<const T*>(b);
  if constexpr (std::is_integral_v<T>) {
    return std::memcmp(x, y, static_cast<size_t>(count) * sizeof(T)) == 0;
  }
  // Without a way out of the inner loop, so that it is vectorised.
  for (int64_t i = 0; i < count;) {
    const int64_t end = count - i < 1024 ? count : i + 1024;
    unsigned differ = 0;
    for (; i < end; ++i) differ |= x[i] != y[i] ? 1U : 0U;
    if (differ != 0) return false;
  }
  return true;
}

template <class T>
void min_max(const void* values, int64_t count, void* least, void* largest) {
  const auto* const x = static_cast<const T*>(values);
  T low = x[0];
  T high = x[0];
  for (int64_t i = 1; i < count; ++i) {
    low = x[i] < low ? x[i] : low;
    high = x[i] > high ? x[i] : high;
  }
  std::memcpy(least, &low, sizeof low);
  std::memcpy(largest, &high, sizeof high);
}

template <class T>
constexpr Scans kScans = {&equal<T>, &min_max<T>};

}  // namespace

std::vector<Loop> FIND_LOOPS(Number from, Number to, const Nest& nest) {
  Found found{nest};
  if (from == to) {
    switch (from) {
      case Number::Byte:
      case Number::Char:
      case Number::Bool:
        found.add_all<uint8_t, uint8_t>();
        found.add_runs<5, 6, 7, 9, 10, 11, 12, 13, 14, 15>();
        found.add<3, 1, 1, uint8_t, uint8_t>();
        break;
      case Number::UInt16:
      case Number::Short:
      case Number::Half:
      case Number::BFloat16: found.add_all<uint16_t, uint16_t>(); break;
      case Number::Int: found.add_all<uint32_t, uint32_t>(); break;
      case Number::Float: found.add_all<float, float>(); break;
      case Number::Long: found.add_all<uint64_t, uint64_t>(); break;
      case Number::Double: found.add_all<double, double>(); break;
      case Number::ComplexFloat: break;
      case Number::ComplexDouble:
        found.add_all<std::complex<double>, std::complex<double>>();
        break;
    }
    return found.loops;
  }
  if (from == Number::ComplexDouble) {
    found.add_all<std::complex<float>, std::complex<double>>();
  } else if (from == Number::Bool) {
    found.add_all<float, bool>();
  } else if (from == Number::BFloat16) {
    found.add_all<float, BFloat16>();
#if defined(__F16C__)
  } else if (from == Number::Half) {
    found.add_all<float, Half>();
  } else if (to == Number::Half) {
    if (from == Number::Float) found.add_all<Half, float>();
#endif
  } else if (to == Number::Float) {
    switch (from) {
      case Number::Byte: found.add_all<float, uint8_t>(); break;
      case Number::Char: found.add_all<float, int8_t>(); break;
      case Number::Short: found.add_all<float, int16_t>(); break;
      case Number::Int: found.add_all<float, int32_t>(); break;
      case Number::Double: found.add_all<float, double>(); break;
      default: found.add_casts<float>(from);
    }
  } else if (to == Number::Int && from == Number::Long) {
    found.add_all<int32_t, int64_t>();
  } else {
    switch (to) {
      case Number::Byte: found.add_casts<uint8_t>(from); break;
      case Number::Char: found.add_casts<int8_t>(from); break;
      case Number::UInt16: found.add_casts<uint16_t>(from); break;
      case Number::Short: found.add_casts<int16_t>(from); break;
      case Number::Int: found.add_casts<int32_t>(from); break;
      case Number::Long: found.add_casts<int64_t>(from); break;
      case Number::Double: found.add_casts<double>(from); break;
      default: break;
    }
  }
  return found.loops;
}

Scans FIND_SCANS(Number type) {
  switch (type) {
    case Number::Byte: return kScans<uint8_t>;
    case Number::Int: return kScans<int32_t>;
    case Number::Long: return kScans<int64_t>;
    case Number::Float: return kScans<float>;
    default: return kScans<double>;
  }
}
