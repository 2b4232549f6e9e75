#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: consume.sh PACKAGE VERSION CHECKOUT
# Installs what /package/made has, and builds and runs packaging/conan/test_package with it. For run.sh, in its new root folder.
set -eu
package=$1 version=$2 checkout=$3
cd /package
example=packaging/conan/test_package
if [ -n "$(ls -A "$checkout")" ]; then
  echo "the checkout is here"
  exit 1
fi

expect() {
  if [ "$1" != "$2" ]; then
    echo "got \"$1\", expected \"$2\""
    exit 1
  fi
}
works() { expect "$("$1" | tail -n 1)" "tenon $version works"; }

# with_cmake OPTION...: builds and runs the example.
with_cmake() {
  rm -rf build
  cmake -S "$example" -B build "$@"
  cmake --build build
  works build/example
}
# with_include FOLDER: the same without a build system.
with_include() {
  g++ -std=c++17 -I "$1" "$example/example.cpp" -o example
  works ./example
}

case $package in
  source)
    tar -xzf made/*.tar.gz
    cmake -S "tenon-$version" -B tenon-build
    cmake --install tenon-build --prefix installed
    rm -r "tenon-$version" tenon-build
    with_cmake -DCMAKE_PREFIX_PATH=/package/installed
    ;;
  vcpkg)
    tar -xzf made/*.tar.gz
    cmake -DPORT=tenon -DVERSION="$version" -DCURRENT_PACKAGES_DIR=/package/installed -DCURRENT_BUILDTREES_DIR=/package/trees \
      "-DPORT_FOLDER=/package/tenon-$version/packaging/vcpkg/tenon" -P packages/vcpkg.cmake
    rm -r "tenon-$version" trees
    with_cmake -DCMAKE_PREFIX_PATH=/package/installed
    ;;
  cpack)
    expect "$(dpkg-deb --contents made/*.deb | grep -Ev '^(drwxr-xr-x|-rw-r--r--) ')" ""
    expect "$(dpkg-deb --contents made/*.deb | grep -c ' ./usr/share/doc/libtenon-dev/copyright')" 1
    mkdir installed
    tar -xzf made/*.tar.gz -C installed --strip-components 1
    with_cmake -DCMAKE_PREFIX_PATH=/package/installed
    rm -r installed
    dpkg --install made/*.deb
    with_cmake
    ;;
  debian)
    dpkg --install made/*.deb
    expect "$(dpkg-query --show -f '${Version} ${Architecture}' libtenon-dev)" "$version-1 all"
    # The package's test, as autopkgtest starts it.
    mkdir build
    expect "$(AUTOPKGTEST_TMP=/package/build packaging/debian/tests/example | tail -n 1)" "tenon $version works"
    dpkg --remove libtenon-dev
    [ ! -e /usr/include/tenon ]
    ;;
  python)
    python3 -m pip --disable-pip-version-check install --no-index --no-deps --target site made/*.whl
    export PYTHONPATH=/package/site
    python3 packages/tensor_test.py "$version"
    # As after `pip install -e`, where Python's files lie elsewhere; and without the type.
    mkdir -p editable/tenon
    mv site/tenon/__init__.py editable/tenon
    export PYTHONPATH=/package/editable:/package/site
    case $(python3 -c 'import tenon; tenon.Tensor' 2>&1) in *TENON_PYTHON=OFF*) ;; *) expect "an error" "of TENON_PYTHON=OFF" ;; esac
    with_cmake -Dtenon_DIR="$(python3 -c 'import tenon; print(tenon.get_cmake_dir())')"
    with_include "$(python3 -c 'import tenon; print(tenon.get_include())')"
    mv editable/tenon/__init__.py site/tenon
    [ ! -e site/bin/tenon-inspect ] || expect "$(site/bin/tenon-inspect --version)" "$version"
    if [ -e partners/mypy ]; then
      cd packages
      PYTHONPATH=/package/partners/mypy MYPYPATH=/package/site python3 -m mypy --strict --no-incremental tensor_test.py
    fi
    ;;
  conan)
    export CONAN_HOME=/package/conan PYTHONPATH=/package/partners/conan
    conan() { python3 partners/conan/bin/conan "$@"; }
    conan profile detect
    conan cache restore made/*.tgz
    # The next recipe revision is the same, though building and Python left files among the sources.
    exported=$(find "$CONAN_HOME/p" -type d -name es)
    [ -n "$exported" ]
    [ -z "$(find "$CONAN_HOME/p" -name CMakeUserPresets.json)" ]
    cp -R "$exported" again
    cp -R packaging/conan again/packaging
    mkdir -p again/packaging/conan/test_package/build again/include/tenon/__pycache__
    touch again/packaging/conan/test_package/build/any.cmake again/include/tenon/__pycache__/any.pyc
    conan export again/packaging/conan
    expect "$(conan list "tenon/$version#*" --format=json 2>/dev/null | grep -cE '^ +"[0-9a-f]{32}"')" 1
    conan install --no-remote --requires "tenon/$version" -s compiler.cppstd=17 -g CMakeDeps -g CMakeToolchain -of generated
    with_cmake -DCMAKE_TOOLCHAIN_FILE=/package/generated/conan_toolchain.cmake -DCMAKE_BUILD_TYPE=Release
    ;;
  platformio)
    mkdir library
    tar -xzf made/*.tar.gz -C library
    with_include library/include
    ;;
  arduino)
    cmake -E tar xf made/*.zip
    with_include tenon/src
    ;;
esac
