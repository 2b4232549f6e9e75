// SPDX-License-Identifier: MIT
// TrackingLog: what TrackingBackend writes down, under one short lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "tenon/backend/tracking_records.h"
#include "tenon/config.h"
#include "tenon/core/atomic.h"
#include "tenon/core/tensor_view.h"

TENON_BEGIN_NAMESPACE

class TrackingScope;
class NoAllocationScope;

namespace detail {

/// What the calling thread is about.
struct TrackingThread {
  const TrackingScope* scope;      // innermost, of any log
  const NoAllocationScope* guard;  // innermost, of any log
  // Its latest allocation, so that the description of the tensor that follows needs no search. The
  // log by its number, as another one may come to lie where it was.
  uint64_t log;
  uintptr_t address;
  TrackingRecord* record;
  uint16_t number;  // from 1
};
TENON_EXPORT inline TrackingThread& tracking_thread() noexcept {
  static TENON_THREAD_LOCAL TrackingThread thread;
  return thread;
}
TENON_EXPORT inline std::atomic<uint64_t>& tracking_log_counter() noexcept {
  static std::atomic<uint64_t> counter{0};
  return counter;
}
TENON_EXPORT inline std::atomic<uint32_t>& tracking_thread_counter() noexcept {
  static std::atomic<uint32_t> counter{0};
  return counter;
}
TENON_COLD inline uint16_t number_thread(TrackingThread& thread) noexcept {
  const uint32_t number = tracking_thread_counter().fetch_add(1, std::memory_order_relaxed) + 1;
  thread.number = number < UINT16_MAX ? static_cast<uint16_t>(number) : uint16_t{UINT16_MAX};
  return thread.number;
}

/// A tag at a moment.
struct TrackingTagCounts {
  const TrackingTag* tag;
  MemoryCounts counts;
};

/// The timeline at a moment, in the order of allocation; times are ticks.
/// Ownership: refers to the log's tags and sites.
struct TrackingTimeline {
  std::vector<TrackingRecord> records;
  std::vector<TrackingTagCounts> tags;  // in the order of their first use, "" first
  MemoryCounts counts;
  uint64_t untracked = 0;
  uint64_t dropped = 0;         // events that found no room
  uint64_t first_dropped = 0;   // when that began
  uint64_t begin = 0, now = 0;  // of the log; when this was taken
  double nanoseconds_per_tick = 1;
  const char* backend = "";

  /// Since the log began.
  double nanoseconds(uint64_t tick) const noexcept {
    return static_cast<double>(tick - begin) * nanoseconds_per_tick;
  }
  /// Until when it is complete.
  uint64_t end() const noexcept { return dropped != 0 ? first_dropped : now; }
};

class TrackingLog {
 public:
  explicit TrackingLog(const TrackingSources& sources) noexcept
      : sources_(sources),
        clock_(sources),
        number_(tracking_log_counter().fetch_add(1, std::memory_order_relaxed) + 1) {
    no_site_.tag = &no_tag_;
  }
  TrackingLog(const TrackingLog&) = delete;
  TrackingLog& operator=(const TrackingLog&) = delete;
  ~TrackingLog() {
    for (TrackingSite* site : sites_) free_list(site);
    free_list(no_tag_.next);
    free_list(free_stacks_);
    table_.for_each([](const TrackingTable::Entry& entry) noexcept { std::free(entry.stack); });
  }

  /// The site, made when it is not there; one without a tag when memory is out.
  const TrackingSite* site(const char* tag, const char* file, int line) noexcept {
    size_t hash = static_cast<size_t>(line);
    for (const char* c = tag; *c != '\0'; ++c) hash = hash * 31 + static_cast<unsigned char>(*c);
    const LockGuard<SpinLock> guard(lock_);
    TrackingSite*& first = sites_[hash % kSiteLists];
    for (TrackingSite* at = first; at != nullptr; at = at->next) {
      if (at->line == line && is_same(at->file, file) && std::strcmp(at->tag->text, tag) == 0) {
        return at;
      }
    }
    TrackingTag* const found = find_tag(tag);
    void* const place = found == nullptr ? nullptr : sources_.memory(sizeof(TrackingSite));
    if (place == nullptr) return &no_site_;
    first = ::new (place) TrackingSite{found, file, line, first};
    return first;
  }
  const TrackingSite* no_site() const noexcept { return &no_site_; }

