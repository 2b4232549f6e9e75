// SPDX-License-Identifier: MIT
#include "tenon/module/evalue_convert.h"

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "support/catch.h"
#include "tenon/module/evalue.h"

using namespace tenon;
using tenon::detail::Conversion;
using tenon::detail::conversion;
using tenon::detail::list_kind;
using tenon::detail::pointee_t;

namespace {

struct NotComparable {
  int& operator*() const;
};

}  // namespace

TEST_CASE("pointee: smart pointers, optionals and Results are dereferenced, nothing else") {
  STATIC_REQUIRE(std::is_same_v<pointee_t<TensorPtr>, Tensor>);
  STATIC_REQUIRE(std::is_same_v<pointee_t<std::shared_ptr<const int>>, int>);
  STATIC_REQUIRE(std::is_same_v<pointee_t<std::optional<Tensor>>, Tensor>);
  STATIC_REQUIRE(std::is_same_v<pointee_t<tenon::Result<TensorPtr>>, TensorPtr>);
  STATIC_REQUIRE(std::is_void_v<pointee_t<int*>>);
  STATIC_REQUIRE(std::is_void_v<pointee_t<NotComparable>>);
  STATIC_REQUIRE(std::is_void_v<pointee_t<std::vector<int>::iterator>>);
  STATIC_REQUIRE(std::is_void_v<pointee_t<Tensor>>);
}

TEST_CASE("list_kind: the elements' type decides, optionals make a list of optional tensors") {
  STATIC_REQUIRE(list_kind<Tensor>() == ValueKind::TensorList);
  STATIC_REQUIRE(list_kind<TensorPtr>() == ValueKind::TensorList);
  STATIC_REQUIRE(list_kind<std::shared_ptr<Tensor>>() == ValueKind::TensorList);
  STATIC_REQUIRE(list_kind<std::optional<Tensor>>() == ValueKind::OptionalTensorList);
  STATIC_REQUIRE(list_kind<short>() == ValueKind::IntList);
  STATIC_REQUIRE(list_kind<float>() == ValueKind::DoubleList);
  STATIC_REQUIRE(list_kind<bool>() == ValueKind::BoolList);
  STATIC_REQUIRE(list_kind<char>() == ValueKind::None);
  STATIC_REQUIRE(list_kind<std::string>() == ValueKind::None);
}

TEST_CASE("conversion: each type goes its one way") {
  STATIC_REQUIRE(conversion<Tensor>() == Conversion::Handle);
  STATIC_REQUIRE(conversion<TensorPtr>() == Conversion::Pointer);
  STATIC_REQUIRE(conversion<tenon::TensorImplPtr>() == Conversion::Impl);
  STATIC_REQUIRE(conversion<bool>() == Conversion::Number);
  STATIC_REQUIRE(conversion<tenon::Scalar>() == Conversion::AnyNumber);
  STATIC_REQUIRE(conversion<const char*>() == Conversion::Text);
  STATIC_REQUIRE(conversion<std::string>() == Conversion::Text);
  STATIC_REQUIRE(conversion<std::vector<bool>>() == Conversion::List);
  STATIC_REQUIRE(conversion<std::deque<double>>() == Conversion::List);
  STATIC_REQUIRE(conversion<std::set<int>>() == Conversion::List);
  STATIC_REQUIRE(conversion<EValue>() == Conversion::Same);
  STATIC_REQUIRE(conversion<int*>() == Conversion::Impossible);
  STATIC_REQUIRE(conversion<std::unique_ptr<int*>>() == Conversion::Impossible);
  STATIC_REQUIRE(conversion<NotComparable>() == Conversion::Impossible);
}

TEST_CASE("conversion: what cannot fail says so") {
  STATIC_REQUIRE(std::is_nothrow_constructible_v<EValue, const Tensor&>);
  STATIC_REQUIRE(std::is_nothrow_constructible_v<EValue, int>);
  STATIC_REQUIRE(std::is_nothrow_constructible_v<EValue, uint32_t>);
  STATIC_REQUIRE(std::is_nothrow_constructible_v<EValue, double>);
  STATIC_REQUIRE(std::is_nothrow_constructible_v<EValue, bool>);
  STATIC_REQUIRE_FALSE(std::is_nothrow_constructible_v<EValue, uint64_t>);
  STATIC_REQUIRE_FALSE(std::is_nothrow_constructible_v<EValue, TensorPtr>);
}
