// SPDX-License-Identifier: MIT
// TrackingBackend: counts what the tensors of another backend allocate, finds leaks, draws
// pictures.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <iterator>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/backend/backend.h"
#include "tenon/backend/tracking_report.h"
#include "tenon/backend/tracking_svg.h"
#include "tenon/backend/wrapper.h"
#include "tenon/config.h"
#include "tenon/core/dims.h"
#include "tenon/core/error.h"

#if !TENON_HEAP || !TENON_HAS_THREADS
#error "tenon/backend/tracking.h: TrackingBackend needs the heap, threads, a clock and files"
#endif

#if __has_include(<execinfo.h>) && (defined(__GLIBC__) || defined(__APPLE__))
#define TENON_HAS_BACKTRACE 1
#include <execinfo.h>
#else
#define TENON_HAS_BACKTRACE 0
#endif

TENON_BEGIN_NAMESPACE
namespace detail {

/// What a scope says, in the list of those of the calling thread, the innermost first.
struct TrackingLink {
  const Backend& backend;
  const char* file;
  int line;
  bool refuses;  // allocations
  size_t tag;
  TrackingLink* outer;
};
TENON_EXPORT inline TrackingLink*& innermost_tracking_link() noexcept {
  static TENON_THREAD_LOCAL TrackingLink* link = nullptr;
  return link;
}
/// The innermost one of a tracker that refuses, or that tags; null without one.
inline const TrackingLink* find_tracking_link(const Backend& tracker, bool refuses) noexcept {
  const TrackingLink* link = innermost_tracking_link();
  while (link != nullptr && (&link->backend != &tracker || link->refuses != refuses)) {
    link = link->outer;
  }
  return link;
}

/// Nanoseconds.
using TrackingClock = uint64_t (*)() noexcept;
inline uint64_t steady_nanoseconds() noexcept {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

}  // namespace detail

/// Passes everything on to another backend, and counts its memory: how much is in use and was at
/// most, by which tags, what is left at the end, and when it came and went.
///
/// Counts are of blocks, in the bytes that tensors ask for: what a pool or an arena below rounds up
/// to is not in them. A resize that moves a tensor is a new block.
/// Ownership: borrows the backend, which outlives it; it outlives its tensors and its scopes.
/// The timeline takes some 90 bytes an event, up to 90 MB by default; see init().
/// Threads: those that the backend allows; one mutex. Reports copy a thousand records at a time, so
/// that no allocation waits for a whole report.
class TENON_EXPORT TrackingBackend final : public WrapperBackend {
 public:
  /// `clock` is for tests.
  explicit TrackingBackend(Backend& inner,
                           detail::TrackingClock clock = &detail::steady_nanoseconds)
      : WrapperBackend(inner), clock_(clock), tags_(1) {}
  /// Wraps a tracker, like any backend: trackers are not copied.
  /// A template for the same reason as PoolBackend's.
  template <class B, std::enable_if_t<std::is_same_v<B, TrackingBackend>, int> = 0>
  explicit TrackingBackend(B& inner) : TrackingBackend(static_cast<Backend&>(inner)) {}

  /// Lists what is still in use, the largest blocks first, to the failure handler.
  ~TrackingBackend() override;

  const char* name() const noexcept override { return "tracking"; }

  /// Options: "max_events", how many allocations and deallocations the timeline takes, 1'000'000 by
  /// default, 0 for none; each allocation takes the room of its deallocation with it, and the first
  /// one without room is where the timeline ends. "stack_depth", how many return addresses each
  /// allocation keeps, from 0, the default, to 16: that costs microseconds each.
  /// Errors: InvalidArgument; NotSupported for a "stack_depth" where there is no backtrace().
  Error init(const BackendOptions& options) override;

  void* allocate(size_t nbytes, size_t alignment) noexcept override;
  void deallocate(void* p, size_t nbytes) noexcept override;
  void on_made(const MadeTensor& tensor) noexcept override;

