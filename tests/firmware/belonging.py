"""Which files of compiled models belong together: code, header and weights of other trainings, and of other targets, never run silently.

Usage: belonging.py TINYORT. Two trainings of a quantized network, calibrated apart, whose codes differ in their constants alone; two of
a float network, whose code is the same. Arrays that the code does not read are not written.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MAKE = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
counts = Counter()


def check(right, text):
    counts["passed" if right else "failed"] += 1
    if not right:
        print(f"FAILED {text}")


def network(path, seed, quantized):
    """A convolution and a product, with weights of their own; quantized by scales of their own."""
    random = np.random.default_rng(seed)
    nodes, weights = [], []

    def constant(name, array):
        weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def through_bytes(name, scale):
        ends = constant(f"{name}_scale", np.float32(scale)), constant(f"{name}_zero", np.int8(random.integers(-9, 9)))
        nodes.append(helper.make_node("QuantizeLinear", [name, *ends], [f"{name}_q"]))
        nodes.append(helper.make_node("DequantizeLinear", [f"{name}_q", *ends], [f"{name}_real"]))
        return f"{name}_real"

    def weight(name, *shape):
        if not quantized:
            return constant(name, random.normal(0, 0.2, shape).astype(np.float32))
        data = constant(f"{name}_q", random.integers(-127, 127, shape, np.int8))
        nodes.append(helper.make_node("DequantizeLinear", [data, constant(f"{name}_scale", np.float32(random.uniform(0.01, 0.02)))], [name]))
        return name

    def layer(op, x, w, y, **attributes):
        bias = constant(f"{y}_bias", random.integers(-9, 9, 8).astype(np.float32) * np.float32(0.5))
        nodes.append(helper.make_node(op, [x, w, bias], [y], y, **attributes))
        return through_bytes(y, random.uniform(0.05, 0.1)) if quantized else y

    x = through_bytes("x", 0.02) if quantized else "x"
    x = layer("Conv", x, weight("w", 8, 3, 3, 3), "c", kernel_shape=[3, 3])
    nodes.append(helper.make_node("Flatten", [x], ["f"]))
    y = layer("Gemm", "f", weight("v", 72, 8), "g")
    nodes.append(helper.make_node("Identity", [y], ["y"]))
    ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 5, 5])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8])]
    onnx.save(helper.make_model(helper.make_graph(nodes, "net", *ports, weights), opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def compile_to(tinyort, model, out, *options):
    done = subprocess.run([tinyort, "compile", model, "-o", out, "--name", "net", "--main", *options], capture_output=True, text=True)
    check(done.returncode == 0, f"compile {model} {options}: {done.stderr}")
    return out


def make(folder, of):
    """Builds and runs the program with some files of another folder; (exit status, what is said, output)."""
    for name, other in of.items():
        (folder / name).write_bytes((other / name).read_bytes())
    (folder / "x.raw").write_bytes(np.linspace(-1, 1, 75, dtype=np.float32).tobytes())
    done = subprocess.run(["make", "-C", folder, "run", "ARGS=x.raw", "CFLAGS=-O1"], capture_output=True, text=True, env=MAKE)
    output = folder / "output_0.raw"
    return done.returncode, done.stdout + done.stderr, np.frombuffer(output.read_bytes(), np.float32) if output.exists() else None


def hashes(folder):
    return dict(re.findall(r"#define NET_(\w+)_HASH UINT64_C\((0x\w+)\)", (folder / "net.h").read_text()))


def fnv(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return value


def check_trainings(tinyort, folder):
    one, two = (network(folder / f"q{seed}.onnx", seed, True) for seed in (1, 2))
    for form, weights in (("c", "net_weights.c"), ("bin", "net_weights.bin")):
        def fresh(model, name, *options):
            return compile_to(tinyort, model, folder / f"{form}_{name}", "--weights", form, *options)

        a, b, own = fresh(one, "a"), fresh(two, "b"), fresh(one, "own")
        status, said, output = make(own, {})
        check(status == 0 and output is not None, f"{form}: files of one compilation: {said}")
        check(hashes(a)["GRAPH"] == hashes(b)["GRAPH"] and hashes(a)["CODE"] != hashes(b)["CODE"], f"{form}: {hashes(a)} {hashes(b)}")
        status, said, output = make(fresh(one, "mixed"), {weights: b})
        where = "undefined reference" if form == "c" else "Error 5"
        check(status != 0 and output is None and where in said, f"{form}: weights of another training run, or it is not said: {said[-300:]}")
        status, said, output = make(fresh(one, "header"), {"net.h": b})
        check(status != 0 and output is None and "net_header_is_of_this_code" in said, f"{form}: a header of another training compiles")
        status, said, output = make(fresh(one, "target"), {weights: fresh(one, "m55", "--target", "cortex-m55")})
        check(status != 0 and output is None, f"{form}: weights for another target run")
    data = bytearray((folder / "bin_a" / "net_weights.bin").read_bytes())
    head = np.frombuffer(bytes(data[:40]), np.uint64)
    check(bytes(data[:8]) == b"tinyort\0" and head[4] == len(data), f"the head of a file of weights is {head}")
    check([f"0x{number:016x}" for number in head[1:4]] == [hashes(folder / "bin_a")[kind] for kind in ("GRAPH", "CODE", "WEIGHTS")], "the head has the header's hashes")
    damaged = compile_to(tinyort, one, folder / "damaged", "--weights", "bin")
    (damaged / "net_weights.bin").write_bytes(bytes(len(data)))
    check(make(damaged, {})[0] != 0, "a file of zeros is taken for weights")


def check_update(tinyort, folder):
    """Weights of another training whose code is the same to the byte are an update: they run, and give that training's results."""
    one, two = (network(folder / f"f{seed}.onnx", seed, False) for seed in (1, 2))
    a, b = (compile_to(tinyort, model, folder / f"update_{model.stem}", "--weights", "bin") for model in (one, two))
    check(hashes(a)["CODE"] == hashes(b)["CODE"] and hashes(a)["WEIGHTS"] != hashes(b)["WEIGHTS"], f"{hashes(a)} {hashes(b)}")
    wanted = make(b, {})[2]
    status, said, output = make(compile_to(tinyort, one, folder / "updated", "--weights", "bin"), {"net_weights.bin": b})
    check(status == 0 and np.array_equal(output, wanted), f"an update of weights: {said}")
    arrays = [numpy_helper.to_array(t) for t in onnx.load(one).graph.initializer]
    check(sum(array.nbytes for array in arrays) <= (a / "net_weights.bin").stat().st_size - 40, "all weights are in the file")


