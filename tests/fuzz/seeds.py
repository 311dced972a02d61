"""Writes seeds for the fuzzers into the folder given: models/ has ONNX's own node cases, those below 4 kB; tensors/ has
a small tensor of every type as .pb and .npy."""

import sys
import warnings
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, save_tensor
from onnx.backend.test.case.node import collect_testcases

LARGEST = 4096


def write_models(folder):
    written = 0
    for case in collect_testcases(None):
        seed = case.model.SerializeToString()
        if len(seed) <= LARGEST:
            (folder / f"{case.name}.onnx").write_bytes(seed)
            written += 1
    return written


def write_tensors(folder):
    for name, number in TensorProto.DataType.items():
        if name in ("UNDEFINED", "STRING"):
            continue
        typed = helper.make_tensor("x", number, [2, 3], [0, 1, 1, 0, 1, 1])
        save_tensor(typed, folder / f"{name}.pb")
    save_tensor(helper.make_tensor("x", TensorProto.STRING, [2], [b"one", b"two"]), folder / "STRING.pb")
    for dtype in "? i1 u1 <i2 >i2 <u4 <i8 <f2 <f4 >f8 <c8 S3 <U2 >U2".split():
        values = np.array([[0, 1, 2], [3, 4, 5]]).astype(dtype)
        np.save(folder / f"C_{values.dtype.name}.npy", values)
        np.save(folder / f"F_{values.dtype.name}.npy", np.asfortranarray(values))
    return len(list(folder.iterdir()))


def main():
    warnings.simplefilter("ignore")
    models, tensors = Path(sys.argv[1]) / "models", Path(sys.argv[1]) / "tensors"
    models.mkdir(parents=True, exist_ok=True)
    tensors.mkdir(parents=True, exist_ok=True)
    print(f"fuzz: seeds: {write_models(models)} of ONNX's node cases, {write_tensors(tensors)} tensors")


main()
