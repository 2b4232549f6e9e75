// SPDX-License-Identifier: MIT
// Calls that are made again and again, with the n-th allocation, the n-th call of a backend or the
// n-th call of the user's code failing, for n = 1, 2, … until none fails. After each failure
// nothing leaks, duties are done once, arguments are as they were, and the same call works.
//
// Without a test framework, so that programs without exceptions have it too: they define
// TESTS_FAULT(text) before this header.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "allocation/counting_malloc.h"
#include "backend/helpers.h"
#include "support/calls.h"
#include "support/shapes.h"
#include "tenon/tenon.h"

namespace tests {

/// What fails.
enum class Fault { Allocation, Backend, BackendThrows, UserCode };
inline constexpr int kFaults = 4;

/// The calls of foreign code since a call under test began, and which of them fails.
struct Injection {
  Fault fault = Fault::Allocation;
  int64_t fail_at = 0;  // 0 for none
  int64_t seen = 0;
  int64_t failures = 0;
};
inline Injection injection;

/// Counts a call of foreign code. Returns whether it is to fail.
inline bool is_to_fail(Fault fault) noexcept {
  if (injection.fault != fault || ++injection.seen != injection.fail_at) return false;
  ++injection.failures;
  return true;
}

/// What the user's code throws.
struct UserError {};

inline void call_user_code() {
#if TENON_HAS_EXCEPTIONS
  if (is_to_fail(Fault::UserCode)) throw UserError();
#endif
}

/// The failures of a whole run, printed when it ends.
struct Tally {
  int64_t calls = 0;
  int64_t failures[kFaults] = {};
  ~Tally() {
    if (!heap_is_counted()) std::printf("allocations did not fail: needs glibc, no sanitizer\n");
    std::printf(
        "%lld calls with %lld failing allocations, %lld failing and %lld throwing calls of "
        "backends, %lld throws of the user's code: %lld failures\n",
        static_cast<long long>(calls), static_cast<long long>(failures[0]),
        static_cast<long long>(failures[1]), static_cast<long long>(failures[2]),
        static_cast<long long>(failures[3]),
        static_cast<long long>(failures[0] + failures[1] + failures[2] + failures[3]));
  }
};
inline Tally tally;

/// A device whose n-th call fails or throws; with or without the optional operations.
class FailingBackend final : public CountingBackend {
 public:
  explicit FailingBackend(bool has_optional = true,
                          tenon::Device device = tenon::Device(tenon::DeviceType::ExtDev, 0))
      : CountingBackend("failing", device) {
    if (!has_optional) set_all(Answer::NotSupported);
  }

