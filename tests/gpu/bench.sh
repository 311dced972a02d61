#!/bin/sh
# Times kernels and networks on a GPU; prints Markdown for RESULTS.md. Needs nothing but the folder it lies in (made by
# `make gpu-bundle`) and NVIDIA's driver; cuBLAS, cuDNN and PyTorch are compared with where they are.
#
#   bench.sh [kernels|networks]...   both by default
#
# Networks take 2 GB of disk in $TMPDIR while they are timed, as their weights are made here.
cd "$(dirname "$0")" || exit 1
. ./machine.sh
status=0

bench_networks() {
    folder=$(mktemp -d) || return 1
    trap 'rm -rf "$folder"' EXIT
    ./networks "$folder" || return 1
    if command -v python3 > /dev/null; then
        python3 pytorch.py "$folder"
        return
    fi
    printf '\n### Networks\n\nPyTorch was skipped: python3 is not installed.\n\n'
    for name in resnet50 bert; do
        for batch in 1 32; do
            ./tinyort bench "$folder/$name.onnx" --ep cuda --bind '*=cuda' --input "$folder/$name.$batch.npy" --warmup 10 || return 1
        done
    done
}

describe_machine
echo "command: $0 $*"
require_cuda gpu-bench
for part in ${*:-kernels networks}; do
    case $part in
    kernels) ./bench || status=1 ;;
    networks) bench_networks || status=1 ;;
    *)
        echo "bench.sh: no part is called $part"
        exit 2
        ;;
    esac
    [ $status = 0 ] || echo "gpu-bench: $part failed"
done
exit $status
