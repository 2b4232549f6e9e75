// SPDX-License-Identifier: MIT
// The records of a TrackingBackend: blocks and counts, and how they are written as text and trace.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/dims.h"

#if __has_include(<execinfo.h>) && (defined(__GLIBC__) || defined(__APPLE__))
#define TENON_HAS_BACKTRACE 1
#include <execinfo.h>
#else
#define TENON_HAS_BACKTRACE 0
#endif

TENON_BEGIN_NAMESPACE

/// A block of memory in use.
/// Ownership: the texts are valid as long as the backend.
struct MemoryLeak {
  const void* address = nullptr;            ///< of the block
  size_t nbytes = 0;                        ///< as the tensor requested
  ScalarType type = ScalarType::Undefined;  ///< Undefined if the tensor is unknown
  Dims sizes;                               ///< of the block's tensor
  const char* function = "";                ///< the function that made the tensor, "zeros"
  const char* tag = "";                     ///< the tag of the innermost TrackingScope
  const char* file = nullptr;               ///< the file of that scope; null without a scope
  int line = 0;                             ///< in that file; 0 without a scope
  std::vector<void*> stack;  ///< return addresses, innermost first; empty without "stack_depth"
};

/// Counts of the allocations under one tag.
struct TagCounts {
  std::string tag;           ///< "" for allocations without a tag
  uint64_t live_bytes = 0;   ///< in use
  uint64_t peak_bytes = 0;   ///< the most bytes in use at once
  uint64_t total_bytes = 0;  ///< of all allocations
  int64_t live_count = 0;    ///< blocks in use
  int64_t total_count = 0;   ///< allocations
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

/// A block, in use or not. Times are in nanoseconds since the tracker was made.
struct TrackedBlock : MemoryLeak {
  TagCounts* counts = nullptr;  // the counts of its tag
  uint64_t born = 0;            // 0 if the block is not on the timeline
  uint64_t died = 0;            // 0 while the block is in use
};

/// A copy of the records, from which the trace is written without the lock.
struct TrackingTimeline {
  std::vector<TrackedBlock> blocks;
  std::vector<TagCounts> tags;  // in the order of their first use, "" first
  TagCounts counts;             // of all tags together
  int64_t dropped = 0;          // events after the timeline ended
  uint64_t end = 0;             // time of the first dropped event
  uint64_t now = 0;
  int64_t clock = 0;  // std::chrono::steady_clock when the tracker was made, in nanoseconds
  const char* backend = "";
};

/// The name of a file without its folders.
inline const char* file_name(const char* path) noexcept {
  const char* name = path == nullptr ? "" : path;
  for (const char* c = name; *c != '\0'; ++c) name = *c == '/' || *c == '\\' ? c + 1 : name;
  return name;
}

/// "3 blocks", "1 block".
inline std::string count_text(uint64_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// "Float {32, 32}"; "" if the block's tensor is unknown.
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
  std::string text = count_text(block.nbytes, "byte");
  if (!tensor.empty()) text += ", " + tensor + " by " + block.function;
  if (*block.tag != '\0') text += std::string(" in \"") + block.tag + "\"";
  if (block.file == nullptr) return text;
  return text + " (scope at " + file_name(block.file) + ":" + std::to_string(block.line) + ")";
}

/// The leaks in order; leaks with equal descriptions and stacks share one line. The stack follows
/// the line, one address per line.
inline std::string leaks_text(const std::vector<MemoryLeak>& leaks) {
  std::map<std::pair<std::string, std::vector<void*>>, uint64_t> counts;
  for (const MemoryLeak& leak : leaks) ++counts[{block_text(leak), leak.stack}];
  std::string text;
  for (const MemoryLeak& leak : leaks) {
    const auto found = counts.find({block_text(leak), leak.stack});
    if (found == counts.end()) continue;  // already written
    text += found->first.first;
    if (found->second > 1) text += ", " + count_text(found->second, "time");
    text += '\n';
    counts.erase(found);
#if TENON_HAS_BACKTRACE
    const auto depth = static_cast<int>(leak.stack.size());
    char** const names = depth == 0 ? nullptr : ::backtrace_symbols(leak.stack.data(), depth);
    for (int i = 0; names != nullptr && i < depth; ++i) {
      text += std::string("    ") + names[i] + "\n";
    }
    std::free(names);
#endif
  }
  return text;
}

/// A string of JSON. All bytes but plain ASCII are escaped one by one, so that the text need not be
/// UTF-8; debug/tenon_memory.py puts characters together again.
inline std::string json_text(std::string_view text) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string json = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < ' ' || byte > '~' || c == '"' || c == '\\') {
      json += {'\\', 'u', '0', '0', kDigits[byte / 16], kDigits[byte % 16]};
    } else {
      json += c;
    }
  }
  return json + "\"";
}
inline std::string json_counts(const TagCounts& counts) {
  return "{\"tag\":" + json_text(counts.tag) +
         ",\"live_bytes\":" + std::to_string(counts.live_bytes) +
         ",\"peak_bytes\":" + std::to_string(counts.peak_bytes) +
         ",\"total_bytes\":" + std::to_string(counts.total_bytes) +
         ",\"live_count\":" + std::to_string(counts.live_count) +
         ",\"total_count\":" + std::to_string(counts.total_count) + "}";
}

