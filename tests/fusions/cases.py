"""Models of a few nodes for tests/fusions/run.py: what each row of a fusion joins, and what must stay as it is.

Nodes are text as in the rows themselves: "c=Conv<group=2>(x,w) y=Relu(c)"; the last one makes the output y. Inputs are shapes; weights are
shapes (then random), numbers or arrays.
"""

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Case:
    row: str  # the fusion that makes the last step of it
    nodes: str
    inputs: dict
    weights: dict
    units: str  # operators that are left, in order; "" where nothing is joined
    index: int = 0  # among the rows of that name
    opset: int = 13
    dtype: str = "float32"
    outputs: tuple = ("y",)
    symbols: dict = field(default_factory=dict)  # sizes of symbolic dimensions
    chains: tuple = ("cpu", "cudasim,cpu")
    options: tuple = ()


def positive(*shape):
    return np.random.default_rng(5).uniform(0.5, 1.5, shape)


CONV = dict(inputs={"x": (2, 4, 6, 6)}, weights={"w": (4, 4, 3, 3), "b": (4,)})
LISTS = {"s": (4,), "t": (4,), "m": (4,), "v": positive(4)}
NORM = "y=BatchNormalization(c,s,t,m,v)"


def norm_cases():
    weights = {"w": (4, 4, 3, 3), "b": (4,), **LISTS}
    one = {"inputs": CONV["inputs"], "weights": weights, "units": "Conv"}
    yield Case("conv_batch_norm", "c=Conv(x,w,b) " + NORM, **one)
    yield Case("conv_batch_norm", "c=Conv<pads=[1,1,1,1]>(x,w) " + NORM, **one)
    for dtype in ("float16", "float64", "bfloat16"):
        yield Case("conv_batch_norm", "c=Conv(x,w,b) " + NORM, **one, dtype=dtype, opset=22 if dtype == "bfloat16" else 13)
    for opset in (7, 9, 14, 15, 21, 22):
        yield Case("conv_batch_norm", "c=Conv(x,w,b) " + NORM.replace("(c", "<epsilon=0.01>(c"), **one, opset=opset)
    yield Case("conv_batch_norm", "c=Conv<group=4>(x,w,b) " + NORM, CONV["inputs"], {**weights, "w": (4, 1, 3, 3)}, "Conv")
    yield Case("conv_batch_norm", "c=Conv(x,w,b) d=BatchNormalization(c,s,t,m,v) y=BatchNormalization(d,m,s,t,v)", **one)
    yield Case("conv_batch_norm", "c=Conv(x,w) " + NORM, {"x": (2, 3, 9)}, {**weights, "w": (4, 3, 2)}, "Conv")
    for group, w in ((1, (4, 4, 3, 3)), (2, (4, 2, 3, 3)), (4, (4, 1, 2, 2))):
        for bias in (",b", ""):
            nodes = f"c=ConvTranspose<group={group},strides=[2,2]>(x,w{bias}) " + NORM
            yield Case("conv_transpose_batch_norm", nodes, CONV["inputs"], {**weights, "w": w}, "ConvTranspose")
    for nodes, w, b in (("c=Gemm<alpha=0.5,beta=2.0>(x,w,b) ", (5, 4), (4,)), ("c=Gemm<transB=1>(x,w,b) ", (4, 5), (1, 4)),
                        ("c=Gemm(x,w) ", (5, 4), (4,)), ("c=Gemm<beta=0.5>(x,w,b) ", (5, 4), (1,))):
        yield Case("gemm_batch_norm", nodes + NORM, {"x": (3, 5)}, {**weights, "w": w, "b": b}, "Gemm")


def bias_cases():
    images, rows = CONV["inputs"], {"x": (2, 3, 5)}
    for k in ((4, 1, 1), (1, 4, 1, 1), (1,), ()):
        yield Case("bias", "c=Conv(x,w) y=Add(c,k)", images, {"w": (4, 4, 3, 3), "k": k}, "Conv")
    yield Case("bias", "c=Conv(x,w,b) y=Add(k,c)", images, {"w": (4, 4, 3, 3), "b": (4,), "k": (4, 1, 1)}, "Conv")
    yield Case("bias", "c=ConvTranspose(x,w) y=Add(c,k)", images, {"w": (4, 2, 3, 3), "k": (2, 1, 1)}, "ConvTranspose")
    for k in ((4,), (1, 4), (1, 1, 4)):
        yield Case("bias", "c=MatMul(x,w) y=Add(c,k)", rows, {"w": (5, 4), "k": k}, "FusedMatMul", index=1)
    yield Case("bias", "c=Gemm(x,w) y=Add(k,c)", {"x": (3, 5)}, {"w": (5, 4), "k": (4,)}, "Gemm", index=2)
    yield Case("bias", "c=MatMul(x,w) y=Add(c,k)", {"x": ("n", 3, 5)}, {"w": (5, 4), "k": (4,)}, "FusedMatMul", index=1, symbols={"n": 2})


