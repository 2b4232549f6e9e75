// SPDX-License-Identifier: MIT
// Who holds memory, where threads share it: counts, handles, views, values, a module's outputs.
#include <atomic>
#include <thread>

#include "support/catch.h"
#include "tenon/module/evalue.h"
#include "tenon/module/outputs.h"
#include "tenon/tenon.h"
#include "threads/threads.h"

using namespace tenon;
using tenon::detail::AtomicCount;
using tenon::detail::LockGuard;
using tenon::detail::SpinLock;
using namespace tests;

namespace {

constexpr int kThreads = 4;
constexpr auto kDynamic = TensorShapeDynamism::DYNAMIC;

int32_t sum(const Tensor& t) {
  const auto* const data = t.const_data_ptr<int32_t>();
  return std::accumulate(data, data + t.numel(), 0);
}

/// Borrowed elements whose deleter checks that all threads are done: it reads what each wrote, and
/// overwrites what they read.
struct Lent {
  int32_t elements[4] = {1, 2, 3, 4};
  int32_t seen[kThreads] = {};
  int releases = 0;
  int32_t total = 0;

  TensorPtr tensor() {
    return from_blob(elements, {4}, ScalarType::Int, [this](void*) noexcept {
      ++releases;
      total = std::accumulate(seen, seen + kThreads, 0);
      for (int32_t& element : elements) element = -1;
    });
  }
};

/// Made before main(): as long as a process has one thread, counts are plain steps.
const TensorPtr early = make_tensor_ptr({2}, {5, 6}, ScalarType::Int, kDynamic);
std::vector<Tensor> early_views(kThreads, tenon::select(early, 0, 1));

}  // namespace

TEST_CASE("AtomicCount: no thread's step is lost, and one alone sees 0") {
  AtomicCount count;
  on_threads(kThreads, [&](int) {
    for (int i = 0; i < 10000; ++i) count.add();
  });
  CHECK(count.get() == 10000 * kThreads);
  int zero[kThreads] = {};
  on_threads(kThreads, [&](int t) {
    for (int i = 0; i < 10000; ++i) zero[t] += count.remove() == 0;
  });
  CHECK(count.get() == 0);
  CHECK(std::accumulate(zero, zero + kThreads, 0) == 1);
}

TEST_CASE("AtomicCount: what a thread wrote before it left is seen by who reads that it did") {
  int written = 0;
  AtomicCount left;
  left.add();
  std::thread thread([&] {
    written = 5;
    static_cast<void>(left.remove());
  });
  while (left.any()) std::this_thread::yield();
  CHECK(written == 5);
  thread.join();
}

TEST_CASE("SpinLock: one thread at a time") {
  SpinLock lock;
  int64_t steps = 0;
  on_threads(kThreads, [&](int) {
    for (int i = 0; i < 2000; ++i) {
      const LockGuard<SpinLock> guard(lock);
      ++steps;
    }
  });
  CHECK(steps == 2000 * kThreads);
}

TEST_CASE("handles: threads copy and drop them; the deleter runs once, after all of them") {
  for (int round = 0; round < 20; ++round) {
    Lent lent;
    std::vector<Tensor> handles(kThreads, *lent.tensor());
    on_threads(kThreads, [&](int t) {
      Tensor mine = std::move(handles[static_cast<size_t>(t)]);
      for (int i = 0; i < 20; ++i) {
        const Tensor copy = mine;
        const TensorPtr pointer = make_tensor_ptr(copy);
        lent.seen[t] = sum(*pointer);
      }
      mine = Tensor();
    });
    REQUIRE(lent.releases == 1);
    REQUIRE(lent.total == 10 * kThreads);
  }
}

TEST_CASE("handles: what one thread counted by plain steps is counted on by several") {
  CHECK(sum(early_views[0]) == 6);
  on_threads(kThreads, [](int t) {
    for (int i = 0; i < 20; ++i) static_cast<void>(tenon::select(early, 0, 0));
    early_views[static_cast<size_t>(t)] = Tensor();
  });
  CHECK(early->use_count() == 1);
  CHECK_FALSE(detail::fields(early).borrows.any());
}

