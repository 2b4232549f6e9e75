// SPDX-License-Identifier: MIT
// Threads that begin together.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

namespace tests {

/// Runs work(0) to work(count - 1), each on a thread of its own, and waits for them. Nothing else
/// orders the threads: where tests count in plain variables, the code under test must.
template <class Work>
void on_threads(int count, const Work& work) {
  std::atomic<int> missing{count};
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&missing, &work, i] {
      --missing;
      while (missing != 0) std::this_thread::yield();
      work(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tests
