// SPDX-License-Identifier: MIT
#include "tenon/interop/mpi.h"

#include <thread>

#include "backend/helpers.h"
#include "interop/processes/mpi/ranks.h"

namespace mpi_test {

using namespace tenon;
using mpi::Check;
using mpi::Communicator;
using mpi::Op;
using tests::checked_world;
using tests::kLays;
using tests::laid;
using tests::Lay;
using tests::next;
using tests::number;
using tests::numbers;
using tests::previous;
using tests::send_round;
using tests::world;

TEST_CASE("Communicator: a duplicate, which says its rank and size and returns errors; it moves") {
  int rank = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Communicator comm;
  CHECK(comm.rank() == rank);
  CHECK(comm.size() >= 2);
  CHECK(!comm.checks_shapes());
  CHECK(checked_world().checks_shapes());
  int compared = 0;
  MPI_Comm_compare(comm.get(), MPI_COMM_WORLD, &compared);
  CHECK(compared == MPI_CONGRUENT);
  MPI_Errhandler handler;
  MPI_Comm_get_errhandler(comm.get(), &handler);
  CHECK(handler == MPI_ERRORS_RETURN);

  const MPI_Comm known = comm.get();
  Communicator moved = std::move(comm);
  Communicator to;
  to = std::move(moved);
  CHECK(to.rank() == rank);
  CHECK(to.get() == known);
  for (Communicator* from : {&comm, &moved}) {
    CHECK(from->get() == MPI_COMM_NULL);
    RETURNS(InvalidState, "send: the communicator was moved from", from->send(ones({1}), 0));
    RETURNS(InvalidState, "moved from", from->bcast(ones({1})));
    RETURNS(InvalidState, "moved from", from->allgather(ones({1}), zeros({to.size()})));
    RETURNS(InvalidState, "window: the communicator was moved", from->window(ones({1})).error());
  }
  Communicator& same = to;
  to = std::move(same);
  const TensorPtr one = ones({1});
  REQUIRE(to.allreduce(one) == Error::Ok);
  CHECK(number(*one, 0) == to.size());
}

TEST_CASE("Communicator: of a part of the ranks; what is none is refused") {
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, world().rank() % 2, 0, &half);
  {
    const Communicator comm(half);
    CHECK(comm.size() == world().size() / 2);
    const TensorPtr t = full({2}, world().rank() % 2, ScalarType::Int);
    REQUIRE(comm.allreduce(t) == Error::Ok);
    CHECK(number(*t, 1) == world().rank() % 2 * comm.size());

    MPI_Comm between = MPI_COMM_NULL;
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, (world().rank() + 1) % 2, 0, &between);
    RAISES(InvalidArgument, "Communicator: it is an intercommunicator", Communicator(between));
    MPI_Comm_free(&between);
  }
  MPI_Comm_free(&half);
  RAISES(InvalidArgument, "is MPI_COMM_NULL", Communicator(MPI_COMM_NULL));
  RETURNS(InvalidArgument, "Communicator::try_make: the communicator is MPI_COMM_NULL",
          Communicator::try_make(MPI_COMM_NULL).error());
  CHECK(Communicator::try_make(MPI_COMM_SELF)->size() == 1);
}

TEST_CASE("send, recv: elements of every dtype, between all layouts") {
  for (const ScalarType type : tests::all_types()) {
    for (const Lay from : kLays) {
      for (const Lay to : kLays) {
        const Tensor out = laid({3, 2, 4}, from, type);
        const Tensor in = laid({3, 2, 4}, to, type);
        tests::fill_with(out, numbers(world().rank()));
        send_round(world(), out, in);
        INFO(toString(type) << " from " << static_cast<int>(from) << " to "
                            << static_cast<int>(to));
        CHECK(tests::has(in, numbers(previous())));
      }
    }
  }
}

TEST_CASE("send, recv: rank 0, no elements, broadcast sources and large messages") {
  const TensorPtr scalar = full({}, world().rank(), ScalarType::Int);
  const TensorPtr in = zeros({}, ScalarType::Int);
  send_round(world(), *scalar, *in);
  CHECK(in->item<int32_t>() == previous());
  send_round(world(), *zeros({0, 3}), *zeros({3, 0}));

  const TensorPtr row = full({1, 4}, world().rank(), ScalarType::Int);
  const TensorPtr rows = zeros({3, 4}, ScalarType::Int);
  send_round(world(), expand(*row, {3, 4}), *rows);
  for (int64_t i = 0; i < 12; ++i) CHECK(number(*rows, i) == previous());

  for (const Lay lay : {Lay::C, Lay::Fortran}) {
    const Tensor large = laid({600, 500}, lay);
    tests::fill_with(large, numbers(world().rank()));
    const Tensor other = laid({600, 500}, Lay::C);
    send_round(world(), large, other);
    CHECK(tests::has(other, numbers(previous())));
  }
}

TEST_CASE("send, recv: MPI_ANY_SOURCE and MPI_ANY_TAG take what comes, MPI_PROC_NULL nothing") {
  for (const Communicator* comm : {&world(), &checked_world()}) {
    if (comm->rank() == 0) {
      double sum = 0;
      for (int r = 1; r < comm->size(); ++r) {
        const TensorPtr t = zeros({2}, ScalarType::Int);
        REQUIRE(comm->recv(t, MPI_ANY_SOURCE, MPI_ANY_TAG) == Error::Ok);
        sum += number(*t, 1);
      }
      CHECK(sum == comm->size() * (comm->size() - 1) / 2);
    } else {
      REQUIRE(comm->send(full({2}, comm->rank(), ScalarType::Int), 0, comm->rank()) == Error::Ok);
    }
    const TensorPtr kept = ones({2});
    CHECK(comm->send(kept, MPI_PROC_NULL) == Error::Ok);
    CHECK(comm->recv(kept, MPI_PROC_NULL) == Error::Ok);
    CHECK(comm->irecv(kept, MPI_PROC_NULL)->wait() == Error::Ok);
    CHECK(number(*kept, 1) == 1);
    MPI_Barrier(comm->get());
  }
}

