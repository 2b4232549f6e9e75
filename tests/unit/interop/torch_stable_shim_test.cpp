// SPDX-License-Identifier: MIT
// A library that is built against torch's headers alone, torch_stable/extension.cpp, on tenon.
#include "tenon/interop/torch_stable_shim.h"

#include <dlfcn.h>

#include "allocation/counting_malloc.h"
#include "support/catch.h"
#include "tenon/interop/aoti_shim.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace torch_stable_shim_test {

using namespace tenon;
using detail::aoti_torch_delete_library_object;
using detail::aoti_torch_library_def;
using detail::aoti_torch_library_init_def;
using detail::aoti_torch_library_init_impl;
using detail::torch_library_impl;
using tests::contains;

namespace {

/// The library, loaded as long as this lives.
struct Extension {
  void* library = ::dlopen(TENON_STABLE_EXTENSION, RTLD_NOW | RTLD_LOCAL);
  Extension() {
    INFO((library == nullptr ? ::dlerror() : ""));
    REQUIRE(library != nullptr);
  }
  Extension(const Extension&) = delete;
  Extension& operator=(const Extension&) = delete;
  ~Extension() { ::dlclose(library); }
};

std::vector<EValue> call(const char* name, std::initializer_list<EValue> inputs) {
  Result<std::vector<EValue>> outputs = call_torch_operator(name, inputs);
  INFO((outputs.ok() ? "" : last_error_message()));
  REQUIRE(outputs.ok());
  return *std::move(outputs);
}

void check_fails(Error error, const char* text, const char* name,
                 std::initializer_list<EValue> inputs) {
  const Result<std::vector<EValue>> outputs = call_torch_operator(name, inputs);
  CHECK(outputs.error() == error);
  INFO(last_error_message());
  CHECK(contains(last_error_message(), text));
}

}  // namespace

TEST_CASE("torch_stable_shim: torch's own operators are there before and after a library") {
  const auto clones = [] { return call_torch_operator("aten::clone", {*ones({2})}).ok(); };
  CHECK(clones());
  {
    const Extension extension;
    CHECK(clones());
  }
  CHECK(clones());
  TorchLibraryHandle library = nullptr;  // one that has them too
  REQUIRE(aoti_torch_library_init_def("aten", __FILE__, __LINE__, &library) == 0);
  REQUIRE(aoti_torch_library_def(library, "clone(int n) -> int") == 0);
  REQUIRE(aoti_torch_delete_library_object(library) == 0);
  CHECK(clones());
}

TEST_CASE("torch_stable_shim: a device's text is named as it is") {
  uint32_t type = 9;
  int32_t index = 9;
  REQUIRE(detail::torch_parse_device_string("cpu", &type, &index) == 0);
  CHECK((type == 0 && index == -1));
  CHECK(detail::torch_parse_device_string("cpu ", &type, &index) == 1);
  CHECK(contains(last_error_message(), "device \"cpu \", expected cpu"));
}

TEST_CASE("torch_stable_shim: one number fills a tensor whose elements repeat") {
  const Tensor column = *zeros({2, 1});
  AtenTensorHandle handle = nullptr;
  REQUIRE(detail::make_aoti_handle(expand(column, {2, 3}), handle) == Error::Ok);
  CHECK(detail::aoti_torch_aten_fill__Scalar(handle, 4) == 0);
  CHECK(tests::values<float>(column) == tests::Floats{4, 4});
  CHECK(detail::aoti_torch_zero_(handle) == 0);
  CHECK(tests::values<float>(column) == tests::Floats{0, 0});
  CHECK(detail::aoti_torch_delete_tensor_object(handle) == 0);
  const Tensor halves = *zeros({2}, ScalarType::ComplexHalf);
  REQUIRE(detail::make_aoti_handle(halves, handle) == Error::Ok);
  CHECK(detail::aoti_torch_aten_fill__Scalar(handle, 1e10) == 0);
  CHECK(static_cast<float>(halves.const_data_ptr<complex<Half>>()[1].real()) == HUGE_VALF);
  CHECK(detail::aoti_torch_delete_tensor_object(handle) == 0);
}

