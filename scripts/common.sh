# SPDX-License-Identifier: MIT
#
# Sourced by the scripts beside it: messages, and installing what is missing on Debian and Ubuntu.
# By what is usable, not by package, so that a compiler or CMake from elsewhere counts.
# shellcheck shell=sh

name=${0##*/}
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
missing=

have() { command -v "$1" >/dev/null 2>&1; }
step() { echo "$name: $*" >&2; }
fail() {
  step "$*"
  exit 1
}

# need COMMAND PACKAGE: the package will be installed unless the command is there.
need() { have "$1" || missing="$missing $2"; }
# need_header HEADER PACKAGE
need_header() {
  echo "#include <$1>" | "${CXX:-g++}" -std=c++17 -E -x c++ - >/dev/null 2>&1 || missing="$missing $2"
}
need_pip() { python3 -m pip --version >/dev/null 2>&1 || missing="$missing python3-pip"; }

# Installs what need() found missing, with apt-get, as root or by sudo.
install_missing() {
  [ -n "$missing" ] || return 0
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
  missing=
}

# logged FILE COMMAND...: runs it silently; on failure shows the end of its output and ends.
logged() {
  log=$1
  shift
  "$@" >>"$log" 2>&1 || {
    tail -n 40 "$log" >&2
    fail "failed: $*; all of it is in $log"
  }
}
