"""com.microsoft: operators of older toolkits and of optimizers that are neither products nor normalizations."""

import numpy as np
from maker import Node, Tensor, ops
from onnx import TensorProto

from .microsoft_float import DOMAIN, usually_float
from .pooling import image, window
from .products import conv_transpose


# ---- kin of operators of the main domain ------------------------------------------------------------------------------


@ops("Trilu", domain=DOMAIN)
def trilu(m):
    if m.chance(0.8):
        m.types["T"] = m.pick(TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64)
    return Node([m.tensor("T", m.shape(2))] + ([m.scalar(m.number(-4, 4))] if m.chance(0.6) else []), m.flags("upper"))


@ops("Range", domain=DOMAIN)
def range_(m):
    start, limit, delta = m.number(-6, 6), m.number(-6, 9), m.pick(1, 1, 2, 3, -1, -2)
    number = m.type("T")
    return Node([m.scalar(v, number) for v in ((start, limit, delta) if m.chance(0.6) else (start, limit))])


@ops("ExpandDims", domain=DOMAIN)
def expand_dims(m):
    shape = m.shape(0, 7)
    return Node([m.tensor("T", shape), Tensor(TensorProto.INT32, np.array(m.number(-len(shape) - 1, len(shape))))])


@ops("Pad", domain=DOMAIN)
def pad(m):
    usually_float(m)
    shape = m.shape(1, 4)
    mode = m.pick("constant", "constant", "reflect", "edge")
    most = min([2] + [s - 1 for s in shape]) if mode == "reflect" else 2
    if mode != "constant" and 0 in shape:
        mode = "constant"
    pads = m.list([m.number(0, max(most, 0)) for _ in range(2 * len(shape))])
    if mode == "constant" and m.chance(0.2):
        pads = Tensor(TensorProto.INT64, pads.array.reshape(1, -1))
    value = [m.tensor("T", m.pick([], [1]))] if m.chance(0.4) else []
    return Node([m.tensor("T", shape), pads, *value], {"mode": mode} if mode != "constant" or m.chance(0.3) else {})


@ops("GatherND", domain=DOMAIN)
def gather_nd(m):
    shape = m.shape(1, 4, empty=False)
    length = m.number(1, len(shape))
    lead = m.shape(0, 2, empty=False)
    indices = [m.rng.integers(-size, size, lead) for size in shape[:length]]
    return Node([m.tensor("T", shape), Tensor(m.type("Tind"), np.stack(indices, -1))])


@ops("GridSample", domain=DOMAIN)
def grid_sample(m):
    m.types["T1"] = TensorProto.FLOAT
    batch, channels = m.number(1, 2), m.number(1, 2)
    x = m.tensor("T1", [batch, channels, m.number(1, 4), m.number(1, 4)])
    grid = Tensor(TensorProto.FLOAT, np.round(m.rng.uniform(-1.4, 1.4, [batch, m.number(1, 3), m.number(1, 3), 2]), 2))
    attributes = m.word("mode", "bilinear", "nearest", "bicubic") | m.word("padding_mode", "zeros", "border", "reflection")
    return Node([x, grid], attributes | m.flags("align_corners"))


@ops("Unique", domain=DOMAIN)
def unique(m):
    usually_float(m)
    return Node([m.tensor("T", [m.number(0, 12)], "ties")], {}, 3)


@ops("TorchEmbedding", domain=DOMAIN)
def torch_embedding(m):
    shape = m.shape(2, 2, empty=False)
    return Node([m.tensor("T", shape), Tensor(TensorProto.INT64, m.rng.integers(0, shape[0], m.shape(0, 2)))])


@ops("FusedMatMulActivation", "GemmFastGelu", domain=DOMAIN, sums=True)
def products(m):
    usually_float(m)
    inner, columns = m.size(), m.size()
    inputs = [m.tensor("T", m.shape(1, 2) + [inner]), m.tensor("T", [inner, columns])]
    if m.name == "GemmFastGelu":
        return Node(inputs + ([m.tensor("T", [columns])] if m.chance(0.5) else []))
    return Node(inputs, {"activation": m.pick("Relu", "Tanh", "Sigmoid")} | m.floats("alpha"))


