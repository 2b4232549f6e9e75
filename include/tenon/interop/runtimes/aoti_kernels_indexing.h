// SPDX-License-Identifier: MIT
// Kernels that read and write elements at positions that a list of index tensors gives.
//
// All indices are checked before the first element is written. If an element is written several
// times, it keeps the value that a single thread of torch writes last.
#pragma once

#include "tenon/interop/runtimes/aoti_kernel_elements.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The strides of torch's view of a tensor with the sizes `wanted`, which have as many elements;
/// empty if a copy is needed. Strides of dimensions of size 1 are torch's too, since torch orders
/// dimensions by them.
/// Source: at::detail::computeStride.
inline AotiDims torch_view_strides(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides,
                                   ArrayRef<int64_t> wanted) {
  AotiDims made(wanted.size(), 1);
  size_t next = wanted.size();
  int64_t step = sizes.empty() ? 1 : strides.back();
  int64_t run = 1;
  int64_t covered = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    run *= sizes[d];
    if (d != 0 && (sizes[d - 1] == 1 || strides[d - 1] == multiply_elements(run, step))) continue;
    while (next > 0 && (covered < run || wanted[next - 1] == 1)) {
      made[--next] = multiply_elements(covered, step);
      covered *= wanted[next];
    }
    if (covered != run) return {};
    if (d == 0) break;
    step = strides[d - 1];
    run = covered = 1;
  }
  return made;
}

/// The elements that an expression such as x[i, :, j] selects. The result has the dimensions of x
/// before the indices, then those of the indices, then those of x after them.
class AotiIndexing {
 public:
  Dims sizes;  // of the result

  /// Reads the indices of `self`, which has torch's sizes and strides. A null handle stands for
  /// `:`.
  Error read(const Tensor& self, const std::vector<AtenTensorHandle>& handles) {
    const ArrayRef<int64_t> own = self.sizes();
    if (handles.size() > own.size()) {
      return fail(Error::OutOfBounds, handles.size(), " indices are given for a tensor of rank ",
                  own.size());
    }
    for (const AtenTensorHandle handle : handles) TENON_TRY(add(handle, own));
    while (indices_.size() < own.size()) indices_.emplace_back();
    if (indices_.size() > own.size()) {
      return fail(Error::OutOfBounds, "indices and masks cover ", indices_.size(),
                  " dimensions of a tensor of rank ", own.size());
    }
    for (const One& index : indices_) {
      if (index.is_given) TENON_TRY(broadcast_sizes(index.sizes, shape_));
    }
    return arrange(self);
  }

  /// The offsets of the indexed elements in a tensor with `strides`; the dimensions of the indices
  /// are in the given order.
  /// Errors: OutOfBounds for an index.
  Error find(ArrayRef<int64_t> strides, ArrayRef<size_t> order, AotiDims& found) const {
    AotiDims shape;
    for (const size_t d : order) shape.push_back(shape_[d]);
    found.assign(static_cast<size_t>(product(shape)), 0);
    for (size_t d = 0; d < indices_.size(); ++d) {
      const One& index = indices_[d];
      if (!index.is_given) continue;
      const int64_t size = own_sizes_[d];
      TENON_TRY(check_indices(index.data, product(index.sizes), -size, size));
      const AotiDims spread = broadcast_strides(index.sizes, dense_strides(index.sizes), shape_);
      AotiDims ordered;
      for (const size_t s : order) ordered.push_back(spread[s]);
      const AotiDims places = offsets_of(shape, ordered);
      for (size_t k = 0; k < places.size(); ++k) {
        const int64_t i = index.data[places[k]];
        found[k] += (i < 0 ? i + size : i) * strides[d];
      }
    }
    return Error::Ok;
  }

  /// Of a list with an entry for each dimension, the entries of dimensions without an index: those
  /// before the indices, and those after them.
  AotiDims before(ArrayRef<int64_t> list) const { return pick(list, 0, before_); }
  AotiDims after(ArrayRef<int64_t> list) const { return pick(list, before_, kept_.size()); }
  size_t before_count() const noexcept { return before_; }
  const Dims& shape() const noexcept { return shape_; }

