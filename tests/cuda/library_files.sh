#!/bin/sh
# Real files where the loader looks for NVIDIA's: none, an empty one, a text, a library without the symbols, one that needs
# another, one that is whole, and one of an old version; what is said of each must tell them apart.
# Usage: library_files.sh CC PROGRAM [TINYORT CUDA DRIVER]: the program that was built with CUDA, the CUDA of the oldest
# driver that serves it, 12000, and that driver's number, 525.
set -u
compiler=$1 program=$2 tinyort=${3:-} passed=0 failed=0 skipped=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Without its cache the loader does not find what is installed on this machine outside its own folders.
loader=$(readelf -l "$program" | sed -n 's/.*interpreter: \(.*\)\]/\1/p')

# $1: words that must be there; the rest: a command.
says() {
    words=$1
    shift
    found=$("$loader" --inhibit-cache --library-path "$folder" "$@" 2>&1)
    case $found in
    *"$words"*) passed=$((passed + 1)) ;;
    *)
        failed=$((failed + 1))
        echo "FAILED: $* does not say '$words' but: $found"
        ;;
    esac
}

# $1: kind, $2: file name.
lay() {
    rm -f "$folder"/lib*
    case $1 in
    empty) : > "$folder/$2" ;;
    text) echo "This is no library at all, but a text that is long enough to be read as a header." > "$folder/$2" ;;
    strange) echo "int strange;" | "$compiler" -shared -fPIC -o "$folder/$2" -x c - ;;
    needy)
        echo "int needed;" | "$compiler" -shared -fPIC -o "$folder/libneeded.so" -x c -
        echo "extern int needed; int *needy = &needed;" | "$compiler" -shared -fPIC -o "$folder/$2" -x c - -x none "$folder/libneeded.so"
        rm "$folder/libneeded.so"
        ;;
    driver) "$compiler" -shared -fPIC -DVERSION="$3" -o "$folder/$2" tests/cuda/stub_driver.c ;;
    whole) "$compiler" -shared -fPIC -w -I. -DTORT_CUDASIM=1 "-D$3" -o "$folder/$2" tests/cuda/stub_library.c ;;
    esac
}

skip() {
    skipped=$((skipped + 1))
    echo "skipped: $1"
}

