#!/bin/sh
# Archives the last commit twice, and builds one of the archives where there is no git.
# Usage: test.sh SCRATCH, from the root of the tree; CC, CXX and MAKE come from the environment.
set -u
rm -rf "$1"
scratch=$(mkdir -p "$1/no_git" && cd "$1" && pwd)
suite=dist
. tests/check.sh
unset MAKEFLAGS MAKELEVEL MFLAGS # of the make that runs this

if [ -n "$(git rev-parse --show-cdup 2>&1)" ]; then
    echo "skipped: archives (they are made in a checkout with git)"
    echo "dist: 0 passed, 0 failed, 1 skipped"
    exit 0
fi
commit=$(git rev-parse HEAD | cut -c 1-12)
printf '#!/bin/sh\nexit 127\n' > "$scratch/no_git/git"
chmod +x "$scratch/no_git/git"

dist() { "$MAKE" --no-print-directory BUILD="$scratch/$1" dist; }
dist_of_another_user() { (umask 077 && TZ=Asia/Tokyo dist "$1"); }
same_bytes() { cmp "$scratch"/first/tinyort-*.tar.gz "$scratch"/second/tinyort-*.tar.gz; }
has_what_is_committed() {
    tar -tzf "$scratch"/first/tinyort-*.tar.gz | sed -n 's|^[^/]*/\(.*[^/]\)$|\1|p' | sort > "$scratch/packed"
    git ls-tree -r --name-only HEAD | sort | diff - "$scratch/packed"
}
unpack() { tar -xzf "$scratch"/first/tinyort-*.tar.gz -C "$scratch" && cd "$scratch"/tinyort-*; }
build() { "$MAKE" -s -j"$(nproc)" CC="$CC" CXX="$CXX" CUDA=0 BUILD=build build/tinyort; }
build_without_git() { (PATH="$scratch/no_git:$PATH" && export PATH && ! git version && build); }
tells_the_commit() {
    build/tinyort version > "$scratch/version" && grep "^ *commit  *$commit$" "$scratch/version" ||
        { cat "$scratch/version"; false; }
}
knows_a_seven() {
    build/tinyort run models/digits.onnx --input models/pictures/7.png --top 1 --labels models/digits.labels.txt |
        grep ' seven$'
}

check "make dist" dist first
check "make dist, of another user" dist_of_another_user second
check "both have the same bytes" same_bytes
check "it has the files of the commit, and no others" has_what_is_committed
unpack || exit 1
check "it builds without git" build_without_git
check "the program tells the commit" tells_the_commit
check "it recognizes a digit" knows_a_seven
check "with git, and a checkout around it, it builds" build
check "the program tells the commit of the archive again" tells_the_commit

echo "dist: $passed passed, $failed failed"
[ "$failed" = 0 ]