  uint64_t live_bytes() const noexcept { return read(counts_.live_bytes); }
  uint64_t peak_bytes() const noexcept { return read(counts_.peak_bytes); }
  uint64_t total_bytes() const noexcept { return read(counts_.total_bytes); }
  int64_t live_count() const noexcept { return read(counts_.live_count); }
  int64_t total_count() const noexcept { return read(counts_.total_count); }
  /// Allocations that a NoAllocationScope refused.
  int64_t refused_count() const noexcept { return refused_.load(std::memory_order_relaxed); }
  /// Allocations for whose record there was no memory: they are in the counts above, and nowhere
  /// else.
  int64_t untracked_count() const noexcept { return read(untracked_); }
  /// Events that found no room on the timeline.
  int64_t dropped_events() const noexcept { return read(dropped_); }

  /// The counts under each tag, in the order of their first use, "" first.
  std::vector<TagCounts> tags() const;
  /// What is in use, largest first. Blocks that come or go meanwhile are in it or not.
  std::vector<MemoryLeak> leaks() const;
  /// The same as text, a line each:
  /// `4096 bytes, Float {32, 32} by zeros in "decoder" (scope at model.cpp:57)`.
  /// With "stack_depth", their return addresses follow, a line each, which debug/tenon_stacks.py
  /// turns into the lines of the calls.
  std::string leak_report() const;

  /// Writes the timeline as Chrome trace events, for chrome://tracing and ui.perfetto.dev: each
  /// block from its allocation to its deallocation, and the counter "live bytes".
  /// Errors: AccessFailed, naming the path. What was written until then stays.
  [[nodiscard]] Error write_chrome_trace(const std::string& path) const;
  /// Writes the timeline as a picture: blocks by their time and bytes in the colours of their tags,
  /// live bytes as a line, the peak. Of more than 1000 blocks, the largest are drawn.
  /// Errors: AccessFailed, naming the path.
  [[nodiscard]] Error write_svg(const std::string& path) const;

 private:
  friend class TrackingScope;
  using Lock = std::lock_guard<std::mutex>;
  static constexpr int kMaxDepth = 16;  // of stacks
  template <class T>
  T read(const T& count) const noexcept {
    const Lock lock(mutex_);
    return count;
  }
  size_t find_tag(const char* tag) noexcept;
  /// A copy of a literal, one for each text: the library that has it may be closed before reports
  /// are written. With the mutex. Null for null and when memory is out.
  const char* intern_locked(const char* text) noexcept;
  const char* intern(const char* text) noexcept {
    const Lock lock(mutex_);
    return intern_locked(text);
  }
  /// No two times are the same, and they are in order.
  uint64_t next_time() noexcept { return last_time_ = (std::max)(clock_(), last_time_ + 1); }
  std::vector<detail::TrackingRecord> copy_records(bool of_timeline, size_t count) const;
  detail::TrackingTimeline timeline() const;

