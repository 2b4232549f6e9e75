// SPDX-License-Identifier: MIT
// What creators tell backends.
#include "tenon/tensor/make.h"

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace make_test {

using namespace tenon;
using namespace tests;

namespace {

struct Listener final : HostMemoryBackend {
  const char* name() const noexcept override { return "listener"; }
  void* allocate(size_t nbytes, size_t alignment) noexcept override {
    return refuses ? nullptr : heap.allocate(nbytes, alignment);
  }
  void deallocate(void* p, size_t nbytes) noexcept override { heap.deallocate(p, nbytes); }
  void on_made(const MadeTensor& tensor) noexcept override { function = tensor.function; }

  bool refuses = false;
  std::string function;
  CpuBackend heap;
};

}  // namespace

TEST_CASE("create: a backend gives the memory, and is told of the tensor by the function's name") {
  Listener listener;
  const TensorPtr t = empty({2, 3}, listener);
  CHECK(&backend_of(t) == &listener);
  CHECK(listener.function == "empty");
  CHECK(&backend_of(empty({2, 3})) == &default_backend());
}

TEST_CASE("create: an error has the function's name, as an Exception or in a Result") {
  Listener listener;
  listener.refuses = true;
  RAISES(OutOfMemory, "empty: backend listener has no memory for 24 bytes",
         empty({2, 3}, listener));
  CHECK(try_empty({2, 3}, listener).error() == Error::OutOfMemory);
  CHECK(listener.function.empty());
  CHECK(listener.live_blocks() == 0);
}

TEST_CASE("create: 0 bytes of a backend are none, and count nevertheless; a meta tensor has none") {
  MinimalBackend backend;
  MetaBackend meta;
  for (Backend* b : {static_cast<Backend*>(&backend), static_cast<Backend*>(&meta)}) {
    const TensorPtr t = empty({b == &backend ? 0 : 1000}, *b);
    CHECK(detail::fields(t).data == nullptr);
    CHECK(b->live_blocks() == 1);
  }
  CHECK(backend.calls["allocate"] == 0);
}

}  // namespace make_test
