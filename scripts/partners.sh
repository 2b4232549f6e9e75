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
  onnxruntime ONNX Runtime 1.31.1: the CPU library, and the C header of 1.21 (30 MB)
  libtorch    ATen and TorchScript 2.13.0: headers, CPU libraries (600 MB; a 500 MB download)
  catch2      Catch2 3, from Debian's backports (4 MB)
  cccl        CUDA's libcu++ 13.0, for its mdspan: headers that need no CUDA (9 MB)
  dlpack      dlpack.h 1.3, the standard's own header (36 kB)
  pybind11    pybind11 3.1.0: headers, CMake package (1.4 MB)
  nanobind    nanobind 3.1.0: headers, sources, CMake package (1.4 MB)
  scikit_build  scikit-build-core 1.1.2, which builds modules for pip (2 MB)
these are for the python3 that is found first:
  numpy       NumPy 2.4.6 (60 MB)
  torch       PyTorch 2.15.0 without its CUDA part (550 MB; a 500 MB download; wants a C++ compiler)
  jax         JAX 0.10.2 for the CPU (380 MB; needs numpy to run)
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

# debian_package SUITE NAME FOLDER: a package of another suite than the machine's, unpacked there, not installed. The
# mirror is the one that this machine has configured.
debian_package() {
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  site=$(apt-get indextargets --format '$(SITE) $(CODENAME) $(COMPONENT)' 2>/dev/null |
    awk -v codename="$codename" '$2 == codename && $3 == "main" { print $1; exit }')
  [ -n "$site" ] || die "no Debian mirror is configured"
  echo "partners.sh: fetching $2 of $1"
  work=$(mktemp -d)
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site $1 main" >"$work/sources.list"
  # Its own lists and cache: the machine's are not touched.
  suite="-o Dir::Etc::SourceList=$work/sources.list -o Dir::Etc::SourceParts=- -o Dir::State::Lists=$work/lists -o Dir::Cache=$work/cache"
  # shellcheck disable=SC2086 # options
  (
    cd "$work" && apt-get $suite update && apt-get $suite download "$2" && dpkg -x "$2"_*.deb "$3"
  ) >"$work/log" 2>&1 || {
    tail -n 5 "$work/log" >&2
    die "could not fetch $2"
  }
  rm -rf "$work"
}

# Catch2 3 beside the 2.x that Debian 12 installs.
partner_catch2() {
  if current catch2 "catch2 3"; then return; fi
  rm -rf "$partners/catch2.new"
  debian_package "$(. /etc/os-release && echo "${VERSION_CODENAME:-}")-backports" libcatch2-dev "$partners/catch2.new"
  finish catch2 "catch2 3"
}

