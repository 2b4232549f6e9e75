// SPDX-License-Identifier: MIT
// mpi::Communicator: sends and receives tensors of any strides over MPI.
//
// A contiguous tensor is passed to MPI as data, count and element type; a tensor with long
// contiguous rows as data and a datatype that describes its sizes and strides. A tensor with short
// rows is copied to contiguous memory first, and memory that MPI cannot reach is copied to the host
// first; see Communicator.
#pragma once

#include "tenon/interop/processes/mpi_messages.h"
#include "tenon/interop/processes/mpi_window.h"

TENON_BEGIN_NAMESPACE
namespace mpi {

/// Whether the ranks compare their calls before data is sent; see Communicator.
enum class Check : uint8_t {
  None,    ///< if calls disagree, MPI may report an error, or not notice
  Shapes,  ///< functions, dtypes and shapes are compared first: an error on all ranks
};

/// The ranks of an MPI communicator. Move-only. Destroying a Communicator, or assigning to it,
/// frees its MPI communicator, which is collective; after MPI_Finalize nothing is freed.
///
/// Elements are transferred in row-major order of their indices: both sides need equal sizes and
/// dtypes, but may have different strides. A tensor to send may have any strides; a tensor to
/// receive may have any strides with which no two elements share memory. The program itself calls
/// MPI_Init and MPI_Finalize.
///
/// Tensors: functions take a Tensor or a TensorPtr. Where only the root needs a tensor, the other
/// ranks pass an undefined tensor, `comm.scatter(Tensor(), part)`, or any other tensor, which is
/// ignored. Dimensions: scatter(), gather(), allgather() and reduce_scatter() divide `dim` into the
/// parts that part() computes, evenly or not. If `dim` is dimension 0 of a contiguous tensor, the
/// parts are blocks of memory; otherwise a contiguous copy is made in which `dim` comes first.
/// Copies: messages and windows pass strided elements to MPI in place if at least 64 bytes are
/// consecutive. All other strided elements are copied to contiguous memory first, which is faster.
/// Collective functions copy strided elements, too: MPI's operations only take MPI's basic types,
/// and Open MPI's broadcasts fail if one rank's datatype has gaps and another rank's has none
/// (github.com/open-mpi/ompi/issues/10523). Memory of a CUDA device is passed in place, after its
/// backend was synchronised, if Open MPI reports support for CUDA (MPIX_Query_cuda_support); other
/// device memory is copied to the host first. Checks: with Check::Shapes, collective functions
/// first gather each rank's function, dtype, sizes, root, dim and Op. If these disagree, or a
/// rank's arguments are wrong, every rank returns InvalidArgument before data is sent. This costs
/// one MPI_Allgather of 568 bytes per rank. Without checks, ranks that disagree get an error from
/// MPI or wait for each other. Messages are not compared before they are sent. With or without
/// checks, a receive compares the number of elements once the message has arrived; MPI does not
/// transfer the sender's sizes and dtype. window() always reports a rank's error on all ranks.
/// Errors of all functions: InvalidState (MPI is finalised; an undefined tensor; a placeholder; a
/// read-only tensor to receive); InvalidArgument (a rank or root outside of the communicator; a
/// negative tag; a tensor to receive whose elements share memory; calls on which ranks disagree);
/// OutOfBounds (a `dim` that the tensor does not have); NotSupported (memory that neither the host
/// nor a registered backend can reach; calls that MPI does not support, such as scatter(),
/// gather(), allgather() and reduce_scatter() of more than INT_MAX elements); OutOfMemory;
/// AccessFailed or another error, with MPI's text. After an error of MPI or a backend, a tensor to
/// receive may be partly written. The communicator is a duplicate with the error handler
/// MPI_ERRORS_RETURN, so MPI returns errors; but MPI does not promise that a communicator can be
/// used after an error. If a rank dies, mpirun ends the others.
/// Threads: as the level of MPI_Init_thread allows: only the main thread with MPI_THREAD_SINGLE and
/// FUNNELED, one thread at a time with SERIALIZED. With MPI_THREAD_MULTIPLE, any threads may call
/// send(), recv(), isend() and irecv() at once; one thread at a time may call collective functions,
/// in the same order on all ranks: give each thread that calls them its own Communicator.
/// Source: boost::mpi::communicator, mpi4py.MPI.Comm.
class Communicator {
 public:
  /// Duplicates `comm`. Collective.
  /// Errors, raised: InvalidState (MPI is not initialised yet, or already finalised);
  /// InvalidArgument (MPI_COMM_NULL; an intercommunicator); OutOfMemory. If MPI cannot make another
  /// communicator, it calls the error handler of `comm`.
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

