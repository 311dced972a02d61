"""Operators on 8-bit numbers, each as the graph that it stands for: DequantizeLinear, the operator on real numbers, QuantizeLinear.

A case has the operands, what the float operator computes (in double), the nodes of the graph and, where there is one, the node on
8-bit numbers. Scales are those that quantizers write: 1/255, 1/256 (softmax and sigmoid), 1/127, 1/128 (symmetric), and any.
"""

import itertools
from dataclasses import dataclass, field

import numpy as np

MICROSOFT = "com.microsoft"
SCALES = (1 / 255, 1 / 127, 1 / 128, 1 / 256)
TYPES = ((np.uint8, np.int8), (np.uint8, np.uint8), (np.int8, np.int8))  # of activations and of weights


@dataclass
class Linear:
    """8-bit numbers q that stand for (q - zero) * scale; scale and zero are single, or lists along `axis`."""

    data: np.ndarray
    scale: np.ndarray
    zero: np.ndarray
    axis: int = 0
    live: bool = True  # an input of the model, not a constant

    def real(self):
        shape = [1] * self.data.ndim
        if self.scale.ndim:
            shape[self.axis] = -1
        zero = self.zero.astype(np.float64).reshape(shape if self.zero.ndim else ())
        return (self.data.astype(np.float64) - zero) * self.scale.astype(np.float64).reshape(shape if self.scale.ndim else ())


@dataclass
class Case:
    name: str
    operands: list  # of Linear
    op: str  # of the graph, with attributes as onnx.parser reads them
    compute: object  # of the operands' real numbers, in double; gives the result
    kind: type  # of the result's elements
    scale: float
    zero: int
    fused: str = ""  # the operator that the nodes of the graph become, where they become one
    linear: object = None  # makes the inputs of the 8-bit operator: a function of the names of operands and result
    linear_op: str = ""
    bias: object = None  # of the graph: float, or integers with a scale
    more: list = field(default_factory=list)  # inputs of the graph's operator that are neither


def single(value, kind=np.float32):
    return np.array(value, kind)


def limits(kind):
    return np.iinfo(kind).min, np.iinfo(kind).max


