"""Writes ONNX's own backend test cases as directories, with an index of all of them.

The onnx package makes its node cases in memory and carries others as files. Usage: make_cases.py FOLDER.
FOLDER/node/CASE/{model.onnx, test_data_set_N/input_K.pb, output_K.pb}, FOLDER/light/CASE/..., FOLDER/older/CASE@OPSET (see
older.py) and FOLDER/cases.json:
[{"name", "kind", "folder", "rtol", "atol"}], where tolerances are null unless a case asks for its own.
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx.backend.test.case.node import collect_testcases
from older import older_models

USUAL_TOLERANCE = (1e-3, 1e-7)  # of a case that asks for nothing
DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"


def serialized(value, info):
    """A value of a data set as the file format of its type."""
    kind = info.type.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.from_list(value, info.name).SerializeToString()
    if kind == "optional_type":
        return numpy_helper.from_optional(value, info.name).SerializeToString()
    if kind == "map_type":
        return numpy_helper.from_dict(value, info.name).SerializeToString()
    if isinstance(value, TensorProto):
        return value.SerializeToString()
    return numpy_helper.from_array(np.asarray(value), info.name).SerializeToString()


def write_case(folder, model, data_sets):
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for number, (inputs, outputs) in enumerate(data_sets):
        data = folder / f"test_data_set_{number}"
        data.mkdir()
        for what, values, infos in (("input", inputs, model.graph.input), ("output", outputs, model.graph.output)):
            for k, (value, info) in enumerate(zip(values, infos)):
                (data / f"{what}_{k}.pb").write_bytes(serialized(value, info))


def tolerances(rtol, atol):
    own = (rtol, atol) != USUAL_TOLERANCE
    return {"rtol": rtol if own else None, "atol": atol if own else None}


def node_cases(root):
    for case in collect_testcases(None):
        folder = root / "node" / case.name
        write_case(folder, case.model, case.data_sets)
        yield {"name": case.name, "kind": "node", "folder": str(folder), **tolerances(case.rtol, case.atol)}
        for opset, model in older_models(case.model):
            name = f"{case.name}@{opset}"
            older = root / "older" / name
            older.mkdir(parents=True)
            (older / "model.onnx").write_bytes(model.SerializeToString())
            for data in folder.glob("test_data_set_*"):
                (older / data.name).symlink_to(Path("../../node") / case.name / data.name)
            yield {"name": name, "kind": "older", "folder": str(older), **tolerances(case.rtol, case.atol)}


def file_cases(kind):
    for folder in sorted((DATA / kind).iterdir()):
        if not (folder / "model.onnx").exists():
            continue
        asked = json.loads((folder / "data.json").read_text()) if (folder / "data.json").exists() else {}
        own = tolerances(asked.get("rtol", USUAL_TOLERANCE[0]), asked.get("atol", USUAL_TOLERANCE[1]))
        yield {"name": folder.name, "kind": kind, "folder": str(folder), **own}


def light_cases(root):
    """Whole classifiers with made-up weights: the input counts up from 0 to 1, the expected output is a file."""
    for path in sorted((DATA / "light").glob("*.onnx")):
        model = onnx.load(path)
        constants = {tensor.name for tensor in model.graph.initializer}
        inputs = []
        for info in model.graph.input:
            if info.name not in constants:
                shape = [dim.dim_value or 1 for dim in info.type.tensor_type.shape.dim]
                count = np.prod(shape)
                inputs.append((np.arange(count).reshape(shape) / count).astype(np.float32))
        expected = TensorProto.FromString(path.with_name(path.stem + "_output_0.pb").read_bytes())
        folder = root / "light" / f"test_{path.stem}"
        data = folder / "test_data_set_0"
        data.mkdir(parents=True)
        shutil.copy(path, folder / "model.onnx")
        for k, value in enumerate(inputs):
            (data / f"input_{k}.pb").write_bytes(numpy_helper.from_array(value).SerializeToString())
        (data / "output_0.pb").write_bytes(expected.SerializeToString())
        yield {"name": folder.name, "kind": "light", "folder": str(folder), "rtol": 1e-3, "atol": 1e-4}


def main():
    root = Path(sys.argv[1])
    shutil.rmtree(root, ignore_errors=True)
    cases = list(node_cases(root))
    for kind in ("simple", "pytorch-converted", "pytorch-operator"):
        cases += file_cases(kind)
    cases += light_cases(root)
    (root / "cases.json").write_text(json.dumps(cases, indent=1))
    print(f"{len(cases)} cases in {root}")


if __name__ == "__main__":
    main()