  void* allocate(size_t nbytes, size_t alignment) noexcept override {
    if (is_to_fail(Fault::Backend)) return nullptr;
    const Uncounted uncounted;
    return CountingBackend::allocate(nbytes, alignment);
  }
  void deallocate(void* p, size_t nbytes) noexcept override {
    const Uncounted uncounted;
    CountingBackend::deallocate(p, nbytes);
  }
  tenon::Error copy_from_host(void* dst, const void* src, size_t nbytes) override {
    return call([&] { return CountingBackend::copy_from_host(dst, src, nbytes); });
  }
  tenon::Error copy_to_host(void* dst, const void* src, size_t nbytes) override {
    return call([&] { return CountingBackend::copy_to_host(dst, src, nbytes); });
  }
  tenon::Error copy_within(void* dst, const void* src, size_t nbytes) override {
    return call([&] { return CountingBackend::copy_within(dst, src, nbytes); });
  }
  tenon::Error synchronize() override {
    return call([&] { return CountingBackend::synchronize(); });
  }
  tenon::Error init(const tenon::BackendOptions& options) override {
    return call([&] { return CountingBackend::init(options); });
  }
  tenon::Error copy(const tenon::TensorView& dst, const tenon::TensorView& src,
                    tenon::CastMode mode) override {
    for (const tenon::TensorView* view : {&dst, &src}) {
      const bool is_known = view->device.is_cpu() || view->device == device();
      if (!is_known) return tenon::Error::NotSupported;  // memory of another device
    }
    return call([&] { return CountingBackend::copy(dst, src, mode); });
  }
  tenon::Error constant(const tenon::TensorView& out, const void* element) override {
    return call([&] { return CountingBackend::constant(out, element); });
  }
  tenon::Error eye(const tenon::TensorView& out) override {
    return call([&] { return CountingBackend::eye(out); });
  }
  tenon::Error iota(const tenon::TensorView& out, tenon::OptionalIndex axis) override {
    return call([&] { return CountingBackend::iota(out, axis); });
  }
  tenon::Error from_binary(const tenon::TensorView& out, const void* bytes,
                           size_t nbytes) override {
    return call([&] { return CountingBackend::from_binary(out, bytes, nbytes); });
  }
  tenon::Error to_binary(const tenon::TensorView& in, int64_t count, void* bytes) override {
    return call([&] { return CountingBackend::to_binary(in, count, bytes); });
  }
  tenon::Error random_uniform(const tenon::TensorView& out, double min, double max,
                              const tenon::Generator::State& start) override {
    return call([&] { return CountingBackend::random_uniform(out, min, max, start); });
  }
  tenon::Error random_normal(const tenon::TensorView& out, double mu, double sigma,
                             const tenon::Generator::State& start) override {
    return call([&] { return CountingBackend::random_normal(out, mu, sigma, start); });
  }
  tenon::Error inspect(const tenon::TensorView& in, int64_t limit, std::string& text) override {
    char elements[256] = "";  // which is not freed where nothing counts
    const tenon::Error error = call([&] {
      std::string shown;
      const tenon::Error failed = CountingBackend::inspect(in, limit, shown);
      std::snprintf(elements, sizeof elements, "%s", shown.c_str());
      return failed;
    });
    if (error == tenon::Error::Ok) text += elements;
    return error;
  }
  void on_made(const tenon::MadeTensor&) noexcept override {}

 private:
  template <class F>
  tenon::Error call(const F& f) {
    if (is_to_fail(Fault::Backend)) return set_error(tenon::Error::AccessFailed, "it is gone");
    if (is_to_fail(Fault::BackendThrows)) throw_error("thrown on the way");
    const Uncounted uncounted;
    return f();
  }
};

/// Keeps the tensors' metadata too, as an arena does; its n-th allocation fails.
class FailingMetadataBackend final : public tenon::HostMemoryBackend {
 public:
  const char* name() const noexcept override { return "failing metadata"; }
  void* allocate(size_t nbytes, size_t alignment) noexcept override {
    return is_to_fail(Fault::Backend) ? nullptr : arena_.allocate(nbytes, alignment);
  }
  void deallocate(void* p, size_t nbytes) noexcept override { arena_.deallocate(p, nbytes); }
  tenon::Backend* metadata_backend() noexcept override { return this; }

 private:
  alignas(64) unsigned char buffer_[size_t{1} << 20] = {};
  tenon::ArenaBackend arena_{buffer_, sizeof buffer_};
};

// ---- What stays as it was ----

template <class... Parts>
std::string joined(const Parts&... parts) {
  std::string text;
  ((text += std::to_string(parts) + ' '), ...);
  return text;
}

/// All that a failed call must leave as it was, as a text.
inline std::string picture_of(const tenon::Tensor& t, bool has_contents) {
  if (!t.defined()) return "undefined";
  const auto& fields = tenon::detail::fields(tenon::ConstTensorArg(t));
  std::string text = joined(reinterpret_cast<uintptr_t>(fields.data), fields.deallocated,
                            t.use_count(), fields.borrows.any(), static_cast<int>(t.scalar_type()),
                            static_cast<int>(tenon::ownership(t)),
                            static_cast<int>(tenon::shape_dynamism(t)), t.numel());
  for (const int64_t size : t.sizes()) text += joined(size);
  for (const int64_t stride : t.strides()) text += joined(stride);
  for (const auto dim : tenon::dim_order(t)) text += joined(static_cast<int>(dim));
  if (has_contents && fields.data != nullptr && t.numel() != 0) {
    for (const uint8_t byte : tenon::to_binary(t)) text += joined(static_cast<int>(byte));
  }
  return text;
}
inline std::string picture_of(const tenon::TensorPtr& t, bool has_contents) {
  return t == nullptr ? "null" : picture_of(*t, has_contents);
}
inline std::string picture_of(const tenon::Generator& generator, bool) {
  return joined(generator.seed(), generator.offset());
}
inline std::string picture_of(const tenon::Backend& backend, bool) {
  return joined(backend.live_blocks());
}
template <class T>
std::string picture_of(const std::vector<T>& list, bool) {
  std::string text = joined(list.size());
  for (const auto& value : list) text += joined(value);
  return text;
}

/// Arguments of the calls under test. As long as this lives, failed calls must leave them as they
/// were.
class Unchanged {
 public:
  template <class... Things>
  explicit Unchanged(const Things&... things) : Unchanged(Partly(), true, things...) {}
  ~Unchanged() { all().pop_back(); }
  Unchanged(const Unchanged&) = delete;
  Unchanged& operator=(const Unchanged&) = delete;

