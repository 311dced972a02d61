#!/bin/sh
# The simulated device's shared object shows one symbol and needs no library of NVIDIA's. Usage: exports.sh LIBRARY
set -u
shown=$(nm -D --defined-only "$1" | awk '{ print $3 }')
needed=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -i -E 'cuda|cublas|cudnn|nvidia')
passed=0
failed=0
if [ "$shown" = tort_provider_plugin ]; then passed=1; else failed=1; echo "FAILED: $1 exports: $shown"; fi
if [ -z "$needed" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $1 needs: $needed"; fi
echo "cudasim-exports: $passed passed, $failed failed"
[ "$failed" = 0 ]
