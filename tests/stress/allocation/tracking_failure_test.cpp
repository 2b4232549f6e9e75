// SPDX-License-Identifier: MIT
// TrackingBackend without memory for what it writes down: blocks are counted, and their records
// missed.
#include "allocation/counting_malloc.h"
#include "support/catch.h"
#include "tenon/backend/tracking.h"
#include "tenon/tenon.h"

namespace tracking_failure_test {

using namespace tenon;

namespace {

/// Over memory that is not the heap's.
struct Tracked {
  alignas(64) unsigned char buffer[8192];
  ArenaBackend arena{buffer, sizeof buffer};
  TrackingBackend tracking{arena};
};

/// Calls `run(n)`, whose n-th allocation fails, for n = 1, 2, ... until none does.
template <class Run>
void with_each_failure(int64_t least, const Run& run) {
  if (!tests::heap_is_counted()) {
    WARN("skipped: needs glibc without sanitizers");
    return;
  }
  for (int64_t n = 1;; ++n) {
    INFO("allocation " << n);
    if (run(n)) continue;
    CHECK(n > least);
    return;
  }
}

}  // namespace

TEST_CASE("tracking: without memory for its record a block is counted, and the timeline ends") {
  with_each_failure(1, [](int64_t n) {
    Tracked t;
    void* const known = t.tracking.allocate(12, 64);
    tests::start_counting(n);
    void* const missed = t.tracking.allocate(4, 64);
    const bool has_failed = tests::failures() != 0;
    tests::stop_counting();
    REQUIRE(missed != nullptr);
    CHECK(t.tracking.live_count() == 2);
    CHECK(t.tracking.live_bytes() == 16);
    CHECK(t.tracking.untracked_count() == (has_failed ? 1 : 0));
    CHECK(t.tracking.dropped_events() == (has_failed ? 1 : 0));
    CHECK(t.tracking.leaks().size() == (has_failed ? 1 : 2));
    // The next one is known again, but out of place on the timeline.
    void* const next = t.tracking.allocate(20, 64);
    CHECK(t.tracking.leaks().size() == (has_failed ? 2 : 3));
    CHECK(t.tracking.dropped_events() == (has_failed ? 2 : 0));
    t.tracking.deallocate(missed, 4);
    CHECK(t.tracking.live_bytes() == 32);
    CHECK(t.tracking.leak_report() == "20 bytes\n12 bytes\n");
    t.tracking.deallocate(known, 12);
    t.tracking.deallocate(next, 20);
    CHECK(t.tracking.leaks().empty());
    return has_failed;
  });
}

TEST_CASE("tracking: without memory for the end of a block, the timeline ends where it began") {
  with_each_failure(1, [](int64_t n) {
    Tracked t;
    void* blocks[8];
    for (void*& p : blocks) p = t.tracking.allocate(12, 64);
    tests::start_counting(n);
    for (void* p : blocks) t.tracking.deallocate(p, 12);
    const bool has_failed = tests::failures() != 0;
    tests::stop_counting();
    CHECK(t.tracking.live_count() == 0);
    CHECK(t.tracking.leaks().empty());
    CHECK(t.tracking.tags()[0].live_bytes == 0);
    CHECK(t.tracking.dropped_events() == (has_failed ? 2 : 0));
    CHECK(t.arena.used() == 0);
    return has_failed;
  });
}

TEST_CASE("tracking: a tag without memory is none, and is there when there is some") {
  const char* const tag = "a tag that is longer than what a string has room for";
  with_each_failure(1, [&](int64_t n) {
    Tracked t;
    bool has_failed = false;
    void* p = nullptr;
    {
      tests::start_counting(n);
      const TrackingScope scope(t.tracking, tag);
      has_failed = tests::failures() != 0;
      tests::stop_counting();
      p = t.tracking.allocate(8, 64);
      const MemoryLeak leak = t.tracking.leaks()[0];
      // Its file's name is copied too.
      const bool has_all = leak.tag == std::string(tag) && leak.file != nullptr;
      CHECK(has_all == !has_failed);
      CHECK((leak.tag == std::string(tag) || *leak.tag == '\0'));
      t.tracking.deallocate(p, 8);
    }
    const TrackingScope scope(t.tracking, tag);
    p = t.tracking.allocate(8, 64);
    CHECK(t.tracking.leaks()[0].tag == std::string(tag));
    t.tracking.deallocate(p, 8);
    return has_failed;
  });
}

TEST_CASE("tracking: destroyed with leaks and without memory for a list of them, it lists none") {
  with_each_failure(1, [](int64_t n) {
    static int reports = 0;  // a handler that uses no heap
    const FailureHandler before =
        set_failure_handler([](Error, const char*) noexcept { ++reports; });
    bool has_failed = false;
    {
      Tracked t;
      t.tracking.allocate(12, 64);
      tests::start_counting(n);
      t.tracking.~TrackingBackend();
      has_failed = tests::failures() != 0;
      tests::stop_counting();
      ::new (&t.tracking) TrackingBackend(t.arena);
    }
    set_failure_handler(before);
    CHECK(std::exchange(reports, 0) == (has_failed ? 0 : 1));
    return has_failed;
  });
}

TEST_CASE("tracking: without memory for its sizes or its stack a block has none") {
  with_each_failure(1, [](int64_t n) {
    Tracked t;
    void* const p = t.tracking.allocate(8, 64);
    const Dims sizes{1, 1, 1, 1, 1, 1, 1, 2};
    tests::start_counting(n);
    t.tracking.on_made({p, ScalarType::Float, sizes, sizes, "zeros"});
    const bool has_failed = tests::failures() != 0;
    tests::stop_counting();
    CHECK(t.tracking.leak_report() ==
          (has_failed ? "8 bytes\n" : "8 bytes, Float {1, 1, 1, 1, 1, 1, 1, 2} by zeros\n"));
    t.tracking.deallocate(p, 8);
    return has_failed;
  });
#if TENON_HAS_BACKTRACE
  with_each_failure(3, [](int64_t n) {
    Tracked t;
    REQUIRE(t.tracking.init({{"stack_depth", 3}}) == Error::Ok);
    tests::start_counting(n);
    void* const p = t.tracking.allocate(8, 64);
    const bool has_failed = tests::failures() != 0;
    tests::stop_counting();
    CHECK(t.tracking.live_count() == 1);
    for (const MemoryLeak& leak : t.tracking.leaks()) CHECK(leak.stack.size() % 3 == 0);
    t.tracking.deallocate(p, 8);
    return has_failed;
  });
#endif
}

}  // namespace tracking_failure_test
