"""Small models for the tests of this folder: operators by families. Each function of MODELS writes one to a path."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def floats(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def weight(rng, name, *shape):
    return numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)


def save_model(path, nodes, inputs, outputs, weights=(), opset=17):
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10 if opset > 20 else 8), path)
    return path


def network(path):
    """Grouped, strided, dilated and padded windows, a residual, a clip, averages, and a product that is not transposed."""
    rng = np.random.default_rng(1)
    weights = [weight(rng, "w1", 8, 3, 3, 3), weight(rng, "b1", 8), weight(rng, "w2", 8, 1, 3, 5), weight(rng, "w3", 8, 4, 1, 1), weight(rng, "w4", 8, 5), weight(rng, "b4", 5)]
    weights += [numpy_helper.from_array(np.float32(value), name) for name, value in (("low", 0), ("high", 6))]
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], "first", strides=[2, 1], pads=[1, 0, 0, 2]),
        helper.make_node("Clip", ["c1", "low", "high"], ["r1"], "six"),
        helper.make_node("Conv", ["r1", "w2"], ["c2"], "depthwise", group=8, dilations=[1, 2], auto_pad="SAME_UPPER"),
        helper.make_node("Conv", ["c2", "w3"], ["c3"], "pointwise", group=2),
        helper.make_node("Add", ["c3", "r1"], ["s"], "skip"),
        helper.make_node("Relu", ["s"], ["r3"], "relu"),
        helper.make_node("AveragePool", ["r3"], ["p"], "mean", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1),
        helper.make_node("MaxPool", ["p"], ["m"], "most", kernel_shape=[2, 2], pads=[0, 1, 0, 0]),
        helper.make_node("GlobalAveragePool", ["m"], ["g"], "all"),
        helper.make_node("Flatten", ["g"], ["f"], "flat"),
        helper.make_node("Gemm", ["f", "w4", "b4"], ["y"], "dense", alpha=0.5, beta=2.0),
    ]
    return save_model(path, nodes, [floats("x", [2, 3, 12, 11])], [floats("y", [2, 5])], weights)


def elements(path):
    """Broadcasts along several axes, an input as output, an output that is read again, a name that ends comments."""
    rng = np.random.default_rng(2)
    weights = [weight(rng, "row", 1, 1, 5), weight(rng, "column", 3, 1), weight(rng, "one", 1)]
    nodes = [
        helper.make_node("Mul", ["a", "row"], ["m"], "odd */ name ??/"),
        helper.make_node("Add", ["m", "b"], ["s"], "sum"),
        helper.make_node("Sub", ["column", "s"], ["d"], "minus"),
        helper.make_node("Div", ["d", "one"], ["q"], "scale"),
        helper.make_node("Clip", ["q", "least"], ["c"], "clip"),
        helper.make_node("Relu", ["c"], ["r"], "relu"),
        helper.make_node("Reshape", ["a", "flat"], ["same"], "same"),
    ]
    weights += [numpy_helper.from_array(np.array([-1], np.int64), "flat"), numpy_helper.from_array(np.float32(-0.5), "least")]
    return save_model(path, nodes, [floats("a", [2, 3, 5]), floats("b", [2, 1, 1])], [floats("r", None), floats("s", None), floats("same", [30])], weights)


def products(path):
    """Batches of matrices, and a softmax along an inner axis."""
    rng = np.random.default_rng(3)
    weights = [weight(rng, "w", 4, 6), weight(rng, "bias", 6)]
    nodes = [
        helper.make_node("MatMul", ["a", "w"], ["p"], "project"),
        helper.make_node("Add", ["p", "bias"], ["h"], "bias"),
        helper.make_node("MatMul", ["h", "b"], ["s"], "scores"),
        helper.make_node("Softmax", ["s"], ["y"], "softmax", axis=1),
    ]
    return save_model(path, nodes, [floats("a", [2, 3, 4]), floats("b", [2, 6, 7])], [floats("y", [2, 3, 7])], weights)


def ports(path):
    """An input that nothing reads, outputs that are one value, a constant, another shape of an output, or read again."""
    weights = [weight(np.random.default_rng(5), "w", 3), numpy_helper.from_array(np.array([3, 2]), "shape")]
    nodes = [
        helper.make_node("Relu", ["x"], ["h"], "relu"),
        helper.make_node("Identity", ["h"], ["i"], "identity"),
        helper.make_node("Relu", ["w"], ["k"], "constant"),
        helper.make_node("Reshape", ["h", "shape"], ["t"], "reshape"),
        helper.make_node("Add", ["h", "h"], ["y"], "add"),
        helper.make_node("Mul", ["y", "y"], ["q"], "square"),
    ]
    return save_model(path, nodes, [floats("x", [2, 3]), floats("unused", [4])], [floats(name, None) for name in "hiktyq"], weights)


def integers(path):
    """Ports and views of other types than float32."""
    nodes = [
        helper.make_node("Flatten", ["x"], ["f"], "flat"),
        helper.make_node("Relu", ["f"], ["y"], "relu"),
        helper.make_node("Flatten", ["i"], ["j"], "also_flat"),
    ]
    ints = [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name, shape in (("i", [2, 2, 3]), ("j", None))]
    return save_model(path, nodes, [floats("x", [2, 3]), ints[0]], [floats("y", None), ints[1]])


def line(path):
    """Windows over one axis, padding that counts, a window at the edge of which some positions are missing."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["h"], "conv", pads=[1, 2], strides=[2]),
        helper.make_node("MaxPool", ["h"], ["m"], "most", kernel_shape=[2], ceil_mode=1, strides=[2]),
        helper.make_node("GlobalMaxPool", ["m"], ["g"], "all"),
        helper.make_node("AveragePool", ["m"], ["a"], "mean", kernel_shape=[3], count_include_pad=1, pads=[1, 1]),
    ]
    return save_model(path, nodes, [floats("x", [2, 3, 9])], [floats("g", None), floats("a", None)], [weight(np.random.default_rng(6), "w", 4, 3, 3)])


