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
  check_made(zeros_strided({2}, {2}, kInt, kStatic, b), {0, 0});
  check_made(ones_strided({2}, {2}, kInt, kStatic, b), {1, 1});
  check_made(scalar_tensor(9, kInt, b), {9});
  check_made(arange(3, kInt, kStatic, b), {0, 1, 2});
  check_made(arange(1, 3, kInt, kStatic, b), {1, 2});
  check_made(arange(5, 0, -2, kInt, kStatic, b), {5, 3, 1});
  check_made(iota({2, 2}, kInt, kStatic, b), {0, 1, 2, 3});
  check_made(iota({2, 2}, 0, kInt, kStatic, b), {0, 0, 1, 1});
  check_made(iota({2, 2}, -1, kInt, kStatic, b), {0, 1, 0, 1});
  check_made(eye(2, kInt, kStatic, b), {1, 0, 0, 1});
  check_made(eye(2, 3, kInt, kStatic, b), {1, 0, 0, 0, 1, 0});
  check_made(eye(1, none, kInt, kStatic, b), {1});
  CHECK(b.faults == 0);
}

TEST_CASE("backend: every creator takes a device, which is the backend registered for it") {
  MinimalBackend b("gpu", Device("cuda:1"));
  register_backend(b);
  const Device there("cuda:1");
  const auto check_made = [&](const TensorPtr& t, const Ints& expected) {
    check(t, b, kInt, kStatic);
    CHECK(fetched<int32_t>(t) == expected);
  };
  check(empty({2, 3}, kInt, there, kStatic), b, kInt, kStatic);
  check_made(zeros({2}, there, kInt, kStatic), {0, 0});
  check_made(full({2}, 7, kInt, kStatic, there), {7, 7});
  check_made(full_strided({2}, {2}, 8, there, kInt, kStatic), {8, 8});
  check_made(ones_like(zeros({2}), there, kInt, kStatic), {1, 1});
  check_made(scalar_tensor(9, there, kInt), {9});
  check_made(arange(1, 3, kInt, kStatic, there), {1, 2});
  check_made(iota({2, 2}, 0, kInt, kStatic, there), {0, 0, 1, 1});
  check_made(eye(2, kInt, kStatic, there), {1, 0, 0, 1});
  check_made(randint(3, 4, {2}, kInt, kStatic, there), {3, 3});
  check_made(randint_like(zeros({2}), 3, 4, kInt, kStatic, there), {3, 3});
  check_made(uniform_strided(3, 4, {2}, {2}, kInt, kStatic, there), {3, 3});
  check_made(make_tensor_ptr({1, 2}, kStatic, there), {1, 2});
  check_made(make_tensor_ptr(5, there), {5});
  check_made(make_tensor_ptr({2}, Ints{1, 2}, there, kStatic), {1, 2});
  check_made(make_tensor_ptr(std::vector<Ints>{{1}, {2}}, there, kStatic), {1, 2});
  check_made(from_bytes({1}, std::vector<uint8_t>(4, 0), kInt, there, kStatic), {0});
  check(clone_tensor_ptr(zeros({2}, kInt), there), b, kInt);
  // The CPU is the heap, whatever the thread's backend and the source's device.
  const BackendScope scope(b);
  CHECK(&backend_of(zeros({2}, Device("cpu"))) == &host_backend());
  CHECK(&backend_of(rand({2}, DeviceType::CPU)) == &host_backend());
  CHECK(&backend_of(zeros_like(zeros({2}, there), Device("cpu"))) == &host_backend());
  CHECK(b.faults == 0);
}

