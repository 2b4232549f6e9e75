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
  grep -xF "version: $version" "$root/CITATION.cff" || fail "CITATION.cff has not config.h's version, $version"
  grep -F "\"version-semver\": \"$version\"" "$root/packaging/vcpkg/tenon/vcpkg.json" ||
    fail "vcpkg.json has not config.h's version, $version"
  "$root/scripts/release.sh" --out "$scratch/metadata" notes
  # All lines on this version, and none on others.
  lines=$(grep -c . "$scratch/metadata/notes/tenon-$version.md")
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
"$root/scripts/release.sh" --out "$scratch/$package" "$made"

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
