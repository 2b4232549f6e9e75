// SPDX-License-Identifier: MIT
// <unsupported/Eigen/CXX11/Tensor> after tenon's header, which does not need it.
#include "tenon/interop/libraries/eigen_map.h"

#include <complex>
#include <unsupported/Eigen/CXX11/Tensor>

#include "support/catch.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

namespace eigen_map_test {

using namespace tenon;
using namespace tests;
using Eigen::Dynamic;
using Eigen::RowMajor;

using RowMatrix = Eigen::Matrix<float, Dynamic, Dynamic, RowMajor>;

TEST_CASE("as_eigen: takes the strides that the type has, and says which it does not") {
  Floats data(24);
  std::iota(data.begin(), data.end(), 0.0f);
  const TensorPtr rows = from_blob(data.data(), {2, 3});
  const TensorPtr columns = from_blob(data.data(), {2, 3}, {1, 2});
  const TensorPtr padded = from_blob(data.data(), {2, 3}, {8, 1});
  using OfRows = Eigen::Map<RowMatrix>;
  using OfColumns = Eigen::Map<Eigen::MatrixXf>;
  using Padded = Eigen::Map<RowMatrix, Eigen::Unaligned, Eigen::OuterStride<>>;
  using Stepped = Eigen::Map<RowMatrix, Eigen::Unaligned, Eigen::InnerStride<2>>;
  using PaddedTo8 = Eigen::Map<RowMatrix, Eigen::Unaligned, Eigen::Stride<8, 1>>;
  CHECK(as_eigen<OfRows>(rows)(1, 2) == 5);
  CHECK(as_eigen<OfColumns>(columns)(1, 2) == 5);
  CHECK(as_eigen<Padded>(padded)(1, 2) == 10);
  CHECK(as_eigen<Padded>(rows)(1, 2) == 5);
  CHECK(as_eigen<PaddedTo8>(padded)(1, 2) == 10);
  CHECK(as_eigen<Stepped>(from_blob(data.data(), {2, 3}, {6, 2}))(1, 2) == 10);
  RAISES(
      NotSupported,
      "as_eigen: strides {8, 1} of sizes {2, 3} differ from the strides of the map's type, {3, 1}; "
      "as_eigen_map() takes any strides, contiguous(t) makes a row-major copy",
      as_eigen<OfRows>(padded));
  RAISES(NotSupported, "map's type, {3, 1}", as_eigen<OfRows>(columns));
  RAISES(NotSupported, "map's type, {1, 2}", as_eigen<OfColumns>(rows));
  RAISES(NotSupported, "map's type, {6, 2}", as_eigen<Stepped>(rows));
  RAISES(NotSupported, "map's type, {8, 1}", as_eigen<PaddedTo8>(rows));
}

TEST_CASE("as_eigen: vectors have one dimension") {
  float data[6] = {0, 1, 2, 3, 4, 5};
  using Stepped = Eigen::Map<Eigen::VectorXf, Eigen::Unaligned, Eigen::InnerStride<>>;
  CHECK(as_eigen<Eigen::Map<Eigen::VectorXf>>(from_blob(data, {6})).sum() == 15);
  CHECK(as_eigen<Eigen::Map<Eigen::RowVectorXf>>(from_blob(data, {6})).cols() == 6);
  CHECK(as_eigen<Stepped>(from_blob(data + 5, {3}, {-2}))(2) == 1);
  CHECK(as_eigen<Eigen::Map<Eigen::ArrayXf>>(from_blob(data, {0})).size() == 0);
  RAISES(NotSupported, "map's type, {1}",
         as_eigen<Eigen::Map<Eigen::VectorXf>>(from_blob(data, {3}, {2})));
  RAISES(InvalidArgument, "as_eigen: asked for 1 dimensions, the tensor has 2",
         as_eigen<Eigen::Map<Eigen::VectorXf>>(from_blob(data, {6, 1})));
}

TEST_CASE("as_eigen_map: one dimension is a column, of any stride") {
  float data[6] = {0, 1, 2, 3, 4, 5};
  const TensorPtr line = from_blob(data + 5, {3}, {-2});
  const auto rows = as_eigen_map<const float>(line);
  const auto columns = as_eigen_map<float, Eigen::ColMajor>(line);
  CHECK((rows.rows() == 3 && rows.cols() == 1 && columns.rows() == 3 && columns.cols() == 1));
  for (int i = 0; i < 3; ++i) {
    CHECK(rows(i, 0) == static_cast<float>(5 - 2 * i));
    CHECK(&columns(i, 0) == data + 5 - 2 * i);
  }
  CHECK(as_eigen_map<float>(from_blob(data, {0})).size() == 0);
  CHECK(as_eigen_map<float>(from_blob(data, {1})).sum() == 0);
  RAISES(InvalidArgument,
         "as_eigen_map: the tensor has 3 dimensions, expected 2, or 1 for a column; view(t, {rows, "
         "columns}) may reshape it, as_eigen<Eigen::TensorMap<...>>() takes any number",
         as_eigen_map<float>(from_blob(data, {1, 2, 3})));
  RAISES(InvalidArgument, "the tensor has 0 dimensions",
         as_eigen_map<float>(make_tensor_ptr(1.0f)));
}

TEST_CASE("try_as_eigen, try_as_eigen_map: the map, or the error by its own name") {
  float data[6] = {0, 1, 2, 3, 4, 5};
  const TensorPtr t = from_blob(data, {2, 3});
  auto made = try_as_eigen_map<float>(t);
  REQUIRE(made.ok());
  (*made)(1, 2) = 7;
  CHECK(data[5] == 7);
  auto moved = std::move(made);  // moves the map, not the elements
  CHECK(moved->data() == data);
  CHECK((*try_as_eigen_map<const float, Eigen::ColMajor>(t))(0, 1) == 1);
  FAILS(InvalidType, "try_as_eigen_map: asked for Double, but the tensor's dtype is Float",
        try_as_eigen_map<double>(t));
  CHECK(try_as_eigen<Eigen::Map<RowMatrix>>(t)->data() == data);
  CHECK((*try_as_eigen<Eigen::TensorMap<Eigen::Tensor<float, 2, RowMajor>>>(t))(1, 2) == 7);
  FAILS(NotSupported,
        "try_as_eigen: strides {3, 1} of sizes {2, 3} differ from the strides of the map's",
        try_as_eigen<Eigen::Map<Eigen::MatrixXf>>(t));
  FAILS(InvalidArgument, "try_as_eigen: asked for 3 dimensions, the tensor has 2",
        try_as_eigen<Eigen::TensorMap<Eigen::Tensor<float, 3, RowMajor>>>(t));
  FAILS(NotSupported, "try_as_eigen: strides {3, 1}",
        try_as_eigen<Eigen::TensorMap<Eigen::Tensor<float, 2>>>(t));
  using Fixed = Eigen::Map<Eigen::Matrix<float, 2, 3, RowMajor>>;
  CHECK(try_as_eigen<Fixed>(t)->data() == data);
  FAILS(InvalidArgument,
        "try_as_eigen: size 3 of dimension 0 differs from the size in the map's type, 2",
        try_as_eigen<Fixed>(from_blob(data, {3, 2})));
  FAILS(InvalidArgument, "size 2 of dimension 1", try_as_eigen<Fixed>(from_blob(data, {2, 2})));
  CHECK((*try_as_eigen<Eigen::Map<Eigen::Vector3f>>(from_blob(data, {3})))(2) == 2);
  FAILS(InvalidArgument, "size 4 of dimension 0",
        try_as_eigen<Eigen::Map<Eigen::Vector3f>>(from_blob(data, {4})));
  FAILS(InvalidArgument, "size 4 of dimension 0",
        try_as_eigen<Eigen::Map<Eigen::RowVector3f>>(from_blob(data, {4})));
}

TEST_CASE("as_eigen: strides of sizes 0 and 1 may be anything") {
  float data[6] = {0, 1, 2, 3, 4, 5};
  for (int64_t stride : {0, -5, 1, 100}) {
    CHECK(as_eigen<Eigen::Map<RowMatrix>>(from_blob(data, {1, 3}, {stride, 1}))(0, 2) == 2);
    CHECK(as_eigen<Eigen::Map<RowMatrix>>(from_blob(data, {3, 1}, {1, stride}))(2, 0) == 2);
    CHECK(as_eigen<Eigen::Map<Eigen::MatrixXf>>(from_blob(data, {3, 1}, {1, stride}))(2, 0) == 2);
    CHECK(as_eigen<Eigen::Map<Eigen::MatrixXf>>(from_blob(data, {1, 1}, {stride, stride})).sum() ==
          0);
    float* const null = nullptr;
    CHECK(as_eigen<Eigen::Map<RowMatrix>>(from_blob(null, {3, 0}, {stride, stride})).rows() == 3);
  }
}

TEST_CASE("as_eigen: dtypes, complex and 16-bit ones too") {
  CHECK(as_eigen_map<std::complex<float>>(zeros({2, 2}, ScalarType::ComplexFloat)).sum() ==
        std::complex<float>(0, 0));
  CHECK(as_eigen_map<bool>(ones({2, 2}, ScalarType::Bool)).all());
  CHECK(as_eigen_map<int64_t>(ones({2, 2}, ScalarType::Long)).sum() == 4);
  const TensorPtr half = full({2, 2}, 1.5, ScalarType::Half);
  CHECK(static_cast<float>(as_eigen_map<Eigen::half>(half)(1, 1)) == 1.5f);
  const TensorPtr brain = full({2, 2}, -2.0, ScalarType::BFloat16);
  CHECK(static_cast<float>(as_eigen_map<Eigen::bfloat16>(brain)(1, 1)) == -2.0f);
  RAISES(InvalidType, "as_eigen_map: asked for Float, but the tensor's dtype is Half",
         as_eigen_map<float>(half));
}

TEST_CASE("as_eigen: memory that a map cannot have") {
  const float constant[4] = {1, 2, 3, 4};
  const TensorPtr readonly = from_blob(constant, {2, 2});
  CHECK(as_eigen_map<const float>(readonly)(1, 0) == 3);
  CHECK(as_eigen<Eigen::Map<const RowMatrix>>(readonly)(1, 0) == 3);
  RAISES(InvalidState, "as_eigen_map: the tensor is read-only", as_eigen_map<float>(readonly));
  float one = 7;
  const TensorPtr repeated = from_blob(&one, {2, 2}, {0, 0});
  CHECK(as_eigen_map<const float>(repeated).sum() == 28);
  RAISES(NotSupported, "let elements share memory", as_eigen_map<float>(repeated));
  RAISES(InvalidState, "the tensor is undefined", as_eigen_map<float>(TensorPtr()));
  alignas(64) float aligned[8] = {};
  using Aligned = Eigen::Map<RowMatrix, Eigen::Aligned16>;
  CHECK(as_eigen<Aligned>(from_blob(aligned, {2, 2})).data() == aligned);
  RAISES(InvalidArgument, "as_eigen: the data is not at a multiple of 16 bytes",
         as_eigen<Aligned>(from_blob(aligned + 1, {2, 2})));
}

TEST_CASE("as_eigen: a TensorMap is contiguous in its own order") {
  Floats data(24);
  std::iota(data.begin(), data.end(), 0.0f);
  using Rows = Eigen::TensorMap<Eigen::Tensor<float, 3, RowMajor>>;
  using Columns = Eigen::TensorMap<Eigen::Tensor<float, 3>>;
  const TensorPtr rows = from_blob(data.data(), {2, 3, 4});
  const TensorPtr columns = from_blob(data.data(), {2, 3, 4}, {1, 2, 6});
  CHECK(as_eigen<Rows>(rows)(1, 2, 3) == 23);
  CHECK(as_eigen<Rows>(rows)(1, 0, 0) == 12);
  CHECK(as_eigen<Columns>(columns)(1, 0, 0) == 1);
  CHECK(as_eigen<Columns>(columns).dimension(2) == 4);
  as_eigen<Rows>(rows)(0, 0, 1) = 50;
  CHECK(data[1] == 50);
  RAISES(NotSupported, "map's type, {1, 2, 6}", as_eigen<Columns>(rows));
  RAISES(NotSupported, "map's type, {12, 4, 1}", as_eigen<Rows>(columns));
  RAISES(InvalidArgument, "asked for 3 dimensions", as_eigen<Rows>(from_blob(data.data(), {24})));
  using Scalar = Eigen::TensorMap<Eigen::Tensor<float, 0, RowMajor>>;
  CHECK(as_eigen<Scalar>(make_tensor_ptr(2.5f))() == 2.5f);
  CHECK(as_eigen<Rows>(zeros({2, 0, 4}, ScalarType::Float)).size() == 0);
}

TEST_CASE("as_eigen: a TensorMap of const, of fixed sizes, of small indices") {
  const float constant[6] = {0, 1, 2, 3, 4, 5};
  const TensorPtr readonly = from_blob(constant, {2, 3});
  CHECK(as_eigen<Eigen::TensorMap<const Eigen::Tensor<float, 2, RowMajor>>>(readonly)(1, 2) == 5);
  CHECK(as_eigen<Eigen::TensorMap<Eigen::Tensor<const float, 2, RowMajor>>>(readonly)(1, 2) == 5);
  RAISES(InvalidState, "read-only",
         as_eigen<Eigen::TensorMap<Eigen::Tensor<float, 2, RowMajor>>>(readonly));
  using Fixed =
      Eigen::TensorMap<Eigen::TensorFixedSize<float, Eigen::Sizes<2, 3>, Eigen::RowMajor>>;
  float data[6] = {0, 1, 2, 3, 4, 5};
  CHECK(as_eigen<Fixed>(from_blob(data, {2, 3}))(1, 2) == 5);
  RAISES(InvalidArgument, "size 3 of dimension 0 differs from the size in the map's type, 2",
         as_eigen<Fixed>(from_blob(data, {3, 2})));
  using Small = Eigen::TensorMap<Eigen::Tensor<const float, 1, RowMajor, int8_t>>;
  CHECK(as_eigen<Small>(from_blob(data, {6}))(5) == 5);
  RAISES(InvalidArgument, "size 200 of dimension 0",
         as_eigen<Small>(zeros({200}, ScalarType::Float)));
}

}  // namespace eigen_map_test
