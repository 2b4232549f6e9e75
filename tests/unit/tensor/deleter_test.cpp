// SPDX-License-Identifier: MIT
#include "tenon/tensor/deleter.h"

#include <functional>
#include <memory>
#include <stdexcept>

#include "support/catch.h"
#include "tenon/backend/pmr.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace deleter_test {

using namespace tenon;
using namespace tests;

static_assert(std::is_nothrow_move_constructible_v<Deleter>);
static_assert(std::is_nothrow_move_assignable_v<Deleter>);
static_assert(std::is_nothrow_destructible_v<Deleter>);
static_assert(!std::is_copy_constructible_v<Deleter>);

namespace {

int plain_calls = 0;
void plain(void*) { ++plain_calls; }

// A callable of `kPointers` pointers, which counts its calls and its destructions.
template <size_t kPointers>
struct Callable {
  Callable(Calls& c, int& l) : calls(&c), live(&l) { ++*live; }
  Callable(Callable&& other) noexcept : calls(other.calls), live(other.live) { ++*live; }
  ~Callable() { --*live; }
  void operator()(void* p) noexcept { calls->deleter()(p); }
  Calls* calls;
  int* live;
  void* more[kPointers - 2] = {};
};

template <size_t kPointers>
void check_callable() {
  Calls calls;
  int live = 0;
  int object = 0;
  {
    Deleter a(&object, Callable<kPointers>(calls, live));
    CHECK(static_cast<bool>(a));
    CHECK(a.error() == Error::Ok);
    CHECK(live == 1);
    Deleter b(std::move(a));
    CHECK_FALSE(static_cast<bool>(a));
    Deleter c;
    c = std::move(b);
    CHECK_FALSE(static_cast<bool>(b));
    CHECK(calls.count == 0);
    CHECK(live == 1);
  }
  CHECK(calls.count == 1);
  CHECK(calls.argument == &object);
  CHECK(live == 0);
}

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("deleter: callables up to four pointers and beyond run once and are destroyed once") {
  check_callable<3>();
  check_callable<4>();
  check_callable<5>();
  check_callable<40>();
}

TEST_CASE("deleter: assignment runs the old one, self-assignment does nothing") {
  Calls first;
  Calls second;
  Deleter a(nullptr, first.deleter());
  Deleter b(nullptr, second.deleter());
  a = std::move(b);
  CHECK(first.count == 1);
  CHECK(second.count == 0);
  Deleter& same = a;
  a = std::move(same);
  CHECK(second.count == 0);
  a.reset();
  CHECK(second.count == 1);
  CHECK_FALSE(static_cast<bool>(a));
  a.reset();
  CHECK(second.count == 1);
}

TEST_CASE("deleter: functions, lambdas and std::functions run, null and empty ones are empty") {
  plain_calls = 0;
  { Deleter d(nullptr, &plain); }
  {
    Deleter d(nullptr, [](void* p) { plain(p); });
  }
  { Deleter d(nullptr, std::function<void(void*)>(&plain)); }
  CHECK(plain_calls == 3);
  void (*null)(void*) = nullptr;
  float data[1] = {};
  CHECK_FALSE(static_cast<bool>(Deleter(data, null)));
  CHECK_FALSE(static_cast<bool>(Deleter(data, nullptr)));
  CHECK_FALSE(static_cast<bool>(Deleter(data, std::function<void(void*)>())));
}

// A promise of docs/guarantees.md.
TEST_CASE("deleter: the pointer is the one at creation, even after the memory was replaced") {
  float data[2] = {1, 2};
  Calls calls;
  auto t = from_blob(data, {2}, ScalarType::Float, calls.deleter(), TensorShapeDynamism::DYNAMIC);
  REQUIRE(resize_tensor_ptr(t, {100}) == Error::Ok);
  CHECK(calls.count == 1);
  CHECK(calls.argument == data);
  t.reset();
  CHECK(calls.count == 1);
}

// A promise of docs/guarantees.md.
TEST_CASE("deleter: gets the pointer that was given, null or not, elements or none") {
  float data[4] = {1, 2, 3, 4};
  void* const null = nullptr;
  Calls calls;
  from_blob(data + 3, {1}, {1}, ScalarType::Float, calls.deleter());
  CHECK(calls.argument == data + 3);
  from_blob(null, {0}, ScalarType::Float, calls.deleter());
  CHECK(calls.argument == nullptr);
  from_blob(data, {3, 0}, ScalarType::Float, calls.deleter());
  CHECK(calls.argument == data);
  from_blob(nullptr, {3}, ScalarType::Float, calls.deleter());
  CHECK(calls.argument == nullptr);
  CHECK(calls.count == 4);
}

namespace {

// A callable whose moves throw once `moves_left` of them are used up.
struct Reluctant {
  Reluctant(Calls& c, int& l, int m) : calls(&c), live(&l), moves_left(m) { ++*live; }
  Reluctant(Reluctant&& other)
      : calls(other.calls), live(other.live), moves_left(other.moves_left - 1) {
    if (moves_left < 0) throw std::runtime_error("moved too often");
    ++*live;
  }
  ~Reluctant() { --*live; }
  void operator()(void* p) noexcept { calls->deleter()(p); }
  Calls* calls;
  int* live;
  int moves_left;
};

}  // namespace

TEST_CASE("deleter: a callable whose move throws is moved once, or nobody has taken over") {
  Calls calls;
  int live = 0;
  {
    Deleter a(nullptr, Reluctant(calls, live, 1));
    Deleter b(std::move(a));
    Deleter c;
    c = std::move(b);
    CHECK(live == 1);
    CHECK(calls.count == 0);
  }
  CHECK(calls.count == 1);
  CHECK_THROWS_AS(Deleter(nullptr, Reluctant(calls, live, 0)), std::runtime_error);
  CHECK(calls.count == 1);
  CHECK(live == 0);
}

// Named callables, one that fits inline and one that does not.
struct NamedA {
  int value;
  void operator()(void*) const noexcept {}
};
struct NamedB {
  int value;
  void* padding[8];
  void operator()(void*) const noexcept {}
};

}  // namespace deleter_test
TENON_BEGIN_NAMESPACE
namespace detail {
template <>
inline constexpr const char* deleter_name_v<deleter_test::NamedA> = "NamedA";
template <>
inline constexpr const char* deleter_name_v<deleter_test::NamedB> = "NamedB";
}  // namespace detail
TENON_END_NAMESPACE
namespace deleter_test {

TEST_CASE("deleter: target() gives a named callable back by its type, and nothing else") {
  Deleter a(nullptr, NamedA{1});
  Deleter b(nullptr, NamedB{2, {}});
  const Deleter moved(std::move(a));
  a = Deleter(nullptr, NamedA{3});
  REQUIRE(a.target<NamedA>() != nullptr);
  CHECK(a.target<NamedA>()->value == 3);
  CHECK(a.target<NamedB>() == nullptr);
  REQUIRE(b.target<NamedB>() != nullptr);
  CHECK(b.target<NamedB>()->value == 2);
  CHECK(b.target<NamedA>() == nullptr);
  CHECK(Deleter().target<NamedA>() == nullptr);
  CHECK(Deleter(nullptr, [](void*) {}).target<NamedA>() == nullptr);
}

// As Eigen's matrices: what may be called with anything, and gives an object.
struct Indexed {
  template <class Index>
  std::vector<float> operator()(const Index&) const;
};
constexpr auto kFree = [](auto* p) { std::free(p); };
constexpr auto kNothing = [](auto) {};
static_assert(detail::is_deleter_v<Indexed> && !detail::is_only_deleter_v<Indexed>);
static_assert(detail::is_deleter_v<decltype(kFree)> && detail::is_only_deleter_v<decltype(kFree)>);
static_assert(detail::is_deleter_v<decltype(kNothing)> &&
              !detail::is_only_deleter_v<decltype(kNothing)>);
static_assert(detail::is_only_deleter_v<void (*)(void*)> &&
              detail::is_only_deleter_v<std::nullptr_t>);

TEST_CASE("deleter: where only one can stand, it may take anything and return an object") {
  struct Pool {
    int released = 0;
    std::shared_ptr<int> release(int n) { return released += n, nullptr; }
  } pool;
  const auto keep = std::make_shared<int>(0);
  float data[2] = {1, 2};
  from_blob(data, {2}, ScalarType::Float, [&](auto&&...) { return pool.release(1); });
  from_blob(data, {2}, ScalarType::Float, std::bind(&Pool::release, &pool, 1));
  for_blob(data, {2}).deleter(std::bind(&Pool::release, &pool, 1)).make_tensor_ptr();
  CHECK(pool.released == 3);
  from_blob(data, {2}, ScalarType::Float, [keep](auto p) {
    *keep += *static_cast<float*>(p) == 1;
    return keep;
  });
  CHECK(*keep == 1);
  CHECK(keep.use_count() == 1);
}

}  // namespace deleter_test
