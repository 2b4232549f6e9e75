#!/bin/sh
# SPDX-License-Identifier: MIT
#
# uninstall.sh BUILD_DIR
# Removes the files that the last installation from BUILD_DIR wrote, and the folders below its prefix that this leaves
# empty. Honours DESTDIR, as the installation does. In sh, since CMake's lists and globs trip over some characters of
# paths.
set -eu

for manifest in "$1"/install_manifest*.txt; do # one for everything, or one for each component
  [ -e "$manifest" ] || {
    echo "Nothing to uninstall: $1 has no install_manifest.txt." >&2
    exit 1
  }
  # The folder that all files lie in: the prefix, which stays.
  prefix=
  while IFS= read -r file || [ -n "$file" ]; do
    case $file in
      /*) ;;
      *) # CMake splits paths at semicolons
        echo "$manifest does not list whole paths: $file" >&2
        exit 1
        ;;
    esac
    prefix=${prefix:-${file%/*}}
    while case $file in "$prefix"/*) false ;; esac do prefix=${prefix%/*}; done
  done <"$manifest"
  while IFS= read -r file || [ -n "$file" ]; do
    path=${DESTDIR:-}$file
    if [ -e "$path" ] || [ -L "$path" ]; then
      echo "Removing: $path"
      rm -f -- "$path"
    else
      echo "Not there: $path"
    fi
    folder=${file%/*}
    while [ "$folder" != "$prefix" ] && rmdir -- "${DESTDIR:-}$folder" 2>/dev/null; do # which takes empty ones alone
      folder=${folder%/*}
    done
  done <"$manifest"
done
