// SPDX-License-Identifier: MIT
// The film for torch_view.py, which loads this as a shared library.
#include <cstdio>
#include <exception>
#include <memory>

#include "pictures.h"

/// The film by DLPack, ready for what comes next on the consumer's stream; null with a message on
/// standard error. The consumer takes it: its deleter runs once.
extern "C" tenon::dlpack::DLManagedTensorVersioned* cuda_blob_film(int64_t stream) noexcept {
  try {
    static tenon::CudaBackend& cuda = [&]() -> tenon::CudaBackend& {
      auto made = std::make_unique<tenon::CudaBackend>();
      tenon::register_backend(*made);
      return *made.release();  // outlives what Python keeps
    }();
    Decoder decoder(kWidth, kHeight);
    const tenon::TensorPtr memory =
        tenon::zeros({Decoder::kFilm, kHeight, kPitch}, tenon::ScalarType::Float, cuda);
    copy_film(decoder, cuda, *memory);
    tenon::check(cuda.order_before(stream));
    return tenon::to_dlpack(tenon::narrow(memory, 2, 0, kWidth));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cuda_blob: %s\n", error.what());
    return nullptr;
  }
}
