// SPDX-License-Identifier: MIT
// Which of a backend's optional operations are asked, with what, and what follows from the answer.
#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace backend_dispatch_test {

using namespace tenon;
using namespace tests;

namespace {

/// A dense tensor's elements, read past the library.
template <class T>
std::vector<T> raw(CountingBackend& b, const TensorArg& t, int64_t count) {
  std::vector<T> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(b.get<T>(const_data_ptr(t), i));
  return values;
}

template <class T>
T element(const CountingBackend& b) {
  T value;
  REQUIRE(b.last.bytes.size() == sizeof value);
  std::memcpy(&value, b.last.bytes.data(), sizeof value);
  return value;
}

/// The backend did it alone: the host moved no bytes.
void check_alone(CountingBackend& b, const char* operation) {
  CHECK(b.calls[operation] == 1);
  CHECK(b.optional_calls() == 1);
  CHECK(b.uploaded == 0);
  CHECK(b.downloaded == 0);
  CHECK(b.faults == 0);
}

/// Asks for an operation that fails or throws: the error's text names function, backend, operation.
template <class F>
void check_failures(CountingBackend& b, const char* operation, const char* function, const F& f) {
  const int64_t live = b.live_blocks();
  const std::string start =
      std::string(function) + ": backend counting failed in " + operation + ": ";
  b.will[operation] = Answer::Fails;
  RAISES(AccessFailed, start + "the cable is out", f());
  b.will[operation] = Answer::Throws;
  RAISES(Internal, start + "thrown on the way", f());
  b.will[operation] = Answer::Does;
  CHECK(b.live_blocks() == live);
}

}  // namespace

TEST_CASE(
    "constant: creators ask the backend, for the tensor, or for its memory as one row if it has "
    "gaps") {
  CountingBackend b;
  const auto asked = [&b](const TensorPtr& t, const Longs& sizes, const Longs& strides) {
    check_alone(b, "constant");
    CHECK(b.last.data == const_data_ptr(t));
    CHECK(b.last.type == t->scalar_type());
    CHECK(b.last.sizes == sizes);
    CHECK(b.last.strides == strides);
    b.calls.clear();
  };
  const TensorPtr t = full({2, 3}, 7, ScalarType::Int, b);
  asked(t, {2, 3}, {3, 1});
  CHECK(element<int32_t>(b) == 7);
  CHECK(raw<int32_t>(b, t, 6) == Ints(6, 7));
  asked(ones_strided({2}, {3}, b), {4}, {1});
  CHECK(element<float>(b) == 1.f);
  asked(make_tensor_ptr(5, b), {}, {});
  CHECK(element<int32_t>(b) == 5);
}

TEST_CASE("iota: the backend is asked, with the axis counted from 0") {
  CountingBackend b;
  const TensorPtr t = iota({2, 3}, -1, ScalarType::Int, b);
  check_alone(b, "iota");
  CHECK(b.last.axis == 1);
  CHECK(b.last.sizes == Longs{2, 3});
  CHECK(raw<int32_t>(b, t, 6) == Ints{0, 1, 2, 0, 1, 2});
  CHECK(raw<int64_t>(b, iota({2, 2}, b), 4) == Longs{0, 1, 2, 3});
  CHECK(b.last.axis == -100);  // none
  CHECK(b.uploaded == 0);
  b.set_all(Answer::NotSupported);
  CHECK(raw<int64_t>(b, iota({2, 2}, 0, b), 4) == Longs{0, 0, 1, 1});
  CHECK(b.uploaded == 32);
  check_failures(b, "iota", "iota", [&] { return iota({2}, b); });
}

