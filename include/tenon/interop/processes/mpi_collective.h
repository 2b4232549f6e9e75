// SPDX-License-Identifier: MIT
// Functions that all ranks call together.
#pragma once

#include "tenon/interop/processes/mpi_agreement.h"
#include "tenon/interop/processes/mpi_buffer.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Calls MPI for pieces of a buffer's elements, since some versions count bytes in int, and stores
/// what it has written. It is called without elements, too: the other ranks call it.
template <class Call>
Error call_in_pieces(const MpiBuffer& buffer, const Call& call) noexcept {
  constexpr int64_t kMost = 1 << 26;  // of at most 16 bytes each
  int64_t done = 0;
  do {
    const int64_t n = buffer.numel - done < kMost ? buffer.numel - done : kMost;
    TENON_TRY(check_mpi(call(buffer.at(done), static_cast<int>(n))));
    done += n;
  } while (done < buffer.numel);
  return buffer.store();
}

/// A tensor and the part that a rank has of it, cut along a dimension, which comes first here.
struct MpiParts {
  Tensor all;  // undefined where the rank has none
  Tensor mine;
  MpiBuffer whole;
  MpiBuffer part;

  /// `source` is null where the rank has none. `cuts` says that the parts are made of the whole,
  /// else the whole is made of the parts.
  Error prepare(const MpiRanks& ranks, const TensorArg* source, const TensorArg& piece, int64_t dim,
                bool cuts, MpiForm form = MpiForm::Contiguous) noexcept {
    TENON_TRY(put_dim_first(piece, "the part", dim, mine));
    TENON_TRY(part.find(mine, "the part", cuts ? MpiUse::Write : MpiUse::Read, form));
    // MPICH looks at addresses only, and an empty part may have the whole's.
    if (part.numel == 0) part.data = nullptr;
    if (source == nullptr) return Error::Ok;
    TENON_TRY(put_dim_first(*source, "the whole", dim, all));
    TENON_TRY(check_part(*source, piece, dim, ranks.size, ranks.rank));
    TENON_TRY(whole.find(all, "the whole", cuts ? MpiUse::Read : MpiUse::Write, form));
    if (whole.numel > INT_MAX) {
      return fail(Error::NotSupported, whole.numel, " elements are more than MPI counts");
    }
    TENON_TRY(check_apart(whole, part));
    ranks.set_parts(all.size(0), whole.numel == 0 ? 0 : whole.numel / all.size(0));
    return Error::Ok;
  }
};

inline Error broadcast(const MpiRanks& ranks, const TensorArg& t, int root) noexcept {
  TENON_TRY(ranks.check_usable());
  MpiBuffer buffer;
  const auto use = ranks.rank == root ? MpiUse::Read : MpiUse::Write;
  Error error = check_rank("root", root, ranks.size);
  if (error == Error::Ok) error = buffer.find(t, "the tensor", use, MpiForm::Contiguous);
  TENON_TRY(ranks.agree(error, MpiRecord(MpiCall::Bcast, root), t));
  const MPI_Datatype element = mpi_element(buffer.scalar_type);
  return call_in_pieces(
      buffer, [&](void* at, int n) { return MPI_Bcast(at, n, element, root, ranks.comm.get()); });
}

/// Scatter, Gather or Allgather, which has no root.
inline Error cut_or_join(const MpiRanks& ranks, MpiCall call, const TensorArg& all,
                         const TensorArg& piece, int64_t root, int64_t dim) noexcept {
  TENON_TRY(ranks.check_usable());
  const bool has_all = root == MpiRecord::kNone || root == ranks.rank;
  const auto at_root = static_cast<int>(root);
  MpiParts p;
  Error error = root == MpiRecord::kNone ? Error::Ok : check_rank("root", at_root, ranks.size);
  if (error == Error::Ok) {
    error = p.prepare(ranks, has_all ? &all : nullptr, piece, dim, call == MpiCall::Scatter);
  }
  TENON_TRY(ranks.agree(error, MpiRecord(call, root, dim), has_all ? all : piece));
  const MpiBuffer& part = p.part;
  void* const whole = p.whole.data;
  const MPI_Datatype element = part.type;
  const int* const counts = ranks.parts.get();
  const int* const at = counts + ranks.size;
  const MPI_Comm comm = ranks.comm.get();
  TENON_TRY(check_mpi(
      call == MpiCall::Scatter
          ? MPI_Scatterv(whole, counts, at, element, part.data, part.count, element, at_root, comm)
      : call == MpiCall::Gather
          ? MPI_Gatherv(part.data, part.count, element, whole, counts, at, element, at_root, comm)
          : MPI_Allgatherv(part.data, part.count, element, whole, counts, at, element, comm)));
  TENON_TRY(p.whole.store());
  return part.store();
}

inline Error reduce(const MpiRanks& ranks, const TensorArg& t, mpi::Op op) noexcept {
  TENON_TRY(ranks.check_usable());
  MPI_Op operation = MPI_OP_NULL;
  MpiBuffer buffer;
  const auto prepare = [&]() noexcept -> Error {
    TENON_TRY(check_defined(t, "the tensor"));
    TENON_TRY(find_operation(fields(t).type, op, operation));
    return buffer.find(t, "the tensor", MpiUse::Update, MpiForm::Reducible);
  };
  const MpiRecord record(MpiCall::Allreduce, MpiRecord::kNone, MpiRecord::kNone,
                         static_cast<int64_t>(op));
  TENON_TRY(ranks.agree(prepare(), record, t));
  const MPI_Datatype element = mpi_element(buffer.scalar_type);
  return call_in_pieces(buffer, [&](void* at, int n) {
    return MPI_Allreduce(MPI_IN_PLACE, at, n, element, operation, ranks.comm.get());
  });
}

inline Error reduce_parts(const MpiRanks& ranks, const TensorArg& source, const TensorArg& out,
                          mpi::Op op, int64_t dim) noexcept {
  TENON_TRY(ranks.check_usable());
  MPI_Op operation = MPI_OP_NULL;
  MpiParts p;
  const auto prepare = [&]() noexcept -> Error {
    TENON_TRY(check_defined(source, "the source"));
    TENON_TRY(find_operation(fields(source).type, op, operation));
    return p.prepare(ranks, &source, out, dim, true, MpiForm::Reducible);
  };
  const MpiRecord record(MpiCall::ReduceScatter, MpiRecord::kNone, dim, static_cast<int64_t>(op));
  TENON_TRY(ranks.agree(prepare(), record, source));
  TENON_TRY(check_mpi(MPI_Reduce_scatter(p.whole.data, p.part.data, ranks.parts.get(), p.part.type,
                                         operation, ranks.comm.get())));
  return p.part.store();
}

}  // namespace detail
TENON_END_NAMESPACE
