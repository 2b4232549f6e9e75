// SPDX-License-Identifier: MIT
#include "tenon/kernels/fill.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "support/catch.h"

using tenon::detail::fill_elements;
using tenon::detail::with_element_size;

TEST_CASE("fill: every element gets the value's bytes, for every size and count, misaligned too") {
  const unsigned char value[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  int wrong = 0;
  for (size_t size : std::initializer_list<size_t>{1, 2, 4, 8, 16}) {
    for (size_t offset : std::initializer_list<size_t>{0, 1, 3}) {
      for (size_t count : std::initializer_list<size_t>{0, 1, 2, 3, 7, 64, 1000}) {
        // The memory around the elements keeps its bytes.
        std::vector<unsigned char> memory(offset + count * size + 8, 0xee);
        std::vector<unsigned char> expected = memory;
        for (size_t i = 0; i < count * size; ++i) expected[offset + i] = value[i % size];
        fill_elements(memory.data() + offset, static_cast<int64_t>(count), value, size);
        if (memory != expected) ++wrong;
      }
    }
  }
  CHECK(wrong == 0);
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

TEST_CASE("fill: the value may have any bits, and those are kept") {
  const uint32_t signalling_nan = 0x7fa00001u;
  uint32_t memory[3] = {};
  fill_elements(memory, 3, &signalling_nan, 4);
  CHECK(memory[0] == 0x7fa00001u);
  CHECK(memory[2] == 0x7fa00001u);
}

TEST_CASE("fill: with_element_size hands over a block of bytes of that size") {
  for (size_t size : std::initializer_list<size_t>{1, 2, 4, 8, 16}) {
    size_t seen = 0;
    size_t alignment = 0;
    with_element_size(size, [&](auto bits) {
      seen = sizeof bits;
      alignment = alignof(decltype(bits));
    });
    INFO("size " << size);
    CHECK(seen == size);
    CHECK(alignment == 1);
  }
}
