// SPDX-License-Identifier: MIT
#include <complex>
#include <deque>
#include <list>

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;

namespace {

// Like std::span: const or not, its elements are somebody else's.
struct View {
  const float* data() const { return first; }
  size_t size() const { return count; }
  const float* begin() const { return first; }
  const float* end() const { return first + count; }
  const float* first;
  size_t count;
};
struct MutableView {
  float* data() const { return first; }
  size_t size() const { return count; }
  float* begin() const { return first; }
  float* end() const { return first + count; }
  float* first;
  size_t count;
};

// Up to eight elements in the object itself.
struct SmallBuffer {
  int32_t* data() { return elements; }
  const int32_t* data() const { return elements; }
  size_t size() const { return count; }
  const int32_t* begin() const { return elements; }
  const int32_t* end() const { return elements + count; }
  int32_t elements[8];
  size_t count;
};

// Gives memory at odd addresses, for bytes.
template <class T>
struct OddAllocator {
  using value_type = T;
  T* allocate(size_t n) { return std::allocator<T>().allocate(n + 1) + 1; }
  void deallocate(T* p, size_t n) { std::allocator<T>().deallocate(p - 1, n + 1); }
  friend bool operator==(OddAllocator, OddAllocator) { return true; }
  friend bool operator!=(OddAllocator, OddAllocator) { return false; }
};

}  // namespace

TEST_CASE("values: a moved vector is adopted, its elements stay where they are") {
  Floats source = {1, 2, 3, 4, 5, 6};
  const float* const memory = source.data();
  auto t = make_tensor_ptr({2, 3}, std::move(source));
  CHECK(const_data_ptr(t) == memory);
  CHECK(ownership(t) == Ownership::Adopted);
  CHECK(source.empty());
  CHECK(values<float>(t) == Floats{1, 2, 3, 4, 5, 6});
}

TEST_CASE("values: an lvalue vector is copied and stays as it is") {
  Floats source = {1, 2, 3};
  auto t = make_tensor_ptr(source);
  CHECK(const_data_ptr(t) != source.data());
  CHECK(ownership(t) == Ownership::Owned);
  source[0] = 9;
  CHECK(values<float>(t) == Floats{1, 2, 3});
  const Floats constant = {4, 5};
  CHECK(values<float>(make_tensor_ptr(constant)) == Floats{4, 5});
  CHECK(values<float>(make_tensor_ptr(std::move(constant))) == Floats{4, 5});
}

TEST_CASE("values: a moved vector that has to be cast is copied") {
  auto t = make_tensor_ptr(Ints{1, 2, 3}, ScalarType::Double);
  CHECK(ownership(t) == Ownership::Owned);
  CHECK(values<double>(t) == Doubles{1, 2, 3});
}

TEST_CASE("values: a container that is moved in is released once, with the last handle") {
  Calls calls;
  tests::Tracked source(calls, 4);
  const float* const memory = source.data();
  auto t = make_tensor_ptr({2, 2}, std::move(source));
  CHECK(const_data_ptr(t) == memory);
  CHECK(ownership(t) == Ownership::Adopted);
  auto view = make_tensor_ptr(*t);
  t.reset();
  CHECK(calls.count == 0);
  CHECK(values<float>(view) == Floats{0, 1, 2, 3});
  view.reset();
  CHECK(calls.count == 1);
}

TEST_CASE("values: an empty moved vector makes a tensor without elements") {
  auto t = make_tensor_ptr({0}, Ints());
  CHECK(t->numel() == 0);
  CHECK(t->scalar_type() == ScalarType::Int);
}

