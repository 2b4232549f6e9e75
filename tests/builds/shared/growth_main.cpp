// SPDX-License-Identifier: MIT
// A host whose headers have three functions more than those of its library, in reserved places: the
// library's classes return NotSupported.
#include "growth.h"
#include "odr/check.h"

namespace {

using namespace tenon;

/// Of the host, which has the functions.
class Prefetching final : public WrapperBackend {
 public:
  Prefetching() : WrapperBackend(host_backend()) {}
  const char* name() const noexcept override { return "host"; }
  Error prefetch(const TensorView& view, int64_t stream) override {
    return view.sizes[0] == 4 && stream == 9 ? Error::Ok : Error::InvalidArgument;
  }
};

}  // namespace

int main() {
  float data[4] = {};
  const TensorPtr tensor = from_blob(data, {4});
  const TensorView view = as_view(tensor);

  Prefetching ours;
  Backend& backend = ours;
  ODR_CHECK(backend.prefetch(view, 9) == Error::Ok);
  Backend& theirs = *growth_backend();
  ODR_CHECK(theirs.prefetch(view, 9) == Error::NotSupported);
  ODR_CHECK(std::strcmp(theirs.name(), "library") == 0);
  ODR_CHECK(zeros({3}, theirs)->numel() == 3);
  ODR_CHECK(theirs.live_blocks() == 0);

  DeviceBackend& device = *growth_device();
  ODR_CHECK(device.prefetch(view, 9) == Error::NotSupported);
  ODR_CHECK(device.begin_graph(1, 2, 3) == Error::NotSupported);
  ODR_CHECK(device.stream_number() == 7);

  Module& module = *growth_module();
  ODR_CHECK(module.warm_up("forward", 3) == Error::NotSupported);
  ODR_CHECK(module.forward(21).value()[0].toInt() == 42);
  ODR_CHECK(growth_calls() == 0);
}
