// SPDX-License-Identifier: MIT
// mpi::Communicator: strided tensors over MPI.
//
// A contiguous tensor goes as its data, the number of elements and MPI's type for them; any other
// as a datatype made of its sizes and strides, so that nothing is packed here. Memory that MPI
// cannot reach goes by way of a copy on the host; see Communicator.
#pragma once

#include "tenon/interop/mpi/agreement.h"
#include "tenon/interop/mpi/datatype.h"
#include "tenon/interop/mpi/part.h"
#include "tenon/interop/mpi/reduction.h"
#include "tenon/interop/mpi/request.h"
#include "tenon/interop/mpi/tensor_buffer.h"
#include "tenon/interop/mpi/window.h"

TENON_BEGIN_NAMESPACE
namespace mpi {

/// Whether ranks tell each other what they call before data moves, see Communicator.
enum class Check : uint8_t { None, Shapes };

/// The ranks of an MPI communicator. Move-only.
///
/// Elements go in row-major order of their indices, whatever the strides are on either side: sizes
/// and dtypes have to be equal, strides need not be. What is received may have any strides, but
/// those at which elements share memory; what is sent those too. MPI is the program's to initialise
/// and to finalise.
///
/// Tensors: functions take a Tensor or a TensorPtr. A tensor that only the root needs is an
/// undefined one on the other ranks: `comm.scatter(Tensor(), part)`; one that is given is not
/// looked at.
/// Dimensions: scatter(), gather(), allgather() and reduce_scatter() cut `dim` as part() says,
/// evenly or not. Slabs of `dim` go one after another; along dimension 0 of a contiguous tensor
/// they are blocks of memory.
/// Copies: reductions and bcast() take contiguous elements only, so others go by way of a
/// contiguous copy: MPI's operations are for its basic types, and Open MPI's broadcasts fail where
/// one rank's datatype has gaps and another's has none (github.com/open-mpi/ompi/issues/10523).
/// Memory of a CUDA device is given to MPI as it is where Open MPI says that it takes that
/// (MPIX_Query_cuda_support), once the backend is synchronised; a device's memory goes by way of
/// the host otherwise, and for reductions that are not MPI's own.
/// Checks: with Check::Shapes, collective functions first gather what each rank calls with which
/// dtype, sizes, root, dim and Op, and return InvalidArgument on every rank where these disagree or
/// a rank's arguments are wrong, before data moves. That costs one MPI_Allgather of 568 bytes
/// for each rank. A message is led by one of 568 bytes on a communicator of its own; the receiver
/// returns the error, and recv() does before it writes to the tensor. The sender is not told.
/// Without checks ranks that disagree get an error from MPI or wait for each other.
/// Errors: of all functions InvalidState (MPI is finalised; an undefined tensor, a placeholder, a
/// read-only one to receive), InvalidArgument (a rank or root outside of the communicator, a
/// negative tag; elements to receive that share memory; what ranks disagree on), OutOfBounds (a
/// `dim` that the tensor does not have), NotSupported (memory that nobody can reach; what MPI does
/// not support), OutOfMemory, and AccessFailed or another with MPI's text. What was to be received
/// may be written in part then, where MPI or a backend failed. MPI's own errors come back because
/// the communicator is a duplicate with MPI_ERRORS_RETURN; MPI does not promise that it can be used
/// after one. Where a rank has died, mpirun ends the others.
/// Threads: what the level of MPI_Init_thread allows: the main thread with MPI_THREAD_SINGLE and
/// FUNNELED, one thread at a time with SERIALIZED. With MPI_THREAD_MULTIPLE any threads may call
/// send(), recv(), isend() and irecv() at once; collective functions are for one thread at a time,
/// in the same order on all ranks: each thread that needs them has a Communicator of its own.
/// Source: boost::mpi::communicator, mpi4py.MPI.Comm.
class Communicator {
 public:
  /// A duplicate of `comm`. Collective. In try_make() the same as a Result.
  /// Errors, raised: InvalidState (MPI is not initialised, or finalised), InvalidArgument
  /// (MPI_COMM_NULL; an intercommunicator), OutOfMemory.
  explicit Communicator(MPI_Comm comm = MPI_COMM_WORLD, Check check = Check::None) {
    detail::raise_if("Communicator", make(comm, check));
  }
  static Result<Communicator> try_make(MPI_Comm comm = MPI_COMM_WORLD,
                                       Check check = Check::None) noexcept {
    Communicator made{Empty()};
    const Error error = made.make(comm, check);
    if (TENON_UNLIKELY(error != Error::Ok)) return detail::blame("Communicator::try_make", error);
    return made;
  }
  Communicator(Communicator&& other) noexcept { *this = std::move(other); }
  Communicator& operator=(Communicator&& other) noexcept {
    std::swap(comm_, other.comm_);
    std::swap(leading_, other.leading_);
    std::swap(rank_, other.rank_);
    std::swap(size_, other.size_);
    parts_.swap(other.parts_);
    records_.swap(other.records_);
    return *this;
  }
  /// Collective, as MPI_Comm_free is. After MPI_Finalize it does nothing.
  ~Communicator() {
    if (comm_ == MPI_COMM_NULL || detail::is_mpi_finalized()) return;
    if (leading_ != MPI_COMM_NULL) MPI_Comm_free(&leading_);
    MPI_Comm_free(&comm_);
  }

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  /// The duplicate, valid while this lives; MPI_COMM_NULL after it was moved from.
  MPI_Comm get() const noexcept { return comm_; }
  bool checks_shapes() const noexcept { return records_ != nullptr; }

