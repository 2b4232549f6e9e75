// SPDX-License-Identifier: MIT
// TrackingBackend: counts what the tensors of another backend allocate, lists leaks, and writes a
// trace, from which debug/tenon_memory.py makes a report and a picture.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/backend/backend.h"
#include "tenon/backend/tracking_report.h"

#if !TENON_HEAP || !TENON_HAS_THREADS
#error "tenon/backend/tracking.h: TrackingBackend needs the heap, threads, a clock and files"
#endif

#if TENON_PORTABLE && TENON_CPLUSPLUS >= 202002L
#include <source_location>
#endif
// Default arguments: the source location of the caller.
#if !TENON_PORTABLE
#define TENON_CALLER_FILE __builtin_FILE()
#define TENON_CALLER_LINE __builtin_LINE()
#elif defined(__cpp_lib_source_location)
#define TENON_CALLER_FILE std::source_location::current().file_name()
#define TENON_CALLER_LINE static_cast<int>(std::source_location::current().line())
#else
#define TENON_CALLER_FILE "unknown file"
#define TENON_CALLER_LINE 0
#endif

TENON_BEGIN_NAMESPACE

namespace detail {

/// A scope of the calling thread. The thread's scopes are a list, the innermost first.
struct TrackingLink {
  const Backend& backend;
  const char* file;
  int line;
  bool refuses;       // whether it refuses allocations
  TagCounts* counts;  // the counts of its tag
  TrackingLink* outer;
};
TENON_EXPORT inline TrackingLink*& innermost_tracking_link() noexcept {
  static TENON_THREAD_LOCAL TrackingLink* link = nullptr;
  return link;
}
/// A tracker's innermost NoAllocationScope if `refuses` is true, else its innermost TrackingScope;
/// null if there is none.
inline const TrackingLink* find_tracking_link(const Backend& tracker, bool refuses) noexcept {
  const TrackingLink* link = innermost_tracking_link();
  while (link != nullptr && (&link->backend != &tracker || link->refuses != refuses)) {
    link = link->outer;
  }
  return link;
}

}  // namespace detail

/// Wraps a backend and records its memory: bytes in use and their peak, by tag, leaked blocks, and
/// when each block was allocated and freed.
///
/// Counts the bytes that tensors request, before a wrapped pool or arena rounds them up. A resize
/// that moves a tensor is a new block.
/// Ownership: borrows the backend, which must outlive the tracker; the tracker must outlive its
/// tensors and its scopes.
/// The timeline takes some 100 bytes per event, up to 100 MB by default; see init().
/// Threads: those that the backend allows. One mutex guards the records; a report holds it while it
/// copies the blocks.
class TENON_EXPORT TrackingBackend final : public WrapperBackend {
 public:
  /// A tracker of another backend, which it borrows.
  explicit TrackingBackend(Backend& inner) : WrapperBackend(inner), tags_(1) {}
  /// A tracker is wrapped like any other backend, not copied. A template, so that it is not a copy
  /// constructor; see PoolBackend.
  template <class B, std::enable_if_t<std::is_same_v<B, TrackingBackend>, int> = 0>
  explicit TrackingBackend(B& inner) : TrackingBackend(static_cast<Backend&>(inner)) {}

  /// Reports the blocks still in use to the failure handler, the largest first.
  inline ~TrackingBackend() override;

  const char* name() const noexcept override { return "tracking"; }

  /// Sets what is recorded.
  /// Options: "max_events", how many allocations and deallocations the timeline takes, 1'000'000 by
  /// default, 0 for none; each allocation reserves room for its deallocation, and the timeline ends
  /// at the first allocation without room. "stack_depth", how many return addresses are recorded
  /// for each allocation, from 0, the default, to 64; recording takes microseconds. The innermost
  /// are in tenon's functions: some 5 in an optimised program, 20 in one that is not.
  /// Errors: InvalidArgument; NotSupported for a "stack_depth" if the system has no backtrace().
  Error init(const BackendOptions& options) override;

  void* allocate(size_t nbytes, size_t alignment) noexcept override;
  void deallocate(void* p, size_t nbytes) noexcept override;
  void on_made(const MadeTensor& tensor) noexcept override;