# The library of the Python package, which has no headers. A library serves the C API of every older version, so the
# header of Debian 13's does; that Debian's own library wants a newer glibc.
partner_onnxruntime() {
  version=onnxruntime==1.31.1
  if current onnxruntime "$version with the C API 21"; then return; fi
  fetch onnxruntime "$version"
  new=$partners/onnxruntime.new
  mkdir "$new/lib" "$new/include"
  mv "$new"/onnxruntime/capi/libonnxruntime.so.1.* "$new/lib/libonnxruntime.so.1"
  debian_package trixie libonnxruntime-dev "$new/debian"
  header=$new/debian/usr/include/onnxruntime/onnxruntime_c_api.h
  grep -q '^#define ORT_API_VERSION 21$' "$header" || die "libonnxruntime-dev has another onnxruntime_c_api.h"
  mv "$header" "$new/include"
  find "$new" -mindepth 1 -maxdepth 1 ! -name lib ! -name include -exec rm -rf {} +
  finish onnxruntime "$version with the C API 21"
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

# The standard's own header, in the package of a library that follows it closely. Nothing else of that is kept.
partner_dlpack() {
  version=apache-tvm-ffi==0.1.15.post2
  if current dlpack "dlpack.h 1.3 of $version"; then return; fi
  fetch dlpack "$version"
  header=$partners/dlpack.new/tvm_ffi/include/dlpack/dlpack.h
  grep -q '^#define DLPACK_MINOR_VERSION 3$' "$header" || die "$version has another dlpack.h"
  mkdir "$partners/dlpack.new/dlpack"
  mv "$header" "$partners/dlpack.new/dlpack"
  find "$partners/dlpack.new" -mindepth 1 -maxdepth 1 ! -name dlpack -exec rm -rf {} +
  finish dlpack "dlpack.h 1.3 of $version"
}

partner_pybind11() {
  version=pybind11==3.1.0
  if current pybind11 "$version"; then return; fi
  fetch pybind11 "$version"
  finish pybind11 "$version"
}

# With what it needs itself from Python 3.11 on.
partner_scikit_build() {
  version=scikit-build-core==1.1.2
  if current scikit_build "$version"; then return; fi
  fetch scikit_build "$version" packaging==26.3 pathspec==1.1.1
  finish scikit_build "$version"
}

partner_nanobind() {
  version=nanobind==3.1.0 # with its robin_map
  if current nanobind "$version"; then return; fi
  fetch nanobind "$version"
  finish nanobind "$version"
}

# A build of these serves one minor version of Python.
python_version() {
  python3 -c 'import sys; print("Python %d.%d" % sys.version_info[:2])' || die "needs python3"
}

partner_numpy() {
  version=numpy==2.4.6
  python=$(python_version)
  if current numpy "$version for $python"; then return; fi
  fetch numpy "$version"
  finish numpy "$version for $python"
}

# SciPy, which JAX names as a need, is only loaded by functions that tests of exchange do not call.
partner_jax() {
  version=jax==0.10.2
  python=$(python_version)
  if current jax "$version for $python"; then return; fi
  fetch jax "$version" jaxlib==0.10.2 ml_dtypes==0.6.0 opt_einsum==3.4.0
  python3 -m compileall -q "$partners/jax.new" # without which each import takes seconds longer
  finish jax "$version for $python"
}

# symbols FILE --defined-only|--undefined-only: the names that a library has for others, or wants from them.
symbols() {
  nm -D "$2" "$1" | awk '{ sub(/@.*/, "", $NF); print $NF }' | sort -u
}

# stand_in SONAME [VERSIONED]: a library of empty functions, from the names in $work/names. What some return is
# written to while torch is loaded, so all return the same idle memory.
stand_in() {
  awk 'BEGIN {
      print "static char idle[4096];"
      print "extern const char class_type[] __asm__(\"_ZTVN10__cxxabiv117__class_type_infoE\");"
    }
    /^_ZTI/ { print "const void *const " $1 "[] = {class_type + 16, \"" substr($1, 5) "\"};"; next }
    /^_ZTV/ { print "const void *const " $1 "[64];"; next }
    { print "void* " $1 "(void) { return idle; }" }' "$work/names" >"$work/names.c"
  echo "$1 { global: *; };" >"$work/version"
  "${CXX:-g++}" -x c -w -O1 -shared -fPIC "-Wl,-soname,$1" ${2:+"-Wl,--version-script=$work/version"} \
    -o "$torch/lib/$1" "$work/names.c" -lstdc++ || die "could not compile a stand-in for $1"
}

# From PyPI it comes with CUDA, and loads only with gigabytes of CUDA's libraries. Tests on the host need none of
# that: the libraries behind the CUDA part are replaced by empty ones, and what loads that part at import is left
# out, which is torch.distributed too. What remains needs the same two libraries of CUDA 13 as libtorch does.
partner_torch() {
  version=torch==2.15.0
  python=$(python_version)
  complete="$version with its CUDA libraries for $python"
  if current torch "$complete"; then return; fi
  stamp="$version for $python"
  if have_cuda13; then
    if current torch "$stamp"; then return; fi
    fetch torch "$version" typing-extensions==4.16.0
  else
    stamp=$complete
    fetch torch "$version" typing-extensions==4.16.0 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85
  fi
  torch=$partners/torch.new/torch
  work=$(mktemp -d)
  symbols "$torch/lib/libtorch_python.so" --undefined-only >"$work/wanted"
  for library in cuda nvshmem; do
    symbols "$torch/lib/libtorch_$library.so" --defined-only
  done | sort -u >"$work/there"
  rm -f "$torch/lib/libtorch_cuda.so" "$torch/lib/libtorch_cuda_linalg.so" "$torch/lib/libtorch_nvshmem.so"
  comm -12 "$work/wanted" "$work/there" >"$work/names"
  stand_in libtorch_cuda.so
  grep '^cudnn' "$work/wanted" >"$work/names"
  stand_in libcudnn.so.9 versioned
  grep '^cuFile' "$work/wanted" >"$work/names"
  stand_in libcufile.so.0
  rm -rf "$work"
  sed -i 's/^\( *\)from torch\._C import \*.*/&\
\1for _part in ("_c10d_init", "_rpc_init"): vars(sys.modules["torch._C"]).pop(_part)/' "$torch/__init__.py"
  sed -i 's/^    registry\._register_all_overrides()/    pass/' "$torch/_native/__init__.py"
  # Headers and programs for builds with it.
  rm -rf "$torch/include" "$torch/share" "$torch/bin/protoc"* "$torch/lib/libgfortran"*
  # Also leaves the bytecode, without which each import takes seconds longer.
  PYTHONDONTWRITEBYTECODE='' PYTHONPATH=$partners/torch.new python3 -W ignore -c 'import torch; torch.ones(2).sum()' ||
    die "$version cannot be imported"
  finish torch "$stamp"
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
    executorch | onnxruntime | libtorch | catch2 | cccl | dlpack | pybind11 | nanobind | scikit_build | numpy | torch | jax) names="$names $1" ;;
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
