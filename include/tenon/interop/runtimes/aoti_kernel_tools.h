// SPDX-License-Identifier: MIT
// Tools of the kernels in interop/aoti_kernels.h: they read arguments as dense rows of one of five
// types, and return results with torch's strides.
//
// A kernel reads its arguments with read_dense(), computes with plain loops, and returns results
// through AotiResult. Integers are computed as Long, and floating types of 8 and 16 bits as Float,
// so that each loop is compiled for few types: see computed_type() and on_computed_type().
#pragma once

#include <algorithm>
#include <complex>
#include <initializer_list>
#include <utility>
#include <vector>

#include "tenon/interop/runtimes/aoti_shim_functions.h"
#include "tenon/module/evalue.h"
#include "tenon/tensor/contiguous.h"
#include "tenon/tensor/tensor_ptr_maker.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The type in which elements of `type` are computed.
inline ScalarType computed_type(ScalarType type) noexcept {
  if (isComplexType(type)) {
    return type == ScalarType::ComplexHalf ? ScalarType::ComplexFloat : type;
  }
  if (!isFloatingType(type)) return ScalarType::Long;
  return type == ScalarType::Double ? type : ScalarType::Float;
}

/// Calls f(T()) with the C++ type of a real computed type: int64_t, float or double.
/// Errors: NotSupported for complex types; those of f.
template <class F>
Error on_computed_type(ScalarType type, const F& f) {
  const ScalarType computed = computed_type(type);
  if (computed == ScalarType::Long) return f(int64_t());
  if (computed == ScalarType::Float) return f(float());
  if (computed == ScalarType::Double) return f(double());
  return fail(Error::NotSupported, "elements of type ", type, " are not supported");
}

/// Calls f(T()): double for Double, float for other floating types.
template <class F>
auto on_floating_type(ScalarType type, const F& f) {
  return type == ScalarType::Double ? f(double()) : f(float());
}

/// Like on_computed_type(), but calls f with std::complex<float> or std::complex<double> for
/// complex types.
template <class F>
Error on_computed_number(ScalarType type, const F& f) {
  const ScalarType computed = computed_type(type);
  if (computed == ScalarType::ComplexFloat) return f(std::complex<float>());
  if (computed == ScalarType::ComplexDouble) return f(std::complex<double>());
  return on_computed_type(type, f);
}

/// The complex type whose parts have that type; Undefined if there is none, for example for
/// BFloat16.
inline ScalarType complex_type_of(ScalarType type) noexcept {
  if (type == ScalarType::Half) return ScalarType::ComplexHalf;
  if (type == ScalarType::Float) return ScalarType::ComplexFloat;
  if (type == ScalarType::Double) return ScalarType::ComplexDouble;
  return isComplexType(type) ? type : ScalarType::Undefined;
}
/// The type to which elements of two tensors are converted. A tensor of rank 0, or a number,
/// decides only if its kind is above the other's: Bool, integer, floating, complex, in this order.
/// Source: at::native::result_type.
inline ScalarType result_type(ScalarType a, bool a_is_scalar, ScalarType b,
                              bool b_is_scalar) noexcept {
  if (a_is_scalar == b_is_scalar) return promoteTypes(a, b);
  const ScalarType higher = a_is_scalar ? b : a;
  const ScalarType lower = a_is_scalar ? a : b;
  if (isComplexType(higher)) return higher;
  if (isFloatingType(higher)) return isComplexType(lower) ? complex_type_of(higher) : higher;
  if (higher == ScalarType::Bool || !isIntegralType(lower, true)) {
    return promoteTypes(higher, lower);
  }
  return higher;
}
inline ScalarType result_type(const Tensor& a, const Tensor& b) noexcept {
  return result_type(a.scalar_type(), a.dim() == 0, b.scalar_type(), b.dim() == 0);
}

