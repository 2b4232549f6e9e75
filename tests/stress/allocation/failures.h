// SPDX-License-Identifier: MIT
// What the tests of failing calls share.
#pragma once

#include "support/catch.h"
#define TESTS_FAULT(text)  \
  do {                     \
    INFO(text);            \
    FAIL_CHECK("a fault"); \
  } while (false)
#include "allocation/fail_each.h"
#include "tensor/helpers.h"

namespace tests {

/// The same for an f that returns an Error and writes to this memory, which stays when it fails.
template <class F>
void fail_each_write(const char* what, const void* memory, size_t nbytes, F&& f) {
  std::vector<unsigned char> before(nbytes);
  fail_each(what, Expected(), [&] {
    std::memcpy(before.data(), memory, nbytes);
    const tenon::Error error = f();
    const bool changed = std::memcmp(before.data(), memory, nbytes) != 0;
    return error != tenon::Error::Ok && changed ? tenon::Error::Internal : error;
  });
}

/// The same for an f that takes a generator: when it fails the generator stays where it is.
template <class F>
void fail_each_random(const char* what, uint64_t numel, F&& f) {
  tenon::Generator g(1);
  const Unchanged given(g);
  fail_each(what, Expected(), [&] { return f(g); });
  INFO(what);
  CHECK(g.offset() > 0);
  CHECK(g.offset() % numel == 0);
}

/// Counts its destruction among the calls. LargeOwner is too large to be stored inline.
struct Owner {
  explicit Owner(Calls& c) : calls(&c) {}
  Owner(Owner&& other) noexcept : calls(std::exchange(other.calls, nullptr)) {}
  ~Owner() {
    if (calls != nullptr) calls->deleter()(nullptr);
  }
  Calls* calls;
};
struct LargeOwner : Owner {
  using Owner::Owner;
  std::array<char, 100> padding{};
};

/// A deleter, an owner or a callable whose copies call the user's code, and so do its moves.
struct ThrowingCopies {
  explicit ThrowingCopies(Calls& c) : calls(&c) {}
  ThrowingCopies(const ThrowingCopies& other) : calls(other.calls) { call_user_code(); }
  void operator()(void* p) const noexcept { calls->deleter()(p); }
  Calls* calls;
};
/// An owner that is no deleter.
struct ThrowingOwner {
  explicit ThrowingOwner(Calls& c) : calls(&c) {}
  ThrowingOwner(const ThrowingOwner& other) : calls(other.calls) { call_user_code(); }
  Calls* calls;
};
/// 0, 1, … which are computed by the user's code; not contiguous.
template <class T>
struct ThrowingRange {
  struct Iterator {
    T value;
    T operator*() const {
      call_user_code();
      return value;
    }
    Iterator& operator++() {
      call_user_code();
      ++value;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return value != other.value; }
    bool operator==(const Iterator& other) const { return value == other.value; }
  };
  Iterator begin() const {
    call_user_code();
    return {0};
  }
  Iterator end() const { return {static_cast<T>(count)}; }
  size_t size() const { return count; }
  size_t count;
};

}  // namespace tests
