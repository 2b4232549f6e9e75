// SPDX-License-Identifier: MIT
// Generator: the state of a sequence of random numbers, a seed and an offset.
#pragma once

#include <cstdint>

#include "tenon/core/error.h"
#include "tenon/core/mode.h"

#if !TENON_BARE_METAL
#include <ctime>

// getentropy() is in <sys/random.h> of glibc and macOS, in <unistd.h> of musl, the BSDs, Android
// and WASI. Older versions of these lack it.
#if __has_include(<sys/random.h>)
#include <sys/random.h>
#endif
#if !defined(__GLIBC__) && __has_include(<unistd.h>)
#include <unistd.h>
#endif
#endif

TENON_BEGIN_NAMESPACE
namespace detail {

#if !TENON_BARE_METAL
/// Random bits from the system; false on failure. A template, so that a missing getentropy()
/// selects the other overload.
template <class T>
auto take_entropy(T& bits, int) noexcept -> decltype(getentropy(&bits, sizeof bits) == 0) {
  return getentropy(&bits, sizeof bits) == 0;
}
template <class T>
bool take_entropy(T&, long) noexcept {
  return false;
}
#endif

/// 64 unpredictable bits. If no source of entropy is known, they are computed from the clock and
/// the load addresses. On bare metal they are constant.
inline uint64_t system_seed() noexcept {
#if TENON_BARE_METAL
  return 0;
#else
  uint64_t seed = 0;
  const KeepErrno keep;
  if (take_entropy(seed, 0)) return seed;
#if defined(__wasi__)  // has getentropy() and deprecates clock()
  const uint64_t time_run = 0;
#else
  const auto time_run = static_cast<uint64_t>(std::clock());
#endif
  static TENON_THREAD_LOCAL uint64_t calls = 0;
  const uint64_t sources[] = {++calls, reinterpret_cast<uintptr_t>(&calls),
                              reinterpret_cast<uintptr_t>(&seed),
                              static_cast<uint64_t>(std::time(nullptr)), time_run};
  for (uint64_t source : sources) {  // SplitMix64's mixing (Steele, Lea, Flood 2014)
    seed = (seed ^ source) + 0x9e3779b97f4a7c15u;
    seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9u;
    seed = (seed ^ (seed >> 27)) * 0x94d049bb133111ebu;
    seed ^= seed >> 31;
  }
  return seed;
#endif
}

}  // namespace detail

/// A position in one of 2^64 sequences of random numbers.
///
/// The next element i depends only on (seed, offset + i), by Philox4x32-10; generating n elements
/// adds n to the offset. The numbers are the same on every processor, for any number of threads and
/// in any memory layout. docs/random.md defines them, under the version below.
/// Threads: one generator is for one thread at a time.
/// Source: at::Generator; at::Philox4_32 and cuRAND's Philox give the same words.
class Generator {
 public:
  /// Changes when the numbers for a seed and an offset change.
  static constexpr uint32_t kVersion = 1;

  /// Store it to continue the sequence later, or to repeat it.
  struct State {
    uint64_t seed = 0;            ///< which of the sequences
    uint64_t offset = 0;          ///< the position in the sequence, in elements
    uint32_t version = kVersion;  ///< the kVersion that numbers the sequences
  };

  /// Seeded by the system, differently each time.
  Generator() noexcept : seed_(detail::system_seed()) {}
  explicit constexpr Generator(uint64_t seed, uint64_t offset = 0) noexcept
      : seed_(seed), offset_(offset) {}

  /// The seed that was given, or that the system gave.
  constexpr uint64_t seed() const noexcept { return seed_; }
  /// The position in the sequence, in elements.
  constexpr uint64_t offset() const noexcept { return offset_; }

  /// Sets the seed, and the offset to 0.
  constexpr void manual_seed(uint64_t seed) noexcept { *this = Generator(seed); }
  /// Sets the position in the sequence, in elements.
  constexpr void set_offset(uint64_t offset) noexcept { offset_ = offset; }

  /// Seed and offset, for set_state().
  constexpr State state() const noexcept { return State{seed_, offset_, kVersion}; }
  /// Continues from the position of `state`.
  /// Errors: NotSupported for a state of another version; the generator stays as it was.
  [[nodiscard]] Error set_state(const State& state) noexcept {
    if (state.version != kVersion) {
      return detail::fail(Error::NotSupported, "Generator::set_state: the state has version ",
                          state.version, ", expected ", kVersion);
    }
    *this = Generator(state.seed, state.offset);
    return Error::Ok;
  }

  /// Takes the next `count` elements and returns the offset of the first.
  constexpr uint64_t advance(uint64_t count) noexcept {
    const uint64_t first = offset_;
    offset_ += count;  // wraps after 2^64 elements
    return first;
  }

 private:
  uint64_t seed_;
  uint64_t offset_ = 0;
};

/// The calling thread's own generator, which the random functions use by default. The system seeds
/// it at the thread's first use.
/// Source: at::detail::getDefaultCPUGenerator, which all threads share.
TENON_EXPORT inline Generator& default_generator() noexcept {
  static TENON_THREAD_LOCAL Generator generator;
  return generator;
}

/// Seeds the calling thread's default generator; in ATen mode also libtorch's.
/// Source: at::manual_seed.
inline void manual_seed(uint64_t seed) noexcept {
  default_generator().manual_seed(seed);
  detail::seed_aten(seed);
}

TENON_END_NAMESPACE
