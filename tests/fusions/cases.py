"""Models of a few nodes for tests/fusions/run.py: what each row of a fusion joins, and what must stay as it is.

Nodes are text as in the rows themselves: "c=Conv<group=2>(x,w) y=Relu(c)"; the last one makes the output y. Inputs are shapes; weights are
shapes (then random), numbers or arrays.
"""

from dataclasses import dataclass, field

import heads_cases
import move_cases
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
    folded: tuple = ()  # nodes that do not run anyway
    step: float = 0.0  # of a quantized result, which may be off by one
    views: tuple = None  # nodes that a plan has nothing to do for; None: not looked at


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
        chains = ("cpu",) if dtype == "float64" else Case.chains  # Conv of double is on cpu, and what is behind it may not be
        yield Case("conv_batch_norm", "c=Conv(x,w,b) " + NORM, **one, dtype=dtype, opset=22 if dtype == "bfloat16" else 13, chains=chains)
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


def factor_cases():
    """Constants behind a convolution, and before one: of one number or of one a channel, in one group and in several."""
    x, w, b = CONV["inputs"], (4, 4, 3, 3), (4,)
    for k in ((), (1,), (4, 1, 1), (1, 4, 1, 1), (1, 1, 1, 1)):
        yield Case("conv_factor", "c=Conv<pads=[1,1,1,1]>(x,w,b) y=Mul(c,k)", x, {"w": w, "b": b, "k": k}, "Conv")
    for dtype in ("float64", "float16", "bfloat16"):
        chains = ("cpu",) if dtype == "float64" else Case.chains
        yield Case("conv_factor", "c=Conv(x,w) y=Mul(k,c)", x, {"w": w, "k": (4, 1, 1)}, "Conv", dtype=dtype, opset=22, chains=chains)
    yield Case("conv_factor", "c=Conv(x,w) d=Mul(c,k) e=Add(d,t) y=HardSwish(e)", x, {"w": w, "k": (1,), "t": (1,)}, "FusedConv", opset=14)
    for group, w in ((1, (4, 4, 3, 3)), (2, (4, 2, 3, 3))):
        weights = {"w": w, "b": (w[1] * group,), "k": (w[1] * group, 1, 1)}
        yield Case("conv_factor", f"c=ConvTranspose<group={group}>(x,w,b) y=Mul(c,k)", x, weights, "ConvTranspose", index=1)
    for group, w in ((1, (6, 4, 3, 3)), (2, (6, 2, 3, 3)), (4, (8, 1, 2, 2))):
        for k in ((1,), (4, 1, 1)):
            padded = f"y=Conv<group={group},pads=[1,1,1,1],strides=[2,2]>(c,w,b)"
            weights = {"w": w, "b": (w[0],), "k": k}
            yield Case("conv_input_factor", "c=Mul(x,k) " + padded, x, weights, "Conv")
            yield Case("conv_input_factor", "c=Div(x,k) " + padded, x, {**weights, "k": positive(*k)}, "Conv")
            yield Case("conv_input_bias", f"c=Add(k,x) y=Conv<group={group}>(c,w,b)", x, weights, "Conv")
    yield Case("conv_input_bias", 'c=Add(x,k) y=Conv<auto_pad="VALID">(c,w)', x, {"w": (6, 4, 3, 3), "k": (4, 1, 1)}, "Conv")
    yield Case("conv_input_bias", "c=Mul(x,k) d=Add(c,t) y=Conv(d,w)", x, {"w": (6, 4, 1, 1), "k": (4, 1, 1), "t": (1,)}, "Conv")


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
    ("gelu", 2, "y=com.microsoft.Gelu(c)", {}, 17),
    ("gelu", 3, "y=com.microsoft.FastGelu(c)", {}, 17),
    ("silu", 2, "y=com.microsoft.QuickGelu<alpha=1.0>(c)", {}, 17),
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
        yield Case("activation_relu", f"{product} y=Relu(c)", inputs, weights, "Fused" + op, dtype="float64", chains=("cpu",))
        yield Case("activation_clip", f"{product} y=Clip(c,lo,hi)", inputs, {**weights, "lo": 0.0, "hi": 0.5}, "Fused" + op, dtype="float16")


def bias_gelu_cases():
    """As onnxruntime's optimizer leaves a product with a bias and a Gelu."""
    for index, op in enumerate(("BiasGelu", "FastGelu")):
        yield Case("bias_gelu", f"c=MatMul(x,w) y=com.microsoft.{op}(c,b)", {"x": (2, 3, 5)}, {"w": (5, 7), "b": (7,)}, "FusedMatMul", index, 17, chains=("cpu",))
        yield Case("bias_gelu", f"c=MatMul(x,w) y=com.microsoft.{op}(c,b)", {"x": ("n", 3, 5)}, {"w": (5, 7), "b": (7,)}, "FusedMatMul", index, 17,
                   symbols={"n": 2}, chains=("cpu",))


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
    for square in ("p=Pow(d,two)", "p=Mul(d,d)"):
        yield Case("layer_norm", layer_norm("[-1]", square), {"x": (2, 3, 6)}, weights, "LayerNormalization")
    yield Case("layer_norm", layer_norm("[2]", "p=Pow(d,two)", 11), {"x": ("n", 3, 6)}, weights, "LayerNormalization", opset=11, symbols={"n": 2})
    yield Case("layer_norm", layer_norm("[-1]", "p=Pow(d,two)", 18), {"x": (2, 3, 6)}, {**weights, "axes": np.array([-1])},
               "LayerNormalization", opset=18)
    for x in ((2, 3, 6), ("n", 6)):
        both, scale = {"x": x, "z": x}, {"scale": (6,), "bias": (6,)}
        for index, norm in enumerate(("LayerNormalization<axis=-1>(c,scale,bias)", "LayerNormalization<axis=-1,epsilon=0.1>(c,scale)")):
            yield Case("skip_norm", f"c=Add(x,z) y={norm}", both, scale if not index else {"scale": (6,)}, "SkipLayerNormalization", opset=17, symbols={"n": 4})
    yield Case("layer_norm", layer_norm("[1,2]", "p=Pow(d,two)"), {"x": (2, 3, 6)}, {**weights, "scale": (3, 6), "bias": (3, 6)},
               "LayerNormalization")


