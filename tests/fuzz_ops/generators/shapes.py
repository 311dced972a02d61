"""Operators that move elements or tell shapes."""

import math

import numpy as np
from maker import Node, Tensor, is_float
from maker import ops as register
from onnx import TensorProto
from values import BOOL, random_array

INT64 = TensorProto.INT64


def ops(*names, **options):
    return register(*names, limits=True, **options)


@ops("Shape")
def shape_of(m):
    attributes = {}
    if m.has("start"):
        attributes |= {"start": m.number(-9, 9)} if m.chance(0.6) else {}
        attributes |= {"end": m.number(-9, 9)} if m.chance(0.6) else {}
    return Node([m.tensor("T", m.shape())], attributes)


@ops("Size")
def size_of(m):
    return Node([m.tensor("T", m.shape())])


@ops("Flatten")
def flatten(m):
    shape = m.shape(1)
    low = -len(shape) if m.since >= 11 else 0
    return Node([m.tensor("T", shape)], {"axis": m.number(low, len(shape))} if m.chance(0.8) else {})


def refactored(m, count):
    """Dims whose product is `count` (> 0)."""
    dims = []
    while count > 1 and len(dims) < 7:
        factor = m.random.choice([d for d in range(1, min(count, 12) + 1) if count % d == 0])
        dims.append(factor)
        count //= factor
    dims.append(count)
    while len(dims) < 8 and m.chance(0.2):
        dims.insert(m.number(0, len(dims)), 1)
    return dims


@ops("Reshape")
def reshape(m):
    shape = m.shape()
    count = math.prod(shape)
    target = refactored(m, count) if count else [0] + [m.size() for _ in range(m.number(0, 3))]
    allowzero = m.has("allowzero") and m.chance(0.4)
    if m.chance(0.4) and (count or 0 not in target):
        target[m.number(0, len(target) - 1)] = -1
    for k, d in enumerate(target):
        if not allowzero and k < len(shape) and d == shape[k] and m.chance(0.3):
            target[k] = 0
    if count == 1 and m.chance(0.1):
        target = []
    attributes = {"allowzero": 1} if allowzero else {}
    if m.since < 5:
        return Node([m.tensor("T", shape)], {"shape": target})
    return Node([m.tensor("T", shape), m.list(target)], attributes)


@ops("Squeeze")
def squeeze(m):
    shape = [1 if m.chance(0.5) else m.size() for _ in range(m.rank(1))]
    ones = [k for k, d in enumerate(shape) if d == 1]
    axes = m.random.sample(ones, m.number(0, len(ones)))
    if m.since >= 11:
        axes = [a - len(shape) if m.chance(0.3) else a for a in axes]
    x = m.tensor("T", shape)
    given = bool(axes) or m.chance(0.2)
    if m.since >= 13:
        return Node([x, m.list(axes)] if given else [x])
    return Node([x], {"axes": axes} if given else {})


@ops("Unsqueeze")
def unsqueeze(m):
    shape = m.shape(0, 6)
    count = m.number(0 if m.chance(0.1) else 1, 2)
    rank = len(shape) + count
    axes = m.random.sample(range(rank), count)
    if m.since >= 11:
        axes = [a - rank if m.chance(0.3) else a for a in axes]
    x = m.tensor("T", shape)
    return Node([x, m.list(axes)]) if m.since >= 13 else Node([x], {"axes": axes})


@ops("Transpose")
def transpose(m):
    shape = m.shape()
    order = m.random.sample(range(len(shape)), len(shape))
    return Node([m.tensor("T", shape)], {"perm": order} if m.chance(0.8) and order else {})


@ops("Concat")
def concat(m):
    shape = m.shape(1)
    axis = m.number(-len(shape) if m.since >= 11 else 0, len(shape) - 1)
    parts = []
    for _ in range(m.number(1, 4)):
        part = list(shape)
        part[axis] = m.size()
        parts.append(m.tensor("T", part))
    return Node(parts, {"axis": axis} if m.since > 1 or axis != 1 else {})


