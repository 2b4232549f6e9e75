// SPDX-License-Identifier: MIT
// A decoder's cache: each token's key is converted to Half and written to its position. The copy is
// planned once and run for each token.
//
//     kv_cache
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <vector>

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

/// How many positions have their token's key.
int64_t count_right(const std::vector<Tensor>& positions) {
  int64_t right = 0;
  int64_t token = 0;
  for (const Tensor& position : positions) {
    right += equal(position, *tenon::full({kHeads, 1, kSize}, token++, ScalarType::Half)) ? 1 : 0;
  }
  return right;
}

/// Nanoseconds a token.
template <class Append>
double measure(const Append& append) {
  const auto start = std::chrono::steady_clock::now();
  for (size_t token = 0; token < kPositions; ++token) append(token);
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
  return time.count() / kPositions;
}

int run() {
  const Tensor cache = *tenon::zeros({kHeads, kPositions, kSize}, ScalarType::Half);
  const Tensor key = *tenon::zeros({kHeads, 1, kSize});
  // A view of each position. All have one shape, so the copy to the first is the plan for all.
  const std::vector<Tensor> positions = split(cache, 1, 1);
  const CopyPlan plan = plan_copy(positions[0], key);

  const long allocations_before = count_allocations();
  for (size_t token = 0; token < positions.size(); ++token) {
    make_key(key, static_cast<int64_t>(token));
    check(plan.run(positions[token], key));
  }
  const long allocations = count_allocations() - allocations_before;
  const int64_t right = count_right(positions);

  const double time = measure([&](size_t token) { check(plan.run(positions[token], key)); });
  const double unplanned_time = measure([&](size_t token) { check(copy_(positions[token], key)); });

  std::printf("  %s\n", to_string(plan).c_str());
  std::printf("  %d of %d tokens are where they belong\n", static_cast<int>(right),
              static_cast<int>(kPositions));
  std::printf("  %.0f ns an append, %.0f ns with copy_\n", time, unplanned_time);
  if (allocations_before < 0) {
    std::printf("  heap allocations: not counted on this platform\n");
  } else {
    std::printf("  heap allocations: %ld\n", allocations);
  }
  return right == kPositions && allocations == 0 ? 0 : 1;
}

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kv_cache: %s\n", error.what());
    return 1;
  }
}
