"""Quantized networks on the CUDA provider alone, of networks.py and onnxruntime.quantization: what tools write.

Usage: quantized.py TINYORT [--write]. Each network is calibrated on random values and quantized in the forms that users deploy: QDQ by
channel and by tensor, the older operators with zero points of weights, dynamic. It is planned for each architecture: nodes that are
left to the CPU are those of quantized.txt, with their reasons, and a run that the device could record is recorded; --write writes that
file. On the simulated device outputs are those of cpu, and those of onnxruntime, without its optimizations, within a step of the last
scale or so; launches are at most as many as quantized.txt says.
"""

import itertools
import json
import logging
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from graph import Graph
from networks import NETWORKS
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static

ARCHITECTURES = (75, 80, 86, 90, 100, 120)
# Form: format, types of weights and activations, by channel; None: dynamic.
FORMS = {
    "qdq": (QuantFormat.QDQ, QuantType.QInt8, QuantType.QUInt8, True),
    "qdq-signed": (QuantFormat.QDQ, QuantType.QInt8, QuantType.QInt8, False),
    "operators": (QuantFormat.QOperator, QuantType.QUInt8, QuantType.QUInt8, False),
    "dynamic": None,
    "int4": None,
}
CASES = [
    *itertools.product(("resnet50", "mobilenet_v2"), ("qdq", "qdq-signed", "operators")),
    *itertools.product(("vit", "swin", "detector", "selecting_detector"), ("qdq",)),
    *itertools.product(("bert", "speech"), ("qdq", "dynamic")),
    ("decoder", "int4"),
]
LISTED = Path(__file__).with_name("quantized.txt")


class Reader(CalibrationDataReader):
    """The feeds of networks.py's first run, scaled by some factors."""

    def __init__(self, feed):
        self.feeds = [{name: value * np.asarray(k, value.dtype) if value.dtype == np.float32 else value for name, value in feed.items()} for k in (1, 0.5, 1.5)]

    def get_next(self):
        return self.feeds.pop() if self.feeds else None


def quantize(source, target, form, feed):
    if form == "int4":  # as it is
        shutil.copy(source, target)
        return
    if FORMS[form] is None:
        quantize_dynamic(source, target, weight_type=QuantType.QUInt8)
        return
    layout, weights, activations, by_channel = FORMS[form]
    quantize_static(source, target, Reader(feed), layout, per_channel=by_channel, weight_type=weights, activation_type=activations)


def tinyort(*arguments):
    done = subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, arguments[1:4]))}: {done.stderr.strip()}")
    return done.stdout


def left_to_cpu(program, path, shapes):
    """Lines "sm_N OPERATOR: reason", each once; what is copied but inputs and outputs; and what keeps a run from being recorded."""
    model = onnx.load(path).graph
    ports = {port.name for port in (*model.input, *model.output)}
    for provider, architecture in (*(("cudasim", number) for number in ARCHITECTURES), ("cuda", 80)):  # cuda: described only, but where a GPU is
        plan = json.loads(tinyort(program, "plan", path, *shapes, "--ep", f"{provider}:libraries=off,cpu", "--target", f"{provider}:sm_{architecture}", "--json"))
        for node in plan["nodes"]:
            if node["provider"] == "cpu":
                yield f"sm_{architecture} {node['op']}: {node['verdicts'][0]['message']}"
        yield from (f"copies {copy['value']}" for copy in plan["copies"] if copy["value"] not in ports)
        recording = plan["recording"]
        if recording["state"] != "whole":
            yield f"recorded up to {recording['node']}, {recording['state']}: {recording['recorded']} nodes of {plan_nodes(plan, provider)}"


def plan_nodes(plan, provider):
    return sum(node["provider"] == provider for node in plan["nodes"])


def outputs(program, path, chain, feed, folder):
    for name, value in feed.items():
        np.save(folder / f"{name}.npy", value)
    tinyort(program, "run", path, "--ep", chain, "--save", folder, *(word for name in feed for word in ("--input", f"{name}={folder / name}.npy")))
    return np.load(folder / "output_0.npy")


def launches(program, path, shapes):
    return json.loads(tinyort(program, "bench", path, *shapes, "--ep", "cudasim:libraries=off:graph=off,cpu", "--repeat", "1", "--json"))["calls"]["launches"]


def reference(path, feed):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options).run(None, feed)[0]


def problems(program, path, name, feed, shapes, folder, max_launches):
    """What is wrong; a convolutional network is integers from the first convolution on, so its bytes are those of cpu."""
    device, cpu = (outputs(program, path, chain, feed, folder) for chain in ("cudasim:libraries=off,cpu", "cpu"))
    expected = reference(path, feed)
    scale = np.abs(expected).max()
    if name in ("resnet50", "mobilenet_v2", "detector") and not np.array_equal(device, cpu):
        yield f"{(device != cpu).sum()} of {cpu.size} outputs differ from those of cpu, by up to {np.abs(device - cpu).max():.3g}"
    for whose, found in (("cpu", cpu), ("onnxruntime", expected)):
        if np.abs(device - found).max() > 0.03 * scale:
            yield f"outputs are up to {np.abs(device - found).max():.3g} away from those of {whose}, the largest is {scale:.3g}"
    found = launches(program, path, shapes)
    if found > max_launches:
        yield f"{found} launches a run, {max_launches} are listed"


def main():
    logging.disable(logging.WARNING)  # onnxruntime.quantization wants shapes inferred before; these networks need none
    program, write = sys.argv[1], sys.argv[2:] == ["--write"]
    listed = [] if write else LISTED.read_text().splitlines()
    lines, passed, failed = [], 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for network, form in CASES:
            make, (_, feeds) = next((make, row) for make, row in NETWORKS.items() if make.__name__ == network)
            graph, source, path = Graph(False, np.float32), folder / "float.onnx", folder / "quantized.onnx"
            graph.save(source, make(graph))
            feed = feeds(np.float32)[0]
            quantize(source, path, form, feed)
            if network not in ("decoder", "speech"):  # onnx infers no shape of their outputs, and its checker wants one
                onnx.checker.check_model(path)
            shapes = [word for port, value in feed.items() for word in ("--shape", f"{port}={'x'.join(map(str, value.shape))}")]
            label = f"{network} {form}"
            found = [f"{label}: {line}" for line in dict.fromkeys(left_to_cpu(program, path, shapes))]
            if write:
                lines += [f"{label}: {launches(program, path, shapes)} launches", *found]
                continue
            allowed = next((int(line.split(": ")[1].split()[0]) for line in listed if line.startswith(f"{label}: ") and line.endswith(" launches")), 0)
            wrong = [f"on the CPU, and not listed: {line}" for line in found if line not in listed]
            wrong += problems(program, path, network, feed, shapes, folder, allowed)
            passed, failed = passed + (not wrong), failed + bool(wrong)
            for problem in wrong:
                print(f"FAILED {label}: {problem}")
    if write:
        LISTED.write_text("\n".join(lines) + "\n")
        return
    print(f"cuda-quantized: {passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
