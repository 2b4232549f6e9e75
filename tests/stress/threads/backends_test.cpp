// SPDX-License-Identifier: MIT
// Backends that threads share, and what of tenon each thread has for itself.
#include <chrono>
#include <functional>
#include <future>
#include <memory_resource>
#include <mutex>

#include "backend/device_helpers.h"
#include "backend/helpers.h"
#include "backend/pool_helpers.h"
#include "support/catch.h"
#include "tenon/backend/pmr.h"
#include "tenon/backend/pool.h"
#include "tenon/backend/tracking.h"
#include "tenon/tenon.h"
#include "tenon/tensor/expr.h"
#include "threads/threads.h"

namespace backends_test {

using namespace tenon;
using namespace tests;

namespace {

constexpr int kThreads = 4;
using Counts = std::vector<int>;

/// The host's memory. Whenever it is called, another thread does something, and is waited for.
class AskingBackend final : public WrapperBackend {
 public:
  AskingBackend() noexcept : WrapperBackend(host_backend()) {}
  const char* name() const noexcept override { return "asking"; }
  void* allocate(size_t nbytes, size_t alignment) noexcept override {
    ask();
    return WrapperBackend::allocate(nbytes, alignment);
  }
  void deallocate(void* p, size_t nbytes) noexcept override {
    ask();
    WrapperBackend::deallocate(p, nbytes);
  }
  void ask() {
    asked.push_back(std::async(std::launch::async, question));
    answers += asked.back().wait_for(std::chrono::seconds(5)) == std::future_status::ready;
    ++calls;
  }

  std::function<void()> question;
  std::vector<std::future<void>> asked;  // here, as their destructors wait for the answers
  int calls = 0;
  int answers = 0;
};

/// RecordingDevice with a lock, as it is for one thread.
class LockedDevice final : public RecordingDevice {
 public:
  void* allocate(size_t nbytes, size_t alignment) noexcept override {
    const Lock lock(mutex_);
    return RecordingDevice::allocate(nbytes, alignment);
  }
  void deallocate(void* p, size_t nbytes) noexcept override {
    const Lock lock(mutex_);
    RecordingDevice::deallocate(p, nbytes);
  }
  Error copy_from_host(void* dst, const void* src, size_t nbytes) override {
    const Lock lock(mutex_);
    return RecordingDevice::copy_from_host(dst, src, nbytes);
  }
  Error copy_to_host(void* dst, const void* src, size_t nbytes) override {
    const Lock lock(mutex_);
    return RecordingDevice::copy_to_host(dst, src, nbytes);
  }
  Error copy_within(void* dst, const void* src, size_t nbytes) override {
    const Lock lock(mutex_);
    return RecordingDevice::copy_within(dst, src, nbytes);
  }
  Error synchronize() override {
    const Lock lock(mutex_);
    return RecordingDevice::synchronize();
  }
  Error join_streams() noexcept override {
    const Lock lock(mutex_);
    return RecordingDevice::join_streams();
  }

