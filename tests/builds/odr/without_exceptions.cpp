// SPDX-License-Identifier: MIT
// The half of with_exceptions.cpp that is built with -fno-exceptions.
#include <tenon/tenon.h>

#include "c_tensor.h"

static_assert(TENON_HAS_EXCEPTIONS == 0, "this file must be built with -fno-exceptions");

CTensor make_without_exceptions(int64_t rows, int64_t columns) {
  auto made = tenon::try_full({rows, columns}, 0.5);
  if (!made) return CTensor{nullptr, {0, 0}, nullptr, nullptr};
  tenon::Tensor* tensor = made->release();
  return CTensor{tensor->mutable_data_ptr<float>(),
                 {tensor->size(0), tensor->size(1)},
                 [](void* context) { delete static_cast<tenon::Tensor*>(context); },
                 tensor};
}

float sum_without_exceptions(CTensor tensor) {
  auto made = tenon::try_from_blob(tensor.data, {tensor.sizes[0], tensor.sizes[1]},
                                   tenon::ScalarType::Float,
                                   [tensor](void*) { tensor.release(tensor.context); });
  float sum = 0;
  if (made) {
    for (float element : (*made)->data<float>()) sum += element;
  }
  return sum;
}

tenon::Error last_without_exceptions = tenon::Error::Internal;

Values reverse_without_exceptions(const Values& values, tenon::ArrayRef<int64_t> more) {
  Values made = values;
  for (size_t i = 0; i < more.size(); ++i) made.sizes.insert(0, more[i]);
  made.order = {};
  for (size_t i = made.sizes.size(); i > 0; --i) {
    made.order.push_back(static_cast<uint8_t>(i - 1));
  }
  made.device = "cuda:3";
  made.type = tenon::ScalarType::Half;
  last_without_exceptions = made.error =
      toString(values.error)[0] == 'O' ? tenon::Error::OutOfBounds : tenon::Error::NotFound;
  return made;
}

int64_t numel_without_exceptions(const tenon::TensorView& view, tenon::Dims&& sizes) {
  const tenon::Dims taken = std::move(sizes);
  int64_t numel = 1;
  for (const int64_t size : view.sizes) numel *= size;
  for (const int64_t size : taken) numel *= size;
  return numel;
}

const char* last_error_without_exceptions() { return tenon::last_error_message(); }

const void* address_without_exceptions() {
  return reinterpret_cast<const void*>(&tenon::detail::raise_message);
}