/// Signed integers are multiplied as unsigned, so that they wrap: their overflow would be
/// undefined.
template <class T>
T multiply_elements(T a, T b) noexcept {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}
/// Multiplies as torch does: products with infinities are not corrected as C does.
template <class T>
std::complex<T> multiply_elements(std::complex<T> a, std::complex<T> b) noexcept {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// Errors: NotSupported for types other than Byte, signed integers and floating types of 16 bits
/// and more. torch compiles most of its comparing kernels for these types only.
inline Error check_compared_type(ScalarType type, bool takes_bool) {
  if (type == ScalarType::Bool && takes_bool) return Error::Ok;
  if (type <= ScalarType::Double || type == ScalarType::BFloat16) return Error::Ok;
  return fail(Error::NotSupported, "elements of type ", type, " cannot be compared");
}

/// Checks that a tensor is defined and the host can read it.
/// Errors: InvalidArgument for an undefined tensor; NotSupported for memory that is not the host's.
inline Error check_readable(const Tensor& tensor, const char* name) {
  TENON_TRY(check_defined(tensor, name));
  const TensorFields& from = fields(TensorArg(tensor));
  TENON_TRY(check_has_data(from));
  return from.is_host_accessible() ? Error::Ok : fail_host_access(from);
}
/// The tensor of a handle.
/// Errors: those of check_readable().
inline Error read_aoti(AtenTensorHandle handle, const char* name, Tensor& read) {
  Tensor* found = nullptr;
  TENON_TRY(find_aoti_tensor(handle, found));
  TENON_TRY(check_readable(*found, name));
  read = *found;
  return Error::Ok;
}
/// Returns the tensor itself if it is contiguous and has that type, else a copy that is contiguous
/// and has it.
inline Error make_dense(const Tensor& given, ScalarType type, Tensor& dense) {
  dense = given;
  const TensorFields& from = fields(TensorArg(given));
  if (from.type == type && from.layout.is_contiguous()) return Error::Ok;
  TENON_ASSIGN(const TensorPtr made, try_empty(given.sizes(), type, host_backend()));
  TENON_TRY(convert(*made, given));
  dense = *made;
  return Error::Ok;
}
/// read_aoti() and make_dense().
inline Error read_dense(AtenTensorHandle handle, const char* name, ScalarType type, Tensor& dense) {
  Tensor read;
  TENON_TRY(read_aoti(handle, name, read));
  return make_dense(read, type, dense);
}

template <class T>
const T* dense_data(const Tensor& dense) noexcept {
  return static_cast<const T*>(fields(TensorArg(dense)).data);
}

/// Converts a dimension that may be negative to an index. For a tensor of rank 0, 0 and -1 are
/// allowed, as in torch.
/// Errors: OutOfBounds.
inline Error read_dim(int64_t dim, size_t rank, size_t& read) {
  const auto end = static_cast<int64_t>(rank == 0 ? 1 : rank);
  if (dim < -end || dim >= end) {
    return fail(Error::OutOfBounds, "dimension ", dim, " is outside a tensor of rank ", rank);
  }
  read = static_cast<size_t>(dim < 0 ? dim + end : dim);
  return Error::Ok;
}

/// A dense tensor as rows along one dimension. With o the index over the dimensions before it, and
/// k the index over those behind it, element i of a row is at (o * count + i) * inner + k. A tensor
/// of rank 0 is one row of one element.
struct DenseRows {
  int64_t outer = 1;
  int64_t count = 1;
  int64_t inner = 1;

  DenseRows(ArrayRef<int64_t> sizes, size_t dim) noexcept {
    for (size_t d = 0; d < sizes.size(); ++d) {
      (d < dim ? outer : d == dim ? count : inner) *= sizes[d];
    }
  }
  /// Calls f(begin) with the position of each row's first element; the others are `inner` apart.
  template <class F>
  void each(const F& f) const {
    if (count == 0) return;  // rows may be empty
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) f(o * count * inner + i);
    }
  }
};