TEST_CASE("from_binary: the backend is given the bytes, else the host uploads them") {
  CountingBackend b;
  const Bytes bytes{1, 0, 0, 0, 2, 0, 0, 0};
  const TensorPtr t = from_binary(bytes, {2}, ScalarType::Int, b);
  check_alone(b, "from_binary");
  CHECK(b.last.bytes == bytes);
  CHECK(b.last.sizes == Longs{2});
  CHECK(raw<int32_t>(b, t, 2) == Ints{1, 2});
  b.set_all(Answer::NotSupported);
  CHECK(raw<int32_t>(b, from_binary(bytes, {2}, ScalarType::Int, b), 2) == Ints{1, 2});
  CHECK(b.uploaded == 8);
  check_failures(b, "from_binary", "from_binary",
                 [&] { return from_binary(bytes, {2}, ScalarType::Int, b); });
}

TEST_CASE("random: the backend is given arguments and the generator's state") {
  CountingBackend b;
  Generator g(5, 100);
  const auto asked = [&](const char* operation, double a, double second, uint64_t offset,
                         int64_t count) {
    check_alone(b, operation);
    CHECK(b.last.a == a);
    CHECK(b.last.b == second);
    CHECK(b.last.seed == 5);
    CHECK(b.last.offset == offset);
    CHECK(g.offset() == offset + static_cast<uint64_t>(count));
    b.calls.clear();
  };
  const TensorPtr t = uniform(2, 4, {2, 2}, g, b);
  asked("random_uniform", 2, 4, 100, 4);
  CHECK(b.last.sizes == Longs{2, 2});
  CHECK(raw<float>(b, t, 4) == Floats{1000, 1001, 1002, 1003});
  CHECK(raw<float>(b, tenon::rand({2}, g, b), 2) == Floats{1000, 1001});
  asked("random_uniform", 0, 1, 104, 2);
  CHECK(uniform_(tenon::select(t, 1, 0), -1, 1, g) == Error::Ok);
  asked("random_uniform", -1, 1, 106, 2);
  CHECK(b.last.strides == Longs{2});
  CHECK(raw<float>(b, t, 4) == Floats{1000, 1001, 1001, 1003});
  CHECK(raw<float>(b, normal(3, 0.5, {3}, g, b), 3) == Floats{2000, 2001, 2002});
  asked("random_normal", 3, 0.5, 108, 3);
  CHECK(normal_(t, 0, 2, g) == Error::Ok);
  asked("random_normal", 0, 2, 111, 4);
}

// A promise of docs/guarantees.md.
TEST_CASE("random: a generator does not advance when the backend fails") {
  CountingBackend b;
  Generator g(5, 100);
  check_failures(b, "random_uniform", "rand", [&] { return tenon::rand({4}, g, b); });
  check_failures(b, "random_normal", "randn", [&] { return randn({4}, g, b); });
  check_failures(b, "copy_from_host", "randint", [&] { return randint(0, 9, {4}, g, b); });
  b.room = 0;
  RAISES(OutOfMemory, "rand: ", tenon::rand({4}, g, b));
  b.room = SIZE_MAX;
  const TensorPtr t = zeros({4}, b);
  b.will["random_uniform"] = Answer::Fails;
  RETURNS(AccessFailed, "uniform_: backend counting failed in random_uniform",
          uniform_(t, 0, 1, g));
  CHECK(g.offset() == 100);
}

TEST_CASE("inspect: to_string shows what the backend writes, and its errors; it raises nothing") {
  CountingBackend b;
  const TensorPtr t = zeros({2, 3}, b);
  b.calls.clear();
  FormatOptions options;
  options.limit = 50;
  CHECK(tenon::to_string(t, options) == "<elements of counting>\nFloat {2, 3} on ext_dev:0");
  check_alone(b, "inspect");
  CHECK(b.last.count == 50);
  CHECK(b.last.sizes == Longs{2, 3});
  options.limit = -5;
  static_cast<void>(tenon::to_string(t, options));
  CHECK(b.last.count == 0);  // negative ones count as 0
  const std::string failed = "Float {2, 3} on ext_dev:0, not shown: backend counting failed in ";
  b.will["inspect"] = Answer::Fails;
  CHECK(tenon::to_string(t) == failed + "inspect: the cable is out");
  b.will["inspect"] = Answer::Throws;
  CHECK(tenon::to_string(t) == failed + "inspect: thrown on the way");
}

}  // namespace backend_dispatch_test