def rms_norm_cases():
    weights = {"scale": (6,), "eps": 1e-5, "two": 2.0, "one": 1.0}
    roots = ("r=Div(one,s) n=Mul(x,r)", "r=Reciprocal(s) n=Mul(r,x)", "n=Div(x,s)")
    for i, square in enumerate(("p=Pow(x,two)", "p=Mul(x,x)")):
        for k, root in enumerate(roots):
            nodes = f"{square} v=ReduceMean<axes=[-1]>(p) e=Add(v,eps) s=Sqrt(e) {root} y=Mul(scale,n)"
            yield Case("rms_norm", nodes, {"x": (2, 3, 6)}, weights, "RMSNormalization", 3 * i + k, chains=("cpu",))
    nodes = "p=Pow(x,two) v=ReduceMean(p,axes) e=Add(v,eps) s=Sqrt(e) n=Div(x,s) y=Mul(n,scale)"
    yield Case("rms_norm", nodes, {"x": ("n", 3, 6)}, {**weights, "axes": np.array([-1])}, "RMSNormalization", 2, 18, symbols={"n": 2}, chains=("cpu",))


HEADS = {"q": (2, 3, 5, 4), "k": (2, 3, 4, 6), "v": (2, 3, 6, 7)}
HIDDEN = np.where(np.arange(30).reshape(5, 6) % 7 < 3, -np.inf, 0.5)
HIDDEN[2] = -np.inf  # a query that sees nothing

# What lies between scores x and softmax, in the order of the rows: nodes, inputs, weights.
MASKS = [
    ("", "x", {}, {}),
    ("m=Add(mask,x) ", "m", {"mask": (2, 1, 1, 6)}, {}),
    ("g=Greater(kept,zero) w=Where(g,x,low) ", "w", {"kept": (5, 6)}, {"zero": 0.0, "low": -1e4}),
    ("g=Greater(kept,zero) w=Where(g,low,x) ", "w", {"kept": (3, 5, 1)}, {"zero": 0.0, "low": -3e4}),
    ("g=Greater(kept,zero) w=Where(g,x,low) m=Add(w,mask) ", "m", {"kept": (1, 1, 5, 6), "mask": (3, 5, 1)}, {"zero": 0.0, "low": -1e4}),
]