def zeros_of(kind, random):
    """Those of symmetric and asymmetric quantizers, the ends, any."""
    low, high = limits(kind)
    return (low, high, (low + high + 1) // 2, int(random.integers(low, high)))


def numbers(random, kind, shape, scale, zero, **more):
    low, high = limits(kind)
    return Linear(random.integers(low, high, shape, kind, endpoint=True), single(scale), single(zero, kind), **more)


def filters(random, kind, shape, axis, scales, zeros):
    """Weights, in one scale for all or, of several scales, one for each filter. Half of those that are multiplied by one operand are small:
    two products of these fit 16 bits, which processors before VNNI make use of."""
    count = shape[axis]
    low, high = limits(kind)
    data = random.integers(low, high, shape, kind, endpoint=True)
    small = np.arange(shape[1 - axis]) % 16 >= 8
    middle = (low + high + 1) // 2
    data = np.where(np.expand_dims(small, [a for a in range(len(shape)) if a != 1 - axis]), (data.astype(int) - middle) // 4 + middle, data).astype(kind)
    if len(scales) == 1:
        return Linear(data, single(scales[0]), single(zeros[0], kind), axis, live=False)
    scale, zero = np.resize(np.array(scales, np.float32), count), np.resize(np.array(zeros, kind), count)
    return Linear(data, scale, zero, axis, live=False)


def result_scales(kind, y, random):
    """What a calibration writes for a result of these numbers, whole and with its ends cut off, and the round scales."""
    low, high = limits(kind)
    top, bottom = max(float(y.max()), 0.0), min(float(y.min()), 0.0)
    for part in (1.0, 0.4):
        scale = np.float32(part * (top - bottom) / 255 or 1.0)
        yield scale, int(np.clip(np.rint(low - part * bottom / scale), low, high))
    yield np.float32(max(top, -bottom) / 127 or 1.0), (low + high + 1) // 2
    yield np.float32((top - bottom) / 255 or 1.0) * np.float32(random.uniform(0.5, 2)), int(random.integers(low, high))


# ---- products --------------------------------------------------------------------------------------------------------


def conv(x, w, bias=0.0, group=1, strides=(1, 1), pads=0):
    """In double, over the taps of the filter."""
    batch, channels = x.shape[:2]
    x = np.pad(x, [(0, 0), (0, 0), (pads, pads), (pads, pads)])
    size = [(x.shape[2 + a] - w.shape[2 + a]) // strides[a] + 1 for a in range(2)]
    x, w = x.reshape(batch, group, channels // group, *x.shape[2:]), w.reshape(group, -1, *w.shape[1:])
    y = np.zeros((batch, group, w.shape[1], *size))
    for r, s in itertools.product(range(w.shape[3]), range(w.shape[4])):
        part = x[:, :, :, r : r + size[0] * strides[0] : strides[0], s : s + size[1] * strides[1] : strides[1]]
        y += np.einsum("bgchw,gmc->bgmhw", part, w[..., r, s])
    return y.reshape(batch, -1, *size) + np.reshape(bias, (1, -1, 1, 1) if np.ndim(bias) else ())


# name: x, w, attributes; each is for a kernel of its own
CONVOLUTIONS = {
    "square": ((1, 16, 6, 7), (24, 16, 3, 3), {"pads": 1}),
    "point": ((2, 40, 5, 5), (33, 40, 1, 1), {}),
    "deep": ((1, 600, 2, 3), (8, 600, 1, 1), {}),
    "first": ((1, 3, 12, 12), (16, 3, 3, 3), {"strides": (2, 2), "pads": 1}),
    "depthwise": ((1, 16, 7, 9), (16, 1, 3, 3), {"group": 16, "pads": 1}),
    "depthwise_odd": ((1, 18, 6, 6), (18, 1, 3, 3), {"group": 18, "pads": 1, "strides": (2, 2)}),
    "many": ((1, 4, 2, 2), (1280, 4, 1, 1), {}),
    "groups": ((1, 8, 5, 5), (12, 4, 3, 3), {"group": 2, "pads": 1}),
}


def written(attributes):
    if not attributes:
        return ""
    words = [f"{name}={[value] * 4 if name == 'pads' else list(value) if isinstance(value, tuple) else value}" for name, value in attributes.items()]
    return f"<{','.join(words)}>"


def products(random, thorough):
    for (kind, weights), channels in itertools.product(TYPES, (False, True)):
        w_zeros = [0] * 4 if weights is np.int8 else [128, 128, 3, 250] if not channels else [128, 127, 0, 255]
        for x_scale, zero in zip(SCALES + (0.0173,), zeros_of(kind, random) + (limits(kind)[0],)):
            scales = [s * f for s, f in zip(SCALES, (1, 0.7, 3e-6, 1.3))] if channels else [SCALES[int(random.integers(4))]]
            for name, (x_shape, w_shape, attributes) in CONVOLUTIONS.items():
                x = numbers(random, kind, x_shape, x_scale, zero)
                w = filters(random, weights, w_shape, 0, scales, w_zeros)
                yield from product_cases(random, f"conv_{name}", x, w, 0, f"Conv{written(attributes)}",
                                         lambda a, b, c=0.0, more=attributes: conv(a, b, c, **more), "QLinearConv", kind, thorough)
            for k, n in ((24, 33), (700, 9)):
                x = numbers(random, kind, (5, k), x_scale, zero)
                for trans in (0, 1):
                    w = filters(random, weights, (n, k) if trans else (k, n), 1 - trans, scales, w_zeros)
                    yield from product_cases(random, "gemm", x, w, 1 - trans, f"Gemm<transB={trans}>",
                                             lambda a, b, c=0.0, t=trans: a @ (b.T if t else b) + c, "com.microsoft.QGemm", kind, thorough)
                w = filters(random, weights, (k, n), 1, scales, w_zeros)
                yield from product_cases(random, "matmul", x, w, 1, "MatMul", np.matmul, "QLinearMatMul", kind, thorough)


def product_cases(random, name, x, w, axis, op, compute, fused, kind, thorough):
    count = w.data.shape[axis]
    step = (x.scale * w.scale).astype(np.float32)
    # A filter of tiny weights, as pruning leaves them, has a bias of many steps: float arithmetic does not round their sum exactly.
    steps = np.rint(np.minimum(step.max() / step, 40000) * random.integers(-20000, 20000, count)).astype(np.int32) if op != "MatMul" else None
    bias = None if steps is None else Linear(steps, step, np.zeros(np.shape(step), np.int32), 0, live=False)
    y = compute(x.real(), w.real(), *([] if bias is None else [bias.real()]))
    for scale, zero in list(result_scales(kind, y, random))[: None if thorough else 2]:
        def inputs(names, y_scale, y_zero, b):
            (a, a_scale, a_zero), (c, c_scale, c_zero) = names
            if fused == "com.microsoft.QGemm":
                return [a, a_scale, a_zero, c, c_scale, c_zero, b, y_scale, y_zero]
            return [a, a_scale, a_zero, c, c_scale, c_zero, y_scale, y_zero] + ([b] if b else [])

        attributes = op[op.index("<") :] if "<" in op else ""
        yield Case(name, [x, w], op, compute, kind, scale, zero, fused, inputs, fused + attributes, bias)


# ---- element by element, and others ----------------------------------------------------------------------------------


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def average(x):
    """Of windows of 3x3, two apart, over what is in the picture."""
    padded, counted = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)]), np.pad(np.ones_like(x), [(0, 0), (0, 0), (1, 1), (1, 1)])
    taps = [(slice(None), slice(None), slice(r, r + x.shape[2], 2), slice(s, s + x.shape[3], 2)) for r in range(3) for s in range(3)]
    return sum(padded[t] for t in taps) / sum(counted[t] for t in taps)


def flat(names):
    return [part for name in names for part in name]


def two_sided(op, linear=None):
    return lambda names, scale, zero, _: flat(names) + [scale, zero]


def erf(x):
    from math import erf as one

    return np.vectorize(one, otypes=[float])(x)


FUNCTIONS = {
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Tanh": np.tanh,
    "Relu": lambda x: np.maximum(x, 0),
    "LeakyRelu<alpha=0.2>": lambda x: np.where(x >= 0, x, np.float64(np.float32(0.2)) * x),
    "Elu<alpha=0.7>": lambda x: np.where(x >= 0, x, np.float64(np.float32(0.7)) * np.expm1(x)),
    "HardSigmoid": lambda x: np.clip(np.float64(np.float32(0.2)) * x + 0.5, 0, 1),
    "HardSwish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "Gelu": lambda x: 0.5 * x * (1 + erf(x / np.sqrt(2))),
    "Softplus": lambda x: np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0),
    "Softsign": lambda x: x / (1 + np.abs(x)),
}
LINEAR_FUNCTIONS = {"Sigmoid": "QLinearSigmoid", "LeakyRelu<alpha=0.2>": "QLinearLeakyRelu<alpha=0.2>"}


