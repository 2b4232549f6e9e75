// SPDX-License-Identifier: MIT
// Creators with a backend: named as the last argument, by a scope, or the source's.
#include <thread>

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace backend_creators_test {

using namespace tenon;
using namespace tests;

namespace {

constexpr auto kStatic = TensorShapeDynamism::STATIC;
constexpr auto kInt = ScalarType::Int;
constexpr auto kFloat = ScalarType::Float;

template <class T>
std::vector<T> fetched(const TensorPtr& t) {
  return tests::values<T>(backend_copy(t, host_backend()));
}

/// Whether a tensor is the backend's, and what the long form asked for.
void check(const TensorPtr& t, Backend& backend, ScalarType type,
           TensorShapeDynamism dynamism = TensorShapeDynamism::DYNAMIC_BOUND) {
  CHECK(&backend_of(t) == &backend);
  CHECK(device(t) == backend.device());
  CHECK(ownership(t) == Ownership::Owned);
  CHECK(t->scalar_type() == type);
  CHECK(shape_dynamism(t) == dynamism);
}

}  // namespace

TEST_CASE("backend: creators and sequences take it after type and dynamism") {
  MinimalBackend b;
  check(empty({2, 3}, kInt, kStatic, b), b, kInt, kStatic);
  check(empty_strided({2}, {3}, kInt, kStatic, b), b, kInt, kStatic);
  CHECK(b.last_nbytes == 16);
  const TensorPtr strided = full_strided({2}, {2}, 8, kInt, kStatic, b);
  CHECK(b.get<int32_t>(const_data_ptr(strided), 1) == 8);  // gaps too
  const auto check_made = [&](const TensorPtr& t, const Ints& expected) {
    check(t, b, kInt, kStatic);
    CHECK(fetched<int32_t>(t) == expected);
  };
  check_made(strided, {8, 8});
  check_made(full({2}, 7, kInt, kStatic, b), {7, 7});
  check_made(zeros({2}, kInt, kStatic, b), {0, 0});
  check_made(ones({2}, kInt, kStatic, b), {1, 1});
  check_made(scalar_tensor(9, kInt, b), {9});
  check_made(arange(1, 3, kInt, kStatic, b), {1, 2});
  check_made(iota({2, 2}, kInt, kStatic, b), {0, 1, 2, 3});
  check_made(iota({2, 2}, 0, kInt, kStatic, b), {0, 0, 1, 1});
  check_made(eye(2, kInt, kStatic, b), {1, 0, 0, 1});
  check_made(eye(1, none, kInt, kStatic, b), {1});
  CHECK(b.faults == 0);
}

TEST_CASE("backend: a device without a backend is an error that says how to register one") {
  const Device nowhere("cuda:5");
  const std::string advice =
      ": no backend is registered for cuda:5; register_backend(backend) registers one";
  const TensorPtr like = zeros({2});
  RAISES(NotFound, "zeros" + advice, zeros({2}, nowhere));
  RAISES(NotFound, "ones_like" + advice, ones_like(like, nowhere));
  RAISES(NotFound, "arange" + advice, arange(3, nowhere));
  RAISES(NotFound, "iota" + advice, iota({2}, nowhere));
  RAISES(NotFound, "eye" + advice, eye(2, nowhere));
  RAISES(NotFound, "normal_like" + advice, normal_like(like, 0, 1, nowhere));
  RAISES(NotFound, "make_tensor_ptr" + advice, make_tensor_ptr(1.0f, nowhere));
  RAISES(NotFound, "make_tensor_ptr" + advice, make_tensor_ptr({1, 2}, nowhere));
  RAISES(NotFound, "from_bytes" + advice,
         from_bytes({1}, std::vector<uint8_t>(4), ScalarType::Float, nowhere));
  RAISES(NotFound, "clone_tensor_ptr" + advice, clone_tensor_ptr(like, nowhere));
}

TEST_CASE("BackendScope: creators without a backend use the innermost one") {
  MinimalBackend a;
  const BackendScope outer(a);
  CHECK(&backend_of(zeros({2})) == &a);
  CHECK(&backend_of(make_tensor_ptr({1.f, 2.f})) == &a);
  CHECK(&backend_of(zeros({2}, host_backend())) == &host_backend());
  CpuBackend cpu;
  const BackendScope inner(cpu);
  CHECK(&backend_of(zeros({2})) == &host_backend());
  CHECK(&backend_of(zeros({2}, a)) == &a);
}

// A promise of docs/guarantees.md.
TEST_CASE("BackendScope: not for another thread's creators, nor for memory that is there") {
  MinimalBackend a;
  const BackendScope scope(a);
  std::thread([] {
    if (&backend_of(zeros({2})) != &host_backend()) std::abort();
  }).join();
  CHECK(&backend_of(zeros({2})) == &a);
  float data[2] = {1, 2};
  CHECK(&backend_of(from_blob(data, {2})) == &host_backend());
  CHECK(a.live_blocks() == 0);
}

TEST_CASE("backend: what is like a tensor is where that is, scope or not") {
  MinimalBackend a;
  MinimalBackend b;
  const TensorPtr t = full({2, 2}, 3, a);
  const TensorPtr host = zeros({2, 2});
  const BackendScope scope(b);
  check(empty_like(t), a, kFloat);
  check(zeros_like(t), a, kFloat);
  check(ones_like(t, kInt), a, kInt);
  check(rand_like(t), a, kFloat);
  check(clone_tensor_ptr(t), a, kFloat);
  CHECK(&backend_of(to(t, ScalarType::Double)) == &a);
  CHECK(&backend_of(contiguous(transpose(t, 0, 1))) == &a);
  CHECK(&backend_of(zeros_like(host)) == &host_backend());
  check(zeros_like(host, b), b, kFloat);
  check(clone_tensor_ptr(t, b), b, kFloat);
  CHECK(&backend_of(clone_tensor_ptr(t, host_backend())) == &host_backend());
}

}  // namespace backend_creators_test