  // --- Point to point: each message is one tensor -----------------------------------------------

  /// Sends the elements. Returns when the tensor may be changed: when MPI has copied them, or the
  /// receiver takes them. To MPI_PROC_NULL it does nothing.
  /// Source: MPI_Send.
  Error send(detail::ConstTensorArg t, int destination, int tag = 0) const noexcept {
    return detail::blame_if("send", send_now(t, destination, tag));
  }
  /// Receives a message of as many elements. `source` may be MPI_ANY_SOURCE or MPI_PROC_NULL, which
  /// leaves the tensor as it is, `tag` MPI_ANY_TAG.
  /// Errors: InvalidArgument for a longer or a shorter message too.
  /// Source: MPI_Recv.
  Error recv(TensorArg t, int source, int tag = 0) const noexcept {
    return detail::blame_if("recv", receive_now(t, source, tag));
  }
  /// Begins to send. The tensor must not be changed until the Request is done.
  /// Source: MPI_Isend.
  Result<Request> isend(detail::ConstTensorArg t, int destination, int tag = 0) const noexcept {
    Request made;
    const Error error = begin(t, destination, tag, false, made);
    if (TENON_UNLIKELY(error != Error::Ok)) return detail::blame("isend", error);
    return made;
  }
  /// Begins to receive. The tensor must not be read or changed until the Request is done, whose
  /// wait() has the errors of a message that does not fit.
  /// Errors: NotSupported for MPI_ANY_SOURCE and MPI_ANY_TAG where shapes are checked.
  /// Source: MPI_Irecv.
  Result<Request> irecv(TensorArg t, int source, int tag = 0) const noexcept {
    Request made;
    const Error error = begin(t, source, tag, true, made);
    if (TENON_UNLIKELY(error != Error::Ok)) return detail::blame("irecv", error);
    return made;
  }

  // --- Collective: called by all ranks, in the same order ---------------------------------------

