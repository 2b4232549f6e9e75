// SPDX-License-Identifier: MIT
// mpi::Communicator: strided tensors over MPI.
//
// A contiguous tensor is passed to MPI as data, count and element type; a tensor with long rows by
// a datatype made from sizes and strides. Short rows are sent from a contiguous copy, and memory
// that MPI cannot reach from a copy on the host; see Communicator.
#pragma once

#include "tenon/interop/processes/mpi_messages.h"
#include "tenon/interop/processes/mpi_window.h"

TENON_BEGIN_NAMESPACE
namespace mpi {

/// Whether ranks compare their calls before data moves, see Communicator.
enum class Check : uint8_t {
  None,    ///< what does not agree is MPI's error, or goes unnoticed
  Shapes,  ///< functions, dtypes and shapes are compared first: an error on all ranks
};

/// The ranks of an MPI communicator. Move-only. Destroying it, or assigning to it, frees the
/// communicator, which is collective; after MPI_Finalize nothing is freed.
///
/// Elements are transferred in row-major order of their indices, whatever the strides on either
/// side: sizes and dtypes have to be equal, strides need not be. A tensor to send may have any
/// strides, one to receive any strides at which elements do not share memory. The program
/// initialises and finalises MPI.
///
/// Tensors: functions take a Tensor or a TensorPtr. Where only the root needs a tensor, the other
/// ranks pass an undefined one, `comm.scatter(Tensor(), part)`, or any other, which is ignored.
/// Dimensions: scatter(), gather(), allgather() and reduce_scatter() cut `dim` as part() does,
/// evenly or not. Along dimension 0 of a contiguous tensor the parts are blocks of memory;
/// otherwise a contiguous copy with that dimension first is made.
/// Copies: messages and windows pass strided elements to MPI in place if at least 64 bytes are
/// consecutive. All others are copied to contiguous memory first, which is faster. So are strided
/// elements of collective functions: MPI's operations only take its basic types, and Open MPI's
/// broadcasts fail if one rank's datatype has gaps and another's has not
/// (github.com/open-mpi/ompi/issues/10523). Memory of a CUDA device is passed in place if Open MPI
/// reports support (MPIX_Query_cuda_support), after the backend is synchronised; other memory of
/// devices is copied to the host first.
/// Checks: with Check::Shapes, collective functions first gather each rank's function, dtype,
/// sizes, root, dim and Op, and return InvalidArgument on every rank if they disagree or a rank's
/// arguments are wrong, before data moves. That costs one MPI_Allgather of 568 bytes for each rank.
/// Without checks, ranks that disagree get an error from MPI or wait for each other. Messages are
/// not compared before they are sent. With or without checks, a receive compares the number of
/// elements once the message is there; MPI does not tell the sender's sizes and dtype. window()
/// always compares.
/// Errors: of all functions InvalidState (MPI is finalised; an undefined tensor, a placeholder, a
/// read-only one to receive), InvalidArgument (a rank or root outside of the communicator, a
/// negative tag; elements to receive that share memory; calls on which ranks disagree), OutOfBounds
/// (a `dim` that the tensor does not have), NotSupported (memory that neither the host nor a
/// registered backend can reach; calls that MPI does not support, such as scatter(), gather(),
/// allgather() and reduce_scatter() of more than INT_MAX elements), OutOfMemory, and AccessFailed
/// or another with MPI's text. After an error of MPI or a backend, a tensor to receive may be
/// partly written. MPI returns errors because the communicator is a duplicate with
/// MPI_ERRORS_RETURN; MPI does not promise that it can be used after one. If a rank dies, mpirun
/// ends the others.
/// Threads: what the level of MPI_Init_thread allows: the main thread with MPI_THREAD_SINGLE and
/// FUNNELED, one thread at a time with SERIALIZED. With MPI_THREAD_MULTIPLE any threads may call
/// send(), recv(), isend() and irecv() at once; collective functions are for one thread at a time,
/// in the same order on all ranks: each thread that needs them has its own Communicator.
/// Source: boost::mpi::communicator, mpi4py.MPI.Comm.
class Communicator {
 public:
  /// A duplicate of `comm`. Collective.
  /// Errors, raised: InvalidState (MPI is not initialised, or finalised), InvalidArgument
  /// (MPI_COMM_NULL; an intercommunicator), OutOfMemory. If MPI has no more communicators, the
  /// error handler of `comm` is called.
  explicit Communicator(MPI_Comm comm = MPI_COMM_WORLD, Check check = Check::None) {
    detail::raise_if("Communicator", ranks_.make(comm, check == Check::Shapes));
  }
  /// The constructor in a form that returns a Result.
  static Result<Communicator> try_make(MPI_Comm comm = MPI_COMM_WORLD,
                                       Check check = Check::None) noexcept {
    Communicator made{Empty()};
    const Error error = made.ranks_.make(comm, check == Check::Shapes);
    if (error != Error::Ok) return detail::add_context("Communicator::try_make", error);
    return made;
  }

