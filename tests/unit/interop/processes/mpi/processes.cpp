// SPDX-License-Identifier: MIT
// A process that mpirun starts several times for each case below: how things are before MPI and
// after it, and how a rank's end ends the others. The first two end with 0; in the others mpirun
// has to see that a rank died, and end.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <thread>

#include "tenon/interop/mpi.h"
#include "tenon/tenon.h"

using namespace tenon;
using mpi::Communicator;

namespace {

int failures = 0;

#define CHECK(...)                                                                  \
  do {                                                                              \
    if (!(__VA_ARGS__)) {                                                           \
      std::fprintf(stderr, "%s:%d: false: %s\n", __FILE__, __LINE__, #__VA_ARGS__); \
      ++failures;                                                                   \
    }                                                                               \
  } while (false)

bool says(const char* words) { return std::strstr(last_error_message(), words) != nullptr; }

void before_mpi() {
  const Result<Communicator> early = Communicator::try_make();
  CHECK(early.error() == Error::InvalidState);
  CHECK(std::strstr(early.message(), "MPI is not initialised yet") != nullptr);
  MPI_Init(nullptr, nullptr);
  CHECK(Communicator::try_make().ok());
  MPI_Finalize();
  const Result<Communicator> late = Communicator::try_make();
  CHECK(late.error() == Error::InvalidState);
  CHECK(std::strstr(late.message(), "MPI is finalised already") != nullptr);
}

// A promise of docs/guarantees.md.
void outlives_mpi() {
  MPI_Init(nullptr, nullptr);
  int count = 0;
  float memory[2] = {};
  const auto counted = [&] {
    return from_blob(memory, {2}, ScalarType::Float, [&](void*) noexcept { ++count; });
  };
  const TensorPtr t = ones({2});
  {
    Communicator comm(MPI_COMM_WORLD, mpi::Check::Shapes);
#if defined(OPEN_MPI)  // MPI_Finalize of MPICH aborts where there is a window
    mpi::Window window = *comm.window(counted());
#endif
    mpi::Request request = *comm.irecv(counted(), comm.rank(), 1);
    mpi::Request other = *comm.irecv(t, comm.rank(), 2);
    CHECK(comm.send(t, comm.rank(), 1) == Error::Ok);
    CHECK(comm.send(t, comm.rank(), 2) == Error::Ok);
    MPI_Barrier(comm.get());
    MPI_Finalize();
    CHECK(comm.bcast(t) == Error::InvalidState && says("bcast: MPI is finalised already"));
    CHECK(comm.send(t, 0) == Error::InvalidState && says("send: MPI is finalised already"));
    CHECK(comm.window(t).error() == Error::InvalidState);
#if defined(OPEN_MPI)
    CHECK(window.fence() == Error::InvalidState);
    CHECK(window.put(t, 0) == Error::InvalidState);
#endif
    CHECK(request.wait() == Error::InvalidState);
    CHECK(other.test().error() == Error::InvalidState);
    CHECK(count == 0);
  }
#if defined(OPEN_MPI)
  CHECK(count == 2);
#else
  CHECK(count == 1);
#endif
}

/// Rank 1 dies while the others wait for it.
void dies(void (*die)(), bool in_bcast) {
  MPI_Init(nullptr, nullptr);
  const Communicator comm;
  const TensorPtr t = zeros({1000});
  MPI_Barrier(comm.get());
  if (comm.rank() == 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    std::fprintf(stderr, "rank 1 dies\n");
    die();
  }
  const Error error = in_bcast ? comm.bcast(t, 1) : comm.recv(t, 1);
  // Where MPI tells of it, that is an end, too.
  if (error != Error::Ok) std::fprintf(stderr, "%s\n", last_error_message());
  _exit(error == Error::Ok ? 0 : 3);
}
void kill_itself() { std::raise(SIGKILL); }
void leave() { _exit(7); }

void killed_in_recv() { dies(&kill_itself, false); }
void left_in_recv() { dies(&leave, false); }
void killed_in_bcast() { dies(&kill_itself, true); }

struct {
  const char* name;
  void (*run)();
} constexpr kCases[] = {
    {"before_mpi", before_mpi},           {"outlives_mpi", outlives_mpi},
    {"killed_in_recv", killed_in_recv},   {"left_in_recv", left_in_recv},
    {"killed_in_bcast", killed_in_bcast},
};

}  // namespace

int main(int argc, char** argv) {
  for (const auto& c : kCases) {
    if (argc == 2 && std::strcmp(argv[1], c.name) == 0) {
      c.run();
      return failures == 0 ? 0 : 1;
    }
  }
  std::fprintf(stderr, "no such case\n");
  return 2;
}
