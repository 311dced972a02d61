#!/bin/sh
# Holds our declarations against NVIDIA's headers, as far as those are installed. Usage: nvidia_headers.sh CC INCLUDE_DIR...
# (of each toolkit: the one that is linked, and that of nvcc, which the libraries' headers belong to). What is not installed is counted
# as skipped, by name.
set -u
passed=0
failed=0
skipped=0

compiles() {
    "$compiler" -std=c11 -Wno-deprecated-declarations -I. -isystem "$include" "$@" -fsyntax-only tests/cudasim/nvidia_headers.c
}

# $1 the part, $2 the header that shows that it can be checked
compare() {
    if [ -z "$include" ] || ! printf '#include <%s>\n' "$2" | "$compiler" -isystem "$include" -E -o /dev/null - 2>/dev/null; then
        echo "skipped: $1 (no $2 here)"
        skipped=$((skipped + 1))
    elif ! compiles "-D$1"; then
        echo "FAILED: $1 differs from NVIDIA's headers"
        failed=$((failed + 1))
    elif compiles "-D$1" -DPLANT_ERROR 2>/dev/null; then
        echo "FAILED: $1: a planted difference was not found"
        failed=$((failed + 1))
    else
        passed=$((passed + 1))
    fi
}

compiler=$1 include=
shift
for include; do compare CUDART cuda_runtime_api.h; done
[ $# -gt 0 ] || compare CUDART cuda_runtime_api.h
compare LIBRARIES cudnn.h
echo "cudasim-nvidia-headers: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
