"""`tinyort convert` end to end, on small models with random weights.

Usage: convert.py TINYORT [WORD]: with WORD those cases alone whose name has it. What is written must pass onnx's checker and, but for bfloat16, whose
operators onnxruntime lacks, give in onnxruntime without optimizations the outputs of the float32 model: 40 dB at each, in double, on samples that
the conversion has not seen, and finite wherever float32 was. bfloat16 runs in tinyort.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from run import Failed, decibels, graph_of, node, run, session

FLOAT, HALF, BF16 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16


def floats(arrays):
    return {k: a if np.asarray(a).dtype == np.int64 else np.asarray(a, np.float32) for k, a in arrays.items()}


def conv_net(random, variance=9.8e7):
    """BatchNormalization with a variance that float16 cannot hold, and a constant of 1e5: the first is folded, the second stays float32."""
    w = {"w1": random.normal(0, 3000, (8, 3, 3, 3)), "gamma": random.uniform(0.5, 1.5, 8), "beta": random.normal(0, 0.1, 8), "mean": random.normal(0, 0.1, 8),
         "var": np.full(8, variance), "w2": random.normal(0, 0.3, (10, 8)), "big": np.array(1e5), "less": np.array(2e-5)}  # fmt: skip
    nodes = [
        node("Conv", "x w1", "c", pads=[1, 1, 1, 1]), node("BatchNormalization", "c gamma beta mean var", "n"), node("Relu", "n", "r"),
        node("GlobalAveragePool", "r", "g"), node("Flatten", "g", "f"), node("Mul", "f big", "m"), node("Mul", "m less", "k"), node("Gemm", "k w2", "y", transB=1),
    ]  # fmt: skip
    return graph_of(nodes, {"x": ["N", 3, 12, 12]}, ["y"], floats(w)), {"x": (1, 3, 12, 12)}


def spectrum_net(random):
    """Log(power + 1e-10), which is NaN or -inf in float16 where there is silence."""
    w = {"w1": random.normal(0, 0.01, (16, 1, 32)), "two": 2.0, "eps": 1e-10, "w2": random.normal(0, 0.1, (4, 16)), "axis": np.array([1])}
    nodes = [
        node("Conv", "x w1", "c", strides=[16]), node("Pow", "c two", "p"), node("ReduceSum", "p axis", "s", keepdims=1), node("Add", "s eps", "e"),
        node("Log", "e", "l"), node("Add", "l p", "lp"), node("MatMul", "w2 lp", "y"),
    ]  # fmt: skip
    return graph_of(nodes, {"x": [1, 1, 160]}, ["y"], floats(w)), {"x": (1, 1, 160)}


def overflow_net(random):
    """A value of some 1e6 in the middle, and casts inside."""
    w = {"w1": random.normal(0, 0.3, (16, 16)), "k": 3e4, "z": 30.0, "w2": random.normal(0, 0.1, (16, 8)), "i": 3e-5}
    nodes = [
        node("MatMul", "x w1", "a"), node("Mul", "a k", "b"), node("Mul", "b z", "c"), node("Mul", "c i", "d"), node("Cast", "d", "n", to=TensorProto.INT32),
        node("Cast", "n", "f", to=FLOAT), node("Add", "a f", "s"), node("Tanh", "s", "t"), node("Add", "t d", "u"), node("MatMul", "u w2", "y"),
    ]  # fmt: skip
    return graph_of(nodes, {"x": ["N", 16]}, ["y"], floats(w)), {"x": (4, 16)}


def body_net(random):
    """An If that reads values around it, an LSTM, a Resize, whose scales are float32 in any model, a ConstantOfShape, an output in the middle."""
    then = helper.make_graph([node("Mul", "c half", "t")], "then", [], [helper.make_tensor_value_info("t", FLOAT, None)])
    other = helper.make_graph([node("Neg", "c", "e")], "other", [], [helper.make_tensor_value_info("e", FLOAT, None)])
    w = {"w1": random.normal(0, 0.3, (8, 4, 3)), "w": random.normal(0, 0.3, (1, 32, 8)), "r": random.normal(0, 0.3, (1, 32, 8)), "w2": random.normal(0, 0.3, (8, 8)),
         "zero": 0.0, "half": 0.5, "one": np.array([1]), "scales": [1.0, 1.0, 2.0]}  # fmt: skip
    nodes = [
        node("Conv", "x w1", "c", pads=[1, 1]), node("Mul", "c half", "ch"), node("ReduceMax", "c", "m", keepdims=0), node("Greater", "m zero", "yes"),
        node("If", "yes", "branch", then_branch=then, else_branch=other), node("Add", "branch ch", "b2"),
        helper.make_node("Resize", ["b2", "", "scales"], ["big"], name="resize", mode="nearest"), node("Transpose", "big", "seq", perm=[2, 0, 1]),
        node("Shape", "seq", "sh"), node("ConstantOfShape", "sh", "ones", value=numpy_helper.from_array(np.ones(1, np.float32))), node("Add", "seq ones", "seq1"),
        node("LSTM", "seq1 w r", "l", hidden_size=8), node("Squeeze", "l one", "s"), node("MatMul", "s w2", "y"),
    ]  # fmt: skip
    return graph_of(nodes, {"x": ["N", 4, 12]}, ["c", "y"], floats(w)), {"x": (1, 4, 12)}


def attention_net(random):
    """A decoder's layer: a mask of -1e9, scaled scores, a softmax, a norm by mean and variance, GELU in pieces."""
    w = {k: random.normal(0, 0.3, (16, 16)) for k in ("q", "k", "v", "o", "u", "d")}
    w |= {"scale": 4.0, "mask": np.triu(np.full((6, 6), -1e9), 1), "two": 2.0, "eps": 1e-5, "root2": 2**0.5, "one": 1.0, "half": 0.5}
    nodes = [
        node("ReduceMean", "x", "mean", axes=[-1], keepdims=1), node("Sub", "x mean", "z"), node("Pow", "z two", "zz"), node("ReduceMean", "zz", "var", axes=[-1], keepdims=1),
        node("Add", "var eps", "ve"), node("Sqrt", "ve", "sd"), node("Div", "z sd", "n"), node("MatMul", "n q", "Q"), node("MatMul", "n k", "K"), node("MatMul", "n v", "V"),
        node("Transpose", "K", "KT", perm=[0, 2, 1]), node("MatMul", "Q KT", "raw"), node("Div", "raw scale", "sc"), node("Add", "sc mask", "ms"), node("Softmax", "ms", "p", axis=-1),
        node("MatMul", "p V", "c"), node("MatMul", "c o", "h"), node("Add", "h x", "res"), node("MatMul", "res u", "up"), node("Div", "up root2", "ur"), node("Erf", "ur", "er"),
        node("Add", "er one", "eo"), node("Mul", "up eo", "ue"), node("Mul", "ue half", "ge"), node("MatMul", "ge d", "dn"), node("Add", "dn res", "y"),
    ]  # fmt: skip
    return graph_of(nodes, {"x": ["N", 6, 16]}, ["y"], floats(w)), {"x": (1, 6, 16)}