  const detail::TrackingClock clock_;
  std::atomic<int64_t> refused_{0};
  std::atomic<int64_t> stack_depth_{0};
  mutable std::mutex mutex_;
  // With the mutex. Deques, since growth moves nothing.
  TagCounts counts_;                // of all
  uint64_t max_records_ = 500'000;  // on the timeline
  uint64_t on_timeline_ = 0;
  int64_t untracked_ = 0;
  int64_t dropped_ = 0;
  uint64_t first_dropped_ = 0;
  uint64_t last_time_ = clock_();
  const uint64_t begin_ = last_time_;
  std::set<std::string, std::less<>> literals_;
  std::deque<TagCounts> tags_;                               // "" first
  std::unordered_map<std::string_view, size_t> tag_places_;  // the others, by the text in tags_
  std::deque<detail::TrackingRecord> records_;               // those on the timeline stay
  std::vector<size_t> free_;                      // the others' places when they are gone
  std::unordered_map<const void*, size_t> live_;  // their records
};

/// Tags what the calling thread allocates from the backend for as long as it lives. The innermost
/// one counts; one of the same tag elsewhere counts under the same.
///
/// Reports name the scope's line; for a temporary that is the call's:
///     auto t = (TrackingScope(tracking, "decoder"), zeros({64, 64}, tracking));
/// Ownership: borrows the backend, which outlives it; copies the texts. Scopes end in the reverse
/// order of their beginnings.
/// Threads: affects only the thread that made it, and ends on that thread.
class TrackingScope {
 public:
  explicit TrackingScope(TrackingBackend& backend, const char* tag,
                         const char* file = __builtin_FILE(), int line = __builtin_LINE()) noexcept
      : TrackingScope(backend, tag, file, line, false) {}
  TrackingScope(const TrackingScope&) = delete;
  TrackingScope& operator=(const TrackingScope&) = delete;
  ~TrackingScope() {
    // One of the other kind may have begun in between and still be there.
    detail::TrackingLink** at = &detail::innermost_tracking_link();
    while (*at != nullptr && *at != &link_) at = &(*at)->outer;
    if (*at != nullptr) *at = link_.outer;
  }

 private:
  friend class NoAllocationScope;
  TrackingScope(TrackingBackend& backend, const char* tag, const char* file, int line,
                bool refuses) noexcept
      : link_{backend,
              backend.intern(file),
              line,
              refuses,
              backend.find_tag(tag == nullptr ? "" : tag),
              detail::innermost_tracking_link()} {
    detail::innermost_tracking_link() = &link_;
  }

  detail::TrackingLink link_;
};

/// Refuses all allocations from the backend on the calling thread for as long as it lives: they
/// fail with OutOfMemory, and a text that says where the scope is, and the innermost TrackingScope.
///
/// It does not abort: the error reaches the caller as errors of memory do anyway, with the name of
/// the function that asked.
/// Ownership, threads: as for TrackingScope.
class NoAllocationScope {
 public:
  explicit NoAllocationScope(TrackingBackend& backend, const char* file = __builtin_FILE(),
                             int line = __builtin_LINE()) noexcept
      : scope_(backend, "", file, line, true) {}

