// SPDX-License-Identifier: MIT
#include "tenon/kernels/copy_elements.h"

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "kernels/copy_reference.h"

using namespace tenon;
using namespace tests;

namespace {

void copy_elements(const TensorView& dst, const TensorView& src) {
  tenon::detail::copy_elements(dst, src, CastMode::Checked, &tenon::detail::cast_elements<>);
}

const ScalarType kOneOfEachSize[] = {ScalarType::Byte, ScalarType::Half, ScalarType::Float,
                                     ScalarType::Double, ScalarType::ComplexDouble};

template <class T>
TensorView view_of(T* data, const Dims& sizes, const Dims& strides) {
  using Element = std::remove_const_t<T>;
  return {
      const_cast<Element*>(data), tenon::CppTypeToScalarType<Element>::value, {}, sizes, strides};
}

// Copies between dense memories whose dimensions are in these orders, outermost first.
bool is_permuted(Rng& random, ScalarType to, ScalarType from, CastMode mode, const Vector& sizes,
                 const Vector& dst_order, const Vector& src_order) {
  Strided dst(to, sizes, dense_strides(sizes, dst_order));
  Strided src(from, sizes, dense_strides(sizes, src_order));
  return is_copied(random, dst, src, mode);
}

// Of images as (batch, channels, height, width).
const Vector kChannelsFirst = {0, 1, 2, 3};
const Vector kChannelsLast = {0, 2, 3, 1};

}  // namespace

TEST_CASE("copy: images between channels first and last, of every number of channels") {
  Rng random{1};
  for (ScalarType type : kOneOfEachSize) {
    for (int64_t channels = 1; channels <= 5; ++channels) {
      INFO(toString(type) << ", channels: " << channels);
      for (const Vector& sizes : {Vector{2, channels, 17, 23}, Vector{1, channels, 1, 15},
                                  Vector{1, channels, 2, 16}, Vector{3, channels, 3, 5}}) {
        CHECK(is_permuted(random, type, type, CastMode::Checked, sizes, kChannelsFirst,
                          kChannelsLast));
        CHECK(is_permuted(random, type, type, CastMode::Checked, sizes, kChannelsLast,
                          kChannelsFirst));
      }
    }
  }
}

TEST_CASE("copy: a few rows of a large image there and back") {
  Rng random{2};
  const Vector sizes{1, 3, tests::kThorough ? 54 : 5, 1920};
  CHECK(is_permuted(random, ScalarType::Byte, ScalarType::Byte, CastMode::Checked, sizes,
                    kChannelsFirst, kChannelsLast));
  CHECK(is_permuted(random, ScalarType::Byte, ScalarType::Byte, CastMode::Checked, sizes,
                    kChannelsLast, kChannelsFirst));
}

TEST_CASE("copy: some of the channels of pixels, into planes or fewer channels, and back") {
  Rng random{3};
  for (ScalarType type : kOneOfEachSize) {
    for (int64_t of = 2; of <= 5; ++of) {
      for (int64_t channels = 1; channels < of; ++channels) {
        INFO(toString(type) << ", " << channels << " of " << of);
        const Vector sizes{channels, 7, 19};
        const Vector some{1, of * 19, of};
        Strided planes(type, sizes, {7 * 19, 19, 1});
        Strided pixels(type, sizes, {1, channels * 19, channels});
        Strided source(type, sizes, some);  // ends after the last wanted channel
        CHECK(is_copied(random, planes, source, CastMode::Checked));
        CHECK(is_copied(random, pixels, source, CastMode::Checked));
        CHECK(is_copied(random, source, planes, CastMode::Checked));
        CHECK(is_copied(random, source, pixels, CastMode::Checked));
        // Red, green, blue to blue, green, red.
        Strided turned(type, sizes, {-1, of * 19, of});
        CHECK(is_copied(random, planes, turned, CastMode::Checked));
        CHECK(is_copied(random, turned, planes, CastMode::Checked));
        CHECK(is_copied(random, pixels, turned, CastMode::Checked));
      }
    }
  }
}

TEST_CASE("copy: transposed matrices around the sizes of blocks") {
  Rng random{4};
  for (ScalarType type : kOneOfEachSize) {
    int wrong = 0;
    for (int64_t rows : {2, 5, 16, 17, 33, 64, 65, 129}) {
      for (int64_t columns : {3, 4, 15, 16, 32, 63, 65, 127}) {
        if (!is_permuted(random, type, type, CastMode::Checked, {rows, columns}, {0, 1}, {1, 0})) {
          ++wrong;
        }
      }
    }
    INFO(toString(type));
    CHECK(wrong == 0);
  }
}

