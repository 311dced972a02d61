"""Exports what models.py, timm_models.py, programs.py and detectors.py list with PyTorch, and compares tinyort with onnxruntime (compare.py).

    run.py --tinyort build/tinyort --folder build/models [--sets SET,...] [--only NAME,...] [--dynamo both|true|false]
           [--ep CHAIN] [--fusions]

Networks are exported by both of PyTorch's exporters and run at sizes other than the export's too.
"""

import warnings

import torch

from compare import arguments, chosen, run_cases
from detectors import DETECTORS
from models import MODELS, NARROW
from programs import PROGRAMS
from timm_models import TIMM

warnings.filterwarnings("ignore")

SETS = {"networks": MODELS, "narrow": NARROW, "timm": TIMM, "programs": PROGRAMS, "detectors": DETECTORS}
EXPORTERS = {"both": [True, False], "true": [True], "false": [False]}


def export(entry, path, dynamo):
    module = entry["make"]()
    options = dict(input_names=entry["names"], opset_version=18)
    if dynamo:
        symbols = {}
        shapes = {
            name: {axis: symbols.setdefault(label, torch.export.Dim(label, min=1, max=4096)) for axis, label in axes.items()}
            for name, axes in entry["axes"].items()
        }
        torch.onnx.export(module, entry["example"], str(path), dynamo=True, dynamic_shapes=tuple(shapes.get(n) for n in entry["names"]),
                          verbose=False, **options)
    else:
        torch.onnx.export(module, entry["example"], str(path), dynamo=False, dynamic_axes=entry["axes"], **options)


def path_of(folder, name, dynamo):
    return folder / f"{name}.{'dynamo' if dynamo else 'script'}.onnx"


def case_of(folder, name, entry, dynamo):
    path = path_of(folder, name, dynamo)
    return {
        "label": f"{name} (dynamo={dynamo})",
        "architecture": "" if name in PROGRAMS else name,
        "exporter": f"torch.onnx.export(dynamo={dynamo})",
        "package": "torch",
        "path": path,
        "export": lambda: export(entry, path, dynamo),
        "runs": [{n: value.numpy() for n, value in zip(entry["names"], inputs)} for inputs in entry["runs"]],
        "placed": entry.get("placed", True),
        "optimized": entry.get("optimized", True),
    } | {key: entry[key] for key in ("align", "close") if key in entry}


def main():
    parser = arguments()
    parser.add_argument("--sets", default="networks", help=f"of {', '.join(SETS)}")
    parser.add_argument("--dynamo", default="both", choices=EXPORTERS)
    options = parser.parse_args()
    cases = []
    for name, entry in ((name, entry) for each in options.sets.split(",") for name, entry in chosen(options, SETS[each]).items()):
        exporters = [dynamo for dynamo in entry.get("exporters", [True, False]) if dynamo in EXPORTERS[options.dynamo]]
        cases += [case_of(options.folder, name, entry, dynamo) for dynamo in exporters]
    run_cases(options, cases)


if __name__ == "__main__":
    main()
