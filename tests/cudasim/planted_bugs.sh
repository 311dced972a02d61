#!/bin/sh
# Lets every planted bug act in every build of the simulator and holds how it showed itself against the expected table:
#   stopped  the simulator stopped the kernel, with a text     race, bounds, host  so did the race checker
#   refused  the API refused the call                         poison  the output holds NaN from memory nobody wrote
#   order    the output depends on the order of execution     asan, ubsan  a sanitizer ended the program
#   guard    host code was caught on a device pointer         -  missed
# Every bug must be caught by one build at least. Usage: planted_bugs.sh PROGRAM EXPECTED MODE...
set -u
program=$1
expected=$2
shift 2
found=$(mktemp)
trap 'rm -f "$found" "$found.out"' EXIT

verdict() {
    timeout 60 "$program.$1" "$2" >"$found.out" 2>&1
    if grep -q 'dereferences the device pointer' "$found.out"; then echo guard
    elif grep -q 'ERROR: AddressSanitizer' "$found.out"; then echo asan
    elif grep -q 'runtime error:' "$found.out"; then echo ubsan
    elif grep -q '^stopped race:' "$found.out"; then echo race
    elif grep -q '^stopped out of bounds:' "$found.out"; then echo bounds
    elif grep -q '^stopped kernel .* host memory' "$found.out"; then echo host
    elif grep -q '^stopped ' "$found.out"; then echo stopped
    elif grep -q '^refused ' "$found.out"; then echo refused
    elif grep -q '^poison ' "$found.out"; then echo poison
    elif grep -q '^order ' "$found.out"; then echo order
    elif grep -q '^missed' "$found.out"; then echo -
    else echo unknown
    fi
}

{
    printf '%-16s' bug
    for mode in "$@"; do printf ' %-8s' "$mode"; done
    echo
    for bug in $("$program.$1"); do
        printf '%-16s' "$bug"
        for mode in "$@"; do printf ' %-8s' "$(verdict "$mode" "$bug")"; done
        echo
    done
} | sed 's/ *$//' | tee "$found"

passed=0
failed=0
missed=$(awk 'NR > 1 { caught = 0; for (i = 2; i <= NF; i++) if ($i != "-" && $i != "unknown") caught = 1; if (!caught) print $1 }' "$found")
[ -z "$missed" ] || { echo "FAILED: caught by no build: $missed"; failed=$((failed + 1)); }
if diff "$expected" "$found"; then
    passed=$(($(wc -l <"$found") - 1))
else
    echo "FAILED: the table above is not $expected (< expected, > found)"
    failed=$((failed + 1))
fi
echo "cudasim-planted-bugs: $passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 20 ]
