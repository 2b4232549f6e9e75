// SPDX-License-Identifier: MIT
// What the random creators refuse, by their own names; their generator does not advance then.
#include <cstdint>
#include <limits>
#include <string>

#include "support/catch.h"
#include "tenon/tensor/random.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tensor/random_helpers.h"

using namespace tenon;
using tests::Vector;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kLarge = INT64_MAX;

// `make(generator)` fails so and leaves the generator as it was.
template <class F>
void check_refused(Error error, const std::string& message, F&& make) {
  Generator g(5, 77);
  CHECK_ERROR(error, message, make(g));
  CHECK(g.seed() == 5);
  CHECK(g.offset() == 77);
}

// The forms of one distribution, with their arguments before and after sizes.
template <class Create, class Try, class Strided, class Like, class... Args>
void check_distribution(Error error, const std::string& name, const std::string& words,
                        ScalarType type, const Create& create, const Try& attempt,
                        const Strided& strided, const Like& like, Args... args) {
  const TensorPtr source = tenon::empty({2}, type);
  const auto text = [&](const char* suffix) { return name + suffix + ": " + words; };
  check_refused(error, text(""), [&](Generator& g) { return create(args..., Dims{2}, type, g); });
  // Also without elements, so that the program is wrong whatever its shapes.
  check_refused(error, text(""), [&](Generator& g) { return create(args..., Dims{0}, type, g); });
  check_refused(error, text("_strided"),
                [&](Generator& g) { return strided(args..., Dims{2}, Dims{1}, type, g); });
  check_refused(error, text("_like"), [&](Generator& g) { return like(source, args..., type, g); });
  check_refused(error, text("_like"), [&](Generator& g) { return like(source, args..., g); });
  Generator g(5, 77);
  const auto result = attempt(args..., Dims{2}, type, g);
  CHECK(result.error() == error);
  CHECK(std::string(result.message()).find("try_" + text("")) == 0);
  CHECK(g.offset() == 77);
}

void check_randint(const std::string& words, ScalarType type, int64_t low, int64_t high) {
  INFO(low << " " << high);
  check_distribution(Error::InvalidArgument, "randint", words, type, tenon::randint,
                     tenon::try_randint, tenon::randint_strided, tenon::randint_like, low, high);
}
void check_uniform(const std::string& words, ScalarType type, double low, double high) {
  INFO(low << " " << high);
  check_distribution(Error::InvalidArgument, "uniform", words, type, tenon::uniform,
                     tenon::try_uniform, tenon::uniform_strided, tenon::uniform_like, low, high);
}
void check_normal(const std::string& words, ScalarType type, double mean, double stddev) {
  INFO(mean << " " << stddev);
  check_distribution(Error::InvalidArgument, "normal", words, type, tenon::normal,
                     tenon::try_normal, tenon::normal_strided, tenon::normal_like, mean, stddev);
}

}  // namespace

TEST_CASE("random creators: bad sizes, types and amounts are refused by the creator's name") {
  for (const tests::Creator& creator : tests::kCreators) {
    INFO(creator.name);
    const std::string name = creator.name;
    // The source of a _like creator could not have these sizes.
    const bool has_sizes = creator.kind != tests::Creator::kLike;
    const auto check = [&](Error error, const char* words, const Vector& sizes, ScalarType type) {
      check_refused(error, name + ": " + words,
                    [&](Generator& g) { return creator.make(sizes, {}, type, g); });
    };
    if (has_sizes) {
      check(Error::InvalidArgument, "size -1 of dimension 1 is negative", {2, -1},
            ScalarType::Float);
      check(Error::InvalidArgument, "the element count of sizes", {kLarge, 3}, ScalarType::Float);
      check(Error::InvalidArgument, "sizes has more than 64 entries", Vector(65, 1),
            ScalarType::Float);
      check(Error::OutOfMemory, "out of memory for 4611686018427387904 bytes", {int64_t{1} << 60},
            ScalarType::Float);
      check(Error::InvalidType, "the type is Undefined", {2}, ScalarType::Undefined);
    }
    check(Error::InvalidType, "the type is Undefined (99)", {2}, static_cast<ScalarType>(99));
  }
}

