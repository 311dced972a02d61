#!/bin/sh
# Builds with the operators of one model (OPS=FILE) and holds the builds against the whole one: the same bits, what they say of an
# operator that was left out, and at most so many bytes of a stripped program: that with loader and messages, that without messages
# (MESSAGES=0), and that without either, which opens a saved plan.
# Usage: mobilenet.sh TINYORT FOLDER PYTHON [SIZE SIZE SIZE], from the root of the tree, with MAKE. Prints `mobilenet: N passed, N failed`.
set -u
tinyort=$1
folder=$2
python=$3
passed=0
failed=0

result() {
    if [ "$1" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "mobilenet: FAILED: $2"; fi
}

mkdir -p "$folder"
"$python" tests/builds/mobilenet.py write "$folder" && "$tinyort" inspect "$folder/mobilenet.onnx" --ops > "$folder/mobilenet.ops.new"
result $? "no list of operators"
cmp -s "$folder/mobilenet.ops.new" "$folder/mobilenet.ops" || mv "$folder/mobilenet.ops.new" "$folder/mobilenet.ops"
$MAKE --no-print-directory -s BUILD="$folder" CUDA=0 CPU=plain OPS="$folder/mobilenet.ops" "$folder/firmware"
result $? "it does not build"
small=$folder/small
$MAKE --no-print-directory -s BUILD="$small" CUDA=0 CPU=plain OPS="$folder/mobilenet.ops" MESSAGES=0 "$small/firmware" "$small/firmware_plan" "$small/save_plan"
result $? "it does not build without messages"

rm -rf "$folder/scores" "$folder/scores.raw"
"$tinyort" run "$folder/mobilenet.onnx" --ep cpu:isa=plain --input image="$folder/input.raw" --save "$folder/scores" > "$folder/log" 2>&1
result $? "the whole build: $(cat "$folder/log")"

# PROGRAM MODEL: the program computes the bits of the whole build.
same() {
    rm -f "$folder/scores.raw"
    "$1" "$2" "$folder/input.raw" "$folder/scores.raw" && "$python" tests/builds/mobilenet.py compare "$folder/scores/output_0.npy" "$folder/scores.raw"
    result $? "$1: other scores than those of the whole build"
}
same "$folder/firmware" "$folder/mobilenet.onnx"
same "$small/firmware" "$folder/mobilenet.onnx"
"$small/save_plan" "$folder/mobilenet.onnx" "$folder/mobilenet.plan"
result $? "no saved plan"
same "$small/firmware_plan" "$folder/mobilenet.plan"

said=$("$folder/firmware" "$folder/one.onnx" "$folder/input.raw" "$folder/scores.raw")
echo "$said" | grep -q "Softmax was left out: this build has only the operators of $folder/mobilenet.ops"
result $? "of Softmax it says: $said"
said=$("$small/firmware" "$folder/one.onnx" "$folder/input.raw" "$folder/scores.raw")
[ "$said" = 'TORT_E_PLACEMENT: ' ]
result $? "of Softmax it says without messages: $said"
printf 'Conv # and one that is in no domain\nConvolution\n' > "$folder/wrong.ops"
said=$($MAKE --no-print-directory -s BUILD="$folder/wrong" CUDA=0 CPU=plain OPS="$folder/wrong.ops" "$folder/wrong/obj/chosen" 2>&1)
echo "$said" | grep -q "no operator 'Convolution'"
result $? "of an operator that does not exist: $said"
said=$($MAKE --no-print-directory -s BUILD="$folder/wrong" CUDA=0 OPS="$folder/none.ops" all 2>&1)
echo "$said" | grep -q "none.ops: expected lists"
result $? "of a file that does not exist: $said"

# PROGRAM BYTES: the program has at most so many.
hold() {
    size=$(wc -c < "$1")
    echo "$1 has $size bytes, stripped; $2 are allowed"
    [ "$size" -le "$2" ]
    result $? "$1 is larger than that"
}
if [ $# -gt 5 ]; then
    hold "$folder/firmware" "$4"
    hold "$small/firmware" "$5"
    hold "$small/firmware_plan" "$6"
fi
echo "mobilenet: $passed passed, $failed failed"
[ $failed = 0 ]
