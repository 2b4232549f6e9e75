// SPDX-License-Identifier: MIT
#include "tenon/backend/tracking_svg.h"

#include "backend/tracking_helpers.h"
#include "support/catch.h"

namespace tracking_svg_test {

using namespace tenon;
using tenon::detail::TrackingLayout;
using namespace tests;

namespace {

/// A timeline that began at 1000.
struct Timeline : detail::TrackingTimeline {
  Timeline() { begin = 1000; }
  /// died = 0 for one in use.
  void add(uint64_t born, uint64_t died, size_t nbytes) {
    detail::TrackingRecord record;
    record.born = 1000 + born;
    record.died = died == 0 ? detail::TrackingRecord::kInUse : 1000 + died;
    record.nbytes = nbytes;
    records.push_back(record);
    end = now = std::max({now, record.born + 1, 1000 + died + 1});
  }
  /// Of which record a block is.
  size_t index(const TrackingLayout::Block& block) const {
    return static_cast<size_t>(block.record - records.data());
  }
};

/// Whether every element that begins ends, in the right order, and no text has a bare < or &.
bool is_well_formed(const std::string& xml) {
  std::vector<std::string> open;
  for (size_t i = 0; i < xml.size(); ++i) {
    if (xml[i] == '&' && xml.substr(i, 6).find(';') == std::string::npos) return false;
    if (xml[i] != '<') continue;
    const size_t end = xml.find('>', i);
    if (end == std::string::npos) return false;
    const std::string tag = xml.substr(i + 1, end - i - 1);
    if (tag.find('<') != std::string::npos) return false;
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
    i = end;
  }
  return open.empty();
}

std::string picture(const TrackedBackend& tracked) {
  std::string svg = tracked.written(true);
  CHECK(is_well_formed(svg));
  CHECK(svg.size() < 1'000'000);
  return svg;
}

}  // namespace

TEST_CASE("write_svg: blocks have labels, tooltips and a legend, the peak its value and time") {
  TrackedBackend tracked;
  nanoseconds() += 500;
  tracked.make({256, 256}, "zeros");
  TrackedBackend::wait(200);
  {
    const TrackingScope scope(tracked.backend, "decoder", "src/model.cpp", 57);
    void* const b = tracked.make({64, 256}, "rand");
    TrackedBackend::wait(600);
    tracked.drop(b, 65536);
  }
  const std::string svg = picture(tracked);
  for (const char* part :
       {"<svg xmlns='http://www.w3.org/2000/svg' width='1200'", ">Memory of backend cpu</text>",
        ">2 allocations, 320 KiB in all; at most 320 KiB at once; 256 KiB still in use</text>",
        ">Float {256, 256}, 256 KiB</text>",
        "<title>262144 bytes, Float {256, 256} by zeros\nfrom 0 ns, still in use</title>",
        "<title>65536 bytes, Float {64, 256} by rand in \"decoder\" (scope at model.cpp:57)\n"
        "from 200 us to 800 us</title>",
        ">peak 320 KiB at 200 us</text>", ">(no tag): 1 allocation, peak 256 KiB</text>",
        ">decoder: 1 allocation, peak 64 KiB</text>", ">live bytes</text>", ">0 bytes</text>",
        ">64 KiB</text>", ">256 KiB</text>", ">320 KiB</text>", ">205 us</text>"}) {
    INFO(part);
    CHECK(contains(svg, part));
  }
}

TEST_CASE("write_svg: five times lie under the plot, at even distances") {
  TrackedBackend tracked;
  void* const a = tracked.make({64, 256}, "zeros");
  TrackedBackend::wait(160);  // with some room to the right
  tracked.drop(a, 65536);
  const std::string svg = picture(tracked);
  double last = 0;
  double step = 0;
  for (const char* text : {"0 ns", "41 us", "82 us", "123 us", "164 us"}) {
    INFO(text);
    const size_t end = svg.find("' text-anchor='middle'>" + std::string(text) + "</text>");
    REQUIRE(end != std::string::npos);
    const double x = std::stod(svg.substr(svg.rfind("<text x='", end) + 9));
    if (step != 0) CHECK(std::abs(x - last - step) < 1);
    if (last != 0) step = x - last;
    last = x;
  }
  CHECK(step > 100);
}

TEST_CASE("write_svg: without allocations it is an empty plot") {
  TrackedBackend tracked;
  CHECK(contains(picture(tracked),
                 ">0 allocations, 0 bytes in all; at most 0 bytes at once; 0 bytes still in use<"));
  REQUIRE(tracked.backend.init({{"max_events", 0}}) == Error::Ok);
  TrackedBackend::wait(7);
  tracked.make({1});
  CHECK(contains(picture(tracked), ">After 7 us there was no room for 1 event.</text>"));
}

TEST_CASE("write_svg: tags may be any text") {
  TrackedBackend tracked;
  const TrackingScope scope(tracked.backend,
                            "<a href=\"x\">&\xff\n tag that is much longer than it");
  tracked.make({2, 3});
  CHECK(contains(picture(tracked),
                 "&lt;a href=\"x\"&gt;&amp;\xef\xbf\xbd  tag that is muc\xe2\x80\xa6"));
}

TEST_CASE("write_svg: of very many blocks the largest are drawn, and the picture says so") {
  TrackedBackend tracked;
  REQUIRE(tracked.backend.init({{"max_events", 6000}}) == Error::Ok);
  for (int i = 0; i < 4000; ++i) {
    const std::string tag = "layer " + std::to_string(i % 12);
    const TrackingScope scope(tracked.backend, tag.c_str());
    void* const p = tracked.make({1 + i % 12});
    TrackedBackend::wait(1);
    tracked.drop(p, sizeof(float) * static_cast<size_t>(1 + i % 12));
  }
  const std::string svg = picture(tracked);
  size_t titles = 0;
  for (size_t i = 0; (i = svg.find("<title>", i)) != std::string::npos; ++i) ++titles;
  CHECK(titles == 1000);
  CHECK(contains(svg,
                 ">The largest 1,000 blocks are drawn, the line counts all. After 3 ms there "
                 "was no room for 2,000 events.</text>"));
  CHECK(contains(svg, ">layer 8: 333 allocations, peak 36 bytes</text>"));
  CHECK(contains(svg, ">3 later tags</text>"));
  CHECK_FALSE(contains(svg, ">layer 9: "));
}

TEST_CASE("tracking layout: blocks that live together do not overlap, none is higher than needed") {
  Timeline t;
  t.add(0, 1000, 10);
  t.add(10, 20, 5);
  t.add(15, 400, 7);
  t.add(30, 60, 100);
  t.add(500, 600, 3);
  const TrackingLayout layout(t);
  REQUIRE(layout.blocks.size() == 5);
  const uint64_t offsets[] = {0, 10, 110, 10, 10};
  for (const TrackingLayout::Block& block : layout.blocks) {
    CHECK(block.offset == offsets[t.index(block)]);
  }
  CHECK(layout.top == 117);
  CHECK(layout.peak == 117);
  CHECK(layout.peak_time == 1030);
}

TEST_CASE("tracking layout: the line has the most bytes of each column") {
  Timeline t;
  t.add(0, 5000, 10);
  t.add(2000, 2001, 4);
  t.add(2002, 0, 1);
  const TrackingLayout layout(t);
  CHECK(layout.first == 1000);
  CHECK(layout.last == 6126);  // some room to the right; a column is 5.126 ns
  REQUIRE(layout.line.size() == TrackingLayout::kColumns + 1);
  CHECK(layout.peak == 14);
  for (size_t i = 0; i < layout.line.size(); ++i) {
    INFO(i);
    CHECK(layout.line[i] == (i < 390 ? 10 : i == 390 ? 14 : i < 976 ? 11 : 1));
  }
}

TEST_CASE("tracking layout: nothing is after the end of a timeline that became full") {
  Timeline t;
  t.add(0, 30, 10);
  t.add(10, 90, 20);
  t.dropped = 5;
  t.end = 1050;
  const TrackingLayout layout(t);
  CHECK(layout.last == 1031);
  CHECK(t.index(layout.blocks[0]) == 1);
  CHECK(layout.blocks[0].died == 1031);
  CHECK(layout.blocks[1].died == 1030);
  CHECK(layout.line.back() == 20);
}

TEST_CASE("tracking layout: a single block lasts until now, and without any there is no line") {
  Timeline t;
  CHECK(TrackingLayout(t).line.empty());
  t.add(5, 0, 8);
  t.end = t.now = 1105;
  const TrackingLayout layout(t);
  CHECK(layout.first == 1005);
  CHECK(layout.last == 1105);
  CHECK(layout.blocks[0].died == 1105);
}

TEST_CASE("tracking layout: of very many, the largest are left") {
  Timeline t;
  for (uint64_t i = 0; i < 6000; ++i) t.add(100 * i, 100 * i + 50, i % 6 == 0 ? 1000 : 1);
  const TrackingLayout layout(t);
  REQUIRE(layout.blocks.size() == TrackingLayout::kMaxBlocks);
  for (const TrackingLayout::Block& block : layout.blocks) CHECK(t.index(block) % 6 == 0);
  CHECK(layout.peak == 1000);
}

}  // namespace tracking_svg_test
