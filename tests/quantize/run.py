"""`tinyort quantize` end to end, on small models with random weights and on models/digits.onnx.

Usage: run.py TINYORT [WORD]: with WORD those cases alone whose name has it. What is written must pass onnx's checker, and give in onnxruntime
without optimizations, which computes QDQ in floats, the outputs of tinyort within one level of the output's scale (QDQ has ties that floats
round either way). The error is computed here, in double, against onnxruntime on the float32 model.
"""

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import jsonschema
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).parents[2]
onnxruntime.set_default_logger_severity(3)


class Failed(Exception):
    pass


def graph_of(nodes, inputs, outputs, weights, opset=17):
    """A model; values are float32, initializers are given by name."""
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    constants = [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "net", values, results, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs.split(), output.split(), name=f"{op}_{output.split()[0]}", **attributes)


def conv_net(random):
    """Residuals, depthwise, pools, a dead channel with a bias, BatchNormalization, clamps of all kinds."""
    w = {
        "w1": random.normal(0, 0.3, (8, 3, 3, 3)), "b1": random.normal(0, 0.1, 8), "w2": random.normal(0, 0.3, (8, 1, 3, 3)),
        "w3": random.normal(0, 0.3, (8, 8, 1, 1)), "b3": random.normal(0, 0.1, 8), "gamma": random.uniform(0.5, 1.5, 8),
        "beta": random.normal(0, 0.1, 8), "mean": random.normal(0, 0.1, 8), "var": random.uniform(0.5, 1.5, 8),
        "w4": random.normal(0, 0.3, (10, 8)), "b4": random.normal(0, 0.1, 10), "six": np.array(6.0), "zero": np.array(0.0),
    }  # fmt: skip
    w["w3"][2] = 1e-12
    w["b3"][2] = 5.0
    nodes = [
        node("Conv", "x w1 b1", "c1", pads=[1, 1, 1, 1]), node("Relu", "c1", "r1"), node("MaxPool", "r1", "p1", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", "p1 w2", "c2", pads=[1, 1, 1, 1], group=8), node("BatchNormalization", "c2 gamma beta mean var", "n2"),
        node("Clip", "n2 zero six", "r2"), node("Conv", "r2 w3 b3", "c3"), node("Add", "c3 p1", "s3"), node("Relu", "s3", "r3"),
        node("Concat", "r3 r2", "k", axis=1), node("Slice", "k from to axes", "half"), node("GlobalAveragePool", "half", "g"),
        node("Flatten", "g", "f"), node("Gemm", "f w4 b4", "logits", transB=1), node("Softmax", "logits", "y", axis=1),
    ]  # fmt: skip
    constants = {name: array.astype(np.float32) for name, array in w.items()}
    constants.update({"from": np.array([0]), "to": np.array([8]), "axes": np.array([1])})
    return graph_of(nodes, {"x": ["N", 3, 16, 16]}, ["y"], constants), {"x": (1, 3, 16, 16)}


def gates_net(random):
    """Regions: SiLU and GELU in pieces, hard swish, division by a constant; MatMul with its bias; two outputs."""
    w = {"w1": random.normal(0, 0.3, (16, 32)), "b1": random.normal(0, 0.1, 32), "w2": random.normal(0, 0.3, (32, 16)),
         "root2": np.array(math.sqrt(2)), "one": np.array(1.0), "half": np.array(0.5), "eight": np.array(8.0), "q": random.normal(0, 0.3, (16, 16))}  # fmt: skip
    nodes = [
        node("MatMul", "x w1", "m1"), node("Add", "m1 b1", "a1"), node("Sigmoid", "a1", "g1"), node("Mul", "a1 g1", "silu"),
        node("MatMul", "silu w2", "m2"), node("Div", "m2 root2", "d2"), node("Erf", "d2", "e2"), node("Add", "e2 one", "o2"),
        node("Mul", "m2 o2", "u2"), node("Mul", "u2 half", "gelu"), node("HardSwish", "gelu", "h"), node("Add", "h x", "res"),
        node("MatMul", "res q", "k"), node("Transpose", "k", "kt", perm=[0, 2, 1]), node("MatMul", "res kt", "scores"),
        node("Div", "scores eight", "scaled"), node("Softmax", "scaled", "p", axis=-1), node("MatMul", "p res", "y"), node("Tanh", "y", "z"),
    ]  # fmt: skip
    return graph_of(nodes, {"x": ["N", 6, 16]}, ["y", "z"], {k: a.astype(np.float32) for k, a in w.items()}), {"x": (1, 6, 16)}


def boxes_net(random):
    """Boxes of 0..320 and scores of 0..1 in one output: their Concat must not give them one scale."""
    w = {"w1": random.normal(0, 0.3, (4, 8)), "w2": random.normal(0, 0.5, (2, 8)), "b1": np.full(4, 160.0), "b2": np.zeros(2), "size": np.array(40.0)}
    nodes = [
        node("Gemm", "x w1", "m1", transB=1), node("Mul", "m1 size", "m2"), node("Add", "m2 b1", "boxes"),
        node("Gemm", "x w2 b2", "m3", transB=1), node("Sigmoid", "m3", "scores"), node("Concat", "boxes scores", "y", axis=1),
    ]  # fmt: skip
    return graph_of(nodes, {"x": ["N", 8]}, ["y"], {k: a.astype(np.float32) for k, a in w.items()}), {"x": (1, 8)}


def body_net(random):
    """A body that reads a value around it, an LSTM that has no 8-bit form, an input that is passed on, an output in the middle."""
    then = helper.make_graph([node("Relu", "c", "t")], "then", [], [helper.make_tensor_value_info("t", TensorProto.FLOAT, None)])
    other = helper.make_graph([node("Neg", "c", "e")], "other", [], [helper.make_tensor_value_info("e", TensorProto.FLOAT, None)])
    w = {"w1": random.normal(0, 0.3, (8, 4, 3)), "w": random.normal(0, 0.3, (1, 32, 8)), "r": random.normal(0, 0.3, (1, 32, 8)), "w2": random.normal(0, 0.3, (8, 8)),
         "zero": np.array(0.0)}  # fmt: skip
    nodes = [
        node("Conv", "x w1", "c", pads=[1, 1]), node("ReduceMax", "c", "m", keepdims=0), node("Greater", "m zero", "yes"),
        node("If", "yes", "branch", then_branch=then, else_branch=other), node("Transpose", "branch", "seq", perm=[2, 0, 1]),
        node("LSTM", "seq w r", "l", hidden_size=8), node("Squeeze", "l one", "s"), node("MatMul", "s w2", "y"),
    ]  # fmt: skip
    constants = {name: array.astype(np.float32) for name, array in w.items()}
    constants["one"] = np.array([1])
    return graph_of(nodes, {"x": ["N", 4, 12]}, ["c", "y"], constants), {"x": (1, 4, 12)}


def old_net(random):
    """Opset 9: attributes that became inputs, Softmax of a matrix, Upsample."""
    w = {"w1": random.normal(0, 0.3, (6, 2, 3, 3)), "scales": np.array([1.0, 1.0, 2.0, 2.0])}
    nodes = [
        node("Conv", "x w1", "c", pads=[1, 1, 1, 1]), node("Clip", "c", "r", min=0.0, max=6.0), node("Upsample", "r scales", "u"),
        node("Pad", "u", "p", pads=[0, 0, 1, 1, 0, 0, 1, 1]), node("Slice", "p", "s", starts=[1, 1], ends=[9, 9], axes=[2, 3]),
        node("ReduceSum", "s", "t", axes=[3], keepdims=1), node("Squeeze", "t", "q", axes=[3]), node("Softmax", "q", "y", axis=1),
    ]  # fmt: skip
    return graph_of(nodes, {"x": [1, 2, 8, 8]}, ["y"], {k: a.astype(np.float32) for k, a in w.items()}, 9), {"x": (1, 2, 8, 8)}


def words_net(random):
    """Rows of a table of embeddings, picked by whole numbers, and a product of them."""
    w = {"table": random.normal(0, 1, (50, 16)), "w1": random.normal(0, 0.3, (16, 16)), "b1": random.normal(0, 0.1, 16)}
    nodes = [node("Gather", "table ids", "e"), node("Add", "e x", "s"), node("MatMul", "s w1", "m"), node("Add", "m b1", "a"), node("Relu", "a", "y")]
    model = graph_of(nodes, {"x": ["N", 5, 16]}, ["y"], {k: a.astype(np.float32) for k, a in w.items()})
    model.graph.input.append(helper.make_tensor_value_info("ids", TensorProto.INT64, ["N", 5]))
    return model, {"x": (1, 5, 16), "ids": (1, 5)}


NETS = {"words": words_net, "conv": conv_net, "gates": gates_net, "boxes": boxes_net, "body": body_net, "old": old_net}


def run(tinyort, *arguments, expect=0):
    done = subprocess.run([tinyort, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != expect:
        raise Failed(f"tinyort {arguments[0]} ended with {done.returncode}, expected {expect}: {done.stderr.strip()[-400:]}")
    return done.stdout, done.stderr


def session(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def decibels(want, got):
    """The mean over outputs of 10 log10(power of the signal / power of the error), in double; 120 at most."""
    found = []
    for a, b in zip(zip(*want), zip(*got)):
        a, b = (np.concatenate([np.ravel(x) for x in v]).astype(np.float64) for v in (a, b))
        error, signal = ((a - b) ** 2).sum(), (a**2).sum()
        found.append(min(120.0, 10 * math.log10(signal / error)) if error > 0 and signal > 0 else 120.0)
    return float(np.mean(found))


def level_of(model, output):
    """The scale with which an output is dequantized; 0: it is not."""
    scales = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    return next((float(scales[n.input[1]]) for n in model.graph.node if n.op_type == "DequantizeLinear" and n.output[0] == output), 0.0)


class Case:
    def __init__(self, tinyort, name, folder):
        self.tinyort, self.name, self.folder = tinyort, name, Path(folder)
        random = np.random.default_rng(sum(map(ord, name)))
        model, shapes = NETS[name](random)
        self.model, self.data = self.folder / "model.onnx", self.folder / "data"
        onnx.save(model, self.model)
        self.samples = [{k: random.integers(0, 50, s) if k == "ids" else random.normal(0, 1, s).astype(np.float32) for k, s in shapes.items()} for _ in range(40)]
        self.data.mkdir()
        for i, sample in enumerate(self.samples[:32]):
            np.savez(self.data / f"{i:03}.npz", **sample)
        float32 = session(self.model)
        self.want = [float32.run(None, s) for s in self.samples[32:]]

    def quantize(self, out, *options, expect=0):
        stdout, _ = run(self.tinyort, "quantize", self.model, "--data", self.data, "-o", out, "--json", *options, expect=expect)
        return json.loads(stdout)

    def outputs(self, path, chain):
        """Outputs of tinyort for the samples that were not used for quantization."""
        names = [o.name for o in onnx.load(path).graph.output]
        results = []
        for i, sample in enumerate(self.samples[32:]):
            np.savez(self.folder / "input.npz", **sample)
            into = self.folder / f"{chain.split(':')[0].split(',')[0]}{i}"
            run(self.tinyort, "run", path, "--ep", chain, "--input", self.folder / "input.npz", "--save", into)
            results.append([np.load(into / f"output_{k}.npy") for k in range(len(names))])
        return results

    def check_equal(self, path):
        """onnxruntime without optimizations within a level of tinyort; cpu with and without fusions, and the simulated device, to the bit."""
        model = onnx.load(path)
        onnx.checker.check_model(model, full_check=True)
        quantized = session(path)
        peer = [quantized.run(None, s) for s in self.samples[32:]]
        ours = self.outputs(path, "cpu")
        off = equal = 0
        for want, got in zip(peer, ours):
            for k, (a, b) in enumerate(zip(want, got)):
                level = level_of(model, model.graph.output[k].name)
                worst = float(np.abs(a - b).max())
                if worst > 1.01 * level + 1e-5 * float(np.abs(a).max()):
                    raise Failed(f"output {k}: {worst / level if level else worst:.3g} {'levels' if level else ''} from onnxruntime")
                off, equal = off + int((np.abs(a - b) > level / 2).sum()), equal + a.size
        simulated, _ = run(self.tinyort, "providers", "--json")
        if any(p["name"] == "cudasim" and p["status"] == "ready" for p in json.loads(simulated)["providers"]):
            for a, b in zip(ours, self.outputs(path, "cudasim,cpu")):
                if any(level_of(model, o.name) and (x != y).any() for o, x, y in zip(model.graph.output, a, b)):
                    raise Failed("cudasim differs from cpu")
        return decibels(self.want, peer), off / equal


def check_net(case):
    out = case.folder / "q.onnx"
    report = case.quantize(out)
    found, off = case.check_equal(out)
    told = report["db_all"]
    if abs(found - told) > 12:  # half of the samples made the ranges that are told of, and these values have few elements
        raise Failed(f"{found:.1f} dB on new samples, {told:.1f} dB told")
    floor = {"boxes": 29, "words": 30, "conv": 25, "gates": 25, "body": 20, "old": 25}[case.name]
    if found < floor:
        raise Failed(f"{found:.1f} dB, expected {floor}")
    again = case.folder / "again.onnx"
    case.quantize(again)
    if again.read_bytes() != out.read_bytes():
        raise Failed("the same data gave other bytes")
    if any(u["alone"] is None for u in report["units"]):
        raise Failed("a unit was not measured")
    kept = case.quantize(again, "--max-error", f"{told + 2:.1f}")
    better, _ = case.check_equal(again)
    if not kept["met"] or kept["kept"] < 1 or better < found:
        raise Failed(f"--max-error: {kept['kept']} kept, met: {kept['met']}, {better:.1f} dB after {found:.1f}")
    print(f"{case.name}: {found:.1f} dB, {told:.1f} told; {100 * off:.2f} % of outputs a level from onnxruntime; {kept['kept']} of {len(report['units'])} kept: {better:.1f} dB")


def check_boxes(case):
    """Scores survive beside boxes."""
    out = case.folder / "q.onnx"
    got = [session(out).run(None, s)[0][:, 4:] for s in case.samples[32:]]
    found = decibels([[w[0][:, 4:]] for w in case.want], [[g] for g in got])
    if found < 25:
        raise Failed(f"scores alone: {found:.1f} dB")


def check_report(case):
    """The JSON against the schema, the page with the same data, choices that are given back, operators and nodes that are kept."""
    out, page, choices = (case.folder / name for name in ("q.onnx", "q.html", "q.tsv"))
    report = case.quantize(out, "--html", page, "--write-choices", choices)
    jsonschema.validate(report, json.loads(run(case.tinyort, "schema")[0]))
    embedded = json.loads(page.read_text().split('<script id="data" type="application/json">')[1].split("</script>")[0])
    if embedded["units"] != report["units"] or embedded["costs"] != report["costs"] or len(report["costs"]) != 2:
        raise Failed("the page has other data than the JSON")
    if out.stat().st_size != report["bytes"]:
        raise Failed(f"the file has {out.stat().st_size} bytes, {report['bytes']} told")
    dearest = min(report["units"], key=lambda u: u["alone"])["name"]
    lines = [line.split("\t") for line in choices.read_text().splitlines()]
    choices.write_text("\n".join("\t".join([n[0], "32", *n[2:]] if n[0] == dearest else n) for n in lines) + "\n")
    given = case.quantize(out, "--choices", choices, "--quick")
    if dearest not in [f["name"] for f in given["float32"]] or given["float32"][-1]["why"] == "":
        raise Failed("a unit that choices keep is in 8 bits")
    kept = case.quantize(out, "--keep-op", "Conv", "--quick")
    integers = [n.op_type for n in onnx.load(out).graph.node if n.op_type == "Conv" and "DequantizeLinear" in n.input[1]]
    if any("Conv" in u["nodes"] for u in kept["units"]) or integers:
        raise Failed("--keep-op Conv leaves a Conv in 8 bits")
    table, _ = run(case.tinyort, "quantize", case.model, "--data", case.data, "-o", out)
    if dearest not in table or "all" not in table or "ms" not in table:
        raise Failed(f"the table lacks what the report has: {table}")


def check_truth(case):
    """Labels that are those of float32 give an accuracy of 1; others are counted as they are; a bar that holds keeps nothing."""
    out, labels = case.folder / "q.onnx", case.folder / "labels.txt"
    float32 = session(case.model)
    right = [int(float32.run(None, s)[0].argmax()) for s in case.samples[:32]]
    labels.write_text("\n".join(map(str, right)) + "\n")
    report = case.quantize(out, "--truth", labels, "--min-agreement", "0.5")
    if report["float_accuracy"] != 1 or not report["met"] or report["kept"] or report["agreement"] < 0.8:
        raise Failed(f"true labels: {report['float_accuracy']}, {report['agreement']}, {report['kept']} kept")
    labels.write_text("\n".join(str((r + 1) % 10) if i < 8 else str(r) for i, r in enumerate(right)) + "\n")
    if case.quantize(out, "--truth", labels, "--quick")["float_accuracy"] != 0.75:
        raise Failed("8 of 32 labels are wrong, and the float32 model is not told to be right in 0.75")


def main(tinyort, word=""):
    passed = failed = 0
    for name in NETS:
        if word not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            case = Case(tinyort, name, folder)
            for check in [check_net, *{"boxes": [check_boxes], "conv": [check_report, check_truth]}.get(name, [])]:
                try:
                    check(case)
                    passed += 1
                except Failed as failure:
                    failed += 1
                    print(f"FAILED {name}, {check.__name__}: {failure}")
    print(f"quantize: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
