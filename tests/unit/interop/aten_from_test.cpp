// SPDX-License-Identifier: MIT
// from_aten, and both directions when operator new fails, which this file replaces for its whole
// program, libtorch included. Built by interop/libraries/aten/CMakeLists.txt.
#include <ATen/ops/_empty_affine_quantized.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#if __has_include(<ATen/ops/_lazy_clone.h>)
#include <ATen/ops/_lazy_clone.h>
#endif

#include "tenon/interop/aten.h"

#include <new>

#include "support/catch.h"
#include "tenon/tensor/resize.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tensor/helpers.h"

using namespace tenon;
using tests::Calls;
using tests::Floats;
using tests::sizes;
using tests::strides;
using tests::values;
using tests::Vector;

namespace {

float memory[8] = {0, 1, 2, 3, 4, 5, 6, 7};

// An at::Tensor over `memory` whose deleter is counted.
at::Tensor counted(Calls& calls, at::IntArrayRef shape) {
  return at::from_blob(
      memory, shape, [&calls](void* p) { calls.deleter()(p); }, at::TensorOptions(at::kFloat));
}

// An at::Tensor of two floats on a device that needs no driver for that.
at::Tensor on_device(at::Device device, at::DispatchKey key) {
  at::Storage storage(at::Storage::use_byte_size_t(), 8, at::DataPtr(memory, device));
  at::Tensor t = at::detail::make_tensor<at::TensorImpl>(
      std::move(storage), at::DispatchKeySet(key), c10::scalarTypeToTypeMeta(at::kFloat));
  t.unsafeGetTensorImpl()->set_sizes_contiguous({2});
  return t;
}

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

TEST_CASE("from_aten: storage offsets and strides are kept: parts, transposed and expanded") {
  const at::Tensor base = at::arange(24, at::kFloat).view({4, 6});
  const Tensor part = from_aten(base.narrow(0, 1, 2).transpose(0, 1));
  CHECK(part.const_data_ptr() == static_cast<float*>(base.data_ptr()) + 6);
  CHECK(sizes(part) == Vector{6, 2});
  CHECK(strides(part) == Vector{1, 6});
  CHECK(values<float>(part) == Floats{6, 12, 7, 13, 8, 14, 9, 15, 10, 16, 11, 17});
  const Tensor expanded = from_aten(base.select(0, 3).narrow(0, 4, 2).expand({3, 2}));
  CHECK(strides(expanded) == Vector{0, 1});
  CHECK(values<float>(expanded) == Floats{22, 23, 22, 23, 22, 23});
}

TEST_CASE("from_aten: dynamism is DYNAMIC_BOUND unless another is asked for") {
  const at::Tensor a = at::arange(6, at::kFloat);
  Tensor bound = from_aten(a);
  CHECK(bound.shape_dynamism() == TensorShapeDynamism::DYNAMIC_BOUND);
  CHECK(resize_tensor(bound, {2, 2}) == Error::Ok);
  CHECK(values<float>(bound) == Floats{0, 1, 2, 3});
  CHECK(a.numel() == 6);
  RETURNS(InvalidArgument, "6", resize_tensor(bound, {7}));
  Tensor fixed = from_aten(a, TensorShapeDynamism::STATIC);
  RETURNS(NotSupported, "STATIC", resize_tensor(fixed, {6}));
}

// A promise of docs/guarantees.md.
TEST_CASE("from_aten: the memory lives until the tensor is gone, whatever becomes of its source") {
  Calls calls;
  at::Tensor a = counted(calls, {8});
  static_cast<void>(from_aten(a));
  CHECK(a.use_count() == 1);
  CHECK(a.storage().use_count() == 1);
  Tensor t = from_aten(a.narrow(0, 2, 4));
  a.set_(at::zeros({2}));  // another storage
  CHECK(calls.count == 0);
  CHECK(values<float>(t) == Floats{2, 3, 4, 5});
  t = Tensor();
  CHECK(calls.count == 1);
  CHECK(calls.argument == memory);
}

TEST_CASE("from_aten: ATen can no longer resize the storage, but one that is not used or refused") {
  at::Tensor a = at::zeros({4});
  const Tensor t = from_aten(a);
  CHECK_THROWS_AS(a.resize_({1024}), c10::Error);
  CHECK(a.data_ptr() == t.const_data_ptr());
  a.resize_({3});
  CHECK(sizes(t) == Vector{4});
  at::Tensor source = at::empty({0});
  const Tensor nothing = from_aten(source);
  source.resize_({5});
  CHECK(nothing.numel() == 0);
  at::Tensor refused = at::zeros({4}).set_requires_grad(true);
  CHECK_FALSE(try_from_aten(refused).ok());
  CHECK(refused.storage().resizable());
  CHECK(refused.storage().use_count() == 1);
}

TEST_CASE("from_aten and to_aten: a round trip keeps memory, shape and owner") {
  Calls calls;
  at::Tensor a = counted(calls, {2, 4});
  at::Tensor b = to_aten(from_aten(a.transpose(0, 1)));
  a.reset();
  CHECK(calls.count == 0);
  CHECK(b.data_ptr() == memory);
  CHECK(b.sizes().vec() == Vector{4, 2});
  CHECK(b.strides().vec() == Vector{1, 4});
  b.reset();
  CHECK(calls.count == 1);
}

TEST_CASE("from_aten: memory on other devices is described, never touched; Meta stays Meta") {
  const at::Tensor cuda = on_device(at::Device(at::kCUDA, 1), at::DispatchKey::CUDA);
  CHECK(from_aten(cuda).device() == Device(DeviceType::CUDA, 1));
  CHECK(from_aten(cuda).const_data_ptr() == memory);
  RAISES(NotSupported, "from_aten: tenon has no device for libtorch's \"xla\"",
         from_aten(on_device(at::Device(at::kXLA, 0), at::DispatchKey::XLA)));
  const Tensor t = from_aten(at::empty({2, 3}, at::TensorOptions(at::kMeta).dtype(at::kHalf)));
  CHECK(t.device() == Device(DeviceType::Meta));
  CHECK(sizes(t) == Vector{2, 3});
  CHECK(t.scalar_type() == ScalarType::Half);
  CHECK(t.const_data_ptr() == nullptr);
}

#if __has_include(<ATen/ops/_lazy_clone.h>)
TEST_CASE("from_aten: a storage to be copied on write is copied first") {
  const at::Tensor a = at::arange(3, at::kFloat);
  const at::Tensor lazy = at::_lazy_clone(a);
  const Tensor t = from_aten(lazy);
  CHECK(t.const_data_ptr() != a.const_data_ptr());
  CHECK(t.const_data_ptr() == lazy.const_data_ptr());
  t.mutable_data_ptr<float>()[0] = 9;
  CHECK(a.select(0, 0).item<float>() == 0);
  CHECK(lazy.select(0, 0).item<float>() == 9);
}
#endif

TEST_CASE("from_aten: what tenon has no tensors of is refused, with the way around it") {
  const at::Tensor grad = at::zeros({3}).set_requires_grad(true);
  const at::Tensor imaginary = at::zeros({3}, at::kComplexFloat);
  const at::Tensor opaque = at::detail::make_tensor<at::TensorImpl>(
      at::DispatchKeySet(at::DispatchKey::CPU), c10::scalarTypeToTypeMeta(at::kFloat),
      at::Device(at::kCPU));
  const at::Tensor a = at::zeros({8});
  const at::Tensor part = a.narrow(0, 4, 2);
  a.storage().unsafeGetStorageImpl()->set_nbytes(20);
  const at::Tensor freed = at::zeros({2});
  freed.storage().unsafeGetStorageImpl()->set_data_ptr(at::DataPtr(nullptr, at::Device(at::kCPU)));
  RAISES(InvalidState, "from_aten: the at::Tensor is undefined", from_aten(at::Tensor()));
  RAISES(NotSupported,
         "from_aten: the at::Tensor requires grad, and writes by tenon would bypass autograd; "
         "from_aten(t.detach()) shares the memory",
         from_aten(grad));
  CHECK(from_aten(grad.detach()).const_data_ptr() == grad.data_ptr());
  RAISES(NotSupported, "resolve_conj() conjugates it now", from_aten(imaginary.conj()));
  CHECK(from_aten(imaginary.conj().resolve_conj()).scalar_type() == ScalarType::ComplexFloat);
  RAISES(NotSupported, "resolve_neg() negates it now", from_aten(imaginary._neg_view()));
  RAISES(NotSupported, "from_aten: the at::Tensor is not strided, but sparse, nested or",
         from_aten(at::zeros({2, 2}).to_sparse()));
  RAISES(NotSupported, "from_aten: tenon has no dtype QInt8",
         from_aten(at::_empty_affine_quantized({2}, at::TensorOptions(at::kQInt8), 1, 0)));
  RAISES(NotSupported, "from_aten: the at::Tensor has no storage", from_aten(opaque));
  RAISES(InvalidState,
         "from_aten: sizes {2} with strides {1} at offset 4 reach beyond the at::Tensor's "
         "storage, which has 20 bytes",
         from_aten(part));
  CHECK(from_aten(a.narrow(0, 0, 5)).numel() == 5);
  CHECK_FALSE(try_from_aten(freed).ok());
}

TEST_CASE("from_aten: more dimensions than tenon has are refused, and the storage let go") {
  Calls calls;
  at::Tensor a = counted(calls, {1});
  const Vector shape(65, 1);
  RAISES(InvalidArgument, "has more than 64 entries", from_aten(a.view(shape)));
  CHECK(a.storage().use_count() == 1);
  a.reset();
  CHECK(calls.count == 1);
}

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
