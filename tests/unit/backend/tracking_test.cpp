// SPDX-License-Identifier: MIT
#include "tenon/backend/tracking.h"

#include <future>
#include <thread>

#include "backend/helpers.h"
#include "backend/tracking_helpers.h"
#include "support/catch.h"
#include "tenon/backend/arena.h"
#include "tenon/tenon.h"

namespace tracking_test {

using namespace tenon;
using namespace tests;

namespace {

/// What the counts are to be.
void check(const TrackingBackend& backend, uint64_t live_bytes, int64_t live_count,
           uint64_t peak_bytes, uint64_t total_bytes, int64_t total_count) {
  CHECK(backend.live_bytes() == live_bytes);
  CHECK(backend.live_count() == live_count);
  CHECK(backend.peak_bytes() == peak_bytes);
  CHECK(backend.total_bytes() == total_bytes);
  CHECK(backend.total_count() == total_count);
}

/// Where a scope on a line of this file is said to be. Before C++20, TENON_PORTABLE cannot know.
std::string place_of(int line) {
  if (TENON_CALLER_LINE == 0) return "unknown file:0";
  return "tracking_test.cpp:" + std::to_string(line);
}

}  // namespace

TEST_CASE("tracking: it is the backend that it wraps, under a name of its own; one wraps another") {
  CpuBackend cpu;
  TrackingBackend tracking(cpu);
  CHECK(std::string(tracking.name()) == "tracking");
  CHECK(&tracking.inner() == &cpu);
  CHECK(&tracking.base() == &cpu);
  CHECK(tracking.device() == Device());
  CHECK_FALSE(tracking.is_opaque());
  static_assert(!std::is_copy_constructible_v<TrackingBackend>);
  TrackingBackend outer(tracking);
  CHECK(&outer.inner() == &tracking);
  const TensorPtr t = zeros({4}, outer);
  CHECK(outer.live_bytes() == 16);
  CHECK(tracking.live_bytes() == 16);
  CHECK(tracking.leaks()[0].function == std::string("zeros"));
}

// A promise of docs/guarantees.md.
TEST_CASE("tracking: it counts what is in use, the most there was, and all there ever was") {
  TrackedBackend tracked;
  const TrackingBackend& backend = tracked.backend;
  check(backend, 0, 0, 0, 0, 0);
  void* const a = tracked.make({4});
  void* const b = tracked.make({6, 2});
  check(backend, 64, 2, 64, 64, 2);
  tracked.drop(a, 16);
  check(backend, 48, 1, 64, 64, 2);
  void* const c = tracked.make({3});
  tracked.drop(b, 48);
  tracked.drop(c, 12);
  check(backend, 0, 0, 64, 76, 3);
  CHECK(tracked.backend.allocate(SIZE_MAX - 4096, 64) == nullptr);  // the heap refuses it
  check(backend, 0, 0, 64, 76, 3);
  CHECK(backend.refused_count() == 0);
}

TEST_CASE("tracking: equal leaks are one line of the report, where the first of them is") {
  TrackedBackend tracked;
  tracked.make({2}, "rand");
  for (int i = 0; i < 3; ++i) tracked.make({4}, "zeros");
  tracked.make({4}, "ones");
  tracked.make({2}, "rand");
  CHECK(tracked.backend.leaks().size() == 6);
  const std::string report = tracked.backend.leak_report();
  CHECK(contains(report, "16 bytes, Float {4} by zeros, 3 times\n"));
  CHECK(contains(report, "16 bytes, Float {4} by ones\n"));
  CHECK(contains(report, "\n8 bytes, Float {2} by rand, 2 times\n"));
  CHECK(std::count(report.begin(), report.end(), '\n') == 3);
}

TEST_CASE("tracking: the leak report has a line for each leak, the largest first") {
  TrackedBackend tracked;
  tracked.make({2}, "rand");
  {
    const TrackingScope scope(tracked.backend, "decoder", "src/model.cpp", 57);
    tracked.make({32, 32}, "zeros");
  }
  const int line = __LINE__ + 1;
  const TrackingScope scope(tracked.backend, "here");
  tracked.backend.allocate(100, 64);
  void* const p = tracked.make({3});
  const Dims sizes{1, 2, 3, 4, 1, 2, 1, int64_t{1} << 40};
  tracked.backend.on_made({p, ScalarType::Bool, sizes, sizes, "full"});
  const std::string place = " in \"here\" (scope at " + place_of(line) + ")\n";
  CHECK(tracked.backend.leak_report() ==
        "4096 bytes, Float {32, 32} by zeros in \"decoder\" (scope at model.cpp:57)\n100 bytes" +
            place + "12 bytes, Bool {1, 2, 3, 4, 1, 2, 1, 1099511627776} by full" + place +
            "8 bytes, Float {2} by rand\n");
  tracked.backend.on_made({p, ScalarType::Bool, Dims{}, Dims{}, "full"});
  CHECK(contains(tracked.backend.leak_report(), "12 bytes, Bool {} by full"));
}

TEST_CASE("tracking: the summary has what is in use, the peak, and all there ever was") {
  TrackedBackend tracked;
  CHECK(tracked.backend.summary() ==
        "0 bytes in use in 0 blocks, peak 0 bytes, 0 allocations of 0 bytes");
  tracked.make({64, 2});
  tracked.drop(tracked.make({32, 32}), 4096);
  CHECK(tracked.backend.summary() ==
        "512 bytes in use in 1 block, peak 4608 bytes, 2 allocations of 4608 bytes");
}

TEST_CASE("tracking: destroyed with leaks it lists them, the ten largest") {
  const tests::Reports told;
  std::vector<unsigned char> buffer(4 << 20);  // what leaks goes with it
  ArenaBackend arena(buffer.data(), buffer.size());
  TensorPtr small;
  TensorPtr large;
  {
    TrackingBackend tracking(arena);
    small = zeros({2}, tracking);
    large = (TrackingScope(tracking, "decoder", "src/model.cpp", 57), ones({32, 32}, tracking));
  }
  REQUIRE(told.count() == 2);
  CHECK(told[0] ==
        "InUse: backend tracking is destroyed with 2 leaks, 4104 bytes:\n"
        "4096 bytes, Float {32, 32} by ones in \"decoder\" (scope at model.cpp:57)\n"
        "8 bytes, Float {2} by zeros");
  CHECK(contains(told[1], "was destroyed with 2 of its blocks in use"));
  std::vector<TensorPtr> many;
  {
    TrackingBackend tracking(arena);
    for (int64_t i = 1; i <= 1000; ++i) many.push_back(zeros({i}, tracking));
  }
  CHECK(contains(told[2],
                 "1000 leaks, 2002000 bytes:\n4000 bytes, Float {1000} by zeros\n3996 bytes"));
  CHECK(contains(told[2], "\nand 990 more"));
  { const TrackingBackend without(arena); }
  CHECK(told.count() == 4);
}

// A promise of docs/guarantees.md.
TEST_CASE("tracking: a tag that is used twice is one entry, and the innermost scope counts") {
  TrackedBackend tracked;
  void* p[5] = {tracked.make({1})};
  {
    const TrackingScope model(tracked.backend, "model");
    p[1] = tracked.make({2});
    {
      std::string name = "layer";
      const TrackingScope layer(tracked.backend, name.c_str());
      name = "gone!";  // the text was copied
      p[2] = tracked.make({3});
    }
    p[3] = tracked.make({4});
    tracked.drop(p[1], 8);
  }
  {
    const TrackingScope again(tracked.backend, "layer");
    p[4] = tracked.make({5});
  }
  std::vector<TagCounts> tags = tracked.backend.tags();
  REQUIRE(tags.size() == 3);
  CHECK(tags[0].tag.empty());
  CHECK(tags[0].live_bytes == 4);
  CHECK(tags[1].tag == "model");
  CHECK(tags[1].live_bytes == 16);
  CHECK(tags[1].peak_bytes == 24);
  CHECK(tags[1].live_count == 1);
  CHECK(tags[1].total_count == 2);
  CHECK(tags[2].tag == "layer");
  CHECK(tags[2].live_bytes == 12 + 20);
  CHECK(tags[2].total_count == 2);
  tracked.drop(p[2], 12);
  tracked.drop(p[4], 20);
  tags = tracked.backend.tags();
  CHECK(tags[2].live_bytes == 0);
  CHECK(tags[2].peak_bytes == 32);
}

TEST_CASE("tracking: a scope is for its own backend and thread") {
  TrackedBackend tracked;
  CpuBackend cpu;
  TrackingBackend other(cpu);
  const TrackingScope scope(tracked.backend, "mine");
  const TrackingScope foreign(other, "theirs");
  tracked.make({2});
  std::thread([&] { tracked.make({1}); }).join();
  CHECK(tracked.backend.leaks()[0].tag == std::string("mine"));
  CHECK(tracked.backend.leaks()[1].tag == std::string());
}

// A promise of docs/guarantees.md.
TEST_CASE("tracking: in a NoAllocationScope allocations are refused with the place of the scope") {
  CpuBackend cpu;
  TrackingBackend tracking(cpu);
  const TensorPtr before = zeros({4}, tracking);
  {
    const int line = __LINE__ + 1;
    const NoAllocationScope guard(tracking);
    const std::string words =
        "no allocation is allowed in the NoAllocationScope at " + place_of(line);
    RAISES(OutOfMemory, words, zeros({4}, tracking));
    CHECK(tracking.refused_count() == 1);
    CHECK(tracking.total_count() == 1);
    CHECK(fill_(before, 1) == Error::Ok);
    TrackingBackend other(cpu);
    CHECK_NOTHROW(zeros({4}, other));
    CHECK(std::async(std::launch::async, [&] { return zeros({4}, tracking); }).get()->numel() == 4);
    const int tag_line = __LINE__ + 1;
    const TrackingScope tag(tracking, "inside");
    const NoAllocationScope inner(tracking, "src/inner.cpp", 8);
    RAISES(OutOfMemory, "at inner.cpp:8; the innermost TrackingScope is at " + place_of(tag_line),
           zeros({4}, tracking));
    // As a temporary a scope is on the line of the call.
    RETURNS(OutOfMemory, "the innermost TrackingScope is at call.cpp:3",
            (TrackingScope(tracking, "", "call.cpp", 3), try_zeros({4}, tracking).error()));
    CHECK(backend_deallocate(before) == Deallocation::Ok);
  }
  CHECK_NOTHROW(zeros({4}, tracking));
  CHECK(tracking.refused_count() == 3);
  // A scope of the other kind ends first.
  auto tag = std::make_unique<TrackingScope>(tracking, "outer");
  auto guard = std::make_unique<NoAllocationScope>(tracking);
  tag.reset();
  CHECK(try_zeros({4}, tracking).error() == Error::OutOfMemory);
  guard.reset();
  CHECK_NOTHROW(zeros({4}, tracking));
}

TEST_CASE("tracking: init refuses what it does not know, and changes nothing then") {
  CpuBackend cpu;
  TrackingBackend tracking(cpu);
  RETURNS(InvalidArgument, "there is no option \"depth\"", tracking.init({{"depth", 3}}));
  RETURNS(InvalidArgument, "option \"stack_depth\" is 65; expected a whole number from 0 to 64",
          tracking.init({{"max_events", 0}, {"stack_depth", 65}}));
  RETURNS(InvalidArgument, "option \"max_events\" is -1", tracking.init({{"max_events", -1}}));
  tracking.deallocate(tracking.allocate(8, 8), 8);
  CHECK(tracking.dropped_events() == 0);
}

TEST_CASE("tracking: the timeline ends with the first allocation without room, the counts do not") {
  TrackedBackend tracked;
  REQUIRE(tracked.backend.init({{"max_events", 5}}) == Error::Ok);
  void* p[4] = {tracked.make({1}), tracked.make({1}), tracked.make({1}), nullptr};
  tracked.drop(p[2], 4);
  tracked.drop(p[0], 4);
  REQUIRE(tracked.backend.init({{"max_events", 1000}}) == Error::Ok);
  p[3] = tracked.make({1});  // which would be out of place
  CHECK(tracked.backend.dropped_events() == 3);
  CHECK(tracked.backend.leaks().size() == 2);
  for (int i = 0; i < 100; ++i) tracked.drop(tracked.make({1}), 4);
  CHECK(tracked.backend.dropped_events() == 203);
  CHECK(tracked.backend.total_count() == 104);
  tracked.drop(p[1], 4);
  tracked.drop(p[3], 4);
  tracked.make({9}, "zeros");
  CHECK(tracked.backend.leak_report() == "36 bytes, Float {9} by zeros\n");
}

// On 32-bit ARM backtrace() needs code that was compiled with -funwind-tables.
#if TENON_HAS_BACKTRACE && !defined(__arm__)
TEST_CASE("tracking: with stack_depth leaks have return addresses, shown below their line") {
  TrackedBackend tracked;
  REQUIRE(tracked.backend.init({{"stack_depth", 3}}) == Error::Ok);
  for (int i = 0; i < 3; ++i) tracked.drop(tracked.make({1}), 4);
  tracked.make({2});
  CHECK(tracked.backend.leaks()[0].stack.size() == 3);
  const std::string report = tracked.backend.leak_report();
  CHECK(contains(report, "8 bytes, Float {2} by empty\n    "));
  CHECK(std::count(report.begin(), report.end(), '\n') == 4);
}
#endif

TEST_CASE("tracking: files that cannot be written are an error that names them") {
  TrackedBackend tracked;
  const TrackingBackend& tracking = tracked.backend;
  RETURNS(AccessFailed, "write_chrome_trace: cannot open no/such/folder/a.json: No such file",
          tracking.write_chrome_trace("no/such/folder/a.json"));
#if defined(__linux__)
  RETURNS(AccessFailed, "write_chrome_trace: cannot write /dev/full: No space left",
          tracking.write_chrome_trace("/dev/full"));
#endif
}

}  // namespace tracking_test
