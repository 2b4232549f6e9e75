// SPDX-License-Identifier: MIT
// CudaBackend: tensors in the memory of a CUDA device. docs/cuda.md: what orders and what waits.
#pragma once

#include <cstring>

#include "tenon/backend/backend.h"
#include "tenon/backend/calls.h"
#include "tenon/backend/cuda/copies.h"
#include "tenon/backend/cuda/cuda_calls.h"
#include "tenon/backend/cuda/cuda_streams.h"
#include "tenon/backend/cuda/device_memory.h"
#include "tenon/backend/cuda/host_memory.h"
#include "tenon/backend/cuda/kernels.h"
#include "tenon/kernels/random_plan.h"

TENON_BEGIN_NAMESPACE

/// The memory of a CUDA device. Work goes to the backend's own stream, or to the stream of the
/// thread's innermost StreamScope.
///
/// A copy to the host waits until the copy is done. A copy from pageable memory waits until CUDA
/// has read that memory; a copy from pinned or managed memory waits until the stream has done the
/// copy. synchronize() waits, and so do allocations and releases with CudaAllocator::Malloc.
/// Everything else is enqueued without waiting: copies within and between devices, fills,
/// allocations and releases from the pool, and the ordering of streams.
///
/// While a graph is captured, waiting calls, copies from the host and pool allocations are errors;
/// everything else may be captured. Blocks that any thread releases during a capture are freed by
/// the first allocation, release, synchronize() or trim() after it.
///
/// Ownership: the backend outlives its tensors; a borrowed stream outlives the backend.
/// Errors: CUDA's, with the call, and the error's name and text: OutOfMemory; InvalidArgument if
/// CUDA calls a value invalid; InvalidState when the runtime or device is gone; else AccessFailed.
/// A block that cannot be freed is reported to the failure handler, once per CUDA error code,
/// unless the program ends.
/// Threads: any.
/// Source: rmm::mr::cuda_async_memory_resource; c10::cuda::CUDACachingAllocator's record_stream.
class TENON_EXPORT CudaBackend : public DeviceBackend {
 public:
  /// Makes the backend's stream, which CUDA orders with the legacy default stream.
  /// Errors: those of the class.
  explicit CudaBackend(int device = 0, const CudaOptions& options = {})
      : CudaBackend(options, device) {
    detail::raise_if("CudaBackend", open(nullptr, options));
  }
  /// Uses the caller's stream; null is the legacy default stream.
  /// Errors: InvalidArgument for cudaStreamPerThread, which is another stream in each thread, and
  /// for a stream of another device; those of the class.
  CudaBackend(int device, cudaStream_t stream, const CudaOptions& options = {})
      : CudaBackend(options, device) {
    detail::raise_if("CudaBackend", open(stream == nullptr ? cudaStreamLegacy : stream, options));
  }
  /// Work that was enqueued before still runs.
  ~CudaBackend() override = default;

  const char* name() const noexcept override { return "cuda"; }
  Device device() const noexcept override { return device_; }
  bool is_opaque() const noexcept override { return true; }

  /// The stream for the calling thread's next work.
  cudaStream_t stream() const noexcept { return streams_.current(); }

  /// The allocator in use: always Malloc if the device has no pools.
  CudaAllocator allocator() const noexcept { return memory_.allocator(); }
  /// Returns free memory of the pool to the device, for other allocators, until the pool has no
  /// more than `keep` bytes: cudaMemPoolTrimTo. Waits for the streams first: until then CUDA counts
  /// released blocks as in use.
  Error trim(size_t keep = 0) noexcept { return memory_.trim(keep); }

  /// `alignment` is at most 256 bytes.
  void* allocate(size_t nbytes, size_t alignment) noexcept override {
    return detail::check_cuda_alignment(alignment) ? memory_.allocate(nbytes) : nullptr;
  }
  /// The memory is reused only after the work enqueued so far on all streams of the backend.
  void deallocate(void* p, size_t) noexcept override { memory_.deallocate(p); }

