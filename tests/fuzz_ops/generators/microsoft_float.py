"""com.microsoft: products, activations and normalizations, as onnxruntime's optimizer leaves them in files.

onnxruntime runs most of them for float alone; what it has no kernel for is held against formulas by tests/microsoft.
"""

from maker import Node, Tensor, ops
from onnx import TensorProto, helper, numpy_helper

from .products import convolution, matrix_shapes

DOMAIN = "com.microsoft"


def usually_float(m, constraint="T"):
    if m.chance(0.85):
        m.types[constraint] = TensorProto.FLOAT


# ---- products -------------------------------------------------------------------------------------------------------


def transposed(shape, exchange, batch):
    """The shape of an operand that is seen as `shape` when axes are exchanged and the first one is brought behind the batch."""
    shape = list(shape)
    if len(shape) < 2:
        return shape
    if exchange:
        shape[-2:] = shape[:-3:-1]
    return [shape[-2], *shape[:-2], shape[-1]] if batch else shape


@ops("FusedMatMul", "TransposeMatMul", domain=DOMAIN, sums=True)
def fused_matmul(m):
    usually_float(m)
    a, b = matrix_shapes(m)
    flags = m.flags("transA", "transB", "transBatchA", "transBatchB")
    a = transposed(a, flags.get("transA"), flags.get("transBatchA"))
    b = transposed(b, flags.get("transB"), flags.get("transBatchB"))
    return Node([m.tensor("T", a), m.tensor("T", b)], flags | m.floats("alpha"))


@ops("FusedGemm", domain=DOMAIN, sums=True)
def fused_gemm(m):
    usually_float(m)
    rows, inner, columns = m.size(), m.size(), m.size()
    flags = m.flags("transA", "transB")
    inputs = [m.tensor("T", transposed([rows, inner], flags.get("transA"), 0)), m.tensor("T", transposed([inner, columns], flags.get("transB"), 0))]
    if m.chance(0.7):
        inputs.append(m.tensor("T", m.pick([rows, columns], [columns], [1, columns], [rows, 1], [1], [])))
    activation, numbers = m.pick(
        ("Relu", ""), ("Tanh", ""), ("Sigmoid", ""), ("LeakyRelu", "alpha"), ("HardSigmoid", "alpha beta"), ("Elu", "alpha"), ("Softplus", ""),
        ("Softsign", ""), ("Selu", "alpha gamma"), ("Celu", "alpha"), ("ThresholdedRelu", "alpha"))
    attributes = {f"activation_{name}": m.pick(0.5, 1.0, 0.1, 1.5) for name in numbers.split()}
    return Node(inputs, attributes | flags | m.floats("alpha", "beta") | {"activation": activation})


def fused_convolution(m, order, numbers_of_activations):
    """Inputs and attributes; order makes a shape of one with the channels first."""
    x, w, attributes = convolution(m)
    inputs = [m.tensor("T", order(x)), m.tensor("T", w), m.tensor("T", w[:1]) if m.chance(0.6) else None]
    if m.chance(0.4):  # a sum of the shape of the output, which is known where the window does not move
        attributes = {key: attributes[key] for key in attributes if key == "group"}
        inputs.append(m.tensor("T", order([x[0], w[0]] + [size - kernel + 1 for size, kernel in zip(x[2:], w[2:])])))
    activation = m.pick(*numbers_of_activations, None)
    if activation:
        attributes["activation"] = activation
    if numbers := numbers_of_activations.get(activation):
        attributes["activation_params"] = sorted(m.pick(0.5, 1.0, 0.1, 1.5) for _ in range(numbers))
    return inputs, attributes


@ops("FusedConv", domain=DOMAIN, sums=True)
def fused_conv(m):
    usually_float(m)
    numbers = {"Relu": 0, "Tanh": 0, "Sigmoid": 0, "LeakyRelu": 1, "Clip": 2, "HardSigmoid": 2, "HardSwish": 0}
    return Node(*fused_convolution(m, list, numbers))


