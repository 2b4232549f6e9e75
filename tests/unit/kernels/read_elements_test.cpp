// SPDX-License-Identifier: MIT
#include "tenon/kernels/read_elements.h"

#include "kernels/helpers.h"

namespace read_elements_test {

using namespace tests;
using tenon::TensorView;
using tenon::detail::ElementReader;

namespace {

/// All elements, read `count` at a time; the rest at once.
template <class T>
std::vector<T> read(const TensorView& view, int64_t count) {
  ElementReader reader(view);
  std::vector<T> out;
  std::vector<char> buffer(static_cast<size_t>(count) * sizeof(T));
  while (reader.left() != 0) {
    const int64_t n = reader.left() < count ? reader.left() : count;
    const char* const from = reader.next(n, buffer.data());
    for (int64_t i = 0; i < n; ++i) out.push_back(tenon::detail::load_element<T>(from, i));
  }
  return out;
}

}  // namespace

TEST_CASE("read: elements come in row-major order, at any strides, any number at a time") {
  std::vector<int32_t> memory(120);
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<int32_t>(i);
  struct Case {
    size_t first;
    tenon::Dims sizes;
    tenon::Dims strides;
  };
  const Case cases[] = {
      {0, {}, {}},
      {3, {5}, {1}},
      {0, {2, 3, 4}, {12, 4, 1}},        // contiguous
      {0, {2, 3, 4}, {40, 10, 1}},       // padded rows
      {0, {2, 3, 4}, {1, 2, 6}},         // Fortran's order
      {119, {2, 3, 4}, {-60, -20, -5}},  // turned
      {0, {3, 1, 4}, {0, 7, 1}},         // broadcast
      {0, {4, 3}, {0, 0}},               // one element
      {0, {1, 7, 1}, {99, 3, -99}},      // strides of size 1 are free
      {0, {2, 2, 2, 2, 2, 2}, {64, 1, 16, 4, 8, 2}},
  };
  for (const Case& c : cases) {
    std::vector<int32_t> expected;
    std::vector<int64_t> index(c.sizes.size());
    int64_t numel = 1;
    for (const int64_t size : c.sizes) numel *= size;
    for (int64_t i = 0; i < numel; ++i) {
      int64_t at = static_cast<int64_t>(c.first);
      int64_t rest = i;
      for (size_t d = c.sizes.size(); d-- > 0; rest /= c.sizes[d]) {
        at += rest % c.sizes[d] * c.strides[d];
      }
      expected.push_back(memory[static_cast<size_t>(at)]);
    }
    const TensorView view{&memory[c.first], tenon::ScalarType::Int, tenon::Device(), c.sizes,
                          c.strides};
    for (const int64_t count : {1, 2, 3, 5, 7, 24, 1000}) {
      INFO(count);
      CHECK(read<int32_t>(view, count) == expected);
    }
  }
}

TEST_CASE("read: consecutive elements are not copied, and none are touched if there are none") {
  int32_t memory[6] = {1, 2, 3, 4, 5, 6};
  const tenon::ViewWithLists view{memory, tenon::ScalarType::Int, tenon::Device(), {2, 3}, {3, 1}};
  ElementReader reader(view);
  CHECK(reader.left() == 6);
  CHECK(reader.next(4, nullptr) == reinterpret_cast<const char*>(memory));
  CHECK(reader.next(2, nullptr) == reinterpret_cast<const char*>(memory + 4));
  CHECK(reader.left() == 0);
  const tenon::ViewWithLists nothing{
      nullptr, tenon::ScalarType::Int, tenon::Device(), {3, 0, 2}, {INT64_MAX, INT64_MAX, 1}};
  CHECK(ElementReader(nothing).left() == 0);
}

}  // namespace read_elements_test
