// SPDX-License-Identifier: MIT
#include "tenon/interop/libraries/arrow_types.h"

#include "support/catch.h"

namespace arrow_types_test {

using tenon::detail::arrow_format_of;
using tenon::detail::ArrowHold;
using tenon::detail::ScalarType;
using tenon::detail::type_of_arrow_format;

TEST_CASE("arrow types: each format has its type, and back") {
  const struct {
    const char* format;
    ScalarType type;
  } rows[] = {{"c", ScalarType::Char},   {"C", ScalarType::Byte},   {"s", ScalarType::Short},
              {"S", ScalarType::UInt16}, {"i", ScalarType::Int},    {"I", ScalarType::UInt32},
              {"l", ScalarType::Long},   {"L", ScalarType::UInt64}, {"e", ScalarType::Half},
              {"f", ScalarType::Float},  {"g", ScalarType::Double}};
  for (const auto& row : rows) {
    CAPTURE(row.format);
    CHECK(type_of_arrow_format(row.format) == row.type);
    CHECK(arrow_format_of(row.type) == row.format[0]);
  }
  CHECK(type_of_arrow_format("b") == ScalarType::Bool);
  for (const char* other : {"", "n", "u", "z", "td", "tdDD", "ts", "tss", "tsx:", "tiD", "d:19,10",
                            "+l", "ff", "w:16"}) {
    CAPTURE(other);
    CHECK(type_of_arrow_format(other) == ScalarType::Undefined);
  }
  for (ScalarType other : {ScalarType::Bool, ScalarType::BFloat16, ScalarType::ComplexFloat}) {
    CHECK(arrow_format_of(other) == '\0');
  }
}

TEST_CASE("arrow types: a struct that is moved is released once, by its last holder") {
  static int releases;
  releases = 0;
  ArrowArray array{};
  array.length = 7;
  array.release = [](ArrowArray* self) {
    ++releases;
    self->release = nullptr;
  };
  {
    ArrowHold<ArrowArray> held(&array);
    CHECK(array.release == nullptr);
    CHECK(held.value.length == 7);
    const ArrowHold<ArrowArray> moved(std::move(held));
    CHECK(moved.value.length == 7);
    CHECK(releases == 0);
  }
  CHECK(releases == 1);
  const ArrowHold<ArrowArray> nothing(nullptr);
  CHECK(nothing.value.release == nullptr);
}

}  // namespace arrow_types_test
