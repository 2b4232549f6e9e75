// SPDX-License-Identifier: MIT
//
// Prints the nanoseconds an element takes from each type (rows) to each other (columns), in the
// cache: the best of some rounds.
#include <tenon/kernels/convert.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

using namespace tenon;

namespace {

constexpr ScalarType kTypes[] = {
#define TENON_BENCH_NAME(cpp_type, name) ScalarType::name,
    TENON_FORALL_SCALAR_TYPES(TENON_BENCH_NAME)
#undef TENON_BENCH_NAME
};
constexpr int64_t kCount = 4096;

double nanoseconds(ScalarType to, ScalarType from, CastMode mode) {
  std::vector<int64_t> values(kCount);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i * 7919 % 120);
  std::vector<unsigned char> in(16 * kCount);
  std::vector<unsigned char> out(16 * kCount);
  detail::convert_elements(from, in.data(), ScalarType::Long, values.data(), kCount,
                           CastMode::Truncate);
  double best = 1e9;
  for (int round = 0; round < 30; ++round) {
    const auto start = std::chrono::steady_clock::now();
    detail::convert_elements(to, out.data(), from, in.data(), kCount, mode);
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    if (time.count() < best) best = time.count();
  }
  return best / kCount;
}

}  // namespace

int main() {
  for (CastMode mode : {CastMode::Truncate, CastMode::Saturate}) {
    std::printf("%-16s", toString(mode));
    for (ScalarType to : kTypes) std::printf(" %5.5s", toString(to));
    std::puts("");
    double worst = 0;
    for (ScalarType from : kTypes) {
      std::printf("%-16s", toString(from));
      for (ScalarType to : kTypes) {
        const double time = nanoseconds(to, from, mode);
        if (time > worst) worst = time;
        std::printf(" %5.2f", time);
      }
      std::puts("");
    }
    std::printf("the slowest: %.2f ns\n", worst);
  }
}
