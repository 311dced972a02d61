"""A long node of each operator, in runs that are told to end at some question whether they go on: the work after that, counted.

Usage: ending.py TINYORT ENDING --questions N... [--all] [--only OPERATOR,...], from the root of the tree. Each operator of the table of TINYORT must be here,
in CASES or in SHORT. ENDING is the program of ending.c; what it counts must stay below its limit, for the plain loops and for the fast ones.
"""

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.dont_write_bytecode = True
FLOAT, DOUBLE, INT32, INT64, STRING, BOOL, UINT8, INT8, INT16 = (getattr(TensorProto, name) for name in "FLOAT DOUBLE INT32 INT64 STRING BOOL UINT8 INT8 INT16".split())
ML, MS, PREVIEW = "ai.onnx.ml", "com.microsoft", "ai.onnx.preview"
OPSETS = {ML: 5}

# What does nothing for each element: the executor hands values on, or an operator reads only shapes. Bodies run nodes, which ask.
SHORT = {("", name) for name in "Constant If Optional OptionalGetElement OptionalHasElement SequenceEmpty SequenceLength Shape Size".split()} | {("tinyort", "Call")}

def body(inputs, *nodes):
    ports = [helper.make_tensor_value_info(*i) if isinstance(i, tuple) else helper.make_empty_tensor_value_info(i) for i in inputs]
    return helper.make_graph(nodes, "body", ports, [helper.make_empty_tensor_value_info(node.output[0]) for node in nodes])


def bitmap(size):
    """A picture in the format BMP."""
    facts = [54, 40, size, size, 1 | 24 << 16, 0, 3 * size * size, 0, 0, 0, 0]
    return b"BM" + np.array([54 + 3 * size * size, 0], "<u4").tobytes() + np.array(facts, "<u4").tobytes() + bytes(3 * size * size)


