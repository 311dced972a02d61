#!/bin/sh
# Runs the programs of bench.sh on the simulated device, tiny and once; check.sh and bench.sh with stubs in place of everything they
# run, to see what they count and how they call it; pytorch.py with a PyTorch that fails. Usage: test.sh FOLDER TINYORT PYTHON, where
# FOLDER has the programs `bench`, `networks`, `replays` and `tokens`. What is timed there means nothing and is not looked at.
programs=$1 tinyort=$2 python=$3 passed=0 failed=0 skipped=0
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
for name in resnet50 bert.float16; do
    LD_LIBRARY_PATH=$(dirname "$tinyort") step "$programs/replays" "$folder/$name.onnx" cudasim
done
step "$python" tests/cuda/networks.py --write "$folder"
for name in older newer older-half newer-half; do
    LD_LIBRARY_PATH=$(dirname "$tinyort") step "$programs/tokens" "$folder/decoder-$name.onnx" cudasim
done
step "$python" tests/gpu/pytorch.py "$folder" --tiny --tinyort "$tinyort" --ep cudasim --pairs 1 --seconds 0.01
grep -q "gpu-networks: 12 passed, 0 failed" "$folder/log" || step false "12 networks were to be timed"

# ---- machines: a folder that plays one ----

# Makes $machine: every program succeeds and notes how it was called, and no library is found but in the folder that Python names.
make_machine() {
    machine=$folder/$1
    mkdir -p "$machine/site/nvidia/all/lib"
    for name in libcuda.so.1 libcublas.so.13 libcudnn.so.9; do : > "$machine/site/nvidia/all/lib/$name"; done
    cp tests/gpu/check.sh tests/gpu/bench.sh tests/gpu/machine.sh "$machine"
    mkdir -p "$machine/exported"
    for file in decoder-a.onnx decoder-a.0.ids.npy decoder-a.0.mask.npy decoder-a.1.ids.npy; do : > "$machine/exported/$file"; done
    for program in tinyort kernels mistakes networks replays tokens bench; do
        cat > "$machine/$program" << STUB
#!/bin/sh
echo "$program \$* LD_LIBRARY_PATH=\$LD_LIBRARY_PATH" >> "$machine/calls"
echo "cuda-kernels: 1 passed, 0 failed"
echo "no node differs"
STUB
    done
    cat > "$machine/python3" << STUB
#!/bin/sh
case "\$*" in
*sys.path*) echo "$machine/site" ;;
*onnx*) exit 1 ;;
*) echo "python3 \$* LD_LIBRARY_PATH=\$LD_LIBRARY_PATH TINYORT_LIBRARY_PATH=\$TINYORT_LIBRARY_PATH" >> "$machine/calls" ;;
esac
STUB
    printf '#!/bin/sh\nexit 0\n' > "$machine/ldconfig"
    cat > "$machine/nvidia-smi" << STUB
#!/bin/sh
case "\$*" in *compute_mode*) echo "${compute_mode:-Default}" ;; *) echo "A GPU, 580.1, 80 GiB" ;; esac
STUB
}

# A compute-sanitizer in folder $1 that behaves as $2 says: blind (it refuses the device), content (it finds planted mistakes only),
# strict (it finds a mistake in the kernels too).
make_sanitizer() {
    cat > "$1/compute-sanitizer" << STUB
#!/bin/sh
echo "compute-sanitizer \$*" >> "$machine/calls"
case "$2 \$*" in
blind*) echo "Device not supported. RACECHECK SUMMARY: 0 hazards displayed"; exit 1 ;;
*mistakes*) echo "Invalid __global__ write, Race reported, Uninitialized __global__ memory read, Barrier error"; exit 9 ;;
strict*) exit 9 ;;
esac
STUB
    chmod +x "$1/compute-sanitizer"
}