def attention_cases():
    def case(index, nodes, inputs=None, weights=None, units="FusedAttention", row="attention", **more):
        return Case(row, nodes, {**HEADS, **(inputs or {})}, weights or {}, units, index, **more)

    for i, (scores, number) in enumerate((("a=MatMul(q,k) ", None), ("a=MatMul(q,k) s=Mul(c,a) ", 0.125), ("a=MatMul(q,k) s=Div(a,c) ", 2.0))):
        for j, (mask, last, inputs, weights) in enumerate(MASKS):
            x = "a" if number is None else "s"
            nodes = (scores + mask + f"p=Softmax({last}) y=MatMul(p,v)").replace("(x", f"({x}").replace(",x", f",{x}")
            units = "Greater FusedAttention" if "kept" in inputs else "FusedAttention"
            yield case(5 * min(i, 1) + j, nodes, inputs, {**weights, **({} if number is None else {"c": number})}, units)
    full = {"mask": (2, 3, 5, 6)}
    yield case(10, "a=MatMul(q,k) m=Add(a,mask) p=Softmax(m) y=MatMul(p,v)", full)
    safe = "n=IsNaN(p) z=Where(n,zero,p) y=MatMul(z,v)"
    yield case(11, "a=MatMul(q,k) p=Softmax(a) " + safe, weights={"zero": 0.0})
    yield case(12, "a=MatMul(q,k) m=Add(a,mask) p=Softmax(m) " + safe, weights={"zero": 0.0, "mask": HIDDEN})
    yield case(13, "a=MatMul(q,k) m=Add(a,mask) p=Softmax(m) " + safe, full, {"zero": 0.0})
    for j, (mask, last, inputs, weights) in enumerate(MASKS):
        for product, keys in (("a=com.microsoft.FusedMatMul<alpha=0.125>(q,k) ", {}), ("a=com.microsoft.FusedMatMul<transB=1>(q,k) ", {"k": (2, 3, 6, 4)})):
            nodes = (product + mask + f"p=Softmax({last}) y=MatMul(p,v)").replace("(x", "(a").replace(",x", ",a")
            yield case(14 + j, nodes, {**inputs, **keys}, weights, "Greater FusedAttention" if "kept" in inputs else "FusedAttention")
    plain = "a=MatMul(q,k) s=Mul(a,c) m=Add(s,mask) p=Softmax(m) y=MatMul(p,v)"
    for dtype in ("float16", "bfloat16"):  # products of double have a fast kernel, FusedAttention of double has none
        yield case(6, plain, {"mask": (6,)}, {"c": 0.5}, dtype=dtype)
    yield case(6, plain.replace("Softmax", "Softmax<axis=3>"), {"mask": (5, 1)}, {"c": 0.5}, opset=11)
    yield Case("attention", plain, {"q": (3, 5, 4), "k": (3, 4, 6), "v": (3, 6, 7), "mask": (5, 6)}, {"c": 0.5}, "FusedAttention", 6)
    yield Case("attention", plain, {"q": (5, 4), "k": (4, 6), "v": (6, 7), "mask": (5, 6)}, {"c": 0.5}, "FusedAttention", 6)
    symbols = {"q": ("b", 3, "s", 4), "k": ("b", 3, 4, "s"), "v": ("b", 3, "s", 7), "mask": ("b", 1, 1, "s")}
    yield Case("attention", plain, symbols, {"c": 0.5}, "FusedAttention", 6, symbols={"b": 2, "s": 9})
    long = {"q": (1, 2, 70, 8), "k": (1, 2, 8, 1100), "v": (1, 2, 1100, 40), "mask": (70, 1100)}
    yield Case("attention", plain, long, {"c": 0.5}, "FusedAttention", 6)
    one = {"q": (1, 2, 1, 8), "k": (1, 2, 8, 50), "v": (1, 2, 50, 40), "mask": (1, 50)}
    yield Case("attention", plain, one, {"c": 1.0}, "FusedAttention", 6)
    wide = {"q": (1, 2, 3, 130), "k": (1, 2, 130, 5), "v": (1, 2, 5, 4), "mask": (3, 5)}
    yield Case("attention", plain, wide, {"c": 0.1}, "FusedAttention", 6, chains=("cpu",))


def attention_around_cases():
    core = " a=MatMul(qt,kt) p=Softmax(a) y=MatMul(p,v)"
    scaled = {"c": 2**-0.5}
    row = {"index": 0, "row": "attention_scale", "weights": scaled, "units": "FusedAttention", "inputs": HEADS}
    yield Case(**row | {"nodes": "qt=Mul(q,c) a=MatMul(qt,k) p=Softmax(a) y=MatMul(p,v)"})
    yield Case(**row | {"nodes": "kt=Div(k,c) a=MatMul(q,kt) p=Softmax(a) y=MatMul(p,v)", "index": 1})
    yield Case(**row | {"nodes": "qt=Mul(q,c) kt=Mul(c,k)" + core})
    row = {"index": 0, "row": "attention_transpose", "weights": {}, "units": "FusedAttention"}
    heads = {"q": (2, 5, 3, 4), "k": (2, 6, 3, 4), "v": (2, 6, 3, 8)}
    split = "qt=Transpose<perm=[0,2,1,3]>(q) kt=Transpose<perm=[0,2,3,1]>(k) vt=Transpose<perm=[0,2,1,3]>(v)"
    whole = split + " a=MatMul(qt,kt) p=Softmax(a) o=MatMul(p,vt) y=Transpose<perm=[0,2,1,3]>(o)"
    for index in range(4):
        yield Case(**row | {"nodes": whole, "inputs": heads, "index": index})
    yield Case(**row | {"nodes": whole, "inputs": heads, "dtype": "float16"})
    twice = "t=Transpose<perm=[1,0,2,3]>(k) kt=Transpose<perm=[1,0,3,2]>(t) a=MatMul(q,kt) p=Softmax(a) y=MatMul(p,v)"
    yield Case(**row | {"nodes": twice, "inputs": {**HEADS, "k": (2, 3, 6, 4)}, "index": 1})
    safe = "kt=Transpose<perm=[0,1,3,2]>(k) a=MatMul(q,kt) m=Add(a,mask) p=Softmax(m) n=IsNaN(p) z=Where(n,zero,p) y=MatMul(z,v)"
    yield Case(**row | {"nodes": safe, "inputs": {**HEADS, "k": (2, 3, 6, 4)}, "index": 1, "weights": {"zero": 0.0, "mask": HIDDEN}})
    reverse = "qt=Transpose(q) a=MatMul(qt,k) p=Softmax(a) o=MatMul(p,v) y=Transpose(o)"
    inputs = {"q": (4, 5, 3, 2), "k": (2, 3, 4, 6), "v": (2, 3, 6, 7)}
    yield Case(**row | {"nodes": reverse, "inputs": inputs, "chains": ("cudasim,cpu",), "index": 3})
    yield Case(**row | {"nodes": reverse, "inputs": inputs, "chains": ("cpu",), "units": "FusedAttention Transpose"})


