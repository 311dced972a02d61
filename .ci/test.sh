#!/bin/sh
# Runs each test target given, as many side by side as there are processors, and sums up what they report. A runner reports by a
# line `NAME: N passed, N failed[, N skipped]` or by Criterion's synthesis; one that fails without reporting a failure counts as one
# failure, one that reports nothing too. What a runner prints is shown when it is done. At the end stand the seconds of each,
# on the clock and of processors, the ten that took most of processors, the processor minutes of all, and as the last line the sum;
# the exit status is 0 only if nothing failed. With BUILT=no in the environment the build before it has failed, which counts as one
# failure; BUILD_TIMES is a file of what `times` said of it.
#
#   test.sh TARGET...
#   test.sh --one FOLDER TARGET   (for itself) runs one; its sums and seconds go to FOLDER/TARGET.sums
set -u
MAKE=${MAKE:-make}

# Processor seconds of the children in the text of `times`, whose second line is "1m2.34s 0m0.56s".
processor_seconds() {
    awk 'NR == 2 { split($1 " " $2, t, /[ms ]+/); printf "%d\n", t[1] * 60 + t[2] + t[3] * 60 + t[4] }'
}

if [ "${1:-}" = --one ]; then
    folder=$2 target=$3 begin=$(date +%s)
    "$MAKE" --no-print-directory "$target" > "$folder/$target.log" 2>&1
    status=$?
    times > "$folder/$target.times"
    seconds=$(($(date +%s) - begin))
    awk -v processor="$(processor_seconds < "$folder/$target.times")" -v status=$status -v seconds=$seconds -v target="$target" '
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
            printf "%s\t%d\t%d\t%d\t%d\t%d\n", target, seconds, passed, failed, skipped, processor
        }' "$folder/$target.log" > "$folder/$target.sums"
    # One write, so that what another runner prints does not come between.
    {
        echo "---- $target, $seconds s, $(processor_seconds < "$folder/$target.times") s of processors"
        cat "$folder/$target.log"
        awk -F '\t' '$4 { print "FAILED: " $1 }' "$folder/$target.sums"
    } > "$folder/$target.shown"
    cat "$folder/$target.shown"
    exit 0
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf '%s\n' "$@" | MAKE="$MAKE" xargs -P "$(nproc)" -I '{}' "$0" --one "$folder" '{}'
built=$(cat ${BUILD_TIMES:+"$BUILD_TIMES"} < /dev/null | processor_seconds)
printf 'build\t0\t0\t%d\t0\t%d\n' "$([ "${BUILT:-yes}" = yes ]; echo $?)" "${built:-0}" > "$folder/build.sums"
for target in "$@"; do # one that was killed is a failure
    [ -s "$folder/$target.sums" ] || printf '%s\t0\t0\t1\t0\t0\n' "$target" > "$folder/$target.sums"
done

echo "---- seconds, of processors, passed, failed, skipped"
for target in build "$@"; do cat "$folder/$target.sums"; done |
    awk -F '\t' '{ printf "%5d s %5d s %8d %5d %5d  %s\n", $2, $6, $3, $4, $5, $1 }'
echo "---- the ten that took most of processors"
cat "$folder"/*.sums | sort -t "$(printf '\t')" -k6,6nr | head -n 10 | awk -F '\t' '{ printf "%5d s  %s\n", $6, $1 }'
cat "$folder"/*.sums | awk -F '\t' '{ sum += $6 } END { printf "processor minutes: %.1f\n", sum / 60 }'
cat "$folder"/*.sums | awk -F '\t' '
    { passed += $3; failed += $4; skipped += $5; if ($4) names = names " " $1 }
    END {
        if (names) print "FAILED:" names
        printf "%d passed, %d failed", passed, failed
        if (skipped) printf ", %d skipped", skipped
        print ""
        exit failed != 0 || passed == 0
    }'
