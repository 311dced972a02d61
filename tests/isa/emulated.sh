#!/bin/sh
# Tests on an emulated processor: what tinyort finds there, units of kernels and numbers, random nodes, rows against plain loops.
# Usage: emulated.sh BUILD UNIT PROCESSOR=SET PYTHON; BUILD holds tinyort, harness and tests/rows, UNIT are the unit tests for an emulator.
set -u
build=$1 unit=$2 processor=${3%=*} set=${3#*=} python=$4
passed=0 failed=0
programs=$build/isa/$processor
mkdir -p "$programs"

# Programs that run others take these for the program itself.
for program in tinyort harness; do
    printf '#!/bin/sh\nexec qemu-x86_64 -cpu %s "%s" "$@"\n' "$processor" "$build/$program" > "$programs/$program"
    chmod +x "$programs/$program"
done

step() {
    echo "$processor: $*"
    if "$@" > "$programs/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        tail -n 30 "$programs/log"
        echo "FAILED: $processor: $*"
    fi
}

sees() { "$programs/tinyort" providers | grep -q ", $set\$"; }

step sees
step "$programs/tinyort" run models/digits.onnx --input models/pictures/7.png
for suite in cpu_halves numeric; do step qemu-x86_64 -cpu "$processor" "$unit" "$suite/"; done
step qemu-x86_64 -cpu "$processor" "$build/tests/rows" 200 1
step "$python" tests/fuzz_ops/run.py --harness "$programs/harness" --tinyort "$programs/tinyort" --folder "$programs/random-ops" --cases 1000 --short
echo "isa-$processor: $passed passed, $failed failed"
[ "$failed" = 0 ]
