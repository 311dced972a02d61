"""Tests of the command line as a user types it: exit statuses, what is printed where, files that are written.

Usage: run.py TINYORT, from the root of the tree. Works on models/digits.onnx and on small models made here.
"""

import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

DIGITS = "models/digits.onnx"
SEVEN = "models/pictures/7.png"


class Result:
    def __init__(self, done):
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr

    def json(self):
        return json.loads(self.out)


class Suite:
    """Counts checks; each test is a function of it and a folder of its own."""

    def __init__(self, tinyort):
        self.tinyort, self.passed, self.failed = tinyort, 0, 0

    def run(self, *arguments, **environment):
        environment = {**os.environ, **environment}
        done = subprocess.run([self.tinyort, *map(str, arguments)], capture_output=True, text=True, env=environment)
        return Result(done)

    def check(self, condition, text):
        if condition:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED {text}")

    def expect(self, status, said, *arguments, **environment):
        """The exit status, and words that stand in what is printed on stderr (on stdout where all is well)."""
        result = self.run(*arguments, **environment)
        text = " ".join(map(str, arguments))
        self.check(result.status == status, f"{text}: status {result.status}, expected {status}: {result.err.strip()}")
        for words in [said] if isinstance(said, str) else said:
            everything = result.out + result.err
            self.check(words in everything, f"{text}: says nothing of {words!r}: {everything.strip()[:400]}")
        if status in (2, 3):
            self.check(len(result.err.splitlines()) == 1, f"{text}: an error is one line: {result.err.strip()}")
        return result


def save_model(path, nodes, inputs, outputs, opset=17, domains=()):
    graph = helper.make_graph(nodes, "test", inputs, outputs)
    imports = [helper.make_opsetid("", opset)] + [helper.make_opsetid(domain, 1) for domain in domains]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)


