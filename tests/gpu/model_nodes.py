"""Launches as model.py sees them: of a line of tests/gpu/RESULTS.md, or of a plan of a network."""

import json
import math
import re
import subprocess
import sys
from typing import NamedTuple

PRODUCTS = ("MatMul", "FusedMatMul", "JoinedMatMul", "Gemm")


class Node(NamedTuple):
    op: str
    kernel: str
    inputs: list  # shapes, [] of a scalar, None of what is not there
    output: list
    half: bool
    attributes: dict
    tf32: bool = False
    sizes: tuple = ()  # bytes of an element of each input, where they differ from those of the type

    @property
    def bytes(self):
        return 2 if self.half else 4

    def moved(self):
        """Each operand is read once, and the output written once; of a table only what is picked, by indices of 8 bytes."""
        if self.op == "Gather":
            return (min(math.prod(self.inputs[0]), math.prod(self.output)) + math.prod(self.output)) * self.bytes + math.prod(self.inputs[1]) * 8
        known = self.sizes or (self.bytes,) * len(self.inputs)
        return math.prod(self.output) * self.bytes + sum(math.prod(shape) * size for shape, size in zip(self.inputs, known) if shape)

    def numbers(self, name, otherwise):
        found = [int(number) for number in re.findall(r"-?\d+", self.attributes.get(name, ""))]
        return found or otherwise


def product_of(node):
    """m, n, k and batches; Y = A B, with B of one matrix or of many."""
    a, b = node.inputs[0], node.inputs[1]
    many = len(b) > 2
    n = b[-2] if node.numbers("transB", [0])[0] else b[-1]
    return (a[-2] if many else math.prod(a[:-1])), n, a[-1], math.prod(b[:-2]) if many else 1


def joined(node):
    """Products of one value with several weights, in one node."""
    return sum(len(shape) == 2 for shape in node.inputs[1:] if shape) if node.op == "JoinedMatMul" else 1


def flops(node):
    if node.op in ("Conv", "FusedConv"):
        return 2 * math.prod(node.output) * math.prod(node.inputs[1][1:])
    if node.op == "FusedAttention":
        return 4 * math.prod(node.output) * node.inputs[1][1]
    return 2 * math.prod(product_of(node)) * joined(node) if node.op in PRODUCTS else 0


# ---- of tests/gpu/RESULTS.md ----


class Line(NamedTuple):
    text: str
    held_out: bool
    node: Node
    family: str
    seconds: float


def shapes_in(text):
    return [[int(size) for size in shape.split(",") if size] for shape in re.findall(r"\[([\d,]*)\]", text)]


def windows(node):
    """Rows and columns that a Conv or a pool makes of an image."""
    size = node.numbers("kernel_shape", node.inputs[1][2:] if len(node.inputs) > 1 else [])
    pads, strides = node.numbers("pads", [0] * 4), node.numbers("strides", [1, 1])
    return [(length + pads[d] + pads[d + 2] - size[d]) // strides[d] + 1 for d, length in enumerate(node.inputs[0][2:])]


def output_of(node):
    first = node.inputs[0]
    if node.op in ("Conv", "FusedConv", "MaxPool"):
        return [first[0], node.inputs[1][0] if "Conv" in node.op else first[1], *windows(node)]
    if node.op in ("MatMul", "FusedMatMul", "Gemm"):
        return [*first[:-1], product_of(node)[1]]
    if node.op in ("ReduceMean", "ReduceSum"):
        return {3: [*first[:2], 1], 4: first[:2], 2: first[1:]}[len(first)]
    if node.op == "GlobalAveragePool":
        return first[:2] + [1, 1]
    if node.op == "Gather":
        return node.inputs[1] + first[1:]
    if node.op == "Transpose":
        return [first[d] for d in node.numbers("perm", [])]
    if node.op == "Concat":
        return [first[0], 2 * first[1], *first[2:]]
    return max((shape for shape in node.inputs if shape), key=math.prod)


def node_of(case, kernel):
    """What a line of bench.sh timed: `Add-14 float16 {}; [64,512,768] [768] TF32`."""
    op, kind, attributes, rest = re.match(r"(\w+)-\d+ (\w+) \{([^}]*)\}; (.*)", case).groups()
    inputs, half = shapes_in(rest), kind == "float16"
    values = dict(pair.split("=", 1) for pair in attributes.split())
    if op.startswith("Reduce"):
        inputs = inputs[:1]
    if op == "Gather":
        inputs[0] = [1500, *inputs[0][1:]]  # the rows among which bench_table.c picks
    node = Node(op, kernel, inputs, [], half, values, case.endswith("TF32"))
    node = node._replace(output=output_of(node))
    if op == "Where":
        return node._replace(sizes=(1, node.bytes, node.bytes))
    if op == "Cast":  # from float to float16 (to=10), or back: the other type is that of the output
        return node._replace(half=values["to"] == "10", sizes=(4 if values["to"] == "10" else 2,))
    return node


def family_of(kernel, of_memory):
    names = {"cublas": "cuBLAS", "cudnn": "cuDNN", "conv_": "own convolutions"}
    return "bound by memory" if of_memory else next((family for name, family in names.items() if name in kernel), "own products")


def read_lines(text):
    """Lines of the tables of kernels. Every second case, with all its types and kernels, is held out. Left out are the own kernels
    under TF32, which are those of float again, and depthwise convolutions, of which nothing was counted."""
    lines, seen = [], {}
    for row in re.findall(r"^\| (\w+-\d+ \w+ \{.*) \|$", text, re.M):
        case, *cells = [cell.strip() for cell in row.split(" | ")]
        key = re.sub(r" float\d* | TF32$", " ", case).strip()
        held_out = seen.setdefault(key, len(seen)) % 2 == 1
        times = [(cells[0], cells[2])] if len(cells) == 7 else [(cells[0], cells[1])] + [(cells[3], cells[4])] * (len(cells) > 6)
        for kernel, us in times:
            family = family_of(kernel, len(cells) == 7)
            if "depthwise" not in kernel and (family.startswith("cu") or not case.endswith("TF32")):
                lines.append(Line(f"{kernel} {case.replace(' constant', '')}", held_out, node_of(case, kernel), family, float(us) / 1e6))
    return lines


# ---- of plans ----

TYPES = {"float32": ("", ""), "TF32": ("", ":tf32=on"), "float16": (".float16", "")}
INPUTS = {"resnet50": "image={}x3x224x224", "bert": "tokens={}x128"}


def parsed(shape):
    return [int(size) for size in shape.split("x")] if shape else []


def plan(options, name, batch, kind, architecture, libraries):
    """The launches of a network, as `tinyort plan` chooses their kernels."""
    suffix, option = TYPES[kind]
    chain = "cuda" + option + ("" if libraries else ":libraries=off")
    command = [options.tinyort, "plan", f"{options.networks}/{name}{suffix}.onnx", "--json", "--ep", chain,
               "--target", f"cuda:{architecture}", "--shape", INPUTS[name].format(batch)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"gpu-model: {' '.join(command)}: {done.stderr.strip()}")
    found = [node for node in json.loads(done.stdout)["nodes"] if node["provider"] == "cuda" and node["family"] != "alias"]
    return [Node(node["op"], node["kernel"], [parsed(value["shape"]) if value["type"] else None for value in node["inputs"]],
                 parsed(node["outputs"][0]["shape"]), node["outputs"][0]["type"] == "float16",
                 dict(text.split(" = ", 1) for text in node["attributes"]), kind == "TF32") for node in found]