  /// A block was allocated on the calling thread.
  void add(TrackingThread& thread, const void* p, size_t nbytes, const TrackingSite* site,
           TrackingStack* stack) noexcept {
    const auto address = reinterpret_cast<uintptr_t>(p);
    const uint16_t number =
        TENON_UNLIKELY(thread.number == 0) ? number_thread(thread) : thread.number;
    const LockGuard<SpinLock> guard(lock_);
    counts_.add(nbytes);
    TrackingRecord* const record = make_record();
    thread.log = 0;
    if (TENON_UNLIKELY(record == nullptr)) {
      ++untracked_;
      recycle(stack);
      return;
    }
    site->tag->counts.add(nbytes);
    record->place = address;
    record->nbytes = nbytes;
    record->site = site;
    record->made_on = number;
    record->is_alive = true;
    table_.insert({address, record, stack});
    thread.log = number_;
    thread.address = address;
    thread.record = record;
  }

  /// A block is about to be deallocated.
  void remove(TrackingThread& thread, const void* p, size_t nbytes) noexcept {
    const uint16_t number =
        TENON_UNLIKELY(thread.number == 0) ? number_thread(thread) : thread.number;
    const LockGuard<SpinLock> guard(lock_);
    counts_.remove(nbytes);
    TrackingTable::Entry* const entry = table_.find(reinterpret_cast<uintptr_t>(p));
    if (TENON_UNLIKELY(entry == nullptr)) {  // memory was out when it was allocated
      ++dropped_;
      return;
    }
    TrackingRecord* const record = entry->record;
    if (TENON_UNLIKELY(entry->stack != nullptr)) recycle(entry->stack);
    table_.erase(entry);
    record->site->tag->counts.remove(nbytes);
    record->is_alive = false;
    if (record->is_on_timeline) {
      record->place = next_tick();
      record->dropped_on = number;
    } else {
      ++dropped_;
      record->forget_tensor();
      record->next = free_records_;
      free_records_ = record;
    }
  }

  /// A tensor was made at `view`, mostly in the block that the thread allocated last: nobody else
  /// frees that or describes it meanwhile, so it needs no lock.
  template <class View>
  void describe(TrackingThread& thread, const View& view, const char* function) noexcept {
    const auto address = reinterpret_cast<uintptr_t>(view.data);
    if (address == 0) return;  // without elements there is no block
    if (thread.log == number_ && thread.address == address) {
      thread.log = 0;
      thread.record->function = function;
      return thread.record->set_tensor(own_type(view.type), view.sizes, sources_.memory);
    }
    const LockGuard<SpinLock> guard(lock_);
    TrackingTable::Entry* const entry = table_.find(address);
    if (entry == nullptr) return;
    entry->record->forget_tensor();
    entry->record->function = function;
    entry->record->set_tensor(own_type(view.type), view.sizes, sources_.memory);
  }

  MemoryCounts counts() const noexcept {
    const LockGuard<SpinLock> guard(lock_);
    return counts_;
  }
  uint64_t untracked() const noexcept {
    const LockGuard<SpinLock> guard(lock_);
    return untracked_;
  }
  uint64_t dropped() const noexcept {
    const LockGuard<SpinLock> guard(lock_);
    return dropped_;
  }
  /// Room on the timeline from now on: each block takes two events.
  void set_max_events(int64_t events) noexcept {
    const LockGuard<SpinLock> guard(lock_);
    max_records_ = static_cast<uint64_t>(events) / 2;
  }

  /// Calls visit(record, stack) for each live block, with the lock held.
  template <class Visit>
  void for_each_live(const Visit& visit) const {
    const LockGuard<SpinLock> guard(lock_);
    table_.for_each([&](const TrackingTable::Entry& entry) { visit(*entry.record, entry.stack); });
  }
  /// The same for each tag.
  template <class Visit>
  void for_each_tag(const Visit& visit) const {
    const LockGuard<SpinLock> guard(lock_);
    for (const TrackingTag* tag = &no_tag_; tag != nullptr; tag = tag->next) visit(*tag);
  }

