// SPDX-License-Identifier: MIT
// What bench_mpi.py calls by ctypes: two ranks send each other floats back and forth, in the ways
// that a program in C++ has.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "tenon/interop/mpi.h"  // brings mpi.h
#include "tenon/tenon.h"

using tenon::check;
using tenon::Tensor;

namespace {

constexpr int64_t kRun = 64;     // floats of each row that are sent,
constexpr int64_t kPitch = 128;  // of those that it has

/// Floats as they lie in memory, each layout in memory of its own.
struct Layout {
  Tensor view;
  Tensor packed;  // contiguous, of the same sizes
  MPI_Datatype type = MPI_DATATYPE_NULL;

  float* data() const { return view.mutable_data_ptr<float>(); }
  float* buffer() const { return packed.mutable_data_ptr<float>(); }
  int count() const { return static_cast<int>(view.numel()); }
};

struct Bench {
  tenon::mpi::Communicator comm{MPI_COMM_WORLD};
  int peer = 1 - comm.rank();
  Layout layouts[3];  // contiguous, rows, transposed
};

std::unique_ptr<Bench> bench;

/// A value that a float has exactly.
float value_at(int64_t i) { return static_cast<float>(i % 65521); }

void pack(const Tensor& view, float* to) {
  const auto* from = view.const_data_ptr<float>();
  if (view.stride(1) == 1) {
    const auto run = static_cast<size_t>(view.size(1));
    for (int64_t i = 0; i < view.size(0); ++i, to += run) {
      std::memcpy(to, from + i * view.stride(0), run * sizeof(float));
    }
    return;
  }
  for (int64_t i = 0; i < view.size(0); ++i) {
    for (int64_t j = 0; j < view.size(1); ++j) {
      *to++ = from[i * view.stride(0) + j * view.stride(1)];
    }
  }
}

void unpack(const float* from, const Tensor& view) {
  auto* to = view.mutable_data_ptr<float>();
  if (view.stride(1) == 1) {
    const auto run = static_cast<size_t>(view.size(1));
    for (int64_t i = 0; i < view.size(0); ++i, from += run) {
      std::memcpy(to + i * view.stride(0), from, run * sizeof(float));
    }
    return;
  }
  for (int64_t i = 0; i < view.size(0); ++i) {
    for (int64_t j = 0; j < view.size(1); ++j) {
      to[i * view.stride(0) + j * view.stride(1)] = *from++;
    }
  }
}

void raw_send(const void* data, int count, MPI_Datatype type) {
  MPI_Send(data, count, type, bench->peer, 0, MPI_COMM_WORLD);
}

void raw_receive(void* data, int count, MPI_Datatype type) {
  MPI_Recv(data, count, type, bench->peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void tenon_send(const Tensor& tensor) { check(bench->comm.send(tensor, bench->peer)); }
void tenon_receive(const Tensor& tensor) { check(bench->comm.recv(tensor, bench->peer)); }

/// A way to send and receive what a layout holds.
struct Way {
  const char* name;
  void (*send)(const Layout&);
  void (*receive)(const Layout&);
};

constexpr Way kWays[] = {
    {"raw", [](const Layout& l) { raw_send(l.data(), l.count(), MPI_FLOAT); },
     [](const Layout& l) { raw_receive(l.data(), l.count(), MPI_FLOAT); }},
    {"tenon", [](const Layout& l) { tenon_send(l.view); },
     [](const Layout& l) { tenon_receive(l.view); }},
    {"type", [](const Layout& l) { raw_send(l.data(), 1, l.type); },
     [](const Layout& l) { raw_receive(l.data(), 1, l.type); }},
    {"by hand",
     [](const Layout& l) {
       pack(l.view, l.buffer());
       raw_send(l.buffer(), l.count(), MPI_FLOAT);
     },
     [](const Layout& l) {
       raw_receive(l.buffer(), l.count(), MPI_FLOAT);
       unpack(l.buffer(), l.view);
     }},
    {"copied",
     [](const Layout& l) {
       check(tenon::copy_(l.packed, l.view));
       tenon_send(l.packed);
     },
     [](const Layout& l) {
       tenon_receive(l.packed);
       check(tenon::copy_(l.view, l.packed));
     }},
};

}  // namespace

extern "C" {

/// MPI has been initialised. Returns this process's rank, of two.
int bench_mpi_start() {
  bench = std::make_unique<Bench>();
  return bench->comm.rank();
}

/// Makes the layouts, each of side * side floats.
void bench_mpi_prepare(int64_t side) {
  const int64_t n = side * side;
  const int rows = static_cast<int>(n / kRun);
  const Tensor buffer = *tenon::zeros({n});
  const Tensor views[] = {*tenon::zeros({1, n}), narrow(tenon::zeros({rows, kPitch}), 1, 0, kRun),
                          transpose(tenon::zeros({side, side}), 0, 1)};
  for (int i = 0; i < 3; ++i) {
    bench->layouts[i] = {views[i], view(buffer, views[i].sizes()), MPI_DATATYPE_NULL};
  }
  MPI_Datatype* const by_rows = &bench->layouts[1].type;
  MPI_Type_vector(rows, kRun, kPitch, MPI_FLOAT, by_rows);
  MPI_Type_commit(by_rows);
  // A column, whose extent is that of an element: the next one begins beside it.
  const int s = static_cast<int>(side);
  MPI_Datatype column = MPI_DATATYPE_NULL;
  MPI_Datatype narrow_column = MPI_DATATYPE_NULL;
  MPI_Type_vector(s, 1, s, MPI_FLOAT, &column);
  MPI_Type_create_resized(column, 0, sizeof(float), &narrow_column);
  MPI_Type_contiguous(s, narrow_column, &bench->layouts[2].type);
  MPI_Type_commit(&bench->layouts[2].type);
  MPI_Type_free(&column);
  MPI_Type_free(&narrow_column);
}

/// Ends what prepare made.
void bench_mpi_release() {
  for (Layout& layout : bench->layouts) {
    if (layout.type != MPI_DATATYPE_NULL) MPI_Type_free(&layout.type);
    layout = {};
  }
}

/// A layout's first float, and the one of the buffer for packing.
float* bench_mpi_data(int layout) { return bench->layouts[layout].data(); }
float* bench_mpi_buffer(int layout) { return bench->layouts[layout].buffer(); }

/// Writes first, first + 1, ... to the elements of a layout.
void bench_mpi_fill(int layout, int64_t first) {
  const Tensor& view = bench->layouts[layout].view;
  const auto to = view.accessor<float, 2>();
  for (int64_t i = 0; i < view.size(0); ++i) {
    for (int64_t j = 0; j < view.size(1); ++j) to[i][j] = value_at(first + i * view.size(1) + j);
  }
}

/// Whether fill's values are there.
bool bench_mpi_holds(int layout, int64_t first) {
  const Tensor& view = bench->layouts[layout].view;
  const auto from = view.accessor<const float, 2>();
  for (int64_t i = 0; i < view.size(0); ++i) {
    for (int64_t j = 0; j < view.size(1); ++j) {
      if (from[i][j] != value_at(first + i * view.size(1) + j)) return false;
    }
  }
  return true;
}

/// Seconds that a message takes in one direction. Of several calls the first is not timed, which
/// fills caches. Negative if there is no such way.
double bench_mpi_run(const char* way, int layout, int calls) {
  const Layout& l = bench->layouts[layout];
  for (const Way& w : kWays) {
    if (std::strcmp(w.name, way) != 0) continue;
    MPI_Barrier(MPI_COMM_WORLD);
    const int untimed = calls == 1 ? 0 : 1;
    double start = 0;
    for (int i = 0; i < calls + untimed; ++i) {
      if (i == untimed) start = MPI_Wtime();
      if (bench->comm.rank() == 0) {
        w.send(l);
        w.receive(l);
      } else {
        w.receive(l);
        w.send(l);
      }
    }
    return (MPI_Wtime() - start) / calls / 2;
  }
  return -1;
}

/// Before MPI ends.
void bench_mpi_finish() { bench.reset(); }
}