  /// torch's order of the result's dimensions, innermost first. It follows from the operands'
  /// strides: of `self`, of `first` unless that is null, and of the indices.
  std::vector<size_t> order(const Tensor& self, const AotiDims* first) const {
    const auto item = static_cast<int64_t>(elementSize(self.scalar_type()));
    std::vector<AotiDims> operands;
    AotiDims own = before(self.strides());
    own.resize(before_ + shape_.size(), 0);
    for (const int64_t stride : after(self.strides())) own.push_back(stride);
    operands.push_back(own);
    if (first != nullptr) operands.push_back(*first);
    for (AotiDims& strides : operands) {
      for (int64_t& stride : strides) stride = multiply_elements(stride, item);
    }
    for (const One& index : indices_) {
      if (!index.is_given) continue;
      AotiDims wanted(before_, 1);
      for (const int64_t size : shape_) wanted.push_back(size);
      wanted.resize(sizes.size(), 1);
      AotiDims spread = broadcast_strides(index.sizes, index.torch_strides, shape_);
      const bool is_spread = std::count(spread.begin(), spread.end(), 0) != 0;
      if (index.is_int && is_spread) {  // torch copies such an index to a dense Long tensor
        spread = strides_in_order(shape_, iteration_order(shape_, {spread}));
      }
      spread = torch_view_strides(shape_, spread, wanted);
      spread.resize(sizes.size(), 0);
      for (size_t d = 0; d < sizes.size(); ++d) {
        spread[d] = wanted[d] == 1 && sizes[d] != 1 ? 0 : multiply_elements(spread[d], int64_t{8});
      }
      operands.push_back(spread);
    }
    return iteration_order(sizes, operands);
  }

  /// The strides of a tensor that is broadcast to the sizes `wanted`.
  static AotiDims broadcast_strides(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides,
                                    ArrayRef<int64_t> wanted) {
    AotiDims made(wanted.size(), 0);
    const size_t offset = wanted.size() - sizes.size();
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] == wanted[offset + d]) made[offset + d] = strides[d];
    }
    return made;
  }

 private:
  struct One {
    bool is_given = false;
    bool is_int = false;
    Tensor memory;
    const int64_t* data = nullptr;  // dense
    Dims sizes;
    AotiDims torch_strides;
  };

  Error add(AtenTensorHandle handle, ArrayRef<int64_t> own) {
    if (handle == nullptr) {
      indices_.emplace_back();
      return Error::Ok;
    }
    Tensor given;
    TENON_TRY(read_aoti(handle, "an index", given));
    const ScalarType type = given.scalar_type();
    if (type == ScalarType::Bool || type == ScalarType::Byte) return add_mask(given, own);
    One index;
    index.is_given = true;
    index.is_int = type == ScalarType::Int;
    TENON_TRY(read_indices(handle, index.memory));
    index.data = dense_data<int64_t>(index.memory);
    index.sizes = given.sizes();
    index.torch_strides = given.strides().vec();
    indices_.push_back(index);
    return Error::Ok;
  }
  /// Replaces a mask by a list of indices for each of its dimensions.
  Error add_mask(const Tensor& given, ArrayRef<int64_t> own) {
    const ArrayRef<int64_t> covered = given.sizes();
    for (size_t d = 0; d < covered.size(); ++d) {
      const size_t at = indices_.size() + d;
      if (at < own.size() && own[at] == covered[d]) continue;
      return fail(Error::OutOfBounds, "a mask of sizes ", covered, " does not fit at dimension ",
                  indices_.size(), " of a tensor of sizes ", own);
    }
    Tensor mask;
    TENON_TRY(make_dense(given, given.scalar_type(), mask));
    const int64_t count = count_nonzero(mask);
    TENON_ASSIGN(const TensorPtr lists,
                 try_empty({given.dim(), count}, ScalarType::Long, host_backend()));
    auto* const data = static_cast<int64_t*>(fields(TensorArg(*lists)).data);
    list_nonzero(mask, count, {1, count}, data);
    for (int64_t d = 0; d < given.dim(); ++d) {
      indices_.push_back({true, false, *lists, data + d * count, {count}, {1}});
    }
    return Error::Ok;
  }

  /// Moves the indexed dimensions to the front if other dimensions are between them.
  Error arrange(const Tensor& self) {
    ptrdiff_t count = 0;
    own_sizes_ = self.sizes();
    TENON_TRY(check_dims("sizes", own_sizes_));
    TENON_TRY(compute_numel(shape_, sizeof(int64_t), count));
    size_t first = indices_.size();
    size_t last = 0;
    size_t given = 0;
    for (size_t d = 0; d < indices_.size(); ++d) {
      if (!indices_[d].is_given) {
        kept_.push_back(d);
        continue;
      }
      if (own_sizes_[d] == 0 && product(shape_) != 0) {
        return fail(Error::OutOfBounds, "an index is given for dimension ", d,
                    ", which has size 0");
      }
      first = std::min(first, d);
      last = d;
      ++given;
    }
    if (given == 0 && self.numel() != 0)
      return fail(Error::InvalidArgument, "there is no index tensor");
    before_ = last - first + 1 == given ? first : 0;
    for (const int64_t size : before(own_sizes_)) sizes.push_back(size);
    for (const int64_t size : shape_) sizes.push_back(size);
    for (const int64_t size : after(own_sizes_)) sizes.push_back(size);
    TENON_TRY(check_dims("sizes", sizes));
    return compute_numel(sizes, elementSize(self.scalar_type()), count);
  }
  AotiDims pick(ArrayRef<int64_t> list, size_t begin, size_t end) const {
    AotiDims picked;
    for (size_t k = begin; k < end; ++k) picked.push_back(list[kept_[k]]);
    return picked;
  }

  std::vector<One> indices_;  // an index for each dimension of the tensor
  Dims own_sizes_;
  Dims shape_;                // the broadcast shape of the indices
  std::vector<size_t> kept_;  // dimensions that are not indexed
  size_t before_ = 0;         // number of these dimensions before the indices
};

