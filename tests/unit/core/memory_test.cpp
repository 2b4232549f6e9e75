// SPDX-License-Identifier: MIT
#include "tenon/core/memory.h"

#include "support/catch.h"

namespace memory_test {

using tenon::detail::allocate;
using tenon::detail::allocate_zeroed;
using tenon::detail::Allocation;

namespace {
const size_t kSizes[] = {0,    1,    2,    3,    7,     8,      15,       16,
                         63,   64,   65,   127,  128,   129,    1000,     4095,
                         4096, 4097, 8192, 9999, 65536, 100001, 1u << 20, (1u << 22) + 1};

uintptr_t address(const void* p) { return reinterpret_cast<uintptr_t>(p); }
}  // namespace

TEST_CASE("memory: allocated memory is aligned to 64 bytes and all of it can be written") {
  STATIC_REQUIRE(tenon::detail::kDataAlignment == 64);
  for (size_t nbytes : kSizes) {
    // Three alive at a time, so that malloc cannot return one aligned block again and again.
    const Allocation blocks[] = {allocate(nbytes), allocate(nbytes + 1), allocate(nbytes + 2)};
    for (size_t i = 0; i < 3; ++i) {
      INFO("nbytes " << nbytes + i);
      REQUIRE(blocks[i].base != nullptr);
      CHECK(address(blocks[i].data) % 64 == 0);
      CHECK(address(blocks[i].data) - address(blocks[i].base) < 64);
      std::memset(blocks[i].data, 0xa5, nbytes + i);
    }
    for (const Allocation& block : blocks) std::free(block.base);
  }
}

TEST_CASE("memory: large blocks are aligned too, and all of them can be written") {
  for (size_t nbytes : {(size_t{8} << 20) - 1, size_t{8} << 20, (size_t{11} << 20) + 5}) {
    const Allocation block = allocate(nbytes);
    INFO("nbytes " << nbytes);
    REQUIRE(block.base != nullptr);
    CHECK(address(block.data) % 64 == 0);
    std::memset(block.data, 0xa5, nbytes);
    std::free(block.base);
  }
}

TEST_CASE("memory: zeroed memory is aligned and reads as zero, also where memory was used before") {
  for (size_t nbytes : kSizes) {
    const Allocation dirty = allocate(nbytes);
    REQUIRE(dirty.base != nullptr);
    std::memset(dirty.data, 0xff, nbytes);
    std::free(dirty.base);

    const Allocation block = allocate_zeroed(nbytes);
    INFO("nbytes " << nbytes);
    REQUIRE(block.base != nullptr);
    CHECK(address(block.data) % 64 == 0);
    const auto* bytes = static_cast<const unsigned char*>(block.data);
    // All bytes are zero when the first is and each equals its neighbour.
    CHECK((nbytes == 0 || (bytes[0] == 0 && std::memcmp(bytes, bytes + 1, nbytes - 1) == 0)));
    std::free(block.base);
  }
}

TEST_CASE("memory: a size that no address space holds gives null, and the margin does not wrap") {
  const size_t limit = static_cast<size_t>(PTRDIFF_MAX);
  for (size_t nbytes : {SIZE_MAX, SIZE_MAX - 62, SIZE_MAX / 2 + 2, limit, limit - 63}) {
    INFO("nbytes " << nbytes);
    CHECK(allocate(nbytes).base == nullptr);
    CHECK(allocate(nbytes).data == nullptr);
    CHECK(allocate_zeroed(nbytes).base == nullptr);
    CHECK(allocate_zeroed(nbytes).data == nullptr);
  }
}

}  // namespace memory_test
