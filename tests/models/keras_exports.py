"""Networks of Keras (keras_models.py) as Keras' own export, tf2onnx, and tf2onnx from TFLite write them, compared by compare.py.

    keras_exports.py --tinyort build/tinyort --folder build/models [--only NAME,...] [--ep CHAIN] [--fusions]

Keras' own export depends on its backend: KERAS_BACKEND=torch has it go through PyTorch, and only that exporter is tried then.
"""

import os

os.environ |= {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}

import keras
from compare import arguments, chosen, run_cases
from keras_models import KERAS

OPSET = 17


def called(entry):
    """Keras exports a model only after a call."""
    model = entry["make"]()
    model.predict(list(entry["runs"][0].values()), verbose=0)
    return model


def own(model, path):
    model.export(str(path), format="onnx", verbose=False)


def function_of(model):
    """The model as a function of named tensors of any batch."""
    import tensorflow as tf

    signature = [tf.TensorSpec(port.shape, port.dtype, name=port.name) for port in model.inputs]
    return tf.function(lambda *inputs: model(list(inputs) if len(inputs) > 1 else inputs[0], training=False), input_signature=signature), signature


def by_tf2onnx(model, path):
    import tf2onnx

    function, signature = function_of(model)
    tf2onnx.convert.from_function(function, input_signature=signature, opset=OPSET, output_path=str(path))


EXPORTERS = {
    "tensorflow": {
        "own": (own, "Keras export (TensorFlow)", "keras"),
        "tf2onnx": (by_tf2onnx, "tf2onnx of Keras", "tf2onnx"),
    },
    "torch": {"own_torch": (own, "Keras export (PyTorch)", "keras")},
}


def case_of(folder, name, entry, kind, exporter):
    export, words, package = exporter
    path = folder / f"{name}.{kind}.onnx"
    return {"label": f"{name} ({words})", "architecture": name.removeprefix("keras_"), "exporter": words, "package": package, "path": path,
            "export": lambda: export(called(entry), path), "runs": entry["runs"]}


def main():
    options = arguments().parse_args()
    exporters = EXPORTERS[keras.backend.backend()]
    run_cases(options, [case_of(options.folder, name, entry, kind, exporter)
                        for name, entry in chosen(options, KERAS).items() for kind, exporter in exporters.items()])


if __name__ == "__main__":
    main()