  /// Sends the root's elements to all.
  /// Source: MPI_Bcast.
  Error bcast(TensorArg t, int root = 0) const noexcept {
    return detail::blame_if("bcast", broadcast(t, root));
  }
  /// Gives each rank its part() of `dim` of the root's `source`, in `t`.
  /// Source: MPI_Scatterv.
  Error scatter(detail::ConstTensorArg source, TensorArg t, int root = 0,
                int64_t dim = 0) const noexcept {
    return detail::blame_if("scatter", cut(source, t, root, dim));
  }
  /// Puts all ranks' `t`, each its part() of `dim`, together in the root's `out`.
  /// Source: MPI_Gatherv.
  Error gather(detail::ConstTensorArg t, TensorArg out, int root = 0,
               int64_t dim = 0) const noexcept {
    return detail::blame_if("gather", join(t, out, root, dim));
  }
  /// The same in every rank's `out`.
  /// Source: MPI_Allgather, MPI_Allgatherv.
  Error allgather(detail::ConstTensorArg t, TensorArg out, int64_t dim = 0) const noexcept {
    return detail::blame_if("allgather", join_all(t, out, dim));
  }
  /// Combines the elements of all ranks' tensors, one by one, in place.
  /// Errors: InvalidType for Min and Max of complex elements.
  /// Source: MPI_Allreduce.
  Error allreduce(TensorArg t, Op op = Op::Sum) const noexcept {
    return detail::blame_if("allreduce", reduce(nullptr, t, op));
  }
  /// The same in `out`, which has the sizes and the dtype of `source` and shares no memory with it.
  Error allreduce(detail::ConstTensorArg source, TensorArg out, Op op = Op::Sum) const noexcept {
    return detail::blame_if("allreduce", reduce(&source, out, op));
  }
  /// Combines the elements of all ranks' `source`, and gives each rank its part() of `dim`, in
  /// `out`. For a `dim` that is not 0 a contiguous copy with that dimension first is made.
  /// Errors: as allreduce(); NotSupported for more than INT_MAX elements.
  /// Source: MPI_Reduce_scatter_block, MPI_Reduce_scatter.
  Error reduce_scatter(detail::ConstTensorArg source, TensorArg out, Op op = Op::Sum,
                       int64_t dim = 0) const noexcept {
    return detail::blame_if("reduce_scatter", reduce_parts(source, out, op, dim));
  }

  /// Makes a Window over each rank's tensor: memory of the host, from its lowest element to its
  /// highest one, what lies between them included.
  /// Errors: InvalidType for tensors of several dtypes; where one rank's tensor is refused,
  /// InvalidArgument on the others.
  /// Source: MPI_Win_create.
  Result<Window> window(TensorArg t) const noexcept {
    Window made;
    Error error = check_usable();
    if (error == Error::Ok) error = made.make(comm_, size_, t);
    if (TENON_UNLIKELY(error != Error::Ok)) return detail::blame("window", error);
    return made;
  }

 private:
  struct Empty {};
  explicit Communicator(Empty) noexcept {}

  Error make(MPI_Comm comm, Check check) noexcept {
    TENON_TRY(detail::check_mpi_runs());
    if (TENON_UNLIKELY(comm == MPI_COMM_NULL)) {
      return detail::fail(Error::InvalidArgument, "the communicator is MPI_COMM_NULL");
    }
    int is_between = 0;
    TENON_TRY(detail::check_mpi("MPI_Comm_test_inter", MPI_Comm_test_inter(comm, &is_between)));
    if (TENON_UNLIKELY(is_between != 0)) {
      return detail::fail(Error::InvalidArgument, "it is an intercommunicator, between two groups");
    }
    TENON_TRY(detail::check_mpi("MPI_Comm_dup", MPI_Comm_dup(comm, &comm_)));
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    if (check == Check::Shapes) {
      TENON_TRY(detail::check_mpi("MPI_Comm_dup", MPI_Comm_dup(comm_, &leading_)));
    }
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    const auto ranks = static_cast<size_t>(size_);
    parts_.reset(new (std::nothrow) int[2 * ranks]);
    if (check == Check::Shapes) records_.reset(new (std::nothrow) detail::MpiRecord[ranks]);
    if (TENON_UNLIKELY(parts_ == nullptr || (check == Check::Shapes && records_ == nullptr))) {
      return detail::fail_no_memory("the ranks");
    }
    return Error::Ok;
  }

  Error check_usable() const noexcept {
    if (TENON_UNLIKELY(comm_ == MPI_COMM_NULL)) {
      return detail::fail(Error::InvalidState, "the communicator was moved from");
    }
    if (TENON_UNLIKELY(detail::is_mpi_finalized())) return detail::check_mpi_runs();
    return Error::Ok;
  }
  Error check_root(int root) const noexcept {
    if (TENON_UNLIKELY(root < 0 || root >= size_)) {
      return detail::fail(Error::InvalidArgument, "root ", root, " is none of the ", size_,
                          " ranks");
    }
    return Error::Ok;
  }
  Error check_peer(int peer, int tag, bool is_receive) const noexcept {
    const bool is_any = is_receive && peer == MPI_ANY_SOURCE;
    if (TENON_UNLIKELY((peer < 0 || peer >= size_) && !is_any && peer != MPI_PROC_NULL)) {
      return detail::fail(Error::InvalidArgument, "rank ", peer, " is none of the ", size_,
                          " ranks");
    }
    if (TENON_UNLIKELY(tag < 0 && !(is_receive && tag == MPI_ANY_TAG))) {
      return detail::fail(Error::InvalidArgument, "tag ", tag, " is negative");
    }
    return Error::Ok;
  }

