"""One long node of each family, in a run that is over after some questions: the work between two of them, counted.

Usage: ending.py GAPS [WORD...], from the root of the tree: the operators with one of the words in their names.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.dont_write_bytecode = True
FLOAT, DOUBLE, INT32, INT64, STRING, BOOL, UINT8, INT8 = (getattr(TensorProto, name) for name in "FLOAT DOUBLE INT32 INT64 STRING BOOL UINT8 INT8".split())
ML, MS = "ai.onnx.ml", "com.microsoft"
QUESTIONS = 60
MAX_GAP = 16_000_000
MAX_QUESTIONS = 50 * QUESTIONS  # loops that end ask little more; one that does not goes on asking

# Operator, its inputs (a shape, of floats; a type and a shape; STRING and texts; or an array), attributes, and the domain if it is not ONNX's.
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
    ("ReduceLogSumExp", [LARGE], {}), ("ArgMax", [LARGE], {}), ("ArgMin", [SQUARE], {"axis": 0}), ("CumSum", [LARGE, zero], {}),
    ("LayerNormalization", [[16, 1 << 20], [1 << 20]], {}), ("InstanceNormalization", [[1, 16, 1 << 20], [16], [16]], {}), ("LpNormalization", [LARGE], {}),
    ("GroupNormalization", [[1, 16, 1 << 20], [16], [16]], {"num_groups": 2}), ("BatchNormalization", [[1, 16, 1 << 20]] + [[16]] * 4, {}),
    ("RMSNormalization", [[16, 1 << 20], [1 << 20]], {}), ("MeanVarianceNormalization", [[1, 4, 2048, 2048]], {}), ("LRN", [[1, 20000, 50, 50]], {"size": 20001}),
    ("Transpose", [SQUARE], {}), ("Transpose", [[64, 64, 64, 64]], {"perm": [3, 1, 0, 2]}), ("Concat", [LARGE, LARGE], {"axis": 0}),
    ("Split", [LARGE], {"num_outputs": 2}), ("Slice", [LARGE, np.array([5]), np.array([1 << 24]), zero.reshape(1), np.array([2])], {}),
    ("Pad", [SQUARE, np.array([3, 3, 3, 3])], {"mode": "reflect"}), ("Pad", [LARGE, np.array([3, 3])], {}), ("Tile", [[1 << 12], np.array([1 << 12])], {}),
    ("Expand", [[4096, 1], np.array(SQUARE)], {}), ("Gather", [[1 << 20], (INT64, LARGE)], {}), ("GatherElements", [SQUARE, (INT64, SQUARE)], {"axis": 1}),
    ("GatherND", [SQUARE, (INT64, [1 << 22, 2])], {}), ("ScatterElements", [SQUARE, (INT64, SQUARE), SQUARE], {}), ("ScatterND", [SQUARE, (INT64, [1 << 22, 2]), [1 << 22]], {}),
    ("TensorScatter", [[1, 1 << 14, 1 << 10], [1, 1 << 13, 1 << 10]], {}), ("OneHot", [(INT64, [1 << 14]), np.array(1 << 10), (FLOAT, [2])], {}),
    ("Compress", [LARGE, (BOOL, LARGE)], {}), ("NonZero", [LARGE], {}), ("Trilu", [SQUARE], {}), ("EyeLike", [SQUARE], {}), ("Reshape", [LARGE, np.array(SQUARE)], {}),
    ("DepthToSpace", [[1, 64, 512, 512]], {"blocksize": 8}), ("SpaceToDepth", [[1, 1, 4096, 4096]], {"blocksize": 8}), ("ReverseSequence", [[4096, 4096], np.full(4096, 4000)], {}),
    ("Range", [np.array(0), (INT64, []), np.array(1)], {}), ("ConstantOfShape", [(INT64, [2])], {}), ("CenterCropPad", [SQUARE, np.array([5000, 3000])], {}),
    ("Dropout", [LARGE, np.array(0.5, np.float32), np.array(True)], {}), ("Bernoulli", [LARGE], {}), ("RandomUniformLike", [LARGE], {}), ("RandomNormalLike", [LARGE], {}),
    ("Multinomial", [[10, 100000]], {"sample_size": 10000}), ("TopK", [LARGE, np.array([1000])], {}), ("TopK", [SQUARE, np.array([4000])], {"axis": 0}),
    ("Unique", [[4000000]], {}), ("Unique", [SQUARE], {"axis": 0}), ("NonMaxSuppression", [[1, 30000, 4], [1, 1, 30000], np.array([1 << 30]), np.array([0.9], np.float32)], {}),
    ("MaxPool", [[1, 1, 2400, 2400]], {"kernel_shape": [1200, 1200]}), ("MaxPool", [[1, 1, 4096, 4096]], {"kernel_shape": [2, 2]}),
    ("AveragePool", [[1, 1, 2400, 2400]], {"kernel_shape": [1200, 1200]}), ("LpPool", [[1, 1, 2400, 2400]], {"kernel_shape": [1200, 1200]}),
    ("GlobalAveragePool", [[1, 2, 4096, 4096]], {}), ("GlobalMaxPool", [[1, 2, 4096, 4096]], {}), ("MaxUnpool", [[1, 1, 2048, 2048], (INT64, [1, 1, 2048, 2048])], {"kernel_shape": [2, 2]}),
    ("MaxRoiPool", [[1, 1, 2000, 2000], [400, 5]], {"pooled_shape": [2, 2]}), ("RoiAlign", [[1, 1, 500, 500], [300, 4], np.zeros(300, np.int64)], {"sampling_ratio": 100, "output_height": 30, "output_width": 30}),
    ("Conv", [(DOUBLE, [1, 1, 2000, 2000]), (DOUBLE, [1, 1, 700, 700])], {}), ("Conv", [[1, 1, 2000, 2000], [1, 1, 700, 700]], {}), ("Conv", [[1, 64, 256, 256], [64, 64, 3, 3]], {}),
    ("ConvTranspose", [(DOUBLE, [1, 1, 1000, 1000]), (DOUBLE, [1, 1, 700, 700])], {}), ("DeformConv", [[1, 16, 200, 200], [64, 16, 9, 9], [1, 162, 192, 192]], {}),
    ("ConvInteger", [(UINT8, [1, 3, 1000, 1000]), (UINT8, [3, 3, 200, 200])], {}), ("QLinearConv", [(UINT8, [1, 3, 1000, 1000]), scale, zero_point, np.ones((3, 3, 200, 200), np.uint8), scale, zero_point, scale, zero_point], {}),
    ("MatMul", [(DOUBLE, SQUARE), (DOUBLE, SQUARE)], {}), ("MatMul", [SQUARE, SQUARE], {}), ("MatMul", [[1, 1 << 22], [1 << 22, 4]], {}), ("Gemm", [(DOUBLE, SQUARE), (DOUBLE, SQUARE)], {}),
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
    ("Adagrad", [np.array(0.1, np.float32), one, LARGE, LARGE, LARGE], {}, "ai.onnx.preview.training"),
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
    ("MaxpoolWithMask", [[1, 1, 2400, 2400], np.ones((1, 1, 2400, 2400), np.int32)], {"kernel_shape": [1200, 1200]}, MS),
    ("MaxpoolWithMask", [[1, 1, 1 << 24], np.ones((1, 1, 1 << 24), np.int32)], {"kernel_shape": [1 << 24]}, MS),
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
]


def model_of(folder, case):
    """The path of the model, and the arguments that give it its words."""
    op, inputs, attributes, domain = (*case, "")[:4]
    names, given, weights, files = [], [], [], []
    for i, one_input in enumerate(inputs):
        name = f"x{i}" if one_input is not None else ""
        names.append(name)
        if isinstance(one_input, np.ndarray):
            weights.append(numpy_helper.from_array(one_input, name))
        elif one_input is not None:
            kind, shape = one_input if isinstance(one_input, tuple) else (FLOAT, one_input)
            texts = shape if kind == STRING and isinstance(shape[0], str) else None
            given.append(helper.make_tensor_value_info(name, kind, [len(texts)] if texts else shape))
            if kind == STRING:
                np.save(folder / f"{name}.npy", np.array(texts) if texts else np.resize(["some words here", "abab", "", "0123"], shape))
                files += ["--input", f"{name}={folder}/{name}.npy"]
    schema = onnx.defs.get_schema(op, domain=domain) if onnx.defs.has(op, domain=domain) else None
    outputs = [f"y{i}" for i in range(attributes.get("num_outputs", schema.min_output if schema else 2 if op in ("SVMClassifier", "EmbedLayerNormalization", "QEmbedLayerNormalization") else 1))]
    node = helper.make_node(op, names, outputs, "long", domain=domain, **attributes)
    imports = [helper.make_opsetid("", 28)] + ([helper.make_opsetid(domain, 5 if domain == ML else 1)] if domain else [])
    graph = helper.make_graph([node], "ending", given, [onnx.ValueInfoProto(name=name) for name in outputs], weights)
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=11), folder / "model.onnx")
    return [folder / "model.onnx", *files, *(["--random", "1"] if len(files) < 2 * len(given) else [])]


def main():
    program, words = sys.argv[1], sys.argv[2:]
    passed = failed = 0
    largest = (0, "")
    with tempfile.TemporaryDirectory() as folder:
        gaps = Path(folder) / "gaps"
        environment = {**os.environ, "TINYORT_GAPS": str(gaps), "TINYORT_GAPS_END": str(QUESTIONS)}
        for case in CASES:
            if words and not any(word in case[0] for word in words):
                continue
            model = model_of(Path(folder), case)
            for isa in ("plain", "v3"):
                gaps.write_text("")
                command = [program, "run", *model, "--ep", f"cpu:threads=1:isa={isa}", "--time-limit", "1000"]
                done = subprocess.run(command, capture_output=True, text=True, env=environment)
                told = [int(number) for number in gaps.read_text().split()] or [0, 0]
                good = done.returncode in (0, 5) and 0 < told[1] <= MAX_QUESTIONS and told[0] <= MAX_GAP
                passed, failed, largest = passed + good, failed + (not good), max(largest, (told[0], f"{case[0]} isa={isa}"))
                if not good or words:
                    said = done.stderr.strip()[-300:] if done.returncode not in (0, 5) else ""
                    print(f"{'' if good else 'FAILED '}{case[0]} isa={isa}: {told[0]:,} counts between two of {told[1]} questions, status {done.returncode} {said}", flush=True)
    print(f"largest: {largest[0]:,} counts, {largest[1]}")
    print(f"ending: {passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


main()
