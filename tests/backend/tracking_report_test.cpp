// SPDX-License-Identifier: MIT
#include "tenon/backend/tracking_report.h"

#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "backend/tracking_helpers.h"
#include "support/catch.h"
#include "tenon/core/error.h"

using namespace tenon;
using namespace tenon::detail;
using tests::TrackedBackend;

namespace {

/// What JSON text says. Throws std::runtime_error where it is not JSON.
struct Json {
  std::map<std::string, Json> members;
  std::vector<Json> items;
  std::string text;  // of a string, escapes left, or of a number
  char kind = ' ';   // '{', '[', '"' or '0'

  const Json& operator[](const char* key) const { return members.at(key); }
};

class JsonReader {
 public:
  explicit JsonReader(const std::string& text) : at_(text.c_str()) {}
  Json read_all() {
    Json json = read();
    skip();
    expect(*at_ == '\0');
    return json;
  }

 private:
  static void expect(bool condition) {
    if (!condition) throw std::runtime_error("not JSON");
  }
  void skip() {
    while (*at_ == ' ' || *at_ == '\n') ++at_;
  }
  bool take(char c) {
    skip();
    if (*at_ != c) return false;
    ++at_;
    return true;
  }
  std::string read_string() {
    expect(take('"'));
    std::string text;
    while (*at_ != '"') {
      expect(static_cast<unsigned char>(*at_) >= 0x20);
      if (*at_ == '\\') text += *at_++;
      text += *at_++;
    }
    ++at_;
    return text;
  }
  Json read() {
    Json json;
    skip();
    json.kind = *at_ == '{' || *at_ == '[' || *at_ == '"' ? *at_ : *at_ == 't' ? 't' : '0';
    if (take('{')) {
      if (take('}')) return json;
      do {
        const std::string key = read_string();
        expect(take(':'));
        expect(json.members.emplace(key, read()).second);
      } while (take(','));
      expect(take('}'));
    } else if (take('[')) {
      if (take(']')) return json;
      do json.items.push_back(read());
      while (take(','));
      expect(take(']'));
    } else if (json.kind == '"') {
      json.text = read_string();
    } else {
      while ((*at_ >= '0' && *at_ <= '9') || *at_ == '.' || (*at_ >= 'a' && *at_ <= 'z')) {
        json.text += *at_++;
      }
      expect(!json.text.empty());
    }
    return json;
  }

  const char* at_;
};

Json trace(const TrackingBackend& backend) {
  const tests::TemporaryFile file("tracking_report_test.json");
  CHECK(backend.write_chrome_trace(file.path) == Error::Ok);
  const std::string text = file.read();
  return JsonReader(text).read_all();
}

}  // namespace

TEST_CASE("tracking report: decimals are cut to the digits that say something") {
  CHECK(decimal_text(0, 2) == "0");
  CHECK(decimal_text(1.5, 2) == "1.5");
  CHECK(decimal_text(1.005, 1) == "1");
  CHECK(decimal_text(0.005, 3) == "0.005");
  CHECK(decimal_text(20, 2) == "20");
  CHECK(decimal_text(1234567, 1) == "1234567");
}

TEST_CASE("tracking report: bytes, times and counts have units that read well") {
  CHECK(bytes_text(0) == "0 bytes");
  CHECK(bytes_text(1023) == "1023 bytes");
  CHECK(bytes_text(1024) == "1 KiB");
  CHECK(bytes_text(1536 * 1024) == "1.5 MiB");
  CHECK(bytes_text(size_t{3} << 30) == "3 GiB");
  CHECK(time_text(0) == "0 ns");
  CHECK(time_text(1250) == "1.25 us");
  CHECK(time_text(2e6) == "2 ms");
  CHECK(time_text(90e9) == "90 s");
  CHECK(count_text(1, "tensor") == "1 tensor");
  CHECK(count_text(0, "tensor") == "0 tensors");
  CHECK(count_text(999, "tensor") == "999 tensors");
  CHECK(count_text(1234567, "tensor") == "1,234,567 tensors");
}

TEST_CASE("tracking report: places are named by their file without folders") {
  CHECK(place_text("/home/a/model.cpp", 5) == "model.cpp:5");
  CHECK(place_text("src\\model.cpp", 5) == "model.cpp:5");
  CHECK(place_text(nullptr, 0).empty());
}

TEST_CASE("tracking report: text is cut by characters, and is always UTF-8") {
  CHECK(clean_text("abcd", 4) == "abcd");
  CHECK(clean_text("abcde", 4) == "abc\xe2\x80\xa6");
  CHECK(clean_text("\xc3\xa4\xc3\xb6\xc3\xbc", 2) == "\xc3\xa4\xe2\x80\xa6");
  CHECK(clean_text("\xf0\x9f\x98\x80", 9) == "\xf0\x9f\x98\x80");
  const char* const wrong[] = {"\x80",         "\xc0\xaf",         "\xe2\x82",
                               "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"};
  for (const char* text : wrong) CHECK(tests::contains(clean_text(text, 9), "\xef\xbf\xbd"));
}

