#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: run.sh PACKAGE SCRATCH BUILD
# Makes the package by scripts/release.sh, then starts consume.sh in a new root folder: this machine's, where the checkout
# and the build folder are empty and all changes are lost. What is made lies in SCRATCH.
set -eu
package=$1 scratch=$2 build=$(CDPATH='' cd -- "$3" && pwd -P)
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
root=$(CDPATH='' cd -- "$here/../../.." && pwd)
version=$(sed -n 's/^#define TENON_VERSION_[A-Z]* \([0-9]*\)$/\1/p' "$root/include/tenon/config.h" | paste -sd .)

skip() {
  echo "tenon: skipped: $*"
  exit 77
}

fail() {
  echo "$*"
  exit 1
}

if [ "$package" = metadata ]; then
  release="$root/scripts/release.sh"
  made=$scratch/metadata
  rm -rf "$made"
  (umask 077 && "$release" --out "$made" notes source)
  # The unpacked archive makes the same files, whatever the umask was, and in another repository too.
  mkdir "$made/other"
  git init --quiet "$made/other"
  tar -xzf "$made"/source/*.tar.gz -C "$made/other"
  copy=$made/other/tenon-$version
  "$copy/scripts/release.sh" source notes
  cmp "$made/SHA256SUMS" "$copy/build/release/SHA256SUMS" || fail "the archive makes other files than the checkout"
  ! tar -tvzf "$made"/source/*.tar.gz | grep -Ev '^-rw(-r--r--|xr-xr-x) ' || fail "files of the archive have other modes"

  # refuses WORDS COMMAND...
  refuses() {
    words=$1
    shift
    ! output=$("$@" 2>&1) || fail "$* was not refused"
    case $output in *"$words"*) ;; *) fail "$* said: $output" ;; esac
  }
  refuses "has files that this script did not make" "$copy/scripts/release.sh" --out "$copy" arduino
  [ -e "$copy/arduino/library.properties" ] || fail "a foreign folder was removed"
  # An address is in the metadata of all packages, or in none.
  page=https://example.org/tenon
  refuses "which is no address" env TENON_HOMEPAGE="$page|" "$copy/scripts/release.sh" --out "$made/named" source
  refuses "it begins with https://" env TENON_HOMEPAGE=example.org "$copy/scripts/release.sh" --out "$made/named" source
  TENON_HOMEPAGE=$page "$release" --out "$made/named" source
  tar -xzf "$made"/named/source/*.tar.gz -C "$made/named"
  named=$made/named/tenon-$version
  for file in CMakeLists.txt pyproject.toml library.json CITATION.cff arduino/library.properties packaging/conan/conanfile.py \
    packaging/debian/control packaging/vcpkg/tenon/vcpkg.json; do
    grep -q "$page" "$named/$file" || fail "$file does not name the page"
    ! grep -Eiq '(homepage|url|repository).*http' "$copy/$file" || fail "$file names a page"
  done
  python3 -c 'import json, sys; [json.load(open(path)) for path in sys.argv[1:]]' "$named/library.json" \
    "$named/packaging/vcpkg/tenon/vcpkg.json"
  python3 -c 'import sys, tomllib; print(tomllib.load(open(sys.argv[1], "rb"))["project"]["urls"]["Homepage"])' \
    "$named/pyproject.toml" | grep -qx "$page" || fail "pyproject.toml does not name the page"
  TENON_HOMEPAGE=$page "$named/scripts/release.sh" source  # a second time adds nothing
  cmp "$made"/named/source/*.tar.gz "$named"/build/release/source/*.tar.gz || fail "the page is named twice"
  env PYTHONPATH="$TENON_PARTNERS/twine" python3 -B -W ignore "$TENON_PARTNERS/twine/bin/cffconvert" --validate \
    -i "$named/CITATION.cff"

  sed -i 's/VERSION_PATCH [0-9]*/VERSION_PATCH 99/' "$copy/include/tenon/config.h"
  refuses "library.json does not have the version" "$copy/scripts/release.sh" source
  next=${version%.*}.99
  sed -i "s/\(version.*\)$version/\1$next/" "$copy/library.json" "$copy/arduino/library.properties" "$copy/CITATION.cff" \
    "$copy/packaging/vcpkg/tenon/vcpkg.json"
  refuses "CHANGELOG.md has nothing on $next" "$copy/scripts/release.sh" source
  # All lines on this version, and none on others.
  lines=$(grep -c . "$made/notes/tenon-$version.md")
  all=$(awk -v version="$version" '/^## / { on = $NF == version || $2 == version } on && /./ && !/^## /' "$root/CHANGELOG.md" | wc -l)
  [ "$lines" = "$all" ] || fail "the notes have $lines of $all lines"
  exec env PYTHONPATH="$TENON_PARTNERS/twine" python3 -B -W ignore "$TENON_PARTNERS/twine/bin/cffconvert" --validate \
    -i "$root/CITATION.cff"
fi

overlay='mount -t tmpfs tenon "$0" && mkdir "$0/up" "$0/work" "$0/root" &&
  mount -t overlay tenon -o "lowerdir=/,upperdir=$0/up,workdir=$0/work" "$0/root"'
new=$(mktemp -d)
trap 'rmdir "$new"' EXIT
unshare --mount sh -c "$overlay" "$new" 2>/dev/null || skip "no root folder can be laid over this one (not root?)"

made=$package
[ "$package" != vcpkg ] || made=source
rm -rf "${scratch:?}/$package"
(umask 077 && "$root/scripts/release.sh" --out "$scratch/$package" "$made")

if [ "$package" = python ]; then  # with tenon-inspect where that is asked for, and else without
  asked=$(echo "${SKBUILD_CMAKE_DEFINE-}" | grep -c 'TENON_PYTHON_INSPECT=ON') || true
  there=$(python3 -m zipfile -l "$scratch"/python/python/*.whl | grep -c 'scripts/tenon-inspect ') || true
  [ "$asked" = "$there" ] || fail "the wheel has tenon-inspect $there times, not $asked"
fi

if [ "$package" = cpack ]; then
  # As a user makes it, whose umask may be any.
  (
    umask 077
    cmake -S "$root" -B "$scratch/cpack/build" -DTENON_PARTNERS_DIR=
    cmake --build "$scratch/cpack/build" --target package
    mv "$scratch"/cpack/build/*.tar.gz "$scratch"/cpack/build/*.deb "$scratch/cpack/cpack"
  )
fi

# Its mounts and processes end with it.
unshare --mount --pid --fork --kill-child sh -eu -c "$overlay"'
  root=$1 build=$2 made=$3 partners=$4
  shift 4
  new=$0/root
  mount --rbind /dev "$new/dev"
  mount -t proc proc "$new/proc"
  mkdir -p "$new/package/partners"
  cp -R "$made" "$new/package/made"
  cp -R "$root/packaging" "$root/tests/builds/packages" "$new/package"
  [ ! -d "$partners" ] || mount --rbind "$partners" "$new/package/partners"
  for hidden in "$build" "$root"; do  # one may be in the other
    mkdir -p "$new$hidden"
    mount -t tmpfs tenon "$new$hidden"
  done
  exec chroot "$new" env -i HOME="$HOME" PATH="$PATH" sh -eu /package/packages/consume.sh "$@"
' "$new" "$root" "$build" "$scratch/$package/$made" "$TENON_PARTNERS" "$package" "$version" "$root"
