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
  static constexpr uint64_t kColumns = 1000;

  struct Block {
    size_t index;  // of its record
    uint64_t born, died;
    size_t nbytes;
    size_t offset;
    bool is_over;
  };
  struct Point {
    uint64_t time;
    double bytes;
  };
  std::vector<Block> blocks;
  std::vector<Point> line;
  Point peak{0, 0};
  double top = 1;                // of what lies highest
  uint64_t first = 0, last = 1;  // the time that is drawn

  explicit TrackingLayout(const TrackingTimeline& timeline) {
    if (timeline.records.empty()) return;
    std::vector<TrackingEvent> events = timeline.events();
    while (events.back().time >= timeline.end()) events.pop_back();
    first = events.front().time;
    last = events.back().time;
    // Some room to the right, for those that were allocated last.
    last += last != first ? (last - first) / 40 + 1 : std::max<uint64_t>(timeline.end() - last, 1);
    stack_blocks(timeline);
    trace_live_bytes(timeline.records, events);
  }

 private:
  /// Gives each the lowest place that is free as long as it lives. Those that take the most bytes
  /// for the longest come first: they lie at the bottom, and of very many they alone are drawn.
  void stack_blocks(const TrackingTimeline& timeline) {
    for (size_t i = 0; i < timeline.records.size(); ++i) {
      const TrackingRecord& record = timeline.records[i];
      // What is not of the timeline's complete part has not happened.
      const bool is_over = !record.is_alive && record.died < timeline.end();
      const uint64_t died = is_over ? record.died : last;
      blocks.push_back({i, record.born, died, record.nbytes, 0, is_over});
    }
    std::stable_sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) {
      const auto area = [](const Block& block) {
        return static_cast<double>(block.died - block.born) * static_cast<double>(block.nbytes);
      };
      return area(a) > area(b);
    });
    if (blocks.size() > kMaxBlocks) blocks.resize(kMaxBlocks);
    std::vector<std::pair<size_t, size_t>> taken;
    for (Block& block : blocks) {
      taken.clear();
      for (const Block* other = blocks.data(); other != &block; ++other) {
        if (other->born < block.died && block.born < other->died) {
          taken.emplace_back(other->offset, other->offset + other->nbytes);
        }
      }
      std::sort(taken.begin(), taken.end());
      for (const auto& [begin, end] : taken) {
        if (begin >= block.offset && begin - block.offset >= block.nbytes) break;
        block.offset = std::max(block.offset, end);
      }
      top = std::max(top, static_cast<double>(block.offset + block.nbytes));
    }
  }

  /// The most live bytes in each of a thousand columns, and of all.
  void trace_live_bytes(const std::vector<TrackingRecord>& records,
                        const std::vector<TrackingEvent>& events) {
    double live = 0;
    size_t i = 0;
    for (uint64_t column = 0; column <= kColumns; ++column) {
      const uint64_t end = first + (last - first) / kColumns * column +
                           (last - first) % kColumns * column / kColumns;
      line.push_back({end, live});
      for (; i < events.size() && events[i].time <= end; ++i) {
        const auto nbytes = static_cast<double>(records[events[i].record].nbytes);
        live += events[i].is_birth ? nbytes : -nbytes;
        if (live > peak.bytes) peak = {events[i].time, live};
        line.back().bytes = std::max(line.back().bytes, live);
      }
    }
    top = std::max(top, peak.bytes);
  }
};

/// The text of an element or an attribute, cut to `limit` characters.
inline std::string xml_text(const std::string& text, size_t limit) {
  std::string xml;
  for (const char c : clean_text(text, limit)) {
    switch (c) {
      case '&': xml += "&amp;"; break;
      case '<': xml += "&lt;"; break;
      case '>': xml += "&gt;"; break;
      case '"': xml += "&quot;"; break;
      default: xml += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
    }
  }
  return xml;
}

/// Draws a timeline. However long that is, the text stays below 1 MB.
class TrackingPicture {
 public:
  explicit TrackingPicture(const TrackingTimeline& timeline)
      : timeline_(timeline), layout_(timeline), top_(layout_.top * 1.03) {}

  std::string draw() {
    draw_heading();
    if (timeline_.records.empty()) {
      put_text((kLeft + kRight) / 2, (kTop + kBottom) / 2,
               "text-anchor=\"middle\" font-size=\"16\" fill=\"#7b8794\"", "no allocations");
    } else {
      draw_grid();
      draw_blocks();
      draw_line();
    }
    const std::string height = number(draw_legend());
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1200\" height=\"" + height +
           "\" viewBox=\"0 0 1200 " + height +
           "\" font-family=\"DejaVu Sans, Verdana, Arial, sans-serif\" font-size=\"12\" "
           "fill=\"#1f2933\">\n<rect width=\"1200\" height=\"" +
           height + "\" fill=\"#ffffff\"/>\n" + svg_ + "</svg>\n";
  }