TEST_CASE("random _strided creators: strides that no owner can have are refused") {
  for (const tests::Creator& creator : tests::kCreators) {
    if (creator.kind != tests::Creator::kStrided) continue;
    INFO(creator.name);
    const std::string name = creator.name;
    const auto check = [&](const char* words, const Vector& sizes, const Vector& strides) {
      check_refused(Error::InvalidArgument, name + ": " + words, [&](Generator& g) {
        return creator.make(sizes, strides, ScalarType::Float, g);
      });
    };
    check("strides {0} for sizes {2} may overlap", {2}, {0});
    check("strides {-1} for sizes {2} are negative", {2}, {-1});
    check("strides {1, 1} for sizes {2, 3} may overlap", {2, 3}, {1, 1});
    check("", {2, 3}, {1});
  }
}

TEST_CASE("random _like creators: an undefined source is refused") {
  const auto check = [](const char* name, const auto& like, auto... args) {
    const std::string words = std::string(name) + ": the source tensor is undefined";
    check_refused(Error::InvalidState, words,
                  [&](Generator& g) { return like(Tensor(), args..., g); });
    check_refused(Error::InvalidState, words,
                  [&](Generator& g) { return like(TensorPtr(), args..., ScalarType::Float, g); });
  };
  check("rand_like", tenon::rand_like);
  check("randn_like", tenon::randn_like);
  check("randint_like", tenon::randint_like, 0, 9);
  check("uniform_like", tenon::uniform_like, 0, 1);
  check("normal_like", tenon::normal_like, 0, 1);
  CHECK(tenon::try_rand_like(Tensor()).error() == Error::InvalidState);
  CHECK(std::string(tenon::try_rand_like(Tensor()).message()).find("try_rand_like: ") == 0);
}

TEST_CASE("randint: bounds without an integer between them are refused") {
  check_randint("[5, 5) holds no integers", ScalarType::Int, 5, 5);
  check_randint("[5, -5) holds no integers", ScalarType::Float, 5, -5);
  check_randint("[-9223372036854775808, -9223372036854775808) holds no", ScalarType::Long,
                INT64_MIN, INT64_MIN);
}

TEST_CASE("randint: bounds beyond the type's range are refused, the range's ends are not") {
  check_randint("0 to 256 are not integers of Byte", ScalarType::Byte, 0, 257);
  check_randint("-1 to 9 are not integers of Byte", ScalarType::Byte, -1, 10);
  check_randint("-129 to 0 are not integers of Char", ScalarType::Char, -129, 1);
  check_randint("0 to 2 are not integers of Bool", ScalarType::Bool, 0, 3);
  check_randint("0 to 2147483648 are not integers of Int", ScalarType::Int, 0, 2147483649);
  check_randint("-1 to 0 are not integers of UInt64", ScalarType::UInt64, -1, 1);
  check_randint("0 to 65505 are not integers of Half", ScalarType::Half, 0, 65506);
  check_randint("0 to 65505 are not integers of Half", ScalarType::ComplexHalf, 0, 65506);
  check_randint("-449 to 0 are not integers of Float8_e4m3fn", ScalarType::Float8_e4m3fn, -449, 1);
  CHECK(tenon::try_randint(0, 256, {2}, ScalarType::Byte).ok());
  CHECK(tenon::try_randint(-128, 128, {2}, ScalarType::Char).ok());
  CHECK(tenon::try_randint(0, 2, {2}, ScalarType::Bool).ok());
  CHECK(tenon::try_randint(-2147483648, 2147483648, {2}).ok());
  CHECK(tenon::try_randint(INT64_MIN, kLarge, {2}, ScalarType::Long).ok());
  CHECK(tenon::try_randint(0, kLarge, {2}, ScalarType::UInt64).ok());
  CHECK(tenon::try_randint(-65504, 65505, {2}, ScalarType::Half).ok());
}

TEST_CASE("randint, random_: an unsigned bound that int64_t cannot hold is refused") {
  const uint64_t large = uint64_t{1} << 63;
  CHECK_ERROR(Error::InvalidArgument, "randint: an unsigned bound is above int64_t's largest",
              tenon::randint(large, 3, {2}, ScalarType::Long));
  auto t = tenon::zeros({2}, ScalarType::Long);
  CHECK_RETURNS(Error::InvalidArgument, "random_: an unsigned bound", tenon::random_(t, 0, large));
}

