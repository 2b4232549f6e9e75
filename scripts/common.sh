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

# logged FILE COMMAND...: runs it with its output added to FILE. What it counts (ninja's "[12/340]", ctest's "12/340 Test")
# is shown meanwhile: on a terminal in one line, elsewhere at every tenth. On failure shows the first error and ends.
logged() {
  followed "$@" || {
    shift
    first_error "$log" >&2
    fail "failed: $*; all of it is in $log"
  }
}

# followed FILE COMMAND...: the same, but a failure is the caller's to report.
followed() {
  log=$1
  shift
  {
    status=0
    "$@" 2>&1 || status=$?
    echo "exit status $status"
  } | follow "$log"
}

# follow FILE: see logged(). Ends with the status that the last line tells.
follow() {
  status=1
  tenth=0
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in
      'exit status '*) status=${line#exit status } ;;
      *) printf '%s\n' "$line" >>"$1" ;;
    esac
    # shellcheck disable=SC2086 # its words
    set -f -- "$1" $line
    count=${2:-}
    case $count in
      \[[0-9]*/[0-9]*\]) count=${count#\[} count=${count%\]} ;;
      [0-9]*/[0-9]*) [ "${3:-}" = Test ] || continue ;;
      *) continue ;;
    esac
    if [ -t 2 ]; then
      printf '\r\033[K%s: [%s]' "$name" "$count" >&2
    elif [ $((${count%/*} * 10 / ${count#*/})) -gt "$tenth" ]; then
      tenth=$((${count%/*} * 10 / ${count#*/}))
      step "[$count]"
    fi
  done
  if [ -t 2 ]; then printf '\r\033[K' >&2; fi
  return "$status"
}

# first_error FILE: of the output of CMake, ninja, make or ctest the first error, whole; else the last lines.
first_error() {
  awk '
    /^CMake Error/ { whole = 1 }
    /^\[ *[0-9]+[\/%]/ || /^ninja: / || /^ *[0-9]+\/[0-9]+ Test / || /^ +Start +[0-9]+: / { if (found && !whole) exit }
    /^FAILED: / || /^ *[0-9]+\/[0-9]+ Test .*\*\*\*/ && !/\*\*\*Skipped/ { if (found) exit; found = 1 }
    / error: / && !found { found = 1; print before }
    { if (whole) found = 1; if (found) print; before = $0 }
    END { exit !found }' "$1" || tail -n 40 "$1"
}