  Error copy_from_host(void* dst, const void* src, size_t nbytes) override {
    return copy_bytes(dst, src, nbytes, cudaMemcpyHostToDevice);
  }
  Error copy_to_host(void* dst, const void* src, size_t nbytes) override {
    return copy_bytes(dst, src, nbytes, cudaMemcpyDeviceToHost);
  }
  Error copy_within(void* dst, const void* src, size_t nbytes) override {
    return copy_bytes(dst, src, nbytes, cudaMemcpyDeviceToDevice);
  }
  Error synchronize() override {
    memory_.free_kept();
    return streams_.synchronize();
  }

  /// Makes one CUDA call for a block, rows or slices of rows; starts one kernel for other copies
  /// within the device.
  Error copy(const TensorView& dst, const TensorView& src, CastMode mode) override {
    const bool to_host = dst.device.is_host_accessible();
    const bool from_host = src.device.is_host_accessible();
    if ((!to_host && dst.device != device_) || (!from_host && src.device != device_)) {
      return Error::NotSupported;
    }
    const StridedCopy plan = strided_copy(dst, src);
    if (plan.count == 0) return Error::Ok;
    detail::CudaBox box;
    const bool is_box = dst.type == src.type && box.describe(plan);
    const bool is_short = plan.rank != 0 && plan.nbytes < kShortRow;
    if (!to_host && !from_host && (!is_box || is_short)) {
      const Error error = copy_by_kernel(plan, dst, src, mode);
      if (error != Error::NotSupported) return error;
    }
    return !is_box ? Error::NotSupported
                   : copy_box(plan, box,
                              from_host ? cudaMemcpyHostToDevice
                              : to_host ? cudaMemcpyDeviceToHost
                                        : cudaMemcpyDeviceToDevice);
  }
  Error constant(const TensorView& out, const void* element) override {
    static constexpr int64_t kZeros[kMaxDims] = {};
    TensorView same = out;  // all strides are 0: each element is the first one
    same.strides = {kZeros, out.sizes.size()};
    const StridedCopy fill = strided_copy(out, same);
    if (fill.count == 0) return Error::Ok;
    if (std::memcmp(element, static_cast<const char*>(element) + 1, fill.nbytes - 1) == 0) {
      const Error error = fill_bytes(fill, *static_cast<const unsigned char*>(element));
      if (error != Error::NotSupported) return error;
    }
    return launch([&](cudaStream_t s) { return kernels_->fill(fill, element, s); });
  }
  // The following functions need kernels.
  Error eye(const TensorView& out) override {
    return launch([&](cudaStream_t s) { return kernels_->eye(out, s); });
  }
  Error iota(const TensorView& out, OptionalIndex axis) override {
    return launch([&](cudaStream_t s) { return kernels_->iota(out, axis, s); });
  }
  Error random_uniform(const TensorView& out, double min, double max,
                       const Generator::State& start) override {
    detail::RandomPlan plan;
    TENON_TRY(detail::plan_uniform(plan, detail::own_type(out.type), min, max));
    return random(out, plan, start);
  }
  Error random_normal(const TensorView& out, double mu, double sigma,
                      const Generator::State& start) override {
    detail::RandomPlan plan;
    TENON_TRY(detail::plan_normal(plan, detail::own_type(out.type), mu, sigma));
    return random(out, plan, start);
  }
  Error random_integers(const TensorView& out, int64_t low, int64_t last,
                        const Generator::State& start) override {
    detail::RandomPlan plan;
    TENON_TRY(detail::start_plan(plan, detail::Distribution::Integers, detail::own_type(out.type)));
    TENON_TRY(detail::finish_integers(plan, low, last));
    return random(out, plan, start);
  }

  int64_t stream_number() const noexcept override { return reinterpret_cast<int64_t>(stream()); }
  /// If the calling thread's stream is captured, orders only that stream.
  Error order_before(int64_t number) override {
    TENON_TRY(check_number(number));
    return streams_.order_before(reinterpret_cast<cudaStream_t>(number), streams_);
  }
  /// If the calling thread's stream is captured, orders only that stream.
  /// Source: torch.cuda.Stream.wait_stream.
  Error order_after(int64_t number) override {
    TENON_TRY(check_number(number));
    return streams_.order_after(reinterpret_cast<cudaStream_t>(number), streams_);
  }
  /// Does nothing without a StreamScope. InvalidState while a scope's stream is captured.
  Error join_streams() noexcept override { return streams_.join(); }

