// SPDX-License-Identifier: MIT
// Messages between two ranks, and Request: one that is under way.
#pragma once

#include <memory>

#include "tenon/interop/mpi/agreement.h"
#include "tenon/interop/mpi/tensor_buffer.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Whether a message that was received is all that the tensor holds. MPI refuses a longer one.
inline Error check_received(const MPI_Status& status, const MpiBuffer& buffer) noexcept {
  MPI_Count received = 0;
  TENON_TRY(check_mpi(MPI_Get_elements_x(&status, buffer.element, &received)));
  const int64_t count = received;
  if (TENON_UNLIKELY(count != buffer.numel)) {
    return fail(Error::InvalidArgument, "the message from rank ", status.MPI_SOURCE, " has ", count,
                " elements, the tensor ", buffer.numel);
  }
  return Error::Ok;
}

/// The records of a message, where shapes are checked.
struct MpiExchange {
  MpiRecord own;
  MpiRecord message;
  MPI_Request request = MPI_REQUEST_NULL;  // that sends `own`, or receives `message`

  ~MpiExchange() {
    if (request == MPI_REQUEST_NULL || is_mpi_finalized()) return;
    MPI_Cancel(&request);  // a send too: its data did not follow
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
};

inline Error send_message(const MpiRanks& ranks, const TensorArg& t, int destination,
                          int tag) noexcept {
  TENON_TRY(ranks.check_usable());
  TENON_TRY(ranks.check_peer(destination, tag, false));
  MpiBuffer buffer;
  TENON_TRY(buffer.find(t, "the tensor", MpiUse::Read));
  TENON_TRY(buffer.describe(t));
  if (destination == MPI_PROC_NULL) return Error::Ok;
  if (ranks.records != nullptr) {
    MpiRecord record;
    record.describe(t);
    TENON_TRY(check_mpi(
        MPI_Send(&record, kMpiRecordLength, MPI_INT64_T, destination, tag, ranks.leading.get())));
  }
  return check_mpi(
      MPI_Send(buffer.data, buffer.count, buffer.type, destination, tag, ranks.comm.get()));
}

inline Error receive_message(const MpiRanks& ranks, const TensorArg& t, int source,
                             int tag) noexcept {
  TENON_TRY(ranks.check_usable());
  TENON_TRY(ranks.check_peer(source, tag, true));
  MpiBuffer buffer;
  TENON_TRY(buffer.find(t, "the tensor", MpiUse::Write));
  TENON_TRY(buffer.describe(t));
  if (source == MPI_PROC_NULL) return Error::Ok;
  MPI_Status status;
  if (ranks.records != nullptr) {
    MpiRecord own;
    MpiRecord message;
    own.describe(t);
    TENON_TRY(check_mpi(MPI_Recv(&message, kMpiRecordLength, MPI_INT64_T, source, tag,
                                 ranks.leading.get(), &status)));
    source = status.MPI_SOURCE;  // whose message it is that follows
    tag = status.MPI_TAG;
    const Error error = compare_message(message, source, own);
    if (TENON_UNLIKELY(error != Error::Ok)) {
      MPI_Recv(nullptr, 0, MPI_BYTE, source, tag, ranks.comm.get(),
               MPI_STATUS_IGNORE);  // truncates it
      return error;
    }
  }
  TENON_TRY(check_mpi(
      MPI_Recv(buffer.data, buffer.count, buffer.type, source, tag, ranks.comm.get(), &status)));
  TENON_TRY(check_received(status, buffer));
  return buffer.store(t);
}

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
  Request(Request&& other) noexcept
      : request_(std::exchange(other.request_, MPI_REQUEST_NULL)),
        is_receive_(other.is_receive_),
        buffer_(std::move(other.buffer_)),
        tensor_(std::move(other.tensor_)),
        hold_(std::move(other.hold_)),
        exchange_(std::move(other.exchange_)) {}
  /// Drops what it was of.
  Request& operator=(Request&& other) noexcept {
    if (this != &other) {
      this->~Request();
      ::new (static_cast<void*>(this)) Request(std::move(other));
    }
    return *this;
  }
  ~Request() {
    if (request_ == MPI_REQUEST_NULL || detail::is_mpi_finalized()) return;
    if (is_receive_) MPI_Cancel(&request_);
    MPI_Wait(&request_, MPI_STATUS_IGNORE);
    if (exchange_ != nullptr && !is_receive_) MPI_Wait(&exchange_->request, MPI_STATUS_IGNORE);
  }

