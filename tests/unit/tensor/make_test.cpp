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

}  // namespace make_test
