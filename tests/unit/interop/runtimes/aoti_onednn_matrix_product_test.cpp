// SPDX-License-Identifier: MIT
#include "interop/runtimes/aoti_onednn/kernels.h"

using tenon::Dims;
using tenon::Tensor;
using tests::AotiHandle;
using tests::at;
using tests::contains;
using tests::is_close;
using tests::numbers;

namespace {

/// A view of `rows` x `columns` floats with these strides over fresh memory.
Tensor strided(int64_t rows, int64_t columns, int64_t row, int64_t column, int seed) {
  const Tensor memory =
      numbers({std::max<int64_t>((rows - 1) * row + (columns - 1) * column, 0) + 1}, seed);
  return tenon::as_strided(memory, {rows, columns}, {row, column});
}

void check_product(const Tensor& out, const Tensor& a, const Tensor& b) {
  for (int64_t i = 0; i < out.size(0); ++i) {
    for (int64_t j = 0; j < out.size(1); ++j) {
      double sum = 0;
      for (int64_t k = 0; k < a.size(1); ++k) sum += double{at(a, {i, k})} * double{at(b, {k, j})};
      CHECK(is_close(at(out, {i, j}), sum));
    }
  }
}

TEST_CASE("aoti_onednn: mm_out multiplies matrices of any strides into one of any strides") {
  struct Strides {
    int64_t row;  // for m x n elements
    int64_t column;
  };
  const auto layouts = [](int64_t rows, int64_t columns) {
    return std::vector<Strides>{
        {columns, 1}, {columns + 3, 1}, {1, rows}, {1, rows + 2}, {2 * columns, 2}};
  };
  for (const int64_t m : {1, 4}) {
    for (const int64_t n : {1, 5}) {
      for (const int64_t k : {1, 3}) {
        for (const Strides& x : layouts(m, k)) {
          for (const Strides& y : layouts(k, n)) {
            for (const Strides& z : layouts(m, n)) {
              const Tensor a = strided(m, k, x.row, x.column, 1);
              const Tensor b = strided(k, n, y.row, y.column, 2);
              const Tensor out = strided(m, n, z.row, z.column, 3);
              REQUIRE(aoti_torch_cpu_mm_out(AotiHandle(out), AotiHandle(a), AotiHandle(b)) == 0);
              check_product(out, a, b);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("aoti_onednn: elements between an output's are left alone") {
  const Tensor memory = *tenon::full({2, 4}, 7.0f);
  const Tensor out = tenon::as_strided(memory, {2, 2}, {4, 2});
  const Tensor a = numbers({2, 3});
  const Tensor b = numbers({3, 2});
  REQUIRE(aoti_torch_cpu_mm_out(AotiHandle(out), AotiHandle(a), AotiHandle(b)) == 0);
  check_product(out, a, b);
  for (const int64_t row : {0, 1}) {
    CHECK(at(memory, {row, 1}) == 7);
    CHECK(at(memory, {row, 3}) == 7);
  }
}

TEST_CASE("aoti_onednn: addmm_out adds a matrix, a row or itself, scaled") {
  const Tensor a = numbers({3, 4}, 1);
  const Tensor b = numbers({4, 2}, 2);
  for (const Dims& sizes : {Dims{3, 2}, Dims{2}, Dims{1, 2}, Dims{3, 1}}) {
    const Tensor self = numbers(sizes, 5);
    const Tensor whole = *tenon::zeros({3, 2});
    REQUIRE(tenon::copy_(whole, self) == tenon::Error::Ok);
    const Tensor out = *tenon::full({3, 2}, 9.0f);
    REQUIRE(aoti_torch_cpu_addmm_out(AotiHandle(out), AotiHandle(self), AotiHandle(a),
                                     AotiHandle(b), 0.5, 2) == 0);
    const Tensor same = *tenon::clone_tensor_ptr(whole);  // self is out
    REQUIRE(aoti_torch_cpu_addmm_out(AotiHandle(same), AotiHandle(same), AotiHandle(a),
                                     AotiHandle(b), 0.5, 2) == 0);
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t j = 0; j < 2; ++j) {
        float sum = 0;
        for (int64_t k = 0; k < 4; ++k) sum += at(a, {i, k}) * at(b, {k, j});
        const float expected = 0.5f * at(whole, {i, j}) + 2 * sum;
        CHECK(is_close(at(out, {i, j}), expected));
        CHECK(is_close(at(same, {i, j}), expected));
      }
    }
  }
}

TEST_CASE("aoti_onednn: with beta 0 the summand does not count, NaN neither") {
  const Tensor a = numbers({2, 3});
  const Tensor b = numbers({3, 2});
  const Tensor nan = *tenon::full({2, 2}, std::numeric_limits<float>::quiet_NaN());
  REQUIRE(aoti_torch_cpu_addmm_out(AotiHandle(nan), AotiHandle(nan), AotiHandle(a), AotiHandle(b),
                                   0, 1) == 0);
  check_product(nan, a, b);
}

TEST_CASE("aoti_onednn: products of no elements are zero, or the summand") {
  const Tensor a = *tenon::empty({2, 0});
  const Tensor b = *tenon::empty({0, 3});
  const Tensor out = *tenon::ones({2, 3});
  REQUIRE(aoti_torch_cpu_mm_out(AotiHandle(out), AotiHandle(a), AotiHandle(b)) == 0);
  for (const float value : out.data<const float>()) CHECK(value == 0);
  const Tensor self = *tenon::full({3}, 2.0f);
  REQUIRE(aoti_torch_cpu_addmm_out(AotiHandle(out), AotiHandle(self), AotiHandle(a), AotiHandle(b),
                                   1, 1) == 0);
  for (const float value : out.data<const float>()) CHECK(value == 2);
  CHECK(aoti_torch_cpu_addmm_out(AotiHandle(out), AotiHandle(self), AotiHandle(a), AotiHandle(b), 2,
                                 1) == 1);
  const Tensor none = *tenon::empty({0, 3});
  REQUIRE(aoti_torch_cpu_mm_out(AotiHandle(none), AotiHandle(*tenon::empty({0, 4})),
                                AotiHandle(numbers({4, 3}))) == 0);
}

TEST_CASE(
    "aoti_onednn: bmm_out and baddbmm_out multiply batches, transposed and expanded ones too") {
  const Tensor a = numbers({3, 2, 4}, 1);
  const Tensor b = tenon::permute(numbers({3, 5, 4}, 2), {0, 2, 1});
  const Tensor one = tenon::expand(numbers({1, 4, 5}, 3), {3, 4, 5});
  const Tensor self = numbers({3, 1, 5}, 4);
  for (const Tensor* right : {&b, &one}) {
    const Tensor out = *tenon::empty({3, 2, 5});
    REQUIRE(aoti_torch_cpu_bmm_out(AotiHandle(out), AotiHandle(a), AotiHandle(*right)) == 0);
    const Tensor sum = *tenon::empty({3, 2, 5});
    REQUIRE(aoti_torch_cpu_baddbmm_out(AotiHandle(sum), AotiHandle(self), AotiHandle(a),
                                       AotiHandle(*right), 3, 0.25) == 0);
    for (int64_t n = 0; n < 3; ++n) {
      for (int64_t i = 0; i < 2; ++i) {
        for (int64_t j = 0; j < 5; ++j) {
          float product = 0;
          for (int64_t k = 0; k < 4; ++k) product += at(a, {n, i, k}) * at(*right, {n, k, j});
          CHECK(is_close(at(out, {n, i, j}), product));
          CHECK(is_close(at(sum, {n, i, j}), 3 * at(self, {n, 0, j}) + product / 4));
        }
      }
    }
  }
}

TEST_CASE(
    "aoti_onednn: products of BFloat16 and Half are computed where oneDNN has them, or refused") {
  for (const tenon::ScalarType type : {tenon::ScalarType::BFloat16, tenon::ScalarType::Half}) {
    const auto cast = [](const Tensor& t, tenon::ScalarType wanted) -> Tensor {
      const tenon::TensorPtr made = tenon::empty(t.sizes(), wanted);
      REQUIRE(tenon::copy_(made, t, tenon::CastMode::Truncate) == tenon::Error::Ok);
      return *made;
    };
    const auto to = [&](const Tensor& t) { return cast(t, type); };
    const auto floats = [&](const Tensor& t) { return cast(t, tenon::ScalarType::Float); };
    const Tensor x = floats(to(numbers({2, 3, 4}, 1)));  // rounded
    const Tensor y = floats(to(numbers({2, 5, 4}, 2)));
    const Tensor self = floats(to(numbers({5}, 3)));
    const Tensor a = to(x);
    const Tensor b = tenon::permute(to(y), {0, 2, 1});
    const Tensor out = to(*tenon::full({2, 3, 5}, 7.0f));
    const Tensor turned = tenon::permute(to(*tenon::full({2, 5, 3}, 7.0f)), {0, 2, 1});
    for (const Tensor& target : {out, turned}) {
      if (aoti_torch_cpu_baddbmm_out(AotiHandle(target), AotiHandle(to(self)), AotiHandle(a),
                                     AotiHandle(b), 0.5, 2) != 0) {
        CHECK(contains(tenon::last_error_message(), "aoti_torch_cpu_baddbmm_out: oneDNN has no"));
        const bool is_half = type == tenon::ScalarType::Half;
        CHECK(
            contains(tenon::last_error_message(), is_half ? "Half matrices" : "BFloat16 matrices"));
        CHECK(at(floats(target), {1, 2, 4}) == 7);  // nothing was written
        continue;
      }
      const Tensor result = floats(target);
      for (int64_t n = 0; n < 2; ++n) {
        for (int64_t i = 0; i < 3; ++i) {
          for (int64_t j = 0; j < 5; ++j) {
            double sum = 0.5 * double{at(self, {j})};
            for (int64_t k = 0; k < 4; ++k) {
              sum += 2 * double{at(x, {n, i, k})} * double{at(y, {n, j, k})};
            }
            CHECK(std::abs(double{at(result, {n, i, j})} - sum) < 0.03);
          }
        }
      }
    }
  }
}

TEST_CASE("aoti_onednn: a product that is none is an error that says why, and writes nothing") {
  const Tensor out = *tenon::full({2, 2}, 7.0f);
  const auto fails_with = [&](const Tensor& a, const Tensor& b, const char* text) {
    CHECK(aoti_torch_cpu_mm_out(AotiHandle(out), AotiHandle(a), AotiHandle(b)) == 1);
    INFO(tenon::last_error_message());
    CHECK(contains(tenon::last_error_message(), text));
    for (const float value : out.data<const float>()) CHECK(value == 7);
  };
  fails_with(numbers({2, 3}), numbers({4, 2}),
             "sizes {2, 3} and {4, 2} give no product of sizes {2, 2}");
  fails_with(numbers({3, 3}), numbers({3, 2}), "give no product");
  fails_with(numbers({2, 3, 1}), numbers({3, 2}), "expected rank 2");
  fails_with(*tenon::zeros({2, 3}, tenon::ScalarType::Double), numbers({3, 2}),
             "product of Double tensors");
  fails_with(*tenon::zeros({2, 3}, tenon::ScalarType::BFloat16), numbers({3, 2}),
             "a product of BFloat16 matrices as a Float one");
  CHECK(aoti_torch_cpu_mm_out(AotiHandle(out), nullptr, nullptr) == 1);
  CHECK(contains(tenon::last_error_message(),
                 "aoti_torch_cpu_mm_out: the left matrix: the handle is null"));
  const Tensor self = numbers({3});
  CHECK(aoti_torch_cpu_addmm_out(AotiHandle(out), AotiHandle(self), AotiHandle(numbers({2, 3})),
                                 AotiHandle(numbers({3, 2})), 1, 1) == 1);
  CHECK(contains(tenon::last_error_message(), "do not broadcast"));
  for (const float value : out.data<const float>()) CHECK(value == 7);
}

}  // namespace
