// SPDX-License-Identifier: MIT
// assign and copy_to between tensors and blobs, or plain memory, that overlap.

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/copy_model.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;
using namespace tests::copy_model;

namespace {

using Ints = std::vector<int32_t>;

Tensor tensor_over(Scene& scene, const Window& window) {
  return for_blob(scene.at(window), window.sizes, window.type)
      .strides(window.strides)
      .make_tensor();
}
Blob blob_over(Scene& scene, const Window& window) {
  return Blob{scene.at(window), window.sizes, window.strides, window.type};
}

// Scenes of windows over one memory come out as a temporary would make them; many overlap.
void check_scenes(Error (*copy)(Scene&), Variety variety, Reversed reversed) {
  int wrong = 0;
  int overlapping = 0;
  for (uint64_t seed = 1; seed <= 5000; ++seed) {
    Scene scene = Scenes(seed, reversed).make(variety);
    const tests::Bytes expected = scene.expected();
    if (copy(scene) != Error::Ok || scene.memory != expected) ++wrong;
    overlapping += scene.meet();
  }
  CHECK(wrong == 0);
  CHECK(overlapping > 2000);
}

Error assign_blob(Scene& scene) {
  return assign(tensor_over(scene, scene.dst), blob_over(scene, scene.src), scene.mode);
}
Error copy_to_blob(Scene& scene) {
  return copy_to(tensor_over(scene, scene.src), blob_over(scene, scene.dst), scene.mode);
}
Error assign_memory(Scene& scene) {
  const auto nbytes = static_cast<size_t>(scene.src.numel() * scene.src.item());
  return assign(tensor_over(scene, scene.dst), scene.at(scene.src), nbytes);
}
Error copy_to_memory(Scene& scene) {
  const auto nbytes = static_cast<size_t>(scene.dst.numel() * scene.dst.item());
  return copy_to(tensor_over(scene, scene.src), scene.at(scene.dst), nbytes);
}

}  // namespace

TEST_CASE("assign: from a blob over the tensor's own memory, as if through a temporary") {
  check_scenes(assign_blob, Variety::SameSizes, Reversed::OnlySource);
}

TEST_CASE("assign: from a blob over a reversed tensor's own memory", "[plain]") {
  check_scenes(assign_blob, Variety::SameSizes, Reversed::Any);
}

TEST_CASE("copy_to: to a blob over the tensor's own memory, as if through a temporary") {
  check_scenes(copy_to_blob, Variety::SameSizes, Reversed::OnlyTarget);
}

TEST_CASE("copy_to: to a blob over a reversed tensor's own memory", "[plain]") {
  check_scenes(copy_to_blob, Variety::SameSizes, Reversed::Any);
}

TEST_CASE("assign: from plain memory that is the tensor's own, as if through a temporary") {
  check_scenes(assign_memory, Variety::DenseSource, Reversed::None);
}

TEST_CASE("assign: from plain memory that is a reversed tensor's own", "[plain]") {
  check_scenes(assign_memory, Variety::DenseSource, Reversed::Any);
}

TEST_CASE("copy_to: to plain memory that is the tensor's own, as if through a temporary") {
  check_scenes(copy_to_memory, Variety::DenseTarget, Reversed::None);
}

TEST_CASE("copy_to: to plain memory that is a reversed tensor's own", "[plain]") {
  check_scenes(copy_to_memory, Variety::DenseTarget, Reversed::Any);
}

TEST_CASE("assign: a tensor's own memory assigned to it changes nothing, moved it moves") {
  auto t = make_tensor_ptr({1, 2, 3, 4, 5});
  int32_t* const data = mutable_data_ptr<int32_t>(t);
  CHECK(assign(t, data, 20) == Error::Ok);
  CHECK(copy_to(t, data, 20) == Error::Ok);
  CHECK(assign(t, to_blob(t)) == Error::Ok);
  CHECK(values<int32_t>(t) == Ints{1, 2, 3, 4, 5});
  CHECK(assign(slice(t, 0, 1, 5), data, 16) == Error::Ok);
  CHECK(values<int32_t>(t) == Ints{1, 1, 2, 3, 4});
  CHECK(copy_to(slice(t, 0, 1, 5), data, 16) == Error::Ok);
  CHECK(values<int32_t>(t) == Ints{1, 2, 3, 4, 4});
}

TEST_CASE("assign: a tensor is reversed by a blob over its own memory") {
  auto t = make_tensor_ptr({1, 2, 3});
  const Blob reversed{mutable_data_ptr<int32_t>(t) + 2, {3}, {-1}, ScalarType::Int};
  CHECK(assign(t, reversed) == Error::Ok);
  CHECK(values<int32_t>(t) == Ints{3, 2, 1});
  CHECK(copy_to(t, reversed) == Error::Ok);
  CHECK(values<int32_t>(t) == Ints{1, 2, 3});
}
