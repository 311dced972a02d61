#!/bin/sh
# Fails where a stripped library is too large, and tells which folders and files the bytes are of; V=1 tells it in any case.
# Usage: test.sh LIBRARY LIMIT OBJECT...
set -u
bytes=$(wc -c < "$1")
limit=$2
shift 2

largest() {
    size "$@" | awk '
        NR > 1 {
            file = $6
            sub(/.*\/obj\//, "", file)
            folder = file
            sub(/\/[^\/]*$/, "", folder)
            sub(/^runtime\/.*/, "runtime", folder)
            sum[folder] += $1 + $2
            print $1 + $2, file
        }
        END { for (folder in sum) print sum[folder], folder "/" }' | sort -rn | head -n 20
}

if [ "$bytes" -gt "$limit" ] || [ -n "${V:-}" ]; then largest "$@"; fi
echo "libtinyort.so has $bytes bytes; $limit are allowed"
if [ "$bytes" -le "$limit" ]; then
    echo "library-size: 1 passed, 0 failed"
else
    echo "library-size: 0 passed, 1 failed"
    exit 1
fi
