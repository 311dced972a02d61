# machine.sh - what check.sh and bench.sh ask of the machine; sourced by both, in the folder of the programs. Where NVIDIA's libraries
# and compute-sanitizer lie, and one line about each.

# Where Python finds packages: of the machine, of the user, of a virtual environment.
python_folders() {
    python3 -c 'import sys; print("\n".join(path for path in sys.path if path))' 2> /dev/null
}

# The folder of a library (a file name, * allowed) that the loader does not find by itself: PyTorch brings cuBLAS and cuDNN in folders
# of its own, toolkits and some containers have others. Nothing where the loader finds it, or where it is not.
folder_of() {
    if PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2> /dev/null | grep -q "$1"; then return; fi
    for folder in $(python_folders | sed 's|$|/nvidia/*/lib|') /usr/local/nvidia/lib64 /usr/local/cuda*/lib64 /usr/local/cuda*/targets/*/lib; do
        for at in $folder/$1; do
            [ ! -e "$at" ] || { dirname "$at"; return; }
        done
    done
}

# Sets $libraries, for our programs alone: PyTorch finds its own, and must not find others first.
find_libraries() {
    libraries=
    for name in libcuda.so.1 "libcublas.so.1[23]" libcudnn.so.9; do
        found=$(folder_of "$name")
        case ":$libraries:" in
        *":$found:"*) ;;
        *) libraries=$libraries${found:+${libraries:+:}$found} ;;
        esac
    done
    echo "libraries that the loader would not find: ${libraries:-none}"
}

# Runs a program of ours.
ours() {
    if [ -z "$libraries" ]; then "$@"; else LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$@"; fi
}

# Sets $sanitizers, to be tried in this order: what the machine has fits its driver; what was carried here is one more chance. The
# latter is unpacked into $1.
find_sanitizers() {
    sanitizers=
    for at in "$(command -v compute-sanitizer)" /usr/local/cuda*/bin/compute-sanitizer /opt/cuda/bin/compute-sanitizer; do
        case " $sanitizers " in *" $at "*) continue ;; esac
        [ ! -x "$at" ] || sanitizers="$sanitizers $at"
    done
    if [ -f compute-sanitizer.tar.gz ] && tar -xzf compute-sanitizer.tar.gz -C "$1"; then
        sanitizers="$sanitizers $1/compute-sanitizer/compute-sanitizer"
    fi
    echo "compute-sanitizer:${sanitizers:- neither installed nor carried here}"
}

describe_machine() {
    date -u "+%Y-%m-%d %H:%M UTC"
    [ ! -f VERSION ] || echo "tinyort $(cat VERSION)"
    compute_mode=
    if command -v nvidia-smi > /dev/null; then
        nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
        compute_mode=$(nvidia-smi --query-gpu=compute_mode --format=csv,noheader 2> /dev/null | head -n 1)
        echo "compute mode: ${compute_mode:-unknown}"
    else
        echo "nvidia-smi is not installed"
    fi
    find_libraries
}

# May one program have the GPU while another holds it?
is_shared() {
    case $compute_mode in Exclusive*) return 1 ;; *) return 0 ;; esac
}

# Ends the script where cuda does not open, with cause and cure. $1: what is then not done.
require_cuda() {
    ours ./tinyort providers --ep cuda
    ours ./tinyort run models/digits.onnx --ep cuda,cpu --require cuda --random 1 > /dev/null 2>&1 && return
    echo "$1: cuda does not open here, so nothing was done"
    exit 1
}
