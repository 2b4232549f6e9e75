// SPDX-License-Identifier: MIT
// How many heap blocks each way of making a tensor takes. The numbers are a promise.
#include <cstdint>
#include <utility>
#include <vector>

#include "allocation/counting_malloc.h"
#include "support/catch.h"
#include "tenon/tenon.h"

using tenon::Error;
using tenon::ScalarType;
using tenon::Tensor;
using tenon::TensorImpl;

namespace {

// The heap allocations of f; the blocks of its result are released before this returns.
template <class F>
int64_t allocations_of(F&& f) {
  tests::start_counting();
  { [[maybe_unused]] auto result = f(); }
  tests::stop_counting();
  return tests::allocations();
}

template <class F>
void check_count(const char* what, int64_t expected, F&& f) {
  if (!tests::heap_is_counted()) {
    WARN("skipped: needs glibc without sanitizers");
    return;
  }
  const int64_t counted = allocations_of(f);
  const int64_t leaked = tests::live_blocks();
  INFO(what);
  CHECK(counted == expected);
  CHECK(leaked == 0);
}

float blob[6] = {1, 2, 3, 4, 5, 6};

}  // namespace

TEST_CASE("allocations: from_blob takes 2, with a deleter and with strides too") {
  check_count("from_blob", 2, [] { return tenon::from_blob(blob, {2, 3}); });
  int calls = 0;
  check_count("deleter", 2, [&calls] {
    return tenon::from_blob(blob, {2, 3}, ScalarType::Float, [&calls](void*) { ++calls; });
  });
  check_count("strides", 2, [] { return tenon::from_blob(blob, {2, 3}, {1, 2}); });
  check_count("for_blob", 2, [] {
    return tenon::for_blob(blob, {2, 3}, ScalarType::Float).strides({3, 1}).make_tensor_ptr();
  });
  check_count("make_tensor_ptr", 2, [] { return tenon::make_tensor_ptr({2, 3}, blob); });
}

TEST_CASE("allocations: a Tensor by value takes 1, and so does an impl") {
  check_count("make_tensor", 1, [] { return tenon::make_tensor({2, 3}, blob); });
  check_count("for_blob", 1, [] { return tenon::for_blob(blob, {2, 3}).make_tensor(); });
  check_count("list", 1, [] { return tenon::make_tensor({1, 2, 3, 4}); });
  check_count("scalar", 1, [] { return tenon::make_tensor(3.14); });
  check_count("impl", 1, [] { return tenon::make_tensor_impl_ptr({2, 3}, blob); });
}

TEST_CASE("allocations: a moved vector takes 3, its own among them") {
  check_count("moved vector", 3, [] {
    return tenon::make_tensor_ptr({2, 3}, std::vector<float>(6));
  });
}

TEST_CASE("allocations: a list takes 2, the data lies beside the metadata") {
  check_count("list of 4", 2, [] { return tenon::make_tensor_ptr({1.0f, 2.0f, 3.0f, 4.0f}); });
  check_count("shape", 2, [] { return tenon::make_tensor_ptr({2, 2}, {1, 2, 3, 4}); });
  check_count("cast", 2, [] { return tenon::make_tensor_ptr({1, 2, 3}, ScalarType::Double); });
}

TEST_CASE("allocations: a scalar takes 2") {
  check_count("scalar", 2, [] { return tenon::make_tensor_ptr(3.14); });
  check_count("typed", 2, [] { return tenon::make_tensor_ptr(42, ScalarType::Float); });
  check_count("scalar_tensor", 2, [] { return tenon::scalar_tensor(1); });
}

TEST_CASE("allocations: sharing takes 1, a copied handle 0") {
  const auto source = tenon::make_tensor_ptr({1.0f, 2.0f});
  check_count("share an impl", 1, [&] { return tenon::make_tensor_ptr(source->impl()); });
  check_count("share a tensor", 1, [&] { return tenon::make_tensor_ptr(source); });
  check_count("copy a handle", 0, [&] { return Tensor(*source); });
}

TEST_CASE("allocations: a view takes 2, by value 1") {
  const auto source = tenon::make_tensor_ptr({1.0f, 2.0f});
  check_count("view", 2, [&] { return tenon::make_tensor_ptr(*source); });
  check_count("view by value", 1, [&] { return tenon::make_tensor(*source, {1}); });
}

TEST_CASE("allocations: a clone takes 2") {
  const auto source = tenon::make_tensor_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  check_count("clone", 2, [&] { return tenon::clone_tensor_ptr(source); });
  check_count("typed clone", 2,
              [&] { return tenon::clone_tensor_ptr(source, ScalarType::Double); });
}

TEST_CASE("allocations: a large tensor takes 3") {
  check_count("empty", 3, [] { return tenon::empty({1024, 1024}); });
  check_count("zeros", 3, [] { return tenon::zeros({1024, 1024}); });
}

TEST_CASE("allocations: resizes within the bound take 0") {
  auto t = tenon::make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  check_count("resize", 0, [&] {
    bool ok = tenon::resize_tensor_ptr(t, {3, 2}) == Error::Ok;
    ok = ok && tenon::resize_tensor_ptr(t, {6}) == Error::Ok;
    ok = ok && tenon::resize_tensor_ptr(t, {1, 0, 4}) == Error::Ok;
    return ok && tenon::resize_tensor_ptr(t, {2, 3}) == Error::Ok;
  });
}

TEST_CASE("allocations: a tensor over an impl on the stack takes 0, its use and its errors too") {
  check_count("stack", 0, [] {
    const int64_t sizes[] = {2, 3};
    TensorImpl impl(ScalarType::Float, 2, sizes, blob, nullptr, nullptr,
                    tenon::TensorShapeDynamism::DYNAMIC_BOUND);
    Tensor t(&impl);
    float sum = t.accessor<float, 2>()[1][2];
    for (float value : t.data<float>()) sum += value;
    const bool refused = tenon::resize_tensor(t, {7}) != Error::Ok;
    return refused && sum > 0;
  });
}

TEST_CASE("allocations: reading a tensor takes 0") {
  const auto t = tenon::make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  check_count("read", 0, [&] {
    return t->sizes().size() + t->strides().size() + t->dim_order().size() +
           static_cast<size_t>(t->numel() + t->size(-1) + t->accessor<int, 2>()[0][0]) +
           (t->is_contiguous() ? t->nbytes() : 0) + t->data<int>().size();
  });
}
