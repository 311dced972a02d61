#!/bin/sh
# Unpacks Debian 13 of aarch64 with its Python, and the wheel, and runs smoke.py by qemu-aarch64. Nothing of that architecture
# needs to be installed, and a second stage of debootstrap, which would need a kernel that knows qemu, is left out.
# Usage: aarch64.sh WHEEL ROOT
set -u
wheel=$1 root=$2
here=$(dirname "$0")
mirror=$(apt-cache policy libc6 2>/dev/null | awk '/http.*\/debian / { print $2; exit }')

unpack() {
    [ -x "$root/usr/bin/python3.13" ] && return
    debootstrap --arch=arm64 --foreign --variant=minbase --include=python3 trixie "$root" "$mirror" || return 1
    for package in "$root"/var/cache/apt/archives/*.deb; do dpkg -x "$package" "$root" || return 1; done
}

run() {
    rm -rf "$root/opt/tinyort" && mkdir -p "$root/opt/tinyort" && python3 -m zipfile -e "$wheel" "$root/opt/tinyort" &&
        PYTHONHOME=$root/usr PYTHONPATH=$root/opt/tinyort qemu-aarch64 -L "$root" "$root/usr/bin/python3.13" "$here/smoke.py" models/digits.onnx
}

if [ "$(id -u)" != 0 ] || [ -z "$mirror" ]; then
    echo "skipped: Debian of aarch64 (debootstrap needs root and a mirror)"
    echo "python-wheel-aarch64: 0 passed, 0 failed, 1 skipped"
elif unpack > "$root.log" 2>&1 && run; then
    echo "python-wheel-aarch64: 1 passed, 0 failed"
else
    tail -n 20 "$root.log"
    echo "python-wheel-aarch64: 0 passed, 1 failed"
    exit 1
fi
