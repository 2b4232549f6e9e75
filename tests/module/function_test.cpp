// SPDX-License-Identifier: MIT
#include "tenon/module/function.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "tenon/tenon.h"

using namespace tenon;
using tenon::detail::Function;

namespace {

using List = std::vector<EValue>;

template <class F>
constexpr bool kWrites = tenon::detail::writes_outputs_v<F>;
template <class F>
constexpr bool kReturns = tenon::detail::returns_outputs_v<F>;

struct alignas(64) Aligned {
  List operator()(Span<const EValue>) const {
    return {reinterpret_cast<uintptr_t>(this) % 64 == 0};
  }
};

template <class F>
EValue call(F f) {
  const auto function = Function::make(nullptr, "f", std::move(f));
  Outputs outputs;
  const EValue inputs[] = {3};
  CHECK(function->call(inputs, outputs) == Error::Ok);
  return outputs.values()[0];
}

}  // namespace

TEST_CASE("Function: a callable returns its outputs or writes them, by what it takes") {
  STATIC_REQUIRE(kReturns<List (*)(Span<const EValue>)>);
  STATIC_REQUIRE(kReturns<List (*)(tenon::ArrayRef<EValue>)>);
  STATIC_REQUIRE(kReturns<List (*)(const List&)>);
  STATIC_REQUIRE(kReturns<List (*)(const tenon::EValues&)>);
  STATIC_REQUIRE(kWrites<void (*)(Span<const EValue>, Span<EValue>)>);
  STATIC_REQUIRE(kWrites<Error (*)(Span<const EValue>, Span<EValue>)>);
  STATIC_REQUIRE_FALSE(kReturns<void (*)(Span<const EValue>, Span<EValue>)>);
  STATIC_REQUIRE_FALSE(kReturns<List (*)(int*)>);
}

TEST_CASE("Function: what is returned may be outputs, one output, or a Result of either") {
  CHECK(call([](Span<const EValue> in) { return List{in[0]}; }).toInt() == 3);
  CHECK(call([](const List& in) { return in; }).toInt() == 3);
  CHECK(call([](Span<const EValue>) { return tenon::zeros({2}); }).toTensor().numel() == 2);
  CHECK(call([](Span<const EValue>) { return 0.5; }).toDouble() == 0.5);
  CHECK(call([](Span<const EValue>) { return tenon::try_zeros({2}); }).toTensor().numel() == 2);
  CHECK(call([](Span<const EValue>) { return tenon::Result<List>(List{true}); }).toBool());
  CHECK(call([](auto in) { return List{in[0]}; }).toInt() == 3);
}

TEST_CASE("Function: a callable is moved in, aligned, and destroyed with it") {
  const auto count = std::make_shared<int>(4);
  CHECK(call([owned = std::make_unique<int>(5), count](Span<const EValue>) {
          return *owned + *count;
        }).toInt() == 9);
  CHECK(count.use_count() == 1);
  CHECK(call(Aligned()).toBool());
}