PRODUCTS = [
    ("Conv", "c=Conv<strides=[2,1],pads=[1,0,1,0]>(x,w,b)", {"x": (2, 4, 6, 6)}, {"w": (4, 4, 3, 3), "b": (4,)}, (2, 4, 3, 4)),
    ("Gemm", "c=Gemm<alpha=0.5>(x,w,b)", {"x": (3, 5)}, {"w": (5, 7), "b": (7,)}, (3, 7)),
    ("MatMul", "c=MatMul(x,w)", {"x": (2, 3, 5)}, {"w": (5, 7)}, (2, 3, 7)),
]


def residual_cases():
    for op, product, inputs, weights, shape in PRODUCTS:
        for add in ("y=Add(c,z)", "y=Add(z,c)"):
            yield Case("residual", f"{product} {add}", {**inputs, "z": shape}, weights, "Fused" + op)
    yield Case("residual", "c=MatMul(x,w) d=Add(c,k) y=Add(d,z)", {"x": (2, 3, 5), "z": (2, 3, 4)}, {"w": (5, 4), "k": (4,)}, "FusedMatMul")
    yield Case("residual", "a=Conv(x,w) b=Conv(x,v) y=Add(a,b)", CONV["inputs"], {"w": (4, 4, 3, 3), "v": (4, 4, 3, 3)}, "Conv FusedConv")
    yield Case("residual", "r=Relu(x) c=Conv<pads=[1,1,1,1]>(r,w) y=Add(c,r)", {"x": ("n", 4, "h", "h")}, {"w": (4, 4, 3, 3)}, "Relu FusedConv",
               symbols={"n": 2, "h": 5})
    yield Case("residual", "c=MatMul(x,w) y=Add(c,x)", {"x": ("n", "m", 4)}, {"w": (4, 4)}, "FusedMatMul", symbols={"n": 2, "m": 3})
    yield Case("residual", "c=Conv(x,w) d=BatchNormalization(c,s,t,m,v) e=Add(d,z) y=Relu(e)", {**CONV["inputs"], "z": (2, 4, 4, 4)},
               {"w": (4, 4, 3, 3), **LISTS}, "FusedConv")


ACTIVATIONS = [
    # name, index, node, weights, opset
    ("relu", 0, "y=Relu(c)", {}, 13),
    ("leaky_relu", 0, "y=LeakyRelu<alpha=0.2>(c)", {}, 16),
    ("clip", 0, "y=Clip(c,lo,hi)", {"lo": 0.0, "hi": 0.6}, 13),
    ("clip", 0, "y=Clip(c,,hi)", {"hi": 0.1}, 12),
    ("clip", 0, "y=Clip<min=-0.5,max=0.5>(c)", {}, 10),
    ("clip", 0, "y=Clip<max=0.25>(c)", {}, 6),
    ("silu", 0, "s=Sigmoid(c) y=Mul(s,c)", {}, 9),
    ("silu", 1, "y=Swish(c)", {}, 24),
    ("sigmoid", 0, "y=Sigmoid(c)", {}, 13),
    ("hard_swish", 0, "s=HardSigmoid<alpha=0.16666667,beta=0.5>(c) y=Mul(c,s)", {}, 11),
    ("hard_swish", 1, "y=HardSwish(c)", {}, 14),
    ("hard_sigmoid", 0, "y=HardSigmoid<alpha=0.3>(c)", {}, 13),
    ("gelu", 0, "y=Gelu(c)", {}, 20),
    ("gelu", 1, 'y=Gelu<approximate="tanh">(c)', {}, 20),
]


def activation_cases():
    for name, index, node, more, opset in ACTIVATIONS:
        for op, product, inputs, weights, shape in PRODUCTS:
            if op == "Gemm" and opset < 11:
                product = "c=Gemm<broadcast=1>(x,w,b)" if opset < 7 else "c=Gemm(x,w,b)"
            yield Case("activation_" + name, f"{product} {node}", inputs, {**weights, **more}, "Fused" + op, index, opset)
    for op, product, inputs, weights, shape in PRODUCTS:
        first = product.replace("c=", "d=", 1)
        yield Case("activation_relu", f"{first} c=Add(d,z) y=Relu(c)", {**inputs, "z": shape}, weights, "Fused" + op)
        yield Case("activation_relu", f"{product} y=Relu(c)", inputs, weights, "Fused" + op, dtype="float64")
        yield Case("activation_clip", f"{product} y=Clip(c,lo,hi)", inputs, {**weights, "lo": 0.0, "hi": 0.5}, "Fused" + op, dtype="float16")


