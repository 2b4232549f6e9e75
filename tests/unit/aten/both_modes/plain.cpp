// SPDX-License-Identifier: MIT
// The half of aten.cpp that is compiled without USE_ATEN_LIB, and knows nothing of libtorch.
#include <tenon/tenon.h>

#include <cstring>

#include "exchange.h"

static_assert(TENON_ATEN_MODE == 0, "this file must be compiled without USE_ATEN_LIB");

using namespace tenon;

CMatrix plain_ones(int64_t rows, int64_t columns) {
  auto made = tenon::try_ones({rows, columns});
  if (!made) return CMatrix{};
  Tensor* const tensor = made->release();
  return CMatrix{tensor->mutable_data_ptr(),
                 {tensor->size(0), tensor->size(1)},
                 {tensor->stride(0), tensor->stride(1)},
                 static_cast<int>(tensor->scalar_type()),
                 [](void* context) { delete static_cast<Tensor*>(context); },
                 tensor};
}

double plain_sum(CMatrix matrix) {
  const TensorPtr tensor = tenon::from_blob(matrix.data, {matrix.sizes[0], matrix.sizes[1]},
                                            {matrix.strides[0], matrix.strides[1]},
                                            static_cast<ScalarType>(matrix.scalar_type),
                                            [matrix](void*) { matrix.release(matrix.context); });
  const TensorPtr doubles = tenon::empty({matrix.sizes[0], matrix.sizes[1]}, ScalarType::Double);
  if (tenon::copy_(doubles, tensor) != tenon::Error::Ok) return -1;
  double sum = 0;
  for (double element : doubles->data<double>()) sum += element;
  return sum;
}

int plain_resize(int64_t from, int64_t to) {
  TensorPtr tensor = tenon::zeros({from});
  return static_cast<int>(tenon::resize_tensor_ptr(tensor, {to}));
}

const char* plain_last_error() { return tenon::last_error_message(); }

void plain_raise() { static_cast<void>(tenon::zeros({-1})); }

void plain_rand(uint64_t seed, float* out, int64_t count) {
  const TensorPtr made = tenon::rand({count}, tenon::Generator(seed));
  std::memcpy(out, made->const_data_ptr(), made->nbytes());
}

void plain_rand_by_default(uint64_t seed, float* out, int64_t count) {
  tenon::manual_seed(seed);
  const TensorPtr made = tenon::rand({count});
  std::memcpy(out, made->const_data_ptr(), made->nbytes());
}

const void* plain_address(int which) {
  switch (which) {
    case 0: return reinterpret_cast<const void*>(&tenon::detail::raise_message);
    case 1: return &tenon::make_tensor_ptr;
    case 2: return &tenon::detail::last_error();
    case 3: return &tenon::detail::failure_handler();
    default: return &tenon::default_generator();
  }
}
