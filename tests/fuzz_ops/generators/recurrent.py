"""LSTM, GRU and RNN."""

import numpy as np
from maker import Node, Tensor, ops
from onnx import TensorProto

PLAIN = ["Relu", "Tanh", "Sigmoid", "Softsign", "Softplus"]
WITH_ALPHA = {"LeakyRelu": 1, "ThresholdedRelu": 1, "Elu": 1, "Affine": 2, "ScaledTanh": 2, "HardSigmoid": 2}  # how many numbers


@ops("LSTM", "GRU", "RNN")
def recurrent(m):
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[m.name]
    functions = {"LSTM": 3, "GRU": 2, "RNN": 1}[m.name]
    length, batch, size, hidden = m.number(1, 4), m.number(1, 3), m.number(1, 3), m.number(1, 3)
    direction = m.pick("forward", "reverse", "bidirectional")
    count = 2 if direction == "bidirectional" else 1
    layout = m.number(0, 1) if m.has("layout") and m.chance(0.4) else 0
    swap = lambda shape: [shape[1], shape[0], *shape[2:]] if layout else shape
    attributes = {"hidden_size": hidden} if m.chance(0.9) else {}
    if direction != "forward" or m.chance(0.4):
        attributes["direction"] = direction
    if layout:
        attributes["layout"] = 1
    if m.chance(0.25):
        attributes["clip"] = m.pick(0.5, 2.0)
    if m.chance(0.25):
        names = [m.random.choice(PLAIN + list(WITH_ALPHA)) for _ in range(functions * count)]
        attributes["activations"] = names
        if m.chance(0.5):
            attributes["activation_alpha"] = [0.5 for name in names if WITH_ALPHA.get(name, 0) >= 1]
            attributes["activation_beta"] = [0.25 for name in names if WITH_ALPHA.get(name, 0) >= 2]
    attributes |= m.flags("linear_before_reset", "input_forget")
    if m.has("output_sequence") and m.chance(0.5):
        attributes["output_sequence"] = 1
    inputs = [m.tensor("T", swap([length, batch, size])), m.tensor("T", [count, gates * hidden, size]),
              m.tensor("T", [count, gates * hidden, hidden]),
              m.tensor("T", [count, 2 * gates * hidden]) if m.chance(0.6) else None,
              Tensor(TensorProto.INT32, np.array([m.number(0 if m.chance(0.1) else 1, length) for _ in range(batch)])) if m.chance(0.3) else None,
              m.tensor("T", swap([count, batch, hidden])) if m.chance(0.4) else None]
    if m.name == "LSTM":
        inputs.append(m.tensor("T", swap([count, batch, hidden])) if m.chance(0.4) else None)
        inputs.append(m.tensor("T", [count, 3 * hidden]) if m.chance(0.3) else None)
    outputs = [m.chance(0.8), m.chance(0.7)] + ([m.chance(0.6)] if m.name == "LSTM" else [])
    outputs = [wanted or formal.mode != "?" for wanted, formal in zip(outputs, m.schema.outputs)]
    if not any(outputs):
        outputs[1] = True
    return Node(inputs, attributes, outputs)