TEST_CASE("send, recv: ranks, tags and tensors that cannot be are refused before MPI is called") {
  const TensorPtr t = zeros({2});
  const int n = world().size();
  RETURNS(InvalidArgument, "send: rank " + std::to_string(n) + " is not one of the",
          world().send(t, n));
  RETURNS(InvalidArgument, "rank -7", world().recv(t, -7));
  RETURNS(InvalidArgument, "is not one of", world().send(t, MPI_ANY_SOURCE));
  RETURNS(InvalidArgument, "tag -3 is negative", world().send(t, 0, -3));
  RETURNS(InvalidArgument, "is negative", world().send(t, 0, MPI_ANY_TAG));
  RETURNS(InvalidArgument, "isend: tag -3", world().isend(t, 0, -3).error());
  RETURNS(InvalidArgument, "irecv: rank 99", world().irecv(t, 99).error());
  RETURNS(InvalidState, "send: the tensor is undefined", world().send(Tensor(), 0));
  RETURNS(InvalidState, "recv: the tensor is undefined", world().recv(TensorPtr(), 0));
  RETURNS(InvalidState, "placeholder", world().send(from_blob(nullptr, {2}), 0));
  const float constant = 1;
  RETURNS(InvalidState, "read-only", world().irecv(from_blob(&constant, {1}), 0).error());
  RETURNS(InvalidArgument, "share memory", world().recv(expand(*zeros({1}), {2}), 0));
  const TensorPtr gone = zeros({2});
  static_cast<void>(backend_deallocate(gone));
  RETURNS(InvalidState, "was deallocated", world().send(gone, 0));
}

// A promise of docs/guarantees.md.
TEST_CASE("checks: where shapes differ, every rank gets the error, and nothing is written") {
  const Communicator& comm = checked_world();
  const bool is_odd = comm.rank() == 1;
  const Tensor t = *full({2, 3}, comm.rank());
  const Tensor turned = *full({3, 2}, comm.rank());
  RETURNS(InvalidArgument,
          "bcast: rank 1 called bcast of Float {3, 2}, root 0; rank 0 called bcast of Float {2, 3}",
          comm.bcast(is_odd ? turned : t));
  CHECK(number(t, 0) == comm.rank());
  RETURNS(InvalidArgument, "allreduce of Float {3, 2}, Sum", comm.allreduce(is_odd ? turned : t));
  CHECK(comm.allreduce(t, is_odd ? Op::Max : Op::Sum) == Error::InvalidArgument);
  CHECK(comm.bcast(t, is_odd ? 1 : 0) == Error::InvalidArgument);
  CHECK((is_odd ? comm.bcast(t) : comm.allreduce(t)) == Error::InvalidArgument);

  const int n = comm.size();
  const Tensor whole = *zeros({2 * n});
  const TensorPtr part = zeros({is_odd ? 1 : 2});
  CHECK(comm.scatter(whole, part) == Error::InvalidArgument);
  CHECK(tests::contains(last_error_message(), "rank 1 called scatter of Float {1}, dim 0, root 0"));
  CHECK(comm.gather(part, whole) == Error::InvalidArgument);
  CHECK(comm.allgather(part, zeros({is_odd ? n : 2 * n})) == Error::InvalidArgument);
  CHECK(comm.reduce_scatter(zeros({is_odd ? n : 2 * n}), part) == Error::InvalidArgument);
  // An error that only one rank finds.
  CHECK(comm.bcast(is_odd ? Tensor() : t) ==
        (is_odd ? Error::InvalidState : Error::InvalidArgument));
  CHECK(tests::contains(last_error_message(), is_odd ? "undefined" : "rank 1 found an error"));
  // All agree: as without checks.
  REQUIRE(comm.allreduce(t) == Error::Ok);
  CHECK(number(t, 0) == n * (n - 1) / 2);
  REQUIRE(comm.scatter(comm.rank() == 0 ? whole : Tensor(), zeros({2})) == Error::Ok);
  REQUIRE(comm.gather(zeros({2}), comm.rank() == 0 ? whole : Tensor(), 0, -1) == Error::Ok);
  REQUIRE(comm.allgather(zeros({2}), whole) == Error::Ok);
  REQUIRE(comm.reduce_scatter(whole, zeros({2})) == Error::Ok);
}

TEST_CASE("threads: with MPI_THREAD_MULTIPLE several threads send and receive at once",
          "[threads][Communicator][Check][Op]") {
  int level = 0;
  MPI_Query_thread(&level);
  if (level < MPI_THREAD_MULTIPLE) return;
  std::vector<std::thread> threads;
  std::vector<Error> errors(4, Error::Ok);
  std::vector<TensorPtr> received;
  for (int i = 0; i < 4; ++i) received.push_back(zeros({1000}, ScalarType::Int));
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const auto at = static_cast<size_t>(i);
      for (int round = 0; round < 20; ++round) {
        Result<mpi::Request> send =
            world().isend(full({1000}, i * 100 + world().rank(), ScalarType::Int), next(), i);
        Error error = send.error();
        if (error == Error::Ok) error = world().recv(received[at], previous(), i);
        if (error == Error::Ok) error = send->wait();
        if (error != Error::Ok) errors[at] = error;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 4; ++i) {
    CHECK(errors[static_cast<size_t>(i)] == Error::Ok);
    CHECK(number(*received[static_cast<size_t>(i)], 999) == i * 100 + previous());
  }
}

}  // namespace mpi_test
