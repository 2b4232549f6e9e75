// SPDX-License-Identifier: MIT
// Request: a message in progress. Functions that send and receive messages between two ranks, and
// the collective functions.
#pragma once

#include <memory>

#include "tenon/interop/processes/mpi_buffer.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Checks a message's arguments, and finds its elements.
inline Error find_message(const MpiRanks& ranks, const TensorArg& t, int peer, int tag,
                          bool is_receive, MpiBuffer& buffer) noexcept {
  TENON_TRY(ranks.check_usable());
  TENON_TRY(ranks.check_peer(peer, tag, is_receive));
  return buffer.find(t, "the tensor", is_receive ? MpiUse::Write : MpiUse::Read);
}

/// Completes a received message, which must have as many elements as the tensor. (MPI itself
/// reports a longer message.)
inline Error take_message(const MPI_Status& status, const MpiBuffer& buffer) noexcept {
  MPI_Count received = 0;
  const MPI_Datatype element = mpi_element(buffer.scalar_type);
  TENON_TRY(check_mpi(MPI_Get_elements_x(&status, element, &received)));
  const int64_t count = received;
  if (count < 0) {  // MPI_UNDEFINED
    return fail(Error::InvalidArgument, "the message from rank ", status.MPI_SOURCE,
                " is not a whole number of elements of ", buffer.scalar_type);
  }
  if (count == buffer.numel) return buffer.store();
  return fail(Error::InvalidArgument, "the message from rank ", status.MPI_SOURCE, " has ", count,
              " elements, but the tensor has ", buffer.numel);
}

inline Error send_message(const MpiRanks& ranks, const TensorArg& t, int destination,
                          int tag) noexcept {
  MpiBuffer buffer;
  TENON_TRY(find_message(ranks, t, destination, tag, false, buffer));
  return check_mpi(
      MPI_Send(buffer.data, buffer.count, buffer.type, destination, tag, ranks.comm.get()));
}

inline Error receive_message(const MpiRanks& ranks, const TensorArg& t, int source,
                             int tag) noexcept {
  MpiBuffer buffer;
  TENON_TRY(find_message(ranks, t, source, tag, true, buffer));
  if (source == MPI_PROC_NULL) return Error::Ok;
  MPI_Status status;
  TENON_TRY(check_mpi(
      MPI_Recv(buffer.data, buffer.count, buffer.type, source, tag, ranks.comm.get(), &status)));
  return take_message(status, buffer);
}

/// A message in progress.
struct MpiMessage {
  MPI_Request request = MPI_REQUEST_NULL;
  bool is_receive = false;
  MpiBuffer buffer;
  MemoryHold hold;

  ~MpiMessage() {
    if (request == MPI_REQUEST_NULL || is_mpi_finalized()) return;
    if (is_receive) MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
};

}  // namespace detail

namespace mpi {

class Communicator;

/// A send or a receive in progress, begun by Communicator::isend() or irecv(). Move-only.
///
/// Ownership: keeps the tensor and its memory alive until wait() or test() reports that the message
/// is done; meanwhile the tensor can neither grow nor be deallocated. (The caller keeps memory
/// alive that a tensor borrows by raw pointer.) If a request is dropped before that, a receive is
/// cancelled, or completed if its message has already arrived; a send is waited for until the
/// receiver has taken the message or MPI has copied it. After MPI_Finalize, dropping a request only
/// releases the tensor.
/// Errors: MPICH reports errors of MPI_Wait and MPI_Test, such as a message that is too long, to
/// the error handler of MPI_COMM_WORLD, which ends the program by default. To have wait() and
/// test() return these errors, set that handler to MPI_ERRORS_RETURN.
/// Threads: one thread at a time, within the level of MPI_Init_thread.
/// Source: mpi4py.MPI.Request, which keeps the buffer; boost::mpi::request.
class Request {
 public:
  /// Makes a request that is done.
  Request() noexcept = default;

  /// Whether the message is done, or there is no message.
  bool is_done() const noexcept { return message_ == nullptr; }

  /// Waits until the message was sent, or was received into the tensor; then releases the tensor,
  /// also after an error. Ok if there is no message.
  /// Errors: InvalidArgument, if a received message is longer or shorter than the tensor, which may
  /// have been written to; those of a backend that copies to the tensor; AccessFailed with MPI's
  /// text.
  Error wait() noexcept { return detail::add_context_if("wait", complete(true)); }
  /// Like wait(), but returns false at once if the message is not done yet.
  Result<bool> test() noexcept {
    TENON_TRY(detail::add_context_if("test", complete(false)));
    return is_done();
  }

