// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_kernels_attention.h"

#include <cmath>
#include <limits>

#include "interop/runtimes/aoti_kernels/peer.h"

namespace aoti_kernels_attention_test {

using namespace tenon;
using tests::differs;

namespace {

const float kInfinity = std::numeric_limits<float>::infinity();

double closeness(ScalarType type) {
  return type == ScalarType::Double  ? 1e-6
         : type == ScalarType::Float ? 2e-5
         : type == ScalarType::Half  ? 4e-3
                                     : 0.03;
}
/// Random numbers, as most models have them in memory: batches, rows, heads.
Tensor by_rows(const Dims& sizes, ScalarType type) {
  const Tensor x = to(*randn({sizes[0], sizes[2], sizes[1], sizes[3]}), type, CastMode::Truncate);
  return transpose(x, 1, 2);
}
Tensor numbers(const Dims& sizes, ScalarType type) {
  return to(*randn(sizes), type, CastMode::Truncate);
}
std::string differs_in(double close, const Tensor& query, const Tensor& key, const Tensor& value,
                       bool is_causal, const std::vector<Tensor>& mask, double* scale = nullptr) {
  if (mask.empty()) {
    return differs(TENON_PEER(aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu), close,
                   query, key, value, 0.0, is_causal, nullptr, scale);
  }
  return differs(TENON_PEER(aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu), close,
                 query, key, value, 0.0, is_causal, mask, scale);
}
AOTITorchError attend(tests::Arguments& args, const Tensor& query, const Tensor& key,
                      const Tensor& value, AtenTensorHandle (&results)[2], double dropout = 0,
                      const Tensor& mask = Tensor()) {
  AtenTensorHandle handle = args.pass<AtenTensorHandle>(mask);
  return detail::aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu(
      args.pass<AtenTensorHandle>(query), args.pass<AtenTensorHandle>(key),
      args.pass<AtenTensorHandle>(value), dropout, 0, mask.defined() ? &handle : nullptr, nullptr,
      &results[0], &results[1]);
}

}  // namespace

TEST_CASE("aoti_kernels: attention of each type, layout and length", "[aoti_kernels_attention]") {
  double scale = 0.3;
  for (const ScalarType type :
       {ScalarType::Float, ScalarType::Double, ScalarType::Half, ScalarType::BFloat16}) {
    const double close = closeness(type);
    for (const auto& [rows, keys, width] :
         {std::tuple{1, 1, 1}, {1, 40, 64}, {3, 7, 5}, {33, 70, 32}, {64, 33, 20}}) {
      CAPTURE(type, rows, keys, width);
      const Tensor query = numbers({2, 4, rows, width}, type);
      const Tensor key = numbers({2, 4, keys, width}, type);
      const Tensor value = by_rows({2, 4, keys, width}, type);
      CHECK(differs_in(close, query, key, value, false, {}) == "");
      CHECK(differs_in(close, query, key, value, true, {}) == "");
      CHECK(differs_in(close, query, key, value, true, {}, &scale) == "");
      CHECK(differs_in(close, by_rows({2, 4, rows, width}, type), value, key, false, {}) == "");
      // Two heads of queries for each of keys.
      CHECK(differs_in(close, query, narrow(key, 1, 0, 2), narrow(value, 1, 1, 2), false, {}) ==
            "");
    }
  }
}

TEST_CASE("aoti_kernels: attention's mask has any of torch's shapes", "[aoti_kernels_attention]") {
  for (const ScalarType type : {ScalarType::Float, ScalarType::Double, ScalarType::Half}) {
    const Tensor query = numbers({2, 3, 5, 16}, type);
    const Tensor key = numbers({2, 3, 7, 16}, type);
    for (const Dims& sizes : {Dims{5, 7}, Dims{1, 7}, Dims{5, 1}, Dims{2, 3, 5, 7},
                              Dims{1, 3, 5, 7}, Dims{2, 1, 1, 7}, Dims{1, 1, 1, 1}}) {
      CAPTURE(type, sizes);
      Tensor mask = numbers(sizes, type);
      CHECK(differs_in(closeness(type), query, key, key, false, {mask}) == "");
      // Some rows are masked as a whole.
      REQUIRE(fill_(narrow(mask, -2, 0, 1), -kInfinity) == Error::Ok);
      CHECK(differs_in(closeness(type), query, key, key, false, {mask}) == "");
    }
    const Tensor mask = transpose(numbers({7, 5}, type), 0, 1);
    CHECK(differs_in(closeness(type), query, key, key, false, {mask}) == "");
    for (const Dims& sizes : {Dims{7}, Dims{3, 5, 7}, Dims{5, 6}, Dims{3, 3, 5, 7}}) {
      CHECK(differs_in(0, query, key, key, false, {numbers(sizes, type)}) == "");
    }
    CHECK(differs_in(0, query, key, key, false, {*zeros({5, 7}, ScalarType::Bool)}) == "");
  }
}

TEST_CASE("aoti_kernels: attention of large and small numbers, and of NaN",
          "[aoti_kernels_attention]") {
  for (const float large : {1e-10f, 1e3f, 1e10f, -1e30f}) {
    const Tensor query = *full({1, 1, 2, 4}, large);
    const Tensor key =
        *make_tensor_ptr({1, 1, 3, 4}, std::vector<float>{1, 2, 3, 4, -1, -2, -3, -4, 0, 1, 0, 1});
    CAPTURE(large);
    CHECK(differs_in(1e-5, query, key, key, false, {}) == "");
  }
  tests::Arguments args(false);
  AtenTensorHandle results[2] = {};
  const Tensor key = *ones({1, 1, 4, 4});
  REQUIRE(attend(args, *full({1, 1, 4, 4}, std::nanf("")), key, key, results) == 0);
  CHECK(std::isnan(args.read(results[0]).const_data_ptr<float>()[0]));
  for (const AtenTensorHandle result : results) args.drop(result);
}

TEST_CASE("aoti_kernels: attention of nothing gives zeros, and what does not fit is refused",
          "[aoti_kernels_attention]") {
  const Tensor query = *ones({2, 3, 4, 8});
  const Tensor key = *ones({2, 3, 5, 8});
  AtenTensorHandle results[2] = {};
  tests::Arguments args(false);
  for (const Dims& sizes : {Dims{2, 3, 0, 8}, Dims{0, 3, 4, 8}, Dims{2, 0, 4, 8}}) {
    Dims keys = sizes;
    keys[2] = 5;
    REQUIRE(attend(args, *zeros(sizes), *zeros(keys), *zeros(keys), results) == 0);
    CHECK(args.read(results[0]).sizes() == sizes);
    for (const AtenTensorHandle result : results) args.drop(result);
  }
  REQUIRE(attend(args, query, *zeros({2, 3, 0, 8}), *zeros({2, 3, 0, 8}), results) == 0);
  CHECK(tests::difference(args.read(results[0]), *zeros({2, 3, 4, 8}), 0) == "");
  for (const AtenTensorHandle result : results) args.drop(result);

  CHECK(attend(args, query, key, key, results, 0.5) == 1);
  CHECK(attend(args, query, *ones({2, 2, 5, 8}), *ones({2, 2, 5, 8}), results) == 1);
  CHECK(attend(args, query, key, *ones({2, 3, 6, 8}), results) == 1);
  CHECK(attend(args, query, *ones({1, 3, 5, 8}), *ones({1, 3, 5, 8}), results) == 1);
  CHECK(differs_in(0, query, *ones({2, 3, 5, 4}), key, false, {}) == "");
  CHECK(differs_in(0, *ones({3, 4, 8}), *ones({3, 4, 8}), *ones({3, 4, 8}), false, {}) == "");
  CHECK(differs_in(0, query, *ones({2, 3, 5, 8}, ScalarType::Double), key, false, {}) == "");
}

}  // namespace aoti_kernels_attention_test