def cast_cases():
    yield Case("softmax_cast", "p=Softmax(x) y=Cast<to=1>(p)", {"x": (3, 4)}, {}, "Softmax")
    inner = "a=MatMul(q,k) p=Softmax(a) c=Cast<to=1>(p) y=MatMul(c,v)"
    yield Case("softmax_cast", inner, HEADS, {}, "FusedAttention")
    yield Case("softmax_cast", "p=Softmax<axis=1>(x) y=Cast<to=10>(p)", {"x": (2, 3, 4)}, {}, "Softmax", opset=11, dtype="float16")


def integers(low, high, *shape, dtype=np.int8):
    return np.random.default_rng(7).integers(low, high, shape, endpoint=True).astype(dtype)


# A tensor x that is quantized, an operator on it in float, a result that is quantized.
BETWEEN = "xq=QuantizeLinear(x,sx,zx) xd=DequantizeLinear(xq,sx,zx) {} yq=QuantizeLinear({},sy,zy) y=DequantizeLinear(yq,sy,zy)"
STEPS = {"sx": 0.03, "zx": np.uint8(131), "sy": 0.05, "zy": np.uint8(120)}
QUANTIZED = {
    "inputs": {"x": (2, 4, 6, 6)},
    "units": "QuantizeLinear QLinearConv DequantizeLinear",
    "chains": ("cpu",),
    "folded": ("wd",),
    "step": 0.051,
}
FILTERS = {"w": integers(-90, 127, 5, 4, 3, 3), "sw": 0.01, "zw": np.int8(0)}


def qlinear_conv(convolution="c=Conv<pads=[1,1,1,1]>(xd,wd)", weights=None, last="c", axis="<axis=0>", zero=",zw"):
    nodes = BETWEEN.format(f"wd=DequantizeLinear{axis}(w,sw{zero}) {convolution}", last)
    return {"row": "qlinear_conv", "nodes": nodes, "weights": {**STEPS, **FILTERS, **(weights or {})}, **QUANTIZED}


def quantized_cases():
    bias = "c=Conv<strides=[2,1]>(xd,wd,b)"
    channels = {"sw": positive(5).astype(np.float32) / 100, "zw": np.zeros(5, np.int8)}
    yield Case(**qlinear_conv())
    yield Case(**qlinear_conv(bias, {"b": (5,)}))
    yield Case(**qlinear_conv(bias, {"b": (5,), **channels}))
    yield Case(**qlinear_conv(bias, {"b": (5,), **channels}, zero=""))
    yield Case(**qlinear_conv(bias, {"b": (5,)}, zero="", axis=""))
    yield Case(**qlinear_conv(weights={"w": integers(3, 250, 5, 4, 3, 3, dtype=np.uint8), "zw": np.array([128], np.uint8)}))
    yield Case(**qlinear_conv("c=Conv<group=2>(xd,wd)", {"w": integers(-90, 90, 6, 4, 3, 3)}) | {"inputs": {"x": (2, 8, 6, 6)}})
    yield Case(**qlinear_conv(weights={"zx": np.int8(-3), "zy": np.int8(5)}))
    yield Case(**qlinear_conv(weights={"sx": np.array([0.03]), "zx": np.array([9], np.uint8), "sy": np.array([0.05])}))
    integer_bias = qlinear_conv("b=DequantizeLinear<axis=0>(bq,sb) " + bias, {"bq": integers(-999, 999, 5, dtype=np.int32), "sb": 0.03 * 0.01})
    yield Case(**integer_bias | {"folded": ("wd", "b")})
    yield Case(**qlinear_conv("d=Conv(xd,wd) c=Relu(d)", {"zy": np.uint8(0)}))
    yield Case(**qlinear_conv("d=Conv(xd,wd) c=Clip(d,lo,hi)", {"zy": np.uint8(0), "lo": 0.0, "hi": 6.0, "sy": 6 / 255}))
    two = BETWEEN.format("wd=DequantizeLinear<axis=0>(w,sw,zw) d=Conv(xd,wd) e=Conv(xd,wd) dq=QuantizeLinear(d,sy,zy) z=DequantizeLinear(dq,sy,zy)", "e")
    units = "QuantizeLinear QLinearConv DequantizeLinear QLinearConv DequantizeLinear"
    yield Case(**qlinear_conv() | {"nodes": two, "units": units, "outputs": ("y", "z")})
    shared = BETWEEN.format("wd=DequantizeLinear<axis=0>(w,sw,zw) c=Conv(xd,wd) z=Relu(xd)", "c")
    units = "QuantizeLinear DequantizeLinear Relu QLinearConv DequantizeLinear"
    yield Case(**qlinear_conv() | {"nodes": shared, "units": units, "outputs": ("y", "z")})
    product = {**qlinear_conv(), "row": "qlinear_matmul", "inputs": {"x": (2, 3, 5)}, "units": "QuantizeLinear QLinearMatMul DequantizeLinear"}
    for scale in ({"sw": 0.01, "zw": np.int8(3)}, {"sw": positive(7).astype(np.float32) / 100, "zw": integers(-5, 5, 7)}):
        for relu, zero in (("c=MatMul(xd,wd)", 120), ("d=MatMul(xd,wd) c=Relu(d)", 0)):
            nodes = BETWEEN.format(f"wd=DequantizeLinear<axis=1>(w,sw,zw) {relu}", "c")
            yield Case(**product | {"nodes": nodes, "weights": {**STEPS, "zy": np.uint8(zero), "w": integers(-90, 90, 5, 7), **scale}})
    live = BETWEEN.format("vq=QuantizeLinear(v,sx,zx) vd=DequantizeLinear(vq,sx,zx) c=MatMul(xd,vd)", "c")
    units = "QuantizeLinear QuantizeLinear QLinearMatMul DequantizeLinear"
    yield Case(**product | {"nodes": live, "inputs": {"x": (2, 3, 5), "v": (2, 5, 4)}, "weights": STEPS, "folded": (), "units": units})


