// SPDX-License-Identifier: MIT
// TrackingBackend: counts what the tensors of another backend allocate, finds leaks, draws pictures.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "tenon/backend/backend.h"
#include "tenon/backend/options.h"
#include "tenon/backend/tracking_log.h"
#include "tenon/backend/tracking_report.h"
#include "tenon/backend/tracking_svg.h"
#include "tenon/backend/wrapper.h"
#include "tenon/config.h"
#include "tenon/core/dims.h"
#include "tenon/core/error.h"

#if defined(__has_include)
#if __has_include(<execinfo.h>) && (defined(__GLIBC__) || defined(__APPLE__))
#define TENON_HAS_BACKTRACE 1
#include <execinfo.h>
#endif
#endif
#if !defined(TENON_HAS_BACKTRACE)
#define TENON_HAS_BACKTRACE 0
#endif

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
  int64_t live_count = 0;
  int64_t total_count = 0;
};

/// Passes everything on to another backend, and keeps account of its memory: how much is in use and
/// was at most, by which tags, what is left at the end, and when it all came and went.
///
/// Counts are of blocks of memory, in the bytes that tensors ask for: what a pool or an arena below
/// rounds up to is not in them. A resize that moves a tensor is a block like any other.
/// Ownership: borrows the backend, which outlives it; it outlives its tensors and its scopes.
/// The timeline takes some 80 bytes an event, up to 80 MB by default; see init().
/// Threads: any. The reports copy piece by piece, so that allocations do not wait for them.
class TENON_EXPORT TrackingBackend final : public WrapperBackend {
 public:
  /// The clock is for tests.
  explicit TrackingBackend(Backend& inner,
                           detail::TrackingClock clock = &detail::steady_nanoseconds) noexcept
      : WrapperBackend(inner), log_(clock) {}

  const char* name() const noexcept override { return "tracking"; }

  /// Options: "max_events", how many allocations and deallocations the timeline takes, 1'000'000 by
  /// default, 0 for none; each allocation takes the room of its deallocation with it, and the first
  /// one without room is where the timeline ends. "stack_depth", how many return addresses each
  /// allocation keeps, from 0, the default, to 16: that costs microseconds each.
  /// Errors: InvalidArgument; NotSupported for a "stack_depth" where there is no backtrace().
  Error init(const BackendOptions& options) override;

  void* allocate(size_t nbytes, size_t alignment) noexcept override;
  void deallocate(void* p, size_t nbytes) noexcept override {
    // First, as the address may be another thread's next block as soon as it is released.
    log_.remove(p, nbytes);
    inner().deallocate(p, nbytes);
  }
  void on_made(const MadeTensor& tensor) noexcept override {
    log_.describe(tensor, tensor.function);
    inner().on_made(tensor);
  }

  uint64_t live_bytes() const noexcept { return log_.counts().live_bytes; }
  uint64_t peak_bytes() const noexcept { return log_.counts().peak_bytes; }
  uint64_t total_bytes() const noexcept { return log_.counts().total_bytes; }
  int64_t live_count() const noexcept { return static_cast<int64_t>(log_.counts().live_count); }
  int64_t total_count() const noexcept { return static_cast<int64_t>(log_.counts().total_count); }
  /// Allocations that a NoAllocationScope refused.
  int64_t refused_count() const noexcept { return refused_.load(std::memory_order_relaxed); }
  /// Allocations for whose record there was no memory: they are in the counts above, and nowhere
  /// else.
  int64_t untracked_count() const noexcept { return static_cast<int64_t>(log_.untracked()); }
  /// Events that found no room on the timeline.
  int64_t dropped_events() const noexcept { return static_cast<int64_t>(log_.dropped()); }

  /// The counts under each tag, in the order of their first use, "" first.
  std::vector<TagCounts> tags() const;
  /// What is in use, largest first.
  std::vector<MemoryLeak> leaks() const;
  /// The same as text, a line each:
  /// `4096 bytes, Float {32, 32} by zeros in "decoder" (model.cpp:57)`.
  std::string leak_report() const;

  /// Writes the timeline as Chrome trace events, for chrome://tracing and ui.perfetto.dev: each block
  /// from its allocation to its deallocation, and the counter "live bytes".
  /// Errors: AccessFailed, naming the path. What was written until then stays.
  [[nodiscard]] Error write_chrome_trace(const std::string& path) const;
  /// Writes the timeline as a picture: blocks by their time and bytes in the colours of their tags,
  /// live bytes as a line, the peak. Of more than 1000 blocks, the largest are drawn.
  /// Errors: AccessFailed, naming the path.
  [[nodiscard]] Error write_svg(const std::string& path) const;

