// SPDX-License-Identifier: MIT
#include "tenon/tensor/data.h"

#include <complex>
#include <list>
#include <stdexcept>
#include <utility>

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

// Behind the library: its begin() and end() are found nevertheless.
#include <valarray>

namespace data_test {

using namespace tenon;
using tenon::detail::TypeArg;
using tenon::detail::Values;
using namespace tests;

// `{}` is never a type, and no number is one.
static_assert(!std::is_default_constructible_v<TypeArg>);
static_assert(std::is_convertible_v<ScalarType, TypeArg>);
static_assert(!std::is_convertible_v<int, TypeArg>);
// What is there only to name a mistake takes nothing.
static_assert(!std::is_convertible_v<int, Dims>);
static_assert(!std::is_convertible_v<Result<TensorPtr>, TensorPtr>);
static_assert(!std::is_invocable_v<decltype(ones), int> &&
              !std::is_invocable_v<decltype(ones), int, int>);
static_assert(!std::is_invocable_v<decltype(from_blob), float*, Dims, ScalarType, void (*)()>);
static_assert(!std::is_invocable_v<decltype(from_blob), float*, Dims, ScalarType, Dims>);
static_assert(!std::is_invocable_v<decltype(make_tensor_ptr), float*, Dims>);
// And it takes no part in what is right: sizes in an array of integers, data in one; a deleter whose
// body compiles with a void* alone; a Result in place of a value that has a constructor from it.
static_assert(std::is_invocable_v<decltype(from_blob), float (&)[6], const int64_t (&)[2]>);
static_assert(
    std::is_invocable_v<decltype(make_tensor_ptr), const int64_t (&)[2], std::vector<int64_t>&>);
constexpr auto kGenericDeleter = [](auto data) { std::free(data); };
static_assert(
    std::is_invocable_v<decltype(from_blob), void*, Dims, ScalarType, decltype(kGenericDeleter)>);
// Only ranges of elements are values.
static_assert(std::is_constructible_v<Values, std::vector<float>>);
static_assert(std::is_constructible_v<Values, const std::list<int>&>);
static_assert(!std::is_constructible_v<Values, std::vector<std::string>>);
static_assert(std::is_constructible_v<Values, std::string>);  // bytes
static_assert(!std::is_constructible_v<Values, const char*>);
static_assert(!std::is_constructible_v<Values, const char (&)[3]>);
static_assert(!std::is_constructible_v<Values, int>);
// One with a name cannot be passed.
static_assert(!std::is_move_constructible_v<Values>);
static_assert(!std::is_invocable_v<decltype(make_tensor_ptr), Values&>);

namespace {

// A container from before there were moves, whose copies may throw or not. The elements of a dead
// one are -1.
template <bool kThrows>
class CopyOnly {
 public:
  explicit CopyOnly(size_t size) : buffer_(size) {
    for (size_t i = 0; i < size; ++i) buffer_[i] = static_cast<float>(i);
  }
  CopyOnly(const CopyOnly& other) noexcept(!kThrows) : buffer_(other.buffer_) {
    if constexpr (kThrows) throw std::runtime_error("copied");
  }
  ~CopyOnly() {
    for (float& value : buffer_) value = -1;
  }
  float* data() noexcept { return buffer_.data(); }
  const float* data() const noexcept { return buffer_.data(); }
  size_t size() const noexcept { return buffer_.size(); }
  const float* begin() const noexcept { return buffer_.data(); }
  const float* end() const noexcept { return buffer_.data() + buffer_.size(); }

 private:
  std::vector<float> buffer_;
};

// As Eigen's matrices, whose begin() is there for vectors only.
struct Matrix {
  void begin() const {}
  void end() const {}
  float* data() { return nullptr; }
  int64_t size() const { return 0; }
};
static_assert(!std::is_constructible_v<Values, Matrix&>);
static_assert(!std::is_constructible_v<Dims, Matrix&>);

// A range by free functions.
struct Row {
  std::vector<float> cells;
};
auto begin(const Row& row) { return row.cells.begin(); }
auto end(const Row& row) { return row.cells.end(); }
// Free functions for everything beside members, which come first.
namespace beside {
struct Cells : std::vector<float> {
  using vector::vector;
};
template <class C>
int begin(C&);
template <class C>
int end(C&);
}  // namespace beside
// A function of this name is not what the library calls.
template <class C>
void first(const C&) = delete;

// As std::views::filter: begin() changes the range.
class Filter {
 public:
  explicit Filter(const std::vector<int>& all) : all_(all) {}
  auto begin() {
    if (!begun_) at_ = all_.begin();
    begun_ = true;
    return at_;
  }
  auto end() { return all_.end(); }

