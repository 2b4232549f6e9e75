// SPDX-License-Identifier: MIT
// A timeline of memory as a picture: blocks as rectangles, time to the right, bytes upwards.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tenon/backend/tracking_report.h"
#include "tenon/config.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Where each block lies, and the line of all bytes. In nanoseconds and bytes.
struct TrackingLayout {
  static constexpr size_t kMaxBlocks = 1000;
  static constexpr size_t kColumns = 1000;

  struct Block {
    const TrackingRecord* record;
    uint64_t died;  // what is not of the timeline's complete part has not happened
    uint64_t offset;
  };
  std::vector<Block> blocks;
  std::vector<uint64_t> line;  // the most bytes in each column
  uint64_t peak = 0;
  uint64_t peak_time;
  uint64_t top = 1;      // of what lies highest
  uint64_t first, last;  // the time that is drawn

  explicit TrackingLayout(const TrackingTimeline& timeline)
      : peak_time(timeline.begin), first(timeline.begin), last(timeline.begin + 1) {
    std::vector<TrackingEvent> events = timeline.events();
    if (events.empty()) return;
    while (events.back().time >= timeline.end) events.pop_back();
    first = events.front().time;
    last = events.back().time;
    // Some room to the right, for those that were allocated last.
    last += last != first ? (last - first) / 40 + 1 : std::max<uint64_t>(timeline.end - last, 1);
    stack_blocks(timeline);
    trace_live_bytes(events);
  }

 private:
  /// Gives each the lowest place that is free as long as it lives. Those that take the most bytes
  /// for the longest come first: they lie at the bottom, and of very many they alone are drawn.
  void stack_blocks(const TrackingTimeline& timeline) {
    for (const TrackingRecord& record : timeline.records) {
      blocks.push_back({&record, record.died < timeline.end ? record.died : last, 0});
    }
    std::sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) {
      const auto area = [](const Block& block) {
        return static_cast<double>(block.died - block.record->born) *
               static_cast<double>(block.record->nbytes);
      };
      return area(a) != area(b) ? area(a) > area(b) : a.record < b.record;
    });
    if (blocks.size() > kMaxBlocks) blocks.resize(kMaxBlocks);
    std::vector<std::pair<uint64_t, uint64_t>> taken;
    for (Block& block : blocks) {
      taken.clear();
      for (const Block* other = blocks.data(); other != &block; ++other) {
        if (other->record->born < block.died && block.record->born < other->died) {
          taken.emplace_back(other->offset, other->offset + other->record->nbytes);
        }
      }
      std::sort(taken.begin(), taken.end());
      for (const auto& [begin, end] : taken) {
        if (begin >= block.offset + block.record->nbytes) break;
        block.offset = (std::max)(block.offset, end);
      }
      top = (std::max)(top, block.offset + block.record->nbytes);
    }
  }

  void trace_live_bytes(const std::vector<TrackingEvent>& events) {
    uint64_t live = 0;
    for (const TrackingEvent& event : events) {
      const double part =
          static_cast<double>(event.time - first) / static_cast<double>(last - first);
      const auto column = static_cast<size_t>(part * kColumns);
      while (line.size() <= column) line.push_back(live);
      live = event.live_bytes;
      line.back() = (std::max)(line.back(), live);
      if (live > peak) {
        peak = live;
        peak_time = event.time;
      }
    }
    line.resize(kColumns + 1, live);
    top = (std::max)(top, peak);
  }
};

/// Draws a timeline. However long that is, the text stays below 1 MB.
class TrackingPicture {
 public:
  explicit TrackingPicture(const TrackingTimeline& timeline)
      : timeline_(timeline), layout_(timeline), top_(static_cast<double>(layout_.top) * 1.03) {}

