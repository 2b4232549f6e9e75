// SPDX-License-Identifier: MIT
#include "tenon/backend/tracking_layout.h"

#include <algorithm>

#include "backend/tracking_helpers.h"
#include "support/catch.h"

using namespace tenon;
using namespace tenon::detail;

namespace {

/// Blocks on a timeline that began at 1000.
struct Timeline {
  TrackingTimeline timeline;
  TrackingTag tag;
  TrackingSite site;

  Timeline() {
    timeline.begin = 1000;
    site.tag = &tag;
    timeline.tags.push_back({&tag, {}});
  }
  /// died = 0 for one in use.
  void add(uint64_t born, uint64_t died, size_t nbytes) {
    TrackingRecord record;
    record.born = 1000 + born;
    record.died = 1000 + died;
    record.is_alive = died == 0;
    record.nbytes = nbytes;
    record.site = &site;
    timeline.records.push_back(record);
    timeline.now = std::max({timeline.now, record.born + 1, record.died + 1});
  }
};

}  // namespace

TEST_CASE("tracking layout: blocks that live together do not overlap, none is higher than needed") {
  Timeline t;
  t.add(0, 1000, 10);
  t.add(10, 20, 5);
  t.add(15, 400, 7);
  t.add(30, 60, 100);
  t.add(500, 600, 3);
  const TrackingLayout layout(t.timeline);
  REQUIRE(layout.blocks.size() == 5);
  const size_t offsets[] = {0, 17, 10, 17, 10};
  for (const TrackingLayout::Block& block : layout.blocks) {
    CHECK(block.offset == offsets[block.index]);
  }
  CHECK(layout.top == 117);
  CHECK(layout.peak.bytes == 117);
  CHECK(layout.peak.time == 1030);
}

TEST_CASE("tracking layout: the line has a step for each event") {
  Timeline t;
  t.add(0, 50, 10);
  t.add(20, 0, 4);
  const TrackingLayout layout(t.timeline);
  CHECK(layout.first == 1000);
  CHECK(layout.last == 1052);  // some room to the right
  const double expected[][2] = {{1000, 0},  {1000, 10}, {1020, 10}, {1020, 14},
                                {1050, 14}, {1050, 4},  {1052, 4}};
  REQUIRE(layout.line.size() == 7);
  for (size_t i = 0; i < 7; ++i) {
    CHECK(static_cast<double>(layout.line[i].time) == expected[i][0]);
    CHECK(layout.line[i].bytes == expected[i][1]);
  }
  for (const TrackingLayout::Block& block : layout.blocks) {
    CHECK(block.died == (block.index == 0 ? 1050 : 1052));
  }
}

TEST_CASE("tracking layout: nothing is after the end of a timeline that became full") {
  Timeline t;
  t.add(0, 30, 10);
  t.add(10, 90, 20);
  t.timeline.dropped = 5;
  t.timeline.first_dropped = 1050;
  const TrackingLayout layout(t.timeline);
  CHECK(layout.is_over(t.timeline.records[0]));
  CHECK_FALSE(layout.is_over(t.timeline.records[1]));
  CHECK(layout.last == 1031);
  CHECK(layout.line.back().bytes == 20);
}

TEST_CASE("tracking layout: a single block lasts until now, and without any there is no line") {
  Timeline t;
  CHECK(TrackingLayout(t.timeline).line.empty());
  t.add(5, 0, 8);
  t.timeline.now = 1105;
  const TrackingLayout layout(t.timeline);
  CHECK(layout.first == 1005);
  CHECK(layout.last == 1105);
  CHECK(layout.blocks[0].died == 1105);
}

TEST_CASE("tracking layout: of very many, the largest are left and the line is short") {
  Timeline t;
  for (uint64_t i = 0; i < 6000; ++i) t.add(100 * i, 100 * i + 50, i % 6 == 0 ? 1000 : 1);
  const TrackingLayout layout(t.timeline);
  REQUIRE(layout.blocks.size() == TrackingLayout::kMaxBlocks);
  for (const TrackingLayout::Block& block : layout.blocks) CHECK(block.index % 6 == 0);
  CHECK(layout.line.size() <= 4 * (TrackingLayout::kColumns + 1) + 1);
  CHECK(layout.peak.bytes == 1000);
}
