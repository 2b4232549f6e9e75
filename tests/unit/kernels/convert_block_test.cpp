// SPDX-License-Identifier: MIT
// Casts of all pairs of types in runs of all lengths and strides; copy_elements_test.cpp has other
// shapes.
#include "tenon/kernels/copy_elements.h"

#include "kernels/cast_reference.h"
#include "kernels/helpers.h"

namespace convert_block_test {

using namespace tests;

namespace {

// Elements `out_step` and `in_step` bytes apart.
void convert_strided(ScalarType to, void* out, size_t out_step, ScalarType from, const void* in,
                     size_t in_step, size_t count, CastMode mode) {
  if (count == 0) return;
  tenon::detail::ElementPlan plan;
  plan.dst_type = to;
  plan.src_type = from;
  plan.mode = mode;
  plan.converts = true;
  plan.unit = elementSize(to);
  plan.nbytes = count * plan.unit;
  plan.dst = out;
  plan.src = in;
  plan.rank = 1;
  plan.dims[0] = {static_cast<ptrdiff_t>(count), static_cast<ptrdiff_t>(out_step),
                  static_cast<ptrdiff_t>(in_step)};
  tenon::detail::cast_elements(plan);
}

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("convert: all pairs of types, in runs of every length, at any strides, and no further") {
  constexpr size_t kMost = 70;
  constexpr unsigned char kGuard = 0xa5;
  Rng random{1};
  for (ScalarType from : kAllTypes) {
    const size_t from_size = elementSize(from);
    const Bytes in = random_elements(random, from, kMost);
    for (ScalarType to : kAllTypes) {
      const size_t size = elementSize(to);
      for (CastMode mode : {CastMode::Checked, CastMode::Truncate, CastMode::Saturate}) {
        if (mode == CastMode::Checked && !canCast(from, to)) continue;
        INFO(toString(from) << " to " << toString(to) << ", " << toString(mode));
        Bytes expected(kMost * size);
        for (size_t i = 0; i < kMost; ++i) {
          cast_by_hand(to, expected.data() + i * size, from, in.data() + i * from_size, mode);
        }
        for_each_isa([&] {
          int wrong = 0;
          for (size_t count = 0; count <= kMost; count += kThorough ? 1 : 5) {
            // Dense, and apart by other bytes on either side. Memory ends where the elements do.
            for (size_t gap : {size_t{0}, 3 * (count % 2)}) {
              const size_t in_step = from_size + gap;
              const size_t step = size + 2 * gap;
              Bytes source(1 + count * in_step);
              Bytes out(1 + count * step + 16, kGuard);
              Bytes right = out;
              for (size_t i = 0; i < count; ++i) {
                std::memcpy(&source[1 + i * in_step], &in[i * from_size], from_size);
                std::memcpy(&right[1 + i * step], &expected[i * size], size);
              }
              convert_strided(to, out.data() + 1, step, from, source.data() + 1, in_step, count,
                              mode);
              if (out != right) ++wrong;
            }
          }
          CHECK(wrong == 0);
        });
      }
    }
  }
}

}  // namespace convert_block_test
