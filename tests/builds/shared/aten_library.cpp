// SPDX-License-Identifier: MIT
// ATen mode: a library with a backend.
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

__attribute__((visibility("default"))) tenon::TensorPtr make_tensor_of_library() {
  return tenon::zeros({2, 3}, backend);
}