TEST_CASE("backend: a device without a backend is an error that says how to register one") {
  const Device nowhere("cuda:5");
  const std::string advice =
      ": no backend is registered for cuda:5; register_backend(backend) registers one";
  const TensorPtr like = zeros({2});
  RAISES(NotFound, "zeros" + advice, zeros({2}, nowhere));
  RAISES(NotFound, "full_strided" + advice, full_strided({2}, {2}, 8, nowhere));
  RAISES(NotFound, "ones_like" + advice, ones_like(like, nowhere));
  RAISES(NotFound, "scalar_tensor" + advice, scalar_tensor(9, nowhere));
  RAISES(NotFound, "arange" + advice, arange(3, nowhere));
  RAISES(NotFound, "iota" + advice, iota({2}, nowhere));
  RAISES(NotFound, "eye" + advice, eye(2, nowhere));
  RAISES(NotFound, "rand" + advice, rand({2}, nowhere));
  RAISES(NotFound, "normal_like" + advice, normal_like(like, 0, 1, nowhere));
  RAISES(NotFound, "make_tensor_ptr" + advice, make_tensor_ptr(1.0f, nowhere));
  RAISES(NotFound, "make_tensor_ptr" + advice, make_tensor_ptr({1, 2}, nowhere));
  RAISES(NotFound, "make_tensor_ptr" + advice, make_tensor_ptr(Floats{1, 2}, nowhere));
  RAISES(NotFound, "from_bytes" + advice,
         from_bytes({1}, std::vector<uint8_t>(4), ScalarType::Float, nowhere));
  RAISES(NotFound, "clone_tensor_ptr" + advice, clone_tensor_ptr(like, nowhere));
  CHECK(try_zeros({2}, nowhere).error() == Error::NotFound);
}

TEST_CASE("backend: make_tensor_ptr copies values there, of a moved container too") {
  MinimalBackend b;
  check(make_tensor_ptr(2.5f, b), b, kFloat, kStatic);
  CHECK(fetched<int32_t>(make_tensor_ptr(5, kInt, b)) == Ints{5});
  CHECK(fetched<float>(make_tensor_ptr(5, kFloat, b)) == Floats{5});
  CHECK(fetched<float>(make_tensor_ptr({1.f, 2.f}, b)) == Floats{1, 2});
  CHECK(fetched<float>(make_tensor_ptr({1, 2}, kFloat, kStatic, b)) == Floats{1, 2});
  CHECK(fetched<int32_t>(make_tensor_ptr({2, 1}, {3, 4}, kInt, kStatic, b)) == Ints{3, 4});
  CHECK(fetched<int32_t>(make_tensor_ptr({2, 2}, {1, 2, 3, 4}, {1, 0}, b)) == Ints{1, 3, 2, 4});
  CHECK(fetched<int32_t>(make_tensor_ptr({2, 2}, {1, 2, 3, 4}, {1, 0}, {1, 2}, kInt, kStatic, b)) ==
        Ints{1, 3, 2, 4});
  const TensorPtr moved = make_tensor_ptr({2}, std::vector<float>{1, 2}, b);
  check(moved, b, kFloat);
  CHECK(fetched<float>(moved) == Floats{1, 2});
  const std::vector<int32_t> kept{5, 6};
  CHECK(fetched<float>(make_tensor_ptr(kept, kFloat, b)) == Floats{5, 6});
  std::vector<uint8_t> bytes(4);
  const float one = 1;
  std::memcpy(bytes.data(), &one, 4);
  CHECK(fetched<float>(make_tensor_ptr({1}, bytes, kFloat, kStatic, b)) == Floats{1});
  CHECK(fetched<float>(from_bytes({1}, bytes, kFloat, kStatic, b)) == Floats{1});
  const Tensor handle = make_tensor({1.f}, b);
  CHECK(&backend_of(handle) == &b);
  const TensorImplPtr impl = make_tensor_impl_ptr({1.f}, b);
  CHECK(&backend_of(make_tensor_ptr(impl)) == &b);
  CHECK(b.faults == 0);
}

TEST_CASE("backend: the random creators take it after the generator; the numbers are the host's") {
  MinimalBackend b;
  Generator g(7);
  Generator twin(7);
  const auto check_made = [&](const TensorPtr& t, const TensorPtr& host, ScalarType type) {
    check(t, b, type, kStatic);
    CHECK(to_binary(t) == to_binary(host));
  };
  check_made(tenon::rand({50}, kFloat, kStatic, g, b), tenon::rand({50}, twin), kFloat);
  check_made(randn({50}, kFloat, kStatic, g, b), randn({50}, twin), kFloat);
  check_made(randint(0, 5, {3}, kInt, kStatic, g, b), randint(0, 5, {3}, twin), kInt);
  check_made(uniform(0, 2, {3}, kFloat, kStatic, g, b), uniform(0, 2, {3}, twin), kFloat);
  check_made(normal(0, 2, {3}, kFloat, kStatic, g, b), normal(0, 2, {3}, twin), kFloat);
  check_made(rand_strided({5, 10}, {1, 5}, kFloat, kStatic, g, b), tenon::rand({5, 10}, twin),
             kFloat);
  CHECK(g.offset() == 159);
  check(tenon::rand({3}, Generator(1), b), b, kFloat);
}

