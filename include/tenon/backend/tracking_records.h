// SPDX-License-Identifier: MIT
// What TrackingBackend knows of each block of memory: records, found by address, and the counts.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "tenon/config.h"
#include "tenon/core/dims.h"
#include "tenon/core/memory.h"
#include "tenon/core/scalar_type.h"

// The processor's clock: a third of what std::chrono's costs.
#if defined(__x86_64__)
#define TENON_HAS_TICKS 1
#else
#define TENON_HAS_TICKS 0
#endif

TENON_BEGIN_NAMESPACE
namespace detail {

/// Blocks of memory and their bytes: all there ever were, those in use, and the most there were.
///
/// What add() and remove() write lies in turns, so that the compiler joins no two in a vector: one
/// that was just stored in parts is waited for, some 5 ns.
struct MemoryCounts {
  uint64_t total_bytes = 0;
  uint64_t gone_bytes = 0;
  uint64_t total_count = 0;
  uint64_t gone_count = 0;
  uint64_t most_bytes = 0;

  void add(size_t nbytes) noexcept {
    total_bytes += nbytes;
    ++total_count;
    if (total_bytes - gone_bytes > most_bytes) most_bytes = total_bytes - gone_bytes;
  }
  void remove(size_t nbytes) noexcept {
    gone_bytes += nbytes;
    ++gone_count;
  }
  uint64_t live_bytes() const noexcept { return total_bytes - gone_bytes; }
  uint64_t peak_bytes() const noexcept { return most_bytes; }
  uint64_t live_count() const noexcept { return total_count - gone_count; }
};

/// A tag, in the order of their first use. Stays as long as its log.
struct TrackingTag {
  MemoryCounts counts;
  const char* text = "";
  TrackingTag* next = nullptr;
};

/// A tag and the line that set it. Stays as long as its log, so that records refer to it.
struct TrackingSite {
  TrackingTag* tag = nullptr;
  const char* file = nullptr;
  int line = 0;
  TrackingSite* next = nullptr;  // of the same hash
};

/// The return addresses that led to an allocation.
struct TrackingStack {
  static constexpr int kMaxDepth = 16;
  void* frames[kMaxDepth];
  int depth;
  TrackingStack* next;  // of those that wait to be used again
};

/// One block of memory: a cache line. On the timeline it stays when the block is gone.
///
/// Everything is written under the log's lock, but for the tensor's description, which the thread
/// that made it writes without, and publishes by `is_described`. A copy is one of its own.
struct alignas(64) TrackingRecord {
  static constexpr size_t kInlineDims = 4;

  uint64_t born = 0;
  uint64_t place = 0;  // the address of a live block, then the time of its end
  size_t nbytes = 0;
  const TrackingSite* site = nullptr;
  const char* function = "";
  union {
    uint32_t sizes[kInlineDims];
    int64_t* block;        // of sizes that do not fit
    TrackingRecord* next;  // of those that wait to be used again
  };
  uint16_t made_on = 0;  // threads
  uint16_t dropped_on = 0;
  bool is_alive : 1;
  bool is_on_timeline : 1;
  std::atomic<bool> is_described{false};
  ScalarType type = ScalarType::Undefined;
  uint8_t rank : 7;
  bool has_block : 1;

  TrackingRecord() noexcept : is_alive(false), is_on_timeline(false), rank(0), has_block(false) {}
  TrackingRecord(const TrackingRecord& other) noexcept
      : born(other.born),
        place(other.place),
        nbytes(other.nbytes),
        site(other.site),
        made_on(other.made_on),
        dropped_on(other.dropped_on),
        is_alive(other.is_alive),
        is_on_timeline(other.is_on_timeline),
        rank(0),
        has_block(false) {
    if (!other.knows_tensor()) return;
    function = other.function;
    set_tensor(other.type, other.dims(), &std::malloc);
  }
  TrackingRecord& operator=(const TrackingRecord&) = delete;
  ~TrackingRecord() { forget_tensor(); }

  bool knows_tensor() const noexcept { return is_described.load(std::memory_order_acquire); }
  Dims dims() const noexcept {
    Dims dims;
    if (!knows_tensor()) return dims;
    for (size_t d = 0; d < rank; ++d) {
      dims.push_back(has_block ? block[d] : static_cast<int64_t>(sizes[d]));
    }
    return dims;
  }