 private:
  friend class Communicator;

  Error begin(const detail::MpiRanks& ranks, const TensorArg& t, int peer, int tag,
              bool is_receive) noexcept {
    std::unique_ptr<detail::MpiMessage> made(new (std::nothrow) detail::MpiMessage);
    if (made == nullptr) return detail::fail_no_memory("a request");
    const detail::MpiBuffer& b = made->buffer;
    TENON_TRY(detail::find_message(ranks, t, peer, tag, is_receive, made->buffer));
    if (peer == MPI_PROC_NULL) return Error::Ok;  // done
    made->is_receive = is_receive;
    TENON_TRY(made->hold.hold(t));
    const MPI_Comm comm = ranks.comm.get();
    TENON_TRY(detail::check_mpi(
        is_receive ? MPI_Irecv(b.data, b.count, b.type, peer, tag, comm, &made->request)
                   : MPI_Isend(b.data, b.count, b.type, peer, tag, comm, &made->request)));
    message_ = std::move(made);
    return Error::Ok;
  }
  Error complete(bool waits) noexcept {
    if (is_done()) return Error::Ok;
    TENON_TRY(detail::check_mpi_runs());
    MPI_Status status;
    MPI_Request& request = message_->request;
    int is_complete = 1;
    const int code =
        waits ? MPI_Wait(&request, &status) : MPI_Test(&request, &is_complete, &status);
    if (is_complete == 0 && code == MPI_SUCCESS) return Error::Ok;
    request = MPI_REQUEST_NULL;
    const std::unique_ptr<detail::MpiMessage> done = std::move(message_);
    TENON_TRY(detail::check_mpi(code));
    return done->is_receive ? detail::take_message(status, done->buffer) : Error::Ok;
  }

  std::unique_ptr<detail::MpiMessage> message_;  // null when it is done
};

}  // namespace mpi

namespace detail {

/// Calls MPI for one piece of a buffer's elements after another, since some versions count bytes in
/// int, and stores the results. Calls it once if there are no elements, since the other ranks call
/// it too.
template <class Call>
Error call_in_pieces(const MpiBuffer& buffer, const Call& call) noexcept {
  constexpr int64_t kMost = 1 << 26;  // elements, of at most 16 bytes each
  int64_t done = 0;
  do {
    const int64_t n = buffer.numel - done < kMost ? buffer.numel - done : kMost;
    TENON_TRY(check_mpi(call(buffer.at(done), static_cast<int>(n))));
    done += n;
  } while (done < buffer.numel);
  return buffer.store();
}

/// A whole tensor and this rank's part of it, as views whose dimension 0 is the dimension that is
/// cut.
struct MpiParts {
  Tensor all;  // undefined if this rank has no whole tensor
  Tensor mine;
  MpiBuffer whole;
  MpiBuffer part;

  /// `source`: the whole tensor; null if this rank has none. `cuts`: whether the whole is cut into
  /// parts; else the parts are joined.
  Error prepare(const MpiRanks& ranks, const TensorArg* source, const TensorArg& piece, int64_t dim,
                bool cuts, MpiForm form = MpiForm::Contiguous) noexcept {
    TENON_TRY(put_dim_first(piece, "the part", dim, mine));
    TENON_TRY(part.find(mine, "the part", cuts ? MpiUse::Write : MpiUse::Read, form));
    // MPICH refuses equal addresses without looking at sizes, and an empty part may have the
    // address of the whole.
    if (part.numel == 0) part.data = nullptr;
    if (source == nullptr) return Error::Ok;
    TENON_TRY(put_dim_first(*source, "the whole", dim, all));
    TENON_TRY(check_part(*source, piece, dim, ranks.size, ranks.rank));
    TENON_TRY(whole.find(all, "the whole", cuts ? MpiUse::Read : MpiUse::Write, form));
    if (whole.numel > INT_MAX) {
      return fail(Error::NotSupported, whole.numel, " elements are more than MPI can count");
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

/// Calls Scatter, Gather or Allgather. For Allgather, `root` is kNone.
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
