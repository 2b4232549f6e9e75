// SPDX-License-Identifier: MIT
// A CUDA runtime without a device, to link in tests in place of libcudart: see README.md.
// These are the functions by which a test steers and asks it; the CUDA functions themselves are
// those of the toolkit's own cuda_runtime_api.h.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#error "the simulated runtime has the legacy default stream: CUDA_API_PER_THREAD_DEFAULT_STREAM"
#endif

namespace simulated_cuda {

/// In which order queued work runs once something waits for a part of it.
enum class Order {
  Late,    ///< only what is waited for, and what that waits for; all else stays back
  Early,   ///< all other streams' work first, the youngest stream's first
  Random,  ///< of the other streams as much as the seed says
};

struct Options {
  int devices = 2;
  Order order = Order::Late;
  uint64_t seed = 1;
  bool abort_on_violation = true;  ///< print the text and abort; else it is only kept
  /// Whether calls wait that CUDA says may wait: cudaFree of cudaMalloc's and of managed memory,
  /// asynchronous copies into pageable memory.
  bool may_wait = true;
  size_t device_memory = size_t{1} << 30;  ///< per device, in bytes
  bool memory_pools = true;                ///< cudaDevAttrMemoryPoolsSupported
  /// cudaDevAttrConcurrentManagedAccess: whether the host may use managed memory while a device has
  /// work. The host's accesses are not seen; tests ask pending().
  bool concurrent_managed_access = true;
};

/// Forgets everything: memory, streams, events, counts, errors, violations. Work that is still
/// queued never runs. No other thread may be in a CUDA call.
void reset(const Options& options = {});
inline void reset(int devices) {
  Options options;
  options.devices = devices;
  reset(options);
}

/// How often that function was called since reset() or reset_calls(); failed calls count too.
int64_t calls(const char* function);
/// The calls of all functions but cudaGetLastError, cudaPeekAtLastError and the two that name an
/// error.
int64_t calls();
/// The functions called, in order, from the last reset_calls().
std::vector<std::string> call_names();
void reset_calls();

/// The n-th call from now on (1: the next; counted as by calls()) fails and does nothing else.
void fail_at(int64_t n, cudaError_t error);
/// The next call of that function fails.
void fail_next(const char* function, cudaError_t error);
/// Whether nothing set by fail_at() or fail_next() is still to come.
bool failed();
/// Every later call returns the error, as after a kernel that faulted.
void make_sticky(cudaError_t error);
/// Called once, without the simulator's lock, when some thread begins a call of that function: to
/// look at what other threads can do while it waits.
void at_next(const char* function, std::function<void()> look);
/// Which device was current in the last call of that function; -1 without one.
int device_in(const char* function);

/// Bytes of device memory (or of pinned or managed memory) that a kernel touches.
struct Memory {
  const void* address;
  size_t bytes;
};
/// A kernel's host form: queues work that reads and writes those ranges. The work runs with the
/// simulator's lock held and must not call CUDA. cudaErrorInvalidResourceHandle if the stream is
/// of another device than the current one. Counted as cudaLaunchKernel.
cudaError_t launch(cudaStream_t stream, std::function<void()> work,
                   const std::vector<Memory>& reads, const std::vector<Memory>& writes);

/// Where the host finds the bytes of that device address; other addresses are returned as they
/// are. For kernels' host forms, and for tests that look at memory without a copy.
void* bytes(const void* device_address);
template <class T>
T* host_view(T* device_address) {
  return static_cast<T*>(bytes(device_address));
}

/// Runs queued work of all streams, as if much time had passed. The host knows nothing of it.
void run_all();
/// Operations that are queued and have not run.
int64_t pending();

/// One line each: memory, streams and events, pools that were not freed.
std::vector<std::string> live_allocations();
std::vector<std::string> live_objects();
std::vector<std::string> violations();

}  // namespace simulated_cuda
