#!/bin/sh
# Prints what each part of the library takes: bytes of code and data, by folder, before the linker leaves out what nobody uses; and
# the shared library, stripped. Usage: size.sh LIBRARY OBJECT...
set -eu
library=$1
shift
size "$@" | awk '
NR > 1 {
    folder = $6
    sub(/^.*obj\//, "", folder)
    sub(/\/[^\/]*$/, "", folder)
    code[folder] += $1
    data[folder] += $2
}
END { for (folder in code) printf "%-20s %9d %9d\n", folder, code[folder], data[folder] }' | sort -k2,2nr | awk '
BEGIN { printf "%-20s %9s %9s\n", "part", "code", "data" }
{ print; code += $2; data += $3 }
END { printf "%-20s %9d %9d\n", "together", code, data }'
stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
strip -o "$stripped" "$library"
echo "$library: $(wc -c < "$stripped") bytes, stripped"
