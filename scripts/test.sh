#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Installs what is missing (Debian, Ubuntu), builds tests and runs them.
#
#   scripts/test.sh             the library's own tests: unit tests of core, kernels, tensor, backend, exchange and
#                               module, and the code of README, docs/start.md and the tutorial
#   scripts/test.sh --more      every test that needs no other library, and the examples
#   scripts/test.sh --all       what CI runs, on Debian 12: all of these with every partner, ThreadSanitizer included;
#                               configured with every partner hidden; TENON_PORTABLE; with clang++, AddressSanitizer,
#                               UBSan and the other major version of Catch2; Cortex-M machines in QEMU; s390x under
#                               qemu-user; clang-tidy, formatting. Warnings are errors, and so is a missing partner
#   scripts/test.sh --nightly   all of that, the tests for which TENON_NIGHTLY asks (such as Debian's libtorch, C++20, Clang
#                               behind nvcc, four ranks of MPICH, more Cortex-M cores), the sanitizers with every test
#                               and a minute for each fuzzer, the benchmark programs, README's two commands on new
#                               Debian systems (scripts/fresh.sh), the platforms of scripts/platforms.sh, and builds
#                               that find other things: -O3 -march=native, more compilers, processors and standards,
#                               the standard libraries' own checks, -m32, LTO, MemorySanitizer, valgrind, two static
#                               analyzers. Hours
set -eu
. "$(dirname -- "$0")/common.sh"

more=
all=
nightly=
# expect SECONDS: says how long it will take; SECONDS is the processor time on a slow machine of 2026.
expect() {
  step "about $((($1 / $(nproc) + 59) / 60)) minutes on $(nproc) processors, and the time to install what is missing"
}
case ${1:-} in
  '') expect 150 ;;
  --more) more=1 && expect 1000 ;;
  --all) all=1 && expect 2500 ;;
  --nightly) all=1 nightly=1 ;;
  *) fail "usage: scripts/test.sh [--more | --all | --nightly]" ;;
esac

need "${CXX:-g++}" g++
need cmake cmake
need ninja ninja-build
need python3 python3
[ -z "$more$all" ] || need pkg-config pkg-config
install_missing
# Either major version will do.
if ! echo '#include <catch2/catch_test_macros.hpp>' | "${CXX:-g++}" -std=c++17 -E -x c++ - >/dev/null 2>&1; then
  need_header catch2/catch.hpp catch2
fi
if [ -n "$all" ]; then
  need clang++ clang
  need clang++-19 clang-19
  need clang-scan-deps-19 clang-tools-19
  need clang-format clang-format
  need clang-tidy clang-tidy
  need ccache ccache
  need ld.lld lld
  need gdb gdb
  need lldb-19 "lldb-19 python3-lldb-19"
  need valgrind valgrind
  need git git
  need make make
  need dh debhelper
  need dpkg-buildpackage dpkg-dev
  need lintian lintian
  need x86_64-w64-mingw32-g++-posix g++-mingw-w64-x86-64-posix
  need doxygen doxygen
  need node nodejs
  need_pip
  # Those of the python3 that is found first; the package has Debian's.
  python3 -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null ||
    missing="$missing python3-dev"
  CXX=clang++ need_header omp.h libomp-dev # Clang's own OpenMP
  need_header CL/cl.h opencl-headers
  need_header minizip/unzip.h libminizip-dev
  need_header nlohmann/json.hpp nlohmann-json3-dev
  need_header png.h libpng-dev
  need_header oneapi/dnnl/dnnl.hpp libdnnl-dev
  need_header kissfft/kissfft.hh libkissfft-dev
  need_header gmock/gmock.h libgmock-dev
  need_header sleef.h libsleef-dev
  need_header eigen3/Eigen/Core libeigen3-dev
  need_header xtensor/xadapt.hpp libxtensor-dev
  # For docs/recipes_libraries.md: 40 MB to download, 150 MB installed.
  need_header libavutil/frame.h libavutil-dev
  need_header libyuv.h libyuv-dev
  [ -e /usr/include/gstreamer-1.0/gst/video/video.h ] || missing="$missing libgstreamer-plugins-base1.0-dev"
  [ -e "/usr/include/$(g++ -print-multiarch)/qt5/QtGui/QImage" ] || missing="$missing qtbase5-dev"
  # Their headers include one another from another folder, so that need_header cannot compile them.
  [ -e /usr/include/opencv4/opencv2/core.hpp ] || missing="$missing libopencv-core-dev"
  [ -e /usr/include/opencv4/opencv2/imgproc.hpp ] || missing="$missing libopencv-imgproc-dev"
  need arm-none-eabi-g++ "gcc-arm-none-eabi libstdc++-arm-none-eabi-newlib libnewlib-arm-none-eabi"
  need qemu-system-arm qemu-system-arm
  for triple in s390x-linux-gnu ${nightly:+arm-linux-gnueabihf aarch64-linux-gnu riscv64-linux-gnu}; do
    need "$triple-g++" "g++-$triple"
  done
  need qemu-s390x-static qemu-user-static
  need mix elixir
  need_header erl_nif.h erlang-dev
  need clinfo "ocl-icd-opencl-dev pocl-opencl-icd clinfo" # a device made of the CPU
  need mpicxx.openmpi "libopenmpi-dev openmpi-bin"
  need mpicxx.mpich "libmpich-dev mpich"
  install_missing
  # Clang's sanitizers, in a package of each version.
  [ -e "$(clang++ -print-file-name=libclang_rt.asan-$(uname -m).so)" ] ||
    missing="libclang-rt-$(clang++ -dumpversion | cut -d. -f1)-dev"