# Runs a script of the machine; $1: its summary, or a line that must be there; $2: exit status.
run_there() {
    wanted=$1 status=$2
    shift 2
    chmod +x "$machine"/*
    (unset LD_LIBRARY_PATH; PATH=$machine:$PATH sh "$machine/$@") > "$folder/said" 2>&1
    found=$?
    cat "$folder/said" "$machine/calls"
    grep -qxF -- "$wanted" "$folder/said" && [ $found = $status ]
}

called() {
    cat "$machine/calls"
    grep -qF -- "$1" "$machine/calls"
}
not_called() {
    ! called "$1"
}

for behaviour in blind content strict; do
    make_machine $behaviour
    make_sanitizer "$machine" $behaviour
    case $behaviour in
    blind) step run_there "gpu-check: 20 passed, 0 failed, 4 did not run" 0 check.sh ;;
    content) step run_there "gpu-check: 24 passed, 0 failed, 0 did not run" 0 check.sh ;;
    strict) step run_there "gpu-check: 20 passed, 4 failed, 0 did not run" 1 check.sh ;;
    esac
done
step called "compute-sanitizer --tool memcheck --report-api-errors no --error-exitcode 9 ./kernels --brief cuda"
step called "compute-sanitizer --tool initcheck --error-exitcode 9 ./kernels --brief --own cuda"
step called "compare exported/decoder-a.onnx --input ids=exported/decoder-a.0.ids.npy --input mask=exported/decoder-a.0.mask.npy --ep cpu --ep cuda"
step called "tokens exported/decoder-a.onnx cuda"

# What was asked for by name must run.
make_machine named
make_sanitizer "$machine" blind
step run_there "gpu-check: 0 passed, 1 failed, 0 did not run" 1 check.sh memcheck
if ls /usr/local/cuda*/bin/compute-sanitizer /opt/cuda/bin/compute-sanitizer > /dev/null 2>&1; then
    echo "skipped: a machine without compute-sanitizer (this one has it)"
    skipped=1
else
    rm "$machine/compute-sanitizer"
    step run_there "gpu-check: 0 passed, 1 failed, 0 did not run" 1 check.sh memcheck
    step run_there "gpu-check: 20 passed, 0 failed, 4 did not run" 0 check.sh
fi

# The one that was carried serves where that of the machine is blind.
make_machine carried
make_sanitizer "$machine" blind
mkdir -p "$folder/packed/compute-sanitizer"
make_sanitizer "$folder/packed/compute-sanitizer" content
tar -czf "$machine/compute-sanitizer.tar.gz" -C "$folder/packed" compute-sanitizer
step run_there "gpu-check: 1 passed, 0 failed, 0 did not run" 0 check.sh racecheck

# Some of the cases; libraries where Python's packages lie, for our programs and not for PyTorch.
make_machine cut
step run_there "gpu-check: 1 passed, 0 failed, 0 did not run" 0 check.sh --only Conv,MatMul --part 1/3 kernels
step called "kernels --only Conv,MatMul --part 1/3 cuda LD_LIBRARY_PATH=$machine/site/nvidia/all/lib"
step run_there "check.sh: --brief is not an option (--only OPERATOR,... --part I/N)" 2 check.sh --brief
step run_there "compute mode: Default" 0 bench.sh networks --networks bert
step called " --minutes 8 --networks bert LD_LIBRARY_PATH= TINYORT_LIBRARY_PATH=$machine/site/nvidia/all/lib"
step run_there "compute mode: Default" 0 bench.sh kernels Softmax
step called "bench Softmax LD_LIBRARY_PATH=$machine/site/nvidia/all/lib"
step not_called "--apart"
compute_mode=Exclusive_Process
make_machine exclusive
step run_there "compute mode: Exclusive_Process" 0 bench.sh networks
step called "pytorch.py"
step called " --apart"

# ---- a PyTorch that fails in every call ----

make_machine torch
mkdir "$machine/torch" "$machine/torch/nn"
cat > "$machine/torch/__init__.py" << 'STUB'
import os
from contextlib import nullcontext as inference_mode
from types import SimpleNamespace

__version__ = "0"
float16 = float32 = int64 = None
backends = SimpleNamespace(cuda=SimpleNamespace(matmul=SimpleNamespace()), cudnn=SimpleNamespace())
cuda = SimpleNamespace(is_available=lambda: True, is_initialized=lambda: False)
with open(os.environ["CALLS"], "a") as calls:
    print("torch LD_LIBRARY_PATH=" + os.environ.get("LD_LIBRARY_PATH", ""), file=calls)


def frombuffer(*_, **__):
    raise ValueError("a torch that fails")
STUB
: > "$machine/torch/nn/__init__.py"
: > "$machine/torch/nn/functional.py"
cat > "$machine/tinyort" << STUB
#!/bin/sh
echo "tinyort \$* LD_LIBRARY_PATH=\$LD_LIBRARY_PATH" >> "$machine/calls"
while [ \$# -gt 1 ]; do [ "\$1" != --save ] || : > "\$2/output_0.npy"; shift; done
echo '{"latency_ms": {"median": 1}}'
STUB
chmod +x "$machine/tinyort"
torch_that_fails() {
    PYTHONPATH=$machine CALLS=$machine/calls LD_LIBRARY_PATH=theirs TINYORT_LIBRARY_PATH=ours "$python" tests/gpu/pytorch.py "$folder" --tiny \
        --tinyort "$machine/tinyort" --networks bert --pairs 1 "$@"
    [ $? = 1 ]
}
step torch_that_fails --types float32
grep -qF "| bert | 1 | float32 | FAILED: RuntimeError: no setting of PyTorch works; see below |" "$folder/log" || step false "a line of the table for what fails"
grep -qF "PyTorch compiled was left out: ValueError: a torch that fails" "$folder/log" || step false "a reason for each setting"
grep -qx "gpu-networks: 0 passed, 2 failed" "$folder/log" || step false "two networks were to fail"
step called "torch LD_LIBRARY_PATH=theirs"
step called "LD_LIBRARY_PATH=ours:theirs"
step torch_that_fails --minutes 0
grep -q "0 passed, 0 failed, 6 left out" "$folder/log" || step false "six networks were to be left out"

echo "gpu-programs: $passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
