// SPDX-License-Identifier: MIT
// StreamScope, and CudaStreams: a backend's stream, its scopes' streams, and their order.
#pragma once

#include <mutex>

#include "tenon/backend/cuda/cuda_calls.h"
#include "tenon/core/memory.h"

TENON_BEGIN_NAMESPACE

class CudaBackend;
class StreamScope;

namespace detail {
class CudaStreams;

/// The calling thread's innermost scope.
TENON_EXPORT inline StreamScope*& current_stream_scope() noexcept {
  static thread_local StreamScope* scope = nullptr;
  return scope;
}

}  // namespace detail

/// While it lives, the calling thread's work on the backend goes to `stream`. At its beginning
/// `stream` waits for the backend's own stream and the enclosing scope's; at its end both wait for
/// `stream`.
///
/// To capture `stream` for a graph, call cudaStreamBeginCapture after the scope's beginning, and
/// cudaStreamEndCapture before its end. A scope that begins and ends while the backend's own stream
/// is captured becomes a branch of that stream's graph.
/// Ownership: borrows the backend and the stream, which must outlive the scope. Scopes end in the
/// reverse order of their beginnings, on the same thread.
/// Errors: the constructor raises InvalidArgument for cudaStreamPerThread, which is another stream
/// in each thread, and for a stream of another device; and CUDA's errors. If the scope's end cannot
/// order the streams, the end waits for `stream`.
/// Threads: each thread has its own scopes.
/// Source: c10::cuda::CUDAStreamGuard.
class TENON_EXPORT StreamScope {
 public:
  /// Null is the legacy default stream.
  inline StreamScope(CudaBackend& backend, cudaStream_t stream);  // in cuda.h
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;
  inline ~StreamScope();

 private:
  friend class detail::CudaStreams;

  detail::CudaStreams& streams_;
  cudaStream_t stream_;
  StreamScope* outer_ = detail::current_stream_scope();  // the thread's enclosing scope
  StreamScope* next_ = nullptr;  // the backend's next scope, guarded by its lock
};

namespace detail {

/// The backend's own stream, and the streams of scopes. Stream arguments are streams of this
/// device, or of the CudaStreams that is passed along.
class CudaStreams {
 public:
  explicit CudaStreams(int device) noexcept : device_(device) {}
  CudaStreams(const CudaStreams&) = delete;
  CudaStreams& operator=(const CudaStreams&) = delete;
  /// CUDA destroys a stream after its work is done.
  ~CudaStreams() {
    releases.destroy(event_, &cudaEventDestroy, "cudaEventDestroy");
    releases.destroy(release_, &cudaStreamDestroy, "cudaStreamDestroy");
    if (is_made_) releases.destroy(own_, &cudaStreamDestroy, "cudaStreamDestroy");
  }

  /// Borrows `stream`, or makes a new stream if `stream` is null.
  Error open(cudaStream_t stream) noexcept {
    is_made_ = stream == nullptr;
    own_ = stream;
    TENON_TRY(check_stream(stream));
    if (is_made_) {
      TENON_TRY(detail::call_on_device(device_, "cudaStreamCreate",
                                       [&] { return cudaStreamCreate(&own_); }));
    }
    TENON_TRY(detail::call_on_device(device_, "cudaEventCreateWithFlags", [&] {
      return cudaEventCreateWithFlags(&event_, cudaEventDisableTiming);
    }));
    return check_device(own_);
  }

  cudaStream_t own() const noexcept { return own_; }
  bool has_scopes() const noexcept { return scopes_.get() != nullptr; }
  /// The calling thread's stream.
  cudaStream_t current() const noexcept {
    const StreamScope* scope = current_stream_scope();
    while (scope != nullptr && &scope->streams_ != this) scope = scope->outer_;
    return scope != nullptr ? scope->stream_ : own_;
  }

