#!/bin/sh
# Makes Conan's package of the static and of the shared library, in a home of Conan's that is for this alone.
# Usage: conan.sh SCRATCH CONAN, from the root of the tree.
set -u
rm -rf "$1"
scratch=$(mkdir -p "$1" && cd "$1" && pwd)
conan=$2 suite=conan
. tests/check.sh
unset MAKEFLAGS MAKELEVEL MFLAGS TARGET BUILD CUDA CC # of the make that runs this
export CONAN_HOME="$scratch/home"

create() { "$conan" create runtime/packages/conan "$@" > "$scratch/created" 2>&1 || { cat "$scratch/created"; false; }; }
sees_a_seven() { grep 'digit says 7$' "$scratch/created"; }
packaged() { # packaged: the folder of the package that was made last
    sed -n 's/.*Package folder \(.*\)/\1/p' "$scratch/created" | tail -n 1
}
has() { (cd "$(packaged)" && ls "$@"); }
has_no() { [ -z "$(find "$(packaged)" -name "$1")" ]; }
tree_is_as_before() { [ "$(git status --porcelain)" = "$before" ]; }

before=$(git status --porcelain)
check "a profile" "$conan" profile detect
check "a static package" create
check "its digit is a seven" sees_a_seven
check "what it has" has licenses/LICENSE include/tinyort.h lib/libtinyort.a lib/cmake/tinyort/tinyort-config.cmake
check "it has no shared library" has_no 'libtinyort.so*'
check "a shared package, with pictures and regular expressions" create -o '&:shared=True' -o '&:pictures=True' -o '&:regex=True'
check "its digit is a seven, too" sees_a_seven
check "what it has, too" has lib/libtinyort.so lib/libtinyort_extra.so
check "it has no static library" has_no 'libtinyort*.a'
check "a debug build" create -s build_type=Debug
check "its digit is a seven, in the end" sees_a_seven
check "nothing is left in the tree" tree_is_as_before

echo "conan: $passed passed, $failed failed"
[ "$failed" = 0 ]
