#!/bin/sh
# Makes a release of the last commit in two folders, as two builders would, and looks into it.
# Usage: test.sh SCRATCH TARGET..., from the root of the tree; MAKE and PYTHON come from the environment.
set -u
rm -rf "$1"
scratch=$(mkdir -p "$1" && cd "$1" && pwd)
shift
targets=$*
suite=release
. tests/check.sh
unset MAKEFLAGS MAKELEVEL MFLAGS # of the make that runs this
version=$(sed -n 's/^#define TORT_VERSION "\(.*\)"/\1/p' runtime/include/tinyort.h)

# release_of FOLDER ORIGIN: in a clone there, compiled from nothing. The second is a clone of the first: the same commit.
release_of() {
    mkdir -p "$(dirname "$scratch/$1")" && git clone -q "$2" "$scratch/$1" && "$MAKE" -s -C "$scratch/$1" VENV="$(dirname "$(dirname "$PYTHON")")" CCACHE= TARGETS="$targets" release
}
as_another_builder() { (umask 077 && export TZ=Asia/Tokyo LC_ALL=C.UTF-8 CFLAGS= && release_of "$1" "$2"); }
files=$scratch/first/build/release/tinyort-$version
same_bytes() { diff -r "$files" "$scratch/another/builder/build/release/tinyort-$version"; }
has() { [ -f "$files/$1" ] || { ls "$files"; false; }; }
sums_hold() { (cd "$files" && sha256sum -c --quiet SHA256SUMS && [ "$(wc -l < SHA256SUMS)" = "$(ls | grep -cvx SHA256SUMS)" ]); }
is_valid_spdx() {
    "$PYTHON" -m venv --system-site-packages "$scratch/spdx" && "$scratch/spdx/bin/pip" install -q --disable-pip-version-check "spdx-tools==0.8.5" &&
        "$scratch/spdx/bin/pyspdxtools" --infile "$files/tinyort-$version.spdx.json"
}
lists_every_file() {
    for file in "$files"/*.gz "$files"/*.deb "$files"/*.whl; do
        grep -q "\"$(sha256sum "$file" | cut -c 1-64)\"" "$files/tinyort-$version.spdx.json" || { echo "not in it: $file"; return 1; }
    done
}
# knows_a_seven PROGRAM
knows_a_seven() { "$1" run models/digits.onnx --input models/pictures/7.npy --top 1 --labels models/digits.labels.txt | grep ' seven$'; }
unpack() { mkdir -p "$scratch/$1" && tar -xzf "$files/tinyort-$version-$1.tar.gz" -C "$scratch/$1" --strip-components=1; }
names_no_folder() { ! grep -c -r -F "$scratch" "$scratch/$1"; }
wheel_runs() {
    python3 -m venv "$scratch/venv" && "$scratch/venv/bin/pip" install -q --disable-pip-version-check "$files"/*manylinux*x86_64.whl numpy &&
        "$scratch/venv/bin/python" -c "import tinyort; print(tinyort.InferenceSession('models/digits.onnx').get_inputs()[0].name)"
}

check "a release" release_of first .
check "one of another builder" as_another_builder another/builder "$scratch/first"
check "both are the same bytes" same_bytes
for file in "tinyort-$version.tar.gz" "tinyort_${version}_$(dpkg --print-architecture).deb" "tinyort-$version.spdx.json" SHA256SUMS; do check "it has $file" has "$file"; done
check "its checksums hold" sums_hold
check "its list of contents is SPDX" is_valid_spdx
check "and lists every file" lists_every_file
check "the wheel runs" wheel_runs
for target in $targets; do
    check "the archive for $target unpacks" unpack "$target"
    for file in bin/tinyort lib/libtinyort.a include/tinyort.h share/man/man1/tinyort.1 LICENSE; do check "it has $file" [ -f "$scratch/$target/$file" ]; done
    check "it names no folder of the builder" names_no_folder "$target"
done
check "the static program recognizes a digit" knows_a_seven "$scratch/x86_64-linux-musl/bin/tinyort"
echo "release: $passed passed, $failed failed"
[ "$failed" = 0 ]
