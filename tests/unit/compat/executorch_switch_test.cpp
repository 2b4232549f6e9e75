// SPDX-License-Identifier: MIT
#include "tenon/compat/executorch_switch.h"

#include "captured_log.h"
#include "support/catch.h"

namespace executorch_switch_test {

using executorch::aten::ScalarType;
using tests::contains, tests::log_of;

namespace {

// The dtypes for which f, a switch, calls its lambda, which returns the alias's dtype.
std::string accepted(ScalarType (*f)(ScalarType)) {
  std::string names;
  const std::string log = log_of([&] {
    for (const ScalarType type : tenon::detail::kScalarTypes) {
      ScalarType got = ScalarType::Undefined;
      const tests::Caught caught = tests::caught([&] { return got = f(type); });
      if (caught.error != tenon::Error::Ok) {
        CHECK(caught.error == tenon::Error::InvalidState);
        continue;
      }
      CHECK(got == type);
      names += std::string(names.empty() ? "" : " ") + tenon::toString(type);
    }
  });
  for (const ScalarType type : tenon::detail::kScalarTypes) {
    const std::string name = tenon::toString(type);
    CHECK(contains(log, "Unhandled dtype " + name + " for") !=
          contains(" " + names + " ", " " + name + " "));
  }
  return names;
}

int calls = 0;
ScalarType counted(ScalarType type) { return ++calls, type; }

// The sizes of two elements, a switch in a switch.
size_t sizes_of(ScalarType a, ScalarType b) {
  return ET_SWITCH_REALB_TYPES(counted(a), nullptr, "sizes_of", A, [&] {
    return ET_SWITCH_REALB_TYPES(counted(b), nullptr, "sizes_of", B,
                                 [&] { return sizeof(A) * 10 + sizeof(B); });
  });
}

}  // namespace

// SWITCH(REAL_TYPES, type) or SWITCH(REAL_TYPES_AND, Half, type).
#define SWITCH(name, ...)                                                                        \
  accepted([](ScalarType type) {                                                                 \
    return ET_SWITCH_##name(__VA_ARGS__, nullptr, "test", T,                                     \
                            [&] { return executorch::runtime::CppTypeToScalarType<T>::value; }); \
  })

TEST_CASE("executorch: each ET_SWITCH takes its dtypes, and raises for others") {
  const std::string ints = "Byte Char Short Int Long";
  const std::string reals = ints + " Float Double";
  const std::string reals_h = ints + " Half Float Double";
  CHECK(SWITCH(REAL_TYPES, type) == reals);
  CHECK(SWITCH(REALH_TYPES, type) == reals_h);
  CHECK(SWITCH(REALB_TYPES, type) == reals + " Bool");
  CHECK(SWITCH(REALHB_TYPES, type) == reals_h + " Bool");
  CHECK(SWITCH(REALHBF16_TYPES, type) == reals_h + " BFloat16");
  CHECK(SWITCH(REALHBBF16_TYPES, type) == reals_h + " Bool BFloat16");
  CHECK(SWITCH(INT_TYPES, type) == ints);
  CHECK(SWITCH(FLOAT_TYPES, type) == "Float Double");
  CHECK(SWITCH(FLOATH_TYPES, type) == "Half Float Double");
  CHECK(SWITCH(FLOATHBF16_TYPES, type) == "Half Float Double BFloat16");
  CHECK(SWITCH(REAL_TYPES_AND, Bool, type) == reals + " Bool");
  CHECK(SWITCH(REAL_TYPES_AND2, Half, Bool, type) == reals_h + " Bool");
  CHECK(SWITCH(REAL_TYPES_AND3, Half, Bool, UInt64, type) == reals_h + " Bool UInt64");
  CHECK(SWITCH(FLOAT_TYPES_AND, Half, type) == "Half Float Double");
  CHECK(SWITCH(FLOAT_TYPES_AND2, Half, Bool, type) == "Half Float Double Bool");
  CHECK(SWITCH(TWO_TYPES, Int, Long, type) == "Int Long");
  CHECK(SWITCH(THREE_TYPES, Bool, Int, ComplexFloat, type) == "Int ComplexFloat Bool");
  CHECK(SWITCH(FOUR_TYPES, Bool, Int, Float, Float8_e5m2, type) == "Int Float Bool Float8_e5m2");
}

TEST_CASE("executorch: an ET_SWITCH evaluates its dtype once, and may be in another") {
  calls = 0;
  CHECK(sizes_of(ScalarType::Double, ScalarType::Short) == 82);
  CHECK(calls == 2);
  const std::string log = log_of(
      [] { RAISES(InvalidState, "counted(b)", sizes_of(ScalarType::Int, ScalarType::Half)); });
  CHECK(contains(log, "Unhandled dtype Half for sizes_of\n"));

  int sum = 0;
  ET_SWITCH_INT_TYPES(ScalarType::Byte, nullptr, "void", T, [&]() {
    T a = 3, b = 4;  // commas
    sum = static_cast<int>(a) + static_cast<int>(b);
  });
  CHECK(sum == 7);
  log_of([] {
    RAISES(InvalidState, "", ET_SWITCH_INT_TYPES(ScalarType::Undefined, nullptr, "test", T, [&] {
             return sizeof(T);
           }));
    RAISES(InvalidState, "",
           ET_SWITCH_INT_TYPES(static_cast<ScalarType>(99), nullptr, "test", T,
                               [&] { return sizeof(T); }));
  });
}

}  // namespace executorch_switch_test
