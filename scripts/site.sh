#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Builds the documentation's site: the pages of docs/, and a reference from the headers' comments.
#
#   scripts/site.sh [FOLDER]    into FOLDER (default: build/site); open its index.html
#
# Installs Doxygen (Debian, Ubuntu) and fetches Sphinx where they are missing.
set -eu
. "$(dirname -- "$0")/common.sh"

case ${1:-} in
  -*) fail "usage: scripts/site.sh [FOLDER]" ;;
esac
site=${1:-$root/build/site}
partners=${TENON_PARTNERS:-$root/build/partners}

need doxygen doxygen
need python3 python3
need_pip
install_missing
"$root/scripts/partners.sh" --dir "$partners" site >&2

step "reading the headers"
python3 -B "$root/docs/site/stage.py" "$root" "$site-pages"
step "writing the pages"
PYTHONPATH=$partners/site python3 -B -m sphinx -q -W --keep-going -j auto -d "$site-cache" -c "$root/docs/site" \
  "$site-pages" "$site"
rm -rf "$site/.buildinfo" "$site/objects.inv"
step "built $site/index.html"
