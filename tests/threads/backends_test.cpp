// SPDX-License-Identifier: MIT
// Backends that threads share, and what of tenon each thread has for itself.
#include <chrono>
#include <functional>
#include <future>

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/backend/pool.h"
#include "tenon/backend/tracking.h"
#include "tenon/tenon.h"
#include "threads/threads.h"

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

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("lifetime: tensors may be made and dropped on any thread, the backend's first ones too") {
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
TEST_CASE("tracking: threads lose no count") {
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
TEST_CASE("registry: threads may register and look up at once") {
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
TEST_CASE("each thread has its own default backend, generator and message") {
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
