#!/bin/sh
# What make would do, as `make -n` tells it; what gpu_here says of drivers; and two checkouts that share a ccache.
# MAKE, CC, NVCC and CCACHE come from the Makefile. Usage, from the root of the tree: test.sh
set -u
passed=0 failed=0 skipped=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset MAKEFLAGS MAKELEVEL MFLAGS BUILD CUDA CUDA_MAJOR CUDA_DRIVER CUDA_ARCHS CUDA_PTX # of the make that runs this

# $1: what is tested; $2: what was found; $3: what was expected.
equal() {
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $1: found '$2', expected '$3'"
    fi
}

skip() {
    skipped=$((skipped + 1))
    echo "skipped: $1"
}

commands() { $MAKE -n CCACHE= BUILD="$folder/build" "$@" 2>&1; }
lines_with() { grep -c -e "$1"; }

demo=$(commands demo)
equal "make demo links the command line" "$(echo "$demo" | lines_with '-o [^ ]*/build/tinyort ')" 1
for product in '-o [^ ]*cu\.o' '-o [^ ]*cudasim' '-o [^ ]*\.so' 'rcs [^ ]*_cuda\.a'; do
    equal "make demo without a driver runs nothing with '$product'" "$(echo "$demo" | lines_with "$product")" 0
done

if [ -n "$NVCC" ]; then
    kernel="$folder/build/obj/kernels/cuda/cast.cu.o"
    flag() { commands "$@" "$kernel" | grep -e ' -c -o ' | grep -o -e '-gencode [^ ]*' | sort | tr '\n' ' '; }
    equal "a build for one architecture compiles one" "$(flag CUDA_ARCHS=80)" "-gencode arch=compute_80,code=sm_80 "
    equal "a build for two has PTX for the rest" "$(flag CUDA_ARCHS='80 90' | wc -w)" 8
    equal "code for sm_86 only where it differs from that for sm_80" "$(flag | grep -c -e 'code=sm_86')" 0
    tiled="$folder/build/obj/kernels/cuda/matmul.cu.o"
    equal "as in products" "$(commands "$tiled" | grep -e ' -c -o ' | grep -c -e 'code=sm_86')" 1
    equal "drivers from 525 on read LZ4" "$(commands "$kernel" | grep -e ' -c -o ' | grep -c -e '-compress-all')" 1
    equal "those from 550 on Zstandard, too" "$(commands CUDA_DRIVER=550 "$kernel" | grep -e ' -c -o ' | grep -c -e '--compress-mode=size')" 1
    equal "sm_110 needs CUDA 13" "$(commands CUDA_ARCHS=110 "$kernel" | grep -e ' -c -o ' | grep -c -e '-DTORT_CUDA=13 ')" 1
    equal "a driver that is none of these" "$(commands CUDA_DRIVER=500 "$kernel" | grep -c -e 'CUDA_DRIVER=500: expected 525, 550 or 580')" 1
    equal "a driver that CUDA 13 does not run with" "$(commands CUDA_MAJOR=13 CUDA_DRIVER=550 "$kernel" | grep -c -e 'CUDA_DRIVER=550: with CUDA_MAJOR=13 it is 580')" 1
    arm() { commands CC=aarch64-linux-gnu-gcc "$@" "$kernel" | grep -e ' -c -o ' | grep -o -e 'code=sm_[0-9]*' | tr '\n' ' '; }
    if command -v aarch64-linux-gnu-gcc > /dev/null; then
        equal "boards of CUDA 12" "$(arm)" "code=sm_87 code=sm_90 "
        equal "boards of CUDA 13" "$(arm CUDA_MAJOR=13)" "code=sm_90 code=sm_100 code=sm_110 code=sm_121 "
    else
        skip "flags for aarch64 (no cross compiler here)"
    fi
    equal "kernels are shipped without lines of source" "$(commands "$kernel" | lines_with -lineinfo)" 0
    equal "PROFILE=1 keeps them" "$(commands PROFILE=1 "$kernel" | grep -c -e '-lineinfo .*cast.cu ')" 1
else
    skip "flags of CUDA kernels (no nvcc here)"
fi

# A driver of four GPUs, and one that finds none; the loader's own folder of libraries, and one that has nothing.
$CC -o "$folder/gpu_here" .ci/gpu_here.c -ldl
loader=$(readelf -l "$folder/gpu_here" | sed -n 's/.*interpreter: \(.*\)\]/\1/p')
here() { "$loader" --inhibit-cache --library-path "$folder/driver" "$folder/gpu_here"; }
driver() {
    mkdir -p "$folder/driver"
    echo "int cuInit(unsigned flags) { return (int)flags + $1; }
        int cuDeviceGetCount(int *count) { *count = 4; return 0; }
        int cuDeviceGetAttribute(int *value, int attribute, int device) {
            static const int capabilities[4] = {86, 90, 86, 61};
            *value = attribute == 75 ? capabilities[device] / 10 : capabilities[device] % 10;
            return 0;
        }" | $CC -shared -fPIC -o "$folder/driver/libcuda.so.1" -x c -
}
equal "no driver, no GPU" "$(here)" ""
driver 0
equal "GPUs, each capability once, and none that CUDA 13 does not know" "$(here)" "86 90"
driver 100
equal "a driver that finds no GPU" "$(here)" ""

if [ -n "$CCACHE" ]; then
    export CCACHE_DIR="$folder/cache"
    for checkout in first second; do
        mkdir "$folder/$checkout"
        cp -r Makefile .ci runtime ops loader kernels tests "$folder/$checkout"
        $MAKE -s -C "$folder/$checkout" CCACHE="$CCACHE" CUDA=0 build/obj/runtime/core/base/names.o > /dev/null
    done
    equal "the second checkout compiles nothing" "$($CCACHE --print-stats | awk '$1 == "direct_cache_hit" { print $2 }')" 1
    equal "both make the same object" "$(cmp "$folder/first/build/obj/runtime/core/base/names.o" "$folder/second/build/obj/runtime/core/base/names.o" && echo same)" same
else
    skip "a second checkout takes its objects from ccache (no ccache here)"
fi

echo "build: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
