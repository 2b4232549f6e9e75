// SPDX-License-Identifier: MIT
#include "tenon/kernels/copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "support/catch.h"

using tenon::Dims;
using tenon::ScalarType;
using tenon::TensorView;
using tenon::detail::copy_elements;

namespace {

using Vector = std::vector<int64_t>;

// A fixed sequence of pseudo-random numbers.
struct Random {
  uint64_t state;
  int64_t between(int64_t low, int64_t high) {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return low + static_cast<int64_t>((z >> 33) % static_cast<uint64_t>(high - low + 1));
  }
  template <class T>
  void shuffle(std::vector<T>& values) {
    for (size_t i = values.size(); i-- > 1;) {
      std::swap(values[i], values[static_cast<size_t>(between(0, static_cast<int64_t>(i)))]);
    }
  }
};

// Strides that do not overlap: the dimensions nested in random order, some with gaps between them,
// some reversed.
Vector random_strides(Random& random, const Vector& sizes) {
  std::vector<size_t> order;
  for (size_t d = 0; d < sizes.size(); ++d) order.push_back(d);
  random.shuffle(order);
  Vector strides(sizes.size());
  int64_t stride = 1;
  for (size_t d : order) {
    stride += random.between(0, 3) == 0 ? random.between(1, 2) : 0;
    strides[d] = random.between(0, 2) == 0 ? -stride : stride;
    stride *= sizes[d] == 0 ? 1 : sizes[d];
  }
  return strides;
}

// The offset of every element, in row-major order of the indices.
Vector offsets_of(const Vector& sizes, const Vector& strides) {
  Vector offsets = {0};
  for (size_t d = 0; d < sizes.size(); ++d) {
    Vector next;
    for (int64_t offset : offsets) {
      for (int64_t i = 0; i < sizes[d]; ++i) next.push_back(offset + i * strides[d]);
    }
    offsets = next;
  }
  return offsets;
}

// Memory for the offsets, and where in it element 0 is.
struct Memory {
  std::vector<unsigned char> bytes;
  size_t first;

  Memory(const Vector& offsets, size_t element_size) {
    int64_t low = 0;
    int64_t high = 0;
    for (int64_t offset : offsets) {
      low = std::min(low, offset);
      high = std::max(high, offset);
    }
    first = static_cast<size_t>(-low) * element_size;
    bytes.resize(static_cast<size_t>(high - low + 1) * element_size);
  }
  unsigned char* at(int64_t offset, size_t element_size) {
    return bytes.data() + first + offset * static_cast<int64_t>(element_size);
  }
};

const ScalarType kOneOfEachSize[] = {ScalarType::Byte, ScalarType::Short, ScalarType::Float,
                                     ScalarType::Double, ScalarType::ComplexDouble};

// Copies between random shapes and compares all of the target's memory with what a loop over the
// offsets writes. `in_strides` changes the source's strides.
template <class ChangeStrides>
int count_wrong_copies(uint64_t seed, ChangeStrides&& change) {
  Random random{seed};
  int wrong = 0;
  for (int i = 0; i < 400; ++i) {
    const ScalarType type = kOneOfEachSize[i % 5];
    const size_t size = elementSize(type);
    Vector sizes;
    for (int64_t rank = random.between(0, 4); rank > 0; --rank) {
      sizes.push_back(random.between(0, 19) == 0 ? 0 : random.between(1, 5));
    }
    const Vector out_strides = random_strides(random, sizes);
    Vector in_strides = random_strides(random, sizes);
    change(random, in_strides);
    const Vector to = offsets_of(sizes, out_strides);
    const Vector from = offsets_of(sizes, in_strides);

    Memory out(to, size);
    Memory in(from, size);
    for (unsigned char& byte : in.bytes) byte = static_cast<unsigned char>(random.between(0, 255));
    for (unsigned char& byte : out.bytes) byte = static_cast<unsigned char>(random.between(0, 255));
    Memory expected = out;
    for (size_t k = 0; k < to.size(); ++k) {
      std::memcpy(expected.at(to[k], size), in.at(from[k], size), size);
    }
    copy_elements(TensorView{out.at(0, size), type, {}, sizes, out_strides},
                  TensorView{in.at(0, size), type, {}, sizes, in_strides});
    if (out.bytes != expected.bytes) ++wrong;
  }
  return wrong;
}

template <class T>
TensorView view_of(T* data, const Dims& sizes, const Dims& strides) {
  using Element = std::remove_const_t<T>;
  return {
      const_cast<Element*>(data), tenon::CppTypeToScalarType<Element>::value, {}, sizes, strides};
}

}  // namespace

TEST_CASE("copy: random shapes with any strides are copied as by a loop, the gaps left alone") {
  CHECK(count_wrong_copies(1, [](Random&, Vector&) {}) == 0);
}

TEST_CASE("copy: a source may repeat elements by strides of 0 and overlap itself") {
  CHECK(count_wrong_copies(2, [](Random& random, Vector& strides) {
          for (int64_t& stride : strides) {
            if (random.between(0, 1) == 0) stride = 0;
          }
        }) == 0);
  CHECK(count_wrong_copies(3, [](Random& random, Vector& strides) {
          for (int64_t& stride : strides) stride = random.between(-2, 2);
        }) == 0);
}

