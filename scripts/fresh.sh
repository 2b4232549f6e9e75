#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runs README's two commands as on a new machine: a clone of the last commit in a root folder that debootstrap makes,
# with Debian's base system and this machine's settings of apt and pip. Needs root.
set -eu
. "$(dirname -- "$0")/common.sh"

suite=${1:-}
case $suite in
  [a-z]*) ;;
  *) fail "usage: scripts/fresh.sh SUITE, such as bookworm or trixie" ;;
esac
[ "$(id -u)" = 0 ] || fail "debootstrap and chroot need root"
need debootstrap debootstrap
need git git
install_missing
mirror=$(apt-get indextargets --format '$(SITE) $(COMPONENT)' | awk '$2 == "main" && $1 !~ /security/ { print $1; exit }')

mkdir -p "$root/build"
new=$(mktemp -d "$root/build/fresh-$suite-XXXXXX")
chmod 755 "$new" # its /, which every user may enter
trap 'rm -rf "$new"' EXIT
step "making a root folder of $suite"
logged "$root/build/fresh-$suite.log" debootstrap --variant=minbase --include=ca-certificates "$suite" "$new" "$mirror"
for settings in /etc/apt/apt.conf.d /etc/apt/auth.conf.d /etc/pip.conf /root/.config/pip /usr/local/share/ca-certificates \
  /etc/ssl/certs/ca-certificates.crt /etc/resolv.conf; do
  [ ! -e "$settings" ] || cp -RLT "$settings" "$new$settings" 2>/dev/null || true
done
git clone --quiet "$root" "$new/root/tenon"
git -C "$new/root/tenon" checkout --quiet --detach "$(git -C "$root" rev-parse HEAD)"

# Its mounts and processes end with it.
unshare --mount --pid --fork --kill-child bash -eu -c '
  mount -t proc proc "$1/proc"
  mount --rbind /dev "$1/dev"
  for command in scripts/demo.sh scripts/test.sh; do
    echo "$0: $command" >&2
    chroot "$1" env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
      sh -c "cd /root/tenon && $command"
  done' "$name $suite" "$new"
