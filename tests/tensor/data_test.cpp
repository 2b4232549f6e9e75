// SPDX-License-Identifier: MIT
#include "tenon/tensor/data.h"

#include <complex>
#include <list>
#include <stdexcept>

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

using namespace tenon;

// `{}` is never a type, and no number is one.
static_assert(!std::is_default_constructible_v<TypeArg>);
static_assert(std::is_convertible_v<ScalarType, TypeArg>);
static_assert(!std::is_convertible_v<int, TypeArg>);
// Only pointers to elements and to bytes are data.
static_assert(std::is_convertible_v<float*, DataPtr>);
static_assert(std::is_convertible_v<const void*, DataPtr>);
static_assert(std::is_convertible_v<std::nullptr_t, DataPtr>);
static_assert(!std::is_convertible_v<float**, DataPtr>);
static_assert(!std::is_convertible_v<std::string*, DataPtr>);
static_assert(!std::is_convertible_v<int, DataPtr>);
// Only ranges of elements are values.
static_assert(std::is_constructible_v<Values, std::vector<float>>);
static_assert(std::is_constructible_v<Values, const std::list<int>&>);
static_assert(!std::is_constructible_v<Values, std::vector<std::string>>);
static_assert(!std::is_constructible_v<Values, std::string>);
static_assert(!std::is_constructible_v<Values, int>);

TEST_CASE("data: TypeArg is a type or stands for the data's") {
  CHECK(TypeArg(ScalarType::Int).is_given());
  CHECK(TypeArg(ScalarType::Int).value_or(ScalarType::Float) == ScalarType::Int);
  CHECK_FALSE(TypeArg::deduced().is_given());
  CHECK(TypeArg::deduced().value_or(ScalarType::Float) == ScalarType::Float);
}

TEST_CASE("data: DataPtr knows the element type, and what is raw, read-only or a placeholder") {
  float f = 0;
  const double d = 0;
  char c = 0;
  int8_t i = 0;
  uint8_t u = 0;
  std::byte b{};
  bool t = false;
  Half h;
  std::complex<float> z;
  CHECK(DataPtr(&f).get() == &f);
  CHECK(DataPtr(&f).type() == ScalarType::Float);
  CHECK_FALSE(DataPtr(&f).is_raw());
  CHECK_FALSE(DataPtr(&f).is_readonly());
  CHECK(DataPtr(&d).is_readonly());
  CHECK(DataPtr(&d).type() == ScalarType::Double);
  CHECK(DataPtr(static_cast<void*>(&f)).is_raw());
  CHECK(DataPtr(static_cast<void*>(&f)).type() == ScalarType::Float);
  CHECK(DataPtr(static_cast<const void*>(&f)).is_readonly());
  CHECK(DataPtr(&c).is_raw());
  CHECK(DataPtr(&c).type() == ScalarType::Char);
  CHECK(DataPtr(&u).is_raw());
  CHECK(DataPtr(&u).type() == ScalarType::Byte);
  CHECK(DataPtr(&b).is_raw());
  CHECK(DataPtr(&b).type() == ScalarType::Byte);
  CHECK_FALSE(DataPtr(&i).is_raw());
  CHECK(DataPtr(&i).type() == ScalarType::Char);
  CHECK_FALSE(DataPtr(&t).is_raw());
  CHECK(DataPtr(&t).type() == ScalarType::Bool);
  CHECK(DataPtr(&h).type() == ScalarType::Half);
  CHECK(DataPtr(&z).type() == ScalarType::ComplexFloat);
  CHECK(DataPtr(nullptr).is_placeholder());
  CHECK(DataPtr(nullptr).is_raw());
  CHECK_FALSE(DataPtr(static_cast<float*>(nullptr)).is_placeholder());
}

TEST_CASE("data: Values of a list are checked, of a container not") {
  Values list = {1, 2, 3};
  CHECK(list.count() == 3);
  CHECK(list.type() == ScalarType::Int);
  CHECK(list.is_checked());
  CHECK_FALSE(list.is_adoptable());
  std::vector<float> source = {1, 2};
  Values lvalue(source);
  CHECK(lvalue.data() == source.data());
  CHECK_FALSE(lvalue.is_checked());
  CHECK_FALSE(lvalue.is_adoptable());
  const float* const memory = source.data();
  Values moved(std::move(source));
  CHECK(moved.is_adoptable());
  CHECK(moved.data() == memory);
  CHECK(Values().count() == 0);
  CHECK(Values().type() == ScalarType::Float);
}

