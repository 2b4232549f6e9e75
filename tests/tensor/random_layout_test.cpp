// SPDX-License-Identifier: MIT
// Random creators at any strides: the same numbers, in row-major order of the indices.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "support/catch.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/random.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"
#include "tensor/random_helpers.h"

using namespace tenon;
using namespace tests;

namespace {

struct Shape {
  const char* name;
  Vector sizes;
  Vector strides;
  bool is_dense;
};

// Some thousand elements at most, and some hundred in most.
const Shape kShapes[] = {
    {"row-major", {20, 30}, {30, 1}, true},
    {"column-major", {20, 30}, {1, 20}, true},
    {"two long columns", {1000, 2}, {1, 1000}, true},
    {"two long rows, interleaved", {2, 1000}, {1, 2}, true},
    {"padded rows", {20, 30}, {37, 1}, false},
    {"every second column", {20, 30}, {60, 2}, false},
    {"every third element", {400}, {3}, false},
    {"one column of three", {400, 1}, {3, 1}, false},
    {"one row of any stride", {1, 400}, {777, 1}, true},
    {"channels last", {2, 3, 11, 13}, {429, 1, 39, 3}, true},
    {"padded channels last", {2, 3, 11, 13}, {600, 1, 52, 4}, false},
    {"eight dimensions", Vector(8, 2), {1, 2, 4, 8, 16, 32, 64, 128}, true},
    {"eight dimensions with gaps", Vector(8, 2), {3, 6, 12, 24, 48, 768, 384, 192}, false},
    {"rank 0", {}, {}, true},
    {"no rows", {0, 3}, {3, 1}, true},
    {"no columns, any strides", {3, 0, 5}, {7, 7, 7}, true},
};

const ScalarType kTypes[] = {ScalarType::Float, ScalarType::Int,    ScalarType::Byte,
                             ScalarType::Half,  ScalarType::Double, ScalarType::ComplexDouble};

constexpr Generator kGenerator(5, 1000003);

Bytes contiguous(const tests::Creator& creator, const Vector& sizes, ScalarType type) {
  Generator g = kGenerator;
  return elements(creator.make(sizes, {}, type, g));
}

// Whether what lies between the elements of a tensor that owns its memory is zero.
bool has_zero_gaps(const Tensor& t) {
  const Vector offsets = offsets_of(sizes(t), strides(t));
  if (offsets.empty()) return true;
  const auto reach = static_cast<size_t>(*std::max_element(offsets.begin(), offsets.end()) + 1);
  std::vector<bool> is_element(reach, false);
  for (int64_t offset : offsets) is_element[static_cast<size_t>(offset)] = true;
  const auto* data = static_cast<const unsigned char*>(tenon::const_data_ptr(t));
  for (size_t i = 0; i < reach * t.element_size(); ++i) {
    if (!is_element[i / t.element_size()] && data[i] != 0) return false;
  }
  return true;
}

// The strides of what rand_like() makes of a source of sizes {2, 3}, with the right numbers.
Vector strides_like(const TensorPtr& source) {
  Generator g = kGenerator;
  const TensorPtr t = tenon::rand_like(source, g);
  Generator again = kGenerator;
  CHECK((elements(t) == elements(tenon::rand({2, 3}, again))));
  return strides(t);
}

// rand_like() makes host memory of a Float source of any kind.
void check_only_shape(const Tensor& source) {
  Generator g(0);
  const TensorPtr t = tenon::rand_like(source, g);
  CHECK(tenon::const_data_ptr<float>(t)[0] == 0x6627e8 / 16777216.0f);
  CHECK(t->device() == tenon::Device(tenon::DeviceType::CPU));
  CHECK_FALSE(tenon::is_readonly(t));
}

}  // namespace