inline Error read_list(const AtenTensorHandle** handles, int64_t count,
                       std::vector<AtenTensorHandle>& list) {
  ArrayRef<const AtenTensorHandle*> given;
  TENON_TRY(read_values("indices", handles, count, given));
  for (const AtenTensorHandle* each : given) list.push_back(each == nullptr ? nullptr : *each);
  return Error::Ok;
}

/// Computes self[indices].
inline Error gather_by_indices(const Tensor& self, const std::vector<AtenTensorHandle>& handles,
                               AtenTensorHandle* ret) {
  AotiIndexing indexing;
  TENON_TRY(indexing.read(self, handles));
  const std::vector<size_t> order = indexing.order(self, nullptr);
  AotiShape shape;
  shape.type = self.scalar_type();
  shape.sizes = indexing.sizes;
  shape.strides = Dims(strides_in_order(shape.sizes, order));
  TENON_TRY(shape.check());
  const bool is_empty = product(shape.sizes) == 0;
  std::vector<size_t> all(indexing.shape().size());
  for (size_t d = 0; d < all.size(); ++d) all[d] = d;
  AotiDims places;
  if (!is_empty) TENON_TRY(indexing.find(self.strides(), all, places));
  Tensor made;
  TENON_TRY(aoti_empty(shape, made));
  if (is_empty) return make_aoti_handle(std::move(made), *ret);

  const size_t before = indexing.before_count();
  const size_t middle = before + indexing.shape().size();
  const ArrayRef<int64_t> to = shape.strides;
  const AotiDims before_sizes = indexing.before(self.sizes());
  AotiDims after_sizes = indexing.after(self.sizes());
  AotiDims after_from = indexing.after(self.strides());
  AotiDims after_to(to.begin() + middle, to.end());
  const size_t item = elementSize(shape.type);
  // Inner dimensions that are dense in both are copied as one block.
  int64_t block = 1;
  while (!after_sizes.empty() &&
         (after_sizes.back() == 1 || (after_from.back() == block && after_to.back() == block))) {
    block *= after_sizes.back();
    after_sizes.pop_back();
    after_from.pop_back();
    after_to.pop_back();
  }
  const AotiDims outer_from = offsets_of(before_sizes, indexing.before(self.strides()));
  const AotiDims outer_to = offsets_of(before_sizes, to);
  const AotiDims places_to = offsets_of(indexing.shape(), {to.data() + before, middle - before});
  const AotiDims inner_from = offsets_of(after_sizes, after_from);
  const AotiDims inner_to = offsets_of(after_sizes, after_to);
  const auto* const source = static_cast<const char*>(fields(TensorArg(self)).data);
  auto* const target = static_cast<char*>(fields(TensorArg(made)).data);
  const auto each = [&](const auto& copy) {
    const auto bytes = static_cast<int64_t>(item);
    for (size_t b = 0; b < outer_from.size(); ++b) {
      for (size_t k = 0; k < places.size(); ++k) {
        const char* const from = source + (outer_from[b] + places[k]) * bytes;
        char* const into = target + (outer_to[b] + places_to[k]) * bytes;
        for (size_t a = 0; a < inner_from.size(); ++a) {
          copy(into + inner_to[a] * bytes, from + inner_from[a] * bytes);
        }
      }
    }
  };
  if (block == 1) {
    with_element_copy(item, each);
  } else {
    const size_t bytes = static_cast<size_t>(block) * item;
    each([bytes](void* into, const void* from) { std::memcpy(into, from, bytes); });
  }
  return make_aoti_handle(std::move(made), *ret);
}

