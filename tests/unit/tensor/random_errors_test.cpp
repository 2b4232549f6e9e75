// SPDX-License-Identifier: MIT
// What the random creators refuse, by their own names; their generator does not advance then.
#include "support/catch.h"
#include "tenon/tensor/random.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tensor/random_helpers.h"

namespace random_errors_test {

using namespace tenon;
using namespace tests;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// `make(generator)` fails so and leaves the generator as it was.
template <class F>
void check_refused(Error error, const std::string& message, const F& make) {
  Generator g(5, 77);
  CHECK_ERROR(error, message, make(g));
  CHECK(g.seed() == 5);
  CHECK(g.offset() == 77);
}

// Arguments that all forms of a distribution refuse, or all take where `words` is empty.
template <class T>
struct Row {
  ScalarType type;
  T a, b;
  const char* words;
};
template <class T, class Create, class Try, class Strided, class Like>
void check_arguments(const std::string& name, const std::vector<Row<T>>& rows, const Create& create,
                     const Try& attempt, const Strided& strided, const Like& like) {
  for (const Row<T>& row : rows) {
    const ScalarType type = row.type;
    const T a = row.a;
    const T b = row.b;
    INFO(name << " " << a << " " << b << " " << toString(type));
    Generator untouched(5, 77);
    const auto result = attempt(a, b, Dims{2}, type, untouched);
    if (*row.words == '\0') {
      CHECK(result.ok());
      continue;
    }
    CHECK(result.error() == Error::InvalidArgument);
    CHECK(std::string(result.message()).find("try_" + name + ": " + row.words) == 0);
    CHECK(untouched.offset() == 77);
    const auto check = [&](const char* suffix, const auto& make) {
      check_refused(Error::InvalidArgument, name + suffix + ": " + row.words, make);
    };
    check("", [&](Generator& g) { return create(a, b, Dims{2}, type, g); });
    // Also without elements, so that the program is wrong whatever its shapes.
    check("", [&](Generator& g) { return create(a, b, Dims{0}, type, g); });
    check("_strided", [&](Generator& g) { return strided(a, b, Dims{2}, Dims{1}, type, g); });
    const TensorPtr source = empty({2}, type);
    check("_like", [&](Generator& g) { return like(source, a, b, type, g); });
    check("_like", [&](Generator& g) { return like(source, a, b, g); });
  }
}

}  // namespace

TEST_CASE("random creators: bad sizes, strides, types and amounts are refused by their name") {
  for (const RandomCreator& creator : kCreators) {
    INFO(creator.name);
    const auto check = [&](Error error, const char* words, const Vector& sizes,
                           ScalarType type = ScalarType::Float, const Vector& strides = {}) {
      check_refused(error, std::string(creator.name) + ": " + words,
                    [&](Generator& g) { return creator.make(sizes, strides, type, g); });
    };
    check(Error::InvalidType, "the type is Undefined (99)", {2}, static_cast<ScalarType>(99));
    if (creator.kind == RandomCreator::kLike) continue;  // whose source could not have these sizes
    check(Error::InvalidArgument, "size -1 of dimension 1 is negative", {2, -1});
    check(Error::InvalidArgument, "the element count of sizes", {INT64_MAX, 3});
    check(Error::InvalidArgument, "sizes has more than 64 entries", Vector(65, 1));
    check(Error::OutOfMemory, "out of memory for ", {PTRDIFF_MAX / 4});
    check(Error::InvalidType, "the type is Undefined", {2}, ScalarType::Undefined);
    if (creator.kind != RandomCreator::kStrided) continue;
    const auto check_strides = [&](const char* words, const Vector& sizes, const Vector& strides) {
      check(Error::InvalidArgument, words, sizes, ScalarType::Float, strides);
    };
    check_strides("strides {0} for sizes {2} may overlap", {2}, {0});
    check_strides("strides {-1} for sizes {2} are negative", {2}, {-1});
  }
}

