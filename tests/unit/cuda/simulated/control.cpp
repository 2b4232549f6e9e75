// SPDX-License-Identifier: MIT
// Counting and failing calls, the last error, violations, reset.
#include <cstdio>
#include <cstdlib>

#include "state.h"

namespace simulated_cuda {
namespace detail {

State& state() {
  // Never destroyed: calls come at the process's exit too.
  static State* const made = [] {
    auto* s = new State;
    start(*s, Options{});
    return s;
  }();
  return *made;
}

void start(State& s, const Options& options) {
  s.options = options;
  s.random.seed(options.seed);
  s.devices.clear();
  for (int i = 0; i < options.devices; ++i) s.devices.push_back(make_device(s, i));
}

Thread& this_thread() {
  thread_local Thread thread;
  return thread;
}

cudaError_t begin_call(const char* function, bool failable) {
  State& s = state();
  Thread& thread = this_thread();
  if (thread.generation != s.generation) {
    thread = Thread{};
    thread.number = ++s.threads;
    thread.generation = s.generation;
  }
  ++s.calls[function];
  s.names.push_back(function);
  s.devices_in[function] = thread.device;
  if (!failable) return cudaSuccess;
  ++s.total;
  if (s.sticky != cudaSuccess) return s.sticky;
  if (s.total == s.fail_at) {
    s.fail_at = 0;
    return s.fail_with;
  }
  const std::string name = function;
  if (s.devices.empty() && name != "cudaGetDeviceCount" && name.find("GetVersion") == name.npos) {
    return cudaErrorNoDevice;
  }
  const auto next = s.fail_next.find(name);
  if (next == s.fail_next.end()) return check_capture(name);
  const cudaError_t error = next->second;
  s.fail_next.erase(next);
  return error;
}

void look(const char* function) {
  std::function<void()> found;
  {
    const std::lock_guard<std::mutex> lock(state().mutex);
    const auto at = state().looks.find(function);
    if (at == state().looks.end()) return;
    found = std::move(at->second);
    state().looks.erase(at);
  }
  found();
}

cudaError_t end_call(cudaError_t error) {
  if (error != cudaSuccess) this_thread().last = error;
  return error;
}

void violation(const std::string& text) {
  State& s = state();
  s.violations.push_back(text);
  if (!s.options.abort_on_violation) return;
  std::fprintf(stderr, "simulated CUDA: %s\n", text.c_str());
  std::abort();
}

std::string hex(uintptr_t address) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return text;
}

}  // namespace detail

using detail::state;
using Lock = std::lock_guard<std::mutex>;

void reset(const Options& options) {
  detail::State& s = state();
  const Lock lock(s.mutex);
  detail::release_memory(s);
  s.streams.clear();
  s.events.clear();
  s.pools.clear();
  s.graphs.clear();
  s.captures.clear();
  s.host.clear();
  ++s.generation;
  s.calls.clear();
  s.names.clear();
  s.total = 0;
  s.fail_at = 0;
  s.fail_next.clear();
  s.looks.clear();
  s.devices_in.clear();
  s.sticky = cudaSuccess;
  s.violations.clear();
  detail::start(s, options);
}

int64_t calls(const char* function) {
  const Lock lock(state().mutex);
  const auto found = state().calls.find(function);
  return found == state().calls.end() ? 0 : found->second;
}

int64_t calls() {
  const Lock lock(state().mutex);
  return state().total;
}

std::vector<std::string> call_names() {
  const Lock lock(state().mutex);
  return state().names;
}

void reset_calls() {
  const Lock lock(state().mutex);
  state().calls.clear();
  state().names.clear();
  if (state().fail_at != 0) state().fail_at -= state().total;
  state().total = 0;
}

void fail_at(int64_t n, cudaError_t error) {
  const Lock lock(state().mutex);
  state().fail_at = state().total + n;
  state().fail_with = error;
}

void fail_next(const char* function, cudaError_t error) {
  const Lock lock(state().mutex);
  state().fail_next[function] = error;
}

bool failed() {
  const Lock lock(state().mutex);
  return state().fail_at == 0 && state().fail_next.empty();
}

void make_sticky(cudaError_t error) {
  const Lock lock(state().mutex);
  state().sticky = error;
}

void at_next(const char* function, std::function<void()> look) {
  const Lock lock(state().mutex);
  state().looks[function] = std::move(look);
}

int device_in(const char* function) {
  const Lock lock(state().mutex);
  const auto found = state().devices_in.find(function);
  return found == state().devices_in.end() ? -1 : found->second;
}

std::vector<std::string> violations() {
  const Lock lock(state().mutex);
  return state().violations;
}

}  // namespace simulated_cuda

using simulated_cuda::detail::begin_call;
using simulated_cuda::detail::state;
using simulated_cuda::detail::this_thread;

cudaError_t cudaGetLastError() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  begin_call("cudaGetLastError", false);
  if (state().sticky != cudaSuccess) return state().sticky;  // cannot be cleared
  return std::exchange(this_thread().last, cudaSuccess);
}

cudaError_t cudaPeekAtLastError() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  begin_call("cudaPeekAtLastError", false);
  return state().sticky != cudaSuccess ? state().sticky : this_thread().last;
}