 private:
  friend class TrackingScope;
  friend class NoAllocationScope;

  const detail::TrackingSite* current_site(const detail::TrackingThread& thread) const noexcept;
  bool is_refused(const detail::TrackingThread& thread) noexcept;
  static std::vector<void*> take_stack(int depth) noexcept;
  detail::TrackingTimeline timeline() const {
    detail::TrackingTimeline timeline = log_.timeline();
    timeline.backend = inner().name();
    return timeline;
  }

  static constexpr int kMaxDepth = 16;  // of stacks

  detail::TrackingLog log_;
  std::atomic<int64_t> refused_{0};
  std::atomic<int> stack_depth_{0};
};

/// Tags what the calling thread allocates from the backend for as long as it lives. The innermost
/// one counts; one of the same tag elsewhere counts under the same.
/// Ownership: borrows the backend, which outlives it; copies the tag; `file` outlives the backend, as
/// literals do. Scopes end in the reverse order of their beginnings, on the same thread.
class TrackingScope {
 public:
  explicit TrackingScope(TrackingBackend& backend, const char* tag,
                         const char* file = __builtin_FILE(), int line = __builtin_LINE()) noexcept
      : backend_(backend),
        site_(backend.log_.site(tag == nullptr ? "" : tag, file, line)),
        outer_(detail::tracking_thread().scope) {
    detail::tracking_thread().scope = this;
  }
  TrackingScope(const TrackingScope&) = delete;
  TrackingScope& operator=(const TrackingScope&) = delete;
  ~TrackingScope() { detail::tracking_thread().scope = outer_; }

 private:
  friend class TrackingBackend;

  TrackingBackend& backend_;
  const detail::TrackingSite* site_;
  const TrackingScope* outer_;
};

/// Lets nothing be allocated from the backend on the calling thread for as long as it lives: who
/// tries gets OutOfMemory, with a text that says where the scope is.
///
/// It refuses and does not abort: the error reaches the test or the caller by the way that errors of
/// memory take anyway, with the name of the function that wanted it, and a program without memory to
/// spare shows whether it copes.
/// Ownership: as for TrackingScope.
class NoAllocationScope {
 public:
  explicit NoAllocationScope(TrackingBackend& backend, const char* file = __builtin_FILE(),
                             int line = __builtin_LINE()) noexcept
      : backend_(backend), file_(file), line_(line), outer_(detail::tracking_thread().guard) {
    detail::tracking_thread().guard = this;
  }
  NoAllocationScope(const NoAllocationScope&) = delete;
  NoAllocationScope& operator=(const NoAllocationScope&) = delete;
  ~NoAllocationScope() { detail::tracking_thread().guard = outer_; }

 private:
  friend class TrackingBackend;

  TrackingBackend& backend_;
  const char* file_;
  int line_;
  const NoAllocationScope* outer_;
};

inline Error TrackingBackend::init(const BackendOptions& options) {
  TENON_TRY(options.check_names({"max_events", "stack_depth"}));
  int64_t max_events = -1;
  int64_t depth = -1;
  TENON_TRY(options.read("max_events", 0, max_events));
  TENON_TRY(options.read("stack_depth", 0, depth));
  if (depth > kMaxDepth) {
    return detail::fail(Error::InvalidArgument, {"option \"stack_depth\" is ", depth,
                                                 "; expected a whole number up to ", kMaxDepth});
  }
  if (depth > 0 && !TENON_HAS_BACKTRACE) {
    return detail::fail(Error::NotSupported, {"option \"stack_depth\" needs <execinfo.h>"});
  }
  if (max_events >= 0) log_.set_max_events(max_events);
  if (depth >= 0) stack_depth_.store(static_cast<int>(depth), std::memory_order_relaxed);
  return Error::Ok;
}

inline void* TrackingBackend::allocate(size_t nbytes, size_t alignment) noexcept {
  detail::TrackingThread& thread = detail::tracking_thread();
  if (TENON_UNLIKELY(thread.guard != nullptr) && is_refused(thread)) return nullptr;
  void* const p = inner().allocate(nbytes, alignment);
  if (TENON_UNLIKELY(p == nullptr)) return nullptr;
  const int depth = stack_depth_.load(std::memory_order_relaxed);
  log_.add(p, nbytes, current_site(thread),
           TENON_UNLIKELY(depth != 0) ? take_stack(depth) : std::vector<void*>());
  return p;
}

inline const detail::TrackingSite* TrackingBackend::current_site(
    const detail::TrackingThread& thread) const noexcept {
  const TrackingScope* scope = thread.scope;
  while (scope != nullptr && &scope->backend_ != this) scope = scope->outer_;
  return scope != nullptr ? scope->site_ : log_.no_site();
}

