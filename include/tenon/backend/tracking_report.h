// SPDX-License-Identifier: MIT
// What TrackingBackend records, as text: a timeline, words for its numbers, a Chrome trace.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
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
  counts.peak_bytes = std::max(counts.peak_bytes, counts.live_bytes);
}
inline void uncount_block(TagCounts& counts, size_t nbytes) noexcept {
  --counts.live_count;
  counts.live_bytes -= nbytes;
}

/// One block of memory, in use or not.
struct TrackingRecord : MemoryLeak {
  uint64_t born = 0;  // in nanoseconds
  uint64_t died = 0;
  size_t tag_index = 0;
  bool is_alive = false;
  bool is_on_timeline = false;
  uint16_t made_on = 0;  // threads
  uint16_t dropped_on = 0;
};

/// An allocation or a deallocation.
struct TrackingEvent {
  uint64_t time;
  size_t record;
  bool is_birth;
};

/// A copy of what was recorded, in the order of allocation.
struct TrackingTimeline {
  std::vector<TrackingRecord> records;
  std::vector<TagCounts> tags;  // in the order of their first use, "" first
  TagCounts counts;             // of all
  int64_t untracked = 0;
  int64_t dropped = 0;         // events that found no room
  uint64_t first_dropped = 0;  // when that began
  uint64_t begin = 0;          // of the backend
  uint64_t now = 0;
  const char* backend = "";

