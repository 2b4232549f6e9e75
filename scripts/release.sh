#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes what a release consists of, from a clean checkout or the unpacked source archive. See the usage below.
set -eu
umask 022  # packages have files that all may read
. "$(dirname -- "$0")/common.sh"

usage() {
  cat <<'END'
usage: scripts/release.sh [--out DIR] [NAME...]
  --out DIR   the folder (default: build/release), in which each has a folder of its name. It is new, empty, or one
              that this script made before.
names (default: all; all want a checkout without changes):
  source      the repository's files, with the vcpkg port in packaging/vcpkg
  cpack       the installed tree as .tar.gz and .deb
  debian      Debian's source package and libtenon-dev, checked by lintian
  python      sdist and wheel, checked by twine
  conan       the package, made and tested by `conan create`, for `conan cache restore`
  platformio  the library as PlatformIO packs it
  arduino     the library for Arduino's tools
  notes       what CHANGELOG.md says of this version
Nothing is uploaded. DEBFULLNAME and DEBEMAIL are the maintainer of the Debian package. TENON_HOMEPAGE is the address of
the project's page, from which git clones it too; without it the packages name none.
END
}

# There is no address yet, so nothing sets this.
homepage=${TENON_HOMEPAGE-}

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

case $homepage in
  "") ;;
  *[!A-Za-z0-9.:/_~-]*) fail "TENON_HOMEPAGE is \"$homepage\", which is no address" ;;
  https://?*) ;;
  *) fail "TENON_HOMEPAGE is \"$homepage\": it begins with https://" ;;
esac

# In the order of `all`, each once.
asked=" ${names:-$all} " names=
for made in $all; do
  case $asked in *" $made "*) names="${names:+$names }$made" ;; esac
done
in_git() { [ -e "$root/.git" ]; }  # else this is the unpacked archive, whatever repository contains it

need git git
need cmake cmake
need make make
need "${CXX:-g++}" g++
need python3 python3
for made in $names; do
  case $made in
    debian)
      need dh debhelper
      need dpkg-buildpackage build-essential
      need lintian lintian
      ;;
    python | conan | platformio) need_pip ;;
  esac
done
install_missing

version=$(sed -n 's/^#define TENON_VERSION_[A-Z]* \([0-9]*\)$/\1/p' "$root/include/tenon/config.h" | paste -sd .)
print_notes() {
  awk -v version="$version" '
    /^## / { wanted = index($0 " ", " " version " "); next }
    wanted && (/./ || begun) { begun = 1; print }' "$root/CHANGELOG.md"
}
check_checkout() {
  for file in library.json arduino/library.properties packaging/vcpkg/tenon/vcpkg.json CITATION.cff; do
    grep -Eq "^[ \"]*version(-semver)?\"?[:=] *\"?$version\"?,?\$" "$root/$file" ||
      fail "$file does not have the version of include/tenon/config.h, $version"
  done
  [ -n "$(print_notes)" ] || fail "CHANGELOG.md has nothing on $version"
  if [ "$names" = "$all" ] && in_git && [ -n "$(git -C "$root" status --porcelain)" ]; then
    fail "the checkout has changes: commit them, or name what to make"
  fi
}
check_checkout

# The first line of $out/.gitignore, which keeps what is made out of git and of the next archive.
mark="# Made by scripts/release.sh, which replaces what is here."
mkdir -p "$out"
out=$(CDPATH='' cd -- "$out" && pwd)
if [ -n "$(ls -A "$out")" ] && [ "$(head -n 1 "$out/.gitignore" 2>/dev/null)" != "$mark" ]; then
  fail "$out has files that this script did not make: name a new folder"
fi
printf '%s\n*\n' "$mark" >"$out/.gitignore"

partners=${TENON_PARTNERS:-$root/build/partners}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$out/release.log
: >"$log"
if in_git; then
  SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct)
else
  SOURCE_DATE_EPOCH=$(stat -c %Y "$root/CMakeLists.txt")  # all files of the archive have the commit's
  git init --quiet --bare "$work/git"
  export GIT_DIR="$work/git" GIT_WORK_TREE="$root"