TEST_CASE("backend: the try_ twins take it, and report its errors") {
  MinimalBackend b("gpu");
  CHECK(&backend_of(try_zeros({2}, b).value()) == &b);
  CHECK(&backend_of(try_make_tensor_ptr({1.f}, b).value()) == &b);
  b.will["copy_from_host"] = Answer::Fails;
  RETURNS(AccessFailed, "try_zeros: backend gpu failed in copy_from_host: the cable is out",
          try_zeros({2}, b).error());
  CHECK(b.live_blocks() == 0);
}

TEST_CASE("backend: an explicit CpuBackend gives what none gives") {
  CpuBackend cpu;
  const TensorPtr a = full({2, 3}, 4, kInt, kStatic, cpu);
  CHECK(tests::values<int32_t>(a) == Ints(6, 4));
  CHECK(&backend_of(a) == &host_backend());
  CHECK(device(a) == Device());
  CHECK(ownership(a) == Ownership::Owned);
  CHECK(is_aligned(a, 64));
  Floats values{1, 2};  // which are adopted, not copied
  const float* const data = values.data();
  CHECK(const_data_ptr<float>(make_tensor_ptr(std::move(values), cpu)) == data);
  float lent[2] = {1, 2};
  CHECK(&backend_of(from_blob(lent, {2}, cpu)) == &host_backend());
  CHECK(cpu.live_blocks() == 0);
}

TEST_CASE("BackendScope: creators without a backend use the innermost one") {
  MinimalBackend a;
  const BackendScope outer(a);
  CHECK(&backend_of(zeros({2})) == &a);
  CHECK(&backend_of(make_tensor_ptr({1.f, 2.f})) == &a);
  CHECK(&backend_of(tenon::rand({2})) == &a);
  CHECK(&backend_of(arange(4)) == &a);
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
  CHECK(&backend_of(make_tensor_ptr({2}, data)) == &host_backend());
  CHECK(&backend_of(for_blob(data, {2}).make_tensor_ptr()) == &host_backend());
  CHECK(a.live_blocks() == 0);
}

TEST_CASE("backend: what is like a tensor is where that is, scope or not") {
  MinimalBackend a;
  MinimalBackend b;
  const TensorPtr t = full({2, 2}, 3, a);
  const TensorPtr host = zeros({2, 2});
  const BackendScope scope(b);
  check(empty_like(t), a, kFloat);
  CHECK(fetched<float>(zeros_like(t)) == Floats{0, 0, 0, 0});
  check(zeros_like(t), a, kFloat);
  check(ones_like(t, kInt), a, kInt);
  check(full_like(t, 1), a, kFloat);
  check(rand_like(t), a, kFloat);
  check(randn_like(t), a, kFloat);
  check(randint_like(t, 0, 4), a, kFloat);
  check(clone_tensor_ptr(t), a, kFloat);
  check(clone_tensor_ptr(t, ScalarType::Double), a, ScalarType::Double);
  CHECK(&backend_of(to(t, ScalarType::Double)) == &a);
  CHECK(&backend_of(contiguous(transpose(t, 0, 1))) == &a);
  CHECK(&backend_of(zeros_like(host)) == &host_backend());
  CHECK(&backend_of(clone_tensor_ptr(host)) == &host_backend());
  check(zeros_like(host, b), b, kFloat);
  check(zeros_like(t, kInt, kStatic, b), b, kInt, kStatic);
  check(clone_tensor_ptr(t, b), b, kFloat);
  check(clone_tensor_ptr(host, ScalarType::Double, b), b, ScalarType::Double);
  CHECK(&backend_of(clone_tensor_ptr(t, host_backend())) == &host_backend());
}

TEST_CASE("backend: clone, to and contiguous have the elements") {
  MinimalBackend a;
  const TensorPtr t = make_tensor_ptr({2, 2}, {1, 2, 3, 4}, a);
  CHECK(fetched<int32_t>(clone_tensor_ptr(t)) == Ints{1, 2, 3, 4});
  CHECK(fetched<float>(clone_tensor_ptr(t, kFloat)) == Floats{1, 2, 3, 4});
  const Tensor turned = transpose(t, 0, 1);
  const Tensor dense = contiguous(turned);
  CHECK(tests::strides(dense) == tests::Vector{2, 1});
  const auto read = [](const Tensor& there) { return backend_copy(there, host_backend()); };
  CHECK(tests::values<int32_t>(read(dense)) == Ints{1, 3, 2, 4});
  CHECK(tests::values<float>(read(to(turned, kFloat))) == Floats{1, 3, 2, 4});
}

