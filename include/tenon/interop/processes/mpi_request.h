// SPDX-License-Identifier: MIT
// Messages between two ranks, and Request: one that is under way.
#pragma once

#include <memory>

#include "tenon/interop/processes/mpi_agreement.h"
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

/// Takes a message that was received, if it is all that the tensor holds. MPI refuses a longer one.
inline Error take_message(const MPI_Status& status, const MpiBuffer& buffer) noexcept {
  MPI_Count received = 0;
  const MPI_Datatype element = mpi_element(buffer.scalar_type);
  TENON_TRY(check_mpi(MPI_Get_elements_x(&status, element, &received)));
  const int64_t count = received;
  if (count < 0) {  // MPI_UNDEFINED
    return fail(Error::InvalidArgument, "the message from rank ", status.MPI_SOURCE,
                " is no whole number of elements of ", buffer.scalar_type);
  }
  if (count == buffer.numel) return buffer.store();
  return fail(Error::InvalidArgument, "the message from rank ", status.MPI_SOURCE, " has ", count,
              " elements, the tensor ", buffer.numel);
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

/// A message that is under way.
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

/// A send or a receive that was begun, by Communicator::isend() or irecv(). Move-only.
///
/// Ownership: keeps the tensor and its memory alive, which can neither grow nor be let go of, until
/// wait() or test() has said that it is done. (Memory lent by raw pointer is the caller's to keep.)
/// A request that is dropped before: a receive is cancelled, or where its message has arrived
/// already, completed; a send is waited for, until the receiver has taken the message or MPI has
/// copied it. After MPI_Finalize it lets go of the tensor and does nothing else.
/// Errors: MPICH raises what goes wrong in MPI_Wait and MPI_Test, such as a message that is too
/// long, on MPI_COMM_WORLD, whose handler ends the program: a program that wants it returned gives
/// that MPI_ERRORS_RETURN.
/// Threads: one thread at a time; what the level of MPI_Init_thread allows.
/// Source: mpi4py.MPI.Request, which keeps the buffer; boost::mpi::request.
class Request {
 public:
  /// Nothing under way: done.
  Request() noexcept = default;

  /// Whether nothing is under way.
  bool is_done() const noexcept { return message_ == nullptr; }

  /// Waits until the message is sent, or is in the tensor; then lets go of the tensor, whatever the
  /// outcome. Ok when nothing is under way.
  /// Errors: of a receive InvalidArgument, when the message is longer or shorter than the tensor,
  /// which may have been written to; what a backend reports that copies to the tensor; AccessFailed
  /// with MPI's text.
  Error wait() noexcept { return detail::add_context_if("wait", complete(true)); }
  /// As wait(), but returns false at once if it is not done yet.
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

TENON_END_NAMESPACE
