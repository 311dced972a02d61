"""The set of `make bench-ops`: single operators in the shapes of real models, beside onnxruntime (bench.py).

    bench_ops.py --tinyort build/tinyort --folder build/models --bench SECONDS [--only NAME,...] [--threads 1,2] [--isa v3]

Products and convolutions are bench-kernels' and bench's; here is what stands between them: the operators that make a model slow when
only the reference kernel has them. A row has the operator, its inputs, its attributes, and the model or the package that it is from.
Rows above 1.3 of onnxruntime's time are listed at the end.
"""

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from compare import arguments, chosen, run_cases

TYPES = {"f": numpy.float32, "d": numpy.float64, "h": numpy.float16, "u8": numpy.uint8, "i8": numpy.int8, "i32": numpy.int32, "i64": numpy.int64, "b": numpy.bool_}
rng = numpy.random.default_rng(7)


def data(shape, kind="f"):
    dtype = TYPES[kind]
    if kind == "b":
        return rng.random(shape) < 0.5
    if dtype().dtype.kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(0, 100, shape).astype(dtype)


def below(limit, *shape):
    return rng.integers(0, limit, shape).astype(numpy.int64)


def ints(*values):
    return numpy.array(values, numpy.int64)


class Const:
    """An input that the file has."""

    def __init__(self, value):
        self.value = numpy.asarray(value)


def boxes(count):
    corner, size = rng.random((1, count, 2)) * 600, rng.random((1, count, 2)) * 40
    return numpy.concatenate([corner, corner + size], 2).astype(numpy.float32)


def op(kind, *inputs, source, outputs=1, domain="", **attributes):
    return {"kind": kind, "inputs": inputs, "source": source, "outputs": outputs, "domain": domain, "attributes": attributes}


