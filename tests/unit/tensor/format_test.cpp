// SPDX-License-Identifier: MIT
// The layout and the last line; format_numbers_test.cpp has the elements.
#include "tenon/tensor/format.h"

#include <cerrno>

#include "support/catch.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tensor/helpers.h"

#if defined(__unix__) && __has_include(<sys/mman.h>)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace format_test {

using namespace tenon;

namespace {

template <class T, class = void>
constexpr bool prints = false;
template <class T>
constexpr bool
    prints<T, std::void_t<decltype(std::declval<std::ostream&>() << std::declval<const T&>())>> =
        true;
// Without tenon/ostream.h; what converts to a number prints as one.
static_assert((!prints<Tensor> || TENON_ATEN_MODE) && !prints<Dims> && !prints<Error>);
static_assert(prints<Half>);

/// 0, 1, 2, … in an Int tensor.
TensorPtr count(const Dims& sizes) {
  int64_t numel = 1;
  for (int64_t size : sizes) numel *= size;
  tests::Ints values(static_cast<size_t>(numel));
  std::iota(values.begin(), values.end(), 0);
  return make_tensor_ptr(sizes, std::move(values));
}

FormatOptions edges(int edge_items, int64_t limit, int characters = 80) {
  return {edge_items, limit, 4, characters};
}
FormatOptions width(int characters) { return edges(3, 1000, characters); }

}  // namespace

TEST_CASE("to_string: what describes a tensor, in the words of error messages") {
  CHECK(to_string(Device("cuda:1")) == "cuda:1");
  CHECK(to_string(own::Scalar(0.5)) == "0.5");
  CHECK(to_string(Dims{2, 3}) == "{2, 3}");
  CHECK(to_string(ArrayRef<int64_t>(Dims{2, 3})) == "{2, 3}");
}

TEST_CASE("to_string: a line for each row, and a last one with dtype and sizes") {
  const TensorPtr t = make_tensor_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.5f, 5.0f, 6.0f});
  CHECK(to_string(*t) == to_string(t));
  tests::check_texts({
      {to_string(t), "[[1.  2.  3. ]\n [4.5 5.  6. ]]\nFloat {2, 3}"},
      {to_string(make_tensor_ptr(5.0f)), "5.\nFloat {}"},
      {to_string(make_tensor_ptr({0}, tests::Ints())), "[]\nInt {0}"},
      {to_string(make_tensor_ptr({2, 0, 3}, tests::Floats())), "[]\nFloat {2, 0, 3}"},
      {to_string(count({2, 2, 2})),
       "[[[0 1]\n"
       "  [2 3]]\n"
       "\n"
       " [[4 5]\n"
       "  [6 7]]]\n"
       "Int {2, 2, 2}"},
      {to_string(count({1, 1, 1, 1, 1, 1, 2, 3})),
       "[[[[[[[[0 1 2]\n"
       "       [3 4 5]]]]]]]]\n"
       "Int {1, 1, 1, 1, 1, 1, 2, 3}"},
      {to_string(Tensor()), "undefined tensor"},
  });
}

TEST_CASE("to_string: above the limit the middle of long dimensions is an ellipsis") {
  const FormatOptions negative{-1, -1, -3, -5};
  const FormatOptions largest{INT32_MAX, INT64_MAX, INT32_MAX, INT32_MAX};
  tests::check_texts({
      {to_string(count({1001})), "[   0    1    2 ...  998  999 1000]\nInt {1001}"},
      {to_string(count({10}), edges(3, 10)), "[0 1 2 3 4 5 6 7 8 9]\nInt {10}"},
      {to_string(count({10}), edges(3, 9)), "[0 1 2 ... 7 8 9]\nInt {10}"},
      {to_string(count({10}), edges(1, 0)), "[0 ... 9]\nInt {10}"},
      {to_string(count({6}), edges(3, 1)), "[0 1 2 3 4 5]\nInt {6}"},
      {to_string(count({7}), edges(3, 1)), "[0 1 2 ... 4 5 6]\nInt {7}"},
      {to_string(count({5, 2, 4}), edges(1, 39)),
       "[[[ 0 ...  3]\n"
       "  [ 4 ...  7]]\n"
       "\n"
       " ...\n"
       "\n"
       " [[32 ... 35]\n"
       "  [36 ... 39]]]\n"
       "Int {5, 2, 4}"},
      {to_string(count({3}), edges(0, 2)), "[...]\nInt {3}"},
      {to_string(count({3, 2}), edges(0, 2)), "[...]\nInt {3, 2}"},
      // What is not shown does not widen the columns.
      {to_string(make_tensor_ptr({1, 2, 123456, 3, 4}), edges(1, 3)), "[1 ... 4]\nInt {5}"},
      {to_string(make_tensor_ptr({1.0, 2.0, 1e9, 3.0, 4.0}), edges(1, 3)),
       "[1. ... 4.]\nDouble {5}"},
      // Negative options count as 0, the largest are no trouble.
      {to_string(count({3}), negative), "[...]\nInt {3}"},
      {to_string(count({3}), edges(1, -1)), "[0 ... 2]\nInt {3}"},
      {to_string(make_tensor_ptr({0.75, 2.0}), {3, 9, -3, 80}), "[1. 2.]\nDouble {2}"},
      {to_string(make_tensor_ptr({0.5, 2.0}), largest), "[0.5 2. ]\nDouble {2}"},
      {to_string(count({3}), edges(INT32_MAX, 0)), "[0 1 2]\nInt {3}"},
  });
}