  std::string draw() {
    draw_heading();
    draw_grid();
    draw_blocks();
    draw_line();
    const std::string height = text_of(draw_legend());
    return "<svg xmlns='http://www.w3.org/2000/svg' width='1200' height='" + height +
           "' viewBox='0 0 1200 " + height +
           "' font-family='DejaVu Sans, Verdana, Arial, sans-serif' font-size='12' "
           "fill='#1f2933'>\n<rect width='1200' height='" +
           height + "' fill='#ffffff'/>\n" + svg_ + "</svg>\n";
  }

 private:
  static constexpr size_t kMaxColours = 10;  // the first is for no tag, later tags share one
  static constexpr size_t kMaxName = 32;     // characters
  static constexpr double kLeft = 96, kRight = 1172, kTop = 124, kBottom = 564;
  static constexpr double kMiddle = (kLeft + kRight) / 2;

  static std::string text_of(double value) { return decimal_text(value, 2); }
  static const std::string& text_of(const std::string& text) { return text; }
  template <class... Parts>
  void put(const Parts&... parts) {
    ((svg_ += text_of(parts)), ...);
    svg_ += '\n';
  }

  static std::string xml_text(const std::string& text, size_t limit) {
    std::string xml;
    for (const char c : clean_text(text, limit)) {
      xml += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
    }
    return xml;
  }
  double span() const noexcept { return static_cast<double>(layout_.last - layout_.first); }
  double x_of(uint64_t time) const noexcept {
    return kLeft + (kRight - kLeft) * static_cast<double>(time - layout_.first) / span();
  }
  double y_of(uint64_t nbytes) const noexcept {
    return kBottom - (kBottom - kTop) * static_cast<double>(nbytes) / top_;
  }
  std::string time_since_first(uint64_t time) const { return time_text(time - layout_.first); }

  static const char* colour_of(size_t tag) noexcept {
    static constexpr const char* kColours[kMaxColours] = {
        "#c3cad1", "#8fbbe3", "#f5bd80", "#a2d39a", "#ee9f9c",
        "#c5acdf", "#84d0c8", "#f2b3d3", "#d0b495", "#d9d884"};
    return tag < kMaxColours ? kColours[tag] : "#e4e7eb";
  }

  void draw_heading() {
    put("<text x='24' y='38' font-size='20' font-weight='bold'>Memory of backend ",
        xml_text(timeline_.backend, kMaxName), "</text>");
    const TagCounts& counts = timeline_.counts;
    put("<text x='24' y='62' font-size='13'>", count_text(counts.total_count, "allocation"), ", ",
        bytes_text(counts.total_bytes), " in all; at most ", bytes_text(counts.peak_bytes),
        " at once; ", bytes_text(counts.live_bytes), " still in use</text>");
    std::string note;
    if (timeline_.records.size() > TrackingLayout::kMaxBlocks) {
      note = "The largest " + count_text(TrackingLayout::kMaxBlocks, "block") +
             " are drawn, the line counts all. ";
    }
    if (timeline_.dropped != 0) {
      note += "After " + time_since_first(timeline_.end) + " there was no room for " +
              count_text(timeline_.dropped, "event") + ".";
    }
    put("<text x='24' y='82' fill='#b4540a'>", note, "</text>");
  }

  void draw_grid() {
    uint64_t step = 1;
    while (static_cast<double>(step) * 8 < top_) step *= 2;
    for (uint64_t value = 0; static_cast<double>(value) <= top_; value += step) {
      const double y = y_of(value);
      put("<path d='M", kLeft, " ", y, "H", kRight, "' stroke='#e4e7eb'/><text x='", kLeft - 8,
          "' y='", y + 4, "' text-anchor='end'>", bytes_text(value), "</text>");
    }
    for (uint64_t i = 0; i <= 4; ++i) {
      put("<text x='", kLeft + (kRight - kLeft - 8) * static_cast<double>(i) / 4, "' y='",
          kBottom + 20, "' text-anchor='middle'>",
          time_text((layout_.last - layout_.first) * i / 4), "</text>");
    }
    put("<text x='", kMiddle, "' y='", kBottom + 42,
        "' text-anchor='middle' fill='#52606d'>time since the first allocation</text>");
  }

