"""Sequences and optionals: made of tensors by a node before, made tensors again by one behind."""

import numpy as np
from maker import Node, Tensor, ops
from onnx import TensorProto, helper
from values import BOOL, STRING

TYPES = (TensorProto.FLOAT, TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32, TensorProto.DOUBLE, BOOL, STRING)


def elements(m, low=1, shape=None):
    """Tensors of one type and shape, and the node that makes the sequence `s` of them."""
    number, shape = m.pick(*TYPES), m.shape(1, 4) if shape is None else shape
    tensors = [m.tensor(number, shape) for _ in range(m.number(low, 4))]
    return tensors, helper.make_node("SequenceConstruct", [f"x{i}" for i in range(len(tensors))], ["s"])


def joined(m, rank):
    """The node that makes one tensor of the sequence r0; its elements have `rank` axes."""
    stacked = m.chance(0.3)
    axis = m.axis(rank + 1 if stacked else rank)
    return [helper.make_node("ConcatFromSequence", ["r0"], ["y0"], axis=axis, new_axis=int(stacked))]


def position(m, count):
    """A scalar from -count up to count - 1."""
    number, kind = m.pick((TensorProto.INT64, np.int64), (TensorProto.INT32, np.int32))
    return Tensor(number, np.array(m.number(-count, count - 1), kind))


@ops("SequenceConstruct")
def construct(m):
    tensors, _ = elements(m)
    return Node(tensors, after=joined(m, len(tensors[0].shape)))


@ops("SequenceEmpty")
def empty(m):
    attributes = {"dtype": m.pick(*TYPES)} if m.chance(0.7) else {}
    return Node([], attributes, after=[helper.make_node("SequenceLength", ["r0"], ["y0"])])


@ops("SequenceAt")
def element(m):
    tensors, sequence = elements(m)
    return Node([*tensors, position(m, len(tensors))], before=[sequence], names=["s", f"x{len(tensors)}"])


@ops("SequenceErase")
def erase(m):
    tensors, sequence = elements(m, 2)
    where = [position(m, len(tensors))] if m.chance(0.7) else []
    names = ["s", f"x{len(tensors)}"] if where else ["s"]
    return Node([*tensors, *where], before=[sequence], names=names, after=joined(m, len(tensors[0].shape)))


@ops("SequenceInsert")
def insert(m):
    tensors, sequence = elements(m)
    new = m.tensor(tensors[0].type, list(tensors[0].shape))
    where = [position(m, len(tensors))] if m.chance(0.7) else []
    names = ["s"] + [f"x{len(tensors) + i}" for i in range(1 + len(where))]
    return Node([*tensors, new, *where], before=[sequence], names=names, after=joined(m, len(new.shape)))


@ops("SequenceLength")
def length(m):
    tensors, sequence = elements(m)
    return Node(tensors, before=[sequence], names=["s"])


@ops("ConcatFromSequence")
def concat(m):
    tensors, sequence = elements(m)
    rank, attributes = len(tensors[0].shape), m.flags("new_axis")
    attributes["axis"] = m.axis(rank + attributes.get("new_axis", 0))
    return Node(tensors, attributes, before=[sequence], names=["s"])


@ops("SplitToSequence")
def split(m):
    shape = m.shape(1, 4, empty=False)
    axis = m.axis(len(shape))
    inputs = [m.tensor(m.pick(TensorProto.FLOAT, TensorProto.INT64, BOOL), shape)]
    if m.chance(0.5):
        size = m.number(1, shape[axis])
        inputs.append(m.list([size], TensorProto.INT64) if m.chance(0.2) and size == shape[axis] else
                      Tensor(TensorProto.INT64, np.array(size, np.int64)))
    names = [f"x{i}" for i in range(len(inputs))]
    attributes = {**({"axis": axis} if axis or m.chance(0.5) else {}), **m.flags("keepdims")}
    after = [helper.make_node("SequenceAt", ["r0", f"x{len(inputs)}"], ["y0"])]
    return Node([*inputs, position(m, 1)], attributes, names=names, after=after)


def optional_of(m):
    """A tensor, and the node that makes the optional `o` of it."""
    return m.tensor(m.pick(*TYPES), m.shape()), helper.make_node("Optional", ["x0"], ["o"])


@ops("Optional")
def optional(m):
    tensor, _ = optional_of(m)
    return Node([tensor], after=[helper.make_node("OptionalGetElement", ["r0"], ["y0"])])


@ops("OptionalGetElement", "OptionalHasElement")
def optional_element(m):
    tensor, made = optional_of(m)
    if m.since >= 18 and m.chance(0.4):
        return Node([tensor])
    return Node([tensor], before=[made], names=["o"])


@ops("SequenceMap")
def sequence_map(m):
    """The body adds a tensor, or a sequence's elements one by one, to each element."""
    shape = m.shape(1, 3)
    tensors, sequence = elements(m, shape=shape)
    number = m.pick(TensorProto.FLOAT, TensorProto.INT64)
    tensors = [m.tensor(number, shape) for _ in tensors]
    other = "s" if m.chance(0.4) else f"x{len(tensors)}"
    more = [] if other == "s" else [m.tensor(number, m.broadcastable(shape))]
    body = helper.make_graph(
        [helper.make_node("Add", ["element", "other"], ["sum"])], "body",
        [helper.make_tensor_value_info(name, number, None) for name in ("element", "other")],
        [helper.make_tensor_value_info("sum", number, None)])
    return Node([*tensors, *more], {"body": body}, before=[sequence], names=["s", other], after=joined(m, len(shape)))
