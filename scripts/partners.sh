#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Fetches the libraries that tenon is tested and measured against, as their published packages, into
# a folder that git ignores. What is there already in the right version is left alone.
set -eu

usage() {
  cat <<'END'
usage: scripts/partners.sh [--dir DIR] NAME...
  --dir DIR   the folder (default: $TENON_PARTNERS, else build/partners in the repository)
names:
  executorch  ExecuTorch 1.5.1: headers, shared libraries, CMake package (75 MB)
  libtorch    ATen and TorchScript 2.13.0: headers, CPU libraries (600 MB; a 500 MB download)
  catch2      Catch2 3, from Debian's backports (4 MB)
  cccl        CUDA's libcu++ 13.0, for its mdspan: headers that need no CUDA (9 MB)
  numpy       NumPy 2.4.6 for the python3 that is found first (60 MB)
END
}

die() {
  echo "partners.sh: $*" >&2
  exit 1
}

# A partner is three steps: leave when it is current, fetch, finish. Only a finished folder has its
# own name, so an interrupted run leaves nothing that looks complete.

# current NAME STAMP
current() {
  [ "$(cat "$partners/$1/.stamp" 2>/dev/null)" = "$2" ] || return 1
  echo "partners.sh: $2 is in $partners/$1"
}

# fetch NAME REQUIREMENT...: only the headers and libraries matter, so no dependencies, no bytecode.
fetch() {
  new=$partners/$1.new
  shift
  echo "partners.sh: fetching $*"
  rm -rf "$new"
  PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1 \
    python3 -m pip install --quiet --no-deps --no-compile --target "$new" "$@" || {
    rm -rf "$new"
    die "could not install $*"
  }
}

# finish NAME STAMP
finish() {
  echo "$2" >"$partners/$1.new/.stamp"
  rm -rf "${partners:?}/$1"
  mv "$partners/$1.new" "$partners/$1"
  echo "partners.sh: $2 is in $partners/$1"
}

partner_executorch() {
  version=executorch==1.5.1
  if current executorch "$version"; then return; fi
  fetch executorch "$version"
  finish executorch "$version"
}

# libtorch_cpu.so needs two libraries of CUDA 13 to load, GPU or not.
have_cuda13() {
  libraries=$(PATH="$PATH:/usr/sbin:/sbin" ldconfig -p 2>/dev/null) || return 1
  for library in libcudart.so.13 libcupti.so.13; do
    case $libraries in
      *"$library"*) ;;
      *) return 1 ;;
    esac
  done
}

partner_libtorch() {
  version=torch==2.13.0 # the last whose headers accept C++17
  complete="$version with its CUDA libraries"
  if current libtorch "$complete"; then return; fi
  if have_cuda13; then
    if current libtorch "$version"; then return; fi
    fetch libtorch "$version"
    stamp=$version
  else
    # Found through libtorch_cpu.so's own run path, which is relative to where it lies.
    fetch libtorch "$version" nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85
    stamp=$complete
  fi
  # Half of the package, and none of it can be loaded without much more.
  for library in cuda cuda_linalg nvshmem python; do
    rm -f "$partners/libtorch.new/torch/lib/libtorch_$library.so"
  done
  finish libtorch "$stamp"
}

# Catch2 3 beside the 2.x that Debian 12 installs: unpacked, not installed. The mirror is the one that this
# machine has configured.
partner_catch2() {
  if current catch2 "catch2 3"; then return; fi
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  site=$(apt-get indextargets --format '$(SITE) $(CODENAME) $(COMPONENT)' 2>/dev/null |
    awk -v codename="$codename" '$2 == codename && $3 == "main" { print $1; exit }')
  [ -n "$site" ] || die "no Debian mirror is configured"
  echo "partners.sh: fetching libcatch2-dev"
  work=$(mktemp -d)
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site $codename-backports main" \
    >"$work/sources.list"
  # Its own lists and cache: the machine's are not touched.
  backports="-o Dir::Etc::SourceList=$work/sources.list -o Dir::Etc::SourceParts=- -o Dir::State::Lists=$work/lists -o Dir::Cache=$work/cache"
  rm -rf "$partners/catch2.new"
  # shellcheck disable=SC2086 # options
  (
    cd "$work" && apt-get $backports update && apt-get $backports download libcatch2-dev &&
      dpkg -x libcatch2-dev_*.deb "$partners/catch2.new"
  ) >"$work/log" 2>&1 || {
    tail -n 5 "$work/log" >&2
    die "could not fetch libcatch2-dev"
  }
  rm -rf "$work"
  finish catch2 "catch2 3"
}

partner_cccl() {
  version=nvidia-cuda-cccl==13.0.85
  if current cccl "$version"; then return; fi
  fetch cccl "$version"
  # Algorithms for the device, more than half of the package.
  for library in cub thrust; do
    rm -rf "$partners/cccl.new/nvidia/cu13/include/cccl/$library"
  done
  finish cccl "$version"
}

# A build of it serves one minor version of Python.
partner_numpy() {
  version=numpy==2.4.6
  python=$(python3 -c 'import sys; print("Python %d.%d" % sys.version_info[:2])') || die "needs python3"
  if current numpy "$version for $python"; then return; fi
  fetch numpy "$version"
  finish numpy "$version for $python"
}

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
partners=${TENON_PARTNERS:-$root/build/partners}
names=
while [ $# -gt 0 ]; do
  case $1 in
    --dir)
      [ $# -ge 2 ] || die "--dir needs a folder"
      partners=$2
      shift
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    executorch | libtorch | catch2 | cccl | numpy) names="$names $1" ;;
    *)
      usage >&2
      die "unknown partner '$1'"
      ;;
  esac
  shift
done
if [ -z "$names" ]; then
  usage >&2
  exit 2
fi

mkdir -p "$partners"
partners=$(CDPATH='' cd -- "$partners" && pwd)
# Two runs at once (tests and a benchmark, say) take turns instead of overwriting each other.
if command -v flock >/dev/null 2>&1; then
  exec 9>"$partners/.lock"
  flock 9
fi
for name in $names; do
  "partner_$name"
done