# What onnxruntime's CPU provider has on some machines alone, or not at all: convolutions of channels last.

NUMBERS = {"Celu": ["alpha"], "Clip": ["min", "max"], "Elu": ["alpha"], "HardSigmoid": ["alpha", "beta"], "HardSwish": [], "LeakyRelu": ["alpha"], "Relu": [],
           "Selu": ["alpha", "gamma"], "Sigmoid": [], "Softplus": [], "Softsign": [], "Tanh": [], "ThresholdedRelu": ["alpha"]}


def channels_last(shape):
    return [shape[0], *shape[2:], shape[1]]


def activation_of(own, number, value, output):
    """The activation of NhwcFusedConv as nodes; one that no oracle knows where its numbers are not as many as it takes."""
    given = {a.name: helper.get_attribute_value(a) for a in own.attribute}
    name, values = given.get("activation", b"").decode(), given.get("activation_params", [])
    if not name:
        return [helper.make_node("Identity", [value], [output])]
    names = NUMBERS.get(name)
    if names is None or (names and len(names) != len(values)):
        return [helper.make_node("Unknown", [value], [output])]
    if name == "Celu":  # of ONNX it has but one type
        return [helper.make_node("Cast", [value], ["wide"], to=TensorProto.FLOAT), helper.make_node(name, ["wide"], ["celu"], alpha=values[0]),
                helper.make_node("Cast", ["celu"], [output], to=number)]
    if name != "Clip":
        return [helper.make_node(name, [value], [output], **dict(zip(names, values)))]
    bounds = [numpy_helper.from_array(helper.tensor_dtype_to_np_dtype(number).type(bound)) for bound in values]
    constants = [helper.make_node("Constant", [], [name], value=bound) for name, bound in zip(names, bounds)]
    return [*constants, helper.make_node("Clip", [value, *names], [output])]


def planar_meaning(own, inputs):
    """Transpose, Conv, Transpose, and what NhwcFusedConv does to each element."""
    axes = list(range(len(inputs[0].shape) if inputs[0] is not None else 0))
    if not own.input:  # spoilt
        return [own]

    def move(value, to, order):
        return helper.make_node("Transpose", [value], [to], perm=order) if len(axes) > 2 else helper.make_node("Identity", [value], [to])

    residual = own.input[3] if len(own.input) > 3 else ""
    conv = helper.make_node("Conv", ["first", *own.input[1:3]], ["convolved"])
    conv.attribute.extend(a for a in own.attribute if not a.name.startswith("activation"))
    nodes = [move(own.input[0], "first", [0, *axes[-1:], *axes[1:-1]]), conv, move("convolved", "moved", [0, *axes[2:], 1])]
    if residual:
        nodes.append(helper.make_node("Add", ["moved", residual], ["sum"]))
    number = inputs[0].type if inputs[0] is not None else TensorProto.FLOAT
    return nodes + activation_of(own, number, "sum" if residual else "moved", own.output[0])


@ops("NhwcConv", domain=DOMAIN, sums=True)
def nhwc_conv(m):
    x, w, attributes = convolution(m)
    bias = [m.tensor("T", w[:1])] if m.chance(0.5) else []
    return Node([m.tensor("T", channels_last(x)), m.tensor("T", w), *bias], attributes, meaning=planar_meaning)


@ops("NhwcFusedConv", domain=DOMAIN, sums=True)
def nhwc_fused_conv(m):
    numbers = {name: len(names) for name, names in NUMBERS.items()}
    return Node(*fused_convolution(m, channels_last, numbers), meaning=planar_meaning)


# ---- activations ----------------------------------------------------------------------------------------------------


@ops("Gelu", "QuickGelu", domain=DOMAIN, limits=True)
def gelu(m):
    usually_float(m)
    return Node([m.tensor("T", m.shape())], m.floats("alpha"))


@ops("BiasGelu", "FastGelu", domain=DOMAIN)
def bias_gelu(m):
    usually_float(m)
    shape = m.shape(1)
    bias = [m.tensor("T", shape[-1:])] if m.name == "BiasGelu" or m.chance(0.6) else []
    return Node([m.tensor("T", shape), *bias])


