// SPDX-License-Identifier: MIT
// MpiBuffer: where MPI reads or writes a tensor's elements, and as what.
#pragma once

#include "tenon/interop/mpi/datatype.h"
#include "tenon/interop/mpi/part.h"
#include "tenon/tensor/copy.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/view.h"

#if __has_include(<mpi-ext.h>) && defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

TENON_BEGIN_NAMESPACE
namespace detail {

/// Whether MPI takes addresses of CUDA's memory.
/// Source: MPIX_Query_cuda_support of Open MPI; other libraries are not asked.
inline bool is_mpi_cuda_aware() noexcept {
#if defined(MPIX_CUDA_AWARE_SUPPORT)
  return MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

/// What is done with a tensor's elements.
enum class MpiUse : uint8_t { Read = 1, Write = 2, Update = 3 };

/// What MPI requires of the memory.
enum class MpiForm : uint8_t {
  Any,         ///< any strides
  Contiguous,  ///< elements one after another: the others go by way of a copy
  Host,        ///< and the host's memory
};

/// A tensor as an argument of MPI's functions: memory, a count and a datatype. A contiguous one is
/// its data, the number of elements and their type. What MPI cannot reach, or not as required, goes
/// by way of a contiguous copy on the host.
struct MpiBuffer {
  void* data = nullptr;
  int count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Datatype element = MPI_DATATYPE_NULL;
  int64_t numel = 0;
  int64_t element_size = 0;
  bool contiguous = false;  // whether the elements at `data` are
  MpiType made;             // what `type` is, where it had to be made
  Tensor copy;              // the tensor at `data`, where that is not the caller's

  /// Finds the memory, and copies to it what MPI is to read.
  Error find(const TensorArg& tensor, const char* role, MpiUse use,
             MpiForm form = MpiForm::Any) noexcept {
    TENON_TRY(check_defined(tensor, role));
    const TensorFields& t = fields(tensor);
    element = mpi_element(t.type);
    numel = t.layout.numel;
    element_size = static_cast<int64_t>(elementSize(t.type));
    contiguous = t.layout.is_contiguous();
    data = t.data;
    // Most tensors: a Place, which has the lists, costs as much as all else before MPI's function.
    if (t.layout.row_major && t.data != nullptr && !t.readonly && t.backend == nullptr &&
        t.is_host_accessible()) {
      return Error::Ok;
    }
    Place place;
    TENON_TRY(use == MpiUse::Read ? find_source(tensor, role, place)
                                  : find_destination(tensor, role, place));
    bool reaches = place.backend == nullptr;
    if (!reaches && t.device.is_cuda() && !t.opaque && form != MpiForm::Host &&
        is_mpi_cuda_aware()) {
      // What was enqueued comes first: MPI knows nothing of the backend's streams.
      TENON_TRY(ask(*place.backend, "synchronize", [&] { return place.backend->synchronize(); }));
      reaches = true;
    }
    if (reaches && (contiguous || form == MpiForm::Any)) return Error::Ok;
    Result<TensorPtr> host = try_empty(t.layout.sizes, public_type(t.type), host_backend());
    TENON_TRY(host.error());
    copy = **host;
    data = fields(TensorArg(copy)).data;
    contiguous = true;
    return use == MpiUse::Write ? Error::Ok : copy_(copy, tensor);
  }

  /// The i-th element of contiguous ones.
  void* at(int64_t i) const noexcept { return static_cast<char*>(data) + i * element_size; }
  /// Copies what MPI has written to the tensor.
  Error store(const TensorArg& tensor) const noexcept {
    return copy.defined() ? copy_(tensor, copy) : Error::Ok;
  }

  /// Describes all elements, in row-major order. With `first` 1, what dimension 0 has at an index,
  /// so that `count` of `type` are one slab, and those of the next index follow by the type's
  /// extent. `as_one` makes that a datatype in any case.
  Error describe(const TensorArg& tensor, size_t first = 0, bool as_one = false) noexcept {
    const TensorFields& t = fields(tensor);
    const Dims& sizes = t.layout.sizes;
    const Dims& strides = t.layout.strides;
    const int64_t n = numel == 0 || first == 0 ? numel : numel / sizes[0];
    if (TENON_UNLIKELY(numel != 0 && (!contiguous || numel > INT_MAX || as_one))) {
      const int64_t one = 1;
      TENON_TRY(contiguous
                    ? make_mpi_shape({&n, 1}, {&one, 1}, t.type, made)
                    : make_mpi_shape({sizes.data() + first, sizes.size() - first},
                                     {strides.data() + first, sizes.size() - first}, t.type, made));
      if (first == 1) {
        if (TENON_UNLIKELY(sizes[0] > INT_MAX)) {
          return fail(Error::NotSupported, "size ", sizes[0],
                      " of the dimension is more than MPI "
                      "counts; view() makes two dimensions of it");
        }
        const int64_t step = contiguous ? n : sizes[0] == 1 ? 0 : strides[0];
        TENON_TRY(resize_mpi_type(step * element_size, made));
      }
      type = made.get();
      count = 1;
      return commit_mpi_type(made);
    }
    type = element;
    count = static_cast<int>(n);
    return Error::Ok;
  }
};

/// The tensor with `dim` as its first dimension: a handle to it, or a view.
inline Error move_dim_first(const TensorArg& tensor, const char* role, int64_t dim,
                            Tensor& moved) noexcept {
  TENON_TRY(check_defined(tensor, role));
  const size_t rank = fields(tensor).layout.sizes.size();
  size_t d = 0;
  TENON_TRY(wrap_dim(dim, rank, d));
  moved = tensor.tensor();
  if (d == 0) return Error::Ok;
  Dims order;
  order.push_back(static_cast<int64_t>(d));
  for (size_t i = 0; i < rank; ++i) {
    if (i != d) order.push_back(static_cast<int64_t>(i));
  }
  Result<Tensor> view = try_permute(tensor, order);
  TENON_TRY(view.error());
  moved = *std::move(view);
  return Error::Ok;
}

/// Whether `part` is the part() of `dim` that a rank has of `all`. The dimension exists.
inline Error check_part(const TensorArg& all, const TensorArg& part, int64_t dim, int ranks,
                        int rank) noexcept {
  const TensorFields& a = fields(all);
  const TensorFields& p = fields(part);
  if (TENON_UNLIKELY(a.type != p.type)) {
    return fail(Error::InvalidType, "the tensors are ", a.type, " and ", p.type);
  }
  Dims sizes = a.layout.sizes;
  TENON_TRY(check_dims("sizes", sizes));
  const size_t d = static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(sizes.size()) : dim);
  sizes[d] = mpi::part(sizes[d], ranks, rank).size;
  if (TENON_UNLIKELY(p.layout.sizes != sizes)) {
    return fail(Error::InvalidArgument, "the part of rank ", rank, " of sizes ", a.layout.sizes,
                " along dimension ", d, " is ", sizes, ", its tensor has sizes ", p.layout.sizes);
  }
  return Error::Ok;
}

/// MPI's functions do not allow what they read and what they write to share memory.
inline Error check_apart(const MpiBuffer& read, const TensorArg& source, const MpiBuffer& written,
                         const TensorArg& out) noexcept {
  if (read.copy.defined() || written.copy.defined() || read.numel == 0 || written.numel == 0) {
    return Error::Ok;
  }
  if (TENON_UNLIKELY(
          touch(byte_range(view_of(fields(source))), byte_range(view_of(fields(out)))))) {
    return fail(Error::InvalidArgument, "the tensors share memory, which MPI does not allow");
  }
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
