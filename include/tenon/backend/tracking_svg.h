// SPDX-License-Identifier: MIT
// A timeline of memory as a picture: blocks as rectangles, time to the right, bytes upwards.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tenon/backend/tracking_layout.h"
#include "tenon/backend/tracking_log.h"
#include "tenon/backend/tracking_report.h"
#include "tenon/config.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The text of an element or an attribute, cut to `limit` characters.
inline std::string xml_text(const std::string& text, size_t limit) {
  std::string xml;
  for (const char c : clean_text(text.c_str(), limit)) {
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
    choose_colours();
    draw_heading();
    draw_grid();
    if (timeline_.records.empty()) {
      put_text((kLeft + kRight) / 2, (kTop + kBottom) / 2,
               "text-anchor=\"middle\" font-size=\"16\" fill=\"#7b8794\"", "no allocations");
    } else {
      draw_blocks();
      draw_line();
      svg_ += labels_;
      draw_peak();
    }
    const std::string height = number(draw_legend());
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1200\" height=\"" + height +
           "\" viewBox=\"0 0 1200 " + height +
           "\" font-family=\"DejaVu Sans, Verdana, Arial, sans-serif\" font-size=\"12\" "
           "fill=\"#1f2933\">\n<rect width=\"1200\" height=\"" +
           height + "\" fill=\"#ffffff\"/>\n" + svg_ + "</svg>\n";
  }

 private:
  static constexpr size_t kMaxColours = 9;
  static constexpr size_t kMaxName = 32;  // characters
  static constexpr double kLeft = 96, kRight = 1172, kTop = 124, kBottom = 564;
  static constexpr const char* kUntagged = "#c3cad1";
  static constexpr const char* kOther = "#e4e7eb";

  struct Tag {
    const TrackingTagCounts* tag;
    const char* colour;
  };
  static std::string number(double value) { return decimal_text(value, 2); }
  static double width_of(size_t characters, double font) noexcept {
    return static_cast<double>(characters) * font * 0.62;
  }
  static double width_of(const std::string& text, double font) noexcept {
    const auto count = std::count_if(text.begin(), text.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    });
    return width_of(static_cast<size_t>(count), font);
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

  /// The smaller tags share one colour where there are many.
  void choose_colours() {
    static constexpr const char* kColours[kMaxColours] = {"#8fbbe3", "#f5bd80", "#a2d39a",
                                                          "#ee9f9c", "#c5acdf", "#84d0c8",
                                                          "#f2b3d3", "#d0b495", "#d9d884"};
    std::vector<uint64_t> sizes;
    for (const TrackingTagCounts& tag : timeline_.tags) {
      if (!tag.tag->text.empty()) sizes.push_back(tag.counts.peak_bytes);
    }
    std::sort(sizes.begin(), sizes.end(), [](uint64_t a, uint64_t b) { return a > b; });
    const uint64_t least = sizes.size() > kMaxColours ? sizes[kMaxColours - 1] : 0;
    size_t used = 0;
    for (const TrackingTagCounts& tag : timeline_.tags) {
      const bool has_colour = used < kMaxColours && tag.counts.peak_bytes >= least;
      if (tag.counts.total_count == 0) continue;
      tags_.push_back({&tag, tag.tag->text.empty() ? kUntagged
                             : has_colour          ? kColours[used++]
                                                   : kOther});
    }
  }
  const char* colour_of(const TrackingTag* tag) const noexcept {
    for (const Tag& known : tags_) {
      if (known.tag->tag == tag) return known.colour;
    }
    return kOther;
  }

  void draw_heading() {
    put_text(24, 38, "font-size=\"20\" font-weight=\"bold\"",
             "Memory of backend " + xml_text(timeline_.backend, kMaxName));
    const MemoryCounts& counts = timeline_.counts;
    std::string text = count_text(counts.total_count, "allocation");
    text += ", " + in_unit(static_cast<double>(counts.total_bytes),
                           unit_of_bytes(static_cast<double>(counts.total_bytes)));
    text += " in all; at most " + bytes_text(counts.peak_bytes) + " at once";
    if (counts.live_count != 0) {
      text += "; " + std::to_string(counts.live_count);
      text += (counts.live_count == 1 ? " is" : " are");
      text += " still in use (" + bytes_text(counts.live_bytes) + ")";
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
    const ReportUnit bytes = unit_of_bytes(top_);
    for (double value = 0; value <= (timeline_.records.empty() ? 0 : top_); value += step) {
      const std::string y = number(y_of(value));
      put("<path d=\"M" + number(kLeft) + " " + y + "H" + number(kRight) + "\" stroke=\"" +
          (value == 0 ? "#52606d" : "#e4e7eb") + "\"/>");
      put_text(kLeft - 8, y_of(value) + 4, "text-anchor=\"end\"",
               value == 0 ? "0" : decimal_text(value / bytes.size, 3) + " " + bytes.name);
    }
    if (timeline_.records.empty()) return;
    const double whole = span();
    double tens = 1;
    while (tens * 10 <= whole) tens *= 10;
    while (tens > whole) tens /= 10;
    const double width = whole / tens <= 2 ? tens / 5 : whole / tens <= 5 ? tens / 2 : tens;
    const ReportUnit unit = unit_of_time(whole);
    for (int i = 0; i * width <= whole; ++i) {
      const double x = kLeft + (kRight - kLeft) * (i * width / whole);
      put("<path d=\"M" + number(x) + " " + number(kBottom) + "v5\" stroke=\"#52606d\"/>");
      // The last one may stand at the right edge.
      put_text(std::min(x, kRight - 8), kBottom + 20, "text-anchor=\"middle\"",
               i == 0 ? "0" : decimal_text(i * width / unit.size, 3) + " " + unit.name);
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
      const bool has_border = width > 3 && height > 3;
      put("<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" + number(width) +
          "\" height=\"" + number(height) + "\" fill=\"" + colour_of(record.site->tag) +
          (has_border ? "\" stroke=\"#ffffff\">" : "\">") + "<title>" + tooltip(record) +
          "</title></rect>");
      if (height < 16) continue;
      const std::string tensor = tensor_text(record);
      const std::string nbytes = bytes_text(record.nbytes);
      for (const std::string& label : {tensor + ", " + nbytes, tensor, nbytes}) {
        if (label.empty() || label[0] == ',' || width_of(label, 11) + 10 > width) continue;
        labels_ += "<text x=\"" + number(x + width / 2) + "\" y=\"" + number(y + height / 2 + 4) +
                   "\" text-anchor=\"middle\" font-size=\"11\" pointer-events=\"none\">" + label +
                   "</text>\n";
        break;
      }
    }
  }
  std::string tooltip(const TrackingRecord& record) const {
    const std::string tensor = tensor_text(record);
    std::string text = std::to_string(record.nbytes) + " bytes";
    if (!tensor.empty()) {
      text += ", " + xml_text(tensor, 64) + " by " + xml_text(record.function, kMaxName);
    }
    const std::string& tag = record.site->tag->text;
    if (!tag.empty()) text += " in &quot;" + xml_text(tag, kMaxName) + "&quot;";
    const std::string place = place_text(record.site->file, record.site->line);
    if (!place.empty()) text += " (" + xml_text(place, 64) + ")";
    text += "\nfrom " + time_since_first(record.born);
    return text +
           (layout_.is_over(record) ? " to " + time_since_first(record.died) : ", still in use");
  }

  void draw_line() {
    std::string path;
    for (const TrackingLayout::Point& point : layout_.line) {
      path +=
          (path.empty() ? "M" : "L") + number(x_of(point.time)) + " " + number(y_of(point.bytes));
    }
    // Referred to twice: in white below, to stand out from the blocks.
    put("<defs><path id=\"live\" d=\"" + path +
        "\" fill=\"none\" stroke-linejoin=\"round\" pointer-events=\"none\"/></defs>");
    put("<use href=\"#live\" stroke=\"#ffffff\" stroke-width=\"4\" stroke-opacity=\"0.7\"/>");
    put(std::string("<use href=\"#live\" stroke=\"#1f2933\" stroke-width=\"") +
        (layout_.has_many_events() ? "1" : "1.5") + "\"/>");
  }

  /// The label is above the plot, where nothing else is.
  void draw_peak() {
    const double x = x_of(layout_.peak.time);
    const double y = y_of(layout_.peak.bytes);
    const std::string label = "peak " + bytes_text(static_cast<uint64_t>(layout_.peak.bytes)) +
                              " at " + time_since_first(layout_.peak.time);
    const double width = width_of(label, 12);
    put("<path d=\"M" + number(x) + " " + number(y) + "V" + number(kTop - 12) +
        "\" stroke=\"#b91c1c\" stroke-dasharray=\"3 3\"/>");
    put("<circle cx=\"" + number(x) + "\" cy=\"" + number(y) + "\" r=\"4\" fill=\"#b91c1c\"/>");
    const double middle = std::min(std::max(x, kLeft + width / 2), kRight - width / 2);
    put_text(middle, kTop - 17, "text-anchor=\"middle\" font-weight=\"bold\" fill=\"#b91c1c\"",
             label);
  }

  /// Returns the height of the picture.
  double draw_legend() {
    double x = kLeft;
    double y = kBottom + 76;
    const auto item = [&](const std::string& sign, const std::string& text, double width) {
      width += 24;
      if (x + width > kRight && x > kLeft) {
        x = kLeft;
        y += 24;
      }
      put("<g transform=\"translate(" + number(x) + " " + number(y) + ")\">" + sign +
          "<text x=\"22\" y=\"0\">" + text + "</text></g>");
      x += width + 20;
    };
    const auto square = [](const char* colour) {
      return std::string("<rect y=\"-11\" width=\"14\" height=\"14\" rx=\"2\" fill=\"") + colour +
             "\"/>";
    };
    uint64_t others = 0;
    if (!timeline_.records.empty()) {
      const std::string live = "live bytes";
      item("<path d=\"M0 -4h14\" stroke=\"#1f2933\" stroke-width=\"2\"/>", live,
           width_of(live, 12));
    }
    for (const Tag& tag : tags_) {
      others += tag.colour == kOther;
      if (tag.colour == kOther) continue;
      const std::string& text = tag.tag->tag->text;
      const std::string name = clean_text(text.empty() ? "(no tag)" : text.c_str(), kMaxName);
      const MemoryCounts& counts = tag.tag->counts;
      const std::string rest = ": " + count_text(counts.total_count, "allocation") + ", peak " +
                               bytes_text(counts.peak_bytes);
      item(square(tag.colour), xml_text(name, kMaxName) + rest, width_of(name + rest, 12));
    }
    if (others != 0) {
      const std::string text = count_text(others, "smaller tag");
      item(square(kOther), text, width_of(text, 12));
    }
    return y + 28;
  }

  const TrackingTimeline& timeline_;
  const TrackingLayout layout_;
  const double top_;  // of the axis of bytes
  std::vector<Tag> tags_;
  std::string svg_, labels_;
};

}  // namespace detail
TENON_END_NAMESPACE
