// SPDX-License-Identifier: MIT
#include "tenon/tensor/nonzero.h"

#include <limits>
#include <vector>

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace nonzero_test {

using namespace tenon;
using namespace tests;

namespace {

/// The indices of what is not 0 in row-major elements of a shape.
Vector indices_of(const std::vector<double>& elements, const Vector& shape) {
  Vector out;
  for (size_t i = 0; i < elements.size(); ++i) {
    if (elements[i] == 0) continue;
    Vector index;
    auto rest = static_cast<int64_t>(i);
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) {
      index.insert(index.begin(), rest % shape[d]);
    }
    out.insert(out.end(), index.begin(), index.end());
  }
  return out;
}

}  // namespace

TEST_CASE("nonzero: any type, strides and density, as by a plain loop") {
  const ScalarType types[] = {ScalarType::Bool,  ScalarType::Byte,   ScalarType::Short,
                              ScalarType::Int,   ScalarType::Long,   ScalarType::Half,
                              ScalarType::Float, ScalarType::Double, ScalarType::ComplexFloat};
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    Rng random{seed};
    Vector shape;
    for (int64_t d = random.between(0, 4); d > 0; --d) {
      shape.push_back(random.between(0, 19) == 0 ? 0 : random.between(1, 12));
    }
    if (random.between(0, 5) == 0) shape = {random.between(1, 3000)};
    const int64_t rare = random.between(0, 2) == 0 ? 0 : random.between(1, 200);
    std::vector<double> elements(element_offsets(shape, Vector(shape.size())).size());
    for (double& element : elements) {
      element = rare != 0 && random.between(0, rare) == 0 ? 1.0 : 0.0;
    }
    const ScalarType type = types[random.between(0, 8)];
    Tensor t = to(make_tensor(shape, elements), type, CastMode::Saturate);
    if (shape.size() >= 2) {  // the same elements at other strides
      const Tensor turned = transpose(t, 0, 1);
      t = transpose(contiguous(turned), 0, 1);
    }
    CAPTURE(seed, shape, rare, type);
    const TensorPtr found = tenon::nonzero(t);
    const Vector expected = indices_of(elements, shape);
    CHECK(found->scalar_type() == ScalarType::Long);
    CHECK(found->is_contiguous());
    CHECK(found->size(1) == static_cast<int64_t>(shape.size()));
    if (values<int64_t>(found) != expected) FAIL_CHECK("other indices");
  }
}

TEST_CASE("nonzero: NaN is not 0, -0 is; any byte of a Bool but 0 is true") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(values<int64_t>(tenon::nonzero(make_tensor_ptr({0.0f, nan, -0.0f, 1e-45f}))) ==
        Vector{1, 3});
  unsigned char bytes[] = {0, 1, 2, 0, 128, 255};
  const TensorPtr mask = from_blob(bytes, {2, 3}, ScalarType::Bool);
  check_texts({{to_string(*tenon::nonzero(mask)), "[[0 1]\n [0 2]\n [1 1]\n [1 2]]\nLong {4, 2}"}});
}

TEST_CASE("nonzero: in the memory of the tensor's backend") {
  MinimalBackend b;
  const TensorPtr t = make_tensor_ptr({2, 2}, {0, 1, 2, 0}, b);
  const TensorPtr found = tenon::nonzero(t);
  CHECK(&backend_of(found) == &b);
  CHECK(values<int64_t>(backend_copy(found, host_backend())) == Vector{0, 1, 1, 0});
  CHECK(b.faults == 0);
}

TEST_CASE("nonzero: errors") {
  const TensorPtr nothing;
  RAISES(InvalidState, "nonzero: the tensor is undefined", tenon::nonzero(nothing));
  RAISES(InvalidState, "nonzero: the tensor is a placeholder",
         tenon::nonzero(make_tensor_ptr({2}, nullptr)));
  CHECK(try_nonzero(ones({2})).ok());
  CHECK(try_nonzero(nothing).message() == std::string("try_nonzero: the tensor is undefined"));
}

}  // namespace nonzero_test
