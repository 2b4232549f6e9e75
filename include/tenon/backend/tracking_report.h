// SPDX-License-Identifier: MIT
// What TrackingBackend reports as text: numbers for readers, a Chrome trace, and how it gets to a file.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tenon/backend/tracking_log.h"
#include "tenon/config.h"
#include "tenon/core/error.h"
#include "tenon/core/scalar_type.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// A file that text is written to, in pieces. After a failure nothing more is.
class ReportFile {
 public:
  explicit ReportFile(const std::string& path)
      : path_(path), file_(std::fopen(path.c_str(), "wb")) {
    if (file_ == nullptr) code_ = errno;
  }
  ReportFile(const ReportFile&) = delete;
  ReportFile& operator=(const ReportFile&) = delete;
  ~ReportFile() {
    if (file_ != nullptr) std::fclose(file_);
  }

  bool is_open() const noexcept { return file_ != nullptr; }
  void write(const std::string& text) noexcept {
    if (code_ != 0) return;
    errno = 0;
    if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) {
      code_ = errno != 0 ? errno : EIO;
    }
  }
  /// Closes it.
  /// Errors: AccessFailed, naming the path, when something was not written.
  Error finish() noexcept {
    const char* const what = file_ == nullptr ? "cannot open " : "cannot write ";
    if (file_ != nullptr && std::fclose(file_) != 0 && code_ == 0) code_ = errno;
    file_ = nullptr;
    if (code_ == 0) return Error::Ok;
    return fail(Error::AccessFailed,
                {what, path_.c_str(), ": ", static_cast<const char*>(std::strerror(code_))});
  }

 private:
  const std::string& path_;
  std::FILE* file_;
  int code_ = 0;
};

// Numbers are written without printf, whose decimal point is the locale's.

/// `value` with at most so many digits after the point, zeros at the end left away unless `is_fixed`.
inline std::string decimal_text(double value, int digits, bool is_fixed = false) {
  double scale = 1;
  for (int i = 0; i < digits; ++i) scale *= 10;
  const bool is_negative = value < 0;
  const auto scaled = static_cast<uint64_t>((is_negative ? -value : value) * scale + 0.5);
  std::string text = std::to_string(scaled);
  if (text.size() <= static_cast<size_t>(digits)) {
    text.insert(0, static_cast<size_t>(digits) + 1 - text.size(), '0');
  }
  if (digits != 0) {
    text.insert(text.size() - static_cast<size_t>(digits), 1, '.');
    while (!is_fixed && text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
  }
  return is_negative && scaled != 0 ? "-" + text : text;
}

/// A unit in which a number of bytes or nanoseconds reads well.
struct ReportUnit {
  double size;
  const char* name;
};
inline ReportUnit unit_of_bytes(double nbytes) noexcept {
  constexpr ReportUnit kUnits[] = {
      {1099511627776.0, "TiB"}, {1073741824.0, "GiB"}, {1048576.0, "MiB"}, {1024.0, "KiB"}};
  for (const ReportUnit& unit : kUnits) {
    if (nbytes >= unit.size) return unit;
  }
  return {1, "bytes"};
}
inline ReportUnit unit_of_time(double nanoseconds) noexcept {
  constexpr ReportUnit kUnits[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};
  for (const ReportUnit& unit : kUnits) {
    if (nanoseconds >= unit.size) return unit;
  }
  return {1, "ns"};
}
inline std::string in_unit(double value, const ReportUnit& unit) {
  return decimal_text(value / unit.size, 2) + " " + unit.name;
}
inline std::string bytes_text(uint64_t nbytes) {
  const auto value = static_cast<double>(nbytes);
  return in_unit(value, unit_of_bytes(value));
}
inline std::string time_text(double nanoseconds) {
  return in_unit(nanoseconds, unit_of_time(nanoseconds));
}

/// "3 tensors", "1 tensor", "12,345 tensors".
inline std::string count_text(uint64_t count, const char* noun) {
  std::string text = std::to_string(count);
  for (size_t i = text.size(); i > 3;) text.insert(i -= 3, 1, ',');
  return text + " " + noun + (count == 1 ? "" : "s");
}

/// "Float {32, 32}".
inline std::string tensor_text(ScalarType type, const Dims& sizes) {
  std::string text = toString(type);
  text += " {";
  for (int64_t size : sizes) {
    if (text.back() != '{') text += ", ";
    text += std::to_string(size);
  }
  return text + "}";
}
/// The same; "" for a block of which no tensor is known.
inline std::string tensor_text(const TrackingRecord& record) {
  return record.knows_tensor() ? tensor_text(record.type, record.sizes) : std::string();
}

/// The name of a file without its folders.
inline const char* file_name(const char* path) noexcept {
  const char* name = path;
  for (const char* c = path; *c != '\0'; ++c) {
    if (*c == '/' || *c == '\\') name = c + 1;
  }
  return name;
}
/// "model.cpp:57"; "" where no scope says it.
inline std::string place_text(const char* file, int line) {
  return file == nullptr ? std::string()
                         : std::string(file_name(file)) + ":" + std::to_string(line);
}

/// The length of the UTF-8 sequence at `text`, 0 for what is none.
inline size_t utf8_length(const char* text) noexcept {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xc2 && first < 0xe0   ? 2
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and what is beyond Unicode.
  const bool is_wrong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) >= 0xa0) ||
                        (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) >= 0x90);
  return is_wrong ? 0 : length;
}

