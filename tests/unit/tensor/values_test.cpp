// SPDX-License-Identifier: MIT
#include "tenon/tensor/values.h"

#include <cmath>
#include <complex>
#include <cstring>

#include "backend/device_helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace values_test {

using namespace tenon;
using namespace tests;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TensorPtr one(double value) { return make_tensor_ptr({value}); }

/// Numbers from 1 to 97.
TensorPtr remainder(int64_t h, int64_t w) {
  std::vector<uint8_t> values(static_cast<size_t>(h * w));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(1 + i * 31 % 97);
  return make_tensor_ptr({h, w}, values);
}

}  // namespace

TEST_CASE("equal: of the same sizes, dtype and values, at any strides") {
  const TensorPtr t = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(tenon::equal(t, t));
  CHECK_FALSE(tenon::equal(t, make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 7})));
  CHECK_FALSE(tenon::equal(t, make_tensor_ptr({6}, {1, 2, 3, 4, 5, 6})));
  CHECK_FALSE(tenon::equal(t, make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6}, ScalarType::Long)));
  CHECK(tenon::equal(zeros({0, 3}), empty({0, 3})));
  CHECK_FALSE(tenon::equal(zeros({0, 3}), zeros({3, 0})));
  CHECK_FALSE(tenon::equal(make_tensor_ptr(2.5), make_tensor_ptr({2.5})));
}

TEST_CASE("equal, allclose, min_max: the same of all layouts, one element apart or not") {
  for (const ScalarType dtype : {ScalarType::Byte, ScalarType::Half, ScalarType::Float,
                                 ScalarType::Double, ScalarType::ComplexDouble}) {
    INFO(toString(dtype));
    for (const auto& [h, w] : {std::pair<int64_t, int64_t>{70, 130}, {3, 700}, {500, 3}}) {
      const Tensor t = to(remainder(h, w), dtype);
      const auto fresh = [&](int64_t rows, int64_t columns) {
        return zeros({rows, columns}, dtype);
      };
      std::vector<Tensor> layouts;
      layouts.push_back(view(fresh(h, w)));
      layouts.push_back(transpose(fresh(w, h), 0, 1));
      layouts.push_back(narrow(fresh(h, w + 3), 1, 1, w));
      layouts.push_back(slice(fresh(h, 2 * w), 1, 0, 2 * w, 2));
      layouts.push_back(
          transpose(slice(slice(fresh(2 * w, 2 * h), 0, 0, 2 * w, 2), 1, 0, 2 * h, 2), 0, 1));
      ATEN_LACKS(layouts.push_back(flip(fresh(h, w), {0, 1}));)
      ATEN_LACKS(layouts.push_back(transpose(flip(fresh(w, h), {0}), 0, 1));)
      for (const Tensor& layout : layouts) check(copy_(layout, t));
      for (const Tensor& a : layouts) {
        for (const Tensor& b : layouts) {
          CHECK(tenon::equal(a, b));
          CHECK(allclose(a, b, 0, 0));
        }
        if (!isComplexType(dtype)) {
          CHECK(min_max(a).min.to<double>() == 1);
          CHECK(min_max(a).max.to<double>() == 97);
        }
      }
      for (const auto& [i, j] : {std::pair<int64_t, int64_t>{0, 0}, {h - 1, w - 1}, {h / 2, 1}}) {
        for (const Tensor& b : layouts) {
          check(fill_(select(select(b, 0, i), 0, j), 100));
          for (const Tensor& a : layouts) {  // those before b have the number too
            CHECK(tenon::equal(a, b) == (&a <= &b));
            CHECK(tenon::equal(b, a) == (&a <= &b));
            CHECK(allclose(a, b, 0, 0.5) == (&a <= &b));
          }
          if (!isComplexType(dtype)) CHECK(min_max(b).max.to<double>() == 100);
        }
        for (const Tensor& layout : layouts) check(copy_(layout, t));
      }
    }
  }
}