  /// Until when it is complete.
  uint64_t end() const noexcept { return dropped != 0 ? first_dropped : now; }
  /// By time.
  std::vector<TrackingEvent> events() const {
    std::vector<TrackingEvent> events;
    events.reserve(2 * records.size());
    for (size_t i = 0; i < records.size(); ++i) {
      events.push_back({records[i].born, i, true});
      if (!records[i].is_alive) events.push_back({records[i].died, i, false});
    }
    std::sort(events.begin(), events.end(),
              [](const TrackingEvent& a, const TrackingEvent& b) { return a.time < b.time; });
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
  const char* const operation = file == nullptr ? "open " : "write ";
  int code = file == nullptr ? errno : 0;
  if (file != nullptr) {
    write([&](const std::string& text) {
      if (code == 0 && std::fwrite(text.data(), 1, text.size(), file.get()) != text.size()) {
        code = errno;
      }
    });
    if (std::fclose(file.release()) != 0 && code == 0) code = errno;
  }
  const char* const reason = code == 0 ? "" : std::strerror(code);
  errno = errno_before;
  if (code == 0) return Error::Ok;
  return fail(Error::AccessFailed, function, ": cannot ", operation, path.c_str(), ": ", reason);
}

// Numbers are written without printf, whose decimal point is the locale's.

/// `value`, 0 or more, with at most so many digits after the point.
inline std::string decimal_text(double value, int digits) {
  double scale = 1;
  for (int i = 0; i < digits; ++i) scale *= 10;
  std::string text = std::to_string(static_cast<uint64_t>(value * scale + 0.5));
  const auto places = static_cast<size_t>(digits);
  if (text.size() <= places) text.insert(0, places + 1 - text.size(), '0');
  text.insert(text.size() - places, 1, '.');
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

/// In the first unit that it has one of, else the last.
struct ReportUnit {
  double size;
  const char* name;
};
inline std::string in_unit(double value, std::initializer_list<ReportUnit> units) {
  const ReportUnit* unit = units.begin();
  while (value < unit->size && unit + 1 != units.end()) ++unit;
  return decimal_text(value / unit->size, 2) + " " + unit->name;
}
inline std::string bytes_text(uint64_t nbytes) {
  return in_unit(static_cast<double>(nbytes), {{1099511627776.0, "TiB"},
                                               {1073741824.0, "GiB"},
                                               {1048576.0, "MiB"},
                                               {1024.0, "KiB"},
                                               {1, "bytes"}});
}
inline std::string time_text(double nanoseconds) {
  return in_unit(nanoseconds, {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}});
}

/// "3 tensors", "1 tensor", "12,345 tensors".
inline std::string count_text(int64_t count, const char* noun) {
  std::string text = std::to_string(count);
  for (size_t i = text.size(); i > 3;) text.insert(i -= 3, 1, ',');
  return text + " " + noun + (count == 1 ? "" : "s");
}

/// "{32, 32}", between other brackets maybe.
inline std::string sizes_text(const Dims& sizes, const char* open = "{", const char* close = "}") {
  std::string text = open;
  for (size_t d = 0; d < sizes.size(); ++d) {
    text += (d == 0 ? "" : ", ") + std::to_string(sizes[d]);
  }
  return text + close;
}
/// "Float {32, 32}"; "" for a block of which no tensor is known.
inline std::string tensor_text(tenon::ScalarType type, const Dims& sizes) {
  if (type == tenon::ScalarType::Undefined) return "";
  return std::string(toString(own_type(type))) + " " + sizes_text(sizes);
}

/// The name of a file without its folders.
inline const char* file_name(const char* path) noexcept {
  const char* name = path == nullptr ? "" : path;
  for (const char* c = name; *c != '\0'; ++c) name = *c == '/' || *c == '\\' ? c + 1 : name;
  return name;
}
/// "model.cpp:57"; "" where no scope says it.
inline std::string place_text(const char* file, int line) {
  return file == nullptr ? "" : std::string(file_name(file)) + ":" + std::to_string(line);
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

/// At most `limit` characters, with an ellipsis for the rest; what is not UTF-8 becomes U+FFFD.
inline std::string clean_text(const std::string& given, size_t limit) {
  std::string clean;
  size_t cut = 0;  // where the ellipsis goes if there is one
  const char* text = given.c_str();
  for (size_t n = 0; *text != '\0'; ++n) {
    if (n + 1 == limit) cut = clean.size();
    if (n == limit) return clean.substr(0, cut) + "\xe2\x80\xa6";
    const size_t length = utf8_length(text);
    length == 0 ? clean.append("\xef\xbf\xbd") : clean.append(text, length);
    text += length == 0 ? 1 : length;
  }
  return clean;
}

inline std::string json_text(const std::string& text) {
  std::string json = "\"";
  for (const char c : clean_text(text, SIZE_MAX)) {
    if (c == '"' || c == '\\') json += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) {
      json += c;
    } else {
      json += c < 0x10 ? "\\u000" : "\\u001";
      json += "0123456789abcdef"[c & 15];
    }
  }
  return json + "\"";
}

/// The timeline in the Trace Event Format, an object with "traceEvents": for each block a pair of
/// async events, and the counter "live bytes".
template <class Put>
void write_trace(const TrackingTimeline& timeline, const Put& put) {
  const auto number = [](auto value) { return std::to_string(value); };
  const auto event = [&](char phase, uint64_t time, unsigned thread, const std::string& rest) {
    put(std::string(",\n{\"ph\":\"") + phase + "\",\"pid\":1,\"tid\":" + number(thread) +
        ",\"ts\":" + decimal_text(static_cast<double>(time - timeline.begin) / 1000, 3) + "," +
        rest + "}");
  };
  const auto block = [&](char phase, uint64_t time, size_t index, unsigned thread,
                         const std::string& args) {
    const TrackingRecord& record = timeline.records[index];
    const std::string tensor = tensor_text(record.type, record.sizes);
    event(phase, time, thread,
          "\"cat\":\"memory\",\"id\":\"" + number(index + 1) + "\",\"name\":" +
              json_text(tensor.empty() ? "block" : tensor) + ",\"args\":{" + args + "}");
  };
  const auto arguments = [&](const TrackingRecord& record) {
    std::string text = "\"bytes\":" + number(record.nbytes);
    if (record.type != tenon::ScalarType::Undefined) {
      text += std::string(",\"type\":\"") + toString(own_type(record.type)) +
              "\",\"sizes\":" + sizes_text(record.sizes, "[", "]") +
              ",\"function\":" + json_text(record.function);
    }
    text += ",\"tag\":" + json_text(record.tag);
    if (record.file == nullptr) return text;
    return text +
           ",\"site\":" + json_text(std::string(record.file) + ":" + std::to_string(record.line));
  };
  put("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"backend\":" + json_text(timeline.backend) +
      ",\"peak_bytes\":" + number(timeline.counts.peak_bytes) + ",\"total_count\":" +
      number(timeline.counts.total_count) + ",\"dropped_events\":" + number(timeline.dropped) +
      ",\"untracked_count\":" + number(timeline.untracked) +
      "},\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":1,\"tid\":0,\"name\":\"process_name\"," +
      "\"args\":{\"name\":" + json_text(std::string("memory of ") + timeline.backend) + "}}");
  size_t live = 0;
  for (const TrackingEvent& each : timeline.events()) {
    const TrackingRecord& record = timeline.records[each.record];
    live = each.is_birth ? live + record.nbytes : live - record.nbytes;
    block(each.is_birth ? 'b' : 'e', each.time, each.record,
          each.is_birth ? record.made_on : record.dropped_on,
          each.is_birth ? arguments(record) : "");
    if (each.time >= timeline.end()) continue;
    event('C', each.time, 0, "\"name\":\"live bytes\",\"args\":{\"bytes\":" + number(live) + "}");
  }
  // Viewers want an end for each beginning.
  for (size_t i = 0; i < timeline.records.size(); ++i) {
    const TrackingRecord& record = timeline.records[i];
    if (record.is_alive) block('e', timeline.now, i, record.made_on, "\"still alive\":true");
  }
  if (timeline.dropped != 0) {
    event(
        'i', timeline.first_dropped, 0,
        "\"s\":\"g\",\"name\":\"" + number(timeline.dropped) + " later events were not recorded\"");
  }
  put("\n]}\n");
}

}  // namespace detail
TENON_END_NAMESPACE
