"""Loop and Scan: what no trip changes is read where it lies, and weights among it are packed once."""

import numpy as np
from onnx import TensorProto, helper

from suite import floats, save_model, tensor, weight

SIZE = 8
CARRIED = (("w1", TensorProto.FLOAT, [SIZE, 32]), ("w2", TensorProto.FLOAT, [32, SIZE]), ("shape", TensorProto.INT64, [3]),
           ("k", TensorProto.FLOAT, [1, SIZE]))


def weights():
    random = np.random.default_rng(0)
    return [random.standard_normal(shape, np.float32) / 5 for _, _, shape in CARRIED[:2]] + [np.array([1, 2, 4])]


def body_of(op, through_identity):
    """state = relu(state w1) w2; w1, w2, a shape and k go from trip to trip as they are; two outputs are stacked."""
    nodes = [helper.make_node("MatMul", ["state", "w1"], ["a"], "first"), helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("MatMul", ["b", "w2"], ["next"], "second"), helper.make_node("Reshape", ["state", "shape"], ["shaped"]),
             helper.make_node("Add", ["k", "state"], ["added"])]
    inputs = [floats("state", [1, SIZE])] + [tensor(*carried) for carried in CARRIED]
    suffix = "_handed_on" if through_identity else ""
    nodes += [helper.make_node("Identity", [name], [name + suffix]) for name, _, _ in CARRIED if suffix]
    outputs = [floats("next", [1, SIZE])] + [tensor(name + suffix, kind, shape) for name, kind, shape in CARRIED]
    outputs += [floats("shaped", None), floats("added", [1, SIZE])]
    if op == "Scan":
        return helper.make_graph(nodes, "body", inputs + [floats("part", [2])], outputs)
    counters = [tensor("trip", TensorProto.INT64, []), tensor("going", TensorProto.BOOL, [])]
    nodes.append(helper.make_node("Identity", ["going"], ["goes_on"]))
    return helper.make_graph(nodes, "body", counters + inputs, [tensor("goes_on", TensorProto.BOOL, [])] + outputs)


def model(path, op, trips, through_identity):
    states = ["x", "W1", "W2", "SHAPE", "k0"]
    outputs = [f"y{i}" for i in range(7)]
    body = body_of(op, through_identity)
    if op == "Scan":
        node = helper.make_node("Scan", [*states, "parts"], outputs, "loop", body=body, num_scan_inputs=1)
        count = weight("parts", np.zeros((trips, 2), np.float32))
    else:
        node = helper.make_node("Loop", ["trips", "", *states], outputs, "loop", body=body)
        count = weight("trips", np.int64(trips))
    held = [weight(name, array) for name, array in zip(states[1:4], weights())]
    kinds = [TensorProto.INT64 if i == 3 else TensorProto.FLOAT for i in range(7)]
    save_model(path, [node], [floats("x", [1, SIZE]), floats("k0", [1, SIZE])], [tensor(o, kind, None) for o, kind in zip(outputs, kinds)],
               weights=[*held, count])


def expected(trips, state, k):
    w1, w2, shape = weights()
    shaped, added = np.zeros((trips, *shape), np.float32), np.zeros((trips, 1, SIZE), np.float32)
    for trip in range(trips):
        shaped[trip], added[trip] = state.reshape(shape), k + state
        state = np.maximum(state @ w1, 0) @ w2
    return state, w1, w2, shape, k, shaped, added


def test_unchanged_values(suite, folder):
    """Results, with no trip too, and the same bits from a saved plan."""
    random = np.random.default_rng(1)
    x, k = random.standard_normal((2, 1, SIZE), np.float32)
    np.save(folder / "x.npy", x)
    np.save(folder / "k.npy", k)
    given = ("--input", f"x={folder}/x.npy", "--input", f"k0={folder}/k.npy")
    cases = [(op, trips, identity) for op in ("Loop", "Scan") for trips in (0, 1, 3) for identity in (False, True) if op == "Loop" or trips]
    for number, (op, trips, identity) in enumerate(cases):
        model(folder / "m.onnx", op, trips, identity)
        for chain in ("cpu", "cpu:isa=plain", "cudasim,cpu"):
            text, direct, planned = f"{op}, {trips} trips, {chain}", folder / f"{number}{chain}", folder / f"{number}{chain}.plan"
            suite.expect(0, "placement", "run", folder / "m.onnx", "--ep", chain, *given, "--save", direct)
            suite.expect(0, "placement", "plan", folder / "m.onnx", "--ep", chain, "-o", planned)
            suite.expect(0, "placement", "run", "--plan", planned, *given, "--save", f"{direct}.saved")
            for i, wanted in enumerate(expected(trips, x, k)):
                got, saved = np.load(direct / f"output_{i}.npy"), np.load(f"{direct}.saved/output_{i}.npy")
                suite.check(got.shape == wanted.shape and np.allclose(got, wanted, atol=1e-4), f"{text}: output {i} is {got}, not {wanted}")
                suite.check(got.tobytes() == saved.tobytes(), f"{text}: output {i} out of a saved plan")


def test_no_trip_copies(suite, folder):
    """Weights are constants in the body, and nothing but the condition is copied from trip to trip."""
    for identity in (False, True):
        model(folder / "m.onnx", "Loop", 3, identity)
        told = suite.run("plan", folder / "m.onnx", "--json").json()
        copied = [copy["value"] for copy in told["copies"]]
        suite.check(copied == ["going", "shaped"], f"copies of {copied}")
        raw = 2 * 4 * SIZE * 32
        suite.check(told["host_memory"]["weights"] >= 2 * raw, f"weights of the body are packed: {told['host_memory']}")


def test_scalars_that_are_not(suite, folder):
    """A carried value that the file declares as a scalar, and that the body makes one of shape [1], as PaddlePaddle's exporter does."""
    body = helper.make_graph([helper.make_node("Add", ["sum", "one"], ["next"]), helper.make_node("Identity", ["going"], ["goes_on"])], "body",
                             [tensor("trip", TensorProto.INT64, []), tensor("going", TensorProto.BOOL, []), floats("sum", [])],
                             [tensor("goes_on", TensorProto.BOOL, []), floats("next", [])])  # fmt: skip
    save_model(folder / "m.onnx", [helper.make_node("Loop", ["trips", "", "x"], ["y"], "loop", body=body)], [floats("x", [])], [floats("y", [])],
               weights=[weight("one", np.ones(1, np.float32)), weight("trips", np.int64(3))])
    np.save(folder / "x.npy", np.float32(4))
    suite.expect(0, "placement", "run", folder / "m.onnx", "--input", folder / "x.npy", "--save", folder)
    found = np.load(folder / "output_0.npy")
    suite.check(found.shape == (1,) and found[0] == 7, f"4 + 3 trips: {found}")
