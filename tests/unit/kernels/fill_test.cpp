// SPDX-License-Identifier: MIT
#include "tenon/kernels/fill.h"

#include "kernels/helpers.h"

namespace fill_test {

using namespace tenon::detail;
using tests::Bytes;

namespace {

// Bytes 1, 2, 3, … up to the element's size, over and over.
Bytes repeated(size_t element_size, size_t nbytes) {
  Bytes bytes(nbytes);
  for (size_t i = 0; i < nbytes; ++i) bytes[i] = static_cast<unsigned char>(1 + i % element_size);
  return bytes;
}

// Whether `count` elements are filled `offset` bytes into memory, and nothing around them.
bool is_filled(size_t offset, size_t count, const Bytes& expected, size_t size, size_t around) {
  const size_t nbytes = count * size;
  Bytes memory(offset + nbytes + around, 0xa5);
  fill_rows({memory.data() + offset, expected.data(), nbytes, size});
  const auto begin = memory.begin() + static_cast<std::ptrdiff_t>(offset);
  const auto end = begin + static_cast<std::ptrdiff_t>(nbytes);
  const auto is_guard = [](unsigned char byte) { return byte == 0xa5; };
  return std::equal(begin, end, expected.begin()) && std::all_of(memory.begin(), begin, is_guard) &&
         std::all_of(end, memory.end(), is_guard);
}

}  // namespace

TEST_CASE("fill: every count of every size is filled at every address, and nothing around it") {
  constexpr size_t kMost = 300;
  tests::for_each_isa([] {
    int wrong = 0;
    for (size_t size : tests::kElementSizes) {
      const Bytes expected = repeated(size, kMost * size);
      for (size_t count = 0; count <= kMost; ++count) {
        for (size_t offset = 0; offset < 64; offset += tests::kThorough ? 1 : 1 + count % 5) {
          if (!is_filled(offset, count, expected, size, 64)) ++wrong;
        }
        // A sanitizer sees an access beyond the end.
        if (!is_filled(count % 17, count, expected, size, 0)) ++wrong;
      }
    }
    CHECK(wrong == 0);
  });
  fill_rows({nullptr, nullptr, 0, 4});
}

TEST_CASE("fill: memory larger than the caches is filled to its last byte") {
  tests::for_each_isa([] {
    for (size_t size : {size_t{2}, size_t{8}, size_t{16}}) {
      INFO("element size " << size);
      const size_t count = kStreamingBytes / size + 5;
      const Bytes expected = repeated(size, count * size);
      CHECK(is_filled(3, count, expected, size, 16));
      CHECK(is_filled(16, count, expected, size, 16));  // where it is aligned
    }
  });
}

TEST_CASE("fill: the value may have any bits, equal bytes among them, and those are kept") {
  tests::for_each_isa([] {
    for (uint32_t bits : {0x7fa00001u, 0u, 0x80000000u, 0xffffffffu, 0x01010101u, 0x01010100u}) {
      std::vector<uint32_t> memory(100, 7);
      fill_rows({memory.data() + 1, &bits, 98 * 4, 4});
      std::vector<uint32_t> expected(100, bits);
      expected.front() = expected.back() = 7;
      CHECK(memory == expected);
    }
  });
}

}  // namespace fill_test