 private:
  const std::vector<int>& all_;
  std::vector<int>::const_iterator at_;
  bool begun_ = false;
};
static_assert(!std::is_constructible_v<Values, const Filter&>);

// As a generator: each value is there once, and the end is of another type.
class Generated {
 public:
  struct End {};
  struct Iterator {
    Generated* from;
    double operator*() const { return 0.5 * from->next_; }
    Iterator& operator++() {
      ++from->next_;
      return *this;
    }
    bool operator!=(End) const { return from->next_ != from->count_; }
  };
  explicit Generated(int count) : count_(count) {}
  Iterator begin() { return {this}; }
  End end() { return {}; }

 private:
  int count_;
  int next_ = 0;
};

}  // namespace

namespace {

// As xtensor's views: data() is the whole's, the loop goes through a part, in rows that may have
// gaps or be turned.
struct Part {
  Floats* whole;
  int64_t offset, rows, columns, row_stride, column_stride;

  struct Iterator {
    using iterator_category = std::forward_iterator_tag;
    using value_type = float;
    using difference_type = std::ptrdiff_t;
    using pointer = float*;
    using reference = float&;
    const Part* part;
    int64_t i;
    float& operator*() const {
      const int64_t at = part->offset + i / part->columns * part->row_stride +
                         i % part->columns * part->column_stride;
      return (*part->whole)[static_cast<size_t>(at)];
    }
    Iterator& operator++() { return ++i, *this; }
    bool operator!=(const Iterator& other) const { return i != other.i; }
  };
  float* data() const { return whole->data(); }
  size_t size() const { return static_cast<size_t>(rows * columns); }
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, rows * columns}; }
};

Floats read(Part part) {
  Values values(part);
  values.take();
  const auto* const data = static_cast<const float*>(values.data());
  return Floats(data, data + values.count());
}

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("data: values are what a loop over the container gives, whatever its data() has") {
  Floats whole(10);
  std::iota(whole.begin(), whole.end(), 0.0f);
  CHECK(read({&whole, 0, 2, 5, 5, 1}) == whole);
  CHECK(read({&whole, 0, 2, 2, 5, 1}) == Floats{0, 1, 5, 6});  // the first two lie side by side
  CHECK(read({&whole, 0, 2, 4, 4, 1}) == Floats{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(read({&whole, 0, 4, 2, 1, 4}) == Floats{0, 4, 1, 5, 2, 6, 3, 7});  // turned
  Part part{&whole, 5, 1, 5, 5, 1};
  Values moved(std::move(part));
  moved.take();
  CHECK_FALSE(moved.is_adoptable());
  CHECK(static_cast<const float*>(moved.data())[0] == 5);
}

// A promise of docs/guarantees.md.
TEST_CASE("data: a container whose move may throw is neither moved nor copied, but read") {
  CopyOnly<true> container(3);
  const float* const memory = container.data();
  Values read(std::move(container));
  read.take();
  CHECK_FALSE(read.is_adoptable());
  CHECK(read.data() == memory);
  const auto t = make_tensor_ptr({3}, CopyOnly<true>(3));
  CHECK(ownership(t) == Ownership::Owned);
  CHECK(values<float>(t) == Floats{0, 1, 2});
}

// A promise of docs/guarantees.md.
TEST_CASE("data: a container whose elements do not move with it is copied") {
  const auto t = make_tensor_ptr({400}, CopyOnly<false>(400));
  CHECK(ownership(t) == Ownership::Owned);
  CHECK(const_data_ptr<float>(t)[399] == 399);
  CopyOnly<false> container(3);
  Values values(std::move(container));
  values.take();
  CHECK_FALSE(values.is_adoptable());
  REQUIRE(values.count() == 3);
  CHECK(static_cast<const float*>(values.data())[2] == 2);
}

TEST_CASE("data: whatever a range-based for walks gives values") {
  Row row{{1, 2, 3}};
  CHECK(values<float>(make_tensor_ptr(row)) == Floats{1, 2, 3});
  CHECK(values<float>(make_tensor_ptr({1, 3}, Row{{4, 5, 6}})) == Floats{4, 5, 6});
  CHECK(values<float>(make_tensor_ptr(beside::Cells{7, 8})) == Floats{7, 8});
  CHECK(values<int32_t>(make_tensor_ptr(Filter({7, 8}))) == Ints{7, 8});
  CHECK(values<float>(make_tensor_ptr(std::valarray<float>{1, 2})) == Floats{1, 2});
  for (const int count : {0, 1, 8, 9, 100}) {
    Generated generated(count);
    const auto t = make_tensor_ptr(generated);
    REQUIRE(t->numel() == count);
    for (int i = 0; i < count; ++i) CHECK(const_data_ptr<double>(t)[i] == 0.5 * i);
  }
}

}  // namespace data_test
