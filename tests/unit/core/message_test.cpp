// SPDX-License-Identifier: MIT
#include "tenon/core/message.h"

#include <cstdarg>

#include "support/catch.h"

namespace message_test {

using namespace tenon;
using detail::append;
using detail::Message;

namespace {

std::string cut_text(size_t capacity, uint32_t kinds, ...) {
  std::string buffer(capacity, '#');
  Message message(&buffer[0], capacity);
  va_list parts;
  va_start(parts, kinds);
  detail::append_parts(message, kinds, parts);
  va_end(parts);
  return buffer.c_str();
}

// The text of several parts, cut to a capacity.
template <class... T>
std::string text_within(size_t capacity, const T&... parts) {
  return cut_text(capacity, detail::kPartKinds<T...>, detail::pass(detail::part(parts))...);
}

// What append() writes for a value, and what the same value writes as a part; "DIFFERENT" if they
// disagree.
template <class T>
std::string text_of(const T& value) {
  char direct[256];
  Message message(direct, sizeof direct);
  append(message, value);
  return direct == text_within(256, value) ? direct : "DIFFERENT";
}

}  // namespace

TEST_CASE("message: numbers, text and lists are written as they would be in a sentence") {
  const double infinity = std::numeric_limits<double>::infinity();
  const char* pointer = "pointer";
  const int64_t sizes[] = {2, -3, INT64_MIN};
  const uint8_t order[] = {1, 0};
  double values[] = {0.5, 2};
  const std::pair<std::string, std::string> rows[] = {
      {text_of(0), "0"},
      {text_of(-10), "-10"},
      {text_of(INT64_MIN), "-9223372036854775808"},
      {text_of(UINT64_MAX), "18446744073709551615"},
      {text_of("text"), "text"},
      {text_of(pointer), "pointer"},
      {text_of('c'), "c"},
      {text_of(true), "true"},
      {text_of(false), "false"},
      // Up to six digits after the point.
      {text_of(0.0), "0"},
      {text_of(1.0 / 3), "0.333333"},
      {text_of(2.0 / 3), "0.666667"},
      {text_of(3.000001), "3.000001"},
      {text_of(-0.99999999), "-1"},
      {text_of(123456.75), "123456.75"},
      // Very large and very small ones have an exponent.
      {text_of(1e15), "1e15"},
      {text_of(-1e300), "-1e300"},
      {text_of(2.5e-10), "2.5e-10"},
      {text_of(std::numeric_limits<double>::max()), "1.797693e308"},
      {text_of(std::numeric_limits<double>::denorm_min()), "4.940656e-324"},
      // A mantissa that rounds up to ten; repeated scaling of the first leaves 9.9999999…e-301.
      {text_of(1e-300), "1e-300"},
      {text_of(9.99999999e20), "1e21"},
      {text_of(9.99999999e-6), "1e-5"},
      {text_of(infinity), "inf"},
      {text_of(-infinity), "-inf"},
      {text_of(std::numeric_limits<double>::quiet_NaN()), "nan"},
      {text_of(ArrayRef<int64_t>(sizes)), "{2, -3, -9223372036854775808}"},
      {text_of(ArrayRef<int64_t>()), "{}"},
      {text_of(ArrayRef<uint8_t>(order)), "{1, 0}"},
      {text_of(Span<double>(values)), "{0.5, 2}"},
  };
  for (const auto& [text, expected] : rows) CHECK(text == expected);
}

TEST_CASE("message: parts of different types follow each other without separators") {
  const size_t n = 3;
  CHECK(text_within(256, "size ", -1, " of dimension ", n, ": ", 0.5, ' ', true) ==
        "size -1 of dimension 3: 0.5 true");
  CHECK(text_within(256) == "");
}

TEST_CASE("message: what does not fit is cut, and the text always ends with a zero") {
  CHECK(text_within(7, "abcdef") == "abcdef");
  CHECK(text_within(6, "abcdef") == "abcde");
  CHECK(text_within(1, "abcdef") == "");
  CHECK(text_within(6, "abc", 12345) == "abc12");
  CHECK(text_within(5, "abc", "def", "ghi") == "abcd");

  // Nothing is written beyond the capacity, whatever comes after it is full.
  char buffer[] = "........";
  Message message(buffer, 4);
  CHECK(buffer[0] == '\0');
  append(message, "abcdef");
  append(message, INT64_MIN);
  append(message, 0.123);
  CHECK(std::string(buffer) == "abc");
  CHECK(std::string(buffer + 4) == "....");
}

}  // namespace message_test
