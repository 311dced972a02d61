"""A build for another machine or C library (the table of targets in the Makefile), tried by its command line.

Usage: run.py TARGET TINYORT NATIVE, from the root of the tree. TINYORT runs the build, by an emulator where it has to; NATIVE is the program of
this machine, which makes the numbers and the saved plans to compare with. Prints `TARGET: N passed, N failed`.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, "tests/shipped")
sys.dont_write_bytecode = True
import test as shipped  # noqa: E402  (tests/shipped/test.py)

DIGITS = "models/digits.onnx"
ARCHITECTURES = {"x86_64": "x86-64", "aarch64": "aarch64", "arm": "arm", "riscv64": "riscv64"}
SETS = ("plain", "v2", "v3", "v3_vnni", "v4", "v4_vnni", "neon", "neon_dot", "rvv")
INPUT_ERROR = 3


def tell(program, *arguments, code=0):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == code, f"{arguments}: exit status {done.returncode}: {done.stdout[-300:]}{done.stderr[-300:]}"
    return done.stdout + done.stderr


def sets_of(program):
    """Instruction sets that the program and the processor under it have."""
    usable = lambda name: subprocess.run([program, "providers", "--ep", f"cpu:isa={name}", "--require", "cpu"], capture_output=True).returncode == 0
    return [name for name in SETS if usable(name)]


# ---- networks without functions of libm -------------------------------------------------------------------------------


def weight(rng, name, *shape):
    return numpy_helper.from_array(rng.standard_normal(shape, dtype=np.float32) / np.float32(np.sqrt(np.prod(shape[1:]))), name)


def float_network(path):
    """Convolutions (3x3, depthwise, 1x1), a residual, pools and a Gemm."""
    rng = np.random.default_rng(1)
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w0", "b0"], ["c0"], pads=[1, 1, 1, 1], strides=[2, 2]),
        node("Relu", ["c0"], ["r0"]),
        node("Conv", ["r0", "w1"], ["c1"], pads=[1, 1, 1, 1], group=24),
        node("Clip", ["c1", "zero", "six"], ["r1"]),
        node("Conv", ["r1", "w2"], ["c2"]),
        node("Add", ["c2", "r0"], ["a2"]),
        node("MaxPool", ["a2"], ["p2"], kernel_shape=[3, 3], strides=[2, 2]),
        node("GlobalAveragePool", ["p2"], ["g"]),
        node("Flatten", ["g"], ["f"]),
        node("Gemm", ["f", "w3", "b3"], ["y"], transB=1),
    ]
    weights = [weight(rng, "w0", 24, 3, 3, 3), weight(rng, "b0", 24), weight(rng, "w1", 24, 1, 3, 3), weight(rng, "w2", 24, 24, 1, 1),
               weight(rng, "w3", 10, 24), weight(rng, "b3", 10)]
    weights += [numpy_helper.from_array(np.float32(v), n) for n, v in (("zero", 0), ("six", 6))]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "floats", [info("x", TensorProto.FLOAT, [2, 3, 33, 33])], [info("y", TensorProto.FLOAT, [2, 10])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def byte_network(path):
    """A convolution, a depthwise one and a product as quantizers write them: DequantizeLinear, the node, QuantizeLinear."""
    rng = np.random.default_rng(2)
    node, nodes, weights = helper.make_node, [], []

    def constant(name, values):
        weights.append(numpy_helper.from_array(values, name))
        return name

    def layer(number, op, x, shape, **attributes):
        w = rng.integers(-127, 128, shape).astype(np.int8)
        scale, zero = constant(f"s{number}", np.float32(1 / 255 * (number + 1))), constant(f"z{number}", np.uint8(128))
        nodes.append(node("DequantizeLinear", [constant(f"w{number}", w), constant(f"ws{number}", np.float32(0.01)), constant(f"wz{number}", np.int8(0))],
                          [f"d{number}"]))
        nodes.append(node(op, [x, f"d{number}"], [f"o{number}"], **attributes))
        nodes.append(node("QuantizeLinear", [f"o{number}", scale, zero], [f"q{number}"]))
        nodes.append(node("DequantizeLinear", [f"q{number}", scale, zero], [f"x{number}"]))
        return f"x{number}"

    scale, zero = constant("s", np.float32(1 / 255)), constant("z", np.uint8(3))
    nodes += [node("QuantizeLinear", ["x", scale, zero], ["q"]), node("DequantizeLinear", ["q", scale, zero], ["xq"])]
    x = layer(0, "Conv", "xq", (32, 3, 3, 3), pads=[1, 1, 1, 1])
    x = layer(1, "Conv", x, (32, 1, 3, 3), pads=[1, 1, 1, 1], group=32)
    nodes += [node("GlobalAveragePool", [x], ["g"]), node("Flatten", ["g"], ["f"]),
              node("QuantizeLinear", ["f", "s1", "z1"], ["fq"]), node("DequantizeLinear", ["fq", "s1", "z1"], ["fx"])]
    x = layer(2, "MatMul", "fx", (32, 10))
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "bytes", [info("x", TensorProto.FLOAT, [1, 3, 17, 17])], [info("q2", TensorProto.UINT8, [1, 10])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def output_of(program, model, isa, folder):
    tell(program, "run", model, "--random", 7, "--ep", f"cpu:isa={isa}:threads=2", "--save", folder)
    return np.load(folder / "output_0.npy")


# ---- tests ------------------------------------------------------------------------------------------------------------


def test_version_tells_what_it_is(t):
    told = json.loads(tell(t.program, "version", "--json"))
    found = told["architecture"], told["c_library"], told["left_out"], told["libraries"]["libpng"]
    libc = "musl" if t.target.endswith("musl") else "glibc"
    assert found == (ARCHITECTURES[t.target.split("-")[0]], libc, ["PICTURES", "REGEX"], None), found
    assert "left out" in tell(t.program, "version")


def test_pictures_are_refused(t):
    told = tell(t.program, "run", DIGITS, "--input", "models/pictures/7.png", code=INPUT_ERROR)
    assert "PICTURES=0" in told and ".npy" in told, told


def test_shipped_models(t):
    for one in (shipped.test_stated_accuracy, shipped.test_same_as_reference_at_any_batch, shipped.test_edges_are_right):
        one(t.program, t.folder)


def test_bits(t):
    """A set that both machines have makes the same bits, and so do all of them of bytes; floats of others differ by rounding."""
    for name, make in (("floats", float_network), ("bytes", byte_network)):
        model = t.folder / f"{name}.onnx"
        make(model)
        native = {isa: output_of(t.native, model, isa, t.folder) for isa in sets_of(t.native)}
        for isa in sets_of(t.program):
            found, plain = output_of(t.program, model, isa, t.folder), native["plain"]
            if isa in native or name == "bytes":
                same = native.get(isa, plain)
                assert found.tobytes() == same.tobytes(), f"{name}, {isa}: {np.abs(found.astype(float) - same).max()} from {t.native}"
            else:
                assert np.allclose(found, plain, rtol=1e-5, atol=1e-5), f"{name}, {isa}: {np.abs(found - plain).max()}"


def test_saved_plans(t):
    plan, model = t.folder / "saved.plan", t.folder / "floats.onnx"
    float_network(model)
    tell(t.program, "plan", model, "-o", plan)
    found = {}
    for how in ([model], ["--plan", plan]):
        tell(t.program, "run", *how, "--random", 7, "--save", t.folder)
        found[len(how)] = np.load(t.folder / "output_0.npy")
    assert found[1].tobytes() == found[2].tobytes(), "a saved plan does not what the model does"
    tell(t.native, "plan", model, "-o", plan)
    told = tell(t.program, "run", "--plan", plan, "--random", 7, code=0 if t.same_machine else 4)
    assert t.same_machine or "the saved plan was made" in told and "make it again" in told, told


def test_static_program_in_an_empty_root(t):
    if not t.target.endswith("musl"):
        return
    program = Path(f"build/{t.target}/tinyort")
    assert "INTERP" not in tell("readelf", "-lW", program), "the program needs a dynamic loader"
    if not t.same_machine:
        return
    root = t.folder / "root"
    root.mkdir()
    for file in (program, Path(DIGITS)):
        (root / file.name).write_bytes(file.read_bytes())
    (root / "tinyort").chmod(0o755)
    tell("unshare", "--user", "--map-root-user", "chroot", root, "/tinyort", "run", "/digits.onnx", "--random", 1)
    assert {p.name for p in root.iterdir()} == {"tinyort", "digits.onnx"}


class Try:
    def __init__(self, target, program, native, folder):
        self.target, self.program, self.native, self.folder = target, program, native, folder
        self.same_machine = target.startswith("x86_64")


def main():
    target, program, native = sys.argv[1:]
    passed = failed = 0
    for name, test in [(n, f) for n, f in globals().items() if n.startswith("test_")]:
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(Try(target, program, native, Path(folder)))
                passed += 1
            except AssertionError as error:
                print(f"FAILED {target} {name}: {error}")
                failed += 1
    print(f"{target}: {passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
