// SPDX-License-Identifier: MIT
// A class with the name of ExecuTorch's thread pool. It does not affect the threads of tenon's
// runtimes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "tenon/config.h"

namespace executorch {
namespace extension {
namespace threadpool {
inline namespace tenon_compat {

/// Stores a number of threads: the program's choice, or the processor's number of threads.
/// Threads: any.
class ThreadPool {
 public:
  /// 0 stands for the processor's number of threads.
  explicit ThreadPool(size_t count = 0) noexcept { set(count); }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  size_t get_thread_count() const noexcept { return count_; }
  bool _unsafe_reset_threadpool(uint32_t count) noexcept {
    set(count);
    return true;
  }

 private:
  void set(size_t count) noexcept {
    const size_t cores = std::thread::hardware_concurrency();
    count_ = count != 0 ? count : cores != 0 ? cores : 1;
  }
  std::atomic<size_t> count_;
};

TENON_EXPORT inline ThreadPool* get_threadpool() noexcept {
  static ThreadPool pool;
  return &pool;
}

}  // namespace tenon_compat
}  // namespace threadpool

namespace cpuinfo {
inline namespace tenon_compat {
/// Returns the number of all cores.
inline uint32_t get_num_performant_cores() noexcept { return std::thread::hardware_concurrency(); }
}  // namespace tenon_compat
}  // namespace cpuinfo
}  // namespace extension
}  // namespace executorch
