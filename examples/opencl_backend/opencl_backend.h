// SPDX-License-Identifier: MIT
// OpenClBackend: tensors in the memory of an OpenCL device, as a user of tenon would write it, with
// nothing but tenon's public interface and OpenCL 1.2.
#pragma once

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>

#include "tenon/backend/backend.h"
#include "tenon/backend/strided_copy.h"

/// OpenCL's objects release themselves.
struct ReleaseClObject {
  void operator()(cl_context object) const noexcept { clReleaseContext(object); }
  void operator()(cl_command_queue object) const noexcept { clReleaseCommandQueue(object); }
  void operator()(cl_program object) const noexcept { clReleaseProgram(object); }
  void operator()(cl_kernel object) const noexcept { clReleaseKernel(object); }
  void operator()(cl_mem object) const noexcept { clReleaseMemObject(object); }
};
template <class Object>
using Owned = std::unique_ptr<std::remove_pointer_t<Object>, ReleaseClObject>;

/// The memory of one OpenCL device, and what tensors do in it: copies, fills, iota, random numbers.
///
/// What it does not override, or answers with NotSupported, tenon does on the host: conversions
/// between types, random numbers of other types than Float, and so on.
/// Ownership: outlives its tensors.
/// Threads: any. All commands go through one queue, one after the other.
class OpenClBackend final : public tenon::Backend {
 public:
  /// For the device of that number, counted over all platforms.
  /// Errors: tenon::Exception with NotFound when there is no such device, with what OpenCL says when
  /// it cannot be used.
  explicit OpenClBackend(int32_t index = 0);
  ~OpenClBackend() override;

  const char* name() const noexcept override { return "opencl"; }
  tenon::Device device() const noexcept override { return device_; }
  bool is_opaque() const noexcept override { return true; }

  void* allocate(size_t nbytes, size_t alignment) noexcept override;
  void deallocate(void* p, size_t nbytes) noexcept override;

  tenon::Error copy_from_host(void* dst, const void* src, size_t nbytes) override;
  tenon::Error copy_to_host(void* dst, const void* src, size_t nbytes) override;
  tenon::Error copy_within(void* dst, const void* src, size_t nbytes) override;
  tenon::Error synchronize() override;

  /// Strided, without conversions: as rectangles, or on the device by a kernel.
  tenon::Error copy(const tenon::TensorView& dst, const tenon::TensorView& src,
                    tenon::CastMode mode) override;
  tenon::Error constant(const tenon::TensorView& out, const void* element) override;
  /// Int, Long and Float.
  tenon::Error iota(const tenon::TensorView& out, tenon::OptionalIndex axis) override;
  /// Float, with the host's bits, on devices whose floats can.
  tenon::Error random_uniform(const tenon::TensorView& out, double min, double max,
                              const tenon::Generator::State& start) override;
  tenon::Error random_normal(const tenon::TensorView& out, double mu, double sigma,
                             const tenon::Generator::State& start) override;

  /// What the device is called.
  const std::string& device_name() const noexcept { return device_name_; }
  /// Whether random_uniform() and random_normal() of Float are done by the device: its floats have
  /// to round to nearest and keep subnormals, for normal numbers with exact division and roots.
  bool makes_uniform() const noexcept { return makes_uniform_; }
  bool makes_normal() const noexcept { return makes_normal_; }

 private:
  struct Block {
    Owned<cl_mem> buffer;
    size_t nbytes;
  };
  /// Where an address lies. A sub-buffer would do without the offset, but may begin only at
  /// multiples of some 128 bytes.
  /// Ownership: none: who uses the memory keeps it alive.
  struct Where {
    cl_mem buffer = nullptr;
    size_t offset = 0;
  };
  /// The kernels of opencl_kernels.h.
  struct Kernels {
    Owned<cl_kernel> copy[5];  // by the logarithm of the element's size
    Owned<cl_kernel> iota_int;
    Owned<cl_kernel> iota_long;
    Owned<cl_kernel> iota_float;
    Owned<cl_kernel> uniform;
    Owned<cl_kernel> normal;
  };

  void open(int32_t index);
  void build();
  Owned<cl_kernel> make_kernel(const char* kernel_name);

  /// Fails unless all of [address, address + nbytes) is in one block.
  tenon::Error find(const void* address, size_t nbytes, Where& where);
  /// Fails unless all elements of a view are; `where` is that of `element`, one of them.
  tenon::Error find(const tenon::TensorView& view, const void* element, Where& where);

  tenon::Error copy_elements(const tenon::StridedCopy& plan, const Where& to, const Where& from);
  tenon::Error random(cl_kernel kernel, const tenon::TensorView& out, const float (&numbers)[3],
                      const tenon::Generator::State& start);
  /// Runs a kernel on at least `count` work items.
  template <class... Args>
  tenon::Error launch(cl_kernel kernel, uint64_t count, const Args&... args);

  tenon::Error check(cl_int code, const char* call) const noexcept;

  tenon::Device device_;
  std::string device_name_;
  bool makes_uniform_ = false;
  bool makes_normal_ = false;
  cl_device_id device_id_ = nullptr;
  // Released in the reverse order.
  Owned<cl_context> context_;
  Owned<cl_command_queue> queue_;
  Owned<cl_program> program_;
  Kernels kernels_;
  std::mutex launching_;  // a kernel keeps its arguments between the calls that set them

  std::mutex blocks_mutex_;
  std::map<uintptr_t, Block> blocks_;  // by address
  uintptr_t next_address_;
};