def one_sided(random, kind, thorough):
    """Operators of one tensor: the name, the shape, the float operator, what it computes, what the nodes become, the 8-bit operator."""
    every = np.arange(256).astype(np.uint8).view(kind)
    for op, function in FUNCTIONS.items():
        linear = LINEAR_FUNCTIONS.get(op)
        yield "function", every, (0.03, 1 / 16), op, function, "ByteTable", linear and f"{MICROSOFT}.{linear}"
    data = lambda *shape: random.integers(*limits(kind), shape, kind, endpoint=True)
    for length in (1, 5, 64, 1000) if thorough else (5, 200):
        yield "softmax", data(6, length), (1 / 255, 0.05, 0.4), "Softmax<axis=-1>", softmax, "QLinearSoftmax", f"{MICROSOFT}.QLinearSoftmax<axis=-1,opset=13>"
    yield "mean", data(2, 19, 7, 5), SCALES, "GlobalAveragePool", lambda x: x.mean((2, 3), keepdims=True), "QLinearGlobalAveragePool", f"{MICROSOFT}.QLinearGlobalAveragePool"
    window = "<kernel_shape=[3,3],strides=[2,2],pads=[1,1,1,1]>"
    yield "average", data(1, 5, 7, 9), SCALES, f"AveragePool{window}", average, "QLinearAveragePool", f"{MICROSOFT}.QLinearAveragePool{window}"
    yield "reduce", data(3, 4, 50), SCALES, "", lambda x: x.mean(-1, keepdims=True), "", f"{MICROSOFT}.QLinearReduceMean<axes=[-1],keepdims=1>"