def old_net(random):
    """Opset 11, which bfloat16 has to leave."""
    w = {"w1": random.normal(0, 0.3, (16, 16)), "b": random.normal(0, 0.3, 16)}
    nodes = [node("MatMul", "x w1", "a"), node("Add", "a b", "c"), node("Relu", "c", "r"), node("ReduceSum", "r", "s", axes=[1], keepdims=1), node("Sub", "r s", "y")]
    return graph_of(nodes, {"x": ["N", 16]}, ["y"], floats(w), 11), {"x": (2, 16)}


NETS = {"conv": conv_net, "spectrum": spectrum_net, "overflow": overflow_net, "body": body_net, "attention": attention_net, "old": old_net}
# Operators that must stay, and Casts between nodes that are allowed.
KEPT = {"conv": ({"Mul"}, 2), "spectrum": ({"Log", "Add"}, 3), "overflow": ({"Mul"}, 3), "body": ({"If"}, 2), "attention": ({"Add"}, 3), "old": (set(), 0)}


class Case:
    def __init__(self, tinyort, name, folder):
        self.tinyort, self.name, self.folder = tinyort, name, Path(folder)
        random = np.random.default_rng(sum(map(ord, name)))
        model, shapes = NETS[name](random)
        self.model, self.data = self.folder / "model.onnx", self.folder / "data"
        onnx.save(model, self.model)
        self.samples = [{k: random.normal(0, 1, s).astype(np.float32) for k, s in shapes.items()} for _ in range(12)]
        if name == "spectrum":
            self.samples[0]["x"][:] = self.samples[11]["x"][:] = 0
        self.data.mkdir()
        for i, sample in enumerate(self.samples[:6]):
            np.savez(self.data / f"{i:03}.npz", **sample)
        float32 = session(self.model)
        self.want = [float32.run(None, s) for s in self.samples]

    def convert(self, to, out, *options, model=None, expect=0):
        stdout, _ = run(self.tinyort, "convert", model or self.model, "--to", to, "--data", self.data, "-o", out, "--json", *options, expect=expect)
        report = json.loads(stdout)
        if not expect:
            onnx.checker.check_model(onnx.load(out), full_check=True)
        return report

    def worst(self, outputs):
        """Decibels of the worst output on all samples; what was finite must be so."""
        for want, got in zip(self.want, outputs):
            for a, b in zip(want, got):
                if a.shape != b.shape or not np.isfinite(b[np.isfinite(a)]).all():
                    raise Failed("an output is not finite where it was, or has another shape")
        return min(decibels([[w[k]] for w in self.want], [[o[k]] for o in outputs]) for k in range(len(self.want[0])))

    def in_onnxruntime(self, path, dtype=np.float32):
        converted = session(path)
        return [[o.astype(np.float32) for o in converted.run(None, {k: a.astype(dtype) for k, a in s.items()})] for s in self.samples]

    def in_tinyort(self, path):
        results = []
        for i, sample in enumerate(self.samples):
            np.savez(self.folder / "input.npz", **sample)
            into = self.folder / f"outputs{i}"
            run(self.tinyort, "run", path, "--input", self.folder / "input.npz", "--save", into)
            results.append([np.load(into / f"output_{k}.npy") for k in range(len(self.want[0]))])
        return results