  static std::string picture() {
    std::string text;
    for (const Unchanged* given : all()) {
      for (const auto& thing : given->things_) text += thing() + '\n';
    }
    return text;
  }

 protected:
  struct Partly {};
  /// A failing backend may leave what is written to written in part.
  template <class... Things>
  explicit Unchanged(Partly, bool is_source, const Things&... things)
      : things_{[&things, is_source] {
          return picture_of(things, is_source || injection.fault == Fault::Allocation ||
                                        injection.fault == Fault::UserCode);
        }...} {
    all().push_back(this);
  }

 private:
  static std::vector<const Unchanged*>& all() {
    static std::vector<const Unchanged*> list;
    return list;
  }
  std::vector<std::function<std::string()>> things_;
};
/// The same for a destination, but a failing backend may leave any elements in it.
struct Output : Unchanged {
  template <class... Things>
  explicit Output(const Things&... things) : Unchanged(Partly(), false, things...) {}
};

// ---- What the calls are given ----

inline constexpr auto kBound = tenon::TensorShapeDynamism::DYNAMIC_BOUND;
inline constexpr auto kDynamic = tenon::TensorShapeDynamism::DYNAMIC;
/// Sizes of more dimensions than are stored inline.
inline const Vector kDeep(8, 1);
inline const Vector kDeepSizes{2, 1, 1, 1, 1, 1, 1, 3};
inline float blob[12] = {};

/// A deleter that is too large to be stored inline.
inline auto large_deleter(Calls& calls) {
  return [&calls, padding = std::array<void*, 8>()](void* p) noexcept {
    static_cast<void>(padding);
    calls.deleter()(p);
  };
}

// ---- The calls ----

// The error of what a function returned, which is then dropped.
inline tenon::Error error_of(tenon::Error error) { return error; }
template <class T>
tenon::Error error_of(const tenon::Result<T>& result) {
  return result.error();
}
template <class T>
tenon::Error error_of(const T&) {
  return tenon::Error::Ok;
}
template <class Managed>
tenon::Error error_of(Managed* dlpack) {
  const std::unique_ptr<Managed, tenon::DLPackDeleter> drop(dlpack);
  return drop != nullptr ? tenon::Error::Ok : tenon::Error::Internal;
}
template <class Managed>
tenon::Error error_of(const tenon::Result<Managed*>& result) {
  return result.ok() ? error_of(*result) : result.error();
}

template <class T>
struct IsResult : std::false_type {};
template <class T>
struct IsResult<tenon::Result<T>> : std::true_type {};

/// How many allocations are the test's own, for which std::bad_alloc is right: a vector that is
/// moved in, a text that is returned.
struct Foreign {
  int count;
};

/// What is expected of a call under test.
struct Expected {
  Expected(Calls& counted, int n, int foreign_count = 0)
      : calls(&counted), releases(n), foreign(foreign_count) {}
  Expected(Foreign own = {0}) : foreign(own.count) {}
  Calls* calls = nullptr;
  int releases = 0;      // counted in `calls`
  int when_thrown = -1;  // the same where the user's code threw; -1 for any number
  int foreign = 0;
  /// Whether it may do well in spite of a failure, as growth does that asks for less.
  bool recovers = false;
  /// Whether blocks may be left, as an interpreter keeps some for later.
  bool keeps = false;
  /// What a failed allocation may be reported as besides: the system's text for a file.
  tenon::Error also = tenon::Error::OutOfMemory;
};
/// One duty that is done unless the user's code throws: then nobody has taken it over.
inline Expected once(Calls& calls) {
  Expected expected(calls, 1);
  expected.when_thrown = 0;
  return expected;
}
inline Expected recovers(Foreign own = {0}) {
  Expected expected(own);
  expected.recovers = true;
  return expected;
}

/// How a call ended.
struct Outcome {
  tenon::Error error = tenon::Error::Ok;
  bool bad_alloc = false;
  bool user_error = false;
  char text[200] = "";  // of a tenon::Exception, or a Result
};

/// Calls f; how it ended, with a Result's text.
template <class F>
void call(const F& f, Outcome& outcome) {
  const auto& result = f();
  if constexpr (IsResult<std::decay_t<decltype(result)>>::value) {
    if (!result.ok()) std::snprintf(outcome.text, sizeof outcome.text, "%s", result.message());
  }
  outcome.error = error_of(result);
}
/// Whether a text begins with the name of the try_ form that `what` calls; of a member, of for_blob.
inline bool is_by_its_name(const char* what, const char* text) {
  const char* const end = std::strstr(text, ": ");
  const std::string name(text, end == nullptr ? text : end);
  const bool is_member = std::strstr(what, ".try_") != nullptr;
  const std::string call = std::string(what) + '(';
  return name.rfind(is_member ? "for_blob" : "try_", 0) == 0 &&
         (call.find(name + '(') != std::string::npos || call.find(name + '<') != std::string::npos);
}

template <class F>
Outcome outcome_of(const F& f) {
  Outcome outcome;
#if TENON_HAS_EXCEPTIONS
  try {
    call(f, outcome);
  } catch (const tenon::Exception& e) {
    stop_failing();
    std::snprintf(outcome.text, sizeof outcome.text, "%s", e.what());
    const bool named = std::strstr(e.what(), ": ") != nullptr;
    outcome.error = named && !IsResult<decltype(f())>::value ? e.error() : tenon::Error::Internal;
  } catch (const std::bad_alloc&) {
    outcome.bad_alloc = true;
  } catch (const UserError&) {
    outcome.user_error = true;
  }
#else
  call(f, outcome);
#endif
  return outcome;
}

/// Calls f with the first, second, … fault of one kind, until there is none. Returns how many there
/// were.
template <class F>
int64_t fail_each_of(Fault fault, const char* what, const Expected& expected, const F& f) {
  constexpr int64_t kMost = 400;
  static const char* const kNames[] = {"allocation", "call of a backend",
                                       "throwing call of a backend", "call of the user's code"};
  Calls* const calls = expected.calls;
  int bad_allocs = 0;
  int64_t n = 1;
  bool completed = false;
  const auto check = [&](bool is_right, const Outcome& outcome, const char* fault_text) {
    if (is_right) return;
    TESTS_FAULT(std::string(what) + ", " + kNames[static_cast<int>(fault)] + ' ' +
                std::to_string(n) + ": " + fault_text + "; error " + toString(outcome.error) +
                (outcome.bad_alloc ? ", bad_alloc" : "") +
                (outcome.user_error ? ", the user's exception" : "") + ", the deleter ran " +
                std::to_string(calls == nullptr ? 0 : calls->count) + " times; " + outcome.text);
  };
  for (; n < kMost && !completed; ++n) {
    const auto call = [&](int64_t fail_at, int64_t& leaked) {
      if (calls != nullptr) *calls = Calls();
      injection = Injection{fault, fail_at, 0, 0};
      start_counting(fault == Fault::Allocation ? fail_at : 0);
      const Outcome outcome = outcome_of(f);
      leaked = live_blocks();
      stop_counting();
      injection.fail_at = 0;
      return outcome;
    };
    int64_t leaked = 0;
    injection = Injection{fault, 0, 0, 0};
    const std::string before = Unchanged::picture();
    const Outcome outcome = call(n, leaked);
    const int64_t made = fault == Fault::Allocation ? failures() : injection.failures;
    completed = made == 0;
    bad_allocs += outcome.bad_alloc ? 1 : 0;
    const bool thrown = outcome.bad_alloc || outcome.user_error;
    const bool failed = outcome.error != tenon::Error::Ok || thrown;
    check(leaked == 0 || expected.keeps, outcome, "it leaks");
    // The call's own allocation that fails comes before the deleter was handed over.
    const bool is_right_when_thrown =
        outcome.user_error &&
        (expected.when_thrown < 0 || calls == nullptr || calls->count == expected.when_thrown);
    const bool released = calls == nullptr || calls->count == expected.releases ||
                          (outcome.bad_alloc && expected.foreign > 0) || is_right_when_thrown;
    check(released, outcome, "a duty is not done once");
    if (completed) {
      check(!failed, outcome, "it fails by itself");
      break;
    }
    if (IsResult<decltype(f())>::value && std::strstr(what, "try_") != nullptr) {
      check(!failed || thrown || is_by_its_name(what, outcome.text), outcome,
            "the text is not by the name of the try_ form");
    }
    ++tally.calls;
    tally.failures[static_cast<int>(fault)] += made;
    if (!failed) {
      check(expected.recovers, outcome, "the failure is not reported");
      continue;
    }
    check(fault != Fault::Allocation || outcome.bad_alloc ||
              outcome.error == tenon::Error::OutOfMemory || outcome.error == expected.also,
          outcome, "it is not OutOfMemory");
    check(Unchanged::picture() == before, outcome, "an argument has changed");
    const Outcome again = call(0, leaked);
    check(again.error == tenon::Error::Ok && !again.bad_alloc && (leaked == 0 || expected.keeps),
          again, "the next call fails or leaks");
    check(calls == nullptr || calls->count == expected.releases, again,
          "the next call does not do a duty once");
  }
  check(completed, Outcome(), "it never completes");
  check(bad_allocs <= expected.foreign, Outcome(), "std::bad_alloc is thrown");
  return n - 1;
}

/// The same for every kind of fault. There must be at least one fault.
template <class F>
void fail_each(const char* what, const Expected& expected, const F& f) {
  int64_t faults = heap_is_counted() ? 0 : 1;
  for (const Fault fault :
       {Fault::Allocation, Fault::Backend, Fault::BackendThrows, Fault::UserCode}) {
    if (!heap_is_counted() && fault == Fault::Allocation) continue;
    if (!TENON_HAS_EXCEPTIONS && fault >= Fault::BackendThrows) break;
    faults += fail_each_of(fault, what, expected, f);
  }
  if (faults == 0) TESTS_FAULT(std::string(what) + ": nothing in it can fail");
}

// The same of an expression. tests/tools/structure/check_failures.py reads which functions it calls.
#define FAIL_EACH_WITH(expected, ...) \
  ::tests::fail_each(#__VA_ARGS__, expected, [&] { return __VA_ARGS__; })
#define FAIL_EACH(...) \
  ::tests::fail_each(#__VA_ARGS__, ::tests::Expected(), [&] { return __VA_ARGS__; })

/// The same of members: FAIL_EACH_OF("Module::run", module.run("forward", x)).
#define FAIL_EACH_OF_WITH(names, expected, ...) \
  ::tests::fail_each(names ": " #__VA_ARGS__, expected, [&] { return __VA_ARGS__; })
#define FAIL_EACH_OF(names, ...) \
  ::tests::fail_each(names ": " #__VA_ARGS__, ::tests::Expected(), [&] { return __VA_ARGS__; })

}  // namespace tests
