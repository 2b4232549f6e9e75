// SPDX-License-Identifier: MIT
#include "tenon/interop/aoti_fft.h"

#include "interop/runtimes/aoti_kernels/peer.h"

namespace aoti_fft_test {

using namespace tenon;
using tests::differs;

namespace {

using Ints = std::vector<int64_t>;

/// Both functions of torch's C interface, along `dims`.
std::string transforms_differ(const Tensor& x, const Ints& dims, int64_t normalization,
                              double tolerance) {
  const auto count = static_cast<int64_t>(dims.size());
  const int64_t* const list = dims.data();
  std::string found;
  for (const int32_t choice : {0, 1}) {
    if (!found.empty()) break;
    found = isComplexType(x.scalar_type()) ? differs(TENON_PEER(aoti_torch_cpu__fft_c2c), tolerance,
                                                     x, list, count, normalization, choice)
                                           : differs(TENON_PEER(aoti_torch_cpu__fft_r2c), tolerance,
                                                     x, list, count, normalization, choice);
  }
  return found;
}

}  // namespace

TEST_CASE("aoti_fft: transforms of each length", "[aoti_fft]") {
  manual_seed(3);
  for (const int64_t length : {1, 2, 3, 4, 5, 6, 7, 9, 16, 37, 41, 94, 101, 400, 509, 512, 1018}) {
    CAPTURE(length);
    for (const ScalarType type : {ScalarType::Float, ScalarType::Double, ScalarType::ComplexFloat,
                                  ScalarType::ComplexDouble}) {
      const TensorPtr x = randn({3, length}, type);
      const bool is_double = type == ScalarType::Double || type == ScalarType::ComplexDouble;
      CHECK(transforms_differ(*x, {1}, 0, is_double ? 1e-11 : 2e-5) == "");
    }
  }
}

TEST_CASE("aoti_fft: transforms along several dimensions, of any strides", "[aoti_fft]") {
  manual_seed(4);
  for (const ScalarType type : {ScalarType::Double, ScalarType::ComplexDouble}) {
    const TensorPtr x = randn({4, 3, 5, 2}, type);
    const std::vector<Tensor> all = {*x, permute(*x, {2, 0, 3, 1}), narrow(*x, 2, 1, 3),
                                     expand(narrow(*x, 1, 0, 1), {4, 6, 5, 2}),
                                     narrow(permute(*x, {3, 2, 1, 0}), 1, 1, 2)};
    for (const Tensor& t : all) {
      CAPTURE(type, t.sizes(), t.strides());
      for (const Ints& dims : {Ints{3}, Ints{0}, Ints{1, 2}, Ints{2, 1}, Ints{3, 0}, Ints{0, 1, 2},
                               Ints{2, 3, 0, 1}}) {
        for (const int64_t normalization : {0, 1, 2}) {
          CHECK(transforms_differ(t, dims, normalization, 1e-12) == "");
        }
      }
    }
    CHECK(transforms_differ(narrow(*x, 0, 1, 0), {1}, 0, 0) == "");
  }
  CHECK(transforms_differ(*randn({3}, ScalarType::ComplexFloat), {}, 0, 0) == "");
}

TEST_CASE("aoti_fft: what is refused", "[aoti_fft]") {
  CHECK(transforms_differ(*ones({8}, ScalarType::Half), {0}, 0, 0) == "");
  CHECK(transforms_differ(*ones({8}, ScalarType::Long), {0}, 0, 0) == "");
  CHECK(transforms_differ(*ones({8}, ScalarType::ComplexHalf), {0}, 0, 0) == "");
  detail::FourierJob job;
  CHECK(job.read(*ones({2, 3}), Ints{2}) == Error::OutOfBounds);
  job.dims.clear();
  CHECK(job.read(*ones({2, 3}), Ints{1, -1}) == Error::InvalidArgument);
  job.dims.clear();
  CHECK(job.read(*ones({}), Ints{0}) == Error::InvalidArgument);
  job.dims.clear();
  CHECK(job.read(*ones({0, 2}), Ints{0}) == Error::InvalidArgument);
  CHECK(job.read_normalization(3, Dims{1}) == Error::InvalidArgument);
}

TEST_CASE("aoti_fft: aten::_fft_c2r gives back the real numbers", "[aoti_fft]") {
  manual_seed(6);
  for (const ScalarType type : {ScalarType::Float, ScalarType::Double}) {
    for (const int64_t length : {1, 2, 7, 12, 82, 97}) {
      for (const Ints& dims : {Ints{1}, Ints{0, 1}}) {
        CAPTURE(type, length, dims.size());
        const Tensor x = permute(*randn({length, 3}, type), {1, 0});
        detail::FourierJob job;
        Tensor half;
        REQUIRE(job.read(x, dims) == Error::Ok);
        REQUIRE(detail::transform_r2c(job, 1, true, half) == Error::Ok);
        auto back = call_torch_operator("aten::_fft_c2r", {half, dims, 1, length});
        REQUIRE(back.error() == Error::Ok);
        Tensor made;
        Tensor expected;
        REQUIRE(detail::make_dense((*back)[0].toTensor(), type, made) == Error::Ok);
        REQUIRE(detail::make_dense(x, type, expected) == Error::Ok);
        CHECK(tests::difference(made, expected, 1e-5) == "");
      }
    }
  }
  CHECK(call_torch_operator("aten::_fft_c2r", {*ones({4}, ScalarType::ComplexFloat), Ints{0}, 0, 8})
            .error() == Error::InvalidArgument);
}

// Expected numbers are torch 2.15's.
TEST_CASE("aoti_fft: aten::fft_fftfreq and fft_rfftfreq", "[aoti_fft]") {
  const auto gives = [](const char* name, std::initializer_list<EValue> inputs,
                        const std::vector<double>& expected, ScalarType type) {
    const Result<std::vector<EValue>> made = call_torch_operator(name, inputs);
    if (!made.ok() || (*made)[0].toTensor().scalar_type() != type) return false;
    const Tensor values = to((*made)[0].toTensor(), ScalarType::Double);
    if (values.numel() != static_cast<int64_t>(expected.size())) return false;
    const double* const found = values.const_data_ptr<double>();
    for (size_t i = 0; i < expected.size(); ++i) {
      if (!(std::abs(found[i] - expected[i]) < 1e-7)) return false;
    }
    return true;
  };
  const char* const all = "aten::fft_fftfreq";
  const char* const half = "aten::fft_rfftfreq";
  CHECK(gives(all, {int64_t{5}, 0.5}, {0, 0.4, 0.8, -0.8, -0.4}, ScalarType::Float));
  CHECK(gives(all, {int64_t{4}}, {0, 0.25, -0.5, -0.25}, ScalarType::Float));
  CHECK(gives(all, {int64_t{1}}, {0}, ScalarType::Float));
  CHECK(gives(all, {int64_t{0}}, {}, ScalarType::Float));
  CHECK(gives(all, {int64_t{3}, 0.5, int64_t{5}}, {0, 0.66650390625, -0.66650390625},
              ScalarType::Half));
  CHECK(gives(half, {int64_t{5}, 0.1, int64_t{7}}, {0, 2, 4}, ScalarType::Double));
  CHECK(gives(half, {int64_t{4}}, {0, 0.25, 0.5}, ScalarType::Float));
  for (const char* const name : {all, half}) {
    CHECK(call_torch_operator(name, {int64_t{-1}}).error() == Error::InvalidArgument);
    CHECK(call_torch_operator(name, {int64_t{3}, 1.0, int64_t{4}}).error() == Error::NotSupported);
    CHECK(!call_torch_operator(name, {INT64_MAX}).ok());
  }
}

}  // namespace aoti_fft_test