TEST_CASE("values: std::array, std::list, std::deque and std::vector<bool> are copied") {
  auto array = make_tensor_ptr(std::array<int32_t, 3>{{1, 2, 3}});
  CHECK(ownership(array) == Ownership::Owned);
  CHECK(values<int32_t>(array) == Ints{1, 2, 3});
  auto list = make_tensor_ptr({3, 1}, std::list<int32_t>{1, 2, 3});
  CHECK(sizes(list) == Vector{3, 1});
  CHECK(values<int32_t>(list) == Ints{1, 2, 3});
  CHECK(values<double>(make_tensor_ptr(std::deque<float>{1, 2, 3}, ScalarType::Double)) ==
        Doubles{1, 2, 3});
  const std::vector<bool> bits = {true, false, true};
  auto b = make_tensor_ptr(bits);
  CHECK(b->scalar_type() == ScalarType::Bool);
  CHECK(const_data_ptr<bool>(b)[0]);
  CHECK_FALSE(const_data_ptr<bool>(b)[1]);
  CHECK(const_data_ptr<bool>(b)[2]);
  std::vector<bool> moved = {false, true};
  CHECK(const_data_ptr<bool>(make_tensor_ptr(std::move(moved)))[1]);
}

TEST_CASE("values: a span is never adopted, its elements belong to somebody else") {
  float data[3] = {1, 2, 3};
  auto a = make_tensor_ptr(View{data, 3});
  CHECK(ownership(a) == Ownership::Owned);
  auto b = make_tensor_ptr({3}, MutableView{data, 3});
  CHECK(ownership(b) == Ownership::Owned);
  auto c = make_tensor_ptr(Span<float>(data, 3));
  CHECK(ownership(c) == Ownership::Owned);
  data[0] = 9;
  CHECK(values<float>(a) == Floats{1, 2, 3});
  CHECK(values<float>(b) == Floats{1, 2, 3});
  CHECK(values<float>(c) == Floats{1, 2, 3});
}

TEST_CASE("values: a container with its elements in the object is copied, not adopted") {
  SmallBuffer source = {{1, 2, 3}, 3};
  auto t = make_tensor_ptr(std::move(source));
  CHECK(ownership(t) == Ownership::Owned);
  CHECK(values<int32_t>(t) == Ints{1, 2, 3});
}

TEST_CASE("values: std::complex and tenon::complex have the complex dtypes") {
  auto t = make_tensor_ptr(std::vector<std::complex<float>>{{1, 2}, {3, 4}});
  CHECK(t->scalar_type() == ScalarType::ComplexFloat);
  CHECK(ownership(t) == Ownership::Adopted);
  const auto* parts = static_cast<const float*>(const_data_ptr(t));
  CHECK(Floats(parts, parts + 4) == Floats{1, 2, 3, 4});
  CHECK(make_tensor_ptr(std::complex<double>(1, 2))->scalar_type() == ScalarType::ComplexDouble);
  auto cast = make_tensor_ptr({1.5f, 2.5f}, ScalarType::ComplexDouble);
  const auto* doubles = static_cast<const double*>(const_data_ptr(cast));
  CHECK(Doubles(doubles, doubles + 4) == Doubles{1.5, 0, 2.5, 0});
}

// Byte vectors.

TEST_CASE("bytes: without a type a vector of bytes is Byte elements") {
  CHECK(make_tensor_ptr({3}, Bytes{1, 2, 255})->scalar_type() == ScalarType::Byte);
  CHECK(values<uint8_t>(make_tensor_ptr({3}, Bytes{1, 2, 255})) == Bytes{1, 2, 255});
  const Bytes bytes = {1, 2};
  CHECK(values<uint8_t>(make_tensor_ptr(bytes)) == Bytes{1, 2});
}

TEST_CASE("bytes: one dimension with a type casts element by element") {
  CHECK(values<int32_t>(make_tensor_ptr(Bytes{1, 2, 255}, ScalarType::Int)) == Ints{1, 2, 255});
}

TEST_CASE("bytes: those that are not aligned for the type are copied, not adopted") {
  std::vector<uint8_t, OddAllocator<uint8_t>> bytes(8, 1);
  const auto t = make_tensor_ptr({2}, std::move(bytes), ScalarType::Int);
  CHECK(ownership(t) == Ownership::Owned);
  CHECK(is_aligned(t, alignof(int32_t)));
  CHECK(values<int32_t>(t) == Ints{0x01010101, 0x01010101});
}

