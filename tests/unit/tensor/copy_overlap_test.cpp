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

TEST_CASE("copy_: windows of one memory, reversed ones too", "[plain]") {
  check_windows(Reversed::Any);
}

TEST_CASE("copy_: blocks are moved up and down within their memory, without a temporary") {
  for (const int64_t n : {int64_t{5}, int64_t{20000}}) {
    const TensorPtr t = arange(n + 1, ScalarType::Int);
    Ints expected = values<int32_t>(t);
    const Tensor low = slice(t, 0, 0, n);
    const Tensor high = slice(t, 0, 1, n + 1);
    CHECK(plan_copy(high, low).kind == CopyKind::Memcpy);
    CHECK(copy_(high, low, CopyPolicy::NoTemporary) == Error::Ok);
    std::copy_backward(expected.begin(), expected.end() - 1, expected.end());
    CHECK(values<int32_t>(t) == expected);
    CHECK(copy_(low, high, CopyPolicy::NoTemporary) == Error::Ok);
    std::copy(expected.begin() + 1, expected.end(), expected.begin());
    CHECK(values<int32_t>(t) == expected);
  }
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

TEST_CASE("copy_: of the same elements there is nothing to do, of neighbours no overlap") {
  const TensorPtr t = arange(6, ScalarType::Int);
  const Tensor matrix = view(t, {2, 3});
  const Tensor turned = transpose(matrix, 0, 1);
  const Tensor strided = slice(matrix, 1, 1, 3);
  std::vector<std::pair<Tensor, Tensor>> pairs{
      {matrix, matrix}, {matrix, view(matrix, {2, 3})}, {strided, strided}, {turned, turned}};
  ATEN_LACKS(pairs.push_back({flip(matrix, {0}), flip(matrix, {0})});
             pairs.push_back({flip(flip(matrix, {1}), {1}), matrix});)
  for (const auto& [dst, src] : pairs) {
    CHECK(plan_copy(dst, src).kind == CopyKind::Alias);
    CHECK(copy_(dst, src, CopyPolicy::NoTemporary) == Error::Ok);
  }
  CHECK(values<int32_t>(t) == Ints{0, 1, 2, 3, 4, 5});
  const Tensor squares = *arange(8, ScalarType::Int);
  const Tensor behind = transpose(view(slice(squares, 0, 4, 8), {2, 2}), 0, 1);
  const Tensor front = view(slice(squares, 0, 0, 4), {2, 2});
  CHECK(plan_copy(behind, front).kind == CopyKind::Transpose);
  CHECK(copy_(behind, front, CopyPolicy::NoTemporary) == Error::Ok);
  CHECK(values<int32_t>(squares) == Ints{0, 1, 2, 3, 0, 2, 1, 3});
}

TEST_CASE("copy_: a tensor is converted into its own memory") {
  const TensorPtr floats = make_tensor_ptr({4}, {1.5f, 2.5f, -3.0f, 300.0f});
  const Tensor bytes = slice(view_as_type(floats, ScalarType::Byte), 0, 0, 4);
  CHECK(copy_(bytes, floats, CastMode::Saturate) == Error::Ok);
  CHECK(values<uint8_t>(bytes) == Bytes{2, 2, 0, 255});
}

// A promise of docs/guarantees.md.
TEST_CASE("copy_: without a temporary an overlap that needs one is refused and changes nothing") {
  const TensorPtr t = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor square = slice(t, 1, 0, 2);
  RETURNS(NotSupported, "copy_: the tensors overlap, which needs a temporary of 16 bytes",
          copy_(square, transpose(square, 0, 1), CopyPolicy::NoTemporary));
  RETURNS(NotSupported, "a temporary of 12 bytes",
          copy_(t, tenon::select(t, 0, 1), CastMode::Saturate, CopyPolicy::NoTemporary));
  CHECK(values<int32_t>(t) == Ints{1, 2, 3, 4, 5, 6});
  CHECK(copy_(square, transpose(square, 0, 1), CopyPolicy::AllowTemporary) == Error::Ok);
  CHECK(values<int32_t>(t) == Ints{1, 4, 3, 2, 5, 6});
}

}  // namespace copy_overlap_test