@ops("BiasSplitGelu", domain=DOMAIN)
def bias_split_gelu(m):
    shape = [m.number(1, 2), m.size(), 2 * m.number(1, 4)]
    return Node([m.tensor("T", shape), m.tensor("T", shape[-1:])])


@ops("BiasAdd", domain=DOMAIN)
def bias_add(m):
    shape = m.shape(3, 3)
    return Node([m.tensor("T", shape), m.tensor("T", shape[-1:]), m.tensor("T", shape)])


@ops("BiasDropout", domain=DOMAIN)
def bias_dropout(m):
    shape = m.shape(1)
    residual = m.tensor("T", shape) if m.chance(0.5) else None
    return Node([m.tensor("T", shape), m.tensor("T", shape[-1:]), residual], {}, [True, m.chance(0.5)])


@ops("BiasSoftmax", domain=DOMAIN)
def bias_softmax(m):
    shape = m.shape(2, 4, empty=False)
    axis = m.number(1, len(shape) - 1)
    middle = m.number(0, axis)
    inner = m.number(0, 1)
    lead = shape[:middle] + [1] * (axis - middle) if inner else [1] * middle + shape[middle:axis]
    return Node([m.tensor("T", shape), m.tensor("T", lead + shape[axis:])], {"axis": axis, "is_inner_broadcast": inner})


# ---- normalizations -------------------------------------------------------------------------------------------------


@ops("SimplifiedLayerNormalization")
def simplified_layer_normalization(m):
    m.types["T"] = m.types["V"] = m.type("T") if m.chance(0.5) else TensorProto.FLOAT
    shape = m.shape(1)
    axis = m.axis(len(shape)) if m.chance(0.5) else -1
    return Node([m.tensor("T", shape), m.tensor("V", shape[axis:])], {} if axis == -1 and m.chance(0.5) else {"axis": axis}, [True, m.chance(0.3)])


@ops("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", domain=DOMAIN)
def skip_layer_normalization(m):
    shape = [m.number(1, 3), m.number(1, 4), m.number(1, 9)][m.number(0, 1):]
    skip = shape if len(shape) == 2 or m.chance(0.6) else m.pick([1, *shape[1:]], shape[1:])
    row = lambda chance: m.tensor("T", shape[-1:]) if m.chance(chance) else None
    inputs = [m.tensor("T", shape), m.tensor("T", skip), row(1), row(0.5)]
    if m.name == "SkipLayerNormalization":
        inputs.append(row(0.5))
    attributes = {"epsilon": m.pick(1e-5, 1e-2)} if m.chance(0.7) else {}
    return Node(inputs, attributes, [True, False, False, m.chance(0.6)])  # onnxruntime leaves mean and deviation as they are


@ops("EmbedLayerNormalization", domain=DOMAIN)
def embed_layer_normalization(m):
    usually_float(m)
    batch, length, size = m.number(1, 3), m.number(1, 4), m.number(1, 9)
    tables = {"words": m.number(1, 5), "positions": length + m.number(0, 2), "segments": 2}

    def ids(table, rows=batch):
        return m.tensor("T1", [rows, length]) if m.chance(0.03) else Tensor(TensorProto.INT32, m.rng.integers(0, tables[table], [rows, length]))

    segments = m.chance(0.6)
    inputs = [ids("words"), ids("segments") if segments else None, m.tensor("T", [tables["words"], size]), m.tensor("T", [tables["positions"], size]),
              m.tensor("T", [tables["segments"], size]) if segments else None, m.tensor("T", [size]), m.tensor("T", [size]),
              ids("segments") if m.chance(0.5) else None, ids("positions", m.pick(1, batch)) if m.chance(0.4) else None]
    return Node(inputs, {"epsilon": m.pick(1e-5, 1e-2)} if m.chance(0.7) else {}, [True, True, m.chance(0.4)])