ERF = ["d=Div(x,r) f=Erf(d) o=Add(f,one) ", "d=Mul(x,q) f=Erf(d) o=Add(one,f) "]
ENDS = ["m=Mul(x,o) y=Mul(m,half)", "h=Mul(x,half) y=Mul(h,o)", "h=Mul(half,o) y=Mul(x,h)"]
TANH = [
    "p=Pow(x,three) k=Mul(p,u) a=Add(x,k) s=Mul(a,w) f=Tanh(s) o=Add(one,f) ",
    "q2=Mul(x,x) p=Mul(x,q2) k=Mul(u,p) a=Add(x,k) s=Mul(w,a) f=Tanh(s) o=Add(f,one) ",
    "k=Mul(x,u) q2=Mul(k,x) a=Add(q2,one) e=Mul(x,w) s=Mul(e,a) f=Tanh(s) o=Add(f,one) ",
]
NUMBERS = {"r": 2**0.5, "q": 0.5**0.5, "one": 1.0, "half": 0.5, "three": 3.0, "u": 0.044715, "w": (2 / np.pi) ** 0.5, "six": 6.0, "zero": 0.0,
           "sixth": 1 / 6}


def gelu_cases():
    for name, heads in (("gelu_erf", ERF), ("gelu_tanh", TANH)):
        for i, head in enumerate(heads):
            for j, end in enumerate(ENDS):
                yield Case(name, head + end, {"x": (3, 40)}, NUMBERS, "Gelu", 3 * i + j)
    yield Case("gelu_erf", ERF[0] + ENDS[0], {"x": (3, 40)}, NUMBERS, "Gelu", dtype="float16")
    product = "c=MatMul(i,w2) x=Add(c,k) "
    yield Case("gelu_erf", product + ERF[0] + ENDS[0], {"i": (3, 5)}, {**NUMBERS, "w2": (5, 8), "k": (8,)}, "FusedMatMul")


def swish_cases():
    x = {"x": (3, 40)}
    yield Case("silu", "s=Sigmoid(x) y=Mul(x,s)", x, {}, "Swish")
    yield Case("hard_swish", "s=HardSigmoid<alpha=0.16666667>(x) y=Mul(s,x)", x, {}, "HardSwish")
    ends = ["m=Mul(x,c) y=Div(m,six)", "d=Div(c,six) y=Mul(d,x)", "d=Mul(sixth,c) y=Mul(x,d)"]
    for i, end in enumerate(ends):
        yield Case("hard_swish", "a=Add(x,three) c=Clip(a,zero,six) " + end, x, NUMBERS, "HardSwish", 1 + i)
        yield Case("hard_swish", "a=Add(x,three) c=Clip<min=0.0,max=6.0>(a) " + end, x, NUMBERS, "HardSwish", 4 + i, opset=9)


def layer_norm(axes, square, opset=13):
    def mean(out, x):
        return f"{out}=ReduceMean({x},axes) " if opset >= 18 else f"{out}=ReduceMean<axes={axes}>({x}) "

    return mean("m", "x") + f"d=Sub(x,m) {square} " + mean("v", "p") + "e=Add(v,eps) s=Sqrt(e) n=Div(d,s) g=Mul(n,scale) y=Add(g,bias)"


def layer_norm_cases():
    weights = {"scale": (6,), "bias": (6,), "eps": 1e-5, "two": 2.0}
    for i, square in enumerate(("p=Pow(d,two)", "p=Mul(d,d)")):
        yield Case("layer_norm", layer_norm("[-1]", square), {"x": (2, 3, 6)}, weights, "LayerNormalization", i)
    yield Case("layer_norm", layer_norm("[2]", "p=Pow(d,two)", 11), {"x": ("n", 3, 6)}, weights, "LayerNormalization", opset=11, symbols={"n": 2})
    yield Case("layer_norm", layer_norm("[-1]", "p=Pow(d,two)", 18), {"x": (2, 3, 6)}, {**weights, "axes": np.array([-1])},
               "LayerNormalization", opset=18)
    yield Case("layer_norm", layer_norm("[1,2]", "p=Pow(d,two)"), {"x": (2, 3, 6)}, {**weights, "scale": (3, 6), "bias": (3, 6)},
               "LayerNormalization")


