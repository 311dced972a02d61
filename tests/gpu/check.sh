#!/bin/sh
# Checks the CUDA provider on a GPU: the case table of every kernel against the plain loops, whole networks against cpu, and the table
# again under each tool of compute-sanitizer. Needs nothing but the folder it lies in (made by `make gpu-bundle`) and NVIDIA's driver.
#
#   check.sh [--only OPERATOR,...] [--part I/N] [STEP]...
#
# Steps: kernels digits networks replays memcheck racecheck initcheck synccheck; all of them by default. --only and --part (every Nth case, from
# the Ith on) cut the table short, where a command may not run for long; each step says how long it took.
# A tool counts as passed only where it first finds a mistake that was planted for it, in a program of its own. Where it does not
# (it refuses the device, say) its words are shown, and it is counted as not run; a step that was asked for by name then fails.
cd "$(dirname "$0")" || exit 1
. ./machine.sh
passed=0 failed=0 not_run=0 cases=
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
log=$work/log

while [ $# -gt 0 ]; do
    case $1 in
    --only | --part)
        cases="$cases $1 ${2:?$1 wants a value}"
        shift 2
        ;;
    -*)
        echo "check.sh: $1 is not an option (--only OPERATOR,... --part I/N)"
        exit 2
        ;;
    *) break ;;
    esac
done
asked=$*

# Variables of a function of sh are the script's: `title` is no other function's.
step() {
    title=$1 begin=$(date +%s)
    shift
    echo "--- $title: $*"
    if "$@"; then
        passed=$((passed + 1))
        echo "PASS $title ($(($(date +%s) - begin)) s)"
    else
        failed=$((failed + 1))
        echo "FAILED $title ($(($(date +%s) - begin)) s)"
    fi
}

skip() {
    echo "DID NOT RUN $1: $2"
    if [ -n "$asked" ]; then failed=$((failed + 1)); else not_run=$((not_run + 1)); fi
}

run_kernels() {
    ours ./kernels $cases cuda | tee "$log"
    grep -q "^cuda-kernels: [1-9][0-9]* passed, 0 failed" "$log"
}

check_kernels() {
    step "kernels against the plain loops" run_kernels
    ! grep -q "^SKIPPED" "$log" || skip "rows of libraries" "$(grep -c ^SKIPPED "$log") of them, named above"
}

check_digits() {
    step "digits on cuda alone" ours ./tinyort run models/digits.onnx --ep cuda --require cuda --input models/pictures/7.png \
        --top 1 --labels models/digits.labels.txt
    step "digits, cuda against cpu" ours ./tinyort compare models/digits.onnx --ep cpu --ep cuda --random 1
}

# Values inside a deep network may be further apart than compare allows, the more so in float16; its outputs may not.
same_outputs() {
    ours ./tinyort compare "$@" --ep cpu --ep cuda > "$log" 2>&1
    cat "$log"
    grep -Eq "no node differs|output, 0 differ" "$log"
}

# Full depth, small widths.
check_networks() {
    step "making networks" ./networks --tiny "$work" || return
    for name in resnet50 bert; do
        for type in "" .float16; do
            for batch in 1 2; do
                case $name in bert) input=$name.$batch ;; *) input=$name.$batch$type ;; esac
                step "$name$type, batch $batch, cuda against cpu" same_outputs "$work/$name$type.onnx" --input "$work/$input.npy"
            done
        done
    done
    check_exported
}

# Networks as exporters write them, with two feeds each: MODEL.onnx, MODEL.0.INPUT.npy, MODEL.1.INPUT.npy.
check_exported() {
    for model in exported/*.onnx; do
        for feed in 0 1; do
            inputs=
            for file in "${model%.onnx}.$feed".*.npy; do
                name=${file#"${model%.onnx}.$feed."}
                inputs="$inputs --input ${name%.npy}=$file"
            done
            step "$model, feed $feed, cuda against cpu" same_outputs "$model" $inputs
        done
    done
}

# Recorded runs against plain ones, bit by bit; two threads on a session.
check_replays() {
    step "making networks" ./networks --tiny "$work" || return
    for name in resnet50 bert; do
        for type in "" .float16; do
            step "$name$type, recorded and replayed" ours ./replays "$work/$name$type.onnx" cuda
        done
    done
    for model in exported/decoder-*.onnx; do step "tokens of $model, caches in place" ours ./tokens "$model" cuda; done
}

# What a tool says of the mistake planted for it.
words_of() {
    case $1 in
    memcheck) echo "Invalid __global__ write" ;;
    racecheck) echo "Race reported|SUMMARY: [1-9][0-9]* hazard" ;;
    initcheck) echo "Uninitialized __global__ memory read" ;;
    synccheck) echo "Barrier error" ;;
    esac
}

# Library kernels are NVIDIA's, and only memcheck looks at them: it sees where we let them write. What calls of CUDA return inside those
# libraries is theirs to handle.
check_with() {
    case $1 in memcheck) options="--brief" tool="--tool memcheck --report-api-errors no" ;; *) options="--brief --own" tool="--tool $1" ;; esac
    [ -n "$sanitizers" ] || skip "$1" "compute-sanitizer is neither installed nor carried here"
    for sanitizer in $sanitizers; do
        ours "$sanitizer" $tool ./mistakes "$1" > "$log" 2>&1
        if grep -Eq "$(words_of "$1")" "$log"; then
            step "$1" ours "$sanitizer" $tool --error-exitcode 9 ./kernels $options $cases cuda
            return
        fi
        echo "$sanitizer does not find a planted mistake on this machine; it says:"
        sed 's/^/    /' "$log" | head -20
    done
    [ -z "$sanitizers" ] || skip "$1" "no compute-sanitizer here finds a planted mistake"
}

describe_machine
find_sanitizers "$work"
require_cuda gpu-check
for name in ${*:-kernels digits networks replays memcheck racecheck initcheck synccheck}; do
    case $name in
    kernels) check_kernels ;;
    digits) check_digits ;;
    networks) check_networks ;;
    replays) check_replays ;;
    memcheck | racecheck | initcheck | synccheck) check_with "$name" ;;
    *)
        echo "check.sh: no step is called $name"
        exit 2
        ;;
    esac
done
echo "gpu-check: $passed passed, $failed failed, $not_run did not run"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
