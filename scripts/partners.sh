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
  ggml        ggml of ggml-python 0.0.45: headers, and its base, compiled here in 6 s (1 MB)
  tvm_ffi     tvm-ffi 0.1.15.post2: headers and its library, for its Tensor (10 MB)
  pybind11    pybind11 3.1.0: headers, CMake package (1.4 MB)
  nanobind    nanobind 3.1.0: headers, sources, CMake package (1.4 MB)
  scikit_build  scikit-build-core 1.1.2, which builds modules for pip (2 MB)
  cmake       CMake 3.28.4, the first that builds C++20 modules (37 MB)
  platformio  PlatformIO 6.2.0, which reads library.json (5 MB)
these are for the python3 that is found first:
  numpy       NumPy 2.4.6 (60 MB)
  mpi4py      mpi4py 4.1.2, for the MPI that is installed (4 MB)
  torch       PyTorch 2.15.0 (1.8 GB; without CUDA 13 on the machine 3.8 GB, most of it CUDA)
  torchvision  the wheels of torchvision 0.29.2 and torchaudio 2.11.1, for their operators (35 MB; need nothing here)
  torch_export  SymPy 1.14.0 and what else PyTorch exports models with (120 MB; needs torch and numpy to run)
  architectures  transformers 5.24.0 and timm 1.0.31, whose networks are compiled (220 MB; need torch_export and torchvision to run)
  jax         JAX 0.10.2 for the CPU (380 MB; needs numpy to run)
  pandas      pandas 3.1.1, pyarrow 26.0.1 and h5py 3.16.0 (300 MB; need numpy to run)
  safetensors  safetensors 0.8.0, to exchange files with (1 MB; needs numpy to run)
  gguf        gguf 0.19.0, which writes files to read (4 MB; needs numpy to run)
  mypy        mypy 2.4.1, which checks the stub (40 MB)
  conan       Conan 2.34.0, which makes its package (18 MB)
  twine       twine 7.0.0 and cffconvert 2.0.0, which check Python's packages and CITATION.cff (43 MB)
  site        Sphinx 9.0.4 with Furo and MyST, which write the documentation's site (70 MB)
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

# simple NAME REQUIREMENT...: all three, for a package that stays as it is.
simple() {
  if current "$1" "$2"; then return; fi
  fetch "$@"
  finish "$1" "$2"
}

partner_executorch() { simple executorch executorch==1.5.1; }

# cuda_packages SONAME=PACKAGE...: the packages whose library is not installed. PyPI has no torch without CUDA, and its
# libraries name those of CUDA 13 that the machine must have to load them, GPU or not.
cuda_packages() {
  installed=$(PATH="$PATH:/usr/sbin:/sbin" ldconfig -p 2>/dev/null) || installed=
  for needed in "$@"; do
    case $installed in
      *"${needed%%=*}"*) ;;
      *) printf ' %s' "${needed#*=}" ;;
    esac
  done
}

