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

/// A tensor and the part that a rank has of it, cut into slabs along a dimension, which comes first
/// here.
struct MpiParts {
  Tensor all;  // undefined where the rank has none
  Tensor mine;
  MpiBuffer whole;
  MpiBuffer part;
  MpiElements slab;

  /// `given` is null where the rank has none. `cuts` says that the parts are made of the whole,
  /// else the whole is made of the parts.
  Error prepare(const MpiRanks& ranks, const TensorArg* given, const TensorArg& piece, int64_t dim,
                bool cuts, MpiForm form = MpiForm::Contiguous) noexcept {
    TENON_TRY(put_dim_first(piece, "the part", dim, mine));
    TENON_TRY(part.find(mine, "the part", cuts ? MpiUse::Write : MpiUse::Read, form));
    if (given == nullptr) return count_slabs(mine, part.numel);
    TENON_TRY(put_dim_first(*given, "the whole", dim, all));
    TENON_TRY(check_part(*given, piece, dim, ranks.size, ranks.rank));
    TENON_TRY(whole.find(all, "the whole", cuts ? MpiUse::Read : MpiUse::Write, form));
    TENON_TRY(check_apart(whole, all, part, mine));
    TENON_TRY(count_slabs(all, whole.numel));
    ranks.set_parts(all.size(0), slab.count);
    return Error::Ok;
  }

 private:
  /// Counts elements where MPI can count those of `numel`, else slabs. Ranks that have the whole do
  /// it alike, which MPI_Allgatherv of Open MPI needs: by the size of what they send they choose
  /// how.
  Error count_slabs(const Tensor& tensor, int64_t numel) noexcept {
    const bool as_one = numel > INT_MAX;
    if (TENON_UNLIKELY(as_one && tensor.size(0) > INT_MAX)) {
      return fail(Error::NotSupported, "size ", tensor.size(0),
                  " of the dimension is more than MPI counts; view() makes two dimensions of it");
    }
    const int64_t n = numel == 0 ? 0 : numel / tensor.size(0);
    TENON_TRY(slab.describe(part.scalar_type, n, as_one));
    part.count = static_cast<int>(mine.size(0) * slab.count);
    part.type = slab.type;
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
  const MPI_Datatype element = mpi_element(buffer.scalar_type);
  int64_t done = 0;
  do {
    const int n = mpi_piece(buffer, done);
    TENON_TRY(check_mpi(MPI_Bcast(buffer.at(done), n, element, root, ranks.comm.get())));
    done += n;
  } while (done < buffer.numel);
  return buffer.store();
}

/// Scatter, Gather or Allgather, which has no root.
inline Error cut_or_join(const MpiRanks& ranks, MpiCall call, const TensorArg& all,
                         const TensorArg& piece, int64_t root, int64_t dim) noexcept {
  TENON_TRY(ranks.check_usable());
  const bool has_all = root == MpiRecord::kNone || root == ranks.rank;
  const auto at_root = static_cast<int>(root);
  MpiParts p;
  Error error = root == MpiRecord::kNone ? Error::Ok : ranks.check_rank("root", at_root);
  if (error == Error::Ok) {
    error = p.prepare(ranks, has_all ? &all : nullptr, piece, dim, call == MpiCall::Scatter);
  }
  TENON_TRY(ranks.agree(error, MpiRecord(call, root, dim), has_all ? all : piece));
  const MpiBuffer& part = p.part;
  void* const whole = p.whole.data;
  const MPI_Datatype slab = p.slab.type;
  const int* const counts = ranks.parts.get();
  const int* const at = counts + ranks.size;
  const MPI_Comm comm = ranks.comm.get();
  TENON_TRY(check_mpi(
      call == MpiCall::Scatter
          ? MPI_Scatterv(whole, counts, at, slab, part.data, part.count, slab, at_root, comm)
      : call == MpiCall::Gather
          ? MPI_Gatherv(part.data, part.count, slab, whole, counts, at, slab, at_root, comm)
          : MPI_Allgatherv(part.data, part.count, slab, whole, counts, at, slab, comm)));
  TENON_TRY(p.whole.store());
  return part.store();
}

/// Where the program's own code combines elements, it reads them.
inline MpiForm form_for(const MpiOperation& operation) noexcept {
  return operation.made ? MpiForm::Host : MpiForm::Contiguous;
}

inline Error reduce(const MpiRanks& ranks, const TensorArg& t, mpi::Op op) noexcept {
  TENON_TRY(ranks.check_usable());
  MpiOperation operation;
  MpiBuffer buffer;
  const auto prepare = [&]() noexcept -> Error {
    TENON_TRY(check_defined(t, "the tensor"));
    TENON_TRY(operation.find(fields(t).type, op));
    return buffer.find(t, "the tensor", MpiUse::Update, form_for(operation));
  };
  const MpiRecord record(MpiCall::Allreduce, MpiRecord::kNone, MpiRecord::kNone,
                         static_cast<int64_t>(op));
  TENON_TRY(ranks.agree(prepare(), record, t));
  const MPI_Datatype element = mpi_element(buffer.scalar_type);
  int64_t done = 0;
  do {
    const int n = mpi_piece(buffer, done);
    TENON_TRY(check_mpi(
        MPI_Allreduce(MPI_IN_PLACE, buffer.at(done), n, element, operation.op, ranks.comm.get())));
    done += n;
  } while (done < buffer.numel);
  return buffer.store();
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
  TENON_TRY(check_mpi(MPI_Reduce_scatter(p.whole.data, p.part.data, ranks.parts.get(), p.slab.type,
                                         operation.op, ranks.comm.get())));
  return p.part.store();
}

}  // namespace detail
TENON_END_NAMESPACE