TEST_CASE("torch_stable_shim: operators of a library read and write tenon's tensors") {
  const Extension extension;
  const TensorPtr x = make_tensor_ptr({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f});
  const std::vector<EValue> scaled = call("extension::scale", {*x, 3.0, EValue()});
  REQUIRE(scaled.size() == 1);
  CHECK(tests::values<float>(scaled[0].toTensor()) == tests::Floats{3, 6, 9, 12});
  const TensorPtr bias = make_tensor_ptr({2, 2}, {10.0f, 20.0f, 30.0f, 40.0f});
  CHECK(tests::values<float>(call("extension::scale", {*x, 1.0, *bias})[0].toTensor()) ==
        tests::Floats{11, 22, 33, 44});

  const std::vector<EValue> doubled = call("extension::double_", {*x});
  REQUIRE(doubled.size() == 2);
  CHECK(tests::values<float>(*x) == tests::Floats{2, 4, 6, 8});
  CHECK(doubled[0].toTensor().const_data_ptr() == x->const_data_ptr());  // a view
  CHECK(doubled[0].toTensor().strides() == Dims{1, 2});
  CHECK(doubled[1].toInt() == 4);

  CHECK(tests::values<float>(call("extension::first_row", {*x})[0].toTensor()) ==
        tests::Floats{2, 4});
  CHECK(call("extension::is_negative", {int64_t{-1}})[0].toBool());
  CHECK_FALSE(call("extension::is_negative", {int64_t{1}})[0].toBool());
}

TEST_CASE("torch_stable_shim: values of all types, and defaults") {
#if TENON_IS_CHECKED
  const size_t handles = detail::aoti_handles().count(nullptr);
#endif
  const Extension extension;
  const TensorPtr x = ones({2});
  const TensorPtr y = ones({3});
  const std::vector<Tensor> xs{*x, *y};
  const EValue ys = EValue::optional_tensor_list(std::vector<Tensor>{Tensor(), *y});
  {
    const std::vector<EValue> out = call("extension::describe", {xs, ys});
    REQUIRE(out.size() == 5);
    REQUIRE(out[0].toTensorList().size() == 3);
    CHECK(out[0].toTensorList()[2].const_data_ptr() == y->const_data_ptr());
    CHECK(out[1].toString() == "mean none y another type false");
    CHECK(out[2].toIntList() == ArrayRef<int64_t>({1, 1}));
    CHECK(out[3].toDoubleList() == ArrayRef<double>({0.5}));
    CHECK(out[4].isNone());
  }
  {
    const auto double_number = static_cast<int64_t>(ScalarType::Double);
    const std::vector<EValue> out =
        call("extension::describe",
             {xs, xs, std::vector<int64_t>{7}, std::vector<double>{2.5}, std::vector<bool>{true},
              "sum", double_number, "cpu", int64_t{2}, std::vector<int64_t>{8, 9}});
    CHECK(out[0].toTensorList().size() == 4);
    CHECK(out[1].toString() == "sum y y double cpu channels_last true");
    CHECK(out[2].toIntList() == ArrayRef<int64_t>({7, 8, 9}));
    CHECK(out[3].toDoubleList() == ArrayRef<double>({2.5, 0.5}));
    CHECK(out[4].toInt() == double_number);
  }
#if TENON_IS_CHECKED
  CHECK(detail::aoti_handles().count(nullptr) == handles);
#endif
}

