// SPDX-License-Identifier: MIT
// Products of matrices and of batches of matrices: of Float by oneDNN's dnnl_sgemm; of BFloat16 and
// Half by oneDNN's matmul, or as Float if matmul lacks them on the processor; of other types by
// plain loops.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>

#include "tenon/interop/runtimes/aoti_plain_product.h"

TENON_BEGIN_NAMESPACE
namespace detail {

TENON_EXPORT inline const dnnl::engine& onednn_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}
TENON_EXPORT inline dnnl::stream& onednn_stream() {
  static thread_local dnnl::stream stream(onednn_engine());
  return stream;
}

/// While it lives, oneDNN uses the model's number of OpenMP threads. OpenMP's functions are found
/// by dlsym(), so that programs need not link to OpenMP.
class OnednnThreads {
 public:
  OnednnThreads() noexcept {
    const AotiCall* const call = aoti_call();
    if (call == nullptr) return;
    int (*get)() = nullptr;
    find("omp_get_max_threads", get);
    find("omp_set_num_threads", set_);
    if (get != nullptr) before_ = get();
    change(call->threads);
  }
  OnednnThreads(const OnednnThreads&) = delete;
  OnednnThreads& operator=(const OnednnThreads&) = delete;
  ~OnednnThreads() { change(before_); }

 private:
  template <class F>
  static void find(const char* name, F& function) noexcept {
    void* const found = ::dlsym(RTLD_DEFAULT, name);
    // POSIX: pointers to functions and to objects have one size
    std::memcpy(&function, &found, sizeof found);
  }
  void change(int count) const noexcept {
    if (before_ != 0 && set_ != nullptr) set_(count);
  }

  int before_ = 0;  // the number before; 0 if it was not changed
  void (*set_)(int) = nullptr;
};

inline dnnl::memory::data_type onednn_type(ScalarType type) noexcept {
  using Type = dnnl::memory::data_type;
  return type == ScalarType::Float      ? Type::f32
         : type == ScalarType::BFloat16 ? Type::bf16
         : type == ScalarType::Half     ? Type::f16
                                        : Type::undef;
}

