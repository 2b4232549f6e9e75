// SPDX-License-Identifier: MIT
#include "tenon/backend/registry.h"

#include <thread>

#include "backend/helpers.h"
#include "support/catch.h"

using namespace tenon;
using tests::MinimalBackend;

namespace {

const Device kFirst(DeviceType::ExtDev, 0);
const Device kSecond(DeviceType::ExtDev, 1);

}  // namespace

TEST_CASE("registry: backend_for finds what is registered, until it is not anymore") {
  MinimalBackend a("a", kFirst);
  MinimalBackend b("b", kSecond);
  register_backend(a);
  register_backend(b);
  CHECK(&backend_for(kFirst) == &a);
  CHECK(&backend_for(kSecond) == &b);
  unregister_backend(a);
  CHECK_ERROR(Error::NotFound, "backend_for: no backend is registered for ext_dev:0",
              backend_for(kFirst));
  CHECK(&backend_for(kSecond) == &b);
  unregister_backend(b);
  CHECK_ERROR(Error::NotFound, "backend_for: no backend is registered for ext_dev:1",
              backend_for(kSecond));
}

TEST_CASE("registry: in whichever order they go, the others stay") {
  MinimalBackend a("a", Device(DeviceType::ExtDev, 5));
  MinimalBackend b("b", Device(DeviceType::ExtDev, 6));
  MinimalBackend c("c", Device(DeviceType::ExtDev, 7));
  for (MinimalBackend* backend : {&a, &b, &c}) register_backend(*backend);
  unregister_backend(b);
  CHECK(&backend_for(a.device()) == &a);
  CHECK(&backend_for(c.device()) == &c);
  unregister_backend(c);
  CHECK(&backend_for(a.device()) == &a);
  register_backend(b);
  unregister_backend(a);
  CHECK(&backend_for(b.device()) == &b);
  unregister_backend(b);
}

TEST_CASE("registry: a device has one backend, which the error names") {
  MinimalBackend a("a");
  MinimalBackend b("b");
  register_backend(a);
  CHECK_ERROR(Error::InvalidState,
              "register_backend: a backend is registered for ext_dev:0 already",
              (register_backend(b), 0));
  CHECK_ERROR(Error::InvalidState,
              "register_backend: a backend is registered for ext_dev:0 already",
              (register_backend(a), 0));
  CHECK(&backend_for(kFirst) == &a);
  unregister_backend(a);
  register_backend(b);
  CHECK(&backend_for(kFirst) == &b);
}

TEST_CASE("registry: what is not registered cannot be unregistered") {
  MinimalBackend backend("a");
  CHECK_ERROR(Error::NotFound, "unregister_backend: backend a is not registered",
              (unregister_backend(backend), 0));
  register_backend(backend);
  unregister_backend(backend);
  CHECK_ERROR(Error::NotFound, "unregister_backend: backend a is not registered",
              (unregister_backend(backend), 0));
}

TEST_CASE("registry: a backend that is destroyed is not registered anymore") {
  {
    MinimalBackend backend;
    register_backend(backend);
  }
  CHECK_ERROR(Error::NotFound, "no backend is registered for ext_dev:0", backend_for(kFirst));
  MinimalBackend next;
  register_backend(next);
  CHECK(&backend_for(kFirst) == &next);
}

TEST_CASE("registry: the CPU's backend is always there, and cannot be replaced") {
  CHECK(&backend_for(Device()) == &host_backend());
  CHECK(&backend_for("cpu") == &host_backend());
  CpuBackend cpu;
  MinimalBackend other("other", Device());
  CHECK_ERROR(Error::InvalidState, "register_backend: a backend is registered for cpu already",
              (register_backend(cpu), 0));
  CHECK_ERROR(Error::InvalidState, "register_backend: a backend is registered for cpu already",
              (register_backend(other), 0));
  CHECK_ERROR(Error::NotFound, "unregister_backend: backend cpu is not registered",
              (unregister_backend(cpu), 0));
}

TEST_CASE("BackendScope: it is the default while it lives, the innermost of several") {
  MinimalBackend a;
  MinimalBackend b;
  CHECK(&default_backend() == &host_backend());
  {
    const BackendScope outer(a);
    CHECK(&default_backend() == &a);
    {
      const BackendScope inner(b);
      CHECK(&default_backend() == &b);
      const BackendScope again(a);
      CHECK(&default_backend() == &a);
    }
    CHECK(&default_backend() == &a);
  }
  CHECK(&default_backend() == &host_backend());
}

TEST_CASE("BackendScope: an exception ends it") {
  MinimalBackend a;
  try {
    const BackendScope scope(a);
    throw 1;
  } catch (int) {
  }
  CHECK(&default_backend() == &host_backend());
}

TEST_CASE("BackendScope: it is of its own thread only") {
  MinimalBackend a;
  const BackendScope scope(a);
  const Backend* there = nullptr;
  std::thread([&] { there = &default_backend(); }).join();
  CHECK(there == &host_backend());
  CHECK(&default_backend() == &a);
}

TEST_CASE("BackendScope: a CpuBackend inside brings back the host's heap") {
  MinimalBackend a;
  CpuBackend cpu;
  const BackendScope outer(a);
  const BackendScope inner(cpu);
  CHECK(&default_backend() == &cpu);
  CHECK(detail::unless_host_heap(&default_backend()) == nullptr);
  CHECK(detail::unless_host_heap(&a) == &a);
  CHECK(detail::unless_host_heap(nullptr) == nullptr);
}
