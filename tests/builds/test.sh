#!/bin/sh
# Holds a build against what it was asked to be: the digits run on it, and its library is not larger than SIZE bytes, stripped.
# Usage: test.sh FOLDER [SIZE], from the root of the tree. Prints `builds: N passed, N failed`.
set -u
folder=$1
passed=0
failed=0

result() {
    if [ "$1" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "builds: FAILED: $folder: $2"; fi
}

output=$("$folder/tinyort" run models/digits.onnx --input models/pictures/7.png --top 1 --labels models/digits.labels.txt 2>&1) && echo "$output" | grep -q seven
result $? "the digits: $output"
"$folder/tinyort" run models/digits.onnx --random 1 --ep cpu > /dev/null 2>&1
result $? "a random input"
if [ $# -gt 1 ]; then
    strip -o "$folder/stripped.so" "$folder/libtinyort.so"
    size=$(wc -c < "$folder/stripped.so")
    echo "$folder/libtinyort.so has $size bytes, stripped; $2 are allowed"
    [ "$size" -le "$2" ]
    result $? "its library is larger than that"
fi
echo "builds: $passed passed, $failed failed"
[ $failed = 0 ]
