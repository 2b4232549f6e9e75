// SPDX-License-Identifier: MIT
// Between files with and without exceptions: a plain C interface, memory and who releases it, and
// the value types, which are the same in both.
#pragma once

#include <tenon/core/tensor_view.h>

#include <cstdint>

extern "C" {

struct CTensor {
  float* data;
  int64_t sizes[2];
  void (*release)(void* context);
  void* context;
};

// Of without_exceptions.cpp.
CTensor make_without_exceptions(int64_t rows, int64_t columns);  // data is null on failure
float sum_without_exceptions(CTensor tensor);                    // releases it
const char* last_error_without_exceptions();
const void* address_without_exceptions();
}

struct Values {
  tenon::Dims sizes;
  tenon::DimOrder order;
  tenon::Device device;
  tenon::ScalarType type;
  tenon::Error error;
};
Values reverse_without_exceptions(const Values& values, tenon::ArrayRef<int64_t> more);
int64_t numel_without_exceptions(const tenon::TensorView& view, tenon::Dims&& sizes);
extern tenon::Error last_without_exceptions;