def windows(path):
    """Convolutions of each form: odd numbers of pixels and filters, groups, strides, padding beyond the image, one pixel, additions, weights that are computed."""
    rng = np.random.default_rng(7)
    kinds = [  # name, filters, channels of a filter, kernel, attributes
        ("point", 6, 5, (1, 1), {}),
        ("apart", 3, 5, (1, 1), {"strides": [2, 3]}),
        ("padded_point", 4, 5, (1, 1), {"pads": [0, 1, 0, 0]}),
        ("square", 7, 5, (3, 3), {"strides": [2, 2], "pads": [0, 0, 1, 1]}),
        ("depthwise", 5, 1, (3, 3), {"group": 5, "pads": [1, 1, 1, 1]}),
        ("halving", 5, 1, (3, 3), {"group": 5, "strides": [2, 2], "pads": [0, 1, 1, 0]}),
        ("twice", 10, 1, (2, 3), {"group": 5, "dilations": [3, 2], "pads": [6, 7, 8, 9]}),
        ("four", 20, 1, (3, 3), {"group": 5, "strides": [1, 2]}),
        ("all", 3, 5, (6, 7), {}),
        ("whole", 5, 1, (6, 7), {"group": 5}),
    ]
    weights = [weight(rng, f"{name}_w", filters, channels, *kernel) for name, filters, channels, kernel, _ in kinds]
    weights += [weight(rng, f"{name}_b", filters) for name, filters, *_ in kinds[::2]]
    given = {value.name for value in weights}
    nodes = [helper.make_node("Conv", [word for word in ("x", f"{name}_w", f"{name}_b") if word == "x" or word in given], [name], f"{name}_node", **more) for name, *_, more in kinds]
    nodes += [
        helper.make_node("Conv", ["pair", "groups_w"], ["groups"], "groups_node", group=2, kernel_shape=[3, 1]),
        helper.make_node("Conv", ["x", "depthwise_w"], ["inner"], "inner_node", group=5, pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["inner", "x"], ["sum"], "sum_node"),
        helper.make_node("Relu", ["sum"], ["relu"], "relu_node"),
        helper.make_node("Relu", ["point_w"], ["made"], "made_node"),
        helper.make_node("Add", ["made", "zero"], ["computed"], "computed_node"),
        helper.make_node("Conv", ["x", "computed"], ["open"], "open_node"),
    ]
    weights.append(weight(rng, "groups_w", 10, 3, 3, 1))
    names = [name for name, *_ in kinds] + ["groups", "relu", "open"]
    return save_model(path, nodes, [floats("x", [2, 5, 6, 7]), floats("pair", [1, 6, 5, 3]), floats("zero", [1, 1, 1, 1])], [floats(name, None) for name in names], weights)


def dense(path):
    """Products with a constant matrix of odd sizes: transposed, with a row or a column added, batches, a residual, one column."""
    rng = np.random.default_rng(8)
    weights = [weight(rng, "w", 9, 7), weight(rng, "row", 9), weight(rng, "column", 3, 1), weight(rng, "v", 7, 13), weight(rng, "one", 7, 1), weight(rng, "t", 3, 4)]
    nodes = [
        helper.make_node("Gemm", ["a", "w", "row"], ["y1"], "transposed", transB=1, alpha=1.5, beta=0.5),
        helper.make_node("Gemm", ["a", "v", "column"], ["y2"], "columns"),
        helper.make_node("Gemm", ["a", "t"], ["y3"], "across", transA=1),
        helper.make_node("MatMul", ["c", "v"], ["p"], "batches"),
        helper.make_node("Add", ["p", "z"], ["q"], "residual"),
        helper.make_node("Relu", ["q"], ["y4"], "relu"),
        helper.make_node("MatMul", ["c", "one"], ["y5"], "column_only"),
        helper.make_node("Gemm", ["a", "d"], ["y6"], "both", transA=1, transB=1),
        helper.make_node("Gemm", ["a", "e", "z1"], ["y7"], "strided", transB=1, alpha=0.5),
        helper.make_node("MatMul", ["f", "a"], ["y8"], "vector"),
        helper.make_node("MatMul", ["a", "g"], ["y9"], "single"),
    ]
    inputs = [floats("a", [3, 7]), floats("c", [2, 2, 3, 7]), floats("z", [2, 2, 3, 13]), floats("d", [6, 3]), floats("e", [5, 7]), floats("f", [3]), floats("g", [7]), floats("z1", [3, 5])]
    return save_model(path, nodes, inputs, [floats(f"y{i}", None) for i in range(1, 10)], weights)


# ---- families of operators ------------------------------------------------------------------------------------------------


def constant(name, values, kind=np.int64):
    return numpy_helper.from_array(np.array(values, kind), name)


def family(path, steps, inputs, weights=(), opset=20):
    """A model of independent nodes: (operator, names of inputs, attributes); outputs are o0, o1 ..."""
    nodes, outputs = [], []
    for i, (op, names, attributes) in enumerate(steps):
        made = [f"o{i}_{k}" for k in range(attributes.pop("outputs", 1))]
        nodes.append(helper.make_node(op, names.split(","), made, f"{op}_{i}", **attributes))
        outputs += made
    graph = helper.make_graph(nodes, "g", inputs, [onnx.ValueInfoProto(name=name) for name in outputs], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)], ir_version=8), path)
    return path


