"""What the claims of the CUDA provider refuse, and in which words.

Usage: claims.py TINYORT [--write]. claims.expected holds nodes, one a line, and under each what `tinyort plan` says of the rows
that refused it: code, message, cure. A node is "NAME OPSET; attribute=value ...; input input ...; outputs" (the last may be
left out: 1), where an input is "-" (absent), TYPE[dims], or TYPE? (its rank is unknown); a dimension is a number or a name;
"=1,2" behind it makes a constant. An attribute that is a tensor is TYPE:number. Nothing is run, so shapes may be larger than any
memory. "sm_75@" before it is another target than sm_80. A node that goes elsewhere must be told a cure. A node that is refused for
an attribute, an operand or a type must be refused where sizes or ranks are not known yet, too: otherwise it would run there, and
be wrong. --write renews the answers, to be read before they are kept.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from onnx import AttributeProto, TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from schemas import schemas_by_operator  # noqa: E402

SCHEMAS = schemas_by_operator()
EXPECTED = Path("tests/cuda/claims.expected")
TYPES = {
    "f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "f64": TensorProto.DOUBLE, "bf16": TensorProto.BFLOAT16,
    "i8": TensorProto.INT8, "i16": TensorProto.INT16, "i32": TensorProto.INT32, "i64": TensorProto.INT64,
    "u8": TensorProto.UINT8, "u64": TensorProto.UINT64, "bool": TensorProto.BOOL, "str": TensorProto.STRING,
    "c64": TensorProto.COMPLEX64, "c128": TensorProto.COMPLEX128, "i4": TensorProto.INT4, "f8": TensorProto.FLOAT8E4M3FN,
}  # fmt: skip
# Operators of domain tinyort, and whose attributes they have beside the epilogue's.
FUSED = {"FusedAttention": ("Attention", 23), "FusedConv": ("Conv", 22), "FusedGemm": ("Gemm", 13), "FusedMatMul": ("MatMul", 13),
         "JoinedMatMul": ("MatMul", 13)}
INPUT = re.compile(r"(\w+)(\?|\[(.*?)\])(?:=(.*))?$")


def attribute(schema, word):
    name, _, text = word.partition("=")
    if name.startswith("activation"):
        return helper.make_attribute(name, text if name == "activation" else float(text))
    kind = AttributeProto.AttributeType.Name(schema.attributes[name].kind)
    if kind == "TENSOR":
        element, _, value = text.partition(":")
        return helper.make_attribute(name, helper.make_tensor(name, TYPES[element], [1], [float(value)]))
    number = float if kind in ("FLOAT", "FLOATS") else str if kind in ("STRING", "STRINGS") else int
    values = [number(part) for part in text.split(",")]
    return helper.make_attribute(name, values if kind.endswith("S") else values[0])


def schema_of(op, opset):
    domain, _, name = op.rpartition(".")
    versions = SCHEMAS[domain, name]
    return versions[max(since for since in versions if since <= opset)]


def make_model(line):
    head, attributes, inputs, outputs = ([*line.split(";"), ""])[:4]
    op, opset = head.split()
    names, graph_inputs, constants = [], [], []
    for word in inputs.split():
        names.append("" if word == "-" else f"x{len(names)}")
        if word == "-":
            continue
        kind, unknown, dims, values = INPUT.match(word).groups()
        shape = None if unknown == "?" else [int(d) if d.isdigit() else d for d in dims.split(",") if d]
        if values is None:
            graph_inputs.append(helper.make_tensor_value_info(names[-1], TYPES[kind], shape))
        else:
            array = np.array(values.split(","), helper.tensor_dtype_to_np_dtype(TYPES[kind])).reshape(shape)
            constants.append(numpy_helper.from_array(array, names[-1]))
    made = [f"y{i}" for i in range(int(outputs or 1))]
    domain, _, name = (f"tinyort.{op}" if op in FUSED else op).rpartition(".")
    node = helper.make_node(name, names, made, name="node", domain=domain)
    schema = schema_of(*FUSED.get(op, (op, int(opset))))
    node.attribute.extend(attribute(schema, word) for word in attributes.split())
    graph = helper.make_graph([node], "claim", graph_inputs, [helper.make_empty_tensor_value_info(value) for value in made], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(*version) for version in ({"": 21} | {domain: int(opset)}).items()], ir_version=10)


def answers(tinyort, folder, line):
    """The lines that belong under this one."""
    path = Path(folder) / "claim.onnx"
    target, _, node = line.rpartition("@")
    path.write_bytes(make_model(node.strip()).SerializeToString())
    done = subprocess.run([tinyort, "plan", path, "--ep", "cudasim,cpu:mem_limit=64T", "--target", f"cudasim:{target or 'sm_80'}", "--json"], capture_output=True, text=True)
    if done.returncode:
        return [f"  {done.stderr.strip().splitlines()[0]}"]
    node = json.loads(done.stdout)["nodes"][0]
    refused = [f"  {v['kernel']}: {v['code']}: {v['message']}; {v['cure']}".rstrip("; ") for v in node["verdicts"]]
    lost = [v for v in node["verdicts"] if v["provider"] == "cudasim" != node["provider"]]
    return [*refused, *("  no cure" for v in lost if not v["cure"]), f"  runs on {node['provider']}"]


def without_sizes(line, ranks):
    """The same node with names in place of the sizes of its inputs, or, without `ranks`, inputs of unknown rank."""
    parts = line.split(";")
    words = [INPUT.match(word) or word for word in parts[2].split()]
    for i, word in enumerate(words):
        if word != "-" and word[4] is None and word[2] != "?":
            words[i] = f"{word[1]}[{','.join(f'n{d}' if d.isdigit() else d for d in word[3].split(',') if d)}]" if ranks else f"{word[1]}?"
        elif word != "-":
            words[i] = word[0]
    parts[2] = " " + " ".join(words)
    return ";".join(parts)


def accepted_without_sizes(tinyort, folder, line, lines):
    """Forms of a refused node that are accepted."""
    whatever_sizes = lines[-1] == "  runs on cpu" and any(code in text for text in lines for code in (": NO_ATTR:", ": NO_TYPE:"))
    forms = [without_sizes(line, ranks) for ranks in (True, False)] if whatever_sizes else []
    return [form for form in forms if answers(tinyort, folder, form)[-1] == "  runs on cudasim"]


def read_expected():
    """[(line, answers)], with comments and empty lines as lines without any."""
    cases = []
    for line in EXPECTED.read_text().splitlines():
        if line.startswith("  "):
            cases[-1][1].append(line)
        else:
            cases.append((line, []))
    return cases


def main():
    cases, found, accepted = read_expected(), [], []
    with tempfile.TemporaryDirectory() as folder:
        for line, _ in cases:
            is_node = line and not line.startswith("#")
            found.append(answers(sys.argv[1], folder, line) if is_node else [])
            accepted += accepted_without_sizes(sys.argv[1], folder, line, found[-1]) if is_node else []
    if "--write" in sys.argv:
        EXPECTED.write_text("".join("\n".join([line, *lines]) + "\n" for (line, _), lines in zip(cases, found)))
        return
    failed = len(accepted)
    for form in accepted:
        print(f"FAILED: is refused for known sizes, and accepted without: {form}")
    for (line, expected), lines in zip(cases, found):
        if lines != expected:
            failed += 1
            print("FAILED: " + "\n".join([line, *lines, "expected:", *expected]))
    passed = sum(bool(lines) for lines in found) - failed
    print(f"cuda-claims: {passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
