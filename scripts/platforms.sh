#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Builds four programs for each platform of the table below, and runs them where this machine can: the README's, the
# code blocks of docs/tutorial.md and docs/tutorial_exchange.md, and tests/platforms/values.cpp, whose text must be
# x86-64 Linux's to the byte.
#
#   scripts/platforms.sh [NAME...]   those of the platforms whose names contain one of these; without names, all
#
# It installs what is missing (Debian's compilers; Zig from PyPI, which is Clang with the C libraries of many systems).
# A line for each platform says whether it passed or failed. Everything is in build/platforms; Zig and wasmtime
# are those of $TENON_PLATFORM_TOOLS, if that is set.
set -eu
. "$(dirname -- "$0")/common.sh"

work=$root/build/platforms
tools=${TENON_PLATFORM_TOOLS:-$work/python} # packages of PyPI
mkdir -p "$work"
export PYTHONPATH=$tools${PYTHONPATH:+:$PYTHONPATH} WINEPREFIX=$work/wine WINEDEBUG=-all

need g++ g++
need python3 python3
need clang++-22 clang-22
need x86_64-w64-mingw32-g++-posix g++-mingw-w64-x86-64-posix
need /usr/lib/wine/wine64 wine64
need em++ emscripten
need node nodejs
need qemu-aarch64-static qemu-user-static
need_pip
install_missing
python3 -c 'import ziglang, wasmtime' 2>/dev/null ||
  logged "$work/pip.log" env PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1 \
    python3 -m pip install --quiet --target "$tools" ziglang==0.17.1 wasmtime==50.0.1

# Debian's Emscripten takes the fetch() of Node 18 and later for a browser's.
node() { command node --no-experimental-fetch "$@"; }
wine() { /usr/lib/wine/wine64 "$@"; }
wasi() {
  python3 - "$1" <<'END'
import sys, wasmtime
engine = wasmtime.Engine()
linker = wasmtime.Linker(engine)
linker.define_wasi()
store = wasmtime.Store(engine)
wasi = wasmtime.WasiConfig()
wasi.inherit_stdout()
wasi.inherit_stderr()
store.set_wasi(wasi)
instance = linker.instantiate(store, wasmtime.Module.from_file(engine, sys.argv[1]))
try:
    instance.exports(store)["_start"](store)
except wasmtime.ExitTrap as ended:
    sys.exit(ended.code)
END
}

python3 -B "$root/tests/tools/docs/extract.py" "$work/sources" "$root" README.md docs/tutorial{,_exchange}.md >"$work/extracted"
readme=$(grep '/README_program_' "$work/extracted")
tutorial=$(grep '/tutorial_blocks' "$work/extracted")
exchange=$(grep '/tutorial_exchange_blocks' "$work/extracted")
values=$root/tests/platforms/values.cpp

passed=0
failed=0
finish() { # finish HOW WHAT
  echo "$1: $2"
  case $1 in
    passed) passed=$((passed + 1)) ;;
    failed) failed=$((failed + 1)) ;;
  esac
}

wanted=("$@")
is_wanted() {
  local name
  [ ${#wanted[@]} != 0 ] || return 0
  for name in "${wanted[@]}"; do
    case $1 in *"$name"*) return 0 ;; esac
  done
  return 1
}

# platform NAME RUN COMPILER...: RUN is a command that runs a program, `here` for none, or `no` where none can.
platform() {
  local name=$1 run=$2 program source suffix=out programs="readme tutorial exchange values" notes=
  shift 2
  is_wanted "$name" || return 0
  case $run in
    wine) suffix=exe ;;
    node) suffix=js ;;
    wasi)
      suffix=wasm programs="readme values"
      notes="; without the tutorial: it throws, and Zig's libc++ for WASI does not"
      ;;
  esac
  local folder=$work/${name//[^a-zA-Z0-9]/_}
  rm -rf "$folder"
  mkdir -p "$folder"
  for program in $programs; do
    source=${!program}
    local built=$folder/$program.$suffix log=$folder/$program.log
    if ! "$@" -std=c++17 "-I$root/include" "$source" -o "$built" >"$log" 2>&1; then
      grep -m 5 -E 'error|undefined' "$log" >&2 || tail -n 5 "$log" >&2
      finish failed "$name: $program does not build; all of it is in $log"
      return
    fi
    [ "$run" != no ] || continue
    # Some ask for more memory than there is. Programs write nothing but text, whose lines Windows ends by two characters.
    if ! (cd "$folder" && $run "$built") >"$folder/$program.printed" 2>"$log"; then
      cat "$log" >&2
      finish failed "$name: $program fails; what it printed is in $folder"
      return
    fi
    tr -d '\r' <"$folder/$program.printed" >"$folder/$program.txt"
  done
  case $run in
    no) finish passed "$name: compiled and linked, not run$notes" ;;
    *)
      if diff "$work/expected.txt" "$folder/values.txt" >&2; then
        finish passed "$name$notes"
      else
        finish failed "$name: other values than x86-64 Linux's"
      fi
      ;;
  esac
}
here() { "$1"; }

# What is expected everywhere.
logged "$work/expected.log" g++ -std=c++17 "-I$root/include" "$values" -o "$work/expected"
"$work/expected" >"$work/expected.txt"

zig() { # zig NAME RUN TARGET FLAG...
  local name=$1 run=$2 target=$3
  shift 3
  platform "$name" "$run" python3 -m ziglang c++ -target "$target" -O1 "$@"
}

platform "linux, g++ -O3 -march=native" here g++ -O3 -march=native
platform "linux, clang 22" here clang++-22 -O1
zig "linux x86_64, musl" here x86_64-linux-musl
zig "linux aarch64, musl" qemu-aarch64-static aarch64-linux-musl
zig "linux riscv64, musl" qemu-riscv64-static riscv64-linux-musl
zig "linux aarch64, glibc 2.17" no aarch64-linux-gnu.2.17
zig "linux aarch64, glibc 2.36" no aarch64-linux-gnu.2.36
zig "freebsd x86_64" no x86_64-freebsd
zig "macos aarch64" no aarch64-macos
zig "macos x86_64" no x86_64-macos
zig "windows x86_64, zig" wine x86_64-windows-gnu
platform "windows x86_64, mingw-w64" wine x86_64-w64-mingw32-g++-posix -O1 -static
zig "wasi wasm32" wasi wasm32-wasi -fno-exceptions
platform "emscripten wasm32" node em++ -O1 -fexceptions

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
