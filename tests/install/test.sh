#!/bin/sh
# Installs into SCRATCH by DESTDIR and uses what is there as an application would: through the header and the pkg-config file.
# Usage: test.sh SCRATCH, from the root of the tree; CC, LINK_FLAGS and MAKE come from the environment.
set -u
scratch=$(mkdir -p "$1" && cd "$1" && pwd)
prefix=/opt/tinyort
root=$scratch/root$prefix
passed=0
failed=0

# check NAME COMMAND...: the command must succeed.
check() {
    name=$1
    shift
    if "$@" > "$scratch/log" 2>&1; then passed=$((passed + 1)); return; fi
    failed=$((failed + 1))
    echo "install: FAILED: $name"
    cat "$scratch/log"
}

# field NAME: a field of the pkg-config file, its variables expanded to where the files lie now.
field() {
    sed -n "s/^$1: *//p" "$root/lib/pkgconfig/tinyort.pc" | sed "s|\${libdir}|$root/lib|; s|\${includedir}|$root/include|"
}

foreign_names() {
    awk '$2 ~ /[A-Z]/ && $3 !~ /^tort_/ { print "not of tinyort: " $3; found = 1 } END { exit found || NR == 0 }'
}

static_names_are_ours() { nm -g --defined-only "$root/lib/libtinyort.a" | foreign_names; }
shared_names_are_ours() { nm -D -g --defined-only "$root/lib/libtinyort.so" | foreign_names; }
header_stands_alone() { echo '#include <tinyort.h>' | "$CC" $(field Cflags) -std=c11 -pedantic -Wall -Wextra -Werror -fsyntax-only -x c -; }
runs_shared() { "$CC" $(field Cflags) -o "$scratch/shared" "$scratch/program.c" $LINK_FLAGS $(field Libs) && LD_LIBRARY_PATH=$root/lib "$scratch/shared"; }
runs_static() { "$CC" $(field Cflags) -o "$scratch/static" "$scratch/program.c" $LINK_FLAGS $(field Libs | sed 's/-ltinyort/-l:libtinyort.a/') $(field Libs.private) && "$scratch/static"; }
nothing_is_left() { [ -d "$root/lib" ] && [ -z "$(find "$scratch/root" ! -type d)" ]; }

rm -rf "$scratch/root"
cat > "$scratch/program.c" <<'PROGRAM'
#include <tinyort.h>
#include <string.h>

int main(void) {
    tort_error error;
    tort_model *model = NULL;
    tort_status status = tort_model_load(NULL, "models/no_such.onnx", NULL, &model, &error);
    return status == TORT_E_IO && model == NULL && strstr(error.msg, "no_such.onnx") ? 0 : 1;
}
PROGRAM

check "make install" "$MAKE" --no-print-directory install DESTDIR="$scratch/root" PREFIX=$prefix
if [ $failed != 0 ]; then echo "install: $passed passed, $failed failed"; exit 1; fi
check "the command line starts" "$root/bin/tinyort" --help
check "names of libtinyort.a begin with tort_" static_names_are_ours
check "libtinyort.so exports only tort_" shared_names_are_ours
check "the header stands alone" header_stands_alone
check "a program runs with the shared library" runs_shared
check "a program runs with the static library" runs_static
check "make uninstall" "$MAKE" --no-print-directory uninstall DESTDIR="$scratch/root" PREFIX=$prefix
check "nothing is left after make uninstall" nothing_is_left

echo "install: $passed passed, $failed failed"
[ $failed = 0 ]
