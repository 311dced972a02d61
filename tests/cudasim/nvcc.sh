#!/bin/sh
# The kernels that the simulator runs compile unchanged for GPUs, the oldest and a newer one. Usage: nvcc.sh NVCC OBJECT
# NVCC is empty where there is none: counted as skipped.
set -u
if [ -z "$1" ]; then
    echo "skipped: kernels for GPUs (no nvcc here)"
    echo "cudasim-nvcc: 0 passed, 0 failed, 1 skipped"
    exit 0
fi
for arch in 75 90; do
    if ! "$1" -std=c++17 -DTORT_CUDA=1 -gencode "arch=compute_$arch,code=sm_$arch" -Werror all-warnings -Xcompiler -Wall,-Wextra -I. \
        -c -o "$2" tests/cudasim/sample_kernels.cu; then
        echo "FAILED: nvcc for sm_$arch"
        echo "cudasim-nvcc: 0 passed, 1 failed"
        exit 1
    fi
done
echo "cudasim-nvcc: 2 passed, 0 failed"
