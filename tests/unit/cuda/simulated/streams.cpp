// SPDX-License-Identifier: MIT
// The CUDA functions of streams and events.
#include "state.h"

using namespace simulated_cuda::detail;

namespace {

Event* find_event(cudaEvent_t handle) {
  const auto found = state().events.find(number_of(handle, "event"));
  return found == state().events.end() ? nullptr : &found->second;
}

cudaError_t make_stream(State& s, cudaStream_t* stream, unsigned flags) {
  if (stream == nullptr || flags > cudaStreamNonBlocking) return cudaErrorInvalidValue;
  *stream = handle_of<cudaStream_t>(new_stream(s, this_thread().device, flags, false));
  return cudaSuccess;
}

cudaError_t record(cudaEvent_t handle, cudaStream_t stream_of) {
  Event* event = find_event(handle);
  Stream* stream = find_stream(stream_of);
  if (event == nullptr || stream == nullptr || event->device != stream->device) {
    return cudaErrorInvalidResourceHandle;
  }
  const cudaError_t error = may_submit(*stream);
  if (error != cudaSuccess) return error;
  event->capture = stream->capture;
  if (event->capture != nullptr) return cudaSuccess;
  enqueue(*stream, nullptr);
  event->clock = stream->clock;
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return call("cudaStreamCreate",
              [&](State& s) { return make_stream(s, stream, cudaStreamDefault); });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return call("cudaStreamCreateWithFlags", [&](State& s) { return make_stream(s, stream, flags); });
}

// Returns at once; queued work still runs.
cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return call("cudaStreamDestroy", [&](State&) {
    const bool built_in = handle == nullptr || handle == cudaStreamLegacy;
    Stream* stream = built_in ? nullptr : find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    stream->destroyed = true;
    forget_streams();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return call("cudaStreamSynchronize", [&](State&) {
    Stream* stream = find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    const cudaError_t error = may_wait_for(*stream);
    if (error == cudaSuccess) synchronize(*stream);
    return error;
  });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return call("cudaStreamQuery", [&](State&) {
    Stream* stream = find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    const cudaError_t error = may_wait_for(*stream);
    return error != cudaSuccess ? error : query(all_of(*stream));
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t of, unsigned flags) {
  return call("cudaStreamWaitEvent", [&](State&) {
    Stream* stream = find_stream(handle);
    Event* event = find_event(of);
    if (stream == nullptr || event == nullptr) return cudaErrorInvalidResourceHandle;
    if (flags > cudaEventWaitExternal) return cudaErrorInvalidValue;
    const cudaError_t error = may_submit(*stream);
    if (error != cudaSuccess) return error;
    if (event->capture != nullptr) {
      if (event->capture->ended) return cudaErrorCapturedEvent;
      if (stream->capture != nullptr && stream->capture != event->capture) {
        return cudaErrorStreamCaptureMerge;
      }
      stream->capture = event->capture;  // the stream joins the capture
      return cudaSuccess;
    }
    if (stream->capture != nullptr) return cudaErrorStreamCaptureIsolation;
    merge(stream->clock, event->clock);
    enqueue(*stream, nullptr);
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return call("cudaEventCreateWithFlags", [&](State& s) {
    if (event == nullptr || flags > 7) return cudaErrorInvalidValue;
    const int64_t number = s.next_number++;
    s.events[number].device = this_thread().device;
    s.events[number].flags = flags;
    *event = handle_of<cudaEvent_t>(number);
    return cudaSuccess;
  });
}

// What waits for it goes on waiting for what was recorded.
cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  return call("cudaEventDestroy", [&](State&) {
    return state().events.erase(number_of(handle, "event")) == 1 ? cudaSuccess
                                                                 : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return call("cudaEventRecord", [&](State&) { return record(event, stream); });
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  return call("cudaEventSynchronize", [&](State&) {
    Event* event = find_event(handle);
    if (event == nullptr) return cudaErrorInvalidResourceHandle;
    if (event->capture != nullptr) return cudaErrorCapturedEvent;
    wait_for(event->clock);
    return cudaSuccess;
  });
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  return call("cudaEventQuery", [&](State&) {
    Event* event = find_event(handle);
    if (event == nullptr) return cudaErrorInvalidResourceHandle;
    return event->capture != nullptr ? cudaErrorCapturedEvent : query(event->clock);
  });
}
