// SPDX-License-Identifier: MIT
// What the tests of include/tenon/tensor share: counted deleters, naive reading, snapshots.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "support/calls.h"
#include "support/catch.h"
#include "support/shapes.h"
#include "tenon/core/result.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_ptr.h"

namespace tests {

template <class Range>
Vector list(const Range& values) {
  return Vector(values.begin(), values.end());
}
inline Vector sizes(const tenon::Tensor& t) { return list(t.sizes()); }
inline Vector strides(const tenon::Tensor& t) { return list(t.strides()); }
inline Vector dim_order(const tenon::Tensor& t) { return list(tenon::dim_order(t)); }
inline Vector sizes(const tenon::TensorPtr& t) { return list(t->sizes()); }
inline Vector strides(const tenon::TensorPtr& t) { return list(t->strides()); }
inline Vector dim_order(const tenon::TensorPtr& t) { return list(tenon::dim_order(t)); }

/// The elements in row-major order of their indices, read one by one through the strides.
template <class T>
std::vector<T> values(const tenon::Tensor& t) {
  std::vector<T> out;
  const Vector shape = sizes(t);
  const Vector steps = strides(t);
  if (t.numel() == 0) return out;
  const T* data = tenon::const_data_ptr<T>(t);
  Vector index(shape.size(), 0);
  for (;;) {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) offset += index[d] * steps[d];
    out.push_back(data[offset]);
    size_t d = index.size();
    while (d > 0 && ++index[d - 1] == shape[d - 1]) index[--d] = 0;
    if (d == 0) return out;
  }
}
template <class T>
std::vector<T> values(const tenon::TensorPtr& t) {
  return values<T>(*t);
}

/// Texts, and what each is to be.
inline void check_texts(std::initializer_list<std::pair<std::string, const char*>> rows) {
  for (const auto& row : rows) CHECK(row.first == row.second);
}

/// 0, 1, 2, … in row-major order.
inline tenon::Tensor counted(const Vector& shape) {
  Ints elements(element_offsets(shape, Vector(shape.size())).size());
  std::iota(elements.begin(), elements.end(), 0);
  return tenon::make_tensor(shape, elements);
}

/// Checks an Int tensor's sizes, strides and elements, the last only where they are given.
inline void check_tensor(const tenon::Tensor& t, const Vector& shape, const Vector& steps,
                         const Ints& elements = {}) {
  CAPTURE(shape, steps, elements);
  CHECK(sizes(t) == shape);
  CHECK(strides(t) == steps);
  if (!elements.empty()) CHECK(values<int32_t>(t) == elements);
}

/// A pointer to const, which makes a read-only tensor.
template <class T>
const T* read_only(const T* data) {
  return data;
}

/// A contiguous move-only container of floats on the heap, which counts its releases.
class Tracked {
 public:
  using value_type = float;
  Tracked(Calls& calls, size_t size) : calls_(&calls), buffer_(new float[size + 1]), size_(size) {
    for (size_t i = 0; i < size; ++i) buffer_[i] = static_cast<float>(i);
  }
  Tracked(Tracked&& other) noexcept
      : calls_(other.calls_), buffer_(std::exchange(other.buffer_, nullptr)), size_(other.size_) {
    other.size_ = 0;
  }
  Tracked& operator=(Tracked&&) = delete;
  ~Tracked() {
    if (buffer_ == nullptr) return;
    calls_->deleter()(buffer_);
    delete[] buffer_;
  }
  float* data() noexcept { return buffer_; }
  const float* data() const noexcept { return buffer_; }
  size_t size() const noexcept { return size_; }
  const float* begin() const noexcept { return buffer_; }
  const float* end() const noexcept { return buffer_ + size_; }

 private:
  Calls* calls_;
  float* buffer_;
  size_t size_;
};

/// Everything about a tensor that an error must leave as it was.
struct State {
  explicit State(const tenon::Tensor& t)
      : sizes(tests::sizes(t)),
        strides(tests::strides(t)),
        dim_order(tests::dim_order(t)),
        numel(t.numel()),
        data(tenon::const_data_ptr(t)),
        type(t.scalar_type()),
        ownership(tenon::ownership(t)),
        dynamism(tenon::shape_dynamism(t)),
        contiguous(t.is_contiguous()) {}

  friend bool operator==(const State& a, const State& b) {
    return a.sizes == b.sizes && a.strides == b.strides && a.dim_order == b.dim_order &&
           a.numel == b.numel && a.data == b.data && a.type == b.type &&
           a.ownership == b.ownership && a.dynamism == b.dynamism && a.contiguous == b.contiguous;
  }

  Vector sizes, strides, dim_order;
  int64_t numel;
  const void* data;
  tenon::ScalarType type;
  tenon::Ownership ownership;
  tenon::TensorShapeDynamism dynamism;
  bool contiguous;
};

/// A handle to whatever a creator returned.
inline tenon::Tensor handle(const tenon::TensorPtr& t) { return *t; }
inline tenon::Tensor handle(const tenon::TensorImplPtr& t) { return tenon::make_tensor(t); }
inline tenon::Tensor handle(const tenon::Tensor& t) { return t; }
template <class T>
tenon::Tensor handle(const tenon::Result<T>& t) {
  return handle(t.value());
}

}  // namespace tests
