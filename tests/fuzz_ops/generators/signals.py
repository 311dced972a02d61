"""Fourier transforms, windows, mel weights."""

from maker import Node, ops
from onnx import TensorProto


@ops("DFT", sums=True)
def dft(m):
    shape = m.shape(1, 4, empty=False) + [m.pick(1, 1, 2)]
    rank = len(shape)
    axis = m.number(0, rank - 2)
    attributes = m.flags("inverse", "onesided")
    if attributes.get("onesided"):
        shape[-1] = 2 if attributes.get("inverse") else 1
        if attributes.get("inverse"):
            shape[axis] = max(shape[axis], 2)
    inputs = [m.tensor("T1", shape), m.scalar(m.number(1, 6), "T2") if m.chance(0.4) else None]
    if m.since >= 20:
        if axis != rank - 2 or m.chance(0.5):
            inputs.append(m.scalar(axis - rank if m.chance(0.4) else axis))
        return Node(inputs, attributes)
    return Node(inputs, attributes | ({"axis": axis} if axis != 1 or m.chance(0.5) else {}))


@ops("STFT", sums=True)
def stft(m):
    length, frame = m.number(4, 12), m.number(1, 4)
    parts = m.pick(1, 1, 2)
    onesided = 0 if parts == 2 else m.number(0, 1)
    shape = [m.number(1, 2), length, parts]
    if parts == 1 and m.chance(0.15):
        shape = shape[:2]
    windowed = m.chance(0.6)
    inputs = [m.tensor("T1", shape), m.scalar(m.number(1, 4), "T2"), m.tensor("T1", [frame]) if windowed else None]
    if not windowed or m.chance(0.5):
        inputs.append(m.scalar(frame, "T2"))
    return Node(inputs, {"onesided": onesided} if not onesided or m.chance(0.5) else {})


@ops("HannWindow", "HammingWindow", "BlackmanWindow")
def window(m):
    attributes = {"output_datatype": m.type("T2", lambda t: t in (1, 10, 11, 16))} if m.chance(0.6) else {}
    return Node([m.scalar(m.number(0 if m.chance(0.1) else 2, 9), "T1")], attributes | m.flags("periodic"))


@ops("MelWeightMatrix")
def mel_weights(m):
    rate = m.pick(16, 8192, 16000)
    attributes = {"output_datatype": m.pick(TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16)} if m.chance(0.5) else {}
    return Node([m.scalar(m.number(1, 6), "T1"), m.scalar(m.pick(8, 16, 31), "T1"), m.scalar(rate, "T1"),
                 m.scalar(m.pick(0.0, 1.0), "T2"), m.scalar(rate / m.pick(2, 3), "T2")], attributes)