 private:
  static constexpr size_t kMaxColours = 10;  // the first is for no tag, later tags share one
  static constexpr size_t kMaxName = 32;     // characters
  static constexpr double kLeft = 96, kRight = 1172, kTop = 124, kBottom = 564;

  static std::string number(double value) { return decimal_text(value, 2); }
  static double width_of(const std::string& text, double font) noexcept {
    const auto characters = std::count_if(text.begin(), text.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    });
    return static_cast<double>(characters) * font * 0.62;
  }
  double x_of(uint64_t time) const noexcept {
    return kLeft + (kRight - kLeft) * static_cast<double>(time - layout_.first) / span();
  }
  double y_of(double nbytes) const noexcept { return kBottom - (kBottom - kTop) * nbytes / top_; }
  double span() const noexcept { return static_cast<double>(layout_.last - layout_.first); }
  std::string time_since_first(uint64_t time) const {
    return time_text(static_cast<double>(time - layout_.first));
  }
  void put(const std::string& element) { svg_ += element + "\n"; }
  void put_text(double x, double y, const char* attributes, const std::string& text) {
    put("<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" " + attributes + ">" + text +
        "</text>");
  }

  const char* colour_of(size_t tag) const noexcept {
    static constexpr const char* kColours[kMaxColours] = {
        "#c3cad1", "#8fbbe3", "#f5bd80", "#a2d39a", "#ee9f9c",
        "#c5acdf", "#84d0c8", "#f2b3d3", "#d0b495", "#d9d884"};
    return tag < kMaxColours ? kColours[tag] : "#e4e7eb";
  }

  void draw_heading() {
    put_text(24, 38, "font-size=\"20\" font-weight=\"bold\"",
             "Memory of backend " + xml_text(timeline_.backend, kMaxName));
    const TagCounts& counts = timeline_.counts;
    std::string text = count_text(counts.total_count, "allocation") + ", " +
                       bytes_text(counts.total_bytes) + " in all; at most " +
                       bytes_text(counts.peak_bytes) + " at once";
    if (counts.live_count != 0) {
      text += "; " + std::to_string(counts.live_count) + (counts.live_count == 1 ? " is" : " are") +
              " still in use (" + bytes_text(counts.live_bytes) + ")";
    }
    put_text(24, 62, "font-size=\"13\"", text);
    std::string note;
    if (timeline_.records.size() > TrackingLayout::kMaxBlocks) {
      note = "The largest " + count_text(TrackingLayout::kMaxBlocks, "block") +
             " are drawn, the line counts all. ";
    }
    if (timeline_.dropped != 0 && !timeline_.records.empty()) {
      note += "The timeline was full after " + time_since_first(timeline_.end()) + ": " +
              count_text(timeline_.dropped, "later event") + " not shown. ";
    }
    if (timeline_.untracked != 0) {
      note += "For " + count_text(timeline_.untracked, "block") + " there was no memory to track.";
    }
    put_text(24, 82, "fill=\"#b4540a\"", note);
  }

  void draw_grid() {
    double step = 1;
    while (step * 8 < top_) step *= 2;
    for (double value = 0; value <= top_; value += step) {
      const std::string y = number(y_of(value));
      put("<path d=\"M" + number(kLeft) + " " + y + "H" + number(kRight) +
          "\" stroke=\"#e4e7eb\"/>");
      put_text(kLeft - 8, y_of(value) + 4, "text-anchor=\"end\"",
               bytes_text(static_cast<uint64_t>(value)));
    }
    for (uint64_t i = 0; i <= 4; ++i) {
      const double part = static_cast<double>(i) / 4;
      put_text(kLeft + (kRight - kLeft - 8) * part, kBottom + 20, "text-anchor=\"middle\"",
               time_text(span() * part));
    }
    put_text((kLeft + kRight) / 2, kBottom + 42, "text-anchor=\"middle\" fill=\"#52606d\"",
             "time since the first allocation");
  }

  void draw_blocks() {
    for (const TrackingLayout::Block& block : layout_.blocks) {
      const TrackingRecord& record = timeline_.records[block.index];
      const double x = x_of(block.born);
      const double width = std::max(x_of(block.died) - x, 0.5);
      const auto offset = static_cast<double>(block.offset);
      const double y = y_of(offset + static_cast<double>(record.nbytes));
      const double height = std::max(y_of(offset) - y, 0.3);
      put("<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" + number(width) +
          "\" height=\"" + number(height) + "\" fill=\"" + colour_of(record.tag_index) +
          (width > 3 && height > 3 ? "\" stroke=\"#ffffff\">" : "\">") + "<title>" +
          tooltip(record, block.is_over) + "</title></rect>");
      std::string label = tensor_text(record.type, record.sizes);
      label += (label.empty() ? "" : ", ") + bytes_text(record.nbytes);
      if (height < 16 || width_of(label, 11) + 10 > width) continue;
      put_text(x + width / 2, y + height / 2 + 4,
               "text-anchor=\"middle\" font-size=\"11\" pointer-events=\"none\"", label);
    }
  }
  std::string tooltip(const TrackingRecord& record, bool is_over) const {
    const std::string tensor = tensor_text(record.type, record.sizes);
    std::string text = std::to_string(record.nbytes) + " bytes";
    if (!tensor.empty()) {
      text += ", " + xml_text(tensor, 64) + " by " + xml_text(record.function, kMaxName);
    }
    if (*record.tag != '\0') text += " in &quot;" + xml_text(record.tag, kMaxName) + "&quot;";
    const std::string place = place_text(record.file, record.line);
    if (!place.empty()) text += " (" + xml_text(place, 64) + ")";
    return text + "\nfrom " + time_since_first(record.born) +
           (is_over ? " to " + time_since_first(record.died) : ", still in use");
  }

  /// The live bytes, and the peak with its label above the plot.
  void draw_line() {
    std::string path;
    for (const TrackingLayout::Point& point : layout_.line) {
      path +=
          (path.empty() ? "M" : "L") + number(x_of(point.time)) + " " + number(y_of(point.bytes));
    }
    put("<path d=\"" + path + "\" fill=\"none\" stroke=\"#1f2933\" stroke-width=\"1.5\"/>");
    const double x = x_of(layout_.peak.time);
    const double y = y_of(layout_.peak.bytes);
    const std::string label = "peak " + bytes_text(static_cast<uint64_t>(layout_.peak.bytes)) +
                              " at " + time_since_first(layout_.peak.time);
    const double width = width_of(label, 12);
    put("<path d=\"M" + number(x) + " " + number(y) + "V" + number(kTop - 12) +
        "\" stroke=\"#b91c1c\" stroke-dasharray=\"3 3\"/>");
    put("<circle cx=\"" + number(x) + "\" cy=\"" + number(y) + "\" r=\"4\" fill=\"#b91c1c\"/>");
    put_text(std::min(std::max(x, kLeft + width / 2), kRight - width / 2), kTop - 17,
             "text-anchor=\"middle\" font-weight=\"bold\" fill=\"#b91c1c\"", label);
  }

  /// Returns the height of the picture.
  double draw_legend() {
    double x = kLeft;
    double y = kBottom + 76;
    const auto item = [&](const std::string& colour, const std::string& text) {
      const double width = width_of(text, 12) + 24;
      if (x + width > kRight && x > kLeft) {
        x = kLeft;
        y += 24;
      }
      put("<g transform=\"translate(" + number(x) + " " + number(y) +
          ")\"><rect y=\"-11\" width=\"14\" height=\"14\" rx=\"2\" fill=\"" + colour +
          "\"/><text x=\"22\" y=\"0\">" + xml_text(text, SIZE_MAX) + "</text></g>");
      x += width + 20;
    };
    if (!timeline_.records.empty()) item("#1f2933", "live bytes");
    for (size_t i = 0; i < timeline_.tags.size() && i < kMaxColours; ++i) {
      const TagCounts& tag = timeline_.tags[i];
      if (tag.total_count == 0) continue;
      item(colour_of(i), clean_text(i == 0 ? "(no tag)" : tag.tag, kMaxName) + ": " +
                             count_text(tag.total_count, "allocation") + ", peak " +
                             bytes_text(tag.peak_bytes));
    }
    if (timeline_.tags.size() > kMaxColours) {
      item(colour_of(kMaxColours),
           count_text(static_cast<int64_t>(timeline_.tags.size() - kMaxColours), "later tag"));
    }
    return y + 28;
  }

  const TrackingTimeline& timeline_;
  const TrackingLayout layout_;
  const double top_;  // of the axis of bytes
  std::string svg_;
};

}  // namespace detail
TENON_END_NAMESPACE