/// At most `limit` characters of a text, with an ellipsis for the rest; what is not UTF-8 becomes
/// U+FFFD.
inline std::string clean_text(const char* text, size_t limit) {
  std::string clean;
  size_t cut = 0;  // where the ellipsis goes if there is one
  for (size_t n = 0; *text != '\0'; ++n) {
    if (n + 1 == limit) cut = clean.size();
    if (n == limit) return clean.substr(0, cut) + "\xe2\x80\xa6";
    const size_t length = utf8_length(text);
    length == 0 ? clean.append("\xef\xbf\xbd") : clean.append(text, length);
    text += length == 0 ? 1 : length;
  }
  return clean;
}

inline std::string json_text(const char* text) {
  std::string json = "\"";
  for (const char c : clean_text(text, SIZE_MAX)) {
    if (c == '"' || c == '\\') json += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) {
      json += c;
    } else {
      constexpr char kHex[] = "0123456789abcdef";
      json += c < 0x10 ? "\\u000" : "\\u001";
      json += kHex[c & 15];
    }
  }
  return json + "\"";
}

/// An allocation or a deallocation.
struct TrackingEvent {
  uint64_t time;
  size_t record;
  bool is_birth;
};
/// In the order of time.
inline std::vector<TrackingEvent> events_of(const TrackingTimeline& timeline) {
  std::vector<TrackingEvent> events;
  events.reserve(2 * timeline.records.size());
  for (size_t i = 0; i < timeline.records.size(); ++i) {
    const TrackingRecord& record = timeline.records[i];
    events.push_back({record.born, i, true});
    if (!record.is_alive) events.push_back({record.died, i, false});
  }
  std::sort(events.begin(), events.end(),
            [](const TrackingEvent& a, const TrackingEvent& b) { return a.time < b.time; });
  return events;
}

/// The timeline in the Trace Event Format, an object with "traceEvents": for each block a pair of
/// async events, and the counter "live bytes".
class ChromeTrace {
 public:
  ChromeTrace(const TrackingTimeline& timeline, ReportFile& file)
      : timeline_(timeline), file_(file) {}

  void write() {
    text_ =
        "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"backend\":" + json_text(timeline_.backend) +
        ",\"peak_bytes\":" + std::to_string(timeline_.counts.peak_bytes) +
        ",\"total_count\":" + std::to_string(timeline_.counts.total_count) +
        ",\"dropped_events\":" + std::to_string(timeline_.dropped) +
        ",\"untracked_count\":" + std::to_string(timeline_.untracked) +
        "},\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":1,\"tid\":0,\"name\":\"process_name\"," +
        "\"args\":{\"name\":" + json_text((std::string("memory of ") + timeline_.backend).c_str()) +
        "}}";
    size_t live = 0;
    for (const TrackingEvent& event : events_of(timeline_)) {
      const TrackingRecord& record = timeline_.records[event.record];
      put_async(event.is_birth ? 'b' : 'e', event.time, event.record,
                event.is_birth ? record.made_on : record.dropped_on,
                event.is_birth ? arguments(record) : "{}");
      live = event.is_birth ? live + record.nbytes : live - record.nbytes;
      if (event.time < timeline_.end()) {
        put("C", event.time, 0,
            "\"name\":\"live bytes\",\"args\":{\"bytes\":" + std::to_string(live) + "}");
      }
      flush(size_t{1} << 16);
    }
    // Viewers want an end for each beginning.
    for (size_t i = 0; i < timeline_.records.size(); ++i) {
      if (!timeline_.records[i].is_alive) continue;
      put_async('e', timeline_.now, i, timeline_.records[i].made_on, "{\"still alive\":true}");
      flush(size_t{1} << 16);
    }
    if (timeline_.dropped != 0) {
      put("i", timeline_.first_dropped, 0,
          "\"s\":\"g\",\"name\":\"" + std::to_string(timeline_.dropped) +
              " later events were not recorded\"");
    }
    text_ += "\n]}\n";
    flush(0);
  }

 private:
  void flush(size_t at_least) {
    if (text_.size() < at_least) return;
    file_.write(text_);
    text_.clear();
  }
  void put(const char* phase, uint64_t time, unsigned thread, const std::string& rest) {
    text_ += ",\n{\"ph\":\"";
    text_ += phase;
    text_ += "\",\"pid\":1,\"tid\":" + std::to_string(thread) + ",\"ts\":" +
             decimal_text(static_cast<double>(time - timeline_.begin) / 1000, 3, true) + "," +
             rest + "}";
  }
  void put_async(char phase, uint64_t time, size_t index, unsigned thread,
                 const std::string& args) {
    const char text[] = {phase, '\0'};
    const std::string tensor = tensor_text(timeline_.records[index]);
    put(text, time, thread,
        "\"cat\":\"memory\",\"id\":\"" + std::to_string(index + 1) + "\",\"name\":" +
            json_text(tensor.empty() ? "block" : tensor.c_str()) + ",\"args\":" + args);
  }
  static std::string arguments(const TrackingRecord& record) {
    std::string text = "{\"bytes\":" + std::to_string(record.nbytes);
    if (record.knows_tensor()) {
      text += std::string(",\"type\":\"") + toString(record.type) + "\",\"sizes\":[";
      for (int64_t size : record.sizes) {
        if (text.back() != '[') text += ',';
        text += std::to_string(size);
      }
      text += "],\"function\":" + json_text(record.function);
    }
    text += ",\"tag\":" + json_text(record.site->tag->text.c_str());
    if (record.site->file != nullptr) {
      text +=
          ",\"site\":" +
          json_text(
              (std::string(record.site->file) + ":" + std::to_string(record.site->line)).c_str());
    }
    return text + "}";
  }

  const TrackingTimeline& timeline_;
  ReportFile& file_;
  std::string text_;
};

}  // namespace detail
TENON_END_NAMESPACE