/// Calls a kernel and returns its result. An exception of oneDNN becomes an error, whose kind
/// depends on the exception's status.
template <class Call>
AOTITorchError onednn_answer(const char* function, const Call& call) noexcept {
  return aoti_answer(function, [&] {
    const OnednnThreads threads;
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

/// Finds a tensor whose elements the host can read.
inline Error find_onednn(AtenTensorHandle handle, const char* role, Tensor*& tensor) noexcept {
  TENON_TRY(add_context_if(role, find_aoti_tensor(handle, tensor)));
  TENON_TRY(check_defined(*tensor, role));
  const TensorFields& found = fields(TensorArg(*tensor));
  TENON_TRY(add_context_if(role, check_has_data(found)));
  if (found.is_host_accessible()) return Error::Ok;
  return fail(Error::NotSupported, role, " is on ", found.device,
              ", whose memory oneDNN does not read");
}

/// How oneDNN sees the matrix in a tensor's last two dimensions.
struct OnednnMatrix {
  char order = 0;        // 'N': the elements of a row are adjacent; 'T': those of a column
  int64_t distance = 0;  // between rows, or with 'T' between columns

  /// Returns false if neither the elements of rows nor those of columns are adjacent.
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
  /// Describes a tensor's matrix: with `is_batch` all matrices of a tensor of rank 3, else the
  /// first.
  dnnl::memory::desc describe(const TensorFields& tensor, bool is_batch) const {
    const bool has_rows = order == 'N';
    const Dims& all = tensor.layout.sizes();
    dnnl::memory::dims sizes(all.end() - 2, all.end());
    dnnl::memory::dims strides{has_rows ? distance : 1, has_rows ? 1 : distance};
    if (is_batch) {
      sizes.insert(sizes.begin(), all[0]);
      strides.insert(strides.begin(), tensor.layout.strides()[0]);
    }
    return {sizes, onednn_type(tensor.type), strides};
  }
};

/// The matrices of a product out = a b, or batches of matrices. find() checks their types and
/// sizes.
struct OnednnProduct {
  Tensor* out = nullptr;
  Tensor* a = nullptr;
  Tensor* b = nullptr;

  Error find(AtenTensorHandle out_handle, AtenTensorHandle a_handle, AtenTensorHandle b_handle,
             size_t rank) noexcept {
    TENON_TRY(find_onednn(out_handle, "out", out));
    TENON_TRY(find_onednn(a_handle, "the left matrix", a));
    TENON_TRY(find_onednn(b_handle, "the right matrix", b));
    const ScalarType type = fields(TensorArg(*out)).type;
    for (const Tensor* tensor : {out, a, b}) {
      const TensorFields& t = fields(TensorArg(*tensor));
      if (t.type != type) {
        return fail(Error::InvalidType, "a matrix has type ", t.type, ", out has type ", type,
                    ", expected one type");
      }
      if (t.layout.rank() != rank) {
        return fail(Error::InvalidArgument, "a tensor has sizes ", t.layout.sizes(),
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

  /// out = beta self + alpha a b, or alpha a b if `self` is null.
  Error run(const Tensor* self, double beta, double alpha) const {
    const TensorFields& all = fields(TensorArg(*out));
    const size_t rank = all.layout.rank();
    const int64_t m = all.layout.sizes()[rank - 2];
    const int64_t n = all.layout.sizes()[rank - 1];
    const int64_t k = fields(TensorArg(*a)).layout.sizes()[rank - 1];
    const ScalarType type = all.type;
    if (onednn_type(type) == dnnl::memory::data_type::undef || all.layout.numel == 0 || k == 0) {
      return plain_product(*out, self, *a, *b, beta, alpha);
    }
    OnednnMatrix to;
    OnednnMatrix left;
    OnednnMatrix right;
    Tensor x = *a;
    Tensor y = *b;
    Tensor target = *out;
    TENON_TRY(make_readable(x, left));
    TENON_TRY(make_readable(y, right));
    TENON_TRY(make_readable(target, to));
    if (self == nullptr) beta = 0;
    int64_t batches = rank == 2 ? 1 : all.layout.sizes()[0];
    dnnl::matmul::primitive_desc plan;
    const auto make_plan = [&](bool is_batch) {
      plan = plan_matmul(left.describe(fields(TensorArg(x)), is_batch),
                         right.describe(fields(TensorArg(y)), is_batch),
                         to.describe(fields(TensorArg(target)), is_batch), beta, alpha);
      return static_cast<bool>(plan) && std::strstr(plan.impl_info_str(), "ref") == nullptr;
    };
    // too small for dnnl_sgemm
    const bool is_small = batches >= 16 && m > 1 && m * n * k <= 32 * 1024;
    if (batches > 1 && (type != ScalarType::Float || is_small) && make_plan(true)) {
      batches = 1;  // one call for all of them
    } else if (type == ScalarType::Float) {
      plan = dnnl::matmul::primitive_desc();
    } else if (!make_plan(false)) {
      return run_as_float(self, beta, alpha);
    }
    if (self != nullptr) TENON_TRY(tenon::copy_(target, *self));  // broadcasts too
    const dnnl::matmul product = plan ? dnnl::matmul(plan) : dnnl::matmul();
    for (int64_t i = 0; i < batches; ++i) {
      void* const r = matrix_of(target, i);
      void* const p = matrix_of(x, i);
      void* const q = matrix_of(y, i);
      if (plan) {
        run_matmul(plan, product, r, p, q);
      } else {
        TENON_TRY(run_sgemm(to, left, right, {m, n, k}, r, p, q, beta, alpha));
      }
    }
    return target.unsafeGetTensorImpl() == out->unsafeGetTensorImpl() ? Error::Ok
                                                                      : tenon::copy_(*out, target);
  }

 private:
  Error run_as_float(const Tensor* self, double beta, double alpha) const {
    Tensor x;
    Tensor y;
    AotiResult result;
    TENON_TRY(make_dense(*a, ScalarType::Float, x));
    TENON_TRY(make_dense(*b, ScalarType::Float, y));
    TENON_TRY(result.use(*out, ScalarType::Float));
    Tensor target = result.work();
    TENON_TRY((OnednnProduct{&target, &x, &y}.run(self, beta, alpha)));
    return result.finish();
  }
  /// Replaces a tensor by a row-major copy if oneDNN cannot read its strides.
  static Error make_readable(Tensor& tensor, OnednnMatrix& matrix) noexcept {
    if (matrix.read(fields(TensorArg(tensor)).layout)) return Error::Ok;
    Result<Tensor> rows = try_contiguous(tensor);
    TENON_TRY(rows.error());
    tensor = *rows;
    matrix.read(fields(TensorArg(tensor)).layout);
    return Error::Ok;
  }
  static void* matrix_of(const Tensor& tensor, int64_t i) noexcept {
    const TensorFields& t = fields(TensorArg(tensor));
    const int64_t offset = t.layout.rank() == 2 ? 0 : i * t.layout.strides()[0];
    return static_cast<char*>(t.data) + offset * static_cast<int64_t>(elementSize(t.type));
  }
  /// r = beta r + alpha p q, where p has m x k elements and q has k x n.
  static Error run_sgemm(const OnednnMatrix& to, const OnednnMatrix& left,
                         const OnednnMatrix& right, const std::array<int64_t, 3>& mnk, void* r,
                         const void* p, const void* q, double beta, double alpha) noexcept {
    const auto [m, n, k] = mnk;
    const auto* const x = static_cast<const float*>(p);
    const auto* const y = static_cast<const float*>(q);
    auto* const c = static_cast<float*>(r);
    const auto u = static_cast<float>(alpha);
    const auto v = static_cast<float>(beta);
    // If the elements of the output's columns are adjacent, its transpose is computed: bᵀ aᵀ.
    const dnnl_status_t status =
        to.order == 'N' ? dnnl_sgemm(left.order, right.order, m, n, k, u, x, left.distance, y,
                                     right.distance, v, c, to.distance)
                        : dnnl_sgemm(right.turned(), left.turned(), n, m, k, u, y, right.distance,
                                     x, left.distance, v, c, to.distance);
    if (status == dnnl_success) return Error::Ok;
    return fail(status == dnnl_out_of_memory ? Error::OutOfMemory : Error::Internal,
                "dnnl_sgemm failed with status ", static_cast<int>(status));
  }
  /// Returns an empty plan if oneDNN lacks the product.
  static dnnl::matmul::primitive_desc plan_matmul(const dnnl::memory::desc& left,
                                                  const dnnl::memory::desc& right,
                                                  const dnnl::memory::desc& to, double beta,
                                                  double alpha) {
    dnnl::post_ops after;
    const auto linear = dnnl::algorithm::eltwise_linear;
#if DNNL_VERSION_MAJOR >= 3
    if (alpha != 1) after.append_eltwise(linear, static_cast<float>(alpha), 0);
#else
    if (alpha != 1) after.append_eltwise(1, linear, static_cast<float>(alpha), 0);
#endif
    if (beta != 0) after.append_sum(static_cast<float>(beta));
    dnnl::primitive_attr options;
    options.set_post_ops(after);
#if DNNL_VERSION_MAJOR >= 3
    return {onednn_engine(), left, right, to, options, true};
#else
    return {dnnl::matmul::desc(left, right, to), options, onednn_engine(), true};
#endif
  }
  static void run_matmul(const dnnl::matmul::primitive_desc& plan, const dnnl::matmul& product,
                         void* out, void* left, void* right) {
    const dnnl::engine& engine = onednn_engine();
    product.execute(onednn_stream(), {{DNNL_ARG_SRC, {plan.src_desc(), engine, left}},
                                      {DNNL_ARG_WEIGHTS, {plan.weights_desc(), engine, right}},
                                      {DNNL_ARG_DST, {plan.dst_desc(), engine, out}}});
    onednn_stream().wait();
  }
};

/// out = beta self + alpha a b, or alpha a b if `self` is null.
inline AOTITorchError onednn_multiply(const char* function, size_t rank, AtenTensorHandle out,
                                      const AtenTensorHandle* self, AtenTensorHandle a,
                                      AtenTensorHandle b, double beta, double alpha) noexcept {
  return onednn_answer(function, [&] {
    OnednnProduct product;
    TENON_TRY(product.find(out, a, b, rank));
    Tensor* summand = nullptr;
    if (self != nullptr) {
      TENON_TRY(find_onednn(*self, "self", summand));
      const TensorFields& to = fields(TensorArg(*product.out));
      const TensorFields& from = fields(TensorArg(*summand));
      TENON_TRY(check_broadcast(from.layout.sizes(), to.layout.sizes()));
      if (from.type != to.type) {
        return fail(Error::InvalidType, "self has type ", from.type, ", the product ", to.type,
                    ", expected one type");
      }
      if (beta == 0) summand = nullptr;  // self is then ignored, even if it has NaN
    }
    return product.run(summand, beta, alpha);
  });
}

}  // namespace detail
TENON_END_NAMESPACE
