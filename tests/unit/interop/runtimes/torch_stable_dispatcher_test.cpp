// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/torch_stable_dispatcher.h"

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace torch_stable_dispatcher_test {

using namespace tenon;
using detail::StableList;
using detail::to_stack;

namespace {

StableIValue on_stack(const Tensor& tensor) {
  AtenTensorHandle handle = nullptr;
  REQUIRE(detail::make_aoti_handle(tensor, handle) == Error::Ok);
  return to_stack(handle);
}
StableIValue list_of(std::initializer_list<int64_t> values) {
  auto* const list = new StableList;
  for (const int64_t value : values) list->push_back(to_stack(value));
  return to_stack(list);
}

/// Calls one of torch's operators.
Tensor run(const char* name, const char* overload, std::vector<StableIValue> stack) {
  REQUIRE(detail::provide_operators(detail::kAtenOperators) == Error::Ok);
  INFO(name);
  const AOTITorchError code = detail::dispatch_stable(name, overload, stack.data());
  INFO(last_error_message());
  REQUIRE(code == 0);
  Tensor made;
  REQUIRE(detail::take_aoti_tensor(detail::from_stack<AtenTensorHandle>(stack[0]), made) ==
          Error::Ok);
  return made;
}

}  // namespace

TEST_CASE("dispatcher: torch's operators that move elements") {
  const Tensor x = *make_tensor_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  const Tensor turned = transpose(x, 0, 1);
  CHECK(run("aten::empty_like", "", {on_stack(turned), 0, 0, 0, 0, 0}).strides() == Dims{1, 3});
  const Tensor clone = run("aten::clone", "", {on_stack(x), 0});
  CHECK(clone.const_data_ptr() != x.const_data_ptr());
  CHECK(tests::values<float>(clone) == tests::Floats{1, 2, 3, 4, 5, 6});
  CHECK(tests::values<float>(run("aten::contiguous", "", {on_stack(turned), 0})) ==
        tests::Floats{1, 4, 2, 5, 3, 6});
  const Tensor to = *zeros({2, 3});
  CHECK(run("aten::copy_", "", {on_stack(to), on_stack(x), 0}).const_data_ptr() ==
        to.const_data_ptr());
  CHECK(tests::values<float>(to) == tests::Floats{1, 2, 3, 4, 5, 6});
  CHECK(run("aten::zero_", "", {on_stack(to)}).const_data_ptr() == to.const_data_ptr());
  CHECK(tests::values<float>(to) == tests::Floats{0, 0, 0, 0, 0, 0});
}

TEST_CASE("dispatcher: torch's operators that give views") {
  const Tensor x = *make_tensor_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  const auto check = [&](const Tensor& view, const Dims& sizes, const Dims& strides) {
    CHECK(view.sizes() == sizes);
    CHECK(view.strides() == strides);
    CHECK(view.is_alias_of(x));
  };
  const auto number = [](int64_t value) { return to_stack(value); };
  check(run("aten::view", "", {on_stack(x), list_of({3, -1})}), {3, 2}, {2, 1});
  check(run("aten::reshape", "", {on_stack(x), list_of({6})}), {6}, {1});
  check(run("aten::permute", "", {on_stack(x), list_of({1, 0})}), {3, 2}, {1, 3});
  check(run("aten::flatten", "using_ints", {on_stack(x), number(0), number(-1)}), {6}, {1});
  check(run("aten::transpose", "int", {on_stack(x), number(0), number(1)}), {3, 2}, {1, 3});
  check(run("aten::select", "int", {on_stack(x), number(1), number(2)}), {2}, {3});
  check(run("aten::unsqueeze", "", {on_stack(x), number(0)}), {1, 2, 3}, {6, 3, 1});
  check(run("aten::squeeze", "dim", {on_stack(unsqueeze(x, 0)), number(0)}), {2, 3}, {3, 1});
  const Tensor copied = run("aten::reshape", "", {on_stack(transpose(x, 0, 1)), list_of({6})});
  CHECK(tests::values<float>(copied) == tests::Floats{1, 4, 2, 5, 3, 6});
}

TEST_CASE("dispatcher: an undefined tensor is an error of each operator") {
  const auto refuses = [](const char* name, const char* overload, std::vector<StableIValue> stack) {
    INFO(name);
    REQUIRE(detail::provide_operators(detail::kAtenOperators) == Error::Ok);
    CHECK(detail::dispatch_stable(name, overload, stack.data()) == 1);
    CHECK(tests::contains(last_error_message(), "undefined"));
  };
  const Tensor none;
  refuses("aten::empty_like", "", {on_stack(none), 0, 0, 0, 0, 0});
  refuses("aten::clone", "", {on_stack(none), 0});
  refuses("aten::contiguous", "", {on_stack(none), 0});
  refuses("aten::copy_", "", {on_stack(none), on_stack(*zeros({2})), 0});
  refuses("aten::zero_", "", {on_stack(none)});
  refuses("aten::view", "", {on_stack(none), list_of({2})});
  refuses("aten::reshape", "", {on_stack(none), list_of({2})});
  refuses("aten::transpose", "int", {on_stack(none), 0, 0});
}

TEST_CASE("dispatcher: an operator that tenon has not is an error that names it") {
  StableIValue stack[] = {0};
  CHECK(detail::dispatch_stable("aten::svd", "", stack) == 1);
  CHECK(tests::contains(last_error_message(), "there is no operator aten::svd"));
  CHECK(detail::dispatch_stable("nobody::none", "out", stack) == 1);
  CHECK(tests::contains(last_error_message(), "there is no operator nobody::none.out"));
}

}  // namespace torch_stable_dispatcher_test