TEST_CASE("to_string: a row is wrapped before it exceeds the width, closing brackets included") {
  // Twenty elements of two characters and the spaces between them: 59, and two brackets.
  const TensorPtr t = count({20});
  tests::check_texts({
      {to_string(t, width(61)),
       "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19]\nInt {20}"},
      {to_string(t, width(60)),
       "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18\n 19]\nInt {20}"},
      {to_string(count({2, 5}), width(11)), "[[0 1 2 3\n  4]\n [5 6 7 8\n  9]]\nInt {2, 5}"},
      // Without the padding of a line's last element; the ellipsis is like an element.
      {to_string(make_tensor_ptr({0.25f, 1.0f, 2.0f}), width(12)), "[0.25 1.\n 2.  ]\nFloat {3}"},
  });
  // What is wider has a line of its own.
  for (int characters : {3, 1, 0, -5}) {
    CHECK(to_string(make_tensor_ptr({1000, 2000}), width(characters)) == "[1000\n 2000]\nInt {2}");
  }
}

TEST_CASE("to_string: negative strides, read-only tensors, memory of devices") {
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  const void* const address = reinterpret_cast<void*>(uintptr_t{64});
  tests::check_texts({
      {to_string(from_blob(tests::read_only(data), {2})), "[0 1]\nInt {2}, read-only"},
      {to_string(for_blob(tests::read_only(address), {2, 3})
                     .strides({1, 2})
                     .device("cuda")
                     .make_tensor_ptr()),
       "Float {2, 3} on cuda:0, strides {1, 2}, read-only, not readable by the host"},
  });
  ATEN_LACKS(tests::check_texts({
      {to_string(from_blob(data + 5, {3}, {-2})), "[5 3 1]\nInt {3}, strides {-2}"},
      {to_string(for_blob(data, {2}).device("cuda_host:1").make_tensor_ptr()),
       "[0 1]\nInt {2} on cuda_host:1"},
  });)
}

TEST_CASE("to_string: of placeholders and memory that the host cannot read, the last line") {
  void* const address = reinterpret_cast<void*>(uintptr_t{64});
  tests::check_texts({
      {to_string(make_tensor_ptr({2, 3}, nullptr)), "Float {2, 3}, a placeholder without data"},
      {to_string(for_blob(nullptr, {2}, ScalarType::Int).device("meta").make_tensor_ptr()),
       "Int {2} on meta:0, a placeholder without data"},
      {to_string(for_blob(address, {2, 3}).device("cuda:1").make_tensor_ptr()),
       "Float {2, 3} on cuda:1, not readable by the host"},
      {to_string(for_blob(address, {0, 3}).device("cuda").make_tensor_ptr()),
       "[]\nFloat {0, 3} on cuda:0"},
  });
}

#if defined(__unix__) && __has_include(<sys/mman.h>)
// A promise of docs/guarantees.md.
TEST_CASE("to_string: elements that are not shown are not read") {
  const long page = sysconf(_SC_PAGESIZE);
  const auto size = static_cast<size_t>(page);
  void* const memory =
      mmap(nullptr, 3 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  auto* const bytes = static_cast<uint8_t*>(memory);
  bytes[0] = 1;
  bytes[3 * size - 1] = 2;
  REQUIRE(mprotect(bytes + size, size, PROT_NONE) == 0);
  const std::string text = to_string(from_blob(bytes, {3 * page}));
  CHECK(text == "[1 0 0 ... 0 0 2]\nByte {" + std::to_string(3 * page) + "}");
  munmap(memory, 3 * size);
}
#endif

}  // namespace format_test
