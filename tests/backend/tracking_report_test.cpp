// SPDX-License-Identifier: MIT
#include "tenon/backend/tracking_report.h"

#include <map>
#include <stdexcept>

#include "backend/tracking_helpers.h"
#include "support/catch.h"

using namespace tenon;
using namespace tenon::detail;
using tests::TrackedBackend;

namespace {

/// What JSON text says. Throws std::runtime_error where it is not JSON.
struct Json {
  std::map<std::string, Json> members;
  std::vector<Json> items;
  std::string text;  // of a string, escapes left, or of a number

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
    if (take('{')) {
      if (take('}')) return json;
      do {
        expect(take('"'));
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
    } else if (take('"')) {
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

Json trace(const TrackedBackend& tracked) {
  const std::string text = tracked.written(false);
  return JsonReader(text).read_all();
}

/// "ph ts name", and of a counter its bytes.
std::string summary(const Json& event) {
  const std::string phase = event["ph"].text;
  return phase + " " + (phase == "M" ? "" : event["ts"].text + " ") + event["name"].text +
         (phase == "C" ? " " + event["args"]["bytes"].text : "");
}

}  // namespace

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
  CHECK(bytes_text(size_t{5000} << 40) == "5000 TiB");
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

  const Json json = trace(tracked);
  CHECK(json["displayTimeUnit"].text == "ns");
  CHECK(json["otherData"]["backend"].text == "cpu");
  CHECK(json["otherData"]["peak_bytes"].text == "34");
  CHECK(json["otherData"]["dropped_events"].text == "0");
  const std::vector<Json>& events = json["traceEvents"].items;
  const char* const expected[] = {
      "M process_name",        "b 5 Float {2, 3}", "C 5 live bytes 24", "b 5.001 block",
      "C 5.001 live bytes 34", "e 6 Float {2, 3}", "C 6 live bytes 10", "e 7 block"};
  REQUIRE(events.size() == 8);
  for (size_t i = 0; i < 8; ++i) {
    CHECK(summary(events[i]) == expected[i]);
    CHECK(events[i]["pid"].text == "1");
    CHECK(events[i]["tid"].text == "1");
    if (events[i].members.count("cat") == 0) continue;
    CHECK(events[i]["cat"].text == "memory");
    CHECK(events[i]["id"].text == (events[i]["name"].text == "block" ? "2" : "1"));
  }
  const Json& args = events[1]["args"];
  CHECK(args["bytes"].text == "24");
  CHECK(args["function"].text == "zeros");
  CHECK(args["tag"].text == "de\\\"coder");
  CHECK(args["site"].text == "src/model.cpp:57");
  CHECK(events[7]["args"]["still alive"].text == "true");
}

TEST_CASE("write_chrome_trace: it says what was not recorded, and counts no further") {
  TrackedBackend tracked;
  REQUIRE(tracked.backend.init({{"max_events", 2}}) == Error::Ok);
  void* const a = tracked.make({1});
  TrackedBackend::wait(3);
  tracked.drop(tracked.make({1}), 4);
  TrackedBackend::wait(3);
  tracked.drop(a, 4);
  const std::vector<Json> events = trace(tracked)["traceEvents"].items;
  REQUIRE(events.size() == 5);
  CHECK(summary(events[1]) == "b 0.001 Float {1}");
  CHECK(summary(events[2]) == "C 0.001 live bytes 4");
  CHECK(summary(events[3]) == "e 6 Float {1}");
  CHECK(summary(events[4]) == "i 3 2 later events were not recorded");
}

TEST_CASE("write_chrome_trace: it may be long, or of no allocations") {
  TrackedBackend tracked;
  CHECK(trace(tracked)["traceEvents"].items.size() == 1);
  for (int i = 0; i < 3000; ++i) tracked.drop(tracked.make({1}), 4);
  CHECK(trace(tracked)["traceEvents"].items.size() == 1 + 4 * 3000);
}