def unary_cases(random, thorough):
    for kind in (np.uint8, np.int8):
        for name, data, x_scales, op, function, fused, linear in one_sided(random, kind, thorough):
            for scale, zero in itertools.product(x_scales, zeros_of(kind, random)):
                x = Linear(data, single(scale), single(zero, kind))
                y = function(x.real())
                ends = [(s, z) for s in SCALES for z in zeros_of(kind, random)[::2]] if name in ("softmax", "function") else []
                ends += list(result_scales(kind, y, random))
                for y_scale, y_zero in ends if thorough else random.permutation(np.array(ends, object))[:4]:
                    inputs = lambda names, s, z, _: [*flat(names), s, z]
                    yield Case(name, [x], op, function, kind, np.float32(y_scale), int(y_zero), fused, inputs if linear else None, linear or "")


PAIRS = {"Add": np.add, "Mul": np.multiply}


def pair_cases(random, thorough):
    every = np.arange(256).astype(np.uint8)
    for kind in (np.uint8, np.int8):
        a_data = np.repeat(every, 256).view(kind).reshape(256, 256)
        b_data = np.tile(every, 256).view(kind).reshape(256, 256)
        low, high = limits(kind)
        for op, function in PAIRS.items():
            for a_scale, b_scale in itertools.product(SCALES + (0.0371,), SCALES[:2] + (0.0113,)):
                zeros = random.choice(zeros_of(kind, random), 2)
                a, b = Linear(a_data, single(a_scale), single(zeros[0], kind)), Linear(b_data, single(b_scale), single(zeros[1], kind))
                y = function(a.real(), b.real())
                for scale, zero in list(result_scales(kind, y, random))[: None if thorough else 1]:
                    yield Case("pair", [a, b], op, function, kind, scale, zero, f"QLinear{op}", two_sided(op), f"{MICROSOFT}.QLinear{op}")
        for count in (2, 3, 4):
            parts = [numbers(random, kind, (2, 64), s, z) for s, z in zip(SCALES, zeros_of(kind, random))][:count]
            function = lambda *x: np.concatenate(x, 1)
            for scale, zero in result_scales(kind, function(*[part.real() for part in parts]), random):
                inputs = lambda names, s, z, _: [s, z, *flat(names)]
                yield Case("concat", parts, "Concat<axis=1>", function, kind, scale, zero, "QLinearConcat", inputs, f"{MICROSOFT}.QLinearConcat<axis=1>")
        x, y = (numbers(random, kind, (2, 64), s, z) for s, z in zip(SCALES[:2], zeros_of(kind, random)))
        yes = random.integers(0, 2, (2, 64)).astype(bool)
        function = lambda a, b, c=yes: np.where(c, a, b)
        for scale, zero in result_scales(kind, function(x.real(), y.real()), random):
            yield Case("where", [x, y], "", function, kind, scale, zero, "", lambda names, s, z, _: ["yes", *flat(names), s, z], f"{MICROSOFT}.QLinearWhere", more=[yes])
        for x_scale, w_scale in itertools.product(SCALES, SCALES[:2]):
            a, b = numbers(random, kind, (3, 4, 40), x_scale, 7), numbers(random, kind, (3, 40, 6), w_scale, 3)
            for scale, zero in result_scales(kind, a.real() @ b.real(), random):
                yield Case("live", [a, b], "MatMul", np.matmul, kind, scale, zero, "QLinearMatMul", two_sided("MatMul"), "QLinearMatMul")


# ---- tinyort's own, which stand for a float operator between two borders -------------------------------------------------


def stretched(x):
    """Twice as high and wide, linear between the centers of pixels."""
    for axis in (2, 3):
        at = np.clip((np.arange(2 * x.shape[axis]) + 0.5) / 2 - 0.5, 0, x.shape[axis] - 1)
        low = np.floor(at).astype(int)
        part = (at - low).reshape([-1 if a == axis else 1 for a in range(4)])
        x = np.take(x, low, axis) * (1 - part) + np.take(x, np.minimum(low + 1, x.shape[axis] - 1), axis) * part
    return x


def normalized(x, axes):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)


