// SPDX-License-Identifier: MIT
#include "tenon/backend/tracking_log.h"

#include <cstdint>
#include <cstring>
#include <string>

#include "backend/tracking_helpers.h"
#include "support/catch.h"

using namespace tenon;
using namespace tenon::detail;

namespace {

/// A log with the tests' clock, and an address for each number.
struct Log {
  TrackingLog log{tests::sources()};
  TrackingThread thread{};

  static const void* at(uintptr_t number) { return reinterpret_cast<const void*>(64 * number); }
  void add(uintptr_t number, size_t nbytes) {
    log.add(thread, at(number), nbytes, log.no_site(), nullptr);
  }
  void remove(uintptr_t number, size_t nbytes) { log.remove(thread, at(number), nbytes); }
};

}  // namespace

TEST_CASE("tracking log: the timeline has each block, in the order of allocation") {
  Log log;
  tests::nanoseconds() += 10;
  log.add(1, 100);
  tests::nanoseconds() += 10;
  log.add(2, 200);
  tests::nanoseconds() += 10;
  log.remove(1, 100);
  tests::nanoseconds() += 10;
  const TrackingTimeline timeline = log.log.timeline();
  REQUIRE(timeline.records.size() == 2);
  CHECK(timeline.nanoseconds_per_tick == 1);
  CHECK(timeline.nanoseconds(timeline.records[0].born) == 10);
  CHECK(timeline.nanoseconds(timeline.records[0].place) == 30);
  CHECK_FALSE(timeline.records[0].is_alive);
  CHECK(timeline.records[0].nbytes == 100);
  CHECK(timeline.nanoseconds(timeline.records[1].born) == 20);
  CHECK(timeline.records[1].is_alive);
  CHECK(timeline.nanoseconds(timeline.now) == 40);
  CHECK(timeline.end() == timeline.now);
  CHECK(timeline.records[0].made_on != 0);
  CHECK(timeline.records[0].made_on == timeline.records[0].dropped_on);
}

TEST_CASE("tracking log: events in the same instant get times of their own") {
  Log log;
  log.add(1, 1);
  log.remove(1, 1);
  log.add(1, 1);
  const TrackingTimeline timeline = log.log.timeline();
  REQUIRE(timeline.records.size() == 2);
  CHECK(timeline.records[0].born > timeline.begin);
  CHECK(timeline.records[0].place > timeline.records[0].born);
  CHECK(timeline.records[1].born > timeline.records[0].place);
  CHECK(timeline.now > timeline.records[1].born);
}

TEST_CASE("tracking log: the timeline ends with the first allocation that has no room") {
  Log log;
  log.log.set_max_events(5);
  log.add(1, 1);
  log.add(2, 1);
  tests::nanoseconds() += 100;
  log.add(3, 1);
  log.remove(3, 1);
  tests::nanoseconds() += 100;
  log.remove(1, 1);
  log.log.set_max_events(1000);
  log.add(4, 1);  // which would be out of place
  const TrackingTimeline timeline = log.log.timeline();
  CHECK(timeline.records.size() == 2);
  CHECK(timeline.dropped == 3);
  CHECK(timeline.nanoseconds(timeline.end()) == 100);
  CHECK(timeline.records[0].place > timeline.end());
}

TEST_CASE("tracking log: with no events there is no timeline, and records are used again") {
  Log log;
  log.log.set_max_events(0);
  for (uintptr_t i = 1; i < 2000; ++i) {
    log.add(i, 8);
    log.remove(i, 8);
  }
  CHECK(log.log.timeline().records.empty());
  CHECK(log.log.counts().total_count == 1999);
}

