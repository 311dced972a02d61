"""Quantized operators of com.microsoft."""

import numpy as np
from maker import Node, Tensor, ops
from onnx import TensorProto
from values import integer_range

from .quantized import bytes_tensor, scales, zero_point

MICROSOFT = "com.microsoft"
FLOAT, INT32, UINT8 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.UINT8


def linear(m, number, among=(0.5, 0.25, 1.0, 0.1, 0.03)):
    """A scale and a zero point of an 8-bit type; the zero point may be absent."""
    low, high = integer_range(number)
    zero = m.pick(0, 0, 1, 3, 7, -5, 100, 128)
    value = min(max(zero, low), high)
    return [Tensor(FLOAT, np.array(m.pick(*among))), Tensor(number, np.array(value))]


def optional(m, tensors):
    """The same without the zero point, now and then."""
    return [tensors[0], None if m.chance(0.25) else tensors[1]]


@ops("QuantizeLinear", domain=MICROSOFT)
def quantize(m):
    shape = m.shape(1 if m.chance(0.8) else 0)
    entries, attributes = per_axis(m, shape)
    m.special = False
    number = m.type("T1")
    inputs = [m.tensor(number, shape), scales(m, number, entries)]
    if m.chance(0.7):
        inputs.append(zero_point(m, m.type("T2"), entries))
    return Node(inputs, attributes)


def per_axis(m, shape):
    if not shape or m.chance(0.5):
        return [], {}
    axis = m.number(0, len(shape) - 1)
    return [shape[axis]], {"axis": axis - len(shape) if m.chance(0.3) else axis}


@ops("DequantizeLinear", domain=MICROSOFT)
def dequantize(m):
    shape = m.shape(1 if m.chance(0.8) else 0)
    entries, attributes = per_axis(m, shape)
    m.special = False
    number = m.type("T1")
    inputs = [m.tensor(number, shape), scales(m, m.type("T2"), entries)]
    if m.chance(0.6) and number != INT32:
        inputs.append(zero_point(m, number, entries))
    return Node(inputs, attributes)


@ops("QLinearAdd", "QLinearMul", domain=MICROSOFT)
def qlinear_binary(m):
    number, a = m.type("T"), m.shape()
    b = m.broadcastable(a)
    if m.chance(0.5):
        a, b = b, a
    wide = (0.5, 1.0, 2.0, 4.0, 0.13) if m.name == "QLinearAdd" else (8.0, 16.0, 64.0, 33.3)
    return Node([bytes_tensor(m, number, a), *optional(m, linear(m, number)), bytes_tensor(m, number, b),
                 *optional(m, linear(m, number)), *optional(m, linear(m, number, wide))])


@ops("MulInteger", domain=MICROSOFT)
def mul_integer(m):
    number, a = m.type("T"), m.shape()
    return Node([bytes_tensor(m, number, a), linear(m, number)[1], bytes_tensor(m, number, m.broadcastable(a)),
                 linear(m, number)[1]])


@ops("QLinearWhere", domain=MICROSOFT)
def qlinear_where(m):
    number, shape = m.type("T"), m.shape()
    same = linear(m, number)

    def numbers():
        return same if m.chance(0.4) else linear(m, number)

    return Node([m.tensor("B", m.broadcastable(shape)), bytes_tensor(m, number, shape), *numbers(),
                 bytes_tensor(m, number, m.broadcastable(shape)), *numbers(), *numbers()])


@ops("QLinearSigmoid", "QLinearLeakyRelu", domain=MICROSOFT)
def qlinear_function(m):
    number = m.type("T")
    y = linear(m, number, (1 / 256, 0.01, 0.1) if m.name == "QLinearSigmoid" else (0.5, 0.1, 0.31))
    return Node([bytes_tensor(m, number, m.shape()), *optional(m, linear(m, number)), *optional(m, y)], m.floats("alpha"))


@ops("QLinearConcat", domain=MICROSOFT)
def qlinear_concat(m):
    number, shape = m.type("T8"), m.shape(1)
    axis = m.number(0, len(shape) - 1)
    same, inputs = linear(m, number), []
    for _ in range(m.number(1, 4)):
        part = list(shape)
        part[axis] = m.size()
        inputs += [bytes_tensor(m, number, part), *(same if m.chance(0.4) else linear(m, number))]
    return Node([*same, *inputs], {"axis": axis - len(shape) if m.chance(0.3) else axis})


def packed_bits(m, shape):
    return Tensor(UINT8, m.rng.integers(0, 256, size=shape))


@ops("MatMulNBits", domain=MICROSOFT, sums=True)
def matmul_nbits(m):
    n, k, block, bits = m.number(1, 40), m.number(1, 140), m.pick(16, 32, 64, 128), m.pick(2, 4, 4, 8)
    blocks, number = -(-k // block), m.type("T1")
    m.special = False
    rows = m.shape(1, 3)
    inputs = [m.tensor(number, [*rows, k]), packed_bits(m, [n, blocks, block * bits // 8]),
              Tensor(number, m.rng.random([n, blocks]) * 0.1)]
    flat = m.chance(0.3)
    if flat:
        inputs[2] = Tensor(number, inputs[2].array.reshape(-1))
    zeros = m.pick(None, None, "packed", "floats")
    if zeros == "packed":
        inputs.append(packed_bits(m, [n, -(-blocks * bits // 8)]))
    elif zeros == "floats":
        inputs.append(Tensor(number, m.rng.integers(0, 2**bits, size=[n, blocks])))
    else:
        inputs.append(None)
    inputs.append(Tensor(INT32, m.rng.integers(0, blocks, size=[k])) if m.chance(0.1) else None)
    if m.chance(0.3):
        inputs.append(m.tensor(number, [n]))
    attributes = {"N": n, "K": k, "block_size": block, "bits": bits}
    if m.chance(0.5):
        attributes["accuracy_level"] = m.pick(0, 1, 2, 4)
    return Node(inputs, attributes)
