// SPDX-License-Identifier: MIT
#include "tenon/backend/tracking_log.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "backend/tracking_helpers.h"
#include "support/catch.h"

using namespace tenon;
using namespace tenon::detail;

namespace {

/// A log with the tests' clock, and an address for each number.
struct Log {
  TrackingLog log{tests::clock()};

  static const void* at(uintptr_t number) { return reinterpret_cast<const void*>(64 * number); }
  void add(uintptr_t number, size_t nbytes) { log.add(at(number), nbytes, log.no_site(), {}); }
  void remove(uintptr_t number, size_t nbytes) { log.remove(at(number), nbytes); }
};

uint64_t since_begin(const TrackingTimeline& timeline, uint64_t time) {
  return time - timeline.begin;
}

}  // namespace

TEST_CASE("tracking log: counts know the most there was at once") {
  MemoryCounts counts;
  counts.add(10);
  counts.add(5);
  counts.remove(10);
  counts.add(7);
  CHECK(counts.live_bytes == 12);
  CHECK(counts.peak_bytes == 15);
  CHECK(counts.live_count == 2);
  CHECK(counts.total_count == 3);
  CHECK(counts.total_bytes == 22);
}

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
  CHECK(since_begin(timeline, timeline.records[0].born) == 10);
  CHECK(since_begin(timeline, timeline.records[0].died) == 30);
  CHECK_FALSE(timeline.records[0].is_alive);
  CHECK(timeline.records[0].nbytes == 100);
  CHECK(since_begin(timeline, timeline.records[1].born) == 20);
  CHECK(timeline.records[1].is_alive);
  CHECK(since_begin(timeline, timeline.now) == 40);
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
  CHECK(timeline.records[0].died > timeline.records[0].born);
  CHECK(timeline.records[1].born > timeline.records[0].died);
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
  CHECK(since_begin(timeline, timeline.end()) == 100);
  CHECK(timeline.records[0].died > timeline.end());
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

TEST_CASE(
    "tracking log: a report has what was there when it began, and allocations go on beside it") {
  Log log;
  for (uintptr_t i = 1; i <= 20000; ++i) log.add(i, 8);
  std::atomic<bool> stop{false};
  std::atomic<int> reports{0};
  bool is_whole = true;
  std::thread reporter([&] {
    while (!stop) {
      const TrackingTimeline timeline = log.log.timeline();
      uint64_t live = 0;
      for (const TrackingRecord& record : timeline.records) live += record.is_alive;
      is_whole = is_whole && timeline.records.size() == timeline.counts.total_count &&
                 live == timeline.counts.live_count;
      size_t seen = 0;
      log.log.for_each_live([&](size_t) { seen = 0; }, [&](const void*, const TrackingRecord&,
                                                           const std::vector<void*>&) { ++seen; });
      is_whole = is_whole && seen >= 20000;
      ++reports;
    }
  });
  for (uintptr_t i = 20001; reports < 5 || i < 22000; ++i) {
    log.add(i, 8);
    if (i % 2 == 0) log.remove(i, 8);
    std::this_thread::yield();
  }
  stop = true;
  reporter.join();
  CHECK(is_whole);
}

TEST_CASE("tracking log: an allocation does not wait for the end of a report") {
  Log log;
  for (uintptr_t i = 1; i <= 20000; ++i) log.add(i, 8);
  std::atomic<int> added{0};
  std::atomic<bool> stop{false};
  std::thread other([&] {
    for (uintptr_t i = 20001; !stop; ++i) {
      log.add(i, 8);
      log.remove(i, 8);
      ++added;
    }
  });
  bool is_beside = false;
  for (int tries = 0; tries < 1000 && !is_beside; ++tries) {
    int first = -1;
    log.log.for_each_live([&](size_t) { first = -1; },
                          [&](const void*, const TrackingRecord&, const std::vector<void*>&) {
                            if (first < 0) first = added;
                            is_beside = is_beside || added > first + 1;
                          });
  }
  stop = true;
  other.join();
  CHECK(is_beside);
}

TEST_CASE("tracking log: a description finds its block, the latest or another") {
  Log log;
  log.add(1, 8);
  log.add(2, 8);
  tenon::TensorView view;
  view.type = tenon::ScalarType::Int;
  view.sizes = {2};
  view.data = const_cast<void*>(Log::at(1));
  log.log.describe(view, "first");
  view.data = const_cast<void*>(Log::at(2));
  log.log.describe(view, "second");
  view.data = const_cast<void*>(Log::at(3));
  log.log.describe(view, "nobody's");
  const TrackingTimeline timeline = log.log.timeline();
  CHECK(std::strcmp(timeline.records[0].function, "first") == 0);
  CHECK(std::strcmp(timeline.records[1].function, "second") == 0);
  CHECK(timeline.records[1].sizes == Dims{2});
}
