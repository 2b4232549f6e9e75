// SPDX-License-Identifier: MIT
// Products of matrices and of batches of them, by oneDNN's dnnl_sgemm.
#pragma once

#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>

#include "tenon/interop/aoti/answers.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// What a kernel returns. An exception of oneDNN's is an error of the kind that its status says.
template <class Call>
AOTITorchError onednn_answer(const char* function, const Call& call) noexcept {
  return aoti_answer(function, [&] {
#if TENON_HAS_EXCEPTIONS
    try {
      return call();
    } catch (const dnnl::error& e) {
      return fail(e.status == dnnl_out_of_memory   ? Error::OutOfMemory
                  : e.status == dnnl_unimplemented ? Error::NotSupported
                                                   : Error::InvalidArgument,
                  "oneDNN: ", e.what());
    }
#else
    return call();
#endif
  });
}

/// A tensor whose elements the host reads.
inline Error find_onednn(AtenTensorHandle handle, const char* role, Tensor*& tensor) noexcept {
  TENON_TRY(add_context_if(role, find_aoti_tensor(handle, tensor)));
  TENON_TRY(check_defined(*tensor, role));
  const TensorFields& found = fields(TensorArg(*tensor));
  TENON_TRY(add_context_if(role, check_has_data(found)));
  if (found.is_host_accessible()) return Error::Ok;
  return fail(Error::NotSupported, role, " lies on ", found.device,
              ", whose memory oneDNN does not read");
}

/// The matrix of a tensor's last two dimensions as dnnl_sgemm takes it.
struct OnednnMatrix {
  char order = 0;        // 'N': the elements of a row are next to each other; 'T': of a column
  int64_t distance = 0;  // between rows, or columns

  /// False where neither is so.
  bool read(const Layout& layout) noexcept {
    const size_t rank = layout.rank();
    const int64_t rows = layout.sizes()[rank - 2];
    const int64_t columns = layout.sizes()[rank - 1];
    const int64_t row = rows <= 1 ? std::max<int64_t>(columns, 1) : layout.strides()[rank - 2];
    const int64_t column = columns <= 1 ? 1 : layout.strides()[rank - 1];
    if (column == 1 && row >= std::max<int64_t>(columns, 1)) {
      order = 'N';
      distance = row;
      return true;
    }
    const int64_t next = columns <= 1 ? std::max<int64_t>(rows, 1) : layout.strides()[rank - 1];
    order = 'T';
    distance = next;
    return (rows <= 1 || layout.strides()[rank - 2] == 1) && next >= std::max<int64_t>(rows, 1);
  }
  char turned() const noexcept { return order == 'N' ? 'T' : 'N'; }
};

/// Finds out = a x b, of matrices or of batches of them, and checks types and sizes.
struct OnednnProduct {
  Tensor* out = nullptr;
  Tensor* a = nullptr;
  Tensor* b = nullptr;

  Error find(AtenTensorHandle out_handle, AtenTensorHandle a_handle, AtenTensorHandle b_handle,
             size_t rank) noexcept {
    TENON_TRY(find_onednn(out_handle, "out", out));
    TENON_TRY(find_onednn(a_handle, "the left matrix", a));
    TENON_TRY(find_onednn(b_handle, "the right matrix", b));
    for (const Tensor* tensor : {out, a, b}) {
      const TensorFields& t = fields(TensorArg(*tensor));
      if (t.type != ScalarType::Float) {
        return fail(Error::NotSupported, "the product of ", t.type,
                    " tensors; oneDNN's is of Float ones, others need a kernel of the program's");
      }
      if (t.layout.rank() != rank) {
        return fail(Error::InvalidArgument, "a tensor of sizes ", t.layout.sizes(),
                    ", expected rank ", rank);
      }
    }
    const Dims& to = fields(TensorArg(*out)).layout.sizes();
    const Dims& left = fields(TensorArg(*a)).layout.sizes();
    const Dims& right = fields(TensorArg(*b)).layout.sizes();
    const size_t row = rank - 2;
    const size_t column = rank - 1;
    const bool batches_match = rank == 2 || (left[0] == right[0] && to[0] == left[0]);
    if (batches_match && left[column] == right[row] && to[row] == left[row] &&
        to[column] == right[column]) {
      return Error::Ok;
    }
    return fail(Error::InvalidArgument, "sizes ", left, " and ", right,
                " give no product of sizes ", to);
  }