 private:
  using Lock = std::lock_guard<std::mutex>;
  std::mutex mutex_;
};

/// Passes everything on to the heap.
class PlainWrapper final : public WrapperBackend {
 public:
  explicit PlainWrapper(Backend& inner) : WrapperBackend(inner) {}
  const char* name() const noexcept override { return "wrapper"; }
};

/// Threads make tensors of a backend, whose first use this may be, copy them, and drop one another's.
Counts use_by_all(Backend& backend) {
  std::mutex mutex;
  std::vector<TensorPtr> left;
  Counts right(kThreads, 0);
  on_threads(kThreads, [&](int i) {
    for (int n = 0; n < 50; ++n) {
      TensorPtr t = full({8}, n, ScalarType::Int, backend);
      const Tensor view = slice(t, 0, 2, 4);
      const TensorPtr copy = backend_copy(view, host_backend());
      bool is_right = copy->const_data_ptr<int32_t>()[1] == n;
      is_right = is_right && backend_of(*t).name() == std::string(backend.name());
      is_right = is_right && to_binary(clone_tensor_ptr(t))[0] == n;
      right[static_cast<size_t>(i)] += is_right;
      const std::lock_guard<std::mutex> lock(mutex);
      left.push_back(std::move(t));
      if (left.size() > 6) left.erase(left.begin());
    }
  });
  return right;
}

}  // namespace

TEST_CASE("backends: tensors of one are made, copied and dropped by all threads",
          "[threads][CpuBackend][PoolBackend][TrackingBackend][WrapperBackend][Backend]"
          "[HostMemoryBackend][DeviceBackend][PmrBackend][ExprBackend]") {
  const Counts all(kThreads, 50);
  CpuBackend cpu;
  MinimalBackend minimal;
  Source host;
  LockedDevice device;
  std::pmr::synchronized_pool_resource resource;
  PmrBackend pmr(&resource);
  ExprBackend expr;
  PoolBackend pool(minimal);
  PoolBackend pool_of_device(device);
  TrackingBackend tracking(pool);
  PlainWrapper wrapper(host);
  for (Backend* backend :
       std::initializer_list<Backend*>{&cpu, &minimal, &host, &device, &pmr, &expr, &pool,
                                       &pool_of_device, &tracking, &wrapper}) {
    INFO(backend->name());
    CHECK(use_by_all(*backend) == all);
  }
  CHECK(minimal.faults == 0);
  CHECK(host.faults == 0);
  CHECK(tracking.live_count() == 0);
  CHECK(pool.statistics().live_blocks == 0);
}

TEST_CASE("MetaBackend: threads make, read and check templates at once", "[threads][MetaBackend]") {
  const TensorPtr shared = make_template({2, 3}, ScalarType::Float, {"rows", "columns"});
  MetaBackend backend;
  Counts right(kThreads, 0);
  on_threads(kThreads, [&](int i) {
    for (int n = 0; n < 50; ++n) {
      const TensorPtr own = make_template({2, n}, ScalarType::Int);
      const TensorPtr made = zeros({n, 2}, backend);
      right[static_cast<size_t>(i)] += dim_names(shared)[1] == "columns" && own->size(1) == n &&
                                       made->device() == shared->device() && dim_names(own).empty();
    }
  });
  CHECK(right == Counts(kThreads, 50));
}

TEST_CASE("ExprBackend: threads read one expression, and write to parts of their own",
          "[threads][ExprBackend]") {
  ExprBackend expr;
  const TensorPtr shared = iota({100}, none, ScalarType::Int, expr);
  Counts right(kThreads, 0);
  on_threads(kThreads, [&](int i) {
    for (int n = 0; n < 50; ++n) {
      const TensorPtr own = clone_tensor_ptr(shared);  // shares the expression
      bool is_right = fill_(slice(own, 0, i, i + 1), -n) == Error::Ok;
      const TensorPtr here = materialize(own, host_backend());
      is_right = is_right && here->const_data_ptr<int32_t>()[i] == -n;
      is_right = is_right && here->const_data_ptr<int32_t>()[99] == 99;
      is_right =
          is_right &&
          backend_copy(slice(shared, 0, i, i + 1), host_backend())->const_data_ptr<int32_t>()[0] ==
              i;
      is_right = is_right && contains(to_string(*expression(shared)), "Iota");
      right[static_cast<size_t>(i)] += is_right;
    }
  });
  CHECK(right == Counts(kThreads, 50));
}

TEST_CASE("ArenaBackend, PmrBackend: with their tensors they go from thread to thread",
          "[threads][ArenaBackend][PmrBackend]") {
  alignas(64) static unsigned char memory[1 << 14];
  ArenaBackend arena(memory, sizeof memory);
  std::pmr::unsynchronized_pool_resource resource;
  PmrBackend pmr(&resource);
  std::mutex mutex;  // orders the threads
  std::vector<TensorPtr> left;
  Counts right(kThreads, 0);
  on_threads(kThreads, [&](int i) {
    for (int n = 0; n < 50; ++n) {
      const std::lock_guard<std::mutex> lock(mutex);
      const BackendScope scope(arena);
      TensorPtr t = full({4}, n, ScalarType::Int, arena);
      const TensorPtr view = make_tensor_ptr(slice(t, 0, 1, 2));
      const DLPackPtr lent(to_dlpack(view));
      TensorPtr other = full({4}, n, ScalarType::Int, pmr);
      right[static_cast<size_t>(i)] += view->item<int32_t>() == n && copy_(t, other) == Error::Ok;
      left.push_back(std::move(t));
      left.push_back(std::move(other));
      if (left.size() > 6) left.erase(left.begin(), left.begin() + 2);
    }
  });
  CHECK(right == Counts(kThreads, 50));
  left.clear();
  CHECK(arena.reset() == Error::Ok);
  CHECK(arena.used() == 0);
  CHECK(pmr.live_blocks() == 0);
}

TEST_CASE("scopes hold for their own thread, and not for those that are started in them",
          "[threads][BackendScope][TrackingScope][NoAllocationScope]") {
  CpuBackend cpu;
  TrackingBackend tracking(cpu);
  Counts right(kThreads, 0);
  {
    const BackendScope scope(tracking);
    const TrackingScope tag(tracking, "outer");
    const NoAllocationScope none_here(tracking);
    on_threads(kThreads, [&](int i) {
      int& count = right[static_cast<size_t>(i)];
      count += &default_backend() == &host_backend() && try_zeros({3}, tracking).ok();
      const NoAllocationScope none_there(tracking);
      count += try_zeros({3}, tracking).error() == Error::OutOfMemory;
    });
    CHECK(try_zeros({3}).error() == Error::OutOfMemory);
  }
  CHECK(right == Counts(kThreads, 2));
  CHECK(tracking.refused_count() == kThreads + 1);
  for (const TagCounts& each : tracking.tags()) {
    CHECK(each.total_count == (each.tag.empty() ? kThreads : 0));
  }
}

TEST_CASE("Generator: one that a lock hands from thread to thread gives each offset once",
          "[threads][Generator]") {
  Generator generator(5);
  std::mutex mutex;
  std::vector<TensorPtr> drawn;
  on_threads(kThreads, [&](int) {
    for (int n = 0; n < 25; ++n) {
      const std::lock_guard<std::mutex> lock(mutex);
      drawn.push_back(rand({3}, generator));
    }
  });
  CHECK(generator.offset() == 3 * 25 * kThreads);
  Generator again(5);
  for (const TensorPtr& t : drawn) CHECK(to_binary(t) == to_binary(rand({3}, again)));
}

// A promise of docs/guarantees.md.
TEST_CASE("lifetime: tensors may be made and dropped on any thread, the backend's first ones too",
          "[threads][Backend]") {
  for (int round = 0; round < 50; ++round) {
    MinimalBackend backend;
    Counts wrong(kThreads, 0);
    on_threads(kThreads, [&](int i) {
      for (int n = 0; n < 5; ++n) {
        const TensorPtr t = empty({4}, backend);
        const Tensor view = select(t, 0, 1);
        wrong[static_cast<size_t>(i)] += view.device() != backend.device();
      }
    });
    REQUIRE(wrong == Counts(kThreads, 0));
    REQUIRE(backend.live_blocks() == 0);
    REQUIRE(backend.used() == 0);
    REQUIRE(backend.faults == 0);
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("tracking: threads lose no count", "[threads][TrackingBackend][TrackingScope]") {
  CpuBackend cpu;
  TrackingBackend tracking(cpu);
  constexpr int kRounds = 300;
  int64_t most = 0;
  on_threads(kThreads + 1, [&](int i) {
    if (i == kThreads) {  // this one only counts
      for (int n = 0; n < kRounds; ++n) most = std::max(most, tracking.live_count());
      return;
    }
    const TrackingScope scope(tracking, i % 2 == 0 ? "even" : "odd");
    for (int n = 0; n < kRounds; ++n) {
      const TensorPtr a = zeros({8}, tracking);
      if (n % 100 == 0) static_cast<void>(tracking.leak_report());
      const TensorPtr b = empty({1, 2, 1, 2, 1, 2}, tracking);
    }
  });
  CHECK(most <= 2 * kThreads);
  CHECK(tracking.live_bytes() == 0);
  CHECK(tracking.total_count() == 2 * kThreads * kRounds);
  const std::vector<TagCounts> tags = tracking.tags();
  REQUIRE(tags.size() == 2);
  CHECK(tags[0].total_count == kThreads * kRounds);
  CHECK(tags[1].total_count == kThreads * kRounds);
  CHECK(tracking.peak_bytes() >= 64);
  CHECK(tracking.peak_bytes() <= kThreads * 64);
}

// A promise of docs/guarantees.md.
TEST_CASE("registry: threads may register and look up at once",
          "[threads][register_backend][unregister_backend][backend_for]") {
  const auto number = [](int i) { return Device(DeviceType::ExtDev, 10 + i); };
  MinimalBackend stays("stays", number(kThreads));
  register_backend(stays);
  Counts wrong(kThreads + 1, 0);
  on_threads(kThreads + 1, [&](int i) {
    int& count = wrong[static_cast<size_t>(i)];
    for (int n = 0; n < 50; ++n) {
      count += &backend_for(stays.device()) != &stays;
      if (i == kThreads) continue;  // this one only looks up
      MinimalBackend backend("x", number(i));
      register_backend(backend);
      count += &backend_for(number(i)) != &backend;
      if (n % 2 == 0) unregister_backend(backend);
    }
  });
  CHECK(wrong == Counts(kThreads + 1, 0));
  RAISES(NotFound, "ext_dev:10", backend_for(number(0)));
}

// A promise of docs/guarantees.md.
TEST_CASE("each thread has its own default backend, generator and message",
          "[threads][BackendScope][default_generator][manual_seed][last_error_message]") {
  Counts wrong(kThreads, 0);
  on_threads(kThreads, [&](int i) {
    const auto seed = static_cast<uint64_t>(i);
    const std::string sizes = "size -" + std::to_string(i + 1);
    manual_seed(seed);
    for (uint64_t n = 0; n < 100; ++n) {
      MinimalBackend backend;
      const BackendScope scope(backend);
      const TensorPtr t = empty({2});
      const Result<TensorPtr> refused = try_empty({-i - 1});
      int& count = wrong[static_cast<size_t>(i)];
      count += &default_backend() != &backend || backend.live_blocks() != 1;
      count += default_generator().advance(1) != n || default_generator().seed() != seed;
      count += refused.ok() || !tests::contains(last_error_message(), sizes);
    }
  });
  CHECK(wrong == Counts(kThreads, 0));
}

// A promise of docs/guarantees.md.
TEST_CASE("no lock is held while a backend, a deleter or a callable is called") {
  AskingBackend asking;
  PoolBackend pool(asking);
  TrackingBackend tracking(pool);
  MinimalBackend other("other", Device(DeviceType::ExtDev, 77));
  asking.question = [&] {
    static_cast<void>(pool.statistics());
    static_cast<void>(tracking.live_bytes());
    static_cast<void>(tracking.leaks());
    register_backend(other);
    unregister_backend(other);
  };
  {
    const TensorPtr t = empty({1000}, tracking);
    CHECK(asking.calls > 0);
  }
  const int before = asking.calls;
  pool.trim();
  CHECK(asking.calls > before);
  int32_t element = 0;
  {
    const auto ask = [&asking](void*) noexcept { asking.ask(); };
    const TensorPtr lent = from_blob(&element, {1}, ScalarType::Int, ask);
    const TensorPtr registered = from_blob(&element, {1}, ScalarType::Int, ask, tracking);
  }
  CHECK(asking.calls >= before + 3);
  CHECK(asking.answers == asking.calls);
}

}  // namespace backends_test