def whole(name, shape, kind=TensorProto.INT64):
    return helper.make_tensor_value_info(name, kind, shape)


def moves(path):
    """Boxes of floats, int64 and bytes, part by part too; pads; picks."""
    weights = [constant("starts", [1, -1]), constant("ends", [9, -5]), constant("axes", [1, 3]), constant("steps", [1, -2]), constant("pads", [0, 1, 2, 0, 0, 0, 1, 3])]
    weights += [constant("repeats", [1, 2, 1, 3]), constant("wide", [3, 2, 3, 4, 5]), constant("parts", [1, 3]), constant("picked", [[2, -1], [0, 2]]), constant("narrow", [3, 0], np.int32)]
    weights += [constant("frames", [[0, 1], [1, 2], [2, 3]]), constant("pairs", [-1, -1, 0, 0]), constant("seven", 7, np.float32), constant("shape", [2, 3])]
    steps = [
        ("Transpose", "x", {"perm": [0, 3, 1, 2]}),
        ("Transpose", "i", {}),
        ("Transpose", "b", {"perm": [1, 0]}),
        ("Slice", "x,starts,ends,axes,steps", {}),
        ("Concat", "x,x", {"axis": 2}),
        ("Concat", "i,i,i", {"axis": 1}),
        ("Split", "x,parts", {"axis": 2, "outputs": 2}),
        ("Expand", "x,wide", {}),
        ("Tile", "x,repeats", {}),
        ("DepthToSpace", "d", {"blocksize": 2}),
        ("DepthToSpace", "d", {"blocksize": 2, "mode": "CRD"}),
        ("SpaceToDepth", "d", {"blocksize": 2}),
        ("Pad", "x,pads,seven", {}),
        ("Pad", "x,pads", {"mode": "reflect"}),
        ("Pad", "i,picked_pads", {"mode": "edge"}),
        ("Gather", "x,picked", {"axis": 1}),
        ("Gather", "i,narrow", {"axis": 1}),
        ("Gather", "x,one", {"axis": 3}),
        ("Gather", "x,frames", {"axis": 2}),
        ("Gather", "x,pairs", {"axis": 1}),
        ("OneHot", "i,seven_whole,off_on", {}),
        ("OneHot", "picked,seven_whole,off_on", {"axis": 0}),
        ("Trilu", "x", {}),
        ("Trilu", "i,one", {"upper": 0}),
        ("Trilu", "x,one", {"upper": 1}),
        ("Where", "b,row,i", {}),
        ("CastLike", "x,row", {}),
        ("Cast", "x", {"to": TensorProto.INT32}),
        ("Cast", "x", {"to": TensorProto.FLOAT}),
        ("Cast", "x", {"to": TensorProto.BOOL}),
        ("Cast", "i", {"to": TensorProto.FLOAT}),
        ("Cast", "b", {"to": TensorProto.INT64}),
        ("ConstantOfShape", "shape", {"value": helper.make_tensor("v", TensorProto.INT64, [1], [-5])}),
        ("Not", "b", {}),
        ("Dropout", "x", {"outputs": 2}),
    ]
    weights += [constant("one", 1), constant("seven_whole", 7), constant("off_on", [-1.5, 2.5], np.float32)]
    weights += [constant("picked_pads", [1, 0, 2, 1]), constant("row", [[5, 6, 7, 8]])]
    return family(path, steps, [floats("x", [2, 3, 4, 5]), floats("d", [1, 8, 2, 4]), whole("i", [3, 4]), whole("b", [3, 4], TensorProto.BOOL)], weights)


def places(path):
    """Elements that indices lead to: of floats, int64 and bools, with every reduction; running sums along an axis that is computed too."""
    weights = [constant("rows", np.arange(24).reshape(2, 1, 4, 3) % 8 - 4), constant("narrow", [[3, -1], [0, 3], [1, 1]], np.int32), constant("pairs", [[0, -1], [1, 2], [0, 2]]), constant("threes", [[[2], [0]], [[-3], [1]]])]
    weights += [constant("flags", [[True, False], [False, True], [True, True]], bool), constant("spots", [[[[0, 3], [10, 11]]]]), constant("across", -2, np.int32), constant("down", 0)]
    steps = [("ArgMax", "t", {}), ("GatherElements", "x,rows", {"axis": 2}), ("GatherElements", "i,narrow", {"axis": 1}), ("GatherND", "x,pairs", {}), ("GatherND", "x,threes", {"batch_dims": 1}), ("GatherND", "b,pairs", {})]
    for reduction in ("none", "add", "mul", "max", "min"):
        steps += [("ScatterElements", "x,rows,r", {"axis": 2, "reduction": reduction}), ("ScatterElements", "i,narrow,j", {"axis": -1, "reduction": reduction}), ("ScatterND", "x,pairs,u", {"reduction": reduction})]
        steps += [("ScatterElements", "b,narrow,flags", {"axis": 1, "reduction": reduction})]
    steps += [("ScatterND", "x,one_tuple,x", {}), ("MaxUnpool", "m,spots", {"kernel_shape": [2, 2], "strides": [1, 4]}), ("EyeLike", "i", {"k": -1}), ("EyeLike", "b", {"k": 2, "dtype": TensorProto.FLOAT}), ("EyeLike", "i", {"k": 9})]
    steps += [(op, names, {"exclusive": exclusive, "reverse": reverse}) for op, names, exclusive, reverse in (("CumSum", "x,across", 0, 0), ("CumSum", "x,o0_0", 1, 0), ("CumSum", "i,down", 0, 1), ("CumSum", "d,down", 1, 1))]
    weights += [constant("one_tuple", [[0], [1]])]
    inputs = [floats("x", [2, 3, 4, 5]), floats("r", [2, 1, 4, 3]), floats("u", [3, 4, 5]), floats("m", [1, 1, 2, 2]), whole("i", [3, 4]), whole("j", [3, 2]), whole("b", [3, 4], TensorProto.BOOL), whole("d", [3, 2], TensorProto.DOUBLE), floats("t", [4])]
    return family(path, steps, inputs, weights)


