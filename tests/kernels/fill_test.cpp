// SPDX-License-Identifier: MIT
#include "tenon/kernels/fill.h"

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "kernels/helpers.h"

using tenon::detail::fill_elements;
using tenon::detail::kStreamingBytes;
using tests::Bytes;

namespace {

constexpr unsigned char kGuard = 0xa5;

// Bytes 1, 2, 3, … up to the element's size, over and over.
Bytes repeated(size_t element_size, size_t nbytes) {
  Bytes bytes(nbytes);
  for (size_t i = 0; i < nbytes; ++i) bytes[i] = static_cast<unsigned char>(1 + i % element_size);
  return bytes;
}

bool is_guard(const unsigned char* bytes, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    if (bytes[i] != kGuard) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("fill: every count of every size is filled at every address, and nothing around it") {
  constexpr size_t kMost = 300;
  tests::for_each_isa([] {
    int wrong = 0;
    for (size_t size : tests::kElementSizes) {
      const Bytes expected = repeated(size, kMost * size);
      alignas(64) static unsigned char memory[64 + kMost * 16 + 64];
      for (size_t count = 0; count <= kMost; ++count) {
        for (size_t offset = 0; offset < 64; offset += tests::kThorough ? 1 : 1 + count % 5) {
          const size_t nbytes = count * size;
          std::memset(memory, kGuard, 64 + nbytes + 64);
          unsigned char* const out = memory + offset;
          fill_elements(out, static_cast<int64_t>(count), expected.data(), size);
          const bool right = std::memcmp(out, expected.data(), nbytes) == 0 &&
                             is_guard(memory, offset) && is_guard(out + nbytes, 64);
          if (!right) ++wrong;
        }
      }
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("fill: a block of exactly the bytes is not left, wherever it starts") {
  tests::for_each_isa([] {
    int wrong = 0;
    for (size_t size : tests::kElementSizes) {
      const Bytes expected = repeated(size, 70 * 16);
      for (size_t count = 1; count < 70; ++count) {
        // A sanitizer sees an access beyond the end, and for offset 0 one before the start.
        for (size_t offset = 0; offset < 17; ++offset) {
          Bytes memory(offset + count * size);
          fill_elements(memory.data() + offset, static_cast<int64_t>(count), expected.data(), size);
          if (std::memcmp(memory.data() + offset, expected.data(), count * size) != 0) ++wrong;
        }
      }
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("fill: memory larger than the caches is filled to its last byte") {
  for (size_t size : {size_t{2}, size_t{8}, size_t{16}}) {
    const Bytes pattern = repeated(16, 4096);
    const size_t count = kStreamingBytes / size + 5;
    Bytes memory(3 + count * size + 16);
    tests::for_each_isa([&] {
      INFO("element size " << size);
      std::memset(memory.data(), kGuard, memory.size());
      unsigned char* const out = memory.data() + 3;
      fill_elements(out, static_cast<int64_t>(count), pattern.data(), size);
      const Bytes expected = repeated(size, 4096);
      size_t wrong = 0;
      for (size_t i = 0; i < count * size; i += 4096) {
        const size_t n = count * size - i < 4096 ? count * size - i : 4096;
        if (std::memcmp(out + i, expected.data(), n) != 0) ++wrong;
      }
      CHECK(wrong == 0);
      CHECK(is_guard(memory.data(), 3));
      CHECK(is_guard(out + count * size, 16));
    });
  }
}

TEST_CASE("fill: nothing is touched when there is nothing to fill") {
  fill_elements(nullptr, 0, nullptr, 4);  // under a sanitizer, an access would fail here
  const float value = 1;
  float memory[] = {2, 3};
  fill_elements(memory, 0, &value, sizeof value);
  CHECK(memory[0] == 2.0f);
  fill_elements(memory, 1, &value, sizeof value);
  CHECK(memory[0] == 1.0f);
  CHECK(memory[1] == 3.0f);
}

TEST_CASE("fill: the value may have any bits, equal bytes among them, and those are kept") {
  tests::for_each_isa([] {
    for (uint32_t bits : {0x7fa00001u, 0u, 0x80000000u, 0xffffffffu, 0x01010101u, 0x01010100u}) {
      std::vector<uint32_t> memory(100, 7);
      fill_elements(memory.data() + 1, 98, &bits, 4);
      std::vector<uint32_t> expected(100, bits);
      expected.front() = expected.back() = 7;
      CHECK(memory == expected);
    }
  });
}