 private:
  TrackingScope scope_;
};

inline Error TrackingBackend::init(const BackendOptions& options) {
  TENON_TRY(options.check_names({"max_events", "stack_depth"}));
  int64_t max_events = -1;
  int64_t depth = stack_depth_;
  TENON_TRY(options.read("max_events", 0, max_events));
  TENON_TRY(options.read("stack_depth", 0, depth, kMaxDepth));
  if (depth > 0 && !TENON_HAS_BACKTRACE) {
    return set_error(Error::NotSupported, "option \"stack_depth\" needs <execinfo.h>");
  }
  stack_depth_ = depth;
  const Lock lock(mutex_);
  if (max_events >= 0) max_records_ = static_cast<uint64_t>(max_events) / 2;
  return Error::Ok;
}

inline TrackingBackend::~TrackingBackend() {
  if (live_.empty()) return;
  detail::has_memory_for([&] {
    const std::vector<MemoryLeak> all = leaks();
    std::string text = "backend tracking is destroyed with " +
                       detail::count_text(static_cast<int64_t>(all.size()), "leak") + ", " +
                       detail::bytes_text(counts_.live_bytes) + ":";
    const size_t shown = (std::min)(all.size(), size_t{10});
    for (size_t i = 0; i < shown; ++i) text += "\n" + detail::block_text(all[i]);
    if (shown < all.size()) text += "\nand " + std::to_string(all.size() - shown) + " more";
    detail::hand_over(Error::InUse, text.c_str());
  });
}

inline size_t TrackingBackend::find_tag(const char* tag) noexcept {
  if (*tag == '\0') return 0;
  const Lock lock(mutex_);
  const auto found = tag_places_.find(tag);
  if (found != tag_places_.end()) return found->second;
  const size_t place = tags_.size();
  if (!detail::has_memory_for([&] { tags_.push_back({tag}); })) return 0;
  if (detail::has_memory_for([&] { tag_places_.emplace(tags_.back().tag, place); })) return place;
  tags_.pop_back();
  return 0;
}

inline const char* TrackingBackend::intern_locked(const char* text) noexcept {
  if (text == nullptr) return nullptr;
  const auto found = literals_.find(text);
  if (found != literals_.end()) return found->c_str();
  const char* kept = nullptr;
  detail::has_memory_for([&] { kept = literals_.emplace(text).first->c_str(); });
  return kept;
}

inline void* TrackingBackend::allocate(size_t nbytes, size_t alignment) noexcept {
  const detail::TrackingLink* const guard = detail::find_tracking_link(*this, true);
  if (TENON_UNLIKELY(guard != nullptr)) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    const detail::TrackingLink* const scope = detail::find_tracking_link(*this, false);
    const Error error =
        detail::fail(Error::OutOfMemory, "no allocation is allowed in the NoAllocationScope at ",
                     detail::file_name(guard->file), ":", guard->line);
    if (scope != nullptr) {
      static_cast<void>(detail::fail(error, last_error_message(),
                                     "; the innermost TrackingScope is at ",
                                     detail::file_name(scope->file), ":", scope->line));
    }
    return nullptr;
  }
  void* const p = inner().allocate(nbytes, alignment);
  if (TENON_UNLIKELY(p == nullptr)) return nullptr;
  const detail::TrackingLink* const scope = detail::find_tracking_link(*this, false);
  std::vector<void*> stack;
#if TENON_HAS_BACKTRACE
  if (const auto depth = static_cast<int>(stack_depth_)) {
    void* frames[kMaxDepth + 1];  // with this function
    const int count = ::backtrace(frames, depth + 1);
    detail::has_memory_for([&] { stack.assign(frames + 1, frames + (std::max)(count, 1)); });
  }
#endif
  const Lock lock(mutex_);
  detail::count_block(counts_, nbytes);
  const bool has_room = on_timeline_ < max_records_ && dropped_ == 0;
  const bool is_new = has_room || free_.empty();
  const size_t index = is_new ? records_.size() : free_.back();
  const bool is_known = detail::has_memory_for([&] {
    live_[p] = index;
    if (is_new) records_.emplace_back();
  });
  // What follows a gap would be wrong without it.
  if ((!has_room || !is_known) && dropped_++ == 0) first_dropped_ = next_time();
  if (TENON_UNLIKELY(!is_known)) {
    live_.erase(p);
    ++untracked_;
    return p;
  }
  if (!is_new) free_.pop_back();
  detail::TrackingRecord& record = records_[index];
  record.address = p;
  record.nbytes = nbytes;
  if (scope != nullptr) {
    record.tag_index = scope->tag;
    record.tag = tags_[scope->tag].tag.c_str();
    record.file = scope->file;
    record.line = scope->line;
  }
  record.stack = std::move(stack);
  record.died = detail::TrackingRecord::kInUse;
  if (has_room) record.born = next_time();
  on_timeline_ += has_room;
  detail::count_block(tags_[record.tag_index], nbytes);
  return p;
}

inline void TrackingBackend::deallocate(void* p, size_t nbytes) noexcept {
  {
    const Lock lock(mutex_);
    detail::uncount_block(counts_, nbytes);
    const auto found = live_.find(p);
    if (found == live_.end()) {
      ++dropped_;  // memory was out when it was allocated
    } else {
      const size_t index = found->second;
      detail::TrackingRecord& record = records_[index];
      live_.erase(found);
      detail::uncount_block(tags_[record.tag_index], nbytes);
      if (record.born != 0) {
        record.died = next_time();
        record.stack = {};
      } else {
        ++dropped_;
        record = {};
        detail::has_memory_for([&] { free_.push_back(index); });
      }
    }
  }
  // Last, as the address may be another thread's next block as soon as it is released.
  inner().deallocate(p, nbytes);
}