  /// Finds out whether all ranks' arguments are right and agree, where shapes are checked. `error`
  /// is what this one found; `tensor` is what the record tells of.
  Error agree(Error error, detail::MpiRecord& record, const TensorArg& tensor) const noexcept {
    if (records_ == nullptr || check_usable() != Error::Ok) return error;
    if (error == Error::Ok) record.describe(tensor);
    return detail::agree(comm_, size_, record, error, records_.get());
  }

  // --- Point to point ---------------------------------------------------------------------------

  Error send_now(const TensorArg& t, int destination, int tag) const noexcept {
    TENON_TRY(check_usable());
    TENON_TRY(check_peer(destination, tag, false));
    detail::MpiBuffer buffer;
    TENON_TRY(buffer.find(t, "the tensor", detail::MpiUse::Read));
    TENON_TRY(buffer.describe(t));
    if (destination == MPI_PROC_NULL) return Error::Ok;
    if (records_ != nullptr) {
      detail::MpiRecord record;
      record.describe(t);
      TENON_TRY(detail::check_mpi("MPI_Send", MPI_Send(&record, detail::kMpiRecordLength,
                                                       MPI_INT64_T, destination, tag, leading_)));
    }
    return detail::check_mpi(
        "MPI_Send", MPI_Send(buffer.data, buffer.count, buffer.type, destination, tag, comm_));
  }

  Error receive_now(const TensorArg& t, int source, int tag) const noexcept {
    TENON_TRY(check_usable());
    TENON_TRY(check_peer(source, tag, true));
    detail::MpiBuffer buffer;
    TENON_TRY(buffer.find(t, "the tensor", detail::MpiUse::Write));
    TENON_TRY(buffer.describe(t));
    if (source == MPI_PROC_NULL) return Error::Ok;
    MPI_Status status;
    if (records_ != nullptr) {
      detail::MpiRecord own;
      detail::MpiRecord message;
      own.describe(t);
      TENON_TRY(
          detail::check_mpi("MPI_Recv", MPI_Recv(&message, detail::kMpiRecordLength, MPI_INT64_T,
                                                 source, tag, leading_, &status)));
      source = status.MPI_SOURCE;  // whose message it is that follows
      tag = status.MPI_TAG;
      const Error error = detail::compare_message(message, source, own);
      if (TENON_UNLIKELY(error != Error::Ok)) {
        MPI_Recv(nullptr, 0, MPI_BYTE, source, tag, comm_, MPI_STATUS_IGNORE);  // truncates it
        return error;
      }
    }
    TENON_TRY(detail::check_mpi(
        "MPI_Recv", MPI_Recv(buffer.data, buffer.count, buffer.type, source, tag, comm_, &status)));
    TENON_TRY(detail::check_received(status, buffer));
    return buffer.store(t);
  }

  Error begin(const TensorArg& t, int peer, int tag, bool is_receive,
              Request& made) const noexcept {
    TENON_TRY(check_usable());
    TENON_TRY(check_peer(peer, tag, is_receive));
    detail::MpiBuffer& buffer = made.buffer_;
    TENON_TRY(
        buffer.find(t, "the tensor", is_receive ? detail::MpiUse::Write : detail::MpiUse::Read));
    TENON_TRY(buffer.describe(t));
    if (peer == MPI_PROC_NULL) return Error::Ok;  // done
    TENON_TRY(made.keep(t, is_receive));
    if (records_ != nullptr) {
      TENON_TRY(begin_exchange(t, peer, tag, is_receive, made.exchange_));
    }
    return is_receive
               ? detail::check_mpi("MPI_Irecv", MPI_Irecv(buffer.data, buffer.count, buffer.type,
                                                          peer, tag, comm_, &made.request_))
               : detail::check_mpi("MPI_Isend", MPI_Isend(buffer.data, buffer.count, buffer.type,
                                                          peer, tag, comm_, &made.request_));
  }
  Error begin_exchange(const TensorArg& t, int peer, int tag, bool is_receive,
                       std::unique_ptr<detail::MpiExchange>& exchange) const noexcept {
    if (TENON_UNLIKELY(peer == MPI_ANY_SOURCE || tag == MPI_ANY_TAG)) {
      return detail::fail(Error::NotSupported,
                          "where shapes are checked, a receive that does not wait has to say the "
                          "source and the tag");
    }
    exchange.reset(new (std::nothrow) detail::MpiExchange);
    if (TENON_UNLIKELY(exchange == nullptr)) return detail::fail_no_memory("a request");
    exchange->own.describe(t);
    return is_receive
               ? detail::check_mpi("MPI_Irecv",
                                   MPI_Irecv(&exchange->message, detail::kMpiRecordLength,
                                             MPI_INT64_T, peer, tag, leading_, &exchange->request))
               : detail::check_mpi("MPI_Isend",
                                   MPI_Isend(&exchange->own, detail::kMpiRecordLength, MPI_INT64_T,
                                             peer, tag, leading_, &exchange->request));
  }

