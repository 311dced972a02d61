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

# field NAME [PACKAGE]: a field of the pkg-config file, its variables expanded to where the files lie now.
field() {
    sed -n "s/^$1: *//p" "$root/lib/pkgconfig/${2:-tinyort}.pc" | sed "s|\${libdir}|$root/lib|; s|\${includedir}|$root/include|"
}

foreign_names() {
    awk '$2 ~ /[A-Z]/ && $3 !~ /^tort_/ { print "not of tinyort: " $3; found = 1 } END { exit found || NR == 0 }'
}

static_names_are_ours() { nm -g --defined-only "$root/lib/libtinyort.a" | foreign_names; }
shared_names_are_ours() { nm -D -g --defined-only "$root/lib/libtinyort.so" | foreign_names; }
header_stands_alone() { echo '#include <tinyort.h>' | $CC $(field Cflags) -std=c11 -pedantic -Wall -Wextra -Werror -fsyntax-only -x c -; }
runs_shared() { $CC $(field Cflags) -o "$scratch/shared" "$scratch/program.c" $LINK_FLAGS $(field Libs) && LD_LIBRARY_PATH=$root/lib "$scratch/shared"; }
runs_static() { $CC $(field Cflags) -o "$scratch/static" "$scratch/program.c" $LINK_FLAGS $(field Libs | sed 's/-ltinyort/-l:libtinyort.a/') $(field Libs.private) && "$scratch/static"; }
# A provider and an application that know nothing of this tree but what is installed.
provider_builds() {
    mkdir -p "$scratch/outside/tests" && cp tests/fake_provider.c tests/fake_provider.h "$scratch/outside/tests" &&
        $CC $(field Cflags tinyort-provider) -I"$scratch/outside" -std=c11 -Wall -Wextra -Werror -o "$scratch/$1" \
            "$scratch/outside.c" "$scratch/outside/tests/fake_provider.c" $LINK_FLAGS $2
}
provider_runs_shared() { provider_builds outside_shared "$(field Libs)" && LD_LIBRARY_PATH=$root/lib "$scratch/outside_shared"; }
provider_runs_static() { provider_builds outside_static "$(field Libs | sed 's/-ltinyort/-l:libtinyort.a/') $(field Libs.private)" && "$scratch/outside_static"; }
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

cat > "$scratch/outside.c" <<'PROGRAM'
#include "tests/fake_provider.h"
#include <stdio.h>
#include <string.h>

int main(void) {
    tort_error error;
    tort_model *model = NULL;
    tort_session *session = NULL;
    tort_report *report = NULL;
    tort_session_options options = {.struct_size = sizeof options, .chain = "fake,cpu", .providers = fake_providers};
    tort_status status = tort_model_load(NULL, "models/digits.onnx", NULL, &model, &error);
    if (!status) status = tort_session_create(NULL, model, &options, &session, &error);
    if (!status) status = tort_session_report(session, &report, &error);
    if (status) printf("%s\n", error.msg);
    int relus = 0;
    for (int i = 0; report && i < report->node_count; i++) relus += !strcmp(report->nodes[i].provider, "fake");
    tort_report_free(report);
    tort_session_free(session);
    tort_model_free(model);
    return status || relus != 3;
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
check "a provider outside of the tree works with the shared library" provider_runs_shared
check "a provider outside of the tree works with the static library" provider_runs_static
check "make uninstall" "$MAKE" --no-print-directory uninstall DESTDIR="$scratch/root" PREFIX=$prefix
check "nothing is left after make uninstall" nothing_is_left

echo "install: $passed passed, $failed failed"
[ $failed = 0 ]