TEST_CASE("uniform: bounds without a number between them, or that are none, are refused") {
  check_uniform("[1, 1) holds no numbers", ScalarType::Float, 1, 1);
  check_uniform("[1, 0.5) holds no numbers", ScalarType::Int, 1, 0.5);
  check_uniform("[nan, 1) holds no numbers", ScalarType::Double, kNan, 1);
  check_uniform("[0, nan) holds no numbers", ScalarType::Half, 0, kNan);
  check_uniform("[-inf, 0) holds no numbers", ScalarType::Float, -kInfinity, 0);
  check_uniform("[0, inf) holds no numbers", ScalarType::Float, 0, kInfinity);
  check_uniform("[1.0001, 1.0002) holds no Half", ScalarType::Half, 1.0001, 1.0002);
  check_uniform("[1.0001, 1.0002) holds no Half", ScalarType::ComplexHalf, 1.0001, 1.0002);
}

TEST_CASE("uniform: bounds beyond the type's range are refused") {
  check_uniform("[0, 70000) is beyond the range of Half", ScalarType::Half, 0, 70000);
  check_uniform("[-1e300, 0) is beyond the range of Float", ScalarType::Float, -1e300, 0);
  check_uniform("[0, 257) is beyond the range of Byte", ScalarType::Byte, 0, 257);
  check_uniform("[-1, 1) is beyond the range of Byte", ScalarType::Byte, -1, 1);
  check_uniform("[-129, 0) is beyond the range of Char", ScalarType::Char, -129, 0);
  check_uniform("the width of [-3e38, 3e38) is beyond the range of Float", ScalarType::Float, -3e38,
                3e38);
  check_uniform("the width of [-1e308, 1e308) is beyond the range of Double", ScalarType::Double,
                -1e308, 1e308);
  // What is truncated towards 0 comes into the range.
  CHECK(tenon::try_uniform(-0.5, 256, {2}, ScalarType::Byte).ok());
  CHECK(tenon::try_uniform(-128.5, 128, {2}, ScalarType::Char).ok());
  CHECK(tenon::try_uniform(-3e38, 3e38, {2}, ScalarType::Double).ok());
}

TEST_CASE("normal: a negative or infinite deviation is refused, and a mean that is no number") {
  check_normal("the standard deviation -1 is no finite Float of at least 0", ScalarType::Float, 0,
               -1);
  check_normal("the standard deviation -1 is no finite", ScalarType::Int, 0, -1);
  check_normal("the standard deviation nan is no finite Double", ScalarType::Double, 0, kNan);
  check_normal("the standard deviation inf is no finite Float", ScalarType::Half, 0, kInfinity);
  check_normal("the standard deviation 1e300 is no finite Float", ScalarType::Float, 0, 1e300);
  check_normal("the mean nan is no finite Float", ScalarType::Float, kNan, 1);
  check_normal("the mean -inf is no finite Double", ScalarType::Double, -kInfinity, 1);
  check_normal("the mean 1e300 is no finite Float", ScalarType::ComplexFloat, 1e300, 1);
  CHECK(tenon::try_normal(1e300, 1e300, {2}, ScalarType::Double).ok());
}

TEST_CASE("normal: a deviation of 0 makes the mean") {
  CHECK(tests::numbers(tenon::normal(2.5, 0, {3})) == std::vector<double>{2.5, 2.5, 2.5});
  CHECK(tests::numbers(tenon::normal(-2.5, 0, {2}, ScalarType::Int)) ==
        std::vector<double>{-2, -2});
}

TEST_CASE("random creators: the thread's own generator does not advance on an error either") {
  const uint64_t offset = tenon::default_generator().offset();
  CHECK(tenon::try_rand({-1}).error() == Error::InvalidArgument);
  CHECK(tenon::try_randint(3, 3, {5}).error() == Error::InvalidArgument);
  CHECK_ERROR(Error::InvalidArgument, "randn: ", tenon::randn({-1}));
  CHECK(tenon::default_generator().offset() == offset);
}
