// SPDX-License-Identifier: MIT
// MpiBuffer: where MPI reads or writes a tensor's elements, and as what.
#pragma once

#include <functional>

#include "tenon/interop/processes/mpi_datatype.h"
#include "tenon/interop/processes/mpi_part.h"
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

/// How MPI uses a tensor's elements.
enum class MpiUse : uint8_t { Read = 1, Write = 2, Update = 3 };

/// The memory that MPI requires.
enum class MpiForm : uint8_t {
  Any,         ///< any strides that suit it
  Contiguous,  ///< elements one after another
  Reducible,   ///< and of a dtype that it can combine
};

/// A tensor as an argument of MPI's functions: elements, and where they are. Elements that MPI
/// cannot reach, or not as required, are in a contiguous copy on the host, which may have another
/// dtype.
struct MpiBuffer : MpiElements {
  void* data = nullptr;
  int64_t numel = 0;
  ScalarType scalar_type = ScalarType::Undefined;
  Tensor copy;    // the tensor at `data`, where that is not the caller's
  Tensor target;  // the caller's, where MPI writes to the copy

  /// Finds the memory, and copies to it what MPI is to read.
  Error find(const TensorArg& tensor, const char* role, MpiUse use,
             MpiForm form = MpiForm::Any) noexcept {
    TENON_TRY(check_defined(tensor, role));
    const TensorFields& t = fields(tensor);
    scalar_type = form == MpiForm::Reducible ? reduced_as(t.type) : t.type;
    numel = t.layout.numel;
    data = t.data;
    // Most tensors, which need no further checks.
    if (scalar_type == t.type && t.layout.row_major && t.data != nullptr && !t.readonly &&
        t.data_backend == nullptr && t.is_host_accessible()) {
      return describe(t.type, numel);
    }
    MemoryLocation location;
    TENON_TRY(use == MpiUse::Read ? find_source(tensor, role, location)
                                  : find_destination(tensor, role, location));
    Backend* const backend = location.backend;
    bool reaches = backend == nullptr;
    if (!reaches && t.device.is_cuda() && !t.opaque && is_mpi_cuda_aware()) {
      // MPI does not know the backend's streams: wait for enqueued work.
      TENON_TRY(call_backend(*backend, "synchronize", [&] { return backend->synchronize(); }));
      reaches = true;
    }
    reaches = reaches && scalar_type == t.type;
    if (reaches && t.layout.is_contiguous()) return describe(t.type, numel);
    if (reaches && form == MpiForm::Any && suits_mpi(t.layout, elementSize(t.type))) {
      return describe(t.type, t.layout);
    }
    Result<TensorPtr> host = try_empty(t.layout.sizes(), public_type(scalar_type), host_backend());
    TENON_TRY(host.error());
    copy = **host;
    data = fields(TensorArg(copy)).data;
    if (use != MpiUse::Read) target = tensor.tensor();
    if (use != MpiUse::Write) TENON_TRY(copy_(copy, tensor));
    return describe(scalar_type, numel);
  }

  /// The i-th element of contiguous ones.
  void* at(int64_t i) const noexcept {
    return static_cast<char*>(data) + i * static_cast<int64_t>(elementSize(scalar_type));
  }
  /// Copies what MPI has written to the tensor.
  Error store() const noexcept { return target.defined() ? copy_(target, copy) : Error::Ok; }
};

/// A view of the tensor in which `dim` is the first dimension, and the first one is `dim`.
inline Error put_dim_first(const TensorArg& tensor, const char* role, int64_t dim,
                           Tensor& turned) noexcept {
  TENON_TRY(check_defined(tensor, role));
  size_t d = 0;
  TENON_TRY(wrap_dim(dim, fields(tensor).layout.rank(), d));
  Result<Tensor> view = try_transpose(tensor, 0, dim);
  TENON_TRY(view.error());
  turned = *std::move(view);
  return Error::Ok;
}

/// Whether `part` is the part() of `dim` that a rank has of `all`. The dimension exists.
inline Error check_part(const TensorArg& all, const TensorArg& part, int64_t dim, int ranks,
                        int rank) noexcept {
  const TensorFields& a = fields(all);
  const TensorFields& p = fields(part);
  if (a.type != p.type) {
    return fail(Error::InvalidType, "the tensors are ", a.type, " and ", p.type);
  }
  Dims sizes = a.layout.sizes();
  TENON_TRY(check_dims("sizes", sizes));
  const size_t d = static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(sizes.size()) : dim);
  sizes[d] = mpi::part(sizes[d], ranks, rank).size;
  if (p.layout.sizes() != sizes) {
    return fail(Error::InvalidArgument, "the part of rank ", rank, " of sizes ", a.layout.sizes(),
                " along dimension ", d, " is ", sizes, ", its tensor has sizes ", p.layout.sizes());
  }
  return Error::Ok;
}

/// MPI's functions do not allow what they read and what they write to share memory. Both are
/// contiguous; a part without elements begins at null.
inline Error check_apart(const MpiBuffer& one, const MpiBuffer& other) noexcept {
  const std::less<void*> below;
  const bool meet = below(one.data, other.at(other.numel)) && below(other.data, one.at(one.numel));
  if (!meet) return Error::Ok;
  return fail(Error::InvalidArgument, "the tensors share memory, which MPI does not allow");
}

}  // namespace detail
TENON_END_NAMESPACE
