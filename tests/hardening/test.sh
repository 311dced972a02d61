#!/bin/sh
# Fails where what is built is not hardened. Usage: test.sh MACHINE ARCHIVE PROGRAM [LIBRARY...]; environment: CC.
set -u
machine=$1 archive=$2 program=$3
shift 2
passed=0 failed=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

check() { # WHAT COMMAND...
    what=$1
    shift
    if "$@" > /dev/null 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED $what"
    fi
}

has() { # PATTERN COMMAND...
    pattern=$1
    shift
    LC_ALL=C "$@" 2> /dev/null | grep -q -- "$pattern"
}

lacks() {
    ! has "$@"
}

# Where a binary says that libraries are, but for folders that a package beside ours has.
paths() {
    LC_ALL=C readelf -dW "$1" | grep -E 'R(UN)?PATH' | grep -v '\[\$ORIGIN/../tinyort_cuda\]'
}

for binary in "$@"; do
    case $binary in *.a) continue ;; esac
    check "$binary: the linker's tables are read only before main runs (BIND_NOW)" has 'FLAGS.*NOW' readelf -dW "$binary"
    check "$binary: they are read only (RELRO)" has GNU_RELRO readelf -lW "$binary"
    check "$binary: the stack is not executable" has 'GNU_STACK.* RW  *0x' readelf -lW "$binary"
    check "$binary: nothing is written and executed" lacks 'LOAD.* RWE ' readelf -lW "$binary"
    check "$binary: arrays on the stack are guarded" has __stack_chk_fail nm -D -u "$binary"
    check "$binary: it looks for libraries where the system has them" lacks . paths "$binary"
done
for binary in "$program" "${archive%.a}.so"; do
    check "$binary: the C library checks buffers of a known size" has '__[a-z]*_chk@' nm -D -u "$binary"
done

# A whole program says so where the system's start files do, too.
if [ "$machine" = x86_64 ]; then
    objects=$(ar t "$archive" | wc -l)
    check "$archive: each object stands a shadow of the stack" \
        [ "$(LC_ALL=C readelf -n "$archive" 2> /dev/null | grep -c 'x86 feature:.*SHSTK')" -eq "$objects" ]
fi

# The libraries that the program loads, as somebody else's files beside it: loaded, they would leave a file.
mkdir "$scratch/downloads"
cp "$program" "$scratch/downloads/tinyort"
cat > "$scratch/fake.c" << 'EOF'
#include <stdio.h>
__attribute__((constructor)) static void loaded(void) { fclose(fopen(LOADED, "w")); }
EOF
$CC -shared -fPIC -DLOADED="\"$scratch/loaded\"" -o "$scratch/fake.so" "$scratch/fake.c"
for name in $(LC_ALL=C readelf -dW "$program" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p'); do
    cp "$scratch/fake.so" "$scratch/downloads/$name"
done
check "$program starts beside other libraries" "$scratch/downloads/tinyort" version
check "$program loads nothing from beside itself" [ ! -e "$scratch/loaded" ]

echo "hardening: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
