"""Operators that work element by element, with and without broadcasting; random ones; casts."""

import numpy as np
from maker import Node, is_float, is_integer
from maker import ops as register
from onnx import TensorProto
from values import BOOL, STRING, dtype_of, integer_range, type_number

FLOAT_ATTRIBUTES = ("alpha", "beta", "gamma", "lambd", "bias")


def ops(*names, **options):
    return register(*names, limits=True, **options)


def own_attributes(m):
    found = {**m.floats(*FLOAT_ATTRIBUTES), **m.flags("detect_negative", "detect_positive")}
    found |= m.word("approximate", "none", "tanh")
    if m.has("consumed_inputs") and m.chance(0.3):
        found["consumed_inputs"] = [0]
    return found


@ops("Abs", "Asin", "Asinh", "Atan", "BitwiseNot", "Ceil", "Celu", "Cos", "Cosh", "Elu", "Erf", "Exp", "Floor", "Gelu",
     "HardSigmoid", "HardSwish", "Identity", "IsInf", "IsNaN", "LeakyRelu", "Mish", "Neg", "Not", "Relu", "Selu", "Shrink",
     "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Swish", "Tan", "Tanh", "ThresholdedRelu", "Acos", "Atanh")
def unary(m):
    constraint = m.schema.inputs[0].type_str
    attributes = own_attributes(m)
    if m.name == "Celu" and attributes.get("alpha") == 0:
        del attributes["alpha"]
    return Node([m.tensor(constraint, m.shape(), m.pick("usual", "usual", "unit"))], attributes)


@ops("Acosh", "Reciprocal", "Sqrt", "Log")
def unary_positive(m):
    return Node([m.tensor("T", m.shape(), m.pick("positive", "positive", "usual", "nonzero"))], own_attributes(m))


@ops("Round")
def unary_round(m):
    return Node([m.tensor("T", m.shape(), "ties")])


def pair_shapes(m):
    """Two shapes that broadcast, and the attributes by which opset 1 to 6 say so."""
    shape = m.shape()
    if not m.has("broadcast"):
        other = m.broadcastable(shape)
        return (shape, other, {}) if m.chance(0.7) else (other, shape, {})
    attributes = {"consumed_inputs": [0, 0]} if m.has("consumed_inputs") and m.chance(0.2) else {}
    if m.chance(0.4):
        return shape, shape, attributes
    first = m.number(0, len(shape))
    last = len(shape) if m.chance(0.5) else m.number(first, len(shape))
    attributes["broadcast"] = 1
    if last != len(shape) or m.chance(0.3):
        attributes["axis"] = first
    return shape, shape[first:last], attributes


@ops("Add", "Sub", "Mul", "And", "Or", "Xor", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "BitwiseAnd",
     "BitwiseOr", "BitwiseXor")
def binary(m):
    constraint = m.schema.inputs[0].type_str
    a, b, attributes = pair_shapes(m)
    values = "ties" if m.name in ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual") else "usual"
    return Node([m.tensor(constraint, a, values), m.tensor(constraint, b, values)], attributes)


def without_zeros(m, tensor):
    """Integers do not divide by 0, and the least of them not by -1: that ends onnxruntime's process."""
    if is_integer(tensor.type):
        array = tensor.array.copy()
        array[array == np.array(0, array.dtype)] = 1
        if integer_range(tensor.type)[0] < 0:
            array[array == np.array(-1, array.dtype)] = 2
        tensor.array = array
    return tensor


@ops("Div")
def divide(m):
    a, b, attributes = pair_shapes(m)
    return Node([m.tensor("T", a), without_zeros(m, m.tensor("T", b, "nonzero"))], attributes)


@ops("Mod")
def modulo(m):
    a, b, _ = pair_shapes(m)
    number = m.type("T")
    fmod = 1 if is_float(number) else m.number(0, 1)
    return Node([m.tensor("T", a), without_zeros(m, m.tensor("T", b, "nonzero"))], {"fmod": fmod} if fmod or m.chance(0.5) else {})


@ops("Pow")
def power(m):
    a, b, attributes = pair_shapes(m)
    base = m.schema.inputs[0].type_str
    exponent = m.schema.inputs[1].type_str
    x, y = m.tensor(base, a, m.pick("positive", "usual")), m.tensor(exponent, b, m.pick("positive", "usual"))
    if is_integer(x.type) and (is_integer(y.type) or is_float(y.type)) and not m.special:
        y.array = np.abs(y.array)  # an integer to a negative power is a fraction
    return Node([x, y], attributes)


@ops("BitShift")
def shift(m):
    a, b, _ = pair_shapes(m)
    x, y = m.tensor("T", a), m.tensor("T", b)
    y.array = y.array % np.array(8, y.array.dtype)
    return Node([x, y], {"direction": m.pick("LEFT", "RIGHT")})


@ops("PRelu")
def prelu(m):
    shape = m.shape(1)
    if m.since >= 7:
        slope = m.broadcastable(shape)
    else:
        slope = m.pick([1], [shape[1]] if len(shape) > 1 else [1])
    return Node([m.tensor("T", shape), m.tensor("T", slope)])


@ops("SwiGLU")
def swiglu(m):
    shape = m.shape()
    return Node([m.tensor("T", shape), m.tensor("T", shape)], m.floats("alpha"))


@ops("Max", "Min", "Mean", "Sum")
def variadic(m):
    shape = m.shape()
    count = m.pick(1, 2, 2, 3, 5)
    shapes = [shape] + [m.broadcastable(shape) if m.since >= 8 else shape for _ in range(count - 1)]
    attributes = {"consumed_inputs": [0] * count} if m.has("consumed_inputs") and m.chance(0.2) else {}
    return Node([m.tensor("T", s) for s in shapes], attributes)


