"""Writes seeds for the fuzzers into the folder given: models/ has ONNX's own node cases, those below 4 kB; tensors/ has
a small tensor of every type as .pb and .npy, and sequences, optionals and maps."""

import sys
import warnings
from pathlib import Path

import numpy as np
from onnx import MapProto, TensorProto, helper, numpy_helper, save_tensor
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


def write_values(folder):
    one, two = np.array([1, 2], np.float32), np.array([[3]], np.float32)
    values = {
        "sequence": numpy_helper.from_list([one, two], "x"),
        "sequences": numpy_helper.from_list([[one], [two, one]], "x"),
        "maps": numpy_helper.from_list([{1: two}], "x"),
        "map": numpy_helper.from_dict({1: one, -2: one}, "x"),
        "named": MapProto(key_type=TensorProto.STRING, string_keys=[b"a", b"b"], values=numpy_helper.from_list([one, two])),
        "some": numpy_helper.from_optional(one, "x"),
        "some_sequence": numpy_helper.from_optional([one, two], "x"),
        "none": numpy_helper.from_optional(None, "x"),
    }
    for name, value in values.items():
        (folder / f"{name}.pb").write_bytes(value.SerializeToString())


def main():
    warnings.simplefilter("ignore")
    models, tensors = Path(sys.argv[1]) / "models", Path(sys.argv[1]) / "tensors"
    models.mkdir(parents=True, exist_ok=True)
    tensors.mkdir(parents=True, exist_ok=True)
    write_values(tensors)
    print(f"fuzz: seeds: {write_models(models)} of ONNX's node cases, {write_tensors(tensors)} tensors and values")


main()