TEST_CASE("random _strided creators: the same numbers at any strides, and zeros in the gaps") {
  for (const tests::Creator& creator : tests::kCreators) {
    if (creator.kind != tests::Creator::kStrided) continue;
    for (const Shape& shape : kShapes) {
      for (ScalarType type : kTypes) {
        INFO(creator.name << " " << toString(type) << " " << shape.name);
        Generator g = kGenerator;
        const TensorPtr t = creator.make(shape.sizes, shape.strides, type, g);
        CHECK((elements(t) == contiguous(creator, shape.sizes, type)));
        CHECK(sizes(t) == shape.sizes);
        CHECK(strides(t) == shape.strides);
        CHECK(has_zero_gaps(*t));
        CHECK(g.offset() == kGenerator.offset() + static_cast<uint64_t>(t->numel()));
      }
    }
  }
}

TEST_CASE("random _like creators: the same numbers, at the source's strides if they are dense") {
  for (const tests::Creator& creator : tests::kCreators) {
    if (creator.kind != tests::Creator::kLike) continue;
    for (const Shape& shape : kShapes) {
      for (ScalarType type : kTypes) {
        INFO(creator.name << " " << toString(type) << " " << shape.name);
        Generator g = kGenerator;
        const TensorPtr t = creator.make(shape.sizes, shape.strides, type, g);
        CHECK((elements(t) == contiguous(creator, shape.sizes, type)));
        CHECK(sizes(t) == shape.sizes);
        if (shape.is_dense) CHECK(strides(t) == shape.strides);
        CHECK(t->nbytes() == static_cast<size_t>(t->numel()) * t->element_size());
        CHECK(dim_order(t) == dim_order(tests::source(shape.sizes, shape.strides)));
        CHECK(g.offset() == kGenerator.offset() + static_cast<uint64_t>(t->numel()));
      }
    }
  }
}

TEST_CASE("random _like creators: strides that overlap or leave gaps become dense") {
  float data[24] = {};
  CHECK(strides_like(tenon::from_blob(data, {2, 3}, {8, 1})) == Vector{3, 1});
  CHECK(strides_like(tenon::from_blob(data, {2, 3}, {1, 8})) == Vector{1, 2});
  CHECK(strides_like(tenon::from_blob(data, {2, 3}, {0, 1})) == Vector{1, 2});
  for (float value : data) CHECK(value == 0);
}

TEST_CASE("random _like creators: strides that reverse become dense", "[plain]") {
  float data[6] = {};
  CHECK(strides_like(tenon::from_blob(data + 5, {2, 3}, {-3, -1})) == Vector{3, 1});
  for (float value : data) CHECK(value == 0);
}

TEST_CASE("random _like creators: placeholder sources are only shapes") {
  check_only_shape(tenon::make_tensor({2}, nullptr));
}

TEST_CASE("random _like creators: a source on a device nobody knows is refused, or only a shape") {
  void* const device_pointer = reinterpret_cast<void*>(uintptr_t{4096});
  const auto source =
      tenon::for_blob(device_pointer, {2}, ScalarType::Float).device("cuda:0").make_tensor();
  CHECK_ERROR(tenon::Error::NotSupported, "no backend is registered for it",
              tenon::rand_like(source));
  CHECK(tenon::device(tenon::rand_like(source, tenon::default_backend())).is_cpu());
}

TEST_CASE("random _like creators: read-only sources are only shapes", "[plain]") {
  const float constant[2] = {1, 2};
  check_only_shape(*tenon::from_blob(tests::read_only(constant), {2}));
  CHECK(constant[0] == 1);
}

TEST_CASE("random creators: transposed afterwards, the numbers are those of the other order") {
  Generator g = kGenerator;
  const TensorPtr rows = tenon::randn({30, 20}, g);
  g = kGenerator;
  const TensorPtr columns = tenon::randn_strided({30, 20}, {1, 30}, g);
  CHECK((elements(tenon::transpose(rows, 0, 1)) == elements(tenon::transpose(columns, 0, 1))));
}