TEST_CASE("randint: bounds with no integer between them, or beyond the type's range, are refused") {
  check_arguments<int64_t>(
      "randint",
      {
          {ScalarType::Float, 5, -5, "[5, -5) holds no integers"},
          {ScalarType::Byte, 0, 257, "integers from 0 to 256 do not fit Byte"},
          {ScalarType::Byte, -1, 10, "integers from -1 to 9 do not fit Byte"},
          {ScalarType::Bool, 0, 3, "integers from 0 to 2 do not fit Bool"},
          {ScalarType::ComplexHalf, 0, 65506, "integers from 0 to 65505 do not fit Half"},
          {ScalarType::Float8_e4m3fn, -449, 1, "integers from -449 to 0 do not fit Float8_e4m3fn"},
          {ScalarType::Char, -128, 128, ""},
          {ScalarType::Long, INT64_MIN, INT64_MAX, ""},
          {ScalarType::UInt64, 0, INT64_MAX, ""},
      },
      randint, try_randint, randint_strided, randint_like);
  const uint64_t large = uint64_t{1} << 63;
  RAISES(InvalidArgument, "randint: an unsigned bound is above int64_t's range",
         randint(large, 3, {2}, ScalarType::Long));
  RETURNS(InvalidArgument, "random_: an unsigned bound",
          random_(zeros({2}, ScalarType::Long), 0, large));
}

TEST_CASE("uniform: bounds with no number between them, or beyond the type's range, are refused") {
  check_arguments<double>(
      "uniform",
      {
          {ScalarType::Float, 1, 1, "[1, 1) holds no numbers"},
          {ScalarType::Int, 1, 0.5, "[1, 0.5) holds no numbers"},
          {ScalarType::Double, kNan, 1, "[nan, 1) holds no numbers"},
          {ScalarType::Half, 0, kNan, "[0, nan) holds no numbers"},
          {ScalarType::Float, -kInfinity, 0, "[-inf, 0) holds no numbers"},
          {ScalarType::Float, 0, kInfinity, "[0, inf) holds no numbers"},
          {ScalarType::Half, 1.0001, 1.0002, "[1.0001, 1.0002) holds no Half"},
          {ScalarType::ComplexHalf, 1.0001, 1.0002, "[1.0001, 1.0002) holds no Half"},
          {ScalarType::Half, 0, 70000, "[0, 70000) is beyond the range of Half"},
          {ScalarType::Float, -1e300, 0, "[-1e300, 0) is beyond the range of Float"},
          {ScalarType::Byte, 0, 257, "[0, 257) is beyond the range of Byte"},
          {ScalarType::Byte, -1, 1, "[-1, 1) is beyond the range of Byte"},
          {ScalarType::Char, -129, 0, "[-129, 0) is beyond the range of Char"},
          {ScalarType::Float, -3e38, 3e38,
           "the width of [-3e38, 3e38) is beyond the range of Float"},
          {ScalarType::Double, -1e308, 1e308,
           "the width of [-1e308, 1e308) is beyond the range of Double"},
          // What is truncated towards 0 comes into the range.
          {ScalarType::Byte, -0.5, 256, ""},
          {ScalarType::Char, -128.5, 128, ""},
          {ScalarType::Double, -3e38, 3e38, ""},
      },
      uniform, try_uniform, uniform_strided, uniform_like);
}

TEST_CASE("normal: a negative or infinite deviation is refused, and a mean that is no number") {
  check_arguments<double>(
      "normal",
      {
          {ScalarType::Float, 0, -1,
           "the standard deviation -1 is not a finite Float of at least 0"},
          {ScalarType::Int, 0, -1, "the standard deviation -1 is not a finite"},
          {ScalarType::Double, 0, kNan, "the standard deviation nan is not a finite Double"},
          {ScalarType::Half, 0, kInfinity, "the standard deviation inf is not a finite Float"},
          {ScalarType::Float, 0, 1e300, "the standard deviation 1e300 is not a finite Float"},
          {ScalarType::Float, kNan, 1, "the mean nan is not a finite Float"},
          {ScalarType::Double, -kInfinity, 1, "the mean -inf is not a finite Double"},
          {ScalarType::ComplexFloat, 1e300, 1, "the mean 1e300 is not a finite Float"},
          {ScalarType::Double, 1e300, 1e300, ""},
      },
      normal, try_normal, normal_strided, normal_like);
  CHECK(numbers(normal(2.5, 0, {3})) == Doubles{2.5, 2.5, 2.5});  // 0 makes the mean
  CHECK(numbers(normal(-2.5, 0, {2}, ScalarType::Int)) == Doubles{-2, -2});
}

// A promise of docs/guarantees.md.
TEST_CASE("random creators: the thread's own generator does not advance on an error either") {
  const uint64_t offset = default_generator().offset();
  CHECK(try_rand({-1}).error() == Error::InvalidArgument);
  CHECK(try_randint(3, 3, {5}).error() == Error::InvalidArgument);
  RAISES(InvalidArgument, "randn: ", randn({-1}));
  CHECK(default_generator().offset() == offset);
}

}  // namespace random_errors_test
