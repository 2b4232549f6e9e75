// SPDX-License-Identifier: MIT
// TrackingLog: what TrackingBackend writes down, under one lock.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <list>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/config.h"
#include "tenon/core/dims.h"
#include "tenon/core/scalar_type.h"
#include "tenon/core/tensor_view.h"

TENON_BEGIN_NAMESPACE

class TrackingScope;
class NoAllocationScope;

namespace detail {

/// What the calling thread is about.
struct TrackingThread {
  const TrackingScope* scope;      // innermost, of any log
  const NoAllocationScope* guard;  // innermost, of any log
  uint16_t number;                 // from 1; 0: has none yet
};
TENON_EXPORT inline TrackingThread& tracking_thread() noexcept {
  static TENON_THREAD_LOCAL TrackingThread thread;
  return thread;
}
TENON_EXPORT inline uint16_t tracking_thread_number() noexcept {
  static std::atomic<uint32_t> count{0};
  uint16_t& number = tracking_thread().number;
  if (TENON_UNLIKELY(number == 0)) {
    const uint32_t next = count.fetch_add(1, std::memory_order_relaxed) + 1;
    number = next < UINT16_MAX ? static_cast<uint16_t>(next) : uint16_t{UINT16_MAX};
  }
  return number;
}

/// Blocks of memory and their bytes: all there ever were, those in use, and the most there were.
struct MemoryCounts {
  uint64_t total_bytes = 0;
  uint64_t total_count = 0;
  uint64_t live_bytes = 0;
  uint64_t live_count = 0;
  uint64_t peak_bytes = 0;

  void add(size_t nbytes) noexcept {
    total_bytes += nbytes;
    ++total_count;
    live_bytes += nbytes;
    ++live_count;
    if (live_bytes > peak_bytes) peak_bytes = live_bytes;
  }
  void remove(size_t nbytes) noexcept {
    live_bytes -= nbytes;
    --live_count;
  }
};

/// Stays as long as its log.
struct TrackingTag {
  std::string text;
  MemoryCounts counts;
};

/// A tag and the line that set it. Stays as long as its log, so that records refer to it.
struct TrackingSite {
  TrackingTag* tag = nullptr;
  const char* file = nullptr;
  int line = 0;
};

/// One block of memory. On the timeline it stays when the block is gone.
struct TrackingRecord {
  uint64_t born = 0;  // times are in nanoseconds
  uint64_t died = 0;
  size_t nbytes = 0;
  const TrackingSite* site = nullptr;
  const char* function = "";  // that made a tensor in it
  Dims sizes;                 // of that
  ScalarType type = ScalarType::Undefined;
  bool is_alive = true;
  bool is_on_timeline = false;
  uint16_t made_on = 0;  // threads
  uint16_t dropped_on = 0;

