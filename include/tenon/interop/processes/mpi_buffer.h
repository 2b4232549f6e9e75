// SPDX-License-Identifier: MIT
// part: computes each rank's indices of a dimension. MpiRanks: the ranks of a communicator, and the
// check that all of them make the same call. MpiBuffer: the memory and the datatype with which MPI
// reads or writes a tensor.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <new>

#include "tenon/core/error.h"
#include "tenon/interop/processes/mpi_datatype.h"
#include "tenon/tensor/copy.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/view.h"

#if __has_include(<mpi-ext.h>) && defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

TENON_BEGIN_NAMESPACE
namespace mpi {

/// Consecutive indices of a dimension.
/// Threads: as a plain value.
struct Part {
  int64_t begin;  ///< the first index
  int64_t size;   ///< how many
};

/// Divides `n` indices among `ranks` ranks, and returns the part of `rank`: n / ranks indices, and
/// one more for each of the first n % ranks ranks. If n < ranks, the parts from rank n on are
/// empty.
/// Errors: InvalidArgument, raised, unless n >= 0 and 0 <= rank < ranks.
/// Source: numpy.array_split.
inline Part part(int64_t n, int ranks, int rank) {
  TENON_CHECK(n >= 0 && rank >= 0 && rank < ranks, Error::InvalidArgument, "part: rank ", rank,
              " of ", ranks, " has no part of ", n);
  const int64_t least = n / ranks;
  const int64_t more = n % ranks;
  return {rank * least + (rank < more ? rank : more), least + (rank < more ? 1 : 0)};
}

}  // namespace mpi

namespace detail {

/// The functions that all ranks call together, in the order of their names below.
enum class MpiCall { Bcast, Scatter, Gather, Allgather, Allreduce, ReduceScatter, Window };

constexpr const char* toString(MpiCall call) noexcept {
  return name_at("bcast\0scatter\0gather\0allgather\0allreduce\0reduce_scatter\0window",
                 static_cast<size_t>(call));
}

/// The arguments of a call, as numbers that MPI can send.
struct MpiRecord {
  static constexpr int64_t kNone = INT64_MIN;
  int64_t error = 0;  // an error in the rank's arguments, which the call returns on that rank
  int64_t call;
  int64_t root;
  int64_t dim;
  int64_t op;
  int64_t type = static_cast<int64_t>(ScalarType::Undefined);
  int64_t rank = 0;
  int64_t sizes[kMaxDims] = {};

  explicit MpiRecord(MpiCall called = MpiCall::Bcast, int64_t at_root = kNone,
                     int64_t along = kNone, int64_t by = kNone) noexcept
      : call(static_cast<int64_t>(called)), root(at_root), dim(along), op(by) {}

