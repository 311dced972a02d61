#!/bin/sh
# Installs a wheel with pip in fresh roots, which have neither numpy nor a compiler, and runs smoke.py there.
# Usage: test.sh WHEEL FOLDER VENV [WHEEL_OF_CUDA]. The roots need debootstrap and root; without them they are skipped, which is said.
set -u
wheel=$1 roots=$2 venv=$3
here=$(dirname "$0")
passed=0 failed=0 skipped=0

check() { # check NAME COMMAND...
    name=$1
    shift
    if "$@" > "$roots.log" 2>&1; then
        passed=$((passed + 1))
        echo "ok      $name"
    else
        failed=$((failed + 1))
        echo "FAILED  $name"
        tail -n 20 "$roots.log"
    fi
}

small() { [ "$(stat -c %s "$wheel")" -lt 3000000 ]; }
portable() { "$venv/bin/auditwheel" show "$wheel" | tr '\n' ' ' | grep -q 'manylinux_2_2[0-8]_'; }
fresh_venv() {
    rm -rf "$roots/venv" && python3 -m venv "$roots/venv" && "$roots/venv/bin/pip" install -q --no-index "$wheel" &&
        "$roots/venv/bin/python" "$here/smoke.py" models/digits.onnx
}
fresh_root() { # fresh_root SUITE MIRROR
    root=$roots/$1
    [ -x "$root/usr/bin/python3" ] || debootstrap --variant=minbase --include=python3,python3-pip "$1" "$root" "$2" || return 1
    cp "$wheel" "$here/smoke.py" models/digits.onnx "$root/tmp" || return 1
    chroot "$root" sh -c 'rm -rf /opt/tinyort && cd / && pip3 install -q --no-index --target /opt/tinyort /tmp/tinyort-*.whl &&
        PYTHONPATH=/opt/tinyort python3 /tmp/smoke.py /tmp/digits.onnx'
}

with_cuda() { # its shared object is what the provider is then: without a GPU it says that there is no driver
    "$roots/venv/bin/pip" install -q --no-index "$cuda" && "$roots/venv/bin/python" -c '
import tinyort
(cuda,) = [p for p in tinyort.providers() if p["name"] == "cuda"]
assert cuda["code"] != "NOT_BUILT" and cuda["built_for"], cuda'
}

cuda=${4:-}
mkdir -p "$roots"
check "the wheel is smaller than 3 MB" small
check "auditwheel takes it for glibc 2.28 and older" portable
check "a fresh environment" fresh_venv
[ -z "$cuda" ] || check "the provider cuda in its own package" with_cuda
mirror=$(apt-cache policy libc6 2>/dev/null | awk '/http.*\/debian / { print $2; exit }')
for suite in bullseye trixie; do
    if [ "$(id -u)" = 0 ] && command -v debootstrap > /dev/null && [ -n "$mirror" ]; then
        check "Debian $suite" fresh_root $suite "$mirror"
    else
        echo "skipped: Debian $suite (it needs debootstrap and root)"
        skipped=$((skipped + 1))
    fi
done
echo "python-wheel: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