def tensor(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def identity_model(path, kind, shape):
    save_model(path, [helper.make_node("Identity", ["x"], ["y"])], [tensor("x", kind, shape)], [tensor("y", kind, shape)])


def test_usage(suite, folder):
    suite.expect(0, "tinyort run MODEL")
    suite.expect(0, "tinyort 0.", "--version")
    suite.expect(2, "did you mean 'run'?", "rnu")
    suite.expect(2, "tinyort run model.onnx", "model.onnx")
    for command in ("run", "plan", "providers", "inspect", "ops", "test", "compare", "bench"):
        help_text = suite.expect(0, f"usage: tinyort {command}", command, "--help").out
        suite.check(len(help_text.splitlines()) <= 40, f"{command} --help fits a screen")
    suite.expect(2, "tell it which MODEL", "run")
    suite.expect(2, "one too many", "run", DIGITS, SEVEN)
    suite.expect(2, "takes no operand", "providers", DIGITS)
    suite.expect(2, "did you mean --random?", "run", DIGITS, "--radom", "1")
    suite.expect(2, "--top wants a whole number", "run", DIGITS, "--top", "many")
    suite.expect(2, "wants a value", "run", DIGITS, "--top")
    suite.expect(2, "takes no value", "run", DIGITS, "--json=yes")
    suite.expect(2, "did you mean 'npy'?", "run", DIGITS, "--format", "np")
    suite.expect(2, "a chain is one list: --ep cpu,cuda", "run", DIGITS, "--ep", "cpu", "--ep", "cuda")
    with open("/dev/full", "w") as full:
        done = subprocess.run([suite.tinyort, "ops"], stdout=full, stderr=subprocess.PIPE, text=True)
        suite.check(done.returncode == 5 and "could not be written" in done.stderr, "output that cannot be written")
    suite.expect(2, "not an option of 'plan'", "plan", DIGITS, "--top", "1")


def test_run(suite, folder):
    arguments = ("run", DIGITS, "--input", SEVEN)
    result = suite.expect(0, "placement: ", *arguments, "--top", "3", "--labels", "models/digits.labels.txt")
    suite.check("seven" in result.out.split("label")[1].splitlines()[1], "the digit is a seven")
    suite.check(result.err.splitlines()[-1].startswith("placement: "), "the last line on stderr is the placement")
    told = suite.run(*arguments, "--json", "--top", "1").json()
    suite.check(told["top"][0]["index"] == 7 and told["outputs"][0]["shape"] == [1, 10], "run --json")
    suite.expect(0, "output", *arguments, "--save", folder / "npy")
    suite.expect(0, "output", *arguments, "--save", folder / "pb", "--format", "pb")
    saved = np.load(folder / "npy" / "output_0.npy")
    again = numpy_helper.to_array(TensorProto.FromString((folder / "pb" / "output_0.pb").read_bytes()))
    suite.check(saved.shape == (1, 10) and saved.argmax() == 7 and np.array_equal(saved, again), "saved outputs")


def test_mistakes(suite, folder):
    suite.expect(3, "did you mean 'models/digits.onnx'?", "run", "models/digitz.onnx", "--random", "1")
    suite.expect(3, "", "run", "LICENSE", "--random", "1")
    suite.expect(3, "is a folder", "plan", "models")
    suite.expect(2, ["'image'", "--random 1"], "run", DIGITS)
    suite.expect(2, "did you mean 'image'?", "run", DIGITS, "--input", "imag=" + SEVEN)
    suite.expect(3, "did you mean 'models/pictures/7.png'?", "run", DIGITS, "--input", "models/pictures/77.png")
    suite.expect(2, "only 1 input", "run", DIGITS, "--input", SEVEN, "--input", SEVEN)
    suite.expect(2, "did you mean 'image'?", "run", DIGITS, "--random", "1", "--shape", "imge=1x1x8x8")
    suite.expect(2, "does not fit", "run", DIGITS, "--random", "1", "--shape", "image=1x1x9x8")
    suite.expect(3, "--resize 8x8", "run", DIGITS, "--input", SEVEN, "--resize", "16x16")
    suite.expect(3, "larger than the picture", "run", DIGITS, "--input", SEVEN, "--crop", "16")
    suite.expect(2, "--mean has 3 numbers", "run", DIGITS, "--input", SEVEN, "--mean", "1,2,3")
    (folder / "broken.png").write_bytes(Path(SEVEN).read_bytes()[:60])
    suite.expect(3, "broken.png", "run", DIGITS, "--input", folder / "broken.png")
    (folder / "no.jpg").write_bytes(b"this is no picture")
    suite.expect(3, "no.jpg", "run", DIGITS, "--input", folder / "no.jpg")


def test_placement(suite, folder):
    suite.expect(2, 'did you mean "cpu"', "plan", DIGITS, "--ep", "cpux")
    suite.expect(2, "TensorRT", "plan", DIGITS, "--ep", "tensorrt,cpu")
    suite.expect(2, "it takes: threads", "plan", DIGITS, "--ep", "cpu:thread=2")
    disabled = {"TINYORT_DISABLE": "cuda"}
    suite.expect(0, ["cuda did not open: DISABLED", "unset"], "run", DIGITS, "--random", "1", "--ep", "cuda,cpu", **disabled)
    suite.expect(4, "DISABLED", "run", DIGITS, "--random", "1", "--ep", "cuda,cpu", "--require", "cuda", **disabled)
    suite.expect(4, "strict", "run", DIGITS, "--random", "1", "--ep", "cuda,cpu", "--strict", **disabled)
    suite.expect(4, "placement: ", "run", DIGITS, "--random", "1", "--ep", "cuda", **disabled)
    suite.expect(2, "for no provider", "plan", DIGITS, "--ep", "cuda,cpu", "--target", "cude:sm_87")
    suite.expect(0, "target sm_87, not opened", "plan", DIGITS, "--ep", "cuda,cpu", "--target", "cuda:sm_87")
    suite.expect(2, "conv9", "plan", DIGITS, "--pin", "conv9=cpu")
    plan = suite.run("plan", DIGITS, "--json").json()
    wanted = {"schema", "model", "chain", "providers", "nodes", "copies", "folded", "memory", "summary"}
    suite.check(set(plan) == wanted and plan["schema"] == 1, "keys of plan --json")
    node = {"index", "path", "name", "op", "domain", "since", "provider", "kernel", "from", "verdicts"}
    suite.check(all(set(entry) == node for entry in plan["nodes"]), "keys of its nodes")
    suite.check(sum(plan["summary"].values()) == len(plan["nodes"]), "the summary counts every node once")
    suite.check([entry["since"] for entry in plan["nodes"]][:3] == [11, 14, 12], "versions of operators")
    x, y, z = (tensor(name, TensorProto.FLOAT, [2]) for name in "xyz")
    nodes = [helper.make_node("Sinus", ["x"], ["y"], domain="my"), helper.make_node("Abs", ["y"], ["z"])]
    save_model(folder / "unknown.onnx", nodes, [x], [z], domains=["my"])
    suite.expect(4, ["Sinus", "NO_OP"], "run", folder / "unknown.onnx", "--random", "1")
    failed = suite.expect(4, "Sinus", "plan", folder / "unknown.onnx", "--json").json()
    suite.check(failed["nodes"][0]["provider"] is None, "a refused plan is printed all the same")
    suite.check(failed["nodes"][0]["verdicts"][0]["code"] == "NO_OP", "with its verdict")
    suite.check(failed["nodes"][1]["verdicts"][0]["code"] == "UPSTREAM", "a node behind it names its cause")


def test_pin_and_allow(suite, folder):
    board = ("plan", DIGITS, "--ep", "cuda,cpu", "--target", "cuda:sm_87")
    free = suite.run(*board, "--json").json()
    on_cuda = [node for node in free["nodes"] if node["provider"] == "cuda"]
    suite.check(on_cuda, "cuda claims something of digits.onnx")
    for pin in (f"{on_cuda[0]['path']}=cpu", f"#{on_cuda[0]['index']}=cpu"):
        pinned = suite.run(*board, "--json", "--pin", pin).json()["nodes"][on_cuda[0]["index"]]
        suite.check(pinned["provider"] == "cpu", f"--pin {pin} moves the node")
        suite.check(pinned["verdicts"][0]["code"] == "PINNED", f"--pin {pin} is the verdict")
        suite.expect(4, "strict", *board, "--pin", pin, "--strict")
    elsewhere = {node["op"] for node in free["nodes"] if node["provider"] == "cpu"} | {on_cuda[0]["op"]}
    suite.expect(0, "cuda", *board, "--pin", pin, "--strict", "--allow", ",".join(sorted(elsewhere)))


def test_input_files(suite, folder):
    model, array = folder / "m.onnx", np.arange(6, dtype=np.float32).reshape(2, 3)
    identity_model(model, TensorProto.FLOAT, ["n", 3])
    np.save(folder / "x.npy", array)
    np.savez(folder / "stored.npz", x=array)
    np.savez_compressed(folder / "packed.npz", other=array)
    (folder / "x.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
    (folder / "x.raw").write_bytes(array.tobytes())
    for name, more in (("x.npy", ()), ("stored.npz", ()), ("packed.npz", ()), ("x.pb", ()), ("x.raw", ("--shape", "x=2x3"))):
        for prefix in ("", "x="):
            suite.expect(0, "y", "run", model, "--input", f"{prefix}{folder / name}", "--save", folder / "out", *more)
            suite.check(np.array_equal(np.load(folder / "out" / "output_0.npy"), array), f"{prefix}{name} arrives as it is")
            (folder / "out" / "output_0.npy").unlink()
    suite.expect(2, "--shape x=1x3", "run", model, "--input", folder / "x.raw")
    suite.expect(3, "24 bytes", "run", model, "--input", folder / "x.raw", "--shape", "x=3x3")
    np.save(folder / "double.npy", array.astype(np.float64))
    suite.expect(3, ["double", "wants float"], "run", model, "--input", folder / "double.npy")
    np.save(folder / "long.npy", np.zeros((2, 4), np.float32))
    suite.expect(3, ["2x4", "nx3"], "run", model, "--input", folder / "long.npy")
    np.savez(folder / "two.npz", x=array, z=array)
    suite.expect(3, "no input 'z'", "run", model, "--input", folder / "two.npz")
    suite.expect(2, "given twice", "run", model, "--input", f"x={folder / 'x.npy'}", "--input", f"x={folder / 'x.npy'}")
    suite.expect(2, "an input is a .npy", "run", model, "--input", "LICENSE")
    bytes_ = (folder / "stored.npz").read_bytes()
    for length in range(0, len(bytes_), 7):
        (folder / "cut.npz").write_bytes(bytes_[:length])
        suite.expect(3, "cut.npz", "run", model, "--input", folder / "cut.npz")
    with zipfile.ZipFile(folder / "text.npz", "w") as archive:
        archive.writestr("x.npy", "no array")
    suite.expect(3, "text.npz", "run", model, "--input", folder / "text.npz")


def write_png(path, pixels):
    """An 8-bit RGB picture, written with the standard library alone."""
    import struct
    import zlib

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width, _ = pixels.shape
    lines = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))


