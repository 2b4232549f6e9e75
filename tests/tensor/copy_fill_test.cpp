// SPDX-License-Identifier: MIT
// What fill_ and zero_ write; what they refuse is in copy_errors_test.cpp.
#include <cstdint>
#include <vector>

#include "kernels/helpers.h"
#include "support/catch.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/copy.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;

namespace {
using Ints = std::vector<int32_t>;
using Bytes = std::vector<uint8_t>;
}  // namespace

TEST_CASE("fill_: writes the value to all elements") {
  auto t = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(fill_(t, 7) == Error::Ok);
  CHECK(values<int32_t>(t) == Ints{7, 7, 7, 7, 7, 7});
  CHECK(fill_(*t, -1) == Error::Ok);
  CHECK(values<int32_t>(t) == Ints{-1, -1, -1, -1, -1, -1});
  CHECK(fill_(tenon::select(t, 1, 1), 5) == Error::Ok);
  CHECK(values<int32_t>(t) == Ints{-1, 5, -1, -1, 5, -1});
}

TEST_CASE("fill_: converts a value that fits the type") {
  auto half = tenon::zeros({2}, ScalarType::Half);
  CHECK(fill_(half, 1.5) == Error::Ok);
  CHECK(static_cast<float>(tenon::data<tenon::Half>(half)[1]) == 1.5f);
  auto bools = tenon::zeros({2}, ScalarType::Bool);
  CHECK(fill_(bools, true) == Error::Ok);
  CHECK(values<bool>(bools) == std::vector<bool>{true, true});
  auto complexes = tenon::zeros({1}, ScalarType::ComplexDouble);
  CHECK(fill_(complexes, tenon::complex<double>(1, -2)) == Error::Ok);
  CHECK(tenon::data<tenon::complex<double>>(complexes)[0].imag() == -2);
  auto unsigned64 = tenon::zeros({1}, ScalarType::UInt64);
  CHECK(fill_(unsigned64, 5) == Error::Ok);
  CHECK(tenon::data<uint64_t>(unsigned64)[0] == 5);
}

TEST_CASE("fill_: leaves the gaps between padded rows, at any strides") {
  Bytes rows(3 * 8, 0xEE);
  auto padded = from_blob(rows.data(), {3, 5}, {8, 1});
  CHECK(fill_(padded, 9) == Error::Ok);
  for (size_t i = 0; i < rows.size(); ++i) CHECK(rows[i] == (i % 8 < 5 ? 9 : 0xEE));
  CHECK(zero_(tenon::transpose(padded, 0, 1)) == Error::Ok);
  for (size_t i = 0; i < rows.size(); ++i) CHECK(rows[i] == (i % 8 < 5 ? 0 : 0xEE));
  CHECK(fill_(tenon::slice(padded, 1, 0, 5, 2), 1) == Error::Ok);
  for (size_t i = 0; i < rows.size(); ++i) {
    CHECK(rows[i] == (i % 8 >= 5 ? 0xEE : i % 2 == 0 ? 1 : 0));
  }
}

TEST_CASE("zero_: leaves the gaps between padded rows, at reversed strides", "[plain]") {
  Bytes rows(3 * 8, 0xEE);
  auto padded = from_blob(rows.data(), {3, 5}, {8, 1});
  CHECK(zero_(tenon::flip(tenon::transpose(padded, 0, 1), {0, 1})) == Error::Ok);
  for (size_t i = 0; i < rows.size(); ++i) CHECK(rows[i] == (i % 8 < 5 ? 0 : 0xEE));
}

TEST_CASE("zero_: makes the elements of every type zero, and nothing beyond them") {
  for (ScalarType type : tests::kAllTypes) {
    INFO(toString(type));
    const size_t size = elementSize(type);
    Bytes memory(7 * size, 0xFF);
    const Tensor t = tenon::for_blob(memory.data() + size, {5}, type).make_tensor();
    CHECK(zero_(t) == Error::Ok);
    for (size_t i = 0; i < memory.size(); ++i) {
      CHECK(memory[i] == (i < size || i >= 6 * size ? 0xFF : 0));
    }
  }
}

TEST_CASE("fill_: rank 0, 8 dimensions, and no elements with null data") {
  auto scalar = make_tensor_ptr(1);
  CHECK(fill_(scalar, 2) == Error::Ok);
  CHECK(tenon::item<int>(scalar) == 2);
  auto deep = tenon::zeros(Vector(8, 2), ScalarType::Int);
  CHECK(fill_(tenon::permute(deep, {7, 6, 5, 4, 3, 2, 1, 0}), 3) == Error::Ok);
  CHECK(values<int32_t>(deep) == Ints(256, 3));
  CHECK(zero_(deep) == Error::Ok);
  CHECK(values<int32_t>(deep) == Ints(256, 0));
  auto nothing = make_tensor_ptr({0, 4}, static_cast<float*>(nullptr));
  CHECK(fill_(nothing, 1) == Error::Ok);
  CHECK(zero_(nothing) == Error::Ok);
}
