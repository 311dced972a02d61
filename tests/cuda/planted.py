"""Plants faults in CUDA kernels, one at a time, and sees whether the runners of `make test` find them on the simulated device.

Usage: planted.py FOLDER MAKE LIBRARY RACE_OBJECTS PLAIN_OBJECTS PLAIN_MODE [ONLY], where FOLDER holds the program kernels; the objects of a
mode, and libtinyort.a, are what its shared object is linked from. A planted source is compiled as make would, beside the tree, and replaces the one object; then
run the cases of one operator, as test-cuda-kernels (all shapes and orders) and test-cuda-races (few shapes) do. A fault that neither
finds fails, and so does a piece of text that is not in its file exactly once. ONLY are words of those that are wanted. Prints `cuda-planted: N passed, N failed`.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

BARRIER = "__syncthreads();"
BEYOND = "if (grid_first() == 0) (void)*(const volatile char *)(x + count);"

# What is wrong, source, operator whose cases run it, text, what stands in its place.
FAULTS = [
    ("no barrier before partial sums are read", "reduce", "ReduceSum,ReduceMean,ReduceMax",
     "    shared[threadIdx.y][threadIdx.x] = value;\n    __syncthreads();\n", "    shared[threadIdx.y][threadIdx.x] = value;\n"),
    ("no barrier before partial sums are written again", "reduce", "ReduceSum,ReduceMean,ReduceMax",
     "    __syncthreads(); /* reads of the previous call are over */\n    shared[threadIdx.y]", "    shared[threadIdx.y]"),
    ("no barrier before a tile is read", "matmul_plain", "MatMul,Gemm",
     f"            {BARRIER}\n#pragma unroll\n", "#pragma unroll\n"),
    ("no barrier before a tile is written again", "move", "Transpose",
     f"= tile[lane][k];\n        {BARRIER}\n", "= tile[lane][k];\n"),
    ("no barrier between keys and what takes their room", "attend_mma", "Attention,MultiHeadAttention,GroupQueryAttention",
     "            __syncthreads(); /* the keys have been read: their room is reused for products */\n", ""),
    ("no barrier before a tile of activations is written again", "matmul_nbits", "MatMulNBits",
     "        __syncthreads(); /* the previous tile has been read */\n", ""),
    ("no barrier before the first of all warps is looked for", "topk", "TopK",
     f"shared[threadIdx.x / 32] = mine;\n    {BARRIER}\n", "shared[threadIdx.x / 32] = mine;\n"),
    ("a read of one byte beyond the end of a tensor", "cast", "Cast",
     "    cast_range<1>(x, y, packed, count);\n", f"    cast_range<1>(x, y, packed, count);\n    {BEYOND}\n"),
    ("a write of one element beyond the end of a tensor", "cast", "Cast",
     "    cast_range<1>(x, y, packed, count);\n", "    cast_range<1>(x, y, packed, count + 1);\n"),
    ("vectors at addresses that are not aligned for them", "gather", "Gather",
     "call->element_bytes % sizeof(bytes16) == 0 && places % sizeof(bytes16) == 0;",
     "call->element_bytes % sizeof(bytes16) == 0 && places;"),
    ("elements beyond the first round of a grid left out", "gather", "Gather",
     "    const bool is_small = count <= UINT32_MAX;\n    for (size_t i = grid_first(); i < count; i += grid_stride()) {",
     "    const bool is_small = count <= UINT32_MAX;\n    for (size_t i = grid_first(); i < count; i += count) {"),
    ("bfloat16 through half, of one pair of types", "cast", "Cast",
     "static __device__ __forceinline__ float load(bfloat16 x) {\n    return (float)x;",
     "static __device__ __forceinline__ float load(bfloat16 x) {\n    return (float)(half)(float)x;"),
    ("the lowest of unsigned integers taken for signed ones", "reduce", "ReduceMax,ReduceMin",
     "static constexpr type highest = (T)-1 < (T)0 ? ~lowest : (type)UINT64_MAX;",
     "static constexpr type highest = (T)-1 < (T)0 ? ~lowest : (type)(UINT64_MAX >> 57);"),
]


def commands(make, object_of, source, planted, target):
    """Those that make the object of a planted source, as make says them of the object of the source itself."""
    printed = subprocess.run([*shlex.split(make), "-n", "--no-print-directory", "CCACHE=", "-W", source, object_of],
                             capture_output=True, text=True, check=True, env=os.environ | {"MAKEFLAGS": ""}).stdout
    lines = [line for line in printed.splitlines() if line.startswith("objcopy") or f"-c -o {object_of} {source}" in line]
    assert lines, f"make does not say how {object_of} is made:\n{printed}"
    return [line.replace(f"-c -o {object_of} {source}", f"-c -o {target} {planted}").replace(object_of, str(target)) for line in lines]


def link(place, library, objects):
    place.mkdir()
    subprocess.run(["clang++", "-shared", "-Wl,--version-script=kernels/cudasim/exports.map", "-o", place / "libtinyort-cudasim.so",
                    *objects, library, "-lprotobuf-c", "-lm", "-lpthread"], check=True)
    return place


def finds(programs, library, operators, *options):
    """The first line that tells of a failure, or what the run said last; whether it failed."""
    done = subprocess.run([programs / "kernels", *options, "--only", operators, "cudasim"], capture_output=True, text=True,
                          env=os.environ | {"LD_LIBRARY_PATH": str(library)}, timeout=600)
    said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    failures = [line for line in said if line.startswith("FAILED")]
    return done.returncode != 0, (failures or said[-1:] or [f"ended with {done.returncode}"])[0]


def plant(programs, make, library, modes, fault, folder):
    """{mode: what it says}, of the modes that find the fault."""
    _, name, operators, text, planted_text = fault
    source = f"kernels/cuda/{name}.cu"
    original = Path(source).read_text()
    assert original.count(text) == 1, f"{source} has {original.count(text)} times {text!r}"
    planted = folder / f"{name}.cu"
    planted.write_text(original.replace(text, planted_text))
    found = {}
    for mode, (objects, options) in modes.items():
        target, object_of = folder / f"{name}.{mode}.o", next(one for one in objects if one.endswith(f"/{source}.o"))
        for command in commands(make, object_of, source, planted, target):
            subprocess.run(command, shell=True, check=True)
        replaced = [target if one == object_of else one for one in objects]
        failed, said = finds(programs, link(folder / mode, library, replaced), operators, *options)
        if failed:
            found[mode] = said
    return found


def main(programs, make, library, race_objects, plain_objects, plain_mode, only=""):
    modes = {plain_mode: (plain_objects.split(), []), "race": (race_objects.split(), ["--brief"])}
    passed, faults = 0, [fault for fault in FAULTS if only in fault[0]]
    for fault in faults:
        with tempfile.TemporaryDirectory() as folder:
            found = plant(Path(programs), make, library, modes, fault, Path(folder))
        passed += bool(found)
        print(f"{'' if found else 'FAILED: '}{fault[1]}.cu, {fault[0]}: " + ("; ".join(found) or "nobody finds it"), flush=True)
        for mode, said in found.items():
            print(f"    {mode}: {re.sub(r'[ ]+', ' ', said)[:160]}", flush=True)
    print(f"cuda-planted: {passed} passed, {len(faults) - passed} failed")
    return passed != len(faults) or not faults


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