def picture_tensor(suite, folder, model, *options):
    suite.expect(0, "y", "run", model, "--input", folder / "p.png", "--save", folder / "picture", *options)
    return np.load(folder / "picture" / "output_0.npy")


def test_pictures(suite, folder):
    pixels = np.random.default_rng(1).integers(0, 256, (6, 8, 3), np.uint8)
    write_png(folder / "p.png", pixels)
    nchw, nhwc, bytes_model = folder / "nchw.onnx", folder / "nhwc.onnx", folder / "bytes.onnx"
    identity_model(nchw, TensorProto.FLOAT, [1, 3, "h", "w"])
    identity_model(nhwc, TensorProto.FLOAT, ["n", "h", "w", 3])
    identity_model(bytes_model, TensorProto.UINT8, [1, 3, "h", "w"])
    unit = pixels.astype(np.float32) / np.float32(255)
    same = lambda found, wanted: found.shape == wanted.shape and np.allclose(found, wanted, atol=1e-6)
    suite.check(same(picture_tensor(suite, folder, nchw), unit.transpose(2, 0, 1)[None]), "NCHW")
    suite.check(same(picture_tensor(suite, folder, nhwc), unit[None]), "NHWC, told from the shape")
    suite.check(same(picture_tensor(suite, folder, nchw, "--bgr"), unit[..., ::-1].transpose(2, 0, 1)[None]), "BGR")
    suite.check(np.array_equal(picture_tensor(suite, folder, bytes_model), pixels.transpose(2, 0, 1)[None]), "uint8")
    levels = pixels.astype(np.float32).transpose(2, 0, 1)[None]
    suite.check(same(picture_tensor(suite, folder, nchw, "--scale", "1"), levels), "--scale")
    mean, std = np.array([0.485, 0.456, 0.406], np.float32), np.array([0.229, 0.224, 0.225], np.float32)
    normal = ((unit - mean) / std).transpose(2, 0, 1)[None]
    found = picture_tensor(suite, folder, nchw, "--mean", "0.485,0.456,0.406", "--std", "0.229,0.224,0.225")
    suite.check(np.allclose(found, normal, atol=1e-5), "--mean and --std")
    found = picture_tensor(suite, folder, nchw, "--crop", "4x2")
    suite.check(same(found, unit[2:4, 2:6].transpose(2, 0, 1)[None]), "--crop takes the middle")
    found = picture_tensor(suite, folder, nchw, "--resize", "3")
    suite.check(found.shape == (1, 3, 3, 4), "--resize of the shorter side keeps the proportions")
    flat = np.full((6, 8, 3), 77, np.uint8)
    write_png(folder / "p.png", flat)
    found = picture_tensor(suite, folder, nchw, "--resize", "5x13", "--scale", "1")
    suite.check(found.shape == (1, 3, 13, 5) and (found == 77).all(), "an even colour stays what it is")


