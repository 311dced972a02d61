#!/bin/sh
# Runs each test target given and sums up what they report. A runner reports by a line `NAME: N passed, N failed[, N skipped]` or
# by Criterion's synthesis; one that fails without reporting a failure counts as one failure, one that reports nothing too.
# The last line is the sum; the exit status is 0 only if nothing failed.
set -u
MAKE=${MAKE:-make}
log=$(mktemp)
trap 'rm -f "$log" "$log.status" "$log.sums"' EXIT
: > "$log.sums"

for target in "$@"; do
    { "$MAKE" --no-print-directory "$target"; echo $? > "$log.status"; } 2>&1 | tee "$log"
    awk -v status="$(cat "$log.status")" '
        { gsub(/\033\[[0-9;]*m/, "") }
        /^[A-Za-z0-9_.-]+: [0-9]+ passed, [0-9]+ failed/ { reports++; passed += $2; failed += $4; skipped += $6 }
        /Synthesis: Tested: [0-9]+ \| Passing: [0-9]+ \| Failing: [0-9]+ \| Crashing: [0-9]+/ {
            reports++
            for (i = 1; i < NF; i++) {
                if ($i == "Passing:") passed += $(i + 1)
                if ($i == "Failing:" || $i == "Crashing:") failed += $(i + 1)
            }
        }
        END {
            if ((status != 0 && failed == 0) || reports == 0) failed++
            print passed + 0, failed + 0, skipped + 0
        }' "$log" >> "$log.sums"
    tail -n 1 "$log.sums" | grep -q ' 0 [0-9]*$' || echo "$target: FAILED"
done

awk '{ passed += $1; failed += $2; skipped += $3 }
     END {
         printf "%d passed, %d failed", passed, failed
         if (skipped) printf ", %d skipped", skipped
         print ""
         exit failed != 0 || passed == 0
     }' "$log.sums"
