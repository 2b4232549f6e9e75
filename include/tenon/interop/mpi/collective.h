// SPDX-License-Identifier: MIT
// What all ranks call together.
#pragma once

#include "tenon/interop/mpi/agreement.h"
#include "tenon/interop/mpi/tensor_buffer.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The elements that a broadcast or a reduction takes at a time: some versions of MPI count bytes
/// in int.
inline int mpi_piece(const MpiBuffer& buffer, int64_t done) noexcept {
  constexpr int64_t kMost = 1 << 26;  // of at most 16 bytes each
  return static_cast<int>(buffer.numel - done < kMost ? buffer.numel - done : kMost);
}

/// A tensor and the part that a rank has of it, cut along a dimension, which comes first here.
struct MpiParts {
  Tensor all;  // undefined where the rank has none
  Tensor mine;
  MpiBuffer whole;
  MpiBuffer part;

  /// `given` is null where the rank has none. `cuts` says that the parts are made of the whole,
  /// else the whole is made of the parts.
  Error prepare(const MpiRanks& ranks, const TensorArg* given, const TensorArg& piece, int64_t dim,
                bool cuts, MpiForm form = MpiForm::Any) noexcept {
    TENON_TRY(move_dim_first(piece, "the part", dim, mine));
    TENON_TRY(part.find(mine, "the part", cuts ? MpiUse::Write : MpiUse::Read, form));
    TENON_TRY(part.describe(mine));
    if (given == nullptr) return Error::Ok;
    TENON_TRY(move_dim_first(*given, "the whole", dim, all));
    TENON_TRY(check_part(*given, piece, dim, ranks.size, ranks.rank));
    TENON_TRY(whole.find(all, "the whole", cuts ? MpiUse::Read : MpiUse::Write, form));
    TENON_TRY(check_apart(whole, all, part, mine));
    TENON_TRY(whole.describe(all, 1));
    ranks.set_parts(all.size(0), whole.count);
    return Error::Ok;
  }
  bool is_even(const MpiRanks& ranks) const noexcept { return all.size(0) % ranks.size == 0; }
  /// Describes both by slabs. Open MPI's ranks choose how to do MPI_Allgatherv by the size of their
  /// own datatype to send times the number of those to receive, and would wait for each other.
  Error describe_alike(const MpiRanks& ranks) noexcept {
    TENON_TRY(whole.describe(all, 1, true));
    TENON_TRY(part.describe(mine, 1, true));
    part.count = part.numel == 0 ? 0 : static_cast<int>(mine.size(0));
    if (part.numel == 0) part.type = whole.type;
    ranks.set_parts(all.size(0), whole.count);
    return Error::Ok;
  }
};

inline Error broadcast(const MpiRanks& ranks, const TensorArg& t, int root) noexcept {
  TENON_TRY(ranks.check_usable());
  MpiBuffer buffer;
  const auto use = ranks.rank == root ? MpiUse::Read : MpiUse::Write;
  Error error = ranks.check_rank("root", root);
  if (error == Error::Ok) error = buffer.find(t, "the tensor", use, MpiForm::Contiguous);
  TENON_TRY(ranks.agree(error, MpiRecord(MpiCall::Bcast, root), t));
  int64_t done = 0;
  do {
    const int n = mpi_piece(buffer, done);
    TENON_TRY(check_mpi(MPI_Bcast(buffer.at(done), n, buffer.element, root, ranks.comm.get())));
    done += n;
  } while (done < buffer.numel);
  return use == MpiUse::Read ? Error::Ok : buffer.store(t);
}

/// Scatter or Gather.
inline Error cut_or_join(const MpiRanks& ranks, MpiCall call, const TensorArg& all,
                         const TensorArg& piece, int root, int64_t dim) noexcept {
  TENON_TRY(ranks.check_usable());
  const bool is_root = ranks.rank == root;
  const bool cuts = call == MpiCall::Scatter;
  MpiParts p;
  Error error = ranks.check_rank("root", root);
  if (error == Error::Ok) error = p.prepare(ranks, is_root ? &all : nullptr, piece, dim, cuts);
  TENON_TRY(ranks.agree(error, MpiRecord(call, root, dim), is_root ? all : piece));
  const MpiBuffer& whole = p.whole;
  const MpiBuffer& part = p.part;
  const int* const counts = ranks.parts.get();
  const int* const at = counts + ranks.size;
  if (cuts) {
    TENON_TRY(check_mpi(MPI_Scatterv(whole.data, counts, at, whole.type, part.data, part.count,
                                     part.type, root, ranks.comm.get())));
    return part.store(p.mine);
  }
  TENON_TRY(check_mpi(MPI_Gatherv(part.data, part.count, part.type, whole.data, counts, at,
                                  whole.type, root, ranks.comm.get())));
  return is_root ? whole.store(p.all) : Error::Ok;
}

