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

# example NAME MODE [TESTS_FILE...]: tests/install/NAME.c, a program that knows nothing of this tree but what is installed and
# the files of tests/ that are named, linked with the library of that mode.
example() {
    program=$1 mode=$2
    shift 2
    rm -rf "$scratch/outside" && mkdir -p "$scratch/outside/tests" && cp "tests/install/$program.c" "$scratch/outside" || return 1
    for file in "$@"; do
        folder=$scratch/outside/$(dirname "tests/$file")
        mkdir -p "$folder" && cp "tests/$file.c" "tests/$file.h" "$folder" || return 1
    done
    case $program in extra_operators) package=tinyort-extra ;; *) package=tinyort ;; esac
    case $mode in static) static=--static library_path= ;; *) static= library_path=$root/lib ;; esac
    $CC $(flags --cflags $package tinyort-provider) -I"$scratch/outside" -std=c11 -Wall -Wextra -Werror -o "$scratch/$program" \
        $(find "$scratch/outside" -name '*.c') $LINK_FLAGS $(flags $static --libs $package) &&
        has_library "$mode" "$scratch/$program" && LD_LIBRARY_PATH=$library_path "$scratch/$program"
}
# has_library MODE PROGRAM: a static program needs no library of ours where it runs.
has_library() {
    needed=$(readelf -d "$2" | grep -c 'NEEDED.*\[libtinyort')
    case $1 in static) [ "$needed" = 0 ] ;; *) [ "$needed" != 0 ] ;; esac
}
starts_with() { [ "$(head -n 1 "$root/share/$1" | cut -c "1-${#2}")" = "$2" ]; }
nothing_is_left() { [ -d "$root/lib" ] && [ -z "$(find "$scratch/root" ! -type d)" ]; }

rm -rf "$scratch/root"
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
    check "a program that gets an error, $mode library" example no_such_model $mode
    check "a provider outside of the tree, $mode library" example own_provider $mode fake_provider
    check "an engine outside of the tree, $mode library" example own_segments $mode segments/engine_provider onnx_bytes
    check "a provider with a layout outside of the tree, $mode library" example own_layouts $mode layouts/channels_provider onnx_bytes
    check "an operator outside of the tree, $mode library" example own_operator $mode onnx_bytes
    check "a program that asks what opens, $mode library" example what_opens $mode
    check "a program that reads the model itself, $mode library" example own_reader $mode
    check "a program compiled with shorter structs, $mode library" example older_header $mode
    check "a program that cancels a run, $mode library" example cancel $mode
    check "a program that wants an output of unknown size, $mode library" example unknown_size $mode onnx_bytes
    check "a program that keeps a saved plan, $mode library" example saved_plan $mode
    check "a program that profiles a run, $mode library" example profile $mode
    check "a program in a block of memory, $mode library" example in_a_block $mode
    check "a program with the operators of libtinyort_extra, $mode library" example extra_operators $mode onnx_bytes
done
check "make uninstall" "$MAKE" --no-print-directory uninstall DESTDIR="$scratch/root" PREFIX=$prefix
check "nothing is left after make uninstall" nothing_is_left

echo "install: $passed passed, $failed failed"
[ $failed = 0 ]
