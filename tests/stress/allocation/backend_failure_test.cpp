// SPDX-License-Identifier: MIT
// Tensors in backends' memory, with the backend's n-th call failing or throwing, and the backends
// themselves, with what they allocate and call failing.
#include <cstdio>
#include <memory_resource>

#include "allocation/failures.h"
#include "tenon/backend/pmr.h"
#include "tenon/backend/pool.h"
#include "tenon/backend/tracking.h"
#include "tenon/tensor/expr.h"

namespace backend_failure_test {

using namespace tenon;
using namespace tests;

namespace {

/// Calls f with a device that has the optional operations, and with one that has not.
template <class F>
void with_each_device(const F& f) {
  for (const bool has_optional : {true, false}) {
    FailingBackend gpu(has_optional);
    CAPTURE(has_optional);
    f(gpu);
    CHECK(gpu.live_blocks() == 0);
    CHECK(gpu.used() == 0);
    CHECK(gpu.faults == 0);
  }
}

/// A registered device, as long as it lives.
struct Registered {
  explicit Registered(Backend& b) : backend(b) { register_backend(backend); }
  ~Registered() { unregister_backend(backend); }
  Backend& backend;
};

}  // namespace

TEST_CASE("out of memory: options are a std::vector, which throws as such") {
  FAIL_EACH_OF_WITH(
      "BackendOptions::BackendOptions", Foreign{1},
      BackendOptions({{"limit", 1}, {"mode", "eager"}}).check_names({"limit", "mode"}));
}

TEST_CASE("failing device: bytes and texts of its memory") {
  with_each_device([](FailingBackend& gpu) {
    const auto on_gpu = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6}, gpu);
    const Tensor turned = transpose(on_gpu, 0, 1);
    const Unchanged given(on_gpu, turned);
    FAIL_EACH(try_to_binary(on_gpu));
    FAIL_EACH_WITH(Foreign{1}, to_binary(turned, 3));
    FAIL_EACH_WITH(recovers(Foreign{100}), tenon::to_string(on_gpu));
    FAIL_EACH(synchronize(gpu));
  });
}

TEST_CASE("failing device: transfers leave the source where it was") {
  with_each_device([](FailingBackend& gpu) {
    const Registered registered(gpu);
    auto source = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
    {
      const Unchanged given(source);
      FAIL_EACH(clone_tensor_ptr_to(source, gpu.device()));
      FAIL_EACH(try_clone_tensor_ptr_to(source, gpu.device()));
    }
    // Each call has a source of its own, which it moves.
    const auto move = [&](const TensorPtr& mine, Backend& to) -> Error {
      const Result<TensorPtr> moved = try_backend_transfer(mine, to);
      const bool is_there = !detail::fields(mine).deallocated;
      if (moved.ok() == is_there) return Error::Internal;
      return moved.error();
    };
    fail_each("there", Expected(), [&] { return move(make_tensor_ptr({1, 2, 3}), gpu); });
    fail_each("back", Expected(), [&] {
      return move(make_tensor_ptr({1, 2, 3}, gpu), host_backend());
    });
    FAIL_EACH(backend_transfer(make_tensor_ptr({1, 2, 3}), gpu));
    FAIL_EACH(error_of(try_backend_transfer(make_tensor_ptr({1, 2, 3}, gpu), host_backend())));
    FAIL_EACH(backend_deallocate(make_tensor_ptr({1, 2, 3}, gpu)));
    FAIL_EACH(&backend_of(make_tensor_ptr({1, 2, 3}, gpu)) == &gpu);
  });
}

// A promise of docs/guarantees.md.
TEST_CASE("failing device: borrowed memory is let go of once") {
  with_each_device([](FailingBackend& gpu) {
    const Registered registered(gpu);
    Calls calls;
    const auto memory = empty({12}, gpu);
    void* const data = memory->mutable_data_ptr();
    const auto large = large_deleter(calls);
    FAIL_EACH(from_blob(data, {2, 3}, gpu));
    FAIL_EACH(tensor_from_blob(data, {2, 3}, gpu));
    FAIL_EACH(try_tensor_from_blob(data, kDeepSizes, gpu));
    FAIL_EACH_WITH(Expected(calls, 1), from_blob(data, {2, 3}, ScalarType::Float, large, gpu));
    FAIL_EACH_WITH(Expected(calls, 1),
                   from_blob(data, {2, 3}, ScalarType::Float, large, gpu.device()));
    FAIL_EACH_WITH(Expected(calls, 1),
                   make_tensor_ptr({2, 3}, data, ScalarType::Float, kBound, large, gpu));
    FAIL_EACH_OF_WITH("TensorPtrMaker::backend, TensorPtrMaker::deleter, TensorPtrMaker::owner",
                      Expected(calls, 2),
                      for_blob(data, {2, 3})
                          .backend(gpu)
                          .deleter(large)
                          .owner(Owner(calls))
                          .try_make_tensor_ptr());
    FAIL_EACH_OF_WITH(
        "TensorPtrMaker::device", Expected(calls, 1),
        for_blob(data, {2, 3}).device(gpu.device()).owner(LargeOwner(calls)).make_tensor());
    FAIL_EACH_WITH(
        Expected(calls, 1),
        from_blob(Blob{data, {2, 3}, {}, ScalarType::Float, gpu.device()}, LargeOwner(calls), gpu));
  });
}