TEST_CASE("bytes: with a shape and a type they are reinterpreted, an lvalue through a copy") {
  const Bytes bytes = {1, 2, 3, 4, 5, 6, 7, 8};
  auto t = make_tensor_ptr({2}, bytes, ScalarType::Int);
  CHECK(ownership(t) == Ownership::Owned);
  CHECK(std::memcmp(const_data_ptr(t), bytes.data(), 8) == 0);
  auto ordered = make_tensor_ptr({2, 2}, bytes, {1, 0}, {1, 2}, ScalarType::Short);
  CHECK(std::memcmp(const_data_ptr(ordered), bytes.data(), 8) == 0);
  CHECK(tests::strides(ordered) == Vector{1, 2});
  CHECK(make_tensor_ptr({8}, bytes, ScalarType::Bool)->scalar_type() == ScalarType::Bool);
}

TEST_CASE("bytes: of another length than the shape needs, the error names both lengths") {
  for (size_t length : {size_t{7}, size_t{9}, size_t{0}}) {
    const tests::Caught caught =
        tests::caught([&] { return make_tensor_ptr({2}, Bytes(length), ScalarType::Int); });
    CHECK(caught.error == Error::InvalidArgument);
    CHECK(tests::contains(caught.message, "make_tensor_ptr: " + std::to_string(length) + " bytes"));
    CHECK(tests::contains(caught.message, "need 8"));
  }
}

TEST_CASE("bytes: with a shape and a type any container of them is memory of that type") {
  const std::array<uint8_t, 8> array = {{1, 0, 0, 0, 0, 1, 0, 0}};
  const auto check = [&](const auto& t) {
    CHECK(t->scalar_type() == ScalarType::Int);
    CHECK(std::memcmp(const_data_ptr(t), array.data(), 8) == 0);
  };
  check(make_tensor_ptr({2}, array, ScalarType::Int));
  check(make_tensor_ptr({2}, std::array<uint8_t, 8>(array), ScalarType::Int));
  check(make_tensor_ptr({2}, Span<const uint8_t>(array.data(), 8), ScalarType::Int));
  check(make_tensor_ptr({2}, std::deque<uint8_t>(array.begin(), array.end()), ScalarType::Int));
  check(make_tensor_ptr({2}, std::list<uint8_t>(array.begin(), array.end()), ScalarType::Int));
  // Lists and one dimension are values.
  CHECK(values<int32_t>(make_tensor_ptr({2}, {uint8_t{1}, uint8_t{2}}, ScalarType::Int)) ==
        Ints{1, 2});
  CHECK(make_tensor_ptr(array, ScalarType::Int)->numel() == 8);
  CHECK(make_tensor_ptr({8}, array)->scalar_type() == ScalarType::Byte);
}

TEST_CASE("bytes: as many as elements are refused, and the error says how they are cast") {
  RAISES(InvalidArgument,
         "make_tensor_ptr: 2 bytes were given, sizes {2} need 8; with sizes and a type, uint8_t "
         "is memory of that type",
         make_tensor_ptr({2}, std::array<uint8_t, 2>{{1, 2}}, ScalarType::Int));
}

TEST_CASE("from_bytes: reinterprets bytes, moved ones without a copy") {
  Bytes bytes = {1, 0, 0, 0, 0, 1, 0, 0};
  auto copied = from_bytes({2}, bytes, ScalarType::Int);
  CHECK(bytes.size() == 8);
  const void* const memory = bytes.data();
  auto adopted = from_bytes({2}, std::move(bytes), ScalarType::Int, TensorShapeDynamism::STATIC);
  CHECK(const_data_ptr(adopted) == memory);
  CHECK(shape_dynamism(adopted) == TensorShapeDynamism::STATIC);
  CHECK(values<int32_t>(adopted) == values<int32_t>(copied));
  RAISES(InvalidArgument, "from_bytes: 3 bytes", from_bytes({1}, Bytes(3), ScalarType::Int));
  RAISES(InvalidType, "from_bytes: ", from_bytes({1}, Bytes(3), ScalarType::Undefined));
  auto failed = try_from_bytes({1}, Bytes(3), ScalarType::Int);
  CHECK(failed.error() == Error::InvalidArgument);
  CHECK(tests::contains(failed.message(), "try_from_bytes: 3 bytes"));
  CHECK(try_from_bytes({1}, Bytes(4), ScalarType::Int).ok());
}