TEST_CASE("copy: a transposed matrix") {
  const int in[] = {1, 2, 3, 4, 5, 6};
  int out[6] = {};
  copy_elements(view_of(out, {2, 3}, {3, 1}), view_of(in, {2, 3}, {1, 2}));
  CHECK(std::vector<int>(out, out + 6) == std::vector<int>{1, 3, 5, 2, 4, 6});
}

TEST_CASE("copy: a scalar is one element, and without elements nothing is touched") {
  const double in[] = {7};
  double out[] = {0};
  copy_elements(view_of(out, {}, {}), view_of(in, {}, {}));
  CHECK(out[0] == 7.0);
  const TensorView none{nullptr, ScalarType::Double, {}, {3, 0, 2}, {9, 9, 9}};
  copy_elements(none, none);
  CHECK(out[0] == 7.0);
}

TEST_CASE("copy: values are converted on the way, whatever the strides") {
  // Rows longer than one chunk, every second source element from the back, target columns apart.
  constexpr int64_t kRows = 3;
  constexpr int64_t kColumns = 150;
  std::vector<int16_t> in(kRows * kColumns * 2);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int16_t>(i * 7 - 3000);
  std::vector<float> out(kRows * kColumns * 3, 0.5f);
  std::vector<float> expected = out;
  const int64_t last = static_cast<int64_t>(in.size()) - 1;
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t c = 0; c < kColumns; ++c) {
      expected[static_cast<size_t>(r + c * kRows * 3)] =
          static_cast<float>(in[static_cast<size_t>(last - r * kColumns * 2 - c * 2)]);
    }
  }
  copy_elements(view_of(out.data(), {kRows, kColumns}, {1, kRows * 3}),
                view_of(in.data() + last, {kRows, kColumns}, {-kColumns * 2, -2}));
  CHECK(out == expected);
}

TEST_CASE("copy: conversions to wider and narrower elements") {
  const double in[] = {1.5, -2, 1 + 0x1p-11 + 0x1p-40, 1e6};
  uint16_t half[4];
  copy_elements(TensorView{half, ScalarType::Half, {}, {4}, {1}}, view_of(in, {4}, {1}));
  CHECK(half[0] == 0x3e00);
  CHECK(half[1] == 0xc000);
  CHECK(half[2] == 0x3c01);
  CHECK(half[3] == 0x7c00);
  const uint8_t bytes[] = {0, 255};
  tenon::complex<double> complex[2];
  copy_elements(view_of(complex, {2}, {1}), view_of(bytes, {2}, {1}));
  CHECK(complex[0] == tenon::complex<double>(0, 0));
  CHECK(complex[1] == tenon::complex<double>(255, 0));
}

TEST_CASE("copy: a broadcast source is converted as well") {
  const int32_t in[] = {3, 4};
  float out[6] = {};
  copy_elements(view_of(out, {3, 2}, {2, 1}), view_of(in, {3, 2}, {0, 1}));
  CHECK(std::vector<float>(out, out + 6) == std::vector<float>{3, 4, 3, 4, 3, 4});
}

TEST_CASE("copy: the bytes of one type are copied as they are") {
  // A signalling NaN, and Bool bytes other than 0 and 1.
  const uint32_t in[] = {0x7fa00001u};
  uint32_t out[1] = {};
  copy_elements(TensorView{out, ScalarType::Float, {}, {1}, {1}},
                TensorView{const_cast<uint32_t*>(in), ScalarType::Float, {}, {1}, {1}});
  CHECK(out[0] == 0x7fa00001u);
}

TEST_CASE("copy: the stride of a size-1 dimension may be any number") {
  const float in[] = {1, 2};
  float out[2] = {};
  copy_elements(view_of(out, {1, 2, 1}, {INT64_MAX, 1, INT64_MIN}),
                view_of(in, {1, 2, 1}, {INT64_MIN, 1, INT64_MAX}));
  CHECK(out[0] == 1.0f);
  CHECK(out[1] == 2.0f);
  double wide[2] = {};
  copy_elements(view_of(wide, {1, 2, 1}, {INT64_MAX, 1, INT64_MIN}),
                view_of(in, {1, 2, 1}, {INT64_MIN, 1, INT64_MAX}));
  CHECK(wide[0] == 1.0);
  CHECK(wide[1] == 2.0);
}

TEST_CASE("copy: memory need not be aligned") {
  unsigned char in[2 * 8 + 1];
  unsigned char out[2 * 8 + 1] = {};
  for (size_t i = 0; i < sizeof in; ++i) in[i] = static_cast<unsigned char>(i);
  copy_elements(TensorView{out + 1, ScalarType::Double, {}, {2}, {1}},
                TensorView{in + 1, ScalarType::Double, {}, {2}, {1}});
  CHECK(std::memcmp(in + 1, out + 1, 16) == 0);
}

TEST_CASE("copy: 64 dimensions are walked like few") {
  Vector sizes(64, 1);
  Vector strides(64, 0);
  sizes[0] = sizes[31] = sizes[63] = 2;
  Vector out_strides = strides;
  Vector in_strides = strides;
  out_strides[0] = 4;
  out_strides[31] = 2;
  out_strides[63] = 1;
  in_strides[0] = 1;
  in_strides[31] = 2;
  in_strides[63] = 4;
  const int in[] = {0, 1, 2, 3, 4, 5, 6, 7};
  int out[8] = {};
  copy_elements(view_of(out, sizes, out_strides), view_of(in, sizes, in_strides));
  CHECK(std::vector<int>(out, out + 8) == std::vector<int>{0, 4, 2, 6, 1, 5, 3, 7});
}
