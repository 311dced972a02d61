"""Normalizations, softmax and losses."""

import numpy as np
from maker import Node, Tensor, ops


@ops("Softmax", "LogSoftmax", "Hardmax")
def softmax(m):
    shape = m.shape(1)
    axis = m.axis(len(shape)) if m.since >= 11 else m.number(0, len(shape) - 1)
    usual = -1 if m.since >= 13 else 1
    return Node([m.tensor("T", shape)], {} if axis == usual and m.chance(0.5) else {"axis": axis})


@ops("LpNormalization")
def lp_normalization(m):
    shape = m.shape(1)
    return Node([m.tensor("T", shape, "nonzero")], ({"axis": m.axis(len(shape))} if m.chance(0.6) else {}) | ({"p": m.pick(1, 2)} if m.chance(0.6) else {}))


@ops("MeanVarianceNormalization")
def mean_variance_normalization(m):
    shape = m.shape(4, 4) if m.chance(0.5) else m.shape(1)
    attributes = {} if len(shape) == 4 and m.chance(0.5) else {"axes": m.axes(len(shape), 1)}
    return Node([m.tensor("T", shape)], attributes)


@ops("LRN")
def lrn(m):
    shape = m.shape(4, 4) if m.chance(0.8) else m.shape(2, 5)
    return Node([m.tensor("T", shape)], {"size": m.pick(1, 3, 5, 2), **m.floats("alpha", "beta"), **({"bias": m.pick(1.0, 2.0)} if m.chance(0.5) else {})})


@ops("BatchNormalization")
def batch_normalization(m):
    """As at inference; what opset 1 to 13 do when they train is everybody's own."""
    shape = m.shape(2, 5)
    if m.since >= 9 and m.chance(0.1):
        shape = shape[:1]
    channels = [shape[1] if len(shape) > 1 else 1]
    attributes = {"epsilon": m.pick(1e-5, 1e-2)} if m.chance(0.4) else {}
    if m.since < 7:
        attributes["is_test"] = 1
    if m.has("consumed_inputs"):
        attributes["consumed_inputs"] = [0, 0, 0, 1, 1]
    scale, mean, variance = ("T1", "T2", "T2") if m.since >= 15 else ("T", "U", "U") if m.since == 14 else ("T", "T", "T")
    inputs = [m.tensor("T", shape), m.tensor(scale, channels), m.tensor(scale, channels), m.tensor(mean, channels),
              m.tensor(variance, channels, "positive")]
    if m.since >= 14 and m.chance(0.3):
        return Node(inputs, attributes | {"training_mode": 1, "momentum": m.pick(0.9, 0.5)}, 3)
    return Node(inputs, attributes)


@ops("InstanceNormalization")
def instance_normalization(m):
    shape = m.shape(3, 5)
    attributes = {"epsilon": 1e-2} if m.chance(0.4) else {}
    if m.has("consumed_inputs"):
        attributes["consumed_inputs"] = [0, 0, 0]
    return Node([m.tensor("T", shape), m.tensor("T", shape[1:2]), m.tensor("T", shape[1:2])], attributes)


@ops("GroupNormalization")
def group_normalization(m):
    groups = m.number(1, 3)
    channels = groups * m.number(1, 3)
    shape = [m.size(), channels] + m.shape(1, 3)
    entries = groups if m.since < 21 else channels
    return Node([m.tensor("T", shape), m.tensor("T", [entries]), m.tensor("T", [entries])],
                {"num_groups": groups, **({"epsilon": 1e-2} if m.chance(0.4) else {})})


@ops("LayerNormalization")
def layer_normalization(m):
    shape = m.shape(1)
    axis = m.axis(len(shape)) if m.chance(0.6) else -1
    rest = shape[axis:] if axis < 0 else shape[axis:]
    inputs = [m.tensor("T", shape), m.tensor("T", rest)] + ([m.tensor("T", rest)] if m.chance(0.6) else [])
    attributes = {} if axis == -1 and m.chance(0.5) else {"axis": axis}
    return Node(inputs, attributes, [True] + [m.chance(0.3), m.chance(0.3)])


@ops("RMSNormalization")
def rms_normalization(m):
    shape = m.shape(1)
    axis = m.axis(len(shape)) if m.chance(0.6) else -1
    return Node([m.tensor("T", shape), m.tensor("V", shape[axis:])], {} if axis == -1 and m.chance(0.5) else {"axis": axis})


def classes_of(m, x_shape, constraint, ignore=None):
    """Class numbers for [N, C, d1 ...]: of shape [N, d1 ...]."""
    shape = [x_shape[0], *x_shape[2:]]
    values = [ignore if ignore is not None and m.chance(0.2) else m.number(0, x_shape[1] - 1) for _ in range(int(np.prod(shape)))]
    return Tensor(m.type(constraint), np.array(values, np.int64).reshape(shape))


def loss_parts(m, constraint):
    shape = [m.size(), m.number(1, 4)] + (m.shape(1, 2) if m.chance(0.5) else [])
    ignore = m.pick(None, None, -1, 0, 100)
    attributes = {"reduction": m.pick("none", "sum", "mean")} if m.chance(0.8) else {}
    if ignore is not None:
        attributes["ignore_index"] = ignore
    return shape, attributes, classes_of(m, shape, constraint, ignore)


@ops("NegativeLogLikelihoodLoss", sums=True)
def negative_log_likelihood(m):
    shape, attributes, target = loss_parts(m, "Tind")
    inputs = [m.tensor("T", shape), target] + ([m.tensor("T", [shape[1]], "positive")] if m.chance(0.5) else [])
    return Node(inputs, attributes)


@ops("SoftmaxCrossEntropyLoss", sums=True)
def softmax_cross_entropy(m):
    shape, attributes, target = loss_parts(m, "Tind")
    inputs = [m.tensor("T", shape), target] + ([m.tensor("T", [shape[1]], "positive")] if m.chance(0.5) else [])
    return Node(inputs, attributes, m.number(1, 2))
