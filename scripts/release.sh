#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes what a release consists of, from a clean checkout. See the usage below.
set -eu
. "$(dirname -- "$0")/common.sh"

usage() {
  cat <<'END'
usage: scripts/release.sh [--out DIR] [NAME...]
  --out DIR   the folder (default: build/release), in which each has a folder of its name
names (default: all, which wants a checkout without changes):
  source      the repository's files, with the vcpkg port in packaging/vcpkg
  cpack       the installed tree as .tar.gz and .deb
  debian      Debian's source package and libtenon-dev, checked by lintian
  python      sdist and wheel, checked by twine
  conan       the package, made and tested by `conan create`, for `conan cache restore`
  platformio  the library as PlatformIO packs it
  arduino     the library for Arduino's tools
  notes       what CHANGELOG.md says of this version
Nothing is uploaded. DEBFULLNAME and DEBEMAIL are the maintainer of the Debian package.
END
}

all="source cpack debian python conan platformio arduino notes"
out=$root/build/release
names=
while [ $# -gt 0 ]; do
  case $1 in
    --out)
      [ $# -ge 2 ] || fail "--out needs a folder"
      out=$2
      shift
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    source | cpack | debian | python | conan | platformio | arduino | notes) names="$names $1" ;;
    *)
      usage >&2
      fail "unknown name '$1'"
      ;;
  esac
  shift
done

need git git
need cmake cmake
need make make
need "${CXX:-g++}" g++
need python3 python3
if [ -z "$names" ]; then
  names=$all
  need dh debhelper
  need dpkg-buildpackage dpkg-dev
  need lintian lintian
  need_pip
fi
install_missing
if [ "$names" = "$all" ] && [ -n "$(git -C "$root" status --porcelain)" ]; then
  fail "the checkout has changes: commit them, or name what to make"
fi

version=$(sed -n 's/^#define TENON_VERSION_[A-Z]* \([0-9]*\)$/\1/p' "$root/include/tenon/config.h" | paste -sd .)
partners=${TENON_PARTNERS:-$root/build/partners}
SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct)
PYTHONDONTWRITEBYTECODE=1
export SOURCE_DATE_EPOCH PYTHONDONTWRITEBYTECODE
mkdir -p "$out"
out=$(CDPATH='' cd -- "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$out/release.log
: >"$log"

# The files that git has or would add, as one archive: all else is made of it, outside the checkout.
archive=$work/tenon-$version-source.tar.gz
git -C "$root" ls-files -z --cached --others --exclude-standard |
  tar -C "$root" --null -T - --ignore-failed-read --transform "s:^:tenon-$version/:" --sort=name --owner=0 --group=0 \
    --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -cf - 2>>"$log" | gzip -n >"$archive"

# unpacked NAME: sets `source` to a new copy of the files.
unpacked() {
  mkdir "$work/$1"
  tar -xzf "$archive" -C "$work/$1"
  source=$work/$1/tenon-$version
}
# partner NAME: sets `partner` to its folder, fetched unless it is there.
partner() {
  partner=$partners/$1
  [ -e "$partner" ] || logged "$log" "$root/scripts/partners.sh" --dir "$partners" "$1"
}

make_source() { cp "$archive" "$out/source"; }

make_cpack() {
  unpacked cpack
  logged "$log" cmake -S "$source" -B "$work/cpack/build" -DTENON_PARTNERS_DIR=
  logged "$log" cmake --build "$work/cpack/build" --target package
  mv "$work"/cpack/build/*.tar.gz "$work"/cpack/build/*.deb "$out/cpack"
}

make_debian() {
  unpacked debian
  cp "$archive" "$work/debian/tenon_$version.orig.tar.gz"
  cp -R "$source/packaging/debian" "$source/debian"
  maintainer=$(sed -n 's/^Maintainer: //p' "$source/debian/control")
  maintainer="${DEBFULLNAME:-${maintainer% <*}} <${DEBEMAIL:-$(expr "$maintainer" : '.*<\(.*\)>')}>"
  sed -i "s/^Maintainer: .*/Maintainer: $maintainer/" "$source/debian/control"
  cat >"$source/debian/changelog" <<END
tenon ($version-1) unstable; urgency=medium

  * New version, whose changes changelog.gz beside this file lists.

 -- $maintainer  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
END
  (
    cd "$source"
    logged "$log" dpkg-buildpackage -us -uc
    # No bug of Debian's asks for the package.
    logged "$log" lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs ../*.changes
  )
  rm -r "$source"
  mv "$work"/debian/* "$out/debian"
}

# The wheel is made of the sdist, which shows that this has what it needs.
make_python() {
  unpacked python
  partner scikit_build
  (
    export PYTHONPATH="$partner"
    cd "$source"
    logged "$log" python3 -c 'import sys, scikit_build_core.build as build; build.build_sdist(sys.argv[1])' "$out/python"
    logged "$log" python3 -m pip --disable-pip-version-check wheel --no-build-isolation --no-deps --no-index -w "$out/python" \
      "$out/python/tenon-$version.tar.gz"
  )
  partner twine
  logged "$log" env PYTHONPATH="$partner" python3 -m twine check --strict "$out"/python/*
}

make_conan() {
  unpacked conan
  partner conan
  (
    export CONAN_HOME="$work/conan/home" PYTHONPATH="$partner"
    logged "$log" python3 "$partner/bin/conan" profile detect
    logged "$log" python3 "$partner/bin/conan" create --no-remote "$source/packaging/conan" -s compiler.cppstd=17
    logged "$log" python3 "$partner/bin/conan" cache save "tenon/$version:*" --file "$out/conan/tenon-$version-conan.tgz"
  )
}

make_platformio() {
  unpacked platformio
  partner platformio
  logged "$log" env PYTHONPATH="$partner" python3 -c 'import sys
from platformio.package.manifest.schema import ManifestSchema
from platformio.package.pack import PackagePacker
# The list of licences is on a site, which is not asked.
ManifestSchema.load_spdx_licenses = staticmethod(lambda: {"licenses": [{"licenseId": "MIT"}]})
PackagePacker(sys.argv[1]).pack(sys.argv[2])' "$source" "$out/platformio"
}

make_arduino() {
  unpacked arduino
  logged "$log" "$source/scripts/arduino.sh" "$work/arduino/tenon"
  (cd "$work/arduino" && cmake -E tar cf "$out/arduino/tenon-$version-arduino.zip" --format=zip tenon)
}

make_notes() {
  awk -v version="$version" '
    /^## / { wanted = index($0 " ", " " version " "); next }
    wanted && (/./ || begun) { begun = 1; print }' "$root/CHANGELOG.md" >"$out/notes/tenon-$version.md"
  [ -s "$out/notes/tenon-$version.md" ] || fail "CHANGELOG.md has nothing on $version"
  ! grep -q "^## Unreleased: $version" "$root/CHANGELOG.md" || step "CHANGELOG.md calls $version unreleased"
}

for made in $names; do
  step "making $made"
  rm -rf "${out:?}/$made"
  mkdir "$out/$made"
  "make_$made"
done
(cd "$out" && find ./*/ -type f | sort | xargs sha256sum >SHA256SUMS)
step "made $names; $out/SHA256SUMS lists it"
