// SPDX-License-Identifier: MIT
#include "opencl_helpers.h"

namespace opencl_copy_test {

using namespace tests;
using namespace tenon;

TEST_CASE("opencl: bytes arrive within an allocation, come back, and are copied within") {
  const Bytes before = pattern(1000, 1);
  const Memory memory(before);
  CHECK(memory.bytes() == before);
  const Bytes piece = pattern(77, 2);
  REQUIRE(opencl().copy_from_host(memory.data() + 13, piece.data(), 77) == Error::Ok);
  Bytes expected = before;
  std::copy(piece.begin(), piece.end(), expected.begin() + 13);
  CHECK(memory.bytes() == expected);
  Bytes part(77);
  REQUIRE(opencl().copy_to_host(part.data(), memory.data() + 13, 77) == Error::Ok);
  CHECK(part == piece);
  const Memory other(pattern(1000, 4));
  REQUIRE(opencl().copy_within(memory.data() + 300, memory.data() + 1, 200) == Error::Ok);
  REQUIRE(opencl().copy_within(other.data(), memory.data(), 1000) == Error::Ok);
  std::copy_n(Bytes(expected).begin() + 1, 200, expected.begin() + 300);
  CHECK(other.bytes() == expected);
  CHECK(opencl().synchronize() == Error::Ok);
}

namespace {

/// A copy's elements, one by one.
Bytes copied(const Bytes& dst, const ViewLayout& to, const Bytes& src, const ViewLayout& from,
             size_t size) {
  Bytes result = dst;
  const auto to_offsets = offsets(to);
  const auto from_offsets = offsets(from);
  for (size_t i = 0; i < to_offsets.size(); ++i) {
    std::memcpy(&result[static_cast<size_t>(to_offsets[i]) * size],
                &src[static_cast<size_t>(from_offsets[i]) * size], size);
  }
  return result;
}

/// The elements that an array for this layout needs.
size_t extent(const ViewLayout& layout) {
  const auto all = offsets(layout);
  return all.empty() ? 1 : static_cast<size_t>(*std::max_element(all.begin(), all.end())) + 1;
}

/// How the three directions went.
struct Outcome {
  Error up;
  Error down;
  Error within;
};

/// Copies host to device, device to host and within the device; what says Ok has to be right, what
/// says NotSupported must not have begun.
Outcome check_copies(ScalarType type, const ViewLayout& to, const ViewLayout& from) {
  const size_t size = elementSize(type);
  Bytes dst = pattern(extent(to) * size, 5);
  Bytes src = pattern(extent(from) * size, 6);
  const Bytes expected = copied(dst, to, src, from, size);
  const auto result = [&](Error error) { return error == Error::Ok ? expected : dst; };
  Outcome outcome{};
  {
    const Memory device(dst);
    outcome.up = opencl().copy(view(device, type, to), view(src.data(), Device(), type, from),
                               CastMode::Checked);
    src.assign(src.size(), 0);  // it has been read
    CHECK(device.bytes() == result(outcome.up));
    src = pattern(extent(from) * size, 6);
  }
  {
    const Memory device(src);
    Bytes host = dst;
    outcome.down = opencl().copy(view(host.data(), Device(), type, to), view(device, type, from),
                                 CastMode::Checked);
    CHECK(host == result(outcome.down));
  }
  {
    const Memory source(src);
    const Memory device(dst);
    outcome.within =
        opencl().copy(view(device, type, to), view(source, type, from), CastMode::Checked);
    CHECK(device.bytes() == result(outcome.within));
  }
  for (const Error error : {outcome.up, outcome.down, outcome.within}) {
    CHECK((error == Error::Ok || error == Error::NotSupported));
  }
  return outcome;
}

/// Sizes in any order in memory, with gaps, some backwards.
ViewLayout random_layout(Rng& random, const std::vector<int64_t>& sizes, bool plain) {
  ViewLayout layout = rows(sizes);
  std::vector<size_t> order;
  for (size_t d = 0; d < sizes.size(); ++d) {
    order.insert(order.begin() + (plain ? 0 : random.between(0, static_cast<int64_t>(d))), d);
  }
  int64_t stride = 1;
  for (const size_t d : order) {
    stride *= random.between(0, 3) == 0 ? random.between(1, 3) : 1;
    layout.strides[d] = stride;
    stride = stride * sizes[d] + (random.between(0, 3) == 0 ? random.between(0, 2) : 0);
    if (!plain && random.between(0, 4) == 0) {
      layout.offset += (sizes[d] - 1) * layout.strides[d];
      layout.strides[d] = -layout.strides[d];
    }
  }
  layout.offset += random.between(0, 3);
  return layout;
}

}  // namespace

TEST_CASE("opencl copy: any strides give what a loop gives, in each direction that is done") {
  Rng random{20};
  int done = 0;
  int rectangles = 0;
  for (int i = 0; i < 600; ++i) {
    const int64_t rank = random.between(0, 7);
    std::vector<int64_t> sizes;
    for (int64_t d = 0; d < rank; ++d) sizes.push_back(random.between(1, rank > 4 ? 3 : 6));
    const bool plain = i % 2 == 0;
    const ViewLayout to = random_layout(random, sizes, plain);
    ViewLayout from = random_layout(random, sizes, plain);
    if (rank > 0 && i % 7 == 0) from.strides[static_cast<size_t>(rank - 1)] = 0;  // expanded
    const Outcome outcome = check_copies(kTypeOfSize[i % 5], to, from);
    CHECK(outcome.within == Error::Ok);
    if (outcome.up == Error::Ok) ++done;
    if (outcome.up == Error::Ok && rank > 1) ++rectangles;
    CHECK(outcome.up == outcome.down);
  }
  CHECK(done > 100);
  CHECK(rectangles > 50);
}

TEST_CASE("opencl copy: rows and slices go to the host and back as rectangles") {
  for (const int64_t length : {1, 2, 3, 15, 16, 17, 63, 64, 65, 200}) {
    for (const ScalarType type : kTypeOfSize) {
      const ViewLayout padded{{2, 5, length}, {5 * (length + 3), length + 3, 1}, 2};
      for (const Outcome& outcome : {check_copies(type, padded, rows({2, 5, length})),
                                     check_copies(type, rows({2, 5, length}), padded)}) {
        CHECK(outcome.up == Error::Ok);
        CHECK(outcome.down == Error::Ok);
        CHECK(outcome.within == Error::Ok);
      }
    }
  }
  // No whole number of rows from slice to slice.
  const ViewLayout uneven{{2, 5, 70}, {5 * 73 + 1, 73, 1}, 0};
  const Outcome outcome = check_copies(ScalarType::Float, uneven, rows({2, 5, 70}));
  CHECK(outcome.up == Error::NotSupported);
  CHECK(outcome.within == Error::Ok);
}

TEST_CASE("opencl copy: rows of one buffer that interleave") {
  const Bytes before = pattern(2 * 4 * 100 * 4, 7);
  const Memory memory(before);
  const ViewLayout even{{4, 100}, {200, 1}, 0};
  const ViewLayout odd{{4, 100}, {200, 1}, 100};
  REQUIRE(opencl().copy(view(memory, ScalarType::Float, odd), view(memory, ScalarType::Float, even),
                        CastMode::Checked) == Error::Ok);
  CHECK(memory.bytes() == copied(before, odd, before, even, 4));
}

TEST_CASE("opencl copy: nothing happens without elements, whatever the strides") {
  const ViewLayout nothing{{3, 0, 2}, {INT64_MAX / 2, INT64_MAX / 2, 1}, 0};
  TensorView dst = view(nullptr, opencl().device(), ScalarType::Float, nothing);
  TensorView src = view(nullptr, Device(), ScalarType::Float, nothing);
  CHECK(opencl().copy(dst, src, CastMode::Checked) == Error::Ok);
  CHECK(opencl().copy_from_host(nullptr, nullptr, 0) == Error::Ok);
  CHECK(opencl().copy_to_host(nullptr, nullptr, 0) == Error::Ok);
  CHECK(opencl().copy_within(nullptr, nullptr, 0) == Error::Ok);
}

TEST_CASE("opencl copy: what it leaves to the host is NotSupported, and nothing changes") {
  const Bytes before = pattern(2048 * 4, 8);
  const Memory memory(before);
  const Memory other(before);
  Bytes host = pattern(2048 * 4, 9);
  const auto strided = [](size_t rank, bool is_reversed) {
    ViewLayout layout = rows(Vector(rank, 2));
    if (is_reversed) std::reverse(layout.strides.begin(), layout.strides.end());
    return layout;
  };
  const auto type = ScalarType::Float;
  const ViewWithLists row = view(memory, type, rows({8}));
  for (const auto& [dst, src] :
       {std::pair(row, view(host.data(), Device(), ScalarType::Int, rows({8}))),
        std::pair(row, view(host.data(), Device("cuda"), type, rows({8}))),
        std::pair(view(memory, type, strided(9, false)), view(other, type, strided(9, true)))}) {
    CHECK(opencl().copy(dst, src, CastMode::Checked) == Error::NotSupported);
  }
  CHECK(memory.bytes() == before);
  CHECK(check_copies(ScalarType::Short, strided(7, false), strided(7, true)).within == Error::Ok);
}

}  // namespace opencl_copy_test