fi
if [ -n "$nightly" ]; then
  need_header benchmark/benchmark.h libbenchmark-dev
  need_header opencv4/opencv2/dnn/dnn.hpp libopencv-dnn-dev
  need_header torch/csrc/api/include/torch/version.h libtorch-dev # beside the libtorch that partners.sh fetches
  need g++-11 g++-11
  need g++-12 g++-12
  need clang++-15 clang-15
  need clang++-16 clang-16
  need cppcheck cppcheck
  install_missing
  [ -e "$(g++-12 -print-file-name=32/libstdc++.a)" ] || missing="$missing g++-12-multilib"
  [ -e "$(clang++-19 -print-file-name=libc++.a)" ] || missing="$missing libc++-19-dev libc++abi-19-dev"
  [ -e "$(clang++-19 -print-file-name=libclang_rt.msan-$(uname -m).a)" ] || missing="$missing libclang-rt-19-dev"
fi
install_missing

passed=0
failed=0
skipped=0
started=$SECONDS
spent=0

# What each stage took, for the limits of tests/tools/budgets.
stages=$root/build/stages.txt
mkdir -p "$root/build"
: >"$stages"

# took STAGE [RESULT]: says how long it took since the last time this was said, and in processor time.
took() {
  local fields now
  read -r -a fields <"/proc/$$/stat"
  now=$(((fields[15] + fields[16]) / $(getconf CLK_TCK))) # of the children that ended, system time included
  step "$1: ${2:+$2: }$((SECONDS - started)) s, $((now - spent)) s of processor time"
  echo "${1// /_} $((now - spent))" >>"$stages"
  started=$SECONDS spent=$now
}

# configure NAME CMAKE_OPTION...: configures in build/NAME.
configure() {
  local build=$root/build/$1
  shift
  mkdir -p "$build"
  : >"$build/build.log"
  logged "$build/build.log" cmake -S "$root" -B "$build" -G Ninja "$@"
}

# build NAME CMAKE_OPTION...: configures and builds in build/NAME.
build() {
  local build=$root/build/$1 what=build/$1
  step "building in $what"
  configure "$@"
  logged "$build/build.log" cmake --build "$build" --parallel "$(nproc)"
  took "built $what"
}

# run NAME CMAKE_OPTION...: builds, tests, and adds up the results.
run() {
  build "$@"
  run_tests "$1"
}

# run_tests NAME CTEST_OPTION...: tests what was built, and adds up the results.
run_tests() {
  local build=$root/build/$1 what=build/$1 rc=0
  shift
  local output=$build/test.log ctest=(ctest --test-dir "$build" -j "$(nproc)" --output-on-failure --no-tests=error "$@")
  [ -n "$nightly" ] || ctest+=(--timeout 300) # the longest takes one minute
  step "testing in $what"
  : >"$output"
  followed "$output" "${ctest[@]}" || rc=$?
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
  skip_reasons "$output" "$build/Testing/Temporary/LastTest.log" >&2
  if [ "$rc" != 0 ]; then
    [ "$bad" != 0 ] || fail "ctest ended with $rc; all of it is in $output"
    first_error "$output" >&2
    sed -n '/^The following tests FAILED:/,$p' "$output" >&2
    step "all of it is in $output"
  fi
  took "tested $what" "$summary, $left skipped"
  passed=$((passed + total - bad - left))
  failed=$((failed + bad))
  skipped=$((skipped + left))
}