PARTS = [helper.make_node("SplitToSequence", ["x0"], ["parts"])]  # a sequence of rows
AT = helper.make_node("Constant", [], ["at"], value_int=1)
MAP = ()  # an input: the keys 0, 1 ... KEYS - 1
KEYS = 1 << 17  # also in ending.c
# Operator, its inputs x0, x1 ... (a shape, of floats; a type and a shape; STRING and texts; bytes; MAP; or an array, which the model holds), attributes, the domain
# if it is not ONNX's, nodes before this one, and what it reads if not x0, x1 ... An operator of an old opset is Scatter-10.
LARGE = [1 << 24]
SQUARE = [4096, 4096]
zero, one = np.array(0, np.int64), np.array(1, np.int64)
scale, zero_point = np.array(0.5, np.float32), np.array(3, np.uint8)
CASES = [
    ("Abs", [LARGE], {}), ("Exp", [LARGE], {}), ("Erf", [LARGE], {}), ("Sin", [LARGE], {}), ("Gelu", [LARGE], {}), ("Clip", [LARGE], {}),
    ("Relu", [(DOUBLE, LARGE)], {}), ("IsNaN", [LARGE], {}), ("Not", [(BOOL, LARGE)], {}), ("Celu", [LARGE], {}),
    ("Add", [LARGE, LARGE], {}), ("Mul", [SQUARE, [4096, 1]], {}), ("Pow", [LARGE, LARGE], {}), ("Mod", [(INT64, LARGE), np.array(7, np.int64)], {}),
    ("Equal", [LARGE, LARGE], {}), ("And", [(BOOL, LARGE), (BOOL, LARGE)], {}), ("BitShift", [(UINT8, LARGE), (UINT8, LARGE)], {"direction": "LEFT"}),
    ("Sum", [LARGE, LARGE, LARGE], {}), ("Max", [LARGE, LARGE], {}), ("Where", [(BOOL, LARGE), LARGE, LARGE], {}),
    ("Cast", [LARGE], {"to": TensorProto.FLOAT16}), ("Cast", [LARGE], {"to": INT64}), ("Cast", [[1 << 21]], {"to": STRING}), ("CastLike", [LARGE, (DOUBLE, [1])], {}),
    ("PRelu", [LARGE, [1]], {}), ("Softmax", [LARGE], {}), ("Softmax", [SQUARE], {"axis": 0}), ("LogSoftmax", [SQUARE], {}), ("Hardmax", [LARGE], {}),
    ("ReduceSum", [LARGE], {}), ("ReduceMean", [SQUARE, np.array([0])], {}), ("ReduceMax", [SQUARE, np.array([1])], {}), ("ReduceL2", [(DOUBLE, LARGE)], {}),
    ("ReduceLogSumExp", [LARGE], {}), ("ArgMax", [LARGE], {}), ("ArgMin", [SQUARE], {"axis": 0}), ("CumSum", [LARGE, zero], {}), ("CumSum", [SQUARE, zero], {}), ("Cos", [LARGE], {}), ("Tan", [LARGE], {}), ("Atan", [LARGE], {}), ("Sign", [LARGE], {}),
    ("ArgMax", [SQUARE], {"axis": 0}), ("LogSoftmax", [[1 << 20, 16]], {"axis": 0}), ("ReduceSum", [[1 << 20, 16], np.array([1])], {}),
    ("LayerNormalization", [[16, 1 << 20], [1 << 20]], {}), ("InstanceNormalization", [[1, 16, 1 << 20], [16], [16]], {}), ("LpNormalization", [LARGE], {}),
    ("GroupNormalization", [[1, 16, 1 << 20], [16], [16]], {"num_groups": 2}), ("BatchNormalization", [[1, 16, 1 << 20]] + [[16]] * 4, {}),
    ("RMSNormalization", [[16, 1 << 20], [1 << 20]], {}), ("MeanVarianceNormalization", [[1, 4, 2048, 2048]], {}), ("LRN", [[1, 20000, 50, 50]], {"size": 20001}),
    ("Transpose", [SQUARE], {}), ("Transpose", [[1 << 22, 3]], {}), ("Transpose", [(UINT8, [1 << 22, 3])], {}), ("Transpose", [[64, 64, 64, 64]], {"perm": [3, 1, 0, 2]}), ("Concat", [LARGE, LARGE], {"axis": 0}),
    ("Split", [LARGE], {"num_outputs": 2}), ("Slice", [LARGE, np.array([5]), np.array([1 << 24]), zero.reshape(1), np.array([2])], {}),
    ("Pad", [SQUARE, np.array([3, 3, 3, 3])], {"mode": "reflect"}), ("Pad", [LARGE, np.array([3, 3])], {}), ("Tile", [[1 << 12], np.array([1 << 12])], {}),
    ("Expand", [[4096, 1], np.array(SQUARE)], {}), ("Gather", [[1 << 20], (INT64, LARGE)], {}), ("GatherElements", [SQUARE, (INT64, SQUARE)], {"axis": 1}),
    ("GatherND", [SQUARE, (INT64, [1 << 22, 2])], {}), ("ScatterElements", [SQUARE, (INT64, SQUARE), SQUARE], {}), ("ScatterElements", [SQUARE, (INT64, SQUARE), SQUARE], {"axis": 1, "reduction": "add"}), ("ScatterND", [SQUARE, (INT64, [1 << 22, 2]), [1 << 22]], {}),
    ("TensorScatter", [[1, 1 << 14, 1 << 10], [1, 1 << 13, 1 << 10]], {}), ("OneHot", [(INT64, [1 << 14]), np.array(1 << 10), (FLOAT, [2])], {}),
    ("Compress", [LARGE, (BOOL, LARGE)], {}), ("NonZero", [LARGE], {}), ("Trilu", [SQUARE], {}), ("EyeLike", [SQUARE], {}), ("Reshape", [LARGE, np.array(SQUARE)], {}),
    ("DepthToSpace", [[1, 64, 512, 512]], {"blocksize": 8}), ("SpaceToDepth", [[1, 1, 4096, 4096]], {"blocksize": 8}), ("ReverseSequence", [[4096, 4096], np.full(4096, 4000)], {}),
    ("Range", [np.array(0), (INT64, []), np.array(1)], {}), ("ConstantOfShape", [(INT64, [2])], {}), ("CenterCropPad", [SQUARE, np.array([5000, 3000])], {}),
    ("Dropout", [LARGE, np.array(0.5, np.float32), np.array(True)], {}), ("Bernoulli", [LARGE], {}), ("RandomUniformLike", [LARGE], {}), ("RandomNormalLike", [LARGE], {}),
    ("Multinomial", [[10, 100000]], {"sample_size": 10000}), ("TopK", [LARGE, np.array([1000])], {}), ("TopK", [SQUARE, np.array([4000])], {"axis": 0}),
    ("Unique", [[4000000]], {}), ("Unique", [SQUARE], {"axis": 0}), ("NonMaxSuppression", [[1, 30000, 4], [1, 1, 30000], np.array([1 << 30]), np.array([0.9], np.float32)], {}),
    ("MaxPool", [[1, 1, 2400, 2400]], {"kernel_shape": [1200, 1200]}), ("MaxPool", [[1, 1, 4096, 4096]], {"kernel_shape": [2, 2]}), ("MaxPool", [[1, 1, 4096, 4096]], {"kernel_shape": [5, 5]}), ("AveragePool", [[1, 1, 4096, 4096]], {"kernel_shape": [3, 3]}), ("AveragePool", [[1, 1, 1 << 24]], {"kernel_shape": [3]}),
    ("AveragePool", [[1, 1, 2400, 2400]], {"kernel_shape": [1200, 1200]}), ("LpPool", [[1, 1, 2400, 2400]], {"kernel_shape": [1200, 1200]}),
    ("GlobalAveragePool", [[1, 2, 4096, 4096]], {}), ("GlobalMaxPool", [[1, 2, 4096, 4096]], {}), ("MaxUnpool", [[1, 1, 2048, 2048], (INT64, [1, 1, 2048, 2048])], {"kernel_shape": [2, 2]}),
    ("MaxRoiPool", [[1, 1, 2000, 2000], [400, 5]], {"pooled_shape": [2, 2]}), ("RoiAlign", [[1, 1, 500, 500], [300, 4], np.zeros(300, np.int64)], {"sampling_ratio": 100, "output_height": 30, "output_width": 30}),
    ("Conv", [(DOUBLE, [1, 1, 2000, 2000]), (DOUBLE, [1, 1, 700, 700])], {}), ("Conv", [[1, 1, 2000, 2000], [1, 1, 700, 700]], {}), ("Conv", [[1, 64, 256, 256], [64, 64, 3, 3]], {}), ("Conv", [[1, 64, 256, 256], [64, 64, 3, 3]], {"dilations": [16, 16], "pads": [16] * 4}),
    ("ConvTranspose", [(DOUBLE, [1, 1, 1000, 1000]), (DOUBLE, [1, 1, 700, 700])], {}), ("DeformConv", [[1, 16, 200, 200], [64, 16, 9, 9], [1, 162, 192, 192]], {}),
    ("ConvInteger", [(UINT8, [1, 3, 1000, 1000]), (UINT8, [3, 3, 200, 200])], {}), ("QLinearConv", [(UINT8, [1, 3, 1000, 1000]), scale, zero_point, np.ones((3, 3, 200, 200), np.uint8), scale, zero_point, scale, zero_point], {}),
    ("MatMul", [(DOUBLE, SQUARE), (DOUBLE, SQUARE)], {}), ("MatMul", [SQUARE, SQUARE], {}), ("MatMul", [(DOUBLE, [1 << 20, 16]), (DOUBLE, [16, 1])], {}), ("MatMul", [[1, 1 << 22], [1 << 22, 4]], {}), ("Gemm", [(DOUBLE, SQUARE), (DOUBLE, SQUARE)], {}),
    ("MatMulInteger", [(UINT8, SQUARE), (UINT8, SQUARE)], {}), ("QLinearMatMul", [(UINT8, SQUARE), scale, zero_point, (UINT8, SQUARE), scale, zero_point, scale, zero_point], {}),
    ("Einsum", [(DOUBLE, SQUARE), (DOUBLE, SQUARE)], {"equation": "ij,jk->ik"}), ("Einsum", [(DOUBLE, [300, 300, 300]), (DOUBLE, [300, 300, 300])], {"equation": "abc,dbe->"}),
    ("Einsum", [[4096, 4096]], {"equation": "ii->i"}), ("Det", [(DOUBLE, [2000, 2000])], {}), ("Det", [[1 << 20, 4, 4]], {}),
    ("LSTM", [(DOUBLE, [40000, 1, 256]), (DOUBLE, [1, 1024, 256]), (DOUBLE, [1, 1024, 256])], {"hidden_size": 256}), ("GRU", [[40000, 1, 256], [1, 768, 256], [1, 768, 256]], {"hidden_size": 256}),
    ("RNN", [(DOUBLE, [90000, 1, 256]), (DOUBLE, [1, 256, 256]), (DOUBLE, [1, 256, 256])], {"hidden_size": 256}),
    ("Attention", [[1, 8, 4096, 64]] * 3, {}), ("LinearAttention", [[1, 20000, 1024]] * 3, {"q_num_heads": 8, "kv_num_heads": 8, "update_rule": "linear"}), ("RotaryEmbedding", [[1, 8, 16384, 128], [1, 16384, 64], [1, 16384, 64]], {}),
    ("DFT", [[1, 200003, 1]], {}), ("DFT", [[1, 1 << 22, 1]], {}), ("STFT", [[1, 1 << 22, 1], np.array(100), np.ones(4096, np.float32)], {}), ("HannWindow", [(INT64, [])], {}),
    ("Resize", [[1, 1, 1000, 1000], None, np.array([1, 1, 4, 4], np.float32)], {"mode": "cubic"}), ("Resize", [[1, 1, 3000, 3000], None, np.array([1, 1, .01, .01], np.float32)], {"mode": "linear", "antialias": 1}),
("Resize", [[1, 1, 2, 1 << 22], None, np.array([1, 1, 4, 1], np.float32)], {"mode": "linear"}), ("Conv", [[1, 1 << 22, 1, 1], [2, 1 << 22, 1, 1]], {}),
    ("ConvTranspose", [(DOUBLE, [1, 1 << 22, 1, 1]), (DOUBLE, [1 << 22, 2, 1, 1])], {}), ("AveragePool", [[1, 1, 1 << 24]], {"kernel_shape": [1 << 24]}),
    ("MaxPool", [[1, 1, 1 << 22]], {"kernel_shape": [4096]}), ("Conv", [[1, 1, 1, 1 << 22], [1, 1, 1, 64]], {}),
        ("GridSample", [[1, 1, 1000, 1000], [1, 3000, 3000, 2]], {"mode": "cubic"}), ("AffineGrid", [[1, 2, 3], np.array([1, 1, 4096, 4096])], {}), ("Col2Im", [[1, 25 * 4, 1 << 18], np.array([512, 512]), np.array([5, 5])], {"pads": [2, 2, 2, 2]}),
    ("QuantizeLinear", [LARGE, scale, zero_point], {}), ("DequantizeLinear", [(UINT8, LARGE), scale, zero_point], {}), ("DynamicQuantizeLinear", [LARGE], {}),
    ("NegativeLogLikelihoodLoss", [[1 << 20, 10], (INT64, [1 << 20])], {}), ("SoftmaxCrossEntropyLoss", [[1 << 20, 10], (INT64, [1 << 20])], {}),
    ("StringConcat", [(STRING, [1 << 20]), (STRING, [1 << 20])], {}), ("StringSplit", [(STRING, [1 << 20])], {"delimiter": ""}), ("StringNormalizer", [(STRING, [1 << 20])], {"case_change_action": "UPPER"}),
    ("RegexFullMatch", [(STRING, [1 << 20])], {"pattern": "(a|b)*c"}), ("TfIdfVectorizer", [(INT64, [1 << 22])], {"mode": "TF", "min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 5, "ngram_counts": [0, 2], "ngram_indexes": [0, 1, 2], "pool_int64s": [1, 2, 1, 2]}),
    ("Binarizer", [LARGE], {}, ML), ("Scaler", [LARGE], {"offset": [0.5], "scale": [2.0]}, ML), ("Normalizer", [SQUARE], {"norm": "L2"}, ML), ("Imputer", [LARGE], {"imputed_value_floats": [1.0], "replaced_value_float": 0.0}, ML),
    ("ArrayFeatureExtractor", [SQUARE, (INT64, [4096])], {}, ML), ("LabelEncoder", [(INT64, LARGE)], {"keys_int64s": [0, 1], "values_int64s": [5, 6]}, ML), ("LinearRegressor", [[1 << 20, 16]], {"coefficients": [.5] * 16}, ML),
    ("LinearClassifier", [[1 << 20, 16]], {"coefficients": [.5] * 32, "intercepts": [0., 1.], "classlabels_ints": [0, 1]}, ML), ("OneHotEncoder", [(INT64, [1 << 22])], {"cats_int64s": [0, 1, 2]}, ML),
    ("SVMRegressor", [[1 << 16, 64]], {"kernel_type": "RBF", "kernel_params": [.5, 0., 3.], "n_supports": 100, "coefficients": [.5] * 100, "support_vectors": [.5] * 6400, "rho": [1.]}, ML),
    ("SVMClassifier", [[1 << 14, 64]], {"kernel_type": "RBF", "kernel_params": [.5, 0., 3.], "coefficients": [.5] * 100, "support_vectors": [.5] * 6400, "rho": [1.],
                                        "vectors_per_class": [50, 50], "classlabels_ints": [0, 1]}, ML),
    ("TreeEnsembleRegressor", [[1 << 22, 4]], {"nodes_treeids": [0] * 3, "nodes_nodeids": [0, 1, 2], "nodes_featureids": [1, 0, 0], "nodes_values": [.5, 0., 0.],
                                               "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0],
                                               "target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 0], "target_weights": [1., 2.], "n_targets": 1}, ML),
    ("FeatureVectorizer", [[1 << 12, 1 << 11], [1 << 12, 1 << 11]], {"inputdimensions": [1 << 11, 1 << 11]}, ML), ("SplitToSequence", [SQUARE, one], {"axis": 1}),
    ("CropAndResize", [[1, 1, 500, 500], [30, 4], np.zeros(30, np.int32), np.array([1000, 1000], np.int32)], {}, MS), ("BiasSoftmax", [SQUARE, SQUARE], {"axis": 1, "is_inner_broadcast": 0}, MS),
    ("CDist", [[4096, 64], [4096, 64]], {"metric": "euclidean"}, MS), ("QLinearAdd", [(UINT8, LARGE), scale, zero_point, (UINT8, LARGE), scale, zero_point, scale, zero_point], {}, MS),
    ("QuickGelu", [LARGE], {}, MS), ("MatMulNBits", [[4096, 1024], np.zeros((4096, 8, 64), np.uint8), np.ones(4096 * 8, np.float32)], {"K": 1024, "N": 4096, "bits": 4, "block_size": 128}, MS),
    ("Attention", [[1, 2048, 512], np.ones((512, 1536), np.float32), np.ones(1536, np.float32)], {"num_heads": 8}, MS), ("GatherBlockQuantized", [np.zeros((1024, 64), np.uint8), (INT64, [1 << 17]), np.ones((1024, 8), np.float32)], {"block_size": 16, "quantize_axis": 1, "gather_axis": 0}, MS),
    ("FastGelu", [LARGE], {}, MS), ("BiasGelu", [SQUARE, [4096]], {}, MS), ("SkipLayerNormalization", [[16, 1, 1 << 20], [16, 1, 1 << 20], [1 << 20]], {}, MS),
    ("FusedMatMul", [SQUARE, SQUARE], {}, MS), ("MurmurHash3", [(STRING, [1 << 20])], {}, MS), ("MultiHeadAttention", [[1, 4096, 512]] * 3, {"num_heads": 8}, MS),
    # A single lane, row, head or window that is long.
    ("GridSample", [[1, 1 << 22, 1, 2], [1, 1, 1, 2]], {"mode": "cubic"}), ("GridSample", [[1, 1 << 23, 1, 2], [1, 1, 1, 2]], {"mode": "nearest"}),
    ("Col2Im", [[1, 1 << 22, 2], np.array([1 << 22]), np.array([1 << 22])], {"strides": [1 << 22], "pads": [1 << 22, 0]}),
    ("AttentionScores", [[1, 1, 1, 512], [1, 1, 1 << 15, 512]], {}, "tinyort"), ("AttentionOutput", [[1, 1, 1, 512], [1, 1, 512, 1 << 15]], {}, "tinyort"),
    ("RotaryEmbedding", [[1, 1, 1, 1 << 22], [1, 1, 1 << 21], [1, 1, 1 << 21]], {}), ("RotaryEmbedding", [[1, 1, 1, 1 << 24], [1, 1, 2], [1, 1, 2]], {"rotary_embedding_dim": 4}),
    ("RotaryEmbedding", [[1, 1, 1 << 23, 2], [4, 1], [4, 1], np.zeros((1, 1 << 23), np.int64)], {}),
    ("HannWindow", [np.array(1 << 24)], {}), ("MelWeightMatrix", [np.array(4096), np.array(16382), np.array(16000), np.array(0, np.float32), np.array(8000, np.float32)], {}),
    ("TensorScatter", [[1, 1, 1 << 24], [1, 1, 1 << 24]], {}), ("SplitToSequence", [[4], np.array([4] + [0] * (1 << 22))], {}), ("SplitToSequence", [[1 << 22]], {}),
    ("Tokenizer", [(STRING, [1 << 20])], {"mark": 1, "mincharnum": 1, "pad_value": "", "separators": [" "]}, MS),
    ("Tokenizer", [(STRING, ["word " * (1 << 20)])], {"mark": 0, "mincharnum": 1, "pad_value": "", "separators": ["w", " "]}, MS),
    ("Tokenizer", [(STRING, ["word " * (1 << 20)])], {"mark": 0, "mincharnum": 1, "pad_value": "", "separators": [""]}, MS),
    ("Tokenizer", [(STRING, ["word " * (1 << 20)])], {"mark": 0, "mincharnum": 2, "pad_value": "", "tokenexp": "[a-z]"}, MS),
    ("CDist", [[1, 1 << 23], [2, 1 << 23]], {}, MS), ("BiasGelu", [[1, 1 << 24], [1 << 24]], {}, MS),
    ("DynamicQuantizeLSTM", [[1 << 14, 1, 1024], np.ones((1, 1024, 1024), np.uint8), np.ones((1, 256, 1024), np.uint8), *[None] * 5, *[scale.reshape(1), zero_point.reshape(1)] * 2], {"hidden_size": 256}, MS),
    ("GatedRelativePositionBias", [[1, 1, 1 << 21], [1 << 21], [1, 1, 1, 1], [1 << 21, 8], [8], [1, 1, 1, 1]], {"num_heads": 1}, MS),
    ("GatherBlockQuantized", [np.zeros((2, 1 << 23), np.uint8), np.zeros(1, np.int64), np.ones((2, 1 << 20), np.float32)], {"block_size": 16, "quantize_axis": 1, "gather_axis": 0}, MS),
    ("GroupNorm", [[1, 2048, 2048, 2], [2], [2]], {"activation": 1, "groups": 1}, MS), ("GroupNorm", [[1, 2, 2048, 2048], [2], [2]], {"activation": 1, "groups": 1, "channels_last": 0}, MS),
    ("MatMulNBits", [SQUARE, np.zeros((16, 32, 64), np.uint8), np.ones(16 * 32, np.float32)], {"K": 4096, "N": 16, "bits": 4, "block_size": 128}, MS),
    ("MatMulNBits", [[1, 1 << 24], np.zeros((1, 1 << 17, 64), np.uint8), np.ones(1 << 17, np.float32)], {"K": 1 << 24, "N": 1, "bits": 4, "block_size": 128, "accuracy_level": 4}, MS),
    ("MoE", [[1, 4096], [1, 1], [1, 4096, 4096], None, [1, 4096, 4096]], {"k": 1, "activation_type": "relu"}, MS),
    ("EmbedLayerNormalization", [np.zeros((1, 1 << 23), np.int32), None, [2, 2], [1 << 23, 2], None, [2], [2], np.ones((1, 1 << 23), np.int32)], {}, MS),
    ("QEmbedLayerNormalization", [np.zeros((1, 1), np.int32), None, (UINT8, [1, 1 << 23]), (UINT8, [1, 1 << 23]), None, (UINT8, [1 << 23]), (UINT8, [1 << 23]), None, *[scale] * 2, None, *[scale] * 2,
                                   *[zero_point] * 2, None, *[zero_point] * 2], {}, MS),
    ("QLinearAveragePool", [(UINT8, [1, 1, *SQUARE]), scale, zero_point, scale, zero_point], {"kernel_shape": [4095, 4095]}, MS),
    ("QLinearGlobalAveragePool", [(UINT8, [1, 1, *SQUARE]), scale, zero_point, scale, zero_point], {}, MS),
    ("QLinearGlobalAveragePool", [(UINT8, [1, *SQUARE, 2]), scale, zero_point, scale, zero_point], {"channels_last": 1}, MS),
    ("QLinearReduceMean", [(UINT8, SQUARE), scale, zero_point, scale, zero_point], {"axes": [1], "keepdims": 1}, MS),
    ("QLinearReduceMean", [(UINT8, [1 << 24, 1]), scale, zero_point, scale, zero_point], {"axes": [1], "keepdims": 1}, MS),
    ("QLinearSoftmax", [(UINT8, LARGE), scale, zero_point, scale, zero_point], {"opset": 13}, MS),
    ("QLinearConcat", [scale, zero_point, (UINT8, [1 << 22, 1]), scale, zero_point, (UINT8, [1 << 22, 1]), scale, zero_point], {"axis": 1}, MS),
    ("UnfoldTensor", [LARGE], {"size": 1 << 24}, MS), ("UnfoldTensor", [[1, 1 << 24]], {"dim": 0, "size": 1}, MS), ("MurmurHash3", [(STRING, ["0123456789" * 800] * 9000)], {}, MS),
    ("SVMRegressor", [[64, 1]], {"kernel_type": "RBF", "kernel_params": [.5, 0., 3.], "n_supports": 1 << 21, "coefficients": np.ones(1 << 21), "support_vectors": np.ones(1 << 21), "rho": [1.]}, ML),
    ("LabelEncoder", [[1]], {"keys_floats": np.arange(0., 1.9e6), "values_floats": np.arange(0., 1.9e6), "default_float": 0.}, ML),
    # Weights that are packed when the session is made.
    ("Conv", [[1, 4096, 1, 1], np.ones((4096, 4096, 1, 1), np.float32)], {}), ("Conv", [[1, 1024, 8, 8], np.ones((1024, 1024, 3, 3), np.float32)], {"pads": [1] * 4}),
    ("Conv", [[1, 1 << 20, 3, 3], np.ones((1 << 20, 1, 3, 3), np.float32)], {"group": 1 << 20}), ("Conv", [[1, 1, 1 << 12, 1 << 12], np.ones((1, 1, 1 << 11, 1 << 11), np.float32)], {}),
    ("ConvTranspose", [[1, 1024, 4, 4], np.ones((1024, 1024, 3, 3), np.float32)], {}), ("DeformConv", [[1, 1024, 8, 8], np.ones((1024, 1024, 3, 3), np.float32), [1, 18, 6, 6]], {}),
    ("MatMul", [[1, 4096], np.ones((4096, 4096), np.float32)], {}), ("Gemm", [[1, 4096], np.ones((4096, 4096), np.float32)], {"transB": 1}),
    ("Einsum", [[1, 4096], np.ones((4096, 4096), np.float32)], {"equation": "ab,cb->ac"}),
    ("LSTM", [[1, 1, 2048], np.ones((1, 8192, 2048), np.float32), np.ones((1, 8192, 2048), np.float32)], {"hidden_size": 2048}),
    ("ConvInteger", [(UINT8, [1, 4096, 1, 1]), np.ones((4096, 4096, 1, 1), np.uint8)], {}), ("ConvInteger", [(UINT8, [1, 4, 2048, 1024]), np.ones((2, 4, 2048, 1024), np.uint8)], {}),
    ("QLinearConv", [(UINT8, [1, 1024, 8, 8]), scale, zero_point, np.ones((1024, 1024, 3, 3), np.uint8), scale, zero_point, scale, zero_point], {"pads": [1] * 4}),
    ("MatMulInteger", [(UINT8, [1, 1 << 22]), np.ones((1 << 22, 4), np.uint8)], {}), ("MatMulInteger", [(UINT8, [1, 4]), np.ones((4, 1 << 22), np.uint8)], {}),
    ("QGemm", [(UINT8, [1, 1 << 22]), scale, zero_point, np.ones((4, 1 << 22), np.uint8), scale, zero_point, None, scale, zero_point], {"transB": 1}, MS),
    ("DynamicQuantizeLSTM", [[1, 1, 2048], np.ones((1, 2048, 8192), np.uint8), np.ones((1, 2048, 8192), np.uint8), *[None] * 5, *[scale.reshape(1), zero_point.reshape(1)] * 2], {"hidden_size": 2048}, MS),
    ("LinearRegressor", [[1, 1 << 20]], {"coefficients": np.ones(1 << 21, np.float32), "targets": 2}, ML),
    # All others.
    *[(op, [LARGE], {}) for op in "Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Elu Floor HardSigmoid HardSwish Identity IsInf LeakyRelu Log Mish Neg Reciprocal Round Selu "
      "Shrink Sigmoid Sign Sinh Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu ReduceL1 ReduceLogSum ReduceMin ReduceProd ReduceSumSquare".split()],
    *[(op, [LARGE, LARGE], {}) for op in "Div Greater GreaterOrEqual Less LessOrEqual Mean Min Sub SwiGLU".split()],
    *[(op, [(INT32, LARGE), (INT32, LARGE)], {}) for op in "BitwiseAnd BitwiseOr BitwiseXor".split()], ("BitwiseNot", [(INT32, LARGE)], {}),
    ("Or", [(BOOL, LARGE), (BOOL, LARGE)], {}), ("Xor", [(BOOL, LARGE), (BOOL, LARGE)], {}), ("BitCast", [LARGE], {"to": INT32}),
    ("BlackmanWindow", [(INT64, [])], {}), ("BlackmanWindow", [np.array(1 << 24)], {}), ("HammingWindow", [np.array(1 << 24)], {}), ("CumProd", [LARGE, zero], {}), ("CumProd", [SQUARE, zero], {}),
    ("CausalConvWithState", [[1, 1, 1 << 22], [1, 1, 64]], {}), ("CausalConvWithState", [[1, 64, 1 << 16], [64, 1, 4096]], {}), ("CausalConvWithState", [[1, 1, 1 << 24], [1, 1, 1]], {}),
    ("CausalConvWithState", [[1, 1, 16], [1, 1, 1 << 24]], {}),
    ("Flatten", [SQUARE], {}), ("Squeeze", [[1, *SQUARE]], {}), ("Unsqueeze", [SQUARE, zero.reshape(1)], {}), ("GlobalLpPool", [[1, 2, 4096, 4096]], {}),
    ("RandomNormal", [], {"shape": LARGE}), ("RandomUniform", [], {"shape": LARGE}), ("Scatter-10", [SQUARE, (INT64, SQUARE), SQUARE], {}), ("Upsample-9", [[1, 1, 2048, 2048], np.array([1, 1, 4, 4], np.float32)], {}),
    ("SimplifiedLayerNormalization", [[16, 1 << 20], [1 << 20]], {}),
    # Many small regions of many samples, and the other way round.
    ("RoiAlign", [[1, 16, 64, 64], [64, 4], np.zeros(64, np.int64)], {"sampling_ratio": 1024, "output_height": 64, "output_width": 64}),
    ("RoiAlign", [[1, 4, 64, 64], [1 << 14, 4], (INT64, [1 << 14])], {"sampling_ratio": 1, "output_height": 8, "output_width": 8}),
    ("RoiAlign", [[1, 4, 64, 64], [1 << 14, 4], (INT64, [1 << 14])], {"sampling_ratio": 1, "output_height": 8, "output_width": 8, "mode": "max"}),
    ("RoiAlign", [[1, 1 << 18, 4, 4], [16, 4], (INT64, [16])], {"sampling_ratio": 2, "output_height": 2, "output_width": 2}),
    ("MaxRoiPool", [[1, 4, 64, 64], [1 << 14, 5]], {"pooled_shape": [8, 8]}), ("CropAndResize", [[1, 4, 64, 64], [1 << 14, 4], (INT32, [1 << 14]), np.array([8, 8], np.int32)], {}, MS),
    # Sequences, maps and bodies.
    ("ConcatFromSequence", [SQUARE], {"axis": 0}, "", PARTS, ["parts"]), ("ConcatFromSequence", [SQUARE], {"axis": 1, "new_axis": 1}, "", PARTS, ["parts"]), ("SequenceAt", [[2, 1 << 23]], {}, "", [*PARTS, AT], ["parts", "at"]),
    ("SequenceConstruct", [LARGE], {}), ("SequenceErase", [SQUARE], {}, "", PARTS, ["parts"]), ("SequenceInsert", [SQUARE], {}, "", PARTS, ["parts", "x0"]),
    ("SequenceMap", [SQUARE], {"body": body(["v"], helper.make_node("Abs", ["v"], ["w"]))}, "", PARTS, ["parts"]), ("Scan", [SQUARE], {"num_scan_inputs": 1, "body": body(["v"], helper.make_node("Abs", ["v"], ["w"]))}),
    ("Loop", [[1 << 20], np.array(32), np.array(True)], {"body": body([("i", INT64, []), ("go", BOOL, [])], helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Abs", ["x0"], ["w"]))}, "", (), ["x1", "x2"]),
    ("Loop", [[1], np.array(1 << 24), np.array(True)], {"body": body([("i", INT64, []), ("go", BOOL, [])], helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Abs", ["x0"], ["w"]))}, "", (), ["x1", "x2"]),
    ("ImageDecoder", [bitmap(1000)], {}), ("ZipMap", [[1 << 20, 2]], {"classlabels_int64s": [0, 1]}, ML), ("ZipMap", [[1, 1 << 18]], {"classlabels_int64s": np.arange(1 << 18)}, ML),
    ("CastMap", [MAP], {"max_map": KEYS}, ML), ("CastMap", [MAP], {"max_map": 1 << 24, "map_form": "SPARSE"}, ML),
    ("DictVectorizer", [MAP], {"int64_vocabulary": np.arange(1 << 20)}, ML), ("CategoryMapper", [(STRING, [1 << 20])], {"cats_strings": ["abab", "b"], "cats_int64s": [1, 2]}, ML),
    ("TreeEnsemble", [[1 << 22, 4]], {"n_targets": 1, "nodes_featureids": [1], "nodes_splits": np.float32([.5]), "nodes_modes": np.zeros(1, np.uint8), "nodes_trueleafs": [1], "nodes_truenodeids": [0], "nodes_falseleafs": [1],
                                      "nodes_falsenodeids": [1], "leaf_targetids": [0, 0], "leaf_weights": np.float32([1, 2]), "tree_roots": [0]}, ML),
    ("TreeEnsembleClassifier", [[1 << 22, 4]], {"nodes_treeids": [0] * 3, "nodes_nodeids": [0, 1, 2], "nodes_featureids": [1, 0, 0], "nodes_values": [.5, 0., 0.], "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "nodes_truenodeids": [1, 0, 0],
                                                "nodes_falsenodeids": [2, 0, 0], "class_treeids": [0, 0], "class_nodeids": [1, 2], "class_ids": [0, 1], "class_weights": [1., 2.], "classlabels_int64s": [0, 1]}, ML),
    ("FlexAttention", [[1, 8, 4096, 64]] * 3, {}, PREVIEW),
    ("BiasAdd", [[1, 1 << 14, 1024], [1024], [1, 1 << 14, 1024]], {}, MS), ("BiasDropout", [SQUARE, [4096], SQUARE], {}, MS), ("BiasSplitGelu", [[1, 4096, 2560], [2560]], {}, MS),
    ("ConvTransposeWithDynamicPads", [[1, 16, 256, 256], [16, 64, 9, 9], np.zeros(4, np.int64)], {}, MS), ("DecoderMaskedMultiHeadAttention", [[1, 1, 1024], [1, 1, 1024], [1, 1, 1024], None, None, [1, 8, 1 << 14, 128], [1, 8, 1 << 14, 128], (INT32, [1])], {"num_heads": 8}, MS),
    ("DynamicQuantizeMatMul", [SQUARE, np.ones(SQUARE, np.uint8), scale], {}, MS), ("ExpandDims", [LARGE, np.array(0, np.int32)], {}, MS), ("GemmFastGelu", [SQUARE, SQUARE], {}, MS),
    ("FusedConv", [[1, 64, 256, 256], [64, 64, 3, 3]], {"activation": "Relu"}, MS), ("FusedGemm", [SQUARE, SQUARE], {"activation": "Relu"}, MS), ("FusedMatMulActivation", [SQUARE, SQUARE], {"activation": "Relu"}, MS),
    ("GroupQueryAttention", [[1, 4096, 512], [1, 4096, 512], [1, 4096, 512], None, None, np.array([4095], np.int32), np.array(4096, np.int32)], {"num_heads": 8, "kv_num_heads": 8}, MS), ("Inverse", [[1500, 1500]], {}, MS), ("Inverse", [[1 << 20, 4, 4]], {}, MS),
    ("MatMulInteger16", [(INT16, SQUARE), (INT16, SQUARE)], {}, MS), ("MatMulIntegerToFloat", [(UINT8, SQUARE), (UINT8, SQUARE), scale, scale], {}, MS), ("MulInteger", [(UINT8, LARGE), zero_point, (UINT8, LARGE), zero_point], {}, MS),
    ("NhwcConv", [[1, 256, 256, 64], [64, 64, 3, 3]], {}, MS), ("NhwcFusedConv", [[1, 256, 256, 64], [64, 64, 3, 3]], {"activation": "Relu"}, MS), ("NhwcMaxPool", [(UINT8, [1, 2048, 2048, 16])], {"kernel_shape": [9, 9]}, MS),
    ("QAttention", [(UINT8, [1, 2048, 512]), np.ones((512, 1536), np.uint8), np.ones(1536, np.float32), scale, scale, None, zero_point, zero_point], {"num_heads": 8}, MS),
    ("QLinearLeakyRelu", [(UINT8, LARGE), scale, zero_point, scale, zero_point], {}, MS), ("QLinearSigmoid", [(UINT8, LARGE), scale, zero_point, scale, zero_point], {}, MS),
    ("QLinearMul", [(UINT8, LARGE), scale, zero_point, (UINT8, LARGE), scale, zero_point, scale, zero_point], {}, MS),
    ("QLinearWhere", [(BOOL, LARGE), (UINT8, LARGE), scale, zero_point, (UINT8, LARGE), scale, zero_point, scale, zero_point], {}, MS),
    ("QMoE", [[16, 4096], [16, 1], np.ones((1, 4096, 2048), np.uint8), np.ones((1, 4096), np.float32), None, np.ones((1, 4096, 2048), np.uint8), np.ones((1, 4096), np.float32)], {"k": 1, "activation_type": "relu"}, MS),
    ("ReduceSumInteger", [(UINT8, SQUARE)], {"axes": [1], "keepdims": 1}, MS), ("SkipGroupNorm", [[1, 2048, 2048, 2], [2], [2], [1, 2048, 2048, 2]], {"activation": 1, "groups": 1}, MS),
    ("SkipSimplifiedLayerNormalization", [[16, 1, 1 << 20], [16, 1, 1 << 20], [1 << 20]], {}, MS), ("TorchEmbedding", [[1024, 64], (INT64, [1 << 18])], {}, MS), ("TransposeMatMul", [SQUARE, SQUARE], {"transA": 1}, MS),
    ("Gelu", [LARGE], {}, MS), ("GridSample", [[1, 1, 1000, 1000], [1, 3000, 3000, 2]], {"mode": "bicubic"}, MS), ("Pad", [SQUARE, np.array([3, 3, 3, 3])], {"mode": "reflect"}, MS), ("GatherND", [SQUARE, (INT64, [1 << 22, 2])], {}, MS),
    ("DequantizeLinear", [(UINT8, LARGE), scale, zero_point], {}, MS), ("QuantizeLinear", [LARGE, scale, zero_point], {}, MS), ("Unique", [[4000000]], {}, MS), ("Trilu", [SQUARE], {}, MS),
    ("Range", [np.array(0), (INT64, []), np.array(1)], {}, MS), ("RotaryEmbedding", [[1, 8, 16384, 128], np.zeros((1, 16384), np.int64), [16384, 64], [16384, 64]], {}, MS),
    ("QLinearConv", [(UINT8, [1, 3, 1000, 1000]), scale, zero_point, np.ones((3, 3, 200, 200), np.uint8), scale, zero_point, scale, zero_point], {}, MS),
    ("FusedMatMul", [SQUARE, SQUARE], {}, "tinyort"), ("ByteTable", [(UINT8, LARGE), np.arange(256, dtype=np.uint8)], {}, "tinyort"), ("FusedAttention", [[1, 8, 4096, 64], [1, 8, 64, 4096], [1, 8, 4096, 64]], {}, "tinyort"),
    ("FusedConv", [[1, 64, 256, 256], [64, 64, 3, 3]], {"activation": "relu"}, "tinyort"), ("FusedGemm", [SQUARE, SQUARE], {"activation": "relu"}, "tinyort"), ("JoinedMatMul", [SQUARE, SQUARE, SQUARE], {}, "tinyort"),
    ("QLinearMatMul", [(UINT8, SQUARE), scale, zero_point, (UINT8, SQUARE), scale, zero_point, scale, zero_point, (INT32, [4096])], {}, "tinyort"),
    ("QLinearConvAdd", [(UINT8, [1, 3, 1000, 1000]), scale, zero_point, np.ones((3, 3, 200, 200), np.uint8), *[scale, zero_point] * 2, None, (UINT8, [1, 3, 801, 801]), *[scale, zero_point] * 2], {}, "tinyort"),
    ("QLinearConvTranspose", [(UINT8, [1, 1, 1000, 1000]), scale, zero_point, (UINT8, [1, 1, 700, 700]), scale, zero_point, scale, zero_point], {}, "tinyort"),
    ("QLinearResize", [(UINT8, [1, 1, 1000, 1000]), *[scale, zero_point] * 2, None, np.array([1, 1, 4, 4], np.float32)], {"mode": "linear"}, "tinyort"),
    ("QLinearLayerNormalization", [(UINT8, [16, 1 << 20]), *[scale, zero_point] * 2, [1 << 20]], {}, "tinyort"),
    ("QLinearInstanceNormalization", [(UINT8, [1, 16, 1 << 20]), *[scale, zero_point] * 2, [16], [16]], {}, "tinyort"),
]


def outputs_of(op, attributes, domain):
    if "num_outputs" in attributes or (domain, op) == ("tinyort", "JoinedMatMul"):
        return attributes.get("num_outputs", 2)
    if onnx.defs.has(op, domain=domain):
        return max(1, onnx.defs.get_schema(op, domain=domain).min_output)
    return {"EmbedLayerNormalization": 2, "QEmbedLayerNormalization": 2, "Unique": 3}.get(op, 1)


def write_case(folder, case):
    """FOLDER/model.onnx, and beside it the texts and bytes of its inputs."""
    name, inputs, attributes, domain, before, reads = (*case, *["", (), None][len(case) - 3:])
    op, opset = (*name.split("-"), 28)[:2]
    names, given, weights = [], [], []
    for i, one_input in enumerate(inputs):
        names.append(f"x{i}" if one_input is not None else "")
        if isinstance(one_input, np.ndarray):
            weights.append(numpy_helper.from_array(one_input, names[i]))
        elif one_input is MAP:
            given.append(helper.make_value_info(names[i], helper.make_map_type_proto(INT64, helper.make_tensor_type_proto(FLOAT, []))))
        elif isinstance(one_input, bytes):
            given.append(helper.make_tensor_value_info(names[i], UINT8, [len(one_input)]))
            (folder / f"{names[i]}.raw").write_bytes(one_input)
        elif one_input is not None:
            kind, shape = one_input if isinstance(one_input, tuple) else (FLOAT, one_input)
            texts = shape if kind == STRING and isinstance(shape[0], str) else ["some words here", "abab", "", "0123"]
            given.append(helper.make_tensor_value_info(names[i], kind, [len(texts)] if shape is texts else shape))
            if kind == STRING:
                (folder / f"{names[i]}.txt").write_text("".join(f"{text}\n" for text in texts))
    given_to_node = {key: numpy_helper.from_array(value) if op == "TreeEnsemble" and isinstance(value, np.ndarray) else value for key, value in attributes.items()}
    outputs = [f"y{i}" for i in range(outputs_of(op, attributes, domain))]
    node = helper.make_node(op, names if reads is None else reads, outputs, "long", domain=domain, **given_to_node)
    imports = [helper.make_opsetid("", int(opset)), *[helper.make_opsetid(own, OPSETS.get(own, 1)) for own in {domain, *[n.domain for n in before]} - {""}]]
    graph = helper.make_graph([*before, node], "ending", given, [onnx.ValueInfoProto(name=name) for name in outputs], weights)
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=11), folder / "model.onnx")


def place_of(program, address):
    """The function and line of an address of the program."""
    told = subprocess.run(["addr2line", "-fse", program, address], capture_output=True, text=True)
    return " ".join(told.stdout.split()) if told.returncode == 0 else address


def run_case(program, case, questions):
    """What is wrong, or None, and the largest count."""
    with tempfile.TemporaryDirectory() as folder:
        write_case(Path(folder), case)
        done = subprocess.run([program, folder, *map(str, questions)], capture_output=True, text=True)
        words = done.stdout.split()
        if done.returncode == 0:
            return None, int(words[0])
        said = f"{' '.join(words[1:])}, in {place_of(program, words[0])}" if done.returncode == 1 and words else done.stdout + done.stderr
        return f"{'::'.join(filter(None, reversed(case[3:4])))} {case[0]}: status {done.returncode}: {said.strip()}".strip(), 0


def operators_of(tinyort):
    rows = json.loads(subprocess.run([tinyort, "ops", "--json"], check=True, capture_output=True, text=True).stdout)["operators"]
    return {(row["domain"], row["name"]) for row in rows}


def key_of(case):
    return (case[3] if len(case) > 3 else "", case[0].split("-")[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tinyort")
    parser.add_argument("program")
    parser.add_argument("--questions", type=int, nargs="+", required=True)
    parser.add_argument("--all", action="store_true", help="all nodes of an operator, not only its first")
    parser.add_argument("--only", type=lambda text: text.split(","), default=[])
    options = parser.parse_args()
    known = operators_of(options.tinyort)
    failures = [f"{'::'.join(key)} has no long node in tests/ending/ending.py, and is not among those that need none" for key in known - SHORT - set(map(key_of, CASES))]
    cases = [case for case in CASES if key_of(case) in known and (not options.only or key_of(case)[1] in options.only)]
    if not options.all and not options.only:
        cases = list({key_of(case): case for case in reversed(cases)}.values())
    most, where = 0, ""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for case, (problem, largest) in zip(cases, pool.map(lambda case: run_case(options.program, case, options.questions), cases)):
            failures += [problem] if problem else []
            most, where = max((most, where), (largest, case[0]))
            if options.only:
                print(f"{case[0]}: {largest:,}")
    print("".join(f"FAILED {failure}\n" for failure in failures), end="")
    print(f"ending: {len(cases) - len(failures)} passed, {len(failures)} failed; at most {most:,} steps after the end, {where}")
    sys.exit(1 if failures or not cases else 0)


main()
