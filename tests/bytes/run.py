"""8-bit results against the graphs that they stand for, computed in double (cases.py).

Usage: run.py TINYORT [--thorough] [--isa NAME] [WORD]. The graph of a case (DequantizeLinear, an operator, QuantizeLinear) must be joined and its bytes be
those of the real numbers, rounded half to even; so must those of the operator on 8-bit numbers, on each provider and instruction
set. Only where the real number lies within 1e-4 steps of the middle between two bytes may the result be the other one.
Every operator with 8-bit results and every fusion that makes one has a case.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
from cases import all_cases, limits
from onnx import TensorProto, helper, numpy_helper

TIE = 1e-4
SETS = ("plain", "v2", "v3", "v3_vnni", "v4", "v4_vnni", "v4_amx", "neon", "neon_dot", "rvv")
BRANCHES = 400  # of a model: what one process runs

EXACT = {"QuantizeLinear", "DynamicQuantizeLinear"}  # their own results, which ONNX's cases hold


def has_asymmetric_weights(case):
    return any(not o.live and np.any(o.zero != limits(o.zero.dtype)[0] + 128) for o in case.operands)


# Of chains that join nodes: the cases for which they have no kernel.
REFUSED = {"cpu": lambda case: case.fused == "QLinearAveragePool", "firmware,cpu": has_asymmetric_weights}


class Model:
    """One graph with the branches of many cases."""

    def __init__(self):
        self.nodes, self.weights, self.values, self.feeds, self.wanted = [], [], [], {}, []

    def constant(self, array, name):
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def value(self, array, name):
        self.values.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape))
        self.feeds[name] = array
        return name

    def node(self, text, inputs, output):
        node = onnx.parser.parse_node(f"y = {text} (x)")
        node.input[:], node.output[:], node.name = inputs, [output], output
        self.nodes.append(node)
        return output

    def operand(self, linear, name):
        """Names of the numbers, their scale and zero point."""
        data = (self.value if linear.live else self.constant)(linear.data, name)
        return data, self.constant(linear.scale, f"{name}_scale"), self.constant(linear.zero, f"{name}_zero")

    def add(self, case, tag):
        names = [self.operand(operand, f"{tag}_{i}") for i, operand in enumerate(case.operands)]
        ends = self.constant(np.float32(case.scale), f"{tag}_scale"), self.constant(np.array(case.zero, case.kind), f"{tag}_zero")
        reals = [operand.real() for operand in case.operands]
        if case.bias is not None:
            reals.append(case.bias.real())
            bias = self.operand(case.bias, f"{tag}_bias")
        wanted = case.compute(*reals) / np.float64(np.float32(case.scale)) + case.zero
        if case.op:
            inputs = [self.node(f"DequantizeLinear<axis={operand.axis}>", name, f"{name[0]}_real") for operand, name in zip(case.operands, names)]
            if case.bias is not None:
                inputs.append(self.node("DequantizeLinear<axis=0>", bias, f"{tag}_bias_real"))
            y = self.node(case.op, inputs, f"{tag}_real")
            self.wanted.append((self.node("QuantizeLinear", [y, *ends], f"{tag}_graph"), case, wanted))
        if case.linear:
            more = {name: f"{tag}_{name}" for name, _ in zip(("yes", "middle"), case.more)}
            for array, name in zip(case.more, more.values()):
                self.value(array, name)
            inputs = [more.get(name, name) for name in case.linear(names, *ends, bias[0] if case.bias is not None else "")]
            self.wanted.append((self.node(case.linear_op, inputs, f"{tag}_operator"), case, wanted))

    def save(self, folder):
        outputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(case.kind)), wanted.shape) for name, case, wanted in self.wanted]
        graph = helper.make_graph(self.nodes, "bytes", self.values, outputs, self.weights)
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1), helper.make_opsetid("tinyort", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), folder / "m.onnx")
        for name, array in self.feeds.items():
            np.save(folder / f"{name}.npy", array)


class Runner:
    def __init__(self, tinyort, isa):
        self.tinyort, self.counts, self.shown = tinyort, Counter(), Counter()
        wanted = [f"cpu:isa={isa}"] if isa else [f"cpu:isa={name}" for name in SETS] + ["cudasim,cpu", "firmware,cpu"]
        self.chains = [chain for chain in wanted if not subprocess.run([tinyort, "providers", "--ep", chain, "--require", chain.split(",")[0].split(":")[0]], capture_output=True).returncode]

    def call(self, *arguments):
        done = subprocess.run([self.tinyort, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(map(str, arguments))[:200]}: {done.stderr.strip()[:2000]}")
        return done.stdout

    def fail(self, case, chain, text):
        self.counts["failed"] += 1
        self.shown[case.name] += 1
        if self.shown[case.name] <= 12:
            scales = [f"{np.ravel(o.scale)[0]:.6g} {int(np.ravel(o.zero)[0])}" for o in case.operands]
            print(f"FAILED {case.name} {case.op or case.linear_op} {case.kind.__name__} of {', '.join(scales)} to {case.scale:.6g} {case.zero} on {chain}: {text}")

    def check_bytes(self, case, chain, form, wanted, got):
        low, high = limits(case.kind)
        near, over = np.clip(np.floor(wanted), low, high), np.clip(np.ceil(wanted), low, high)
        tie = np.abs(wanted - np.floor(wanted) - 0.5) <= TIE
        right = np.where(tie, (got == near) | (got == over), got == np.clip(np.rint(wanted), low, high))
        if right.all():
            self.counts["passed"] += 1
            return
        at = np.flatnonzero(~right.ravel())[0]
        self.fail(case, chain, f"{form}: {np.count_nonzero(~right)} of {right.size} bytes, {got.ravel()[at]} for {wanted.ravel()[at]:.6f}")

    def check_joined(self, model, folder, chain, refuses):
        """That the nodes of each graph became one, but for those that the chain has no kernel for."""
        plan = json.loads(self.call("plan", folder / "m.onnx", "--ep", chain, "--json"))
        ops = {name: node["op"] for node in plan["nodes"] for name in node["from"] or [node["name"]]}
        for name, case, _ in model.wanted:
            if name.endswith("_graph") and not refuses(case) and case.fused.split(".")[-1] != ops[name]:
                self.fail(case, chain, f"the nodes of the graph become {ops[name]}, expected {case.fused}")

    def check(self, model):
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            model.save(folder)
            given = [word for name in model.feeds for word in ("--input", f"{name}={folder / name}.npy")]
            for chain, refuses in REFUSED.items():
                self.check_joined(model, folder, chain, refuses)
            for chain in self.chains:
                self.call("run", folder / "m.onnx", "--ep", chain, *given, "--save", folder / "saved")
                for i, (name, case, wanted) in enumerate(model.wanted):
                    self.check_bytes(case, chain, name.split("_")[-1], wanted, np.load(folder / "saved" / f"output_{i}.npy"))

    def check_rows(self, cases):
        """Operators with 8-bit results that take scales, and fusions that make one of them, without a case."""
        rows = json.loads(self.call("ops", "--json"))
        tried = {case.linear_op.split("<")[0].split(".")[-1] for case in cases} | {case.fused.split(".")[-1] for case in cases} | EXACT
        eight = {"tensor(int8)", "tensor(uint8)"}
        made = {row["name"] for row in rows["operators"] if any(v["name"].lower().endswith("scale") for v in row["inputs"]) and eight & {t for v in row["outputs"] for t in v["types"]}
                and not {t for v in row["outputs"] for t in v["types"]} & {"tensor(bfloat16)"}}
        made |= {part.split("(")[0].split("::")[-1] for row in rows["fusions"] for part in [row["makes"]] if "QLinear" in part or "QGemm" in part or "ByteTable" in part}
        for name in sorted(made - tried):
            print(f"FAILED {name} has no case")
            self.counts["failed"] += 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tinyort")
    parser.add_argument("--thorough", action="store_true")
    parser.add_argument("--isa", help="on this instruction set of cpu alone")
    parser.add_argument("word", nargs="?", default="")
    options = parser.parse_args()
    cases = list(all_cases(options.thorough))
    runner = Runner(options.tinyort, options.isa)
    runner.check_rows(cases)
    cases = [case for case in cases if options.word in case.name]
    for first in range(0, len(cases), BRANCHES):
        model = Model()
        for i, case in enumerate(cases[first : first + BRANCHES]):
            model.add(case, f"n{i}")
        runner.check(model)
    print(f"bytes: {len(cases)} cases on {' '.join(runner.chains)}")
    print(f"bytes: {runner.counts['passed']} passed, {runner.counts['failed']} failed")
    sys.exit(1 if runner.counts["failed"] or not runner.counts["passed"] else 0)


if __name__ == "__main__":
    main()
