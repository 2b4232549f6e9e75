// SPDX-License-Identifier: MIT
// Who holds memory, where threads share it: handles, views, values, blobs, DLPack structs, a
// module's outputs. It is released once, on whichever thread is the last.
#include "exchange/dlpack_helpers.h"
#include "support/catch.h"
#include "tenon/module/evalue.h"
#include "tenon/tenon.h"
#include "threads/threads.h"

namespace ownership_test {

using namespace tenon;
using namespace tests;

namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 20;
constexpr auto kDynamic = TensorShapeDynamism::DYNAMIC;

int32_t sum(const Tensor& t) {
  const auto* const data = t.const_data_ptr<int32_t>();
  return std::accumulate(data, data + t.numel(), 0);
}
int32_t third(const DLPackPtr& p) {
  return static_cast<const int32_t*>(p->dl_tensor.data)[p->dl_tensor.strides[0] * 2];
}

/// Memory whose release reads what each thread wrote, and overwrites what they read: ThreadSanitizer
/// finds it where that is not after all of them.
struct Memory {
  int32_t elements[4] = {1, 2, 3, 4};
  int32_t seen[kThreads] = {};
  int releases = 0;
  int32_t total = 0;

  void release() noexcept {
    ++releases;
    total = std::accumulate(seen, seen + kThreads, 0);
    for (int32_t& element : elements) element = -1;
  }
  TensorPtr tensor() {
    return from_blob(elements, {4}, ScalarType::Int, [this](void*) noexcept { release(); });
  }
};

/// Gives each thread one of what `make` makes of the memory, which it uses and drops.
template <class Make, class Use>
void check_dropped(int32_t total, const Make& make, const Use& use) {
  for (int round = 0; round < kRounds; ++round) {
    Memory lent;
    auto things = make(lent);
    on_threads(kThreads, [&](int i) {
      auto mine = std::move(things[static_cast<size_t>(i)]);
      lent.seen[i] = use(mine);
    });
    things.clear();
    REQUIRE(lent.releases == 1);
    REQUIRE(lent.total == total);
  }
}

/// A tensor does not grow before all threads have dropped what `make` makes of it.
template <class Make, class Use>
void check_grows_after(const Make& make, const Use& use) {
  for (int round = 0; round < kRounds; ++round) {
    TensorPtr t = make_tensor_ptr({300}, Ints(300, 7), kDynamic);
    auto things = make(t);
    REQUIRE(resize_tensor_ptr(t, {1000}) == Error::InUse);
    int32_t seen[kThreads] = {};
    on_threads(kThreads + 1, [&](int i) {
      if (i < kThreads) {
        auto mine = std::move(things[static_cast<size_t>(i)]);
        seen[i] = use(mine);
        return;
      }
      // Releases the memory that the others have read.
      while (resize_tensor_ptr(t, {1000}) == Error::InUse) std::this_thread::yield();
    });
    REQUIRE(t->numel() == 1000);
    REQUIRE(std::accumulate(seen, seen + kThreads, 0) == 7 * kThreads);
  }
}

std::vector<DLPackPtr> exports(const TensorPtr& t) {
  std::vector<DLPackPtr> structs;
  for (int i = 0; i < kThreads; ++i) structs.emplace_back(to_dlpack(t));
  return structs;
}

/// Made before main(): as long as a process has one thread, counts are plain steps.
const TensorPtr early = make_tensor_ptr({2}, {5, 6}, ScalarType::Int, kDynamic);
std::vector<Tensor> early_views(kThreads, tenon::select(early, 0, 1));

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("threads drop what they have of a tensor: it is released once, after all of them",
          "[threads][Tensor][TensorPtr][EValue][Blob][DLPackPtr][DLPackLegacyPtr]") {
  check_dropped(
      10 * kThreads, [](Memory& lent) { return std::vector<Tensor>(kThreads, *lent.tensor()); },
      [](const Tensor& mine) {
        int32_t seen = 0;
        for (int i = 0; i < 20; ++i) seen = sum(*make_tensor_ptr(Tensor(mine)));
        return seen;
      });
  check_dropped(
      10 * kThreads,
      [](Memory& lent) {
        return std::vector<EValue>(kThreads, std::vector<Tensor>{*lent.tensor()});
      },
      [](const EValue& mine) {
        int32_t seen = 0;
        for (int i = 0; i < 20; ++i) seen = sum(EValue(mine).toTensorList()[0]);
        return seen;
      });
  check_dropped(
      2 * kThreads,
      [](Memory& lent) { return std::vector<Blob>(kThreads, to_blob(lent.tensor())); },
      [](const Blob& mine) {
        int32_t seen = 0;
        for (int n = 0; n < 20; ++n) seen = const_data_ptr<int32_t>(from_blob(mine))[1];
        return seen;
      });
  check_dropped(
      3 * kThreads, [](Memory& lent) { return exports(lent.tensor()); }, third);
  check_dropped(
      2 * kThreads,
      [](Memory& lent) {
        const TensorPtr t = lent.tensor();
        std::vector<DLPackLegacyPtr> structs;
        for (int i = 0; i < kThreads; ++i) structs.emplace_back(to_dlpack_legacy(t));
        return structs;
      },
      [](const DLPackLegacyPtr& mine) { return static_cast<int32_t*>(mine->dl_tensor.data)[1]; });
}

// A promise of docs/guarantees.md.
TEST_CASE("threads ask for a TensorPtr at once: one takes the seat of the first, which is gone",
          "[threads][TensorPtr]") {
  for (int round = 0; round < kRounds; ++round) {
    Memory lent;
    TensorPtr first = lent.tensor();
    const Tensor* const seat = first.get();
    std::vector<Tensor> tensors(kThreads, *first);
    first.reset();
    int taken[kThreads] = {};
    on_threads(kThreads, [&](int i) {
      const Tensor mine = std::move(tensors[static_cast<size_t>(i)]);
      for (int n = 0; n < 200; ++n) {
        const TensorPtr handle = make_tensor_ptr(mine.impl());
        taken[i] += handle.get() == seat;
        lent.seen[i] = sum(*handle);
      }
    });
    REQUIRE(lent.releases == 1);
    REQUIRE(lent.total == 10 * kThreads);
    REQUIRE(std::accumulate(taken, taken + kThreads, 0) > 0);
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("threads drop a handle and its tensor at once: their block is released once, by the last",
          "[threads][Tensor][TensorPtr]") {
  // Each leaves a handle in its seat to one thread, and the tensor to another.
  using Leave = void (*)(TensorPtr&);
  const Leave ways[] = {
      [](TensorPtr& t) { t.reset(); },
      [](TensorPtr& t) { delete t.release(); },
      [](TensorPtr& t) { const std::shared_ptr<Tensor> shared(std::move(t)); },
      [](TensorPtr& t) { *t = Tensor(); },
      [](TensorPtr& t) { *t = *zeros({1}); },
      [](TensorPtr& t) { const Tensor moved = std::move(*t); },
      [](TensorPtr& t) { t = make_tensor_ptr(t); },
      [](TensorPtr& t) {
        const TensorImplPtr kept = t->impl();
        t.reset();
        t = make_tensor_ptr(kept);
      },
  };
  for (const Leave leave : ways) {
    for (int round = 0; round < 5 * kRounds; ++round) {
      Memory lent;
      TensorPtr handle = lent.tensor();
      Tensor tensor = *handle;
      Tensor part = tenon::select(tensor, 0, 1);
      std::weak_ptr<TensorImpl> weak = tensor.impl();
      on_threads(kThreads, [&](int i) {
        if (i == 0) {
          leave(handle);
          handle.reset();
        } else if (i == 1) {
          tensor = Tensor();
        } else if (i == 2) {
          part = Tensor();
        } else {
          const TensorImplPtr locked = weak.lock();
          weak.reset();
          if (locked != nullptr) lent.seen[i] = sum(*make_tensor_ptr(locked));
        }
      });
      REQUIRE(lent.releases == 1);
      REQUIRE((lent.total == 0 || lent.total == 10));
    }
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("from_dlpack: the producer's deleter runs once, after all threads that had a tensor",
          "[threads][Tensor]") {
  for (int round = 0; round < kRounds; ++round) {
    Memory memory;
    Lent<> lent(memory.elements, kInt32, {4}, {1});
    lent.managed.manager_ctx = &memory;
    lent.managed.deleter = [](dlpack::DLManagedTensorVersioned* self) {
      static_cast<Memory*>(self->manager_ctx)->release();
    };
    std::vector<Tensor> tensors;
    {
      const TensorPtr t = from_dlpack(lent.get());
      for (int64_t i = 0; i < kThreads; ++i) tensors.push_back(slice(t, 0, i, i + 1));
    }
    on_threads(kThreads, [&](int i) {
      Tensor mine = std::move(tensors[static_cast<size_t>(i)]);
      const DLPackPtr once_more(to_dlpack(mine));
      memory.seen[i] = const_data_ptr<int32_t>(mine)[0];
    });
    REQUIRE(memory.releases == 1);
    REQUIRE(memory.total == 1 + 2 + 3 + 4);
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("views, exports: threads make and drop some at once, and each is counted",
          "[threads][select][to_dlpack]") {
  Memory lent;
  TensorPtr t = lent.tensor();
  on_threads(kThreads, [&](int i) {
    std::vector<Tensor> kept;
    for (int n = 0; n < 200; ++n) {
      kept.push_back(tenon::select(slice(t, 0, 0, 2), 0, n % 2));
      if (kept.size() > 5) kept.erase(kept.begin());
      lent.seen[i] = sum(kept.front()) + sum(*from_dlpack(to_dlpack(t)));
    }
  });
  CHECK_FALSE(detail::fields(t).borrows.any());
  CHECK(t->use_count() == 1);
  CHECK(lent.releases == 0);
  t.reset();
  CHECK(lent.releases == 1);
  CHECK(lent.total == 12 * kThreads);  // of the last five of each, the first is of element 1
}

// A promise of docs/guarantees.md.
TEST_CASE("views, exports: a tensor grows once other threads have dropped theirs, not before",
          "[threads][resize_tensor_ptr]") {
  check_grows_after(
      [](const TensorPtr& t) { return std::vector<Tensor>(kThreads, slice(t, 0, 100, 101)); }, sum);
  check_grows_after(exports, third);
}

TEST_CASE("views: what one thread counted by plain steps is counted on by several",
          "[threads][select]") {
  CHECK(sum(early_views[0]) == 6);
  on_threads(kThreads, [](int t) {
    for (int i = 0; i < 20; ++i) static_cast<void>(tenon::select(early, 0, 0));
    early_views[static_cast<size_t>(t)] = Tensor();
  });
  CHECK(early->use_count() == 1);
  CHECK_FALSE(detail::fields(early).borrows.any());
}

}  // namespace ownership_test
