// SPDX-License-Identifier: MIT
// Models that export_operators.py exported: operators by C++ functions, one of them with Eigen, and by a library that is
// built for torch's stable ABI.
#include <dlfcn.h>

#include <Eigen/Dense>

#include "support/catch.h"
#include "tenon/interop/aoti.h"
#include "tenon/interop/aoti_proxy.h"
#include "tenon/interop/aoti_shim.h"
#include "tenon/interop/torch_stable_shim.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace exported_operators_test {

using namespace tenon;
using tests::Floats;

namespace {

std::string package(const char* name) {
  return std::string(TENON_EXPORTED_OPERATORS) + "/" + name + ".pt2";
}
void add_operator(const char* schema, TorchOperator function) {
  const Error error = register_torch_operator(schema, std::move(function));
  INFO(last_error_message());
  REQUIRE((error == Error::Ok || tests::contains(last_error_message(), "twice")));
}
std::vector<EValue> run(const char* name, const Tensor& x) {
  AotiModule module(package(name));
  Result<std::vector<EValue>> outputs = module.forward(x);
  INFO(name);
  INFO((outputs.ok() ? "" : last_error_message()));
  REQUIRE(outputs.ok());
  return *std::move(outputs);
}
Floats range(int64_t count) {
  Floats made;
  for (int64_t i = 0; i < count; ++i) made.push_back(static_cast<float>(i));
  return made;
}
template <class F>
Tensor map(const Tensor& x, const F& f) {
  const TensorPtr made = empty_like(x);
  for (int64_t i = 0; i < x.numel(); ++i) {
    made->mutable_data_ptr<float>()[i] = f(x.const_data_ptr<float>()[i]);
  }
  return *made;
}
Floats mapped(const Floats& values, float (*f)(float)) {
  Floats made;
  for (const float each : values) made.push_back(f(each));
  return made;
}

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Matrix to_matrix(const EValue& value) {
  const Tensor x = contiguous(value.toTensor());
  return Eigen::Map<const Matrix>(x.const_data_ptr<float>(), x.size(0), x.size(1));
}
EValue to_value(const Matrix& matrix) {
  const TensorPtr made = empty({matrix.rows(), matrix.cols()});
  Eigen::Map<Matrix>(made->mutable_data_ptr<float>(), matrix.rows(), matrix.cols()) = matrix;
  return *made;
}
EValue info(bool is_right) { return *full({}, is_right ? 0 : 1, ScalarType::Int); }

void add_algebra() {
  add_operator(
      "aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
      [](Span<const EValue> in, std::vector<EValue>& out) {
        const Eigen::FullPivLU<Matrix> lu(to_matrix(in[0]));
        out = {to_value(lu.inverse()), info(lu.isInvertible())};
        return Error::Ok;
      });
  add_operator(
      "aten::linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> "
      "(Tensor L, Tensor info)",
      [](Span<const EValue> in, std::vector<EValue>& out) {
        const Eigen::LLT<Matrix> llt(to_matrix(in[0]));
        out = {to_value(in[1].toBool() ? Matrix(llt.matrixU()) : Matrix(llt.matrixL())),
               info(llt.info() == Eigen::Success)};
        return Error::Ok;
      });
  add_operator(
      "aten::_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> "
      "(Tensor result, Tensor LU, Tensor pivots, Tensor info)",
      [](Span<const EValue> in, std::vector<EValue>& out) {
        const Matrix a = to_matrix(in[0]);
        const Eigen::FullPivLU<Matrix> lu(a);
        // The model takes the result and the info alone.
        out = {to_value(lu.solve(to_matrix(in[1]))), to_value(a),
               *zeros({a.rows()}, ScalarType::Int), info(lu.isInvertible())};
        return Error::Ok;
      });
  add_operator(
      "aten::_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? "
      "driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
      [](Span<const EValue> in, std::vector<EValue>& out) {
        const Eigen::JacobiSVD<Eigen::MatrixXf> svd(to_matrix(in[0]),
                                                    Eigen::ComputeFullU | Eigen::ComputeFullV);
        const Matrix values = svd.singularValues();
        out = {to_value(svd.matrixU()), reshape(to_value(values).toTensor(), {-1}),
               to_value(svd.matrixV().transpose())};
        return Error::Ok;
      });
  add_operator("aten::_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> ()",
               [](Span<const EValue> in, std::vector<EValue>&) {
                 if (in[0].toTensor().item<int>() == 0) return Error::Ok;
                 return detail::fail(Error::InvalidArgument, in[1].toString(),
                                     ": the matrix is singular");
               });
}

}  // namespace

