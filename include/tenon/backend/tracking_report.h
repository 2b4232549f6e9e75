// SPDX-License-Identifier: MIT
// What TrackingBackend records, as text: a timeline, words for its numbers, a Chrome trace.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/config.h"
#include "tenon/core/dims.h"
#include "tenon/core/error.h"
#include "tenon/core/scalar_type.h"

TENON_BEGIN_NAMESPACE

/// A block of memory in use.
/// Ownership: the texts are valid as long as the backend.
struct MemoryLeak {
  const void* address = nullptr;
  size_t nbytes = 0;
  ScalarType type = ScalarType::Undefined;  ///< of a block of which no tensor is known
  Dims sizes;
  const char* function = "";   ///< that made the tensor, "zeros"
  const char* tag = "";        ///< of the innermost TrackingScope
  const char* file = nullptr;  ///< where that scope is, null without one
  int line = 0;
  std::vector<void*> stack;  ///< return addresses, innermost first; with the option "stack_depth"
};

/// What was allocated under one tag.
struct TagCounts {
  std::string tag;  ///< "" for what was under none
  uint64_t live_bytes = 0;
  uint64_t peak_bytes = 0;
  uint64_t total_bytes = 0;
  int64_t live_count = 0;
  int64_t total_count = 0;
};

namespace detail {

inline void count_block(TagCounts& counts, size_t nbytes) noexcept {
  ++counts.live_count;
  ++counts.total_count;
  counts.total_bytes += nbytes;
  counts.live_bytes += nbytes;
  counts.peak_bytes = (std::max)(counts.peak_bytes, counts.live_bytes);
}
inline void uncount_block(TagCounts& counts, size_t nbytes) noexcept {
  --counts.live_count;
  counts.live_bytes -= nbytes;
}

/// One block of memory, in use or not.
struct TrackingRecord : MemoryLeak {
  static constexpr uint64_t kInUse = UINT64_MAX;

  uint64_t born = 0;  // in nanoseconds; 0 if it is not on the timeline
  uint64_t died = 0;  // or kInUse
  size_t tag_index = 0;
};

/// An allocation or a deallocation.
struct TrackingEvent {
  uint64_t time;
  const TrackingRecord* record;
  bool is_birth;
  uint64_t live_bytes = 0;  // after it
};

/// A copy of what was recorded, in the order of allocation.
struct TrackingTimeline {
  std::vector<TrackingRecord> records;
  std::vector<TagCounts> tags;  // in the order of their first use, "" first
  TagCounts counts;             // of all
  int64_t dropped = 0;          // events that found no room
  uint64_t begin = 0;           // of the backend
  uint64_t end = 0;             // until when it is complete
  uint64_t now = 0;
  const char* backend = "";

  /// By time.
  std::vector<TrackingEvent> events() const {
    std::vector<TrackingEvent> events;
    events.reserve(2 * records.size());
    for (const TrackingRecord& record : records) {
      events.push_back({record.born, &record, true});
      if (record.died < now) events.push_back({record.died, &record, false});
    }
    std::sort(events.begin(), events.end(),
              [](const TrackingEvent& a, const TrackingEvent& b) { return a.time < b.time; });
    uint64_t live = 0;
    for (TrackingEvent& event : events) {
      live = event.is_birth ? live + event.record->nbytes : live - event.record->nbytes;
      event.live_bytes = live;
    }
    return events;
  }
};

/// Writes a file: write(put), where put(text) appends to it.
/// Errors: AccessFailed, naming the path.
template <class Write>
Error write_report(const char* function, const std::string& path, const Write& write) {
  const int errno_before = errno;
  struct Close {
    void operator()(std::FILE* opened) const noexcept { std::fclose(opened); }
  };
  std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "wb"));
  const bool is_open = file != nullptr;
  bool is_written = is_open;
  if (is_open) {
    write([&](const std::string& text) {
      is_written =
          is_written && std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
    });
    is_written = std::fclose(file.release()) == 0 && is_written;
  }
  const int code = std::exchange(errno, errno_before);
  if (is_written) return Error::Ok;
  return fail(Error::AccessFailed, function, ": cannot ", is_open ? "write " : "open ",
              path.c_str(), ": ", std::strerror(code));
}

// Numbers are written without printf, whose decimal point is the locale's.