  /// Asks CUDA about the first and the last byte. Managed memory is accepted.
  Error check_memory(const void* lowest, size_t nbytes) override {
    TENON_TRY(check_byte(lowest, "begins"));
    return check_byte(static_cast<const char*>(lowest) + nbytes - 1, "ends");
  }

  /// Copies within this device, or between two devices by peer copies, which need no peer access.
  /// NotSupported if CUDA refuses peer copies; tenon then copies through the host.
  Error copy_between(const TensorView& dst, const TensorView& src, CastMode mode,
                     Backend& other) override {
    if (detail::BackendAccess::kind(other) != detail::BackendKind::Cuda) {
      return Error::NotSupported;
    }
    auto& peer = static_cast<CudaBackend&>(other);
    const StridedCopy plan = strided_copy(dst, src);
    if (plan.count == 0) return Error::Ok;
    detail::CudaBox box;
    const bool is_box = dst.type == src.type && box.describe(plan);
    const bool is_one_device = peer.device_ == device_;
    if (!is_box && (!is_one_device || kernels_ == nullptr)) return Error::NotSupported;
    const cudaStream_t mine = stream();
    TENON_TRY(peer.streams_.order_before(mine, streams_));
    if (!is_box) {
      TENON_TRY(copy_by_kernel(plan, dst, src, mode));
    } else if (is_one_device) {
      TENON_TRY(copy_box(plan, box, cudaMemcpyDeviceToDevice));
    } else {
      TENON_TRY(detail::copy_peer_async(plan, box, dst.device.index(), src.device.index(), streams_,
                                        mine));
    }
    const Error error = peer.streams_.order_after(mine, streams_);
    if (error != Error::Ok) static_cast<void>(streams_.wait(mine));
    return error;
  }

 private:
  friend class StreamScope;

  /// Rows of fewer bytes are left to a kernel: CUDA copies row by row.
  static constexpr size_t kShortRow = 64;

  CudaBackend(const CudaOptions& options, int device)
      : device_(DeviceType::CUDA, device),
        kernels_(options.kernels),
        streams_(index()),
        memory_(index(), streams_) {
    detail::BackendAccess::kind(*this) = detail::BackendKind::Cuda;
  }
  Error open(cudaStream_t stream, const CudaOptions& options) noexcept {
    TENON_TRY(streams_.open(stream));
    return memory_.open(options);
  }

  int index() const noexcept { return device_.index(); }

  // Copies and values.

