// SPDX-License-Identifier: MIT
#include "opencl_backend.h"

#include <cstdio>
#include <new>
#include <utility>
#include <vector>

#include "opencl_kernels.h"
#include "tenon/core/layout.h"

using tenon::Error;
using tenon::Exception;
using tenon::TensorView;

// Addresses are numbers that we hand out: what counts is that an address plus some bytes finds the
// same buffer. They start where no program has memory, so that a stray access by the host faults.
static_assert(sizeof(void*) == 8, "this example counts addresses in 64 bits");
constexpr uintptr_t kFirstAddress = uintptr_t{1} << 62;

static const char* code_name(cl_int code) noexcept {
#define OPENCL_CASE(name) \
  case name: return #name
  switch (code) {
    OPENCL_CASE(CL_SUCCESS);
    OPENCL_CASE(CL_DEVICE_NOT_FOUND);
    OPENCL_CASE(CL_DEVICE_NOT_AVAILABLE);
    OPENCL_CASE(CL_COMPILER_NOT_AVAILABLE);
    OPENCL_CASE(CL_MEM_OBJECT_ALLOCATION_FAILURE);
    OPENCL_CASE(CL_OUT_OF_RESOURCES);
    OPENCL_CASE(CL_OUT_OF_HOST_MEMORY);
    OPENCL_CASE(CL_MEM_COPY_OVERLAP);
    OPENCL_CASE(CL_BUILD_PROGRAM_FAILURE);
    OPENCL_CASE(CL_MISALIGNED_SUB_BUFFER_OFFSET);
    OPENCL_CASE(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    OPENCL_CASE(CL_INVALID_VALUE);
    OPENCL_CASE(CL_INVALID_DEVICE);
    OPENCL_CASE(CL_INVALID_CONTEXT);
    OPENCL_CASE(CL_INVALID_COMMAND_QUEUE);
    OPENCL_CASE(CL_INVALID_MEM_OBJECT);
    OPENCL_CASE(CL_INVALID_BUILD_OPTIONS);
    OPENCL_CASE(CL_INVALID_PROGRAM_EXECUTABLE);
    OPENCL_CASE(CL_INVALID_KERNEL_NAME);
    OPENCL_CASE(CL_INVALID_KERNEL);
    OPENCL_CASE(CL_INVALID_ARG_INDEX);
    OPENCL_CASE(CL_INVALID_ARG_SIZE);
    OPENCL_CASE(CL_INVALID_KERNEL_ARGS);
    OPENCL_CASE(CL_INVALID_WORK_GROUP_SIZE);
    OPENCL_CASE(CL_INVALID_BUFFER_SIZE);
    OPENCL_CASE(CL_INVALID_GLOBAL_WORK_SIZE);
    default: return "an error";
  }
#undef OPENCL_CASE
}

static Error error_of(cl_int code) noexcept {
  switch (code) {
    case CL_SUCCESS: return Error::Ok;
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_RESOURCES:
    case CL_OUT_OF_HOST_MEMORY:
    case CL_INVALID_BUFFER_SIZE: return Error::OutOfMemory;
    default: return Error::AccessFailed;
  }
}

/// tenon puts the backend's name and its function in front.
Error OpenClBackend::check(cl_int code, const char* call) const noexcept {
  if (code == CL_SUCCESS) return Error::Ok;
  char text[128];
  std::snprintf(text, sizeof text, "%s: %s (%d)", call, code_name(code), static_cast<int>(code));
  return set_error(error_of(code), text);
}

// Construction: the only part that throws.

static void must(cl_int code, const char* call) {
  if (code == CL_SUCCESS) return;
  const std::string text = std::string("OpenClBackend: ") + call + ": " + code_name(code) + " (" +
                           std::to_string(code) + ")";
  throw Exception(error_of(code), text.c_str());
}

/// All devices of all platforms. A machine without OpenCL has none, which is no error here.
static std::vector<cl_device_id> find_devices() {
  std::vector<cl_device_id> devices;
  cl_uint platform_count = 0;
  if (clGetPlatformIDs(0, nullptr, &platform_count) != CL_SUCCESS) return devices;
  std::vector<cl_platform_id> platforms(platform_count);
  must(clGetPlatformIDs(platform_count, platforms.data(), nullptr), "clGetPlatformIDs");
  for (cl_platform_id platform : platforms) {
    cl_uint count = 0;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS) continue;
    const size_t before = devices.size();
    devices.resize(before + count);
    must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, &devices[before], nullptr),
         "clGetDeviceIDs");
  }
  return devices;
}

