"""One random case: a model of one operator with the inputs to run it on.

A Maker knows the row that is to be tested and makes all choices; the generators (generators/*.py) turn it into a node. What
they make is valid for most of their choices; `mutate` then spoils every sixth case: absurd attributes, wrong ranks, missing
inputs. `build` decides in which form each input comes: as an initializer, or at the run with a fixed, a symbolic or no shape,
or computed right before by a Reshape to a shape that comes at the run.
"""

import copy
import functools
import random
import sys
from pathlib import Path

import numpy as np
import onnx.defs
from onnx import AttributeProto, GraphProto, TensorProto, helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from saturation import unsaturated  # noqa: E402
from schemas import schemas_by_operator  # noqa: E402

from values import BOOL, STRING, Tensor, is_float, is_integer, random_array, type_name, type_number

GENERATORS = {}  # (domain, name): the generator and its options
MAIN_OPSETS = (13, 17, 21)  # beside a domain of its own
SCHEMAS = functools.cache(schemas_by_operator)
ABSURD = [-(2**63), 2**63 - 1, -1, 0, -(2**31), 2**31, 2**32, 1000, -2, 3]


def ops(*names, domain="", **options):
    """Registers the generator of these operators of a domain. Options: random, only types and shapes of outputs can be compared; sums, the
    elements are held against the largest of them; limits, the largest numbers of a type are among the inputs (of what sums
    products it is open which of them overflow first)."""

    def register(function):
        for name in names:
            GENERATORS[domain, name] = (function, options)
        return function

    return register


class Node:
    """What a generator makes. Outputs: how many, or which of them as a list of bools; `types`: what they are declared as, the
    numbers of tensors or TypeProtos.

    The inputs are x0, x1, ... of the graph. Other nodes may be around this one: `before` makes what is not a tensor, `names` says what
    is read in the place of x0, x1, ...; `after` makes the output y0 of the outputs r0, r1, ... The Maps of `maps` are further
    inputs m0, m1, ... of the graph. Inputs number `constants` are in the model, where an oracle runs nothing else. `meaning`, of an
    operator that no oracle runs, makes of the NodeProto and the inputs the nodes that the oracles run in its place."""

    def __init__(self, inputs, attributes=None, outputs=1, types=None, names=None, before=(), after=(), maps=(),
                 constants=(), meaning=None):
        self.inputs, self.types, self.names, self.before, self.after = inputs, types, names, before, after
        self.constants = constants
        self.maps, self.meaning = maps, meaning
        self.attributes = {k: v for k, v in (attributes or {}).items() if v is not None}
        self.outputs = [True] * outputs if isinstance(outputs, int) else outputs