def between(row, nodes, units, weights=None, x=(2, 3, 6), **more):
    nodes = BETWEEN.format(nodes, "c")
    units = f"QuantizeLinear {units} DequantizeLinear"
    return Case(**{**QUANTIZED, "row": row, "nodes": nodes, "inputs": {"x": x}, "weights": {**STEPS, **(weights or {})}, "units": units,
                   "folded": (), **more})


SECOND = "vq=QuantizeLinear(v,sv,zv) vd=DequantizeLinear(vq,sv,zv) "
SECOND_STEPS = {"sv": 0.02, "zv": np.uint8(100)}


def quantized_kin_cases():
    """What else stays in 8 bits between DequantizeLinear and QuantizeLinear."""
    for trans, w, axis in ((0, (6, 7), 1), (1, (7, 6), 0)):
        for scale in ({"sw": 0.01, "zw": np.int8(3)}, {"sw": positive(7).astype(np.float32) / 100, "zw": integers(-5, 5, 7)}):
            gemm = f"wd=DequantizeLinear<axis={axis}>(w,sw,zw) c=Gemm<transB={trans}>(xd,wd,b)"
            weights = {"w": integers(-90, 90, *w), "b": (7,), **scale}
            yield between("qgemm", gemm, "QGemm", weights, x=(5, 6), folded=("wd",))
    yield between("qlinear_add", f"{SECOND}c=Sub(xd,vd)", "QuantizeLinear QLinearAdd", SECOND_STEPS, inputs={"x": (2, 3, 6), "v": (3, 1)}, index=1)
    for row, op, made in (("qlinear_add", "Add", "QLinearAdd"), ("qlinear_mul", "Mul", "QLinearMul")):
        for shape in ((2, 3, 6), (3, 1)):
            yield between(row, f"{SECOND}c={op}(xd,vd)", f"QuantizeLinear {made}", SECOND_STEPS, inputs={"x": (2, 3, 6), "v": shape})
        kept = f"wd=DequantizeLinear(w,sv,zv) c={op}(xd,wd)"
        yield between(row, kept, made, {**SECOND_STEPS, "w": integers(0, 255, 6, dtype=np.uint8)}, folded=("wd",))
    shortcut = f"wd=DequantizeLinear<axis=0>(w,sw,zw) m=Conv<pads=[1,1,1,1]>(xd,wd) mq=QuantizeLinear(m,sm,zm) md=DequantizeLinear(mq,sm,zm) {SECOND}"
    for index, pair in enumerate(("md,vd", "vd,md")):
        yield between("qlinear_conv_add", f"{shortcut}c=Add({pair})", "QuantizeLinear QLinearConvAdd", {**SECOND_STEPS, **FILTERS, "sm": 0.03, "zm": np.uint8(90)},
                      inputs={"x": (2, 4, 6, 6), "v": (2, 5, 6, 6)}, folded=("wd",), index=index, chains=("cudasim,cpu",))
    yield between("qlinear_mean", "c=GlobalAveragePool(xd)", "QLinearGlobalAveragePool", x=(2, 3, 6, 5))
    yield between("qlinear_average_pool", "c=AveragePool<kernel_shape=[3,2],strides=[2,1],pads=[1,0,1,1]>(xd)", "QLinearAveragePool", x=(2, 3, 6, 5), chains=("firmware",))
    yield between("qlinear_average_pool", "c=AveragePool<kernel_shape=[2,2],pads=[1,1,0,0],count_include_pad=1>(xd)", "QLinearAveragePool", x=(2, 3, 6, 5), chains=("firmware",))
    board = {"chains": ("firmware",)}
    yield between("qlinear_reduce_mean", "c=ReduceMean<axes=[1],keepdims=0>(xd)", "QLinearReduceMean", **board)
    yield between("qlinear_reduce_mean", "c=ReduceMean(xd,ax)", "QLinearReduceMean", {"ax": np.array([-1])}, opset=18, **board)
    to = {"roi": np.zeros(0, np.float32), "to": np.array([1, 1, 2, 2], np.float32)}
    yield between("qlinear_resize", 'c=Resize<mode="linear">(xd,roi,to)', "QLinearResize", to, x=(1, 3, 6, 5), **board)
    sizes = {"s": (6,), "b": (6,)}
    yield between("qlinear_norm", "c=LayerNormalization(xd,s,b)", "QLinearLayerNormalization", sizes, opset=17, **board)
    sizes = {"s": (3,), "b": (3,)}
    yield between("qlinear_norm", "c=InstanceNormalization(xd,s,b)", "QLinearInstanceNormalization", sizes, index=1, **board)
    filters = {"w": integers(-90, 90, 3, 4, 2, 2), "sw": positive(4).astype(np.float32) / 100, "zw": np.zeros(4, np.int8), "b": (4,)}
    nodes = "wd=DequantizeLinear<axis=1>(w,sw,zw) c=ConvTranspose<strides=[2,2]>(xd,wd,b)"
    yield between("qlinear_conv_transpose", nodes, "QLinearConvTranspose", filters, x=(1, 3, 6, 5), folded=("wd",), **board)
    columns = {"w": integers(-90, 90, 6, 4), "sw": positive(4).astype(np.float32) / 100, "zw": np.zeros(4, np.int8), "b": (4,)}
    nodes = "wd=DequantizeLinear<axis=1>(w,sw,zw) m=MatMul(xd,wd) c=Add(m,b)"
    yield between("qlinear_matmul", nodes, "QLinearMatMul", columns, index=1, folded=("wd",), **board)
    nodes = "xq=QuantizeLinear(x,sx,zx) xd=DequantizeLinear(xq,sx,zx) y=ArgMax<axis=1>(xd)"
    yield Case(**QUANTIZED | {"row": "quantized_arg", "nodes": nodes, "inputs": {"x": (2, 3, 6)}, "weights": {**STEPS}, "units": "QuantizeLinear ArgMax", "folded": (), **board})
    third = "uq=QuantizeLinear(u,su,zu) ud=DequantizeLinear(uq,su,zu) "
    fourth = "tq=QuantizeLinear(t,su,zu) td=DequantizeLinear(tq,su,zu) "
    for index, parts, more in ((0, "xd,vd", ""), (1, "xd,vd,ud", third), (2, "xd,vd,ud,td", third + fourth)):
        inputs = {"x": (2, 3, 6), "v": (2, 1, 6)} | ({"u": (2, 2, 6)} if index else {}) | ({"t": (2, 1, 6)} if index == 2 else {})
        units = "QuantizeLinear " * (index + 1) + "QLinearConcat"
        yield between("qlinear_concat", f"{SECOND}{more}c=Concat<axis=1>({parts})", units, {**SECOND_STEPS, "su": 0.05, "zu": np.uint8(7)}, inputs=inputs, index=index)
    yield between("qlinear_softmax", "c=Softmax<axis=1>(xd)", "QLinearSoftmax", {"sy": 1 / 256, "zy": np.uint8(0)})
    dynamic = "xq,sx,zx=DynamicQuantizeLinear(x) s=Mul(sx,sw) i=MatMulInteger(xq,w,zx,zw) f=Cast<to=1>(i) y=Mul(f,s)"
    for sw, zw in ((0.01, np.int8(3)), (positive(7).astype(np.float32) / 100, integers(-5, 5, 7))):
        weights = {"w": integers(-90, 90, 6, 7), "sw": sw, "zw": zw}
        units = "DynamicQuantizeLinear MatMulIntegerToFloat"
        yield Case("matmul_integer_to_float", dynamic, {"x": (2, 3, 6)}, weights, units, chains=("cpu",))
        biased = dynamic.replace("y=Mul", "m=Mul") + " y=Add(m,b)"
        yield Case("matmul_integer_to_float", biased, {"x": (2, 3, 6)}, {**weights, "b": (7,)}, units, index=1, chains=("cpu",))


