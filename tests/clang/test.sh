#!/bin/sh
# Usage: test.sh FLAGS SOURCE...: each source passes clang's checks.
flags=$1
shift
output=$(printf '%s\n' "$@" | xargs -P "$(nproc)" -n 1 sh -c 'eval "clang -fsyntax-only $1 $2" || echo "FAILED: $2"' - "$flags" 2>&1)
[ -z "$output" ] || echo "$output"
failed=$(echo "$output" | grep -c '^FAILED: ')
echo "clang: $(($# - failed)) passed, $failed failed"
[ "$failed" = 0 ]
