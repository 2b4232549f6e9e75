// SPDX-License-Identifier: MIT
// loops NAME: runs one of the loops below over 2^20 floats, whose instructions are then counted.
// Each accessor loop has a partner over a pointer with the same strides, known at run time.
#include "tenon/tensor/accessor.h"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "tenon/tensor/tensor_ptr.h"

using namespace tenon;

// Not static, lest the compiler makes copies of them under other names for the arguments it sees.
#define LOOP extern "C" __attribute__((noinline)) float

LOOP pointer_2d(const Tensor& t) {
  const float* const p = t.const_data_ptr<float>();
  const int64_t rows = t.size(0), columns = t.size(1);
  const int64_t row_stride = t.stride(0), column_stride = t.stride(1);
  float sum = 0;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) sum += p[i * row_stride + j * column_stride];
  }
  return sum;
}

LOOP pointer_dense(const Tensor& t) {
  const float* const p = t.const_data_ptr<float>();
  const int64_t rows = t.size(0), columns = t.size(1);
  float sum = 0;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) sum += p[i * columns + j];
  }
  return sum;
}

LOOP brackets_2d(const Tensor& t) {
  const auto a = t.accessor<const float, 2>();
  float sum = 0;
  for (int64_t i = 0; i < a.size(0); ++i) {
    for (int64_t j = 0; j < a.size(1); ++j) sum += a[i][j];
  }
  return sum;
}

LOOP call_2d(const Tensor& t) {
  const auto a = t.accessor<const float, 2>();
  float sum = 0;
  for (int64_t i = 0; i < a.size(0); ++i) {
    for (int64_t j = 0; j < a.size(1); ++j) sum += a(i, j);
  }
  return sum;
}

LOOP rows_2d(const Tensor& t) {
  float sum = 0;
  for (auto row : t.accessor<const float, 2>()) {
    for (const float x : row) sum += x;
  }
  return sum;
}

LOOP pointer_4d(const Tensor& t) {
  const float* const p = t.const_data_ptr<float>();
  const int64_t n0 = t.size(0), n1 = t.size(1), n2 = t.size(2), n3 = t.size(3);
  const int64_t s0 = t.stride(0), s1 = t.stride(1), s2 = t.stride(2), s3 = t.stride(3);
  float sum = 0;
  for (int64_t i = 0; i < n0; ++i) {
    for (int64_t j = 0; j < n1; ++j) {
      for (int64_t k = 0; k < n2; ++k) {
        for (int64_t l = 0; l < n3; ++l) sum += p[i * s0 + j * s1 + k * s2 + l * s3];
      }
    }
  }
  return sum;
}

LOOP brackets_4d(const Tensor& t) {
  const auto a = t.accessor<const float, 4>();
  float sum = 0;
  for (int64_t i = 0; i < a.size(0); ++i) {
    for (int64_t j = 0; j < a.size(1); ++j) {
      for (int64_t k = 0; k < a.size(2); ++k) {
        for (int64_t l = 0; l < a.size(3); ++l) sum += a[i][j][k][l];
      }
    }
  }
  return sum;
}

LOOP call_4d(const Tensor& t) {
  const auto a = t.accessor<const float, 4>();
  float sum = 0;
  for (int64_t i = 0; i < a.size(0); ++i) {
    for (int64_t j = 0; j < a.size(1); ++j) {
      for (int64_t k = 0; k < a.size(2); ++k) {
        for (int64_t l = 0; l < a.size(3); ++l) sum += a(i, j, k, l);
      }
    }
  }
  return sum;
}

LOOP rows_4d(const Tensor& t) {
  float sum = 0;
  for (auto a : t.accessor<const float, 4>()) {
    for (auto b : a) {
      for (auto c : b) {
        for (const float x : c) sum += x;
      }
    }
  }
  return sum;
}

int main(int argc, char** argv) {
  struct {
    const char* name;
    float (*loop)(const Tensor&);
    bool matrix;
  } const loops[] = {{"pointer_2d", pointer_2d, true},   {"pointer_dense", pointer_dense, true},
                     {"brackets_2d", brackets_2d, true}, {"call_2d", call_2d, true},
                     {"pointer_4d", pointer_4d, false},  {"brackets_4d", brackets_4d, false},
                     {"call_4d", call_4d, false},        {"rows_2d", rows_2d, true},
                     {"rows_4d", rows_4d, false}};
  std::vector<float> data(1 << 20, 1.0f);
  const Tensor matrix = tenon::make_tensor({1024, 1024}, data.data());
  const Tensor deep = tenon::make_tensor({32, 32, 32, 32}, data.data());
  for (const auto& loop : loops) {
    if (argc != 2 || std::strcmp(argv[1], loop.name) != 0) continue;
    const float sum = loop.loop(loop.matrix ? matrix : deep);
    if (sum == 1048576.0f) return 0;
    std::fprintf(stderr, "%s: %g\n", loop.name, static_cast<double>(sum));
    return 1;
  }
  std::fprintf(stderr, "usage: loops NAME\n");
  return 2;
}
