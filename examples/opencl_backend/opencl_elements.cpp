// SPDX-License-Identifier: MIT
// What OpenClBackend does with elements: strided copies, fills, iota, random numbers.
#include <cfloat>
#include <cmath>
#include <cstring>

#include "opencl_backend.h"
#include "opencl_shapes.h"

using tenon::CastMode;
using tenon::Error;
using tenon::Generator;
using tenon::OptionalIndex;
using tenon::ScalarType;
using tenon::StridedCopy;
using tenon::TensorView;

/// What docs/random.md defines, and the kernels make.
constexpr uint32_t kRandomVersion = 1;

/// Rows shorter than this are copied by a kernel: a rectangle's rows are copied one by one.
constexpr size_t kShortRow = 64;

Error OpenClBackend::copy(const TensorView& dst, const TensorView& src, CastMode) {
  const bool to_host = dst.device.is_cpu();
  const bool from_host = src.device.is_cpu();
  if (dst.type != src.type || (!to_host && dst.device != device_) ||
      (!from_host && src.device != device_)) {
    return Error::NotSupported;  // tenon does it, by copies of bytes
  }
  const StridedCopy plan = tenon::strided_copy(dst, src);
  if (plan.count == 0) return Error::Ok;
  const size_t row = plan.nbytes;
  if (plan.rank == 0) {
    return from_host ? copy_from_host(plan.dst, plan.src, row)
           : to_host ? copy_to_host(plan.dst, plan.src, row)
                     : copy_within(plan.dst, plan.src, row);
  }

  // What is in host memory keeps an offset of 0: OpenCL is given its address.
  Where to;
  Where from;
  if (!to_host) TENON_TRY(find(dst, plan.dst, to));
  if (!from_host) TENON_TRY(find(src, plan.src, from));
  Rectangle r{};
  const bool is_rectangle = r.describe(plan);
  // Rectangles of one buffer may not interleave, which elements that do not overlap may.
  if (!to_host && !from_host && (!is_rectangle || row < kShortRow || to.buffer == from.buffer)) {
    return copy_elements(plan, to, from);
  }
  if (!is_rectangle) return Error::NotSupported;
  const size_t to_origin[3] = {to.offset, 0, 0};
  const size_t from_origin[3] = {from.offset, 0, 0};
  if (from_host) {
    return check(clEnqueueWriteBufferRect(queue_.get(), to.buffer, CL_TRUE, to_origin, from_origin,
                                          r.region, r.to_row, r.to_slice, r.from_row, r.from_slice,
                                          plan.src, 0, nullptr, nullptr),
                 "clEnqueueWriteBufferRect");
  }
  if (to_host) {
    return check(clEnqueueReadBufferRect(queue_.get(), from.buffer, CL_TRUE, from_origin, to_origin,
                                         r.region, r.from_row, r.from_slice, r.to_row, r.to_slice,
                                         plan.dst, 0, nullptr, nullptr),
                 "clEnqueueReadBufferRect");
  }
  return check(clEnqueueCopyBufferRect(queue_.get(), from.buffer, to.buffer, from_origin, to_origin,
                                       r.region, r.from_row, r.from_slice, r.to_row, r.to_slice, 0,
                                       nullptr, nullptr),
               "clEnqueueCopyBufferRect");
}

/// A work item for each element, or for each 16 bytes of rows: for the largest power of two that
/// all rows, offsets and strides are multiples of.
Error OpenClBackend::copy_elements(const StridedCopy& plan, const Where& to, const Where& from) {
  size_t bits = plan.nbytes | to.offset | from.offset;
  for (size_t d = 0; d < plan.rank; ++d) {
    bits |=
        static_cast<size_t>(plan.dims[d].dst_stride) | static_cast<size_t>(plan.dims[d].src_stride);
  }
  size_t log = 0;
  while (log < 4 && bits % (size_t{2} << log) == 0) ++log;
  const size_t unit = size_t{1} << log;

  if (plan.rank + 1 > kMaxKernelDims) return Error::NotSupported;
  Places dst(to.offset);
  Places src(from.offset);
  for (size_t d = 0; d < plan.rank; ++d) {
    dst.add(plan.dims[d].size, plan.dims[d].dst_stride);
    src.add(plan.dims[d].size, plan.dims[d].src_stride);
  }
  const auto units = static_cast<int64_t>(plan.nbytes / unit);
  dst.add(units, static_cast<int64_t>(unit));
  src.add(units, static_cast<int64_t>(unit));
  const auto count = static_cast<cl_ulong>(plan.count * units);
  return launch(kernels_.copy[log].get(), count, count, to.buffer, dst, from.buffer, src);
}

// Values. Kernels only begin: what reads them comes later in the queue.

template <class... Args>
Error OpenClBackend::launch(cl_kernel kernel, uint64_t count, const Args&... args) {
  const std::lock_guard<std::mutex> lock(launching_);
  cl_int code = CL_SUCCESS;
  cl_uint at = 0;
  const auto set = [&](size_t size, const void* value) {
    if (code == CL_SUCCESS) code = clSetKernelArg(kernel, at++, size, value);
  };
  (set(sizeof args, &args), ...);
  TENON_TRY(check(code, "clSetKernelArg"));
  // A number with divisors, of which OpenCL makes groups; kernels ignore those beyond `count`.
  constexpr uint64_t kGroup = 256;
  const size_t items = static_cast<size_t>((count + kGroup - 1) / kGroup * kGroup);
  return check(clEnqueueNDRangeKernel(queue_.get(), kernel, 1, nullptr, &items, nullptr, 0, nullptr,
                                      nullptr),
               "clEnqueueNDRangeKernel");
}