  // --- Collective -------------------------------------------------------------------------------

  /// The elements that a broadcast or a reduction takes at a time: MPI counts bytes in int, here
  /// and there.
  static int piece_of(const detail::MpiBuffer& buffer, int64_t done) noexcept {
    constexpr int64_t kMost = 1 << 26;  // of at most 16 bytes each
    return static_cast<int>(buffer.numel - done < kMost ? buffer.numel - done : kMost);
  }

  Error broadcast(const TensorArg& t, int root) const noexcept {
    TENON_TRY(check_usable());
    detail::MpiBuffer buffer;
    const auto use = rank_ == root ? detail::MpiUse::Read : detail::MpiUse::Write;
    Error error = check_root(root);
    if (error == Error::Ok) {
      error = buffer.find(t, "the tensor", use, detail::MpiForm::Contiguous);
    }
    detail::MpiRecord record(detail::MpiCall::Bcast);
    record.root = root;
    TENON_TRY(agree(error, record, t));
    int64_t done = 0;
    do {
      const int n = piece_of(buffer, done);
      TENON_TRY(detail::check_mpi("MPI_Bcast",
                                  MPI_Bcast(buffer.at(done), n, buffer.element, root, comm_)));
      done += n;
    } while (done < buffer.numel);
    return rank_ == root ? Error::Ok : buffer.store(t);
  }

  /// Fills in what each rank has of the slabs that a buffer describes: counts, then displacements.
  void set_parts(int64_t n, int count) const noexcept {
    for (int r = 0; r < size_; ++r) {
      const Part of_rank = part(n, size_, r);
      parts_[static_cast<size_t>(r)] = static_cast<int>(of_rank.size * count);
      parts_[static_cast<size_t>(size_ + r)] = static_cast<int>(of_rank.begin * count);
    }
  }

  Error cut(const TensorArg& source, const TensorArg& t, int root, int64_t dim) const noexcept {
    TENON_TRY(check_usable());
    const bool is_root = rank_ == root;
    detail::MpiBuffer from;
    detail::MpiBuffer to;
    Tensor all;  // with `dim` as their first dimension
    Tensor mine;
    const auto prepare = [&]() noexcept -> Error {
      TENON_TRY(check_root(root));
      TENON_TRY(detail::move_dim_first(t, "the tensor", dim, mine));
      TENON_TRY(to.find(mine, "the tensor", detail::MpiUse::Write));
      TENON_TRY(to.describe(mine));
      if (!is_root) return Error::Ok;
      TENON_TRY(detail::move_dim_first(source, "the source", dim, all));
      TENON_TRY(detail::check_part(source, t, dim, size_, rank_));
      TENON_TRY(from.find(all, "the source", detail::MpiUse::Read));
      TENON_TRY(detail::check_apart(from, all, to, mine));
      TENON_TRY(from.describe_slabs(all));
      set_parts(all.size(0), from.count);
      return Error::Ok;
    };
    detail::MpiRecord record(detail::MpiCall::Scatter);
    record.root = root;
    record.dim = dim;
    TENON_TRY(agree(prepare(), record, is_root ? source : t));
    TENON_TRY(detail::check_mpi(
        "MPI_Scatterv", MPI_Scatterv(from.data, parts_.get(), parts_.get() + size_, from.type,
                                     to.data, to.count, to.type, root, comm_)));
    return to.store(mine);
  }

