// SPDX-License-Identifier: MIT
// to_aten and from_aten when operator new fails, which this file replaces for its whole program,
// libtorch included. Built by interop/aten/CMakeLists.txt.
#include <ATen/ops/from_blob.h>

#include "tenon/interop/aten.h"

#undef CHECK  // c10's; Catch2's is meant

#include <new>

#include "support/catch.h"
#include "tenon/tensor/resize.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tensor/helpers.h"

using namespace tenon;
using tests::Calls;
using tests::Vector;

namespace {

thread_local int until_failure = -1;  // calls that still succeed; none fail when negative

void* take(std::size_t size) {
  if (until_failure == 0) throw std::bad_alloc();
  if (until_failure > 0) --until_failure;
  if (void* p = std::malloc(size + 1)) return p;
  throw std::bad_alloc();
}

// Calls f with operator new failing at the n-th call, for every n until it succeeds; returns the n.
template <class F>
int fail_each(const F& f) {
  for (int n = 0;; ++n) {
    until_failure = n;
    auto made = f();
    until_failure = -1;
    if (made.ok()) return n;
    CHECK(made.error() == Error::OutOfMemory);
    CHECK(std::string(made.message()).find("out of memory") != std::string::npos);
  }
}

float memory[8] = {};

}  // namespace

void* operator new(std::size_t size) { return take(size); }
void* operator new[](std::size_t size) { return take(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return std::malloc(size + 1);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return std::malloc(size + 1);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

TEST_CASE("to_aten: whichever allocation of libtorch's fails, nothing is lost or kept") {
  Calls calls;
  TensorPtr t = from_blob(memory, {1, 2, 1, 2, 1, 2}, ScalarType::Float, calls.deleter(),
                          TensorShapeDynamism::DYNAMIC_UNBOUND);
  CHECK(fail_each([&] { return try_to_aten(t); }) >= 3);
  CHECK(calls.count == 0);
  // Nobody borrows it any more, so that it may be replaced.
  CHECK(t->use_count() == 1);
  CHECK(resize_tensor_ptr(t, {4096}) == Error::Ok);
  t.reset();
  CHECK(calls.count == 1);
}

TEST_CASE("from_aten: whichever allocation of libtorch's fails, nothing is lost or kept") {
  Calls calls;
  at::Tensor a = at::from_blob(memory, {8}, [&calls](void* p) { calls.deleter()(p); });
  fail_each([&] { return try_from_aten(a); });
  CHECK(a.storage().use_count() == 1);
  a.reset();
  CHECK(calls.count == 1);
}
