#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Measures tenon beside ExecuTorch and ATen: installs what is missing (Debian, Ubuntu), fetches the
# two peers, builds and prints one table. Arguments go to tests/benchmark/compare.py (try --help).
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
build=$root/build/benchmark
partners=${TENON_PARTNERS:-$root/build/partners}

have() { command -v "$1" >/dev/null 2>&1; }

# By what is usable, not by package, so that a compiler or CMake from elsewhere counts.
missing=
have "${CXX:-g++}" || missing="$missing g++"
have cmake || missing="$missing cmake"
have ninja || missing="$missing ninja-build"
have python3 || missing="$missing python3"
python3 -m pip --version >/dev/null 2>&1 || missing="$missing python3-pip"
if ! echo '#include <benchmark/benchmark.h>' |
  "${CXX:-g++}" -std=c++17 -E -x c++ - >/dev/null 2>&1; then
  missing="$missing libbenchmark-dev"
fi
if [ -n "$missing" ]; then
  if ! have apt-get; then
    echo "benchmark.sh: please install:$missing" >&2
    exit 1
  fi
  sudo=
  if [ "$(id -u)" != 0 ]; then sudo=sudo; fi
  $sudo apt-get update -qq
  # shellcheck disable=SC2086 # a list of package names
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
fi

# A peer that cannot be had is left out; the table says so.
for partner in executorch libtorch; do
  "$root/scripts/partners.sh" --dir "$partners" "$partner" >&2 ||
    echo "benchmark.sh: going on without $partner" >&2
done

log=$build/build.log
mkdir -p "$build"
{
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DTENON_BUILD_BENCHMARKS=ON -DTENON_BUILD_TESTS=OFF -DTENON_BUILD_EXAMPLES=OFF \
    -DTENON_PARTNERS_DIR="$partners" &&
    cmake --build "$build"
} >"$log" 2>&1 || {
  tail -n 40 "$log" >&2
  echo "benchmark.sh: the build failed; all of it is in $log" >&2
  exit 1
}

exec python3 "$root/tests/benchmark/compare.py" "$build/tests/benchmark" "$@"
