// SPDX-License-Identifier: MIT
// What the simulated runtime's files share. Not for tests.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "simulated_cuda.h"

namespace simulated_cuda {
namespace detail {

/// How far each stream (by number) is known to have come: a vector clock.
using Clock = std::map<int64_t, int64_t>;
void merge(Clock& into, const Clock& from);

/// A place in the order: the position-th operation of a stream. Stream 0 is the host, whose
/// operations are done at once.
struct Point {
  int64_t stream = 0;
  int64_t position = 0;
};

struct Range {
  uintptr_t begin;
  uintptr_t end;
};

/// What is put in a stream: the memory that it touches, and what it does.
struct Work {
  const char* function;
  std::vector<std::vector<Range>> reads;  // each in one block, ascending
  std::vector<std::vector<Range>> writes;
  std::function<void()> run;
};

/// Captured work, in the order of the calls, which is one that the capture's order allows.
struct Graph {
  std::vector<Work> work;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  int64_t origin = 0;  // the stream in which the capture began
  int64_t thread = 0;  // that began it
  bool invalid = false;
  bool ended = false;
};

struct Operation {
  int64_t position;
  Clock clock;  // all that must have run before it, and itself
  std::function<void()> run;
};

struct Stream {
  int64_t number = 0;
  int device = 0;
  unsigned flags = 0;
  bool legacy = false;
  bool destroyed = false;
  int64_t last = 0;             // position of the youngest operation
  Clock clock;                  // of the youngest operation
  std::deque<Operation> queue;  // not run yet
  std::shared_ptr<Graph> capture;
};

struct Event {
  int device = 0;
  unsigned flags = 0;
  Clock clock;  // what was in the stream at the last record
  std::shared_ptr<Graph> capture;
};

struct Access {
  Point point;
  std::vector<Range> ranges;  // ascending
  bool write;
};

struct Pool {
  int device = 0;
  bool is_default = false;
  size_t max_size = 0;  // 0: no bound
  std::map<int, uint64_t> attributes;
};

struct Block {
  uintptr_t begin = 0;
  size_t size = 0;      // as asked for
  size_t capacity = 0;  // device memory: up to the next block
  cudaMemoryType type = cudaMemoryTypeDevice;
  int device = 0;
  cudaMemPool_t pool = nullptr;
  Point allocated;
  bool freed = false;
  Point freed_at;
  std::vector<Access> accesses;  // those the host does not know to be done
};

struct Device {
  uintptr_t begin = 0;   // addresses that the host cannot read
  uintptr_t shadow = 0;  // where their bytes are
  size_t used = 0;
  cudaMemPool_t default_pool = nullptr;
  int64_t legacy = 0;  // stream's number
};

struct State {
  std::mutex mutex;
  Options options;
  std::mt19937_64 random;
  std::vector<Device> devices;
  std::map<int64_t, Stream> streams;
  std::map<int64_t, Event> events;
  std::map<int64_t, Pool> pools;
  std::map<int64_t, std::shared_ptr<Graph>> graphs;  // and those made executable
  std::vector<std::shared_ptr<Graph>> captures;      // not ended
  std::map<uintptr_t, Block> blocks;  // by first address; device memory stays when freed
  Clock host;                         // what the host knows to be done
  int64_t next_number = 1;            // of streams, events and pools: none is given twice
  int64_t generation = 0;             // of reset()
  int64_t threads = 0;