# skip_reasons OUTPUT LOG: of what ctest said and of its log a line for each reason to skip tests, with their number.
skip_reasons() {
  awk -v name="$name" '
    FNR == 1 { ++file }
    file == 1 && /^ *[0-9]+\/[0-9]+ Test .*\*\*\*Skipped/ { sub(/^.*#[0-9]+: /, ""); left[$1] = $1 " gives no reason" }
    file == 2 && / Testing: / { test = $3 }
    file == 2 && /tenon: skipped: / && test in left { left[test] = substr($0, index($0, "tenon: skipped: ") + 16); test = "" }
    END {
      for (test in left) ++count[left[test]]
      for (reason in count) print name ": skipped: " reason ": " count[reason] (count[reason] > 1 ? " tests" : " test")
    }' "$@" | sort
}

# other NAME COMPILER FLAGS FOLDERS CMAKE_OPTION...: the tests of these folders, which link to no partner, built otherwise.
other() {
  local stage=$1 compiler=$2 flags=$3 folders=$4
  shift 4
  case $compiler in
    g++*) flags="$flags -fpch-preprocess" ;;
    clang*) flags="$flags -Xclang -fno-pch-timestamp" ;;
  esac
  run "$stage" -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="$flags" \
    -DTENON_BUILD_TESTS=ON -DTENON_TESTS="$folders" -DTENON_PARTNERS_DIR= -DTENON_WERROR=ON "$@"
}

# check NAME COMMAND...: one more test, of something that is no build.
check() {
  local what=$1
  shift
  if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  took "$what"
}

# folders_but_for REGEX PATH...: the folders of tests that have files in these, but for those that match, as -DTENON_TESTS
# wants them.
folders_but_for() {
  local left_out=$1
  shift
  git ls-files "$@" | sed -n 's:^tests/[a-z]*/\(.*\)/[^/]*$:\1:p' | sort -u | grep -vE "^($left_out)(/|$)" | paste -sd ';'
}

# changed PATH...: whether these differ from the main branch, or on it from the commit before. Without history they do.
changed() {
  local base
  base=$(git merge-base HEAD origin/main 2>/dev/null) || return 0
  [ "$base" != "$(git rev-parse HEAD)" ] || base=$(git rev-parse --verify --quiet HEAD^1) || return 0
  ! git diff --quiet "$base" -- "$@"
}

# hide_partners: makes what -DCMAKE_... below needs so that CMake finds nothing but what the README's second command
# installs, whatever this machine has: a folder of programs for PATH, and an empty one for the rest.
hide_partners() {
  programs=$root/build/alone/programs nothing=$root/build/alone/nothing
  mkdir -p "$programs" "$nothing"
  {
    # shellcheck disable=SC2046 # packages
    dpkg -L $(dpkg-query -W -f='${Essential} ${Package}\n' | sed -n 's/^yes //p') | grep -E '^(/usr)?/s?bin/[^/]+$'
    printf '/usr/bin/%s\n' addr2line ar as awk c++ c++filt ccache cmake cpp ctest g++ gcc gcc-ar gcc-nm gcc-ranlib ld nm \
      ninja objcopy objdump pkg-config python3 ranlib readelf size strings strip
  } | sort -u | xargs ln -sf -t "$programs"
}

if [ -n "$more" ]; then
  run more -DTENON_BUILD_TESTS=ON -DTENON_BUILD_EXAMPLES=ON
elif [ -z "$all" ]; then
  run test -DTENON_BUILD_TESTS=ON -DTENON_TESTS=".;core;kernels;tensor;backend;exchange;module;docs" \
    -DTENON_DOCS="README;docs/start;docs/tutorial;docs/tutorial_exchange"