TEST_CASE("data: Values hold a moved container, and release it when nobody takes it") {
  tests::Calls calls;
  {
    Values values(tests::Tracked(calls, 2));
    CHECK(calls.count == 0);
    CHECK(values.count() == 2);
  }
  CHECK(calls.count == 1);
}

TEST_CASE("data: containers of uint8_t are bytes, lists are not") {
  CHECK(Values(std::vector<uint8_t>{1}).is_bytes());
  CHECK(Values(std::array<uint8_t, 1>{{1}}).is_bytes());
  CHECK(Values(std::list<uint8_t>{1}).is_bytes());
  CHECK_FALSE(Values(std::vector<int8_t>{1}).is_bytes());
  CHECK_FALSE(Values({uint8_t{1}}).is_bytes());
}

namespace {

// A container from before there were moves, whose copies may throw or not. The elements of a dead
// one are -1.
template <bool kThrows>
class CopyOnly {
 public:
  explicit CopyOnly(size_t size) : buffer_(size) {
    for (size_t i = 0; i < size; ++i) buffer_[i] = static_cast<float>(i);
  }
  CopyOnly(const CopyOnly& other) noexcept(!kThrows) : buffer_(other.buffer_) {
    if constexpr (kThrows) throw std::runtime_error("copied");
  }
  ~CopyOnly() {
    for (float& value : buffer_) value = -1;
  }
  float* data() noexcept { return buffer_.data(); }
  const float* data() const noexcept { return buffer_.data(); }
  size_t size() const noexcept { return buffer_.size(); }
  const float* begin() const noexcept { return buffer_.data(); }
  const float* end() const noexcept { return buffer_.data() + buffer_.size(); }

 private:
  std::vector<float> buffer_;
};

}  // namespace

TEST_CASE("data: a container whose move may throw is neither moved nor copied, but read") {
  CopyOnly<true> container(3);
  const float* const memory = container.data();
  const Values values(std::move(container));
  CHECK_FALSE(values.is_adoptable());
  CHECK(values.data() == memory);
  const auto t = make_tensor_ptr({3}, CopyOnly<true>(3));
  CHECK(ownership(t) == Ownership::Owned);
  CHECK(tests::values<float>(t) == std::vector<float>{0, 1, 2});
}

TEST_CASE("data: a container whose elements move with it is copied") {
  const auto t = make_tensor_ptr({400}, CopyOnly<false>(400));
  CHECK(ownership(t) == Ownership::Owned);
  CHECK(const_data_ptr<float>(t)[399] == 399);
  Values values{CopyOnly<false>(3)};
  const Values moved(std::move(values));
  CHECK_FALSE(moved.is_adoptable());
  REQUIRE(moved.count() == 3);
  CHECK(static_cast<const float*>(moved.data())[2] == 2);
}

namespace {

// Somebody else's elements, every `step`th of them: as Eigen's maps, segments and rows.
struct Lent {
  struct Iterator {
    const float* at;
    ptrdiff_t step;
    const float& operator*() const noexcept { return *at; }
    Iterator& operator++() noexcept { return at += step, *this; }
    bool operator!=(const Iterator& other) const noexcept { return at != other.at; }
  };
  float* data() noexcept { return first; }
  const float* data() const noexcept { return first; }
  ptrdiff_t size() const noexcept { return count; }
  Iterator begin() const noexcept { return {first, step}; }
  Iterator end() const noexcept { return {first + count * step, step}; }

  float* first;
  ptrdiff_t count;
  ptrdiff_t step = 1;
};

}  // namespace

TEST_CASE("data: a moved view whose elements are somebody else's is copied") {
  std::vector<float> owner{0, 1, 2};
  const auto t = make_tensor_ptr({3}, Lent{owner.data(), 3});
  CHECK(ownership(t) == Ownership::Owned);
  owner.assign(3, -1);
  CHECK(tests::values<float>(t) == std::vector<float>{0, 1, 2});
}

TEST_CASE("data: elements that do not lie one after the other are taken one by one") {
  std::vector<float> owner{0, 1, 2, 3, 4, 5};
  Lent column{owner.data(), 3, 2};
  CHECK(tests::values<float>(make_tensor_ptr(column)) == std::vector<float>{0, 2, 4});
  CHECK(tests::values<float>(make_tensor_ptr({3}, Lent{owner.data(), 3, 2})) ==
        std::vector<float>{0, 2, 4});
  Lent reversed{owner.data() + 5, 3, -1};
  CHECK(tests::values<float>(make_tensor_ptr(reversed)) == std::vector<float>{5, 4, 3});
}
