// SPDX-License-Identifier: MIT
// main() of a program that mpirun starts several times. Each rank runs the same cases in the same
// order. One that fails ends all of them: the others would wait for it.
#include "support/catch_run.h"
#include "tenon/interop/processes/mpi_datatype.h"

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
#if defined(MPICH_VERSION)
  // It raises there what goes wrong in MPI_Wait: see mpi::Request.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
#endif
  const int failed = tests::run_cases(argc, argv, true);
  if (failed != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Finalize();
  return 0;
}