// Values that do not fit.

TEST_CASE("values: what is written in source must fit the type asked for") {
  RAISES(InvalidArgument, "make_tensor_ptr: the value 300 does not fit Byte",
         make_tensor_ptr({300}, ScalarType::Byte));
  RAISES(InvalidArgument, "-1", make_tensor_ptr({1, -1}, ScalarType::UInt32));
  RAISES(InvalidArgument, "-1", make_tensor_ptr({2}, {1, -1}, ScalarType::Byte));
  RAISES(InvalidArgument, "128", make_tensor_ptr(128, ScalarType::Char));
  RAISES(InvalidArgument, "Half", make_tensor_ptr(1e6, ScalarType::Half));
  RAISES(InvalidArgument, "Float", make_tensor_ptr({1e300}, ScalarType::Float));
  RAISES(InvalidArgument, "Long",
         make_tensor_ptr(std::numeric_limits<uint64_t>::max(), ScalarType::Long));
  CHECK(values<uint8_t>(make_tensor_ptr({0, 255}, ScalarType::Byte)) == Bytes{0, 255});
  CHECK(item<int>(make_tensor_ptr(127, ScalarType::Char)) == 127);
  CHECK(item<float>(make_tensor_ptr(0.1, ScalarType::Float)) == 0.1f);
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(item<double>(make_tensor_ptr({infinity}, ScalarType::Float)) == infinity);
}

TEST_CASE("values: containers follow the C++ conversion instead") {
  CHECK(values<uint8_t>(make_tensor_ptr(Ints{300, -1}, ScalarType::Byte)) == Bytes{44, 255});
}

TEST_CASE("values: more or fewer than the sizes hold is an error that names both numbers") {
  RAISES(InvalidArgument, "make_tensor_ptr: 5 values were given, sizes {2, 3} need 6",
         make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5}));
  RAISES(InvalidArgument, "7 values", make_tensor_ptr({2, 3}, Ints(7)));
  RAISES(InvalidArgument, "1 values", make_tensor_ptr({0, 3}, {1}));
  RAISES(InvalidArgument, "0 values", make_tensor_ptr({}, {}));
  RAISES(InvalidArgument, "0 values", make_tensor_ptr({1}, Floats()));
}

// try_ forms.

TEST_CASE("try_make_tensor_ptr: gives the value") {
  auto result = try_make_tensor_ptr({2}, {1, 2});
  REQUIRE(result.ok());
  CHECK(values<int32_t>(*result) == Ints{1, 2});
  CHECK(result.message() == std::string());
  TensorPtr taken = std::move(result).value();
  CHECK(taken->numel() == 2);
}

TEST_CASE("try_make_tensor_ptr: gives the error, and the message names try_make_tensor_ptr") {
  Calls calls;
  float data[2];
  auto result = try_make_tensor_ptr({-2}, data, ScalarType::Float,
                                    TensorShapeDynamism::DYNAMIC_BOUND, calls.deleter());
  CHECK_FALSE(result.ok());
  CHECK(result.error() == Error::InvalidArgument);
  CHECK(result.message() ==
        std::string("try_make_tensor_ptr: size -2 of dimension 0 is negative in sizes {-2}"));
  CHECK(calls.count == 1);
  CHECK(calls.argument == data);
  CHECK(
      tests::contains(try_make_tensor_impl_ptr({2}, {1}).message(), "try_make_tensor_impl_ptr: "));
  CHECK(tests::contains(try_make_tensor({2}, {1}).message(), "try_make_tensor: "));
}
