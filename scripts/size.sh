#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Prints what small programs with tenon take on a Cortex-M4F, as the table of docs/embedded.md; installs what is
# missing (Debian, Ubuntu). With --executorch PATH, a checkout of ExecuTorch, that is measured beside it.
set -eu
. "$(dirname -- "$0")/common.sh"

need arm-none-eabi-g++ "gcc-arm-none-eabi libstdc++-arm-none-eabi-newlib libnewlib-arm-none-eabi"
need qemu-system-arm qemu-system-arm
need python3 python3
install_missing

exec python3 -B "$root/tests/platforms/embedded/size/sizes.py" report "$@"