# ---- others ----------------------------------------------------------------------------------------------------------


@ops("Inverse", domain=DOMAIN)
def inverse(m):
    """Of matrices whose inverse is not large."""
    m.special = False
    usually_float(m)
    size, lead = m.number(1, 4), m.shape(0, 2)
    x = m.tensor("T", lead + [size, size])
    x.array = (x.array + (7 + size) * np.eye(size)).astype(x.array.dtype)
    return Node([x])


@ops("CDist", domain=DOMAIN, sums=True)
def distances(m):
    rows = m.number(1, 6)
    return Node([m.tensor("T", [m.number(1, 6), rows]), m.tensor("T", [m.number(1, 6), rows])], m.word("metric", "sqeuclidean", "euclidean"))


@ops("MurmurHash3", domain=DOMAIN)
def murmur_hash(m):
    return Node([m.tensor("T1", m.shape(0, 3))], m.flags("positive") | ({"seed": m.number(0, 99)} if m.chance(0.5) else {}))


@ops("UnfoldTensor", domain=DOMAIN)
def unfold_tensor(m):
    shape = m.shape(1, 4, empty=False)
    dim = m.axis(len(shape))
    return Node([m.tensor("T", shape)], {"dim": dim, "size": m.number(1, shape[dim]), "step": m.number(1, 3)})


@ops("GroupNorm", "SkipGroupNorm", domain=DOMAIN)
def group_norm(m):
    last = m.number(0, 1)
    groups = m.number(1, 3)
    channels, places = groups * m.number(1, 3), [m.number(1, 3), m.number(1, 3)]
    shape = [m.number(1, 2), *places, channels] if last else [m.number(1, 2), channels, *places]
    inputs = [m.tensor("T", shape), m.tensor("M", [channels]), m.tensor("M", [channels])]
    attributes = {"channels_last": last, "groups": groups, "activation": m.number(0, 1)} | ({"epsilon": 1e-2} if m.chance(0.4) else {})
    if m.name == "GroupNorm":
        return Node(inputs, attributes)
    inputs.append(m.tensor("T", shape if m.chance(0.7) else [shape[0], channels]))
    return Node(inputs + ([m.tensor("T", [channels])] if m.chance(0.5) else []), attributes, [True, m.chance(0.5)])


# ---- images ----------------------------------------------------------------------------------------------------------


@ops("CropAndResize", domain=DOMAIN, sums=True)
def crop_and_resize(m):
    """Boxes of corners from 0 to 1: whole images, reversed ones, such as reach beyond the image, and single places."""
    usually_float(m, "T1")
    batch, regions = m.number(1, 2), m.number(0, 3)
    corner = lambda: m.pick(0.0, 1.0, 0.5, 0.25, round(m.random.random(), 2), round(m.random.uniform(-0.5, 1.5), 2))
    rois = [[corner() for _ in range(4)] if m.chance(0.9) else [corner()] * 4 for _ in range(regions)]
    attributes = m.word("mode", "bilinear", "nearest") | ({"extrapolation_value": m.pick(-1.0, 2.5)} if m.chance(0.4) else {})
    return Node([m.tensor("T1", [batch, m.number(1, 2), m.number(1, 7), m.number(1, 7)]),
                 Tensor(m.type("T1"), np.array(rois, np.float64).reshape([regions, 4])),
                 m.list([m.number(0, batch - 1) for _ in range(regions)], "T2"),
                 m.list([m.number(1, 5), m.number(1, 5)], "T2")], attributes)


@ops("ConvTransposeWithDynamicPads", domain=DOMAIN, sums=True)
def conv_transpose_with_dynamic_pads(m):
    usually_float(m)
    node = conv_transpose(m)
    pads = node.attributes.pop("pads", None)
    if pads is None and m.chance(0.9):
        pads = [m.number(0, 1)] * (2 * (len(node.inputs[0].shape) - 2))
    node.inputs.insert(2, None if pads is None else m.list(pads))
    node.attributes.pop("output_shape", None)
    return node
