// SPDX-License-Identifier: MIT
#include "tenon/interop/processes/shm_header.h"

#include <random>

#include "support/catch.h"

namespace shm_header_test {

using namespace tenon;
using namespace tests;
using tenon::detail::kShmOffset;
using tenon::detail::ShmHeader;
using tenon::detail::ShmLayout;

namespace {

constexpr uint64_t kTotal = kShmOffset + 24;

/// Of 2x3 Ints, in row-major order: 24 bytes.
ShmHeader valid_header() {
  ShmHeader header;
  header.type = static_cast<int32_t>(ScalarType::Int);
  header.rank = 2;
  header.sizes[0] = 2;
  header.sizes[1] = 3;
  header.strides[0] = 3;
  header.strides[1] = 1;
  return header;
}

Error parse(const ShmHeader& header, uint64_t total = kTotal) {
  ShmLayout shm;
  return detail::parse_shm_header(header, total, shm);
}

template <class F>
Error parse_with(const F& change) {
  ShmHeader header = valid_header();
  change(header);
  return parse(header);
}

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("shm header: each field that is wrong is an error that says which") {
  RETURNS(InvalidArgument, "does not begin with the header",
          parse_with([](ShmHeader& h) { h.magic[7] = 'N'; }));
  for (const uint32_t version : {0u, 2u, 0xffffffffu, 0x01000000u}) {
    RETURNS(NotSupported, "expected 1", parse_with([&](ShmHeader& h) { h.version = version; }));
  }
  for (const int32_t type : {-129, 128, 256 + 3, INT32_MIN, INT32_MAX}) {
    RETURNS(InvalidArgument, "dtype number " + std::to_string(type),
            parse_with([&](ShmHeader& h) { h.type = type; }));
  }
  for (const int32_t type : {-1, 12, 22, 30, 127}) {  // that no dtype has
    RETURNS(InvalidType, "", parse_with([&](ShmHeader& h) { h.type = type; }));
  }
  for (const uint64_t rank : {uint64_t{65}, uint64_t{1} << 32, UINT64_MAX}) {
    RETURNS(InvalidArgument, std::to_string(rank) + " dimensions",
            parse_with([&](ShmHeader& h) { h.rank = rank; }));
  }
  for (const uint64_t offset : {uint64_t{0}, uint64_t{4095}, uint64_t{8192}, UINT64_MAX}) {
    RETURNS(InvalidArgument, "from byte " + std::to_string(offset),
            parse_with([&](ShmHeader& h) { h.offset = offset; }));
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("shm header: sizes and strides that reach outside of the memory are errors") {
  RETURNS(InvalidArgument, "size -1 of dimension 0 is negative",
          parse_with([](ShmHeader& h) { h.sizes[0] = -1; }));
  RETURNS(InvalidArgument, "overflow", parse_with([](ShmHeader& h) { h.sizes[0] = INT64_MAX; }));
  RETURNS(InvalidArgument, "overflow",
          parse_with([](ShmHeader& h) { h.sizes[0] = h.sizes[1] = int64_t{1} << 31; }));
  RETURNS(InvalidArgument, "need 4132 bytes, but the memory has 4120",
          parse_with([](ShmHeader& h) { h.sizes[0] = 3; }));
  RETURNS(InvalidArgument, "need 4124 bytes", parse_with([](ShmHeader& h) { h.strides[0] = 4; }));
  RETURNS(InvalidArgument, "", parse_with([](ShmHeader& h) { h.strides[0] = INT64_MAX; }));
  RETURNS(InvalidArgument, "", parse_with([](ShmHeader& h) { h.strides[0] = INT64_MIN; }));
  RETURNS(InvalidArgument, "are negative", parse_with([](ShmHeader& h) { h.strides[0] = -3; }));
  RETURNS(InvalidArgument, "may overlap", parse_with([](ShmHeader& h) { h.strides[0] = 1; }));
  RETURNS(InvalidArgument, "may overlap", parse_with([](ShmHeader& h) { h.strides[1] = 0; }));
  for (const uint64_t total : {uint64_t{0}, uint64_t{1056}, kShmOffset + uint64_t{23}}) {
    RETURNS(InvalidArgument, "need 4120 bytes", parse(valid_header(), total));
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("shm header: whatever its bytes are, what is accepted lies in the memory") {
  std::mt19937_64 random(1);
  const int64_t numbers[] = {0,  1,  2,       3,         7,         -1,
                             -3, 64, 1 << 20, INT64_MAX, INT64_MIN, INT64_MAX / 4};
  int accepted = 0;
  for (int i = 0; i < 50000; ++i) {
    ShmHeader header = valid_header();
    header.rank = random() % 5;
    for (size_t d = 0; d < 4; ++d) {
      header.sizes[d] = numbers[random() % (random() % 3 == 0 ? std::size(numbers) : 4)];
      header.strides[d] = numbers[random() % (random() % 3 == 0 ? std::size(numbers) : 5)];
    }
    header.type = static_cast<int32_t>(random() % 31);
    if (random() % 4 == 0) {  // any byte
      unsigned char bytes[sizeof header];
      std::memcpy(bytes, &header, sizeof header);
      bytes[random() % 64] = static_cast<unsigned char>(random());
      std::memcpy(&header, bytes, sizeof header);
    }
    const uint64_t total = random() % 8192;
    ShmLayout shm;
    if (detail::parse_shm_header(header, total, shm) != Error::Ok) continue;
    ++accepted;
    // The highest element, by 128 bits.
    __extension__ using Wide = __int128;
    Wide highest = 0;
    bool is_empty = false;
    for (size_t d = 0; d < header.rank; ++d) {
      is_empty = is_empty || header.sizes[d] == 0;
      highest += Wide{header.sizes[d] - 1} * header.strides[d];
    }
    const auto size = static_cast<Wide>(elementSize(static_cast<ScalarType>(header.type)));
    const Wide end = Wide{4096} + (is_empty ? Wide{0} : (highest + 1) * size);
    REQUIRE(end <= Wide{total});
    REQUIRE(Wide{shm.length} == end);
  }
  CHECK(accepted > 500);
}

}  // namespace shm_header_test
