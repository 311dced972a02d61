"""Fusions on small models (cases.py): what is left of the nodes, that each switch leaves them alone, and that outputs are the same.

Usage: run.py TINYORT [WORD]: with WORD those cases alone whose row or nodes have it. Every row that `tinyort ops --json` lists must have a case.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
from cases import all_cases, refused_cases
from ml_dtypes import bfloat16
from onnx import TensorProto, helper, numpy_helper

TYPES = {"float32": np.float32, "float64": np.float64, "float16": np.float16, "bfloat16": bfloat16}
TOLERANCE = {"float32": (1e-5, 1e-4), "float64": (1e-5, 1e-4), "float16": (1e-2, 1e-2), "bfloat16": (5e-2, 5e-2)}


def array_of(case, name, what, random):
    dtype = TYPES[case.dtype]
    if isinstance(what, float):
        return np.array(what, dtype)
    if isinstance(what, (np.ndarray, np.integer)):
        return np.asarray(what) if what.dtype.kind in "iu" else what.astype(dtype)
    return np.asarray(random.normal(0, 0.5, what)).astype(dtype)


def nodes_of(case):
    for outputs, op, attributes, inputs in re.findall(r"(\S+?)=([\w.]+)(<[^>]*>)?\(([^)]*)\)", case.nodes):
        node = onnx.parser.parse_node(f"{outputs.split(',')[0]} = {op} {attributes} ({inputs.replace(',,', ',none,')})")
        node.input[:] = ["" if name == "none" else name for name in node.input]
        node.output[:] = outputs.split(",")
        node.name = outputs.split(",")[0]
        yield node


def model_of(case, random):
    """What is not float32 is cast on the way in and out, so that every type can be written as .npy."""
    single = case.dtype == "float32"
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(TYPES[case.dtype]))
    nodes = list(nodes_of(case))
    weights = [numpy_helper.from_array(array_of(case, name, what, random), name) for name, what in case.weights.items() if name not in case.inputs]
    inputs, outputs = list(case.inputs), list(case.outputs)
    if not single:
        nodes = [helper.make_node("Cast", [f"{name}_in"], [name], f"{name}_in", to=kind) for name in inputs] + nodes
        nodes += [helper.make_node("Cast", [name], [f"{name}_out"], f"{name}_out", to=TensorProto.FLOAT) for name in outputs]
    values = [helper.make_tensor_value_info(name if single else f"{name}_in", TensorProto.FLOAT, case.inputs[name]) for name in inputs]
    results = [helper.make_tensor_value_info(name if single else f"{name}_out", TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph(nodes, "fusion", values, results, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", case.opset), helper.make_opsetid("com.microsoft", 1)], ir_version=8)


class Failed(Exception):
    pass


class Runner:
    def __init__(self, tinyort, folder):
        self.tinyort, self.folder = tinyort, Path(folder)
        self.counts = Counter()
        self.has_cudasim = not subprocess.run([tinyort, "providers", "--ep", "cudasim", "--require", "cudasim"], capture_output=True).returncode

    def call(self, *arguments):
        done = subprocess.run([self.tinyort, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode:
            raise Failed(f"{' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done.stdout

    def plan(self, case, chain, *options):
        plan = json.loads(self.call("plan", self.folder / "m.onnx", "--ep", chain, "--json", *case.options, *options))
        ends = ("_in", "_out")  # of the casts that are not of the case
        return [node for node in plan["nodes"] if not (node["op"] == "Cast" and node["name"].endswith(ends)) and node["provider"] != "folded"]

    def outputs(self, case, chain, *options):
        given = [word for name in case.inputs for word in ("--input", f"{name}{'' if case.dtype == 'float32' else '_in'}={self.folder / name}.npy")]
        saved = self.folder / "saved"
        self.call("run", self.folder / "m.onnx", "--ep", chain, *given, "--save", saved, *case.options, *options)
        return [np.load(saved / f"output_{i}.npy") for i in range(len(case.outputs))]

    def check_plans(self, case, chain):
        nodes = self.plan(case, chain)
        made = [node for node in nodes_of(case) if node.name not in case.folded]
        units, original = [node["op"] for node in nodes], [node.op_type for node in made]
        wanted = case.units.split() or original
        if units != wanted:
            raise Failed(f"units are {units}, expected {wanted}")
        parts = [name for node in nodes for name in (node["from"] or [node["name"]])]
        if sorted(parts) != sorted(node.name for node in made):
            raise Failed(f"units are made of {parts}")
        if [node["op"] for node in self.plan(case, chain, "--no-fusion")] != original:
            raise Failed("--no-fusion leaves something joined")
        views = [node["name"] for node in nodes if node["kernel"] == "view"]
        if case.views is not None and sorted(views) != sorted(case.views):
            raise Failed(f"views are {views}, expected {case.views}")
        if case.units and [node["op"] for node in self.plan(case, chain, f"--no-fusion={case.row}")] == wanted:
            raise Failed(f"--no-fusion={case.row} changes nothing")

    def check_outputs(self, case, chain):
        absolute, relative = TOLERANCE[case.dtype]
        plain_chain = "cpu" if case.views else chain  # nothing joins views
        for joined, plain in zip(self.outputs(case, chain), self.outputs(case, plain_chain, "--no-fusion"), strict=True):
            if joined.shape != plain.shape or not np.isfinite(plain).all():
                raise Failed(f"shapes {joined.shape} and {plain.shape}, or values that tell nothing")
            worst = np.max(np.abs(joined - plain) - relative * np.abs(plain), initial=0) - case.step
            if worst > absolute:
                raise Failed(f"outputs differ by {worst:.3g}")

    def run(self, case):
        random = np.random.default_rng(3)
        onnx.save(model_of(case, random), self.folder / "m.onnx")
        for name, shape in case.inputs.items():
            np.save(self.folder / f"{name}.npy", random.normal(0, 1, [case.symbols.get(d, d) for d in shape]).astype(np.float32))
        for chain in case.chains:
            if "cudasim" in chain and not self.has_cudasim:
                continue
            try:
                self.check_plans(case, chain)
                if case.units or case.views:
                    self.check_outputs(case, chain)
                self.counts["passed"] += 1
            except Failed as why:
                print(f"FAILED {case.row}[{case.index}] {case.dtype} opset {case.opset} on {chain}: {case.nodes}\n    {why}")
                self.counts["failed"] += 1

    def check_rows(self, cases):
        rows = Counter(row["name"] for row in json.loads(self.call("ops", "--json"))["fusions"])
        tried = {(case.row, case.index) for case in cases}
        for name, index in sorted({(name, i) for name, count in rows.items() for i in range(count)} ^ tried):
            print(f"FAILED {name}[{index}] {'is not a row' if (name, index) in tried else 'has no case'}")
            self.counts["failed"] += 1


def main():
    tinyort, word = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    cases = list(all_cases())
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(tinyort, folder)
        if not word:
            runner.check_rows(cases)
        for case in cases + list(refused_cases()):
            if word in case.row or word in case.nodes:
                runner.run(case)
    if not runner.has_cudasim:
        print("fusions: on cpu alone, there is no simulated device")
    print(f"fusions: {runner.counts['passed']} passed, {runner.counts['failed']} failed")
    sys.exit(1 if runner.counts["failed"] or not runner.counts["passed"] else 0)


if __name__ == "__main__":
    main()
