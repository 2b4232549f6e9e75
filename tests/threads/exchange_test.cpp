// SPDX-License-Identifier: MIT
// Memory that is passed between libraries, and released on whichever thread is the last.
#include "exchange/dlpack_helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "threads/threads.h"

using namespace tenon;
using namespace tests;

namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 20;

/// What the last one overwrites, that all have read.
struct Memory {
  int32_t elements[4] = {1, 2, 3, 4};
  int32_t seen[kThreads] = {};
  int releases = 0;

  void release() noexcept {
    ++releases;
    for (int32_t& element : elements) element = -1;
  }
  TensorPtr tensor() {
    return from_blob(elements, {4}, ScalarType::Int, [this](void*) noexcept { release(); });
  }
  int32_t total() const { return std::accumulate(seen, seen + kThreads, 0); }
};

int32_t third(const DLPackPtr& p) {
  return static_cast<const int32_t*>(p->dl_tensor.data)[p->dl_tensor.strides[0] * 2];
}

}  // namespace

TEST_CASE("to_dlpack: structs released on other threads, at once, release the memory once") {
  for (int round = 0; round < kRounds; ++round) {
    Memory memory;
    std::vector<DLPackPtr> structs;
    {
      const TensorPtr t = memory.tensor();
      for (int i = 0; i < kThreads; ++i) structs.emplace_back(to_dlpack(t));
    }
    on_threads(kThreads, [&](int i) {
      DLPackPtr& mine = structs[static_cast<size_t>(i)];
      memory.seen[i] = third(mine);
      mine.reset();
    });
    REQUIRE(memory.releases == 1);
    REQUIRE(memory.total() == 3 * kThreads);
  }
}

TEST_CASE("to_dlpack: one tensor is exported and imported on several threads") {
  Memory memory;
  TensorPtr t = memory.tensor();
  on_threads(kThreads, [&](int i) {
    for (int n = 0; n < 100; ++n) {
      const TensorPtr other = from_dlpack(to_dlpack(t));
      memory.seen[i] += const_data_ptr<int32_t>(other)[2];
    }
  });
  CHECK(memory.total() == 300 * kThreads);
  CHECK(memory.releases == 0);
  CHECK_FALSE(detail::fields(t).borrows.any());
  t.reset();
  CHECK(memory.releases == 1);
}

TEST_CASE("to_dlpack: a tensor grows once its structs were released on other threads") {
  for (int round = 0; round < kRounds; ++round) {
    TensorPtr t =
        make_tensor_ptr({300}, std::vector<int32_t>(300, 7), TensorShapeDynamism::DYNAMIC);
    std::vector<DLPackPtr> structs;
    for (int i = 0; i < kThreads; ++i) structs.emplace_back(to_dlpack(t));
    REQUIRE(resize_tensor_ptr(t, {1000}) == Error::InUse);
    int32_t seen[kThreads] = {};
    on_threads(kThreads + 1, [&](int i) {
      if (i < kThreads) {
        seen[i] = third(structs[static_cast<size_t>(i)]);
        structs[static_cast<size_t>(i)].reset();
        return;
      }
      // Releases the memory that the others have read.
      while (resize_tensor_ptr(t, {1000}) == Error::InUse) std::this_thread::yield();
    });
    REQUIRE(t->numel() == 1000);
    REQUIRE(std::accumulate(seen, seen + kThreads, 0) == 7 * kThreads);
  }
}

TEST_CASE("from_dlpack: the producer's deleter runs once, after all threads that had a tensor") {
  for (int round = 0; round < kRounds; ++round) {
    Memory memory;
    tests::Lent<> lent(memory.elements, tests::kInt32, {4}, {1});
    lent.managed.manager_ctx = &memory;
    lent.managed.deleter = [](DLManagedTensorVersioned* self) {
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
      mine = Tensor();
    });
    REQUIRE(memory.releases == 1);
    REQUIRE(memory.total() == 1 + 2 + 3 + 4);
  }
}

TEST_CASE("to_blob: threads copy and drop blobs; the memory is released once, after all of them") {
  for (int round = 0; round < kRounds; ++round) {
    Memory memory;
    std::vector<Blob> blobs(kThreads, to_blob(memory.tensor()));
    on_threads(kThreads, [&](int i) {
      Blob mine = std::move(blobs[static_cast<size_t>(i)]);
      for (int n = 0; n < 20; ++n) {
        const TensorPtr t = from_blob(mine);
        memory.seen[i] = const_data_ptr<int32_t>(t)[1];
      }
      mine = Blob();
    });
    REQUIRE(memory.releases == 1);
    REQUIRE(memory.total() == 2 * kThreads);
  }
}