def spread(x, w):
    """ConvTranspose of 3 x 3 with a stride of 2."""
    y = np.zeros((x.shape[0], w.shape[1], 2 * x.shape[2] + 1, 2 * x.shape[3] + 1))
    for r, s in itertools.product(range(3), range(3)):
        y[:, :, r : r + 2 * x.shape[2] : 2, s : s + 2 * x.shape[3] : 2] += np.einsum("bchw,cm->bmhw", x, w[:, :, r, s])
    return y


def own_cases(random, thorough):
    rows, factors = random.uniform(0.5, 2, 40).astype(np.float32), np.array([1, 1, 2, 2], np.float32)
    three = rows[:3]
    single_sided = (
        ("resize", (2, 3, 5, 4), "QLinearResize<mode=\"linear\">", stretched, ["", "yes"], factors),
        ("layer", (6, 40), "QLinearLayerNormalization<axis=-1>", lambda x: normalized(x, -1) * rows, ["yes"], rows),
        ("instance", (2, 3, 7, 5), "QLinearInstanceNormalization", lambda x: (normalized(x, (2, 3)) + 1) * three.reshape(1, 3, 1, 1), ["yes", "yes"], three),
    )
    for kind in (np.uint8, np.int8):
        for name, shape, op, function, last, given in single_sided:
            for x_scale, x_zero in zip(SCALES, zeros_of(kind, random)):
                x = numbers(random, kind, shape, x_scale, x_zero)
                for scale, zero in list(result_scales(kind, function(x.real()), random))[: None if thorough else 2]:
                    inputs = lambda names, s, z, _, last=last: [*flat(names), s, z, *last]
                    yield Case(name, [x], "", function, kind, scale, zero, "", inputs, f"tinyort.{op}", more=[given])
        for x_scale, x_zero in zip(SCALES, zeros_of(kind, random)):
            x, w = numbers(random, kind, (2, 4, 5, 3), x_scale, x_zero), filters(random, np.int8, (4, 6, 3, 3), 1, [1 / 127], [0])
            for scale, zero in list(result_scales(kind, spread(x.real(), w.real()), random))[: None if thorough else 2]:
                yield Case("transposed", [x, w], "", spread, kind, scale, zero, "", two_sided("ConvTranspose"), "tinyort.QLinearConvTranspose<strides=[2,2]>")
    yield from summed_cases(random, thorough)


def summed_cases(random, thorough):
    """Convolutions with the sum behind them. Scales of the product are powers of two, so that the bytes between the two are exact in double."""
    for (kind, weights), name in itertools.product(((np.uint8, np.int8), (np.int8, np.int8)), ("square", "point", "first", "depthwise")):
        x_shape, w_shape, attributes = CONVOLUTIONS[name]
        x, w = numbers(random, kind, x_shape, 1 / 128, zeros_of(kind, random)[2]), filters(random, weights, w_shape, 0, [1 / 128], [0])
        product = conv(x.real(), w.real(), **attributes)
        between, middle = np.float32(2.0 ** np.ceil(np.log2(np.abs(product).max() / 100))), single(zeros_of(kind, random)[2], kind)

        def compute(x, w, s, kind=kind, more=attributes, scale=float(between), zero=int(middle)):
            low, high = limits(kind)
            return (np.clip(np.rint(conv(x, w, **more) / scale) + zero, low, high) - zero) * scale + s

        for s_scale, s_zero in zip(SCALES, zeros_of(kind, random)):
            s = numbers(random, kind, product.shape, 40 * s_scale, s_zero)
            for scale, zero in list(result_scales(kind, compute(x.real(), w.real(), s.real()), random))[: None if thorough else 2]:
                inputs = lambda names, y, z, _: [*flat(names[:2]), "yes", "middle", "", *flat(names[2:]), y, z]
                yield Case(f"summed_{name}", [x, w, s], "", compute, kind, scale, zero, "", inputs, f"tinyort.QLinearConvAdd{written(attributes)}", more=[between, middle])


def all_cases(thorough):
    for seed in range(4 if thorough else 1):
        random = np.random.default_rng(seed)
        yield from products(random, thorough)
        yield from unary_cases(random, thorough)
        yield from pair_cases(random, thorough)
        yield from own_cases(random, thorough)
