"""If, Loop and Scan with small bodies: values of the outer graph, states that change their shape, outputs of each trip."""

import numpy as np
from maker import Node, Tensor, ops
from onnx import TensorProto, helper
from values import BOOL

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def value(name, number, shape=None):
    return helper.make_tensor_value_info(name, number, shape)


def truth(flag):
    return Tensor(BOOL, np.array(flag))


@ops("If")
def branches(m):
    """The branches read x1 and x2 of the outer graph, and may give other shapes."""
    shape = m.shape()
    other = shape if m.since < 11 or m.chance(0.6) else m.shape()
    two = m.chance(0.4)
    nodes = {"then_branch": [helper.make_node("Neg", ["x1"], ["t0"]), helper.make_node("Identity", ["x2"], ["t1"])],
             "else_branch": [helper.make_node("Abs", ["x2"], ["e0"]), helper.make_node("Identity", ["x1"], ["e1"])]}
    graphs = {key: helper.make_graph(made[:1 + two], key, [], [value(n.output[0], FLOAT) for n in made[:1 + two]])
              for key, made in nodes.items()}
    condition = m.chance(0.5)
    first = Tensor(BOOL, np.array([condition])) if m.chance(0.2) else truth(condition)
    return Node([first, m.tensor(FLOAT, shape), m.tensor(FLOAT, other)], graphs, outputs=1 + two, names=["x0"])


@ops("Loop")
def loop(m):
    """A state that x2 of the outer graph is added to, or put behind; the trips end by their number or by the condition."""
    shape, grows = m.shape(1, 3), m.chance(0.3)
    ends = m.chance(0.3)
    nodes = [helper.make_node("Not" if ends else "Identity", ["go"], ["on"]),
             helper.make_node("Concat", ["state", "x2"], ["next"], axis=0) if grows and m.opset >= 4 else
             helper.make_node("Sub" if m.opset >= 7 else "Max", ["state", "x2"], ["next"]),
             helper.make_node("Identity", ["x2" if grows else "next"], ["seen"])]
    scans = m.chance(0.6)
    body = helper.make_graph(
        nodes[:2 + scans], "body", [value("trip", INT64, []), value("go", BOOL, []), value("state", FLOAT)],
        [value("on", BOOL, [])] + [value(name, FLOAT) for name in ("next", "seen")[:1 + scans]])
    trips = Tensor(INT64, np.array(m.number(0, 5)).reshape([1] if m.chance(0.2) else []))
    inputs = [trips, truth(m.chance(0.85)), m.tensor(FLOAT, shape), m.tensor(FLOAT, shape)]
    names = ["x0", "" if not ends and m.chance(0.3) else "x1", "x3"]
    return Node(inputs, {"body": body}, outputs=1 + scans, names=names)


def scan_body(shape):
    return helper.make_graph(
        [helper.make_node("Sub", ["state", "element"], ["next"]), helper.make_node("Identity", ["next"], ["seen"])], "body",
        [value("state", FLOAT, shape), value("element", FLOAT, shape)], [value("next", FLOAT, shape), value("seen", FLOAT, shape)])


def batched_scan(m, shape, count):
    """Batches in axis 0, sequences in axis 1, perhaps of lengths of their own."""
    batch = m.number(1, 3)
    attributes = {"body": scan_body(shape), "num_scan_inputs": 1} | ({"directions": [m.number(0, 1)]} if m.chance(0.5) else {})
    lengths = m.list([m.number(0, count) for _ in range(batch)], INT64)
    inputs = [lengths, m.tensor(FLOAT, [batch, *shape]), m.tensor(FLOAT, [batch, count, *shape])]
    return Node(inputs, attributes, outputs=2, names=["x0" if m.chance(0.6) else "", "x1", "x2"])


@ops("Scan")
def scan(m):
    """A running sum over slices; along any axis in either direction."""
    shape, count = m.shape(0, 3), m.number(1, 4)
    if m.since == 8:
        return batched_scan(m, shape, count)
    attributes = {"body": scan_body(shape), "num_scan_inputs": 1}
    axis = m.number(0, len(shape))
    scanned = [*shape[:axis], count, *shape[axis:]]
    negative = m.since >= 11 and m.chance(0.3)
    if axis or m.chance(0.3):
        attributes["scan_input_axes"] = [axis - len(scanned) if negative else axis]
    if m.chance(0.5):
        attributes["scan_output_axes"] = [m.number(0, len(shape))]
    for key in ("scan_input_directions", "scan_output_directions"):
        if m.chance(0.4):
            attributes[key] = [m.number(0, 1)]
    return Node([m.tensor(FLOAT, shape), m.tensor(FLOAT, scanned)], attributes, outputs=2)
