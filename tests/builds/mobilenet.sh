#!/bin/sh
# Builds with the operators of one model (OPS=FILE) and holds the build against the whole one: the same bits, what it says of an
# operator that was left out, and at most SIZE bytes of a stripped program.
# Usage: mobilenet.sh TINYORT FOLDER PYTHON [SIZE], from the root of the tree, with MAKE. Prints `mobilenet: N passed, N failed`.
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
$MAKE --no-print-directory -s BUILD="$folder" CUDA=0 CPU=plain OPS="$folder/mobilenet.ops" "$folder/firmware" "$folder/libtinyort.so"
result $? "it does not build"

rm -rf "$folder/scores" "$folder/scores.raw"
"$tinyort" run "$folder/mobilenet.onnx" --ep cpu:isa=plain --input image="$folder/input.raw" --save "$folder/scores" > "$folder/log" 2>&1
result $? "the whole build: $(cat "$folder/log")"
"$folder/firmware" "$folder/mobilenet.onnx" "$folder/input.raw" "$folder/scores.raw" && "$python" tests/builds/mobilenet.py compare "$folder/scores/output_0.npy" "$folder/scores.raw"
result $? "other scores than those of the whole build"

said=$("$folder/firmware" "$folder/one.onnx" "$folder/input.raw" "$folder/scores.raw")
echo "$said" | grep -q "Softmax was left out: this build has only the operators of $folder/mobilenet.ops"
result $? "of Softmax it says: $said"
printf 'Conv # and one that is in no domain\nConvolution\n' > "$folder/wrong.ops"
said=$($MAKE --no-print-directory -s BUILD="$folder/wrong" CUDA=0 CPU=plain OPS="$folder/wrong.ops" "$folder/wrong/obj/chosen" 2>&1)
echo "$said" | grep -q "no operator 'Convolution'"
result $? "of an operator that does not exist: $said"
said=$($MAKE --no-print-directory -s BUILD="$folder/wrong" CUDA=0 OPS="$folder/none.ops" all 2>&1)
echo "$said" | grep -q "none.ops: expected lists"
result $? "of a file that does not exist: $said"

if [ $# -gt 3 ]; then
    size=$(wc -c < "$folder/firmware")
    strip -o "$folder/stripped.so" "$folder/libtinyort.so"
    echo "$folder/firmware has $size bytes, stripped; $4 are allowed; libtinyort.so has $(wc -c < "$folder/stripped.so")"
    [ "$size" -le "$4" ]
    result $? "the program is larger than that"
fi
echo "mobilenet: $passed passed, $failed failed"
[ $failed = 0 ]
