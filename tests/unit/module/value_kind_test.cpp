// SPDX-License-Identifier: MIT
#include "tenon/module/value_kind.h"

#include <optional>

#include "support/catch.h"
#include "tenon/module/evalue.h"

namespace value_kind_test {

using namespace tenon;

namespace {

struct NotAPointer {
  int& operator*() const;
};

/// A range whose elements are of its type, as in some JSON libraries.
struct HoldsItself {
  const HoldsItself* begin() const;
  const HoldsItself* end() const;
  size_t size() const;
};

template <class... T>
constexpr int kConverting = (0 + ... + std::is_convertible_v<T, EValue>);

}  // namespace

TEST_CASE("ValueKind: its names are those of the enumerators, in a text with an article") {
  CHECK(toString(ValueKind::OptionalTensorList) == std::string("OptionalTensorList"));
  CHECK(toString(ValueKind::BoolList) == std::string("BoolList"));
  CHECK(toString(ValueKind::StringList) == std::string("StringList"));
  const auto check = [](ValueKind kind, const char* words) {
    RETURNS(Internal, words, detail::fail(Error::Internal, kind));
  };
  check(ValueKind::Int, "an Int");
  check(ValueKind::OptionalTensorList, "an OptionalTensorList");
  check(ValueKind::Tensor, "a Tensor");
  check(ValueKind::StringList, "a StringList");
  check(ValueKind::None, "None");
  check(static_cast<ValueKind>(static_cast<uint8_t>(ValueKind::StringList) + 1),
        "a value of unknown kind");
}

TEST_CASE("EValue: a raw pointer, a character and what it cannot hold do not convert") {
  STATIC_REQUIRE(kConverting<Tensor*, const float*, bool*, void*, int[3], std::nullptr_t, char,
                             std::unique_ptr<void*>, std::unique_ptr<int*>, NotAPointer,
                             std::vector<int>::iterator, std::vector<char>::iterator,
                             std::vector<EValue>, std::vector<std::vector<int>>, const char* [2],
                             std::vector<std::optional<std::string>>, std::vector<tests::Texts>,
                             HoldsItself, ScalarType> == 0);
  STATIC_REQUIRE(kConverting<TensorPtr, TensorPtr&, const TensorPtr&, Tensor&> == 4);
}

}  // namespace value_kind_test
