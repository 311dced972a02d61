"""Quantized operators of com.microsoft."""

import numpy as np
from maker import Node, Tensor, ops
from onnx import TensorProto
from values import integer_range, is_integer

from .products import matrix_shapes
from .quantized import bytes_tensor, qlinear_conv, scales, zero_point

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
    return [tensors[0], None if m.chance(0.04) else tensors[1]]


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
    return Node(inputs, attributes, constants=(1, 2, 3, 5) if m.chance(0.8) else ())


@ops("GatherBlockQuantized", domain=MICROSOFT)
def gather_block_quantized(m):
    number, block = m.type("T1"), m.pick(16, 16, 32)
    shape = [m.number(1, 4) for _ in range(m.number(2, 4))]
    bits = m.pick(2, 4, 8) if number == UINT8 else 8
    gather = 0 if number == UINT8 else m.number(0, len(shape) - 1)
    quantize = len(shape) - 1 if number == UINT8 or m.chance(0.5) else m.number(0, len(shape) - 1)
    shape[quantize] = m.pick(16, 32, 33, 48, 5)
    if number == UINT8:
        shape[-1] = -(-shape[-1] * bits // 8) * 8 // bits
    scale_shape = [*shape]
    scale_shape[quantize] = -(-shape[quantize] // block)
    stored = [*shape[:-1], shape[-1] * bits // 8] if number == UINT8 else shape
    data = bytes_tensor(m, number, stored)
    indices = [m.number(1, 4) for _ in range(m.number(0, 2))]
    size = shape[gather] + (2 if m.chance(0.1) else 0)
    inputs = [data, Tensor(m.type("Tind"), m.rng.integers(-size, size, size=indices)),
              Tensor(m.type("T2"), m.rng.random(scale_shape) + 0.1)]
    if is_integer(number) and m.chance(0.5):
        zeros = [*scale_shape[:-1], -(-scale_shape[-1] * bits // 8)] if number == UINT8 else scale_shape
        inputs.append(bytes_tensor(m, number, zeros))
    attributes = {"block_size": block, "quantize_axis": quantize, "gather_axis": gather}
    return Node(inputs, attributes | ({"bits": bits} if number == UINT8 else {}), constants=(0, 2, 3) if m.chance(0.8) else ())


@ops("QGemm", domain=MICROSOFT, sums=True)
def qgemm(m):
    rows, depth, columns = m.number(1, 9), m.number(1, 20), m.number(1, 20)
    attributes = m.flags("transA", "transB") | ({"alpha": m.pick(0.5, 2.0)} if m.chance(0.4) else {})
    a = [depth, rows] if attributes.get("transA") else [rows, depth]
    b = [columns, depth] if attributes.get("transB") else [depth, columns]
    per_column = [columns] if m.chance(0.4) else []
    number, other = m.type("TA"), m.type("TB")
    m.types["TYZ"] = number
    inputs = [bytes_tensor(m, number, a), *linear(m, number), bytes_tensor(m, other, b), scales(m, FLOAT, per_column),
              zero_point(m, other, per_column)]
    shape = m.pick(None, [columns], [1, columns], [rows, 1], [rows, columns], [])
    inputs.append(None if shape is None else Tensor(INT32, m.rng.integers(-900, 900, size=shape)))
    if m.chance(0.6):
        inputs += linear(m, number, (64.0, 16.0, 7.3))
    return Node(inputs, attributes)


@ops("MatMulIntegerToFloat", domain=MICROSOFT, sums=True)
def matmul_integer_to_float(m):
    a, b = matrix_shapes(m)
    m.special = False
    number, other = m.type("T1"), m.type("T2")
    columns = [b[-1]] if len(b) == 2 and m.chance(0.4) else []
    inputs = [bytes_tensor(m, number, a), bytes_tensor(m, other, b), scales(m, m.type("T3"), []), scales(m, m.type("T3"), columns)]
    inputs.append(zero_point(m, number, []) if m.chance(0.6) else None)
    inputs.append(zero_point(m, other, columns) if m.chance(0.6) else None)
    inputs.append(m.tensor(m.type("T3"), [b[-1]]) if len(b) > 1 and m.chance(0.4) else None)
    return Node(inputs)


@ops("DynamicQuantizeMatMul", domain=MICROSOFT, sums=True)
def dynamic_quantize_matmul(m):
    a, b = matrix_shapes(m)
    m.special = False
    other, columns = m.type("T2"), [b[-1]] if len(b) == 2 and m.chance(0.4) else []
    inputs = [m.tensor(FLOAT, a), bytes_tensor(m, other, b), scales(m, FLOAT, columns)]
    inputs.append(zero_point(m, other, columns) if m.chance(0.6) else None)
    inputs.append(m.tensor(FLOAT, [b[-1]]) if len(b) > 1 and m.chance(0.4) else None)
    return Node(inputs)


@ops("QLinearConv", domain=MICROSOFT)
def qlinear_conv_last(m):
    node = qlinear_conv(m)
    if m.chance(0.6):
        node.attributes["channels_last"] = 1
        x = node.inputs[0]
        node.inputs[0] = Tensor(x.type, np.moveaxis(x.array, 1, -1))
    return node


@ops("QLinearAveragePool", "QLinearGlobalAveragePool", domain=MICROSOFT)
def qlinear_pool(m):
    number, axes = m.type("T"), m.number(1, 3)
    spatial = [m.number(1, 7) for _ in range(axes)]
    shape, attributes = [m.number(1, 3), m.number(1, 4), *spatial], {}
    if m.chance(0.5):
        attributes["channels_last"], shape = 1, [shape[0], *shape[2:], shape[1]]
    if m.name == "QLinearAveragePool":
        attributes["kernel_shape"] = [m.number(1, size) for size in spatial]
        attributes |= m.flags("ceil_mode", "count_include_pad")
        if m.chance(0.5):
            attributes["strides"] = [m.number(1, 3) for _ in spatial]
        if m.chance(0.3):
            attributes["auto_pad"] = m.pick("SAME_UPPER", "SAME_LOWER", "VALID")
        elif m.chance(0.5):
            attributes["pads"] = [m.number(0, size - 1) for size in attributes["kernel_shape"] * 2]
    return Node([bytes_tensor(m, number, shape), *linear(m, number), *linear(m, number)], attributes)


@ops("NhwcMaxPool", domain=MICROSOFT)
def nhwc_max_pool(m):
    spatial = [m.number(1, 7) for _ in range(m.number(1, 3))]
    attributes = {"kernel_shape": [m.number(1, size) for size in spatial]} | m.flags("ceil_mode")
    if m.chance(0.5):
        attributes["strides"] = [m.number(1, 3) for _ in spatial]
    if m.chance(0.3):
        attributes["auto_pad"] = m.pick("SAME_UPPER", "SAME_LOWER", "VALID")
    elif m.chance(0.5):
        attributes["pads"] = [m.number(0, size - 1) for size in attributes["kernel_shape"] * 2]
    return Node([bytes_tensor(m, m.type("T"), [m.number(1, 3), *spatial, m.number(1, 4)])], attributes)


@ops("QLinearSoftmax", domain=MICROSOFT)
def qlinear_softmax(m):
    number, shape = m.type("T"), m.shape(1)
    y = [Tensor(FLOAT, np.array(m.pick(1 / 256, 0.01, 0.1))), linear(m, number)[1]]
    return Node([bytes_tensor(m, number, shape), *linear(m, number), *y],
                {"opset": m.pick(11, 13, 17), "axis": m.axis(len(shape))})


@ops("DynamicQuantizeLSTM", domain=MICROSOFT, sums=True)
def dynamic_quantize_lstm(m):
    steps, batch, width, hidden = m.number(1, 5), m.number(1, 3), m.number(1, 6), m.number(1, 6)
    direction = m.pick("forward", "reverse", "bidirectional")
    ways = 2 if direction == "bidirectional" else 1
    number, m.special = m.type("T2"), False

    def numbers():
        shape = [ways, 4 * hidden] if m.chance(0.4) else [ways]
        zeros = zero_point(m, number, shape) if m.chance(0.1) else Tensor(number, np.zeros(shape))
        return [Tensor(FLOAT, m.rng.choice([0.01, 0.02, 0.005], size=shape)), zeros]

    inputs = [m.tensor(FLOAT, [steps, batch, width]), bytes_tensor(m, number, [ways, width, 4 * hidden]),
              bytes_tensor(m, number, [ways, hidden, 4 * hidden])]
    inputs.append(m.tensor(FLOAT, [ways, 8 * hidden]) if m.chance(0.6) else None)
    inputs.append(Tensor(INT32, m.rng.integers(1, steps + 1, size=[batch])) if m.chance(0.4) else None)
    for shape in ([ways, batch, hidden], [ways, batch, hidden], [ways, 3 * hidden]):
        inputs.append(m.tensor(FLOAT, shape) if m.chance(0.3) else None)
    attributes = {"hidden_size": hidden, "direction": direction} | ({"clip": 1.5} if m.chance(0.2) else {})
    return Node([*inputs, *numbers(), *numbers()], attributes | m.flags("input_forget"), 3, constants=(1, 2, 8, 9, 10, 11))


@ops("QAttention", domain=MICROSOFT, sums=True)
def qattention(m):
    batch, length, width, heads, size = m.number(1, 3), m.number(1, 5), m.number(1, 8), m.number(1, 3), m.number(1, 5)
    hidden, m.special = heads * size, False
    columns = [3 * hidden] if m.chance(0.4) else []
    number, other = m.type("T1"), m.type("T2")
    past = m.number(0, 3) if m.chance(0.3) else None
    total = length + (past or 0)
    inputs = [bytes_tensor(m, number, [batch, length, width]), bytes_tensor(m, other, [width, 3 * hidden]),
              m.tensor("T3", [3 * hidden]), Tensor(m.type("T3"), np.array(m.pick(0.01, 0.02))),
              Tensor(m.type("T3"), m.rng.choice([0.01, 0.02, 0.005], size=columns))]
    mask = m.pick(None, None, [batch], [batch, total])
    inputs.append(mask and Tensor(INT32, m.rng.integers(0, 2, size=mask) if len(mask) == 2 else m.rng.integers(1, total + 1, size=mask)))
    inputs += [linear(m, number)[1] if m.chance(0.6) else None, zero_point(m, other, columns) if m.chance(0.6) else None]
    inputs.append(m.tensor("T3", [2, batch, heads, past, size]) if past is not None else None)
    return Node(inputs, {"num_heads": heads} | m.flags("unidirectional"), [True, past is not None])


def experts(m):
    """Sizes of a mixture of experts, and the attributes and inputs that MoE and QMoE share."""
    tokens, count = m.number(1, 4), m.number(1, 4)
    attributes = {"k": m.number(1, count), "activation_type": m.pick("relu", "gelu", "silu", "identity", "swiglu")}
    attributes |= m.flags("normalize_routing_weights")
    if attributes["activation_type"] == "swiglu":
        attributes |= {"swiglu_fusion": 1} | ({"activation_alpha": 1.702, "activation_beta": 1.0, "swiglu_limit": 3.0} if m.chance(0.5) else {})
    m.special = False
    return tokens, count, attributes


@ops("MoE", domain=MICROSOFT, sums=True)
def moe(m):
    tokens, count, attributes = experts(m)
    hidden, inter = m.number(1, 6), m.number(1, 6)
    rows = inter * (2 if attributes["activation_type"] == "swiglu" else 1)
    inputs = [m.tensor("T", [tokens, hidden] if m.chance(0.6) else [1, tokens, hidden]), m.tensor("T", [tokens, count]),
              m.tensor("T", [count, rows, hidden]), m.tensor("T", [count, rows]) if m.chance(0.5) else None,
              m.tensor("T", [count, hidden, inter]), m.tensor("T", [count, hidden]) if m.chance(0.5) else None]
    return Node(inputs, attributes)


@ops("QMoE", domain=MICROSOFT, sums=True)
def qmoe(m):
    tokens, count, attributes = experts(m)
    bits, block = m.pick(2, 4, 8), m.pick(None, None, 16, 32)
    hidden, inter = (block or 8) * m.number(1, 2), (block or 8) * m.number(1, 2)
    rows = inter * (2 if attributes["activation_type"] == "swiglu" else 1)
    number = m.type("T", lambda t: t in (TensorProto.FLOAT, TensorProto.FLOAT16))
    attributes["expert_weight_bits"] = bits

    def product(height, depth):
        scale = [count, height, depth // block] if block else [count, height]
        zeros = [count, height, -(-depth // block * bits // 8)] if block else [count, -(-height * bits // 8)]
        return (packed_bits(m, [count, height, depth * bits // 8]), Tensor(number, m.rng.random(scale) * 0.02 + 0.01),
                m.tensor(number, [count, height]) if m.chance(0.4) else None, packed_bits(m, zeros) if m.chance(0.3) else None)

    if block:
        attributes["block_size"] = block
    first, second = product(rows, hidden), product(hidden, inter)
    inputs = [m.tensor(number, [tokens, hidden]), m.tensor(number, [tokens, count]), *first[:3], *second[:3], None, None, None,
              first[3], second[3]]
    if m.chance(0.3):
        inputs += [None, Tensor(number, m.rng.random([tokens, count]))]
    return Node(inputs, attributes)


@ops("MatMulInteger16", domain=MICROSOFT)
def matmul_integer16(m):
    a, b = matrix_shapes(m)
    return Node([Tensor(m.type("T1"), m.rng.integers(0, 3000, size=a)), Tensor(m.type("T2"), m.rng.integers(0, 3000, size=b))])


@ops("QEmbedLayerNormalization", domain=MICROSOFT, sums=True)
def qembed_norm(m):
    batch, length, hidden, number = m.number(1, 3), m.number(1, 5), m.number(2, 9), m.type("T2")
    rows, segmented = (7, length + m.number(0, 2), 2), m.chance(0.7)
    tables = [bytes_tensor(m, number, [count, hidden]) for count in rows] + [bytes_tensor(m, number, [hidden]) for _ in range(2)]
    numbers = [linear(m, number, (0.01, 0.02, 0.1)) for _ in tables]
    if not segmented:
        tables[2], numbers[2] = None, [None, None]

    def ids(below):
        return Tensor(INT32, m.rng.integers(0, below, size=[batch, length]))

    inputs = [ids(7), ids(2) if segmented else None, *tables, ids(2) if m.chance(0.6) else None]
    return Node(inputs + [scale for scale, _ in numbers] + [zero for _, zero in numbers], m.floats("epsilon") if m.chance(0.2) else {}, 2)


@ops("ReduceSumInteger", "QLinearReduceMean", domain=MICROSOFT)
def integer_reduce(m):
    shape = m.shape(1, 4)
    attributes = {"axes": m.axes(len(shape), 1), "keepdims": m.number(0, 1)}
    if m.name == "ReduceSumInteger":
        return Node([bytes_tensor(m, m.type("T1"), shape)], attributes)
    number = m.type("T")
    return Node([bytes_tensor(m, number, shape), *linear(m, number), *linear(m, number)], attributes)
