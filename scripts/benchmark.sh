#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Measures tenon beside ExecuTorch, ATen, OpenCV and NumPy: installs what is missing (Debian, Ubuntu), fetches
# the peers, builds and prints the tables. Arguments go to benchmark/compare.py (try --help), or to
# benchmark/grid.py after --grid: copies and casts of many types, layouts and sizes.
set -eu
. "$(dirname -- "$0")/common.sh"

need "${CXX:-g++}" g++
need cmake cmake
need ninja ninja-build
need python3 python3
need_pip
need_header benchmark/benchmark.h libbenchmark-dev
need_header opencv4/opencv2/dnn/dnn.hpp libopencv-dnn-dev
need_header opencv4/opencv2/imgproc.hpp libopencv-imgproc-dev
install_missing

# A peer that cannot be had is left out; the table says so.
partners=${TENON_PARTNERS:-$root/build/partners}
for partner in executorch libtorch numpy mpi4py; do
  "$root/scripts/partners.sh" --dir "$partners" "$partner" >&2 || step "going on without $partner"
done

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