  /// Bytes in use.
  uint64_t live_bytes() const noexcept { return read(counts_.live_bytes); }
  /// The most bytes that were in use at once.
  uint64_t peak_bytes() const noexcept { return read(counts_.peak_bytes); }
  /// Bytes of all allocations so far.
  uint64_t total_bytes() const noexcept { return read(counts_.total_bytes); }
  /// Blocks in use.
  int64_t live_count() const noexcept { return read(counts_.live_count); }
  /// All allocations so far.
  int64_t total_count() const noexcept { return read(counts_.total_count); }
  /// Allocations that a NoAllocationScope refused.
  int64_t refused_count() const noexcept { return refused_.load(std::memory_order_relaxed); }
  /// Allocations not recorded for lack of memory: only the counts above include them.
  int64_t untracked_count() const noexcept { return read(untracked_); }
  /// Events dropped since the timeline was full.
  int64_t dropped_events() const noexcept { return read(dropped_); }

  /// The counts under each tag, in the order of their first use, "" first.
  std::vector<TagCounts> tags() const;
  /// The blocks in use, the largest first.
  std::vector<MemoryLeak> leaks() const;
  /// The leaks as text, the largest first, with one line for equal leaks:
  /// `4096 bytes, Float {32, 32} by zeros in "decoder" (scope at model.cpp:57), 3 times`.
  /// With "stack_depth", the return addresses follow, one per line; debug/tenon_stacks.py turns
  /// them into source lines.
  std::string leak_report() const;
  /// One line: `1024 bytes in use in 1 block, peak 17408 bytes, 2 allocations of 17408 bytes`.
  std::string summary() const;

  /// Writes the timeline as Chrome trace events, for debug/tenon_memory.py, chrome://tracing and
  /// ui.perfetto.dev: each block from its allocation to its deallocation, the counter "live bytes",
  /// and the counts of all tags. If a pool wraps the tracker, the trace shows the pool's
  /// allocations.
  /// Errors: AccessFailed, naming the path. The part written before the error stays.
  [[nodiscard]] Error write_chrome_trace(const std::string& path) const;

 private:
  friend class TrackingScope;
  using Lock = std::lock_guard<std::mutex>;
  static constexpr int kMaxDepth = 64;  // of recorded stacks

  template <class T>
  T read(const T& count) const noexcept {
    const Lock lock(mutex_);
    return count;
  }
  // The mutex is held:

  /// The counts of a tag; the counts of "" if memory runs out.
  TagCounts* find_tag(const char* tag) noexcept;
  /// An interned copy of a literal, whose library may be closed before reports are written. Null if
  /// `text` is null or memory runs out.
  const char* intern(const char* text) noexcept;
  static int64_t nanoseconds(std::chrono::steady_clock::duration time) noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
  }
  /// Nanoseconds since the tracker was made. Each time is later than the one before.
  uint64_t next_time() const noexcept {
    const int64_t now = nanoseconds(std::chrono::steady_clock::now() - begin_);
    return last_time_ = (std::max)(static_cast<uint64_t>(now), last_time_ + 1);
  }
  /// Ends the timeline: with an event missing it would be wrong.
  void drop_event() noexcept {
    if (dropped_++ == 0) end_ = next_time();
  }

  std::atomic<int64_t> refused_{0};
  std::atomic<int> stack_depth_{0};
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  mutable std::mutex mutex_;
  // Guarded by the mutex. Pointers refer to elements of deques and of a set, which do not move
  // their elements as they grow.
  TagCounts counts_;               // of all tags together
  uint64_t max_blocks_ = 500'000;  // how many the timeline takes
  uint64_t on_timeline_ = 0;
  int64_t untracked_ = 0;
  int64_t dropped_ = 0;
  uint64_t end_ = 0;  // when the timeline ended, after an event was dropped
  mutable uint64_t last_time_ = 0;
  std::set<std::string, std::less<>> literals_;
  std::deque<TagCounts> tags_;                                   // "" first
  std::unordered_map<std::string_view, TagCounts*> named_tags_;  // the others
  std::unordered_map<const void*, detail::TrackedBlock> live_;
  std::deque<detail::TrackedBlock> dead_;  // freed blocks on the timeline
};