TEST_CASE("tracking report: JSON strings are escaped") {
  CHECK(json_text("a\"b\\c") == "\"a\\\"b\\\\c\"");
  CHECK(json_text("\n\t\x1f") == "\"\\u000a\\u0009\\u001f\"");
  CHECK(json_text("\xc3\xa4") == "\"\xc3\xa4\"");
}

TEST_CASE("write_chrome_trace: each block is a pair of events, with a counter of live bytes") {
  TrackedBackend tracked;
  TrackedBackend::wait(5);
  void* a = nullptr;
  {
    const TrackingScope scope(tracked.backend, "de\"coder", "src/model.cpp", 57);
    a = tracked.make({2, 3}, "zeros");
  }
  tests::nanoseconds() += 250;
  void* const b = tracked.backend.allocate(10, 8);
  TrackedBackend::wait(1);
  tracked.drop(a, 24);
  TrackedBackend::wait(1);

  const Json json = trace(tracked.backend);
  CHECK(json["displayTimeUnit"].text == "ns");
  CHECK(json["otherData"]["backend"].text == "cpu");
  CHECK(json["otherData"]["peak_bytes"].text == "34");
  CHECK(json["otherData"]["dropped_events"].text == "0");
  const std::vector<Json>& events = json["traceEvents"].items;
  const char* const expected[][4] = {
      {"M", nullptr, "process_name", nullptr}, {"b", "5", "Float {2, 3}", nullptr},
      {"C", "5", "live bytes", "24"},          {"b", "5.25", "block", nullptr},
      {"C", "5.25", "live bytes", "34"},       {"e", "6.25", "Float {2, 3}", nullptr},
      {"C", "6.25", "live bytes", "10"},       {"e", "7.25", "block", nullptr}};
  REQUIRE(events.size() == 8);
  for (size_t i = 0; i < 8; ++i) {
    CHECK(events[i]["ph"].text == expected[i][0]);
    if (expected[i][1] != nullptr) CHECK(events[i]["ts"].text == expected[i][1]);
    CHECK(events[i]["name"].text == expected[i][2]);
    if (expected[i][3] != nullptr) CHECK(events[i]["args"]["bytes"].text == expected[i][3]);
    CHECK(events[i]["pid"].text == "1");
    CHECK(events[i]["tid"].kind == '0');
    if (events[i]["ph"].text == "b" || events[i]["ph"].text == "e") {
      CHECK(events[i]["cat"].text == "memory");
      CHECK(events[i]["id"].text == (events[i]["name"].text == "block" ? "2" : "1"));
    }
  }
  const Json& args = events[1]["args"];
  CHECK(args["bytes"].text == "24");
  CHECK(args["type"].text == "Float");
  REQUIRE(args["sizes"].items.size() == 2);
  CHECK(args["sizes"].items[0].text == "2");
  CHECK(args["sizes"].items[1].text == "3");
  CHECK(args["function"].text == "zeros");
  CHECK(args["tag"].text == "de\\\"coder");
  CHECK(args["site"].text == "src/model.cpp:57");
  CHECK(events[3]["args"].members.size() == 2);
  CHECK(events[7]["args"]["still alive"].text == "true");
  tracked.drop(b, 10);
}

TEST_CASE("write_chrome_trace: it says what was not recorded, and counts no further") {
  TrackedBackend tracked;
  REQUIRE(tracked.backend.init({{"max_events", 2}}) == Error::Ok);
  void* const a = tracked.make({1});
  TrackedBackend::wait(3);
  void* const b = tracked.make({1});
  tracked.drop(b, 4);
  TrackedBackend::wait(3);
  tracked.drop(a, 4);
  const std::vector<Json> events = trace(tracked.backend)["traceEvents"].items;
  REQUIRE(events.size() == 5);
  CHECK(events[1]["ph"].text == "b");
  CHECK(events[2]["ph"].text == "C");
  CHECK(events[3]["ph"].text == "e");
  CHECK(events[3]["ts"].text == "6");
  CHECK(events[4]["ph"].text == "i");
  CHECK(events[4]["ts"].text == "3");
  CHECK(events[4]["name"].text == "2 later events were not recorded");
}

TEST_CASE("write_chrome_trace: a long timeline is written in pieces") {
  TrackedBackend tracked;
  for (int i = 0; i < 3000; ++i) tracked.drop(tracked.make({1}), 4);
  CHECK(trace(tracked.backend)["traceEvents"].items.size() == 1 + 4 * 3000);
}

TEST_CASE("write_chrome_trace: without allocations it is a trace of none") {
  TrackedBackend tracked;
  CHECK(trace(tracked.backend)["traceEvents"].items.size() == 1);
}