partner_libtorch() {
  version=torch==2.13.0 # the last whose headers accept C++17
  cuda=$(cuda_packages libcudart.so.13=nvidia-cuda-runtime==13.0.96 libcupti.so.13=nvidia-cuda-cupti==13.0.85)
  stamp=$version$cuda
  if current libtorch "$stamp"; then return; fi
  # shellcheck disable=SC2086 # packages
  fetch libtorch "$version" $cuda
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

# The sources that a Python package has.
partner_ggml() {
  version=ggml-python==0.0.45
  if current ggml "$version"; then return; fi
  new=$partners/ggml.new
  rm -rf "$new"
  mkdir -p "$new"
  echo "partners.sh: fetching $version"
  PIP_DISABLE_PIP_VERSION_CHECK=1 python3 -m pip download --quiet --no-deps --no-binary ggml-python --dest "$new" "$version" ||
    die "could not fetch $version"
  (
    cd "$new"
    tar xzf ./*.tar.gz --strip-components=3 --wildcards '*/vendor/ggml/include' '*/vendor/ggml/src/*'
    for source in ggml.c ggml-quants.c ggml-alloc.c; do
      cc -std=gnu11 -D_GNU_SOURCE -O1 -fPIC -DGGML_VERSION='""' -DGGML_COMMIT='""' -Iinclude -Isrc -c "src/$source" -o "$source.o"
    done
    for source in ggml.cpp ggml-backend.cpp ggml-backend-meta.cpp ggml-threading.cpp; do
      c++ -std=gnu++17 -O1 -fPIC -DGGML_VERSION='""' -DGGML_COMMIT='""' -Iinclude -Isrc -c "src/$source" -o "$source.o"
    done
    ar rcs libggml-base.a ./*.o
    find . -mindepth 1 -maxdepth 1 ! -name include ! -name libggml-base.a -exec rm -rf {} +
  ) || die "could not compile $version"
  finish ggml "$version"
}

partner_tvm_ffi() { simple tvm_ffi apache-tvm-ffi==0.1.15.post2; }

partner_pybind11() { simple pybind11 pybind11==3.1.0; }

# With what it needs itself from Python 3.11 on.
partner_scikit_build() {
  simple scikit_build scikit-build-core==1.1.2 packaging==26.3 pathspec==1.1.1
}

partner_cmake() {
  version=cmake==3.28.4
  if current cmake "$version"; then return; fi
  fetch cmake "$version"
  data=$partners/cmake.new/cmake/data
  rm -rf "$data/doc" "$data/bin/ccmake" "$data/bin/cpack" "$data/bin/ctest"
  finish cmake "$version"
}

# What its reading and packing of manifests needs.
partner_platformio() {
  simple platformio platformio==6.2.0 click==8.5.1 marshmallow==4.4.0 semantic-version==2.10.0 requests==2.34.2 \
    urllib3==2.8.0 idna==3.20 certifi==2026.10.18
}

partner_conan() {
  version=conan==2.34.0
  python=$(python_version)
  if current conan "$version for $python"; then return; fi
  fetch conan "$version" requests==2.34.2 urllib3==2.8.0 idna==3.20 certifi==2026.10.18 charset-normalizer==3.5.3 \
    colorama==0.4.6 pyyaml==6.0.4 patch-ng==1.19.1 fasteners==0.20 distro==1.9.0 jinja2==3.1.6 markupsafe==3.0.4 \
    python-dateutil==4.0.0
  python3 -m compileall -q "$partners/conan.new" # without which each run takes seconds longer
  finish conan "$version for $python"
}

# What their checks import.
partner_twine() {
  version=twine==7.0.0
  python=$(python_version)
  if current twine "$version and cffconvert==2.0.0 for $python"; then return; fi
  fetch twine "$version" requests==2.34.2 urllib3==2.8.0 idna==3.20 certifi==2026.10.18 charset-normalizer==3.5.3 \
    requests-toolbelt==1.0.0 packaging==26.3 readme-renderer==46.0 docutils==0.23 nh3==0.3.8 pygments==2.21.0 \
    rfc3986==2.0.0 rich==15.0.0 id==1.6.1 \
    cffconvert==2.0.0 click==8.5.1 ruamel.yaml==0.19.1 jsonschema==3.2.0 attrs==26.1.0 pyrsistent==0.20.0 six==1.17.0 \
    pykwalify==1.8.0 docopt==0.6.2 python-dateutil==4.0.0 setuptools==65.5.0
  python3 -m compileall -q "$partners/twine.new"
  finish twine "$version and cffconvert==2.0.0 for $python"
}

# With what Sphinx loads at its start.
partner_site() {
  version=sphinx==9.0.4
  python=$(python_version)
  if current site "$version for $python"; then return; fi
  fetch site "$version" furo==2025.12.19 myst-parser==5.2.0 accessible-pygments==0.0.5 alabaster==1.0.0 babel==2.19.0 \
    beautifulsoup4==4.15.0 docutils==0.22.4 imagesize==2.0.1 jinja2==3.1.6 markdown-it-py==4.3.0 markupsafe==3.0.4 \
    mdit-py-plugins==0.7.0 mdurl==0.1.2 packaging==26.3 pygments==2.21.0 pyyaml==6.0.4 requests==2.34.2 urllib3==2.8.0 \
    idna==3.20 certifi==2026.10.18 charset-normalizer==3.5.3 roman-numerals==4.1.0 snowballstemmer==3.1.1 \
    soupsieve==4.1.3 sphinx-basic-ng==1.0.0b2 sphinxcontrib-applehelp==2.0.0 sphinxcontrib-devhelp==2.0.0 \
    sphinxcontrib-htmlhelp==2.1.0 sphinxcontrib-jsmath==2.0.0 sphinxcontrib-qthelp==2.0.0 \
    sphinxcontrib-serializinghtml==2.0.0 typing-extensions==4.16.0
  python3 -m compileall -q "$partners/site.new" # without which each run takes seconds longer
  finish site "$version for $python"
}

partner_nanobind() { simple nanobind nanobind==3.1.0; } # with its robin_map

# A build of these serves one minor version of Python.
python_version() {
  python3 -c 'import sys; print("Python %d.%d" % sys.version_info[:2])' || die "needs python3"
}

# Their operators are libraries for torch's stable ABI, which serve every version of Python.
partner_torchvision() { simple torchvision torchvision==0.29.2 torchaudio==2.11.1; }

partner_numpy() {
  version=numpy==2.4.6
  python=$(python_version)
  if current numpy "$version for $python"; then return; fi
  fetch numpy "$version"
  finish numpy "$version for $python"
}

partner_mpi4py() {
  version=mpi4py==4.1.2
  python=$(python_version)
  if current mpi4py "$version for $python"; then return; fi
  fetch mpi4py "$version"
  finish mpi4py "$version for $python"
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

partner_pandas() {
  version=pandas==3.1.1
  python=$(python_version)
  if current pandas "$version for $python"; then return; fi
  fetch pandas "$version" pyarrow==26.0.1 h5py==3.16.0 python-dateutil==4.0.0
  finish pandas "$version for $python"
}

partner_safetensors() {
  version=safetensors==0.8.0
  python=$(python_version)
  if current safetensors "$version for $python"; then return; fi
  fetch safetensors "$version"
  finish safetensors "$version for $python"
}

# With what it imports at once.
partner_gguf() {
  version=gguf==0.19.0
  python=$(python_version)
  if current gguf "$version for $python"; then return; fi
  fetch gguf "$version" pyyaml==6.0.4
  finish gguf "$version for $python"
}

partner_mypy() {
  version=mypy==2.4.1
  python=$(python_version)
  if current mypy "$version for $python"; then return; fi
  fetch mypy "$version" mypy-extensions==1.2.0 typing-extensions==4.16.0 pathspec==1.1.1 librt==0.17.0 ast-serialize==0.13.1
  finish mypy "$version for $python"
}

# The whole of it, since its Python module is linked to its CUDA part.
partner_torch() {
  version=torch==2.15.0
  cuda=$(cuda_packages libcudart.so.13=nvidia-cuda-runtime==13.2.86 libcupti.so.13=nvidia-cuda-cupti==13.2.86 \
    libnvrtc.so.13=nvidia-cuda-nvrtc==13.2.86 libcublas.so.13=nvidia-cublas==13.4.1.3 libcufft.so.12=nvidia-cufft==12.2.0.57 \
    libcusparse.so.12=nvidia-cusparse==12.7.10.12 libcufile.so.0=nvidia-cufile==1.17.1.22 \
    libcudnn.so.9=nvidia-cudnn-cu13==9.26.0.51 libcusparseLt.so.0=nvidia-cusparselt-cu13==0.8.1 \
    libnvshmem_host.so.3=nvidia-nvshmem-cu13==3.7.2)
  stamp="$version$cuda for $(python_version)"
  if current torch "$stamp"; then return; fi
  # shellcheck disable=SC2086 # packages
  fetch torch "$version" typing-extensions==4.16.0 nvidia-nccl-cu13==2.30.7 $cuda
  # Also leaves the bytecode, without which each import takes seconds longer.
  PYTHONDONTWRITEBYTECODE='' PYTHONPATH=$partners/torch.new python3 -W ignore -c 'import torch; torch.ones(2).sum()' ||
    die "$version cannot be imported"
  finish torch "$stamp"
}

# With setuptools, which compiles for it.
partner_torch_export() {
  version=sympy==1.14.0
  python=$(python_version)
  if current torch_export "$version for $python"; then return; fi
  fetch torch_export "$version" mpmath==1.4.1 networkx==3.6.1 jinja2==3.1.6 markupsafe==3.0.4 filelock==4.3.1 \
    fsspec==2026.9.0 setuptools==84.2.1
  python3 -m compileall -q "$partners/torch_export.new" # without which each import takes seconds longer
  finish torch_export "$version for $python"
}

partner_architectures() {
  version=transformers==5.24.0
  python=$(python_version)
  if current architectures "$version for $python"; then return; fi
  fetch architectures "$version" timm==1.0.31 anyio==4.16.0 certifi==2026.10.19.post1 charset_normalizer==3.5.3 \
    h11==0.16.0 hf_xet==1.8.0 httpcore2==2.16.2 httpx2==2.16.2 huggingface_hub==2.4.0 idna==3.20 packaging==26.4 pillow==13.0.0 \
    pyyaml==6.0.4 regex==2026.11.19 requests==2.34.2 safetensors==0.8.0 tokenizers==0.23.3 tqdm==4.70.1 truststore==0.10.5 \
    urllib3==2.8.0
  python3 -m compileall -q "$partners/architectures.new"
  finish architectures "$version for $python"
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
    executorch | onnxruntime | libtorch | catch2 | cccl | dlpack | ggml | tvm_ffi | pybind11 | nanobind | scikit_build | cmake | platformio | conan | twine | site | numpy | mpi4py | torch | torchvision | torch_export | architectures | jax | pandas | mypy | safetensors | gguf) names="$names $1" ;;
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