  /// Makes a call for a stream. For the legacy or the per-thread stream, makes device_ current for
  /// the call.
  template <class Call>
  Error call(cudaStream_t stream, const char* name, const Call& call) const noexcept {
    return is_of_current_device(stream) ? call_on_device(stream, name, call)
                                        : check_cuda(call(), name);
  }
  /// Makes device_ current for the call. For the legacy stream, fails without the call while a
  /// blocking stream is captured: the call would be an error and end that capture.
  template <class Call>
  Error call_on_device(cudaStream_t stream, const char* name, const Call& call) const noexcept {
    return detail::call_on_device(device_, name, [&] {
      cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
      const cudaError_t code =
          is_of_current_device(stream) ? cudaStreamIsCapturing(stream, &status) : cudaSuccess;
      return code == cudaSuccess ? call() : code;
    });
  }
  /// Waits even if the first call fails, say with an older error: the caller is about to free
  /// memory. Never waits for the whole device: another library may be capturing one of its streams.
  Error wait(cudaStream_t stream) const noexcept {
    const auto synchronize = [&] { return cudaStreamSynchronize(stream); };
    const Error error = call(stream, "cudaStreamSynchronize", synchronize);
    if (error != Error::Ok) {
      const LastError text = last_error();
      static_cast<void>(call(stream, "cudaStreamSynchronize", synchronize));
      last_error() = text;
    }
    return error;
  }

  /// Finds whether a stream is being captured. Fails for the legacy stream while a blocking stream
  /// is captured.
  Error find_capture(cudaStream_t stream, bool& is_captured) const noexcept {
    return check_cuda(look_for_capture(stream, is_captured), "cudaStreamIsCapturing");
  }

  /// Waits for all streams, without the lock, which other threads need meanwhile.
  Error synchronize() noexcept {
    if (!has_scopes()) return wait(own_);
    TENON_TRY(lock_and_gather());
    return wait(release_);
  }
  /// Waits for the frees that free() enqueued in scopes.
  Error wait_for_frees() noexcept {
    bool has_freed = false;
    {
      const Lock lock(mutex_);
      has_freed = release_ != nullptr;
    }
    return has_freed ? wait(release_) : Error::Ok;
  }
  /// Makes every stream wait for all others. InvalidState, without a text, while a stream is
  /// captured: no stream can wait for the work that it got before the capture.
  Error join() noexcept {
    if (!has_scopes()) return Error::Ok;
    if (is_any_captured()) return Error::InvalidState;
    const Lock lock(mutex_);
    TENON_TRY(gather());
    return each([&](cudaStream_t s) { return order(release_, s, *this); });
  }
  /// Makes a stream of `other` wait for all these streams; in a capture only for the current
  /// stream.
  Error order_before(cudaStream_t to, const CudaStreams& other) noexcept {
    const Lock lock(mutex_);
    if (is_alone()) return order(current(), to, other);
    return each([&](cudaStream_t s) { return order(s, to, other); });
  }
  /// Makes all these streams wait for a stream of `other`; in a capture only the current stream.
  Error order_after(cudaStream_t from, CudaStreams& other) noexcept {
    const Lock lock(mutex_);
    if (is_alone()) return other.order(from, current(), *this);
    return each([&](cudaStream_t s) { return other.order(from, s, *this); });
  }

  /// Frees a pool's memory after the work enqueued so far on all streams.
  Error free(void* p) noexcept {
    const Lock lock(mutex_);
    cudaStream_t on = own_;
    if (has_scopes()) {
      on = release_;
      TENON_TRY(gather());
    }
    return call(on, "cudaFreeAsync", [&] { return cudaFreeAsync(p, on); });
  }
  /// Whether any stream is being captured, also if a capture makes the legacy stream unusable.
  bool is_any_captured() const noexcept {
    const Lock lock(mutex_);
    bool is_any = false;
    const auto look = [&](cudaStream_t s) noexcept {
      bool is_captured = false;
      const cudaError_t code = look_for_capture(s, is_captured);
      if (code != cudaSuccess) clear_error(code);
      is_any = is_any || is_captured || code == cudaErrorStreamCaptureImplicit;
    };
    look(own_);
    for (const StreamScope* scope = scopes_.get(); scope != nullptr; scope = scope->next_) {
      look(scope->stream_);
    }
    return is_any;
  }

