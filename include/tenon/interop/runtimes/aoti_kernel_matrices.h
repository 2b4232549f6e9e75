// SPDX-License-Identifier: MIT
// Tools of the operators of torch.linalg: they read matrices, return matrices that are stored by
// columns, and explain LAPACK's infos.
#pragma once

#include <string>

#include "tenon/interop/runtimes/aoti_kernels_linear_algebra.h"
#include "tenon/interop/runtimes/aoti_kernels_operators.h"
#include "tenon/interop/runtimes/torch_stable_aten_creators.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Reads the matrices of an operator's argument.
inline Error read_matrices(const EValue& value, const char* name, Tensor& read) {
  TENON_TRY(read_operand(value, read));
  return check_matrices(read, name);
}
inline Error read_squares(const EValue& value, const char* name, Tensor& read) {
  TENON_TRY(read_matrices(value, name, read));
  return check_square(read, name);
}
/// Swaps the last two dimensions if `turns` is true.
inline Error turn_matrices(bool turns, Tensor& t) {
  const auto last = static_cast<int64_t>(t.sizes().size()) - 1;
  if (turns) {
    TENON_ASSIGN(t, try_transpose(t, last - 1, last));
  }
  return Error::Ok;
}
inline Error give_by_columns(const Tensor& from, ScalarType type, AtenOut& out) {
  Tensor made;
  TENON_TRY(copy_by_columns(from, type, made));
  return give(made, out);
}
/// Returns a contiguous result.
inline Error give_dense(const Tensor& from, ScalarType type, AtenOut& out) {
  AotiResult result;
  TENON_TRY(result.make(from.sizes(), type, type));
  TENON_TRY(convert(result.work(), from));
  return give(result, out);
}
/// Returns an empty tensor in place of a result that was not requested.
inline Error give_empty(ScalarType type, AtenOut& out) {
  AotiResult result;
  TENON_TRY(result.make(Dims{0}, type, type));
  return give(result, out);
}
/// Returns a result of 32-bit integers, such as pivots and infos.
inline Error give_ints(const std::vector<int32_t>& numbers, ArrayRef<int64_t> sizes, AtenOut& out) {
  AotiResult result;
  TENON_TRY(result.make(sizes, ScalarType::Int, ScalarType::Int));
  std::copy(numbers.begin(), numbers.end(), result.data<int32_t>());
  return give(result, out);
}
/// The problem that an info reports for a matrix, by the function's name.
/// Source: at::native::_linalg_check_errors.
inline const char* meaning_of_info(std::string_view function) noexcept {
  const auto is = [&](const char* part) { return function.find(part) != std::string_view::npos; };
  if (is("cholesky")) return "that leading minor is not positive-definite";
  if (is("svd") || is("eig")) return "it did not converge";
  if (is("lstsq")) return "it does not have full rank";
  return "the matrix is singular: that element of the diagonal of U is 0";
}
inline Error check_infos(const int32_t* infos, int64_t count, std::string_view function,
                         bool is_matrix) {
  for (int64_t i = 0; i < count; ++i) {
    if (infos[i] == 0) continue;
    const std::string batch = is_matrix ? "" : "batch element " + std::to_string(i) + ", ";
    return fail(Error::InvalidArgument, function, ": ", batch, "info ", infos[i], ": ",
                infos[i] < 0 ? "an argument has an illegal value" : meaning_of_info(function));
  }
  return Error::Ok;
}
}  // namespace detail
TENON_END_NAMESPACE
