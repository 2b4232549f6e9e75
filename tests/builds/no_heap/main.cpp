// SPDX-License-Identifier: MIT
// no_heap PART: checks one part of tenon built with TENON_HEAP=0, TENON_HAS_THREADS=0 and
// TENON_BARE_METAL=1, while each call of malloc is counted. What works without a heap is in
// tests/platforms/embedded, whose suites are built like this too.
#include <tenon/module/function_module.h>
#include <tenon/tenon.h>

#if defined(_GLIBCXX_ATOMIC)
#error "<atomic> is included, which no program without threads needs"
#endif

#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>

#include "allocation/counting_malloc.h"
#include "support/child.h"

using namespace tenon;

/// The last message is "function: no heap: TENON_HEAP is 0; out of memory" and `rest`.
#define CHECK_NO_HEAP(error, function, rest)                                            \
  do {                                                                                  \
    CHECK((error) == Error::OutOfMemory);                                               \
    CHECK(std::strcmp(last_error_message(),                                             \
                      function ": no heap: TENON_HEAP is 0; out of memory" rest) == 0); \
  } while (false)

/// A list that is one too long to be held inline.
static Dims long_sizes() { return {1, 1, 1, 1, 1, 1, 1, 1}; }

static void check_counts() {
  static_assert(TENON_BARE_METAL == 1 && TENON_HAS_THREADS == 0 && TENON_HEAP == 0);
  // Plain integers: std::atomic cannot be copied.
  static_assert(std::is_trivially_copyable_v<detail::AtomicCount>);
  static_assert(std::is_trivially_copyable_v<detail::AtomicValue<void*>>);
  static_assert(std::is_empty_v<detail::SpinLock>);
  detail::AtomicCount count;
  count.add();
  count.add();
  CHECK(count.get() == 2 && count.remove() == 1 && count.remove() == 0 && !count.any());
  detail::AtomicValue<int> value;
  value.set(5);
  CHECK(value.get() == 5);
}

// A promise of docs/guarantees.md.
static void check_refusals() {
  CHECK_NO_HEAP(try_zeros({2, 3}).error(), "try_zeros", " for a tensor or a module");
  CHECK_NO_HEAP(try_zeros({1000}).error(), "try_zeros", " for 4000 bytes of data");
  const Result<TensorPtr> failed = try_zeros({1000});
  CHECK(std::strcmp(failed.message(), last_error_message()) == 0);
  CHECK(try_zeros({-1}).error() == Error::InvalidArgument);
  CHECK(std::strcmp(failed.message(), "OutOfMemory") == 0);  // no other error's text
  CHECK_NO_HEAP(try_zeros(long_sizes()).error(), "try_zeros", " for sizes");
  float data[6] = {};
  CHECK_NO_HEAP(try_from_blob(data, {6}).error(), "try_from_blob", " for a tensor or a module");
  alignas(64) static unsigned char room[2048];
  ArenaBackend arena(room, sizeof room);
  CHECK_NO_HEAP(try_from_blob(data, long_sizes(), arena).error(), "try_from_blob", " for sizes");
  CHECK(arena.used() == 0);
  SizesType sizes[] = {2, 3};
  TensorImpl impl(ScalarType::Float, 2, sizes, data);
  const Tensor tensor(&impl);
  CHECK_NO_HEAP(try_slice(tensor, 0, 0, 1).error(), "try_slice", " for a tensor or a module");
  CHECK_NO_HEAP(try_clone_tensor_ptr(tensor).error(), "try_clone_tensor_ptr",
                " for a tensor or a module");
  CHECK_NO_HEAP(try_to_dlpack(tensor).error(), "try_to_dlpack", " for the export");

  CHECK_NO_HEAP(try_split(tensor, 1).error(), "try_split", " for 2 views");

  CHECK(host_backend().allocate(16, 64) == nullptr);
  CHECK_NO_HEAP(try_zeros({2}, host_backend()).error(), "try_zeros", " for a tensor or a module");
  struct Mine : HostMemoryBackend {
    const char* name() const noexcept override { return "mine"; }
    void* allocate(size_t, size_t) noexcept override { return nullptr; }
    void deallocate(void*, size_t) noexcept override {}
  } mine;
  CHECK(try_zeros({2}, mine).error() == Error::OutOfMemory);

  FunctionModule nowhere;
  CHECK(nowhere.add_method("forward", [](Span<const EValue>, Span<EValue>) { return Error::Ok; }) ==
        Error::OutOfMemory);

  // A Dims refuses the value itself, and is empty then.
  Dims dims;
  for (size_t i = 0; i < Dims::kInlineSize; ++i) dims.push_back(1);
  CHECK(dims.error() == Error::Ok && dims.size() == Dims::kInlineSize);
  dims.push_back(1);
  CHECK(dims.error() == Error::OutOfMemory && dims.empty());
}