class Maker:
    def __init__(self, row, seed, index, options):
        self.random = random.Random(f"{seed} {index}")
        self.rng = np.random.default_rng([seed, index])
        self.domain, self.name, self.since, self.until = row["domain"], row["name"], row["since"], row["until"]
        self.opset = self.random.choice([self.since, self.until, self.random.randint(self.since, self.until)])
        self.main_opset = self.pick(*MAIN_OPSETS) if self.domain else self.opset
        self.schema = SCHEMAS()[self.domain, self.name][self.since]
        self.types = {}
        self.special = self.chance(0.12)
        self.limits = options.get("limits", False)

    # ---- choices

    def chance(self, probability):
        return self.random.random() < probability

    def pick(self, *choices):
        return self.random.choice(choices)

    def number(self, low, high):
        return self.random.randint(low, high)

    def size(self):
        return self.random.choices([0, 1, 2, 3, 4, 5, 7], [1, 5, 6, 6, 4, 3, 1])[0]

    def rank(self, low=0, high=8):
        rank = self.random.choices(range(9), [3, 8, 10, 8, 6, 2, 1, 1, 1])[0]
        return min(max(rank, low), high)

    def shape(self, low=0, high=8, empty=True):
        dims = [self.size() for _ in range(self.rank(low, high))]
        while int(np.prod([d or 1 for d in dims])) > 600:
            dims[dims.index(max(dims))] = 1
        return [d if empty or d else 1 for d in dims]

    def axis(self, rank):
        """In [-rank, rank)."""
        return self.number(-rank, rank - 1) if rank else 0

    def axes(self, rank, low=0):
        count = self.number(min(low, rank), rank)
        return [a - rank if self.chance(0.3) else a for a in self.random.sample(range(rank), count)]

    # ---- types and tensors

    def allowed(self, constraint):
        """The types of tensors that constraint `T`, or a type such as tensor(int64), stands for."""
        types = self.schema.constraints.get(constraint, [constraint])
        return [type_number(t) for t in types if t.startswith("tensor(")]

    def type(self, constraint="T", among=None):
        """A type of the constraint, the same each time; common types come more often."""
        if constraint not in self.types:
            allowed = [t for t in self.allowed(constraint) if among is None or among(t)]
            if not allowed:
                allowed = self.allowed(constraint)
            common = [t for t in allowed if t in (TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32)]
            self.types[constraint] = self.random.choice(common if common and self.chance(0.3) else allowed)
        return self.types[constraint]

    def tensor(self, constraint, shape, values="usual"):
        number = constraint if isinstance(constraint, int) else self.type(constraint)
        return Tensor(number, random_array(self.rng, number, shape, values, self.special, self.limits))

    def list(self, values, constraint="tensor(int64)"):
        number = constraint if isinstance(constraint, int) else self.type(constraint)
        return Tensor(number, np.array(values, np.int64))

    def scalar(self, value, constraint="tensor(int64)"):
        """One number, as a scalar or as a list of one."""
        return Tensor(constraint if isinstance(constraint, int) else self.type(constraint),
                      np.array(value).reshape([1] if self.chance(0.3) else []))

    def broadcastable(self, shape):
        """A shape that broadcasts with `shape`, of at most its rank."""
        dims = [1 if self.chance(0.25) else d for d in shape]
        return dims[self.number(0, len(dims)) if self.chance(0.4) else 0:]

    def has(self, attribute):
        return attribute in self.schema.attributes

    def flags(self, *names):
        """Attributes that are 0 or 1, some of them absent."""
        return {n: self.number(0, 1) for n in names if self.has(n) and self.chance(0.6)}

    def floats(self, *names):
        choices = (0.5, 1.0, 2.0, -1.0, 0.1, 0.0, -0.25, 3.0)
        return {n: self.random.choice(choices) for n in names if self.has(n) and self.chance(0.6)}

    def word(self, name, *choices):
        return {name: self.random.choice(choices)} if self.has(name) and self.chance(0.75) else {}

    # ---- mutations

    def _mutate_attribute(self, node):
        kind = AttributeProto.AttributeType
        names = [n for n in self.schema.attributes if self.schema.attributes[n].kind in
                 (kind.INT, kind.INTS, kind.STRING, kind.FLOAT, kind.FLOATS)]
        if not names:
            return None
        name = self.random.choice(names)
        number, had = self.schema.attributes[name].kind, node.attributes.get(name)
        if number == kind.INT:
            node.attributes[name] = self.random.choice(ABSURD)
        elif number == kind.FLOAT:
            node.attributes[name] = self.pick(float("nan"), float("inf"), -1.0, 0.0, 1e30, -1e-30)
        elif number == kind.STRING:
            node.attributes[name] = self.pick("", "NONSENSE", "linear", "VALID", "constant", "mul")
        elif number == kind.FLOATS:
            node.attributes[name] = [self.pick(0.0, -1.0, 2.5)] * self.number(1, 4)
        else:
            values = list(had or [1, 1])
            how = self.number(0, 3)
            if how == 0 and values:
                values[self.number(0, len(values) - 1)] = self.random.choice(ABSURD)
            elif how == 1:
                values.append(self.pick(0, 1, -1))
            elif how == 2 and values:
                values.pop()
            else:
                values = [self.random.choice(ABSURD) for _ in range(self.number(0, 5))]
            node.attributes[name] = values
        return f"attribute {name}"

    def _mutate_input(self, node):
        present = [i for i, t in enumerate(node.inputs) if t is not None]
        if not present:
            return None
        i = self.random.choice(present)
        tensor = node.inputs[i]
        how = self.number(0, 4)
        if how == 0:
            node.inputs[i] = None
        elif how == 1 and len(tensor.shape) < 8:
            at = self.number(0, len(tensor.shape))
            node.inputs[i] = Tensor(tensor.type, np.expand_dims(tensor.array, at))
        elif how == 2:
            shape = list(tensor.shape) or [1]  # where one number is expected there may be none, or more
            shape[self.number(0, len(shape) - 1)] = self.pick(0, 1, 2, 6)
            node.inputs[i] = Tensor(tensor.type, random_array(self.rng, tensor.type, shape))
        elif how == 3 and is_integer(tensor.type) and tensor.array.size:
            array = tensor.array.copy()
            value = np.array(self.random.choice(ABSURD)).astype(array.dtype)
            array.ravel()[self.number(0, array.size - 1)] = value
            node.inputs[i] = Tensor(tensor.type, array)
        elif self.chance(0.5):
            node.inputs[i] = Tensor(tensor.type, random_array(self.rng, tensor.type, [0]))
        elif tensor.shape:
            node.inputs[i] = Tensor(tensor.type, tensor.array.reshape(-1)[:1].reshape([]) if tensor.array.size else tensor.array)
        return f"input {i}"

    def mutate(self, node):
        for _ in range(4):
            done = self._mutate_attribute(node) if self.chance(0.55) else self._mutate_input(node)
            if done:
                return done
        return None


