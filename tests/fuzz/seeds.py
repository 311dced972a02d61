"""Writes seeds for the fuzzers into the folder given: models/ has ONNX's own backend cases, those below 64 kB, models with bodies and
sequences (tests/control), and models that fusions join (tests/fusions); tensors/ has a small tensor of every type as .pb and .npy,
and sequences, optionals and maps; archives/, labels/, locks/, command_lines/ and pictures/ have what their entries read."""

import sys
import warnings
from pathlib import Path

import numpy as np
from onnx import MapProto, TensorProto, helper, numpy_helper, save_tensor
from onnx.backend.test.case.node import collect_testcases
from onnx.backend.test.loader import load_model_tests

LARGEST = 1 << 16
TESTS = Path(__file__).parent.parent
COMMAND_LINES = """
run m --ep cpu:threads=2,cpu --random 3 --json
run m --ep cpu:threads=2:isa=v3:mem_limit=64k --shape x=2,4 --max N=9
run m --ep=cuda:0:tf32=1,cpu --require cpu --strict --allow Add,Softmax
run m --ep cpu --pin add=cpu --pin #1=cpu --no-fusion=softmax --bind *=cpu
run m --input x=a.npy --save out --format pb --top 5 --labels l.txt
run m --input a.png --resize 224 --crop 224x200 --mean 1,2,3 --std 0.5 --scale 0.1 --layout nchw --bgr
run m --random x=-1..1 --random 7 --dynamic-limit 64M --trip-limit 100 --wait-steps
plan m -o p.plan --shape N=3 --fusions --full --width 100
compare m --ep cpu --ep cuda,cpu --rtol 1e-3 --atol 0 --only Add
bench m --seconds 0.5 --repeat 10 --warmup 1 --profile=all --trace t.json
compile m -o out --name net --target cortex-m4 --io integer --weights bin
test d1 d2 --rtol 0.1 --json
ops Conv --width 80
inspect m --ops
providers --json
version
schema
"""


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
    seeds = {name: model.SerializeToString() for name, model in seeds.items()}
    for kind in ("simple", "pytorch-converted", "pytorch-operator"):
        seeds |= {case.name: (Path(case.model_dir) / "model.onnx").read_bytes() for case in load_model_tests(kind=kind)}
    seeds = {name: seed for name, seed in seeds.items() if len(seed) <= LARGEST}
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


def write_archives(folder):
    arrays = {"x": np.arange(6, dtype=np.float32).reshape(2, 3), "names": np.array(["one", "two"]), "y": np.float64(3)}
    np.savez(folder / "stored.npz", **arrays)
    np.savez_compressed(folder / "deflated.npz", **arrays)
    np.savez(folder / "none.npz")


def write_locks(folder):
    head, line = "# where nodes run\ntinyort-lock 1\nchain\tcpu\n", "conv1\tConv\tcpu\tplain\t-\n"
    for i, text in enumerate((head + line, head + line.replace("cpu", "cuda").replace("-", "cuda:NO_ATTR") + line, head.replace("1", "2"), head + line.replace("\t", " "),
                              (head + line * 3).replace("\n", "\r\n"), "", head[:-1])):
        (folder / f"{i}.lock").write_text(text, newline="")


def write_labels(folder):
    for name, text in {"unix": "a\nb\nc\nd\ne\n", "dos": "a\r\nb\r\nc\r\nd\r\ne", "few": "a\nb\n", "mark": "\ufeffa b\n\n\n\nz\n"}.items():
        (folder / name).write_text(text)


def write_command_lines(folder):
    for k, line in enumerate(COMMAND_LINES.strip().splitlines()):
        (folder / f"{k}").write_text(line.replace(" ", "\n"))


def main():
    warnings.simplefilter("ignore")
    kinds = ("models", "tensors", "pictures", "archives", "labels", "locks", "command_lines")
    models, tensors, pictures, archives, labels, locks, command_lines = folders = [Path(sys.argv[1]) / kind for kind in kinds]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    write_pictures(pictures)
    write_archives(archives)
    write_labels(labels)
    write_locks(locks)
    write_command_lines(command_lines)
    write_values(tensors)
    print(f"fuzz: seeds: {write_models(models)} models, {write_tensors(tensors)} tensors and values")


main()