  void describe(const TensorArg& tensor) noexcept {
    if (call == static_cast<int64_t>(MpiCall::Window)) return;
    const TensorFields& t = fields(tensor);
    type = static_cast<int64_t>(t.type);
    rank = static_cast<int64_t>(t.layout.rank());
    if (dim != kNone && dim < 0) dim += rank;
    for (size_t d = 0; d < t.layout.rank(); ++d) sizes[d] = t.layout.sizes()[d];
  }
};
/// A record's length in MPI_INT64_T.
inline constexpr int kMpiRecordLength = sizeof(MpiRecord) / sizeof(int64_t);

/// Appends "scatter of Float {4, 3}, dim 0, root 1".
inline void append(Message& out, const MpiRecord& record) noexcept {
  const auto put = [&](const auto&... parts) { (append(out, parts), ...); };
  put(toString(static_cast<MpiCall>(record.call)), " of ",
      toString(static_cast<ScalarType>(record.type)), ' ');
  append(out, ArrayRef<int64_t>(record.sizes, static_cast<size_t>(record.rank)));
  if (record.dim != MpiRecord::kNone) put(", dim ", record.dim);
  if (record.op != MpiRecord::kNone) put(", ", toString(static_cast<mpi::Op>(record.op)));
  if (record.root != MpiRecord::kNone) put(", root ", record.root);
}

/// Whether the call of rank `r` agrees with the call `reference`. In scatter and gather, the root's
/// record describes the whole tensor, and every other rank's record its part.
inline bool agrees(const MpiRecord& record, int r, MpiRecord reference, int ranks) noexcept {
  const auto call = static_cast<MpiCall>(reference.call);
  if ((call == MpiCall::Scatter || call == MpiCall::Gather) && r != reference.root) {
    int64_t& size = reference.sizes[reference.dim];
    size = mpi::part(size, ranks, r).size;
  }
  return std::memcmp(&record, &reference, sizeof record) == 0;
}

/// Checks that all ranks made the same call.
/// Errors: InvalidArgument, which names the first rank whose call differs.
inline Error compare_records(const MpiRecord* all, int ranks) noexcept {
  for (int r = 0; r < ranks; ++r) {
    if (all[r].error != 0) {
      return fail(Error::InvalidArgument, "rank ", r,
                  " found an error in its arguments: ", toString(static_cast<Error>(all[r].error)));
    }
  }
  const int known = all[0].root == MpiRecord::kNone ? 0 : static_cast<int>(all[0].root);
  for (int r = 0; r < ranks; ++r) {
    if (!agrees(all[r], r, all[known], ranks)) {
      return fail(Error::InvalidArgument, "rank ", r, " called ", all[r], "; rank ", known,
                  " called ", all[known]);
    }
  }
  return Error::Ok;
}

/// Checks that `r` is a rank. `what`: "rank" or "root".
inline Error check_rank(const char* what, int r, int ranks) noexcept {
  if (r >= 0 && r < ranks) return Error::Ok;
  return fail(Error::InvalidArgument, what, ' ', r, " is not one of the ", ranks, " ranks");
}

/// The ranks of a communicator.
struct MpiRanks {
  MpiHandle<MPI_Comm, &MPI_Comm_free> comm;
  int rank = 0;
  int size = 0;
  std::unique_ptr<int[]> parts;          // for collective calls: counts, then displacements
  std::unique_ptr<MpiRecord[]> records;  // one for each rank; null if shapes are not checked

  /// Duplicates `parent`, and sets rank and size. Collective.
  Error make(MPI_Comm parent, bool checks) noexcept {
    TENON_TRY(check_mpi_runs());
    if (parent == MPI_COMM_NULL) {
      return fail(Error::InvalidArgument, "the communicator is MPI_COMM_NULL");
    }
    int is_between = 0;
    TENON_TRY(check_mpi(MPI_Comm_test_inter(parent, &is_between)));
    if (is_between != 0) {
      return fail(Error::InvalidArgument, "it is an intercommunicator, which connects two groups");
    }
    MPI_Comm made = MPI_COMM_NULL;
    TENON_TRY(check_mpi(MPI_Comm_dup(parent, &made)));
    MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    comm = MpiHandle<MPI_Comm, &MPI_Comm_free>(made);
    MPI_Comm_rank(parent, &rank);
    MPI_Comm_size(parent, &size);
    const auto n = static_cast<size_t>(size);
    parts.reset(new (std::nothrow) int[2 * n]);
    if (checks) records.reset(new (std::nothrow) MpiRecord[n]);
    const bool has_memory = parts != nullptr && (records != nullptr || !checks);
    return !has_memory ? fail_no_memory("the ranks") : Error::Ok;
  }

  Error check_usable() const noexcept {
    if (!comm) return fail(Error::InvalidState, "the communicator was moved from");
    return is_mpi_finalized() ? check_mpi_runs() : Error::Ok;
  }
  Error check_peer(int peer, int tag, bool is_receive) const noexcept {
    const bool is_any = is_receive && peer == MPI_ANY_SOURCE;
    if (!is_any && peer != MPI_PROC_NULL) TENON_TRY(check_rank("rank", peer, size));
    if (tag >= 0 || (is_receive && tag == MPI_ANY_TAG)) return Error::Ok;
    return fail(Error::InvalidArgument, "tag ", tag, " is negative");
  }

