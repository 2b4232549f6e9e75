#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Installs what is missing (Debian, Ubuntu), builds the tests and runs them.
#
#   scripts/test.sh         the tests, built with the default compiler
#   scripts/test.sh --all   what CI runs, on Debian 12: g++ with optimisation and the benchmark programs; clang++
#                           without, with AddressSanitizer, UBSan and the other major version of Catch2;
#                           clang-tidy, formatting. Warnings are errors, and a missing partner is one too
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
  need_header torch/csrc/api/include/torch/version.h libtorch-dev # beside the libtorch that partners.sh fetches
  CXX=clang++ need_header omp.h libomp-dev # Clang's own OpenMP
  need_header CL/cl.h opencl-headers
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

# run NAME CMAKE_OPTION...: configures, builds and tests in build/NAME, and adds up the results.
run() {
  local build=$root/build/$1 output=$root/build/$1/test.log
  shift
  step "building in ${build#"$root/"}"
  mkdir -p "$build"
  : >"$build/build.log"
  logged "$build/build.log" cmake -S "$root" -B "$build" -G Ninja "${options[@]}" "$@"
  logged "$build/build.log" cmake --build "$build"
  step "testing in ${build#"$root/"}"
  local rc=0
  ctest --test-dir "$build" -j "$(nproc)" --output-on-failure --no-tests=error >"$output" 2>&1 || rc=$?
  # "100% tests passed, 0 tests failed out of 350"; skipped ones count as passed there.
  local summary total bad left
  summary=$(grep -E '^[0-9]+% tests passed' "$output") || {
    tail -n 40 "$output" >&2
    fail "ctest did not finish; all of it is in $output"
  }
  total=${summary##* }
  bad=$(echo "$summary" | sed -E 's/.*, ([0-9]+) tests? failed.*/\1/')
  left=$(grep -cE '\*\*\*Skipped' "$output" || true)
  step "$summary, $left skipped"
  grep -E '\*\*\*Skipped' "$output" >&2 || true
  if [ "$rc" != 0 ]; then grep -vE ' Passed ' "$output" | tail -n 200 >&2; fi
  passed=$((passed + total - bad - left))
  failed=$((failed + bad))
  skipped=$((skipped + left))
}

# check NAME COMMAND...: one more test, of something that is no build.
check() {
  local what=$1
  shift
  step "$what"
  if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

options=()
if [ -z "$all" ]; then
  run test
else
  "$root/scripts/partners.sh" executorch onnxruntime libtorch catch2 cccl dlpack pybind11 nanobind scikit_build numpy torch jax
  partners=${TENON_PARTNERS:-$root/build/partners}
  options=(-DTENON_WERROR=ON -DTENON_REQUIRE_PARTNERS=ON -DTENON_PARTNERS_DIR="$partners"
    -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  check "formatting" sh -c "cd '$root' && git ls-files '*.h' '*.cpp' | xargs clang-format --dry-run --Werror"
  run ci/gcc -DCMAKE_CXX_COMPILER=g++ -DCMAKE_BUILD_TYPE=Release -DTENON_BUILD_BENCHMARKS=ON
  check "benchmark programs run" python3 "$root/tests/benchmark/compare.py" \
    "$root/build/ci/gcc/tests/benchmark" --rounds 1 --min-time 0.01 --compile-runs 1
  run ci/clang -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=Debug -DTENON_SANITIZE=address,undefined \
    -DTENON_ATEN_SUITE= -DCatch2_DIR="$partners/catch2/usr/lib/cmake/Catch2"
  check "clang-tidy" sh -c "cd '$root' && clang-tidy --quiet tests/structure/tidy.cpp -- -std=c++17 -Iinclude"
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
