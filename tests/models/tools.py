"""What tools that read and write ONNX files make of PyTorch's exports, compared with onnxruntime by compare.py.

    tools.py --tinyort build/tinyort --folder build/models [--only NAME,...] [--ep CHAIN] [--fusions]

Networks are the narrow ones of models.py. NAME is that of a network or of a tool.
"""

import warnings

import numpy
import onnx
from compare import arguments, run_cases
from models import NARROW
from run import export, path_of

warnings.filterwarnings("ignore")

HALF = (3e-2, 1e-2)


def simplified(base, feeds):
    import onnxsim

    return onnxsim.simplify(onnx.load(base))[0]


def slimmed(base, feeds):
    import onnxslim

    return onnxslim.slim(str(base))


def optimized(base, feeds):
    import onnxoptimizer

    return onnxoptimizer.optimize(onnx.load(base), onnxoptimizer.get_fuse_and_elimination_passes(), fixed_point=True)


def half(base, feeds):
    from onnxconverter_common import float16

    return float16.convert_float_to_float16(onnx.load(base))


def half_within(base, feeds):
    """Inputs and outputs stay float: casts at the borders."""
    from onnxconverter_common import float16

    return float16.convert_float_to_float16(onnx.load(base), keep_io_types=True, op_block_list=[*float16.DEFAULT_OP_BLOCK_LIST, "Softmax"])


def mixed(base, feeds):
    from onnxconverter_common import auto_mixed_precision

    return auto_mixed_precision.auto_convert_mixed_precision(onnx.load(base), feeds, rtol=0.05, atol=0.05, keep_io_types=True)


def surgeon(base, feeds):
    import onnx_graphsurgeon

    return onnx_graphsurgeon.export_onnx(onnx_graphsurgeon.import_onnx(onnx.load(base)).fold_constants().cleanup().toposort())


def converted(base, feeds):
    return onnx.version_converter.convert_version(onnx.load(base), 24)


TOOLS = {
    "onnxsim": {"make": simplified, "package": "onnxsim"},
    "onnxslim": {"make": slimmed, "package": "onnxslim"},
    "onnxoptimizer": {"make": optimized, "package": "onnxoptimizer"},
    "float16": {"make": half, "package": "onnxconverter-common", "close": HALF, "cast": True},
    "float16_within": {"make": half_within, "package": "onnxconverter-common", "close": HALF},
    "mixed_precision": {"make": mixed, "package": "onnxconverter-common", "close": (5e-2, 5e-2)},
    "graphsurgeon": {"make": surgeon, "package": "onnx-graphsurgeon"},
    "version_converter": {"make": converted, "package": "onnx"},
}

# The network, and whether torch.export writes what the tools read.
BASES = {"mobilenet_v2": False, "convnext": True, "albert": False, "llama": True, "lraspp_mobilenet_v3": False}


def feeds_of(entry, inputs, cast=False):
    arrays = {name: value.numpy() for name, value in zip(entry["names"], inputs)}
    return {name: value.astype(numpy.float16) if cast and value.dtype == numpy.float32 else value for name, value in arrays.items()}


def make(tool, entry, base, dynamo, path):
    base.parent.mkdir(parents=True, exist_ok=True)
    if not base.exists():
        export(entry, base, dynamo)
    onnx.save(tool["make"](base, feeds_of(entry, entry["runs"][0])), path)


def case_of(folder, name, dynamo, kind, tool):
    entry, path = NARROW[name], folder / f"{name}.{kind}.onnx"
    base = path_of(folder / "bases", name, dynamo)
    return {"label": f"{name} ({kind})", "architecture": name, "exporter": tool["package"], "package": tool["package"], "path": path,
            "export": lambda: make(tool, entry, base, dynamo, path),
            "runs": [feeds_of(entry, inputs, tool.get("cast")) for inputs in entry["runs"]],
            } | {key: tool[key] for key in ("close",) if key in tool}


def main():
    options = arguments().parse_args()
    names = options.only.split(",") if options.only else [*TOOLS]
    run_cases(options, [case_of(options.folder, name, dynamo, kind, tool) for name, dynamo in BASES.items()
                        for kind, tool in TOOLS.items() if name in names or kind in names])


if __name__ == "__main__":
    main()