def products_along(path):
    """Running products, which ONNX has from opset 26 on."""
    steps = [("CumProd", "x,axis", {"reverse": 1}), ("CumProd", "i,axis", {"exclusive": 1})]
    return family(path, steps, [floats("x", [2, 3, 4]), whole("i", [2, 3], TensorProto.INT32)], [constant("axis", 1)], opset=26)


def maps(path):
    """Every function of one float, and fused activations."""
    rng = np.random.default_rng(7)
    plain = ["Exp", "Log", "Tanh", "Sigmoid", "Erf", "Softplus", "Softsign", "Mish", "Gelu", "HardSwish", "Neg", "Abs", "Reciprocal", "Sqrt", "Floor", "Ceil", "Round", "Sign", "Sin", "Cos", "Tan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Asin", "Acos", "Atan"]
    plain += ["HardSigmoid", "LeakyRelu", "Elu", "Selu", "Celu", "ThresholdedRelu", "LogSoftmax", "Hardmax"]
    steps = [(op, "x", {}) for op in plain] + [("Gelu", "x", {"approximate": "tanh"}), ("Elu", "x", {"alpha": 0.3}), ("Shrink", "x", {"lambd": 0.2, "bias": 0.1})]
    return family(path, steps, [floats("x", [3, 70])])


