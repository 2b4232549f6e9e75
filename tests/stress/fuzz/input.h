// SPDX-License-Identifier: MIT
// A fuzzer's bytes, read as the choices that a program makes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

namespace fuzz {

/// What backends and modules throw. Compiled here, so that MemorySanitizer knows what() as well.
struct Thrown : std::exception {
  const char* what() const noexcept override { return "thrown on the way, %s%n"; }
};

/// Reads the bytes from the front; zeros once they are used up, so that every input is a program.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  bool empty() const { return size_ == 0; }
  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

  /// The next value of an integer or floating type.
  template <class T>
  T take() {
    T value{};
    const size_t n = size_ < sizeof value ? size_ : sizeof value;
    std::memcpy(&value, data_, n);
    data_ += n;
    size_ -= n;
    return value;
  }
  /// One byte's choice of 0 to count - 1.
  size_t choose(size_t count) { return take<uint8_t>() % count; }
  bool flip() { return (take<uint8_t>() & 1) != 0; }

 private:
  const uint8_t* data_;
  size_t size_;
};

}  // namespace fuzz

/// Aborts if the condition is false, which libFuzzer reports as a crash.
#define FUZZ_CHECK(condition)                                                                 \
  ((condition)                                                                                \
       ? static_cast<void>(0)                                                                 \
       : (std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition), \
          std::abort()))