  Error begin(StreamScope& scope) noexcept {
    TENON_TRY(check_stream(scope.stream_));
    const Lock lock(mutex_);
    if (release_ == nullptr) {
      TENON_TRY(detail::call_on_device(device_, "cudaStreamCreateWithFlags", [&] {
        return cudaStreamCreateWithFlags(&release_, cudaStreamNonBlocking);
      }));
    }
    TENON_TRY(check_device(scope.stream_));
    const cudaStream_t before = current();
    TENON_TRY(order(own_, scope.stream_, *this));
    if (before != own_) TENON_TRY(order(before, scope.stream_, *this));
    scope.next_ = scopes_.get();
    scopes_.set(&scope);
    return Error::Ok;
  }
  /// Called after the enclosing scope has become the thread's current scope.
  void end(StreamScope& scope) noexcept {
    const LastError text = last_error();
    if (order_end(scope) != Error::Ok) static_cast<void>(wait(scope.stream_));
    last_error() = text;
    const Lock lock(mutex_);
    if (scopes_.get() == &scope) return scopes_.set(scope.next_);
    StreamScope* at = scopes_.get();
    while (at->next_ != &scope) at = at->next_;
    at->next_ = scope.next_;
  }

  /// How the backend frees CUDA's resources.
  CudaReleases releases;

 private:
  using Lock = LockGuard<std::mutex>;

  Error order_end(StreamScope& scope) noexcept {
    const Lock lock(mutex_);
    const cudaStream_t after = current();
    TENON_TRY(order(scope.stream_, own_, *this));
    return after == own_ ? Error::Ok : order(scope.stream_, after, *this);
  }
  Error lock_and_gather() noexcept {
    const Lock lock(mutex_);
    return gather();
  }

  // Called with the lock held.

  /// Skips streams that another thread captures: waiting for their events would join that graph.
  template <class F>
  Error each(const F& f) const noexcept {
    if (!has_scopes()) return f(own_);
    const auto unless_captured = [&](cudaStream_t s) noexcept -> Error {
      bool is_captured = false;
      TENON_TRY(find_capture(s, is_captured));
      return is_captured ? Error::Ok : f(s);
    };
    TENON_TRY(unless_captured(own_));
    for (const StreamScope* scope = scopes_.get(); scope != nullptr; scope = scope->next_) {
      TENON_TRY(unless_captured(scope->stream_));
    }
    return Error::Ok;
  }
  Error gather() noexcept {
    return each([&](cudaStream_t s) { return order(s, release_, *this); });
  }
  /// Whether only the current stream is ordered: it is the only stream, or it is captured and the
  /// other streams are not part of the graph.
  bool is_alone() const noexcept {
    bool is_captured = false;
    return !has_scopes() || (find_capture(current(), is_captured) == Error::Ok && is_captured);
  }

  // Called with the lock or without it.

  cudaError_t look_for_capture(cudaStream_t stream, bool& is_captured) const noexcept {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const auto look = [&] { return cudaStreamIsCapturing(stream, &status); };
    const cudaError_t code =
        is_of_current_device(stream) ? run_on_device(device_, "", look).code : look();
    is_captured = status != cudaStreamCaptureStatusNone;
    return code;
  }

  static Error check_stream(cudaStream_t stream) noexcept {
    return stream != cudaStreamPerThread
               ? Error::Ok
               : fail(Error::InvalidArgument,
                      "cudaStreamPerThread is another stream in each thread");
  }
  /// Fails for a stream of another device: events belong to one device.
  Error check_device(cudaStream_t stream) noexcept {
    const Lock lock(event_mutex_);
    return call(stream, "the stream is not one of this device: cudaEventRecord",
                [&] { return cudaEventRecord(event_, stream); });
  }
  /// Makes the stream `to`, of `other`, wait for the stream `from`, of this device.
  Error order(cudaStream_t from, cudaStream_t to, const CudaStreams& other) noexcept {
    if (from == to && device_ == other.device_) return Error::Ok;
    const Lock lock(event_mutex_);  // until the wait for the recorded event is enqueued
    TENON_TRY(call(from, "cudaEventRecord", [&] { return cudaEventRecord(event_, from); }));
    return other.call(to, "cudaStreamWaitEvent",
                      [&] { return cudaStreamWaitEvent(to, event_, 0); });
  }

  int device_;
  bool is_made_ = false;
  cudaStream_t own_ = nullptr;
  cudaStream_t release_ = nullptr;  // frees memory while there are scopes
  mutable std::mutex mutex_;
  AtomicValue<StreamScope*> scopes_;
  std::mutex event_mutex_;  // locked after mutex_, if both are
  cudaEvent_t event_ = nullptr;
};

}  // namespace detail
TENON_END_NAMESPACE
