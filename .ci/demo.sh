#!/bin/sh
# The main job on the tree's own model and a real picture. Usage: demo.sh TINYORT, from the root of the tree.
set -eu
tinyort=$1

show() {
    echo
    echo "\$ $*"
    "$@"
}

show "$tinyort" run models/digits.onnx --ep cuda,cpu --input models/pictures/7.png --top 3 --labels models/digits.labels.txt
show "$tinyort" plan models/digits.onnx --ep cuda,cpu --shape image=1x1x8x8