OPS = {
    # Softmax, arg-reductions and reductions, over inner axes and short ones
    "softmax_inner": op("Softmax", data((8, 16, 64, 32)), axis=2, source="attention over an inner axis"),
    "softmax_dfl": op("Softmax", data((1, 16, 4, 8400)), axis=1, source="YOLOv8, box distances"),
    "softmax_classes": op("Softmax", data((1, 21, 256, 256)), axis=1, source="segmentation"),
    "softmax_last": op("Softmax", data((12, 128, 128)), axis=-1, source="BERT"),
    "softmax_short": op("Softmax", data((8400, 8)), axis=-1, source="gates of a mixture of experts"),
    "log_softmax_classes": op("LogSoftmax", data((1, 21, 256, 256)), axis=1, source="segmentation"),
    "argmax_classes": op("ArgMax", data((1, 21, 512, 512)), axis=1, keepdims=0, source="DeepLab"),
    "argmax_vocabulary": op("ArgMax", data((1, 20, 50257)), axis=-1, keepdims=0, source="greedy decoders"),
    "argmax_short": op("ArgMax", data((8400, 80)), axis=-1, keepdims=0, source="YOLO classes"),
    "argmin_codes": op("ArgMin", data((64, 1024)), axis=-1, keepdims=0, source="nearest codes of a codebook"),
    "reduce_max_scores": op("ReduceMax", data((8400, 80)), Const(ints(-1)), keepdims=0, source="YOLO scores"),
    "reduce_sum_short": op("ReduceSum", data((4000, 64)), Const(ints(-1)), keepdims=1, source="graph networks"),
    "reduce_mean_short": op("ReduceMean", data((4000, 64)), Const(ints(-1)), keepdims=1, source="layer normalization in pieces"),
    "reduce_mean_inner": op("ReduceMean", data((16, 128, 256)), Const(ints(1)), keepdims=0, source="pooling over time"),
    "reduce_mean_pixels": op("ReduceMean", data((1, 256, 28, 28)), Const(ints(2, 3)), keepdims=1, source="squeeze and excite"),
    "reduce_l2_rows": op("ReduceL2", data((512, 384)), Const(ints(-1)), keepdims=1, source="sentence embeddings"),
    "reduce_max_inner": op("ReduceMax", data((64, 9, 1024)), Const(ints(1)), keepdims=0, source="point clouds"),
    # Scatter and gather
    "scatter_elements_add": op("ScatterElements", data((60, 384)), below(60, 600, 384), data((600, 384)), axis=0, reduction="add", source="caustic-nmr"),
    "scatter_rows_add": op("ScatterElements", data((60, 384)), numpy.repeat(below(60, 600, 1), 384, 1), data((600, 384)), axis=0, reduction="add", source="PaiNN"),
    "scatter_nd_add": op("ScatterND", data((1000, 256)), below(1000, 5000, 1), data((5000, 256)), reduction="add", source="graph networks"),
    "scatter_nd_rows": op("ScatterND", data((1, 256, 512)), numpy.stack([numpy.zeros((64,), numpy.int64), below(256, 64)], 1), data((64, 512)), source="a cache's rows"),
    "gather_rows": op("Gather", data((30522, 384)), below(30522, 1, 128), axis=0, source="BERT's table"),
    "gather_inner": op("Gather", data((8, 256, 64)), Const(below(256, 49)), axis=1, source="relative positions"),
    "gather_elements": op("GatherElements", data((256, 1000)), below(1000, 256, 1000), axis=1, source="sorting by scores"),
    "gather_nd": op("GatherND", data((1, 8400, 84)), numpy.stack([numpy.zeros(300, numpy.int64), below(8400, 300)], 1), source="boxes that are kept"),
    "one_hot": op("OneHot", below(1000, 512), Const(numpy.int64(1000)), Const(numpy.array([0, 1], numpy.float32)), source="labels"),
    # Elements
    "sin": op("Sin", data((1, 9, 60000)), source="Kokoro, harmonics"),
    "cos": op("Cos", data((1, 9, 60000)), source="rotary positions"),
    "atan": op("Atan", data((1, 11, 20000)), source="Kokoro, phase"),
    "tan": op("Tan", data((1, 11, 20000)), source="projections"),
    "sign": op("Sign", data((262144,)), source="vocoders"),
    "not": op("Not", data((262144,), "b"), source="masks"),
    "is_nan": op("IsNaN", data((262144,)), source="guards"),
    "abs": op("Abs", data((262144,)), source="vocoders"),
    "floor": op("Floor", data((262144,)), source="vocoders"),
    "mod": op("Mod", data((262144,)), Const(numpy.float32(1)), fmod=1, source="Kokoro, phase"),
    "less": op("Less", data((512, 512)), data((512, 512)), source="masks"),
    "equal_i64": op("Equal", data((512, 512), "i64"), Const(numpy.int64(3)), source="masks of tokens"),
    "and": op("And", data((512, 512), "b"), data((512, 512), "b"), source="masks"),
    "where": op("Where", data((1, 1, 512, 512), "b"), data((1, 12, 512, 512)), Const(numpy.float32(-1e9)), source="attention masks"),
    "cast_bool": op("Cast", data((512, 512), "b"), to=TensorProto.FLOAT, source="masks"),
    "cast_i64": op("Cast", data((262144,)), to=TensorProto.INT64, source="indices"),
    "cast_bytes": op("Cast", data((480, 640, 3), "u8"), to=TensorProto.FLOAT, source="pictures"),
    "clip": op("Clip", data((262144,)), Const(numpy.float32(-1)), Const(numpy.float32(1)), source="vocoders"),
    "pow": op("Pow", data((262144,)), Const(numpy.float32(2)), source="energies"),
    "sqrt": op("Sqrt", numpy.abs(data((262144,))), source="magnitudes"),
    "log": op("Log", 0.1 + numpy.abs(data((262144,))), source="mel spectra"),
    "exp": op("Exp", data((262144,)), source="vocoders"),
    "erf": op("Erf", data((262144,)), source="GELU in pieces"),
    "add_i64": op("Add", data((512, 512), "i64"), data((512, 512), "i64"), source="positions"),
    "mul_double": op("Mul", data((512, 512), "d"), data((512,), "d"), source="scikit-learn"),
    "add_rows": op("Add", data((1, 128, 768)), Const(data((768,))), source="biases"),
    "mul_columns": op("Mul", data((1, 512, 768)), data((1, 512, 1)), source="gates"),
    "prelu": op("PRelu", data((1, 64, 56, 56)), Const(data((64, 1, 1))), source="face recognition"),
    # Products
    "matmul_double": op("MatMul", data((256, 256), "d"), Const(data((256, 256), "d")), source="statistics"),
    "matmul_double_column": op("MatMul", data((1000, 30), "d"), Const(data((30, 1), "d")), source="scikit-learn"),
    "gemm_double": op("Gemm", data((1000, 30), "d"), Const(data((30, 10), "d")), Const(data((10,), "d")), source="scikit-learn"),
    "matmul_integer_512": op("MatMulInteger", data((128, 512), "u8"), Const(data((512, 512), "i8")), source="quantize_dynamic"),
    "matmul_integer_768": op("MatMulInteger", data((128, 768), "u8"), Const(data((768, 768), "i8")), source="quantize_dynamic"),
    "einsum_attention": op("Einsum", data((1, 128, 12, 64)), data((1, 128, 12, 64)), equation="bqhd,bkhd->bhqk", source="attention by Einsum"),
    # Pools, windows and pictures
    "average_pool_35": op("AveragePool", data((1, 192, 35, 35)), kernel_shape=[3, 3], pads=[1] * 4, source="Inception"),
    "average_pool_56": op("AveragePool", data((1, 64, 56, 56)), kernel_shape=[3, 3], pads=[1] * 4, source="Inception"),
    "average_pool_2": op("AveragePool", data((1, 128, 56, 56)), kernel_shape=[2, 2], strides=[2, 2], source="DenseNet"),
    "average_pool_1d": op("AveragePool", data((1, 64, 4000)), kernel_shape=[4], strides=[4], source="wav2vec"),
    "max_pool_5": op("MaxPool", data((1, 128, 20, 20)), kernel_shape=[5, 5], pads=[2] * 4, source="SPPF of YOLO"),
    "max_pool_3": op("MaxPool", data((1, 64, 112, 112)), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4, source="ResNet"),
    "max_pool_3_same": op("MaxPool", data((1, 192, 28, 28)), kernel_shape=[3, 3], pads=[1] * 4, source="GoogLeNet"),
    "global_average_pool": op("GlobalAveragePool", data((1, 1280, 7, 7)), source="MobileNet"),
    "depthwise_7": op("Conv", data((1, 96, 56, 56)), Const(data((96, 1, 7, 7))), group=96, pads=[3] * 4, source="ConvNeXt"),
    "depthwise_5": op("Conv", data((1, 240, 28, 28)), Const(data((240, 1, 5, 5))), group=240, pads=[2] * 4, source="EfficientNet"),
    "dilated_3x1_48": op("Conv", data((1, 12, 128, 62)), Const(data((12, 12, 3, 1))), dilations=[48, 1], pads=[48, 0, 48, 0], source="swift-f0"),
    "dilated_5x1_27": op("Conv", data((1, 12, 128, 62)), Const(data((12, 12, 5, 1))), dilations=[27, 1], pads=[54, 0, 54, 0], source="swift-f0"),
    "aspp_12": op("Conv", data((1, 256, 65, 65)), Const(data((64, 256, 3, 3))), dilations=[12, 12], pads=[12] * 4, source="DeepLab"),
    "aspp_24": op("Conv", data((1, 256, 65, 65)), Const(data((64, 256, 3, 3))), dilations=[24, 24], pads=[24] * 4, source="DeepLab"),
    "aspp_36": op("Conv", data((1, 256, 65, 65)), Const(data((64, 256, 3, 3))), dilations=[36, 36], pads=[36] * 4, source="DeepLab"),
    "aspp_33_18": op("Conv", data((1, 256, 33, 33)), Const(data((256, 256, 3, 3))), dilations=[18, 18], pads=[18] * 4, source="DeepLab"),
    "dilated_16": op("Conv", data((1, 64, 128, 128)), Const(data((64, 64, 3, 3))), dilations=[16, 16], pads=[16] * 4, source="dilated ResNet"),
    "dilated_1d": op("Conv", data((1, 64, 2000)), Const(data((64, 64, 3))), dilations=[64], pads=[64, 64], source="WaveNet"),
    # Multiples of 8 between which the weights are eighths: onnxruntime cuts off what tinyort rounds.
    "resize_bytes": op("Resize", data((1, 480, 640, 3), "u8") // 8 * 8, None, None, Const(ints(1, 640, 640, 3)), mode="linear", source="pre-processing in the file"),
    "resize_linear": op("Resize", data((1, 64, 65, 65)), None, None, Const(ints(1, 64, 129, 129)), mode="linear", source="DeepLab"),
    "resize_nearest": op("Resize", data((1, 128, 40, 40)), None, Const(numpy.array([1, 1, 2, 2], numpy.float32)), mode="nearest", nearest_mode="floor", coordinate_transformation_mode="asymmetric", source="YOLO"),
    "resize_cubic": op("Resize", data((1, 3, 128, 128)), None, None, Const(ints(1, 3, 256, 256)), mode="cubic", source="super-resolution"),
    "pad_reflect": op("Pad", data((1, 3, 256, 256)), Const(ints(0, 0, 40, 40, 0, 0, 40, 40)), mode="reflect", source="style transfer"),
    "pad_edge": op("Pad", data((1, 64, 64, 64)), Const(ints(0, 0, 1, 1, 0, 0, 1, 1)), mode="edge", source="restoration"),
    "pad_constant": op("Pad", data((1, 64, 64, 64)), Const(ints(0, 0, 1, 1, 0, 0, 1, 1)), source="exports of TensorFlow"),
    "grid_sample": op("GridSample", data((1, 32, 64, 64)), rng.uniform(-1, 1, (1, 64, 64, 2)).astype(numpy.float32), source="flow"),
    "depth_to_space": op("DepthToSpace", data((1, 48, 64, 64)), blocksize=4, source="super-resolution"),
    # Sums, order and choice
    "cumsum_columns": op("CumSum", data((1, 60000, 9)), Const(numpy.int64(1)), source="Kokoro, phase"),
    "cumsum_rows": op("CumSum", data((4000, 64)), Const(numpy.int64(0)), source="vocoders"),
    "cumsum_last": op("CumSum", data((8, 128), "i64"), Const(numpy.int64(1)), source="positions"),
    "topk": op("TopK", data((1, 8400)), Const(ints(300)), outputs=2, source="detectors"),
    "topk_rows": op("TopK", data((128, 64)), Const(ints(4)), outputs=2, source="experts"),
    "unique": op("Unique", below(1000, 100000), outputs=4, source="graph networks"),
    "nonzero": op("NonZero", data((512, 512), "b"), source="masks"),
    "nms": op("NonMaxSuppression", boxes(8400), rng.random((1, 1, 8400)).astype(numpy.float32), Const(ints(300)), Const(numpy.float32(0.45)), Const(numpy.float32(0.25)), source="YOLO"),
    # Moves
    "transpose_windows": op("Transpose", data((8, 7, 7, 4, 7, 12)), perm=[0, 2, 4, 1, 3, 5], source="window attention"),
    "transpose_heads": op("Transpose", data((1, 128, 12, 64)), perm=[0, 2, 1, 3], source="BERT"),
    "transpose_nhwc": op("Transpose", data((1, 224, 224, 3)), perm=[0, 3, 1, 2], source="exports of TensorFlow"),
    "transpose_bytes": op("Transpose", data((1, 480, 640, 3), "u8"), perm=[0, 3, 1, 2], source="pictures"),
    "slice_rows": op("Slice", data((1, 512, 768)), Const(ints(0)), Const(ints(128)), Const(ints(1)), source="crops"),
    "slice_steps": op("Slice", data((1, 64, 128, 128)), Const(ints(0, 0)), Const(ints(128, 128)), Const(ints(2, 3)), Const(ints(2, 2)), source="Swin, merging"),
    "concat_channels": op("Concat", data((1, 64, 80, 80)), data((1, 64, 80, 80)), axis=1, source="YOLO"),
    "split_channels": op("Split", data((1, 128, 80, 80)), axis=1, outputs=2, num_outputs=2, source="YOLO"),
    "expand": op("Expand", data((1, 1, 128, 128)), Const(ints(1, 12, 128, 128)), source="masks"),
    "tile": op("Tile", data((1, 16, 64)), Const(ints(1, 32, 1)), source="grids"),
    "trilu": op("Trilu", data((512, 512)), upper=0, source="causal masks"),
    # Normalization and sound
    "layer_norm": op("LayerNormalization", data((1, 128, 768)), Const(data((768,))), Const(data((768,))), axis=-1, source="BERT"),
    "instance_norm": op("InstanceNormalization", data((1, 32, 128, 128)), Const(data((32,))), Const(data((32,))), source="style transfer"),
    "group_norm": op("GroupNormalization", data((1, 320, 32, 32)), Const(data((320,))), Const(data((320,))), num_groups=32, source="diffusion"),
    "lrn": op("LRN", data((1, 96, 27, 27)), size=5, source="AlexNet"),
    "dft": op("DFT", data((64, 1024, 1)), None, Const(numpy.int64(1)), onesided=1, source="spectra"),
    "stft": op("STFT", data((1, 16000, 1)), Const(numpy.int64(160)), Const(numpy.hanning(512).astype(numpy.float32)), Const(numpy.int64(512)), source="speech"),
    "gelu": op("Gelu", data((1, 128, 3072)), source="BERT"),
    "mish": op("Mish", data((1, 64, 80, 80)), source="YOLOv4"),
    "hard_swish": op("HardSwish", data((1, 64, 56, 56)), source="MobileNetV3"),
}


def write(entry, path):
    names, ports, weights = [], [], []
    for index, value in enumerate(entry["inputs"]):
        names.append("" if value is None else f"x{index}")
        if isinstance(value, Const):
            weights.append(numpy_helper.from_array(value.value, names[-1]))
        elif value is not None:
            ports.append(helper.make_tensor_value_info(names[-1], helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
    outputs = [f"y{index}" for index in range(entry["outputs"])]
    node = helper.make_node(entry["kind"], names, outputs, domain=entry["domain"], **entry["attributes"])
    graph = helper.make_graph([node], "operator", ports, [helper.make_empty_tensor_value_info(name) for name in outputs], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    onnx.save(onnx.shape_inference.infer_shapes(model), path)


def case_of(folder, name, entry):
    feeds = {f"x{index}": value for index, value in enumerate(entry["inputs"]) if isinstance(value, numpy.ndarray)}
    path = folder / f"{name}.op.onnx"
    return {"label": name, "path": path, "export": lambda: write(entry, path), "runs": [feeds], "threads": 1, "operator": True, "close": (1e-3, 1e-3)}


def main():
    options = arguments().parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    run_cases(options, [case_of(options.folder, name, entry) for name, entry in chosen(options, OPS).items()])


if __name__ == "__main__":
    main()
