// SPDX-License-Identifier: MIT
// ATen mode: a library with a backend, which also grows a tensor of the program's, and is unloaded.
#include <tenon/tenon.h>

namespace {

class LibraryBackend final : public tenon::WrapperBackend {
 public:
  LibraryBackend() : WrapperBackend(heap_) {}
  const char* name() const noexcept override { return "library's"; }

 private:
  tenon::CpuBackend heap_;
} backend;

}  // namespace

#define VISIBLE extern "C" __attribute__((visibility("default")))

VISIBLE void make(tenon::TensorPtr& tensor) { tensor = tenon::zeros({2, 3}, backend); }
VISIBLE bool grow(tenon::Tensor& tensor, int64_t count) {
  return tenon::resize_tensor(tensor, {count}) == tenon::Error::Ok;
}
