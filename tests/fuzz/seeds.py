"""Writes seeds for the fuzzers into the folder given: models/ has ONNX's own node cases, those below 4 kB, models with bodies and
sequences (tests/control), and models that fusions join (tests/fusions); tensors/ has a small tensor of every type as .pb and .npy,
and sequences, optionals and maps."""

import sys
import warnings
from pathlib import Path

import numpy as np
from onnx import MapProto, TensorProto, helper, numpy_helper, save_tensor
from onnx.backend.test.case.node import collect_testcases

LARGEST = 4096
TESTS = Path(__file__).parent.parent


def models_of_tests():
    """Of other tests: a name and a model."""
    sys.path[:0] = [str(TESTS / "fusions"), str(TESTS / "control")]
    import cases
    import models
    from run import model_of

    for name, (text, _, _) in models.CASES.items():
        yield f"control_{name}", models.model(text)
    for number, case in enumerate(cases.all_cases()):
        yield f"fusion_{number}_{case.row}", model_of(case, np.random.default_rng(1))


def write_models(folder):
    seeds = {case.name: case.model for case in collect_testcases(None)} | dict(models_of_tests())
    seeds = {name: model.SerializeToString() for name, model in seeds.items() if model.ByteSize() <= LARGEST}
    for name, seed in seeds.items():
        (folder / f"{name}.onnx").write_bytes(seed)
    return len(seeds)


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


def write_pictures(folder):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "extra"))
    from pictures import cases

    for k, (_, data, _) in enumerate(cases()):
        (folder / f"{k}").write_bytes(data)


def main():
    warnings.simplefilter("ignore")
    models, tensors, pictures = (Path(sys.argv[1]) / kind for kind in ("models", "tensors", "pictures"))
    for folder in (models, tensors, pictures):
        folder.mkdir(parents=True, exist_ok=True)
    write_pictures(pictures)
    write_values(tensors)
    print(f"fuzz: seeds: {write_models(models)} models, {write_tensors(tensors)} tensors and values")


main()