/// A callable of five pointers.
struct LargeCallable {
  int* runs;
  void* more[4];
  void operator()(void*) const noexcept { ++*runs; }
};

// A promise of docs/guarantees.md.
static void check_deleters() {
  int runs = 0;
  float data[6] = {};
  {
    const Deleter refused(data, LargeCallable{&runs, {}});
    CHECK(refused.error() == Error::OutOfMemory && !refused && runs == 1);
  }
  CHECK(runs == 1);
  {
    const Deleter held(data, [&](void*) noexcept { ++runs; });
    CHECK(held.error() == Error::Ok && runs == 1);
  }
  CHECK(runs == 2);

  // The memory is released once, whatever fails: the deleter or the tensor.
  alignas(64) static unsigned char room[2048];
  ArenaBackend arena(room, sizeof room);
  for (const bool has_arena : {false, true}) {
    const auto make = [&](auto release) {
      return has_arena ? try_from_blob(data, {6}, ScalarType::Float, release,
                                       TensorShapeDynamism::DYNAMIC_BOUND, arena)
                       : try_from_blob(data, {6}, ScalarType::Float, release);
    };
    runs = 0;
    CHECK_NO_HEAP(make(LargeCallable{&runs, {}}).error(), "try_from_blob", " for the deleter");
    CHECK(runs == 1);
    {
      auto made = make([&](void* p) noexcept { runs += p == data ? 1 : 0; });
      CHECK(made.ok() == has_arena && runs == (has_arena ? 1 : 2));
    }
    CHECK(runs == 2);
  }
  CHECK(arena.used() == 0);
}

static void check_failures() {
  const Death silent = death_of([] { static_cast<void>(zeros({-1})); });
  CHECK(silent.trapped() && silent.text.empty());
  set_failure_handler([](Error error, const char* message) noexcept {
    std::fprintf(stderr, "%s|%s", toString(error), message);
  });
  const Death told = death_of([] { static_cast<void>(zeros({2})); });
  CHECK(told.trapped());
  CHECK(told.text ==
        "OutOfMemory|zeros: no heap: TENON_HEAP is 0; out of memory for a tensor or a module");
  // The tools of this file: a child that ends well was not trapped.
  CHECK(!death_of([] {}).trapped());
}

int main(int argc, char** argv) {
  const struct {
    const char* name;
    void (*check)();
    bool counts;
  } parts[] = {
      {"counts", &check_counts, true},
      {"refusals", &check_refusals, true},
      {"deleters", &check_deleters, true},
      {"failures", &check_failures, false},
  };
  for (const auto& part : parts) {
    if (argc != 2 || std::strcmp(argv[1], part.name) != 0) continue;
    tests::start_counting();
    part.check();
    tests::stop_counting();
    CHECK(!part.counts || tests::allocations() == 0);
    return failures == 0 ? 0 : 1;
  }
  std::fprintf(stderr, "usage: no_heap PART\n");
  return 2;
}