def table_cases():
    """Functions of one 8-bit tensor, and nodes that choose elements, which leave nothing but such functions."""
    functions = ("Sigmoid", "Tanh", "Relu", "LeakyRelu<alpha=0.2>", "Elu", "HardSigmoid", "Softplus", "Softsign")
    for function in functions:
        yield between("byte_table", f"c={function}(xd)", "ByteTable")
    yield between("byte_table", "c=HardSwish(xd)", "ByteTable", opset=14)
    swish = "s=Sigmoid(xd) sq=QuantizeLinear(s,ss,zs) sd=DequantizeLinear(sq,ss,zs) "
    fine = {"ss": 1 / 256, "zs": np.uint8(0)}
    for product in ("Mul(xd,sd)", "Mul(sd,xd)"):
        yield between("byte_table", f"{swish}c={product}", "ByteTable", fine)
    for operands in ("xq,sx,zx,s,ss,zs", "s,ss,zs,xq,sx,zx"):
        nodes = f"xq=QuantizeLinear(x,sx,zx) s=com.microsoft.QLinearSigmoid(xq,sx,zx,ss,zs) c=com.microsoft.QLinearMul({operands},sy,zy) y=DequantizeLinear(c,sy,zy)"
        units = "QuantizeLinear ByteTable DequantizeLinear"
        yield Case(**QUANTIZED | {"row": "byte_table", "nodes": nodes, "weights": {**STEPS, **fine}, "units": units, "folded": ()})
    yield between("byte_table", "s=Sigmoid(xd) c=Mul(xd,s)", "ByteTable")
    yield between("byte_table", "a=Add(xd,three) b=Clip(a,lo,hi) m=Mul(xd,b) c=Div(m,six)", "ByteTable", {"three": 3.0, "lo": 0.0, "hi": 6.0, "six": 6.0})
    yield between("byte_table", "r=Reshape(xd,to) d=Div(r,k) e=Erf(d) c=Transpose<perm=[1,0]>(e)", "Reshape ByteTable Transpose", {"k": 1.5, "to": np.array([6, 6])})
    relu = qlinear_conv("d=Conv(xd,wd) c=Relu(d)")
    yield Case(**relu | {"row": "byte_table", "units": "QuantizeLinear QLinearConv ByteTable DequantizeLinear", "folded": ("wd",)})
    pair = f"{SECOND}d=Add(xd,vd) c=Clip(d,lo,hi)"
    yield between("byte_table", pair, "QuantizeLinear QLinearAdd ByteTable", {**SECOND_STEPS, "lo": -0.5, "hi": 0.5}, inputs={"x": (2, 3, 6), "v": (2, 3, 6)})
    same = {"sy": 0.03, "zy": np.uint8(131)}
    pooled = "c=MaxPool<kernel_shape=[2,2]>(xd)"
    part = {"from": np.array([1]), "to": np.array([3]), "ax": np.array([2])}
    for steps, table in ((same, ""), ({}, " ByteTable")):
        yield between("byte_table", pooled, f"MaxPool{table}", steps, x=(2, 3, 6, 5))
        yield between("byte_table", "c=Transpose<perm=[1,0,2]>(xd)", f"Transpose{table}", steps)
        yield between("byte_table", "c=Reshape(xd,to)", f"Reshape{table}", {**steps, "to": np.array([6, 6])})
        yield between("byte_table", "c=Slice(xd,from,to,ax)", f"Slice{table}", {**steps, **part})
    parted = "a,c=Split<axis=1>(xd,at) aq=QuantizeLinear(a,sx,zx) z=DequantizeLinear(aq,sx,zx)"
    units = "QuantizeLinear Split DequantizeLinear ByteTable DequantizeLinear"
    at = {"at": np.array([1, 2])}
    yield Case(**QUANTIZED | {"row": "byte_table", "nodes": BETWEEN.format(parted, "c"), "inputs": {"x": (2, 3, 6)}, "weights": {**STEPS, **at},
                              "units": units, "folded": (), "outputs": ("y", "z")})


