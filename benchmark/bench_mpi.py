#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What it costs to send tensors between two processes: tenon beside MPI's own functions, packing by
hand, and mpi4py on NumPy arrays over the same memory. Prints Markdown tables.

usage: mpirun -n 2 bench_mpi.py LIBRARY [--rounds N] [--largest BYTES]
LIBRARY is bench_mpi_module; mpi4py and numpy must be in PYTHONPATH.
A message goes back and forth. The ways take turns for many short rounds. Figures are first
deciles: a turn in which another program had a processor says little, since both ranks have to run
at once."""

import argparse
import ctypes
import sys

import mpi4py

mpi4py.rc.thread_level = "single"
import numpy
from mpi4py import MPI

SIDES = {"4 KiB": 32, "64 KiB": 128, "1 MiB": 512, "16 MiB": 2048, "64 MiB": 4096}
CONTIGUOUS, ROWS, TRANSPOSED = range(3)
RUN, PITCH = 64, 128  # as in bench_mpi_module.cpp
# Columns: their title and the way.
STRIDED = {"tenon": "tenon", "derived type": "type", "packed by hand": "by hand", "packed by `copy_`": "copied",
           "mpi4py, `ascontiguousarray`": "mpi4py packed", "mpi4py, `Create_vector`": "mpi4py type"}
TABLES = {
    "Contiguous floats": (CONTIGUOUS, {"tenon": "tenon", "mpi4py": "mpi4py"}),
    "Rows of 64 floats, 128 apart": (ROWS, STRIDED),
    "A transposed square": (TRANSPOSED, STRIDED),
}


def load(path):
    library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    library.bench_mpi_prepare.argtypes = [ctypes.c_int64]
    library.bench_mpi_fill.argtypes = [ctypes.c_int, ctypes.c_int64]
    library.bench_mpi_holds.argtypes = [ctypes.c_int, ctypes.c_int64]
    library.bench_mpi_holds.restype = ctypes.c_bool
    library.bench_mpi_run.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int]
    library.bench_mpi_run.restype = ctypes.c_double
    for function in (library.bench_mpi_data, library.bench_mpi_buffer):
        function.restype = ctypes.POINTER(ctypes.c_float)
    return library


class NumpyWays:
    """mpi4py's ways, on arrays over the memory that the library's layouts have."""

    def __init__(self, library, side):
        n = side * side
        as_array = numpy.ctypeslib.as_array
        rows = as_array(library.bench_mpi_data(ROWS), ((n - RUN) // RUN * PITCH + RUN,))
        self.arrays = [
            as_array(library.bench_mpi_data(CONTIGUOUS), (n,)),
            numpy.lib.stride_tricks.as_strided(rows, (n // RUN, RUN), (PITCH * 4, 4)),
            as_array(library.bench_mpi_data(TRANSPOSED), (side, side)).T,
        ]
        self.buffers = [as_array(library.bench_mpi_buffer(layout), self.arrays[layout].shape)
                        for layout in range(3)]
        column = MPI.FLOAT.Create_vector(side, 1, side)
        narrow = column.Create_resized(0, 4)
        self.types = [None, MPI.FLOAT.Create_vector(n // RUN, RUN, PITCH).Commit(),
                      narrow.Create_contiguous(side).Commit()]
        self.memory = [self.arrays[0], rows, self.arrays[2].T]
        column.Free()
        narrow.Free()

    def release(self):
        for datatype in self.types[1:]:
            datatype.Free()

    def run(self, way, layout, calls):
        comm = MPI.COMM_WORLD
        rank, peer = comm.rank, 1 - comm.rank
        array, buffer = self.arrays[layout], self.buffers[layout]
        if way == "mpi4py packed":
            def send():
                comm.Send(numpy.ascontiguousarray(array), peer)

            def receive():
                comm.Recv(buffer, peer)
                array[...] = buffer
        else:
            whole = array if way == "mpi4py" else [self.memory[layout], 1, self.types[layout]]

            def send():
                comm.Send(whole, peer)

            def receive():
                comm.Recv(whole, peer)
        comm.Barrier()
        untimed = 0 if calls == 1 else 1
        for i in range(calls + untimed):
            if i == untimed:
                start = MPI.Wtime()
            if rank == 0:
                send()
                receive()
            else:
                receive()
                send()
        return (MPI.Wtime() - start) / calls / 2


def measure(library, rank, side, rounds):
    """Seconds by (layout, way)."""
    library.bench_mpi_prepare(side)
    numpy_ways = NumpyWays(library, side)

    def run(layout, way, calls):
        if way.startswith("mpi4py"):
            return numpy_ways.run(way, layout, calls)
        return library.bench_mpi_run(way.encode(), layout, calls)

    cases = [(CONTIGUOUS, "raw"), *((layout, way) for layout, ways in TABLES.values() for way in ways.values())]
    seconds = {}
    for number, (layout, way) in enumerate(cases, 1):
        library.bench_mpi_fill(layout, number if rank == 0 else 0)
        seconds[layout, way] = MPI.COMM_WORLD.bcast(run(layout, way, 1))
        if not library.bench_mpi_holds(layout, number):
            sys.exit(f"{way}: the floats did not arrive")
    calls = max(1, int(0.001 / seconds[CONTIGUOUS, "raw"]))  # so that a turn is short
    # Slow ways take part in fewer rounds.
    every = {case: max(1, int(100 * seconds[case])) for case in cases}
    times = {case: [] for case in cases}
    for i in range(rounds):
        first = i % len(cases)  # each has each place in the order
        for layout, way in cases[first:] + cases[:first]:
            if i % every[layout, way] == 0:
                times[layout, way].append(run(layout, way, calls))
    numpy_ways.release()
    library.bench_mpi_release()
    return {case: sorted(turns)[len(turns) // 10] for case, turns in times.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--rounds", type=int, default=101)
    parser.add_argument("--largest", type=int, default=64 << 20)
    options = parser.parse_args()
    library = load(options.library)
    rank = library.bench_mpi_start()
    figures_of = {}
    for size, side in SIDES.items():
        if side * side * 4 <= options.largest:
            figures_of[size] = measure(library, rank, side, options.rounds)
    library.bench_mpi_finish()
    if rank != 0:
        return
    for title, (layout, ways) in TABLES.items():
        print(f"{title}:\n")
        print("| size | MPI, contiguous | " + " | ".join(ways) + " |")
        print("| ---: | ---: | " + " | ".join("---:" for _ in ways) + " |")
        for size, figures in figures_of.items():
            raw = figures[CONTIGUOUS, "raw"]
            ratios = " | ".join(f"{raw / figures[layout, way]:.2f}" for way in ways.values())
            print(f"| {size} | {SIDES[size] ** 2 * 4 / raw / 1e9:.2f} GB/s | {ratios} |")
        print()
    version = MPI.Get_library_version().split(",")[0].strip("\0 \n")
    print(f"Ratios of bandwidths, to that of contiguous bytes by MPI_Send and MPI_Recv. {version}, "
          f"mpi4py {mpi4py.__version__}, NumPy {numpy.__version__}; first decile of {options.rounds} rounds.")


if __name__ == "__main__":
    main()
