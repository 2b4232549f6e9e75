// SPDX-License-Identifier: MIT
// A decoder's cache: each token's key is converted to Half and written to its position. The copy is
// planned once and run for each token.
//
//     kv_cache
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>

#include "count_allocations.h"
#include "tenon/tenon.h"
#include "tenon/tensor/values.h"

using tenon::check;
using tenon::CopyPlan;
using tenon::ScalarType;
using tenon::Tensor;

constexpr int64_t kHeads = 8;
constexpr int64_t kPositions = 512;
constexpr int64_t kSize = 128;  // of a head

/// Stands for a layer: makes the key of a token.
void make_key(const Tensor& key, int64_t token) { check(fill_(key, token)); }

/// Stands for attention: whether each token of the part that is filled is at its position.
int64_t count_right(const Tensor& filled) {
  int64_t right = 0;
  for (int64_t token = 0; token < filled.size(1); ++token) {
    const Tensor expected = *tenon::full({kHeads, 1, kSize}, token, ScalarType::Half);
    right += equal(narrow(filled, 1, token, 1), expected) ? 1 : 0;
  }
  return right;
}

/// Nanoseconds a token.
template <class Append>
double measure(const Append& append) {
  const auto start = std::chrono::steady_clock::now();
  for (int64_t token = 0; token < kPositions; ++token) append(token);
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
  return time.count() / kPositions;
}

int run() {
  const Tensor cache = *tenon::zeros({kHeads, kPositions, kSize}, ScalarType::Half);
  const Tensor key = *tenon::zeros({kHeads, 1, kSize});
  // All positions have one shape, so the copy to the first of them is the plan for all.
  const CopyPlan plan = plan_copy(narrow(cache, 1, 0, 1), key);

  // Room for the metadata of a view.
  alignas(64) static unsigned char memory[4096];
  tenon::ArenaBackend arena(memory, sizeof memory);
  const long allocations_before = count_allocations();
  {
    const tenon::BackendScope scope(arena);
    for (int64_t token = 0; token < kPositions; ++token) {
      make_key(key, token);
      check(plan.run(narrow(cache, 1, token, 1), key));
    }
  }
  const long allocations = count_allocations() - allocations_before;
  const int64_t right = count_right(narrow(cache, 1, 0, kPositions));

  const double time = measure([&](int64_t token) {
    const tenon::BackendScope scope(arena);
    check(plan.run(narrow(cache, 1, token, 1), key));
  });
  const double unplanned_time = measure([&](int64_t token) {
    const tenon::BackendScope scope(arena);
    check(copy_(narrow(cache, 1, token, 1), key));
  });

  std::printf("  %s\n", to_string(plan).c_str());
  std::printf("  %d tokens in the cache, %s\n", static_cast<int>(kPositions),
              right == kPositions ? "all where they belong" : "some where they do not belong");
  std::printf("  %.0f ns an append, the view included; %.0f ns with copy_\n", time, unplanned_time);
  if (allocations_before < 0) {
    std::printf("  heap allocations: not counted on this platform\n");
  } else {
    std::printf("  heap allocations: %ld\n", allocations);
  }
  return right == kPositions && allocations == 0 && arena.used() == 0 ? 0 : 1;
}

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kv_cache: %s\n", error.what());
    return 1;
  }
}