  std::map<std::string, int64_t> calls;
  std::vector<std::string> names;
  int64_t total = 0;
  int64_t fail_at = 0;  // of total
  cudaError_t fail_with = cudaSuccess;
  std::map<std::string, cudaError_t> fail_next;
  std::map<std::string, std::function<void()>> looks;  // of at_next()
  std::map<std::string, int> devices_in;               // current in the last call
  cudaError_t sticky = cudaSuccess;
  std::vector<std::string> violations;
};
State& state();

/// What belongs to the calling thread.
struct Thread {
  int64_t number = 0;  // unlike a std::thread::id, none is given twice
  int64_t generation = -1;
  int device = 0;
  cudaError_t last = cudaSuccess;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  bool in_work = false;
};
Thread& this_thread();

/// Counts the call, and says whether it fails before it has begun.
cudaError_t begin_call(const char* function, bool failable);
cudaError_t end_call(cudaError_t error);
/// What at_next() asked for, without the lock.
void look(const char* function);
template <class F>
cudaError_t call(const char* function, F&& body) {
  if (this_thread().in_work) return cudaErrorNotPermitted;  // from a kernel's host form
  look(function);
  const std::lock_guard<std::mutex> lock(state().mutex);
  const cudaError_t early = begin_call(function, true);
  return end_call(early != cudaSuccess ? early : body(state()));
}

void violation(const std::string& text);
std::string hex(uintptr_t address);

// Streams.
Stream* find_stream(cudaStream_t handle);
template <class Handle>
Handle handle_of(int64_t number) {
  return reinterpret_cast<Handle>(static_cast<uintptr_t>(number) * 64);
}
int64_t new_stream(State& s, int device, unsigned flags, bool legacy);
/// A handle's number, 0 if it is none; a violation if what it named was destroyed.
int64_t number_of(const void* handle, const char* what);
void forget_streams();
cudaError_t query(const Clock& target);
/// All that a stream's synchronisation waits for.
Clock all_of(const Stream& stream);
/// Whether that operation has run, which the host need not know.
bool done(const Point& point);
/// Whether `earlier` is done before `later`'s clock allows its operation to run.
bool before(const Point& earlier, const Clock& later);
/// The clock that the stream's next operation will have, without itself.
Clock next_clock(const Stream& stream);
Point enqueue(Stream& stream, std::function<void()> run);
/// Checks the memory that the work touches, and queues it; or captures it.
cudaError_t submit(Stream& stream, Work work);
/// Whether the host may wait for the stream, and whether work may be put in it: captures.
cudaError_t may_wait_for(const Stream& stream);
cudaError_t may_submit(const Stream& stream);
/// Whether a capture forbids the thread the call.
cudaError_t check_capture(const std::string& function);
/// Runs what must run for that; the host then knows it to be done.
void wait_for(const Clock& target);
void synchronize(const Stream& stream);
void synchronize_device(int device);
void run_until(int64_t stream, int64_t position);

// Memory.
Block* find_block(uintptr_t address);  // live or freed, null if there is none
bool is_device_address(uintptr_t address);
char* shadow(uintptr_t address);
bool overlap(const std::vector<Range>& a, const std::vector<Range>& b);
/// Notes that the stream's next operation touches that memory. False, and a violation, if there is
/// no such memory at its place in the order.
bool touch(const Stream& stream, const char* function, const std::vector<Range>& ranges,
           bool write);
std::string name(const Block& block);
constexpr size_t granularity = 512;  // as CUDA's allocations are aligned
constexpr int fresh_byte = 0xA5;
constexpr int freed_byte = 0xDD;
void fill(uintptr_t begin, size_t size, int byte);
/// Device memory for the stream's next operation, or for the host's (null); null if the device has
/// none left.
Block* take(size_t size, int device, cudaMemPool_t pool, const Stream* stream);
/// The block that begins there and lives; a violation if it was freed.
Block* to_free(const void* address, const char* function);
/// A free at that place in the order: a violation if not all that touches the block comes before.
void check_free(const Block& block, const char* function, const Clock& clock);
Pool* find_pool(cudaMemPool_t handle);
/// Gives memory that is known to be free back to the device, until the pool has no more than that.
void trim(cudaMemPool_t pool, size_t keep);
/// The same for all pools, down to their release thresholds: what each wait of the host does.
void trim_to_thresholds();
cudaMemPool_t new_pool(State& s, int device, bool is_default);
void start(State& s, const Options& options);
void release_memory(State& s);
Device make_device(State& s, int number);

}  // namespace detail
}  // namespace simulated_cuda
