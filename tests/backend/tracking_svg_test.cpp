// SPDX-License-Identifier: MIT
#include "tenon/backend/tracking_svg.h"

#include <algorithm>
#include <string>
#include <vector>

#include "backend/tracking_helpers.h"
#include "support/catch.h"
#include "tenon/core/error.h"

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
    record.died = 1000 + died;
    record.is_alive = died == 0;
    record.nbytes = nbytes;
    records.push_back(record);
    now = std::max({now, record.born + 1, record.died + 1});
  }
};

/// Whether every element that begins ends, in the right order, and no text has a bare < or &.
bool is_well_formed(const std::string& xml) {
  std::vector<std::string> open;
  for (size_t i = 0; i < xml.size(); ++i) {
    if (xml[i] == '&') {
      const std::string rest = xml.substr(i, 6);
      if (rest.find(';') == std::string::npos) return false;
    }
    if (xml[i] != '<') continue;
    const size_t end = xml.find('>', i);
    if (end == std::string::npos) return false;
    const std::string tag = xml.substr(i + 1, end - i - 1);
    if (tag.find('<') != std::string::npos) return false;
    const std::string name =
        tag.substr(tag[0] == '/' ? 1 : 0, tag.find_first_of(" /", 1) - (tag[0] == '/' ? 1 : 0));
    if (tag[0] == '/') {
      if (open.empty() || open.back() != name) return false;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
    i = end;
  }
  return open.empty();
}

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t i = text.find(part); i != std::string::npos; i = text.find(part, i + 1)) ++n;
  return n;
}

std::string picture(const TrackingBackend& backend) {
  const tests::TemporaryFile file("tracking_svg_test.svg");
  CHECK(backend.write_svg(file.path) == Error::Ok);
  std::string svg = file.read();
  CHECK(is_well_formed(svg));
  CHECK(svg.size() < 1'000'000);
  return svg;
}

}  // namespace

TEST_CASE("write_svg: blocks have labels, tooltips and a legend, the peak its value and time") {
  TrackedBackend tracked;
  tests::nanoseconds() += 500;
  void* const a = tracked.make({256, 256}, "zeros");
  TrackedBackend::wait(200);
  void* b = nullptr;
  {
    const TrackingScope scope(tracked.backend, "decoder", "src/model.cpp", 57);
    b = tracked.make({64, 256}, "rand");
  }
  TrackedBackend::wait(600);
  tracked.drop(b, 65536);
  const std::string svg = picture(tracked.backend);
  CHECK(contains(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1200\""));
  CHECK(contains(svg, ">Memory of backend cpu</text>"));
  CHECK(contains(svg,
                 ">2 allocations, 320 KiB in all; at most 320 KiB at once; "
                 "1 is still in use (256 KiB)</text>"));
  CHECK(contains(svg, ">Float {256, 256}, 256 KiB</text>"));
  CHECK(contains(svg,
                 "<title>262144 bytes, Float {256, 256} by zeros\n"
                 "from 0 ns, still in use</title>"));
  CHECK(contains(svg,
                 "<title>65536 bytes, Float {64, 256} by rand in &quot;decoder&quot; "
                 "(model.cpp:57)\nfrom 200 us to 800 us</title>"));
  CHECK(contains(svg, ">peak 320 KiB at 200 us</text>"));
  CHECK(contains(svg, ">(no tag): 1 allocation, peak 256 KiB</text>"));
  CHECK(contains(svg, ">decoder: 1 allocation, peak 64 KiB</text>"));
  CHECK(contains(svg, ">live bytes</text>"));
  for (const char* tick : {">0 bytes</text>", ">64 KiB</text>", ">256 KiB</text>",
                           ">320 KiB</text>", ">205 us</text>"}) {
    CHECK(contains(svg, tick));
  }
  CHECK(count(svg, "<title>") == 2);
  tracked.drop(a, 262144);
}

TEST_CASE("write_svg: without allocations it says so") {
  TrackedBackend tracked;
  const std::string svg = picture(tracked.backend);
  CHECK(contains(svg, ">no allocations</text>"));
  CHECK(contains(svg, ">0 allocations, 0 bytes in all; at most 0 bytes at once</text>"));
}

TEST_CASE("write_svg: tags may be any text") {
  TrackedBackend tracked;
  const TrackingScope scope(tracked.backend,
                            "<a href=\"x\">&\xff\n tag that is much longer than it");
  void* const p = tracked.make({2, 3});
  const std::string svg = picture(tracked.backend);
  CHECK(
      contains(svg, "&lt;a href=&quot;x&quot;&gt;&amp;\xef\xbf\xbd  tag that is muc\xe2\x80\xa6"));
  tracked.drop(p, 24);
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
  const std::string svg = picture(tracked.backend);
  CHECK(count(svg, "<title>") == 1000);
  CHECK(contains(svg,
                 ">The largest 1,000 blocks are drawn, the line counts all. The timeline was "
                 "full after 3 ms: 2,000 later events not shown. </text>"));
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
  const size_t offsets[] = {0, 10, 110, 10, 10};
  for (const TrackingLayout::Block& block : layout.blocks)
    CHECK(block.offset == offsets[block.index]);
  CHECK(layout.top == 117);
  CHECK(layout.peak.bytes == 117);
  CHECK(layout.peak.time == 1030);
}

TEST_CASE("tracking layout: the line has the most bytes of each column") {
  Timeline t;
  t.add(0, 5000, 10);
  t.add(2000, 2001, 4);
  t.add(2002, 0, 1);
  const TrackingLayout layout(t);
  CHECK(layout.first == 1000);
  CHECK(layout.last == 6126);  // some room to the right
  REQUIRE(layout.line.size() == TrackingLayout::kColumns + 1);
  double most = 0;
  for (const TrackingLayout::Point& point : layout.line) {
    most = std::max(most, point.bytes);
    if (point.time > 1000 && point.time < 3000) CHECK(point.bytes == 10);
    if (point.time > 3010 && point.time < 6000) CHECK(point.bytes == 11);
    if (point.time > 6010) CHECK(point.bytes == 1);
  }
  CHECK(most == 14);
  CHECK(layout.line.back().time == layout.last);
}

TEST_CASE("tracking layout: nothing is after the end of a timeline that became full") {
  Timeline t;
  t.add(0, 30, 10);
  t.add(10, 90, 20);
  t.dropped = 5;
  t.first_dropped = 1050;
  const TrackingLayout layout(t);
  CHECK(layout.blocks[0].index == 1);
  CHECK_FALSE(layout.blocks[0].is_over);
  CHECK(layout.blocks[1].is_over);
  CHECK(layout.last == 1031);
  CHECK(layout.line.back().bytes == 20);
}

TEST_CASE("tracking layout: a single block lasts until now, and without any there is no line") {
  Timeline t;
  CHECK(TrackingLayout(t).line.empty());
  t.add(5, 0, 8);
  t.now = 1105;
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
  for (const TrackingLayout::Block& block : layout.blocks) CHECK(block.index % 6 == 0);
  CHECK(layout.peak.bytes == 1000);
}
