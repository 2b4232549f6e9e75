#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Installs what is missing (Debian, Ubuntu), builds the digits demo and runs it. Arguments go to the
# demo: --runtime=executorch, --runtime=torchscript or --runtime=aoti, whose libraries are fetched then; a
# folder with other files.
set -eu
. "$(dirname -- "$0")/common.sh"

need "${CXX:-g++}" g++
need cmake cmake
have make || need ninja ninja-build
partner=
case " $* " in
  *" --runtime=executorch "*) partner=executorch ;;
  *" --runtime=torchscript "*) partner=libtorch ;;
  *" --runtime=aoti "*) # to compile the model; the demo itself needs none of it
    partner='torch torch_export numpy'
    need_header minizip/unzip.h libminizip-dev
    ;;
esac
if [ -n "$partner" ]; then
  need python3 python3
  need_pip
fi
install_missing
# shellcheck disable=SC2086 # names
if [ -n "$partner" ]; then "$root/scripts/partners.sh" $partner >&2; fi

build=$root/build/demo
step "building in build/demo"
mkdir -p "$build"
generator=
# A build folder keeps the generator that it was made with.
if [ ! -e "$build/CMakeCache.txt" ]; then
  if have ninja; then generator=Ninja; else generator='Unix Makefiles'; fi
fi
: >"$build/build.log"
logged "$build/build.log" cmake -S "$root" -B "$build" ${generator:+-G "$generator"} \
  -DCMAKE_BUILD_TYPE=Release -DTENON_BUILD_EXAMPLES=ON
logged "$build/build.log" cmake --build "$build" --target digits

step "running build/demo/examples/digits/digits"
exec "$build/examples/digits/digits" "$@"
