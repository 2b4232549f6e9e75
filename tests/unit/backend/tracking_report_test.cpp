// SPDX-License-Identifier: MIT
#include "tenon/backend/tracking_report.h"

#include "backend/tracking_helpers.h"
#include "support/catch.h"

namespace tracking_report_test {

using namespace tenon;
using namespace tenon::detail;
using tests::TrackedBackend;

TEST_CASE("tracking report: numbers have units that read well, and no needless digits") {
  CHECK(decimal_text(0, 2) == "0");
  CHECK(decimal_text(1.5, 2) == "1.5");
  CHECK(decimal_text(1.005, 1) == "1");
  CHECK(decimal_text(0.005, 3) == "0.005");
  CHECK(decimal_text(20, 2) == "20");
  CHECK(decimal_text(1234567, 1) == "1234567");
  CHECK(bytes_text(0) == "0 bytes");
  CHECK(bytes_text(1023) == "1023 bytes");
  CHECK(bytes_text(1024) == "1 KiB");
  CHECK(bytes_text(1536 * 1024) == "1.5 MiB");
  CHECK(bytes_text(uint64_t{5000} << 40) == "5000 TiB");
  CHECK(time_text(0) == "0 ns");
  CHECK(time_text(1250) == "1.25 us");
  CHECK(time_text(2000000) == "2 ms");
  CHECK(time_text(90000000000) == "90 s");
  CHECK(count_text(1, "tensor") == "1 tensor");
  CHECK(count_text(0, "tensor") == "0 tensors");
  CHECK(count_text(999, "tensor") == "999 tensors");
  CHECK(count_text(1234567, "tensor") == "1,234,567 tensors");
  CHECK(file_name("/home/a/model.cpp") == std::string("model.cpp"));
  CHECK(file_name("src\\model.cpp") == std::string("model.cpp"));
}

TEST_CASE("tracking report: text is cut by characters, and is always UTF-8 without controls") {
  CHECK(clean_text("abcd", 4) == "abcd");
  CHECK(clean_text("abcde", 4) == "abc\xe2\x80\xa6");
  CHECK(clean_text("\xc3\xa4\xc3\xb6\xc3\xbc", 2) == "\xc3\xa4\xe2\x80\xa6");
  CHECK(clean_text("\xf0\x9f\x98\x80", 9) == "\xf0\x9f\x98\x80");
  CHECK(clean_text("a\n\x7f\x1f", 9) == "a   ");
  for (const char* wrong :
       {"\x80", "\xc0\xaf", "\xe2\x82", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"}) {
    CHECK(tests::contains(clean_text(wrong, 9), "\xef\xbf\xbd"));
  }
  CHECK(json_text("a\"b\\c\t") == "\"a\\\"b\\\\c \"");
  CHECK(json_text("\xc3\xa4") == "\"\xc3\xa4\"");
}

TEST_CASE("write_chrome_trace: each block is a pair of events, with a counter of live bytes") {
  TrackedBackend tracked;
  TrackedBackend::wait(5);
  void* a = nullptr;
  {
    const TrackingScope scope(tracked.backend, "de\"coder", "src/model.cpp", 57);
    a = tracked.make({2, 3}, "zeros");
    tracked.backend.allocate(10, 8);  // at the same time, but after it
  }
  TrackedBackend::wait(1);
  tracked.drop(a, 24);
  TrackedBackend::wait(1);
  // clang-format off
  CHECK(tracked.written(false) ==
R"({"displayTimeUnit":"ns","otherData":{"backend":"cpu","peak_bytes":34,)"
R"("dropped_events":0},"traceEvents":[
{"ph":"M","pid":1,"tid":1,"name":"process_name","args":{"name":"memory of cpu"}},
{"ph":"b","pid":1,"tid":1,"ts":5,"name":"Float {2, 3}","cat":"memory","id":"1",)"
R"("args":{"bytes":24,"function":"zeros","tag":"de\"coder","scope":"src/model.cpp:57"}},
{"ph":"C","pid":1,"tid":1,"ts":5,"name":"live bytes","args":{"bytes":24}},
{"ph":"b","pid":1,"tid":1,"ts":5.001,"name":"block","cat":"memory","id":"2",)"
R"("args":{"bytes":10,"function":"","tag":"de\"coder","scope":"src/model.cpp:57"}},
{"ph":"C","pid":1,"tid":1,"ts":5.001,"name":"live bytes","args":{"bytes":34}},
{"ph":"e","pid":1,"tid":1,"ts":6,"name":"Float {2, 3}","cat":"memory","id":"1","args":{}},
{"ph":"C","pid":1,"tid":1,"ts":6,"name":"live bytes","args":{"bytes":10}},
{"ph":"e","pid":1,"tid":1,"ts":7,"name":"block","cat":"memory","id":"2","args":{"still alive":true}}
]}
)");
  // clang-format on
}

TEST_CASE("write_chrome_trace: it says what was not recorded, and counts no further") {
  TrackedBackend tracked;
  REQUIRE(tracked.backend.init({{"max_events", 2}}) == Error::Ok);
  void* const a = tracked.make({1});
  TrackedBackend::wait(3);
  tracked.drop(tracked.make({1}), 4);
  TrackedBackend::wait(3);
  tracked.drop(a, 4);
  const std::string text = tracked.written(false);
  size_t at = 0;
  for (const char* part :
       {R"({"ph":"b","pid":1,"tid":1,"ts":0.001,)", R"({"ph":"C","pid":1,"tid":1,"ts":0.001,)",
        R"({"ph":"e","pid":1,"tid":1,"ts":6,)",
        R"({"ph":"i","pid":1,"tid":1,"ts":3,"name":"2 later events were not recorded","s":"g"})"}) {
    INFO(part);
    at = text.find(part, at + 1);
    CHECK(at != std::string::npos);
  }
  CHECK(std::count(text.begin(), text.end(), '\n') == 7);
}

TEST_CASE("write_chrome_trace: it may be long, or of no allocations") {
  TrackedBackend tracked;
  const auto lines = [&] {
    const std::string text = tracked.written(false);
    return std::count(text.begin(), text.end(), '\n');
  };
  CHECK(lines() == 3);
  for (int i = 0; i < 3000; ++i) tracked.drop(tracked.make({1}), 4);
  CHECK(lines() == 3 + 4 * 3000);
}

}  // namespace tracking_report_test
