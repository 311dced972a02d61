"""`tinyort quantize --weight-type` and `--dynamic`: a decoder that is trained here (decoder.py), and GPTQ against its textbook form in double.

Usage: blocks.py TINYORT [WORD]: with WORD those checks alone whose name has it. Errors are computed here, in double, from outputs of onnxruntime
without optimizations; onnxruntime's own rounding to the nearest and its quantize_dynamic are what is to be beaten.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as fast for small matrices, and the same sums everywhere

import json
import logging
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnxruntime.capi._pybind_state import quantize_matmul_4bits
from onnxruntime.quantization import QuantType, quantize_dynamic

import decoder
from run import ROOT, Failed, decibels, graph_of, node, run, session

BLOCK = 32
logging.disable()  # quantize_dynamic's advice


def matrices_of(model):
    """Nodes that multiply by a constant, and the constants by name."""
    constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    return [n for n in model.graph.node if n.op_type in ("MatMul", "Gemm") and n.input[1] in constants], constants


def round_to_nearest(path, out):
    """onnxruntime's symmetric 4 bits, without GPTQ; what its MatMulNBitsQuantizer writes."""
    model = onnx.load(path)
    nodes, constants = matrices_of(model)
    for n in nodes:
        k, count = constants[n.input[1]].shape
        codes, scales = np.zeros((count, -(-k // BLOCK), BLOCK // 2), np.uint8), np.zeros(count * -(-k // BLOCK), np.float32)
        quantize_matmul_4bits(codes, np.ascontiguousarray(constants[n.input[1]]), scales, np.zeros(codes.size, np.uint8), BLOCK, count, k, True)
        names = [f"{n.input[1]}_{what}" for what in ("codes", "scales")]
        model.graph.initializer.extend([numpy_helper.from_array(codes, names[0]), numpy_helper.from_array(scales, names[1])])
        attributes = {"K": k, "N": count, "bits": 4, "block_size": BLOCK}
        n.CopyFrom(helper.make_node("MatMulNBits", [n.input[0], *names], [n.output[0]], domain="com.microsoft", **attributes))
    read = {i for n in model.graph.node for i in n.input}
    kept = [t for t in model.graph.initializer if t.name in read]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    onnx.save(model, out)


def bytes_of(path):
    return sum(len(t.raw_data) for t in onnx.load(path).graph.initializer)


class Decoder:
    """A trained decoder, sequences for GPTQ, and others that judge."""

    def __init__(self, tinyort, folder):
        self.tinyort, self.folder = tinyort, folder
        self.model, self.data = folder / "decoder.onnx", folder / "data"
        text, random = decoder.text_of(ROOT), np.random.default_rng(1)
        weights, self.loss = decoder.train(text, random, 70)
        onnx.save(decoder.model_of(weights), self.model)
        self.data.mkdir()
        for i in range(96):
            np.savez(self.data / f"{i:03}.npz", tokens=decoder.sequences(text, random, 1)[:, :-1])
        self.tokens = decoder.sequences(text, random, 64)[:, :-1]
        self.want = self.outputs(self.model)

    def outputs(self, path):
        return session(path).run(None, {"tokens": self.tokens})[0]

    def error(self, path):
        return decibels([[self.want]], [[self.outputs(path)]])

    def quantize(self, name, *options):
        """The report, the path, and the error; outputs of tinyort are those of onnxruntime, but for rounding."""
        path = self.folder / f"{name}.onnx"
        report = json.loads(run(self.tinyort, "quantize", self.model, "-o", path, "--json", *options)[0])
        onnx.checker.check_model(onnx.load(path), full_check=True)
        if report["bytes"] != path.stat().st_size:
            raise Failed(f"{name}: {report['bytes']} bytes told, {path.stat().st_size} written")
        np.savez(self.folder / "input.npz", tokens=self.tokens)
        run(self.tinyort, "run", path, "--input", self.folder / "input.npz", "--save", self.folder / name)
        found, alike = self.error(path), decibels([[self.outputs(path)]], [[np.load(self.folder / name / "output_0.npy")]])
        if alike < found + 10:
            raise Failed(f"{name}: {found:.1f} dB, and tinyort is {alike:.1f} dB from onnxruntime")
        return report, path, found


def check_int4(case):
    """GPTQ is 5 dB above rounding to the nearest in as many bytes; without data the error is no larger than that."""
    nearest = case.folder / "nearest.onnx"
    round_to_nearest(case.model, nearest)
    peer = case.error(nearest)
    report, path, found = case.quantize("gptq", "--weight-type", "int4", "--data", case.data)
    _, _, plain = case.quantize("plain", "--weight-type", "int4")
    print(f"int4: {found:.1f} dB by GPTQ, {plain:.1f} dB without data, onnxruntime {peer:.1f} dB; a loss of {case.loss:.2f}")
    if bytes_of(path) > bytes_of(nearest):
        raise Failed(f"{bytes_of(path)} bytes of weights, onnxruntime has {bytes_of(nearest)}")
    if found < peer + 5 or plain < peer - 0.2:
        raise Failed("less than 5 dB above onnxruntime, or less than it without data")
    if abs(report["db"] - found) > 2 or report["held_out"] != 48 or report["agreement"] < 0.9:
        raise Failed(f"{report['db']:.1f} dB told, on {report['held_out']} samples")
    tables = [f["op"] for f in report["float32"] if "table" in f["why"]]
    if {u["bits"] for u in report["units"]} != {4} or len(report["units"]) != 4 * decoder.LAYERS + 1 or tables != ["Gather"]:
        raise Failed(f"units: {report['units']}; in float32: {report['float32']}")
    again = case.folder / "again.onnx"
    run(case.tinyort, "quantize", case.model, "-o", again, "--weight-type", "int4", "--block", "32", "--data", case.data)
    if again.read_bytes() != path.read_bytes():
        raise Failed("the same data gave other bytes")


def check_int8(case):
    _, _, found = case.quantize("eight", "--weight-type", "int8", "--data", case.data)
    _, _, plain = case.quantize("eight_plain", "--weight-type", "int8", "--block", "64")
    print(f"int8: {found:.1f} dB by GPTQ, {plain:.1f} dB without data in blocks of 64")
    if plain < 48 or found < plain:
        raise Failed("expected 48 dB without data, and more with them")


def check_keep(case):
    report, path, _ = case.quantize("kept", "--weight-type", "int4", "--keep", "MatMul_y")
    whys = {f["name"]: f["why"] for f in report["float32"]}
    stayed = any(n.name == "MatMul_y" and n.op_type == "MatMul" for n in onnx.load(path).graph.node)
    if whys.get("MatMul_y") != "it was to be kept" or not stayed:
        raise Failed(f"MatMul_y was to stay: {whys}")


def check_dynamic(case):
    """Not worse than onnxruntime's own, which has a scale for a matrix."""
    other = case.folder / "other.onnx"
    quantize_dynamic(case.model, other, weight_type=QuantType.QInt8, op_types_to_quantize=["MatMul"])
    peer = case.error(other)
    report, path, found = case.quantize("dynamic", "--dynamic")
    print(f"dynamic: {found:.1f} dB, onnxruntime {peer:.1f} dB")
    if found < peer - 0.5:
        raise Failed("less than onnxruntime")
    ops = [n.op_type for n in onnx.load(path).graph.node]
    if ops.count("MatMulInteger") != len(report["units"]) or report["db"] is not None:
        raise Failed(f"{ops.count('MatMulInteger')} products of integers, {report['db']} dB")
    plan = run(case.tinyort, "plan", path)[0]
    if "MatMulIntegerToFloat" not in plan or "MatMulInteger " in plan:
        raise Failed("products are not joined with what makes floats of them")


# ---- one matrix ----


def round_rows(rows, upper, scale, levels):
    """The rows of a block after rounding with what each gives to the next; codes, errors as the rest gets them, costs."""
    rows, codes, errors, costs = rows.copy(), np.zeros(rows.shape), np.zeros(rows.shape), np.zeros(rows.shape[1])
    for k in range(len(rows)):
        codes[k] = np.clip(np.rint(rows[k] / scale), -levels, levels - 1)
        errors[k] = (rows[k] - codes[k] * scale) / upper[k, k]
        costs += errors[k] ** 2
        rows[k + 1 :] -= np.outer(upper[k, k + 1 :], errors[k])
    return codes, errors, costs


def textbook(w, x, block, bits):
    """GPTQ by the inverse of H: codes and scales, K x N and blocks x N."""
    w, h, levels = w.astype(np.float64), x.T @ x, 2 ** (bits - 1)
    h += 0.01 * np.mean(np.diag(h)) * np.eye(len(h))
    upper = np.linalg.cholesky(np.linalg.inv(h)).T
    codes, scales = [], []
    for begin in range(0, len(w), block):
        end = min(begin + block, len(w))
        part, u = w[begin:end], upper[begin:end, begin:end]
        largest = part[np.abs(part).argmax(0), np.arange(w.shape[1])]
        tried = [(largest / -levels * (1.1 - 0.05 * i)).astype(np.float32).astype(np.float64) for i in range(9)]
        best = np.argmin([round_rows(part, u, scale, levels)[2] for scale in tried], axis=0)
        scale = np.choose(best, tried)
        rounded, errors, _ = round_rows(part, u, scale, levels)
        w[end:] -= upper[begin:end, end:].T @ errors
        codes.append(rounded)
        scales.append(scale)
    return np.concatenate(codes), np.array(scales)


def check_textbook(tinyort, folder):
    """Codes of one matrix are those of the textbook; a last block that is not full, a matrix that is turned, a bias."""
    random = np.random.default_rng(3)
    for k, n, block, bits, turned in ((80, 21, 32, 4, False), (72, 16, 16, 4, True), (50, 5, 32, 8, True)):
        w, bias = random.normal(0, 0.3, (k, n)).astype(np.float32), random.normal(0, 1, n).astype(np.float32)
        x = (random.normal(0, 1, (64, 1, k // 4)) @ random.normal(0, 1, (k // 4, k)) + random.normal(0, 0.3, (64, 1, k))).astype(np.float32)
        nodes = [node("Gemm", "x w b", "y", transB=int(turned))]
        model, out, data = folder / "one.onnx", folder / "one_quantized.onnx", folder / "one.npz"
        onnx.save(graph_of(nodes, {"x": [1, k]}, ["y"], {"w": w.T.copy() if turned else w, "b": bias}), model)
        np.savez(data, x=x)
        run(tinyort, "quantize", model, "-o", out, "--weight-type", f"int{bits}", "--block", block, "--data", data)
        quantized = onnx.load(out)
        constants = {t.name: numpy_helper.to_array(t) for t in quantized.graph.initializer}
        codes, scales = constants["w_codes"].reshape(n, -1), constants["w_scales"]
        if bits == 4:
            codes = np.stack([codes & 15, codes >> 4], -1).reshape(n, -1)
        codes, zero = codes.astype(np.int64), 2 ** (bits - 1)
        want, steps = textbook(w, x[::2, 0].astype(np.float64), block, bits)
        if (codes[:, k:] != zero).any() or (codes[:, :k].T - zero != want).any() or np.abs(scales.T / steps - 1).max() > 1e-6:
            raise Failed(f"{k} x {n}, blocks of {block}: {(codes[:, :k].T - zero != want).sum()} codes differ")
        got = session(out).run(None, {"x": x[0]})[0]
        expected = x[0].astype(np.float64) @ (want * np.repeat(steps, block, 0)[:k]) + bias
        if np.abs(got - expected).max() > 1e-4:
            raise Failed(f"{k} x {n}: onnxruntime is {np.abs(got - expected).max()} from the codes")


def check_gemm_dynamic(tinyort, folder):
    """Gemm with a bias, turned and not, of one value, which is quantized once."""
    random = np.random.default_rng(4)
    w = {"w": random.normal(0, 0.3, (24, 10)), "v": random.normal(0, 0.3, (10, 24)), "b": random.normal(0, 1, 10)}
    nodes = [node("Gemm", "x w b", "y"), node("Gemm", "x v", "z", transB=1)]
    model, out, x = folder / "gemm.onnx", folder / "gemm_dynamic.onnx", random.normal(0, 1, (7, 24)).astype(np.float32)
    onnx.save(graph_of(nodes, {"x": ["N", 24]}, ["y", "z"], {name: a.astype(np.float32) for name, a in w.items()}), model)
    run(tinyort, "quantize", model, "-o", out, "--dynamic")
    onnx.checker.check_model(onnx.load(out), full_check=True)
    want = [x @ w["w"] + w["b"], x @ w["v"].T]
    found = decibels([want], [session(out).run(None, {"x": x})])
    if found < 38 or sum(n.op_type == "DynamicQuantizeLinear" for n in onnx.load(out).graph.node) != 1:
        raise Failed(f"{found:.1f} dB")


def check_refused(tinyort, folder):
    model, out = folder / "none.onnx", folder / "none_out.onnx"
    onnx.save(graph_of([node("MatMul", "x x", "m"), node("Relu", "m", "y")], {"x": [4, 4]}, ["y"], {}), model)
    cases = [
        (["--weight-type", "int4"], "there is no matrix to quantize"), (["--dynamic"], "there is no matrix to quantize"),
        (["--weight-type", "int4", "--scheme", "ort"], "--weight-type beside --scheme"), (["--dynamic", "--data", folder], "--dynamic beside --data"),
        (["--weight-type", "int4", "--dynamic"], "--weight-type beside --dynamic"), (["--weight-type", "int4", "--block", "24"], "a power of two"),
        (["--dynamic", "--block", "32"], "--block"), (["--weight-type", "int4", "--max-error", "30"], "--weight-type beside --max-error"),
        (["--weight-type", "int4", "--truth", "labels"], "--truth"), ([], "--data FOLDER"), (["--weight-type", "int4", "--keep", "nobody"], "no node 'nobody'"),
    ]  # fmt: skip
    for options, text in cases:
        _, told = run(tinyort, "quantize", model, "-o", out, *options, expect=4 if "there is" in text else 2)
        if text not in told or out.exists():
            raise Failed(f"{options}: {told}")


def main(tinyort, word=""):
    passed = failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trained = [check for check in (check_int4, check_int8, check_keep, check_dynamic) if word in check.__name__]
        case = Decoder(tinyort, folder) if trained else None
        checks = [(check, (case,)) for check in trained]
        checks += [(check, (tinyort, folder)) for check in (check_textbook, check_gemm_dynamic, check_refused) if word in check.__name__]
        for check, arguments in checks:
            try:
                check(*arguments)
                passed += 1
            except Failed as failure:
                failed += 1
                print(f"FAILED {check.__name__}: {failure}")
    print(f"quantize, matrices: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