TEST_CASE("equal: NaN is not equal to itself, -0 is equal to 0, integers are exact") {
  CHECK_FALSE(tenon::equal(one(kNan), one(kNan)));
  CHECK(tenon::equal(one(0.0), one(-0.0)));
  const int64_t large = int64_t{1} << 60;
  CHECK_FALSE(tenon::equal(make_tensor_ptr({large}), make_tensor_ptr({large + 1})));
  unsigned char bytes[2][2] = {{0, 1}, {0, 2}};  // any byte but 0 is true
  CHECK(tenon::equal(from_blob(static_cast<void*>(bytes[0]), {2}, ScalarType::Bool),
                     from_blob(static_cast<void*>(bytes[1]), {2}, ScalarType::Bool)));
}

TEST_CASE("equal: in every dtype") {
  for (const own::ScalarType type : tenon::detail::kScalarTypes) {
    const ScalarType dtype = tenon::detail::public_type(type);
    INFO(toString(dtype));
    const TensorPtr ones_one = full({5}, 1, dtype);
    CHECK(tenon::equal(ones_one, ones({5}, dtype)));
    CHECK_FALSE(tenon::equal(ones_one, zeros({5}, dtype)));
    CHECK(allclose(ones_one, ones({5})));
    CHECK_FALSE(allclose(ones_one, zeros({5})));
  }
}

// What torch.allclose of torch 2.15 gives of Doubles of equal sizes.
TEST_CASE("allclose: |a - b| is at most atol + rtol * |b|") {
  CHECK(allclose(one(1), one(1 + 9e-6)));
  CHECK_FALSE(allclose(one(1), one(1 + 2e-5)));
  CHECK(allclose(one(0), one(9e-9)));
  CHECK_FALSE(allclose(one(0), one(2e-8)));
  CHECK(allclose(one(10), one(20), 0.5, 0));  // relative to the second
  CHECK_FALSE(allclose(one(20), one(10), 0.5, 0));
  CHECK(allclose(one(1e308), one(-1e308), 2, 0));    // the difference is no double
  CHECK_FALSE(allclose(zeros({2, 3}), zeros({3})));  // nothing is broadcast
  CHECK(allclose(make_tensor_ptr({1, 2}), make_tensor_ptr({1.0, 2.000001})));
  CHECK(allclose(zeros({0}), ones({0})));
}

TEST_CASE("allclose: infinities are close if equal, NaN if that is asked for") {
  CHECK(allclose(one(kInfinity), one(kInfinity)));
  CHECK_FALSE(allclose(one(kInfinity), one(-kInfinity)));
  CHECK_FALSE(allclose(one(1), one(kInfinity)));
  CHECK_FALSE(allclose(one(kInfinity), one(1e308)));
  CHECK_FALSE(allclose(one(kNan), one(kNan)));
  CHECK(allclose(one(kNan), one(kNan), 1e-5, 1e-8, true));
  CHECK_FALSE(allclose(one(kNan), one(1), 1e-5, 1e-8, true));
  CHECK_FALSE(allclose(one(1), one(kNan), 1e-5, 1e-8, true));
  using Complex = std::complex<double>;
  const auto number = [](double re, double im) { return make_tensor_ptr({Complex(re, im)}); };
  CHECK(allclose(number(3, 4), number(3, 4.00004)));
  CHECK(allclose(number(0, 0), number(3, 4), 1, 0));  // 5 of 5
  CHECK_FALSE(allclose(number(0, 0), number(3, 4), 0, 4.9));
  CHECK(allclose(number(kNan, 0), number(kNan, 1), 1e-5, 1e-8, true));
  CHECK(allclose(number(0, 1e-200), number(0, 1e-200 + 1e-208)));
}

