// SPDX-License-Identifier: MIT
#include "pictures.h"

using tenon::check;

tenon::TensorPtr next_picture(Decoder& decoder, tenon::CudaBackend& cuda) {
  float* const data = decoder.next();
  if (data == nullptr) return nullptr;
  const int64_t stream = number_of(decoder.stream());
  check(cuda.order_after(stream));
  const auto row = static_cast<int64_t>(decoder.pitch() / sizeof(float));
  return tenon::for_blob(data, {kHeight, kWidth})
      .strides({row, 1})
      .backend(cuda)
      .deleter([&decoder, &cuda, stream](void* picture) {
        (void)cuda.order_before(stream);  // fails only where the device is lost
        decoder.give_back(picture);
      })
      .make_tensor_ptr();
}

void copy_film(Decoder& decoder, tenon::CudaBackend& cuda, const tenon::Tensor& memory) {
  const tenon::Tensor output = tenon::narrow(memory, 2, 0, kWidth);
  tenon::TensorPtr picture;
  for (int64_t n = 0; n < Decoder::kFilm; ++n) {
    // Gives the one before it back when this one is enqueued: they are decoded and copied side by side.
    picture = next_picture(decoder, cuda);
    check(tenon::assign(tenon::select(output, 0, n), tenon::to_blob(picture)));
  }
}
