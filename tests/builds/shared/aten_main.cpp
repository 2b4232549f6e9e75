// SPDX-License-Identifier: MIT
// ATen mode: a storage is known for tenon's whichever library made it; and the program's tensors go on
// working when a library that grew them is unloaded.
//
// usage: PROGRAM LIBRARY
#include <dlfcn.h>

#include <cstring>

#include <tenon/backend/pool.h>
#include <tenon/tenon.h>

#include "../odr/check.h"

namespace {

int released;

}  // namespace

int main(int argc, char** argv) {
  ODR_CHECK(argc == 2);
  constexpr auto kDynamic = tenon::TensorShapeDynamism::DYNAMIC;
  constexpr auto kFloat = tenon::ScalarType::Float;
  const auto release = [](void* p) noexcept { ++released, std::free(p); };
  tenon::PoolBackend pool(tenon::host_backend());
  tenon::TensorPtr tensors[] = {
      tenon::full({4}, 1, kFloat, kDynamic), tenon::full({1000}, 1, kFloat, kDynamic),
      tenon::full({4}, 1, kFloat, kDynamic, pool),
      tenon::from_blob(std::calloc(4, sizeof(float)), {4}, kFloat, release, kDynamic)};
  void* const library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  ODR_CHECK(library != nullptr);
  {
    auto* const make = reinterpret_cast<void (*)(tenon::TensorPtr&)>(dlsym(library, "make"));
    tenon::TensorPtr theirs;
    make(theirs);
    ODR_CHECK(std::strcmp(tenon::backend_of(theirs).name(), "library's") == 0);
    ODR_CHECK(tenon::backend_of(theirs).live_blocks() == 1);
  }
  auto* const grow = reinterpret_cast<bool (*)(tenon::Tensor&, int64_t)>(dlsym(library, "grow"));
  for (const tenon::TensorPtr& t : tensors) ODR_CHECK(grow(*t, 5000));
  ODR_CHECK(released == 1);
  ODR_CHECK(dlclose(library) == 0);
  ODR_CHECK(dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) == nullptr);
  for (tenon::TensorPtr& t : tensors) {
    ODR_CHECK(tenon::fill_(t, 3) == tenon::Error::Ok);
    ODR_CHECK(tenon::resize_tensor_ptr(t, {20000}) == tenon::Error::Ok);
    ODR_CHECK(t->const_data_ptr<float>()[3] == 3);
    t.reset();
  }
  ODR_CHECK(pool.live_blocks() == 0);
}
