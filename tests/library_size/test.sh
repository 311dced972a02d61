#!/bin/sh
# Fails where a stripped library and the one it needs are too large, and tells which folders and files the bytes are of; V=1 tells
# it in any case. Usage: test.sh LIBRARY NEEDED LIMIT OBJECT...
set -u
own=$(wc -c < "$1") needed=$(wc -c < "$2") limit=$3
bytes=$((own + needed))
shift 3

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
echo "libtinyort.so has $own bytes, libprotobuf-c.so $needed: $bytes; $limit are allowed"
if [ "$bytes" -le "$limit" ]; then
    echo "library-size: 1 passed, 0 failed"
else
    echo "library-size: 0 passed, 1 failed"
    exit 1
fi
