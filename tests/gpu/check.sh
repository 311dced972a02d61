#!/bin/sh
# Checks the CUDA provider on a GPU: the case table of every kernel against the plain loops, the digits model, and the table again
# under each tool of compute-sanitizer. Needs nothing but the folder it lies in (made by `make gpu-bundle`) and NVIDIA's driver.
#
#   check.sh [STEP]...   steps: kernels digits memcheck racecheck initcheck synccheck; all of them by default
#
# A tool counts as passed only where it first finds a mistake that was planted for it, in a program of its own. Where it does not
# (it refuses the device, say) its words are shown, and it is counted as not run.
cd "$(dirname "$0")" || exit 1
. ./machine.sh
passed=0 failed=0 not_run=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

step() {
    name=$1
    shift
    echo "--- $name: $*"
    if "$@"; then
        passed=$((passed + 1))
        echo "PASS $name"
    else
        failed=$((failed + 1))
        echo "FAILED $name"
    fi
}

skip() {
    not_run=$((not_run + 1))
    echo "DID NOT RUN $1: $2"
}

run_kernels() {
    ./kernels cuda | tee "$log"
    grep -q "^cuda-kernels: [1-9][0-9]* passed, 0 failed" "$log"
}

check_kernels() {
    step "every kernel against the plain loops" run_kernels
    ! grep -q "^SKIPPED" "$log" || skip "rows of libraries" "$(grep -c ^SKIPPED "$log") of them, named above"
}

check_digits() {
    step "digits on cuda alone" ./tinyort run models/digits.onnx --ep cuda --require cuda --input models/pictures/7.png \
        --top 1 --labels models/digits.labels.txt
    step "digits, cuda against cpu" ./tinyort compare models/digits.onnx --ep cpu --ep cuda --random 1
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

# Library kernels are NVIDIA's, and only memcheck looks at them: it sees where we let them write.
check_with() {
    case $1 in memcheck) options="--brief" ;; *) options="--brief --own" ;; esac
    if [ -z "$sanitizer" ]; then
        skip "$1" "compute-sanitizer is not installed"
        return
    fi
    "$sanitizer" --tool "$1" ./mistakes "$1" > "$log" 2>&1
    if ! grep -Eq "$(words_of "$1")" "$log"; then
        sed 's/^/    /' "$log" | head -20
        skip "$1" "it does not find a planted mistake on this machine; what it said stands above"
        return
    fi
    step "$1" "$sanitizer" --tool "$1" --error-exitcode 9 ./kernels $options cuda
}

describe_machine
find_sanitizer
require_cuda gpu-check
for name in ${*:-kernels digits memcheck racecheck initcheck synccheck}; do
    case $name in
    kernels) check_kernels ;;
    digits) check_digits ;;
    memcheck | racecheck | initcheck | synccheck) check_with "$name" ;;
    *)
        echo "check.sh: no step is called $name"
        exit 2
        ;;
    esac
done
echo "gpu-check: $passed passed, $failed failed, $not_run did not run"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