def types_of(path):
    model = onnx.load(path)
    ports = {p.type.tensor_type.elem_type for p in [*model.graph.input, *model.graph.output]}
    return ports, {t.data_type for t in model.graph.initializer}, sum(n.op_type == "Cast" for n in model.graph.node)


def check_float16(case):
    out, again = case.folder / "half.onnx", case.folder / "again.onnx"
    report = case.convert("float16", out)
    found = case.worst(case.in_onnxruntime(out))
    ports, constants, casts = types_of(out)
    if found < 40 or abs(min(found, 90) - min(report["db"], 90)) > 15:
        raise Failed(f"{found:.1f} dB, {report['db']:.1f} told")
    if ports != {FLOAT} or HALF not in constants:
        raise Failed(f"ports of types {ports}, constants of {constants}")
    must, allowed = KEPT[case.name]
    kept = {k["op"] for k in report["kept"]}
    if not must <= kept or (not must and kept):
        raise Failed(f"kept {kept}, expected {must}")
    if report["casts"] > allowed or report["casts"] > 2 * len(report["kept"]):
        raise Failed(f"{report['casts']} Casts for {len(report['kept'])} nodes kept, {casts} in all")
    inner = sum(n.op_type == "Cast" for n in onnx.load(case.model).graph.node)
    if casts > report["casts"] + report["port_casts"] + inner:
        raise Failed(f"{casts} Casts, {report['casts']} + {report['port_casts']} told")
    case.convert("float16", again)
    if out.read_bytes() != again.read_bytes():
        raise Failed("the same data gave other bytes")
    print(f"{case.name}: {found:.1f} dB, {report['db']:.1f} told, {report['changed']} changed, {len(report['kept'])} kept, {report['casts']} + {report['port_casts']} Casts")