  /// The number of this process, from 0 to size() - 1.
  int rank() const noexcept { return ranks_.rank; }
  /// How many processes there are.
  int size() const noexcept { return ranks_.size; }
  /// The duplicate, which is valid as long as this object; MPI_COMM_NULL after it was moved from.
  MPI_Comm get() const noexcept { return ranks_.comm ? ranks_.comm.get() : MPI_COMM_NULL; }
  /// Whether this object was made with Check::Shapes.
  bool checks_shapes() const noexcept { return ranks_.records != nullptr; }

  // --- Point to point: each message is one tensor -----------------------------------------------

  /// Sends the elements. Returns once MPI has copied the elements or the receiver has taken them,
  /// so that the tensor may be changed. Does nothing if `destination` is MPI_PROC_NULL.
  /// Source: MPI_Send.
  Error send(ConstTensorArg t, int destination, int tag = 0) const noexcept {
    return detail::add_context_if("send", detail::send_message(ranks_, t, destination, tag));
  }
  /// Receives a message that has exactly as many elements as the tensor. `source` may be
  /// MPI_ANY_SOURCE; if it is MPI_PROC_NULL, nothing is done. `tag` may be MPI_ANY_TAG.
  /// Errors: also InvalidArgument (a longer or shorter message).
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
  /// Begins to receive. The tensor must not be read or changed until the Request is done. If the
  /// message does not fit, the Request's wait() returns the error.
  /// Source: MPI_Irecv.
  Result<Request> irecv(TensorArg t, int source, int tag = 0) const noexcept {
    Request made;
    const Error error = made.begin(ranks_, t, source, tag, true);
    if (error != Error::Ok) return detail::add_context("irecv", error);
    return made;
  }

  // --- Collective: called by all ranks, in the same order ---------------------------------------

  /// Sends the root's elements to all ranks.
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
  /// Gathers the `t` of all ranks, each of which is the rank's part() of `dim`, into the root's
  /// `out`.
  /// Source: MPI_Gatherv.
  Error gather(ConstTensorArg t, TensorArg out, int root = 0, int64_t dim = 0) const noexcept {
    return detail::add_context_if(
        "gather", detail::cut_or_join(ranks_, detail::MpiCall::Gather, out, t, root, dim));
  }
  /// Like gather(), but into every rank's `out`.
  /// Source: MPI_Allgatherv.
  Error allgather(ConstTensorArg t, TensorArg out, int64_t dim = 0) const noexcept {
    return detail::add_context_if("allgather",
                                  detail::cut_or_join(ranks_, detail::MpiCall::Allgather, out, t,
                                                      detail::MpiRecord::kNone, dim));
  }
  /// Combines the corresponding elements of all ranks' tensors; every rank's tensor receives the
  /// result.
  /// Errors: also InvalidType (Min and Max of complex elements).
  /// Source: MPI_Allreduce.
  Error allreduce(TensorArg t, Op op = Op::Sum) const noexcept {
    return detail::add_context_if("allreduce", detail::reduce(ranks_, t, op));
  }
  /// Combines the corresponding elements of all ranks' `source`; each rank's `out` receives its
  /// part() of the result along `dim`.
  /// Errors: those of allreduce().
  /// Source: MPI_Reduce_scatter.
  Error reduce_scatter(ConstTensorArg source, TensorArg out, Op op = Op::Sum,
                       int64_t dim = 0) const noexcept {
    return detail::add_context_if("reduce_scatter",
                                  detail::reduce_parts(ranks_, source, out, op, dim));
  }

  /// Makes a Window over each rank's tensor, which must be in host memory. The window contains the
  /// memory from the tensor's lowest to its highest element, gaps included.
  /// Errors: if one rank's tensor is refused, that rank returns the error, and the other ranks
  /// return InvalidArgument.
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
