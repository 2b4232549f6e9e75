// SPDX-License-Identifier: MIT
// Expected numbers are torch 2.15's.
#include "tenon/interop/runtimes/aoti_kernels_resize.h"

#include <cmath>
#include <limits>

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tenon/tensor/values.h"

namespace aoti_kernels_resize_test {

using namespace tenon;

namespace {

constexpr const char* kLinear = "aten::_upsample_bilinear2d_aa";
constexpr const char* kCubic = "aten::_upsample_bicubic2d_aa";

/// The square of an element's place, modulo 11.
Tensor image(std::vector<int64_t> sizes, ScalarType type = ScalarType::Double) {
  const TensorPtr x = zeros(std::move(sizes), ScalarType::Double);
  for (int64_t i = 0; i < x->numel(); ++i) {
    x->mutable_data_ptr<double>()[i] = static_cast<double>(i * i % 11);
  }
  return to(*x, type);
}
Result<std::vector<EValue>> resize(const char* name, const Tensor& x, std::vector<int64_t> size,
                                   bool aligns_corners = false, EValue scale_h = None(),
                                   EValue scale_w = None()) {
  REQUIRE(detail::provide_operators(detail::kResizeOperators) == Error::Ok);
  return call_torch_operator(name, {x, std::move(size), aligns_corners, scale_h, scale_w});
}
bool is(Result<std::vector<EValue>> made, const std::vector<double>& expected) {
  if (!made.ok()) return false;
  const Tensor values = to(contiguous((*made)[0].toTensor()), ScalarType::Double);
  if (values.numel() != static_cast<int64_t>(expected.size())) return false;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!(std::abs(values.const_data_ptr<double>()[i] - expected[i]) < 4e-6)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("aoti_kernels: images made smaller and larger, antialiased", "[aoti_kernels_resize]") {
  for (const ScalarType type : {ScalarType::Float, ScalarType::Double}) {
    const Tensor large = image({1, 1, 5, 7}, type);
    const Tensor small = image({1, 1, 2, 3}, type);
    CHECK(is(resize(kLinear, large, {2, 3}),
             {4.457792, 3.812834, 3.529221, 3.529221, 4.106952, 3.814935}));
    CHECK(is(resize(kLinear, large, {2, 3}, true),
             {4.097222, 3.884774, 3.555556, 3.902778, 3.679012, 2.222222}));
    CHECK(is(resize(kCubic, large, {2, 3}),
             {4.484991, 3.783719, 3.617498, 3.55566, 4.198452, 3.764254}));
    CHECK(is(resize(kCubic, large, {2, 3}, true),
             {4.036196, 3.926412, 3.507656, 4.093932, 3.515026, 1.584839}));
    CHECK(is(resize(kLinear, small, {3, 4}),
             {0.0, 0.625, 2.125, 4.0, 4.5, 3.5625, 3.1875, 3.5, 9.0, 6.5, 4.25, 3.0}));
    CHECK(is(resize(kLinear, small, {3, 4}, true),
             {0.0, 0.5, 1.5, 3.5, 2.25, 2.125, 2.291667, 3.458333, 6.75, 5.375, 3.875, 3.375}));
    CHECK(is(resize(kCubic, small, {3, 4}),
             {-0.661528, 0.007262, 2.072596, 4.23969, 4.578358, 3.52479, 3.081384, 3.526119,
              9.818244, 7.042317, 4.090173, 2.812549}));
    CHECK(is(resize(kCubic, small, {3, 4}, true),
             {-0.888932, -0.318339, 1.178355, 3.712447, 1.866635, 1.731933, 2.082739, 3.568959,
              7.330733, 5.797479, 3.876071, 3.284433}));
  }
  const Tensor tall = image({1, 1, 10, 7});
  CHECK(is(resize(kLinear, tall, {1, 4}, true), {1.0, 5.625, 4.5, 3.0}));
  // One column: each row has weights that differ.
  CHECK(is(resize(kLinear, transpose(narrow(tall, 3, 0, 1), 2, 3), {1, 4}),
           {4.136364, 3.68, 3.56, 4.136364}));
  CHECK(is(resize(kLinear, narrow(tall, 3, 0, 1), {4, 1}), {4.136364, 3.68, 3.56, 4.136364}));
  CHECK(is(resize(kCubic, tall, {4, 2}, false, 0.43, 0.3),
           {4.322596, 3.523854, 3.813718, 4.235007, 4.029335, 4.083572, 4.067517, 3.828584}));
}

TEST_CASE("aoti_kernels: resized batches and channels, with torch's strides",
          "[aoti_kernels_resize]") {
  const Tensor x = image({2, 4, 4, 3});
  const auto strides = [](const Tensor& of) {
    const std::vector<EValue> made = resize(kLinear, of, {2, 3}).value();
    const ArrayRef<int64_t> found = made[0].toTensor().strides();
    return std::vector<int64_t>(found.begin(), found.end());
  };
  const Tensor last = permute(x, {0, 3, 1, 2});
  CHECK(strides(x) == std::vector<int64_t>{24, 6, 3, 1});
  CHECK(strides(last) == std::vector<int64_t>{18, 1, 9, 3});
  CHECK(strides(transpose(x, 2, 3)) == std::vector<int64_t>{24, 6, 3, 1});
  CHECK(strides(narrow(last, 0, 0, 0)) == std::vector<int64_t>{18, 6, 3, 1});
  const Tensor all = resize(kCubic, last, {2, 3}).value()[0].toTensor();
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t c = 0; c < 3; ++c) {
      const Tensor one = narrow(narrow(last, 0, n, 1), 1, c, 1);
      CHECK(equal(narrow(narrow(all, 0, n, 1), 1, c, 1),
                  resize(kCubic, one, {2, 3}).value()[0].toTensor()));
    }
  }
}

TEST_CASE("aoti_kernels: what is not resized", "[aoti_kernels_resize]") {
  const Tensor x = image({1, 1, 4, 3});
  CHECK(resize(kLinear, image({1, 4, 3}), {2, 2}).error() == Error::InvalidArgument);
  CHECK(resize(kLinear, image({1, 0, 4, 3}), {2, 2}).error() == Error::InvalidArgument);
  CHECK(resize(kLinear, x, {2, 0}).error() == Error::InvalidArgument);
  CHECK(resize(kLinear, x, {2}).error() == Error::InvalidArgument);
  CHECK(!resize(kLinear, x, {INT64_MAX, INT64_MAX}).ok());
  CHECK(resize(kLinear, image({1, 1, 4, 3}, ScalarType::Half), {2, 2}).error() ==
        Error::NotSupported);
  for (const double scale : {1e-300, std::numeric_limits<double>::denorm_min(), 1e300}) {
    CHECK(resize(kCubic, x, {2, 2}, false, scale, scale).ok());
  }
}

}  // namespace aoti_kernels_resize_test