def test_providers_inspect_ops(suite, folder):
    providers = suite.run("providers", "--json").json()["providers"]
    suite.check([p["status"] for p in providers if p["name"] == "cpu"] == ["ready"], "cpu opens")
    for provider in providers:
        suite.check(provider["status"] == "ready" or (provider["message"] and provider["cure"]),
                    f"{provider['name']}: a provider that is down has a cause and a cure")
    told = suite.run("inspect", DIGITS, "--json", "--shape", "image=1x1x8x8").json()
    suite.check(told["parameters"] == 15338, "parameters of digits.onnx")
    macs = 64 * 16 * 9 + 16 * 32 * 16 * 9 + 4 * 32 * 32 * 9 + 128 * 10
    suite.check(told["flops"] == 2 * macs, f"FLOPs of digits.onnx: {told['flops']}, counted by hand {2 * macs}")
    suite.check(suite.run("inspect", DIGITS, "--json").json()["flops"] is None, "FLOPs of an open shape are not known")
    suite.check(len(suite.run("ops", "--json").json()["operators"]) > 400, "ops --json")
    suite.expect(0, "operators", "ops")
    suite.expect(0, "Conv", "inspect", DIGITS)


def test_test(suite, folder):
    for name, wrong in (("good", False), ("bad", True)):
        case = folder / name
        data = case / "test_data_set_0"
        data.mkdir(parents=True)
        identity_model(case / "model.onnx", TensorProto.FLOAT, [2])
        array = np.array([1, 2], np.float32)
        (data / "input_0.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
        (data / "output_0.pb").write_bytes(numpy_helper.from_array(array + 0.01 * wrong).SerializeToString())
    suite.expect(0, ["PASS", "1 passed, 0 failed, 0 skipped"], "test", folder / "good")
    suite.expect(5, ["FAIL", "expected 1.01", "1 passed, 1 failed"], "test", folder / "good", folder / "bad")
    suite.expect(0, "1 passed, 0 failed", "test", folder / "bad", "--atol", "0.1")
    suite.expect(5, "cannot open", "test", folder / "nothing")


def test_compare_bench(suite, folder):
    suite.expect(0, "no node differs", "compare", DIGITS, "--ep", "cpu", "--ep", "cpu:threads=1")
    suite.expect(2, "both chains", "compare", DIGITS, "--ep", "cpu")
    told = suite.run("bench", DIGITS, "--repeat", "3", "--json", "--ep", "cpu:threads=1").json()
    wanted = {"model", "chain", "threads", "runs", "latency_ms", "load_ms", "peak_rss_bytes"}
    suite.check(set(told) == wanted and told["runs"] == 3 and told["threads"] == 1, "bench --json")
    suite.check(list(told["latency_ms"]) == ["min", "median", "mean", "p90", "p99"], "latencies of bench --json")


def test_symbols(suite, folder):
    names = ("a", "b")
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in names]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])
    graph = helper.make_graph([helper.make_node("Add", names, ["y"])], "sum", inputs, [output])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), folder / "sum.onnx")
    np.save(folder / "four.npy", np.ones(4, np.float32))
    suite.expect(0, "float  3 ", "run", folder / "sum.onnx", "--random", "1", "--shape", "b=3")
    suite.expect(0, "float  4 ", "run", folder / "sum.onnx", "--random", "1", "--input", f"b={folder}/four.npy")
    suite.expect(0, "taken as 1 ", "run", folder / "sum.onnx", "--random", "1")


