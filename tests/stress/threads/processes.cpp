// SPDX-License-Identifier: MIT
// What happens at the end of a thread and of a process, in a forked child, and where a process uses
// the library for the first time: each case has a process of its own.
//
// usage: tenon_threads_processes CASE
// The case runs in a child; the program succeeds if that ends as the table at the end says, by
// itself and within 20 seconds. Tags name the rows of docs/threads.md, see check_threads.py.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "tenon/backend/pool.h"
#include "tenon/backend/tracking.h"
#include "tenon/module/function_module.h"
#include "tenon/tenon.h"
#include "tenon/tensor/expr.h"
#include "threads/threads.h"

using namespace tenon;

namespace {

constexpr int kThreads = 4;

/// Ends the process, with a status that no case expects.
#define EXPECT(condition) ((condition) ? static_cast<void>(0) : fail_at(#condition, __LINE__))
[[noreturn]] void fail_at(const char* condition, int line) {
  std::fprintf(stderr, "processes.cpp:%d: %s\n", line, condition);
  std::_Exit(99);
}

std::atomic<int> reports{0};
void count_reports() {
  set_failure_handler([](Error, const char*) noexcept { ++reports; });
}

/// Uses what the library keeps per thread and per process, and tensors of all kinds.
void use_everything() {
  TensorPtr t = full({2, 3}, 7);
  EXPECT(t->const_data_ptr<float>()[5] == 7);
  const Tensor row = tenon::select(t, 0, 1);
  const DLPackPtr lent(to_dlpack(t));
  const Blob blob = to_blob(t);
  const EValue value(*t);
  EXPECT(resize_tensor_ptr(t, {1, 3}) == Error::Ok);
  EXPECT(!try_empty({-1}).ok());
  EXPECT(std::strstr(last_error_message(), "negative") != nullptr);
  EXPECT(&default_backend() == &host_backend());
  EXPECT(&backend_for(Device()) == &host_backend());
  manual_seed(3);
  EXPECT(default_generator().seed() == 3);
  EXPECT(rand({3})->const_data_ptr<float>()[0] < 1);
}

// Destroyed in the reverse order of these definitions, with what the cases put into them.

/// Runs as the last of the static objects' destructors.
struct AtTheEnd {
  void (*check)() = nullptr;
  ~AtTheEnd() {
    if (check != nullptr) check();
  }
} at_the_end;

std::optional<PoolBackend> late_pool;  // destroyed after the tensors
TensorPtr early_tensor;
std::vector<EValue> values;
std::vector<Blob> blobs;
std::vector<DLPackPtr> structs;
std::optional<FunctionModule> module;
std::optional<TrackingBackend> early_tracker;  // destroyed before them
std::optional<PoolBackend> early_pool;

int released = 0;
float memory[3] = {1, 2, 3};
TensorPtr counted() {
  return from_blob(memory, {3}, ScalarType::Float, [](void*) noexcept { ++released; });
}

// [threads][static tensors]
// A promise of docs/guarantees.md.
void static_tensors() {
  early_tensor = counted();
  values.emplace_back(*early_tensor);
  blobs.push_back(to_blob(early_tensor));
  structs.emplace_back(to_dlpack(early_tensor));
  module.emplace([](Span<const EValue> in) { return std::vector<EValue>{in[0]}; });
  EXPECT(module->forward(counted()).ok());
  at_the_end.check = [] {
    EXPECT(released == 2);
    use_everything();
  };
}

// [threads][static backends]
void static_backend_destroyed_after_its_tensors() {
  count_reports();
  late_pool.emplace(host_backend());
  early_tensor = zeros({100}, *late_pool);
  blobs.push_back(to_blob(zeros({100}, *late_pool)));
  at_the_end.check = [] { EXPECT(reports == 0); };
}
void static_backend_destroyed_before_its_tensors() {
  count_reports();
  early_pool.emplace(host_backend());
  early_tracker.emplace(*early_pool);
  early_tensor = zeros({100}, *early_tracker);
  blobs.push_back(to_blob(early_tensor));
  structs.emplace_back(to_dlpack(tenon::select(early_tensor, 0, 1)));
  values.emplace_back(*zeros({3}, *early_pool));
  // The pool: blocks of its own, and that the tracker wraps it. The tracker: leaks, and blocks.
  at_the_end.check = [] { EXPECT(reports >= 3); };
}

// [threads][thread_local tensors]
struct Holder {
  TensorPtr tensor;
  std::atomic<int>* ended = nullptr;
  ~Holder() {
    if (ended == nullptr) return;
    use_everything();
    tensor.reset();
    ++*ended;
  }
};
// A promise of docs/guarantees.md.
void thread_local_tensors() {
  static std::atomic<int> ended{0};
  tests::on_threads(kThreads, [](int) {
    // Before any of the library's: so it is destroyed after them.
    thread_local Holder holder;
    holder.ended = &ended;
    holder.tensor = make_tensor_ptr({1, 2, 3});
    use_everything();
  });
  EXPECT(ended == kThreads);
}
/// The destructors of POSIX run after those of all thread_local objects, and once more where they
/// leave something.
void thread_specific_tensors() {
  struct Held {
    TensorPtr tensor = make_tensor_ptr({1, 2, 3});
    bool is_second = false;
  };
  static std::atomic<int> ended{0};
  static pthread_key_t key;
  static const auto end = [](void* held) {
    use_everything();
    const auto before = std::unique_ptr<Held>(static_cast<Held*>(held));
    ++ended;
    if (before->is_second) return;
    auto after = std::make_unique<Held>();
    after->is_second = true;
    EXPECT(pthread_setspecific(key, after.release()) == 0);
  };
  EXPECT(pthread_key_create(&key, [](void* held) { end(held); }) == 0);
  tests::on_threads(kThreads, [](int) {
    EXPECT(pthread_setspecific(key, std::make_unique<Held>().release()) == 0);
  });
  EXPECT(ended == 2 * kThreads);
}
void views_of_tensors_of_a_thread_that_ended() {
  Tensor view;
  DLPackPtr lent;
  std::thread([&] {
    thread_local TensorPtr own = make_tensor_ptr({5, 6, 7});
    view = tenon::select(own, 0, 2);
    lent.reset(to_dlpack(own));
  }).join();
  EXPECT(view.item<int32_t>() == 7);
  EXPECT(static_cast<const int32_t*>(lent->dl_tensor.data)[1] == 6);
}

/// Begins threads that use tensors of the heap until the process is gone.
void begin_detached_threads() {
  static std::atomic<int> begun{0};
  static const TensorPtr& shared = *new TensorPtr(make_tensor_ptr({1, 2, 3}));
  for (int i = 0; i < kThreads; ++i) {
    std::thread([] {
      thread_local TensorPtr own = make_tensor_ptr({4, 5, 6});
      for (;;) {
        use_everything();
        const Tensor copy = *shared;
        const Tensor view = slice(shared, 0, 1, 2);
        ++begun;
      }
    }).detach();
  }
  while (begun < 2 * kThreads) std::this_thread::yield();
}

// [threads][the process's end while threads run]
// A promise of docs/guarantees.md.
void exit_while_threads_run() {
  begin_detached_threads();
  early_tensor = make_tensor_ptr({1, 2, 3});
  std::exit(3);
}
void return_while_threads_run() { begin_detached_threads(); }
void quick_exit_while_threads_run() {
  begin_detached_threads();
  EXPECT(std::at_quick_exit(use_everything) == 0);
  early_tensor = counted();
  at_the_end.check = [] { std::_Exit(98); };  // is not destroyed
  std::quick_exit(4);
}
void abort_while_threads_run() {
  begin_detached_threads();
  early_tensor = counted();
  at_the_end.check = [] { std::_Exit(98); };
  std::abort();
}
void exit_on_another_thread() {
  early_tensor = counted();
  at_the_end.check = [] { EXPECT(released == 1); };
  std::thread([] {
    thread_local Holder holder;  // std::exit() destroys this thread's, and then the static ones
    static std::atomic<int> ended{0};
    holder.ended = &ended;
    holder.tensor = make_tensor_ptr({1, 2, 3});
    EXPECT(std::atexit([] {
             EXPECT(ended == 1);
             use_everything();
           }) == 0);
    std::exit(5);
  }).join();
}

// [threads][handlers of atexit()]
void handlers_of_atexit() {
  // Registered before the library is used: so it runs after all that this makes static.
  EXPECT(std::atexit([] {
           use_everything();
           CpuBackend cpu;
           PoolBackend pool(cpu);
           const TensorPtr t = ones({3}, pool);
           EXPECT(t->const_data_ptr<float>()[2] == 1);
           static TensorPtr later;  // destroyed before the handlers that were registered earlier
           later = zeros({3});
         }) == 0);
  use_everything();
  early_tensor = counted();
}

// [threads][fork()]
void in_children(const std::function<void()>& work, const std::function<void()>& after) {
  for (int i = 0; i < 10; ++i) {
    const pid_t child = ::fork();
    EXPECT(child >= 0);
    if (child == 0) {
      work();
      ::_exit(7);
    }
    int status = 0;
    EXPECT(::waitpid(child, &status, 0) == child);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    after();
  }
}
// A promise of docs/guarantees.md.
void fork_in_one_thread() {
  TensorPtr parents = counted();
  const Tensor view = slice(parents, 0, 1, 2);
  const uint64_t next = default_generator().advance(1) + 1;
  in_children(
      [&] {
        EXPECT(default_generator().offset() == next);  // the child goes on where the parent was
        use_everything();
        PoolBackend pool(host_backend());
        EXPECT(ones({3}, pool)->const_data_ptr<float>()[1] == 1);
        parents.reset();
        EXPECT(released == 0);  // for the view
      },
      [&] {
        EXPECT(released == 0);
        EXPECT(view.item<float>() == 2);
      });
  // A child may have threads of its own.
  const pid_t child = ::fork();
  if (child == 0) {
    tests::on_threads(kThreads, [](int) { use_everything(); });
    std::exit(7);
  }
  int status = 0;
  EXPECT(::waitpid(child, &status, 0) == child);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}
void fork_while_threads_run() {
  TensorPtr parents = make_tensor_ptr({1, 2, 3});
  begin_detached_threads();
  in_children(
      [&] {
        TensorPtr t = zeros({100});
        const Tensor view = slice(t, 0, 1, 2);
        EXPECT(resize_tensor_ptr(t, {3}) == Error::Ok);
        EXPECT(copy_(t, parents) == Error::Ok);
        EXPECT(t->const_data_ptr<float>()[2] == 3);
        EXPECT(!try_empty({-1}).ok());
        parents.reset();
      },
      [&] { EXPECT(parents->numel() == 3); });
}

// [threads][the first use]
void first_use() {
  static int right[2 * kThreads] = {};
  tests::on_threads(2 * kThreads, [](int i) {
    // Large: asks whether huge pages are wanted. Each also asks the processor what it has.
    const TensorPtr large = empty({3 << 20}, ScalarType::Float);
    EXPECT(fill_(slice(large, 0, 0, 1000), i) == Error::Ok);
    const TensorPtr half = clone_tensor_ptr(slice(large, 0, 0, 1000), ScalarType::Half);
    const TensorPtr back = clone_tensor_ptr(half, ScalarType::Float);
    const TensorPtr turned = empty({40, 25});
    EXPECT(copy_(turned, transpose(view(back, {25, 40}), 0, 1)) == Error::Ok);
    Generator generator(1);
    const TensorPtr normals = randn({100}, generator);
    CpuBackend cpu;
    const TensorPtr other = backend_copy(turned, cpu);
    right[i] = other->const_data_ptr<float>()[999] == static_cast<float>(i);
    right[i] += to_string(turned).size() > 100;
    use_everything();
  });
  for (const int count : right) EXPECT(count == 2);
}

struct Case {
  const char* name;
  void (*run)();
  int status;      // of the exit
  int signal = 0;  // that ends it
};
const Case kCases[] = {
    {"static_tensors", static_tensors, 0},
    {"static_backend_destroyed_after_its_tensors", static_backend_destroyed_after_its_tensors, 0},
    {"static_backend_destroyed_before_its_tensors", static_backend_destroyed_before_its_tensors, 0},
    {"thread_local_tensors", thread_local_tensors, 0},
    {"thread_specific_tensors", thread_specific_tensors, 0},
    {"views_of_tensors_of_a_thread_that_ended", views_of_tensors_of_a_thread_that_ended, 0},
    {"exit_while_threads_run", exit_while_threads_run, 3},
    {"return_while_threads_run", return_while_threads_run, 0},
    {"quick_exit_while_threads_run", quick_exit_while_threads_run, 4},
    {"abort_while_threads_run", abort_while_threads_run, 0, SIGABRT},
    {"exit_on_another_thread", exit_on_another_thread, 5},
    {"handlers_of_atexit", handlers_of_atexit, 0},
    {"fork_in_one_thread", fork_in_one_thread, 0},
    {"fork_while_threads_run", fork_while_threads_run, 0},
    {"first_use", first_use, 0},
};

}  // namespace

int main(int argc, char** argv) {
  for (const Case& each : kCases) {
    if (argc != 2 || std::strcmp(each.name, argv[1]) != 0) continue;
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);  // ends one that hangs, by a signal that no case expects
      each.run();
      return 0;
    }
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child) return 1;
    if (each.signal == 0 && WIFEXITED(status) && WEXITSTATUS(status) == each.status) return 0;
    if (each.signal != 0 && WIFSIGNALED(status) && WTERMSIG(status) == each.signal) return 0;
    std::fprintf(stderr, "%s ended with status 0x%x\n", each.name, static_cast<unsigned>(status));
    return 1;
  }
  for (const Case& each : kCases) std::puts(each.name);
  return 2;
}
