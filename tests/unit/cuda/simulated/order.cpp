// SPDX-License-Identifier: MIT
// Streams and events: who is ordered before whom, and what runs when something waits.
#include <algorithm>
#include <iterator>

#include "state.h"

namespace simulated_cuda {
namespace detail {

void merge(Clock& into, const Clock& from) {
  for (const auto& [stream, position] : from) {
    int64_t& known = into[stream];
    known = std::max(known, position);
  }
}

int64_t number_of(const void* handle, const char* what) {
  const auto value = reinterpret_cast<uintptr_t>(handle);
  const auto number = static_cast<int64_t>(value / 64);
  if (value % 64 != 0 || number <= 0 || number >= state().next_number) return 0;
  const bool exists = state().streams.count(number) + state().events.count(number) +
                          state().pools.count(number) + state().graphs.count(number) >
                      0;
  if (!exists) violation(std::string("a destroyed ") + what + " is used");
  return number;
}

int64_t new_stream(State& s, int device, unsigned flags, bool legacy) {
  const int64_t number = s.next_number++;
  Stream& stream = s.streams[number];
  stream.number = number;
  stream.device = device;
  stream.flags = flags;
  stream.legacy = legacy;
  return number;
}

Stream* find_stream(cudaStream_t handle) {
  State& s = state();
  const int device = this_thread().device;
  if (handle == nullptr || handle == cudaStreamLegacy) {
    return &s.streams.at(s.devices[static_cast<size_t>(device)].legacy);
  }
  const auto found = s.streams.find(number_of(handle, "stream"));
  if (found == s.streams.end()) return nullptr;
  if (found->second.destroyed) {
    violation("a destroyed stream is used");
    return nullptr;
  }
  return &found->second;
}

bool done(const Point& point) {
  const auto found = state().streams.find(point.stream);
  if (found == state().streams.end() || found->second.queue.empty()) return true;
  return point.position < found->second.queue.front().position;
}

bool before(const Point& earlier, const Clock& later) {
  if (earlier.stream == 0) return true;
  for (const Clock* clock : {&later, static_cast<const Clock*>(&state().host)}) {
    const auto found = clock->find(earlier.stream);
    if (found != clock->end() && earlier.position <= found->second) return true;
  }
  return false;
}

// "Stream synchronization behavior" of the CUDA Runtime API: the legacy default stream waits for
// all blocking streams of its device, and they for it.
Clock next_clock(const Stream& stream) {
  Clock clock = stream.clock;
  for (const auto& [number, other] : state().streams) {
    static_cast<void>(number);
    if (other.device != stream.device || other.legacy == stream.legacy) continue;
    const Stream& blocking = stream.legacy ? other : stream;
    if ((blocking.flags & cudaStreamNonBlocking) == 0) merge(clock, other.clock);
  }
  for (auto it = clock.begin(); it != clock.end();) {  // what is known anyway is left out
    it = before({it->first, it->second}, {}) ? clock.erase(it) : std::next(it);
  }
  return clock;
}

Point enqueue(Stream& stream, std::function<void()> run) {
  stream.clock = next_clock(stream);
  stream.clock[stream.number] = ++stream.last;
  stream.queue.push_back({stream.last, stream.clock, std::move(run)});
  return {stream.number, stream.last};
}

cudaError_t submit(Stream& stream, Work work) {
  const cudaError_t error = may_submit(stream);
  if (error != cudaSuccess) return error;
  if (stream.capture != nullptr) {
    stream.capture->work.push_back(std::move(work));
    return cudaSuccess;
  }
  bool valid = true;
  for (const auto& read : work.reads) valid = touch(stream, work.function, read, false) && valid;
  for (const auto& written : work.writes) {
    valid = touch(stream, work.function, written, true) && valid;
  }
  if (!valid) return cudaErrorIllegalAddress;
  enqueue(stream, std::move(work.run));
  return cudaSuccess;
}

void run_until(int64_t number, int64_t position) {
  const auto found = state().streams.find(number);
  if (found == state().streams.end()) return;
  Stream& stream = found->second;
  while (!stream.queue.empty() && stream.queue.front().position <= position) {
    const Operation operation = std::move(stream.queue.front());
    stream.queue.pop_front();
    for (const auto& [other, until] : operation.clock) {
      if (other != number) run_until(other, until);
    }
    if (!operation.run) continue;
    this_thread().in_work = true;
    operation.run();
    this_thread().in_work = false;
  }
}

namespace {

void run_others(const Clock& target) {
  State& s = state();
  if (s.options.order == Order::Late) return;
  std::vector<std::pair<int64_t, int64_t>> others;
  for (const auto& [number, stream] : s.streams) {
    if (target.count(number) == 0) others.emplace_back(number, stream.last);
  }
  std::reverse(others.begin(), others.end());
  if (s.options.order == Order::Random) {
    std::shuffle(others.begin(), others.end(), s.random);
    for (auto& other : others) {
      const auto queued = static_cast<int64_t>(s.streams.at(other.first).queue.size());
      other.second -= static_cast<int64_t>(s.random() % static_cast<uint64_t>(queued + 1));
    }
  }
  for (const auto& [number, position] : others) run_until(number, position);
}

}  // namespace

void forget_streams() {
  for (auto it = state().streams.begin(); it != state().streams.end();) {
    const Stream& stream = it->second;
    const bool over = stream.destroyed && before({stream.number, stream.last}, {});
    it = over ? state().streams.erase(it) : std::next(it);
  }
}

cudaError_t query(const Clock& target) {
  for (const auto& [number, position] : target) {
    const auto found = state().streams.find(number);
    if (found == state().streams.end() || found->second.queue.empty()) continue;
    const int64_t front = found->second.queue.front().position;
    if (front > position) continue;
    run_until(number, front);  // so that a loop that asks comes to its end
    return cudaErrorNotReady;
  }
  merge(state().host, target);
  return cudaSuccess;
}

Clock all_of(const Stream& stream) { return stream.legacy ? next_clock(stream) : stream.clock; }

void wait_for(const Clock& target) {
  run_others(target);
  for (const auto& [number, position] : target) run_until(number, position);
  merge(state().host, target);
  trim_to_thresholds();
  forget_streams();
}

void synchronize(const Stream& stream) { wait_for(all_of(stream)); }

void synchronize_device(int device) {
  Clock target;
  for (const auto& [number, stream] : state().streams) {
    static_cast<void>(number);
    if (stream.device == device) merge(target, stream.clock);
  }
  wait_for(target);
}

}  // namespace detail

using detail::state;

void run_all() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  for (auto it = state().streams.rbegin(); it != state().streams.rend(); ++it) {
    detail::run_until(it->first, it->second.last);
  }
}

int64_t pending() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  size_t count = 0;
  for (const auto& [number, stream] : state().streams) {
    static_cast<void>(number);
    count += stream.queue.size();
  }
  return static_cast<int64_t>(count);
}

std::vector<std::string> live_objects() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  std::vector<std::string> texts;
  for (const auto& [number, stream] : state().streams) {
    static_cast<void>(number);
    if (stream.legacy || stream.destroyed) continue;
    texts.push_back("a stream of device " + std::to_string(stream.device));
  }
  for (const auto& [number, event] : state().events) {
    static_cast<void>(number);
    texts.push_back("an event of device " + std::to_string(event.device));
  }
  for (size_t i = 0; i < state().graphs.size(); ++i) texts.push_back("a graph");
  for (const auto& [number, pool] : state().pools) {
    static_cast<void>(number);
    if (!pool.is_default) texts.push_back("a pool of device " + std::to_string(pool.device));
  }
  return texts;
}

}  // namespace simulated_cuda