@ops("Split")
def split(m):
    shape = m.shape(1)
    axis = m.number(-len(shape) if m.since >= 11 else 0, len(shape) - 1)
    parts = m.number(1, 4)
    attributes = {"axis": axis} if axis or m.chance(0.5) else {}
    x = lambda: m.tensor("T", shape)
    if m.chance(0.5):
        lengths = [m.size() for _ in range(parts)]
        shape[axis] = sum(lengths)
        if m.since >= 13:
            return Node([x(), m.list(lengths)], attributes, parts)
        if m.since == 1 and m.chance(0.5):
            return Node([x(), m.list(lengths, "T")], attributes, parts)
        return Node([x()], attributes | {"split": lengths}, parts)
    shape[axis] = parts * m.number(0, 3)
    if m.since >= 18:
        shape[axis] = max(shape[axis] - m.number(0, 1), 0) if shape[axis] > parts else shape[axis]
        attributes["num_outputs"] = parts
    return Node([x()], attributes, parts)


@ops("Slice")
def slice_(m):
    shape = m.shape(1)
    axes = m.axes(len(shape), 1) if m.since >= 10 else m.random.sample(range(len(shape)), m.number(1, len(shape)))
    if m.chance(0.3):
        axes = list(range(m.number(1, len(shape))))
    far = [2**63 - 1, -(2**63), 2**31 - 1, -(2**31)]
    position = lambda: m.random.choice(far) if m.chance(0.15) else m.number(-8, 8)
    starts, ends = [position() for _ in axes], [position() for _ in axes]
    x = m.tensor("T", shape)
    ordered = axes == list(range(len(axes)))
    if m.since < 10:
        attributes = {"starts": starts, "ends": ends}
        return Node([x], attributes | ({} if ordered and m.chance(0.7) else {"axes": axes}))
    kind = m.type("Tind")
    if kind == TensorProto.INT32:
        starts, ends = ([min(max(v, -(2**31)), 2**31 - 1) for v in values] for values in (starts, ends))
    steps = [m.pick(1, 1, 2, 3, -1, -2, 7) for _ in axes]
    inputs = [x, m.list(starts, kind), m.list(ends, kind)]
    inputs.append(None if ordered and m.chance(0.6) else m.list(axes, kind))
    inputs.append(m.list(steps, kind) if m.chance(0.6) else None)
    return Node(inputs)