  /// out = beta out + alpha a b.
  Error run(double beta, double alpha) const noexcept {
    OnednnMatrix to;
    OnednnMatrix left;
    OnednnMatrix right;
    Tensor left_tensor = *a;
    Tensor right_tensor = *b;
    Tensor target = *out;
    TENON_TRY(make_readable(left_tensor, left));
    TENON_TRY(make_readable(right_tensor, right));
    if (!to.read(fields(TensorArg(target)).layout)) {
      TENON_TRY(make_readable(target, to));
      TENON_TRY(run_on(target, to, left_tensor, left, right_tensor, right, beta, alpha));
      return tenon::copy_(*out, target);
    }
    return run_on(target, to, left_tensor, left, right_tensor, right, beta, alpha);
  }

 private:
  /// Replaces a tensor of other strides by a row-major copy.
  static Error make_readable(Tensor& tensor, OnednnMatrix& matrix) noexcept {
    if (matrix.read(fields(TensorArg(tensor)).layout)) return Error::Ok;
    Result<Tensor> rows = try_contiguous(tensor);
    TENON_TRY(rows.error());
    tensor = *rows;
    matrix.read(fields(TensorArg(tensor)).layout);
    return Error::Ok;
  }
  static Error run_on(const Tensor& target, const OnednnMatrix& to, const Tensor& left_tensor,
                      const OnednnMatrix& left, const Tensor& right_tensor,
                      const OnednnMatrix& right, double beta, double alpha) noexcept {
    const TensorFields& out_fields = fields(TensorArg(target));
    const TensorFields& left_fields = fields(TensorArg(left_tensor));
    const TensorFields& right_fields = fields(TensorArg(right_tensor));
    const size_t rank = out_fields.layout.rank();
    const int64_t m = out_fields.layout.sizes()[rank - 2];
    const int64_t n = out_fields.layout.sizes()[rank - 1];
    const int64_t k = left_fields.layout.sizes()[rank - 1];
    if (out_fields.layout.numel == 0) return Error::Ok;
    if (k == 0) {
      if (beta == 0) return tenon::zero_(target);
      if (beta == 1) return Error::Ok;
      return fail(Error::NotSupported, "a product without elements, plus ", beta,
                  " times a tensor");
    }
    const int64_t batches = rank == 2 ? 1 : out_fields.layout.sizes()[0];
    const auto matrix = [rank](const TensorFields& t, int64_t i) {
      return static_cast<float*>(t.data) + (rank == 2 ? 0 : i * t.layout.strides()[0]);
    };
    for (int64_t i = 0; i < batches; ++i) {
      float* const c = matrix(out_fields, i);
      const float* const x = matrix(left_fields, i);
      const float* const y = matrix(right_fields, i);
      // Of an output with columns the transpose has rows: bT aT.
      const dnnl_status_t status =
          to.order == 'N' ? dnnl_sgemm(left.order, right.order, m, n, k, static_cast<float>(alpha),
                                       x, left.distance, y, right.distance,
                                       static_cast<float>(beta), c, to.distance)
                          : dnnl_sgemm(right.turned(), left.turned(), n, m, k,
                                       static_cast<float>(alpha), y, right.distance, x,
                                       left.distance, static_cast<float>(beta), c, to.distance);
      if (status != dnnl_success) {
        return fail(status == dnnl_out_of_memory ? Error::OutOfMemory : Error::Internal,
                    "dnnl_sgemm failed with status ", static_cast<int>(status));
      }
    }
    return Error::Ok;
  }
};

/// out = beta self + alpha a b; without a self, alpha a b.
inline AOTITorchError onednn_multiply(const char* function, size_t rank, AtenTensorHandle out,
                                      const AtenTensorHandle* self, AtenTensorHandle a,
                                      AtenTensorHandle b, double beta, double alpha) noexcept {
  return onednn_answer(function, [&] {
    OnednnProduct product;
    TENON_TRY(product.find(out, a, b, rank));
    if (self != nullptr && beta != 0) {  // with 0, what self has does not count, NaN neither
      Tensor* summand = nullptr;
      TENON_TRY(find_onednn(*self, "self", summand));
      TENON_TRY(tenon::copy_(*product.out, *summand));  // and broadcasts it
    }
    return product.run(beta, alpha);
  });
}

}  // namespace detail
TENON_END_NAMESPACE
