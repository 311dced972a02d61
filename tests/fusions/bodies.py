"""Fusions inside the bodies of Loop and If: what is joined there and under which names, and that outputs are those of onnx's own evaluator.

Usage: bodies.py TINYORT. Every model runs on cpu and, where it is there, on the simulated device, with fusions and without.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import parser
from onnx.reference import ReferenceEvaluator

# A product in a loop: the weights are the main graph's, what is added comes from there as well.
LOOP = """
m (int64 n, float[2,4] x) => (float[2,4] y)
<float[4,4] w = {0.5,0,0,0.25, 0,0.5,0,0, 0,0,0.5,0, 0.125,0,0,0.5}, float[4] k = {1,-2,3,-4}> {
   go = Constant <value = bool {1}> ()
   h = Neg(x)
   y = Loop (n, go, x) <body = b (int64 i, bool c, float[2,4] v) => (bool d, float[2,4] o) {
      d = Identity(c)
      p = MatMul(v, w)
      q = Add(p, k)
      r = Add(q, h)
      o = Relu(r)
   }>
}"""

# Each branch has its own; where one is a sum that the other reads as well, nothing is joined.
IF = """
m (bool c, float[1,2,3,3] x) => (float[1,2,3,3] y)
<float half = {0.5}, float one = {1}, float root = {1.4142135}, float[2,2,1,1] w = {1,2,-3,4}, float[2] s = {1,2}, float[2] t = {0.5,-1}> {
   y = If (c) <
      then_branch = t () => (float[1,2,3,3] a) {
         p = Conv(x, w)
         n = BatchNormalization(p, s, t, t, s)
         a = Relu(n)
      },
      else_branch = e () => (float[1,2,3,3] b) {
         d = Div(x, root)
         f = Erf(d)
         o = Add(f, one)
         m = Mul(x, o)
         b = Mul(m, half)
      }>
}"""

# Attention two bodies deep.
NESTED = """
m (int64 n, bool c, float[2,3,4] q, float[2,5,4] k, float[2,5,4] v) => (float[2,3,4] y)
<float scale = {0.5}> {
   go = Constant <value = bool {1}> ()
   y = Loop (n, go, q) <body = b (int64 i, bool e, float[2,3,4] u) => (bool d, float[2,3,4] o) {
      d = Identity(e)
      o = If (c) <
         then_branch = t () => (float[2,3,4] a) {
            kt = Transpose <perm = [0,2,1]> (k)
            p = MatMul(u, kt)
            s = Mul(p, scale)
            f = Softmax <axis = -1> (s)
            a = MatMul(f, v)
         },
         else_branch = z () => (float[2,3,4] b) { b = Neg(u) }>
   }>
}"""

# What a body gives out, or a body within it reads, stays as it is.
SHOWN = """
m (int64 n, bool c, float[2,2] x) => (float[2,2] y, float[T,2,2] sums)
<float[2,2] w = {1,-2,0.5,1}, float[2] k = {1,-2}> {
   go = Constant <value = bool {1}> ()
   y, sums = Loop (n, go, x) <body = b (int64 i, bool e, float[2,2] v) => (bool d, float[2,2] o, float[2,2] g) {
      d = Identity(e)
      p = MatMul(v, w)
      g = Add(p, k)
      r = Relu(g)
      u = MatMul(r, w)
      t = Relu(u)
      o = If (c) <then_branch = yes () => (float[2,2] a) { a = Add(t, u) },
                  else_branch = no () => (float[2,2] b) { b = Identity(r) }>
   }>
}"""


def floats(*shape):
    return np.random.default_rng(sum(shape)).uniform(-1, 1, shape).astype(np.float32)


ATTENTION = {"q": floats(2, 3, 4), "k": floats(2, 5, 4), "v": floats(2, 5, 4)}

# A model; what goes in; the units in bodies that are joined: operator, and the names of its nodes.
MODELS = [
    (LOOP, [{"n": np.int64(n), "x": floats(2, 4)} for n in (0, 1, 4)],
     [("FusedMatMul", "Loop_2/body/MatMul_1 Loop_2/body/Add_2 Loop_2/body/Add_3 Loop_2/body/Relu_4")]),
    (IF, [{"c": np.array(c), "x": floats(1, 2, 3, 3)} for c in (True, False)],
     [("FusedConv", "If_0/then_branch/Conv_0 If_0/then_branch/BatchNormalization_1 If_0/then_branch/Relu_2"),
      ("Gelu", " ".join(f"If_0/else_branch/{name}" for name in ("Div_0", "Erf_1", "Add_2", "Mul_3", "Mul_4")))]),
    (NESTED, [{"n": np.int64(2), "c": np.array(c), **ATTENTION} for c in (True, False)],
     [("FusedAttention", " ".join(f"Loop_1/body/If_1/then_branch/{name}" for name in ("Transpose_0", "MatMul_1", "Mul_2", "Softmax_3", "MatMul_4")))]),
    (SHOWN, [{"n": np.int64(3), "c": np.array(c), "x": floats(2, 2)} for c in (True, False)],
     [("FusedMatMul", "Loop_1/body/MatMul_1 Loop_1/body/Add_2")]),
]  # fmt: skip


class Failed(Exception):
    pass


def call(tinyort, *arguments):
    done = subprocess.run([tinyort, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        raise Failed(done.stderr.strip())
    return done.stdout


def joined_units(tinyort, path, chain, *options):
    plan = json.loads(call(tinyort, "plan", path, "--ep", chain, "--json", *options))
    joined = [node for node in plan["nodes"] if node["from"]]
    for node in joined:
        if node["path"] not in node["from"]:
            raise Failed(f"{node['path']} is named after none of {node['from']}")
        if node["provider"] != chain.split(",")[0]:
            raise Failed(f"{node['path']} is on {node['provider']}")
    return [(node["op"], " ".join(node["from"])) for node in joined]


def outputs(tinyort, folder, path, feeds, count, *options):
    given = []
    for name, value in feeds.items():
        np.save(folder / f"{name}.npy", value)
        given += ["--input", f"{name}={folder / name}.npy"]
    call(tinyort, "run", path, *given, "--save", folder / "saved", *options)
    return [np.load(folder / "saved" / f"output_{i}.npy") for i in range(count)]


def check(tinyort, folder, text, feeds, joined, chain):
    model, path = parser.parse_model(f'<ir_version: 9, opset_import: ["" : 18]>\n{text}'), folder / "m.onnx"
    onnx.save(model, path)
    for expected, *options in ((joined, "--ep", chain), ([], "--ep", chain, "--no-fusion")):
        found = joined_units(tinyort, path, chain, *options[2:])
        if found != expected:
            raise Failed(f"joined are {found}, expected {expected}")
        for feed in feeds:
            wanted = ReferenceEvaluator(model).run(None, feed)
            for value, other in zip(outputs(tinyort, folder, path, feed, len(wanted), *options), wanted, strict=True):
                # The evaluator stacks what a loop gives out along the first axis that there is already.
                if value.size != other.size or not np.allclose(value, other.reshape(value.shape), rtol=1e-4, atol=1e-5):
                    raise Failed(f"outputs for {feed} differ with {options}: {value} and {other}")


def main():
    tinyort, counts = sys.argv[1], [0, 0]
    has_cudasim = not subprocess.run([tinyort, "providers", "--ep", "cudasim", "--require", "cudasim"], capture_output=True).returncode
    with tempfile.TemporaryDirectory() as folder:
        for text, feeds, joined in MODELS:
            for chain in ("cpu", "cudasim,cpu") if has_cudasim else ("cpu",):
                try:
                    check(tinyort, Path(folder), text, feeds, joined, chain)
                    counts[0] += 1
                except Failed as why:
                    print(f"FAILED on {chain}: {why}{text}")
                    counts[1] += 1
    print(f"fusions in bodies: {counts[0]} passed, {counts[1]} failed")
    sys.exit(1 if counts[1] or not counts[0] else 0)


if __name__ == "__main__":
    main()
