#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Installs what is missing (Debian, Ubuntu), builds the digits demo and runs it. Arguments go to the
# demo: a folder with other .npy files.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
build=$root/build/demo
log=$build/build.log

have() { command -v "$1" >/dev/null 2>&1; }
step() { echo "demo.sh: $*" >&2; }
fail() {
  step "$1"
  exit 1
}

# By what is usable, not by package, so that a compiler or CMake from elsewhere counts.
missing=
have "${CXX:-g++}" || missing="$missing g++"
have cmake || missing="$missing cmake"
have ninja || have make || missing="$missing ninja-build"
if [ -n "$missing" ]; then
  have apt-get || fail "please install:$missing"
  sudo=
  if [ "$(id -u)" != 0 ]; then
    have sudo || fail "please install, as root:$missing"
    sudo=sudo
  fi
  step "installing$missing"
  output=$(mktemp)
  # shellcheck disable=SC2086 # a list of package names
  {
    $sudo apt-get update &&
      $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing
  } >"$output" 2>&1 || {
    tail -n 20 "$output" >&2
    fail "the installation failed; all of it is in $output"
  }
  rm -f "$output"
fi

step "building in build/demo"
mkdir -p "$build"
generator=
# A build folder keeps the generator that it was made with.
if [ ! -e "$build/CMakeCache.txt" ]; then
  if have ninja; then generator=Ninja; else generator='Unix Makefiles'; fi
fi
{
  cmake -S "$root" -B "$build" ${generator:+-G "$generator"} -DCMAKE_BUILD_TYPE=Release \
    -DTENON_BUILD_TESTS=OFF &&
    cmake --build "$build" --target digits
} >"$log" 2>&1 || {
  tail -n 40 "$log" >&2
  fail "the build failed; all of it is in $log"
}

step "running build/demo/examples/digits/digits"
exec "$build/examples/digits/digits" "$@"