/// Makes `result` by make(type) and copies `self` to it. Then replaces the indexed elements by
/// `values`, or adds `values` to them.
template <class Make>
Error put_by_indices(const Tensor& self, const std::vector<AtenTensorHandle>& handles,
                     AtenTensorHandle values_handle, bool accumulates, AotiResult& result,
                     const Make& make) {
  const ScalarType type = self.scalar_type();
  const ScalarType work = accumulates ? computed_type(type) : type;
  AotiIndexing indexing;
  TENON_TRY(indexing.read(self, handles));
  Tensor given;
  TENON_TRY(read_aoti(values_handle, "the values", given));
  if (given.scalar_type() != type) {
    return fail(Error::InvalidType, "the values have type ", given.scalar_type(),
                ", expected the tensor's type ", type);
  }
  Dims sizes = indexing.sizes;
  TENON_TRY(broadcast_sizes(given.sizes(), sizes));
  if (sizes != indexing.sizes) {
    return fail(Error::InvalidArgument, "values of sizes ", given.sizes(),
                " do not broadcast to the sizes ", indexing.sizes, " of the indexed elements");
  }
  Tensor values;
  TENON_TRY(make_dense(given, work, values));
  const AotiDims spread = AotiIndexing::broadcast_strides(given.sizes(), given.strides(), sizes);
  const size_t before = indexing.before_count();
  const size_t middle = before + indexing.shape().size();
  std::vector<size_t> order;  // order of the indices' dimensions, outermost first
  for (const size_t d : indexing.order(self, &spread)) {
    if (d >= before && d < middle) order.insert(order.begin(), d - before);
  }
  const AotiDims own = dense_strides(self.sizes());
  AotiDims places;
  if (product(sizes) != 0) TENON_TRY(indexing.find(own, order, places));
  TENON_TRY(make(work));
  TENON_TRY(separate(result.tensor(), values));
  if (product(sizes) == 0) return result.copy_from(self);

  const AotiDims dense =
      AotiIndexing::broadcast_strides(given.sizes(), dense_strides(given.sizes()), sizes);
  AotiDims shape;
  AotiDims shape_from;
  for (const size_t d : order) {
    shape.push_back(indexing.shape()[d]);
    shape_from.push_back(dense[before + d]);
  }
  const AotiDims before_sizes = indexing.before(self.sizes());
  const AotiDims after_sizes = indexing.after(self.sizes());
  const AotiDims outer_to = offsets_of(before_sizes, indexing.before(own));
  const AotiDims outer_from = offsets_of(before_sizes, dense);
  const AotiDims places_from = offsets_of(shape, shape_from);
  const AotiDims inner_to = offsets_of(after_sizes, indexing.after(own));
  const AotiDims inner_from =
      offsets_of(after_sizes, {dense.data() + middle, dense.size() - middle});
  TENON_TRY(result.copy_from(self));  // last, so that no failure leaves the output half written
  const auto each = [&](const auto& put) {
    for (size_t b = 0; b < outer_to.size(); ++b) {
      for (size_t k = 0; k < places.size(); ++k) {
        const int64_t to = outer_to[b] + places[k];
        const int64_t from = outer_from[b] + places_from[k];
        for (size_t a = 0; a < inner_to.size(); ++a) put(to + inner_to[a], from + inner_from[a]);
      }
    }
  };
  if (!accumulates) {
    const auto* const from = dense_data<char>(values);
    auto* const to = result.data<char>();
    const auto item = static_cast<int64_t>(elementSize(type));
    with_element_copy(elementSize(type), [&](const auto& copy) {
      each([&](int64_t t, int64_t f) { copy(to + t * item, from + f * item); });
    });
    return Error::Ok;
  }
  // A complex number is added as two.
  const int64_t parts = isComplexType(type) ? 2 : 1;
  const ScalarType part = work == ScalarType::ComplexFloat    ? ScalarType::Float
                          : work == ScalarType::ComplexDouble ? ScalarType::Double
                                                              : work;
  return on_computed_type(part, [&](auto zero) {
    using T = decltype(zero);
    const T* const from = dense_data<T>(values);
    T* const to = result.data<T>();
    each([&](int64_t t, int64_t f) {
      for (int64_t p = 0; p < parts; ++p) {
        to[t * parts + p] = wrapping_sum(to[t * parts + p], from[f * parts + p]);
      }
    });
    return Error::Ok;
  });
}