inline Error join_everywhere(const MpiRanks& ranks, const TensorArg& piece, const TensorArg& all,
                             int64_t dim) noexcept {
  TENON_TRY(ranks.check_usable());
  MpiParts p;
  Error error = p.prepare(ranks, &all, piece, dim, false);
  if (error == Error::Ok && !p.is_even(ranks)) error = p.describe_alike(ranks);
  TENON_TRY(ranks.agree(error, MpiRecord(MpiCall::Allgather, MpiRecord::kNone, dim), all));
  const MpiBuffer& whole = p.whole;
  const MpiBuffer& part = p.part;
  const int* const counts = ranks.parts.get();
  TENON_TRY(check_mpi(p.is_even(ranks)
                          ? MPI_Allgather(part.data, part.count, part.type, whole.data, counts[0],
                                          whole.type, ranks.comm.get())
                          : MPI_Allgatherv(part.data, part.count, part.type, whole.data, counts,
                                           counts + ranks.size, whole.type, ranks.comm.get())));
  return whole.store(p.all);
}

/// Where the program's own code combines elements, it reads them.
inline MpiForm form_for(const MpiOperation& operation) noexcept {
  return operation.made ? MpiForm::Host : MpiForm::Contiguous;
}

inline Error check_alike(const TensorArg& source, const TensorArg& out) noexcept {
  const TensorFields& from = fields(source);
  const TensorFields& to = fields(out);
  if (from.type == to.type && from.layout.sizes == to.layout.sizes) return Error::Ok;
  return fail(Error::InvalidArgument, "the source is ", from.type, ' ', from.layout.sizes,
              ", the output ", to.type, ' ', to.layout.sizes);
}

/// In place where `source` is null.
inline Error reduce(const MpiRanks& ranks, const TensorArg* source, const TensorArg& out,
                    mpi::Op op) noexcept {
  TENON_TRY(ranks.check_usable());
  MpiOperation operation;
  MpiBuffer from;
  MpiBuffer to;
  const auto prepare = [&]() noexcept -> Error {
    TENON_TRY(check_defined(out, "the output"));
    TENON_TRY(operation.find(fields(out).type, op));
    const auto use = source == nullptr ? MpiUse::Update : MpiUse::Write;
    TENON_TRY(to.find(out, "the output", use, form_for(operation)));
    if (source == nullptr) return Error::Ok;
    TENON_TRY(from.find(*source, "the source", MpiUse::Read, form_for(operation)));
    TENON_TRY(check_alike(*source, out));
    return check_apart(from, *source, to, out);
  };
  const MpiRecord record(MpiCall::Allreduce, MpiRecord::kNone, MpiRecord::kNone,
                         static_cast<int64_t>(op));
  TENON_TRY(ranks.agree(prepare(), record, out));
  int64_t done = 0;
  do {
    const int n = mpi_piece(to, done);
    const void* const read = source == nullptr ? MPI_IN_PLACE : from.at(done);
    TENON_TRY(
        check_mpi(MPI_Allreduce(read, to.at(done), n, to.element, operation.op, ranks.comm.get())));
    done += n;
  } while (done < to.numel);
  return to.store(out);
}

inline Error reduce_parts(const MpiRanks& ranks, const TensorArg& source, const TensorArg& out,
                          mpi::Op op, int64_t dim) noexcept {
  TENON_TRY(ranks.check_usable());
  MpiOperation operation;
  MpiParts p;
  const auto prepare = [&]() noexcept -> Error {
    TENON_TRY(check_defined(source, "the source"));
    TENON_TRY(operation.find(fields(source).type, op));
    TENON_TRY(p.prepare(ranks, &source, out, dim, true, form_for(operation)));
    if (p.whole.numel <= INT_MAX) return Error::Ok;
    return fail(Error::NotSupported, p.whole.numel, " elements are more than MPI counts");
  };
  const MpiRecord record(MpiCall::ReduceScatter, MpiRecord::kNone, dim, static_cast<int64_t>(op));
  TENON_TRY(ranks.agree(prepare(), record, source));
  const int* const counts = ranks.parts.get();
  TENON_TRY(check_mpi(p.is_even(ranks)
                          ? MPI_Reduce_scatter_block(p.whole.data, p.part.data, counts[0],
                                                     p.part.element, operation.op, ranks.comm.get())
                          : MPI_Reduce_scatter(p.whole.data, p.part.data, counts, p.part.element,
                                               operation.op, ranks.comm.get())));
  return p.part.store(p.mine);
}

}  // namespace detail
TENON_END_NAMESPACE
