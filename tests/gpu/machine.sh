# machine.sh - what check.sh and bench.sh ask of the machine; sourced by both, in the folder of the programs. Where NVIDIA's libraries
# and compute-sanitizer lie, and one line about each.

# Where cuBLAS and cuDNN may lie that the loader does not search: the toolkit's folder, those of PyTorch.
library_folders() {
    for at in /usr/local/cuda*/lib64 /usr/local/cuda*/targets/*/lib; do
        [ ! -e "$at/libcublas.so.13" ] && [ ! -e "$at/libcublas.so.12" ] && [ ! -e "$at/libcudnn.so.9" ] || echo "$at"
    done
    command -v python3 > /dev/null && python3 - << 'PYTHON'
import glob
import sysconfig

for name in ("libcublas.so.1[23]", "libcudnn.so.9"):
    for path in glob.glob(f"{sysconfig.get_paths()['purelib']}/nvidia/*/lib/{name}"):
        print(path.rsplit("/", 1)[0])
PYTHON
}

find_libraries() {
    for folder in $(library_folders | sort -u); do
        LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}${LD_LIBRARY_PATH:+:}$folder
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
