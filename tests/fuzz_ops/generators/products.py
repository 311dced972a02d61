"""Convolutions, matrix products and what is made of them."""


import numpy as np
from maker import Node, Tensor, ops
from onnx import TensorProto, helper
from values import BOOL

from .pooling import window


def convolution(m, spatial=None):
    """Shapes and attributes of Conv: x, w, channels out."""
    spatial = spatial or m.pick(1, 2, 2, 3)
    group = m.pick(1, 1, 2, 3)
    channels, filters = group * m.number(1, 3), group * m.number(1, 3)
    dims = [m.number(1, 7 if spatial < 3 else 4) for _ in range(spatial)]
    attributes = window(m, spatial, dims)
    kernel = attributes["kernel_shape"]
    if m.chance(0.4) and m.name != "DeformConv":
        del attributes["kernel_shape"]
    if group > 1 or m.chance(0.3):
        attributes["group"] = group
    x = [m.size() if m.chance(0.3) else m.number(1, 2), channels, *dims]
    return x, [filters, channels // group, *kernel], attributes


@ops("Conv", sums=True)
def conv(m):
    x, w, attributes = convolution(m)
    return Node([m.tensor("T", x), m.tensor("T", w)] + ([m.tensor("T", w[:1])] if m.chance(0.5) else []), attributes)


@ops("ConvTranspose", sums=True)
def conv_transpose(m):
    spatial = m.pick(1, 2, 2, 3)
    group = m.pick(1, 1, 2)
    channels, filters = group * m.number(1, 3), m.number(1, 3)
    dims = [m.number(1, 4) for _ in range(spatial)]
    attributes = window(m, spatial, list(dims))
    kernel = attributes["kernel_shape"]
    strides = attributes.get("strides", [1] * spatial)
    if group > 1:
        attributes["group"] = group
    if m.chance(0.3):
        attributes["output_padding"] = [m.number(0, s - 1) for s in strides]
    if m.chance(0.15):
        attributes["output_shape"] = [d * s for d, s in zip(dims, strides)]
        attributes.pop("pads", None)
    x, w = [m.number(1, 2), channels, *dims], [channels, filters, *kernel]
    bias = [m.tensor("T", [filters * group])] if m.chance(0.5) else []
    return Node([m.tensor("T", x), m.tensor("T", w), *bias], attributes)


@ops("DeformConv", sums=True)
def deform_conv(m):
    x, w, attributes = convolution(m, 2)
    strides, dilations = attributes.get("strides", [1, 1]), attributes.get("dilations", [1, 1])
    pads = attributes.get("pads", [0] * 4)
    out = [(x[2 + k] + pads[k] + pads[k + 2] - dilations[k] * (w[2 + k] - 1) - 1) // strides[k] + 1 for k in range(2)]
    groups = m.pick(1, 1, x[1]) if x[1] else 1
    if groups > 1:
        attributes["offset_group"] = groups
    taps = w[2] * w[3]
    special, m.special = m.special, False
    offset = m.tensor("T", [x[0], groups * taps * 2, *out])
    m.special = special
    inputs = [m.tensor("T", x), m.tensor("T", w), offset, m.tensor("T", w[:1]) if m.chance(0.5) else None]
    if m.chance(0.5):
        inputs.append(m.tensor("T", [x[0], groups * taps, *out], "unit"))
    return Node(inputs, attributes)


@ops("CausalConvWithState", sums=True)
def causal_conv(m):
    batch, channels, length, kernel = m.number(1, 2), m.number(1, 4), m.number(1, 5), m.number(1, 4)
    inputs = [m.tensor("T", [batch, channels, length]), m.tensor("T", [channels, 1, kernel]),
              m.tensor("T", [channels]) if m.chance(0.5) else None,
              m.tensor("T", [batch, channels, kernel - 1]) if m.chance(0.5) else None]
    return Node(inputs, m.word("activation", "none", "silu", "swish"), 2)


def matrix_shapes(m):
    """Of two operands of a MatMul, vectors and broadcast batches too."""
    rows, inner, columns = m.size(), m.size(), m.size()
    a, b = [rows, inner], [inner, columns]
    if m.chance(0.15):
        a = [inner]
    if m.chance(0.15):
        b = [inner]
    if len(a) == 2 and len(b) == 2 and m.chance(0.5):
        batch = m.shape(1, 3)
        a = (batch if m.chance(0.7) else m.broadcastable(batch)) + a
        b = (batch if m.chance(0.7) else m.broadcastable(batch)) + b
    return a, b


@ops("MatMul", sums=True)
def matmul(m):
    a, b = matrix_shapes(m)
    return Node([m.tensor("T", a), m.tensor("T", b)])


@ops("Gemm", sums=True)
def gemm(m):
    rows, inner, columns = m.size(), m.size(), m.size()
    transposes = m.flags("transA", "transB")
    a = [inner, rows] if transposes.get("transA") else [rows, inner]
    b = [columns, inner] if transposes.get("transB") else [inner, columns]
    attributes = {**transposes, **m.floats("alpha", "beta")}
    if m.since < 7:
        attributes["broadcast"] = 1
    c = m.pick([rows, columns], [columns], [1, columns], [rows, 1], [1], [])
    if m.since < 7 and m.chance(0.5):
        c = [rows, columns]
    inputs = [m.tensor("T", a), m.tensor("T", b)]
    return Node(inputs + ([m.tensor("T", c)] if m.since < 11 or m.chance(0.7) else []), attributes)


@ops("Einsum", sums=True)
def einsum(m):
    sizes = {letter: m.number(1, 4) for letter in "ijkl"}
    equation, terms = m.random.choice([
        ("ij,jk->ik", ["ij", "jk"]), ("ij->ji", ["ij"]), ("ii->i", ["ii"]), ("ii", ["ii"]), ("ij->", ["ij"]), ("ij,ij->ij", ["ij", "ij"]),
        ("i,j->ij", ["i", "j"]), ("ijk,ikl->ijl", ["ijk", "ikl"]), ("ij,jk,kl->il", ["ij", "jk", "kl"]), ("...ij,...jk->...ik", ["kij", "kjk"]),
        ("ij,jk", ["ij", "jk"]), (" ij , jk -> ki ", ["ij", "jk"]), ("...i,...i->...", ["jki", "jki"]), ("i...->...", ["ijk"]), (",ij->ij", ["", "ij"])])
    if equation == "...ij,...jk->...ik":
        sizes["b"] = m.number(1, 3)
        terms = ["bij", "bjk"]
    return Node([m.tensor("T", [sizes[c] for c in term]) for term in terms], {"equation": equation})


@ops("Det")
def det(m):
    m.special = False
    n = m.number(1, 4)
    return Node([m.tensor("T", m.shape(0, 3) + [n, n])])


# ---- attention ------------------------------------------------------------------------------------------------------


@ops("Attention")
def attention(m):
    batch, length, total = m.number(1, 2), m.number(1, 4), m.number(1, 4)
    kv_heads = m.number(1, 2)
    heads = kv_heads * m.number(1, 2)
    size, value_size = m.number(1, 4), m.number(1, 4)
    flat = m.chance(0.3)
    shape = lambda n, h, s: [batch, n, h * s] if flat else [batch, h, n, s]
    q, k = m.tensor("T1", shape(length, heads, size)), m.tensor("T1", shape(total, kv_heads, size))
    v = m.tensor("T2", shape(total, kv_heads, value_size))
    attributes = {"q_num_heads": heads, "kv_num_heads": kv_heads} if flat else {}
    attributes |= m.flags("is_causal")
    if m.chance(0.3):
        attributes["scale"] = m.pick(0.5, 1.0)
    if m.chance(0.2):
        attributes["softcap"] = m.pick(2.0, 10.0)
    past = m.number(1, 3) if m.chance(0.3) else 0
    inputs = [q, k, v, None, None, None]
    if past:
        inputs[4], inputs[5] = m.tensor("T1", [batch, kv_heads, past, size]), m.tensor("T2", [batch, kv_heads, past, value_size])
    if m.chance(0.4):
        mask = m.pick([length, past + total], [batch, 1, length, past + total], [batch, heads, length, past + total])
        inputs[3] = m.tensor("U", mask)
    if m.since >= 24 and not past and m.chance(0.3):
        inputs.append(m.list([m.number(1, total) for _ in range(batch)]))
    outputs = [True, bool(past) or m.chance(0.2), bool(past) or m.chance(0.2), m.chance(0.3)]
    outputs[2] = outputs[1]
    if outputs[3] and m.chance(0.7):
        attributes["qk_matmul_output_mode"] = m.number(0, 3)
    return Node(inputs, attributes, outputs)


@ops("RotaryEmbedding")
def rotary_embedding(m):
    batch, heads, length, half = m.number(1, 2), m.number(1, 3), m.number(1, 4), m.number(1, 3)
    size = 2 * half
    rotated = 2 * m.number(1, half) if m.chance(0.4) else 0
    flat = m.chance(0.4)
    attributes = m.flags("interleaved")
    if flat or m.chance(0.2):
        attributes["num_heads"] = heads
    if rotated:
        attributes["rotary_embedding_dim"] = rotated
    x = m.tensor("T", [batch, length, heads * size] if flat else [batch, heads, length, size])
    width = (rotated or size) // 2
    if m.chance(0.6):
        most = length + m.number(0, 3)
        ids = Tensor(TensorProto.INT64, np.array([[m.number(0, most - 1) for _ in range(length)] for _ in range(batch)]))
        return Node([x, m.tensor("T", [most, width]), m.tensor("T", [most, width]), ids], attributes)
    return Node([x, m.tensor("T", [batch, length, width]), m.tensor("T", [batch, length, width])], attributes)


@ops("LinearAttention", sums=True)
def linear_attention(m):
    batch, length, heads = m.number(1, 2), m.number(1, 4), m.number(1, 2)
    query_heads = heads * m.number(1, 2)
    size, value_size = m.number(1, 3), m.number(1, 3)
    rule = m.pick("linear", "gated", "delta", "gated_delta")
    inputs = [m.tensor("T", [batch, length, query_heads * size]), m.tensor("T", [batch, length, heads * size]),
              m.tensor("T", [batch, length, heads * value_size]),
              m.tensor("S", [batch, heads, size, value_size]) if m.chance(0.5) else None,
              m.tensor("T", [batch, length, heads * m.pick(1, size)]) if "gated" in rule else None,
              m.tensor("T", [batch, length, m.pick(1, heads)], "unit") if "delta" in rule else None]
    attributes = {"q_num_heads": query_heads, "kv_num_heads": heads, "update_rule": rule}
    return Node(inputs, attributes | ({"scale": 0.5} if m.chance(0.3) else {}), 2)




def modifier(m, name, number, shape):
    """A graph of one input that adds a weight, or what stands around the node, or hides what comes later."""
    made = m.pick("bias", "outer", "causal")
    if made != "causal":
        node = helper.make_node("Add" if name == "score_mod" else "Mul", ["given", "x3" if made == "outer" else "weight"], ["made"])
        weights = [] if made == "outer" else [m.tensor(number, [m.pick(1, shape[1]), 1, 1]).proto("weight")]
        nodes = [node]
    else:
        weights = [Tensor(BOOL, np.tril(np.ones(shape[2:], bool))).proto("seen"), Tensor(number, np.array(-100.0)).proto("hidden")]
        nodes = [helper.make_node("Where", ["seen", "given", "hidden"], ["made"])]
    ends = [helper.make_tensor_value_info(end, number, None) for end in ("given", "made")]
    return helper.make_graph(nodes, name, [ends[0]], [ends[1]], weights)


@ops("FlexAttention", domain="ai.onnx.preview", sums=True)
def flex_attention(m):
    """Perhaps with graphs for the scores and the probabilities, which are of the type that softmax_precision says."""
    groups = m.number(1, 2)
    batch, heads, length, keys, size = m.number(1, 2), groups * m.number(1, 3), m.number(1, 4), m.number(1, 5), m.number(1, 6)
    number = m.type("T1")
    inputs = [m.tensor(number, [batch, heads, length, size]), m.tensor(number, [batch, groups, keys, size]),
              m.tensor(number, [batch, groups, keys, m.number(1, 6)])]
    precision = m.pick(TensorProto.FLOAT, TensorProto.DOUBLE) if m.chance(0.3) else None
    inner = precision or (TensorProto.DOUBLE if number == TensorProto.DOUBLE else TensorProto.FLOAT)
    attributes = {"scale": m.pick(0.5, 0.1, None), "softmax_precision": precision}
    for name in ("score_mod", "prob_mod"):
        if m.chance(0.4):
            attributes[name] = modifier(m, name, inner, [batch, heads, length, keys])
    return Node([*inputs, m.tensor(inner, [batch, 1, length, 1])], attributes, names=["x0", "x1", "x2"])