def check_ports(case):
    out = case.folder / "ports.onnx"
    case.convert("float16", out, "--io", "convert")
    ports, _, _ = types_of(out)
    captured = case.name == "body"  # an output that a body reads
    if ports != ({HALF, FLOAT} if captured else {HALF}):
        raise Failed(f"ports of types {ports}")
    found = case.worst(case.in_onnxruntime(out, np.float16))
    if found < 37:
        raise Failed(f"{found:.1f} dB with 16-bit ports")


def check_back(case):
    """float16 and back: no Cast is left but those of the model, and nothing is of float16."""
    half, back = case.folder / "half.onnx", case.folder / "back.onnx"
    report = case.convert("float32", back, model=half)
    _, constants, casts = types_of(back)
    inner = sum(n.op_type == "Cast" for n in onnx.load(case.model).graph.node)
    if HALF in constants or casts > inner or report["kept"]:
        raise Failed(f"constants of {constants}, {casts} Casts, kept {report['kept']}")
    found = case.worst(case.in_onnxruntime(back))
    if found < 45:
        raise Failed(f"{found:.1f} dB after float16 and back")


def check_bfloat16(case):
    out = case.folder / "bf16.onnx"
    report = case.convert("bfloat16", out, "--min-db", "25")
    _, constants, _ = types_of(out)
    found = case.worst(case.in_tinyort(out))
    if BF16 not in constants or found < 24:
        raise Failed(f"bfloat16: {found:.1f} dB, constants of {constants}, kept {[k['op'] for k in report['kept']]}")


def refused(case, words, *arguments, model=None):
    _, stderr = run_any(case.tinyort, "convert", model or case.model, "-o", case.folder / "no.onnx", *arguments)
    if not all(w in stderr for w in words.split("|")):
        raise Failed(f"{arguments}: expected {words}, got {stderr[-300:]}")


def run_any(tinyort, *arguments):
    done = subprocess.run([tinyort, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode == 0:
        raise Failed(f"tinyort {arguments[0]} ended with 0, expected an error")
    return done.stdout, done.stderr


def check_refusals(case):
    half = case.folder / "all.onnx"
    case.convert("float16", half, "--io", "convert")
    refused(case, "--to float16", "--random", "1")
    refused(case, "float16|already|nothing to convert", "--to", "float16", model=half)
    refused(case, "float32 already", "--to", "float32")
    refused(case, "no node 'nobody'", "--to", "float16", "--keep", "nobody")
    case.convert("float16", half, "--min-db", "200", expect=4)
    report = case.convert("float16", half, "--keep-op", "Relu")
    if "Relu" not in {k["op"] for k in report["kept"]}:
        raise Failed(f"--keep-op: kept {report['kept']}")
    _, stderr = run(case.tinyort, "convert", case.model, "--to", "float16", "-o", half)
    if "at random" not in stderr:
        raise Failed(f"without --data: {stderr}")


def main(tinyort, word=""):
    passed = failed = 0
    for name in NETS:
        if word not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            case = Case(tinyort, name, folder)
            for check in [check_float16, check_ports, check_back, check_bfloat16] + ([check_refusals] if name == "old" else []):
                try:
                    check(case)
                    passed += 1
                except Failed as failure:
                    failed += 1
                    print(f"FAILED {name}, {check.__name__}: {failure}")
    print(f"convert: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
