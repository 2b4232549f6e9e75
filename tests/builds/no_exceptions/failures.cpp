// SPDX-License-Identifier: MIT
// Every try_ form, and what returns an Error, with its n-th allocation and its n-th call of a backend
// failing; without exceptions, and by tests/stress/allocation with them, where a backend throws too.
#include <cstdio>
#include <numeric>
#include <string>

static int faults = 0;
#define TESTS_FAULT(text) (std::fprintf(stderr, "%s\n", std::string(text).c_str()), ++faults)

#include "allocation/fail_each.h"
#include "tenon/exchange/dlpack_packed.h"
#include "tenon/interop/npy.h"
#include "tenon/interop/shm.h"
#include "tenon/module/function_module.h"
#include "tenon/tensor/expr.h"
#include "tenon/tensor/values.h"

using namespace tenon;
using namespace tests;

namespace {

const std::vector<float> source(1000);

/// The creators, on the heap or with a backend as the last argument.
template <class... Where>
void check_creators(const Vector& sizes, Where&... where) {
  Vector dense(sizes.size(), 3);
  dense.back() = 1;
  Vector turned(sizes.size(), 2);
  turned.front() = 1;
  FAIL_EACH(try_make_tensor_ptr({1, 2, 3}, where...));
  FAIL_EACH(try_make_tensor_ptr({10, 100}, source, ScalarType::Double, where...));
  FAIL_EACH(try_make_tensor_ptr(sizes, {1, 2, 3, 4, 5, 6}, where...));
  FAIL_EACH(try_make_tensor({1000}, source, where...));
  FAIL_EACH(try_make_tensor_impl_ptr(kDeep, {1.0f}, where...));
  FAIL_EACH(try_empty({5000}, where...));
  FAIL_EACH(try_empty(sizes, where...));
  FAIL_EACH(try_empty_strided(sizes, dense, where...));
  FAIL_EACH(try_full(sizes, 7, where...));
  FAIL_EACH(try_full_strided(sizes, turned, 7, where...));
  FAIL_EACH(try_zeros(sizes, where...));
  FAIL_EACH(try_zeros_strided(sizes, dense, where...));
  FAIL_EACH(try_ones(sizes, where...));
  FAIL_EACH(try_ones_strided(sizes, dense, where...));
  FAIL_EACH(try_scalar_tensor(1, where...));
  FAIL_EACH(try_arange(0, 1000, where...));
  FAIL_EACH(try_iota(sizes, 1, where...));
  FAIL_EACH(try_eye(3, where...));
  FAIL_EACH(try_from_binary(source.data(), 24, sizes, ScalarType::Float, where...));
  Generator g(1);
  const Unchanged given(g);
  const auto kept = [&](auto result) {  // the next call is of the same numbers
    if (result.ok()) g.set_offset(0);
    return result;
  };
  FAIL_EACH(kept(try_rand(sizes, g, where...)));
  FAIL_EACH(kept(try_randn(sizes, g, where...)));
  FAIL_EACH(kept(try_randint(0, 9, sizes, g, where...)));
  FAIL_EACH(kept(try_uniform(0, 1, sizes, g, where...)));
  FAIL_EACH(kept(try_normal(0, 1, sizes, g, where...)));
  FAIL_EACH(kept(try_rand_strided(sizes, turned, g, where...)));
  FAIL_EACH(kept(try_randn_strided(sizes, turned, g, where...)));
  FAIL_EACH(kept(try_randint_strided(0, 9, sizes, turned, g, where...)));
  FAIL_EACH(kept(try_uniform_strided(0, 1, sizes, turned, g, where...)));
  FAIL_EACH(kept(try_normal_strided(0, 1, sizes, turned, g, where...)));
}

/// What is made of a tensor, on the heap or in a backend's memory, also of one whose lists are
/// allocated: one that could not be is an error, never a shape without dimensions.
void check_sources(const TensorPtr& t, Backend& other) {
  const Tensor turned = transpose(t, 0, 1);
  const Tensor bytes = view_as_type(t, ScalarType::Byte);
  std::vector<int64_t> order(static_cast<size_t>(t->dim()));
  std::iota(order.rbegin(), order.rend(), 0);
  Generator g(1);
  const Unchanged given(t, turned, g);
  const auto kept = [&](auto result) {
    if (result.ok()) g.set_offset(0);
    return result;
  };
  FAIL_EACH(try_empty_like(t));
  FAIL_EACH(try_full_like(t, 3));
  FAIL_EACH(try_zeros_like(t));
  FAIL_EACH(try_ones_like(t));
  FAIL_EACH(kept(try_rand_like(t, g)));
  FAIL_EACH(kept(try_randn_like(t, g)));
  FAIL_EACH(kept(try_randint_like(t, 0, 9, g)));
  FAIL_EACH(kept(try_uniform_like(t, 0, 1, g)));
  FAIL_EACH(kept(try_normal_like(t, 0, 1, g)));
  FAIL_EACH(try_clone_tensor_ptr(turned));
  FAIL_EACH(try_clone(turned));
  FAIL_EACH(try_share(t));
  FAIL_EACH(try_contiguous(turned));
  FAIL_EACH(try_equal(turned, turned));
  FAIL_EACH(try_allclose(turned, turned));
  FAIL_EACH(try_min_max(turned));
  FAIL_EACH(try_mean_std(turned));
  FAIL_EACH(try_to(t, ScalarType::Double));
  FAIL_EACH(try_to(t, "cpu", ScalarType::Double));
  FAIL_EACH(try_backend_copy(t, other));
  FAIL_EACH(try_clone_tensor_ptr_to(t, other.device()));
  // Nothing that a call makes for itself may raise an error.
  FAIL_EACH([&] {
    Result<TensorPtr> own = try_clone_tensor_ptr(t);
    return own.ok() ? try_backend_transfer(*own, other) : std::move(own);
  }());
  FAIL_EACH(try_view(t, {6}));
  FAIL_EACH(try_reshape(t, {-1}));
  FAIL_EACH(try_reshape(turned, {6}));
  FAIL_EACH(try_flatten(t));
  FAIL_EACH(try_movedim(t, 0, 1));
  FAIL_EACH(try_diagonal(t));
  FAIL_EACH(try_select(t, 0, 1));
  FAIL_EACH(try_slice(t, 0, 0, 1));
  FAIL_EACH(try_narrow(t, 0, 1, 1));
  FAIL_EACH(try_transpose(t, 0, 1));
  FAIL_EACH(try_permute(t, order));
  FAIL_EACH(try_squeeze(t));
  FAIL_EACH(try_unsqueeze(t, 0));
  FAIL_EACH(try_expand(t, t->sizes()));
  FAIL_EACH(try_flip(t, {0}));
  FAIL_EACH(try_as_strided(t, kDeep, kDeep));
  FAIL_EACH(try_view_as_type(t, ScalarType::Byte));
  FAIL_EACH(try_cat({t, t}));
  FAIL_EACH(try_stack({t, t}));
  FAIL_EACH(try_index_select(t, 0, {1, 0}));
  FAIL_EACH(try_nonzero(t));
  FAIL_EACH(try_unpack(bytes, PackedType::Int4));
  FAIL_EACH(try_to_blob(t));
  FAIL_EACH(try_to_owned_blob(turned));
  FAIL_EACH(try_to_dlpack(t));
  FAIL_EACH(try_to_dlpack_legacy(t));
  FAIL_EACH([&]() -> Result<TensorPtr> {
    const Result<dlpack::DLManagedTensorVersioned*> own = try_to_dlpack(t);
    if (!own.ok()) return own.error();  // whose text is there
    return try_from_dlpack(*own);
  }());
  FAIL_EACH(try_to_dlpack_packed(bytes, PackedType::Int4));
  FAIL_EACH([&]() -> Result<PackedTensor> {
    const Result<dlpack::DLManagedTensorVersioned*> own =
        try_to_dlpack_packed(bytes, PackedType::Int4);
    if (!own.ok()) return own.error();
    return try_from_dlpack_packed(*own);
  }());
}

/// What reads a tensor on the host.
void check_reads() {
  const TensorPtr t = make_tensor_ptr(kDeepSizes, {1, 2, 3, 4, 5, 6});
  const TensorPtr flat = make_tensor_ptr({6}, {1, 2, 3, 4, 5, 6});
  const TensorPtr one = make_tensor_ptr(5);
  const TensorPtr out = zeros_like(t, ScalarType::Float);
  const Unchanged given(t, flat, out);
  FAIL_EACH(try_data<int32_t>(t));
  FAIL_EACH(try_accessor<int32_t, 1>(flat));
  FAIL_EACH(try_item<int32_t>(one));
  FAIL_EACH(try_const_data_ptr(t).error());
  FAIL_EACH(try_const_data_ptr<int32_t>(t).error());
  FAIL_EACH(try_mutable_data_ptr(t).error());
  FAIL_EACH(try_mutable_data_ptr<int32_t>(t).error());
  FAIL_EACH(try_as_view(t));
  FAIL_EACH(try_as_view(Blob::of(blob, kDeep)));
  FAIL_EACH(try_accessor<float, 2>(Blob::of(blob, {2, 3})));
  FAIL_EACH(try_plan_copy(out, t));
  FAIL_EACH(try_backend_of(t).error());
  FAIL_EACH(try_backend_for(Device()).error());
  FAIL_EACH([]() -> Result<Deallocation> {
    TENON_ASSIGN(const Tensor own, try_make_tensor({1000}, source));
    return try_backend_deallocate(own);
  }());
  CountingBackend registered("registered", Device(DeviceType::ExtDev, 2));
  FAIL_EACH([&]() -> Error {
    TENON_TRY(try_register_backend(registered));
    return try_unregister_backend(registered);
  }());
}

/// What writes to a tensor: on a device, or of more dimensions than are stored inline.
void check_writes(const TensorPtr& t) {
  const TensorPtr out = clone_tensor_ptr(t);
  const TensorPtr floats = zeros_like(t, ScalarType::Float);
  const Tensor turned = flip(out, {-1});
  std::vector<int64_t> sizes(t->sizes().begin(), t->sizes().end());
  sizes.insert(sizes.begin(), 2);
  const TensorPtr wide = t->device().is_cpu() ? empty(sizes, ScalarType::Int)
                                              : empty(sizes, ScalarType::Int, backend_of(t));
  Generator g(1);
  const Unchanged given(t, g);
  const Output written(out, floats, wide);
  const auto kept = [&](Error error) {
    if (error == Error::Ok) g.set_offset(0);
    return error;
  };
  FAIL_EACH(copy_(turned, t));
  FAIL_EACH(copy_(floats, t, {1, {2}, {}, 0}));
  FAIL_EACH(fill_(out, 5));
  FAIL_EACH(zero_(turned));
  FAIL_EACH(kept(uniform_(floats, 0, 1, g)));
  FAIL_EACH(kept(normal_(floats, 0, 1, g)));
  FAIL_EACH(kept(random_(out, 0, 9, g)));
  int32_t numbers[6] = {};
  FAIL_EACH(copy_to(turned, numbers, sizeof numbers));
  FAIL_EACH(assign(turned, numbers, sizeof numbers));
  FAIL_EACH(cat_out(turned, {t}));
  FAIL_EACH(stack_out(wide, {t, t}));
  FAIL_EACH(index_select_out(turned, t, 0, {1, 0}));
  FAIL_EACH(index_copy_(turned, 0, {1, 0}, t));
  FAIL_EACH(index_copy_(out, 0, {1, 0}, turned));
}

void check_growth(Backend& backend) {
  const auto grow = [&](const auto& f) -> Error {
    Result<Tensor> t = try_make_tensor({4}, {1, 2, 3, 4}, ScalarType::Int, kDynamic, backend);
    if (!t.ok()) return t.error();
    const Error error = f(*t);
    return error == Error::Ok || t->numel() == 4 ? error : Error::Internal;
  };
  const auto grow_ptr = [&](const auto& f) -> Error {
    Result<TensorPtr> t =
        try_make_tensor_ptr({4}, {1, 2, 3, 4}, ScalarType::Int, kDynamic, backend);
    if (!t.ok()) return t.error();
    const Error error = f(*t);
    return error == Error::Ok || (*t)->numel() == 4 ? error : Error::Internal;
  };
  fail_each("resize", recovers(),
            [&] { return grow([](Tensor& t) { return resize_tensor(t, {5000}); }); });
  fail_each("reserve", recovers(),
            [&] { return grow([](Tensor& t) { return reserve_nbytes(t, 20000); }); });
  fail_each("resize", recovers(),
            [&] { return grow_ptr([](TensorPtr& t) { return resize_tensor_ptr(t, {5000}); }); });
  fail_each("reserve", recovers(),
            [&] { return grow_ptr([](TensorPtr& t) { return reserve_tensor_ptr(t, 20000); }); });
}

/// Memory of the caller's, of blobs and of files, and what keeps it alive.
void check_memory() {
  Calls calls;
  const auto large = large_deleter(calls);
  FAIL_EACH(try_from_blob(blob, {2, 3}));
  FAIL_EACH(try_tensor_from_blob(blob, kDeep));
  FAIL_EACH_WITH(Expected(calls, 1), try_from_blob(blob, kDeep, ScalarType::Float, large));
  FAIL_EACH_WITH(Expected(calls, 1),
                 for_blob(blob, kDeep).deleter(large).owner(1).try_make_tensor_ptr());
  FAIL_EACH_WITH(Expected(calls, 1), for_blob(blob, kDeep).deleter(large).try_make_tensor());
  FAIL_EACH_WITH(Expected(calls, 1),
                 for_blob(blob, kDeep).deleter(large).try_make_tensor_impl_ptr());
  FAIL_EACH(try_from_blob(Blob::of(blob, kDeep)));
  const TensorPtr t = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  const std::vector<uint8_t> npy = to_npy(t);
  const std::string path = "failing_no_exceptions.npy";
  FAIL_EACH(try_from_npy(npy.data(), npy.size()));
  fail_each("write_npy", recovers(), [&] { return write_npy(path.c_str(), t); });
  fail_each("try_read_npy", recovers(), [&] { return try_read_npy(path.c_str()); });
  std::remove(path.c_str());
  FAIL_EACH(try_shm_create(kDeep, ScalarType::Int));
  const TensorPtr shared = shm_create(kDeep, ScalarType::Int);
  FAIL_EACH(try_shm_attach(shm_fd(shared)));
  FAIL_EACH(try_shm_fd(shared));
}

void check_modules(Backend& memory) {
  const TensorPtr x = make_tensor_ptr({1.0f, 2.0f});
  const Unchanged given(x);
  FAIL_EACH_OF("Module::run", [&]() -> Error {
    FunctionModule module(memory);
    const ValueSpec two(TensorSpec{{2}});
    TENON_TRY(module.add_method("forward",
                                [](Span<const EValue> in, Span<EValue> out) {
                                  return copy_(out[0].toTensor(), in[0].toTensor());
                                },
                                {two}, {two}));
    TENON_TRY(module.set_input(*x, 0));
    TENON_TRY(module.run());
    TENON_TRY(module.run("forward", *x));
    TENON_TRY(module.run(*x));
    return module.get_output().error();
  }());
}

}  // namespace

