// SPDX-License-Identifier: MIT
//
// What the C++ benchmark programs share. A program makes a Suite, adds one lambda per case and
// runs it; compare.py has one row per case name.

#ifndef TENON_TESTS_BENCHMARK_HARNESS_H_
#define TENON_TESTS_BENCHMARK_HARNESS_H_

#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <utility>

// Loops over layouts are compiled for what tenon chooses at run time.
#if defined(__x86_64__)
#define BENCH_FOR_AVX2 __attribute__((target("avx2,f16c")))
#else
#define BENCH_FOR_AVX2
#endif

namespace bench {

using MallocCount = std::uint64_t (*)();

// The preloaded counter's function, or null in a timing run.
inline MallocCount malloc_counter() {
  return reinterpret_cast<MallocCount>(dlsym(RTLD_DEFAULT, "tenon_bench_malloc_count"));
}

// A case that silently fails would be a fast one, so a failed call ends the program.
inline void require(bool ok) {
  if (!ok) std::abort();
}

template <class Body>
void call(const Body& body) {
  if constexpr (std::is_void_v<decltype(body())>) {
    body();
  } else {
    // The result is destroyed here: a case's time and allocations are those of a whole life.
    auto result = body();
    benchmark::DoNotOptimize(result);
  }
}

class Suite {
 public:
  Suite(int argc, char** argv) : argc_(argc), argv_(argv) { benchmark::Initialize(&argc_, argv_); }

  // Objects that `body` refers to must live until run() returns.
  template <class Body>
  void add(const std::string& name, Body body) {
    benchmark::RegisterBenchmark(name.c_str(), [body = std::move(body)](benchmark::State& state) {
      // First calls fill caches and one-time tables, which are no part of the steady state.
      call(body);
      const MallocCount counter = malloc_counter();
      const std::uint64_t before = counter != nullptr ? counter() : 0;
      for (auto _ : state) call(body);
      if (counter != nullptr) {
        state.counters["allocs"] = benchmark::Counter(static_cast<double>(counter() - before),
                                                      benchmark::Counter::kAvgIterations);
      }
    });
  }

  // Returns main's exit code.
  int run() {
    if (benchmark::ReportUnrecognizedArguments(argc_, argv_)) return 1;
    wake_up();
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
  }

 private:
  // A process that has just started runs on a core that was idle: without this the first case is measured
  // at half speed, whatever it is.
  static void wake_up() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    while (std::chrono::steady_clock::now() < end) {
      void* p = std::malloc(300);
      benchmark::DoNotOptimize(p);
      std::free(p);
    }
  }

  int argc_;
  char** argv_;
};

}  // namespace bench

#endif  // TENON_TESTS_BENCHMARK_HARNESS_H_