fi
PYTHONDONTWRITEBYTECODE=1
export SOURCE_DATE_EPOCH PYTHONDONTWRITEBYTECODE

# The files that git has or would add, but for deleted ones, as one archive: all else is made of it, outside the checkout.
archive=$work/tenon-$version-source.tar.gz
# shellcheck disable=SC2016 # for the inner sh
(
  cd "$root"
  git ls-files -z --cached --others --exclude-standard |
    xargs -0 sh -c 'for file; do if [ -e "$file" ] || [ -L "$file" ]; then printf "%s\0" "$file"; fi; done' sh >"$work/files"
  [ -s "$work/files" ] || fail "git lists no files of $root"
)
unset GIT_DIR GIT_WORK_TREE

# pack FOLDER: makes the archive of its files.
pack() {
  tar -C "$1" --null -T "$work/files" --transform "s:^:tenon-$version/:" --sort=name --owner=0 --group=0 --numeric-owner \
    --mode=go=rX,u+rw --mtime="@$SOURCE_DATE_EPOCH" -cf "$work/files.tar"
  gzip -n <"$work/files.tar" >"$archive"
}
# unpacked NAME: sets `source` to a new copy of the files.
unpacked() {
  mkdir "$work/$1"
  tar -xzf "$archive" -C "$work/$1"
  source=$work/$1/tenon-$version
}
# add_homepage FOLDER: names the page in each package's metadata, unless it is there.
add_homepage() {
  (
    cd "$1"
    ! grep -q "^url: " CITATION.cff || return 0
    sed -i "s|^project(tenon .*|& HOMEPAGE_URL \"$homepage\"|" CMakeLists.txt
    sed -i "s|^\[tool.scikit-build\]\$|[project.urls]\nHomepage = \"$homepage\"\nRepository = \"$homepage\"\n\n&|" pyproject.toml
    sed -i "s|^license: MIT\$|&\nurl: $homepage\nrepository-code: $homepage|" CITATION.cff
    sed -i "s|^  \"license\": .*|&\n  \"homepage\": \"$homepage\",\n  \"repository\": {\"type\": \"git\", \"url\": \"$homepage\"},|" library.json
    sed -i "s|^  \"license\": .*|&\n  \"homepage\": \"$homepage\",|" packaging/vcpkg/tenon/vcpkg.json
    sed -i "s|^    license = .*|&\n    homepage = url = \"$homepage\"|" packaging/conan/conanfile.py
    sed -i "s|^Rules-Requires-Root: no\$|&\nHomepage: $homepage\nVcs-Browser: $homepage\nVcs-Git: $homepage|" packaging/debian/control
    sed -i "s|^url=.*|url=$homepage|" arduino/library.properties
  )
}
pack "$root"
if [ -n "$homepage" ]; then
  unpacked homepage
  add_homepage "$source"
  pack "$source"
fi

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
  maintainer="$maintainer" awk '/^Maintainer: / { $0 = "Maintainer: " ENVIRON["maintainer"] } 1' \
    "$source/packaging/debian/control" >"$source/debian/control"
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
    logged "$log" python3 "$partner/bin/conan" cache save "tenon/$version:*" --no-source --file "$out/conan/tenon-$version-conan.tgz"
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
  gunzip "$out"/platformio/*.tar.gz  # which has the time
  gzip -n "$out"/platformio/*.tar
}

make_arduino() {
  unpacked arduino
  logged "$log" "$source/scripts/arduino.sh" "$work/arduino/tenon"
  (cd "$work/arduino" && cmake -E tar cf "$out/arduino/tenon-$version-arduino.zip" --format=zip tenon)
}

make_notes() {
  print_notes >"$out/notes/tenon-$version.md"
  ! grep -q "^## Unreleased: $version" "$root/CHANGELOG.md" || step "CHANGELOG.md calls $version unreleased"
}

for made in $names; do
  step "making $made"
  rm -rf "${out:?}/$made"
  mkdir "$out/$made"
  "make_$made"
done
# shellcheck disable=SC2086 # names, of which not all are there
(cd "$out" && find $all -type f 2>/dev/null | sort | xargs sha256sum >SHA256SUMS)
step "made $names; $out/SHA256SUMS lists it"
