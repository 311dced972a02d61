#!/bin/sh
# The main job on the tree's own model and a real picture. Usage: demo.sh TINYORT GPUS, from the root of the tree; GPUS are the
# compute capabilities of this machine's GPUs, empty where there is none.
set -eu
tinyort=$1 gpus=$2

show() {
    echo
    echo "\$ $*"
    "$@"
}

show "$tinyort" run models/digits.onnx --ep cuda,cpu --input models/pictures/7.png --top 3 --labels models/digits.labels.txt
show "$tinyort" plan models/digits.onnx --ep cuda,cpu --shape image=1x1x8x8
if [ -z "$gpus" ]; then
    echo
    echo "No NVIDIA driver with a GPU of sm_75 or newer opens here, so the demo builds no CUDA kernels: make CUDA=1 builds them all the same."
fi