TENON_COLD inline bool TrackingBackend::is_refused(const detail::TrackingThread& thread) noexcept {
  const NoAllocationScope* guard = thread.guard;
  while (guard != nullptr && &guard->backend_ != this) guard = guard->outer_;
  if (guard == nullptr) return false;
  refused_.fetch_add(1, std::memory_order_relaxed);
  if (guard->file_ == nullptr) {
    static_cast<void>(set_error(Error::OutOfMemory, "no allocation is allowed here"));
  } else {
    static_cast<void>(detail::fail(
        Error::OutOfMemory, {"no allocation is allowed here (", detail::file_name(guard->file_),
                             ":", guard->line_, ")"}));
  }
  return true;
}

TENON_COLD inline std::vector<void*> TrackingBackend::take_stack(
    [[maybe_unused]] int depth) noexcept {
  std::vector<void*> stack;  // without memory for it, there is none
#if TENON_HAS_BACKTRACE
  // The first are this function and allocate().
  constexpr int kOwn = 2;
  void* frames[kMaxDepth + kOwn];
  const int count = ::backtrace(frames, depth + kOwn);
  detail::unless_out_of_memory([&] {
    if (count > kOwn) stack.assign(frames + kOwn, frames + count);
  });
#endif
  return stack;
}

inline std::vector<TagCounts> TrackingBackend::tags() const {
  std::vector<TagCounts> tags;
  for (const detail::TrackingTagCounts& tag : log_.tags()) {
    const detail::MemoryCounts& counts = tag.counts;
    if (counts.total_count == 0) continue;
    tags.push_back({tag.tag->text, counts.live_bytes, counts.peak_bytes,
                    static_cast<int64_t>(counts.live_count),
                    static_cast<int64_t>(counts.total_count)});
  }
  return tags;
}

inline std::vector<MemoryLeak> TrackingBackend::leaks() const {
  std::vector<MemoryLeak> leaks;
  log_.for_each_live(
      [&](size_t count) {
        leaks.clear();
        leaks.reserve(count + count / 8);  // growth would copy them with the lock held
      },
      [&](const void* address, const detail::TrackingRecord& record,
          const std::vector<void*>& stack) {
        const bool is_known = record.knows_tensor();
        leaks.push_back({address, record.nbytes,
                         is_known ? detail::public_type(record.type) : ScalarType::Undefined,
                         is_known ? record.sizes : Dims(), is_known ? record.function : "",
                         record.site->tag->text.c_str(), record.site->file, record.site->line,
                         stack});
      });
  std::sort(leaks.begin(), leaks.end(), [](const MemoryLeak& a, const MemoryLeak& b) {
    return a.nbytes != b.nbytes ? a.nbytes > b.nbytes : a.address < b.address;
  });
  return leaks;
}

inline std::string TrackingBackend::leak_report() const {
  std::string text;
  for (const MemoryLeak& leak : leaks()) {
    text += std::to_string(leak.nbytes) + " bytes";
    if (*leak.function != '\0') {
      text += ", " + detail::tensor_text(detail::own_type(leak.type), leak.sizes) + " by " +
              leak.function;
    }
    if (*leak.tag != '\0') text += std::string(" in \"") + leak.tag + "\"";
    if (leak.file != nullptr) text += " (" + detail::place_text(leak.file, leak.line) + ")";
    text += '\n';
#if TENON_HAS_BACKTRACE
    if (leak.stack.empty()) continue;
    char** const names =
        ::backtrace_symbols(leak.stack.data(), static_cast<int>(leak.stack.size()));
    for (size_t i = 0; names != nullptr && i < leak.stack.size(); ++i) {
      text += std::string("    ") + names[i] + "\n";
    }
    std::free(names);
#endif
  }
  return text;
}

inline Error TrackingBackend::write_chrome_trace(const std::string& path) const {
  detail::ReportFile file(path);
  if (file.is_open()) detail::ChromeTrace(timeline(), file).write();
  const Error error = file.finish();
  return TENON_UNLIKELY(error != Error::Ok) ? detail::blame("write_chrome_trace", error) : error;
}

inline Error TrackingBackend::write_svg(const std::string& path) const {
  detail::ReportFile file(path);
  if (file.is_open()) file.write(detail::TrackingPicture(timeline()).draw());
  const Error error = file.finish();
  return TENON_UNLIKELY(error != Error::Ok) ? detail::blame("write_svg", error) : error;
}

TENON_END_NAMESPACE