  void draw_blocks() {
    for (const TrackingLayout::Block& block : layout_.blocks) {
      const TrackingRecord& record = *block.record;
      const double x = x_of(record.born);
      const double y = y_of(block.offset + record.nbytes);
      const double width = (std::max)(x_of(block.died) - x, 0.5);
      const double height = (std::max)(y_of(block.offset) - y, 0.3);
      const bool is_over = record.died < timeline_.end;
      put("<rect x='", x, "' y='", y, "' width='", width, "' height='", height, "' fill='",
          colour_of(record.tag_index), width > 3 && height > 3 ? "' stroke='#ffffff'>" : "'>",
          "<title>", xml_text(block_text(record), 160), "\nfrom ", time_since_first(record.born),
          is_over ? " to " + time_since_first(record.died) : ", still in use", "</title></rect>");
      const std::string tensor = tensor_text(record);
      const std::string label = tensor + (tensor.empty() ? "" : ", ") + bytes_text(record.nbytes);
      if (height < 16 || static_cast<double>(label.size()) * 7 + 10 > width) continue;
      put("<text x='", x + width / 2, "' y='", y + height / 2 + 4,
          "' text-anchor='middle' font-size='11' pointer-events='none'>", label, "</text>");
    }
  }

  /// The live bytes, and the peak with its label above the plot.
  void draw_line() {
    std::string path;
    for (size_t column = 0; column < layout_.line.size(); ++column) {
      const double x =
          kLeft + (kRight - kLeft) * static_cast<double>(column) / TrackingLayout::kColumns;
      path += (path.empty() ? "M" : "L") + text_of(x) + " " + text_of(y_of(layout_.line[column]));
    }
    put("<path d='", path, "' fill='none' stroke='#1f2933' stroke-width='1.5'/>");
    const double x = x_of(layout_.peak_time);
    const double y = y_of(layout_.peak);
    put("<path d='M", x, " ", y, "V", kTop - 12, "' stroke='#b91c1c' stroke-dasharray='3 3'/>");
    put("<circle cx='", x, "' cy='", y, "' r='4' fill='#b91c1c'/>");
    put("<text x='", x, "' y='", kTop - 17, "' text-anchor='", x < kMiddle ? "start" : "end",
        "' font-weight='bold' fill='#b91c1c'>peak ", bytes_text(layout_.peak), " at ",
        time_since_first(layout_.peak_time), "</text>");
  }

  /// Returns the height of the picture.
  double draw_legend() {
    double y = kBottom + 76;
    const auto item = [&](const char* colour, const std::string& text) {
      put("<rect x='", kLeft, "' y='", y - 11, "' width='14' height='14' rx='2' fill='", colour,
          "'/><text x='", kLeft + 22, "' y='", y, "'>", text, "</text>");
      y += 22;
    };
    item("#1f2933", "live bytes");
    for (size_t i = 0; i < timeline_.tags.size() && i < kMaxColours; ++i) {
      const TagCounts& tag = timeline_.tags[i];
      if (tag.total_count == 0) continue;
      item(colour_of(i), xml_text(i == 0 ? "(no tag)" : tag.tag, kMaxName) + ": " +
                             count_text(tag.total_count, "allocation") + ", peak " +
                             bytes_text(tag.peak_bytes));
    }
    if (timeline_.tags.size() > kMaxColours) {
      item(colour_of(kMaxColours),
           count_text(static_cast<int64_t>(timeline_.tags.size() - kMaxColours), "later tag"));
    }
    return y;
  }

  const TrackingTimeline& timeline_;
  const TrackingLayout layout_;
  const double top_;  // of the axis of bytes
  std::string svg_;
};

}  // namespace detail
TENON_END_NAMESPACE
