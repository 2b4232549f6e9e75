// SPDX-License-Identifier: MIT
// MpiRecord: what a rank says of a call to the others, where a Communicator checks shapes.
#pragma once

#include "tenon/interop/mpi/part.h"
#include "tenon/interop/mpi/reduction.h"
#include "tenon/tensor/tensor_arg.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The functions that ranks call together, in the order of their names below.
enum class MpiCall : uint8_t { Send, Bcast, Scatter, Gather, Allgather, Allreduce, ReduceScatter };

constexpr const char* toString(MpiCall call) noexcept {
  return name_at("send\0bcast\0scatter\0gather\0allgather\0allreduce\0reduce_scatter",
                 static_cast<size_t>(call));
}

/// One call's arguments. Numbers that MPI sends as they are.
struct MpiRecord {
  static constexpr int64_t kNone = INT64_MIN;
  int64_t error = 0;  // that the rank found in its arguments, and that it returns
  int64_t call = 0;
  int64_t root = kNone;
  int64_t dim = kNone;
  int64_t op = kNone;
  int64_t type = static_cast<int64_t>(ScalarType::Undefined);
  int64_t rank = 0;
  int64_t sizes[kMaxDims] = {};

  explicit MpiRecord(MpiCall called = MpiCall::Send) noexcept
      : call(static_cast<int64_t>(called)) {}

  void describe(const TensorArg& tensor) noexcept {
    const TensorFields& t = fields(tensor);
    type = static_cast<int64_t>(t.type);
    rank = static_cast<int64_t>(t.layout.sizes.size());
    if (dim != kNone && dim < 0) dim += rank;
    for (size_t d = 0; d < t.layout.sizes.size(); ++d) sizes[d] = t.layout.sizes[d];
  }
  ArrayRef<int64_t> shape() const noexcept { return {sizes, static_cast<size_t>(rank)}; }
};
/// In MPI_INT64_T.
inline constexpr int kMpiRecordLength = sizeof(MpiRecord) / sizeof(int64_t);

/// "scatter of Float {4, 3}, dim 0, root 1".
inline void append(Message& out, const MpiRecord& record) noexcept {
  const auto put = [&](const auto&... parts) { (append(out, parts), ...); };
  put(toString(static_cast<MpiCall>(record.call)), " of ",
      toString(static_cast<ScalarType>(record.type)), ' ');
  append_list(out, record.sizes, static_cast<size_t>(record.rank));
  if (record.dim != MpiRecord::kNone) put(", dim ", record.dim);
  if (record.op != MpiRecord::kNone) put(", ", toString(static_cast<mpi::Op>(record.op)));
  if (record.root != MpiRecord::kNone) put(", root ", record.root);
}

/// Whether the rank at `r` of `ranks` called what `reference` called. Of scatter and gather the
/// root has all, and each rank its part.
inline bool agrees(const MpiRecord& record, int r, const MpiRecord& reference, int ranks) noexcept {
  bool same = record.call == reference.call && record.root == reference.root &&
              record.dim == reference.dim && record.op == reference.op &&
              record.type == reference.type && record.rank == reference.rank;
  const auto call = static_cast<MpiCall>(record.call);
  const bool has_part =
      (call == MpiCall::Scatter || call == MpiCall::Gather) && r != reference.root;
  for (int64_t d = 0; same && d < record.rank; ++d) {
    const int64_t size = reference.sizes[d];
    same = record.sizes[d] == (has_part && d == record.dim ? mpi::part(size, ranks, r).size : size);
  }
  return same;
}

/// Whether all ranks called the same.
/// Errors: InvalidArgument, with the first rank that did not.
inline Error compare_records(const MpiRecord* all, int ranks) noexcept {
  for (int r = 0; r < ranks; ++r) {
    if (TENON_UNLIKELY(all[r].error != 0)) {
      return fail(Error::InvalidArgument, "rank ", r,
                  " found an error in its arguments: ", toString(static_cast<Error>(all[r].error)));
    }
  }
  const int known = all[0].root == MpiRecord::kNone ? 0 : static_cast<int>(all[0].root);
  for (int r = 0; r < ranks; ++r) {
    if (TENON_UNLIKELY(!agrees(all[r], r, all[known], ranks))) {
      return fail(Error::InvalidArgument, "rank ", r, " called ", all[r], "; rank ", known,
                  " called ", all[known]);
    }
  }
  return Error::Ok;
}

/// Tells all ranks of a call's arguments, in which the rank has found `error`, before the call.
/// Collective. `all` has room for every rank's record.
inline Error agree(MPI_Comm comm, int ranks, MpiRecord& mine, Error error,
                   MpiRecord* all) noexcept {
  mine.error = static_cast<int64_t>(error);
  TENON_TRY(check_mpi("MPI_Allgather", MPI_Allgather(&mine, kMpiRecordLength, MPI_INT64_T, all,
                                                     kMpiRecordLength, MPI_INT64_T, comm)));
  TENON_TRY(error);
  return compare_records(all, ranks);
}

/// Compares a message's record, from rank `source`, with the receiver's.
inline Error compare_message(const MpiRecord& message, int source, const MpiRecord& own) noexcept {
  if (agrees(message, source, own, 1)) return Error::Ok;
  return fail(Error::InvalidArgument, "rank ", source, " called ", message,
              "; the tensor to receive it is ", toString(static_cast<ScalarType>(own.type)), ' ',
              own.shape());
}

}  // namespace detail
TENON_END_NAMESPACE
