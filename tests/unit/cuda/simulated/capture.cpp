// SPDX-License-Identifier: MIT
// Stream capture, and graphs that are launched again and again.
#include <algorithm>

#include "state.h"

namespace simulated_cuda {
namespace detail {
namespace {

// "Potentially unsafe" calls: those that wait for the device or are not seen by a capture.
constexpr const char* unsafe[] = {"cudaMalloc",     "cudaFree",          "cudaHostAlloc",
                                  "cudaFreeHost",   "cudaMallocManaged", "cudaMemcpy",
                                  "cudaMemcpy2D",   "cudaMemcpy3D",      "cudaMemset",
                                  "cudaEventQuery", "cudaMemPoolTrimTo"};

bool blocking_capture(int device) {
  return std::any_of(state().streams.begin(), state().streams.end(), [&](const auto& entry) {
    const Stream& stream = entry.second;
    return stream.device == device && (stream.flags & cudaStreamNonBlocking) == 0 &&
           stream.capture != nullptr;
  });
}

/// "Attempted use would have an implicit dependency on the capturing stream(s)."
void end_blocking_captures(int device) {
  for (auto& entry : state().streams) {
    const Stream& stream = entry.second;
    if (stream.device != device || (stream.flags & cudaStreamNonBlocking) != 0) continue;
    if (stream.capture != nullptr) stream.capture->invalid = true;
  }
}

std::shared_ptr<Graph>* find_graph(const void* handle) {
  const auto found = state().graphs.find(number_of(handle, "graph"));
  return found == state().graphs.end() ? nullptr : &found->second;
}

template <class Handle>
Handle new_graph(State& s, std::shared_ptr<Graph> graph) {
  const int64_t number = s.next_number++;
  s.graphs[number] = std::move(graph);
  return handle_of<Handle>(number);
}

cudaError_t destroy_graph(const void* handle) {
  return state().graphs.erase(number_of(handle, "graph")) == 1 ? cudaSuccess
                                                               : cudaErrorInvalidValue;
}

}  // namespace

// As cudaThreadExchangeStreamCaptureMode's documentation says.
cudaError_t check_capture(const std::string& function) {
  if (std::find(std::begin(unsafe), std::end(unsafe), function) == std::end(unsafe)) {
    return cudaSuccess;
  }
  cudaError_t error = cudaSuccess;
  for (const auto& graph : state().captures) {
    const bool is_own = graph->thread == this_thread().number;
    const bool forbids = this_thread().mode == cudaStreamCaptureModeRelaxed ? false
                         : is_own ? graph->mode != cudaStreamCaptureModeRelaxed
                                  : graph->mode == cudaStreamCaptureModeGlobal &&
                                        this_thread().mode == cudaStreamCaptureModeGlobal;
    if (!forbids) continue;
    graph->invalid = true;
    error = cudaErrorStreamCaptureUnsupported;
  }
  return error;
}

cudaError_t may_submit(const Stream& stream) {
  if (stream.capture != nullptr && stream.capture->invalid) {
    return cudaErrorStreamCaptureInvalidated;
  }
  if (!stream.legacy || !blocking_capture(stream.device)) return cudaSuccess;
  end_blocking_captures(stream.device);
  return cudaErrorStreamCaptureImplicit;
}

cudaError_t may_wait_for(const Stream& stream) {
  const cudaError_t error = may_submit(stream);
  if (error != cudaSuccess || stream.capture == nullptr) return error;
  stream.capture->invalid = true;
  return cudaErrorStreamCaptureUnsupported;
}

}  // namespace detail
}  // namespace simulated_cuda

using namespace simulated_cuda::detail;

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return call("cudaStreamBeginCapture", [&](State& s) {
    Stream* stream = find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (stream->legacy) return cudaErrorStreamCaptureUnsupported;
    if (stream->capture != nullptr) return cudaErrorIllegalState;
    stream->capture = std::make_shared<Graph>();
    stream->capture->mode = mode;
    stream->capture->thread = this_thread().number;
    stream->capture->origin = stream->number;
    s.captures.push_back(stream->capture);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* out) {
  return call("cudaStreamEndCapture", [&](State& s) {
    Stream* stream = find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (out == nullptr) return cudaErrorInvalidValue;
    *out = nullptr;
    const std::shared_ptr<Graph> graph = stream->capture;
    if (graph == nullptr) return cudaErrorIllegalState;
    if (graph->origin != stream->number) return cudaErrorStreamCaptureUnmatched;
    if (graph->mode != cudaStreamCaptureModeRelaxed && graph->thread != this_thread().number) {
      return cudaErrorStreamCaptureWrongThread;
    }
    for (auto& entry : s.streams) {
      if (entry.second.capture == graph) entry.second.capture = nullptr;
    }
    graph->ended = true;
    s.captures.erase(std::find(s.captures.begin(), s.captures.end(), graph));
    if (graph->invalid) return cudaErrorStreamCaptureInvalidated;
    *out = new_graph<cudaGraph_t>(s, graph);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return call("cudaStreamIsCapturing", [&](State&) {
    const Stream* stream = find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (status == nullptr) return cudaErrorInvalidValue;
    if (stream->legacy && blocking_capture(stream->device)) return cudaErrorStreamCaptureImplicit;
    *status = stream->capture == nullptr ? cudaStreamCaptureStatusNone
              : stream->capture->invalid ? cudaStreamCaptureStatusInvalidated
                                         : cudaStreamCaptureStatusActive;
    return cudaSuccess;
  });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return call("cudaThreadExchangeStreamCaptureMode", [&](State&) {
    if (mode == nullptr || *mode > cudaStreamCaptureModeRelaxed) return cudaErrorInvalidValue;
    std::swap(*mode, this_thread().mode);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* out, cudaGraph_t handle, unsigned long long) {
  return call("cudaGraphInstantiate", [&](State& s) {
    const std::shared_ptr<Graph>* graph = find_graph(handle);
    if (out == nullptr || graph == nullptr) return cudaErrorInvalidValue;
    *out = new_graph<cudaGraphExec_t>(s, *graph);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream_of) {
  return call("cudaGraphLaunch", [&](State&) {
    const std::shared_ptr<Graph>* graph = find_graph(handle);
    Stream* stream = find_stream(stream_of);
    if (graph == nullptr || stream == nullptr) return cudaErrorInvalidValue;
    for (const Work& work : (*graph)->work) {
      const cudaError_t error = submit(*stream, work);
      if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return call("cudaGraphDestroy", [&](State&) { return destroy_graph(graph); });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  return call("cudaGraphExecDestroy", [&](State&) { return destroy_graph(graph); });
}
