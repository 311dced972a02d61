"""Networks of Keras (keras_models.py) by way of TFLite, as tf2onnx writes them, compared with onnxruntime by compare.py: in floats, with
the weights in 8 bits, and with all in 8 bits.

    tflite_exports.py --tinyort build/tinyort --folder build/models [--only NAME,...] [--ep CHAIN] [--fusions]
"""

import os

os.environ |= {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}

import keras
import onnx
import tensorflow as tf
import tf2onnx
from compare import CLOSE, arguments, chosen, run_cases
from keras_models import KERAS

OPSET = 17
NAMES = ["keras_mobilenet", "keras_mobilenet_v2", "keras_mobilenet_v3", "keras_unet", "keras_squeeze_excite", "keras_einsum_mixer", "keras_attention_pool",
         "keras_temporal_convolutions", "keras_wide_and_deep"]
KINDS = ["float", "weights", "int8"]
STEP = (1e-2, 1e-2)  # means of four 8-bit numbers are halves often, which go up or down with the last bit of a product


def rows_of(feeds):
    """TFLite takes one example at a time."""
    count = len(next(iter(feeds.values())))
    return [[value[i : i + 1] for value in feeds.values()] for i in range(count)]


def convert(entry, kind):
    """The bytes of a .tflite file, of the input sizes of the first run."""
    model, examples = entry["make"](), rows_of(entry["runs"][0])
    ports = [keras.Input(batch_shape=value.shape, dtype=port.dtype, name=port.name) for value, port in zip(examples[0], model.inputs)]
    converter = tf.lite.TFLiteConverter.from_keras_model(keras.Model(ports, model(ports if len(ports) > 1 else ports[0])))
    if kind != "float":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if kind == "int8":
        converter.representative_dataset = lambda: examples
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8, tf.lite.OpsSet.TFLITE_BUILTINS]
    return converter.convert()


def export(entry, kind, path):
    file = path.with_suffix(".tflite")
    file.write_bytes(convert(entry, kind))
    tf2onnx.convert.from_tflite(str(file), opset=OPSET, output_path=str(path))


class Runs:
    """Examples of the first run, under the names that the file gives its inputs."""

    def __init__(self, path, feeds):
        self.path, self.feeds = path, feeds

    def __iter__(self):
        names = [port.name for port in onnx.load(self.path).graph.input]
        order = [next(i for i, own in enumerate(self.feeds) if own in name) for name in names]
        return ({name: row[i] for name, i in zip(names, order)} for row in rows_of(self.feeds)[:2])


def case_of(folder, name, entry, kind):
    path = folder / f"{name}.tflite_{kind}.onnx"
    return {"label": f"{name} (TFLite, {kind})", "architecture": name.removeprefix("keras_"), "exporter": "tf2onnx of TFLite", "package": "tf2onnx", "path": path,
            "export": lambda: export(entry, kind, path), "runs": Runs(path, entry["runs"][0]), "optimized": False,
            "close": STEP if kind == "int8" else CLOSE}


def main():
    options = arguments().parse_args()
    entries = {name: KERAS[name] for name in NAMES}
    run_cases(options, [case_of(options.folder, name, entry, kind) for name, entry in chosen(options, entries).items() for kind in KINDS])


if __name__ == "__main__":
    main()
