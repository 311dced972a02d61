#!/bin/sh
# Times kernels and networks on a GPU; prints Markdown for RESULTS.md. Needs nothing but the folder it lies in (made by
# `make gpu-bundle`) and NVIDIA's driver; cuBLAS, cuDNN and PyTorch are compared with where they are.
#
#   bench.sh [kernels [OPERATOR] | networks [OPTION]...]      kernels and networks by default
#
# The options of networks are those of pytorch.py: --networks resnet50 --types float16 --settings eager,tuned --minutes 9 ...
# Networks stop after eight minutes unless told otherwise, and say what they left out. They take 2 GB of disk in $TMPDIR while they are
# timed, as their weights are made here.
cd "$(dirname "$0")" || exit 1
. ./machine.sh

bench_kernels() {
    ours ./bench "$@"
}

bench_networks() {
    folder=$(mktemp -d) || return 1
    trap 'rm -rf "$folder"' EXIT
    ./networks "$folder" || return 1
    if command -v python3 > /dev/null; then
        is_shared || set -- --apart "$@"
        set -- --minutes 8 "$@"
        TINYORT_LIBRARY_PATH=$libraries python3 pytorch.py "$folder" "$@"
        return
    fi
    printf '\n### Networks\n\nPyTorch was skipped: python3 is not installed.\n\n'
    for name in resnet50 bert; do
        for batch in 1 32; do
            ours ./tinyort bench "$folder/$name.onnx" --ep cuda --bind '*=cuda' --input "$folder/$name.$batch.npy" --warmup 10 || return 1
        done
    done
}

part() {
    case $1 in
    kernels | networks) ;;
    *)
        echo "bench.sh: no part is called $1"
        exit 2
        ;;
    esac
    what=$1
    shift
    "bench_$what" "$@" && return
    echo "gpu-bench: $what failed"
    return 1
}

describe_machine
echo "command: $0 $*"
require_cuda gpu-bench
if [ $# -gt 0 ]; then
    part "$@"
else
    status=0
    part kernels || status=1
    part networks || status=1
    exit $status
fi