TEST_CASE("torch_stable_shim: an operator of a library calls the program's functions") {
  const Extension extension;
  const Tensor x = *ones({2});
  std::string mode;
  REQUIRE(register_torch_operator("program::add(Tensor x, int n, str? mode=None) -> Tensor",
                                  [&](Span<const EValue> inputs, std::vector<EValue>& outputs) {
                                    if (inputs[1].toInt() < 0)
                                      return detail::fail(Error::OutOfBounds, "n is negative");
                                    mode = inputs[2].toString();
                                    outputs.emplace_back(
                                        *full_like(inputs[0].toTensor(), inputs[1].toInt() + 1));
                                    return Error::Ok;
                                  }) == Error::Ok);
  CHECK(tests::values<float>(call("extension::call_program", {x, int64_t{2}})[0].toTensor()) ==
        tests::Floats{3, 3});
  CHECK(mode == "a mode");
  check_fails(Error::Internal, "n is negative", "extension::call_program", {x, int64_t{-1}});
  CHECK(unregister_torch_operator("program::add") == Error::Ok);
}

TEST_CASE("torch_stable_shim: an output outlives the library") {
  Tensor output;
  {
    const Extension extension;
    output = call("extension::first_row", {*ones({2, 3})})[0].toTensor();
  }
  CHECK(tests::values<float>(output) == tests::Floats{1, 1, 1});
}

TEST_CASE("torch_stable_shim: operators go with what registered them, and are defined once") {
  const auto kernel = [](StableIValue* stack, uint64_t, uint64_t) { stack[0] += 1; };
  TorchLibraryHandle definer = nullptr;
  TorchLibraryHandle implementer = nullptr;
  REQUIRE(aoti_torch_library_init_def("here", __FILE__, __LINE__, &definer) == 0);
  REQUIRE(aoti_torch_library_init_impl("here", "CPU", __FILE__, __LINE__, &implementer) == 0);
  REQUIRE(aoti_torch_library_def(definer, "next(int n) -> int") == 0);
  CHECK(aoti_torch_library_def(definer, "next(int n) -> int") == 1);
  CHECK(aoti_torch_library_def(definer, "no schema") == 1);
  REQUIRE(torch_library_impl(implementer, "next", kernel, 0) == 0);
  CHECK(call("here::next", {int64_t{41}})[0].toInt() == 42);
  REQUIRE(aoti_torch_delete_library_object(implementer) == 0);
  check_fails(Error::NotSupported, "here::next has no kernel", "here::next", {int64_t{41}});
  REQUIRE(aoti_torch_delete_library_object(definer) == 0);
  check_fails(Error::NotFound, "there is no operator here::next", "here::next", {int64_t{41}});
}

TEST_CASE("torch_stable_shim: wrong calls are errors that say why, and nothing leaks") {
  const Extension extension;
  const Tensor x = *ones({2, 2});
  check_fails(Error::NotFound, "no operator extension::none", "extension::none", {x});
  check_fails(Error::InvalidArgument, "it takes 3 inputs, got 1", "extension::scale", {x});
  check_fails(Error::InvalidType, "input 1 (factor): expected a value of type float, not a Tensor",
              "extension::scale", {x, x, EValue()});
  check_fails(Error::NotSupported, "extension::on_gpu has no kernel for the CPU",
              "extension::on_gpu", {x});
  // What the operator throws, with its text.
  check_fails(Error::Internal, "scale wants floats", "extension::scale",
              {*zeros({2}, ScalarType::Double), 1.0, EValue()});
  const float constants[] = {1, 2};
  check_fails(Error::Internal, "read-only", "extension::double_", {*from_blob(constants, {1, 2})});
#if TENON_IS_CHECKED
  CHECK(detail::aoti_handles().count(nullptr) == 0);
#endif
}

TEST_CASE("torch_stable_shim: every allocation of a call that fails is an error") {
  if (!tests::heap_is_counted()) return;
  const Extension extension;
  const TensorPtr x = make_tensor_ptr({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f});
  const EValue inputs[] = {*x, 3.0, *x};
  int failed = 0;
  for (int64_t n = 1; n < 100; ++n) {
    tests::start_counting(n);
    const Result<std::vector<EValue>> outputs = call_torch_operator("extension::scale", inputs);
    tests::stop_counting();
    if (tests::failures() == 0) {
      REQUIRE(outputs.ok());
      break;
    }
    CHECK(outputs.error() != Error::Ok);
    ++failed;
  }
  CHECK(failed > 3);
}

}  // namespace torch_stable_shim_test
