#!/bin/sh
# Runs the commands of Buildroot's package with a stand-in for Buildroot (buildroot.mk) and a compiler of Debian's for aarch64, and what
# they install by qemu. With a tree of Buildroot: its checker (which needs the packages python-magic and flake8) and its configuration.
# Usage: buildroot.sh SCRATCH BUILDROOT PYTHON, from the root of the tree; BUILDROOT may be empty. CCACHE and MAKE come from the environment.
set -u
rm -rf "$1"
scratch=$(mkdir -p "$1" && cd "$1" && pwd)
buildroot=$2 python=$3 suite=buildroot skipped=0
package=$PWD/runtime/packages/buildroot sources=$PWD/build/sources
. tests/check.sh
unset MAKEFLAGS MAKELEVEL MFLAGS TARGET BUILD CUDA # of the make that runs this

# What the package depends on, from where it is in Buildroot's staging folder.
archive() { # archive NAME FLAGS SOURCE...
    name=$1 flags=$2
    shift 2
    (mkdir -p "$scratch/$name" && cd "$scratch/$name" && aarch64-linux-gnu-gcc -O2 -fPIC $flags -c "$@" &&
        aarch64-linux-gnu-ar rcs "$scratch/staging/usr/lib/lib$name.a" ./*.o)
}
stage() {
    mkdir -p "$scratch/staging/usr/lib" "$scratch/staging/usr/include/protobuf-c" "$scratch/staging/usr/include/cjson"
    cp "$sources/protobuf-c/protobuf-c/protobuf-c.h" "$scratch/staging/usr/include/protobuf-c" &&
        cp "$sources/cjson/cJSON.h" "$scratch/staging/usr/include/cjson" && cp "$sources/zlib/zlib.h" "$sources/zlib/zconf.h" "$scratch/staging/usr/include" &&
        archive protobuf-c "-I$sources/protobuf-c" "$sources/protobuf-c/protobuf-c/protobuf-c.c" && archive cjson "" "$sources/cjson/cJSON.c" &&
        archive z "-D_POSIX_C_SOURCE=200809L" "$sources"/zlib/adler32.c "$sources"/zlib/crc32.c "$sources"/zlib/inf*.c "$sources"/zlib/zutil.c
}
run_commands() { "$MAKE" -s -j"$(nproc)" -f tests/packages/buildroot.mk CCACHE="$CCACHE" SCRATCH="$scratch" PACKAGE="$package" "$scratch/tinyort/.stamp"; }
version_is_ours() { grep "^TINYORT_VERSION = $(sed -n 's/^#define TORT_VERSION "\(.*\)"/\1/p' runtime/include/tinyort.h)$" "$package/tinyort/tinyort.mk"; }
licence_is_ours() { (sed -n '/^sha256/s/sha256  //p' "$package/tinyort/tinyort.hash") | sha256sum -c; }
emulated() { qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="$scratch/target/usr/lib:/usr/aarch64-linux-gnu/lib" "$@"; }
is_for_aarch64() { for file in bin/tinyort lib/libtinyort.so; do readelf -h "$scratch/target/usr/$file" | grep 'Machine: *AArch64' || return 1; done; }
knows_a_seven() {
    emulated "$scratch/target/usr/bin/tinyort" run models/digits.onnx --input models/pictures/7.npy --top 1 --labels models/digits.labels.txt | grep ' seven$'
}
compiles() { aarch64-linux-gnu-gcc -o "$scratch/digit" tests/install/examples/digit.c -I"$scratch/staging/usr/include" -L"$scratch/staging/usr/lib" -ltinyort; }
digit_is_a_seven() { [ "$(emulated "$scratch/digit")" = 7 ]; }

check_package() { "$python" "$buildroot/utils/check-package" --br2-external "$package"/tinyort/* "$package/Config.in" "$package"/external.*; }
configures() {
    printf '%s\n' BR2_aarch64=y BR2_TOOLCHAIN_BUILDROOT_CXX=y BR2_PACKAGE_TINYORT=y BR2_PACKAGE_TINYORT_PICTURES=y > "$scratch/defconfig"
    "$MAKE" -s -C "$buildroot" O="$scratch/output" BR2_EXTERNAL="$package" BR2_DEFCONFIG="$scratch/defconfig" defconfig &&
        [ "$(grep -c '^BR2_PACKAGE_TINYORT.*=y$' "$scratch/output/.config")" = 2 ]
}
evaluates() { "$MAKE" -s -C "$scratch/output" tinyort-show-info | grep '"name": "tinyort".*"cjson", "host-protobuf-c"'; }

check "its version is this tree's" version_is_ours
check "its licence is this tree's" licence_is_ours
check "what it depends on is staged" stage
check "its commands build and install" run_commands
check "what they install is for aarch64" is_for_aarch64
check "the command line recognizes a digit" knows_a_seven
check "a program of the staging folder" compiles
check "it sees a seven" digit_is_a_seven
if [ -n "$buildroot" ]; then
    check "Buildroot's check-package" check_package
    check "Buildroot's configuration has it" configures
    check "Buildroot knows what it depends on" evaluates
else
    echo "skipped: check-package, and Buildroot's configuration (make test-buildroot BUILDROOT=DIR, a tree of Buildroot)"
    skipped=1
fi

echo "buildroot: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
