#!/bin/sh
# Makes tests/fuzz/corpus: libFuzzer picks, of the files of at most 512 bytes that it was given or found, few that reach all that they reach.
#
#   corpus.sh FUZZ ENTRY:CORPUS...   FUZZ is the folder of the fuzzers' build
set -eu
fuzz=$1
shift
for pair in "$@"; do
    entry=${pair%:*} kind=${pair#*:}
    kept=tests/fuzz/corpus/$kind
    small=$fuzz/small/$kind
    rm -rf "$small"
    mkdir -p "$small" "$kept"
    find "$fuzz/corpus/$kind" "$fuzz/seeds/$kind" "$kept" -type f -size -513c -exec cp {} "$small" \;
    rm -rf "$kept"
    mkdir "$kept"
    "$fuzz/entries/$entry" -set_cover_merge=1 -use_counters=0 -rss_limit_mb=4096 "$kept" "$small" > "$fuzz/small/$kind.log" 2>&1 ||
        { tail -n 30 "$fuzz/small/$kind.log"; exit 1; }
    echo "fuzz: $kind: $(ls "$kept" | wc -l) files, $(cat "$kept"/* | wc -c) bytes"
done
