# machine.sh - what check.sh and bench.sh ask of the machine; sourced by both, in the folder of the programs. Where NVIDIA's libraries
# and compute-sanitizer lie, and one line about each.

# The folder of a library (a file name, * allowed) that the loader does not find by itself: PyTorch brings cuBLAS and cuDNN in folders
# of its own, toolkits and some containers have others. Nothing where the loader finds it, or where it is not.
folder_of() {
    if PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2> /dev/null | grep -q "$1"; then return; fi
    packages=$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' 2> /dev/null)
    for at in "${packages:-none}"/nvidia/*/lib/$1 /usr/local/nvidia/lib64/$1 /usr/local/cuda*/lib64/$1 /usr/local/cuda*/targets/*/lib/$1; do
        [ ! -e "$at" ] || { dirname "$at"; return; }
    done
}

find_libraries() {
    for name in libcuda.so.1 "libcublas.so.1[23]" libcudnn.so.9; do
        folder=$(folder_of "$name")
        [ -z "$folder" ] || LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}${LD_LIBRARY_PATH:+:}$folder
    done
    export LD_LIBRARY_PATH
    echo "LD_LIBRARY_PATH: ${LD_LIBRARY_PATH:-empty}"
}

# Sets $sanitizer; empty: there is none.
find_sanitizer() {
    sanitizer=$(command -v compute-sanitizer || true)
    for at in /usr/local/cuda*/bin/compute-sanitizer /opt/cuda/bin/compute-sanitizer; do
        [ -z "$sanitizer" ] && [ -x "$at" ] && sanitizer=$at
    done
    echo "compute-sanitizer: ${sanitizer:-not installed}"
}

describe_machine() {
    date -u "+%Y-%m-%d %H:%M UTC"
    [ ! -f VERSION ] || echo "tinyort $(cat VERSION)"
    if command -v nvidia-smi > /dev/null; then
        nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
    else
        echo "nvidia-smi is not installed"
    fi
    find_libraries
}

# Ends the script where cuda does not open, with cause and cure. $1: what is then not done.
require_cuda() {
    ./tinyort providers --ep cuda
    ./tinyort run models/digits.onnx --ep cuda,cpu --require cuda --random 1 > /dev/null 2>&1 && return
    echo "$1: cuda does not open here, so nothing was done"
    exit 1
}