TEST_CASE("views: threads make some while others drop theirs, and each is counted") {
  Lent lent;
  TensorPtr t = lent.tensor();
  on_threads(kThreads, [&](int i) {
    std::vector<Tensor> kept;
    for (int n = 0; n < 200; ++n) {
      const Tensor view = slice(t, 0, 0, 2);
      kept.push_back(tenon::select(view, 0, n % 2));
      if (kept.size() > 5) kept.erase(kept.begin());
      lent.seen[i] = sum(kept.front());
    }
  });
  CHECK_FALSE(detail::fields(t).borrows.any());
  CHECK(t->use_count() == 1);
  CHECK(lent.releases == 0);
  t.reset();
  CHECK(lent.releases == 1);
  CHECK(lent.total == 2 * kThreads);  // of the last five of each, the first is of element 1
}

TEST_CASE("views: a tensor grows once other threads have dropped theirs, and not before") {
  for (int round = 0; round < 20; ++round) {
    TensorPtr t = make_tensor_ptr({300}, std::vector<int32_t>(300, 1), kDynamic);
    std::vector<Tensor> views(kThreads, slice(t, 0, 100, 200));
    REQUIRE(resize_tensor_ptr(t, {1000}) == Error::InUse);
    int32_t sums[kThreads] = {};
    on_threads(kThreads + 1, [&](int i) {
      if (i < kThreads) {
        sums[i] = sum(views[static_cast<size_t>(i)]);
        views[static_cast<size_t>(i)] = Tensor();
        return;
      }
      // Releases the memory that the others have read.
      while (resize_tensor_ptr(t, {1000}) == Error::InUse) std::this_thread::yield();
    });
    CHECK(t->numel() == 1000);
    CHECK(std::vector<int32_t>(sums, sums + kThreads) == std::vector<int32_t>(kThreads, 100));
  }
}

TEST_CASE("EValue: threads copy and drop a list; its tensor is released once, after all of them") {
  for (int round = 0; round < 20; ++round) {
    Lent lent;
    std::vector<EValue> values(kThreads, std::vector<Tensor>{*lent.tensor()});
    on_threads(kThreads, [&](int t) {
      EValue mine = std::move(values[static_cast<size_t>(t)]);
      for (int i = 0; i < 20; ++i) {
        const EValue copy = mine;
        lent.seen[t] = sum(copy.toTensorList()[0]);
      }
      mine = EValue();
    });
    REQUIRE(lent.releases == 1);
    REQUIRE(lent.total == 10 * kThreads);
  }
}

TEST_CASE("Outputs: one made that another thread has read and dropped is written again") {
  Outputs outputs;
  REQUIRE(outputs.begin({}, 1) == Error::Ok);
  TensorSpec spec{{-1}, ScalarType::Int};
  spec.max_sizes.push_back(4);
  REQUIRE(outputs.make(0, spec) == Error::Ok);
  Tensor output = std::move(outputs.values()[0]).toTensor();
  auto* const memory = output.mutable_data_ptr<int32_t>();
  std::fill_n(memory, 4, 1);
  int32_t seen = 0;
  std::atomic<bool> is_dropped{false};  // relaxed: says that it was, and orders nothing
  std::thread reader([&, mine = std::move(output)]() mutable {
    seen = sum(mine);
    mine = Tensor();
    is_dropped.store(true, std::memory_order_relaxed);
  });
  while (!is_dropped.load(std::memory_order_relaxed)) std::this_thread::yield();
  REQUIRE(outputs.make(0, spec) == Error::Ok);
  CHECK(outputs.values()[0].toTensor().const_data_ptr() == memory);
  std::fill_n(memory, 4, 2);
  reader.join();
  CHECK(seen == 4);
}
