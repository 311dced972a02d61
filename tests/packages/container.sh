#!/bin/sh
# Builds the container by buildah, from a Debian that debootstrap makes in place of the image of that name, and runs it: no daemon, no
# registry. Usage: container.sh SCRATCH, from the root of the tree. Where that cannot be done it is skipped, which is said.
set -u
[ ! -d "$1/storage" ] || buildah --root "$1/storage" --runroot "$1/run" --storage-driver vfs rm --all > /dev/null 2>&1
rm -rf "$1/storage" "$1/run"
scratch=$(mkdir -p "$1" && cd "$1" && pwd)
suite=container
. tests/check.sh

buildah() { command buildah --root "$scratch/storage" --runroot "$scratch/run" --storage-driver vfs "$@"; }
mirror=$(apt-cache policy libc6 2> /dev/null | awk '/http.*\/debian / { print $2; exit }')
make_debian() { # with what this machine knows of proxies; that of the last time is as good
    [ "$(id -u)" = 0 ] && command -v buildah debootstrap && [ -n "$mirror" ] || return 1
    [ -f "$scratch/debian/etc/debian_version" ] || {
        rm -rf "$scratch/debian.new" && debootstrap --variant=minbase bookworm "$scratch/debian.new" "$mirror" &&
            mv "$scratch/debian.new" "$scratch/debian"
    }
}
make_image() {
    container=$(buildah from scratch) && buildah add -q "$container" "$scratch/debian" / && buildah commit -q "$container" docker.io/library/debian:bookworm-slim &&
        buildah rm "$container"
}
build() {
    mkdir -p "$scratch/context" && git archive HEAD | tar -x -C "$scratch/context" && (cd "$scratch/context" && buildah build --isolation chroot --pull-never --layers=false \
        -t localhost/tinyort -f runtime/packages/container/Dockerfile .)
}
entry() { buildah inspect --type image --format '{{index .OCIv1.Config.Entrypoint 0}}' localhost/tinyort; }
inside() { buildah run --isolation chroot -v "$PWD/models:/models:ro" tinyort-digit "$(entry)" "$@"; }
knows_a_seven() {
    buildah from --pull-never --name tinyort-digit localhost/tinyort &&
        inside run /models/digits.onnx --input /models/pictures/7.npy --top 1 --labels /models/digits.labels.txt | grep ' seven$'
}
tells_the_commit() { inside version | grep "^ *commit  *$(git rev-parse HEAD | cut -c 1-12)$"; }
has_nothing_else() { [ "$(tar -tf "$scratch/layer" | LC_ALL=C sort | tr '\n' ' ')" = "LICENSE tinyort " ]; }
layer() { # the image has one layer
    rm -rf "$scratch/image" && buildah push -q localhost/tinyort "dir:$scratch/image" &&
        gzip -dcf "$scratch/image/$(sed -n 's/.*"layers":\[{[^]]*"digest":"sha256:\([0-9a-f]*\)".*/\1/p' "$scratch/image/manifest.json")" > "$scratch/layer"
}

if ! make_debian > "$scratch/log" 2>&1 || ! make_image >> "$scratch/log" 2>&1; then
    tail -n 1 "$scratch/log"
    echo "skipped: the container (it needs root, buildah, and debootstrap with a mirror of Debian that answers)"
    echo "container: 0 passed, 0 failed, 1 skipped"
    exit 0
fi
check "both stages build" build
check "it recognizes a digit" knows_a_seven
check "the program tells the commit" tells_the_commit
check "the image can be copied" layer
check "it has the program and the licence, and nothing else" has_nothing_else

echo "container: $passed passed, $failed failed"
[ "$failed" = 0 ]