TEST_CASE("backend: with a pointer it says whose memory that is") {
  MinimalBackend b;
  void* const p = b.allocate(8, 64);
  const float source[2] = {5, 6};
  REQUIRE(b.copy_from_host(p, source, 8) == Error::Ok);
  {
    const TensorPtr tensors[] = {from_blob(p, {2}, b),
                                 from_blob(p, {2}, kFloat, kStatic, b),
                                 from_blob(p, {2}, Dims{1}, kFloat, b),
                                 make_tensor_ptr({2}, p, b),
                                 make_tensor_ptr({2}, p, kFloat, kStatic, b),
                                 for_blob(p, {2}).backend(b).make_tensor_ptr()};
    for (const TensorPtr& t : tensors) {
      CHECK(&backend_of(t) == &b);
      CHECK(device(t) == b.device());
      CHECK(ownership(t) == Ownership::Borrowed);
      CHECK(const_data_ptr(t) == p);
      CHECK(fetched<float>(t) == Floats{5, 6});
    }
    CHECK(b.live_blocks() == 6);
    RAISES(NotSupported, "the tensor is on ext_dev:0, which the host cannot reach",
           const_data_ptr<float>(tensors[0]));
  }
  CHECK(b.live_blocks() == 0);
  CHECK(b.used() == 8);
  b.deallocate(p, 8);
}

TEST_CASE("backend: with a pointer and a deleter, that is what releases it, once") {
  MinimalBackend b;
  Calls calls;
  void* const p = b.allocate(8, 64);
  {
    const TensorPtr t = from_blob(p, {2}, kFloat, calls.deleter(), kStatic, b);
    CHECK(&backend_of(t) == &b);
    CHECK(ownership(t) == Ownership::Adopted);
    CHECK(b.live_blocks() == 1);
  }
  CHECK(calls.count == 1);
  CHECK(calls.argument == p);
  CHECK(b.live_blocks() == 0);
  {
    const TensorPtr t = for_blob(p, {2}).deleter(calls.deleter()).backend(b).make_tensor_ptr();
    CHECK(&backend_of(t) == &b);
    REQUIRE(backend_deallocate(t) == Deallocation::Ok);
    CHECK(calls.count == 2);
  }
  CHECK(calls.count == 2);
  CHECK(b.calls["deallocate"] == 0);
  b.deallocate(p, 8);
}

TEST_CASE("on_made: it is told of each tensor once, with the function that was called") {
  CountingBackend b;
  const TensorPtr a = zeros({2, 3}, b);
  const TensorPtr c = clone_tensor_ptr(a);
  const TensorPtr d = backend_copy(ones({2}), b);
  const TensorPtr e = make_tensor_ptr({1.f}, b);
  const auto f = try_rand({4}, b);
  const TensorPtr g = empty_strided({2, 2}, {1, 2}, kInt, b);
  std::vector<std::string> functions;
  for (const auto& made : b.made) functions.push_back(made.function);
  CHECK(functions == std::vector<std::string>{"zeros", "clone_tensor_ptr", "backend_copy",
                                              "make_tensor_ptr", "try_rand", "empty_strided"});
  REQUIRE(b.made.size() == 6);
  CHECK(b.made[0].data == const_data_ptr(a));
  CHECK(b.made[0].sizes == Longs{2, 3});
  CHECK(b.made[0].type == kFloat);
  CHECK(b.made[5].type == kInt);
  CHECK(b.made[5].strides == Longs{1, 2});
}

TEST_CASE("on_made: views, handles, borrowed memory and failures are not told") {
  CountingBackend b;
  const TensorPtr a = zeros({2, 3}, b);
  b.made.clear();
  const TensorPtr handle = make_tensor_ptr(a);
  const Tensor view = tenon::select(a, 0, 0);
  const TensorPtr lent = from_blob(const_cast<void*>(const_data_ptr(a)), {2}, b);
  const TensorPtr same = backend_transfer(a, b);
  b.will["constant"] = Answer::Fails;
  RAISES(AccessFailed, "zeros: ", zeros({2}, b));
  CHECK(b.made.empty());
}

}  // namespace backend_creators_test