Error OpenClBackend::constant(const TensorView& out, const void* element) {
  // A view of the same sizes, every element of which is the one given.
  static constexpr int64_t kZeros[tenon::kMaxDims] = {};
  TensorView same = out;
  same.strides = {kZeros, out.sizes.size()};
  const StridedCopy plan = tenon::strided_copy(out, same);
  if (plan.count == 0) return Error::Ok;
  Where to;
  TENON_TRY(find(out, plan.dst, to));

  const size_t size = elementSize(out.type);
  const bool is_block =
      plan.rank == 0 || (plan.rank == 1 && plan.dims[0].dst_stride == static_cast<int64_t>(size));
  if (is_block && to.offset % size == 0) {
    const size_t nbytes = static_cast<size_t>(plan.count) * size;
    return check(clEnqueueFillBuffer(queue_.get(), to.buffer, element, size, to.offset, nbytes, 0,
                                     nullptr, nullptr),
                 "clEnqueueFillBuffer");
  }
  // A copy from a buffer of one element, which OpenCL keeps until that is done.
  char bytes[16] = {};
  std::memcpy(bytes, element, size);
  cl_int code = CL_SUCCESS;
  const Owned<cl_mem> buffer(clCreateBuffer(context_.get(), CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                                            sizeof bytes, bytes, &code));
  TENON_TRY(check(code, "clCreateBuffer"));
  Where from;
  from.buffer = buffer.get();
  return copy_elements(plan, to, from);
}

Error OpenClBackend::iota(const TensorView& out, OptionalIndex axis) {
  int64_t count = 1;
  int64_t inner = 1;  // elements with the same index along the axis, one after the other
  int64_t size = 0;
  for (size_t d = out.sizes.size(); d-- > 0;) {
    if (axis.has_value() && static_cast<int64_t>(d) == axis.value_or(0)) {
      inner = count;
      size = out.sizes[d];
    }
    count *= out.sizes[d];
  }
  if (!axis.has_value()) size = count;
  if (count == 0) return Error::Ok;
  const bool is_int = out.type == ScalarType::Int && size - 1 <= INT32_MAX;
  const cl_kernel kernel = is_int                          ? kernels_.iota_int.get()
                           : out.type == ScalarType::Long  ? kernels_.iota_long.get()
                           : out.type == ScalarType::Float ? kernels_.iota_float.get()
                                                           : nullptr;
  if (kernel == nullptr || size == 0) return Error::NotSupported;
  Where to;
  TENON_TRY(find(out, out.data, to));
  Places places(to.offset);
  TENON_TRY(Places::describe(out, places));
  return launch(kernel, static_cast<uint64_t>(count), static_cast<cl_ulong>(count), to.buffer,
                places, static_cast<cl_ulong>(inner), static_cast<cl_ulong>(size));
}

// Random numbers. docs/random.md says which number each element is; for Float, with three floats.

/// A work item makes a block of four numbers, some of which may lie before the first or behind the
/// last that is asked for.
Error OpenClBackend::random(cl_kernel kernel, const TensorView& out, const float (&numbers)[3],
                            const Generator::State& start) {
  uint64_t count = 1;
  for (const int64_t n : out.sizes) count *= static_cast<uint64_t>(n);
  if (count == 0) return Error::Ok;
  Where to;
  TENON_TRY(find(out, out.data, to));
  Places places(to.offset);
  TENON_TRY(Places::describe(out, places));
  const uint64_t blocks = (start.offset % 4 + count + 3) / 4;
  return launch(kernel, blocks, cl_ulong{count}, to.buffer, places, cl_ulong{start.seed},
                cl_ulong{start.offset}, numbers[0], numbers[1], numbers[2]);
}

/// u * width + low for u in [0, 1), limited to the largest float below max.
Error OpenClBackend::random_uniform(const TensorView& out, double min, double max,
                                    const Generator::State& start) {
  const double width = max - min;
  // What is left out: narrow widths, for which the host computes in double, and wrong arguments,
  // for which it has a message.
  if (!makes_uniform_ || out.type != ScalarType::Float || start.version != kRandomVersion ||
      !(width >= 0x1p-102 && width <= FLT_MAX && min >= -FLT_MAX && max <= FLT_MAX)) {
    return Error::NotSupported;
  }
  auto low = static_cast<float>(min);
  if (static_cast<double>(low) < min) low = std::nextafter(low, FLT_MAX);
  auto limit = static_cast<float>(max);
  if (static_cast<double>(limit) >= max) limit = std::nextafter(limit, -FLT_MAX);
  if (low > limit) return Error::NotSupported;
  return random(kernels_.uniform.get(), out,
                {low, static_cast<float>(width) * (1 / 16777216.0f), limit}, start);
}

Error OpenClBackend::random_normal(const TensorView& out, double mu, double sigma,
                                   const Generator::State& start) {
  if (!makes_normal_ || out.type != ScalarType::Float || start.version != kRandomVersion ||
      !(mu >= -FLT_MAX && mu <= FLT_MAX && sigma >= 0 && sigma <= FLT_MAX)) {
    return Error::NotSupported;
  }
  return random(kernels_.normal.get(), out, {static_cast<float>(mu), static_cast<float>(sigma), 0},
                start);
}