  Error copy_bytes(void* dst, const void* src, size_t nbytes, cudaMemcpyKind kind) noexcept {
    if (nbytes == 0) return Error::Ok;
    StridedCopy plan;
    plan.nbytes = nbytes;
    plan.dst = dst;
    plan.src = src;
    return copy_box(plan, detail::CudaBox(), kind);
  }
  /// Enqueues a copy. Waits if it writes host memory, or may still be reading it.
  Error copy_box(const StridedCopy& plan, const detail::CudaBox& box,
                 cudaMemcpyKind kind) noexcept {
    bool waits = kind == cudaMemcpyDeviceToHost;
    const cudaStream_t to = stream();
    if (kind == cudaMemcpyHostToDevice) TENON_TRY(check_source(plan.src, to, waits));
    TENON_TRY(detail::copy_async(plan, box, kind, streams_, to));
    return waits ? streams_.wait(to) : Error::Ok;
  }
  /// The device must be current: devicePointer is that device's address of the memory.
  Error find(const void* address, cudaPointerAttributes& found) const noexcept {
    return detail::call_on_device(index(), "cudaPointerGetAttributes",
                                  [&] { return cudaPointerGetAttributes(&found, address); });
  }
  /// cudaMemcpyAsync has read pageable memory when it returns, unless the device reads it directly.
  /// In a capture CUDA would read the memory only when the graph runs.
  Error check_source(const void* src, cudaStream_t to, bool& waits) const noexcept {
    bool is_captured = false;
    TENON_TRY(streams_.find_capture(to, is_captured));
    if (is_captured) {
      return set_error(Error::InvalidState, "a copy from the host's memory cannot be captured");
    }
    cudaPointerAttributes found{};
    TENON_TRY(find(src, found));
    waits = found.type != cudaMemoryTypeUnregistered || found.devicePointer != nullptr;
    return found.type == cudaMemoryTypeDevice
               ? detail::fail(Error::InvalidArgument, "the source is said to be the host's memory,",
                              " but is that of cuda:", found.device)
               : Error::Ok;
  }
  Error check_byte(const void* byte, const char* verb) const noexcept {
    cudaPointerAttributes found{};
    TENON_TRY(find(byte, found));
    const bool is_device = found.type == cudaMemoryTypeDevice;
    if (found.type == cudaMemoryTypeManaged || (is_device && found.device == index())) {
      return Error::Ok;
    }
    const char* const said = "the memory is said to be on ";
    if (is_device) {
      return detail::fail(Error::InvalidArgument, said, device_, ", but ", verb,
                          " on cuda:", found.device);
    }
    return detail::fail(Error::InvalidArgument, said, device_, ", but ", verb,
                        found.type == cudaMemoryTypeHost ? " in pinned memory of the host"
                                                         : " where CUDA knows no memory");
  }
  /// Fills with elements whose bytes are all `byte`. NotSupported for more dimensions than rows.
  Error fill_bytes(const StridedCopy& fill, int byte) noexcept {
    size_t rank = fill.rank;
    size_t width = fill.nbytes;
    if (rank != 0 && fill.dims[rank - 1].dst_stride == static_cast<int64_t>(width)) {
      width *= static_cast<size_t>(fill.dims[--rank].size);
    }
    const cudaStream_t to = stream();
    if (rank == 0) {
      return streams_.call_on_device(to, "cudaMemsetAsync",
                                     [&] { return cudaMemsetAsync(fill.dst, byte, width, to); });
    }
    const StridedCopy::Dim& rows = fill.dims[0];
    if (rank > 1 || rows.dst_stride > detail::kMaxCudaPitch) return Error::NotSupported;
    return streams_.call_on_device(to, "cudaMemset2DAsync", [&] {
      return cudaMemset2DAsync(fill.dst, static_cast<size_t>(rows.dst_stride), byte, width,
                               static_cast<size_t>(rows.size), to);
    });
  }
  Error copy_by_kernel(const StridedCopy& plan, const TensorView& dst, const TensorView& src,
                       CastMode mode) noexcept {
    return launch([&](cudaStream_t s) {
      return kernels_->copy(plan, detail::own_type(dst.type), detail::own_type(src.type), mode, s);
    });
  }
  Error random(const TensorView& out, const detail::RandomPlan& plan,
               const Generator::State& start) noexcept {
    return launch([&](cudaStream_t s) { return kernels_->random(out, plan, start, s); });
  }
  /// Starts a kernel. NotSupported without kernels, or if the kernel refuses the elements.
  template <class Start>
  Error launch(const Start& start) noexcept {
    if (kernels_ == nullptr) return Error::NotSupported;
    bool is_refused = false;
    const cudaStream_t to = stream();
    TENON_TRY(streams_.call_on_device(to, "cudaLaunchKernel", [&] {
      const cudaError_t code = start(to);
      is_refused = code == cudaErrorNotSupported;
      return is_refused ? cudaSuccess : code;
    }));
    return is_refused ? Error::NotSupported : Error::Ok;
  }

  static Error check_number(int64_t number) noexcept {
    return number > 0 ? Error::Ok
                      : detail::fail(Error::InvalidArgument, "stream ", number,
                                     " does not exist; expected 1, 2 or a handle");
  }

  Device device_;
  const CudaKernels* kernels_;
  detail::CudaStreams streams_;
  detail::CudaMemory memory_;
};

inline StreamScope::StreamScope(CudaBackend& backend, cudaStream_t stream)
    : streams_(backend.streams_), stream_(stream == nullptr ? cudaStreamLegacy : stream) {
  detail::raise_if("StreamScope", streams_.begin(*this));
  detail::current_stream_scope() = this;
}
inline StreamScope::~StreamScope() {
  detail::current_stream_scope() = outer_;
  streams_.end(*this);
}

TENON_END_NAMESPACE