def check_unread(tinyort, folder):
    """Scales, zero points and biases that are in packed arrays, or in the statements, are written only there."""
    folder = compile_to(tinyort, network(folder / "unread.onnx", 3, True), folder / "unread")
    code, weights = (folder / "net.c").read_text(), (folder / "net_weights.c").read_text()
    arrays = re.findall(r"^extern const \w+ (net_[wp]\d\w*)\[", weights, re.M)
    body = code[code.index("int net_step(") :]
    unread = [name for name in arrays if not re.search(rf"\b{name}\b", body)]
    check(arrays and not unread, f"of {arrays} nothing reads {unread}")


def check_hash(tinyort, folder):
    """The hash of a file of weights, as a loader computes it: the float network has two weights and two biases, all multiples of 8 bytes."""
    made = folder / "update_f1"
    data = (made / "net_weights.bin").read_bytes()
    check(f"0x{fnv(data[40:]):016x}" == hashes(made)["WEIGHTS"], "the hash of the weights is FNV-1a of what follows the head")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for part in (check_trainings, check_update, check_unread, check_hash):
            part(sys.argv[1], Path(folder))
    print(f"firmware-belonging: {counts['passed']} passed, {counts['failed']} failed")
    sys.exit(1 if counts["failed"] or not counts["passed"] else 0)


if __name__ == "__main__":
    main()
