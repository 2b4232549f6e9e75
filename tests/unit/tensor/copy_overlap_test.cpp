// SPDX-License-Identifier: MIT
// Copies between tensors that overlap.
#include "support/catch.h"
#include "tenon/tensor/copy_plan.h"
#include "tenon/tensor/sequence.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/view.h"
#include "tensor/copy_model.h"
#include "tensor/helpers.h"

namespace copy_overlap_test {

using namespace tenon;
using namespace tests;
using namespace tests::copy_model;

namespace {

Tensor tensor_over(Scene& scene, const Window& window) {
  return tenon::for_blob(scene.at(window), window.sizes, window.type)
      .strides(window.strides)
      .make_tensor();
}

std::string describe(const Window& w) {
  std::string text = tenon::toString(w.type);
  for (size_t d = 0; d < w.sizes.size(); ++d) {
    text += " " + std::to_string(w.sizes[d]) + "@" + std::to_string(w.strides[d]);
  }
  return text + " at byte " + std::to_string(w.first);
}

// Copies between windows of one memory get what copying through a temporary gives.
void check_windows(Reversed reversed) {
  int kinds[7] = {};
  int overlapping_memcpy = 0;
  int casts = 0;
  for (uint64_t seed = 1; seed <= 20000; ++seed) {
    Scene scene = Scenes(seed, reversed).make(Variety::Any);
    const Tensor dst = tensor_over(scene, scene.dst);
    const Tensor src = tensor_over(scene, scene.src);
    const Bytes before = scene.memory;
    const Bytes expected = scene.expected();
    std::string wrong;
    const auto check = [&](bool is_right, const char* what) {
      if (!is_right) wrong += std::string(what) + "; ";
    };

    const CopyPlan plan = plan_copy(dst, src, scene.mode);
    const bool staged = plan.kind == CopyKind::Staged;
    ++kinds[static_cast<size_t>(plan.kind)];
    overlapping_memcpy += plan.kind == CopyKind::Memcpy && scene.meet();
    casts += staged && scene.dst.type != scene.src.type;
    check(scene.memory == before, "plan_copy writes");
    check(!staged || scene.meet(), "a temporary for nothing");
    size_t needed = staged ? src.element_size() : 0;  // for each element that is one of its own
    for (int64_t d = 0; d < src.dim(); ++d) {
      if (src.stride(d) != 0) needed *= static_cast<size_t>(src.size(d));
    }
    check(plan.temporary_nbytes == needed, "temporary_nbytes");

    const Error refused = copy_(dst, src, scene.mode, CopyPolicy::NoTemporary);
    check(refused == (staged ? Error::NotSupported : Error::Ok), "the policy");
    check(scene.memory == (staged ? before : expected), "without a temporary");
    scene.memory = before;
    check(copy_(dst, src, scene.mode) == Error::Ok, "refused");
    check(scene.memory == expected, "elements");
    if (wrong.empty()) continue;
    FAIL("seed " << seed << ": " << describe(scene.src) << " to " << describe(scene.dst) << ", "
                 << tenon::toString(scene.mode) << ": " << wrong);
  }
  // Enough of each way.
  INFO("alias " << kinds[0] << ", memcpy " << kinds[1] << ", rows " << kinds[2] << ", transpose "
                << kinds[3] << ", cast " << kinds[4] << ", general " << kinds[5] << ", staged "
                << kinds[6]);
  for (int count : kinds) CHECK(count >= 20);
  CHECK(kinds[static_cast<size_t>(CopyKind::Staged)] > 5000);
  CHECK(overlapping_memcpy > 100);
  CHECK(casts > 2000);
}

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("copy_: windows of one memory get what copying through a temporary gives") {
  check_windows(Reversed::None);
}

// The shapes of windows, columns and gaps: copied in order, wherever the elements move to.
TEST_CASE("copy_: elements that move by the same distance need no temporary, at any strides") {
  const struct {
    Dims sizes, strides;
  } shapes[] = {{{7}, {2}},
                {{300, 3}, {5, 1}},
                {{10, 20, 3}, {130, 6, 2}},
                {{4, 5, 3, 2}, {90, 17, 5, 2}},
                {{3, 40, 8}, {400, 9, 1}}};
  for (const auto& shape : shapes) {
    for (const ScalarType type : {ScalarType::Byte, ScalarType::Float, ScalarType::ComplexDouble}) {
      for (const int64_t distance : {1, -1, 2, 5, -7, 90}) {
        CAPTURE(shape.sizes, distance, toString(type));
        const auto size = static_cast<int64_t>(elementSize(type));
        Bytes memory(static_cast<size_t>(2000 * size));
        for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<unsigned char>(i * 7);
        const auto over = [&](Bytes& bytes, int64_t first) {
          return from_blob(bytes.data() + first * size, shape.sizes, Strides(shape.strides), type);
        };
        Bytes apart = memory;
        Bytes expected = memory;
        CHECK(copy_(over(expected, 100 + distance), over(apart, 100)) == Error::Ok);
        CHECK(copy_(over(memory, 100 + distance), over(memory, 100), CopyPolicy::NoTemporary) ==
              Error::Ok);
        CHECK(memory == expected);
      }
    }
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("copy_: without a temporary an overlap that needs one is refused and changes nothing") {
  const TensorPtr t = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor square = slice(t, 1, 0, 2);
  RETURNS(NotSupported, "copy_: the tensors overlap, so the copy needs a temporary of 16 bytes",
          copy_(square, transpose(square, 0, 1), CopyPolicy::NoTemporary));
  RETURNS(NotSupported, "a temporary of 12 bytes",
          copy_(t, tenon::select(t, 0, 1), CastMode::Saturate, CopyPolicy::NoTemporary));
  CHECK(values<int32_t>(t) == Ints{1, 2, 3, 4, 5, 6});
  CHECK(copy_(square, transpose(square, 0, 1), CopyPolicy::AllowTemporary) == Error::Ok);
  CHECK(values<int32_t>(t) == Ints{1, 4, 3, 2, 5, 6});
}

}  // namespace copy_overlap_test
