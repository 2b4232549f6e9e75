// SPDX-License-Identifier: MIT
#include "tenon/backend/registry.h"

#include <thread>

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/exchange/binary.h"
#include "tenon/tensor/tensor_ptr_maker.h"

namespace registry_test {

using namespace tenon;
using tests::MinimalBackend;

namespace {

Device device(int32_t index) { return Device(DeviceType::ExtDev, index); }

}  // namespace

TEST_CASE("registry: backend_for finds what is registered, in whichever order others go") {
  MinimalBackend a("a", device(0));
  MinimalBackend b("b", device(1));
  MinimalBackend c("c", device(2));
  for (MinimalBackend* backend : {&a, &b, &c}) register_backend(*backend);
  for (MinimalBackend* backend : {&a, &b, &c}) CHECK(&backend_for(backend->device()) == backend);
  unregister_backend(b);
  CHECK(&backend_for(device(0)) == &a);
  RAISES(NotFound, "backend_for: no backend is registered for ext_dev:1", backend_for(device(1)));
  CHECK(&backend_for(device(2)) == &c);
  unregister_backend(c);
  register_backend(b);
  unregister_backend(a);
  CHECK(&backend_for(device(1)) == &b);
  unregister_backend(b);
  RAISES(NotFound, "unregister_backend: backend b is not registered", (unregister_backend(b), 0));
}

TEST_CASE("registry: the try_ forms return the error by their own names") {
  MinimalBackend a("a");
  CHECK(try_register_backend(a) == Error::Ok);
  RETURNS(InvalidState, "try_register_backend: a backend is registered for ext_dev:0 already",
          try_register_backend(a));
  CHECK(*try_backend_for(device(0)) == &a);
  CHECK(*try_backend_for(Device()) == &host_backend());
  CHECK(try_unregister_backend(a) == Error::Ok);
  RETURNS(NotFound, "try_unregister_backend: backend a is not registered",
          try_unregister_backend(a));
  FAILS(NotFound, "try_backend_for: no backend is registered for ext_dev:0",
        try_backend_for(device(0)));
}

TEST_CASE("registry: a device has one backend, which the error names; the CPU always has its own") {
  MinimalBackend a("a");
  MinimalBackend b("b");
  register_backend(a);
  for (MinimalBackend* again : {&a, &b}) {
    RAISES(InvalidState, "register_backend: a backend is registered for ext_dev:0 already",
           (register_backend(*again), 0));
  }
  CHECK(&backend_for(device(0)) == &a);
  unregister_backend(a);
  register_backend(b);
  CHECK(&backend_for(device(0)) == &b);

  CHECK(&backend_for(Device()) == &host_backend());
  CHECK(&backend_for("cpu") == &host_backend());
  CpuBackend cpu;
  MinimalBackend other("other", Device());
  for (Backend* backend : {static_cast<Backend*>(&cpu), static_cast<Backend*>(&other)}) {
    RAISES(InvalidState, "register_backend: a backend is registered for cpu already",
           (register_backend(*backend), 0));
  }
  RAISES(NotFound, "unregister_backend: backend cpu is not registered",
         (unregister_backend(cpu), 0));
}

TEST_CASE("registry: a backend that is destroyed is not registered anymore") {
  {
    MinimalBackend backend;
    register_backend(backend);
  }
  RAISES(NotFound, "no backend is registered for ext_dev:0", backend_for(device(0)));
  MinimalBackend next;
  register_backend(next);
  CHECK(&backend_for(device(0)) == &next);
}

TEST_CASE("registry: a backend without a state, which no tensor can use, is not registered") {
  struct Stateless final : HostMemoryBackend {
    Stateless() : HostMemoryBackend(nullptr, false) {}
    const char* name() const noexcept override { return "stateless"; }
    Device device() const noexcept override { return Device(DeviceType::ExtDev, 0); }
    void* allocate(size_t, size_t) noexcept override { return nullptr; }
    void deallocate(void*, size_t) noexcept override {}
  } backend;
  RAISES(OutOfMemory, "register_backend: backend stateless had no memory for its state",
         (register_backend(backend), 0));
  RAISES(NotFound, "no backend is registered for ext_dev:0", backend_for(device(0)));
}

TEST_CASE("BackendScope: it is the default while it lives, the innermost of several") {
  MinimalBackend a;
  MinimalBackend b;
  CpuBackend cpu;
  CHECK(&default_backend() == &host_backend());
  try {
    const BackendScope outer(a);
    CHECK(&default_backend() == &a);
    {
      const BackendScope inner(b);
      CHECK(&default_backend() == &b);
      const BackendScope again(cpu);  // which brings back the host's heap
      CHECK(&default_backend() == &cpu);
      CHECK(detail::null_if_heap(&default_backend()) == nullptr);
    }
    CHECK(&default_backend() == &a);
    const Backend* there = nullptr;
    std::thread([&] { there = &default_backend(); }).join();
    CHECK(there == &host_backend());
    throw 1;
  } catch (int) {
  }
  CHECK(&default_backend() == &host_backend());
  CHECK(detail::null_if_heap(&a) == &a);
  CHECK(detail::null_if_heap(nullptr) == nullptr);
}

}  // namespace registry_test
