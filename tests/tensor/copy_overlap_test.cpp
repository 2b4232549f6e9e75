// SPDX-License-Identifier: MIT
// Copies between tensors that overlap.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "tenon/tensor/copy.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/view.h"
#include "tensor/copy_model.h"
#include "tensor/helpers.h"

using namespace tenon;
using tests::values;
using tests::copy_model::Reversed;
using tests::copy_model::Scene;
using tests::copy_model::Scenes;
using tests::copy_model::Variety;
using tests::copy_model::Window;

namespace {

using Ints = std::vector<int32_t>;

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

// Stops at the first scene that does not come out right.
struct Trouble {
  std::string text;
  void operator()(uint64_t seed, const Scene& scene, const char* what) {
    if (!text.empty()) return;
    text = std::string(what) + ", seed " + std::to_string(seed) + ": " + describe(scene.src) +
           " to " + describe(scene.dst) + ", " + tenon::toString(scene.mode);
  }
};

// Copies between windows of one memory get what copying through a temporary gives.
void check_windows(Reversed reversed) {
  Trouble trouble;
  int kinds[7] = {};
  int overlapping_memcpy = 0;
  int casts = 0;
  for (uint64_t seed = 1; seed <= 20000 && trouble.text.empty(); ++seed) {
    Scene scene = Scenes(seed, reversed).make(Variety::Any);
    const Tensor dst = tensor_over(scene, scene.dst);
    const Tensor src = tensor_over(scene, scene.src);
    const tests::Bytes before = scene.memory;
    const tests::Bytes expected = scene.expected();

    const tenon::CopyPlan plan = plan_copy(dst, src, scene.mode);
    const bool staged = plan.kind == CopyKind::Staged;
    ++kinds[static_cast<size_t>(plan.kind)];
    overlapping_memcpy += plan.kind == CopyKind::Memcpy && scene.meet();
    casts += staged && scene.dst.type != scene.src.type;
    if (scene.memory != before) trouble(seed, scene, "plan_copy writes");
    if (staged && !scene.meet()) trouble(seed, scene, "a temporary for nothing");
    size_t needed = src.element_size();  // for each element that is one of its own
    for (int64_t d = 0; d < src.dim(); ++d) {
      if (src.stride(d) != 0) needed *= static_cast<size_t>(src.size(d));
    }
    if (plan.temporary_nbytes != (staged ? needed : 0)) trouble(seed, scene, "temporary_nbytes");

    const Error refused = copy_(dst, src, scene.mode, CopyPolicy::NoTemporary);
    if (refused != (staged ? Error::NotSupported : Error::Ok)) trouble(seed, scene, "the policy");
    if (scene.memory != (staged ? before : expected)) trouble(seed, scene, "wrong, NoTemporary");
    scene.memory = before;
    if (copy_(dst, src, scene.mode) != Error::Ok) trouble(seed, scene, "refused");
    if (scene.memory != expected) trouble(seed, scene, "wrong");
  }
  INFO(trouble.text);
  REQUIRE(trouble.text.empty());
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

TEST_CASE("copy_: windows of one memory get what copying through a temporary gives") {
  check_windows(Reversed::None);
}

TEST_CASE("copy_: windows of one memory, reversed ones too", "[plain]") {
  check_windows(Reversed::Any);
}

TEST_CASE("copy_: a stretch is moved up and down within its memory, without a temporary") {
  auto t = make_tensor_ptr({1, 2, 3, 4, 5, 6});
  CHECK(plan_copy(slice(t, 0, 2, 6), slice(t, 0, 0, 4)).kind == CopyKind::Memcpy);
  CHECK(copy_(slice(t, 0, 2, 6), slice(t, 0, 0, 4), CopyPolicy::NoTemporary) == Error::Ok);
  CHECK(values<int32_t>(t) == Ints{1, 2, 1, 2, 3, 4});
  CHECK(copy_(slice(t, 0, 0, 4), slice(t, 0, 2, 6), CopyPolicy::NoTemporary) == Error::Ok);
  CHECK(values<int32_t>(t) == Ints{1, 2, 3, 4, 3, 4});
}

TEST_CASE("copy_: large blocks that overlap by all but one element are moved") {
  std::vector<int32_t> data(20001);
  std::vector<int32_t> expected(20001);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<int32_t>(i);
  for (size_t i = 1; i < data.size(); ++i) expected[i] = static_cast<int32_t>(i - 1);
  auto t = tenon::from_blob(data.data(), {20001});
  CHECK(copy_(slice(t, 0, 1, 20001), slice(t, 0, 0, 20000)) == Error::Ok);
  CHECK(data == expected);
}

TEST_CASE("copy_: a tensor is transposed in place") {
  auto t = make_tensor_ptr({2, 2}, {4, 3, 2, 1});
  CHECK(copy_(t, transpose(t, 0, 1)) == Error::Ok);
  CHECK(values<int32_t>(t) == Ints{4, 2, 3, 1});
}

TEST_CASE("copy_: a tensor is reversed in place", "[plain]") {
  auto t = make_tensor_ptr({2, 2}, {1, 2, 3, 4});
  CHECK(copy_(t, flip(t, {0, 1})) == Error::Ok);
  CHECK(values<int32_t>(t) == Ints{4, 3, 2, 1});
}

TEST_CASE("copy_: a row of a tensor is broadcast over the whole of it") {
  auto t = make_tensor_ptr({3, 2}, {1, 2, 3, 4, 5, 6});
  CHECK(copy_(t, tenon::select(t, 0, 1)) == Error::Ok);
  CHECK(values<int32_t>(t) == Ints{3, 4, 3, 4, 3, 4});
}

TEST_CASE("copy_: a tensor is converted into its own memory") {
  auto floats = make_tensor_ptr({4}, {1.5f, 2.5f, -3.0f, 300.0f});
  auto bytes = slice(tenon::view_as_type(floats, ScalarType::Byte), 0, 0, 4);
  CHECK(copy_(bytes, floats, CastMode::Saturate) == Error::Ok);
  CHECK(values<uint8_t>(bytes) == std::vector<uint8_t>{2, 2, 0, 255});
}

TEST_CASE("copy_: of the same elements there is nothing to do, whatever their strides") {
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  auto t = tenon::from_blob(data, {2, 3});
  auto strided = tenon::from_blob(data + 1, {2, 2}, {3, 1});
  for (const auto& [dst, src] : {std::pair<Tensor, Tensor>(*t, *t),
                                 {*t, tenon::view(t, {2, 3})},
                                 {*strided, *strided},
                                 {transpose(t, 0, 1), transpose(t, 0, 1)}}) {
    CHECK(plan_copy(dst, src).kind == CopyKind::Alias);
    CHECK(copy_(dst, src, CopyPolicy::NoTemporary) == Error::Ok);
  }
  CHECK(values<int32_t>(t) == Ints{0, 1, 2, 3, 4, 5});
}

TEST_CASE("copy_: of the same elements, reversed, there is nothing to do", "[plain]") {
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  auto t = tenon::from_blob(data, {2, 3});
  for (const auto& [dst, src] :
       {std::pair<Tensor, Tensor>(flip(t, {0}), flip(t, {0})), {flip(flip(t, {1}), {1}), *t}}) {
    CHECK(plan_copy(dst, src).kind == CopyKind::Alias);
    CHECK(copy_(dst, src, CopyPolicy::NoTemporary) == Error::Ok);
  }
  CHECK(values<int32_t>(t) == Ints{0, 1, 2, 3, 4, 5});
}

TEST_CASE("copy_: the same memory as another type of the same size is converted") {
  auto ints = make_tensor_ptr({1, 2, 3});
  auto floats = tenon::view_as_type(ints, ScalarType::Float);
  CHECK(plan_copy(floats, ints).kind == CopyKind::Staged);
  CHECK(copy_(floats, ints) == Error::Ok);
  CHECK(values<float>(floats) == std::vector<float>{1, 2, 3});
}

TEST_CASE("copy_: without a temporary an overlap that needs one is refused and changes nothing") {
  auto t = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  auto square = slice(t, 1, 0, 2);
  CHECK_RETURNS(Error::NotSupported,
                "copy_: the tensors overlap, which needs a temporary of 16 bytes",
                copy_(square, transpose(square, 0, 1), CopyPolicy::NoTemporary));
  CHECK_RETURNS(Error::NotSupported, "a temporary of 12 bytes",
                copy_(t, tenon::select(t, 0, 1), CastMode::Saturate, CopyPolicy::NoTemporary));
  CHECK(values<int32_t>(t) == Ints{1, 2, 3, 4, 5, 6});
  CHECK(copy_(square, transpose(square, 0, 1), CopyPolicy::AllowTemporary) == Error::Ok);
  CHECK(values<int32_t>(t) == Ints{1, 4, 3, 2, 5, 6});
}

TEST_CASE("copy_: without a temporary a reversal in place is refused", "[plain]") {
  auto t = make_tensor_ptr({1, 2, 3, 4});
  CHECK_RETURNS(Error::NotSupported,
                "copy_: the tensors overlap, which needs a temporary of 16 bytes",
                copy_(t, flip(t, {0}), CopyPolicy::NoTemporary));
  CHECK_RETURNS(Error::NotSupported, "a temporary of 12 bytes",
                copy_(slice(t, 0, 0, 3), flip(slice(t, 0, 1, 4), {0}), CastMode::Saturate,
                      CopyPolicy::NoTemporary));
  CHECK(values<int32_t>(t) == Ints{1, 2, 3, 4});
  CHECK(copy_(t, flip(t, {0}), CopyPolicy::AllowTemporary) == Error::Ok);
  CHECK(values<int32_t>(t) == Ints{4, 3, 2, 1});
}

TEST_CASE("copy_: neighbours that only touch do not overlap") {
  auto t = make_tensor_ptr({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  auto dst = transpose(slice(t, 0, 2, 4), 0, 1);
  auto src = slice(t, 0, 0, 2);
  CHECK(plan_copy(dst, src).kind == CopyKind::Transpose);
  CHECK(copy_(dst, src, CopyPolicy::NoTemporary) == Error::Ok);
  CHECK(values<int32_t>(t) == Ints{1, 2, 3, 4, 1, 3, 2, 4});
}

TEST_CASE("copy_: neighbours that only touch do not overlap, reversed", "[plain]") {
  auto t = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  auto dst = flip(tenon::select(t, 0, 1), {0});
  auto src = tenon::select(t, 0, 0);
  CHECK(plan_copy(dst, src).kind == CopyKind::General);
  CHECK(copy_(dst, src, CopyPolicy::NoTemporary) == Error::Ok);
  CHECK(values<int32_t>(t) == Ints{1, 2, 3, 3, 2, 1});
}