TEST_CASE("tracking log: the timeline ends where memory is out, and does not go on later") {
  for (const bool stay : {false, true}) {  // records run out, or their table does
    INFO("blocks stay: " << stay);
    Log log;
    log.add(1, 8);
    tests::nanoseconds() += 100;
    tests::memory_left() = 0;
    uintptr_t i = 1;
    while (log.log.untracked() == 0 && i < 1000) {
      log.add(++i, 8);
      if (!stay && log.log.untracked() == 0) log.remove(i, 8);
    }
    REQUIRE(log.log.untracked() == 1);
    CHECK(log.log.dropped() == 1);
    const size_t known = log.log.timeline().records.size();
    CHECK(known == i - 1);
    log.remove(i, 8);
    CHECK(log.log.dropped() == 2);  // nothing shows when it went either
    tests::nanoseconds() += 1000;
    tests::memory_left() = 1000;
    log.add(1000, 8);  // known again, but out of place on the timeline
    const TrackingTimeline timeline = log.log.timeline();
    CHECK(timeline.records.size() == known);
    CHECK(timeline.dropped == 3);
    CHECK(timeline.untracked == 1);
    CHECK(timeline.nanoseconds(timeline.end()) < 1000);
    CHECK(timeline.nanoseconds(timeline.end()) >= 100);
    uint64_t live = 0;
    log.log.for_each_live([&](const TrackingRecord&, const TrackingStack*) { ++live; });
    CHECK(live == log.log.counts().live_count());
    CHECK(live == (stay ? known + 1 : 2));
  }
}

TEST_CASE("tracking log: the stack of a block that there was no memory to track is used again") {
  Log log;
  TrackingStack* const stack = log.log.make_stack();
  REQUIRE(stack != nullptr);
  tests::memory_left() = 0;
  CHECK(log.log.make_stack() == nullptr);
  log.log.add(log.thread, Log::at(1), 8, log.log.no_site(), stack);
  REQUIRE(log.log.untracked() == 1);
  TrackingStack* const again = log.log.make_stack();
  CHECK(again == stack);
  tests::memory_left() = 1000;
  log.log.add(log.thread, Log::at(2), 8, log.log.no_site(), again);
}

TEST_CASE("tracking log: a tag without memory for its site is made when there is some") {
  Log log;
  tests::memory_left() = 1;
  CHECK(log.log.site("a", "x.cpp", 1) == log.log.no_site());
  tests::memory_left() = 1;
  const TrackingSite* const site = log.log.site("a", "x.cpp", 1);
  CHECK(site != log.log.no_site());
  CHECK(std::strcmp(site->tag->text, "a") == 0);
}

TEST_CASE("tracking log: sites are one for a tag, a file and a line") {
  Log log;
  const TrackingSite* const site = log.log.site("a", "x.cpp", 1);
  const std::string same = "x.cpp";
  CHECK(log.log.site("a", same.c_str(), 1) == site);
  CHECK(log.log.site("a", "x.cpp", 2) != site);
  CHECK(log.log.site("a", nullptr, 1) != site);
  CHECK(log.log.site("a", "x.cpp", 2)->tag == site->tag);
  CHECK(log.log.site("b", "x.cpp", 1)->tag != site->tag);
  CHECK(log.log.site("", "x.cpp", 1)->tag == log.log.no_site()->tag);
}

TEST_CASE("tracking log: a description finds its block, the thread's latest or another") {
  Log log;
  log.add(1, 8);
  log.add(2, 8);
  tenon::TensorView view;
  view.type = tenon::ScalarType::Int;
  view.sizes = {2};
  view.data = const_cast<void*>(Log::at(1));
  log.log.describe(log.thread, view, "first");
  view.data = const_cast<void*>(Log::at(2));
  log.log.describe(log.thread, view, "second");
  view.data = const_cast<void*>(Log::at(3));
  log.log.describe(log.thread, view, "nobody's");
  const TrackingTimeline timeline = log.log.timeline();
  CHECK(std::strcmp(timeline.records[0].function, "first") == 0);
  CHECK(std::strcmp(timeline.records[1].function, "second") == 0);
  CHECK(timeline.records[1].dims() == Dims{2});
}
