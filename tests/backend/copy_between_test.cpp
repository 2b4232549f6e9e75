// SPDX-License-Identifier: MIT
#include "tenon/backend/copy_between.h"

#include <cstdint>
#include <numeric>
#include <vector>

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/kernels/convert.h"

using namespace tenon;
using tenon::detail::copy_between;
using tenon::detail::Place;
using namespace tests;

namespace {

using Ints = std::vector<int32_t>;

/// Memory of a backend's, for as long as it lives.
struct Block {
  Block(MinimalBackend& backend, const Ints& values)
      : owner(backend), nbytes(values.size() * 4), data(backend.allocate(nbytes, 64)) {
    tenon::detail::enlist(backend);
    REQUIRE(backend.copy_from_host(data, values.data(), nbytes) == Error::Ok);
    forget();
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() { owner.deallocate(data, nbytes); }

  Ints values() const {
    Ints out;
    for (size_t i = 0; i < nbytes / 4; ++i) {
      out.push_back(owner.get<int32_t>(data, static_cast<int64_t>(i)));
    }
    return out;
  }
  Place place(const Dims& sizes, const Dims& strides, int64_t offset = 0,
              detail::ScalarType type = detail::ScalarType::Int) const {
    return {{static_cast<char*>(data) + offset * 4, type, owner.device(), sizes, strides}, &owner};
  }
  void forget() const {
    owner.calls.clear();
    owner.uploaded = owner.downloaded = 0;
  }

  MinimalBackend& owner;
  size_t nbytes;
  void* data;
};

Place host(Ints& values, const Dims& sizes, const Dims& strides, int64_t offset = 0) {
  return {{values.data() + offset, detail::ScalarType::Int, Device(), sizes, strides}, nullptr};
}

Ints counted(size_t n) {
  Ints values(n);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

}  // namespace

TEST_CASE("copy_between: what lies alike is one block") {
  MinimalBackend b;
  const Block block(b, Ints(6, 0));
  Ints values = counted(6);
  CHECK(copy_between(block.place({2, 3}, {3, 1}), host(values, {2, 3}, {3, 1}), CastMode::Checked,
                     &tenon::detail::cast_elements<>) == Error::Ok);
  CHECK(block.values() == Ints{0, 1, 2, 3, 4, 5});
  CHECK(b.calls["copy_from_host"] == 1);
  Ints turned(6);
  // Both column by column: alike all the same.
  CHECK(copy_between(host(turned, {2, 3}, {1, 2}), block.place({2, 3}, {1, 2}), CastMode::Checked,
                     &tenon::detail::cast_elements<>) == Error::Ok);
  CHECK(turned == values);
  CHECK(b.calls["copy_to_host"] == 1);
}

TEST_CASE("copy_between: a few rows are moved one by one, and nothing between them") {
  MinimalBackend b;
  const Block block(b, Ints(40, 9));
  Ints values = counted(4);
  CHECK(copy_between(block.place({2, 2}, {20, 1}), host(values, {2, 2}, {2, 1}), CastMode::Checked,
                     &tenon::detail::cast_elements<>) == Error::Ok);
  CHECK(b.uploaded == 16);
  CHECK(b.downloaded == 0);
  Ints expected(40, 9);
  expected[0] = 0;
  expected[1] = 1;
  expected[20] = 2;
  expected[21] = 3;
  CHECK(block.values() == expected);
  Ints back(4);
  block.forget();
  CHECK(copy_between(host(back, {2, 2}, {2, 1}), block.place({2, 2}, {20, 1}), CastMode::Checked,
                     &tenon::detail::cast_elements<>) == Error::Ok);
  CHECK(back == values);
  CHECK(b.downloaded == 16);
}

TEST_CASE("copy_between: many short rows are fetched with what is between them, which stays") {
  MinimalBackend b;
  const Block block(b, counted(300));
  Ints values(100, -1);
  CHECK(copy_between(block.place({100}, {3}), host(values, {100}, {1}), CastMode::Checked,
                     &tenon::detail::cast_elements<>) == Error::Ok);
  CHECK(b.calls["copy_from_host"] == 1);
  CHECK(b.calls["copy_to_host"] == 1);
  CHECK(b.downloaded == 298 * 4);
  Ints expected = counted(300);
  for (size_t i = 0; i < 300; i += 3) expected[i] = -1;
  CHECK(block.values() == expected);
  CHECK(b.faults == 0);
}

TEST_CASE("copy_between: rows far apart are not fetched with what is between them") {
  MinimalBackend b;
  const Block block(b, counted(20000));
  Ints values(20);
  CHECK(copy_between(host(values, {20}, {1}), block.place({20}, {1000}), CastMode::Checked,
                     &tenon::detail::cast_elements<>) == Error::Ok);
  CHECK(b.downloaded == 80);
  for (int32_t i = 0; i < 20; ++i) CHECK(values[static_cast<size_t>(i)] == i * 1000);
}

TEST_CASE("copy_between: negative strides, of either") {
  MinimalBackend b;
  const Block block(b, counted(6));
  Ints values(6);
  CHECK(copy_between(host(values, {6}, {1}), block.place({6}, {-1}, 5), CastMode::Checked,
                     &tenon::detail::cast_elements<>) == Error::Ok);
  CHECK(values == Ints{5, 4, 3, 2, 1, 0});
  CHECK(copy_between(block.place({3}, {-2}, 5), host(values, {3}, {1}), CastMode::Checked,
                     &tenon::detail::cast_elements<>) == Error::Ok);
  CHECK(block.values() == Ints{0, 3, 2, 4, 4, 5});
  CHECK(b.faults == 0);
}

TEST_CASE("copy_between: an element for all, by stride 0") {
  MinimalBackend b;
  const Block block(b, counted(3));
  Ints values(6);
  CHECK(copy_between(host(values, {2, 3}, {3, 1}), block.place({2, 3}, {0, 1}), CastMode::Checked,
                     &tenon::detail::cast_elements<>) == Error::Ok);
  CHECK(values == Ints{0, 1, 2, 0, 1, 2});
  CHECK(b.downloaded == 12);
}

TEST_CASE("copy_between: types are converted on the host") {
  MinimalBackend b;
  const Block from(b, {1, -2, 3});
  const Block to(b, Ints(3, 0));
  CHECK(copy_between(to.place({3}, {1}, 0, tenon::detail::ScalarType::Float), from.place({3}, {1}),
                     CastMode::Checked, &tenon::detail::cast_elements<>) == Error::Ok);
  CHECK(b.get<float>(to.data, 1) == -2.f);
  CHECK(b.faults == 0);
}

TEST_CASE("copy_between: 8 dimensions") {
  MinimalBackend b;
  const Block block(b, Ints(256, 0));
  Ints values = counted(256);
  const Dims sizes{2, 2, 2, 2, 2, 2, 2, 2};
  const Dims turned{1, 2, 4, 8, 16, 32, 64, 128};
  CHECK(copy_between(block.place(sizes, {128, 64, 32, 16, 8, 4, 2, 1}), host(values, sizes, turned),
                     CastMode::Checked, &tenon::detail::cast_elements<>) == Error::Ok);
  const Ints got = block.values();
  for (size_t i = 0; i < 256; ++i) {
    size_t reversed = 0;
    for (size_t bit = 0; bit < 8; ++bit) reversed |= ((i >> bit) & 1) << (7 - bit);
    if (got[i] != static_cast<int32_t>(reversed)) FAIL_CHECK("element " << i);
  }
}

TEST_CASE("copy_between: without elements nobody is asked") {
  CountingBackend b;
  Ints values(1);
  tenon::detail::enlist(b);
  CHECK(copy_between({{nullptr, tenon::detail::ScalarType::Int, b.device(), {0, 3}, {3, 1}}, &b},
                     host(values, {0, 3}, {3, 1}), CastMode::Checked,
                     &tenon::detail::cast_elements<>) == Error::Ok);
  CHECK(b.calls.empty());
}

TEST_CASE("copy_between: of two backends the destination's is asked first, then the source's") {
  CountingBackend a("a", Device(DeviceType::ExtDev, 0));
  CountingBackend b("b", Device(DeviceType::ExtDev, 1));
  const Block from(a, counted(4));
  const Block to(b, Ints(4, 0));
  b.will["copy"] = Answer::Fails;
  CHECK(copy_between(to.place({4}, {1}), from.place({4}, {1}), CastMode::Checked,
                     &tenon::detail::cast_elements<>) == Error::AccessFailed);
  CHECK(a.calls["copy"] == 0);
  b.will["copy"] = Answer::NotSupported;
  a.will["copy"] = Answer::Fails;
  CHECK_RETURNS(Error::AccessFailed, "backend a failed in copy",
                copy_between(to.place({4}, {1}), from.place({4}, {1}), CastMode::Checked,
                             &tenon::detail::cast_elements<>));
  a.will["copy"] = Answer::NotSupported;
  CHECK(copy_between(to.place({4}, {1}), from.place({4}, {1}), CastMode::Checked,
                     &tenon::detail::cast_elements<>) == Error::Ok);
  CHECK(to.values() == counted(4));
}

TEST_CASE("copy_between: an error in the middle is the outcome") {
  MinimalBackend b("gpu");
  const Block block(b, counted(300));
  Ints values(100);
  b.will["copy_to_host"] = Answer::Fails;
  CHECK_RETURNS(Error::AccessFailed, "backend gpu failed in copy_to_host: the cable is out",
                copy_between(block.place({100}, {3}), host(values, {100}, {1}), CastMode::Checked,
                             &tenon::detail::cast_elements<>));
  b.will["copy_to_host"] = Answer::Does;
  b.will["copy_from_host"] = Answer::Throws;
  CHECK_RETURNS(Error::Internal, "backend gpu failed in copy_from_host: thrown on the way",
                copy_between(block.place({100}, {3}), host(values, {100}, {1}), CastMode::Checked,
                             &tenon::detail::cast_elements<>));
  CHECK(block.values() == counted(300));
}

TEST_CASE("HostBuffer: it is aligned, and released with it") {
  detail::HostBuffer buffer;
  REQUIRE(buffer.allocate(100) == Error::Ok);
  CHECK(reinterpret_cast<uintptr_t>(buffer.data()) % 64 == 0);
  std::memset(buffer.data(), 1, 100);
  detail::HostBuffer huge;
  CHECK_RETURNS(Error::OutOfMemory, "out of memory for a temporary of ",
                huge.allocate(SIZE_MAX / 2));
}