TEST_CASE("copy: planes are converted, whichever side is the longer one") {
  Rng random{5};
  const struct {
    ScalarType to;
    ScalarType from;
    CastMode mode;
  } pairs[] = {{ScalarType::Float, ScalarType::Byte, CastMode::Checked},
               {ScalarType::Byte, ScalarType::Float, CastMode::Saturate},
               {ScalarType::Half, ScalarType::Float, CastMode::Checked},
               {ScalarType::ComplexDouble, ScalarType::Char, CastMode::Truncate},
               {ScalarType::Bool, ScalarType::ComplexDouble, CastMode::Truncate}};
  for (const auto& pair : pairs) {
    INFO(toString(pair.from) << " to " << toString(pair.to));
    for (int64_t channels : {2, 3, 4, 5, 16, 17}) {
      INFO("channels: " << channels);
      const Vector sizes{2, channels, 9, 113};
      CHECK(
          is_permuted(random, pair.to, pair.from, pair.mode, sizes, kChannelsFirst, kChannelsLast));
      CHECK(
          is_permuted(random, pair.to, pair.from, pair.mode, sizes, kChannelsLast, kChannelsFirst));
    }
    const Vector square{67, 131};
    CHECK(is_permuted(random, pair.to, pair.from, pair.mode, square, {0, 1}, {1, 0}));
    CHECK(is_permuted(random, pair.to, pair.from, pair.mode, square, {1, 0}, {0, 1}));
  }
}

TEST_CASE("copy: a row at every stride, of every length") {
  Rng random{6};
  for (ScalarType type : kOneOfEachSize) {
    int wrong = 0;
    for (int64_t count = 0; count < 40; count += tests::kThorough ? 1 : 3) {
      for (int64_t from = -5; from <= 5; ++from) {
        for (int64_t to : {1, 2, 5, -1, -3}) {
          Strided dst(type, {count}, {to});
          Strided src(type, {count}, {from});
          if (!is_copied(random, dst, src, CastMode::Checked)) ++wrong;
        }
      }
    }
    INFO(toString(type));
    CHECK(wrong == 0);
  }
}

TEST_CASE("copy: rows of pixels of every size, apart by any distance") {
  Rng random{7};
  for (ScalarType type : kOneOfEachSize) {
    for (int64_t run : {1, 2, 3, 4, 5, 8, 16, 17}) {
      INFO(toString(type) << ", run: " << run);
      for (int64_t gap : {0, 1, 3}) {
        Strided dst(type, {20, run}, {run, 1});
        Strided src(type, {20, run}, {run + gap, 1});
        CHECK(is_copied(random, dst, src, CastMode::Checked));
        CHECK(is_copied(random, src, dst, CastMode::Checked));
        Strided turned(type, {20, 11, run}, {run + gap, (run + gap) * 20, 1});
        Strided dense(type, {20, 11, run}, {run * 11, run, 1});
        CHECK(is_copied(random, dense, turned, CastMode::Checked));
        CHECK(is_copied(random, turned, dense, CastMode::Checked));
      }
    }
  }
}

TEST_CASE("copy: rows of one value each, short and long") {
  Rng random{9};
  for (ScalarType type : kOneOfEachSize) {
    for (int64_t row : {3, 16, 65, 255, 256, 257, 1000}) {
      INFO(toString(type) << ", row: " << row);
      Strided dst(type, {5, 4, row}, {5 * row, row, 1});
      Strided padded(type, {5, 4, row}, {5 * (row + 2), row + 2, 1});
      Strided column(type, {5, 4, row}, {1, 5, 0});
      Strided reversed(ScalarType::Short, {5, 4, row}, {-4, -1, 0});
      CHECK(is_copied(random, dst, column, CastMode::Checked));
      CHECK(is_copied(random, padded, column, CastMode::Checked));
      CHECK(is_copied(random, dst, reversed, CastMode::Saturate));
    }
  }
}

TEST_CASE("copy: flipped and rotated images") {
  Rng random{8};
  for (ScalarType type : {ScalarType::Byte, ScalarType::Float}) {
    for (int64_t channels : {1, 3, 4}) {
      // Height, width, channels; either direction of both, and with both exchanged.
      const int64_t row = 21 * channels;
      const int64_t column = 18 * channels;
      for (int64_t sign : {1, -1}) {
        INFO(toString(type) << ", channels: " << channels << ", sign: " << sign);
        Strided dst(type, {18, 21, channels}, {row, channels, 1});
        Strided flipped(type, {18, 21, channels}, {sign * row, -channels, 1});
        Strided rotated(type, {18, 21, channels}, {sign * channels, -column, 1});
        CHECK(is_copied(random, dst, flipped, CastMode::Checked));
        CHECK(is_copied(random, flipped, dst, CastMode::Checked));
        CHECK(is_copied(random, dst, rotated, CastMode::Checked));
        CHECK(is_copied(random, rotated, dst, CastMode::Checked));
        CHECK(is_copied(random, rotated, flipped, CastMode::Checked));
      }
    }
  }
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
  const TensorView nothing{nullptr, ScalarType::Double, {}, {3, 0, 2}, {9, -9, INT64_MIN}};
  copy_elements(nothing, nothing);
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

TEST_CASE("copy: a block moves to where it overlaps itself, forwards and backwards") {
  std::vector<int> forwards = {1, 2, 3, 4, 5, 6};
  detail::move_block(forwards.data() + 1, forwards.data(), 4 * sizeof(int));
  CHECK(forwards == std::vector<int>{1, 1, 2, 3, 4, 6});
  std::vector<int> backwards = {1, 2, 3, 4, 5, 6};
  detail::move_block(backwards.data() + 1, backwards.data() + 2, 4 * sizeof(int));
  CHECK(backwards == std::vector<int>{1, 3, 4, 5, 6, 6});
  std::vector<int> apart = {1, 2, 3, 4};
  detail::move_block(apart.data(), apart.data() + 2, 2 * sizeof(int));
  CHECK(apart == std::vector<int>{3, 4, 3, 4});
}
