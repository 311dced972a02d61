"""What `tinyort quantize` refuses, and how: each error names what is wrong; nothing is left of a file that was not finished.

Usage: refused.py TINYORT.
"""

import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

INPUT, USAGE, PLACEMENT, FAILED = 3, 2, 4, 5


def model(path, weights, nodes=None, shape=("N", 8), external=False):
    nodes = nodes or [helper.make_node("MatMul", ["x", "w"], ["m"], "product"), helper.make_node("Relu", ["m"], ["y"], "clamp")]
    graph = helper.make_graph(
        nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(a), name) for name, a in weights.items()],
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(made, path, save_as_external_data=external, all_tensors_to_one_file=True, size_threshold=0, location=Path(path).name + ".data")
    return path


class Checks:
    def __init__(self, tinyort, folder):
        self.tinyort, self.folder = tinyort, Path(folder)
        self.passed = self.failed = 0
        self.random = np.random.default_rng(1)
        self.net = model(self.folder / "net.onnx", {"w": self.random.normal(0, 1, (8, 8)).astype("f4")})
        self.data = self.samples("data", lambda i: self.random.normal(0, 1, (1, 8)).astype("f4"))

    def samples(self, name, make, count=8):
        (self.folder / name).mkdir()
        for i in range(count):
            np.save(self.folder / name / f"{i:02}.npy", make(i))
        return self.folder / name

    def run(self, what, arguments, status, *words, out="q.onnx", **options):
        """The command must end with the status, and say the words; without success, no file is left."""
        out = self.folder / out
        out.unlink(missing_ok=True)
        before = set(self.folder.iterdir())
        done = subprocess.run([self.tinyort, "quantize", *map(str, arguments), "-o", out], capture_output=True, text=True, **options)
        missing = [w for w in words if w not in done.stderr + done.stdout]
        left = set(self.folder.iterdir()) - before
        right = done.returncode == status and not missing and bool(left) == (status == 0)
        self.count(what, right, f"status {done.returncode}, expected {status}; missing {missing}; left {sorted(p.name for p in left)}: {done.stderr.strip()[-300:]}")
        out.unlink(missing_ok=True)

    def count(self, what, right, found):
        self.passed, self.failed = self.passed + bool(right), self.failed + (not right)
        if not right:
            print(f"FAILED {what}: {found}")

    def inputs(self):
        run, net = self.run, self.net
        run("a folder that is not there", [net, "--data", self.folder / "none"], INPUT, "none")
        (self.folder / "empty").mkdir()
        run("an empty folder", [net, "--data", self.folder / "empty"], INPUT, "no file", "16 or more")
        run("a wrong shape", [net, "--data", self.samples("shape", lambda i: np.zeros((1, 9), "f4"))], INPUT, "00.npy", "1x9", "N x 8")
        run("a wrong type", [net, "--data", self.samples("type", lambda i: np.zeros((1, 8)))], INPUT, "double", "float")
        run("a NaN", [net, "--data", self.samples("nan", lambda i: np.full((1, 8), np.nan if i == 5 else 1, "f4"))], INPUT, "sample 5", "'x'", "NaN")
        run("a model in place of a sample", [net, "--data", net], USAGE, "net.onnx")
        run("no data", [net], USAGE, "--data FOLDER")
        run("labels of other samples", [net, "--data", self.data, "--truth", self.text("few.txt", "1\n2\n")], INPUT, "2 labels", "8 samples")
        run("labels that are words", [net, "--data", self.data, "--truth", self.text("words.txt", "cat\n")], INPUT, "line 1", "cat")
        run("choices without bits", [net, "--data", self.data, "--choices", self.text("choices.tsv", "product\n")], INPUT, "line 1", "8 or 32")
        run("a unit that is not there", [net, "--data", self.data, "--choices", self.text("other.tsv", "nowhere\t32\n")], USAGE, "nowhere")
        run("an operator in place of the model", [net, "--data", self.data, "--keep", "Conv_3"], USAGE, "Conv_3")

    def text(self, name, contents):
        (self.folder / name).write_text(contents)
        return self.folder / name

    def values(self):
        """Right results for what is odd: constants, one sample, infinities in a mask, a dead output, external weights."""
        run, net = self.run, self.net
        run("zeros alone", [net, "--data", self.samples("zeros", lambda i: np.zeros((1, 8), "f4"))], 0, "dB")
        run("one constant", [net, "--data", self.samples("same", lambda i: np.full((1, 8), 5, "f4"))], 0, "dB")
        run("one sample", [net, "--data", self.samples("one", lambda i: np.ones((1, 8), "f4"), 1)], 0, "1 sample")
        run("subnormal values", [net, "--data", self.samples("tiny", lambda i: np.full((1, 8), 1e-40, "f4"))], 0, "dB")
        run("values of the largest size", [net, "--data", self.samples("huge", lambda i: np.full((1, 8), 1e37, "f4"))], 0, "dB")
        mask = np.where(np.tri(8), 0, -np.inf).astype("f4")
        nodes = [helper.make_node("MatMul", ["x", "w"], ["m"], "product"), helper.make_node("Add", ["m", "mask"], "s".split(), "masked"),
                 helper.make_node("Softmax", ["s"], ["y"], "soft")]  # fmt: skip
        masked = model(self.folder / "masked.onnx", {"w": self.random.normal(0, 1, (8, 8)).astype("f4"), "mask": mask}, nodes, ("N", 8, 8))
        run("a mask of infinities", [masked, "--data", self.samples("masked", lambda i: self.random.normal(0, 1, (1, 8, 8)).astype("f4"))], 0, "infinite")
        outside = model(self.folder / "outside.onnx", {"w": self.random.normal(0, 1, (8, 8)).astype("f4")}, external=True)
        run("weights outside of the file", [outside, "--data", self.data], 0, "dB")

    def models(self):
        run = self.run
        nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], "rounded"), helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"], "back")]
        done = model(self.folder / "done.onnx", {"s": np.float32(0.1), "z": np.uint8(0)}, nodes)
        run("a model that is quantized", [done, "--data", self.data], USAGE, "quantized already", "rounded", "QuantizeLinear")
        run("no model", [self.folder / "nothing.onnx", "--data", self.data], INPUT, "nothing.onnx")
        run("nothing to quantize", [model(self.folder / "sign.onnx", {}, [helper.make_node("Sign", ["x"], ["y"], "sign")]), "--data", self.data], PLACEMENT, "sign", "8-bit")
        big = self.folder / "big.onnx"
        rows = 2**29 // 4096 + 1  # float32: over 2 GiB
        tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4096, rows], data_location=TensorProto.EXTERNAL)
        for key, value in (("location", "big.data"), ("offset", "0"), ("length", str(4 * 4096 * rows))):
            tensor.external_data.add(key=key, value=value)
        graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"], "product")], "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4096])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", rows])], [tensor])  # fmt: skip
        big.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
        with open(self.folder / "big.data", "wb") as file:
            file.truncate(4 * 4096 * rows)  # zeros that take no room on the disk
        run("a model of more than 2 GiB", [big, "--data", self.samples("big", lambda i: np.ones((1, 4096), "f4"), 2)], PLACEMENT, "2 GiB")

    def files(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))  # noqa: E731
        self.run("a full disk", [self.net, "--data", self.data, "--quick"], FAILED, "q.onnx", preexec_fn=limit)
        own = subprocess.run([self.tinyort, "quantize", self.net, "--data", self.data, "-o", self.net], capture_output=True, text=True)
        self.count("its own model", own.returncode == USAGE and "net.onnx" in own.stderr, own.stderr)
        self.run("a folder that is not there", [self.net, "--data", self.data], INPUT, "nowhere", out="nowhere/q.onnx")
        deep = [helper.make_node("MatMul", [f"v{i}" if i else "x", "w"], [f"v{i + 1}" if i < 199 else "y"], f"p{i}") for i in range(200)]
        slow = model(self.folder / "slow.onnx", {"w": np.eye(8, dtype="f4")}, deep)
        out = self.folder / "killed.onnx"
        heard = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731: what runs behind a shell ignores it
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            before = set(self.folder.iterdir())
            process = subprocess.Popen([self.tinyort, "quantize", slow, "--data", self.data, "-o", out], stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=heard)
            time.sleep(0.2)
            process.send_signal(number)
            process.communicate()
            left = set(self.folder.iterdir()) - before
            self.count(f"signal {number}", process.returncode and not left, f"status {process.returncode}, left {left}")


def main(tinyort):
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(tinyort, folder)
        for group in (checks.inputs, checks.values, checks.models, checks.files):
            group()
    print(f"quantize, refused: {checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
