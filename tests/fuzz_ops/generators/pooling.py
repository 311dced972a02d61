"""Windows that slide over images, and other operators on images: pooling, resizing, sampling, regions."""

import math

import numpy as np
from maker import Node, Tensor, ops
from onnx import TensorProto


def window(m, spatial, dims, dilates=True):
    """kernel_shape, strides, dilations, pads or auto_pad, such that a window fits each of dims."""
    kernel = [m.number(1, 3) for _ in range(spatial)]
    attributes = {"kernel_shape": kernel}
    dilations = [1] * spatial
    if dilates and m.has("dilations") and m.chance(0.4):
        attributes["dilations"] = dilations = [m.number(1, 2) for _ in range(spatial)]
    if m.chance(0.6):
        attributes["strides"] = [m.number(1, 3) for _ in range(spatial)]
    if m.has("auto_pad") and m.chance(0.35):
        attributes["auto_pad"] = m.pick("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET")
    elif m.chance(0.5):
        attributes["pads"] = [m.number(0, max((kernel[k % spatial] - 1) // 1 if dilations[k % spatial] == 1 else 1, 0)) for k in range(2 * spatial)]
        attributes["pads"] = [min(p, kernel[k % spatial] - 1) for k, p in enumerate(attributes["pads"])]
    for k in range(spatial):
        dims[k] = max(dims[k], dilations[k] * (kernel[k] - 1) + 1)
    return attributes


def image(m, spatial):
    return [m.size(), m.number(1, 3)], [m.number(1, 7 if spatial < 3 else 4) for _ in range(spatial)]


@ops("AveragePool", "MaxPool", "LpPool", sums=True)
def pool(m):
    spatial = m.pick(1, 2, 2, 3)
    lead, dims = image(m, spatial)
    attributes = window(m, spatial, dims)
    attributes |= m.flags("ceil_mode", "count_include_pad", "storage_order")
    if m.name == "LpPool":
        attributes |= {"p": m.pick(1, 2, 3)} if m.chance(0.5) else {}
    outputs = [True, m.chance(0.4)] if m.name == "MaxPool" and m.since >= 8 else 1
    return Node([m.tensor("T", lead + dims)], attributes, outputs)


@ops("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", sums=True)
def global_pool(m):
    lead, dims = image(m, m.pick(1, 2, 3))
    return Node([m.tensor("T", lead + dims)], {"p": m.pick(1, 2)} if m.has("p") and m.since > 1 and m.chance(0.5) else {})


@ops("MaxUnpool")
def max_unpool(m):
    """Indices without repetition: which of two values stays is open."""
    spatial = m.pick(1, 2)
    lead, dims = [m.number(1, 2), m.number(1, 2)], [m.number(1, 3) for _ in range(spatial)]
    kernel = [m.number(1, 3) for _ in range(spatial)]
    strides = [m.number(1, 3) for _ in range(spatial)] if m.chance(0.7) else None
    unpooled = [(d - 1) * (strides[k] if strides else 1) + kernel[k] for k, d in enumerate(dims)]
    shape = lead + dims
    total = math.prod(lead + unpooled)
    indices = m.random.sample(range(total), math.prod(shape)) if total >= math.prod(shape) else [0] * math.prod(shape)
    inputs = [m.tensor("T1", shape), Tensor(TensorProto.INT64, np.array(indices).reshape(shape))]
    if m.chance(0.4):
        inputs.append(m.list(lead + [d + m.number(0, 2) for d in unpooled]))
    return Node(inputs, {"kernel_shape": kernel, **({"strides": strides} if strides else {})})


@ops("Resize")
def resize(m):
    rank = m.pick(4, 4, 3, 2, 1)
    shape = [m.number(1, 3) for _ in range(rank - 2)] + [m.number(1, 6) for _ in range(min(rank, 2))]
    attributes = m.word("mode", *(["nearest", "linear"] + (["cubic"] if m.since >= 11 else [])))
    modes = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"]
    modes += ["tf_half_pixel_for_nn"] if m.since < 13 else []
    modes += ["half_pixel_symmetric"] if m.since >= 19 else []
    attributes |= m.word("coordinate_transformation_mode", *modes)
    attributes |= m.word("nearest_mode", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    attributes |= m.flags("exclude_outside", "antialias")
    if m.has("cubic_coeff_a") and m.chance(0.3):
        attributes["cubic_coeff_a"] = -0.5
    axes = sorted(m.random.sample(range(rank), m.number(1, rank))) if m.has("axes") and m.chance(0.4) else None
    if axes:
        attributes["axes"] = axes
    fixed = [k for k in range(rank) if k < rank - 2]
    scale = lambda k: 1.0 if k in fixed and m.chance(0.8) else m.pick(1.0, 2.0, 0.5, 1.5, 0.6, 3.0, 0.75)
    scales = [scale(k) for k in (axes or range(rank))]
    x = m.tensor(m.schema.inputs[0].type_str, shape)
    crops = attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize"
    if m.since < 11:
        return Node([x, m.list([0], TensorProto.FLOAT) if False else Tensor(TensorProto.FLOAT, scales)], attributes)
    count = len(scales)
    roi = [m.pick(0.0, 0.1, 0.25) for _ in range(count)] + [m.pick(1.0, 0.8, 1.2) for _ in range(count)] if crops else []
    roi_tensor = Tensor(m.type("T2"), roi) if crops or m.since < 13 else None
    if m.chance(0.5):
        return Node([x, roi_tensor, Tensor(TensorProto.FLOAT, scales)], attributes)
    if m.has("keep_aspect_ratio_policy") and m.chance(0.4):
        attributes["keep_aspect_ratio_policy"] = m.pick("stretch", "not_larger", "not_smaller")
    sizes = [max(int(shape[k] * s), 1) for k, s in zip(axes or range(rank), scales)]
    return Node([x, roi_tensor, Tensor(TensorProto.FLOAT, []) if m.since < 13 else None, m.list(sizes)], attributes)


@ops("Upsample")
def upsample(m):
    shape = [m.number(1, 3), m.number(1, 3), m.number(1, 5), m.number(1, 5)]
    scales = [1.0, 1.0, m.pick(1.0, 2.0, 1.5, 3.0), m.pick(1.0, 2.0, 1.5)]
    if m.since == 1:
        return Node([m.tensor("T", shape)], {"height_scale": scales[2], "width_scale": scales[3], **m.word("mode", "nearest", "bilinear")})
    attributes = m.word("mode", "nearest", "linear")
    if m.since < 9:
        return Node([m.tensor("T", shape)], attributes | {"scales": scales})
    return Node([m.tensor("T", shape), Tensor(TensorProto.FLOAT, scales)], attributes)


@ops("GridSample")
def grid_sample(m):
    spatial = 2 if m.since < 20 else m.pick(2, 2, 3)
    batch = m.number(1, 2)
    x = m.tensor("T1", [batch, m.number(1, 2)] + [m.number(1, 5) for _ in range(spatial)])
    special, m.special = m.special, False
    grid = m.tensor("T2", [batch] + [m.number(1, 4) for _ in range(spatial)] + [spatial])
    m.special = special
    grid.array = (grid.array.astype(np.float64) * 0.6).astype(grid.array.dtype)
    words = ["bilinear", "nearest", "bicubic"] if m.since < 20 else ["linear", "nearest", "cubic"]
    if spatial == 3:
        words = words[:2]
    return Node([x, grid], {**m.word("mode", *words), **m.word("padding_mode", "zeros", "border", "reflection"), **m.flags("align_corners")})


@ops("AffineGrid")
def affine_grid(m):
    spatial = m.pick(2, 3)
    batch = m.number(1, 2)
    theta = m.tensor("T1", [batch, spatial, spatial + 1])
    return Node([theta, m.list([batch, m.number(1, 3)] + [m.number(1, 4) for _ in range(spatial)])], m.flags("align_corners"))


def boxes(m, count, size):
    rows = []
    for _ in range(count):
        corners = [round(m.random.uniform(-1, size), 2) for _ in range(2)]
        rows.append(corners + [c + round(m.random.uniform(0, size), 2) for c in corners])
    return rows


@ops("RoiAlign", sums=True)
def roi_align(m):
    batch, regions = m.number(1, 2), m.number(0, 3)
    shape = [batch, m.number(1, 2), m.number(1, 6), m.number(1, 6)]
    attributes = {"output_height": m.number(1, 3), "output_width": m.number(1, 3)} if m.chance(0.8) else {}
    if m.chance(0.7):
        attributes["sampling_ratio"] = m.number(0, 3)
    if m.chance(0.4):
        attributes["spatial_scale"] = m.pick(0.5, 2.0, 1.0)
    attributes |= m.word("mode", "avg", "max") | m.word("coordinate_transformation_mode", "half_pixel", "output_half_pixel")
    rois = Tensor(m.type("T1"), np.array(boxes(m, regions, 5.0), np.float64).reshape([regions, 4]))
    return Node([m.tensor("T1", shape), rois, m.list([m.number(0, batch - 1) for _ in range(regions)])], attributes)


@ops("MaxRoiPool")
def max_roi_pool(m):
    batch, regions = m.number(1, 2), m.number(0, 3)
    shape = [batch, m.number(1, 2), m.number(1, 6), m.number(1, 6)]
    rows = [[m.number(0, batch - 1)] + row for row in boxes(m, regions, 4.0)]
    rois = Tensor(m.type("T"), np.array(rows, np.float64).reshape([regions, 5]))
    return Node([m.tensor("T", shape), rois], {"pooled_shape": [m.number(1, 3), m.number(1, 3)], **({"spatial_scale": 0.5} if m.chance(0.4) else {})})


@ops("NonMaxSuppression")
def non_max_suppression(m):
    batch, count, classes = m.number(1, 2), m.number(0, 6), m.number(1, 2)
    rows = np.array([boxes(m, count, 1.0) for _ in range(batch)], np.float64).reshape([batch, count, 4])
    m.special = False
    inputs = [Tensor(TensorProto.FLOAT, rows), m.tensor(TensorProto.FLOAT, [batch, classes, count], "unit")]
    inputs.append(m.scalar(m.number(0, 4)) if m.chance(0.8) else None)
    inputs.append(m.scalar(m.pick(0.0, 0.3, 0.5), TensorProto.FLOAT) if m.chance(0.7) else None)
    inputs.append(m.scalar(m.pick(0.0, 0.3), TensorProto.FLOAT) if m.chance(0.5) else None)
    return Node(inputs, m.flags("center_point_box"))
