#!/bin/sh
# A model of 10^9 bytes of weights must be planned and run in at most 1.1 * 10^9 bytes of resident memory, wherever the
# weights are. Usage: test.sh TINYORT PYTHON FOLDER; the models (1 GB at a time) are written into FOLDER and removed.
set -u
tinyort=$1 python=$2 folder=$3
limit=1100000000
passed=0
failed=0
mkdir -p "$folder"
trap 'rm -rf "$folder"' EXIT

# peak COMMAND...: runs it and sets $peak to its largest resident memory in bytes; its own status.
peak() {
    "$python" tests/memory/peak.py "$folder/peak" "$@" > "$folder/output" 2>&1
    status=$?
    peak=$(cat "$folder/peak")
    return $status
}

check() {
    what=$1
    shift
    if peak "$@" && [ "$peak" -le $limit ]; then
        passed=$((passed + 1))
        echo "memory: $what: $((peak / 1000000)) MB"
    else
        failed=$((failed + 1))
        echo "memory: FAILED: $what: $((peak / 1000000)) MB, at most $((limit / 1000000)) MB are allowed"
        tail -5 "$folder/output"
    fi
}

for kind in "raw MatMul" "typed Gemm" "external MatMul" "raw Conv" "external Gemm"; do
    model=$folder/model.onnx
    "$python" tests/memory/make_model.py $kind "$model" || exit 1
    check "plan, weights $kind" "$tinyort" plan "$model"
    check "run, weights $kind" "$tinyort" run "$model" --random 1
    rm -f "$model" "$model.data"
done
echo "memory: $passed passed, $failed failed"
[ $failed = 0 ]