OpenClBackend::OpenClBackend(int32_t index)
    : device_(tenon::DeviceType::OpenCL, index), next_address_(kFirstAddress) {
  open(device_.index());
  build();
}

void OpenClBackend::open(int32_t index) {
  const std::vector<cl_device_id> devices = find_devices();
  if (static_cast<size_t>(index) >= devices.size()) {
    const std::string text = "OpenClBackend: there is no OpenCL device " + std::to_string(index) +
                             "; found " + std::to_string(devices.size());
    throw Exception(Error::NotFound, text.c_str());
  }
  device_id_ = devices[static_cast<size_t>(index)];
  char text[256] = {};
  must(clGetDeviceInfo(device_id_, CL_DEVICE_NAME, sizeof text - 1, text, nullptr),
       "clGetDeviceInfo");
  device_name_ = text;

  cl_device_fp_config floats = 0;
  must(clGetDeviceInfo(device_id_, CL_DEVICE_SINGLE_FP_CONFIG, sizeof floats, &floats, nullptr),
       "clGetDeviceInfo");
  makes_uniform_ = (floats & CL_FP_ROUND_TO_NEAREST) != 0 && (floats & CL_FP_DENORM) != 0;
  makes_normal_ = makes_uniform_ && (floats & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;

  cl_int code = CL_SUCCESS;
  context_.reset(clCreateContext(nullptr, 1, &device_id_, nullptr, nullptr, &code));
  must(code, "clCreateContext");
  // In order, as Backend asks: what is done next comes after what was begun before.
  queue_.reset(clCreateCommandQueue(context_.get(), device_id_, 0, &code));
  must(code, "clCreateCommandQueue");
}

void OpenClBackend::build() {
  cl_int code = CL_SUCCESS;
  const char* source = kOpenClKernels;
  program_.reset(clCreateProgramWithSource(context_.get(), 1, &source, nullptr, &code));
  must(code, "clCreateProgramWithSource");
  std::string options = "-cl-std=CL1.2";
  if (makes_normal_) options += " -cl-fp32-correctly-rounded-divide-sqrt";
  code = clBuildProgram(program_.get(), 1, &device_id_, options.c_str(), nullptr, nullptr);
  if (code != CL_SUCCESS) {
    std::vector<char> log(1);
    size_t size = 0;
    if (clGetProgramBuildInfo(program_.get(), device_id_, CL_PROGRAM_BUILD_LOG, 0, nullptr,
                              &size) == CL_SUCCESS) {
      log.resize(size + 1);
      clGetProgramBuildInfo(program_.get(), device_id_, CL_PROGRAM_BUILD_LOG, size, log.data(),
                            nullptr);
    }
    const std::string text = "OpenClBackend: clBuildProgram: " + std::string(code_name(code)) +
                             " (" + std::to_string(code) + "): " + log.data();
    throw Exception(Error::Internal, text.c_str());
  }
  const char* const names[] = {"copy_1", "copy_2", "copy_4", "copy_8", "copy_16"};
  for (size_t i = 0; i < 5; ++i) kernels_.copy[i] = make_kernel(names[i]);
  kernels_.iota_int = make_kernel("iota_int");
  kernels_.iota_long = make_kernel("iota_long");
  kernels_.iota_float = make_kernel("iota_float");
  kernels_.uniform = make_kernel("uniform_float");
  kernels_.normal = make_kernel("normal_float");
}

Owned<cl_kernel> OpenClBackend::make_kernel(const char* kernel_name) {
  cl_int code = CL_SUCCESS;
  Owned<cl_kernel> kernel(clCreateKernel(program_.get(), kernel_name, &code));
  must(code, "clCreateKernel");
  return kernel;
}

/// Tensors that are still alive are the business of ~Backend(), which reports them.
OpenClBackend::~OpenClBackend() {
  if (queue_ != nullptr) clFinish(queue_.get());
}

// Memory.

void* OpenClBackend::allocate(size_t nbytes, size_t alignment) noexcept {
  cl_int code = CL_SUCCESS;
  Owned<cl_mem> buffer(clCreateBuffer(context_.get(), CL_MEM_READ_WRITE, nbytes, nullptr, &code));
  // The library says how many bytes it asked for, and of whom.
  if (check(code, "clCreateBuffer") != Error::Ok) return nullptr;
  try {
    const std::lock_guard<std::mutex> lock(blocks_mutex_);
    const uintptr_t address = (next_address_ + alignment - 1) & ~uintptr_t{alignment - 1};
    blocks_.emplace(address, Block{std::move(buffer), nbytes});
    next_address_ = address + nbytes + 1;  // so that one block's end is not the next one's begin
    return reinterpret_cast<void*>(address);
  } catch (const std::bad_alloc&) {
    static_cast<void>(set_error(Error::OutOfMemory, "no host memory to keep track of it"));
    return nullptr;
  }
}

/// OpenCL keeps a buffer until the commands that use it are done, so nobody has to wait here.
void OpenClBackend::deallocate(void* p, size_t) noexcept {
  const std::lock_guard<std::mutex> lock(blocks_mutex_);
  blocks_.erase(reinterpret_cast<uintptr_t>(p));
}

Error OpenClBackend::find(const void* address, size_t nbytes, Where& where) {
  const auto first = reinterpret_cast<uintptr_t>(address);
  {
    const std::lock_guard<std::mutex> lock(blocks_mutex_);
    auto at = blocks_.upper_bound(first);  // the block behind it
    if (at != blocks_.begin()) {
      --at;
      const size_t offset = first - at->first;
      if (offset <= at->second.nbytes && nbytes <= at->second.nbytes - offset) {
        where = {at->second.buffer.get(), offset};
        return Error::Ok;
      }
    }
  }
  char text[128];
  std::snprintf(text, sizeof text, "%zu bytes at %p are not within one allocation of this backend",
                nbytes, address);
  return set_error(Error::InvalidArgument, text);
}

Error OpenClBackend::find(const TensorView& view, const void* element, Where& where) {
  const auto size = static_cast<int64_t>(elementSize(view.type));
  tenon::OffsetRange offsets;  // with negative strides, element 0 is not the first in memory
  TENON_TRY(tenon::compute_offset_range(view.sizes, view.strides, offsets));
  const char* const first = static_cast<const char*>(view.data) + offsets.min * size;
  TENON_TRY(find(first, static_cast<size_t>((offsets.max + 1 - offsets.min) * size), where));
  where.offset += static_cast<size_t>(static_cast<const char*>(element) - first);
  return Error::Ok;
}

// Copies of bytes. Those from and to the host block, as Backend asks; the others are only begun.

Error OpenClBackend::copy_from_host(void* dst, const void* src, size_t nbytes) {
  if (nbytes == 0) return Error::Ok;
  Where to;
  TENON_TRY(find(dst, nbytes, to));
  return check(clEnqueueWriteBuffer(queue_.get(), to.buffer, CL_TRUE, to.offset, nbytes, src, 0,
                                    nullptr, nullptr),
               "clEnqueueWriteBuffer");
}

Error OpenClBackend::copy_to_host(void* dst, const void* src, size_t nbytes) {
  if (nbytes == 0) return Error::Ok;
  Where from;
  TENON_TRY(find(src, nbytes, from));
  return check(clEnqueueReadBuffer(queue_.get(), from.buffer, CL_TRUE, from.offset, nbytes, dst, 0,
                                   nullptr, nullptr),
               "clEnqueueReadBuffer");
}

Error OpenClBackend::copy_within(void* dst, const void* src, size_t nbytes) {
  if (nbytes == 0) return Error::Ok;
  Where to;
  Where from;
  TENON_TRY(find(dst, nbytes, to));
  TENON_TRY(find(src, nbytes, from));
  return check(clEnqueueCopyBuffer(queue_.get(), from.buffer, to.buffer, from.offset, to.offset,
                                   nbytes, 0, nullptr, nullptr),
               "clEnqueueCopyBuffer");
}

Error OpenClBackend::synchronize() { return check(clFinish(queue_.get()), "clFinish"); }