TEST_CASE("out of memory: a backend without memory for its state makes no tensors") {
  const auto made = [](Backend& backend) -> Error {
    Result<TensorPtr> t = try_zeros({2, 3}, backend);
    return t.error();
  };
  FailingBackend gpu;
  FAIL_EACH_OF("CpuBackend::CpuBackend", [&] {
    CpuBackend backend;
    return made(backend);
  }());
  FAIL_EACH_OF("PmrBackend::PmrBackend, PmrBackend::allocate", [&] {
    PmrBackend backend(std::pmr::new_delete_resource());
    return made(backend);
  }());
  FAIL_EACH_OF_WITH("PoolBackend::PoolBackend, PoolBackend::allocate", recovers(), [&] {
    PoolBackend backend(gpu);
    return made(backend);
  }());
  FAIL_EACH_OF_WITH("TrackingBackend::TrackingBackend", recovers(Foreign{100}), [&] {
    TrackingBackend backend(gpu);
    return made(backend);
  }());
  FAIL_EACH_OF("ExprBackend::ExprBackend, ExprBackend::allocate", [&] {
    ExprBackend backend;
    return made(backend);
  }());
  CHECK(gpu.live_blocks() == 0);
}

TEST_CASE("failing backends: a pool and a tracker pass failures on and keep their counts") {
  FailingBackend gpu;
  {
    PoolBackend pool(gpu);
    {
      const auto kept = zeros({2, 3}, pool);
      const Unchanged given(kept, static_cast<const Backend&>(pool));
      // The pool asks once more when the backend has no memory.
      fail_each("PoolBackend::allocate, PoolBackend::deallocate", recovers(), [&] {
        PoolBackend own(gpu);
        return try_full({5, 5}, 1, own).error();  // the tensor goes first
      });
    }
    CHECK(pool.live_blocks() == 0);
    CHECK(pool.statistics().live_blocks == 0);
    CHECK(pool.statistics().live_bytes == 0);
  }
  TrackingBackend tracking(gpu);
  {
    const auto kept = zeros({2, 3}, tracking);
    fail_each("TrackingBackend::allocate, TrackingBackend::deallocate, TrackingBackend::on_made",
              recovers(Foreign{100}), [&] {
                TrackingBackend own(gpu);
                return try_full({5, 5}, 1, own).error();  // the tensor goes first
              });
    FAIL_EACH_OF_WITH("TrackingBackend::tags", Foreign{100}, tracking.tags());
    FAIL_EACH_OF_WITH("TrackingBackend::leaks", Foreign{100}, tracking.leaks());
    Expected written = recovers(Foreign{500});
    written.also = Error::AccessFailed;
    FAIL_EACH_OF_WITH("TrackingBackend::write_chrome_trace", written,
                      tracking.write_chrome_trace("failing.json"));
    FAIL_EACH_OF_WITH("TrackingBackend::leak_report", Foreign{100}, tracking.leak_report());
    FAIL_EACH_OF_WITH("TrackingBackend::summary", Foreign{100}, tracking.summary());
  }
  CHECK(gpu.used() == 0);
  std::remove("failing.json");
}

TEST_CASE("out of memory: an expression is recorded, read and written whole or not at all") {
  ExprBackend expr;
  FailingBackend gpu;
  {
    Generator g(1);
    const auto t = uniform(0, 1, {2, 3}, g, expr);
    const auto data = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6}, expr);
    const auto deep = make_tensor_ptr(kDeepSizes, {1, 2, 3, 4, 5, 6}, expr);
    const auto ones_there = ones({2, 3}, expr);
    const auto host = zeros({2, 3});
    const Tensor turned = transpose(data, 0, 1);
    const Unchanged given(t, data, turned, static_cast<const Backend&>(expr));
    const Output written(host, ones_there);
    FAIL_EACH_OF("ExprBackend::constant", full({2, 3}, 1, expr));
    FAIL_EACH_OF("ExprBackend::eye", eye(3, expr));
    FAIL_EACH_OF("ExprBackend::iota", iota({2, 3}, 1, expr));
    fail_each_random("ExprBackend::random_uniform", 6, [&](auto& own) {
      return uniform(0, 1, {2, 3}, own, expr);
    });
    fail_each_random("ExprBackend::random_normal", 6, [&](auto& own) {
      return normal(0, 1, {2, 3}, own, expr);
    });
    FAIL_EACH_OF("ExprBackend::copy_from_host", make_tensor_ptr({1, 2, 3}, expr));
    FAIL_EACH_OF("ExprBackend::copy_to_host", to_owned_blob(turned));
    FAIL_EACH_OF("ExprBackend::copy_within", clone_tensor_ptr(data));
    FAIL_EACH(expression(t));
    FAIL_EACH(try_expression(data));
    FAIL_EACH(expression(data));
    FAIL_EACH(expression(turned));
    FAIL_EACH(expression(transpose(deep, 0, 7)));
    FAIL_EACH_OF("ExprBackend::find", expression(tenon::select(t, 0, 1)));
    FAIL_EACH(materialize(t, host_backend()));
    FAIL_EACH(materialize(t, gpu));
    FAIL_EACH(try_materialize(data, gpu));
    FAIL_EACH_WITH(Foreign{100}, to_dot(t));
    FAIL_EACH_WITH(Foreign{100}, to_dot({t, data, turned}));
    FAIL_EACH_WITH(Foreign{100}, tenon::to_string(*expression(t)));
    FAIL_EACH_OF_WITH("ExprBackend::inspect", recovers(Foreign{100}), tenon::to_string(t));
    fail_each("a part is written", Expected(), [&] {
      const auto own = try_ones({2, 3}, expr);
      TENON_TRY(own.error());
      return fill_(tenon::select(*own, 0, 1), 2);
    });
  }
  CHECK(expr.live_blocks() == 0);
  CHECK(gpu.used() == 0);
}

}  // namespace backend_failure_test
