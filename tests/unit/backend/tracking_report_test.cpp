// SPDX-License-Identifier: MIT
// tests/tools/debugger/check_memory.py tests the script that reads a trace.
#include "tenon/backend/tracking_report.h"

#include <chrono>
#include <regex>

#include "backend/tracking_helpers.h"
#include "support/catch.h"

namespace tracking_report_test {

using namespace tenon;
using namespace tenon::detail;
using namespace tests;

namespace {

/// The times in a trace, in microseconds.
std::vector<double> times_in(const std::string& trace) {
  const std::regex time("\"ts\":([0-9]+\\.[0-9]{3}),");
  std::vector<double> times;
  for (std::sregex_iterator at(trace.begin(), trace.end(), time), end; at != end; ++at) {
    times.push_back(std::stod((*at)[1]));
  }
  return times;
}

int64_t lines_of(const std::string& trace) {
  return static_cast<int64_t>(std::count(trace.begin(), trace.end(), '\n'));
}

}  // namespace

TEST_CASE("tracking report: counts have the plural, files no folders") {
  CHECK(count_text(1, "block") == "1 block");
  CHECK(count_text(0, "block") == "0 blocks");
  CHECK(count_text(1234567, "byte") == "1234567 bytes");
  CHECK(file_name("/home/a/model.cpp") == std::string("model.cpp"));
  CHECK(file_name("src\\model.cpp") == std::string("model.cpp"));
  CHECK(file_name(nullptr) == std::string());
}

TEST_CASE("tracking report: any text is a string of JSON in ASCII") {
  CHECK(json_text("") == "\"\"");
  CHECK(json_text("a ~") == "\"a ~\"");
  CHECK(json_text("a\"b\\c\t\x7f") == R"("a\u0022b\u005cc\u0009\u007f")");
  CHECK(json_text("\xc3\xa4") == R"("\u00c3\u00a4")");
  CHECK(json_text("\xff\x80") == R"("\u00ff\u0080")");  // not UTF-8
}

TEST_CASE("write_chrome_trace: each block is a pair of events, with a counter of live bytes") {
  TrackedBackend tracked;
  void* a = nullptr;
  {
    const TrackingScope scope(tracked.backend, "de\"coder", "src/model.cpp", 57);
    a = tracked.make({2, 3}, "zeros");
    tracked.backend.allocate(10, 8);
  }
  tracked.drop(a, 24);
  const std::string trace = tracked.trace();
  // clang-format off
  CHECK(std::regex_replace(trace, std::regex("\"(ts|clock_ns)\":[0-9.]+"), "\"$1\":0") ==
R"({"displayTimeUnit":"ns","otherData":{"backend":"cpu","clock_ns":0,"dropped_events":0,)"
R"("counts":{"tag":"","live_bytes":10,"peak_bytes":34,"total_bytes":34,"live_count":1,"total_count":2},"tags":[
{"tag":"","live_bytes":0,"peak_bytes":0,"total_bytes":0,"live_count":0,"total_count":0},
{"tag":"de\u0022coder","live_bytes":10,"peak_bytes":34,"total_bytes":34,"live_count":1,"total_count":2}
]},"traceEvents":[
{"ph":"M","pid":1,"tid":1,"name":"process_name","args":{"name":"memory of cpu"}},
{"ph":"b","pid":1,"tid":1,"ts":0,"name":"Float {2, 3}","cat":"memory","id":"1",)"
R"("args":{"bytes":24,"function":"zeros","tag":"de\u0022coder","scope":"src/model.cpp:57"}},
{"ph":"C","pid":1,"tid":1,"ts":0,"name":"live bytes","args":{"bytes":24}},
{"ph":"b","pid":1,"tid":1,"ts":0,"name":"block","cat":"memory","id":"2",)"
R"("args":{"bytes":10,"function":"","tag":"de\u0022coder","scope":"src/model.cpp:57"}},
{"ph":"C","pid":1,"tid":1,"ts":0,"name":"live bytes","args":{"bytes":34}},
{"ph":"e","pid":1,"tid":1,"ts":0,"name":"Float {2, 3}","cat":"memory","id":"1","args":{}},
{"ph":"C","pid":1,"tid":1,"ts":0,"name":"live bytes","args":{"bytes":10}},
{"ph":"e","pid":1,"tid":1,"ts":0,"name":"block","cat":"memory","id":"2","args":{"still alive":true}}
]}
)");
  // clang-format on
  const std::vector<double> times = times_in(trace);
  REQUIRE(times.size() == 7);
  CHECK(std::is_sorted(times.begin(), times.end()));
  // Each event has a time of its own, which its counter shares.
  CHECK(times[0] > 0);
  CHECK(times[0] == times[1]);
  CHECK(times[1] < times[2]);
  CHECK(times[3] < times[4]);
  CHECK(times[5] < times[6]);
}

TEST_CASE("write_chrome_trace: it says what was not recorded, and counts no further") {
  TrackedBackend tracked;
  REQUIRE(tracked.backend.init({{"max_events", 2}}) == Error::Ok);
  void* const a = tracked.make({1});
  tracked.drop(tracked.make({1}), 4);
  tracked.drop(a, 4);
  const std::string trace = tracked.trace();
  CHECK(contains(trace, "\"dropped_events\":2,"));
  size_t at = 0;
  for (const char* part : {"{\"ph\":\"b\"", "{\"ph\":\"C\"", "{\"ph\":\"e\"", "{\"ph\":\"i\"",
                           R"("name":"2 later events were not recorded","s":"g"})"}) {
    INFO(part);
    at = trace.find(part, at + 1);
    CHECK(at != std::string::npos);
  }
  CHECK(lines_of(trace) == 9);
  const std::vector<double> times = times_in(trace);
  REQUIRE(times.size() == 4);
  CHECK(times[3] > times[0]);  // the end, between the allocation and the deallocation
  CHECK(times[3] < times[2]);
}

}  // namespace tracking_report_test