  /// When memory is out, it stays a block without a tensor.
  void set_tensor(ScalarType scalar_type, const Dims& dims, void* (*memory)(size_t)) noexcept {
    const size_t n = dims.size();
    const int64_t* const values = dims.data();
    bool fits = n <= kInlineDims;
    for (size_t d = 0; fits && d < n; ++d) {
      sizes[d] = static_cast<uint32_t>(values[d]);
      fits = static_cast<uint64_t>(values[d]) <= UINT32_MAX;
    }
    if (TENON_UNLIKELY(!fits)) {
      auto* const copy = static_cast<int64_t*>(memory(n * sizeof(int64_t)));
      if (copy == nullptr) return;
      std::memcpy(copy, values, n * sizeof(int64_t));
      block = copy;
      has_block = true;
    }
    type = scalar_type;
    rank = n & 0x7f;
    is_described.store(true, std::memory_order_release);
  }
  void forget_tensor() noexcept {
    is_described.store(false, std::memory_order_relaxed);
    if (has_block) std::free(block);
    has_block = false;
  }
};
static_assert(sizeof(TrackingRecord) == 64);

/// Where a log gets the time and its memory; tests have their own.
struct TrackingSources {
  uint64_t (*clock)() noexcept = nullptr;  // in nanoseconds; null for the processor's
  void* (*memory)(size_t nbytes) = &std::malloc;
};

/// The time in nanoseconds since some moment.
inline uint64_t steady_nanoseconds() noexcept {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

/// Times as records have them, and what they are in nanoseconds since the log began.
class TrackingClock {
 public:
  explicit TrackingClock(const TrackingSources& sources) noexcept
      : clock_(sources.clock), first_(now()), first_nanoseconds_(steady_nanoseconds()) {}

  uint64_t now() const noexcept {
    if (TENON_UNLIKELY(clock_ != nullptr)) return clock_();
#if TENON_HAS_TICKS
    return __builtin_ia32_rdtsc();
#else
    return steady_nanoseconds();
#endif
  }
  uint64_t first() const noexcept { return first_; }
  /// How long a tick is, by the time that has passed.
  double nanoseconds_per_tick() const noexcept {
#if TENON_HAS_TICKS
    const uint64_t ticks = clock_ == nullptr ? now() - first_ : 0;
    if (ticks != 0) {
      return static_cast<double>(steady_nanoseconds() - first_nanoseconds_) /
             static_cast<double>(ticks);
    }
#endif
    return 1;
  }

 private:
  uint64_t (*clock_)() noexcept;
  uint64_t first_;
  uint64_t first_nanoseconds_;
};

/// The records of live blocks by their addresses: open addressing, at most half full.
class TrackingTable {
 public:
  struct Entry {
    uintptr_t address = 0;  // 0: free
    TrackingRecord* record = nullptr;
    TrackingStack* stack = nullptr;
  };

  TrackingTable() noexcept = default;
  TrackingTable(const TrackingTable&) = delete;
  TrackingTable& operator=(const TrackingTable&) = delete;
  ~TrackingTable() { std::free(entries_); }

  /// Makes sure that one more fits. False when memory is out.
  bool reserve(const TrackingSources& sources) noexcept {
    return TENON_UNLIKELY(2 * (count_ + 1) > capacity_) ? grow(sources) : true;
  }
  void insert(const Entry& entry) noexcept {
    size_t i = home(entry.address);
    while (entries_[i].address != 0) i = (i + 1) & (capacity_ - 1);
    entries_[i] = entry;
    ++count_;
  }
  Entry* find(uintptr_t address) noexcept {
    if (capacity_ == 0) return nullptr;
    size_t i = home(address);
    while (entries_[i].address != address) {
      if (entries_[i].address == 0) return nullptr;
      i = (i + 1) & (capacity_ - 1);
    }
    return &entries_[i];
  }
  void erase(Entry* entry) noexcept {
    // What follows moves up, so that searches need no marks of what was there.
    auto hole = static_cast<size_t>(entry - entries_);
    for (size_t i = (hole + 1) & (capacity_ - 1); entries_[i].address != 0;
         i = (i + 1) & (capacity_ - 1)) {
      const size_t wanted = home(entries_[i].address);
      if (((i - wanted) & (capacity_ - 1)) >= ((i - hole) & (capacity_ - 1))) {
        entries_[hole] = entries_[i];
        hole = i;
      }
    }
    entries_[hole].address = 0;
    --count_;
  }

  size_t size() const noexcept { return count_; }
  /// Calls visit(entry) for each.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (size_t i = 0; i < capacity_; ++i) {
      if (entries_[i].address != 0) visit(entries_[i]);
    }
  }

