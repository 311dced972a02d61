"""Quantization, and products of quantized tensors."""

import numpy as np
from maker import Node, Tensor, is_float, is_integer, ops
from onnx import TensorProto
from values import integer_range, random_array

from .products import convolution, matrix_shapes

FLOAT, INT32 = TensorProto.FLOAT, TensorProto.INT32


def scales(m, number, shape):
    values = m.rng.choice([0.5, 0.25, 1.0, 2.0, 0.1], size=shape)
    return Tensor(number, values)


def granularity(m, shape):
    """The shape of scale and zero point, and the attributes: one, one an index of an axis, one a block."""
    if m.since < 13 or not shape or m.chance(0.4):
        return m.pick([], [], [1]) if m.since >= 13 else [], {}
    axis = m.number(0, len(shape) - 1)
    attributes = {"axis": axis - len(shape) if m.chance(0.3) else axis} if axis != 1 or m.chance(0.5) else {}
    if m.has("block_size") and m.chance(0.4) and all(shape):
        block = m.number(1, shape[axis])
        blocked = list(shape)
        blocked[axis] = -(-shape[axis] // block)
        return blocked, attributes | {"block_size": block}
    return [shape[axis]], attributes


def zero_point(m, number, shape):
    if is_integer(number):
        low, high = integer_range(number)
        return Tensor(number, m.rng.integers(max(low, -3), min(high, 3) + 1, size=shape))
    return Tensor(number, np.zeros(shape))


@ops("QuantizeLinear")
def quantize(m):
    shape = m.shape(1 if m.chance(0.8) else 0)
    entries, attributes = granularity(m, shape)
    x, y_scale, y_zero = m.schema.inputs[0].type_str, m.schema.inputs[1].type_str, m.schema.inputs[2].type_str
    m.special = m.special and m.chance(0.3)
    tensor = m.tensor(x, shape)
    scale = m.type(y_scale)
    scale_tensor = scales(m, scale, entries) if is_float(scale) else Tensor(scale, np.ones(entries))
    attributes |= m.flags("saturate")
    if m.chance(0.6):
        return Node([tensor, scale_tensor, zero_point(m, m.type(y_zero), entries)], attributes)
    if m.has("output_dtype") and m.chance(0.5):
        attributes["output_dtype"] = m.type(y_zero)
    return Node([tensor, scale_tensor], attributes)


@ops("DequantizeLinear")
def dequantize(m):
    shape = m.shape(1 if m.chance(0.8) else 0)
    entries, attributes = granularity(m, shape)
    x, x_scale = m.schema.inputs[0].type_str, m.schema.inputs[1].type_str
    m.special = False
    number = m.type(x)
    inputs = [m.tensor(number, shape), scales(m, m.type(x_scale), entries)]
    if m.chance(0.6) and number != INT32:
        inputs.append(zero_point(m, number, entries))
    scale_is_no_output = m.has("output_dtype") and m.type(x_scale) not in m.allowed("T3")
    if scale_is_no_output or (m.has("output_dtype") and m.chance(0.3)):
        attributes["output_dtype"] = m.type("T3")
    return Node(inputs, attributes)


@ops("DynamicQuantizeLinear")
def dynamic_quantize(m):
    m.special = False
    return Node([m.tensor(FLOAT, m.shape())], {}, 3)


def bytes_tensor(m, number, shape):
    """All of the range of an 8-bit type."""
    if is_float(number):
        return Tensor(number, random_array(m.rng, number, shape))
    low, high = integer_range(number)
    return Tensor(number, m.rng.integers(low, high + 1, size=shape))


@ops("MatMulInteger")
def matmul_integer(m):
    a, b = matrix_shapes(m)
    inputs = [bytes_tensor(m, m.type("T1"), a), bytes_tensor(m, m.type("T2"), b)]
    inputs.append(zero_point(m, m.type("T1"), m.pick([], [1])) if m.chance(0.6) else None)
    if m.chance(0.6):
        inputs.append(zero_point(m, m.type("T2"), m.pick([], [b[-1]]) if len(b) == 2 else []))
    return Node(inputs)


@ops("QLinearMatMul")
def qlinear_matmul(m):
    a, b = matrix_shapes(m)
    scale = "TS" if m.since >= 21 else FLOAT
    number = scale if isinstance(scale, int) else m.type(scale)
    matrices = len(a) > 1 and len(b) > 1  # onnx.reference spreads scales over the product, whatever axes of the operands they have
    columns = m.pick([], [], [b[-1]], [*b[:-2], 1, b[-1]]) if matrices else []
    rows = m.pick([], [], [*a[:-1], 1]) if matrices else []
    return Node([bytes_tensor(m, m.type("T1"), a), scales(m, number, rows), zero_point(m, m.type("T1"), rows),
                 bytes_tensor(m, m.type("T2"), b), scales(m, number, columns), zero_point(m, m.type("T2"), columns),
                 Tensor(number, np.array(m.pick(64.0, 16.0, 200.0))), zero_point(m, m.type("T3"), [])])


@ops("ConvInteger")
def conv_integer(m):
    x, w, attributes = convolution(m)
    inputs = [bytes_tensor(m, m.type("T1"), x), bytes_tensor(m, m.type("T2"), w)]
    inputs.append(zero_point(m, m.type("T1"), []) if m.chance(0.6) else None)
    if m.chance(0.5):
        inputs.append(zero_point(m, m.type("T2"), m.pick([], [w[0]])))
    return Node(inputs, attributes)


@ops("QLinearConv")
def qlinear_conv(m):
    x, w, attributes = convolution(m)
    per_filter = [w[0]] if m.chance(0.4) else []
    inputs = [bytes_tensor(m, m.type("T1"), x), scales(m, FLOAT, []), zero_point(m, m.type("T1"), []),
              bytes_tensor(m, m.type("T2"), w), scales(m, FLOAT, per_filter), zero_point(m, m.type("T2"), per_filter),
              Tensor(FLOAT, np.array(m.pick(64.0, 16.0, 200.0))), zero_point(m, m.type("T3"), [])]
    if m.chance(0.5):
        inputs.append(Tensor(INT32, m.rng.integers(-500, 500, size=[w[0]])))
    return Node(inputs, attributes)