@ops("Clip")
def clip(m):
    x = m.tensor("T", m.shape())
    if m.since < 11:
        attributes = {}
        if m.chance(0.7):
            attributes["min"] = m.pick(-1.0, 0.0, 0.5, -100.0)
        if m.chance(0.7):
            attributes["max"] = m.pick(1.0, 6.0, 0.5, 100.0)
        return Node([x], attributes)
    low, high = m.scalar(m.pick(0, 1, 2), "T"), m.scalar(m.pick(3, 5, 1), "T")
    return Node([x, low if m.chance(0.7) else None, high if m.chance(0.7) else None])


@ops("Where")
def where(m):
    shape = m.shape()
    shapes = [m.broadcastable(shape), m.broadcastable(shape), shape]
    m.random.shuffle(shapes)
    return Node([m.tensor(BOOL, shapes[0]), m.tensor("T", shapes[1]), m.tensor("T", shapes[2])])


def castable(m, shape, source, target):
    """Values of which it is clear what they become: an integer out of range, or NaN as an integer, is everybody's own."""
    if source == STRING:
        words = ["1", "0", "12", "3"] if is_integer(target) or target == BOOL else ["1", "-0.5", "3e2", "inf", "NaN", "1.25"]
        picked = [m.random.choice(words) for _ in range(int(np.prod(shape)))]
        tensor = m.tensor(STRING, shape)
        tensor.array = np.array(picked, dtype=object).reshape(shape)
        return tensor
    special, m.special = m.special, m.special and not is_integer(target)
    tensor = m.tensor(source, shape, "positive" if is_integer(target) else "usual")
    m.special = special
    return tensor


@ops("Cast")
def cast(m):
    target = m.type("T2")
    source = m.type("T1")
    to = TensorProto.DataType.Name(target) if m.since < 6 else target
    attributes = {"to": to, **m.flags("saturate"), **m.word("round_mode", "up", "down", "nearest")}
    types = [target] if m.since < 6 else None  # onnxruntime does not read the name of a type
    return Node([castable(m, m.shape(), source, target)], attributes, 1, types)


@ops("CastLike")
def cast_like(m):
    target = m.tensor("T2", m.shape(), "positive")
    attributes = {**m.flags("saturate"), **m.word("round_mode", "up", "down", "nearest")}
    return Node([castable(m, m.shape(), m.type("T1"), target.type), target], attributes)


@ops("BitCast")
def bit_cast(m):
    source = m.type("T1")
    bits = lambda number: TensorProto.DataType.Name(number) if number == STRING else dtype_bits(number)
    same = [t for t in m.allowed("T2") if bits(t) == bits(source)]
    return Node([m.tensor("T1", m.shape())], {"to": m.random.choice(same or [type_number("float")])})


def dtype_bits(number):
    name = TensorProto.DataType.Name(number)
    for small in ("INT4", "FLOAT4", "INT2", "FLOAT6"):
        if small in name and name not in ("INT64", "UINT64", "INT32", "UINT32", "INT16", "UINT16"):
            return {"INT4": 4, "FLOAT4": 4, "INT2": 2, "FLOAT6": 6}[small] if not name.endswith(("64", "32", "16")) else 0
    return dtype_of(number).itemsize * 8


# ---- random ---------------------------------------------------------------------------------------------------------


def dtype_attribute(m, constraint):
    return {"dtype": m.type(constraint)} if m.chance(0.6) else {}


def seeded(m):
    return {"seed": 7.0} if m.chance(0.5) else {}


@ops("RandomNormal", "RandomUniform", random=True)
def random_shaped(m):
    attributes = {"shape": m.shape(), **dtype_attribute(m, "T"), **seeded(m)}
    return Node([], attributes | m.floats("mean", "scale", "low", "high"))


@ops("RandomNormalLike", "RandomUniformLike", random=True)
def random_like(m):
    x = m.tensor("T1", m.shape())
    attributes = {"dtype": m.type("T2")} if x.type not in m.allowed("T2") or m.chance(0.5) else {}
    return Node([x], attributes | seeded(m) | m.floats("mean", "scale", "low", "high"))


@ops("Bernoulli", random=True)
def bernoulli(m):
    m.special = False
    return Node([m.tensor("T1", m.shape(), "unit")], dtype_attribute(m, "T2") | seeded(m))


@ops("Multinomial", random=True)
def multinomial(m):
    m.special = False
    x = m.tensor("T1", [m.size(), m.number(1, 5)])
    attributes = dtype_attribute(m, "T2") | seeded(m)
    return Node([x], attributes | ({"sample_size": m.number(0, 5)} if m.chance(0.7) else {}))


@ops("Dropout")
def dropout(m):
    """Without training: the other form is random."""
    x = m.tensor("T", m.shape())
    outputs = [True, m.chance(0.5)]
    if m.since < 12:
        attributes = {"ratio": m.pick(0.1, 0.5, 0.9)} if m.chance(0.5) else {}
        if m.has("is_test"):
            attributes["is_test"] = 1
        return Node([x], attributes, outputs)
    inputs = [x, m.scalar(0.5, "T1") if m.chance(0.5) else None]
    if m.chance(0.5):
        inputs.append(m.scalar(False, "T2"))
    return Node(inputs, {"seed": 3} if m.chance(0.3) else {}, outputs)