  /// The number of this process, from 0 on.
  int rank() const noexcept { return ranks_.rank; }
  /// How many processes there are.
  int size() const noexcept { return ranks_.size; }
  /// The duplicate, valid while this lives; MPI_COMM_NULL after it was moved from.
  MPI_Comm get() const noexcept { return ranks_.comm ? ranks_.comm.get() : MPI_COMM_NULL; }
  /// Whether it was made with Check::Shapes.
  bool checks_shapes() const noexcept { return ranks_.records != nullptr; }

  // --- Point to point: each message is one tensor -----------------------------------------------

  /// Sends the elements. Returns once the tensor may be changed: MPI has copied them, or the
  /// receiver takes them. Does nothing if `destination` is MPI_PROC_NULL.
  /// Source: MPI_Send.
  Error send(ConstTensorArg t, int destination, int tag = 0) const noexcept {
    return detail::add_context_if("send", detail::send_message(ranks_, t, destination, tag));
  }
  /// Receives a message of exactly the tensor's element count. `source` may be MPI_ANY_SOURCE, or
  /// MPI_PROC_NULL, which does nothing; `tag` may be MPI_ANY_TAG.
  /// Errors: also InvalidArgument for a longer or a shorter message.
  /// Source: MPI_Recv.
  Error recv(TensorArg t, int source, int tag = 0) const noexcept {
    return detail::add_context_if("recv", detail::receive_message(ranks_, t, source, tag));
  }
  /// Begins to send. The tensor must not be changed until the Request is done.
  /// Source: MPI_Isend.
  Result<Request> isend(ConstTensorArg t, int destination, int tag = 0) const noexcept {
    Request made;
    const Error error = made.begin(ranks_, t, destination, tag, false);
    if (error != Error::Ok) return detail::add_context("isend", error);
    return made;
  }
  /// Begins to receive. The tensor must not be read or changed until the Request is done. wait() of
  /// the Request returns the errors of a message that does not fit.
  /// Source: MPI_Irecv.
  Result<Request> irecv(TensorArg t, int source, int tag = 0) const noexcept {
    Request made;
    const Error error = made.begin(ranks_, t, source, tag, true);
    if (error != Error::Ok) return detail::add_context("irecv", error);
    return made;
  }

  // --- Collective: called by all ranks, in the same order ---------------------------------------

  /// Sends the root's elements to all.
  /// Source: MPI_Bcast.
  Error bcast(TensorArg t, int root = 0) const noexcept {
    return detail::add_context_if("bcast", detail::broadcast(ranks_, t, root));
  }
  /// Scatters the root's `source`: each rank's `t` receives its part() of `dim`.
  /// Source: MPI_Scatterv.
  Error scatter(ConstTensorArg source, TensorArg t, int root = 0, int64_t dim = 0) const noexcept {
    return detail::add_context_if(
        "scatter", detail::cut_or_join(ranks_, detail::MpiCall::Scatter, source, t, root, dim));
  }
  /// Gathers each rank's `t`, which is the rank's part() of `dim`, to the root's `out`.
  /// Source: MPI_Gatherv.
  Error gather(ConstTensorArg t, TensorArg out, int root = 0, int64_t dim = 0) const noexcept {
    return detail::add_context_if(
        "gather", detail::cut_or_join(ranks_, detail::MpiCall::Gather, out, t, root, dim));
  }
  /// As gather(), to every rank's `out`.
  /// Source: MPI_Allgatherv.
  Error allgather(ConstTensorArg t, TensorArg out, int64_t dim = 0) const noexcept {
    return detail::add_context_if("allgather",
                                  detail::cut_or_join(ranks_, detail::MpiCall::Allgather, out, t,
                                                      detail::MpiRecord::kNone, dim));
  }
  /// Combines corresponding elements of all ranks' tensors, in place.
  /// Errors: InvalidType for Min and Max of complex elements.
  /// Source: MPI_Allreduce.
  Error allreduce(TensorArg t, Op op = Op::Sum) const noexcept {
    return detail::add_context_if("allreduce", detail::reduce(ranks_, t, op));
  }
  /// Combines corresponding elements of all ranks' `source`; each rank's `out` receives its part()
  /// of `dim`.
  /// Errors: those of allreduce().
  /// Source: MPI_Reduce_scatter.
  Error reduce_scatter(ConstTensorArg source, TensorArg out, Op op = Op::Sum,
                       int64_t dim = 0) const noexcept {
    return detail::add_context_if("reduce_scatter",
                                  detail::reduce_parts(ranks_, source, out, op, dim));
  }

  /// Makes a Window over each rank's tensor: host memory, from its lowest element to its highest,
  /// gaps included.
  /// Errors: InvalidType for tensors of several dtypes. If one rank's tensor is refused,
  /// InvalidArgument on the others.
  /// Source: MPI_Win_create.
  Result<Window> window(TensorArg t) const noexcept {
    Window made;
    const Error error = made.make(ranks_, t);
    if (error != Error::Ok) return detail::add_context("window", error);
    return made;
  }

 private:
  struct Empty {};
  explicit Communicator(Empty) noexcept {}

  detail::MpiRanks ranks_;
};

}  // namespace mpi
TENON_END_NAMESPACE
