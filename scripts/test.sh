#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Installs what is missing (Debian, Ubuntu), builds the tests and runs them.
#
#   scripts/test.sh         the tests, built with the default compiler
#   scripts/test.sh --all   what CI runs, on Debian 12: everything with g++, benchmark programs and ThreadSanitizer
#                           included; clang++ with AddressSanitizer, UBSan and the other major version of Catch2;
#                           core and kernels once more with clang++ -O3 -march=native; tests on Cortex-M machines
#                           in QEMU; for aarch64, armhf, s390x and riscv64, under qemu-user, what differs between
#                           processors; clang-tidy, formatting.
#                           Warnings are errors, and a missing partner is one too
set -eu
. "$(dirname -- "$0")/common.sh"

all=
case ${1:-} in
  '') ;;
  --all) all=1 ;;
  *) fail "usage: scripts/test.sh [--all]" ;;
esac

need "${CXX:-g++}" g++
need cmake cmake
need ninja ninja-build
need python3 python3
need pkg-config pkg-config
install_missing
# Either major version will do.
if ! echo '#include <catch2/catch_test_macros.hpp>' | "${CXX:-g++}" -std=c++17 -E -x c++ - >/dev/null 2>&1; then
  need_header catch2/catch.hpp catch2
fi
if [ -n "$all" ]; then
  need clang++ clang
  need clang-format clang-format
  need clang-tidy clang-tidy
  need ccache ccache
  need gdb gdb
  need valgrind valgrind
  need git git
  need_pip
  # Those of the python3 that is found first; the package has Debian's.
  python3 -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null ||
    missing="$missing python3-dev"
  need_header benchmark/benchmark.h libbenchmark-dev
  need_header opencv4/opencv2/dnn/dnn.hpp libopencv-dnn-dev
  need_header torch/csrc/api/include/torch/version.h libtorch-dev # beside the libtorch that partners.sh fetches
  CXX=clang++ need_header omp.h libomp-dev # Clang's own OpenMP
  need_header CL/cl.h opencl-headers
  need arm-none-eabi-g++ "gcc-arm-none-eabi libstdc++-arm-none-eabi-newlib libnewlib-arm-none-eabi"
  need qemu-system-arm qemu-system-arm
  for triple in aarch64-linux-gnu arm-linux-gnueabihf s390x-linux-gnu riscv64-linux-gnu; do
    need "$triple-g++" "g++-$triple"
  done
  need qemu-s390x-static qemu-user-static
  need clinfo "ocl-icd-opencl-dev pocl-opencl-icd clinfo" # a device made of the CPU
  install_missing
  # Clang's sanitizers, in a package of each version.
  [ -e "$(clang++ -print-file-name=libclang_rt.asan-$(uname -m).so)" ] ||
    missing="libclang-rt-$(clang++ -dumpversion | cut -d. -f1)-dev"
fi
install_missing

passed=0
failed=0
skipped=0
started=$SECONDS
spent=0

# took WHAT: says how long it took since the last time this was said, and in processor time.
took() {
  local fields now
  read -r -a fields <"/proc/$$/stat"
  now=$(((fields[15] + fields[16]) / $(getconf CLK_TCK))) # of the children that ended, system time included
  step "$1: $((SECONDS - started)) s, $((now - spent)) s of processor time"
  started=$SECONDS spent=$now
}

# run NAME CMAKE_OPTION...: configures, builds and tests in build/NAME, and adds up the results.
run() {
  local build=$root/build/$1 what=build/$1 output=$root/build/$1/test.log rc=0
  shift
  step "building in $what"
  mkdir -p "$build"
  : >"$build/build.log"
  logged "$build/build.log" cmake -S "$root" -B "$build" -G Ninja "$@"
  logged "$build/build.log" cmake --build "$build" --parallel "$(nproc)"
  took "built $what"
  ctest --test-dir "$build" -j "$(nproc)" --output-on-failure --no-tests=error >"$output" 2>&1 || rc=$?
  # "100% tests passed, 0 tests failed out of 350", the last such line: what a failed test printed may have its own.
  # Skipped tests count as passed there.
  local summary bad total left
  summary=$(grep -E '^[0-9]+% tests passed' "$output" | tail -n 1)
  if [[ ! $summary =~ ,\ ([0-9]+)\ tests?\ failed\ out\ of\ ([0-9]+)$ ]]; then
    tail -n 40 "$output" >&2
    fail "ctest did not finish; all of it is in $output"
  fi
  bad=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]}
  left=$(grep -cE '^ *[0-9]+/[0-9]+ Test .*\*\*\*Skipped' "$output" || true)
  grep -E '\*\*\*Skipped' "$output" >&2 || true
  if [ "$rc" != 0 ]; then
    grep -vE ' Passed ' "$output" | tail -n 200 >&2
    [ "$bad" != 0 ] || fail "ctest ended with $rc; all of it is in $output"
  fi
  took "tested $what: $summary, $left skipped"
  passed=$((passed + total - bad - left))
  failed=$((failed + bad))
  skipped=$((skipped + left))
}

# check NAME COMMAND...: one more test, of something that is no build.
check() {
  local what=$1
  shift
  if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  took "$what"
}

if [ -z "$all" ]; then
  run test
else
  cd "$root"
  partners=${TENON_PARTNERS:-$root/build/partners}
  fetched=$root/build/partners.log
  mkdir -p "$root/build"
  "$root/scripts/partners.sh" --dir "$partners" executorch onnxruntime libtorch catch2 cccl dlpack pybind11 nanobind \
    scikit_build platformio numpy torch jax >"$fetched" 2>&1 &
  fetching=$!
  trap 'kill "$fetching" 2>/dev/null' EXIT
  # So that ccache takes precompiled headers, serves clones wherever they lie, and does not preprocess what it lacks.
  export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime CCACHE_BASEDIR=$root \
    CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
  options=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  # Meanwhile, what needs no partner.
  files=$(git ls-files '*.h' '*.cpp' '*.cu' '*.cuh')
  # shellcheck disable=SC2086 # a list of files
  check "formatting" clang-format --dry-run --Werror $files
  check "clang-tidy" clang-tidy --quiet tests/structure/tidy.cpp -- -std=c++17 -Iinclude
  run native --preset native "${options[@]}" -DTENON_PARTNERS_DIR=
  run cortex-m --preset cortex-m "${options[@]}" -DTENON_PARTNERS_DIR=
  for processor in aarch64 armhf s390x riscv64; do
    run "$processor" --preset "$processor" "${options[@]}"
  done
  wait "$fetching" || {
    tail -n 20 "$fetched" >&2
    fail "the partners could not be fetched; all of it is in $fetched"
  }
  trap - EXIT
  took "partners"
  options+=(-DTENON_REQUIRE_PARTNERS=ON -DTENON_PARTNERS_DIR="$partners")
  run gcc --preset gcc "${options[@]}"
  check "benchmark programs" python3 tests/benchmark/compare.py build/gcc/tests/benchmark \
    --rounds 1 --min-time 0.01 --compile-runs 1
  run sanitizers --preset sanitizers "${options[@]}" -DCatch2_DIR="$partners/catch2/usr/lib/cmake/Catch2"
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