else
  cd "$root"
  partners=${TENON_PARTNERS:-$root/build/partners}
  fetched=$root/build/partners.log
  mkdir -p "$root/build"
  "$root/scripts/partners.sh" --dir "$partners" executorch onnxruntime libtorch catch2 cccl dlpack ggml ${nightly:+tvm_ffi architectures} pybind11 nanobind \
    scikit_build cmake platformio conan twine site numpy mpi4py torch torchvision torch_export jax pandas mypy safetensors gguf >"$fetched" 2>&1 &
  fetching=$!
  trap 'kill "$fetching" 2>/dev/null' EXIT
  # Also for the projects that tests configure: consumers of the library, Python packages.
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache
  # So that ccache takes precompiled headers, serves clones wherever they lie, and does not preprocess what it lacks.
  export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime CCACHE_BASEDIR=$root \
    CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
  options=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  extent=(-DTENON_NIGHTLY=OFF -DTENON_FUZZ_SECONDS=3)
  if [ -n "$nightly" ]; then
    extent=(-DTENON_NIGHTLY=ON -DTENON_FUZZ_SECONDS=60 -DTENON_FUZZ_SEED=0 -DTENON_SOAK_SECONDS=600
      -DTENON_BUILD_EXAMPLES=ON)
  fi
  # No registry has ExecuTorch's sources, with its own tests: a checkout of it may be named.
  if [ -n "${TENON_EXECUTORCH_SOURCE:-}" ]; then
    extent+=("-DTENON_EXECUTORCH_SOURCE=$TENON_EXECUTORCH_SOURCE")
  else
    step "skipping ExecuTorch's own tests: TENON_EXECUTORCH_SOURCE names no checkout of it"
  fi
  # Meanwhile, what needs no partner.
  files=$(git ls-files '*.h' '*.cpp' '*.cppm' '*.cu' '*.cuh')
  # shellcheck disable=SC2086 # a list of files
  check "formatting" clang-format --dry-run --Werror $files
  check "clang-tidy" clang-tidy --quiet tests/tools/structure/tidy.cpp -- -std=c++17 -Iinclude
  run cortex-m --preset cortex-m "${options[@]}" -DTENON_PARTNERS_DIR=
  for processor in s390x ${nightly:+armhf aarch64 riscv64}; do
    run "$processor" --preset "$processor" "${options[@]}"
  done
  tests='core;kernels;tensor;backend;exchange;module;testing'
  strict='-pedantic-errors -DTENON_PORTABLE=1'
  portable='core;kernels;backend'
  [ -z "$nightly" ] || portable=$tests
  # Without it GCC fuses operations where the processor can, and TENON_PORTABLE has no way to forbid that. Its code is
  # in these three folders; each night all tests run with it.
  other portable-gcc g++ "$strict -ffp-contract=off" "$portable"
  # With every partner hidden: each folder configures and says what it lacks, and a consumer builds. The
  # tests themselves are built with partners, below.
  hide_partners
  PATH=$programs PKG_CONFIG_LIBDIR=$nothing configure alone --preset gcc "${options[@]}" -DTENON_PARTNERS_DIR= \
    -DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF \
    -DCMAKE_FIND_ROOT_PATH="$nothing" -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY \
    -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY \
    -DCatch2_DIR="$(dirname "$(dpkg -L catch2 | grep Catch2Config.cmake)")"
  PATH=$programs run_tests alone -R '^consumer\.(find_package|add_subdirectory)$'
  wait "$fetching" || {
    tail -n 20 "$fetched" >&2
    fail "the partners could not be fetched; all of it is in $fetched"
  }
  trap - EXIT
  took "partners"
  options+=(-DTENON_REQUIRE_PARTNERS=ON -DTENON_PARTNERS_DIR="$partners")
  # It takes a quarter of the time of GNU ld, which the builds above have, and no cache spares linking.
  for kind in EXE SHARED MODULE; do options+=("-DCMAKE_${kind}_LINKER_FLAGS=-fuse-ld=lld"); done
  # What takes long and seldom breaks is built each night, and here when its files changed.
  unchanged=cross # folders of tests
  unchanged_tests=()
  if [ -z "$nightly" ]; then
    changed packaging arduino library.json pyproject.toml scripts/release.sh cmake CMakeLists.txt tests/builds/packages ||
      unchanged+='|packages'
    changed include/tenon/interop/runtimes 'include/tenon/interop/*aoti*' 'include/tenon/interop/torch_stable*' \
      tests/unit/interop/runtimes 'tests/unit/interop/*aoti*' 'tests/unit/interop/torch_stable*' ||
      unchanged+='|interop/runtimes/(aoti|torch_stable)[a-z_]*'
    changed include/tenon/interop tests/tools/partner_headers || unchanged+='|partner_headers'
    changed examples || extent+=(-DTENON_BUILD_EXAMPLES=OFF)
    names=
    changed docs README.md include testing/include scripts/site.sh tests/tools/docs || names+='|docs\.(site|search)$'
    changed src tests/builds/cxx_module || names+='|cxx_module\.import$'
    [ -z "$names" ] || unchanged_tests=(-E "^(${names#|})")
    step "left out, as unchanged: $unchanged ${unchanged_tests[*]} ${extent[*]}"
  fi
  build gcc --preset gcc "${options[@]}" "${extent[@]}" -DTENON_TESTS=".;$(folders_but_for "$unchanged" tests)"
  run_tests gcc "${unchanged_tests[@]}"
  sanitized=
  if [ -z "$nightly" ]; then
    # What is about memory and threads, not about the compiler's work.
    sanitized=".;$(folders_but_for "$unchanged" tests/unit tests/stress tests/builds/free_memory tests/platforms/environment)"
  fi
  run sanitizers --preset sanitizers "${options[@]}" -DCatch2_DIR="$partners/catch2/usr/lib/cmake/Catch2" \
    -DTENON_TESTS="$sanitized" "${extent[@]}"
