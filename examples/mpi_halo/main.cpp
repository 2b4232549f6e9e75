// SPDX-License-Identifier: MIT
// Heat that spreads on a plate, computed by several processes: a halo exchange. Each rank has a
// rectangle of the plate's cells and around it a halo, a copy of its neighbours' outermost cells.
// Before each step the ranks send each other their outermost rows and columns, which are views of
// their tensors, and receive the halo where it belongs; no code packs. Rank 0 then collects the
// plate, computes it alone as well, and compares every bit.
//
//     mpirun -n 4 mpi_halo
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <utility>
#include <vector>

#include "tenon/interop/mpi.h"  // brings mpi.h
#include "tenon/tenon.h"

using tenon::check;
using tenon::Tensor;
using tenon::mpi::Communicator;
using tenon::mpi::part;
using tenon::mpi::Part;
using tenon::mpi::Request;

constexpr int64_t kRows = 121;  // of the plate, without its edge
constexpr int64_t kColumns = 90;
constexpr int kSteps = 500;
constexpr int kRoot = 0;

/// The ranks as a grid of rows and columns.
struct Grid {
  MPI_Comm cart = MPI_COMM_NULL;
  int dims[2] = {0, 0};
  // This rank's neighbours. At the plate's edge MPI_PROC_NULL, for which MPI does nothing.
  int up = 0, down = 0, left = 0, right = 0;

  Grid() {
    int ranks = 0;
    const int periods[2] = {0, 0};
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &cart);
    MPI_Cart_shift(cart, 0, 1, &up, &down);
    MPI_Cart_shift(cart, 1, 1, &left, &right);
  }

  /// The part of a tensor of the whole plate that a rank computes, with the `around` cells
  /// around it.
  Tensor piece(const Tensor& plate, int rank, int64_t around) const {
    int at[2];
    MPI_Cart_coords(cart, rank, 2, at);
    const Part rows = part(kRows, dims[0], at[0]);
    const Part columns = part(kColumns, dims[1], at[1]);
    return narrow(narrow(plate, 0, 1 + rows.begin - around, rows.size + 2 * around), 1,
                  1 + columns.begin - around, columns.size + 2 * around);
  }
};

/// What a tensor has without its outermost rows and columns.
Tensor inner(const Tensor& cells) {
  return narrow(narrow(cells, 0, 1, cells.size(0) - 2), 1, 1, cells.size(1) - 2);
}

/// A cold plate with a hot upper edge and a warm left one; the edge stays as it is.
Tensor new_plate() {
  const Tensor plate = *tenon::zeros({kRows + 2, kColumns + 2});
  check(fill_(select(plate, 1, 0), 40));
  check(fill_(select(plate, 0, 0), 100));
  return plate;
}

/// Each cell becomes the mean of its four neighbours.
void step(const Tensor& from, const Tensor& to) {
  const auto a = from.accessor<const float, 2>();
  const auto b = to.accessor<float, 2>();
  for (int64_t i = 1; i + 1 < a.size(0); ++i) {
    for (int64_t j = 1; j + 1 < a.size(1); ++j) {
      b[i][j] = 0.25f * ((a[i - 1][j] + a[i + 1][j]) + (a[i][j - 1] + a[i][j + 1]));
    }
  }
}

/// Receives the halo of `cells` and sends what is the neighbours' halo.
void exchange(const Communicator& comm, const Grid& grid, const Tensor& cells) {
  const int64_t rows = cells.size(0) - 2;
  const int64_t columns = cells.size(1) - 2;
  const auto row = [&](int64_t i) { return narrow(narrow(cells, 0, i, 1), 1, 1, columns); };
  const auto column = [&](int64_t j) { return narrow(narrow(cells, 1, j, 1), 0, 1, rows); };
  Request requests[] = {
      comm.irecv(row(0), grid.up).value(),      comm.irecv(row(rows + 1), grid.down).value(),
      comm.irecv(column(0), grid.left).value(), comm.irecv(column(columns + 1), grid.right).value(),
      comm.isend(row(1), grid.up).value(),      comm.isend(row(rows), grid.down).value(),
      comm.isend(column(1), grid.left).value(), comm.isend(column(columns), grid.right).value(),
  };
  for (Request& request : requests) check(request.wait());
}

/// The plate after all steps, computed by this process alone.
Tensor computed_alone() {
  Tensor from = new_plate();
  Tensor to = new_plate();
  for (int i = 0; i < kSteps; ++i) {
    step(from, to);
    std::swap(from, to);
  }
  return from;
}

/// The plate after all steps, on the root; the other ranks have their parts of it.
Tensor computed_together(const Communicator& comm, const Grid& grid) {
  const bool is_root = comm.rank() == kRoot;
  const Tensor plate = new_plate();  // only the root's is sent and filled
  // The root sends each rank its piece, which is a view of the plate, halo and edge included.
  std::vector<Request> sent;
  for (int r = 0; is_root && r < comm.size(); ++r) {
    sent.push_back(comm.isend(grid.piece(plate, r, 1), r).value());
  }
  Tensor from = *tenon::empty_like(grid.piece(plate, comm.rank(), 1));
  check(comm.recv(from, kRoot));
  for (Request& request : sent) check(request.wait());
  Tensor to = *tenon::clone_tensor_ptr(from);

  for (int i = 0; i < kSteps; ++i) {
    exchange(comm, grid, from);
    step(from, to);
    std::swap(from, to);
  }

  // Each rank's cells are received where they belong.
  Request mine = comm.isend(inner(from), kRoot).value();
  for (int r = 0; is_root && r < comm.size(); ++r) {
    check(comm.recv(grid.piece(plate, r, 0), r));
  }
  check(mine.wait());
  return plate;
}

int run() {
  const Grid grid;
  const Communicator comm(grid.cart);
  const Tensor plate = computed_together(comm, grid);
  if (comm.rank() != kRoot) return 0;
  const Tensor expected = computed_alone();
  const bool is_same =
      std::memcmp(plate.const_data_ptr(), expected.const_data_ptr(), expected.nbytes()) == 0;
  std::printf("  %d x %d cells on %d x %d ranks, %d steps: %s\n", static_cast<int>(kRows),
              static_cast<int>(kColumns), grid.dims[0], grid.dims[1], kSteps,
              is_same ? "every bit is as one process has it" : "NOT what one process has");
  return is_same ? 0 : 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int result = 1;
  try {
    result = run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mpi_halo: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);  // the other ranks would wait for this one
  }
  MPI_Finalize();
  return result;
}