def refused_quantized():
    """What is left in float: of Conv and Relu FusedConv, and else the nodes themselves."""
    def conv(name, *arguments, axis="<axis=0>", **more):
        return Case(**{**qlinear_conv(*arguments, axis=axis), "row": name, "units": "", **more})

    yield conv("an output in the middle", outputs=("y", "c"))
    several = {"sy": positive(5) / 20, "zy": np.full(5, 7, np.uint8)}
    nodes = qlinear_conv()["nodes"].replace("Linear(c", "Linear<axis=1>(c").replace("Linear(yq", "Linear<axis=1>(yq")
    yield conv("a result in several scales", "c=Conv(xd,wd)", several, nodes=nodes)
    yield conv("weights in scales along another axis", "c=Conv(xd,wd)", {"sw": positive(4) / 100, "zw": np.zeros(4, np.int8)}, axis="<axis=1>")
    yield conv("a scale that is an input", inputs={"x": (2, 4, 6, 6), "sy": ()})
    yield conv("a scale of weights that is an input", inputs={"x": (2, 4, 6, 6), "sw": ()}, folded=())
    yield conv("a bias that is an input", "c=Conv(xd,wd,b)", inputs={"x": (2, 4, 6, 6), "b": (5,)})
    yield conv("no kernel of the joined one", "c=ConvTranspose(xd,wd)", inputs={"x": (2, 5, 6, 6)}, chains=("cudasim,cpu",))