TEST_CASE("allclose: integers that are one double are apart") {
  const int64_t large = int64_t{1} << 60;
  CHECK_FALSE(allclose(make_tensor_ptr({large}), make_tensor_ptr({large + 1}), 0, 0.5));
  CHECK(allclose(make_tensor_ptr({large}), make_tensor_ptr({large + 1}), 0, 1));
  CHECK_FALSE(allclose(make_tensor_ptr({int64_t{-1}}), make_tensor_ptr({UINT64_MAX}), 0, 0.5));
  CHECK_FALSE(allclose(make_tensor_ptr({4 * large + 200}), make_tensor_ptr({4 * large}), 0, 10));
  CHECK_FALSE(allclose(make_tensor_ptr({-4 * large}), make_tensor_ptr({-4 * large + 200}), 0, 10));
  CHECK(allclose(make_tensor_ptr({4 * large}), make_tensor_ptr({4 * large + 200}), 0, 200));
  CHECK_FALSE(allclose(make_tensor_ptr({INT64_MIN}), make_tensor_ptr({INT64_MAX}), 1.5, 0));
  CHECK(allclose(make_tensor_ptr({INT64_MIN}), make_tensor_ptr({INT64_MAX}), 2, 2));
}

TEST_CASE("equal, allclose: tensors without values, and bad tolerances, are errors") {
  const TensorPtr t = zeros({2});
  RAISES(InvalidState, "equal: the first tensor is undefined", tenon::equal(TensorPtr(), t));
  RAISES(InvalidState, "equal: the second tensor is undefined", tenon::equal(t, Tensor()));
  RAISES(InvalidState, "allclose: the second tensor is a placeholder",
         allclose(t, make_tensor_ptr({3}, nullptr)));
  RAISES(InvalidArgument, "allclose: rtol -1 and atol 0; expected 0 or more",
         allclose(t, t, -1, 0));
  RAISES(InvalidArgument, "expected 0 or more", allclose(t, t, kNan));
  RAISES(InvalidArgument, "expected 0 or more", allclose(t, t, 0, kNan));
  float memory[2] = {};
  const TensorPtr far = for_blob(memory, {2}).device(DeviceType::CUDA).make_tensor_ptr();
  RAISES(NotSupported, "equal: the second tensor is on cuda:0, which the host cannot reach",
         tenon::equal(t, far));
  RAISES(NotSupported, "to_vector: the tensor is on cuda:0", to_vector<float>(far));
  CHECK(try_equal(t, far).error() == Error::NotSupported);
  CHECK(std::string(try_equal(t, TensorPtr()).message()) ==
        "try_equal: the second tensor is undefined");
  CHECK(try_equal(t, t).value());
  CHECK_FALSE(try_equal(t, ones({2})).value());
  CHECK(try_allclose(t, t).value());
  CHECK(try_allclose(t, t, -1).error() == Error::InvalidArgument);
}

TEST_CASE("min_max: in every dtype, integers exactly") {
  for (const own::ScalarType type : tenon::detail::kScalarTypes) {
    const ScalarType dtype = tenon::detail::public_type(type);
    INFO(toString(dtype));
    const TensorPtr t = ones({5}, dtype);
    if (isComplexType(dtype)) {
      RAISES(InvalidType, "min_max: values of Complex", min_max(t));
      RAISES(InvalidType, "mean_std: values of Complex", mean_std(t));
      continue;
    }
    check(zero_(narrow(t, 0, 1, 1)));
    const MinMax range = min_max(t);
    CHECK(range.min.to<double>() == 0);
    CHECK(range.max.to<double>() == 1);
    CHECK(range.max.isBoolean() == (dtype == ScalarType::Bool));
    CHECK(range.max.isFloatingPoint() == isFloatingType(dtype));
    CHECK(mean_std(t).mean == 0.8);  // 4 / 5
    CHECK(std::abs(mean_std(t).std - 0.4) < 1e-15);
  }
}