def test_bind(suite, folder):
    suite.expect(0, "0  conv1", "plan", DIGITS, "--bind", "*=cpu")
    suite.expect(2, 'no input or output "picture"', "plan", DIGITS, "--bind", "picture=cpu")
    suite.expect(2, "not of the form NAME=PROVIDER", "plan", DIGITS, "--bind", "image")
    suite.expect(2, "provider cuda is not in the chain cpu", "plan", DIGITS, "--bind", "image=cuda")
    suite.expect(2, "--bind", "run", DIGITS, "--bind", "image=cpu")
    told = suite.run("plan", DIGITS, "--ep", "cuda", "--target", "cuda:sm_90", "--bind", "*=cuda", "--json").json()
    suite.check(told["copies"] == [], "a bound plan has no copies")
    told = suite.run("plan", DIGITS, "--ep", "cuda", "--target", "cuda:sm_90", "--json").json()
    suite.check([c["before"] for c in told["copies"]] == ["conv1", ""], "copies of a plan, the last at the end")


def main():
    suite = Suite(sys.argv[1])
    for name, test in sorted(globals().items()):
        if name.startswith("test_"):
            with tempfile.TemporaryDirectory() as folder:
                test(suite, Path(folder))
    print(f"cli: {suite.passed} passed, {suite.failed} failed")
    sys.exit(1 if suite.failed or not suite.passed else 0)


if __name__ == "__main__":
    main()