  Error join(const TensorArg& t, const TensorArg& out, int root, int64_t dim) const noexcept {
    TENON_TRY(check_usable());
    const bool is_root = rank_ == root;
    detail::MpiBuffer from;
    detail::MpiBuffer to;
    Tensor all;
    Tensor mine;
    const auto prepare = [&]() noexcept -> Error {
      TENON_TRY(check_root(root));
      return is_root ? prepare_join(t, out, dim, mine, all, from, to)
                     : prepare_piece(t, dim, mine, from);
    };
    detail::MpiRecord record(detail::MpiCall::Gather);
    record.root = root;
    record.dim = dim;
    TENON_TRY(agree(prepare(), record, is_root ? out : t));
    TENON_TRY(detail::check_mpi("MPI_Gatherv",
                                MPI_Gatherv(from.data, from.count, from.type, to.data, parts_.get(),
                                            parts_.get() + size_, to.type, root, comm_)));
    return is_root ? to.store(all) : Error::Ok;
  }
  /// The tensor that a rank gives to those of the others.
  Error prepare_piece(const TensorArg& t, int64_t dim, Tensor& mine,
                      detail::MpiBuffer& from) const noexcept {
    TENON_TRY(detail::move_dim_first(t, "the tensor", dim, mine));
    TENON_TRY(from.find(mine, "the tensor", detail::MpiUse::Read));
    return from.describe(mine);
  }
  /// The same, and the tensor that all of them are put in.
  Error prepare_join(const TensorArg& t, const TensorArg& out, int64_t dim, Tensor& mine,
                     Tensor& all, detail::MpiBuffer& from, detail::MpiBuffer& to) const noexcept {
    TENON_TRY(prepare_piece(t, dim, mine, from));
    TENON_TRY(detail::move_dim_first(out, "the output", dim, all));
    TENON_TRY(detail::check_part(out, t, dim, size_, rank_));
    TENON_TRY(to.find(all, "the output", detail::MpiUse::Write));
    TENON_TRY(detail::check_apart(from, mine, to, all));
    TENON_TRY(to.describe_slabs(all));
    set_parts(all.size(0), to.count);
    return Error::Ok;
  }

  /// Describes both by slabs. Open MPI's ranks choose how to do MPI_Allgatherv by the size of their
  /// own datatype to send times the number of those to receive, and would wait for each other.
  Error describe_uneven(const Tensor& mine, const Tensor& all, detail::MpiBuffer& from,
                        detail::MpiBuffer& to) const noexcept {
    TENON_TRY(to.describe_slabs(all, true));
    TENON_TRY(from.describe_slabs(mine, true));
    from.count = from.numel == 0 ? 0 : static_cast<int>(mine.size(0));
    if (from.numel == 0) from.type = to.type;
    set_parts(all.size(0), to.count);
    return Error::Ok;
  }

  Error join_all(const TensorArg& t, const TensorArg& out, int64_t dim) const noexcept {
    TENON_TRY(check_usable());
    detail::MpiBuffer from;
    detail::MpiBuffer to;
    Tensor all;
    Tensor mine;
    detail::MpiRecord record(detail::MpiCall::Allgather);
    record.dim = dim;
    const auto prepare = [&]() noexcept -> Error {
      TENON_TRY(prepare_join(t, out, dim, mine, all, from, to));
      return all.size(0) % size_ == 0 ? Error::Ok : describe_uneven(mine, all, from, to);
    };
    TENON_TRY(agree(prepare(), record, out));
    if (all.size(0) % size_ == 0) {
      TENON_TRY(detail::check_mpi(
          "MPI_Allgather",
          MPI_Allgather(from.data, from.count, from.type, to.data, parts_[0], to.type, comm_)));
    } else {
      TENON_TRY(detail::check_mpi(
          "MPI_Allgatherv", MPI_Allgatherv(from.data, from.count, from.type, to.data, parts_.get(),
                                           parts_.get() + size_, to.type, comm_)));
    }
    return to.store(all);
  }

