#!/bin/sh
# The program in README.md is tests/readme/example.c, compiles against the static library alone, and runs.
# Usage: test.sh BUILD CC
build=$1 cc=${2:-cc} passed=0 failed=0

check() {
    if [ "$1" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $2"; fi
}

mkdir -p "$build/tests/readme"
awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' README.md > "$build/tests/readme/shown.c"
cmp -s "$build/tests/readme/shown.c" tests/readme/example.c
check $? "README.md shows another program than tests/readme/example.c"
$cc -std=c11 -Wall -Wextra -Werror -Iruntime/include -o "$build/tests/readme/example" tests/readme/example.c "$build/libtinyort.a" -lprotobuf-c -lm -lpthread
check $? "the program of README.md does not compile"
"$build/tests/readme/example" > "$build/tests/readme/output"
check $? "the program of README.md does not run"
[ "$(wc -l < "$build/tests/readme/output")" = 10 ]
check $? "the program of README.md does not print ten lines"
echo "readme: $passed passed, $failed failed"
[ "$failed" = 0 ]
