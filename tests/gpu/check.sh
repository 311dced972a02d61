#!/bin/sh
# Runs the kernels' case table and the digits model on a GPU, then the table again under each tool of compute-sanitizer.
# Usage: check.sh KERNELS TINYORT. Needs nothing but the two programs and the models folder: carry them to the machine.
kernels=$1 tinyort=$2 passed=0 failed=0

step() {
    name=$1
    shift
    if "$@"; then passed=$((passed + 1)); echo "PASS $name"; else failed=$((failed + 1)); echo "FAILED $name"; fi
}

if ! "$tinyort" run models/digits.onnx --ep cuda,cpu --require cuda --random 1; then
    echo "gpu: cuda does not open here, so nothing was checked"
    exit 1
fi
step "every kernel against the plain loops" "$kernels" cuda
step "digits on cuda alone" "$tinyort" run models/digits.onnx --ep cuda --require cuda --input models/pictures/7.png --top 1 --labels models/digits.labels.txt
step "digits: cuda against cpu" "$tinyort" compare models/digits.onnx --ep cpu --ep cuda --random 1
if command -v compute-sanitizer > /dev/null; then
    for tool in memcheck racecheck initcheck synccheck; do
        step "compute-sanitizer $tool" compute-sanitizer --tool "$tool" --error-exitcode 9 "$kernels" cuda
    done
else
    echo "compute-sanitizer is not installed: memcheck, racecheck, initcheck and synccheck did not run"
fi
echo "gpu: $passed passed, $failed failed"
[ "$failed" = 0 ]
