// SPDX-License-Identifier: MIT
// What the tests of CudaBackend on the simulated runtime share.
#pragma once

#include <string>
#include <vector>

#include "backend/helpers.h"
#include "cuda/device_kernels.h"
#include "simulated_cuda.h"
#include "support/catch.h"
#include "tenon/backend/cuda.h"
#include "tenon/tenon.h"

namespace tests {

namespace sim = simulated_cuda;

/// A fresh runtime. At its end nothing is left and no rule was broken.
struct Simulation {
  explicit Simulation(sim::Order order = sim::Order::Late, size_t device_memory = size_t{1} << 30) {
    sim::Options options;
    options.device_memory = device_memory;
    options.order = order;
    options.abort_on_violation = false;
    options.may_wait = false;  // calls that CUDA does not say to wait
    sim::reset(options);
  }
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;
  ~Simulation() {
    sim::run_all();
    CHECK(sim::violations() == Texts());
    CHECK(sim::live_allocations() == Texts());
    CHECK(sim::live_objects() == Texts());
    sim::reset();
  }
};

inline sim::Order any_order() {
  return GENERATE(sim::Order::Late, sim::Order::Early, sim::Order::Random);
}

inline tenon::CudaOptions with_kernels(bool has_them = true) {
  tenon::CudaOptions options;
  options.kernels = has_them ? &device_kernels() : nullptr;
  return options;
}
inline tenon::CudaOptions with_malloc() {
  tenon::CudaOptions options;
  options.allocator = tenon::CudaAllocator::Malloc;
  return options;
}

/// A stream of the program's own.
class UserStream {
 public:
  explicit UserStream(int device = 0, unsigned flags = cudaStreamNonBlocking) {
    REQUIRE(cudaSetDevice(device) == cudaSuccess);
    REQUIRE(cudaStreamCreateWithFlags(&stream_, flags) == cudaSuccess);
    REQUIRE(cudaSetDevice(0) == cudaSuccess);
  }
  UserStream(const UserStream&) = delete;
  UserStream& operator=(const UserStream&) = delete;
  ~UserStream() { CHECK(cudaStreamDestroy(stream_) == cudaSuccess); }
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// The CUDA calls that f makes.
template <class F>
Texts calls_of(const F& f) {
  sim::reset_calls();
  f();
  return sim::call_names();
}

inline int current_device() {
  int device = -1;
  CHECK(cudaGetDevice(&device) == cudaSuccess);
  return device;
}

/// How many of these calls wait for the device.
inline int waits(const Texts& calls) {
  int count = 0;
  for (const std::string& call : calls) {
    count += contains(call, "Synchronize") || call == "cudaFree" || call == "cudaMalloc";
  }
  return count;
}

}  // namespace tests