/// While it lives, tags the calling thread's allocations from the backend. The innermost scope's
/// tag applies; scopes with equal tags share the counts.
///
/// Reports name the line of the scope. The line of a temporary scope is that of the call:
///     auto t = (TrackingScope(tracking, "decoder"), zeros({64, 64}, tracking));
/// Ownership: borrows the backend, which must outlive the scope; copies the texts. Scopes end in
/// the reverse order of their beginnings.
/// Threads: affects only the thread that made it, and ends on that thread.
class TrackingScope {
 public:
  /// Begins the tag. `file` and `line` are the caller's.
  explicit TrackingScope(TrackingBackend& backend, const char* tag,
                         const char* file = TENON_CALLER_FILE,
                         int line = TENON_CALLER_LINE) noexcept
      : TrackingScope(backend, tag, file, line, false) {}
  TrackingScope(const TrackingScope&) = delete;
  TrackingScope& operator=(const TrackingScope&) = delete;
  ~TrackingScope() {
    // A scope of the other kind that began later may still be alive.
    detail::TrackingLink** at = &detail::innermost_tracking_link();
    while (*at != nullptr && *at != &link_) at = &(*at)->outer;
    if (*at != nullptr) *at = link_.outer;
  }

 private:
  friend class NoAllocationScope;
  TrackingScope(TrackingBackend& backend, const char* tag, const char* file, int line,
                bool refuses) noexcept
      : link_{backend, nullptr, line, refuses, nullptr, detail::innermost_tracking_link()} {
    {
      const TrackingBackend::Lock lock(backend.mutex_);
      link_.file = backend.intern(file);
      link_.counts = backend.find_tag(tag == nullptr ? "" : tag);
    }
    detail::innermost_tracking_link() = &link_;
  }

  detail::TrackingLink link_;
};

/// While it lives, refuses the calling thread's allocations from the backend: they fail with
/// OutOfMemory, and the text says where this scope and the innermost TrackingScope are.
///
/// The program is not aborted: the caller gets the error, as for any OutOfMemory.
/// Ownership, threads: as TrackingScope's.
class NoAllocationScope {
 public:
  /// Begins to refuse. `file` and `line` are the caller's.
  explicit NoAllocationScope(TrackingBackend& backend, const char* file = TENON_CALLER_FILE,
                             int line = TENON_CALLER_LINE) noexcept
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
  stack_depth_ = static_cast<int>(depth);
  const Lock lock(mutex_);
  if (max_events >= 0) max_blocks_ = static_cast<uint64_t>(max_events) / 2;
  return Error::Ok;
}

inline TrackingBackend::~TrackingBackend() {
  if (live_.empty()) return;
  detail::has_memory_for([&] {
    const std::vector<MemoryLeak> all = leaks();
    std::string text = "backend tracking is destroyed with " +
                       detail::count_text(all.size(), "leak") + ", " +
                       detail::count_text(counts_.live_bytes, "byte") + ":";
    const size_t shown = (std::min)(all.size(), size_t{10});
    for (size_t i = 0; i < shown; ++i) text += "\n" + detail::block_text(all[i]);
    if (shown < all.size()) text += "\nand " + std::to_string(all.size() - shown) + " more";
    detail::notify_handler(Error::InUse, text.c_str());
  });
}

inline TagCounts* TrackingBackend::find_tag(const char* tag) noexcept {
  const auto found = named_tags_.find(tag);
  if (found != named_tags_.end()) return found->second;
  TagCounts* counts = &tags_.front();
  if (*tag == '\0') return counts;
  detail::has_memory_for([&] {
    TagCounts& made = tags_.emplace_back(TagCounts{tag});
    named_tags_.emplace(made.tag, &made);
    counts = &made;
  });
  return counts;
}

inline const char* TrackingBackend::intern(const char* text) noexcept {
  if (text == nullptr) return nullptr;
  const auto found = literals_.find(text);
  if (found != literals_.end()) return found->c_str();
  const char* kept = nullptr;
  detail::has_memory_for([&] { kept = literals_.emplace(text).first->c_str(); });
  return kept;
}

