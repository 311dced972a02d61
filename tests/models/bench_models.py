"""The set of `make bench`: networks of real sizes in float32, float16 and 8 bits, exported once and timed in turns with onnxruntime (bench.py).

    bench_models.py --tinyort build/tinyort --folder build/models --bench SECONDS [--only NAME,...] [--threads 1,2]

NAME is that of a network (bench_networks.py), all its files, or of a file: resnet50, resnet50_half. Without --bench they are compared.
Comparing allows float16 and 8 bits what a step of them is; what onnxruntime makes of these without its optimizations is the reference.
"""

import warnings

import onnx
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

from bench_networks import NETWORKS, export, feeds_of
from compare import CLOSE, arguments, run_cases

warnings.filterwarnings("ignore")


class Calibration(CalibrationDataReader):
    def __init__(self, feeds):
        self.feeds = iter([feeds])

    def get_next(self):
        return next(self.feeds, None)


def half(name, source, target):
    """Inside; inputs and outputs stay float32."""
    from onnxruntime.transformers.float16 import convert_float_to_float16

    onnx.save(convert_float_to_float16(onnx.load(source), keep_io_types=True), target)


def static(form):
    def quantize(name, source, target):
        prepared = target.with_suffix(".prepared.onnx")
        quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)
        quantize_static(str(prepared), str(target), Calibration(feeds_of(name)), quant_format=form, per_channel=True,
                        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
        prepared.unlink()

    return quantize


def dynamic(name, source, target):
    quantize_dynamic(str(source), str(target), weight_type=QuantType.QInt8)


# How a file is made of that in float32, and how far from the reference's largest value it may be.
KINDS = {
    "half": (half, 2e-2),
    "qdq": (static(QuantFormat.QDQ), 1e-1),
    "operators": (static(QuantFormat.QOperator), 1e-1),
    "dynamic": (dynamic, 1e-1),
}
FILES = [(name, "") for name in NETWORKS]
FILES += [(name, "half") for name in ("resnet50", "mobilenet_v2", "unet", "vit_b_16", "bert", "gpt2_past")]
FILES += [(name, "qdq") for name in ("resnet50", "mobilenet_v2", "efficientnet_b0", "bert")]
FILES += [(name, "operators") for name in ("resnet50", "mobilenet_v2")]
FILES += [(name, "dynamic") for name in ("bert", "gpt2_past", "lstm")]


def write(folder, name, kind, path):
    source = folder / f"{name}.bench.onnx"
    if not source.exists():
        export(name, source)
    if kind:
        KINDS[kind][0](name, source, path)


def case_of(folder, name, kind):
    label = f"{name}_{kind}" if kind else name
    path = folder / f"{label}.bench.onnx"
    return {"label": label, "path": path, "export": lambda: write(folder, name, kind, path), "runs": [feeds_of(name)], "threads": 1,
            "optimized": not kind, "close": CLOSE} | ({"of_largest": KINDS[kind][1]} if kind else {})


def main():
    options = arguments().parse_args()
    only = options.only.split(",") if options.only else []
    names = [(name, kind) for name, kind in FILES if not only or name in only or f"{name}_{kind}" in only]
    run_cases(options, [case_of(options.folder, *each) for each in names])


if __name__ == "__main__":
    main()