// What numpy.min, max, mean and std of NumPy 2.4 give.
TEST_CASE("min_max, mean_std: NaN, infinities and no elements are as in NumPy") {
  const auto bits = [](double value) {
    return std::isnan(value) ? tenon::detail::double_bits(kNan) : tenon::detail::double_bits(value);
  };
  struct Case {
    std::vector<double> values;
    double min, max, mean, std;
  };
  const Case cases[] = {
      {{1, kNan, 3}, kNan, kNan, kNan, kNan},
      {{1, kInfinity, 3}, 1, kInfinity, kInfinity, kNan},
      {{-kInfinity, kInfinity}, -kInfinity, kInfinity, kNan, kNan},
      {{2, 4, 4, 4, 5, 5, 7, 9}, 2, 9, 5, 2},
  };
  for (const Case& c : cases) {
    const TensorPtr t = make_tensor_ptr({static_cast<int64_t>(c.values.size())}, c.values);
    INFO(to_string(t));
    CHECK(bits(min_max(t).min.to<double>()) == bits(c.min));
    CHECK(bits(min_max(t).max.to<double>()) == bits(c.max));
    CHECK(bits(mean_std(t).mean) == bits(c.mean));
    CHECK(bits(mean_std(t).std) == bits(c.std));
  }
  const TensorPtr none = zeros({0, 3});
  CHECK(std::isnan(mean_std(none).mean));
  CHECK(std::isnan(mean_std(none).std));
  RAISES(InvalidArgument, "min_max: a tensor of sizes {0, 3} has no elements", min_max(none));
}

TEST_CASE("mean_std: sums and squares beyond a double's range are infinite") {
  const auto far = mean_std(make_tensor_ptr({1e200, -1e200}));
  CHECK(far.mean == 0);
  CHECK(far.std == kInfinity);
  CHECK_FALSE(std::isfinite(mean_std(full({4096}, 1e308, ScalarType::Double)).std));
}

TEST_CASE("mean_std: the same bits at any strides") {
  Generator g(3);
  const TensorPtr t = randn({40, 60}, g);
  const MeanStd expected = mean_std(t);
  const auto is_same = [&](const MeanStd& found) {
    return std::memcmp(&found, &expected, sizeof expected) == 0;
  };
  const TensorPtr columns = clone_tensor_ptr(transpose(t, 0, 1));
  CHECK(is_same(mean_std(transpose(columns, 0, 1))));
  const TensorPtr padded = zeros({40, 70});
  check(copy_(narrow(padded, 1, 0, 60), t));
  CHECK(is_same(mean_std(narrow(padded, 1, 0, 60))));
  RecordingDevice device;
  CHECK(is_same(mean_std(backend_copy(t, device))));
}

TEST_CASE("Summary: several tensors in turn, of which only finite values are summed up") {
  const TensorPtr t = arange(4096, ScalarType::Float);
  Summary pieces;
  CHECK(pieces.numel() == 0);
  CHECK(std::isnan(pieces.mean_std().mean));
  CHECK(std::isnan(pieces.min_max().max.to<double>()));
  for (const int64_t at : {0, 1024, 3072}) {
    CHECK(pieces.add(narrow(t, 0, at, at == 1024 ? 2048 : 1024)) == Error::Ok);
  }
  CHECK(pieces.numel() == 4096);
  CHECK(pieces.min_max().max.to<double>() == 4095);
  const MeanStd whole = mean_std(t);
  const MeanStd found = pieces.mean_std();
  CHECK(std::memcmp(&found, &whole, sizeof whole) == 0);
  CHECK(whole.mean == 2047.5);

  CHECK(pieces.add(zeros({2}, ScalarType::Int)) == Error::InvalidType);
  CHECK(std::string(last_error_message()) ==
        "Summary::add: values of Int cannot be added to a summary of Float");
  CHECK(pieces.add(TensorPtr()) == Error::InvalidState);
  CHECK(pieces.numel() == 4096);

  Summary some;
  const auto nan = static_cast<float>(kNan);
  const auto infinity = static_cast<float>(kInfinity);
  CHECK(some.add(make_tensor_ptr({1.0f, nan, infinity, -infinity, infinity, 3.0f})) == Error::Ok);
  CHECK(some.numel() == 6);
  CHECK(some.nans() == 1);
  CHECK(some.positive_infinities() == 2);
  CHECK(some.negative_infinities() == 1);
  CHECK(some.finite() == 2);
  CHECK(some.min_max().min.to<double>() == 1);
  CHECK(some.min_max().max.to<double>() == 3);
  CHECK(some.mean_std().mean == 2);
  CHECK(some.mean_std().std == 1);
}