inline void TrackingBackend::on_made(const MadeTensor& tensor) noexcept {
  {
    const Lock lock(mutex_);
    const auto found = live_.find(tensor.data);
    if (found != live_.end()) {
      detail::TrackingRecord& record = records_[found->second];
      record.sizes = Dims(tensor.sizes);
      const char* const function = intern_locked(tensor.function);
      record.function = function == nullptr ? "" : function;
      const bool is_known = function != nullptr && record.sizes.error() == Error::Ok;
      record.type = is_known ? tensor.type : ScalarType::Undefined;  // else memory is out
    }
  }
  inner().on_made(tensor);
}

inline std::vector<TagCounts> TrackingBackend::tags() const {
  const Lock lock(mutex_);
  std::vector<TagCounts> tags;
  for (const TagCounts& counts : tags_) {
    if (counts.total_count != 0) tags.push_back(counts);
  }
  return tags;
}

/// Of the first `count` records those on the timeline, or those alive.
inline std::vector<detail::TrackingRecord> TrackingBackend::copy_records(bool of_timeline,
                                                                         size_t count) const {
  {
    const Lock lock(mutex_);
    count = (std::min)(count, records_.size());
  }
  std::vector<detail::TrackingRecord> copied;
  copied.reserve(count);
  for (size_t i = 0; i < count;) {
    {
      const Lock lock(mutex_);
      for (const size_t end = std::min<size_t>(i + 1024, count); i < end; ++i) {
        const detail::TrackingRecord& record = records_[i];
        const bool is_in_use = record.died == detail::TrackingRecord::kInUse;
        if (of_timeline ? record.born != 0 : is_in_use) copied.push_back(record);
      }
    }
    // So that waiting threads get the mutex; yield() does not ensure it.
    std::this_thread::sleep_for(std::chrono::microseconds(1));
  }
  return copied;
}

inline detail::TrackingTimeline TrackingBackend::timeline() const {
  detail::TrackingTimeline timeline;
  timeline.begin = begin_;
  timeline.backend = inner().name();
  size_t count = 0;
  {
    const Lock lock(mutex_);
    timeline.tags.assign(tags_.begin(), tags_.end());
    timeline.counts = counts_;
    timeline.dropped = dropped_;
    timeline.now = (std::max)(clock_(), last_time_ + 1);
    timeline.end = dropped_ != 0 ? first_dropped_ : timeline.now;
    count = records_.size();
  }
  timeline.records = copy_records(true, count);
  return timeline;
}

inline std::vector<MemoryLeak> TrackingBackend::leaks() const {
  std::vector<detail::TrackingRecord> records = copy_records(false, SIZE_MAX);
  std::vector<MemoryLeak> leaks(std::make_move_iterator(records.begin()),
                                std::make_move_iterator(records.end()));
  std::sort(leaks.begin(), leaks.end(), detail::comes_first);
  return leaks;
}

inline std::string TrackingBackend::leak_report() const {
  std::string text;
  for (const MemoryLeak& leak : leaks()) {
    text += detail::block_text(leak) + '\n';
#if TENON_HAS_BACKTRACE
    const auto depth = static_cast<int>(leak.stack.size());
    char** const names = depth == 0 ? nullptr : ::backtrace_symbols(leak.stack.data(), depth);
    for (int i = 0; names != nullptr && i < depth; ++i)
      text += std::string("    ") + names[i] + "\n";
    std::free(names);
#endif
  }
  return text;
}

inline Error TrackingBackend::write_chrome_trace(const std::string& path) const {
  return detail::write_report("write_chrome_trace", path,
                              [&](const auto& put) { detail::write_trace(timeline(), put); });
}
inline Error TrackingBackend::write_svg(const std::string& path) const {
  return detail::write_report(
      "write_svg", path, [&](const auto& put) { put(detail::TrackingPicture(timeline()).draw()); });
}

TENON_END_NAMESPACE