  TrackingTimeline timeline() const {
    TrackingTimeline timeline;
    timeline.nanoseconds_per_tick = clock_.nanoseconds_per_tick();
    timeline.begin = clock_.first();
    for_each_tag([&](const TrackingTag& tag) { timeline.tags.push_back({&tag, tag.counts}); });
    const LockGuard<SpinLock> guard(lock_);
    timeline.records.reserve(static_cast<size_t>(recorded_));
    chunks_.for_each([&](const TrackingRecord& record) {
      if (record.is_on_timeline) timeline.records.push_back(record);
    });
    timeline.counts = counts_;
    timeline.untracked = untracked_;
    timeline.dropped = dropped_;
    timeline.first_dropped = first_dropped_;
    const uint64_t now = clock_.now();
    timeline.now = now > last_tick_ ? now : last_tick_ + 1;
    return timeline;
  }

  /// A place for a stack; null when memory is out.
  TrackingStack* make_stack() noexcept {
    {
      const LockGuard<SpinLock> guard(lock_);
      if (TrackingStack* const stack = free_stacks_) {
        free_stacks_ = stack->next;
        return stack;
      }
    }
    return static_cast<TrackingStack*>(sources_.memory(sizeof(TrackingStack)));
  }

 private:
  static constexpr size_t kSiteLists = 64;

  template <class Node>
  static void free_list(Node* node) noexcept {
    while (node != nullptr) {
      Node* const next = node->next;
      std::free(node);
      node = next;
    }
  }
  static bool is_same(const char* a, const char* b) noexcept {
    return a == b || (a != nullptr && b != nullptr && std::strcmp(a, b) == 0);
  }

  TrackingTag* find_tag(const char* text) noexcept {
    TrackingTag* last = nullptr;
    for (TrackingTag* tag = &no_tag_; tag != nullptr; tag = tag->next) {
      if (std::strcmp(tag->text, text) == 0) return tag;
      last = tag;
    }
    const size_t size = std::strlen(text) + 1;
    void* const place = sources_.memory(sizeof(TrackingTag) + size);
    if (place == nullptr) return nullptr;
    auto* const tag = ::new (place) TrackingTag{};
    char* const copy = static_cast<char*>(place) + sizeof(TrackingTag);
    std::memcpy(copy, text, size);
    tag->text = copy;
    last->next = tag;
    return tag;
  }

  /// The time. No two are the same, and they are in order.
  uint64_t next_tick() noexcept {
    const uint64_t now = clock_.now();
    last_tick_ = now > last_tick_ ? now : last_tick_ + 1;
    return last_tick_;
  }
  /// Null when memory is out, which ends the timeline: what follows would be wrong without it.
  TrackingRecord* make_record() noexcept {
    bool has_room = recorded_ < max_records_ && dropped_ == 0;
    TrackingRecord* record = nullptr;
    if (TENON_UNLIKELY(!table_.reserve(sources_))) {
      has_room = false;
    } else if (has_room || free_records_ == nullptr) {
      record = chunks_.make(sources_);
      has_room = has_room && record != nullptr;
    } else {
      record = free_records_;
      free_records_ = record->next;
    }
    if (!has_room && dropped_++ == 0) first_dropped_ = next_tick();
    if (TENON_UNLIKELY(record == nullptr)) return nullptr;
    record->is_on_timeline = has_room;
    if (has_room) {
      record->born = next_tick();
      ++recorded_;
    }
    return record;
  }
  void recycle(TrackingStack* stack) noexcept {
    if (stack == nullptr) return;
    stack->next = free_stacks_;
    free_stacks_ = stack;
  }

  mutable SpinLock lock_;
  const TrackingSources sources_;
  const TrackingClock clock_;
  const uint64_t number_;
  MemoryCounts counts_;
  uint64_t last_tick_ = clock_.first();
  uint64_t recorded_ = 0;
  uint64_t max_records_ = 500'000;
  uint64_t dropped_ = 0;
  uint64_t first_dropped_ = 0;
  uint64_t untracked_ = 0;
  TrackingTable table_;
  TrackingChunks chunks_;
  TrackingRecord* free_records_ = nullptr;
  TrackingStack* free_stacks_ = nullptr;
  TrackingTag no_tag_;
  TrackingSite no_site_;
  TrackingSite* sites_[kSiteLists] = {};
};

}  // namespace detail
TENON_END_NAMESPACE