def refused_attention():
    x, plain = HEADS, "a=MatMul(q,k) s=Mul(a,c) m=Add(s,mask) p=Softmax(m) y=MatMul(p,v)"
    mask, c = {"mask": (5, 6)}, {"c": 0.5}
    yield Case("a softmax along queries", plain.replace("Softmax", "Softmax<axis=2>"), {**x, **mask}, c, "")
    yield Case("a softmax of all that follows", plain.replace("Softmax", "Softmax<axis=2>"), {**x, **mask}, c, "", opset=11)
    yield Case("scores with another reader", plain + " z=Relu(a)", {**x, **mask}, c, "", outputs=("y", "z"))
    for name in ("a", "s", "m", "p"):
        yield Case("an output in the middle", plain, {**x, **mask}, c, "", outputs=("y", name))
    up = {"q": (1, 3, 5, 4), "k": (1, 3, 4, 6), "v": (2, 3, 6, 7)}
    yield Case("a mask that makes more batches", plain, {**up, "mask": (2, 1, 5, 6)}, c, "")
    yield Case("a mask of more dimensions", plain, {"q": (5, 4), "k": (4, 6), "v": (6, 7), "mask": (2, 5, 6)}, c, "")
    yield Case("a mask that makes more queries", plain, {**x, "q": (2, 3, 1, 4), **mask}, c, "")
    unknown = {"q": ("b", 3, 5, 4), "k": ("b", 3, 4, 6), "v": ("b", 3, 6, 7), "mask": ("n", 1, 5, 6)}
    yield Case("a mask that may make more batches", plain, unknown, c, "", symbols={"b": 2, "n": 2})
    yield Case("a scale that is an input", plain, {**x, **mask, "c": ()}, {}, "")
    yield Case("a scale for each head", plain, {**x, **mask}, {"c": (3, 1, 1)}, "")
    yield Case("a scale that is divided", plain.replace("Mul(a,c)", "Div(c,a)"), {**x, **mask}, c, "")
    yield Case("a scale by zero", plain.replace("=Mul", "=Div"), {**x, "mask": (6,)}, {"c": 0.0}, "")
    hidden = "g=Greater(kept,zero) w=Where(g,a,low) p=Softmax(w) y=MatMul(p,v)"
    yield Case("what hides is an input", "a=MatMul(q,k) " + hidden, {**x, "kept": (5, 6), "low": ()}, {"zero": 0.0}, "")
    yield Case("what hides makes more batches", "a=MatMul(q,k) " + hidden, {**up, "kept": (2, 1, 1, 1)}, {"zero": 0.0, "low": -9.0}, "")
    core = "a=MatMul(q,k) p=Softmax(a) y=MatMul(p,v)"
    yield Case("values of one head", core, {**x, "v": (6, 7)}, {}, "")
    yield Case("values of one batch", core, {**x, "v": (1, 3, 6, 7)}, {}, "")
    yield Case("keys of one head", core, {**x, "k": (2, 1, 4, 6)}, {}, "")
    yield Case("five dimensions", core, {name: (1, *shape) for name, shape in x.items()}, {}, "")
    yield Case("NaN that becomes another number", core.replace("y=MatMul(p,v)", "n=IsNaN(p) z=Where(n,one,p) y=MatMul(z,v)"), x, {"one": 1.0}, "")
    yield Case("attention", "qt=Mul(q,c) a=MatMul(qt,k) p=Softmax(a) y=MatMul(p,v)", x, {"c": (4,)}, "Mul FusedAttention")
    yield Case("attention", "qt=Mul(q,c) a=MatMul(qt,k) p=Softmax(a) y=MatMul(p,v) z=Relu(qt)", x, {"c": 0.5}, "Mul FusedAttention Relu", outputs=("y", "z"))
    yield Case("softmax_cast to another type", "p=Softmax(x) c=Cast<to=11>(p) y=Cast<to=1>(c)", {"x": (3, 4)}, {}, "")
    wide = {"q": (1, 2, 3, 260), "k": (1, 2, 260, 5), "v": (1, 2, 5, 4)}
    yield Case("keys too large for the kernel", core, wide, {}, "", chains=("cudasim,cpu",))


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
    yield Case("a factor for places", "c=Conv(x,w) y=Mul(c,k)", x, {**w, "k": (4, 4)}, "")
    yield Case("a factor that stretches", "c=Conv(x,w) y=Mul(c,k)", {"x": (1, 4, 6, 6)}, {**w, "k": (2, 4, 1, 1)}, "")
    yield Case("a factor of more axes", "c=Conv(x,w) y=Mul(c,k)", x, {**w, "k": (1, 1, 4, 1, 1)}, "")
    yield Case("a factor that is an input", "c=Conv(x,w) y=Mul(c,k)", {**x, "k": (1,)}, w, "")
    yield Case("a constant divided", "c=Div(k,x) y=Conv(c,w)", {"x": (2, 4, 6, 6)}, {**w, "k": (1,)}, "")
    yield Case("a division by 0", "c=Div(x,k) y=Conv(c,w)", x, {**w, "k": np.zeros((1,))}, "")
    yield Case("a sum that is padded", "c=Add(x,k) y=Conv<pads=[0,0,1,0]>(c,w)", x, {**w, "k": (1,)}, "")
    yield Case("a sum that is padded by itself", 'c=Add(x,k) y=Conv<auto_pad="SAME_UPPER">(c,w)', x, {**w, "k": (1,)}, "")
    yield Case("a factor with two readers", "c=Mul(x,k) y=Conv(c,w) z=Relu(c)", x, {**w, "k": (1,)}, "", outputs=("y", "z"))
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
    yield from refused_attention()
    yield from refused_quantized()
    yield from move_cases.refused(Case)
    yield from move_cases.viewed(Case)
    yield from heads_cases.not_siblings(Case)
    norm = "y=LayerNormalization<axis={}>(c,scale)"
    yield Case("a sum that is normalized over two axes", "c=Add(x,z) " + norm.format(1), {"x": (2, 3, 6), "z": (2, 3, 6)}, {"scale": (3, 6)}, "", opset=17)
    yield Case("a sum with one row", "c=Add(x,z) " + norm.format(-1), {"x": (2, 3, 6), "z": (6,)}, {"scale": (6,)}, "", opset=17)
    yield Case("a sum with another reader", "c=Add(x,z) " + norm.format(-1), {"x": (2, 6), "z": (2, 6)}, {"scale": (6,)}, "", opset=17, outputs=("y", "c"))
    yield Case("a pin", "c=Conv(x,w) y=Relu(c)", x, w, "", chains=("cpu,cudasim",), options=("--pin", "c=cudasim"))


def all_cases():
    for make in (norm_cases, factor_cases, bias_cases, residual_cases, activation_cases, bias_gelu_cases, gelu_cases, swish_cases, layer_norm_cases, rms_norm_cases, attention_cases,
                 attention_around_cases, cast_cases, quantized_cases, quantized_kin_cases, table_cases):
        yield from make()
    yield from heads_cases.sibling_cases(Case)
    yield from heads_cases.strided_cases(Case)
    yield from move_cases.joined(Case)