FORMS = ("fixed", "symbolic", "unranked", "constant", "computed")


class Case:
    """A model, what is fed to it, and the facts that explanations may ask for."""

    def __init__(self, maker, node, mutated, options):
        self.domain, self.since, self.opset, self.main_opset = maker.domain, maker.since, maker.opset, maker.main_opset
        self.operator = maker.name
        self.name = f"{self.domain}.{maker.name}" if self.domain else maker.name
        self.schema, self.node, self.mutated, self.options = maker.schema, node, mutated, options
        self.random_outputs = bool(options.get("random"))
        self.seconds = 5  # of the processor
        self.chain = maker.random.choice(["cpu", "cpu", "cpu", "cpu:isa=v2"])
        self.unfolded = maker.chance(0.3)
        self.forms = self._choose_forms(maker)
        self.feeds = []  # (name, Tensor) in the order of the graph's inputs
        self.model = self._build(maker)
        self.oracle_model = self._meaning() if node.meaning else self.model
        types = {f"x{i}": tensor.type for i, tensor in enumerate(node.inputs) if tensor is not None}
        self.unsaturated_model = unsaturated(self.oracle_model, types)

    def _choose_forms(self, maker):
        plain = maker.chance(0.3)  # as exporters do: data at the run, lists in the model
        forms = []
        for i, tensor in enumerate(self.node.inputs):
            if tensor is None:
                forms.append("absent")
            elif i in self.node.constants:
                forms.append("constant")
            elif plain:
                forms.append("constant" if i and (len(tensor.shape) < 2 or maker.chance(0.5)) else "fixed")
            else:
                forms.append(maker.random.choices(FORMS, [4, 2, 2, 4, 2])[0])
            if forms[-1] == "computed" and not self._can_reshape(tensor):
                forms[-1] = "unranked"
        return forms

    def _can_reshape(self, tensor):
        if self.main_opset < 5:
            return False
        schema = onnx.defs.get_schema("Reshape", self.main_opset)
        return tensor.type in [type_number(t) for t in schema.type_constraints[0].allowed_type_strs]

    def _shape_list(self, tensor):
        """A shape in which a dimension of 0 is a 0 in every version: it copies the dimension, which is 0."""
        return Tensor(TensorProto.INT64, np.array(tensor.shape, np.int64).reshape([len(tensor.shape)]))

    def _build(self, maker):
        inputs, initializers, nodes, names = [], [], [], []

        def feed(name, tensor, dims):
            inputs.append(helper.make_tensor_value_info(name, tensor.type, dims))
            self.feeds.append((name, tensor))

        for i, (tensor, form) in enumerate(zip(self.node.inputs, self.forms)):
            name = f"x{i}" if tensor is not None else ""
            names.append(name)
            if form == "constant":
                initializers.append(tensor.proto(name))
            elif form == "fixed":
                feed(name, tensor, list(tensor.shape))
            elif form == "symbolic":
                feed(name, tensor, [f"{name}d{k}" if maker.chance(0.7) else d for k, d in enumerate(tensor.shape)])
            elif form == "unranked":
                feed(name, tensor, None)
            elif form == "computed":
                feed(f"{name}raw", tensor, list(tensor.shape))
                known = maker.chance(0.6)
                feed(f"{name}shape", self._shape_list(tensor), [len(tensor.shape)] if known else [f"{name}rank"])
                nodes.append(helper.make_node("Reshape", [f"{name}raw", f"{name}shape"], [name]))
        for i, value in enumerate(self.node.maps):
            inputs.append(helper.make_value_info(f"m{i}", value.type_proto()))
            self.feeds.append((f"m{i}", value))
        nodes += self._nodes(names)
        made = ["y0"] if self.node.after else [f"y{k}" for k, wanted in enumerate(self.node.outputs) if wanted]
        values = [helper.make_empty_tensor_value_info(name) for name in made]
        for value, number in zip(values, self.node.types or []):
            if isinstance(number, int):
                value.type.tensor_type.elem_type = number
            else:
                value.type.CopyFrom(number)
        graph = helper.make_graph(nodes, "case", inputs, values, initializers)
        newest = any(t is not None and t.type > TensorProto.UINT4 for t in self.node.inputs)
        imports = {"": self.main_opset} | {self.domain: self.opset}
        return helper.make_model(graph, opset_imports=[helper.make_opsetid(*i) for i in imports.items()], ir_version=13 if newest else 10)

    def _meaning(self):
        model = copy.deepcopy(self.model)
        at = next(i for i, node in enumerate(model.graph.node) if node.name == "node")
        nodes = list(model.graph.node)
        nodes[at : at + 1] = self.node.meaning(nodes[at], self.node.inputs)
        del model.graph.node[:]
        model.graph.node.extend(nodes)
        return model

    def _nodes(self, names):
        """The node of the case, and those around it."""
        names = list(names if self.node.names is None else self.node.names)
        while names and not names[-1]:
            names.pop()
        outputs = [f"{'r' if self.node.after else 'y'}{k}" if wanted else "" for k, wanted in enumerate(self.node.outputs)]
        own = helper.make_node(self.operator, names, outputs, "node", domain=self.domain)
        for key, value in self.node.attributes.items():
            own.attribute.append(self._attribute(key, value))
        return [*self.node.before, own, *self.node.after]

    def _attribute(self, key, value):
        kind = AttributeProto.AttributeType
        wanted = self.schema.attributes[key].kind if key in self.schema.attributes else None
        if isinstance(value, Tensor):
            return helper.make_attribute(key, value.proto(""))
        if wanted == kind.FLOAT:
            value = float(value)
        if wanted == kind.FLOATS:
            value = [float(v) for v in value]
        return helper.make_attribute(key, value, attr_type=wanted)

    # ---- what explanations ask for

    def attribute(self, name):
        """As given, else the default of the version, else None."""
        if name in self.node.attributes:
            return self.node.attributes[name]
        attribute = self.schema.attributes.get(name)
        value = attribute.default if attribute else None
        return value.decode() if isinstance(value, bytes) else value

    def describe(self):
        def tensor(t, form):
            if t is None:
                return "-"
            shown = str(t.array.ravel()[:8].tolist()) if t.array.size <= 8 else ""
            return f"{type_name(t.type)}{list(t.shape)}{shown}:{form}"

        inputs = ", ".join([tensor(t, f) for t, f in zip(self.node.inputs, self.forms)] + [str(m.python()) for m in self.node.maps])
        attributes = {k: (v if not isinstance(v, Tensor) else v.array.tolist()) for k, v in self.node.attributes.items()
                      if not isinstance(v, GraphProto)}
        return f"{self.name}-{self.since} opset {self.opset} {attributes} ({inputs})" + (f" spoilt: {self.mutated}" if self.mutated else "")


def make_case(row, seed, index, always_spoilt=False):
    """Every sixth case is spoilt in one place, or all of them in up to three."""
    generator, options = GENERATORS[row["domain"], row["name"]]
    maker = Maker(row, seed, index, options)
    node = generator(maker)
    if always_spoilt:
        mutated = ", ".join(filter(None, (maker.mutate(node) for _ in range(maker.number(1, 3))))) or None
    else:
        mutated = maker.mutate(node) if maker.chance(1 / 6) else None
    return Case(maker, node, mutated, options)


__all__ = ["BOOL", "STRING", "GENERATORS", "Node", "Tensor", "is_float", "is_integer", "make_case", "ops"]