def refused_cases():
    """Nothing is joined: `units` is empty."""
    x, w = CONV["inputs"], {"w": (4, 4, 3, 3), "b": (4,), **LISTS}
    norm = "c=Conv(x,w,b) " + NORM
    yield Case("two readers", norm + " z=Relu(c)", x, w, "", outputs=("y", "z"))
    yield Case("an output", norm, x, w, "", outputs=("y", "c"))
    yield Case("weights that are an input", norm, {**x, "w": (4, 4, 3, 3)}, LISTS | {"b": (4,)}, "")
    yield Case("statistics that are an input", norm, {**x, "s": (4,)}, w, "")
    yield Case("a bias that is an input", norm, {**x, "b": (4,)}, w, "")
    yield Case("training", "c=Conv(x,w) y,rm,rv=BatchNormalization<training_mode=1>(c,s,t,m,v)", x, w, "", opset=15)
    yield Case("training by outputs", "c=Conv(x,w) y,rm,rv=BatchNormalization(c,s,t,m,v)", x, w, "", opset=9)
    yield Case("an infinite factor", "c=Conv(x,w) y=BatchNormalization<epsilon=0.0>(c,s,t,m,v)", x, {**w, "v": np.array([1, 0, 1, 1.0])}, "")
    yield Case("a bias for places", "c=Conv(x,w) y=Add(c,k)", x, {**w, "k": (4, 4)}, "")
    yield Case("a bias that stretches", "c=MatMul(x,w) y=Add(c,k)", {"x": (3, 5)}, {"w": (5, 4), "k": (2, 1, 4)}, "")
    yield Case("a bias of one row that becomes several", "c=MatMul(x,w) y=Add(c,k)", {"x": (1, 5)}, {"w": (5, 4), "k": (3, 4)}, "")
    yield Case("a sum that stretches", "c=Conv(x,w) y=Add(c,z)", {**x, "z": (2, 4, 1, 1)}, w, "")
    yield Case("a sum of unknown shapes", "c=MatMul(x,w) y=Add(c,z)", {"x": ("n", 4), "z": ("m", 4)}, {"w": (4, 4)}, "", symbols={"n": 2, "m": 2})
    yield Case("a value and itself", "c=Conv(x,w) y=Add(c,c)", x, w, "")
    yield Case("bounds that are inputs", "c=Conv(x,w) y=Clip(c,lo,hi)", {**x, "lo": (), "hi": ()}, w, "")
    yield Case("activation_hard_sigmoid", "c=MatMul(x,w) s=HardSigmoid<alpha=0.2>(c) y=Mul(x2,s)", {"x": (3, 4), "x2": (3, 4)}, {"w": (4, 4)}, "FusedMatMul Mul", opset=12)
    yield Case("Swish with a factor", "c=MatMul(x,w) y=Swish<alpha=2.0>(c)", {"x": (3, 4)}, {"w": (4, 4)}, "", opset=24)
    yield Case("wrong numbers", ERF[0] + ENDS[0], {"x": (3, 4)}, {**NUMBERS, "r": 1.5}, "")
    yield Case("wrong half", ERF[0] + ENDS[0], {"x": (3, 4)}, {**NUMBERS, "half": 0.25}, "")
    yield Case("x is another", ERF[0] + "m=Mul(z,o) y=Mul(m,half)", {"x": (3, 4), "z": (3, 4)}, NUMBERS, "")
    yield Case("Clip without bounds", "a=Add(x,three) c=Clip(a) d=Div(c,six) y=Mul(x,d)", {"x": (3, 4)}, NUMBERS, "")
    weights = {"scale": (6,), "bias": (6,), "eps": 1e-5, "two": 2.0, "three": 3.0}
    yield Case("a cube", layer_norm("[-1]", "p=Pow(d,three)"), {"x": (2, 3, 6)}, weights, "")
    yield Case("other axes", layer_norm("[1]", "p=Pow(d,two)"), {"x": (2, 3, 6)}, weights, "")
    yield Case("a pin", "c=Conv(x,w) y=Relu(c)", x, w, "", chains=("cpu,cudasim",), options=("--pin", "c=cudasim"))


def all_cases():
    for make in (norm_cases, bias_cases, residual_cases, activation_cases, gelu_cases, swish_cases, layer_norm_cases):
        yield from make()
