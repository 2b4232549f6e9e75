// SPDX-License-Identifier: MIT
// tenon_soak mixed SECONDS [CSV] [--leak | --forget]: eight threads do all kinds of things to
// tensors for that long. Then nothing is left and memory has stayed flat, or it exits with 1. CSV
// gets a line for each sample. --leak loses a handle in each 1000 operations of a thread, --forget
// one in 1000 releases: each must make it fail.
// tenon_soak million [COUNT]: COUNT resizes, exports and runs of a module, each kind alone.
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "soak/memory.h"
#include "soak/work.h"

using namespace soak;

namespace {

constexpr size_t kThreads = 8;

// Limits of a run. Measured over ten minutes: docs/guarantees.md.
constexpr int64_t kHeapLeft = 16 << 10;  // the C library's own, such as a thread's state
constexpr int64_t kMostAtOnce = 128 << 20;
constexpr double kRise = 4 << 20;  // of a straight line through the second half

/// Runs the threads until the time is over, and takes samples meanwhile. Then drops all.
void run_threads(Lending& lending, double seconds, bool leaks, std::vector<Sample>& samples,
                 std::FILE* csv) {
  using Clock = std::chrono::steady_clock;
  Shared shared(lending);
  std::atomic<bool> stop{false};
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) {
    workers.push_back(std::make_unique<Worker>(shared, static_cast<uint32_t>(i + 1), leaks));
    threads.emplace_back([&stop, worker = workers.back().get()] { worker->work(stop); });
  }
  const Clock::time_point start = Clock::now();
  const std::chrono::duration<double> interval(std::min(1.0, seconds / 50));
  for (int i = 1; i * interval.count() <= seconds; ++i) {
    std::this_thread::sleep_until(start +
                                  std::chrono::duration_cast<Clock::duration>(i * interval));
    Sample sample{};
    sample.second = std::chrono::duration<double>(Clock::now() - start).count();
    for (const auto& worker : workers) sample.operations += worker->operations;
    sample.resident = resident();
    sample.heap = heap_in_use();
    sample.blocks = shared.live_blocks();
    sample.lent = lending.lent;
    sample.released = lending.released;
    samples.push_back(sample);
    if (csv != nullptr) {
      std::fprintf(csv, "%.2f,%lld,%lld,%lld,%lld,%lld,%lld\n", sample.second,
                   static_cast<long long>(sample.operations),
                   static_cast<long long>(sample.resident), static_cast<long long>(sample.heap),
                   static_cast<long long>(sample.blocks), static_cast<long long>(sample.lent),
                   static_cast<long long>(sample.released));
      std::fflush(csv);
    }
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  workers.clear();
  shared.queue.clear();
  shared.pool.trim();
  EXPECT(shared.live_blocks() == 0);
  EXPECT(shared.tracking.live_count() == 0 && shared.tracking.live_bytes() == 0);
  EXPECT(shared.pool.cached_bytes() == 0);
}

/// The same on a thread of its own: small blocks that it frees would else be kept for it by malloc,
/// as if they were in use.
void run_mixed(Lending& lending, double seconds, bool leaks, std::vector<Sample>& samples,
               std::FILE* csv) {
  std::thread([&] { run_threads(lending, seconds, leaks, samples, csv); }).join();
}

double mib(double bytes) { return bytes / (1 << 20); }
double mib(int64_t bytes) { return mib(static_cast<double>(bytes)); }

void mixed(double seconds, const char* path, bool leaks, bool forgets) {
  Lending lending;
  lending.forgets = forgets;
  std::FILE* const csv = path == nullptr ? nullptr : std::fopen(path, "w");
  EXPECT(path == nullptr || csv != nullptr);
  std::vector<Sample> samples;
  samples.reserve(static_cast<size_t>(seconds) + 64);
  std::printf("%zu threads for %g s\n", kThreads, seconds);  // and takes its buffer now
  // What the C library keeps once a thread or a stream was there is no leak.
  run_mixed(lending, 0.2, false, samples, nullptr);
  samples.clear();
  const int64_t heap_before = heap_in_use(), resident_before = resident();
  if (csv != nullptr) std::fputs("second,operations,resident,heap,blocks,lent,released\n", csv);
  run_mixed(lending, seconds, leaks, samples, csv);
  const int64_t heap_left = heap_in_use() - heap_before;
  if (csv != nullptr) std::fclose(csv);

  int64_t most = 0;
  for (const Sample& sample : samples) most = std::max(most, sample.resident);
  const double heap_rise = rise(samples, &Sample::heap);
  const double resident_rise = rise(samples, &Sample::resident);
  std::printf("%lld operations\n", static_cast<long long>(samples.back().operations));
  std::printf("resident: %.1f MiB before, %.1f at most, %.1f after\n", mib(resident_before),
              mib(most), mib(resident()));
  std::printf("second half, straight line: resident %+.2f MiB, heap %+.2f MiB\n",
              mib(resident_rise), mib(heap_rise));
  std::printf("heap in use after: %+lld bytes\n", static_cast<long long>(heap_left));
  std::printf("lent with a deleter: %lld, released: %lld\n", static_cast<long long>(lending.lent),
              static_cast<long long>(lending.released));
  EXPECT(samples.back().operations > 0 && lending.lent > 0);
  EXPECT(lending.lent == lending.released);
  EXPECT(heap_left <= kHeapLeft);
  if (SOAK_SANITIZED) return;  // a sanitizer keeps what was freed for a while
  EXPECT(most - resident_before <= kMostAtOnce);
  if (seconds < 60) return;  // caches are still being filled
  EXPECT(heap_rise <= kRise);
  EXPECT(resident_rise <= kRise);
}

/// Does something `count` times, after a warm-up. Afterwards memory use must be as before.
template <class Work>
void repeat(const char* name, int64_t count, const Work& work) {
  using Clock = std::chrono::steady_clock;
  for (int64_t i = 0; i < 1000; ++i) work(i);
  const int64_t resident_before = resident(), heap_before = heap_in_use();
  const Clock::time_point start = Clock::now();
  for (int64_t i = 0; i < count; ++i) work(i);
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const int64_t heap_more = heap_in_use() - heap_before;
  const int64_t resident_more = resident() - resident_before;
  std::printf("%-28s %6.0f ns: heap %+lld bytes, resident %+lld KiB\n", name,
              seconds / static_cast<double>(count) * 1e9, static_cast<long long>(heap_more),
              static_cast<long long>(resident_more / 1024));
  EXPECT(heap_more == 0);
  if (!SOAK_SANITIZED) EXPECT(resident_more <= 1 << 20);
}

void million(int64_t count) {
  std::printf("each %lld times\n", static_cast<long long>(count));  // and takes its buffer now
  TensorPtr t = full({4, 4}, 7, ScalarType::Int, kDynamic);
  repeat("resizes", count, [&](int64_t i) {
    EXPECT(resize_tensor_ptr(t, {i % 4 + 1, 4}) == Error::Ok);
  });
  repeat("resizes that grow", count, [&](int64_t i) {
    TensorPtr grown = empty({2}, ScalarType::Int, kDynamic);
    EXPECT(resize_tensor_ptr(grown, {500 + i % 100}) == Error::Ok);
  });
  repeat("resizes that are refused", count, [&](int64_t) {
    const Tensor seen = tenon::select(t, 0, 0);
    EXPECT(resize_tensor_ptr(t, {1000, 4}) == Error::InUse);
  });
  repeat("Blobs, there and back", count, [&](int64_t) {
    const Blob blob = to_blob(t);
    EXPECT(from_blob(blob)->const_data_ptr() == t->const_data_ptr());
  });
  repeat("DLPack, there and back", count, [&](int64_t) {
    EXPECT(from_dlpack(to_dlpack(t))->const_data_ptr() == t->const_data_ptr());
  });
  repeat("DLPack before 1.0", count, [&](int64_t) {
    EXPECT(from_dlpack(to_dlpack_legacy(t))->const_data_ptr() == t->const_data_ptr());
  });
  repeat("DLPack, dropped", count, [&](int64_t) { DLPackPtr(to_dlpack(t)).reset(); });

  const auto sum = [](Span<const EValue> in, Span<EValue> out) {
    out[0].toTensor().mutable_data_ptr<int32_t>()[0] =
        in[0].toTensor().const_data_ptr<int32_t>()[0] + 1;
  };
  const TensorSpec one{{1}, ScalarType::Int};
  const TensorPtr input = full({1}, 7, ScalarType::Int);
  FunctionModule on_heap(sum, one, one);
  repeat("module runs", count,
         [&](int64_t) { EXPECT(on_heap.run("forward", input) == Error::Ok); });
  std::vector<unsigned char> room(16 << 10);
  ArenaBackend arena(room.data(), room.size());
  FunctionModule in_arena(sum, one, one, arena);
  repeat("module runs in an arena", count,
         [&](int64_t) { EXPECT(in_arena.run("forward", input) == Error::Ok); });
  FunctionModule returns([](Span<const EValue> in) {
    return std::vector<EValue>{EValue(clone_tensor_ptr(in[0].toTensor()))};
  });
  repeat("module runs with new outputs", count, [&](int64_t) {
    const Result<std::vector<EValue>> made = returns.forward(input);
    EXPECT(made.ok() && made->at(0).toTensor().numel() == 1);
  });
  repeat("module runs that fail", count,
         [&](int64_t) { EXPECT(on_heap.run("forward", EValue(5)) == Error::InvalidType); });
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "mixed" && argc > 2) {
    const char* path = nullptr;
    bool leaks = false, forgets = false;
    for (int i = 3; i < argc; ++i) {
      const std::string argument = argv[i];
      if (argument == "--leak") {
        leaks = true;
      } else if (argument == "--forget") {
        forgets = true;
      } else {
        path = argv[i];
      }
    }
    mixed(std::atof(argv[2]), path, leaks, forgets);
  } else if (mode == "million") {
    million(argc > 2 ? std::atoll(argv[2]) : 1000000);
  } else {
    std::fputs(
        "usage: tenon_soak mixed SECONDS [CSV] [--leak | --forget]\n"
        "       tenon_soak million [COUNT]\n",
        stderr);
    return 2;
  }
  if (failures != 0) std::printf("%d expectations were false\n", failures.load());
  return failures == 0 ? 0 : 1;
}