#pragma GCC visibility push(default)
extern "C" {

AOTITorchError aoti_torch_cpu_index_Tensor(AtenTensorHandle self, const AtenTensorHandle** indices,
                                           int64_t indices_len_, AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    Tensor given;
    std::vector<AtenTensorHandle> list;
    TENON_TRY(read_aoti(self, "the input", given));
    TENON_TRY(read_list(indices, indices_len_, list));
    return gather_by_indices(given, list, ret0);
  });
}
AOTITorchError aoti_torch_cpu_index_put(AtenTensorHandle self, const AtenTensorHandle** indices,
                                        int64_t indices_len_, AtenTensorHandle values,
                                        int32_t accumulate, AtenTensorHandle* ret0) {
  return aoti_answer(__func__, [&] {
    Tensor given;
    AotiResult result;
    TENON_TRY(read_aoti(self, "the input", given));
    std::vector<AtenTensorHandle> list;
    TENON_TRY(read_list(indices, indices_len_, list));
    TENON_TRY(put_by_indices(given, list, values, accumulate != 0, result, [&](ScalarType work) {
      return result.make_like(given, given.scalar_type(), work);
    }));
    return result.finish(ret0);
  });
}
AOTITorchError aoti_torch_index_put_out(AtenTensorHandle out, AtenTensorHandle self,
                                        const AtenTensorHandle* indices, const uint32_t num_indices,
                                        const AtenTensorHandle values, bool accumulate) {
  return aoti_answer(__func__, [&] {
    Tensor given;
    Tensor target;
    AotiResult result;
    TENON_TRY(read_aoti(self, "the input", given));
    TENON_TRY(read_aoti(out, "the output", target));
    TENON_TRY(check_out(target, given.sizes(), given.scalar_type()));
    ArrayRef<AtenTensorHandle> handles;
    TENON_TRY(read_values("indices", indices, num_indices, handles));
    const std::vector<AtenTensorHandle> list(handles.begin(), handles.end());
    TENON_TRY(put_by_indices(given, list, values, accumulate, result,
                             [&](ScalarType work) { return result.use(target, work); }));
    return result.finish();
  });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace detail
TENON_END_NAMESPACE