TEST_CASE("min_max, mean_std: tensors without values are errors") {
  RAISES(InvalidState, "min_max: the tensor is undefined", min_max(TensorPtr()));
  RAISES(InvalidState, "mean_std: the tensor is a placeholder",
         mean_std(make_tensor_ptr({3}, nullptr)));
  CHECK(try_min_max(TensorPtr()).error() == Error::InvalidState);
  CHECK(try_min_max(zeros({0})).error() == Error::InvalidArgument);
  CHECK(try_mean_std(TensorPtr()).error() == Error::InvalidState);
  CHECK(try_min_max(ones({2})).value().max.to<double>() == 1);
  CHECK(try_mean_std(ones({2})).value().mean == 1);
}

TEST_CASE("to_vector: the elements in row-major order, as the dtype's C++ type or cast") {
  const TensorPtr t = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(to_vector<int32_t>(t) == Ints{1, 2, 3, 4, 5, 6});
  CHECK(to_vector<int32_t>(transpose(t, 0, 1)) == Ints{1, 4, 2, 5, 3, 6});
  CHECK(to_vector<int64_t>(expand(select(t, 0, 0), {2, 3})) == Longs{1, 2, 3, 1, 2, 3});
  CHECK(to_vector<float>(t) == Floats{1, 2, 3, 4, 5, 6});
  CHECK(to_vector<double>(full({2}, 0.5, ScalarType::Half)) == std::vector<double>{0.5, 0.5});
  CHECK(to_vector<std::complex<float>>(make_tensor_ptr({1.5f})) ==
        std::vector<std::complex<float>>{{1.5f, 0}});
  CHECK(to_vector<float>(make_tensor_ptr(2.5f)) == Floats{2.5f});
  CHECK(to_vector<float>(zeros({0, 3})).empty());
  RAISES(InvalidType, "to_vector: values of Float cannot be cast to Int here",
         to_vector<int>(make_tensor_ptr({1.5f})));
  CHECK(to_vector<int>(make_tensor_ptr({1.5f, -2.5f}), CastMode::Truncate) == Ints{1, -2});
  CHECK(to_vector<uint8_t>(make_tensor_ptr({300, -1}), CastMode::Saturate) == Bytes{255, 0});
  RAISES(InvalidState, "to_vector: the tensor is undefined", to_vector<int>(TensorPtr()));
  CHECK(*try_to_vector<int32_t>(t) == Ints{1, 2, 3, 4, 5, 6});
  FAILS(InvalidType, "try_to_vector: values of Float cannot be cast to Int here",
        try_to_vector<int>(make_tensor_ptr({1.5f})));
  FAILS(InvalidState, "try_to_vector: the tensor is undefined", try_to_vector<int>(TensorPtr()));
  alignas(4) char memory[12] = {};  // misaligned elements
  const float two = 2;
  std::memcpy(memory + 5, &two, sizeof two);
  CHECK(to_vector<float>(from_blob(static_cast<void*>(memory + 1), {2}, ScalarType::Float)) ==
        Floats{0, 2});
  unsigned char bytes[3] = {0, 1, 2};
  CHECK(to_vector<bool>(from_blob(static_cast<void*>(bytes), {3}, ScalarType::Bool)) ==
        std::vector<bool>{false, true, true});
}

}  // namespace values_test