  bool knows_tensor() const noexcept { return type != ScalarType::Undefined; }
};

/// Where a log gets the time, in nanoseconds; tests have a clock of their own.
using TrackingClock = uint64_t (*)() noexcept;
inline uint64_t steady_nanoseconds() noexcept {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

/// A tag at a moment.
struct TrackingTagCounts {
  const TrackingTag* tag;
  MemoryCounts counts;
};

/// The timeline at a moment, in the order of allocation.
/// Ownership: refers to the log's tags and sites.
struct TrackingTimeline {
  std::vector<TrackingRecord> records;
  std::vector<TrackingTagCounts> tags;  // in the order of their first use, "" first
  MemoryCounts counts;
  uint64_t untracked = 0;
  uint64_t dropped = 0;         // events that found no room
  uint64_t first_dropped = 0;   // when that began
  uint64_t begin = 0, now = 0;  // of the log; when this was taken
  const char* backend = "";

  /// Until when it is complete.
  uint64_t end() const noexcept { return dropped != 0 ? first_dropped : now; }
};

/// Whether the function came to its end.
template <class Function>
bool unless_out_of_memory(const Function& function) noexcept {
#if TENON_HAS_EXCEPTIONS
  try {
    function();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
#else
  function();
  return true;
#endif
}

class TrackingLog {
 public:
  explicit TrackingLog(TrackingClock clock) noexcept : clock_(clock) { no_site_.tag = &no_tag_; }
  TrackingLog(const TrackingLog&) = delete;
  TrackingLog& operator=(const TrackingLog&) = delete;

  /// The site, made when it is not there; one without a tag when memory is out.
  const TrackingSite* site(const char* text, const char* file, int line) noexcept {
    const std::lock_guard<std::mutex> guard(mutex_);
    const size_t hash = std::hash<std::string_view>()(text) * 31 + static_cast<size_t>(line);
    const auto same = sites_.equal_range(hash);
    for (auto at = same.first; at != same.second; ++at) {
      const TrackingSite& site = at->second;
      if (site.line == line && is_same(site.file, file) && site.tag->text == text) return &site;
    }
    const TrackingSite* made = &no_site_;
    unless_out_of_memory([&] {
      made = &sites_.emplace(hash, TrackingSite{&find_tag(text), file, line})->second;
    });
    return made;
  }
  const TrackingSite* no_site() const noexcept { return &no_site_; }

  /// A block was allocated on the calling thread.
  void add(const void* p, size_t nbytes, const TrackingSite* site,
           std::vector<void*>&& stack) noexcept {
    const uint16_t thread = tracking_thread_number();
    const std::lock_guard<std::mutex> guard(mutex_);
    counts_.add(nbytes);
    const bool has_room = timeline_.size() < max_records_ && dropped_ == 0;
    const bool is_known = unless_out_of_memory([&] {
      Records one(1);
      live_.emplace(p, Live{one.begin(), std::move(stack)});
      Records& all = has_room ? timeline_ : others_;
      all.splice(all.end(), one);
      TrackingRecord& record = all.back();
      if (has_room) record.born = next_time();
      record.is_on_timeline = has_room;
      record.nbytes = nbytes;
      record.site = site;
      record.made_on = thread;
      site->tag->counts.add(nbytes);
    });
    untracked_ += !is_known;
    // What follows a gap would be wrong without it.
    if ((!has_room || !is_known) && dropped_++ == 0) first_dropped_ = next_time();
  }

  /// A block is about to be deallocated.
  void remove(const void* p, size_t nbytes) noexcept {
    const uint16_t thread = tracking_thread_number();
    const std::lock_guard<std::mutex> guard(mutex_);
    counts_.remove(nbytes);
    const auto found = live_.find(p);
    if (TENON_UNLIKELY(found == live_.end())) {  // memory was out when it was allocated
      ++dropped_;
      return;
    }
    const Records::iterator record = found->second.record;
    live_.erase(found);
    record->site->tag->counts.remove(nbytes);
    if (record->is_on_timeline) {
      record->is_alive = false;
      record->died = next_time();
      record->dropped_on = thread;
    } else {
      ++dropped_;
      others_.erase(record);
    }
  }

  /// A tensor was made at `view`. When memory is out, it stays a block without a tensor.
  template <class View>
  void describe(const View& view, const char* function) noexcept {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto found = live_.find(view.data);
    if (found == live_.end()) return;
    TrackingRecord& record = *found->second.record;
    record.sizes = Dims(view.sizes);
    record.function = function;
    record.type = record.sizes.error() == Error::Ok ? own_type(view.type) : ScalarType::Undefined;
  }

  MemoryCounts counts() const noexcept {
    const std::lock_guard<std::mutex> guard(mutex_);
    return counts_;
  }
  uint64_t untracked() const noexcept {
    const std::lock_guard<std::mutex> guard(mutex_);
    return untracked_;
  }
  uint64_t dropped() const noexcept {
    const std::lock_guard<std::mutex> guard(mutex_);
    return dropped_;
  }
  /// Room on the timeline from now on: each block takes two events.
  void set_max_events(int64_t events) noexcept {
    const std::lock_guard<std::mutex> guard(mutex_);
    max_records_ = static_cast<uint64_t>(events) / 2;
  }

  std::vector<TrackingTagCounts> tags() const {
    const std::lock_guard<std::mutex> guard(mutex_);
    return copy_tags();
  }

  // Reports copy piece by piece, with the lock for a piece at a time: allocations do not wait for a
  // whole report.

  /// Calls start(their number), then visit(address, record, stack) for each live block; when others
  /// have made the table grow meanwhile, all over again.
  template <class Start, class Visit>
  void for_each_live(const Start& start, const Visit& visit) const {
    size_t buckets = 0;
    size_t at = 0;
    in_pieces([&] {
      if (buckets != live_.bucket_count()) {
        start(live_.size());
        buckets = live_.bucket_count();
        at = 0;
      }
      for (size_t end = at + kPiece; at < end && at < buckets; ++at) {
        for (auto block = live_.begin(at); block != live_.end(at); ++block) {
          visit(block->first, *block->second.record, block->second.stack);
        }
      }
      return at < buckets;
    });
  }

  TrackingTimeline timeline() const {
    TrackingTimeline timeline;
    timeline.begin = begin_;
    size_t count = 0;
    Records::const_iterator next;
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      timeline.tags = copy_tags();
      timeline.counts = counts_;
      timeline.untracked = untracked_;
      timeline.dropped = dropped_;
      timeline.first_dropped = first_dropped_;
      const uint64_t now = clock_();
      timeline.now = now > last_time_ ? now : last_time_ + 1;
      count = timeline_.size();
      next = timeline_.begin();
    }
    timeline.records.reserve(count);
    in_pieces([&] {
      for (size_t i = 0; i < kPiece && timeline.records.size() < count; ++i, ++next) {
        timeline.records.push_back(*next);
        TrackingRecord& record = timeline.records.back();
        record.is_alive = record.is_alive || record.died >= timeline.now;
      }
      return timeline.records.size() < count;
    });
    return timeline;
  }

 private:
  using Records = std::list<TrackingRecord>;
  struct Live {
    Records::iterator record;
    std::vector<void*> stack;  // return addresses
  };
  static constexpr size_t kPiece = 1024;

  template <class Piece>
  void in_pieces(const Piece& piece) const {
    for (bool more = true; more;) {
      {
        const std::lock_guard<std::mutex> guard(mutex_);
        more = piece();
      }
      // So that whoever waits gets the lock, which yielding alone does not see to.
      if (more) std::this_thread::sleep_for(std::chrono::microseconds(1));
    }
  }
  static bool is_same(const char* a, const char* b) noexcept {
    return a == b || (a != nullptr && b != nullptr && std::strcmp(a, b) == 0);
  }

  TrackingTag& find_tag(const char* text) {
    if (*text == '\0') return no_tag_;
    for (TrackingTag& tag : tags_) {
      if (tag.text == text) return tag;
    }
    tags_.push_back({text, {}});
    return tags_.back();
  }
  std::vector<TrackingTagCounts> copy_tags() const {
    std::vector<TrackingTagCounts> tags{{&no_tag_, no_tag_.counts}};
    for (const TrackingTag& tag : tags_) tags.push_back({&tag, tag.counts});
    return tags;
  }
  /// No two are the same, and they are in order.
  uint64_t next_time() noexcept {
    const uint64_t now = clock_();
    last_time_ = now > last_time_ ? now : last_time_ + 1;
    return last_time_;
  }

  const TrackingClock clock_;
  const uint64_t begin_ = clock_();
  mutable std::mutex mutex_;
  MemoryCounts counts_;
  uint64_t last_time_ = begin_;
  uint64_t max_records_ = 500'000;
  uint64_t dropped_ = 0;
  uint64_t first_dropped_ = 0;
  uint64_t untracked_ = 0;
  Records timeline_;
  Records others_;  // live ones for which the timeline had no room
  std::unordered_map<const void*, Live> live_;
  TrackingTag no_tag_;
  TrackingSite no_site_;
  std::list<TrackingTag> tags_;  // but for that one, in the order of their first use
  std::unordered_multimap<size_t, TrackingSite> sites_;  // by a hash of tag and line
};

}  // namespace detail
TENON_END_NAMESPACE
