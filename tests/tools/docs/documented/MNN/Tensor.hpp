// SPDX-License-Identifier: MIT
// MNN::Tensor of the host: what MNN documents and docs/recipes_libraries.md uses.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <vector>

enum halide_type_code_t { halide_type_int, halide_type_uint, halide_type_float };
struct halide_type_t {
  halide_type_code_t code;
  uint8_t bits;
};
template <class T>
halide_type_t halide_type_of();
template <>
inline halide_type_t halide_type_of<float>() {
  return {halide_type_float, 32};
}

namespace MNN {

class Tensor {
 public:
  enum DimensionType { TENSORFLOW, CAFFE, CAFFE_C4 };

  // Memory of the tensor's without `data`; else it is the caller's.
  static Tensor* create(const std::vector<int>& shape, halide_type_t type, void* data = nullptr,
                        DimensionType layout = TENSORFLOW) {
    return new Tensor(shape, type, data, layout);
  }
  Tensor(const Tensor&) = delete;
  ~Tensor() {
    if (owns_) std::free(data_);
  }

  std::vector<int> shape() const { return shape_; }
  halide_type_t getType() const { return type_; }
  DimensionType getDimensionType() const { return layout_; }
  template <class T>
  T* host() const {
    return static_cast<T*>(data_);
  }

 private:
  Tensor(const std::vector<int>& shape, halide_type_t type, void* data, DimensionType layout)
      : shape_(shape), type_(type), layout_(layout), data_(data), owns_(data == nullptr) {
    size_t bytes = type.bits / 8u;
    for (int size : shape) bytes *= static_cast<size_t>(size);
    if (owns_) data_ = std::calloc(bytes, 1);
  }

  std::vector<int> shape_;
  halide_type_t type_;
  DimensionType layout_;
  void* data_;
  bool owns_;
};

}  // namespace MNN
