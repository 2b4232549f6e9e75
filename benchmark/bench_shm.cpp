// SPDX-License-Identifier: MIT
//
// Prints how long it takes to make, open and drop a tensor in shared memory, and how fast another
// process reads its elements, beside those of a tensor on the heap: medians of several rounds.
#include <tenon/interop/shm.h>
#include <tenon/tenon.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

using namespace tenon;

namespace {

constexpr int kRounds = 21;
constexpr int64_t kCount = int64_t{16} << 20;  // Ints: 64 MiB, more than the caches hold

/// CPU time of one call of f, in microseconds.
template <class F>
double microseconds(const F& f) {
  const auto now = [] {
    timespec time = {};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return 1e6 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_nsec);
  };
  const double start = now();
  f();
  return now() - start;
}
double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void print_opening(const char* what, const char* name, int64_t count) {
  std::vector<double> times[3];
  for (int round = 0; round < 1000; ++round) {
    TensorPtr made;
    TensorPtr opened;
    times[0].push_back(microseconds([&] {
      made = name != nullptr ? shm_create(name, {count}, ScalarType::Int)
                             : shm_create({count}, ScalarType::Int);
    }));
    times[1].push_back(microseconds(
        [&] { opened = name != nullptr ? shm_attach(name) : shm_attach(shm_fd(made)); }));
    times[2].push_back(microseconds([&] { opened.reset(); }));
  }
  std::printf("%-24s create %8.1f us, attach %5.1f us, drop %5.1f us\n", what, median(times[0]),
              median(times[1]), median(times[2]));
}

int64_t sum(const Tensor& t) {
  const int32_t* const data = t.const_data_ptr<int32_t>();
  int64_t total = 0;
  for (int64_t i = 0; i < kCount; ++i) total += data[i];
  return total;
}
/// One after the other in each round, so that what else the machine does is the same for all.
void print_reading(std::initializer_list<std::pair<const char*, TensorPtr>> tensors) {
  std::vector<std::vector<double>> times(tensors.size());
  for (int round = 0; round <= kRounds; ++round) {
    size_t i = 0;
    for (const auto& [name, t] : tensors) {
      const double time = microseconds([&, &read = *t] {
        if (sum(read) != kCount) std::abort();
      });
      const double speed = 4.0 * kCount / time / 1000;
      if (round == 0) std::printf("64 MiB, %-40s the first time %.1f GB/s\n", name, speed);
      if (round != 0) times[i].push_back(speed);
      ++i;
    }
  }
  size_t i = 0;
  for (const auto& [name, t] : tensors) {
    std::printf("64 MiB, %-40s read at %.1f GB/s\n", name, median(times[i++]));
  }
}

}  // namespace

int main() {
  const std::string name = "/tenon-bench-" + std::to_string(::getpid());
  print_opening("by name, 4 KiB", name.c_str(), 1024);
  print_opening("by descriptor, 4 KiB", nullptr, 1024);
  print_opening("by name, 1 MiB", name.c_str(), 1 << 18);
  print_opening("by descriptor, 1 MiB", nullptr, 1 << 18);
  std::fflush(stdout);
  const TensorPtr made = shm_create(name, {kCount}, ScalarType::Int);
  if (fill_(made, 1) != Error::Ok) return 1;
  const pid_t child = ::fork();
  if (child == 0) {
    print_reading(
        {{"a tensor on the heap, huge pages", full({kCount}, 1, ScalarType::Int)},
         {"a std::vector's memory, adopted", make_tensor_ptr(std::vector<int32_t>(kCount, 1))},
         {"shared memory, attached by name", shm_attach(name)}});
    std::fflush(stdout);
    ::_exit(0);
  }
  int status = 1;
  return ::waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}