inline void* TrackingBackend::allocate(size_t nbytes, size_t alignment) noexcept {
  const detail::TrackingLink* const guard = detail::find_tracking_link(*this, true);
  const detail::TrackingLink* const scope = detail::find_tracking_link(*this, false);
  if (guard != nullptr) {
    refused_.fetch_add(1, std::memory_order_relaxed);
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
  if (p == nullptr) return nullptr;
  std::vector<void*> stack;
#if TENON_HAS_BACKTRACE
  if (const int depth = stack_depth_) {
    void* frames[kMaxDepth + 1];  // one more, for this function
    const int count = ::backtrace(frames, depth + 1);
    detail::has_memory_for([&] { stack.assign(frames + 1, frames + (std::max)(count, 1)); });
  }
#endif
  const Lock lock(mutex_);
  detail::count_block(counts_, nbytes);
  detail::TrackedBlock* block = nullptr;
  if (!detail::has_memory_for([&] { block = &live_[p]; })) {
    ++untracked_;
    drop_event();
    return p;
  }
  block->address = p;
  block->nbytes = nbytes;
  block->counts = scope != nullptr ? scope->counts : &tags_.front();
  block->tag = block->counts->tag.c_str();
  if (scope != nullptr) {
    block->file = scope->file;
    block->line = scope->line;
  }
  block->stack = std::move(stack);
  detail::count_block(*block->counts, nbytes);
  if (on_timeline_ < max_blocks_ && dropped_ == 0) {
    ++on_timeline_;
    block->born = next_time();
  } else {
    drop_event();
  }
  return p;
}

inline void TrackingBackend::deallocate(void* p, size_t nbytes) noexcept {
  {
    const Lock lock(mutex_);
    detail::uncount_block(counts_, nbytes);
    const auto found = live_.find(p);
    if (found == live_.end() || found->second.born == 0) drop_event();
    if (found != live_.end()) {
      detail::TrackedBlock& block = found->second;
      detail::uncount_block(*block.counts, nbytes);
      if (block.born != 0) {
        const uint64_t born = block.born;
        block.died = next_time();
        block.stack = {};
        if (!detail::has_memory_for([&] { dead_.push_back(std::move(block)); })) {
          drop_event();  // its allocation
          drop_event();
          end_ = (std::min)(end_, born);
        }
      }
      live_.erase(found);
    }
  }
  // Last: as soon as the block is released, another thread may get its address.
  inner().deallocate(p, nbytes);
}

inline void TrackingBackend::on_made(const MadeTensor& tensor) noexcept {
  {
    const Lock lock(mutex_);
    const auto found = live_.find(tensor.data);
    if (found != live_.end()) {
      detail::TrackedBlock& block = found->second;
      block.sizes = Dims(tensor.sizes);
      const char* const function = intern(tensor.function);
      block.function = function == nullptr ? "" : function;
      const bool is_known = function != nullptr && block.sizes.error() == Error::Ok;
      block.type = is_known ? tensor.type : ScalarType::Undefined;  // unknown if out of memory
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

inline std::vector<MemoryLeak> TrackingBackend::leaks() const {
  std::vector<MemoryLeak> leaks;
  {
    const Lock lock(mutex_);
    leaks.reserve(live_.size());
    for (const auto& [p, block] : live_) leaks.push_back(block);
  }
  std::sort(leaks.begin(), leaks.end(), [](const MemoryLeak& a, const MemoryLeak& b) {
    return a.nbytes != b.nbytes ? a.nbytes > b.nbytes : a.address < b.address;
  });
  return leaks;
}

inline std::string TrackingBackend::leak_report() const { return detail::leaks_text(leaks()); }

inline std::string TrackingBackend::summary() const {
  const TagCounts counts = read(counts_);
  return detail::count_text(counts.live_bytes, "byte") + " in use in " +
         detail::count_text(static_cast<uint64_t>(counts.live_count), "block") + ", peak " +
         detail::count_text(counts.peak_bytes, "byte") + ", " +
         detail::count_text(static_cast<uint64_t>(counts.total_count), "allocation") + " of " +
         detail::count_text(counts.total_bytes, "byte");
}

inline Error TrackingBackend::write_chrome_trace(const std::string& path) const {
  detail::TrackingTimeline timeline;
  timeline.backend = inner().name();
  timeline.clock = nanoseconds(begin_.time_since_epoch());
  {
    const Lock lock(mutex_);
    timeline.blocks.assign(dead_.begin(), dead_.end());
    for (const auto& [p, block] : live_) {
      if (block.born != 0) timeline.blocks.push_back(block);
    }
    timeline.tags.assign(tags_.begin(), tags_.end());
    timeline.counts = counts_;
    timeline.dropped = dropped_;
    timeline.end = end_;
    timeline.now = next_time();
  }
  return detail::write_chrome_trace(path, timeline);
}

TENON_END_NAMESPACE
