#!/bin/sh
# Makes all that a release publishes, of the last commit alone: what is packed is built from the archive of sources, in a folder of its own,
# with chosen parts (the machine's headers decide nothing) and times of the commit, so that whoever builds the same commit with the same
# compilers has the same bytes. Usage, from the root of a checkout: release.sh FOLDER VERSION [TARGET...]; MAKE and VENV come from
# the Makefile.
set -eu
version=$2
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift 2
umask 022
export SOURCE_DATE_EPOCH="$(git log -1 --format=%ct)" LC_ALL=C TZ=UTC
unset MAKEFLAGS MAKELEVEL MFLAGS PICTURES REGEX CUDA TARGET BUILD
source=$folder/source out=$folder/tinyort-$version
wheels=$folder/wheel_venv

step() { echo "release: $*"; }
make_in_source() { "$MAKE" --no-print-directory -s -C "$source" -j"$(nproc)" CUDA=0 CUDASIM_CXX= WHEEL_VENV="$wheels" PYTHON="$PYTHON" "$@" > "$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }; }

rm -rf "$out" "$source"
mkdir -p "$out" "$source"
.ci/setup.sh build pictures regex deb
.ci/setup.sh sources="$folder/sources" wheel="$wheels"
touch "$wheels/.made"

step "archive of sources"
"$MAKE" --no-print-directory -s BUILD="$folder" CUDA=0 dist > /dev/null
mv "$folder/tinyort-$version.tar.gz" "$out"
tar -xzf "$out/tinyort-$version.tar.gz" -C "$source" --strip-components=1
mkdir "$source/build"
ln -s "$folder/sources" "$source/build/sources"

step "Debian package and wheel"
make_in_source deb wheel
mv "$source"/build/tinyort_*.deb "$source"/build/wheel/*.whl "$out"

for target in "$@"; do
    step "$target"
    .ci/setup.sh "$target"
    stage=$folder/stage/tinyort-$version-$target
    rm -rf "$stage"
    make_in_source TARGET="$target" DESTDIR="$stage" PREFIX= install-strip
    install -m 644 "$source/LICENSE" "$stage"
    tar -C "$folder/stage" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -cf "$out/tinyort-$version-$target.tar" "tinyort-$version-$target"
    gzip -9n "$out/tinyort-$version-$target.tar"
    case $target in
    aarch64-linux-gnu | *-musl)
        _PYTHON_HOST_PLATFORM=linux-${target%%-*} make_in_source TARGET="$target" wheel
        mv "$source/build/$target"/wheel/*.whl "$out"
        ;;
    esac
done

step "list of contents and checksums"
"$VENV/bin/python" .ci/spdx.py "$out" "$version" "$SOURCE_DATE_EPOCH" "$(git rev-parse HEAD)" > "$folder/spdx.json"
mv "$folder/spdx.json" "$out/tinyort-$version.spdx.json"
(cd "$out" && find . -type f ! -name SHA256SUMS | sed 's|^\./||' | LC_ALL=C sort | xargs sha256sum > SHA256SUMS)
rm -rf "$folder/stage" "$source"
(cd "$out" && wc -c $(ls) | awk '{ printf "release: %10d  %s\n", $1, $2 }')