inline int64_t product(ArrayRef<int64_t> sizes) noexcept {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return count;
}
/// The batch sizes of a tensor of matrices, of rank 2 or more.
inline ArrayRef<int64_t> batch_of(const Tensor& a) noexcept {
  return {a.sizes().data(), a.sizes().size() - 2};
}
/// The number of matrices in a tensor; 0 if they have no elements.
inline int64_t count_matrices(const Tensor& a) noexcept {
  return a.numel() == 0 ? 0 : product(batch_of(a));
}
/// Sets `sizes` to the sizes to which both broadcast.
/// Errors: InvalidArgument; those of check_dims().
inline Error broadcast_sizes(ArrayRef<int64_t> other, Dims& sizes) {
  TENON_TRY(check_dims("sizes", sizes));
  while (sizes.size() < other.size()) {
    if (!sizes.insert(0, 1)) return fail_shape_memory();
  }
  const size_t offset = sizes.size() - other.size();
  for (size_t d = 0; d < other.size(); ++d) {
    int64_t& size = sizes[offset + d];
    if (other[d] == size || other[d] == 1) continue;
    if (size != 1) {
      return fail(Error::InvalidArgument, "sizes ", sizes, " and ", other, " do not broadcast");
    }
    size = other[d];
  }
  return Error::Ok;
}

/// The dimensions of broadcast inputs in torch's order, innermost first. Two dimensions are ordered
/// by their strides in the first input in which these differ and neither is 0.
/// Source: at::TensorIteratorBase::reorder_dimensions, at::infer_dense_strides.
inline std::vector<size_t> iteration_order(ArrayRef<int64_t> sizes,
                                           const std::vector<std::vector<int64_t>>& strides) {
  // 1 if a is outside b, -1 if it is inside, 0 if unknown
  const auto is_outside = [&](size_t a, size_t b) {
    for (const std::vector<int64_t>& each : strides) {
      if (each[a] == 0 || each[b] == 0) continue;
      if (each[a] != each[b]) return each[a] > each[b] ? 1 : -1;
      if (sizes[a] > sizes[b]) return 1;
    }
    return 0;
  };
  std::vector<size_t> order(sizes.size());
  for (size_t d = 0; d < order.size(); ++d) order[d] = order.size() - 1 - d;
  for (size_t i = 1; i < order.size(); ++i) {
    size_t moved = i;
    for (size_t j = i; j-- > 0;) {
      const int outside = is_outside(order[j], order[moved]);
      if (outside < 0) break;
      if (outside == 0) continue;
      std::swap(order[j], order[moved]);
      moved = j;
    }
  }
  return order;
}
/// Dense strides for dimensions in that order, innermost first. Overflow wraps: aoti_empty() then
/// refuses the sizes. It also refuses lists for which there was no memory.
inline std::vector<int64_t> strides_in_order(ArrayRef<int64_t> sizes,
                                             const std::vector<size_t>& order) {
  std::vector<int64_t> strides(sizes.size());
  int64_t next = 1;
  for (const size_t d : order) {
    strides[d] = next;
    next = multiply_elements(next, (std::max)(sizes[d], int64_t{1}));
  }
  return strides;
}
inline Dims row_major_strides(ArrayRef<int64_t> sizes) {
  return Dims(strides_in_order(sizes, iteration_order(sizes, {})));
}
/// The strides of a copy: the layout's own if it is dense, else dense strides in its dim order.
/// Source: torch.preserve_format.
inline Dims preserved_strides(const Layout& like) {
  if (like.is_dense()) return Dims(like.strides());
  const ArrayRef<int64_t> strides = like.strides();
  return Dims(strides_in_order(like.sizes(), iteration_order(like.sizes(), {strides.vec()})));
}

