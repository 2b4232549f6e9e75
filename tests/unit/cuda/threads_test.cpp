// SPDX-License-Identifier: MIT
// CUDA's backends on several threads; tests/stress/threads has this under ThreadSanitizer, too.
#include <mutex>

#include "cuda_helpers.h"
#include "threads/threads.h"

namespace threads_test {

using namespace tests;
using namespace tenon;

TEST_CASE("cuda threads: tensors of each backend are made, copied and dropped by all threads",
          "[threads][CudaBackend][PinnedBackend][ManagedBackend][StreamScope]") {
  constexpr int kThreads = 4;
  constexpr int kRounds = 20;
  const Simulation simulation(sim::Order::Random);
  const UserStream streams[kThreads];
  CudaBackend cuda;
  PinnedBackend pinned;
  ManagedBackend managed;
  std::mutex mutex;
  std::vector<TensorPtr> left;
  Ints right(kThreads, 0);
  on_threads(kThreads, [&](int i) {
    for (int n = 0; n < kRounds; ++n) {
      const StreamScope scope(cuda, streams[i]);
      TensorPtr here = full({8}, n, ScalarType::Int, pinned);
      TensorPtr there = backend_copy(here, cuda);
      const TensorPtr both = backend_copy(slice(there, 0, 2, 6), managed);
      const TensorPtr back = backend_copy(there, host_backend());
      right[static_cast<size_t>(i)] +=
          back->const_data_ptr<int32_t>()[7] == n && both->numel() == 4;
      const std::lock_guard<std::mutex> lock(mutex);
      left.push_back(std::move(here));
      left.push_back(std::move(there));
      if (left.size() > 6) left.erase(left.begin(), left.begin() + 2);
    }
  });
  CHECK(right == Ints(kThreads, kRounds));
  left.clear();
  CHECK(cuda.live_blocks() == 0);
  CHECK(pinned.live_blocks() == 0);
  CHECK(managed.live_blocks() == 0);
}

}  // namespace threads_test