  Error reduce(const TensorArg* source, const TensorArg& out, Op op) const noexcept {
    TENON_TRY(check_usable());
    detail::MpiOperation operation;
    detail::MpiBuffer from;
    detail::MpiBuffer to;
    const auto prepare = [&]() noexcept -> Error {
      TENON_TRY(detail::check_defined(out, "the output"));
      TENON_TRY(operation.find(detail::fields(out).type, op));
      const auto use = source == nullptr ? detail::MpiUse::Update : detail::MpiUse::Write;
      TENON_TRY(to.find(out, "the output", use, form_of(operation)));
      if (source == nullptr) return Error::Ok;
      TENON_TRY(from.find(*source, "the source", detail::MpiUse::Read, form_of(operation)));
      TENON_TRY(check_alike(*source, out));
      return detail::check_apart(from, *source, to, out);
    };
    detail::MpiRecord record(detail::MpiCall::Allreduce);
    record.op = static_cast<int64_t>(op);
    TENON_TRY(agree(prepare(), record, out));
    int64_t done = 0;
    do {
      const int n = piece_of(to, done);
      TENON_TRY(detail::check_mpi(
          "MPI_Allreduce", MPI_Allreduce(source == nullptr ? MPI_IN_PLACE : from.at(done),
                                         to.at(done), n, to.element, operation.get(), comm_)));
      done += n;
    } while (done < to.numel);
    return to.store(out);
  }

  Error reduce_parts(const TensorArg& source, const TensorArg& out, Op op,
                     int64_t dim) const noexcept {
    TENON_TRY(check_usable());
    detail::MpiOperation operation;
    detail::MpiBuffer from;
    detail::MpiBuffer to;
    Tensor all;
    Tensor mine;
    const auto prepare = [&]() noexcept -> Error {
      TENON_TRY(detail::move_dim_first(out, "the output", dim, mine));
      TENON_TRY(detail::move_dim_first(source, "the source", dim, all));
      TENON_TRY(detail::check_part(source, out, dim, size_, rank_));
      TENON_TRY(operation.find(detail::fields(out).type, op));
      TENON_TRY(to.find(mine, "the output", detail::MpiUse::Write, form_of(operation)));
      TENON_TRY(from.find(all, "the source", detail::MpiUse::Read, form_of(operation)));
      TENON_TRY(detail::check_apart(from, all, to, mine));
      if (TENON_UNLIKELY(from.numel > INT_MAX)) {
        return detail::fail(Error::NotSupported, from.numel, " elements are more than MPI counts");
      }
      set_parts(all.size(0), from.numel == 0 ? 0 : static_cast<int>(from.numel / all.size(0)));
      return Error::Ok;
    };
    detail::MpiRecord record(detail::MpiCall::ReduceScatter);
    record.dim = dim;
    record.op = static_cast<int64_t>(op);
    TENON_TRY(agree(prepare(), record, source));
    if (all.size(0) % size_ == 0) {
      TENON_TRY(detail::check_mpi("MPI_Reduce_scatter_block",
                                  MPI_Reduce_scatter_block(from.data, to.data, parts_[0],
                                                           to.element, operation.get(), comm_)));
    } else {
      TENON_TRY(detail::check_mpi("MPI_Reduce_scatter",
                                  MPI_Reduce_scatter(from.data, to.data, parts_.get(), to.element,
                                                     operation.get(), comm_)));
    }
    return to.store(mine);
  }
  static detail::MpiForm form_of(const detail::MpiOperation& operation) noexcept {
    return operation.is_made() ? detail::MpiForm::Host : detail::MpiForm::Contiguous;
  }
  static Error check_alike(const TensorArg& source, const TensorArg& out) noexcept {
    const detail::TensorFields& from = detail::fields(source);
    const detail::TensorFields& to = detail::fields(out);
    if (TENON_UNLIKELY(from.type != to.type || from.layout.sizes != to.layout.sizes)) {
      return detail::fail(Error::InvalidArgument, "the source is ", from.type, ' ',
                          from.layout.sizes, ", the output ", to.type, ' ', to.layout.sizes);
    }
    return Error::Ok;
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Comm leading_ = MPI_COMM_NULL;  // of the records that lead messages
  int rank_ = 0;
  int size_ = 0;
  std::unique_ptr<int[]> parts_;                  // counts and displacements of a collective call
  std::unique_ptr<detail::MpiRecord[]> records_;  // of each rank, where shapes are checked
};

}  // namespace mpi
TENON_END_NAMESPACE