# Of files that must not be found: skipped where this machine has some in a folder of the loader's own.
theirs=$(ls -d /lib/libcu[bd]*.so* /usr/lib/libcu[bd]*.so* /usr/lib/*-linux-gnu/libcu[bd]*.so* /usr/lib/*-linux-gnu/libcuda.so* 2> /dev/null | head -1)
says_alone() {
    if [ -n "$theirs" ]; then skip "'$1' (this machine has $theirs)"; else says "$@"; fi
}

broken="was found but does not load: "
says_alone "absent: no NVIDIA driver on this machine (libcuda.so.1 was not found); install" "$program" driver
says_alone "the loader finds no libcublas.so.13 or libcublas.so.12; install cuBLAS 13 or 12 where" "$program" cublas
says_alone "the loader finds no libcudnn.so.9; install cuDNN 9 where" "$program" cudnn
for kind in empty text needy; do
    case $kind in empty) reason="file too short" ;; text) reason="invalid ELF header" ;; needy) reason="libneeded.so: " ;; esac
    lay $kind libcuda.so.1
    says "broken: the NVIDIA driver's libcuda.so.1 $broken" "$program" driver
    says "$reason" "$program" driver
    says "; install the NVIDIA driver anew" "$program" driver
    lay $kind libcublas.so.13
    says "libcublas.so.13 $broken" "$program" cublas
    says "$reason" "$program" cublas
    says "; install cuBLAS 13 or 12 anew" "$program" cublas
    lay $kind libcudnn.so.9
    says "libcudnn.so.9 $broken" "$program" cudnn
    says "; install cuDNN 9 anew" "$program" cudnn
done
lay strange libcuda.so.1
says "broken: libcuda.so.1 was found but has no cuInit" "$program" driver
lay strange libcublas.so.13
says "cuBLAS was found but has no cublas" "$program" cublas
lay strange libcublas.so.11
says_alone "libcublas.so.11 was found, cuBLAS 13 or 12 is needed; install cuBLAS 13 or 12 beside it" "$program" cublas
lay strange libcudnn.so.8
says_alone "libcudnn.so.8 was found, cuDNN 9 is needed; install cuDNN 9 beside it" "$program" cudnn
lay whole libcudnn.so.8 CUDNN
says_alone "cuDNN 0.0.0 was found (libcudnn.so.8), libcudnn.so.9 is needed" "$program" cudnn
lay whole libcudnn.so.9 CUDNN
says "found: 0.0" "$program" cudnn
lay whole libcublas.so.12 CUBLAS
says "found: " "$program" cublas
lay whole libcublas.so.13 CUBLAS
says "found: " "$program" cublas
says "libcublas.so.13 stays mapped after the close" "$program" stays

# A folder that the user names, which is the only one then: with the file itself, a Python environment, or its packages.
rm -f "$folder"/lib*
packages="$folder/venv/lib/python3.11/site-packages"
mkdir -p "$packages/nvidia/cublas/lib" "$folder/named"
says "$folder/named has no libcublas.so.13 or libcublas.so.12; install cuBLAS 13 or 12 where" "$program" cublas "$folder/named"
lay whole libcublas.so.12 CUBLAS
says "$folder/named has no libcublas.so.13 or libcublas.so.12; install cuBLAS 13 or 12 where" "$program" cublas "$folder/named"
cp "$folder/libcublas.so.12" "$folder/named"
cp "$folder/libcublas.so.12" "$packages/nvidia/cublas/lib"
says " in $folder/named" "$program" cublas "$folder/named"
says " in $packages/nvidia/cublas/lib" "$program" cublas "$folder/venv"
says " in $packages/nvidia/cublas/lib" "$program" cublas "$packages"
: > "$folder/named/libcublas.so.13"
says " in $folder/named" "$program" cublas "$folder/named"
rm "$folder/named/libcublas.so.12"
says "libcublas.so.13 $broken$folder/named/libcublas.so.13: file too short" "$program" cublas "$folder/named"

# Device files of a container that has the sixth GPU alone, of a Jetson, of WSL; and the running driver's number.
machine="$folder/machine"
mkdir -p "$machine/dev/nvgpu" "$machine/sys/module/nvidia"
touch "$machine/dev/nvidiactl" "$machine/dev/nvidia-uvm"
says "GPU: ; driver: ; memory: 0" "$program" machine "$machine"
touch "$machine/dev/nvidia5"
mkdir "$machine/proc"
printf 'MemTotal:       7770000 kB\nMemFree:         100000 kB\nMemAvailable:   6000000 kB\n' > "$machine/proc/meminfo"
echo 550.54.14 > "$machine/sys/module/nvidia/version"
says "GPU: /dev/nvidia5; driver: 550.54.14; memory: 6144000000" "$program" machine "$machine"
if [ "$(id -u)" = 0 ]; then
    skip "a device file that may not be opened (root may)"
else
    chmod 000 "$machine/dev/nvidia5"
    says "GPU: /dev/nvidia5, forbidden; driver: 550.54.14" "$program" machine "$machine"
fi
rm "$machine/dev/nvidia5"
for file in nvhost-gpu nvgpu/igpu0 dxg; do
    touch "$machine/dev/$file"
    says "GPU: /dev/$file; driver: " "$program" machine "$machine"
    rm "$machine/dev/$file"
done

if [ -n "$tinyort" ]; then
    # NVIDIA's cudart in the program over drivers of each age; the oldest that serves is CUDA_DRIVER of the build.
    for version in 11080 12000 12040 12090 13000; do
        lay driver libcuda.so.1 $version
        if [ $version -ge "$4" ]; then expected="NO_DEVICE"; else expected="for CUDA $(($version / 1000)).$(($version % 1000 / 10)), this tinyort needs $5 or newer (CUDA $(($4 / 1000)).$(($4 % 1000 / 10)))"; fi
        says "$expected" "$tinyort" providers --json
    done
    for kind in empty text; do
        lay $kind libcuda.so.1
        says "libcuda.so.1 $broken" "$tinyort" providers --json
    done
    lay strange libcuda.so.1
    says "has no cuInit" "$tinyort" providers --json
else
    skip "drivers, old and broken, under the real provider (this build has no CUDA)"
fi
echo "cuda-library-files: $passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
