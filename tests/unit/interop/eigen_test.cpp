// SPDX-License-Identifier: MIT
// Built by interop/libraries/eigen/CMakeLists.txt.
#include "tenon/interop/eigen.h"

#include <unsupported/Eigen/CXX11/Tensor>

#include "allocation/count_allocations.h"
#include "support/catch.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

namespace eigen_test {

using namespace tenon;
using namespace tests;
using Eigen::Dynamic;
using Eigen::RowMajor;

namespace {

// 0, 1, 2, ... in memory order.
template <class M>
M counted_matrix(int rows, int columns) {
  M m(rows, columns);
  for (int i = 0; i < m.size(); ++i) m.data()[i] = static_cast<typename M::Scalar>(i);
  return m;
}

}  // namespace

TEST_CASE("from_eigen: matrices, vectors, arrays, parts and maps are views with their strides") {
  auto m = counted_matrix<Eigen::MatrixXf>(4, 5);  // element (i, j) is i + 4 * j
  auto columns = counted_matrix<Eigen::MatrixXf>(2, 3);
  auto rows = counted_matrix<Eigen::Matrix<float, Dynamic, Dynamic, RowMajor>>(2, 3);
  auto array = counted_matrix<Eigen::ArrayXXf>(2, 2);
  Eigen::VectorXf v = Eigen::VectorXf::LinSpaced(5, 0, 4);
  Eigen::RowVector3f row_vector(1, 2, 3);
  Eigen::MatrixXf one_column(2, 1);  // a matrix by its type
  one_column << 1, 2;
  Eigen::Ref<Eigen::MatrixXf> ref = columns;
  float memory[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  using Strided = Eigen::Map<Eigen::MatrixXf, 0, Eigen::Stride<Dynamic, Dynamic>>;
  Strided reversed(memory + 11, 2, 3, Eigen::Stride<Dynamic, Dynamic>(-4, -2));
  const struct {
    TensorPtr t;
    const float* data;
    Vector sizes;
    Vector strides;
    Floats values;
  } cases[] = {
      {from_eigen(columns), columns.data(), {2, 3}, {1, 2}, {0, 2, 4, 1, 3, 5}},
      {from_eigen(ref), columns.data(), {2, 3}, {1, 2}, {0, 2, 4, 1, 3, 5}},
      {from_eigen(rows), rows.data(), {2, 3}, {3, 1}, {0, 1, 2, 3, 4, 5}},
      {from_eigen(array), array.data(), {2, 2}, {1, 2}, {0, 2, 1, 3}},
      {from_eigen(v), v.data(), {5}, {1}, {0, 1, 2, 3, 4}},
      {from_eigen(row_vector), row_vector.data(), {3}, {1}, {1, 2, 3}},
      {from_eigen(one_column), one_column.data(), {2, 1}, {1, 2}, {1, 2}},
      {from_eigen(m.block(1, 1, 3, 4).block(1, 2, 2, 2)),
       &m(2, 3),
       {2, 2},
       {1, 4},
       {14, 18, 15, 19}},
      {from_eigen(m.row(2)), &m(2, 0), {5}, {4}, {2, 6, 10, 14, 18}},
      {from_eigen(m.col(1)), &m(0, 1), {4}, {1}, {4, 5, 6, 7}},
      {from_eigen(m.diagonal()), m.data(), {4}, {5}, {0, 5, 10, 15}},
      {from_eigen(columns.transpose()), columns.data(), {3, 2}, {2, 1}, {0, 1, 2, 3, 4, 5}},
      {from_eigen(v.segment(1, 2)), &v(1), {2}, {1}, {1, 2}},
      {from_eigen(v.tail<2>()), &v(3), {2}, {1}, {3, 4}},
      {from_eigen(reversed), memory + 11, {2, 3}, {-2, -4}, {11, 7, 3, 9, 5, 1}}};
  for (const auto& c : cases) {
    CAPTURE(c.sizes, c.strides);
    CHECK(c.t->const_data_ptr() == c.data);
    CHECK(sizes(c.t) == c.sizes);
    CHECK(strides(c.t) == c.strides);
    CHECK(tests::values<float>(c.t) == c.values);
    CHECK(ownership(*c.t) == Ownership::Borrowed);
    CHECK_FALSE(c.t->is_readonly());
  }
  using Indexed = decltype(m(Eigen::all, Eigen::seq(0, 2, 2)));
  using Fixed = decltype(m(Eigen::all, Eigen::seqN(0, 2, Eigen::fix<2>)));
  STATIC_REQUIRE(detail::is_eigen_v<Indexed>);
  STATIC_REQUIRE_FALSE(detail::has_eigen_memory_v<Indexed>);
  STATIC_REQUIRE_FALSE(detail::has_eigen_memory_v<Fixed>);
  STATIC_REQUIRE_FALSE(detail::has_eigen_memory_v<decltype(m + m)>);
  STATIC_REQUIRE(detail::has_eigen_memory_v<const Eigen::MatrixXf>);
}

// A promise of docs/guarantees.md.
TEST_CASE(
    "from_eigen: of a Ref to const that goes away a copy is kept, as it may hold its elements") {
  using Ref = Eigen::Ref<const Eigen::MatrixXf>;
  struct Named : Ref {
    using Ref::Ref;
  };
  const Eigen::MatrixXf m = counted_matrix<Eigen::MatrixXf>(20, 30);
  const auto doubled = [](const Eigen::MatrixXf& from) { return Ref(from * 2); };
  const auto constant = [](const Eigen::MatrixXf& from) -> const Ref { return Ref(from * 3); };
  const TensorPtr sum = from_eigen(Ref(m + m)), twice = from_eigen(doubled(m)),
                  thrice = from_eigen(constant(m)), named = from_eigen(Named(m + m));
  for (const TensorPtr* t : {&sum, &twice, &named}) {
    CHECK(ownership(**t) == Ownership::Owned);
    CHECK(strides(*t) == Vector{1, 20});
    CHECK(const_data_ptr<float>(**t)[599] == 1198);
  }
  CHECK(const_data_ptr<float>(*thrice)[599] == 1797);
  // A column-major Ref of rows copies them; a strided one refers to them, and is copied here.
  const auto rows = counted_matrix<Eigen::Matrix<float, Dynamic, Dynamic, RowMajor>>(2, 3);
  CHECK(tests::values<float>(from_eigen(Ref(rows))) == Floats{0, 1, 2, 3, 4, 5});
  using Strided = Eigen::Ref<const Eigen::VectorXf, 0, Eigen::InnerStride<>>;
  const TensorPtr row = from_eigen(Strided(rows.col(1)));
  CHECK(row->const_data_ptr() != rows.data() + 1);
  CHECK(tests::values<float>(row) == Floats{1, 4});
  CHECK(tests::values<float>(from_eigen(Eigen::Ref<const Eigen::Vector2f>(
            Eigen::Vector2f(3, 4) + Eigen::Vector2f(1, 1)))) == Floats{4, 5});
  CHECK(sizes(from_eigen(Ref(Eigen::MatrixXf(0, 3)))) == Vector{0, 3});
  CHECK(try_from_eigen(Ref(m + m)).ok());
  // One with a name is there as long as its elements; one that may be written has none.
  const Ref held(m + m);
  CHECK(from_eigen(held)->const_data_ptr() == held.data());
  CHECK(from_eigen(held)->is_readonly());
  CHECK(from_eigen(held.row(1))->const_data_ptr() == held.data() + 1);
  Eigen::MatrixXf written = m;
  CHECK(from_eigen(Eigen::Ref<Eigen::MatrixXf>(written))->const_data_ptr() == written.data());
}

TEST_CASE("from_eigen: const makes a read-only tensor") {
  auto m = counted_matrix<Eigen::MatrixXf>(2, 2);
  const Eigen::MatrixXf& constant = m;
  CHECK(from_eigen(constant)->is_readonly());
  CHECK(from_eigen(constant.col(0))->is_readonly());
  CHECK(from_eigen(Eigen::Map<const Eigen::MatrixXf>(m.data(), 2, 2))->is_readonly());
  CHECK_FALSE(from_eigen(Eigen::Map<Eigen::MatrixXf>(m.data(), 2, 2))->is_readonly());
}

TEST_CASE("from_eigen: a matrix that is moved in is kept, without a copy where it has a block") {
  auto m = counted_matrix<Eigen::MatrixXf>(2, 3);
  const float* const data = m.data();
  TensorPtr t = from_eigen(std::move(m));
  CHECK(m.size() == 0);
  CHECK(t->const_data_ptr() == data);
  CHECK(ownership(*t) == Ownership::Adopted);
  const Tensor view = select(t, 1, 2);
  t.reset();
  CHECK(tests::values<float>(view) == Floats{4, 5});
  {
    Eigen::Matrix4d fixed = Eigen::Matrix4d::Identity();  // aligned by more than a pointer
    fixed(0, 3) = 8;
    t = from_eigen(std::move(fixed));
  }
  CHECK(strides(t) == Vector{1, 4});
  CHECK(const_data_ptr<double>(*t)[12] == 8);
  CHECK(reinterpret_cast<uintptr_t>(t->const_data_ptr()) % alignof(Eigen::Matrix4d) == 0);
  Eigen::Matrix<float, Dynamic, Dynamic, RowMajor, 4, 4> bounded(2, 3);
  bounded << 1, 2, 3, 4, 5, 6;
  const TensorPtr small = from_eigen(std::move(bounded));
  bounded.setZero();
  CHECK(tests::values<float>(small) == Floats{1, 2, 3, 4, 5, 6});
  CHECK(sizes(small) == Vector{2, 3});
}

TEST_CASE("from_eigen: Tensors and TensorMaps of both orders") {
  Eigen::Tensor<float, 3> columns(2, 3, 4);
  columns.setZero();
  columns(1, 2, 3) = 5;
  const TensorPtr t = from_eigen(columns);
  CHECK(sizes(t) == Vector{2, 3, 4});
  CHECK(strides(t) == Vector{1, 2, 6});
  CHECK(const_data_ptr<float>(*t)[23] == 5);
  Eigen::Tensor<int32_t, 2, RowMajor> rows(2, 3);
  rows.setValues({{0, 1, 2}, {3, 4, 5}});
  CHECK(strides(from_eigen(rows)) == Vector{3, 1});
  CHECK(tests::values<int32_t>(from_eigen(rows)) == Ints{0, 1, 2, 3, 4, 5});
  const auto& constant = rows;
  CHECK(from_eigen(constant)->is_readonly());
  int32_t memory[6] = {0, 1, 2, 3, 4, 5};
  const TensorPtr mapped =
      from_eigen(Eigen::TensorMap<Eigen::Tensor<int32_t, 2, RowMajor>>(memory, 2, 3));
  CHECK(mapped->const_data_ptr() == memory);
  CHECK_FALSE(mapped->is_readonly());
  Eigen::Tensor<double, 0> scalar;
  scalar() = 2.5;
  CHECK(sizes(from_eigen(scalar)) == Vector{});
  CHECK(tests::values<double>(from_eigen(scalar)) == Doubles{2.5});
}

TEST_CASE("from_eigen: Tensors that are moved in, of fixed size too") {
  Eigen::Tensor<float, 4, RowMajor> owned(1, 2, 1, 2);
  owned.setConstant(3);
  const TensorPtr t = from_eigen(std::move(owned));
  CHECK(ownership(*t) == Ownership::Adopted);
  CHECK(tests::values<float>(t) == Floats{3, 3, 3, 3});
  Eigen::TensorFixedSize<float, Eigen::Sizes<2, 2>> fixed;
  fixed.setConstant(4);
  const TensorPtr f = from_eigen(std::move(fixed));
  fixed.setConstant(5);
  CHECK(tests::values<float>(f) == Floats{4, 4, 4, 4});
}

TEST_CASE("from_eigen: a TensorRef that is moved in keeps what it evaluates") {
  using Ref = Eigen::TensorRef<Eigen::Tensor<float, 2>>;
  Eigen::Tensor<float, 2> tensor(2, 2);
  tensor.setConstant(3);
  const TensorPtr t = from_eigen(Ref((tensor + tensor).eval()));
  CHECK(tests::values<float>(t) == Floats{6, 6, 6, 6});
  CHECK(t->is_readonly());
  CHECK(from_eigen(Ref(tensor))->const_data_ptr() == tensor.data());
  RAISES(InvalidArgument, "the data is null", from_eigen(Ref(tensor + tensor)));
}

TEST_CASE("from_eigen: one allocation, two of a Tensor; errors when there is no memory") {
  if (!heap_is_counted()) {
    WARN("skipped: needs glibc without sanitizers");
    return;
  }
  const auto matrix = [] { return counted_matrix<Eigen::MatrixXf>(20, 30); };
  const auto tensor = [] { return Eigen::Tensor<float, 3>(2, 3, 4); };
  const auto borrow = [](auto& m) { return try_from_eigen(m); };
  const auto adopt = [](auto& m) { return try_from_eigen(std::move(m)); };
  CHECK(count_allocations(matrix, borrow) == 1);
  CHECK(count_allocations(matrix, [](auto& m) { return try_from_eigen(m.block(1, 1, 2, 2)); }) ==
        1);
  CHECK(count_allocations(matrix, adopt) == 1);
  CHECK(count_allocations(tensor, borrow) == 1);
  const auto needs_two = [](auto moved) {
    start_counting();
    const TensorPtr t = from_eigen(std::move(moved));
    stop_counting();
    return allocations() == 2;
  };
  CHECK(needs_two(Eigen::Matrix4f(Eigen::Matrix4f::Zero())));
  CHECK(needs_two(tensor()));
  Eigen::Tensor<float, 8> deep(1, 1, 1, 1, 1, 1, 1, 2);
  CHECK(count_allocations([&] { return try_from_eigen(deep); }) >= 1);
  const TensorPtr eight = from_eigen(deep);
  count_allocations([&] { return try_as_eigen<Eigen::TensorMap<Eigen::Tensor<float, 8>>>(eight); });
  const auto m = matrix();
  const TensorPtr t = from_eigen(m);
  CHECK(count_allocations([&] { return try_as_eigen_map<const float>(t); }) == 0);
}

}  // namespace eigen_test