  /// Whether nothing is under way.
  bool is_done() const noexcept { return request_ == MPI_REQUEST_NULL; }

  /// Waits until the message is sent, or is in the tensor; then lets go of the tensor, whatever the
  /// outcome. Ok when nothing is under way.
  /// Errors: of a receive InvalidArgument, when the message is longer or shorter than the tensor,
  /// which may have been written to, or of another shape where shapes are checked; what a
  /// backend reports that copies to the tensor; AccessFailed with MPI's text.
  Error wait() noexcept {
    MPI_Status status;
    return detail::blame_if("wait", complete(true, status));
  }
  /// The same without waiting: false when it is not done yet.
  Result<bool> test() noexcept {
    MPI_Status status;
    const Error error = complete(false, status);
    if (TENON_UNLIKELY(error != Error::Ok)) return detail::blame("test", error);
    return is_done();
  }

 private:
  friend class Communicator;

  Error begin(const detail::MpiRanks& ranks, const TensorArg& t, int peer, int tag,
              bool is_receive) noexcept {
    TENON_TRY(ranks.check_usable());
    TENON_TRY(ranks.check_peer(peer, tag, is_receive));
    const auto use = is_receive ? detail::MpiUse::Write : detail::MpiUse::Read;
    detail::MpiBuffer& b = buffer_;
    TENON_TRY(b.find(t, "the tensor", use));
    TENON_TRY(b.describe(t));
    if (peer == MPI_PROC_NULL) return Error::Ok;  // done
    is_receive_ = is_receive;
    tensor_ = t.tensor();
    TENON_TRY(hold_.hold(t));
    if (ranks.records != nullptr) TENON_TRY(begin_exchange(ranks, t, peer, tag));
    return detail::check_mpi(
        is_receive ? MPI_Irecv(b.data, b.count, b.type, peer, tag, ranks.comm.get(), &request_)
                   : MPI_Isend(b.data, b.count, b.type, peer, tag, ranks.comm.get(), &request_));
  }
  Error begin_exchange(const detail::MpiRanks& ranks, const TensorArg& t, int peer,
                       int tag) noexcept {
    if (TENON_UNLIKELY(peer == MPI_ANY_SOURCE || tag == MPI_ANY_TAG)) {
      return detail::fail(Error::NotSupported,
                          "where shapes are checked, a receive that does not wait has to say the "
                          "source and the tag");
    }
    exchange_.reset(new (std::nothrow) detail::MpiExchange);
    if (TENON_UNLIKELY(exchange_ == nullptr)) return detail::fail_no_memory("a request");
    detail::MpiExchange& e = *exchange_;
    e.own.describe(t);
    constexpr int kLength = detail::kMpiRecordLength;
    return detail::check_mpi(is_receive_ ? MPI_Irecv(&e.message, kLength, MPI_INT64_T, peer, tag,
                                                     ranks.leading.get(), &e.request)
                                         : MPI_Isend(&e.own, kLength, MPI_INT64_T, peer, tag,
                                                     ranks.leading.get(), &e.request));
  }
  Error complete(bool waits, MPI_Status& status) noexcept {
    if (is_done()) return Error::Ok;
    TENON_TRY(detail::check_mpi_runs());
    int is_complete = 1;
    const int code =
        waits ? MPI_Wait(&request_, &status) : MPI_Test(&request_, &is_complete, &status);
    if (is_complete == 0 && code == MPI_SUCCESS) return Error::Ok;
    request_ = MPI_REQUEST_NULL;
    const Error error = finish(code, status);
    *this = Request();
    return error;
  }
  Error finish(int code, const MPI_Status& status) noexcept {
    if (exchange_ != nullptr) {
      TENON_TRY(detail::check_mpi(MPI_Wait(&exchange_->request, MPI_STATUS_IGNORE)));
      if (is_receive_) {
        TENON_TRY(detail::compare_message(exchange_->message, status.MPI_SOURCE, exchange_->own));
      }
    }
    TENON_TRY(detail::check_mpi(code));
    if (!is_receive_) return Error::Ok;
    TENON_TRY(detail::check_received(status, buffer_));
    return buffer_.store(tensor_);
  }

  MPI_Request request_ = MPI_REQUEST_NULL;
  bool is_receive_ = false;
  detail::MpiBuffer buffer_;
  Tensor tensor_;
  detail::MemoryHold hold_;
  std::unique_ptr<detail::MpiExchange> exchange_;
};

}  // namespace mpi

TENON_END_NAMESPACE
