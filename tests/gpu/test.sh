#!/bin/sh
# Runs the programs of bench.sh on the simulated device, tiny and once, and check.sh with stubs in place of everything it runs, to
# see what it counts. Usage: test.sh FOLDER TINYORT PYTHON, where FOLDER has the programs `bench` and `networks`. What is timed
# there means nothing and is not looked at.
programs=$1 tinyort=$2 python=$3 passed=0 failed=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

step() {
    if "$@" > "$folder/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $*"
        tail -n 20 "$folder/log"
    fi
}

# Values inside the float16 network may be further apart than compare allows; its outputs may not.
same_outputs() {
    "$tinyort" compare "$@" --ep cpu --ep cudasim > "$folder/compared" 2>&1
    cat "$folder/compared"
    grep -Eq "no node differs|output, 0 differ" "$folder/compared"
}

step "$programs/bench" --tiny
grep -E "FAILED|^gpu-bench" "$folder/log"
step "$programs/networks" --tiny "$folder"
for name in resnet50 bert; do
    for type in "" .float16; do
        for batch in 1 2; do
            input=$folder/$name.$batch$type.npy
            [ $name = resnet50 ] || input=$folder/$name.$batch.npy
            step same_outputs "$folder/$name$type.onnx" --input "$input"
        done
    done
done
step "$python" tests/gpu/pytorch.py "$folder" --tiny --tinyort "$tinyort" --ep cudasim --pairs 1 --seconds 0.01
grep -q "gpu-networks: 12 passed, 0 failed" "$folder/log" || step false "12 networks were to be timed"

# A machine where every program succeeds and compute-sanitizer behaves as $1 says: blind (it refuses the device), content (it finds
# planted mistakes only), strict (it finds a mistake in the kernels too). $2: the summary that check.sh must print.
check_counts() {
    machine=$folder/$1
    mkdir "$machine" && cp tests/gpu/check.sh tests/gpu/machine.sh "$machine"
    for program in tinyort kernels mistakes; do
        printf '#!/bin/sh\necho "cuda-kernels: 1 passed, 0 failed"\n' > "$machine/$program"
    done
    cat > "$machine/compute-sanitizer" << STUB
#!/bin/sh
case "$1 \$*" in
blind*) echo "Device not supported. RACECHECK SUMMARY: 0 hazards displayed"; exit 1 ;;
*mistakes*) echo "Invalid __global__ write, Race reported, Uninitialized __global__ memory read, Barrier error"; exit 9 ;;
strict*) exit 9 ;;
esac
STUB
    chmod +x "$machine"/*
    PATH=$machine:$PATH sh "$machine/check.sh" > "$folder/counted" 2>&1
    cat "$folder/counted"
    grep -qx "gpu-check: $2" "$folder/counted"
}
step check_counts blind "3 passed, 0 failed, 4 did not run"
step check_counts content "7 passed, 0 failed, 0 did not run"
step check_counts strict "3 passed, 4 failed, 0 did not run"
echo "gpu-programs: $passed passed, $failed failed"
[ $failed = 0 ]