  /// Sets `parts` for n slabs of `count` elements each: the number of elements and the displacement
  /// of each rank's part.
  void set_parts(int64_t n, int64_t count) const noexcept {
    for (int r = 0; r < size; ++r) {
      const mpi::Part of_rank = mpi::part(n, size, r);
      parts[static_cast<size_t>(r)] = static_cast<int>(of_rank.size * count);
      parts[static_cast<size_t>(size + r)] = static_cast<int>(of_rank.begin * count);
    }
  }

  /// If shapes are checked, exchanges the call's arguments and this rank's `error` before the call,
  /// and fails if the ranks disagree. Collective. The record describes `tensor`, except for
  /// windows, whose tensors may differ.
  Error agree(Error error, MpiRecord record, const TensorArg& tensor) const noexcept {
    if (records == nullptr) return error;
    if (error == Error::Ok) record.describe(tensor);
    record.error = static_cast<int64_t>(error);
    TENON_TRY(check_mpi(MPI_Allgather(&record, kMpiRecordLength, MPI_INT64_T, records.get(),
                                      kMpiRecordLength, MPI_INT64_T, comm.get())));
    TENON_TRY(error);
    return compare_records(records.get(), size);
  }
};

/// Whether MPI accepts addresses of CUDA memory.
/// Source: MPIX_Query_cuda_support of Open MPI; false for other libraries.
inline bool is_mpi_cuda_aware() noexcept {
#if defined(MPIX_CUDA_AWARE_SUPPORT)
  return MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

/// How MPI accesses a tensor's elements.
enum class MpiUse : uint8_t { Read = 1, Write = 2, Update = 3 };

/// The form in which MPI requires the elements.
enum class MpiForm : uint8_t {
  Any,         ///< with any strides that MPI handles fast
  Contiguous,  ///< contiguous
  Reducible,   ///< contiguous, and of a dtype that MPI can combine
};

/// A tensor as an argument of MPI. If MPI cannot access the tensor's memory in the required form, a
/// contiguous copy on the host, perhaps of another dtype, takes its place.
struct MpiBuffer : MpiElements {
  void* data = nullptr;
  int64_t numel = 0;
  ScalarType scalar_type = ScalarType::Undefined;
  Tensor copy;    // the copy at `data`, if there is one
  Tensor target;  // the caller's tensor, if MPI writes to the copy

  /// Finds the memory that MPI accesses. If it is a copy that MPI reads, copies the elements to it.
  Error find(const TensorArg& tensor, const char* role, MpiUse use,
             MpiForm form = MpiForm::Any) noexcept {
    TENON_TRY(check_defined(tensor, role));
    const TensorFields& t = fields(tensor);
    scalar_type = form == MpiForm::Reducible ? reduced_as(t.type) : t.type;
    numel = t.layout.numel;
    data = t.data;
    // Most tensors pass this test, and need no further checks.
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
      // MPI does not know the backend's streams: waits for the work on them.
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

  /// The address of element i. Precondition: the elements are contiguous.
  void* at(int64_t i) const noexcept {
    return static_cast<char*>(data) + i * static_cast<int64_t>(elementSize(scalar_type));
  }
  /// Copies MPI's results to the tensor, if they are in a copy.
  Error store() const noexcept { return target.defined() ? copy_(target, copy) : Error::Ok; }
};

/// Makes a view with `dim` and dimension 0 exchanged.
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

/// Checks that `part` has the sizes of the rank's part() of `all` along `dim`. Precondition: the
/// dimension exists.
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
                " along dimension ", d, " has sizes ", sizes, ", but its tensor has ",
                p.layout.sizes());
  }
  return Error::Ok;
}

/// MPI's functions require that the memory they read and the memory they write do not overlap.
/// Precondition: both buffers are contiguous, and the address of an empty part is null.
inline Error check_apart(const MpiBuffer& one, const MpiBuffer& other) noexcept {
  const std::less<void*> below;
  const bool meet = below(one.data, other.at(other.numel)) && below(other.data, one.at(one.numel));
  if (!meet) return Error::Ok;
  return fail(Error::InvalidArgument, "the tensors share memory, which MPI does not allow");
}

}  // namespace detail
TENON_END_NAMESPACE