 private:
  size_t home(uintptr_t address) const noexcept {
    constexpr uintptr_t kMix = 0x9e3779b97f4a7c15u & UINTPTR_MAX;
    return address * kMix >> shift_;
  }
  TENON_COLD bool grow(const TrackingSources& sources) noexcept {
    constexpr size_t kFirst = 256;
    constexpr unsigned kFirstShift = 8 * sizeof(uintptr_t) - 8;
    const size_t old_capacity = capacity_;
    const size_t wanted = old_capacity == 0 ? kFirst : 2 * old_capacity;
    auto* const fresh = static_cast<Entry*>(sources.memory(wanted * sizeof(Entry)));
    if (fresh == nullptr) return false;
    for (size_t i = 0; i < wanted; ++i) ::new (static_cast<void*>(fresh + i)) Entry{};
    Entry* const old = entries_;
    entries_ = fresh;
    capacity_ = wanted;
    shift_ = old_capacity == 0 ? kFirstShift : shift_ - 1;
    count_ = 0;
    for (size_t i = 0; i < old_capacity; ++i) {
      if (old[i].address != 0) insert(old[i]);
    }
    std::free(old);
    return true;
  }

  Entry* entries_ = nullptr;
  size_t capacity_ = 0;
  size_t count_ = 0;
  unsigned shift_ = 0;
};

/// Memory for records, in blocks of up to 16 MiB. In the order of their making.
class TrackingChunks {
 public:
  TrackingChunks() noexcept = default;
  TrackingChunks(const TrackingChunks&) = delete;
  TrackingChunks& operator=(const TrackingChunks&) = delete;
  ~TrackingChunks() {
    for_each([](TrackingRecord& record) noexcept { record.~TrackingRecord(); });
    for (Chunk* chunk = first_; chunk != nullptr;) {
      Chunk* const next = chunk->next;
      std::free(chunk);
      chunk = next;
    }
  }

  /// One that was never used before; null when memory is out.
  TrackingRecord* make(const TrackingSources& sources) noexcept {
    if (TENON_UNLIKELY(last_ == nullptr || last_->used == last_->capacity) && !grow(sources)) {
      return nullptr;
    }
    TrackingRecord* const place = last_->records + last_->used++;
    __builtin_prefetch(place + 4, 1);  // to have a later one in the cache when its turn comes
    return ::new (static_cast<void*>(place)) TrackingRecord;
  }
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (Chunk* chunk = first_; chunk != nullptr; chunk = chunk->next) {
      for (size_t i = 0; i < chunk->used; ++i) visit(chunk->records[i]);
    }
  }

 private:
  struct Chunk {
    TrackingRecord* records;
    size_t capacity;
    size_t used;
    Chunk* next;
  };

  TENON_COLD bool grow(const TrackingSources& sources) noexcept {
    // The third is one for huge pages: small ones cost more than all else when they are first touched.
    constexpr size_t kFirst = 256;
    constexpr size_t kLargest = (size_t{16} << 20) / sizeof(TrackingRecord);
    const size_t capacity = last_ == nullptr            ? kFirst
                            : last_->capacity == kFirst ? 16 * kFirst
                                                        : kLargest;
    const size_t nbytes = sizeof(Chunk) + kDataAlignment + capacity * sizeof(TrackingRecord);
    void* const base = sources.memory(nbytes);
    if (base == nullptr) return false;
    use_huge_pages(base, nbytes);
    auto* const chunk = ::new (base) Chunk{nullptr, capacity, 0, nullptr};
    chunk->records = static_cast<TrackingRecord*>(align_up(chunk + 1));
    (last_ == nullptr ? first_ : last_->next) = chunk;
    last_ = chunk;
    return true;
  }

  Chunk* first_ = nullptr;
  Chunk* last_ = nullptr;
};

}  // namespace detail
TENON_END_NAMESPACE