@ops("Pad")
def pad(m):
    shape = m.shape(1)
    modes = ["constant", "reflect", "edge"] + (["wrap"] if m.since >= 19 else [])
    mode = m.random.choice(modes)
    axes = m.axes(len(shape), 1) if m.since >= 18 and m.chance(0.5) else None
    count = len(axes) if axes else len(shape)
    if mode != "constant":
        shape = [d or 2 for d in shape]
    pads = []
    for half in range(2):
        for k in range(count):
            d = shape[axes[k] if axes else k]
            most = d - 1 if mode == "reflect" else 4
            pads.append(m.number(0, max(most, 0)) if m.chance(0.85) else -m.number(0, d // 2))
    x = m.tensor("T", shape)
    attributes = m.word("mode", mode)
    if mode != "constant":
        attributes["mode"] = mode
    elif "mode" in attributes and attributes["mode"] != "constant":
        del attributes["mode"]
    if m.since < 11:
        name = "paddings" if m.since == 1 else "pads"
        return Node([x], {name: pads, **attributes, **({"value": 1.5} if m.chance(0.4) else {})})
    inputs = [x, m.list(pads), m.scalar(random_array(m.rng, x.type, []).item(), x.type) if m.chance(0.5) else None]
    if axes:
        inputs.append(m.list(axes, "Tind"))
    return Node(inputs, attributes)


@ops("Expand")
def expand(m):
    shape = m.shape()
    other = m.broadcastable(shape)
    target = [1 if m.chance(0.2) else d for d in shape]
    return Node([m.tensor("T", other), m.list(target)])


@ops("Tile")
def tile(m):
    if m.since < 6:
        shape = m.shape(1)
        return Node([m.tensor("T", shape), m.scalar(m.number(0, 3), "T"), m.scalar(m.number(0, len(shape) - 1), "T")])
    shape = m.shape()
    return Node([m.tensor("T", shape), m.list([m.pick(1, 1, 2, 3, 0) for _ in shape])])


def indices_in(m, size, shape, constraint, negative=True):
    """Indices of a dimension of `size` > 0."""
    low = -size if negative else 0
    return Tensor(m.type(constraint), np.array([m.number(low, size - 1) for _ in range(math.prod(shape))]).reshape(shape))


@ops("Gather")
def gather(m):
    shape = m.shape(1, 5, empty=False)
    axis = m.axis(len(shape))
    indices = m.shape(0, 8 - len(shape))
    attributes = {"axis": axis} if axis or m.chance(0.5) else {}
    return Node([m.tensor("T", shape), indices_in(m, shape[axis], indices, "Tind", m.since >= 11)], attributes)


@ops("GatherElements")
def gather_elements(m):
    shape = m.shape(1, empty=False)
    axis = m.axis(len(shape))
    indices = [m.number(0, d) for d in shape]
    indices[axis] = m.size()
    attributes = {"axis": axis} if axis or m.chance(0.5) else {}
    return Node([m.tensor("T", shape), indices_in(m, shape[axis], indices, "Tind")], attributes)


def nd_indices(m, shape, lead, batch=0, negative=True):
    """[*lead, k] indices into the dims of shape behind `batch`."""
    k = m.number(1, len(shape) - batch)
    rows = [[m.number(-shape[batch + j] if negative else 0, shape[batch + j] - 1) for j in range(k)] for _ in range(math.prod(lead))]
    return Tensor(INT64, np.array(rows, np.int64).reshape([*lead, k])), k


@ops("GatherND")
def gather_nd(m):
    shape = m.shape(1, 5, empty=False)
    batch = m.number(0, min(len(shape) - 1, 2)) if m.has("batch_dims") and m.chance(0.5) else 0
    lead = shape[:batch] + m.shape(0, 2)
    indices, _ = nd_indices(m, shape, lead, batch)
    if len(lead) + len(shape) - batch > 8:
        return gather_nd(m)
    return Node([m.tensor("T", shape), indices], {"batch_dims": batch} if batch or (m.has("batch_dims") and m.chance(0.3)) else {})


def reductions_of(m, number):
    words = ["none"] if not m.has("reduction") else ["none", "add", "mul"] + (["max", "min"] if m.since >= 18 else [])
    return m.random.choice(words) if is_float(number) or "int" in TensorProto.DataType.Name(number).lower() else "none"


@ops("Scatter", "ScatterElements")
def scatter_elements(m):
    shape = m.shape(1, empty=False)
    axis = m.axis(len(shape)) if m.name == "ScatterElements" else m.number(0, len(shape) - 1)
    part = [m.number(0, d) for d in shape]
    x = m.tensor("T", shape)
    reduction = reductions_of(m, x.type)
    lines = [m.random.sample(range(shape[axis]), part[axis]) for _ in range(math.prod(part[:axis if axis >= 0 else len(shape) + axis] or [1]))]
    at = axis % len(shape)
    indices = np.zeros(part, np.int64)
    for place in np.ndindex(*(part[:at] + part[at + 1:])):
        line = m.random.sample(range(shape[at]), part[at])  # each place once, so that order does not matter
        indices[place[:at] + (slice(None),) + place[at:]] = line
    if m.name == "ScatterElements" and indices.size and m.chance(0.4):
        indices[m.rng.random(indices.shape) < 0.3] -= shape[at]
    del lines
    attributes = {"axis": axis} if axis or m.chance(0.5) else {}
    if reduction != "none" or (m.has("reduction") and m.chance(0.2)):
        attributes["reduction"] = reduction
    return Node([x, Tensor(m.type("Tind"), indices), m.tensor("T", part)], attributes)


@ops("ScatterND")
def scatter_nd(m):
    shape = m.shape(1, 5, empty=False)
    k = m.number(1, len(shape))
    places = list(np.ndindex(*shape[:k]))
    picked = m.random.sample(places, m.number(0, min(len(places), 5)))
    rows = [[v - shape[j] if m.chance(0.2) else v for j, v in enumerate(place)] for place in picked]
    x = m.tensor("T", shape)
    reduction = reductions_of(m, x.type)
    indices = Tensor(INT64, np.array(rows, np.int64).reshape([len(rows), k]))
    attributes = {"reduction": reduction} if reduction != "none" or (m.has("reduction") and m.chance(0.2)) else {}
    return Node([x, indices, m.tensor("T", [len(rows), *shape[k:]])], attributes)


@ops("TensorScatter")
def tensor_scatter(m):
    shape = m.shape(2, 5, empty=False)
    axis = m.number(1, len(shape) - 1)
    update = list(shape)
    update[axis] = m.number(1, shape[axis])
    mode = m.pick("linear", "circular")
    most = shape[axis] - update[axis] if mode == "linear" else shape[axis] - 1
    inputs = [m.tensor("T", shape), m.tensor("T", update)]
    if m.chance(0.7):
        inputs.append(m.list([m.number(0, most) for _ in range(shape[0])]))
    return Node(inputs, {"axis": axis - len(shape) if m.chance(0.5) else axis, "mode": mode})


@ops("OneHot")
def one_hot(m):
    shape = m.shape(0, 6)
    depth = m.number(1, 5)
    m_special, m.special = m.special, False
    indices = m.tensor("T1", shape)
    if is_float(indices.type):
        indices.array = np.round(indices.array.astype(np.float64)).astype(indices.array.dtype)
    m.special = m_special
    attributes = {"axis": m.number(-len(shape) - 1, len(shape))} if m.chance(0.6) else {}
    return Node([indices, m.scalar(depth, "T2"), m.tensor("T3", [2])], attributes)


@ops("NonZero")
def nonzero(m):
    return Node([m.tensor("T", m.shape(), "ties")])


@ops("Compress")
def compress(m):
    shape = m.shape(1)
    if m.chance(0.4):
        return Node([m.tensor("T", shape), m.tensor(BOOL, [m.number(0, math.prod(shape))])])
    axis = m.axis(len(shape)) if m.since >= 11 else m.number(0, len(shape) - 1)
    return Node([m.tensor("T", shape), m.tensor(BOOL, [m.number(0, shape[axis])])], {"axis": axis})


@ops("Trilu")
def trilu(m):
    inputs = [m.tensor("T", m.shape(2))]
    if m.chance(0.6):
        inputs.append(m.scalar(m.number(-6, 6)))
    return Node(inputs, m.flags("upper"))


@ops("Unique")
def unique(m):
    shape = m.shape(0 if m.chance(0.2) else 1, 4)
    attributes = m.flags("sorted") | ({"axis": m.axis(len(shape))} if shape and m.chance(0.5) else {})
    return Node([m.tensor("T", shape, "ties")], attributes, [True] + [m.chance(0.6) for _ in range(3)])


@ops("ReverseSequence")
def reverse_sequence(m):
    shape = m.shape(2)
    batch = m.number(0, 1)
    lengths = [m.number(1, max(shape[1 - batch], 1)) if shape[1 - batch] else 0 for _ in range(shape[batch])]
    attributes = {"batch_axis": batch, "time_axis": 1 - batch}
    return Node([m.tensor("T", shape), m.list(lengths)], {} if batch == 1 and m.chance(0.5) else attributes)


@ops("DepthToSpace")
def depth_to_space(m):
    block = m.number(1, 3)
    shape = [m.size(), block * block * m.number(0, 2), m.size(), m.size()]
    return Node([m.tensor("T", shape)], {"blocksize": block, **m.word("mode", "DCR", "CRD")})


@ops("SpaceToDepth")
def space_to_depth(m):
    block = m.number(1, 3)
    return Node([m.tensor("T", [m.size(), m.size(), block * m.number(0, 2), block * m.number(0, 2)])], {"blocksize": block, **m.word("mode", "DCR", "CRD")})


@ops("CenterCropPad")
def center_crop_pad(m):
    shape = m.shape(1)
    axes = m.axes(len(shape), 1) if m.chance(0.5) else None
    sizes = [m.size() for _ in (axes or shape)]
    return Node([m.tensor("T", shape), m.list(sizes, "Tind")], {"axes": axes} if axes else {})


@ops("EyeLike")
def eye_like(m):
    return Node([m.tensor("T1", [m.size(), m.size()])],
                ({"dtype": m.type("T2")} if m.chance(0.5) else {}) | ({"k": m.number(-6, 6)} if m.chance(0.7) else {}))


@ops("Range")
def range_(m):
    number = m.type("T")
    start, delta, steps = m.number(-5, 5), m.pick(1, 2, 3, -1, -2), m.number(-1, 7)
    if is_float(number):
        start, delta = start + 0.5 * m.number(0, 1), delta * m.pick(1, 0.5, 0.25)
    return Node([m.scalar(start, "T"), m.scalar(start + delta * steps, "T"), m.scalar(delta, "T")])


@ops("ConstantOfShape")
def constant_of_shape(m):
    attributes = {}
    if m.chance(0.7):
        attributes["value"] = m.tensor("T2", [1])
    return Node([m.list(m.shape())], attributes)


@ops("Constant")
def constant(m):
    kinds = [n for n in ("value", "value_int", "value_ints", "value_float", "value_floats", "value_string", "value_strings") if m.has(n)]
    kind = m.random.choice(kinds)
    count = m.number(0, 4)
    values = {
        "value": lambda: m.tensor("T", m.shape()),
        "value_int": lambda: m.number(-5, 5),
        "value_ints": lambda: [m.number(-5, 5) for _ in range(count)],
        "value_float": lambda: 0.5,
        "value_floats": lambda: [0.5] * count,
        "value_string": lambda: "word",
        "value_strings": lambda: ["word", ""] * (count // 2),
    }
    return Node([], {kind: values[kind]()})


@register("Col2Im", sums=True)
def col2im(m):
    spatial = m.number(1, 3)
    image, block = [m.number(1, 5) for _ in range(spatial)], [m.number(1, 3) for _ in range(spatial)]
    strides, dilations = [m.number(1, 2) for _ in range(spatial)], [m.number(1, 2) for _ in range(spatial)]
    pads = [m.number(0, 1) for _ in range(2 * spatial)]
    if m.chance(0.4):
        strides, dilations, pads = [1] * spatial, [1] * spatial, [0] * (2 * spatial)
    places = 1
    for k in range(spatial):
        room = image[k] + pads[k] + pads[k + spatial] - dilations[k] * (block[k] - 1) - 1
        places *= max(room // strides[k] + 1, 0) if room >= 0 else 0
    x = m.tensor("T", [m.number(1, 2), m.number(1, 2) * math.prod(block), places])
    attributes = {}
    for name, values, usual in (("strides", strides, 1), ("dilations", dilations, 1), ("pads", pads, 0)):
        if any(v != usual for v in values) or m.chance(0.3):
            attributes[name] = values
    return Node([x, m.list(image), m.list(block)], attributes)
