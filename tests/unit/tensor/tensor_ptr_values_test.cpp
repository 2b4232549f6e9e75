// SPDX-License-Identifier: MIT
#include <complex>
#include <deque>
#include <list>

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace tensor_ptr_values_test {

using namespace tenon;
using namespace tests;

namespace {

// Somebody else's elements, every `step`th of them: as std::span, Eigen's maps, segments and rows.
struct Lent {
  struct Iterator {
    const float* at;
    ptrdiff_t step;
    const float& operator*() const { return *at; }
    Iterator& operator++() { return at += step, *this; }
    bool operator!=(const Iterator& other) const { return at != other.at; }
  };
  float* data() { return first; }
  const float* data() const { return first; }
  ptrdiff_t size() const { return count; }
  Iterator begin() const { return {first, step}; }
  Iterator end() const { return {first + count * step, step}; }
  float* first;
  ptrdiff_t count;
  ptrdiff_t step = 1;
};
// The same with constness of its own: begin() and data() give what it was made with.
template <class T>
struct View {
  T* data() const { return first; }
  size_t size() const { return count; }
  T* begin() const { return first; }
  T* end() const { return first + count; }
  T* first;
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

// A promise of docs/guarantees.md.
TEST_CASE("values: a moved vector is adopted, an lvalue is copied and stays as it is") {
  Floats source = {1, 2, 3, 4, 5, 6};
  const float* const memory = source.data();
  auto copy = make_tensor_ptr(source);
  CHECK(ownership(copy) == Ownership::Owned);
  auto t = make_tensor_ptr({2, 3}, std::move(source));
  CHECK(const_data_ptr(t) == memory);
  CHECK(ownership(t) == Ownership::Adopted);
  CHECK(source.empty());
  mutable_data_ptr<float>(t)[0] = 9;
  CHECK(values<float>(copy) == Floats{1, 2, 3, 4, 5, 6});
  auto cast = make_tensor_ptr(Ints{1, 2, 3}, ScalarType::Double);
  CHECK(ownership(cast) == Ownership::Owned);
  CHECK(values<double>(cast) == Doubles{1, 2, 3});
}

TEST_CASE("values: a class that has no data() to ask once it was moved from is adopted") {
  class Image {
   public:
    explicit Image(Floats pixels) : pixels_(std::make_unique<Floats>(std::move(pixels))) {}
    float* data() { return pixels_->data(); }
    const float* data() const { return pixels_->data(); }
    size_t size() const { return pixels_->size(); }
    const float* begin() const { return data(); }
    const float* end() const { return data() + size(); }

   private:
    std::unique_ptr<Floats> pixels_;
  };
  Image image({1, 2});
  const float* const memory = image.data();
  const auto t = make_tensor_ptr(std::move(image));
  CHECK(const_data_ptr(t) == memory);
  CHECK(ownership(t) == Ownership::Adopted);
}

TEST_CASE("values: containers that cannot hand over their elements are copied") {
  const auto check = [](const TensorPtr& t) {
    CHECK(ownership(t) == Ownership::Owned);
    CHECK(values<int32_t>(t) == Ints{1, 2, 3});
  };
  check(make_tensor_ptr(std::array<int32_t, 3>{{1, 2, 3}}));
  check(make_tensor_ptr({3}, std::list<int32_t>{1, 2, 3}));
  check(make_tensor_ptr(SmallBuffer{{1, 2, 3}, 3}));
  const std::vector<bool> bits = {true, false, true};
  auto b = make_tensor_ptr(bits);
  CHECK(b->scalar_type() == ScalarType::Bool);
  CHECK(const_data_ptr<bool>(b)[0]);
  CHECK_FALSE(const_data_ptr<bool>(b)[1]);
}

TEST_CASE("values: a span is never adopted, its elements belong to somebody else") {
  float data[3] = {1, 2, 3};
  const TensorPtr tensors[] = {
      make_tensor_ptr(View<const float>{data, 3}), make_tensor_ptr({3}, View<float>{data, 3}),
      make_tensor_ptr(Span<float>(data, 3)), make_tensor_ptr({3}, Lent{data, 3})};
  data[0] = 9;
  for (const TensorPtr& t : tensors) {
    CHECK(ownership(t) == Ownership::Owned);
    CHECK(values<float>(t) == Floats{1, 2, 3});
  }
}

TEST_CASE("values: std::complex and tenon::complex have the complex dtypes") {
  auto t = make_tensor_ptr(std::vector<std::complex<float>>{{1, 2}, {3, 4}});
  CHECK(t->scalar_type() == ScalarType::ComplexFloat);
  CHECK(ownership(t) == Ownership::Adopted);
  const auto* parts = static_cast<const float*>(const_data_ptr(t));
  CHECK(Floats(parts, parts + 4) == Floats{1, 2, 3, 4});
}

TEST_CASE("bytes: with a shape and a type any container of them is memory of that type") {
  const std::array<uint8_t, 8> array = {{1, 0, 0, 0, 0, 1, 0, 0}};
  const auto check = [&](const auto& t, ScalarType type, Ownership expected) {
    CHECK(t->scalar_type() == type);
    CHECK(std::memcmp(const_data_ptr(t), array.data(), 8) == 0);
    CHECK(ownership(t) == expected);
  };
  const Bytes bytes(array.begin(), array.end());
  const auto owned = Ownership::Owned;
  check(make_tensor_ptr({2}, array, ScalarType::Int), ScalarType::Int, owned);
  check(make_tensor_ptr({2}, bytes, ScalarType::Int), ScalarType::Int, owned);
  check(make_tensor_ptr({2}, Bytes(bytes), ScalarType::Int), ScalarType::Int, Ownership::Adopted);
  auto ordered = make_tensor_ptr({2, 2}, bytes, {1, 0}, {1, 2}, ScalarType::Short);
  check(ordered, ScalarType::Short, owned);
  CHECK(strides(ordered) == Vector{1, 2});
  // Those that are not aligned for the type are copied.
  std::vector<uint8_t, OddAllocator<uint8_t>> odd(bytes.begin(), bytes.end());
  check(make_tensor_ptr({2}, std::move(odd), ScalarType::Int), ScalarType::Int, owned);
}

// A promise of docs/guarantees.md.
TEST_CASE("bytes: of another length than the shape needs, the error names both lengths") {
  for (size_t length : {size_t{7}, size_t{9}, size_t{0}}) {
    RAISES(InvalidArgument,
           "make_tensor_ptr: " + std::to_string(length) + " bytes were given, sizes {2} need 8",
           make_tensor_ptr({2}, Bytes(length), ScalarType::Int));
  }
  RAISES(InvalidArgument,
         "make_tensor_ptr: 2 bytes were given, sizes {2} need 8; with sizes and a type, bytes "
         "are memory of that type",
         make_tensor_ptr({2}, std::array<uint8_t, 2>{{1, 2}}, ScalarType::Int));
}

TEST_CASE("bytes: a moved string is adopted where its characters stay where they are") {
  std::string large(4000, 'x');
  const void* address = large.data();
  const TensorPtr adopted = from_bytes({1000}, std::move(large), ScalarType::Int);
  CHECK(const_data_ptr(adopted) == address);
  CHECK(ownership(adopted) == Ownership::Adopted);
  std::string small(4, 'x');  // which it holds in itself
  address = small.data();
  const TensorPtr copied = from_bytes({1}, std::move(small), ScalarType::Int);
  CHECK(const_data_ptr(copied) != address);
  CHECK(ownership(copied) == Ownership::Owned);
  CHECK(data<int32_t>(copied)[0] == 0x78787878);
}

// A promise of docs/guarantees.md.
TEST_CASE("values: what is given must fit the type asked for") {
  RAISES(InvalidArgument, "make_tensor_ptr: the value 300 does not fit Byte",
         make_tensor_ptr({300}, ScalarType::Byte));
  RAISES(InvalidArgument, "128", make_tensor_ptr(128, ScalarType::Char));
  RAISES(InvalidArgument, "Half", make_tensor_ptr(1e6, ScalarType::Half));
  CHECK(values<uint8_t>(make_tensor_ptr({0, 255}, ScalarType::Byte)) == Bytes{0, 255});
  CHECK(item<int>(make_tensor_ptr(127, ScalarType::Char)) == 127);
  RAISES(InvalidArgument, "300", make_tensor_ptr(Ints{300, -1}, ScalarType::Byte));
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(item<double>(make_tensor_ptr({infinity}, ScalarType::Float)) == infinity);
}

// A promise of docs/guarantees.md.
TEST_CASE("values: more or fewer than the sizes hold is an error that names both numbers") {
  RAISES(InvalidArgument, "make_tensor_ptr: 5 values were given, sizes {2, 3} need 6",
         make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5}));
  RAISES(InvalidArgument, "1 values", make_tensor_ptr({0, 3}, {1}));
  RAISES(InvalidArgument, "0 values", make_tensor_ptr({}, {}));
}

}  // namespace tensor_ptr_values_test