fi

if [ -n "$nightly" ]; then
  # Every header, by every compiler and as every standard.
  headers=build/alone/tests/tools/structure/user.cpp
  kernel_headers="-idirafter /usr/include/$(uname -m)-linux-gnu" # where -m32 does not look
  warnings='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wsign-conversion -Werror'
  for compiler in g++-11 g++-12 clang++-14 clang++-15 clang++-16 clang++-19 'clang++-19 -stdlib=libc++' 'g++-12 -m32'; do
    for standard in 17 20 2b; do
      # shellcheck disable=SC2086 # lists of options
      check "$compiler -std=c++$standard" $compiler -std=c++$standard -fsyntax-only $warnings $kernel_headers -Iinclude \
        -Itesting/include "$headers"
    done
  done
  for suite in bookworm trixie; do
    check "README's two commands on a new $suite" scripts/fresh.sh "$suite"
  done
  check "analyzers" python3 scripts/analyze.py "$headers"
  check "platforms" scripts/platforms.sh

  build benchmarks --preset gcc "${options[@]}" -DTENON_BUILD_BENCHMARKS=ON \
    -DTENON_BUILD_TESTS=OFF -DTENON_BUILD_EXAMPLES=OFF
  check "benchmark programs" python3 benchmark/compare.py build/benchmarks/benchmark \
    --rounds 1 --min-time 0.01 --compile-runs 1
  check "comparison" python3 -B benchmark/comparison/comparison.py --partners "$partners" --build build/comparison \
    --rounds 1 --min-time 0.01 --compile-runs 1
  run native --preset native "${options[@]}" -DTENON_PARTNERS_DIR=
  other portable-clang clang++ "$strict" "$tests"
  other gcc-11 g++-11 -D_GLIBCXX_ASSERTIONS "$tests" -DCMAKE_CXX_STANDARD=20 -DCMAKE_UNITY_BUILD=OFF
  other gcc-debug g++-12 '-D_GLIBCXX_DEBUG -D_GLIBCXX_DEBUG_PEDANTIC' "$tests"
  other clang-15 clang++-15 -D_GLIBCXX_ASSERTIONS "$tests" -DCMAKE_CXX_STANDARD=20
  other clang-16 clang++-16 -O1 "$tests" -DCMAKE_CXX_STANDARD=23
  other libcxx clang++-19 '-stdlib=libc++ -D_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_DEBUG' "$tests"
  # 32 bits with SSE: with the x87 unit the tests' own sums have more bits than their types. The kernel's headers of 64
  # bits do; a package with those of 32 would take the cross compilers away.
  other m32 g++-12 "-m32 -msse2 -mfpmath=sse $kernel_headers" "$tests"
  other lto-gcc g++-12 '-O2 -flto=auto -Werror=odr -Werror=lto-type-mismatch' "$tests;odr"
  other lto-clang clang++ '-O2 -flto=thin -fuse-ld=lld -Wno-unused-command-line-argument' "$tests;odr"
  # The standard library is not instrumented: what Catch2 does with it would be found. The fuzzers do with little of it:
  # with its assertions on, std::string's functions are compiled here; these others are not instrumented.
  printf '%s\n' 'fun:*_Rb_tree*' 'fun:*memory_resource*allocate*' >build/msan_ignored.txt
  other msan clang++ "-O1 -g1 -D_GLIBCXX_ASSERTIONS -fsanitize-ignorelist=$root/build/msan_ignored.txt" fuzz \
    -DTENON_SANITIZE=memory
  # With --fair-sched threads take turns: else one that waits for another may keep it from running for minutes.
  check "valgrind" valgrind --quiet --fair-sched=yes --error-exitcode=1 --leak-check=full \
    --errors-for-leak-kinds=definite --child-silent-after-fork=yes build/gcc-11/tests/unit/tenon_tests '~[slow]'
fi

# Nightly stages have more tests.
if [ -n "$all" ] && [ -z "$nightly" ]; then
  python3 -B tests/tools/budgets/budgets.py check stages --stages "$stages" | grep '^warning: ' >&2 || true
fi

if [ -n "$more" ]; then
  step "not run: tests with other libraries, sanitizers, other processors and compilers: scripts/test.sh --all"
elif [ -z "$all" ]; then
  step "not run: files, builds, tools, stress and the examples: scripts/test.sh --more"
  step "         other libraries, sanitizers, other processors and compilers: scripts/test.sh --all"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
