#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Measures tenon beside ExecuTorch, ATen, OpenCV and NumPy: installs what is missing (Debian, Ubuntu), fetches
# the peers, builds and prints the tables. Arguments go to benchmark/compare.py (try --help), or after --grid to
# benchmark/grid.py: copies and casts of many types, layouts and sizes; or after --comparison to
# benchmark/comparison/comparison.py: tenon beside other tensors and arrays, for docs/comparison.md.
set -eu
. "$(dirname -- "$0")/common.sh"

# get_partners NAME...: a peer that cannot be had is left out; the table says so.
partners=${TENON_PARTNERS:-$root/build/partners}
get_partners() {
  for partner in "$@"; do
    "$root/scripts/partners.sh" --dir "$partners" "$partner" >&2 || step "going on without $partner"
  done
}

need "${CXX:-g++}" g++
need cmake cmake
need ninja ninja-build
need python3 python3
need_pip
need_header benchmark/benchmark.h libbenchmark-dev
if [ "${1:-}" = --comparison ]; then
  shift
  install_missing
  # One that cannot be had is left out.
  need_header xtensor/xtensor.hpp libxtensor-dev
  (install_missing) || step "going on without xtensor"
  missing=
  [ -e /usr/lib/llvm-19/include/c++/v1/mdspan ] || missing="clang-19 libc++-19-dev"
  (install_missing) || step "going on without std::mdspan"
  get_partners executorch libtorch tvm_ffi nanobind cccl
  exec python3 -B "$root/benchmark/comparison/comparison.py" --partners "$partners" --build "$root/build/comparison" \
    --page "$root/docs/comparison.md" "$@"
fi
need_header opencv4/opencv2/dnn/dnn.hpp libopencv-dnn-dev
need_header opencv4/opencv2/imgproc.hpp libopencv-imgproc-dev
install_missing

get_partners executorch libtorch numpy mpi4py

build=$root/build/benchmark
mkdir -p "$build"
: >"$build/build.log"
logged "$build/build.log" cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DTENON_BUILD_BENCHMARKS=ON -DTENON_PARTNERS_DIR="$partners"
logged "$build/build.log" cmake --build "$build"

if [ "${1:-}" = --grid ]; then
  shift
  exec python3 "$root/benchmark/grid.py" "$build/benchmark/bench_grid" "$@"
fi
exec python3 "$root/benchmark/compare.py" "$build/benchmark" "$@"