/// `value`, 0 or more, with at most so many digits after the point.
inline std::string decimal_text(double value, int digits) {
  std::string text = std::to_string(static_cast<uint64_t>(value * std::pow(10, digits) + 0.5));
  const auto places = static_cast<size_t>(digits);
  if (text.size() <= places) text.insert(0, places + 1 - text.size(), '0');
  text.insert(text.size() - places, 1, '.');
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

/// In the largest unit of which it has one; each is `step` times the one before it.
inline std::string in_unit(double value, double step, std::initializer_list<const char*> units) {
  const char* const* unit = units.begin();
  for (; value >= step && unit + 1 != units.end(); ++unit) value /= step;
  return decimal_text(value, 2) + " " + *unit;
}
inline std::string bytes_text(uint64_t nbytes) {
  return in_unit(static_cast<double>(nbytes), 1024, {"bytes", "KiB", "MiB", "GiB", "TiB"});
}
inline std::string time_text(uint64_t nanoseconds) {
  return in_unit(static_cast<double>(nanoseconds), 1000, {"ns", "us", "ms", "s"});
}

/// "3 tensors", "1 tensor", "12,345 tensors".
inline std::string count_text(int64_t count, const char* noun) {
  std::string text = std::to_string(count);
  for (size_t i = text.size(); i > 3;) text.insert(i -= 3, 1, ',');
  return text + " " + noun + (count == 1 ? "" : "s");
}

/// The name of a file without its folders.
inline const char* file_name(const char* path) noexcept {
  const char* name = path == nullptr ? "" : path;
  for (const char* c = name; *c != '\0'; ++c) name = *c == '/' || *c == '\\' ? c + 1 : name;
  return name;
}

/// The order of a list of leaks: the largest first.
inline bool comes_first(const MemoryLeak& a, const MemoryLeak& b) noexcept {
  return a.nbytes != b.nbytes ? a.nbytes > b.nbytes : a.address < b.address;
}

/// "Float {32, 32}"; "" for a block of which no tensor is known.
inline std::string tensor_text(const MemoryLeak& block) {
  if (block.type == tenon::ScalarType::Undefined) return "";
  std::string text = std::string(toString(own_type(block.type))) + " {";
  for (size_t d = 0; d < block.sizes.size(); ++d) {
    text += (d == 0 ? "" : ", ") + std::to_string(block.sizes[d]);
  }
  return text + "}";
}
/// `4096 bytes, Float {32, 32} by zeros in "decoder" (scope at model.cpp:57)`.
inline std::string block_text(const MemoryLeak& block) {
  const std::string tensor = tensor_text(block);
  std::string text = std::to_string(block.nbytes) + " bytes";
  if (!tensor.empty()) text += ", " + tensor + " by " + block.function;
  if (*block.tag != '\0') text += std::string(" in \"") + block.tag + "\"";
  if (block.file == nullptr) return text;
  return text + " (scope at " + file_name(block.file) + ":" + std::to_string(block.line) + ")";
}

/// The length of the UTF-8 sequence at `text`, 0 for what is none.
inline size_t utf8_length(const char* text) noexcept {
  const auto* const c = reinterpret_cast<const unsigned char*>(text);
  if (c[0] < 0x80) return 1;
  const size_t length = c[0] < 0xc2 || c[0] > 0xf4 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
  for (size_t i = 1; i < length; ++i) {
    if ((c[i] & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and what is beyond Unicode.
  const bool is_wrong = (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] >= 0xa0) ||
                        (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] >= 0x90);
  return is_wrong ? 0 : length;
}

/// At most `limit` characters, with an ellipsis for the rest. What is not UTF-8 becomes U+FFFD, a
/// control character a space.
inline std::string clean_text(const std::string& given, size_t limit) {
  std::string clean;
  size_t cut = 0;  // where the ellipsis goes if there is one
  const char* text = given.c_str();
  for (size_t n = 0; *text != '\0'; ++n) {
    if (n + 1 == limit) cut = clean.size();
    if (n == limit) return clean.substr(0, cut) + "\xe2\x80\xa6";
    const size_t length = utf8_length(text);
    const bool is_control = static_cast<unsigned char>(*text) < 0x20 || *text == 0x7f;
    clean += length == 0 ? "\xef\xbf\xbd" : is_control ? " " : std::string(text, length);
    text += length == 0 ? 1 : length;
  }
  return clean;
}

/// A string of JSON.
inline std::string json_text(const std::string& text) {
  std::string json = "\"";
  for (const char c : clean_text(text, SIZE_MAX)) {
    if (c == '"' || c == '\\') json += '\\';
    json += c;
  }
  return json + "\"";
}

/// The timeline in the Trace Event Format, an object with "traceEvents": for each block a pair of
/// async events, and the counter "live bytes".
template <class Put>
void write_trace(const TrackingTimeline& timeline, const Put& put) {
  const auto number = [](auto value) { return std::to_string(value); };
  const auto event = [&](const char* phase, uint64_t time, const std::string& name,
                         const std::string& rest) {
    put(std::string(",\n{\"ph\":\"") + phase + R"(","pid":1,"tid":1,"ts":)" +
        decimal_text(static_cast<double>(time - timeline.begin) / 1000, 3) +
        ",\"name\":" + json_text(name) + "," + rest + "}");
  };
  const auto block = [&](const char* phase, uint64_t time, const TrackingRecord& record,
                         const std::string& args) {
    const std::string tensor = tensor_text(record);
    event(phase, time, tensor.empty() ? "block" : tensor,
          R"("cat":"memory","id":")" + number(&record - timeline.records.data() + 1) +
              "\",\"args\":{" + args + "}");
  };
  put(R"({"displayTimeUnit":"ns","otherData":{"backend":)" + json_text(timeline.backend) +
      ",\"peak_bytes\":" + number(timeline.counts.peak_bytes) +
      ",\"dropped_events\":" + number(timeline.dropped) +
      "},\"traceEvents\":[\n"
      R"({"ph":"M","pid":1,"tid":1,"name":"process_name","args":{"name":)" +
      json_text(std::string("memory of ") + timeline.backend) + "}}");
  for (const TrackingEvent& each : timeline.events()) {
    const TrackingRecord& record = *each.record;
    std::string args;
    if (each.is_birth) {
      args = "\"bytes\":" + number(record.nbytes) + ",\"function\":" + json_text(record.function) +
             ",\"tag\":" + json_text(record.tag);
      if (record.file != nullptr) {
        args += ",\"scope\":" + json_text(record.file + (":" + number(record.line)));
      }
    }
    block(each.is_birth ? "b" : "e", each.time, record, args);
    if (each.time >= timeline.end) continue;
    event("C", each.time, "live bytes", "\"args\":{\"bytes\":" + number(each.live_bytes) + "}");
  }
  // Viewers want an end for each beginning.
  for (const TrackingRecord& record : timeline.records) {
    if (record.died >= timeline.now) block("e", timeline.now, record, "\"still alive\":true");
  }
  if (timeline.dropped != 0) {
    event("i", timeline.end, number(timeline.dropped) + " later events were not recorded",
          R"("s":"g")");
  }
  put("\n]}\n");
}

}  // namespace detail
TENON_END_NAMESPACE
