// SPDX-License-Identifier: MIT
// Where each block of a timeline lies in a picture, and the line of all bytes. In nanoseconds and
// bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tenon/backend/tracking_log.h"
#include "tenon/backend/tracking_report.h"
#include "tenon/config.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Ownership: refers to the timeline.
struct TrackingLayout {
  static constexpr size_t kMaxBlocks = 1000;
  static constexpr size_t kMaxEvents = 4000;  // more are drawn column by column
  static constexpr uint64_t kColumns = 1000;

  struct Block {
    size_t index;  // of its record
    uint64_t born, died;
    size_t offset;
  };
  struct Point {
    uint64_t time;
    double bytes;
  };

  explicit TrackingLayout(const TrackingTimeline& of)
      : timeline(of), records(of.records), events(events_of(of)) {
    choose_blocks();
    stack_blocks();
    trace_live_bytes();
  }

  bool has_many_events() const noexcept { return events.size() > kMaxEvents; }
  /// What is not of the timeline's complete part has not happened.
  bool is_over(const TrackingRecord& record) const noexcept {
    return !record.is_alive && record.died < timeline.end();
  }

  const TrackingTimeline& timeline;
  const std::vector<TrackingRecord>& records;
  const std::vector<TrackingEvent> events;
  std::vector<Block> blocks;
  std::vector<Point> line;  // of live bytes
  Point peak{0, 0};
  double top = 1;                // of what lies highest
  uint64_t first = 0, last = 1;  // the time that is drawn

 private:
  /// All, or those that take the most bytes for the longest.
  void choose_blocks() {
    if (records.empty()) return;
    first = records.front().born;
    uint64_t latest = first;
    for (const TrackingEvent& event : events) {
      if (event.time < timeline.end()) latest = event.time;
    }
    // Some room to the right, for those that were allocated last.
    last = latest + (latest != first ? (latest - first) / 40 + 1
                                     : std::max<uint64_t>(timeline.end() - latest, 1));
    for (size_t i = 0; i < records.size(); ++i) {
      const bool over = is_over(records[i]);
      blocks.push_back({i, records[i].born, over ? records[i].died : last, 0});
    }
    if (blocks.size() <= kMaxBlocks) return;
    const auto area = [this](const Block& block) {
      return static_cast<double>(block.died - block.born) *
             static_cast<double>(records[block.index].nbytes);
    };
    std::nth_element(blocks.begin(), blocks.begin() + kMaxBlocks, blocks.end(),
                     [&](const Block& a, const Block& b) { return area(a) > area(b); });
    blocks.resize(kMaxBlocks);
  }

  /// Gives each the lowest place that is free as long as it lives. The longest lived come first:
  /// they lie at the bottom, and what comes and goes is on top of them.
  void stack_blocks() {
    std::sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) {
      const uint64_t life = a.died - a.born;
      const uint64_t other = b.died - b.born;
      return life != other ? life > other : a.index < b.index;
    });
    std::vector<std::pair<size_t, size_t>> taken;
    for (size_t i = 0; i < blocks.size(); ++i) {
      Block& block = blocks[i];
      taken.clear();
      for (size_t j = 0; j < i; ++j) {
        const Block& other = blocks[j];
        if (other.born < block.died && block.born < other.died) {
          taken.emplace_back(other.offset, other.offset + records[other.index].nbytes);
        }
      }
      std::sort(taken.begin(), taken.end());
      const size_t nbytes = records[block.index].nbytes;
      for (const auto& [begin, end] : taken) {
        if (begin >= block.offset && begin - block.offset >= nbytes) break;
        block.offset = std::max(block.offset, end);
      }
      top = std::max(top, static_cast<double>(block.offset + nbytes));
    }
  }

  /// Where there are many events, those of one column become one upright stroke.
  void trace_live_bytes() {
    double live = 0;
    const auto column_of = [this](const TrackingEvent& event) {
      return (event.time - first) / ((last - first) / kColumns + 1);
    };
    for (size_t i = 0; i < events.size() && events[i].time < timeline.end();) {
      const uint64_t time = events[i].time;
      line.push_back({time, live});
      Point low{time, live};
      Point high{time, live};
      const uint64_t column = column_of(events[i]);
      do {
        const TrackingEvent& event = events[i];
        const auto nbytes = static_cast<double>(records[event.record].nbytes);
        live += event.is_birth ? nbytes : -nbytes;
        if (live > peak.bytes) peak = {event.time, live};
        low.bytes = std::min(low.bytes, live);
        high.bytes = std::max(high.bytes, live);
        ++i;
      } while (has_many_events() && i < events.size() && events[i].time < timeline.end() &&
               column_of(events[i]) == column);
      if (has_many_events()) line.insert(line.end(), {low, high});
      line.push_back({time, live});
    }
    if (!line.empty()) line.push_back({last, live});
    top = std::max(top, peak.bytes);
  }
};

}  // namespace detail
TENON_END_NAMESPACE
