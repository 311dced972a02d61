"""Reductions, extremes and running sums."""

from maker import Node, is_integer, ops


@ops("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
     "ReduceSum", "ReduceSumSquare", sums=True)
def reduce(m):
    shape = m.shape()
    values = "positive" if m.name == "ReduceLogSum" else "usual"
    x = m.tensor("T", shape, values)
    axes = m.axes(len(shape), 1) if m.since >= 11 else m.random.sample(range(len(shape)), m.number(min(1, len(shape)), len(shape)))
    given = bool(shape) and m.chance(0.75)
    attributes = m.flags("keepdims", "noop_with_empty_axes")
    if m.has("axes"):
        return Node([x], attributes | ({"axes": axes} if given else {}))
    return Node([x, m.list(axes if given else [])] if given or m.chance(0.3) else [x], attributes)


@ops("ArgMax", "ArgMin")
def arg_extreme(m):
    shape = m.shape(1)
    axis = m.axis(len(shape)) if m.since >= 11 else m.number(0, len(shape) - 1)
    shape[axis] = shape[axis] or 2
    attributes = m.flags("keepdims", "select_last_index") | ({"axis": axis} if axis or m.chance(0.5) else {})
    return Node([m.tensor("T", shape, "ties")], attributes)


@ops("CumSum", "CumProd", sums=True)
def cumulate(m):
    shape = m.shape(1)
    return Node([m.tensor(m.schema.inputs[0].type_str, shape), m.scalar(m.axis(len(shape)), m.schema.inputs[1].type_str)],
                m.flags("exclusive", "reverse"))


@ops("TopK")
def top_k(m):
    shape = m.shape(1)
    axis = m.axis(len(shape)) if m.since >= 11 else m.number(0, len(shape) - 1)
    if m.chance(0.6):
        axis = -1
    k = m.number(0 if m.chance(0.1) else min(1, shape[axis]), shape[axis])
    x = m.tensor("T", shape, "ties" if not is_integer(m.type("T")) else "usual")
    attributes = m.flags("largest") | ({"axis": axis} if axis != -1 or m.chance(0.3) else {})
    if m.has("sorted") and m.chance(0.3):
        attributes["sorted"] = 1
    if m.since < 10:
        return Node([x], attributes | {"k": k}, 2)
    return Node([x, m.list([k])], attributes, 2)
