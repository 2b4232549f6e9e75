// SPDX-License-Identifier: MIT
// MpiRanks: the ranks of a communicator, and how they find out whether they call the same.
#pragma once

#include <cstring>
#include <memory>
#include <new>

#include "tenon/interop/processes/mpi_datatype.h"
#include "tenon/interop/processes/mpi_part.h"
#include "tenon/tensor/tensor.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The functions that ranks call together, in the order of their names below.
enum class MpiCall { Bcast, Scatter, Gather, Allgather, Allreduce, ReduceScatter, Window };

constexpr const char* toString(MpiCall call) noexcept {
  return name_at("bcast\0scatter\0gather\0allgather\0allreduce\0reduce_scatter\0window",
                 static_cast<size_t>(call));
}

/// One call's arguments. Numbers that MPI sends as they are.
struct MpiRecord {
  static constexpr int64_t kNone = INT64_MIN;
  int64_t error = 0;  // that the rank found in its arguments, and that it returns
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
/// In MPI_INT64_T.
inline constexpr int kMpiRecordLength = sizeof(MpiRecord) / sizeof(int64_t);

/// "scatter of Float {4, 3}, dim 0, root 1".
inline void append(Message& out, const MpiRecord& record) noexcept {
  const auto put = [&](const auto&... parts) { (append(out, parts), ...); };
  put(toString(static_cast<MpiCall>(record.call)), " of ",
      toString(static_cast<ScalarType>(record.type)), ' ');
  append(out, ArrayRef<int64_t>(record.sizes, static_cast<size_t>(record.rank)));
  if (record.dim != MpiRecord::kNone) put(", dim ", record.dim);
  if (record.op != MpiRecord::kNone) put(", ", toString(static_cast<mpi::Op>(record.op)));
  if (record.root != MpiRecord::kNone) put(", root ", record.root);
}

/// Whether the rank at `r` of `ranks` called what `reference` called. Of scatter and gather the
/// root has all, and each rank its part.
inline bool agrees(const MpiRecord& record, int r, MpiRecord reference, int ranks) noexcept {
  const auto call = static_cast<MpiCall>(reference.call);
  if ((call == MpiCall::Scatter || call == MpiCall::Gather) && r != reference.root) {
    int64_t& size = reference.sizes[reference.dim];
    size = mpi::part(size, ranks, r).size;
  }
  return std::memcmp(&record, &reference, sizeof record) == 0;
}

/// Whether all ranks called the same.
/// Errors: InvalidArgument, with the first rank that did not.
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

/// `what` is "rank" or "root".
inline Error check_rank(const char* what, int r, int ranks) noexcept {
  if (r >= 0 && r < ranks) return Error::Ok;
  return fail(Error::InvalidArgument, what, ' ', r, " is none of the ", ranks, " ranks");
}

/// The ranks of a communicator.
struct MpiRanks {
  MpiHandle<MPI_Comm, &MPI_Comm_free> comm;
  int rank = 0;
  int size = 0;
  std::unique_ptr<int[]> parts;          // counts and displacements of a collective call
  std::unique_ptr<MpiRecord[]> records;  // of each rank; null where shapes are not checked

  /// Duplicates `given` and reads its ranks. Collective.
  Error make(MPI_Comm parent, bool checks) noexcept {
    TENON_TRY(check_mpi_runs());
    if (parent == MPI_COMM_NULL) {
      return fail(Error::InvalidArgument, "the communicator is MPI_COMM_NULL");
    }
    int is_between = 0;
    TENON_TRY(check_mpi(MPI_Comm_test_inter(parent, &is_between)));
    if (is_between != 0) {
      return fail(Error::InvalidArgument, "it is an intercommunicator, between two groups");
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

  /// Fills in what each rank has of n slabs, of `count` elements each: counts, then displacements.
  void set_parts(int64_t n, int64_t count) const noexcept {
    for (int r = 0; r < size; ++r) {
      const mpi::Part of_rank = mpi::part(n, size, r);
      parts[static_cast<size_t>(r)] = static_cast<int>(of_rank.size * count);
      parts[static_cast<size_t>(size + r)] = static_cast<int>(of_rank.begin * count);
    }
  }

  /// Tells all ranks of a call's arguments, of which this one found `error`, before the call, where
  /// shapes are checked. Collective. `tensor` is what the record tells of; of a window's, which may
  /// differ, it tells nothing.
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

}  // namespace detail
TENON_END_NAMESPACE
