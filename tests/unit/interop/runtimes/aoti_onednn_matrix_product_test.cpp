// SPDX-License-Identifier: MIT
#include <vector>

#include "interop/runtimes/aoti_kernels/peer.h"
#include "interop/runtimes/aoti_onednn/kernels.h"

namespace aoti_onednn_matrix_product_test {

using tenon::Dims;
using tenon::Tensor;
using tests::AotiHandle;
using tests::at;
using tests::contains;
using tests::differs;
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

/// Small integers of that type, for complex types with imaginary parts.
Tensor integers(const Dims& sizes, tenon::ScalarType type) {
  Tensor made = *tenon::empty(sizes, type);
  const Dims pairs{made.numel() * 2};
  const tenon::TensorPtr values = tenon::randint(-9, 9, pairs, tenon::ScalarType::Double);
  if (tenon::isComplexType(type)) {
    const Tensor all = *tenon::empty(sizes, tenon::ScalarType::ComplexDouble);
    std::memcpy(all.mutable_data_ptr(), values->const_data_ptr(), values->nbytes());
    return tenon::to(all, type, tenon::CastMode::Truncate);
  }
  const Tensor half = tenon::narrow(*values, 0, 0, made.numel());
  return tenon::to(tenon::view(half, sizes), type, tenon::CastMode::Truncate);
}
/// The last two dimensions swapped in memory.
Tensor by_columns(const Tensor& t) {
  const int64_t last = t.dim() - 1;
  return tenon::transpose(tenon::contiguous(tenon::transpose(t, last - 1, last)), last - 1, last);
}

TEST_CASE("aoti_onednn: products of each type, as libtorch's") {
  using tenon::ScalarType;
  for (const ScalarType type :
       {ScalarType::Float, ScalarType::Double, ScalarType::BFloat16, ScalarType::Half,
        ScalarType::Long, ScalarType::Int, ScalarType::Short, ScalarType::Char, ScalarType::Byte,
        ScalarType::ComplexFloat, ScalarType::ComplexDouble}) {
    for (const Dims& mnk : {Dims{3, 5, 7}, Dims{1, 300, 70}, Dims{17, 1, 4}, Dims{2, 3, 0},
                            Dims{0, 3, 2}, Dims{2, 0, 2}}) {
      INFO(type << " of " << mnk);
      const double tolerance = type == ScalarType::BFloat16 ? 0.02 : 0.002;
      const bool is_empty = mnk[2] == 0;  // of integers torch refuses a sum with none
      const Tensor a = integers({2, mnk[0], mnk[2]}, type);
      const Tensor b = integers({2, mnk[2], mnk[1]}, type);
      const Tensor out = integers({2, mnk[0], mnk[1]}, type);
      const Tensor self = integers({1, mnk[1]}, type);
      const Tensor one = tenon::expand(integers({1, mnk[2], mnk[1]}, type), b.sizes());
      for (const Tensor& x : {a, by_columns(a)}) {
        for (const Tensor& y : {b, by_columns(b), one}) {
          for (const Tensor& to : {out, by_columns(out)}) {
            CHECK(differs("aoti_torch_cpu_bmm_out", &aoti_torch_cpu_bmm_out, tolerance, to, x, y) ==
                  "");
            CHECK(differs("aoti_torch_cpu_mm_out", &aoti_torch_cpu_mm_out, tolerance,
                          tenon::select(to, 0, 1), tenon::select(x, 0, 1),
                          tenon::select(y, 0, 0)) == "");
            if (is_empty && tenon::isIntegralType(type, true)) continue;
            CHECK(differs("aoti_torch_cpu_baddbmm_out", &aoti_torch_cpu_baddbmm_out, tolerance, to,
                          self, x, y, 2, 3) == "");
            CHECK(differs("aoti_torch_cpu_addmm_out", &aoti_torch_cpu_addmm_out, tolerance,
                          tenon::select(to, 0, 1), self, tenon::select(x, 0, 1),
                          tenon::select(y, 0, 0), 0, 1) == "");
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
             "a matrix has type Double, out has type Float");
  fails_with(*tenon::zeros({2, 3}, tenon::ScalarType::BFloat16), numbers({3, 2}),
             "a matrix has type BFloat16, out has type Float");
  const Tensor flags = *tenon::ones({2, 2}, tenon::ScalarType::Bool);
  CHECK(aoti_torch_cpu_mm_out(AotiHandle(flags), AotiHandle(flags), AotiHandle(flags)) == 1);
  CHECK(contains(tenon::last_error_message(), "a product of Bool tensors"));
  const Tensor counts = *tenon::ones({2, 2}, tenon::ScalarType::Int);
  CHECK(aoti_torch_cpu_addmm_out(AotiHandle(counts), AotiHandle(counts), AotiHandle(counts),
                                 AotiHandle(counts), 0.5, 1) == 1);
  CHECK(
      contains(tenon::last_error_message(), "a factor of Int tensors is 0.5, expected an integer"));
  const Tensor halves = *tenon::ones({2, 2}, tenon::ScalarType::Half);
  CHECK(aoti_torch_cpu_addmm_out(AotiHandle(out), AotiHandle(halves), AotiHandle(numbers({2, 2})),
                                 AotiHandle(numbers({2, 2})), 1, 1) == 1);
  CHECK(contains(tenon::last_error_message(), "self has type Half, the product Float"));
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

}  // namespace aoti_onednn_matrix_product_test
