#!/bin/sh
# Holds what CMake would compile against what make would, for all of the library and for the plain loops, and builds an application
# with the latter. Usage: test.sh SCRATCH PYTHON, from the root of the tree; CC, CCACHE and MAKE come from the environment.
set -u
rm -rf "$1"
scratch=$(mkdir -p "$1" && cd "$1" && pwd)
python=$2 suite=cmake
. tests/check.sh
unset MAKEFLAGS MAKELEVEL MFLAGS TARGET CPPFLAGS CFLAGS LDFLAGS # of the make that runs this
export CCACHE_BASEDIR="$PWD" # what another checkout has compiled is the same

configure() { cmake -S runtime -B "$scratch/cmake_$1" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DTINYORT_PLAIN="$2" -DTINYORT_OPS="$3"; }
# made NAME ARGUMENT...: make without what its user may have set.
made() {
    build=$scratch/make_$1
    shift
    "$MAKE" CC="$CC" CCACHE= CUDA=0 OPT=-O3 SANITIZE= SEEN= SIMD=all MESSAGES=1 BUILD="$build" "$@"
}
# same_commands MAKE'S CMAKE'S
same_commands() { "$python" tests/cmake/commands.py "$scratch/make_$1.txt" "$scratch/cmake_$2/compile_commands.json"; }
differs() { ! same_commands "$@"; }
# same_tables NAME ARGUMENT...
same_tables() {
    tables=$(cd "$scratch/cmake_$1" && find . -name tables.inc)
    for table in ${tables:-none}; do
        made "$@" "$scratch/make_$1/obj/${table#./}" && cmp "$scratch/make_$1/obj/$table" "$scratch/cmake_$1/$table" || return 1
    done
}
compare() { # compare NAME PLAIN OPS ARGUMENT...
    variant=$1
    check "CMake knows what to build ($variant)" configure "$1" "$2" "$3"
    shift 3
    made "$variant" "$@" -n "$scratch/make_$variant/libtinyort.a" > "$scratch/make_$variant.txt" 2>&1
    check "it has the sources, instruction sets and flags of make ($variant)" same_commands "$variant" "$variant"
    check "it has the tables of make ($variant)" same_tables "$variant" "$@"
}
build() {
    cmake -S tests/cmake -B "$scratch/application" -DTINYORT_PLAIN=ON -DCMAKE_C_COMPILER_LAUNCHER="$CCACHE" &&
        cmake --build "$scratch/application"
}
is_a_seven() { [ "$("$scratch/application/digit")" = 7 ]; }

compare all OFF "onnx;ml;microsoft" CPU=fast OPS="onnx ml microsoft"
compare plain ON "onnx" CPU=plain OPS=onnx
check "what is of one alone is seen" differs all plain
check "an application builds with it" build
check "it recognizes a digit" is_a_seven

echo "cmake: $passed passed, $failed failed"
[ "$failed" = 0 ]
