#!/bin/sh
# What make would do, as `make -n` tells it; what gpu_here says of drivers; and two checkouts that share a ccache.
# MAKE, CC, NVCC and CCACHE come from the Makefile. Usage, from the root of the tree: test.sh
set -u
passed=0 failed=0 skipped=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset MAKEFLAGS MAKELEVEL MFLAGS BUILD CUDA CUDA_ARCHS CUDA_PTX # of the make that runs this

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