/// A result. It has two tensors: the one that the caller gets, and a dense one of the computed type
/// that the kernel fills. Both are the same tensor if the caller's is contiguous and has the
/// computed type.
class AotiResult {
 public:
  /// Makes a contiguous result.
  Error make(const Dims& sizes, ScalarType type, ScalarType computed) {
    AotiShape shape;
    TENON_TRY(check_dims("sizes", sizes));
    Layout layout;
    TENON_TRY(make_layout(sizes, {}, {}, elementSize(type), layout));
    shape.sizes = sizes;
    shape.strides = layout.strides();
    shape.type = type;
    return make(shape, computed);
  }
  /// Makes a result with preserved_strides().
  Error make_like(const Tensor& like, ScalarType type, ScalarType computed) {
    const Layout& from = fields(TensorArg(like)).layout;
    AotiShape shape;
    shape.sizes = from.sizes();
    shape.strides = preserved_strides(from);
    shape.type = type;
    return make(shape, computed);
  }
  Error make(const AotiShape& shape, ScalarType computed) {
    TENON_TRY(aoti_empty(shape, tensor_));
    return attach_work(computed);
  }
  /// Uses an existing tensor as the result. Its elements are replaced.
  Error use(const Tensor& tensor, ScalarType computed) {
    TENON_TRY(check_writable(fields(TensorArg(tensor))));
    tensor_ = tensor;
    return attach_work(computed);
  }

  template <class T>
  T* data() noexcept {
    return static_cast<T*>(fields(TensorArg(work_)).data);
  }
  const Tensor& tensor() const noexcept { return tensor_; }
  /// The dense tensor of data().
  const Tensor& work() const noexcept { return work_; }
  /// Fills the dense tensor with the elements of `from`, which may be that tensor.
  Error copy_from(const Tensor& from) {
    return from.unsafeGetTensorImpl() == work_.unsafeGetTensorImpl() ? Error::Ok
                                                                     : convert(work_, from);
  }
  /// Copies the computed elements to the caller's tensor if it is not the dense one.
  Error finish() {
    if (work_.unsafeGetTensorImpl() == tensor_.unsafeGetTensorImpl()) return Error::Ok;
    return convert(tensor_, work_);
  }
  Error finish(AtenTensorHandle* handle) {
    TENON_TRY(finish());
    return make_aoti_handle(tensor_, *handle);
  }

 private:
  Error attach_work(ScalarType computed) {
    work_ = tensor_;
    const TensorFields& to = fields(TensorArg(tensor_));
    if (to.type == computed && to.layout.is_contiguous()) return Error::Ok;
    TENON_ASSIGN(const TensorPtr made, try_empty(tensor_.sizes(), computed, host_backend()));
    work_ = *made;
    return Error::Ok;
  }

  Tensor tensor_;
  Tensor work_;
};

/// Finishes an operator's result and appends it to `outputs`.
inline Error give(AotiResult& result, std::vector<EValue>& outputs) {
  TENON_TRY(result.finish());
  outputs.push_back(EValue(result.tensor()));
  return Error::Ok;
}
/// Makes handles for a function's results: for all of them, or after an error for none.
inline Error make_handles(const std::vector<std::pair<Tensor, AtenTensorHandle*>>& tensors) {
  Error error = Error::Ok;
  size_t made = 0;
  for (const auto& [tensor, handle] : tensors) {
    error = make_aoti_handle(tensor, *handle);
    if (error != Error::Ok) break;
    ++made;
  }
  for (const auto& [tensor, handle] : tensors) {
    Tensor dropped;
    if (error == Error::Ok || made-- == 0) break;
    TENON_TRY(take_aoti_tensor(*handle, dropped));
  }
  return error;
}
/// Calls finish() of each result, then make_handles().
inline Error finish_all(std::initializer_list<std::pair<AotiResult*, AtenTensorHandle*>> results) {
  std::vector<std::pair<Tensor, AtenTensorHandle*>> tensors;
  for (const auto& [result, handle] : results) {
    TENON_TRY(result->finish());
    tensors.emplace_back(result->tensor(), handle);
  }
  return make_handles(tensors);
}

}  // namespace detail
TENON_END_NAMESPACE