TEST_CASE("exported operators: custom ones, by C++ functions") {
  std::vector<EValue> seen;
  add_operator(
      "tests::scale_by(Tensor x, float factor=2.0, *, Tensor? bias=None, SymInt[] sizes=[1, 2], "
      "str mode='a', Scalar alpha=1, ScalarType t=float) -> (Tensor, Tensor)",
      [&seen](Span<const EValue> in, std::vector<EValue>& out) {
        seen.assign(in.begin(), in.end());
        const double factor = in[1].toDouble();
        out = {map(in[0].toTensor(), [=](float x) { return x * static_cast<float>(factor); }),
               map(in[0].toTensor(), [](float x) { return x + 1; })};
        return Error::Ok;
      });
  add_operator(
      "tests::pieces(Tensor[] xs, Tensor?[] ys, bool[] flags, float[] numbers, Device d, SymInt n) "
      "-> Tensor[]",
      [](Span<const EValue> in, std::vector<EValue>& out) {
        std::vector<Tensor> made;
        const auto n = static_cast<float>(in[5].toInt());
        for (const Tensor& x : in[0].toTensorList()) {
          made.push_back(map(x, [=](float each) { return each * n; }));
        }
        out.emplace_back(made);
        return Error::Ok;
      });
  add_operator("tests::increase_(Tensor(a!) x, SymInt by) -> ()", [](Span<const EValue> in,
                                                                     std::vector<EValue>&) {
    const Tensor& x = in[0].toTensor();
    return copy_(x, map(x, [&](float each) { return each + static_cast<float>(in[1].toInt()); }));
  });
  const Tensor x = *make_tensor_ptr({5, 4}, range(20));
  const std::vector<EValue> out = run("custom", x);
  CHECK(tests::values<float>(out[0].toTensor()) ==
        mapped(range(20), [](float each) { return 5 * (3 * each) + 5 * (each + 1); }));
  CHECK(tests::values<float>(out[1].toTensor()) ==
        mapped(range(20), [](float each) { return 3 * each + 5; }));
  REQUIRE(seen.size() == 7);
  CHECK(seen[2].toTensor().const_data_ptr() == x.const_data_ptr());
  CHECK(seen[3].toIntList() == ArrayRef<int64_t>({5, 4}));
  CHECK(seen[4].toString() == "zz");
  CHECK(seen[5].toInt() == 5);
  CHECK(seen[6].toInt() == static_cast<int64_t>(ScalarType::Half));

  const std::vector<EValue> defaults = run("defaults", *make_tensor_ptr({6, 4}, range(24)));
  CHECK(tests::values<float>(defaults[0].toTensor()) ==
        mapped(range(24), [](float each) { return 2 * each + (each + 1); }));
  CHECK(seen[2].isNone());
  CHECK(seen[6].toInt() == static_cast<int64_t>(ScalarType::Float));
  CHECK(unregister_torch_operator("tests::scale_by") == Error::Ok);
}

TEST_CASE("exported operators: those of a library for torch's stable ABI") {
  const Tensor x = *make_tensor_ptr({6, 4}, range(24));
  RETURNS(NotSupported, "nobody registered 1 operator that the model calls: extension::scale",
          AotiModel::load(package("stable")).error());
  void* const library = ::dlopen(TENON_STABLE_EXTENSION, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  CHECK(tests::values<float>(run("stable", x)[0].toTensor()) ==
        mapped(range(24), [](float each) { return 3 * (2 * each + 1) + 2 * each; }));
  ::dlclose(library);
#if TENON_IS_CHECKED
  CHECK(detail::aoti_handles().count(nullptr) == 0);
#endif
}

TEST_CASE("exported operators: PyTorch's linear algebra, by Eigen") {
  CHECK(AotiModel::missing_functions(package("algebra")).value().size() == 5);
  add_algebra();
  const Tensor x = *make_tensor_ptr({4, 4}, {5.0f, 1.0f, 2.0f, 0.0f, 1.0f, 6.0f, 1.0f, 1.0f, 2.0f,
                                             1.0f, 7.0f, 2.0f, 0.0f, 1.0f, 2.0f, 8.0f});
  const Matrix a = to_matrix(x);
  const std::vector<EValue> out = run("algebra", x);
  REQUIRE(out.size() == 6);
  const auto is_near = [](const Matrix& found, const Matrix& expected) {
    return (found - expected).cwiseAbs().maxCoeff() < 1e-4f;
  };
  CHECK(is_near(to_matrix(out[0]) * a, Matrix::Identity(4, 4)));
  const Matrix l = to_matrix(out[1]);
  CHECK(is_near(l * l.transpose(), a));
  CHECK(is_near(a * to_matrix(out[2]), a + Matrix::Ones(4, 4)));
  const Matrix s =
      Eigen::Map<const Eigen::VectorXf>(out[4].toTensor().const_data_ptr<float>(), 4).asDiagonal();
  CHECK(is_near(to_matrix(out[3]) * s * to_matrix(out[5]), a));
  CHECK(out[3].toTensor().strides() == Dims{1, 4});  // as torch's
  AotiModule module(package("algebra"));
  RETURNS(InvalidArgument, "aten::_linalg_check_errors: linalg.inv: the matrix is singular",
          module.forward(*zeros({4, 4})).error());
}

}  // namespace exported_operators_test
