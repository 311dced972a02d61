"""Products in bfloat16 (cpu:precision=bf16) against sums in double of operands that are rounded alike, over the tails of all three sizes.

Usage: bf16.py TINYORT, of a build with TILES=model, or on a processor with AMX: ISA is chosen by what there is. Each node must run on the
kernel for it; each element may be off by 1e-6 of the sum of the sizes of its products, as far as float32 sums reach.
"""

import itertools
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIZES = ((1, 1, 1), (1, 40, 33), (5, 16, 31), (16, 17, 32), (17, 15, 64), (33, 32, 65), (70, 100, 700), (40, 33, 2000))
EXACT = 1e-6


def rounded(x):
    """To bfloat16, half to even."""
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32).astype(np.float64)


def model_of(nodes, a, weights, shape):
    graph = helper.make_graph(nodes, "bf16", [helper.make_tensor_value_info("a", TensorProto.FLOAT, a.shape)], [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
                              [numpy_helper.from_array(array, name) for name, array in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)], ir_version=9)


def cases(random):
    """Name, nodes, A, weights, and A and B of the product with what is done to it."""
    for m, n, k in SIZES:
        a, b = random.normal(size=(m, k)).astype(np.float32), random.normal(size=(k, n)).astype(np.float32)
        c, z = random.normal(size=n).astype(np.float32), random.normal(size=(m, n)).astype(np.float32)
        yield "matmul", [helper.make_node("MatMul", ["a", "b"], ["y"])], a, {"b": b}, b, lambda s: s
        batch = np.stack([a, 2 * a, -a])
        yield "batches", [helper.make_node("MatMul", ["a", "b"], ["y"])], batch, {"b": b}, b, lambda s: s
        fused = [helper.make_node("MatMul", ["a", "b"], ["s"]), helper.make_node("Add", ["s", "c"], ["t"]), helper.make_node("Relu", ["t"], ["y"])]
        yield "relu", fused, a, {"b": b, "c": c}, b, lambda s, c=c: np.maximum(s + c, 0)
        summed = [helper.make_node("MatMul", ["a", "b"], ["s"]), helper.make_node("Add", ["s", "c"], ["t"]), helper.make_node("Add", ["t", "z"], ["y"])]
        yield "residual", summed, a, {"b": b, "c": c, "z": z}, b, lambda s, c=c, z=z: s + c + z
        for trans, alpha in itertools.product((0, 1), (1.0, 0.5)):
            stored = np.ascontiguousarray(b.T) if trans else b
            yield "gemm", [helper.make_node("Gemm", ["a", "b", "c"], ["y"], transB=trans, alpha=alpha)], a, {"b": stored, "c": c}, b * np.float32(alpha), lambda s, c=c: s + c


def tinyort(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def problem(program, chain, folder, case):
    name, nodes, a, weights, b, after = case
    path = folder / "m.onnx"
    shape = (*a.shape[:-1], b.shape[1])
    onnx.save(model_of(nodes, a, weights, shape), path)
    np.save(folder / "a.npy", a)
    code, _, error = tinyort(program, "run", path, "--ep", chain, "--input", f"a={folder / 'a.npy'}", "--save", folder)
    if code:
        return error.strip()
    kernels = {node["kernel"] for node in json.loads(tinyort(program, "plan", path, "--ep", chain, "--json")[1])["nodes"]}
    if not kernels & {"matmul_bf16", "gemm_bf16"}:
        return f"runs on {', '.join(sorted(map(str, kernels)))}"
    left, right = rounded(a), rounded(b)
    wanted, room = after(left @ right), np.abs(left) @ np.abs(right) + 10
    off = np.abs(np.load(folder / "output_0.npy") - wanted) / room
    return f"{off.max():.3g} of the sum of sizes away" if off.max() > EXACT else None


def main():
    program, passed, failed = sys.argv[1], 0, 0
    chain = next((f"cpu:isa={isa}:precision=bf16" for isa in ("v3_tiles", "v4_amx") if not tinyort(program, "providers", "--ep", f"cpu:isa={isa}:precision=bf16", "--require", "cpu")[0]), None)
    if not chain:
        print("skipped: bfloat16 (no matrix unit here, and no model of one in this build)\nbf16: 0 passed, 0 failed, 1 skipped")
        return 0
    with tempfile.TemporaryDirectory() as name:
        for threads in (1, 2):
            for case in cases(np.random.default_rng(threads)):
                found = problem(program, f"{chain}:threads={threads}", Path(name), case)
                passed, failed = passed + (not found), failed + bool(found)
                if found:
                    print(f"FAILED {case[0]} of {case[2].shape} by {case[4].shape} on {threads} threads: {found}")
        code, out, error = tinyort(program, "providers", "--ep", "cpu:isa=v2:precision=bf16", "--require", "cpu")
        refused = code != 0 and "takes a processor with AMX" in error
        passed, failed = passed + refused, failed + (not refused)
        if not refused:
            print(f"FAILED precision=bf16 without a unit: {out.strip()} {error.strip()}")
    print(f"bf16: {passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
