#!/bin/sh
# Installs into SCRATCH by DESTDIR and uses what is there as an application would: through the header and the pkg-config file.
# Usage: test.sh SCRATCH, from the root of the tree; CC, CXX, LINK_FLAGS and MAKE come from the environment.
set -u
scratch=$(mkdir -p "$1" && cd "$1" && pwd)
prefix=/opt/tinyort
root=$scratch/root$prefix
suite=install
. tests/check.sh

# flags OPTION... PACKAGE: what pkg-config says of where the files lie now.
flags() { PKG_CONFIG_PATH=$root/lib/pkgconfig pkg-config --define-variable=prefix="$root" "$@"; }

foreign_names() {
    awk '$2 ~ /[A-Z]/ && $3 !~ /^tort_/ { print "not of tinyort: " $3; found = 1 } END { exit found || NR == 0 }'
}

static_names_are_ours() { nm -g --defined-only "$root/lib/libtinyort.a" | foreign_names; }
extra_names_are_ours() { nm -D -g --defined-only "$root/lib/libtinyort_extra.so" | foreign_names; }
shared_names_are_ours() { nm -D -g --defined-only "$root/lib/libtinyort.so" | foreign_names; }
header_stands_alone() { echo '#include <tinyort.h>' | $CC $(flags --cflags tinyort) -std=c11 -pedantic -Wall -Wextra -Werror -fsyntax-only -x c -; }
needs_protobuf_c() { objdump -p "$1" | grep 'NEEDED *libprotobuf-c.so.1'; }
has_protobuf_c() { ! needs_protobuf_c "$1" && nm "$1" | grep ' T protobuf_c_message_unpack'; }
# Of C++ too: for applications in C++, and for kernels in CUDA.
headers_are_cpp() { echo '#include <runtime/include/provider.h>' | $CXX $(flags --cflags tinyort-provider) -std=c++17 -Wall -Wextra -Werror -fsyntax-only -x c++ -; }
# Every header that a provider outside of the tree may include finds those that it includes.
provider_headers_stand_alone() {
    (cd "$root/include/tinyort" && find . -name '*.h') | while read -r header; do
        echo "#include <$header>" | $CC $(flags --cflags tinyort-provider) -std=c11 -Wall -Wextra -Werror -fsyntax-only -x c - || exit 1
    done
}

# In a copy of the folder of examples, which knows nothing of this tree, with two programs that are for this test alone.
compile() (
    unset MAKEFLAGS MAKELEVEL MFLAGS # of the make that runs this
    rm -rf "${scratch:?}/$mode" && cp -r "$root/share/doc/tinyort/examples" "$scratch/$mode" && cp tests/install/*.c "$scratch/$mode" &&
        PKG_CONFIG_PATH=$root/lib/pkgconfig "$MAKE" --no-print-directory -C "$scratch/$mode" CC="$CC" CFLAGS="-Wall -Wextra -Werror" \
            LDFLAGS="$LINK_FLAGS" PKG_CONFIG="pkg-config --define-variable=prefix=$root" STATIC="$static"
)
example() { has_library "$mode" "$scratch/$mode/$1" && (cd "$scratch/$mode" && LD_LIBRARY_PATH=$library_path "./$1"); }
is_a_seven() { [ "$(example digit)" = 7 ]; }
# has_library MODE PROGRAM: a static program needs no library of ours where it runs.
has_library() {
    needed=$(readelf -d "$2" | grep -c 'NEEDED.*\[libtinyort')
    case $1 in static) [ "$needed" = 0 ] ;; *) [ "$needed" != 0 ] ;; esac
}
# The same by find_package, from where make install did not put it.
moved="$scratch/moved away"
move() { rm -rf "$moved" && mv "$root" "$moved" && cp -r "$moved/share/doc/tinyort/examples" "$scratch/found"; }
build_found() (
    unset MAKEFLAGS MAKELEVEL MFLAGS
    cmake -S "$scratch/found" -B "$scratch/found/$mode" -DCMAKE_PREFIX_PATH="$moved" -DSTATIC=$static \
        -DCMAKE_C_FLAGS="-Wall -Wextra -Werror" -DCMAKE_EXE_LINKER_FLAGS="$LINK_FLAGS" && cmake --build "$scratch/found/$mode"
)
found() { has_library "$mode" "$scratch/found/$mode/$1" && (cd "$scratch/found" && "$mode/$1"); }
finds_a_seven() { [ "$(found digit)" = 7 ]; }
versions() { cmake -S tests/install/versions -B "$scratch/versions" -DCMAKE_PREFIX_PATH="$moved"; }
starts_with() { [ "$(head -n 1 "$root/share/$1" | cut -c "1-${#2}")" = "$2" ]; }
nothing_is_left() { [ -d "$root/lib" ] && [ -z "$(find "$scratch/root" ! -type d)" ]; }

rm -rf "$scratch/root" "$scratch/found" "$scratch/versions"
check "make install" "$MAKE" --no-print-directory install DESTDIR="$scratch/root" PREFIX=$prefix
if [ $failed != 0 ]; then echo "install: $passed passed, $failed failed"; exit 1; fi
check "the command line starts" "$root/bin/tinyort" --help
check "each header of a provider stands alone" provider_headers_stand_alone
check "the manual page" starts_with man/man1/tinyort.1 ".TH TINYORT 1"
check "completions of bash" starts_with bash-completion/completions/tinyort "# Completion of tinyort in bash"
check "completions of zsh" starts_with zsh/site-functions/_tinyort "#compdef tinyort"
check "completions of fish" starts_with fish/vendor_completions.d/tinyort.fish "# Completion of tinyort in fish"
check "names of libtinyort.a begin with tort_" static_names_are_ours
check "libtinyort.so exports only tort_" shared_names_are_ours
check "libtinyort_extra.so exports only tort_" extra_names_are_ours
check "libtinyort.so needs libprotobuf-c.so.1" needs_protobuf_c "$root/lib/libtinyort.so"
check "the command line has protobuf-c in it" has_protobuf_c "$root/bin/tinyort"
check "the header stands alone" header_stands_alone
check "the headers are C++ too" headers_are_cpp
for mode in shared static; do
    case $mode in static) static=--static library_path= ;; *) static= library_path=$root/lib ;; esac
    check "the examples compile, $mode library" compile
    for source in tests/install/*.c tests/install/examples/*.c; do
        program=$(basename "$source" .c)
        check "$program runs, $mode library" example "$program"
    done
    check "digit sees a seven, $mode library" is_a_seven
done
check "the installed folder is moved" move
check "find_package takes the versions that it should" versions
for mode in shared static; do
    case $mode in static) static=ON ;; *) static=OFF ;; esac
    check "the examples compile by find_package, $mode library" build_found
    for source in tests/install/examples/*.c; do
        program=$(basename "$source" .c)
        check "$program runs, $mode library found" found "$program"
    done
    check "digit sees a seven, $mode library found" finds_a_seven
done
mv "$moved" "$root"
check "make uninstall" "$MAKE" --no-print-directory uninstall DESTDIR="$scratch/root" PREFIX=$prefix
check "nothing is left after make uninstall" nothing_is_left

echo "install: $passed passed, $failed failed"
[ $failed = 0 ]