def pairs(path):
    """Functions of two operands that broadcast over five axes, of floats, int64 and bools; sums of several."""
    ops = ["Pow", "Mod", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"]
    steps = [("Add", "x,y", {}), ("Div", "y,x", {})] + [(op, "x,y", {"fmod": 1} if op == "Mod" else {}) for op in ops]
    steps += [(op, "i,j", {}) for op in ("Add", "Sub", "Mul", "Div", "Mod", "Equal", "Less", "Greater", "Max")] + [(op, "a,b", {}) for op in ("And", "Or", "Xor")]
    steps += [(op, "i,j", {}) for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")] + [("BitwiseNot", "i", {}), ("BitShift", "u,v", {"direction": "LEFT"}), ("BitShift", "u,v", {"direction": "RIGHT"})]
    steps += [("IsNaN", "x", {}), ("IsInf", "x", {"detect_negative": 0}), ("IsInf", "x", {})]
    steps += [(op, "x,y,z", {}) for op in ("Sum", "Mean", "Max", "Min")] + [("Pow", f"x,{by}", {}) for by in ("two", "three", "minus", "root")] + [("Pow", "s,half", {}), ("PRelu", "x,slope", {})]
    inputs = [floats("x", [2, 1, 3, 2, 4]), floats("y", [4, 1, 2, 1]), floats("z", [1]), floats("s", [9]), whole("i", [3, 4]), whole("j", [4]), whole("a", [3, 4], TensorProto.BOOL), whole("b", [4], TensorProto.BOOL)]
    inputs += [whole("u", [3, 4], TensorProto.UINT8), whole("v", [4], TensorProto.UINT8)]
    return family(path, steps, inputs, [constant("two", 2, np.float32), constant("three", [[3]], np.float32), constant("minus", -1, np.int64), constant("root", [0.5], np.float32), constant("half", 0.3, np.float32), constant("slope", [[0.1], [0.2]], np.float32)])


def reductions(path):
    """Reductions over axes at the end, in the middle, apart and of all; products by einsum; normalizations."""
    rng = np.random.default_rng(8)
    ops = ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"]
    steps = [(op, f"x,{axes}" if axes else "x", {"keepdims": keep}) for i, op in enumerate(ops) for axes, keep in ((("end", 1), ("middle", 0), ("apart", 1), ("", 0))[i % 4],)]
    steps += [("ReduceMean", "x,apart", {}), ("ArgMax", "x", {"axis": 2, "select_last_index": 1}), ("ArgMin", "x", {"axis": -1, "keepdims": 0})]
    steps += [("TopK", "x,three", {"axis": 1, "outputs": 2}), ("TopK", "x,three", {"axis": -1, "largest": 0, "outputs": 2})]
    steps += [("Einsum", "x,q", {"equation": "bhid,bhjd->bhij"}), ("Einsum", "x,q", {"equation": "bhid,bhjd->hb"})]
    steps += [("LayerNormalization", "x,scale5,bias5", {}), ("LayerNormalization", "x,scale4", {"axis": 1}), ("InstanceNormalization", "x,c3,d3", {}), ("BatchNormalization", "x,c3,d3,d3,v3", {})]
    steps += [("GroupNormalization", "g,c6,c6", {"num_groups": 3}), ("LpNormalization", "x", {"axis": 1}), ("LpNormalization", "x", {"p": 1}), ("LRN", "g", {"size": 3})]
    steps += [("MeanVarianceNormalization", "x", {}), ("MeanVarianceNormalization", "x", {"axes": [-1, 1]}), ("Det", "square", {}), ("LayerNormalization", "x,scale5", {"outputs": 3})]
    weights = [constant("end", [3]), constant("three", [3]), constant("middle", [1, 2]), constant("apart", [0, 2]), weight(rng, "scale5", 5), weight(rng, "bias5", 5), weight(rng, "scale4", 4, 1), weight(rng, "c3", 3), weight(rng, "d3", 3)]
    weights += [weight(rng, "c6", 6), constant("v3", [0.5, 1.5, 2.5], np.float32)]
    return family(path, steps, [floats("x", [2, 3, 4, 5]), floats("q", [2, 3, 6, 5]), floats("g", [2, 6, 7]), floats("square", [2, 2, 5, 5])], weights, opset=21)


def losses(path):
    """Losses by class: reductions, weights, targets that are ignored, log probabilities that are an output."""
    weights = [constant("classes", [0, 4, 2]), constant("pixels", [[[0, 3, -7], [1, 4, 4]], [[2, 2, 0], [-7, 1, 3]]], np.int32), constant("heavy", [0.2, 0.7, 1.5, 0.1, 3], np.float32)]
    nll, sce = "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"
    steps = [(op, names, {"reduction": reduction}) for op in (nll, sce) for names in ("x,classes", "x,classes,heavy") for reduction in ("none", "sum", "mean")]
    steps += [(op, "p,pixels,heavy", {"ignore_index": -7, "reduction": reduction}) for op in (nll, sce) for reduction in ("none", "mean")]
    steps += [(sce, "x,classes", {"ignore_index": 4, "outputs": 2}), (sce, "p,pixels,heavy", {"ignore_index": -7, "reduction": "none", "outputs": 2})]
    return family(path, steps, [floats("x", [3, 5]), floats("p", [2, 5, 2, 3])], weights)


def recurrent(path):
    """LSTM, GRU and RNN: both directions, states, lengths, peepholes, batches first, other functions, and weights that are computed."""
    rng = np.random.default_rng(9)
    size, hidden = 5, 4
    weights = [constant("lengths", [3, 6], np.int32)]
    for gates, d in ((1, 1), (3, 1), (4, 1), (3, 2), (4, 2)):
        weights += [weight(rng, f"w{gates}{d}", d, gates * hidden, size), weight(rng, f"r{gates}{d}", d, gates * hidden, hidden), weight(rng, f"b{gates}{d}", d, 2 * gates * hidden)]
    weights += [weight(rng, "p2", 2, 3 * hidden)]
    steps = [
        ("LSTM", "x,w41,r41,b41,,h1,h1", {"hidden_size": hidden, "outputs": 3}),
        ("LSTM", "x,w42,r42,,lengths,h2,h2,p2", {"hidden_size": hidden, "direction": "bidirectional", "outputs": 3, "clip": 0.8}),
        ("LSTM", "t,w41,r41,b41", {"hidden_size": hidden, "direction": "reverse", "layout": 1, "input_forget": 1, "outputs": 1, "activations": ["HardSigmoid", "Softsign", "Relu"]}),
        ("GRU", "x,w31,r31,b31,,h1", {"hidden_size": hidden, "outputs": 2}),
        ("GRU", "x,w32,r32,b32,lengths", {"hidden_size": hidden, "direction": "bidirectional", "linear_before_reset": 1, "outputs": 2}),
        ("RNN", "x,w11,r11,b11", {"hidden_size": hidden, "outputs": 2}),
        ("Mul", "w42,one", {}),
        ("LSTM", "x,o6_0,r42,b42,lengths,h2,h2,p2", {"hidden_size": hidden, "direction": "bidirectional", "outputs": 3}),
        ("GRU", "x,w32,given,b32", {"hidden_size": hidden, "direction": "bidirectional", "linear_before_reset": 1, "outputs": 2}),
        ("RNN", "x,w11,back", {"hidden_size": hidden, "direction": "reverse", "outputs": 2}),
    ]
    inputs = [floats("one", [1]), floats("given", [2, 3 * hidden, hidden]), floats("back", [1, hidden, hidden])]
    return family(path, steps, [*inputs, floats("x", [6, 2, size]), floats("t", [2, 6, size]), floats("h1", [1, 2, hidden]), floats("h2", [2, 2, hidden])], weights)


def states(path):
    """Linear attention by every rule: two queries a key, decays and betas by head and by element, with and without a past; causal convolutions, shorter than their filters."""
    both, inputs = {"q_num_heads": 4, "kv_num_heads": 2, "outputs": 2}, [floats("q", [2, 3, 20]), floats("k", [2, 3, 10]), floats("v", [2, 3, 6]), floats("past", [2, 2, 5, 3])]
    inputs += [floats("d1", [2, 3, 2]), floats("d5", [2, 3, 10]), floats("b1", [2, 3, 1]), floats("b2", [2, 3, 2])]
    steps = [("LinearAttention", "q,k,v", {"update_rule": "linear", **both}), ("LinearAttention", "q,k,v,past,d1", {"update_rule": "gated", "scale": 0.3, **both})]
    steps += [("LinearAttention", "q,k,v,past,,b1", {"update_rule": "delta", **both}), ("LinearAttention", "q,k,v,,d5,b2", dict(both))]
    steps += [("CausalConvWithState", "x,w,b,kept", {"activation": "silu", "outputs": 2}), ("CausalConvWithState", "x,w", {"outputs": 2})]
    inputs += [floats("x", [2, 3, 2]), floats("w", [3, 1, 4]), floats("b", [3]), floats("kept", [2, 3, 3])]
    return family(path, steps, inputs, opset=27)


def queries(path):
    """Attention: heads side by side or apart, two queries a key, masks of floats and bools, windows, a past, every stage of the scores."""
    rng, wide = np.random.default_rng(12), {"q_num_heads": 4, "kv_num_heads": 2}
    weights = [weight(rng, "m", 6, 7), constant("hides", rng.random((2, 4, 6, 5)) < 0.4, bool), constant("none", [[False] * 5] * 6, bool), weight(rng, "m12", 2, 1, 6, 12), constant("valid", [0, 4])]
    inputs = [floats("q", [2, 6, 20]), floats("k", [2, 7, 10]), floats("v", [2, 7, 6]), floats("q4", [2, 4, 6, 5]), floats("k4", [2, 2, 7, 5]), floats("v4", [2, 2, 7, 3]), floats("pk", [2, 2, 5, 5]), floats("pv", [2, 2, 5, 3])]
    steps = [("Attention", "q,k,v", dict(wide)), ("Attention", "q,k,v,m", {"is_causal": 1, "softcap": 0.7, "scale": 0.9, **wide}), ("Attention", "q4,k4,v4,hides", {"outputs": 3}), ("Attention", "q4,k4,v4,none", {})]
    steps += [("Attention", "q,k,v,m12,pk,pv", {"is_causal": 1, "softcap": 1.5, "qk_matmul_output_mode": mode, "outputs": 4, **wide}) for mode in range(4)]
    steps += [("Attention", "q4,k4,v4,,,,valid", {"is_causal": causal}) for causal in (0, 1)]
    steps += [("Attention", "q4,k4,v4,,pk,pv", {"left_window_size": 3, "right_window_size": right, "outputs": 3}) for right in (-1, 2)]
    return family(path, steps, inputs, weights, opset=25)


def sums(path):
    """Products and convolutions of bytes whose sums are the result: zero points by row, column and filter, batches, groups; floats that find their scale."""
    rng = np.random.default_rng(13)
    weights = [constant(name, rng.integers(low, low + 256, shape), kind) for name, low, shape, kind in (("w", 0, (2, 5, 3), np.uint8), ("t", -128, (5, 3), np.int8), ("f", -128, (6, 2, 3, 2), np.int8), ("l", 0, (2, 4, 3), np.uint8))]
    weights += [constant("az", 7, np.uint8), constant("rows", [1, 255, 128, 3], np.uint8), constant("columns", [-3, 0, 127], np.int8), constant("one", [200], np.uint8), constant("filters", [1, -2, 3, -4, 5, -6], np.int8)]
    steps = [("MatMulInteger", names, {}) for names in ("a,w,az,one", "a,t", "a,t,rows,columns", "b,t,,columns", "one5,t,az")]
    steps += [("ConvInteger", "x,f,az,filters", {"group": 2, "pads": [1, 0, 2, 1], "strides": [2, 1], "dilations": [1, 2]}), ("ConvInteger", "x,f", {"group": 2}), ("ConvInteger", "s,l,,one", {"pads": [1, 1]})]
    steps += [("DynamicQuantizeLinear", name, {"outputs": 3}) for name in ("y", "positive", "zeros")]
    weights += [constant("positive", [0.5, 0.25, 3], np.float32), constant("zeros", [0, 0], np.float32)]
    inputs = [whole(name, shape, TensorProto.UINT8) for name, shape in (("a", [2, 4, 5]), ("one5", [5]), ("x", [2, 4, 5, 6]))]
    return family(path, steps, [*inputs, whole("b", [3, 5], TensorProto.INT8), whole("s", [1, 4, 7], TensorProto.INT8), floats("y", [3, 7])], weights)


def scales(path):
    """Quantized by axis, by block and by tensor, with scales of the run: integers of 8 and 16 bits, and of 32 that a float does not hold."""
    rng = np.random.default_rng(14)
    weights = [constant(name, rng.uniform(0.01, 2, shape), np.float32) for name, shape in (("by_axis", (3,)), ("by_block", (2, 3, 2)), ("one", ()))]
    weights += [constant(f"{name}_zero", rng.integers(0, 100, shape), kind) for name, shape, kind in (("u8", (3,), np.uint8), ("i16", (2, 3, 2), np.int16), ("u16", (), np.uint16))]
    steps = [("QuantizeLinear", names, {"axis": axis, **more}) for names, axis, more in (("x,by_axis,u8_zero", 1, {}), ("x,by_block,i16_zero", -1, {"block_size": 3}), ("x,by_block", 2, {"block_size": 4, "output_dtype": TensorProto.INT8}))]
    steps += [("QuantizeLinear", "x,one,u16_zero", {}), ("QuantizeLinear", "x,found", {}), ("QuantizeLinear", "x,by_axis", {"axis": 1, "output_dtype": TensorProto.INT16})]
    steps += [("DequantizeLinear", names, {"axis": axis, **more}) for names, axis, more in (("o0_0,by_axis,u8_zero", 1, {}), ("o1_0,by_block,i16_zero", 2, {"block_size": 3}), ("o3_0,found,u16_zero", 1, {}), ("wide,one", 1, {}))]
    return family(path, steps, [floats("x", [2, 3, 5]), floats("found", [1]), whole("wide", [4], TensorProto.INT32)], [*weights], opset=21)


def sequences(path):
    """Rotations of pairs by every layout of heads and positions, sequences turned round, caches that are written at positions; gated units."""
    rng = np.random.default_rng(15)
    weights = [weight(rng, name, *shape) for name, shape in (("cos", (9, 3)), ("sin", (9, 3)), ("own_cos", (2, 4, 2)), ("own_sin", (2, 4, 2)))]
    weights += [constant("at", [[8, 0, 3, 3], [1, 2, 7, 5]]), constant("from", [4]), constant("lengths", [3, 0, 5]), constant("pair", [4, 1]), constant("rounds", [7, 3])]
    steps = [("RotaryEmbedding", "x,cos,sin,at", {}), ("RotaryEmbedding", "x,own_cos,own_sin", {"rotary_embedding_dim": 4, "interleaved": 1}), ("RotaryEmbedding", "packed,cos,sin,at", {"num_heads": 3, "interleaved": 1})]
    steps += [("RotaryEmbedding", "packed,from,cos,sin", {"num_heads": 3, "domain": "com.microsoft"}), ("SwiGLU", "x,z", {"alpha": 1.5})]
    steps += [("ReverseSequence", "s,lengths", {"batch_axis": axis, "time_axis": 1 - axis}) for axis in (1,)] + [("ReverseSequence", "i,pair", {"batch_axis": 0, "time_axis": 1})]
    steps += [("TensorScatter", "x,update,pair", {"axis": 3}), ("TensorScatter", "x,update,rounds", {"axis": 3, "mode": "circular"}), ("TensorScatter", "x,z", {})]
    inputs = [floats("x", [2, 3, 4, 6]), floats("z", [2, 3, 4, 6]), floats("packed", [2, 4, 18]), floats("s", [5, 3, 2]), whole("i", [2, 6]), floats("update", [2, 3, 4, 2])]
    return family(path, steps, inputs, weights, opset=28)


def spectra(path):
    """Fourier transforms of even and odd lengths, along both axes, padded, cut, of one side, inverse; frames with and without a window."""
    weights = [constant(name, value) for name, value in (("first", 1), ("second", 2), ("eight", 8), ("three", 3), ("five", 5), ("two", 2))] + [constant("window", [0.1, 0.7, 1, 0.6, 0.2], np.float32)]
    steps = [("DFT", "real,,first", {}), ("DFT", "real,eight,second", {"onesided": 1}), ("DFT", "complex,three,second", {}), ("DFT", "complex,,first", {"inverse": 1}), ("DFT", "complex,eight,second", {"inverse": 1, "onesided": 1}), ("DFT", "complex,,second", {"inverse": 1, "onesided": 1})]
    steps += [("STFT", "signal,two,window", {}), ("STFT", "signal,three,,five", {"onesided": 0}), ("STFT", "pairs,two,window,five", {"onesided": 0})]
    return family(path, steps, [floats("real", [2, 7, 6, 1]), floats("complex", [2, 7, 5, 2]), floats("signal", [2, 12, 1]), floats("pairs", [1, 9, 2])], weights, opset=20)


def blocks(path):
    """Blocks that overlap in images of one to three axes: strides, dilations, padding, places outside the image."""
    weights = [constant(name, value) for name, value in (("line", [13]), ("five", [5]), ("plane", [6, 7]), ("square", [3, 2]), ("cube", [2, 5, 4]), ("edges", [1, 2, 3]))]
    steps = [("Col2Im", "frames,line,five", {"strides": [2]}), ("Col2Im", "a,plane,square", {"pads": [1, 2, 1, 0], "strides": [2, 3], "dilations": [2, 1]}), ("Col2Im", "b,cube,edges", {"pads": [0, 1, 0, 0, 0, 2]})]
    return family(path, steps, [floats("frames", [1, 5, 5]), floats("a", [2, 18, 6]), floats("b", [1, 12, 40])], weights, opset=18)


def alone(path):
    """A model without inputs."""
    return family(path, [("Relu", "w", {})], [], [weight(np.random.default_rng(16), "w", 3)])


def kinds(path):
    """Casts to and from numbers of 16 and 64 bits, and integers: powers, clips, uint64 whose highest bit is set."""
    np.seterr(over="ignore")  # edges are beyond the smaller types, too
    names = {"d": TensorProto.DOUBLE, "h": TensorProto.FLOAT16, "b": TensorProto.BFLOAT16, "u": TensorProto.UINT64, "f": TensorProto.FLOAT, "w": TensorProto.UINT16, "i": TensorProto.INT32, "t": TensorProto.BOOL}
    edges = [0.0, -0.0, 1e-7, 3e-8, 2.0**-24 * 1.5, 6.1e-5, 65504, 65519.9, 65520, -70000, 1 / 3, 1.00048828125, 1.0014648, 1e300, -1e-320, np.inf, -np.inf, 40000.7, 1e-40, 3.4e38]
    weights = [constant("d", edges, np.float64), numpy_helper.from_array(np.array(edges).astype(np.float16), "h"), numpy_helper.from_array(np.array(edges).astype(np.float32), "f"), constant("u", [2**63, 2**64 - 1, 7, 0], np.uint64), constant("v", [3, 2**63 + 5, 2, 1], np.uint64)]
    weights += [constant("small", [0.0, 1.5, 3.99, 250.2], np.float64), constant("i", [3, -2, 7, 0], np.int32), constant("two", [2, 3, 0, 5], np.int64), constant("half", 0.5, np.float32), constant("low", -1, np.int32), constant("high", 5, np.int32)]
    run = {value.name: f"o{i}_0" for i, value in enumerate(weights)}  # chosen in the run, so that nothing is folded
    steps = [("Where", f"c,{name},{name}", {}) for name in run]
    casts = [*((source, to) for source in "dhf" for to in "dhbf" if source != to), *(("small", to) for to in "uwit"), *(("u", to) for to in "dhfiw"), *(("i", to) for to in "dhu")]
    calls = [("Cast", source, {"to": names[to]}) for source, to in casts] + [(op, "u,v", {}) for op in ("Add", "Sub", "Mul", "Div", "Mod", "Max", "Min", "Less", "GreaterOrEqual", "BitwiseXor")]
    calls += [("Pow", words, {}) for words in ("i,two", "two,half", "x,two", "x,i")] + [("BitShift", "u,v", {"direction": "RIGHT"}), ("Clip", "i,low,high", {}), ("Clip", "i,,high", {}), ("BitCast", "u", {"to": names["d"]}), ("Max", "x", {}), ("Mean", "x", {})]
    steps += [(op, ",".join(run.get(word, word) for word in words.split(",")), attributes) for op, words, attributes in calls]
    return family(path, steps, [floats("x", [4]), whole("c", [1], TensorProto.BOOL)], weights, opset=26)


def images(path):
    """Resizes, transposed convolutions, windows over three axes, products with batches along several axes."""
    rng = np.random.default_rng(10)
    weights = [weight(rng, "w", 4, 3, 3, 2), weight(rng, "b", 6), constant("twice", [1, 1, 2, 2], np.float32), constant("size", [1, 4, 3, 11]), constant("last", [1, 1, 1, 1.7], np.float32), constant("channels_last", [1, 9, 8, 6])]
    weights += [constant("same", [1, 4, 5, 6]), constant("cube", [2, 1, 4, 2, 9]), constant("apart", [3, 4, 6, 5, 6]), constant("here", [0, 0, -0.2, 0.3, 1, 1, 0.6, 1.4], np.float32)]
    steps = [("ConvTranspose", "x,w,b", {"group": 2, "strides": [2, 3], "dilations": [1, 2], "pads": [1, 0, 0, 2], "output_padding": [1, 1]})]
    steps += [("Resize", "x,,twice", {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}), ("Resize", "x,,twice", {"mode": "linear"})]
    steps += [("Resize", "x,,,size", {"mode": "cubic", "antialias": 1}), ("Resize", "x,,last", {"mode": "linear", "coordinate_transformation_mode": "align_corners"}), ("Resize", "x,,,channels_last", {"mode": "linear"})]
    steps += [("Resize", "v,,,cube", {"mode": "linear", "antialias": 1}), ("Resize", "v,,,apart", {"mode": "cubic"}), ("Resize", "x,,,same", {})]
    steps += [("Resize", "x,here,,size", {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 3.0})]
    steps += [("Conv", "v,u", {"group": 2, "pads": [1, 0, 1, 0, 1, 2], "strides": [1, 2, 1], "dilations": [1, 1, 2]}), ("MaxPool", "v", {"kernel_shape": [2, 2, 2], "pads": [1, 0, 0, 0, 1, 1]})]
    steps += [("AveragePool", "v", {"kernel_shape": [2, 3, 2], "pads": [1, 1, 0, 0, 1, 1], "count_include_pad": 1, "ceil_mode": 1, "strides": [2, 2, 2]}), ("GlobalAveragePool", "v", {})]
    steps += [("LpPool", "v", {"kernel_shape": [2, 3, 2], "pads": [1, 1, 0, 0, 1, 1], "dilations": [1, 1, 2], "p": 3}), ("LpPool", "x", {"kernel_shape": [2, 3], "auto_pad": "SAME_LOWER", "strides": [2, 1]})]
    steps += [("LpPool", "s", {"kernel_shape": [1, 2], "ceil_mode": 1, "strides": [1, 2], "p": 1}), ("GlobalLpPool", "v", {"p": 2})]
    steps += [("MatMul", "p,q", {}), ("MatMul", "p,r", {}), ("MatMul", "s,r", {})]
    inputs = [floats("x", [1, 4, 5, 6]), floats("p", [2, 3, 4, 5]), floats("q", [2, 3, 5, 6]), floats("r", [1, 3, 5, 2]), floats("s", [2, 1, 4, 5]), floats("v", [2, 4, 3, 5, 6])]
    return family(path, steps, inputs, [*weights, weight(rng, "u", 6, 2, 2, 3, 2)])


def grids(path):
    """Samples at coordinates of which most are outside of the image, in every mode and padding."""
    ways = [(mode, padding, corners) for mode in ("nearest", "linear", "cubic") for padding in ("zeros", "border", "reflection") for corners in (0, 1)]
    steps = [("GridSample", "x,at", {"mode": mode, "padding_mode": padding, "align_corners": corners}) for mode, padding, corners in ways]
    steps += [("GridSample", names, {"mode": mode, "padding_mode": "reflection"}) for names in ("v,in", "l,on") for mode in ("nearest", "linear", "cubic")]
    return family(path, steps, [floats("x", [2, 3, 4, 5]), floats("at", [2, 6, 7, 2]), floats("v", [1, 2, 3, 4, 5]), floats("in", [1, 2, 3, 4, 3]), floats("l", [2, 2, 1]), floats("on", [2, 5, 1])])


def activations(path):
    """Activations that are fused into a convolution and a product."""
    rng = np.random.default_rng(11)
    nodes, outputs = [], []
    for i, op in enumerate(["Sigmoid", "HardSwish", "LeakyRelu", "HardSigmoid", "Gelu", "Tanh"]):
        nodes += [helper.make_node("Conv", ["x", "w"], [f"c{i}"], f"conv{i}"), helper.make_node(op, [f"c{i}"], [f"o{i}"], f"{op}_{i}")]
        nodes += [helper.make_node("MatMul", ["a", "v"], [f"m{i}"], f"product{i}"), helper.make_node(op, [f"m{i}"], [f"p{i}"], f"{op}_of_{i}")]
        outputs += [f"o{i}", f"p{i}"]
    nodes += [helper.make_node("Sigmoid", ["c0"], ["gate"], "gate"), helper.make_node("Mul", ["c0", "gate"], ["o"], "silu")]
    graph = helper.make_graph(nodes, "g", [floats("x", [1, 2, 4, 4]), floats("a", [3, 4])], [onnx.ValueInfoProto(name=name) for name in [*outputs, "o"]], [weight(rng, "w", 3, 2, 3, 3), weight(rng, "v", 4, 5)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=8), path)
    return path


MODELS = (network, elements, products, ports, integers, line, windows, dense, moves, places, products_along, maps, pairs, reductions, losses, recurrent, states, queries, sums, scales, sequences, spectra, blocks, alone, kinds, images, grids, activations)
