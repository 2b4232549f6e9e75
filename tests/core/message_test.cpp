// SPDX-License-Identifier: MIT
#include "tenon/core/message.h"

#include <cstdarg>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "support/catch.h"

using namespace tenon;
using detail::append;
using detail::Message;

namespace {

std::string cut_text(size_t capacity, uint64_t kinds, ...) {
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
  return cut_text(capacity, detail::kPartKinds<T...>, detail::part(parts)...);
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

TEST_CASE("message: integers of every type are written in decimal, extremes included") {
  CHECK(text_of(0) == "0");
  CHECK(text_of(7) == "7");
  CHECK(text_of(-10) == "-10");
  CHECK(text_of(std::numeric_limits<int8_t>::min()) == "-128");
  CHECK(text_of(std::numeric_limits<uint8_t>::max()) == "255");
  CHECK(text_of(std::numeric_limits<int16_t>::min()) == "-32768");
  CHECK(text_of(std::numeric_limits<int32_t>::min()) == "-2147483648");
  CHECK(text_of(std::numeric_limits<uint32_t>::max()) == "4294967295");
  CHECK(text_of(INT64_MIN) == "-9223372036854775808");
  CHECK(text_of(INT64_MAX) == "9223372036854775807");
  CHECK(text_of(UINT64_MAX) == "18446744073709551615");
  CHECK(text_of(1000000007ll) == "1000000007");
}

TEST_CASE("message: text, characters and truth values are written as such") {
  CHECK(text_of("text") == "text");
  CHECK(text_of("") == "");
  const char* pointer = "pointer";
  CHECK(text_of(pointer) == "pointer");
  CHECK(text_of('c') == "c");
  CHECK(text_of(true) == "true");
  CHECK(text_of(false) == "false");
}

TEST_CASE("message: floating values have up to six digits after the point") {
  CHECK(text_of(0.0) == "0");
  CHECK(text_of(1.0) == "1");
  CHECK(text_of(-2.5) == "-2.5");
  CHECK(text_of(0.1) == "0.1");
  CHECK(text_of(0.5f) == "0.5");
  CHECK(text_of(1.0 / 3) == "0.333333");
  CHECK(text_of(2.0 / 3) == "0.666667");
  CHECK(text_of(0.0001) == "0.0001");
  CHECK(text_of(3.000001) == "3.000001");
  CHECK(text_of(0.99999999) == "1");
  CHECK(text_of(-0.99999999) == "-1");
  CHECK(text_of(123456.75) == "123456.75");
  CHECK(text_of(999999999999999.0) == "999999999999999");
}

TEST_CASE("message: very large and very small values have an exponent") {
  CHECK(text_of(1e15) == "1e15");
  CHECK(text_of(1.5e20) == "1.5e20");
  CHECK(text_of(-1e300) == "-1e300");
  CHECK(text_of(3e-5) == "3e-5");
  CHECK(text_of(2.5e-10) == "2.5e-10");
  CHECK(text_of(std::numeric_limits<double>::max()) == "1.797693e308");
  CHECK(text_of(std::numeric_limits<double>::denorm_min()) == "4.940656e-324");
}

TEST_CASE("message: a mantissa that rounds up to ten becomes one with the next exponent") {
  CHECK(text_of(1e-300) == "1e-300");  // repeated scaling leaves 9.9999999…e-301
  CHECK(text_of(9.99999999e20) == "1e21");
  CHECK(text_of(9.99999999e-6) == "1e-5");
}

TEST_CASE("message: infinities and NaN have names") {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(text_of(infinity) == "inf");
  CHECK(text_of(-infinity) == "-inf");
  CHECK(text_of(std::numeric_limits<double>::quiet_NaN()) == "nan");
}

TEST_CASE("message: lists are written in braces") {
  const int64_t sizes[] = {2, -3, INT64_MIN};
  CHECK(text_of(ArrayRef<int64_t>(sizes)) == "{2, -3, -9223372036854775808}");
  CHECK(text_of(ArrayRef<int64_t>(sizes, 1)) == "{2}");
  CHECK(text_of(ArrayRef<int64_t>()) == "{}");
  const uint8_t order[] = {1, 0};
  CHECK(text_of(ArrayRef<uint8_t>(order)) == "{1, 0}");
  double values[] = {0.5, 2};
  CHECK(text_of(Span<double>(values)) == "{0.5, 2}");
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
  append(message, "abcdef");
  append(message, INT64_MIN);
  append(message, 0.123);
  CHECK(std::string(buffer) == "abc");
  CHECK(std::string(buffer + 4) == "....");
}

TEST_CASE("message: a new message starts empty whatever the buffer held") {
  char buffer[] = "old text";
  const Message message(buffer, sizeof buffer);
  CHECK(buffer[0] == '\0');
}
