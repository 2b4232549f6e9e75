// SPDX-License-Identifier: MIT
#include "tenon/kernels/units.h"

#include "kernels/helpers.h"

namespace units_test {

using namespace tests;
using namespace tenon::detail;

namespace {

const size_t kSizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 15, 16, 17, 31, 32, 33, 255, 256, 257};

std::vector<char> numbered(size_t nbytes) {
  std::vector<char> bytes(nbytes);
  for (size_t i = 0; i < nbytes; ++i) bytes[i] = static_cast<char>(i * 37 + i / 256);
  return bytes;
}

}  // namespace

TEST_CASE("units: each is copied whole, and nothing between them") {
  for (const size_t size : kSizes) {
    for (const int64_t count : {0, 1, 3, 4, 9}) {
      CAPTURE(size, count);
      const auto step = static_cast<int64_t>(size);
      const std::vector<char> from = numbered(12 * size);
      std::vector<char> expected(30 * size, 'x');
      std::vector<char> strided = expected;
      std::vector<char> listed = expected;
      std::vector<ptrdiff_t> to_offsets;
      std::vector<ptrdiff_t> from_offsets;
      for (int64_t k = 0; k < count; ++k) {
        to_offsets.push_back(static_cast<ptrdiff_t>((1 + 3 * k) * step + 1));
        from_offsets.push_back(static_cast<ptrdiff_t>((9 - k) * step));
        std::memcpy(expected.data() + to_offsets.back(), from.data() + from_offsets.back(), size);
      }
      copy_strided(strided.data() + size + 1, 3 * step, from.data() + 9 * size, -step, count, size);
      CHECK(strided == expected);
      copy_at(listed.data(), to_offsets.data(), from.data(), from_offsets.data(), count, size);
      CHECK(listed == expected);
    }
  }
}

// A shift within one memory relies on it.
TEST_CASE("units: those of up to 16 bytes may overlap what is read later") {
  for (size_t size = 1; size <= 16; ++size) {
    for (size_t distance = 1; distance <= size; ++distance) {
      CAPTURE(size, distance);
      std::vector<char> memory = numbered(10 * size + distance);
      std::vector<char> expected = memory;
      std::memmove(expected.data(), memory.data() + distance, 10 * size);
      const auto step = static_cast<int64_t>(size);
      copy_strided(memory.data(), step, memory.data() + distance, step, 10, size);
      CHECK(memory == expected);
    }
  }
}

}  // namespace units_test
