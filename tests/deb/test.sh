#!/bin/sh
# Looks into a Debian package, then installs it with apt in a fresh root, uses it there, and removes it.
# Usage: test.sh DEB ROOT VERSION, from the root of the tree. Where no fresh root can be made, what needs one is skipped, which
# is said.
set -u
deb=$1 root=$2 version=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
skipped=0 suite=deb
. tests/check.sh

field_is() { [ "$(dpkg-deb --field "$deb" "$1")" = "$2" ] || { dpkg-deb --info "$deb"; false; }; }
depends_on() { dpkg-deb --field "$deb" Depends | grep -E "(^|, )$1 \(>= "; }
has_file() { grep -E " root/root .* \./usr/$1( -> |$)" "$scratch/contents" || { cat "$scratch/contents"; false; }; }
nothing_outside_of_usr() { ! awk '{ print $6 }' "$scratch/contents" | grep -v -E '^\./(usr/.*)?$'; }

check "its name" field_is Package tinyort
check "its version" field_is Version "$version"
check "its architecture" field_is Architecture "$(dpkg --print-architecture)"
for package in libc6 libprotobuf-c1 libcjson1; do check "it depends on $package" depends_on $package; done
dpkg-deb --contents "$deb" > "$scratch/contents"
for file in bin/tinyort lib/libtinyort.so lib/libtinyort.so.0 "lib/libtinyort.so.$version" lib/libtinyort.a \
    lib/libtinyort_extra.so.0 lib/pkgconfig/tinyort.pc lib/cmake/tinyort/tinyort-config.cmake include/tinyort.h include/tinyort/runtime/include/provider.h share/man/man1/tinyort.1.gz \
    share/bash-completion/completions/tinyort share/zsh/vendor-completions/_tinyort \
    share/fish/vendor_completions.d/tinyort.fish share/doc/tinyort/copyright share/doc/tinyort/examples/digit.c; do
    check "it has /usr/$file" has_file "$file"
done
check "it has nothing outside of /usr" nothing_outside_of_usr

# What the package left, by name: all that it installs has its name. Its log, and what apt keeps of any package, stay.
ELSEWHERE="-path /tmp -o -path /proc -o -path /var/log -o -path /var/cache"
LEFT="{ find / -xdev \( $ELSEWHERE \) -prune -o -name '*tinyort*' -print; ldconfig -p; } | grep tinyort"
inside() { chroot "$root" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 sh -c "$1"; }
make_root() { # with a compiler, since it takes no part in what is tested; that of the last time is as good
    [ "$(id -u)" = 0 ] && command -v debootstrap && [ -n "$mirror" ] || return 1
    [ ! -x "$root/usr/bin/pkg-config" ] || return 0
    rm -rf "$root"
    debootstrap --variant=minbase --include=gcc,libc6-dev,pkg-config "$suite" "$root" "$mirror"
}
prepare() {
    inside "dpkg --purge tinyort && apt-get update -qq" && rm -rf "$root/tmp/tinyort" && mkdir "$root/tmp/tinyort" &&
        cp "$deb" models/digits.onnx models/digits.labels.txt models/pictures/7.png tests/install/examples/what_opens.c \
            "$root/tmp/tinyort"
}
with_apt() { inside "apt-get install -y -qq --no-install-recommends /tmp/tinyort/${deb##*/}"; }
knows_a_seven() {
    inside "cd /tmp/tinyort && tinyort run digits.onnx --input 7.png --top 1 --labels digits.labels.txt | grep ' seven$'"
}
compiles() { # compiles PACKAGE: a program that knows of the library what pkg-config tells
    inside "cd /tmp/tinyort && gcc -Wall -Wextra -Werror -o program what_opens.c \$(pkg-config --cflags --libs $1) && ./program"
}
provider_headers() {
    inside "echo '#include <runtime/include/provider.h>' | gcc \$(pkg-config --cflags tinyort-provider) -fsyntax-only -x c -"
}
nothing_is_left() { inside "! $LEFT"; }

suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
mirror=$(apt-cache policy libc6 2> /dev/null | awk '/http.*\/debian / { print $2; exit }')
if make_root > "$scratch/log" 2>&1; then
    check "what it is tried with is in a fresh root of Debian $suite" prepare
    check "nothing is there before" nothing_is_left
    check "apt installs it" with_apt
    check "the loader's cache has it" inside "ldconfig -p | grep libtinyort.so.0"
    check "its files are what was packed" inside "dpkg --verify tinyort"
    check "the command line recognizes a digit" knows_a_seven
    check "the man page is a page" inside "zcat /usr/share/man/man1/tinyort.1.gz | grep '^.TH TINYORT 1'"
    check "a C program with the library" compiles tinyort
    check "a C program with the library and its extra operators" compiles tinyort-extra
    check "the headers for providers" provider_headers
    check "apt removes it" inside "apt-get purge -y -qq tinyort"
    check "nothing is left" nothing_is_left
else
    tail -n 1 "$scratch/log"
    echo "skipped: installing the package (it needs root, and debootstrap with a mirror of Debian that answers)"
    skipped=1
fi
echo "deb: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