int main() {
  FailingBackend gpu;
  FailingBackend minimal(false, Device(DeviceType::ExtDev, 1));
  FailingMetadataBackend arena;
  register_backend(gpu);
  for (const Vector& sizes : {Vector{2, 3}, kDeepSizes}) {
    check_creators(sizes);
    check_creators(sizes, gpu);
    check_creators(sizes, minimal);
    check_creators(sizes, arena);
    const TensorPtr host = make_tensor_ptr(sizes, {1, 2, 3, 4, 5, 6});
    check_sources(host, gpu);
    check_sources(backend_copy(host, gpu), gpu);
    check_sources(backend_copy(host, minimal), gpu);
    check_sources(backend_copy(host, arena), gpu);
    check_writes(backend_copy(host, gpu));
    check_writes(backend_copy(host, minimal));
    if (sizes.size() > 2) check_writes(host);
  }
  check_growth(host_backend());
  check_growth(gpu);
  check_growth(arena);
  check_memory();
  check_reads();
  check_modules(host_backend());
  check_modules(arena);
  unregister_backend(gpu);
  const int64_t left = gpu.live_blocks() + minimal.live_blocks() + arena.live_blocks();
  if (left != 0) TESTS_FAULT("blocks are left in a backend's memory: " + std::to_string(left));
  const int misused = gpu.faults + minimal.faults;
  if (misused != 0) TESTS_FAULT("memory that is not a backend's: " + std::to_string(misused));
  return faults != 0;
}
