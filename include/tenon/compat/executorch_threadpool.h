// SPDX-License-Identifier: MIT
// ExecuTorch's thread pool by name. tenon's runtimes have their own threads, which it does not
// affect.
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

/// A number of threads: the program's choice, or the processor's number.
/// Threads: any.
class ThreadPool {
 public:
  /// 0 is the processor's number.
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
/// All of them.
inline uint32_t get_num_performant_cores() noexcept { return std::thread::hardware_concurrency(); }
}  // namespace tenon_compat
}  // namespace cpuinfo
}  // namespace extension
}  // namespace executorch
