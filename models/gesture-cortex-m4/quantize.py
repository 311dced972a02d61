"""Quantizes ready.onnx to 8 bits by the samples that train.py has written: gesture_int8.onnx."""

import numpy as np
from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static

class Samples(CalibrationDataReader):
    def __init__(self):
        self.rows = iter(np.fromfile("samples.raw", np.float32).reshape(-1, 1, 3, 64))

    def get_next(self):
        row = next(self.rows, None)
        return None if row is None else {"motion": row}

quantize_static("ready.onnx", "gesture_int8.onnx", Samples(), per_channel=True, weight_type=QuantType.QInt8)