/// Writes an object of the Trace Event Format, a line for each event, in the order of their times:
/// a pair of async events for each block, and the counter "live bytes".
inline void write_trace(std::FILE* file, const TrackingTimeline& timeline) {
  const auto put = [&](const std::string& text) { std::fputs(text.c_str(), file); };
  const std::string backend = timeline.backend;
  put(R"({"displayTimeUnit":"ns","otherData":{"backend":)" + json_text(backend) + ",\"clock_ns\":" +
      std::to_string(timeline.clock) + ",\"dropped_events\":" + std::to_string(timeline.dropped) +
      ",\"counts\":" + json_counts(timeline.counts) + ",\"tags\":[");
  for (const TagCounts& tag : timeline.tags) {
    put((&tag == timeline.tags.data() ? "\n" : ",\n") + json_counts(tag));
  }
  put("\n]},\"traceEvents\":[\n"
      R"({"ph":"M","pid":1,"tid":1,"name":"process_name","args":{"name":)" +
      json_text("memory of " + backend) + "}}");

  struct Event {
    uint64_t time;
    const TrackedBlock* block;
    bool is_birth;
  };
  std::vector<Event> events;
  events.reserve(2 * timeline.blocks.size());
  for (const TrackedBlock& block : timeline.blocks) {
    events.push_back({block.born, &block, true});
    // Viewers need an end event for each begin event.
    events.push_back({block.died != 0 ? block.died : timeline.now, &block, false});
  }
  std::sort(events.begin(), events.end(),
            [](const Event& a, const Event& b) { return a.time < b.time; });
  const auto put_event = [&](const char* phase, uint64_t time, const std::string& name,
                             const std::string& rest) {
    put(std::string(",\n{\"ph\":\"") + phase + R"(","pid":1,"tid":1,"ts":)" +
        std::to_string(time / 1000) + "." + std::to_string(1000 + time % 1000).substr(1) +
        ",\"name\":" + json_text(name) + "," + rest + "}");
  };
  uint64_t live_bytes = 0;
  for (const Event& event : events) {
    const TrackedBlock& block = *event.block;
    std::string args;
    if (event.is_birth) {
      args = "\"bytes\":" + std::to_string(block.nbytes) +
             ",\"function\":" + json_text(block.function) + ",\"tag\":" + json_text(block.tag);
      if (block.file != nullptr) {
        args += ",\"scope\":" + json_text(block.file + (":" + std::to_string(block.line)));
      }
    } else if (block.died == 0) {
      args = "\"still alive\":true";
    }
    const std::string tensor = tensor_text(block);
    put_event(event.is_birth ? "b" : "e", event.time, tensor.empty() ? "block" : tensor,
              R"("cat":"memory","id":")" +
                  std::to_string(event.block - timeline.blocks.data() + 1) + "\",\"args\":{" +
                  args + "}");
    live_bytes = event.is_birth ? live_bytes + block.nbytes : live_bytes - block.nbytes;
    const bool is_after_end = timeline.dropped != 0 && event.time >= timeline.end;
    if (is_after_end || event.time == timeline.now) continue;
    put_event("C", event.time, "live bytes",
              "\"args\":{\"bytes\":" + std::to_string(live_bytes) + "}");
  }
  if (timeline.dropped != 0) {
    put_event("i", timeline.end,
              std::to_string(timeline.dropped) + " later events were not recorded", R"("s":"g")");
  }
  put("\n]}\n");
}

/// Errors: AccessFailed, naming the path.
inline Error write_chrome_trace(const std::string& path, const TrackingTimeline& timeline) {
  const KeepErrno keep;
  struct Close {
    void operator()(std::FILE* opened) const noexcept { std::fclose(opened); }
  };
  std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "wb"));
  const bool is_open = file != nullptr;
  bool is_written = false;
  if (is_open) {
    write_trace(file.get(), timeline);
    is_written = std::ferror(file.get()) == 0;
    is_written = std::fclose(file.release()) == 0 && is_written;
  }
  const int code = errno;
  if (is_written) return Error::Ok;
  return fail(Error::AccessFailed, "write_chrome_trace: cannot ", is_open ? "write " : "open ",
              path.c_str(), ": ", std::strerror(code));
}

}  // namespace detail
TENON_END_NAMESPACE
