#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes tenon a library for Arduino's tools, which look for headers in a library's src/ alone.
set -eu
. "$(dirname -- "$0")/common.sh"

case ${1:-} in
  "" | -*) fail "usage: scripts/arduino.sh FOLDER, which is made, such as ~/Arduino/libraries/tenon" ;;
esac
[ ! -e "$1" ] || fail "$1 is there already"
mkdir -p -- "$(dirname -- "$1")"
cp -R "$root/arduino" "$1"
cp -R "$root/include/tenon" "$1/src/tenon"
cp "$root/LICENSE" "$1/LICENSE"
